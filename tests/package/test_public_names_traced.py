# SPDX-License-Identifier: Apache-2.0
"""One name everywhere: a public function of an arm at a state gives the same inside and outside of traced code.

A new public name must be entered here, in `OF_A_STATE` or in `NO_FUNCTION_OF_A_STATE`.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache

import numpy as np
import pytest

import armwright as aw
from armwright.control import as_law, evaluate_law
from armwright.dynamics.coriolis import coriolis
from armwright.dynamics.crba import crba, crba_forward
from armwright.dynamics.newton_euler import bias, gravity_torque, rnea
from armwright.graph import compile_function
from armwright.graph.fingerprint import fingerprint
from armwright.graph.traced_program import trace
from armwright.kinematics.forward import link_poses, tool_pose
from armwright.kinematics.frame_motion import frame_acceleration, frame_jacobian_dot, frame_twist
from armwright.kinematics.jacobians import frame_jacobian
from armwright.motion import Reference, quintic
from armwright.robot.tree import tree_of
from support.arms import close, random_arm, random_pose
from support.simulated_logs import gear_friction, sheet_of, simulated_log, true_arm

ROBOT = random_arm(3, 3, prismatic=0.0).with_frame("camera", random_pose(np.random.default_rng(1)), "b1")
UR5, IIWA = aw.load("ur5"), aw.load("iiwa14")
STATE = dict(zip(("q", "qd", "qdd", "tau"), np.random.default_rng(0).uniform(-1.0, 1.0, (4, 3)), strict=True))
STATE["wrench"] = np.array([3.0, -1.0, 2.0, 0.3, -0.2, 0.1])
MOTION = ("q", "qd", "qdd")

# name, arrays, options. The same name may stand here with other options.
OF_A_STATE = [
    ("inverse_dynamics", MOTION, {}),
    ("inverse_dynamics", (*MOTION, "wrench"), {"method": "poe", "friction": False}),
    ("forward_dynamics", ("q", "qd", "tau"), {}),
    ("forward_dynamics", ("q", "qd", "tau", "wrench"), {"method": "aba"}),
    ("mass_matrix", ("q",), {}),
    ("mass_matrix", ("q",), {"method": "lagrange", "rotors": False}),
    ("coriolis_matrix", ("q", "qd"), {}),
    ("bias", ("q", "qd"), {}),
    ("bias", ("q", "qd", "wrench"), {"gravity": False}),
    ("gravity_torque", ("q",), {}),
    ("energy", ("q", "qd"), {}),
    ("regressor", MOTION, {}),
    ("joint_reactions", MOTION, {}),
    ("joint_reactions", (*MOTION, "wrench"), {"frame": "parent"}),
    ("centroidal_matrix", ("q",), {}),
    ("centroidal_momentum", ("q", "qd"), {}),
    ("dynamics_derivatives", ("q", "qd", "tau"), {}),
    ("inverse_dynamics_derivatives", MOTION, {}),
    ("rnea", MOTION, {}),
    ("crba", ("q",), {}),
    ("aba", ("q", "qd", "tau"), {}),
    ("mrnea", ("q", "qd"), {}),
    ("actuator_side", MOTION, {"dt": 0.01}),
    ("fk", ("q",), {}),
    ("fk", ("q",), {"frame": "camera"}),
    ("fk_all", ("q",), {}),
    ("jacobian", ("q",), {}),
    ("jacobian", ("q",), {"frame": "b1", "point": (0.1, 0.2, -0.1), "reference": "tool"}),
    ("jacobian_dot", ("q", "qd"), {}),
    ("jacobian_dot", ("q", "qd"), {"frame": 1, "point": (0.1, 0.2, -0.1)}),
    ("twist", ("q", "qd"), {"frame": "camera"}),
    ("acceleration", MOTION, {}),
    ("analytic_jacobian", ("q",), {}),
    ("analytic_jacobian_dot", ("q", "qd"), {"euler": "zyx"}),
    ("com_jacobian", ("q",), {}),
    ("com_jacobian", ("q",), {"link": "b1"}),
    ("manipulability", ("q",), {}),
    ("manipulability", ("q",), {"part": "full", "frame": "b2"}),
    ("smallest_singular_value", ("q",), {}),
    ("condition_number", ("q",), {"frame": "b2"}),
    ("joint_rates", ("q",), {"goal": (0.3, 0.1, 0.4), "twist": (0.1, 0.0, -0.2), "gain": 5.0}),
    ("joint_rates", ("q",), {"goal": random_pose(np.random.default_rng(2)), "gain": 5.0, "axes": ["x", "ry"]}),
    ("joint_rates", ("q",), {"goal": (0.3, 0.1, 0.4), "gain": 1.0, "axes": ["x", "z"], "prefer": "manipulability"}),
]
OTHER_ARM = {"elbow_angle": IIWA}  # asks for seven joints: tested below
REFUSED = {"ik", "singularity"}  # of a state, and cannot be traced: tested below
NO_FUNCTION_OF_A_STATE = """
    ArmwrightError ArmwrightWarning CompileError DescriptionError InputError NotSupportedError ProgramError
    SimulationError TraceError
    Artefact
    Certificate Ellipsoid Equations IKBatch IKClass IKResult Kernel Loop MassMatrixBounds Recording Reference Robot
    Singularity SymbolicRobot Trajectory World
    check compile explore export
    detection_study load load_world planar pure read_program robots run_program simulate symbols
    write_program
    base_parameters compare equations forward_dynamics_kernel gravity_bound ik_class inverse_dynamics_kernel
    mass_matrix_bounds parameter_names parameters random_states
