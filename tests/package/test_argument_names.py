# SPDX-License-Identifier: Apache-2.0
"""Errors about arguments speak of the function that the user called, whatever computes it inside."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError
from armwright.kinematics import acceleration, analytic_jacobian, analytic_jacobian_dot, jacobian_dot, twist

POSITION, MOTION, ACTION = 1, 2, 3  # how many of q, qd, qdd (or tau) a function takes
CALLS = [
    (aw.fk, POSITION, {}),
    (aw.fk_all, POSITION, {}),
    (aw.fk, POSITION, {"frame": 0}),
    (aw.jacobian, POSITION, {}),
    (aw.jacobian, POSITION, {"point": [0.0, 0.0, 0.1]}),
    (aw.kinematics.com_jacobian, POSITION, {}),
    (jacobian_dot, MOTION, {}),
    (jacobian_dot, MOTION, {"point": [0.0, 0.0, 0.1]}),
    (analytic_jacobian, POSITION, {}),
    (analytic_jacobian_dot, MOTION, {}),
    (twist, MOTION, {}),
    (acceleration, ACTION, {}),
    (aw.inverse_dynamics, ACTION, {}),
    (aw.inverse_dynamics, ACTION, {"method": "poe"}),
    (aw.inverse_dynamics, ACTION, {"wrench": np.zeros(6)}),
    (aw.forward_dynamics, ACTION, {}),
    (aw.forward_dynamics, ACTION, {"method": "aba"}),
    (aw.mass_matrix, POSITION, {}),
    (aw.mass_matrix, POSITION, {"method": "walker-orin-3"}),
    (aw.coriolis_matrix, MOTION, {}),
    (aw.bias, MOTION, {}),
    (aw.gravity_torque, POSITION, {}),
    (aw.energy, MOTION, {}),
    (aw.dynamics.joint_reactions, ACTION, {}),
    (aw.regressor, ACTION, {}),
    (aw.dynamics.dynamics_derivatives, ACTION, {}),
    (aw.dynamics.inverse_dynamics_derivatives, ACTION, {}),
]


@pytest.mark.parametrize(("function", "count", "options"), CALLS, ids=lambda value: getattr(value, "__name__", None))
def test_errors_about_arguments_name_the_function_that_was_called(function, count, options):
    robot = aw.load("ur5")
    good = np.full(6, 0.3)
    for place in range(count):
        for bad in (np.zeros(5), np.array([0.1, np.nan, 0.2, 0.0, 0.0, 0.0]), "north"):
            arguments = [bad if k == place else good for k in range(count)]
            with pytest.raises(InputError) as error:
                function(robot, *arguments, **options)
            assert str(error.value).startswith(f"{function.__name__}: "), str(error.value)


@pytest.mark.parametrize("function", [aw.mass_matrix, aw.inverse_dynamics, aw.forward_dynamics])
def test_an_unknown_method_is_refused_by_the_function_that_was_called(function):
    q = np.zeros(6)
    arguments = [q] if function is aw.mass_matrix else [q, q, q]
    with pytest.raises(InputError, match=f"^{function.__name__}: unknown method 'guess'; methods are .*crba"):
        function(aw.load("ur5"), *arguments, method="guess")
