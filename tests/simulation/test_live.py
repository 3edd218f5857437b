# SPDX-License-Identifier: Apache-2.0
"""A loop stepped by hand does what the same loop does when it is run, and takes inputs that were not known before."""

import numpy as np
import pytest

import armwright as aw
from armwright.control import computed_torque, pd_gravity
from armwright.errors import InputError, SimulationError
from armwright.motion import quintic
from armwright.simulation import Loop, simulate

Q0 = np.array([0.3, -0.7])


def arm():
    return aw.load("planar2")


def law():
    return computed_torque(100.0, 20.0)


def loop(robot, law, **options):
    return Loop.of(robot, law, rate=500.0, substeps=4, integrator="semi-implicit", **options)


def test_ticks_by_hand_equal_a_run():
    trajectory = quintic(Q0, Q0 + np.array([0.5, -0.4]), 0.2)
    run = simulate(arm(), law(), trajectory, rate=500.0, substeps=4, integrator="semi-implicit", duration=0.2)
    stepped = loop(arm(), law()).live(Q0)
    for k in range(100):
        stepped.step(*trajectory.evaluate(k / 500.0))
    assert np.allclose(stepped.q, run["q"][-1], rtol=0, atol=1e-12)
    assert stepped.time == pytest.approx(0.2)


def test_a_push_is_the_torque_that_it_makes_through_the_jacobian():
    push = np.array([3.0, -2.0, 0.0, 0.0, 0.0, 0.5])
    by_hand = loop(arm(), law(), wrench=lambda push: push, inputs={"push": (6,)}).live(Q0)
    for _ in range(50):
        by_hand.step(Q0)
    assert np.allclose(by_hand.q, Q0, atol=1e-12)  # no push, no motion
    by_hand.inputs["push"][...] = push
    start = by_hand.q.copy()
    for _ in range(50):
        by_hand.step()
    run = simulate(
        arm(), law(), Q0, q0=start, wrench=push, rate=500.0, substeps=4, integrator="semi-implicit", duration=0.1
    )
    assert np.allclose(by_hand.q, run["q"][-1], atol=1e-12)
    assert np.abs(by_hand.q - Q0).max() > 1e-4


def test_another_payload_at_run_time_is_the_arm_with_that_payload():
    heavy = arm().with_payload(3.0, (0.05, 0.0, 0.0))
    law = pd_gravity(60.0, 30.0)
    changed = loop(arm(), law, model=arm()).live(Q0, may_become=(heavy,))
    changed.become(heavy)
    always = loop(heavy, law, model=arm()).live(Q0)
    for _ in range(100):
        changed.step()
        always.step()
    assert np.allclose(changed.q, always.q, atol=1e-12)
    changed.become(arm())
    for _ in range(5000):
        changed.step()
    assert np.allclose(changed.q, Q0, atol=1e-4)


def test_gains_at_run_time_are_the_law_with_those_gains():
    changed = loop(arm(), pd_gravity(np.full((1, 2), 10.0), np.full((1, 2), 1.0))).live(Q0)
    changed.gains["kp"][...], changed.gains["kd"][...] = 250.0, 30.0
    fixed = loop(arm(), pd_gravity(250.0, 30.0)).live(Q0)
    for plant in (changed, fixed):
        for _ in range(50):
            plant.step(Q0 + 0.1)
    np.testing.assert_allclose(changed.q, fixed.q, atol=1e-12)
    assert fixed.gains == {}


def test_what_was_not_declared_cannot_change():
    stepped = loop(arm(), law()).live(Q0)
    with pytest.raises(InputError, match=r"differs in .*not declared"):
        stepped.become(arm().with_payload(1.0))


@pytest.mark.parametrize("name", ["q", "not a name"])
def test_inputs_need_names_of_their_own(name):
    with pytest.raises(InputError, match="name of its own"):
        loop(arm(), law(), wrench=lambda: np.zeros(6), inputs={name: (6,)})


def test_a_law_that_python_must_call_is_refused():
    def stubborn(q):
        return np.array([float(q[0]), 0.0])

    with pytest.warns(aw.ArmwrightWarning), pytest.raises(InputError, match="cannot be traced"):
        loop(arm(), stubborn).live(Q0)


def test_a_state_that_is_lost_is_told_and_can_be_set_again():
    stepped = loop(arm(), law()).live(Q0)
    stepped.qd[...] = np.nan
    with pytest.raises(SimulationError, match="not finite"):
        stepped.step()
    stepped.reset(Q0)
    for _ in range(10):
        stepped.step()
    assert np.allclose(stepped.q, Q0, atol=1e-9)
