# SPDX-License-Identifier: Apache-2.0
"""Runs that cannot be, or stop half way: the message says when, where and why; what was recorded is kept."""

from __future__ import annotations

import os
import re
import signal
import threading

import numpy as np
import pytest

from armwright.contact import contact_wrench
from armwright.control import as_law, computed_torque, pd, pd_gravity
from armwright.errors import ArmwrightWarning, InputError, SimulationError
from armwright.kinematics import fk
from armwright.motion import quintic
from armwright.robot.load import load
from armwright.simulation import Loop, simulate
from armwright.world import Box, World
from support.patience import until

GOOD = {"q0": [0.1, 0.2]}
LAW = pd(10.0, 1.0)


@pytest.fixture(scope="module")
def robot(planar2):
    return planar2


# -- divergence -----------------------------------------------------------------------------------------------------


def test_divergence_says_when_which_joint_and_why(robot):
    def pushes(q, qd, ref):
        return 10.0 * (ref.q - q) + np.array([0.0, 300.0]) * qd  # wrong sign on the second joint

    with pytest.raises(
        SimulationError, match=r"diverged at t = [0-9.]+ s: joint (\S+) reached .* likely cause"
    ) as error:
        simulate(robot, pushes, [0.5, 0.5], 10.0, **GOOD)
    message, run = str(error.value), error.value.recording
    assert "unstable in itself" in message
    assert run.outcome == "diverged" and len(run.time) > 5
    assert np.isfinite(run["q"]).all() and np.isfinite(run["qd"]).all()
    when = float(re.search(r"t = ([0-9.]+) s", message).group(1))
    assert run.time[-1] == pytest.approx(when, abs=1.1e-3)
    assert np.abs(run["qd"][-1]).max() > 1e3


def undamped(q, qd, ref):
    return 10.0 * (ref.q - q)


def undamped_that_cannot_be_traced(q, qd, ref):
    return np.array([10.0 * float(e) for e in ref.q - q])


@pytest.mark.parametrize("law", [undamped, undamped_that_cannot_be_traced])
@pytest.mark.filterwarnings("ignore:law .* cannot be traced")
def test_divergence_that_crept_up_is_explained_by_where_it_began(law):
    """A held law without damping swings up slowly; in the end the numbers are too large to be judged, at the start not.

    NumPy's warnings of overflow are errors here: none may reach the user before the message does.
    """
    way = quintic([0, -1.6, 1.4, 0, 0.5, 0], [0.8, -1, 1, -0.9, 1, 0.4], 2.0)
    with pytest.raises(SimulationError, match=r"diverged at .* held for 1 ms cannot be stable here: .* rotors"):
        simulate(load("ur5"), law, way)


def test_divergence_by_a_step_that_is_too_long_names_the_limit(robot):
    law = pd_gravity(1e5, 1e4)
    with pytest.raises(SimulationError, match="held for 1 ms cannot be stable") as refused:
        simulate(robot, law, [0.5, 0.5], 1.0, **GOOD)
    with pytest.raises(SimulationError, match=r"diverged at t = .*held for 1 ms cannot be stable") as error:
        simulate(robot, law, [0.5, 0.5], 1.0, check_step=False, **GOOD)
    assert len(error.value.recording.time) < 500
    limit = float(re.search(r"limit is about ([0-9.e-]+) ms", str(refused.value)).group(1))
    simulate(robot, law, [0.5, 0.5], 0.05, rate=1.1e3 / limit, **GOOD)  # a little shorter than the limit is stable
    with pytest.raises(SimulationError, match="cannot be stable"):
        simulate(robot, law, [0.5, 0.5], 0.05, rate=0.9e3 / limit, **GOOD)


def test_divergence_keeps_rows_that_were_thinned(robot):
    with pytest.raises(SimulationError) as error:
        simulate(robot, pd_gravity(1e5, 1e4), [0.5, 0.5], 1.0, check_step=False, every=5, **GOOD)
    run = error.value.recording
    assert np.isfinite(run["q"]).all() and np.allclose(np.diff(run.time), 5e-3)


@pytest.mark.parametrize("integrator", ["rk4", "semi-implicit", "dopri5", "rodas3"])
def test_nan_from_a_traced_law(robot, integrator):
    def law(t, q, qd, ref):
        return -5.0 * qd + np.array([0.0, 1.0]) * np.sqrt(0.25 - t)

    with pytest.raises(
        SimulationError, match=r"law 'law' returned \[.*nan.*\] at t = 0.251 s .joint|no progress at t = 0.251 s"
    ) as error:
        simulate(robot, law, None, 1.0, integrator=integrator, **GOOD)
    run = error.value.recording
    assert run.time[-1] == pytest.approx(0.251) and np.isfinite(run["q"]).all()