"""  # errors; data; other jobs; what is said of an arm, whatever its state
# the sources that laws of the library are written with: a law with the public name is the same program
SOURCES = {
    "inverse_dynamics": rnea,
    "forward_dynamics": crba_forward,
    "mass_matrix": crba,
    "coriolis_matrix": coriolis,
    "bias": bias,
    "gravity_torque": gravity_torque,
    "fk": tool_pose,
    "fk_all": link_poses,
    "jacobian": frame_jacobian,
    "jacobian_dot": frame_jacobian_dot,
    "twist": frame_twist,
    "acceleration": frame_acceleration,
}
CASES = [pytest.param(*case, id=f"{case[0]}-{k}") for k, case in enumerate(OF_A_STATE)]


@cache
def public(name):
    found = [room for room in (aw, aw.dynamics, aw.kinematics) if name in dir(room)]
    return getattr(found[0], name)


def flat(result):
    """All numbers of a result, one after the other; the axes of an ellipsoid have arbitrary signs and are left out."""
    if is_dataclass(result):
        result = tuple(getattr(result, part.name) for part in fields(result) if part.name != "axes")
    parts = result if isinstance(result, tuple) else (result,)
    return np.concatenate([np.ravel(part) for part in parts])


def of_arrays(name, arrays, options, function=None):
    """A function of (robot, q, qd, …) that calls the public one, or another."""
    labels, function = ", ".join(arrays), function or public(name)
    space = {"call": lambda robot, **given: flat(function(robot, **given, **options))}
    exec(f"def f(robot, {labels}): return call(robot, {', '.join(f'{a}={a}' for a in arrays)})", space)
    return space["f"]


def test_every_public_name_is_in_a_table():
    names = {name for room in (aw, aw.dynamics, aw.kinematics) for name in dir(room) if callable(getattr(room, name))}
    known = {name for name, *_ in OF_A_STATE} | set(OTHER_ARM) | REFUSED | set(NO_FUNCTION_OF_A_STATE.split())
    assert names - known == set(), "enter the new names in OF_A_STATE or in NO_FUNCTION_OF_A_STATE"
    assert known - names == set()


@pytest.mark.parametrize(("name", "arrays", "options"), CASES)
def test_compiled_into_a_function_it_is_the_same_and_has_a_derivative(name, arrays, options):
    f = of_arrays(name, arrays, options)
    state = [STATE[label] for label in arrays]
    shapes = {"wrench": 6} if "wrench" in arrays else None
    kernel = aw.compile(f, ROBOT, shapes=shapes)
    there = flat(f(ROBOT, *state))
    close(kernel(*state), there, 1e-12)
    close(aw.compile(f, ROBOT, shapes=shapes, regroup=True)(*state), there, 1e-12)
    h, q = 1e-6, state[0]
    slope = [(f(ROBOT, q + h * e, *state[1:]) - f(ROBOT, q - h * e, *state[1:])) / (2.0 * h) for e in np.eye(3)]
    size = max(1.0, np.abs(there).max())
    assert np.abs(kernel.derivative("q")(*state) - np.stack(slope, axis=-1)).max() < 1e-6 * size


@pytest.mark.parametrize(("name", "arrays", "options"), CASES)
def test_in_a_law_it_is_what_it_is_outside(name, arrays, options):
    f = of_arrays(name, arrays, options)
    rest = {label: STATE[label] for label in arrays if label not in ("q", "qd")}
    mix = np.random.default_rng(2).uniform(-0.1, 0.1, (3, len(f(ROBOT, *(STATE[label] for label in arrays)))))

    def law(arm, q, qd, ref):
        given = {"q": q, "qd": qd, **rest}
        return mix @ f(arm, *(given[label] for label in arrays))

    run = aw.simulate(ROBOT, law, None, 0.004, q0=STATE["q"], qd0=0.1 * STATE["qd"], check_step=False)
    for q, qd, tau in zip(run["q"][:-1], run["qd"], run["tau"], strict=False):
        outside = law(ROBOT, q, qd, None)
        assert np.abs(tau - outside).max() < 1e-12 * max(1.0, np.abs(outside).max())


@pytest.mark.parametrize("name", SOURCES)
def test_on_the_arm_that_a_law_is_handed_it_is_the_source_itself(name):
    arrays = next(arrays for label, arrays, _ in OF_A_STATE if label == name)
    shapes, arm = dict.fromkeys(arrays, (3,)), {"robot": tree_of(ROBOT, regroup=True)}
    theirs = trace(of_arrays(name, arrays, {}, SOURCES[name]), shapes, constants=arm)
    assert trace(of_arrays(name, arrays, {}), shapes, constants=arm).digest == theirs.digest


def test_batches_of_symbols_and_of_wrenches_per_body():
    def two_poses(robot, q):
        return aw.fk(robot, np.stack([q, 2.0 * q]))

    q = STATE["q"]
    assert aw.compile(two_poses, ROBOT)(q).shape == (2, 4, 4)
    close(aw.compile(two_poses, ROBOT, regroup=True)(q), aw.fk(ROBOT, np.stack([q, 2.0 * q])), 1e-13)
    loads = np.random.default_rng(4).uniform(-1.0, 1.0, (3, 6))
    for regroup in (False, True):
        k = aw.compile(lambda robot, q, wrenches: aw.bias(robot, q, q, wrenches), ROBOT, regroup=regroup)
        close(k(q, loads), aw.bias(ROBOT, q, q, loads), 1e-12)


def test_a_kernel_called_with_symbols_becomes_part_of_the_function():
    k = aw.dynamics.inverse_dynamics_kernel(ROBOT)
    holding = compile_function(lambda q: k(q, np.zeros(3), qdd=[0.0, q[0], 1.0]), {"q": (3,)})
    q = STATE["q"]
    close(holding(q), k(q, np.zeros(3), [0.0, q[0], 1.0]), 1e-13)
    assert holding.counts.flops < k.counts.flops  # what is at rest folds away
    with pytest.raises(aw.InputError, match="symbols have no values yet"):
        compile_function(lambda q: k(q, q, q, out=np.zeros(3)), {"q": (3,)})
    with pytest.raises(aw.InputError, match=r"inverse_dynamics: q: expected shape \(..., 3\), got \(2,\)"):
        compile_function(lambda q: k(q, q, q), {"q": (2,)})
    last = aw.compile(lambda robot, q: aw.fk(robot, aw.fk(robot, q)[3, 1:]), ROBOT)  # numbers among symbols: 0, 0, 1
    close(last(q), aw.fk(ROBOT, [0.0, 0.0, 1.0]), 1e-13)
    again = compile_function(lambda q: k(q, np.zeros(3), qdd=[0.0, q[0], 1.0]), {"q": (3,)})
    assert fingerprint(holding) == fingerprint(again) != fingerprint(k)  # loops with equal kernels in them are one


def test_named_symbols_go_through():
    a, b, c = aw.symbols("a b c")
    M = aw.mass_matrix(ROBOT, [a, b, c])
    assert M.shape == (3, 3)
    assert "cos(" in repr(M[0, 0])


def test_an_ellipsoid_of_symbols_has_axes():
    k = aw.compile(lambda robot, q: aw.manipulability(robot, q, "full").axes, ROBOT)
    there, J, axes = aw.manipulability(ROBOT, STATE["q"], "full"), aw.jacobian(ROBOT, STATE["q"]), k(STATE["q"])
    close((axes * there.half_lengths**2) @ axes.T, J @ J.T, 1e-12)


def test_a_law_may_use_a_robot_and_a_kernel_from_outside():
    k = aw.dynamics.inverse_dynamics_kernel(UR5)
    path = quintic(np.zeros(6), np.full(6, 0.3), 0.2)

    def source(arm, q, qd, ref):
        return rnea(arm, q, qd, ref.qdd + 100.0 * (ref.q - q) + 20.0 * (ref.qd - qd))

    def robot_outside(q, qd, ref):
        return aw.inverse_dynamics(UR5, q, qd, ref.qdd + 100.0 * (ref.q - q) + 20.0 * (ref.qd - qd))

    def kernel_outside(q, qd, ref):
        return k(q, qd, ref.qdd + 100.0 * (ref.q - q) + 20.0 * (ref.qd - qd))

    there = aw.simulate(UR5, source, path, 0.05)["q"]
    for law in (robot_outside, kernel_outside):
        assert np.abs(aw.simulate(UR5, law, path, 0.05)["q"] - there).max() < 1e-12
    close(evaluate_law(source, UR5, 0.0, *STATE_6[:2], REF_6).tau, k(*STATE_6), 1e-12)


STATE_6 = np.random.default_rng(5).uniform(-1.0, 1.0, (3, 6))
REF_6 = Reference(STATE_6[0], STATE_6[1], STATE_6[2])


def test_arms_that_differ_share_what_their_joints_show():
    arms = [ROBOT, ROBOT.with_payload(1.0)]

    def held(arm, q, qd, ref):
        return aw.gravity_torque(arm, q) - qd + 0.0 * aw.fk(arm, q, "camera")[:3, 3]

    runs = aw.simulate(arms, held, None, 0.003, q0=STATE["q"], check_step=False)
    for arm, tau in zip(arms, runs["tau"][:, 0], strict=True):
        close(tau, aw.gravity_torque(arm, STATE["q"]), 1e-12)
    with pytest.raises(aw.NotSupportedError, match=r"energy: needs every body's own inertia.*give it a Robot"):
        aw.simulate(arms, as_law(lambda arm, q, qd: -qd * aw.energy(arm, q, qd).total), None, 0.003)


def test_an_arm_of_symbols():
    arm = aw.planar("RR")
    values = {"m1": 1.0, "m2": 0.7, "l1": 0.4, "lc1": 0.2, "lc2": 0.15, "I1": 0.01, "I2": 0.02, "g": 9.81, "l2": 0.3}
    robot, q = arm.robot(values), STATE["q"][:2]

    def mass(q, l1):
        return aw.mass_matrix(arm.tree({**values, "l1": l1}), q)

    def momentum_of(q, l1):
        return aw.dynamics.centroidal_matrix(arm.tree({**values, "l1": l1}), q)

    shapes = {"q": (2,), "l1": ()}
    close(compile_function(mass, shapes)(q, 0.4), aw.mass_matrix(robot, q), 1e-12)
    close(compile_function(momentum_of, shapes)(q, 0.4), aw.dynamics.centroidal_matrix(robot, q), 1e-12)
    with pytest.raises(aw.NotSupportedError, match="an arm of symbols has neither motors"):
        aw.regressor(arm.tree(values), q, q, q)


def test_the_elbow_angle_of_an_arm_with_seven_joints():
    q = np.array([0.3, 0.7, -0.4, -1.1, 0.2, 0.8, 0.1])
    for regroup in (False, True):
        k = aw.compile(lambda robot, q: aw.kinematics.elbow_angle(robot, q), IIWA, regroup=regroup)
        assert abs(k(q) - aw.kinematics.elbow_angle(IIWA, q)) < 1e-12


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda robot, q: aw.ik(robot, aw.fk(robot, q)).q, "ik cannot be traced: .*call it before, outside"),
        (lambda robot, q: aw.singularity(robot, q).smallest, "smallest_singular_value and condition_number can be"),
        (lambda robot, q: aw.dynamics.gravity_bound(robot, q, q).proved, "gravity_bound cannot be traced: .*before"),
    ],
)
@pytest.mark.parametrize("regroup", [False, True])
def test_what_cannot_be_traced_says_what_to_do(f, message, regroup):
    with pytest.raises(aw.TraceError, match=message):
        aw.compile(f, UR5, regroup=regroup)


def test_a_law_may_solve_for_a_constant_goal_with_the_arm_it_is_handed():
    goal = aw.fk(UR5, STATE_6[0])

    def towards(arm, q, qd, ref):
        return aw.gravity_torque(arm, q) + 10.0 * (aw.ik(arm, goal, seed=STATE_6[0]).q - q) - qd

    run = aw.simulate(UR5, towards, None, 0.002, q0=STATE_6[0], check_step=False)
    assert np.abs(run["q"] - STATE_6[0]).max() < 1e-6


def test_an_identified_model_serves_as_any_other_arm():
    """From a log of currents to a law that holds the arm by what was identified."""
    sheet, gains = sheet_of(), np.full(6, 11.0)
    model = aw.identify.fit(
        simulated_log(true_arm(), gear_friction(6), gains, 8.0), sheet, gains=aw.identify.Known(gains)
    )
    q = np.linspace(-1.0, 1.0, 6)
    compiled = aw.compile(lambda robot, q: aw.gravity_torque(robot, q), model.robot)
    np.testing.assert_allclose(compiled(q), aw.gravity_torque(model.robot, q), rtol=1e-12, atol=1e-12)
    law = as_law(lambda arm, q, qd: aw.gravity_torque(model.robot, q) - 10.0 * qd, name="hold by the model")
    zero = np.zeros(6)
    tau = evaluate_law(law, model.robot, 0.0, q, zero, Reference(q, zero, zero)).tau
    np.testing.assert_allclose(tau, aw.gravity_torque(model.robot, q), rtol=1e-12, atol=1e-12)
