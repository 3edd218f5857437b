# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 (001): limits hold, what no limit meets is left alone, test moves with the document's load come out."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.dynamics.actuator_side import actuator_side
from armwright.errors import InputError
from armwright.programs.motors.motor_cycle import Algorithm, MotorState, cycle, full, partitioned, point_mass
from armwright.programs.motors.motor_demand import Demand
from armwright.programs.motors.motor_limits import drives_of
from armwright.programs.motors.motor_loop import cycle_kernel, run_motors, run_variants
from armwright.studies.doc001_erfd.motors import as_published, literal, opposing_friction
from support.motors import DT, one_joint, point_to_point, rl15, with_motors
from support.patience import PATIENCE

DOCUMENT = Algorithm(side=opposing_friction, motor_speed=False)  # joint speeds only, as 001 clips


def peak(values):
    return np.abs(values).max(axis=0)


def test_x11_rated_move_needs_no_limit():
    """147 cycles; the published form's demand to its printed digits, and the loop returns the wish."""
    demand = point_to_point()
    assert demand.cycles == 147
    run = run_motors(rl15(), demand, "unlimited", algorithm=replace(DOCUMENT, side=as_published))
    assert np.abs(peak(run.wanted) - [4.641, 17.575, 8.156, 0.201, 0.228, 0.548]).max() < 6e-4
    for rule in ("full", "partitioned"):
        limited = run_motors(rl15(), demand, rule)
        assert limited.feasible
        assert np.abs(limited.lag).max() < 1e-13


def test_x12_four_times_the_acceleration():
    demand = point_to_point(4.0, hold=100)
    assert demand.cycles == 187
    free = run_motors(rl15(), demand, "unlimited", algorithm=DOCUMENT)
    assert np.abs(peak(free.wanted) - [26.2, 38.3, 23.5, 0.21, 0.28, 0.55]).max() < 0.051
    lags = {"full": ([10.0, 0.63, 4.6], 0.0), "partitioned": ([10.5, 0.47, 4.7], 1e-12)}
    for rule, (lag, off) in lags.items():
        run = run_motors(rl15(), demand, rule, algorithm=DOCUMENT)
        assert np.array_equal(peak(run.torque)[:3], [17.8, 38.6, 17.8])
        assert np.abs(np.rad2deg(peak(run.lag)[:3]) - lag).max() < 0.051
        assert np.rad2deg(peak(run.lag)[3:]).max() < (0.1 if rule == "full" else off)
        assert np.abs(run.lag[-1]).max() < 1e-9


def test_x12_what_the_document_prints_does_not_settle():
    demand = point_to_point(4.0, hold=100)
    run = run_motors(rl15(), demand, "full", algorithm=replace(DOCUMENT, side=as_published))
    assert np.abs(np.rad2deg(run.lag[-1, 1:3]) - [34.0, 38.0]).max() < 0.051
    run = run_motors(rl15(), point_to_point(4.0), literal, algorithm=DOCUMENT)
    assert abs(peak(run.torque)[1] - 390.0) < 5.0


@pytest.mark.parametrize("rule", ["full", "partitioned"])
@pytest.mark.parametrize("faster", [2.0, 4.0, 12.0])
def test_applied_torque_is_within_the_limit_and_makes_the_motion(rule, faster):
    """In every cycle |u_a| ≤ M_max, and u_a is just what the motion that happened takes."""
    run = run_motors(rl15(), point_to_point(faster, hold=60), rule)
    assert (np.abs(run.torque) <= run.limit * (1.0 + 1e-9)).all()
    q, qd = run.starts
    checked = 0
    for k in range(0, len(q), 7):
        needed = actuator_side(rl15(), q[k], qd[k], run.qdd[k], DT, run.demand.wrench[k])
        wish = actuator_side(rl15(), q[k], qd[k], _wish(run, k), DT, run.demand.wrench[k])
        # friction has the sense of the wished load; compare where wish and motion agree on it
        tau = np.linalg.inv(rl15().actuators.gear).T @ _load(run, k, run.qdd[k])
        tau_wish = np.linalg.inv(rl15().actuators.gear).T @ _load(run, k, _wish(run, k))
        same = np.sign(tau) == np.sign(tau_wish)
        assert np.allclose(needed.torque[same], run.torque[k][same], rtol=1e-8, atol=1e-8)
        assert np.allclose(wish.torque, run.wanted[k], rtol=1e-8, atol=1e-8)
        checked += int(same.sum())
    assert checked > 50


