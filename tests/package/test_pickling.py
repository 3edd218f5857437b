# SPDX-License-Identifier: Apache-2.0
"""Robots, laws, recordings and worlds travel to other processes, equal robots share what was compiled, once."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
import weakref
from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright import contact, control
from armwright.contact import observers
from armwright.robot.kernels import kernel
from support.laws import CEA, EVERY, QD, REF, Q
from support.patience import PATIENCE

MONITORS = [
    lambda: observers.momentum_observer(25.0, friction=False),
    lambda: observers.momentum_kalman_observer(1.0, 2.0),
    lambda: observers.disturbance_observer(25.0),
    lambda: observers.closed_loop_error_observer(100.0),
    lambda: contact.wrench_observer(),
]


def sent(value):
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own bytes


def double(q):
    return 2.0 * q


def test_equal_descriptions_are_equal_robots_and_share_compiled_code():
    first, second = aw.load("ur5"), aw.load("ur5")
    assert first is not second
    assert first == second
    assert hash(first) == hash(second)
    assert kernel(first, double) is kernel(second, double)
    assert first != aw.load("ur5-kufieta-a")
    heavier = first.with_payload(1.0)
    assert heavier != first
    assert heavier == first.with_payload(1.0)
    assert kernel(heavier, double) is not kernel(first, double)
    assert replace(first, notes="seen") == first  # where numbers come from does not count
    assert first != "ur5"


@pytest.mark.parametrize("copied", [sent, copy.deepcopy, copy.copy], ids=["pickle", "deepcopy", "copy"])
def test_a_robot_survives_at_any_time_without_its_compiled_code(copied):
    robot = aw.load("cea").with_payload(0.25)
    before = pickle.dumps(robot)
    tau = aw.inverse_dynamics(robot, Q, QD, QD)
    aw.ik(robot, aw.fk(robot, Q))
    aw.simulate(robot, control.computed_torque(100.0, 20.0), Q, 0.01)
    assert pickle.dumps(robot) == before
    again = copied(robot)
    assert again == robot
    assert again.sources == robot.sources
    assert not again.bodies[0].inertia.flags.writeable
    assert not again.actuators.gear.flags.writeable
    np.testing.assert_array_equal(aw.inverse_dynamics(again, Q, QD, QD), tau)


def test_a_fresh_process_computes_the_same_bits():
    robot, law = aw.load("cea"), control.sliding_mode(2.0, 5.0, 3.0, 0.1, friction=False)
    record = aw.simulate(robot, law, Q + 0.1, 0.02, q0=Q)
    program = (
        "import pickle, sys; import armwright as aw\n"
        "robot, law, q, record = pickle.load(sys.stdin.buffer)\n"
        "assert not robot.known and record.robot == robot\n"
        "again = aw.simulate(robot, law, q + 0.1, 0.02, q0=q)\n"
        "assert (again['q'] == record['q']).all() and (again['tau'] == record['tau']).all()\n"
        "assert not record['q'].flags.writeable\n"
    )
    message = pickle.dumps((robot, law, Q, record))
    done = subprocess.run([sys.executable, "-c", program], input=message, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("make", EVERY, ids=range(len(EVERY)))
@pytest.mark.parametrize("copied", [sent, copy.deepcopy], ids=["pickle", "deepcopy"])
def test_every_law_can_be_sent(make, copied):
    law = make()
    again = copied(law)
    for used in (law, again):
        control.law_kernel(used, CEA, dt=1e-3)
    expected = control.evaluate_law(law, CEA, 2.0, Q, QD, REF, dt=1e-3)
    found = control.evaluate_law(copied(again), CEA, 2.0, Q, QD, REF, dt=1e-3)
    np.testing.assert_array_equal(found.tau, expected.tau)
    assert dict(again.sizes) == dict(law.sizes)
    if law.storage is not None:
        stored = [control.storage(one, CEA, 2.0, Q, QD, REF) for one in (law, again)]
        assert stored[0] == stored[1]
    with pytest.raises(TypeError):
        again.gains["new"] = 1.0


@pytest.mark.parametrize("make", MONITORS, ids=range(len(MONITORS)))
def test_every_observer_can_be_sent(make):
    monitor = make()
    signals = {"t": 0.0, "dt": 1e-3, "q": Q, "qd": QD, "tau": 3.0 * QD, "q_ref": Q, "qd_ref": QD, "qdd_ref": QD}
    if "tau_ext" in monitor.wants:
        monitor, signals = [observers.momentum_observer(5.0), monitor], signals
    expected, _ = contact.evaluate_monitor(monitor, CEA, signals)
    found, _ = contact.evaluate_monitor(sent(monitor), CEA, signals)
    assert set(found) == set(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)


def test_functions_inside_functions_travel_by_reference_and_others_are_named():
    stiffness = 30.0

    def spring(q, ref, kp):
        return kp * (ref.q - q) * stiffness

    again = sent(control.as_law(spring, kp=2.0))
    np.testing.assert_array_equal(control.evaluate_law(again, CEA, 0.0, Q, QD, REF).tau, 2.0 * (REF.q - Q) * 30.0)
    space = {}
    exec("typed = lambda q: -q", space)  # as in a notebook or at the prompt: there is no module to import it from
    law = control.as_law(space["typed"], name="typed in")
    with pytest.raises(aw.NotSupportedError, match=r"typed in.*lambda.*define it with def, in a module"):
        pickle.dumps(law)
    assert copy.deepcopy(law).function is law.function


def test_recordings_worlds_and_trajectories_can_be_sent():
    robot = aw.load("ur5")
    single = aw.simulate(robot, control.computed_torque(100.0, 20.0), Q, 0.01)
    batch = aw.simulate(robot, control.computed_torque(100.0, 20.0), Q, 0.01, count=3)
    world = aw.load_world("bench")
    for again in (sent, copy.deepcopy):
        assert again(single).robot == robot
        np.testing.assert_array_equal(again(single)["q"], single["q"])
        assert dict(again(single).settings) == dict(single.settings)
        np.testing.assert_array_equal(again(batch)[2]["q"], batch[2]["q"])
        assert again(world) == world
        motion = again(aw.motion.quintic(Q, Q + 1.0, 2.0))
        np.testing.assert_array_equal(motion.evaluate(1.3).q, aw.motion.quintic(Q, Q + 1.0, 2.0).evaluate(1.3).q)
    contact.contact_wrench(robot, world)
    assert sent((robot, world)) == (robot, world)


def test_threads_that_ask_at_once_make_once():
    robot = aw.load("cea").with_payload(0.125)
    barrier, made, found = threading.Barrier(8), [], []

    def make(arm, gain):
        made.append(arm)
        threading.Event().wait(0.02)
        return [gain * arm.n, arm.memo("inner", lambda a: [a.n])]

    def ask():
        barrier.wait()
        found.append(robot.memo("outer", make, 2))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert found[0] == [12, [6]]
    assert all(one is found[0] for one in found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_does_not_wait_for_threads_it_has_not():
    program = (
        "import os, threading, warnings; import armwright as aw\n"
        "warnings.simplefilter('ignore')\n"
        "robot, began, go_on = aw.load('ur5'), threading.Event(), threading.Event()\n"
        "slow = lambda arm: (began.set(), go_on.wait())\n"
        "thread = threading.Thread(target=robot.memo, args=('key', slow)); thread.start(); began.wait()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(robot.memo('key', lambda arm: arm.n))\n"
        "status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]); go_on.set(); thread.join()\n"
        "assert status == 6, status\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr.decode()


def test_a_maker_that_fails_is_asked_again():
    robot = aw.load("cea").with_payload(0.0625)
    with pytest.raises(ZeroDivisionError):
        robot.memo("quotient", lambda arm: 1 // 0)
    assert robot.memo("quotient", lambda arm: arm.n) == 6


def test_what_was_compiled_goes_with_the_last_equal_robot():
    first, second = (aw.load("cea").with_payload(0.03125) for _ in range(2))
    watched = weakref.ref(first.memo("thing", lambda arm: np.arange(3)))
    del first
    gc.collect()
    assert watched() is second.memo("thing", lambda arm: None)
    del second
    gc.collect()
    assert watched() is None