def test_nan_from_a_called_law(robot):
    def law(t, q, qd, ref):
        return np.array([-float(qd[0]), np.nan if t > 0.25 else 0.0])

    with (
        pytest.raises(SimulationError, match=r"law 'law' returned .*nan.* at t = 0.251 s") as error,
        pytest.warns(ArmwrightWarning),
    ):
        simulate(robot, law, None, 1.0, **GOOD)
    run = error.value.recording
    assert robot.joints[1].name in str(error.value)
    assert run.time[-1] == pytest.approx(0.251) and len(run.time) == 252 and np.isfinite(run["tau"]).all()


def test_nan_is_not_hidden_by_a_saturated_motor(robot):
    from armwright.simulation import Drive

    def law(t, q, qd, ref):
        return -5.0 * qd + np.sqrt(0.05 - t)

    with pytest.raises(SimulationError, match="returned"):
        simulate(robot, law, None, 0.2, drive=Drive(np.eye(2), 3.0, np.inf), **GOOD)


# -- interruption ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("traced", [True, False])
def test_interrupt_keeps_what_was_recorded(robot, traced):
    seen = []

    def progress(fraction):
        seen.append(fraction)
        if fraction > 0.4:
            raise KeyboardInterrupt

    def law(q, qd, ref):
        return -5.0 * qd if traced else np.array([-5.0 * float(v) for v in qd])

    if traced:
        run = simulate(robot, law, None, 10.0, progress=progress, **GOOD)
    else:
        with pytest.warns(ArmwrightWarning):
            run = simulate(robot, law, None, 10.0, progress=progress, **GOOD)
    assert run.outcome == "interrupted" and 3.0 < run.time[-1] < 8.0
    assert np.isfinite(run["q"]).all() and seen[-1] > 0.4
    assert run.time[-1] == pytest.approx(10.0 * seen[-1], abs=1e-9)


def test_interrupt_inside_a_called_law(robot):
    def law(t, q, qd, ref):
        if t > 0.5:
            raise KeyboardInterrupt
        return -5.0 * qd

    with pytest.warns(ArmwrightWarning):
        run = simulate(robot, law, None, 10.0, **GOOD)
    assert run.outcome == "interrupted" and run.time[-1] == pytest.approx(0.501)


@pytest.mark.usefixtures("ctrl_c")
def test_control_c_stops_the_compiled_loop(robot):
    """A real signal: the run stops within a chunk, and its last row is a state that the run passed through."""
    told: list[float] = []  # a list, because an interrupted Event could keep its lock
    ended: list[bool] = []

    def press() -> None:
        """Wait for the loop, which does not end by itself, and interrupt it from outside."""
        until(lambda: told or ended, "the loop begins")
        if not ended:
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    try:
        run = simulate(robot, LAW, None, 1e6, every=1000, progress=told.append, **GOOD)
    finally:
        ended.append(True)
        thread.join()
    assert run.outcome == "interrupted" and 0.0 < run.time[-1] < 1e6
    ticks = round(run.time[-1] * 1000.0)
    assert run.time[-1] == pytest.approx(ticks / 1000.0, abs=1e-6)
    again = simulate(robot, LAW, None, run.time[-1], every=1000, **GOOD) if ticks else run
    assert (again["q"][-1] == run["q"][-1]).all()


# -- input ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change, message",
    [
        ({"rate": 0.0}, "rate"),
        ({"rate": -5.0}, "rate"),
        ({"rate": np.inf}, "rate"),
        ({"rate": np.nan}, "rate"),
        ({"substeps": 0}, "substeps"),
        ({"substeps": 1.5}, "substeps"),
        ({"every": 0}, "every"),
        ({"every": np.nan}, "every"),
        ({"duration": 0.0}, "duration"),
        ({"duration": -1.0}, "duration"),
        ({"duration": np.nan}, "duration"),
        ({"duration": np.inf}, "duration"),
        ({"duration": 1e-5}, "at least one tick"),
        ({"integrator": "euler"}, "valid are"),
        ({"limits": "bounce"}, "limits"),
        ({"q0": [0.1]}, "q0 must hold 2"),
        ({"q0": [0.1, np.nan]}, "q0"),
        ({"qd0": [[0.1, 0.2, 0.3]]}, "qd0"),
        ({"q0": np.zeros((3, 2)), "qd0": np.zeros((2, 2))}, "rows"),
        ({"reference": [1.0, 2.0, 3.0]}, "reference"),
        ({"reference": quintic(np.zeros(3), np.ones(3), 1.0)}, "3 joints, the robot 2"),
        ({"law": pd([1.0, 2.0, 3.0], 1.0)}, r"gain kp: expected \(2,\)"),
        ({"law": pd(np.ones((4, 3)), 1.0)}, "gain kp"),
        ({"wrench": [1.0, 2.0]}, "wrench"),
        ({"law": 7}, "expected a Law"),
        ({"duration": 1e6, "rate": 1e4}, "numbers would be recorded"),
        ({"robot": []}, "no robot"),
        ({"count": 0}, "count"),
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
    ],
)
def test_bad_arguments_are_refused_with_a_reason(robot, change, message):
    given = {"robot": robot, "law": LAW, "reference": None, "duration": 1.0, **GOOD, **change}
    with pytest.raises(InputError, match=message):
        simulate(given.pop("robot"), given.pop("law"), given.pop("reference"), given.pop("duration"), **given)