def _wish(run, k):
    q, qd = run.starts
    asked = (run.demand.q[k + 1] - q[k]) / DT
    return (run.drives.within_speeds(asked) - qd[k]) / DT


def _load(run, k, qdd):
    from armwright.dynamics.actuator_side import joint_side

    H, u = joint_side(run.robot, run.starts[0][k], run.starts[1][k], run.demand.wrench[k])
    return H @ qdd + u


def test_partitioned_keeps_the_axes_whose_motors_can_follow():
    run = run_motors(rl15(), point_to_point(4.0, hold=100), "partitioned", algorithm=DOCUMENT)
    some = run.saturated.any(axis=1)
    assert some.any()
    for k in np.flatnonzero(some):
        free = ~run.saturated[k]
        asked = (run.demand.q[k + 1] - run.starts[0][k]) / DT
        wish = (run.drives.within_speeds(asked, motors=False) - run.starts[1][k]) / DT
        assert np.allclose(run.qdd[k][free], wish[free], rtol=1e-9, atol=1e-9)
        assert np.allclose(np.abs(run.torque[k][~free]), run.limit[k][~free], rtol=1e-9)


def test_speed_limits_of_joints_and_motors():
    """The fast move asks 111 % of motor 1; with motors counted no motor passes its limit under Partitioned."""
    demand = point_to_point(4.0, hold=100)
    joints = run_motors(rl15(), demand, "partitioned", algorithm=replace(DOCUMENT, motor_speed=False))
    assert (np.abs(joints.qd) <= joints.drives.speed * (1.0 + 1e-9)).all()
    assert 1.10 < peak(joints.motor_speed / joints.drives.actuators.speed_limit)[0] < 1.12
    both = run_motors(rl15(), demand, "partitioned")
    assert both.speed_use.max() <= 1.0 + 1e-9
    assert both.clipped[:, 0].any()


@pytest.mark.parametrize("coupling", ["triangular", "any"])
def test_speeds_within_limits_for_any_coupling(coupling):
    rng = np.random.default_rng(5)
    gear = np.diag([30.0, 40.0, 50.0, 60.0, 70.0, 80.0]) + 4.0 * rng.normal(size=(6, 6))
    gear = np.tril(gear) if coupling == "triangular" else gear
    robot = with_motors(rl15(), gear=gear, speed_limit=np.full(6, 60.0))
    drives = drives_of(robot)
    for _ in range(200):
        asked = 4.0 * rng.normal(size=6)
        got = drives.within_speeds(asked)
        assert (np.abs(got) <= drives.speed * (1 + 1e-12)).all()
        assert (np.abs(gear @ got) <= 60.0 * (1 + 1e-12)).all()
    slow = 0.1 * rng.normal(size=6)
    assert np.array_equal(drives.within_speeds(slow), slow)


def test_one_motor_by_hand():
    """A wheel: α = M k/(J + k²I); the ramp, the lag and the return can be written down."""
    robot = one_joint(inertia=2.0, gear=10.0, torque=1.0, rotor_inertia=np.array([0.01]))
    alpha = 10.0 / (2.0 + 100.0 * 0.01)
    demand = Demand(DT, np.concatenate([[0.0], np.full(200, 0.1)])[:, None])  # a step of 0.1 rad
    run = run_motors(robot, demand)
    first = np.flatnonzero(run.saturated[:, 0])
    assert first[0] == 0
    assert np.allclose(run.qdd[run.saturated[:, 0], 0], alpha * np.sign(run.wanted[run.saturated[:, 0], 0]))
    assert np.allclose(run.qd[:3, 0], alpha * DT * np.arange(1, 4))
    loose = run_motors(robot, demand, algorithm=Algorithm(catch_up=False))
    assert abs(loose.lag[-1, 0]) > 0.09  # told speeds only, the arm never makes up for the step


