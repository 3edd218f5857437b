# SPDX-License-Identifier: Apache-2.0
"""Events: found where they happen, several of them, with any integrator; the run goes on with another reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from armwright.control import computed_torque, damping, pd_gravity
from armwright.errors import ArmwrightWarning, InputError
from armwright.motion import quintic
from armwright.motion.trajectory import Reference
from armwright.robot.load import load
from armwright.robot.model import Robot
from armwright.robot.parts import Actuators, Body, Joint, Limits
from armwright.simulation import Loop, simulate


def cart(**limits):
    """A mass of 2 kg that slides upwards without friction: x = v0 t − g t²/2 + F t²/4."""
    body = Body("cart", -1, 0, np.eye(4), mass=2.0, inertia=np.eye(3))
    return Robot("cart", (Joint("rail", "prismatic", limits=Limits(**limits)),), (body,), Actuators.none(1))


def push(force):
    return lambda q: force + 0.0 * q


LAUNCH = {"q0": [0.0], "qd0": [5.0]}
FALL = 9.81
DOWN = 2.0 * 5.0 / FALL  # back at the start


@pytest.mark.parametrize("integrator", ["rk4", "dopri5", "rodas3", "rodas3-adaptive"])
@pytest.mark.parametrize("rate", [1000.0, 30.0])
def test_crossing_time_is_found_to_a_nanosecond(integrator, rate):
    run = simulate(
        cart(), None, None, 2.0, rate=rate, integrator=integrator, events={"ground": lambda q: -q[0]}, **LAUNCH
    )
    assert run.outcome == "ground" and [e.name for e in run.events] == ["ground"]
    assert abs(run.events[0].time - DOWN) < 1e-9
    assert abs(run.time[-1] - DOWN) < 1e-9
    assert abs(run["q"][-1, 0]) < 1e-8 and run["qd"][-1, 0] == pytest.approx(-5.0, abs=1e-8)


def test_direction_counts():
    """A value that falls through zero is no event: the height itself never rises through zero again."""
    run = simulate(cart(), None, None, 1.5, events={"rising": lambda q: q[0] - 1e-9}, q0=[1.0])
    assert run.outcome == "end" and run.events == ()


def test_event_in_time():
    run = simulate(cart(), None, None, 1.0, events={"now": lambda t: t - 0.12345678}, **LAUNCH)
    assert abs(run.events[0].time - 0.12345678) < 1e-9


def test_earliest_of_several_events_in_one_step():
    """Both are crossed within one long step; the one that is listed second comes first."""
    events = {"late": lambda q: q[0] - 0.30, "early": lambda q: q[0] - 0.25}
    session = Loop.of(cart(), rate=5.0, events=events).session(**LAUNCH)
    assert session.run(1.0) == "early"
    assert session.run(1.0) == "late"
    for (t, _), height in zip(session.happened, (0.25, 0.30), strict=True):
        assert abs(5.0 * t - 0.5 * FALL * t * t - height) < 1e-9
    assert session.run(0.2) == "end"


def test_run_continues_with_another_force_after_every_bounce():
    """Replanning: at the ground the velocity is given by Python, and the next flight takes as long as it must."""
    session = Loop.of(cart(), events={"ground": lambda q: -q[0]}).session(**LAUNCH)
    speed, expected, t = 5.0, [], 0.0
    for _ in range(3):
        assert session.run(5.0) == "ground"
        t += 2.0 * speed / FALL
        expected.append(t)
        speed *= 0.8
        session.loop.set("x", [0.0, speed])
        session.loop.set("event", [0.0])
    assert np.abs([time for time, _ in session.happened] - np.array(expected)).max() < 1e-8


def test_reference_changes_in_flight():
    robot = load("planar2")
    session = Loop.of(robot, computed_torque(400.0, 40.0), events={"half way": lambda q: q[0] - 0.5}).session(
        reference=quintic([0.0, 0.0], [1.0, 0.5], 1.0)
    )
    assert session.run(2.0) == "half way"
    assert session.time == pytest.approx(0.5, abs=0.01)
    here = session.state[0]
    session.follow(quintic(here[:2], [-0.4, 0.2], 1.0, qd0=here[2:]))
    assert session.run(1.2) == "end"
    recording = session.recording()
    assert np.abs(recording["q"][-1] - (-0.4, 0.2)).max() < 1e-3
    assert recording.time[-1] == pytest.approx(session.happened[0][0] + 1.2, abs=1e-9)
    assert np.all(np.diff(recording.time) >= 0.0)
    turned = np.searchsorted(recording.time, session.happened[0][0])
    assert recording["q_ref"][turned - 1, 0] == pytest.approx(0.5, abs=0.01)
    assert np.abs(recording["error"]).max() < 5e-3


def test_follow_refuses_another_size():
    session = Loop.of(load("planar2"), damping(1.0)).session([0.1, 0.2])
    with pytest.raises(InputError, match="3 joints, the robot 2"):
        session.follow(Reference(*np.zeros((3, 3))))


def test_called_law_stops_at_events_too():
    def law(q, qd, ref):
        return np.array([float(qd[0]) * 0.0])

    for integrator in ("rk4", "dopri5"):
        with pytest.warns(ArmwrightWarning, match="called from Python"):
            run = simulate(cart(), law, None, 2.0, integrator=integrator, events={"ground": lambda q: -q[0]}, **LAUNCH)
        assert run.outcome == "ground" and abs(run.events[0].time - DOWN) < 1e-9


# -- joint limits ---------------------------------------------------------------------------------------------------


def test_stop_at_a_joint_limit():
    run = simulate(cart(lower=-1.0, upper=0.8), None, None, 2.0, limits="stop", **LAUNCH)
    t = (5.0 - np.sqrt(25.0 - 2.0 * FALL * 0.8)) / FALL
    assert run.outcome == "joint limit" and abs(run.events[0].time - t) < 1e-9
    with pytest.raises(InputError, match="starts outside"):
        simulate(cart(lower=-1.0, upper=0.8), None, None, 1.0, q0=[0.9], limits="stop")


def test_clamp_is_a_mechanical_stop():
    run = simulate(cart(lower=-0.2, upper=0.8), None, None, 2.0, limits="clamp", **LAUNCH)
    q, qd = run["q"][:, 0], run["qd"][:, 0]
    assert q.max() == 0.8 and q.min() == -0.2
    assert (q[-100:] == -0.2).all()
    hit = np.flatnonzero(q == 0.8)[0]
    assert qd[hit - 1] > 1.0 and qd[hit] <= 0.0
    # from the stop it falls freely: 1 m takes √(2/g) s
    assert run.time[np.flatnonzero(q == -0.2)[0]] - run.time[hit] == pytest.approx(np.sqrt(2.0 / FALL), abs=3e-3)


def test_limits_are_only_recorded_by_default():
    run = simulate(cart(lower=-1.0, upper=0.8), None, None, 0.5, **LAUNCH)
    assert run["q"].max() > 1.0 and run.outcome == "end"


def test_arm_stops_at_its_first_limit():
    robot = load("planar2")
    tight = replace(robot, joints=tuple(replace(j, limits=Limits(lower=-0.3, upper=0.3)) for j in robot.joints))
    run = simulate(tight, pd_gravity(20.0, 2.0), [1.0, 0.1], 3.0, q0=[0.0, 0.0], limits="stop")
    assert run.outcome == "joint limit"
    assert abs(np.abs(run["q"][-1]).max() - 0.3) < 1e-9


def test_references_are_the_same_without_the_compiled_table(monkeypatch):
    robot, path = load("planar2"), quintic([0.1, 0.2], [0.8, -0.5], 0.7)
    compiled = simulate(robot, computed_torque(100.0, 20.0), path, 1.0)
    monkeypatch.setattr("armwright.motion.trajectory.backend", lambda: "numpy")
    plain = simulate(robot, computed_torque(100.0, 20.0), path, 1.0)
    for name in ("q_ref", "qd_ref", "qdd_ref", "q"):
        assert plain[name] == pytest.approx(compiled[name], abs=1e-12), name