def test_duration_is_needed_without_a_trajectory(robot):
    with pytest.raises(InputError, match="give a duration"):
        simulate(robot, LAW, [0.1, 0.2])


def test_nan_gains_are_refused():
    with pytest.raises(InputError, match="finite"):
        as_law(lambda q, k: k * q, k=np.nan)


def test_reference_shorter_than_the_run_holds_its_end(robot):
    path = quintic([0.0, 0.0], [0.5, -0.3], 0.3)
    for continuous in (False, True):
        run = simulate(robot, computed_torque(400.0, 40.0), path, 1.0, continuous=continuous)
        after = run.time > 0.3
        assert np.abs(run["q_ref"][after] - (0.5, -0.3)).max() < 1e-12 and np.abs(run["qd_ref"][after]).max() == 0.0
        assert np.abs(run["error"]).max() < 1e-3 and np.abs(run["error"][-1]).max() < 1e-6


def test_thinned_recording_has_the_same_rows(robot):
    full, thin = (simulate(robot, LAW, [0.5, 0.5], 5.0, every=every, **GOOD) for every in (1, 7))
    assert (thin["q"][:-1] == full["q"][:-1:7]).all() and (thin["q"][-1] == full["q"][-1]).all()
    assert thin.time[-1] == full.time[-1]


def test_run_in_pieces_is_the_run_in_one(robot):
    session = Loop.of(robot, LAW).session(reference=[0.5, 0.5], **GOOD)
    for _ in range(4):
        session.run(0.75)
    whole = simulate(robot, LAW, [0.5, 0.5], 3.0, **GOOD)
    pieces = session.recording()
    assert (pieces["q"] == whole["q"]).all() and np.abs(pieces.time - whole.time).max() < 1e-12


def test_every_simulation_of_a_batch_is_checked():
    """One gain among many that cannot be stable: it is found, and named."""
    robot = load("ur5")
    kp = np.full((20, 6), 100.0)
    kd = np.full((20, 6), 20.0)
    kd[13, 5] = 1e6
    with pytest.raises(SimulationError, match=r"simulation 13: this law held for 1 ms cannot be stable.*wrist_3"):
        simulate(robot, computed_torque(kp, kd), np.zeros(6), 0.1)
    arms = [load("planar2").with_payload(0.0 if k == 3 else 200.0) for k in range(6)]
    with pytest.raises(SimulationError, match=r"simulation 3: this law held for 1 ms cannot be stable"):
        simulate(arms, pd(100.0, 6000.0), [0.0, 1.5], 0.1)
    simulate([arm for k, arm in enumerate(arms) if k != 3], pd(100.0, 6000.0), [0.0, 1.5], 0.1)


@pytest.mark.parametrize("stiffness", [2e4, 1e6])
def test_an_arm_that_begins_in_a_wall_is_told_that_the_contact_is_too_stiff_for_the_step(stiffness):
    """The stiff part is neither the law nor the arm: without the wall the same loop runs."""
    robot, q0 = load("ur5"), np.array([0.0, -1.4, 1.8, -0.4, 1.57, 0.0])
    x, y, z = fk(robot, q0)[:3, 3]
    wall = Box(name="wall", centre=(x, y + 0.2, z), size=(0.4, 0.1, 0.4), stiffness=stiffness, damping=100.0)
    law = computed_torque(100.0, 20.0)
    simulate(robot, law, q0, 0.01)
    with pytest.raises(SimulationError, match=r"contacts have a pole at .*wrist_2.*more substeps"):
        simulate(robot, law, q0, 0.01, wrench=contact_wrench(robot, World((wall,))))


def test_the_cure_that_a_refusal_offers_works():
    """A first PD on a description without rotors: the message names them, and with them the loop runs."""
    robot, goal = load("ur5"), np.array([0.0, -1.0, 1.0, 0.0, 0.5, 0.0])
    with pytest.raises(SimulationError, match=r"robot\.with_rotors\(0\.1\) runs as asked"):
        simulate(robot, pd_gravity(100.0, 20.0), goal, 0.1)
    run = simulate(robot.with_rotors(0.1), pd_gravity(100.0, 20.0), goal, 0.1)
    assert np.abs(run["error"]).max() < 1e-9
    with pytest.raises(SimulationError) as refused:  # here rotors would not help, and are not offered
        simulate(robot, pd_gravity(1e7, 1e5), goal, 0.1)
    assert "with_rotors" not in str(refused.value)