def test_torque_falls_with_speed_along_the_curve():
    robot = one_joint(torque=1.0, curve_speed=np.array([[20.0, 40.0]]), curve_torque=np.array([[0.8, 0.2]]))
    drives = drives_of(robot)
    speeds = np.array([0.0, 20.0, -30.0, 40.0, 90.0])
    assert np.allclose([drives.torque_at(np.array([w]))[0] for w in speeds], [0.8, 0.8, 0.5, 0.2, 0.2])
    run = run_motors(robot, Demand(DT, np.cumsum(np.linspace(0.0, 0.06, 100))[:, None]))
    before = np.abs(run.starts[1] @ robot.actuators.gear.T)
    assert np.allclose(run.limit[:, 0], np.interp(before[:, 0], [20.0, 40.0], [0.8, 0.2]))
    assert (np.abs(run.torque) <= run.limit).all() and run.saturated.any()


def test_heat_is_the_filtered_square_of_the_torque():
    robot = with_motors(rl15(), continuous_torque=np.full(6, 2.0), thermal_time=np.full(6, 3.0))
    run = run_motors(robot, point_to_point(1.0, hold=50))
    heat = np.zeros(6)
    for k in range(run.demand.cycles):
        heat += -np.expm1(-DT / 3.0) * ((run.torque[k] / 2.0) ** 2 - heat)
        assert np.allclose(run.heat[k], heat, rtol=1e-12, atol=1e-15)
    assert not run_motors(rl15(), point_to_point()).heat.any()
    assert "continuous torque" in run.drives.says or run.drives.heat_is_known.all()
    assert "continuous torque" in drives_of(rl15()).says


def test_payload_of_the_demand_is_payload_of_the_arm():
    com, inertia = (0.02, -0.03, 0.1), np.diag([0.02, 0.03, 0.04])
    load = point_mass(6.0, com)
    load[4:7] = np.diag(inertia)
    demand = point_to_point(2.0, hold=20)
    other = run_motors(rl15().with_payload(6.0, com, inertia), demand)
    run = run_motors(rl15(), replace(demand, payload=load))
    assert np.allclose(run.torque, other.torque, atol=1e-8) and np.allclose(run.q, other.q, atol=1e-10)
    assert np.allclose(run.reactions, other.reactions, rtol=1e-7, atol=1e-6)
    halves = np.repeat([[0.0] * 10, load], [50, demand.cycles - 50], axis=0)
    both = run_motors(rl15(), replace(demand, payload=halves))
    bare = run_motors(rl15(), demand)
    assert np.allclose(both.torque[:50], bare.torque[:50], atol=1e-9)
    assert np.abs(both.torque[50:] - bare.torque[50:]).max() > 0.1


def test_reactions_balance_gravity_and_the_wrench_on_the_tool():
    """At rest the first joint carries the whole weight and what pulls at the tool."""
    demand = Demand(DT, np.tile([0.1, 0.2, -0.3, 0.4, 0.5, 0.6], (3, 1)), wrench=[1.0, 2.0, -30.0, 0, 0, 0])
    run = run_motors(rl15(), demand)
    T = np.eye(4)
    c, s = np.cos(0.1), np.sin(0.1)
    T[:2, :2] = [[c, -s], [s, c]]
    force = T[:3, :3] @ run.reactions[0, 0, :3]
    weight = 9.81 * sum(body.mass for body in rl15().bodies)
    assert np.allclose(force, [-1.0, -2.0, weight + 30.0], atol=1e-9)


