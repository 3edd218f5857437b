# SPDX-License-Identifier: Apache-2.0
"""A user's law: traced into the loop, or called from Python; both give the same run."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from armwright.control import as_law, computed_torque
from armwright.dynamics import rnea
from armwright.errors import ArmwrightWarning, InputError, TraceError
from armwright.motion import quintic
from armwright.motion.trajectory import Reference
from armwright.simulation import simulate

PATH = quintic([0.0, 0.0], [0.8, -0.6], 0.5)


@pytest.fixture(scope="module")
def robot(planar2):
    return planar2


def law(t, q, qd, ref, kp, total, dt):
    """PD with an integral, a schedule and a saturation: everything that a law may use."""
    e = ref.q - q
    total = total + dt * e
    tau = kp * e + 5.0 * (ref.qd - qd) + 20.0 * total + np.sin(3.0 * t)
    return np.minimum(np.maximum(tau, -30.0), 30.0), {"total": total}


def untraceable(t, q, qd, ref, kp, total, dt):
    """The same with a float() in it."""
    float(q[0])
    return law(t, q, qd, ref, kp, total, dt)


def test_called_law_equals_the_traced_one(robot):
    options = {"memory": {"total": 0.0}, "kp": [80.0, 60.0]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced = simulate(robot, as_law(law, **options), PATH, 3.0, substeps=2)
    with pytest.warns(ArmwrightWarning, match="cannot be traced.*called from Python once per tick"):
        called = simulate(robot, as_law(untraceable, **options), PATH, 3.0, substeps=2)
    assert (traced.time == called.time).all()
    for name in ("q", "qd"):
        assert np.abs(traced[name] - called[name]).max() < 1e-11, name
    # in the closing row a called law is not called once more
    assert np.abs(traced["tau"] - called["tau"])[:-1].max() < 1e-11


@pytest.mark.parametrize(
    "body",
    [
        lambda q, qd, ref: -10.0 * qd if q[0] > 0.1 else -5.0 * qd,
        lambda q, qd, ref: np.array([-math.sin(q[0]), -math.sin(q[1])]) - 5.0 * qd,
        lambda q, qd, ref: -np.linalg.solve(np.eye(2), 5.0 * qd),
        lambda q, qd, ref: [-5.0 * float(v) for v in qd],
    ],
    ids=["if", "math", "linalg", "list of floats"],
)
def test_laws_that_cannot_be_traced_run_all_the_same(robot, body):
    with pytest.warns(ArmwrightWarning, match="called from Python"):
        run = simulate(robot, body, None, 0.5, q0=[0.4, 0.2])
    assert run.outcome == "end" and len(run.time) == 501


def test_called_law_is_given_the_model_and_memory_free_signals(robot):
    heavy = robot.with_payload(2.0)

    def law(arm, t, q, qd, ref, dt):
        float(t)
        return rnea(arm, q, 0.0 * qd, 0.0 * qd) + (dt - 1e-3)

    def traced(arm, q, qd):
        return rnea(arm, q, 0.0 * qd, 0.0 * qd)

    with pytest.warns(ArmwrightWarning, match="called"):
        called = simulate(robot, law, None, 0.3, q0=[0.4, 0.2], model=heavy)
    ours = simulate(robot, traced, None, 0.3, q0=[0.4, 0.2], model=heavy)
    assert np.abs(called["q"] - ours["q"]).max() < 1e-12
    assert np.abs(ours["q"][-1] - [0.4, 0.2]).max() > 1e-3  # it compensates a load that is not there


def test_user_law_equals_the_built_in_one(robot):
    def mine(arm, q, qd, ref):
        return rnea(arm, q, qd, ref.qdd + 20.0 * (ref.qd - qd) + 100.0 * (ref.q - q))

    ours = simulate(robot, computed_torque(100.0, 20.0), PATH, q0=[0.1, 0.1])
    theirs = simulate(robot, mine, PATH, q0=[0.1, 0.1])
    assert np.abs(ours["q"] - theirs["q"]).max() < 1e-12


def test_untraceable_laws_cannot_be_batched_or_continuous(robot):
    def law(q, qd, ref):
        return np.array([float(v) for v in qd])

    with pytest.raises(TraceError):
        simulate(robot, law, None, 0.1, q0=np.zeros((3, 2)))
    with pytest.raises(TraceError):
        simulate(robot, law, None, 0.1, q0=[0.0, 0.0], continuous=True)


@pytest.mark.parametrize("answer", [np.zeros(3), 1.0, "x", None])
def test_wrong_answers_of_a_called_law(robot, answer):
    def law(q, qd, ref):
        float(q[0])
        return answer

    with pytest.raises(InputError, match="law 'law'"), pytest.warns(ArmwrightWarning):
        simulate(robot, law, None, 0.1, q0=[0.0, 0.0])


def test_wrong_shape_of_a_traced_law(robot):
    with pytest.raises(InputError, match=r"must return a torque per joint, shape \(2,\)"):
        simulate(robot, lambda q, qd, ref: np.concatenate([q, qd]), None, 0.1, q0=[0.0, 0.0])


def test_reference_is_what_the_law_sees(robot):
    """The torque records ref.q: the trajectory, then its end, held."""
    run = simulate(robot, lambda q, ref: ref.q + 0.0 * q, PATH, 1.0)
    expected = PATH.evaluate(run.time)
    assert isinstance(expected, Reference)
    assert np.abs(run["tau"][:-1] - expected.q[:-1]).max() < 1e-12
    assert np.abs(run["q_ref"][-1] - (0.8, -0.6)).max() < 1e-12 and np.abs(run["qd_ref"][-1]).max() == 0.0


# -- laws that change are traced again ------------------------------------------------------------------------------

STIFFNESS = 10.0
SOURCE = "def law(q, qd, ref): return KP * (ref.q - q) - 5.0 * qd"


def reads_a_global(q, qd, ref):
    return STIFFNESS * (ref.q - q) - 5.0 * qd


def first_torque(robot, law, **options):
    return simulate(robot, law, [1.0, 1.0], 0.01, q0=[0.0, 0.0], **options)["tau"][0, 0]


def test_changed_globals_closures_and_objects_are_seen(robot, monkeypatch):
    assert first_torque(robot, reads_a_global) == 10.0
    monkeypatch.setitem(globals(), "STIFFNESS", 20.0)
    assert first_torque(robot, reads_a_global) == 20.0

    for kp in (10.0, 20.0):  # the same text in another notebook cell
        cell = {"KP": kp}
        exec(SOURCE, cell)
        assert first_torque(robot, cell["law"]) == kp

    gain = np.array([10.0, 10.0])
    for kp in (10.0, 20.0):
        gain[:] = kp
        assert first_torque(robot, lambda q, ref: gain * (ref.q - q)) == kp

    class Controller:
        kp = 10.0

        def law(self, q, qd, ref):
            return self.kp * (ref.q - q) - 5.0 * qd

    for kp in (10.0, 20.0):
        controller = Controller()
        controller.kp = kp
        assert first_torque(robot, controller.law) == kp
        controller.kp = 2.0 * kp
        assert first_torque(robot, controller.law) == 2.0 * kp

    def with_option(q, ref, *, kp=10.0):
        return kp * (ref.q - q)

    assert first_torque(robot, with_option) == 10.0
    with_option.__kwdefaults__["kp"] = 20.0
    assert first_torque(robot, with_option) == 20.0


def test_unchanged_laws_are_traced_once(robot, monkeypatch):
    from armwright.simulation import session

    count = []
    real = session.loop_plan
    monkeypatch.setattr(session, "loop_plan", lambda *parts: count.append(1) or real(*parts))

    def make(kp):
        return lambda q, qd, ref: kp * (ref.q - q) - 7.5 * qd

    for kp in (31.0, 31.0, 32.0, 31.0):
        first_torque(robot, make(kp))
    assert len(count) == 2


def test_monitors_watch_a_called_law_too(robot):
    from armwright.contact.detectors.joint_threshold import joint_detector
    from armwright.contact.observers.momentum import momentum_observer
    from armwright.simulation import JointSensors

    def traced(q, qd, ref):
        return 20.0 * (ref.q - q) - 5.0 * qd

    def called(q, qd, ref):
        float(q[0])
        return traced(q, qd, ref)

    options = {"q0": [0.1, 0.2], "wrench": [1.0, 2.0, 0.0, 0.0, 0.0, 0.0], "monitors": [momentum_observer(20.0)]}
    ours = simulate(robot, traced, [0.5, 0.5], 0.3, **options)
    with pytest.warns(ArmwrightWarning, match="called"):
        theirs = simulate(robot, called, [0.5, 0.5], 0.3, **options)
    assert np.abs(ours["tau_ext"]).max() > 0.5 and np.abs(ours["tau_ext"] - theirs["tau_ext"]).max() < 1e-11

    options |= {"monitors": [momentum_observer(20.0), joint_detector([0.3, 0.3])], "sensors": JointSensors(delay=1)}
    first = simulate(robot, traced, [0.5, 0.5], 0.3, **options)
    with pytest.warns(ArmwrightWarning, match="called"):
        second = simulate(robot, called, [0.5, 0.5], 0.3, **options)
    assert first.outcome == second.outcome == "alarm" and first.events == second.events
    assert np.abs(first["q"] - second["q"]).max() < 1e-12
