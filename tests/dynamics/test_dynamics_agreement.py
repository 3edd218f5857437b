# SPDX-License-Identifier: Apache-2.0
"""All formulations agree with each other and with Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.dynamics.compare_methods import compare, worst_disagreement
from armwright.dynamics.coriolis import coriolis
from armwright.dynamics.lagrange import lagrange_equations
from armwright.dynamics.methods import METHODS
from armwright.dynamics.mrnea import mrnea_inverse
from armwright.dynamics.newton_euler import rnea
from armwright.dynamics.poe import poe_equations
from armwright.dynamics.public import dynamics_derivatives, forward_dynamics, inverse_dynamics, mass_matrix
from armwright.errors import InputError, NotSupportedError
from armwright.robot.tree import tree_of
from support.arms import close, random_arm, random_state
from support.twins import pinocchio_forces, pinocchio_model

ARMS = [
    *((n, "chain", "coupled") for n in (1, 2, 3, 5)),
    (4, "chain", "none"),
    (8, "chain", "plain"),
    (12, "chain", "none"),
    (12, "tree", "coupled"),
    (4, "tree", "plain"),
    (6, "tree", "coupled"),
    (2, "mimic", "coupled"),
    (4, "mimic", "plain"),
]


@pytest.mark.parametrize("regroup", [False, True])
@pytest.mark.parametrize(("n", "shape", "drives"), ARMS)
def test_every_formulation_gives_the_same_torques_and_accelerations(n, shape, drives, regroup):
    robot = random_arm(10 * n + len(shape), n, shape=shape, drives=drives)
    tree = tree_of(robot, regroup=regroup)
    q, qd, qdd, wrench, wrenches = random_state(robot, n)
    tau = rnea(robot, q, qd, qdd, wrench, wrenches)
    M = None
    for method in METHODS.values():
        if shape == "mimic" and not method.mimic:
            with pytest.raises(NotSupportedError, match="mimic"):
                method.forward(tree, q, qd, tau)
            continue
        if method.inverse is not None:
            close(method.inverse(tree, q, qd, qdd, wrench, wrenches, **method.options), tau, 1e-10)
        if method.forward is not None:
            close(method.forward(tree, q, qd, tau, wrench, wrenches, **method.options), qdd, 1e-10)
        if method.mass is not None:
            mass = method.mass(tree, q, **method.options)
            M = mass if M is None else M
            close(mass, M, 1e-10)
    close(mrnea_inverse(tree, q, qd, qdd, wrench, wrenches, expanded=True), tau, 1e-10)
    by_lagrange = lagrange_equations(tree, q, qd).C
    close(poe_equations(tree, q, qd).C, by_lagrange, 1e-10)
    close(coriolis(tree, q, qd), by_lagrange, 1e-10)


@pytest.mark.parametrize("option", ["gravity", "friction", "rotors"])
def test_every_formulation_obeys_the_same_switches(option):
    robot = random_arm(5, 3, drives="coupled")
    q, qd, qdd, *_ = random_state(robot, 1)
    tau = rnea(robot, q, qd, qdd, **{option: False})
    assert np.abs(tau - rnea(robot, q, qd, qdd)).max() > 1e-3
    for method in METHODS.values():
        if method.inverse is not None:
            close(method.inverse(robot, q, qd, qdd, **method.options, **{option: False}), tau, 1e-10)
        if method.forward is not None:
            close(method.forward(robot, q, qd, tau, **method.options, **{option: False}), qdd, 1e-10)


@pytest.mark.parametrize(
    ("n", "shape"), [(1, "chain"), (3, "chain"), (6, "chain"), (12, "chain"), (6, "tree"), (12, "tree")]
)
def test_compiled_dynamics_agree_with_pinocchio(n, shape):
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is the independent engine")
    robot = random_arm(n, n, shape=shape, drives="none")
    model = pinocchio_model(pin, robot)
    data = model.createData()
    for seed in range(3):
        q, qd, qdd, wrench, wrenches = random_state(robot, seed)
        for load in (None, wrench, wrenches) if n < 7 else (wrenches,):
            forces = pinocchio_forces(pin, robot, model, q, *((load, None) if np.ndim(load) < 2 else (None, load)))
            tau = pin.rnea(model, data, q, qd, qdd, forces)
            close(inverse_dynamics(robot, q, qd, qdd, load), tau, 1e-10)
            for method in ("crba", "aba", "auto"):
                close(forward_dynamics(robot, q, qd, tau, load, method), pin.aba(model, data, q, qd, tau, forces), 1e-9)
        # by columns: Pinocchio's crba takes branches in depth-first order only
        rest = pin.rnea(model, data, q, 0 * q, 0 * q).copy()
        columns = [pin.rnea(model, data, q, 0 * q, one).copy() - rest for one in np.eye(n)]
        close(mass_matrix(robot, q), np.array(columns).T, 1e-10)


def test_rotor_inertia_agrees_with_pinocchio():
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is the independent engine")
    robot = random_arm(3, 5, drives="plain")
    model = pinocchio_model(pin, robot)
    model.armature = np.diag(robot.tree.armature).copy()
    q, qd, qdd, *_ = random_state(robot, 4)
    tau = pin.rnea(model, model.createData(), q, qd, qdd)
    close(inverse_dynamics(robot, q, qd, qdd, friction=False), tau, 1e-10)
    for method in ("crba", "aba", "lagrange", "poe", "mrnea"):
        close(forward_dynamics(robot, q, qd, tau, method=method, friction=False), qdd, 1e-9)


def test_batches_broadcast_and_tool_and_body_wrenches_are_told_apart():
    robot = random_arm(1, 3)
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.normal(size=(3, 5, 3))
    tools, bodies = rng.normal(size=(5, 6)), rng.normal(size=(5, 3, 6))
    single = [inverse_dynamics(robot, q[i], qd[i], qdd[i], tools[i]) for i in range(5)]
    close(inverse_dynamics(robot, q, qd, qdd, tools), single, 1e-13)
    single = [inverse_dynamics(robot, q[i], qd[i], qdd[i], bodies[i]) for i in range(5)]
    close(inverse_dynamics(robot, q, qd, qdd, bodies), single, 1e-13)
    assert inverse_dynamics(robot, q[:, None], qd, [0, 1, 2]).shape == (5, 5, 3)
    assert forward_dynamics(robot, np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3))).shape == (0, 3)
    with pytest.raises(InputError, match="wrench"):
        inverse_dynamics(robot, q, qd, qdd, np.zeros((5, 2, 5)))


def test_bad_requests_are_refused_with_the_alternatives():
    robot = random_arm(1, 2)
    zero = np.zeros(2)
    with pytest.raises(InputError, match="walker-orin-1"):
        inverse_dynamics(robot, zero, zero, zero, method="magic")
    with pytest.raises(NotSupportedError, match="crba"):
        inverse_dynamics(robot, zero, zero, zero, method="aba")
    with pytest.raises(InputError, match="finite"):
        inverse_dynamics(robot, [0.0, np.nan], zero, zero)
    assert np.isnan(inverse_dynamics(robot, [0.0, np.nan], zero, zero, check_finite=False)).any()


def test_compare_reports_agreement_and_operations():
    robot = random_arm(2, 2)
    rows = compare(robot, states=20, seed=1, batch=64)
    assert [row.method for row in rows] == list(METHODS)
    assert worst_disagreement(rows) < 1e-10
    table = {row.method: row for row in rows}
    assert table["aba"].inverse is None
    assert table["rnea"].forward is None
    rnea_job = table["rnea"].inverse
    assert rnea_job.compiled.flops < rnea_job.naive.flops
    assert rnea_job.ns > 0.0
    mimic = compare(random_arm(2, 2, shape="mimic"), states=5, naive=False, batch=0)
    assert [row.method for row in mimic if row.note] == ["aba"]


def test_an_arm_without_joints_has_empty_dynamics():
    robot = random_arm(0, 0, drives="none")
    assert inverse_dynamics(robot, [], [], []).shape == (0,)
    assert forward_dynamics(robot, [], [], []).shape == (0,)
    assert mass_matrix(robot, []).shape == (0, 0)
    assert [part.shape for part in dynamics_derivatives(robot, [], [], [])] == [(0, 0)] * 3
