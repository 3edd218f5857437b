# SPDX-License-Identifier: Apache-2.0
"""Errors name the function that the user called, not one that it calls in turn."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import armwright as aw
from armwright import control
from support.calls import CALLS, PLANAR, TWO, UR5

PUBLIC = {name.split(".")[-1] for name in CALLS} | {"prepare", "frame_jacobian", "frame_pose", "check_base"}


@pytest.mark.parametrize(("name", "label"), [(name, label) for name, (_, good) in CALLS.items() for label in good])
def test_errors_speak_of_the_function_that_was_called(name, label):
    """Not of one that it calls, which the user has never heard of."""
    function, good = CALLS[name]
    others = PUBLIC - {function.__name__} - set(good)
    for value in (3, np.nan, np.full(6, np.nan), np.zeros(3), "ur6"):
        said = ""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(**{**good, label: value})
        except aw.ArmwrightError as error:
            said = str(error)
        assert said.split(":")[0] not in others


def test_an_error_in_a_call_of_a_users_function_keeps_its_name():
    def mine(q, qd, ref):
        return aw.fk(UR5, np.zeros(3))[0, :2]

    with pytest.raises(aw.ArmwrightError, match="fk: q"):
        control.evaluate_law(mine, PLANAR, 0.0, TWO, TWO, aw.Reference(TWO, TWO, TWO))


def test_errors_about_options_speak_of_simulate_whatever_the_law():
    with pytest.raises(aw.InputError, match=r"^simulate: rate must be"):
        aw.simulate(PLANAR, lambda q, qd: -q - qd, TWO, 0.01, rate=[1.0, 2.0, object()])
