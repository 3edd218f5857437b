# SPDX-License-Identifier: Apache-2.0
"""Dry friction under a held law: what is cancelled at which speed, what is refused, what is offered, what is told."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.control import computed_torque, evaluate_law, impedance, pd, sliding_mode
from armwright.errors import ArmwrightWarning, InputError, SimulationError
from armwright.motion import quintic
from armwright.motion.trajectory import Reference
from armwright.robot import Friction

HOLDING = {"integrator": "semi-implicit", "substeps": 4}


def rubbed(name, viscous, coulomb):
    """An arm of the catalogue with other friction [N m s/rad], [N m]."""
    robot = aw.load(name)
    level = zip(robot.joints, np.broadcast_to(viscous, robot.n), np.broadcast_to(coulomb, robot.n), strict=True)
    return replace(robot, joints=tuple(replace(j, friction=Friction(float(v), float(c))) for j, v, c in level))


def torque(law, robot, qd, qd_ref):
    ref = Reference(np.zeros(robot.n), np.asarray(qd_ref, dtype=float), np.zeros(robot.n))
    return evaluate_law(law, robot, 0.0, np.zeros(robot.n), np.asarray(qd, dtype=float), ref).tau


def test_the_default_cancels_at_the_speed_of_the_reference_and_every_choice_can_be_named():
    robot = rubbed("planar2", 0.5, 3.0)
    qd, qd_ref = [0.2, -0.4], [-0.1, 0.3]
    bare = torque(computed_torque(0.0, 0.0, friction="none"), robot, qd, qd_ref)

    def added(friction):
        return torque(computed_torque(0.0, 0.0, friction=friction), robot, qd, qd_ref) - bare

    np.testing.assert_allclose(added("reference"), 0.5 * np.array(qd_ref) + [-3.0, 3.0], atol=1e-12)
    np.testing.assert_allclose(added("measured"), 0.5 * np.array(qd) + [3.0, -3.0], atol=1e-12)
    smooth = 0.5 * np.array(qd) + 3.0 * np.array(qd) / np.hypot(qd, 0.1)
    np.testing.assert_allclose(added("smooth"), smooth, atol=1e-12)
    assert (added(True) == added("reference")).all() and (added(False) == 0.0).all()
    default = torque(computed_torque(0.0, 0.0), robot, qd, qd_ref)
    np.testing.assert_allclose(default, bare + added("reference"), atol=1e-12)
    with pytest.raises(InputError, match="friction: expected one of 'reference', 'measured', 'smooth', 'none'"):
        computed_torque(1.0, 1.0, friction="sometimes")


@pytest.mark.parametrize("friction", ["reference", "smooth"])
def test_what_is_left_of_the_friction_only_takes_energy(friction):
    """An arm at rest in a hand: the reference rests, so the law never adds energy to the joints through friction."""
    robot, rng = rubbed("planar2", 0.5, 3.0), np.random.default_rng(2)
    law, bare = (impedance(0.0, 0.0, friction=how) for how in (friction, "none"))
    for qd in rng.normal(size=(20, 2)):
        given = torque(law, robot, qd, [0.0, 0.0]) - torque(bare, robot, qd, [0.0, 0.0])
        lost = 0.5 * qd + 3.0 * np.sign(qd)
        assert qd @ (lost - given) >= 0.0


def test_a_joint_turns_round_on_its_path():
    """There and back: the sign of a moment ago blocks a joint that should turn; the reference's does not."""
    robot = rubbed("planar2", 0.0, 20.0)
    robot = replace(robot, gravity=np.zeros(3))

    def worst(**law):
        path = quintic(np.zeros(2), [0.05, -0.05], 0.5)
        run = aw.simulate(robot, computed_torque(100.0, 20.0, **law), path, 1.0, check_step=False, **HOLDING)
        return np.abs(run["error"]).max()

    assert worst() < 1e-3
    assert worst(friction="none") > 0.02


XARM = ([10, 10, 5, 5, 5, 2, 2], 1.0)  # of its ROS package


def test_the_advice_of_a_refusal_runs_and_tracks():
    """An xArm 7 with the friction of its ROS package: the default run is refused, what is offered follows the path."""
    robot, path = rubbed("xarm7", *XARM), quintic(np.zeros(7), np.full(7, 0.5), 1.0)
    law = computed_torque(100.0, 20.0)
    with pytest.raises(SimulationError, match=r"\(tried\)") as refused:
        aw.simulate(robot, law, path)
    substeps = int(re.search(r'integrator="semi-implicit" with substeps=(\d+)', str(refused.value)).group(1))
    run = aw.simulate(robot, law, path, 1.5, integrator="semi-implicit", substeps=substeps)
    assert run.outcome == "end" and np.abs(run["error"]).max() < 1e-3
    with pytest.raises(SimulationError, match=r"rodas3 with a step of 1 ms cannot hold dry friction.*joint_7"):
        aw.simulate(robot, law, path, integrator="rodas3")


def test_a_held_law_that_switches_with_the_measured_speed_is_seen():
    robot, path = rubbed("planar2", 0.0, 200.0), quintic(np.zeros(2), np.full(2, 0.5), 1.0)
    law = computed_torque(100.0, 20.0, friction="measured")
    with pytest.raises(SimulationError, match=r"with the sign of the measured speed, 200 N m") as refused:
        aw.simulate(robot, law, path, **HOLDING)
    assert 'friction="reference"' in str(refused.value) and "(tried)" in str(refused.value)
    aw.simulate(robot, computed_torque(100.0, 20.0), path, 0.1, **HOLDING)

    def mine(q, qd, ref):
        return 100.0 * (ref.q - q) - 20.0 * qd + 200.0 * np.sign(qd)

    with pytest.raises(SimulationError, match="cancels dry friction with the sign of the measured speed"):
        aw.simulate(robot, mine, path, **HOLDING)
    aw.simulate(robot, pd(100.0, 20.0), path, 0.1, **HOLDING)


def test_a_run_that_tracks_worse_for_its_cancelling_says_so():
    """A model with forty times the friction of the arm overshoots where the same law without it does not."""
    plant, model = rubbed("planar2", 0.0, 1.0), rubbed("planar2", 0.0, 40.0)
    path = quintic(np.zeros(2), [0.5, -0.5], 1.0)
    with pytest.warns(ArmwrightWarning, match=r"made the tracking worse: joint \S+ is off by .*friction=\"none\""):
        run = aw.simulate(plant, computed_torque(100.0, 20.0), path, model=model, **HOLDING)
    assert run.outcome.startswith("end; warning: cancelling friction (reference) made the tracking worse")
    assert aw.simulate(plant, computed_torque(100.0, 20.0), path, **HOLDING).outcome == "end"
    assert aw.simulate(plant, sliding_mode(20.0, 5.0, 0.0, 1.0), path, **HOLDING).outcome == "end"