def test_deviation_is_measured_at_the_programs_tool():
    """A tool of the program is a tool of the arm; a lag along the path is no distance from it."""
    tool = np.eye(4)
    tool[:3, 3] = 0.1, -0.2, 0.3
    demand = replace(point_to_point(4.0, hold=20), wrench=None)
    there = run_motors(rl15(), replace(demand, tool=tool)).deviation
    longer = run_motors(rl15().with_tool(rl15().T_tip_tool @ tool), demand).deviation
    for one, other in zip(there, longer, strict=True):
        assert np.allclose(one, other, atol=1e-9)
    turning = one_joint(torque=0.3)
    late = run_motors(turning, replace(Demand(DT, np.cumsum(np.linspace(0, 0.02, 80))[:, None]), tool=tool)).deviation
    assert late.position.max() > 0.01 > 1e-3 > late.path.max()  # a circle: chords are off it by less than that
    kept = replace(demand, tool=tool).at_override(0.5).held(3)
    assert kept.tool.shape == (kept.cycles, 4, 4)
    with pytest.raises(InputError, match="tool must be"):
        replace(demand, tool=np.eye(3))


def test_lanes_are_single_runs():
    """Variants side by side are the runs one by one, demands of any length."""
    demands = [point_to_point(2.0, hold=40).at_override(x) for x in (0.3, 0.7, 1.0, 0.5, 0.9)]
    friction, torque = [1.0, 0.5, 1.5, 1.0, 0.0], np.linspace(0.8, 1.2, 5)
    many = run_variants(rl15(), demands, friction=friction, torque=torque)
    for k, demand in enumerate(demands):
        one = run_motors(rl15(), demand, friction=friction[k], torque=torque[k])
        assert many[k].q.shape == one.q.shape == (demand.cycles, 6)
        assert np.allclose(many[k].q, one.q, atol=1e-9) and np.allclose(many[k].torque, one.torque, atol=1e-6)
        assert (np.abs(one.torque) <= torque[k] * rl15().actuators.torque_limit * (1 + 1e-9)).all()


@pytest.mark.parametrize("dt", [1e-4, 0.002, 0.0071, 0.05])
def test_any_cycle_time(dt):
    goal = 0.3 * np.ones(6)
    t = np.arange(int(1.0 / dt) + 1) * dt
    s = np.clip(10 * t**3 - 15 * t**4 + 6 * t**5, 0, 1)
    run = run_motors(rl15(), Demand(dt, s[:, None] * goal).held(int(0.5 / dt)))
    assert np.abs(run.lag[-1]).max() < 1e-6
    assert (np.abs(run.torque) <= run.limit * (1 + 1e-9)).all()


def test_override_keeps_the_path():
    demand = point_to_point(1.0)
    slow = demand.at_override(0.5)
    assert slow.cycles == 2 * demand.cycles
    assert np.allclose(slow.q[::2], demand.q) and np.array_equal(slow.q[-1], demand.q[-1])
    assert np.allclose(demand.at_override(1.0).q, demand.q)


def test_joint_efforts_only_when_asked_for_and_said():
    panda = aw.load("panda")
    with pytest.raises(InputError, match=r"no motor torque limit.*basis='joints' would check"):
        drives_of(panda)
    demand = Demand(DT, np.linspace(0.0, 0.2, 50)[:, None] * np.ones(panda.n))
    run = run_motors(panda, demand, basis="joints")
    effort = np.array([joint.limits.effort for joint in panda.joints])
    assert (np.abs(run.torque) <= effort * (1 + 1e-9)).all()
    assert "joint efforts" in run.drives.says and "not known" in run.drives.says
    free = run_motors(panda, demand, "unlimited", basis="joints", algorithm=Algorithm(motor_speed=False))
    q, qd = free.starts
    assert np.allclose(free.wanted, aw.inverse_dynamics(panda, q, qd, free.qdd), atol=1e-8)


def test_refusals_say_what_is_missing():
    irb = aw.load("irb140")
    with pytest.raises(InputError, match="no motor torque limit"):
        drives_of(irb)
    planar = aw.load("planar2")
    with pytest.raises(InputError, match="no effort limit"):
        drives_of(with_motors(planar, torque_limit=np.full(2, np.inf)), "joints")
    with pytest.raises(InputError, match="lock"):
        drives_of(with_motors(rl15(), load_friction=np.full(6, 1.0)))
    q = np.zeros((3, 6))
    for dt in (0.0, -0.01, np.nan, np.inf, "fast"):
        with pytest.raises(InputError, match="dt"):
            Demand(dt, q)
    bad = q.copy()
    bad[1, 2] = np.nan
    with pytest.raises(InputError, match=r"q\[1, 2\] is nan"):
        Demand(DT, bad)
    with pytest.raises(InputError, match="at least one cycle"):
        Demand(DT, q[:1])
    with pytest.raises(InputError, match="has 5 joints"):
        run_motors(rl15(), Demand(DT, np.zeros((3, 5))))
    with pytest.raises(InputError, match="there are full, partitioned"):
        run_motors(rl15(), Demand(DT, q), "best")
    with pytest.raises(InputError, match="mass must be"):
        Demand(DT, q, payload=point_mass(-1.0))


@pytest.mark.parametrize("rule", [full, partitioned])
def test_kernel_loop_and_floats_agree(rule):
    """One source: the NumPy function on floats, the kernel and the loop give the same cycle."""
    robot, algorithm = rl15(), Algorithm(rule=rule)
    run = run_motors(robot, point_to_point(4.0, hold=10), rule)
    kernel, drives = cycle_kernel(robot, DT, algorithm, inputs=("wrench",)), drives_of(robot)
    for k in range(0, run.demand.cycles, 9):
        q, qd = run.starts[0][k], run.starts[1][k]
        state = MotorState(q, qd, np.zeros(6), run.demand.q[k])
        floats = cycle(robot, drives, algorithm, DT, state, run.demand.q[k + 1], run.demand.wrench[k])
        compiled = kernel(*state, run.demand.q[k + 1], run.demand.wrench[k])
        for name, a, b in zip(floats._fields, floats, compiled, strict=True):
            assert np.allclose(a, b, rtol=1e-9, atol=1e-9), name
        assert np.allclose(floats.q, run.q[k], atol=1e-12) and np.allclose(floats.torque, run.torque[k], atol=1e-8)


@pytest.mark.parametrize("rule", [full, partitioned])
def test_c_source_for_a_controller_gives_the_same_cycle(rule, tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler on this machine (cc, gcc): the exported cycle cannot be built")
    import ctypes

    kernel = cycle_kernel(rl15(), DT, Algorithm(rule=rule), inputs=("wrench",))
    (tmp_path / "cycle.c").write_text(kernel.source("c"), encoding="utf-8")
    command = [compiler, "-std=c99", "-O1", "-shared", "-fPIC", "-o", "cycle.so", "cycle.c", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=PATIENCE)
    function = ctypes.CDLL(str(tmp_path / "cycle.so")).motor_cycle
    outputs = [np.empty(6) for _ in kernel.program.outputs]
    run = run_motors(rl15(), point_to_point(4.0, hold=10), rule)
    for k in range(0, run.demand.cycles, 11):
        state = (run.starts[0][k], run.starts[1][k], np.zeros(6), run.demand.q[k])
        given = [np.ascontiguousarray(x) for x in (*state, run.demand.q[k + 1], run.demand.wrench[k])]
        function(*(x.ctypes.data_as(ctypes.c_void_p) for x in (*given, *outputs)))
        for a, b in zip(outputs, kernel(*given), strict=True):
            assert np.allclose(a, b, rtol=1e-9, atol=1e-9)
