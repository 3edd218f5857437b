# SPDX-License-Identifier: Apache-2.0
"""Detection studies of any arm: what its friction and rotors rest on, what is refused, steps that follow the arm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.detection.detection_settings import experiment
from armwright.detection.studied_arm import COULOMB_SHARE, joint_sizes, study_arm
from armwright.detection.study_contacts import study_law, tool_moves
from armwright.detection.study_runs import Spread, StudyBench, Wall
from armwright.detection.study_step import study_substeps
from armwright.errors import InputError
from armwright.robot.parts import Actuators, Body, Joint
from armwright.simulation.creeping_velocity import creeping_velocity
from armwright.simulation.integrators import velocity_with_dry_friction
from armwright.simulation.sensors import JointSensors

QUICK = {"moves": 2, "learning_moves": 4, "learning_runs": 8, "observers": ["momentum"], "detectors": ["two-speed"]}
EXACT = JointSensors(position_resolution=1e-9)


def made_up(n: int, kind: str = "revolute") -> aw.Robot:
    """An arm of n joints, every axis across the one before, links of 0.3 m and 2 kg."""
    turn = np.array([[1.0, 0, 0, 0.3], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
    bodies = tuple(
        Body(
            f"link_{k}",
            k - 1,
            k,
            np.eye(4) if k == 0 else turn,
            mass=2.0,
            com=[0.15, 0.0, 0.0],
            inertia=0.02 * np.eye(3),
        )
        for k in range(n)
    )
    joints = tuple(Joint(f"joint_{k}", kind) for k in range(n))
    place = np.eye(4)
    place[0, 3] = 0.3
    return aw.Robot(
        name=f"made-up-{n}", joints=joints, bodies=bodies, actuators=Actuators.none(n), tip=n - 1, T_tip_tool=place
    )


@pytest.mark.parametrize("arm", [made_up(1), made_up(2), made_up(3), made_up(7), made_up(3, "prismatic")])
def test_arms_of_any_number_of_joints_meet_their_walls(arm, tmp_path, monkeypatch):
    monkeypatch.setattr("armwright.detection.detection_settings.load", lambda *_, **__: arm)
    study = experiment({**QUICK, "robot": "made-up"}, 3)
    found = study.trials(study.learn()).run([study.trial(item) for item in range(10)])
    assert found.met.sum() == 2 and np.isfinite(found.before[~found.met]).all()
    assert study.basis["friction"].startswith("assumed") and study.basis["rotors"].startswith("assumed")


def test_twelve_joints_begin_and_thirteen_are_refused(monkeypatch):
    arms = {"12": made_up(12), "13": made_up(13)}
    monkeypatch.setattr("armwright.detection.detection_settings.load", lambda name, **_: arms[name])
    study = experiment({**QUICK, "robot": "12"}, 3)
    assert study.bench.robot.n == 12 and len(study.moves) == 2
    with pytest.raises(InputError, match="has 13 joints; a study takes 1 to 12"):
        experiment({**QUICK, "robot": "13"}, 3)


@pytest.mark.parametrize("name", ["iiwa7", "iiwa14", "kr6r900"])
def test_an_arm_without_inertia_is_refused_by_what_is_missing(name):
    with pytest.raises(InputError, match=r"mass, centre of mass and inertia of every link are missing \(link_1, "):
        experiment({"robot": name}, 0)
    with pytest.raises(InputError, match="are missing"):  # a rotor is no link
        experiment({"robot": name, "rotors": 0.1}, 0)


def test_a_link_without_mass_is_not_hidden_by_an_assumed_rotor():
    arm = made_up(3)
    bare = replace(arm.bodies[2], mass=0.0, inertia=np.zeros((3, 3)))
    arm = replace(arm, bodies=(*arm.bodies[:2], bare))
    with pytest.raises(InputError, match=r"joint 'joint_2' of 'made-up-3' moves no inertia.*link_2 \(mass, inertia\)"):
        study_arm(arm)
    assert "given" in study_arm(arm, rotors=0.05).basis["rotors"]


def test_friction_and_rotors_come_from_where_it_is_said():
    kufieta, panda = aw.load("ur5-kufieta-c"), aw.load("panda")
    own = study_arm(kufieta, as_described=True)  # a preset's arm is as its document has it
    assert own.robot == kufieta and own.basis["rotors"] == "none, as ur5-kufieta-c is described"
    assert own.basis["friction"] == "of the description of ur5-kufieta-c"
    ur5 = study_arm(aw.load("ur5"))
    assert "Kufieta" in ur5.basis["friction"] and ur5.robot.tree.coulomb[0] == pytest.approx(7.2)
    assumed = study_arm(panda)
    np.testing.assert_allclose(assumed.robot.tree.coulomb, COULOMB_SHARE * np.array([87.0] * 4 + [12.0] * 3))
    assert "assumed: Coulomb 3.48" in assumed.basis["friction"] and "0.1 kg m²" in assumed.basis["rotors"]
    given = study_arm(panda, {"viscous": 1.0, "coulomb": [4, 4, 4, 4, 0.7, 0.7, 0.7]}, [0.2] * 7)
    assert given.robot.tree.coulomb[6] == 0.7 and given.robot.tree.armature[3, 3] == 0.2
    none = study_arm(panda, "none", "none")
    assert not none.robot.tree.coulomb.any() and "flattering" in none.basis["friction"]
    for friction, rotors, words in (
        ("much", None, "'sheet', 'none' or numbers"),
        ({"coulomb": [1.0, 2.0]}, None, "one for each of the 7 joints"),
        ({"dry": 1.0}, None, "viscous and coulomb"),
        (None, -1.0, "one number ≥ 0"),
    ):
        with pytest.raises(InputError, match=words):
            study_arm(panda, friction, rotors)


def test_sizes_of_joints_follow_their_motors():
    np.testing.assert_allclose(joint_sizes(aw.load("panda")), [1, 1, 1, 1, 12 / 87, 12 / 87, 12 / 87])
    sizes = joint_sizes(made_up(4))  # no limits: what the arm needs
    assert sizes.max() == 1.0 and sizes.min() >= 0.1 and sizes[0] > sizes[3]


@pytest.mark.parametrize("seed", [41, 42])
def test_no_joint_of_the_preset_runs_off(seed):
    """Three RK4 steps a tick let wrist 3 of some arms run off by 0.3 to 0.7 rad; the step must not matter."""
    study = experiment({"moves": 2}, seed)
    seeds = [np.random.SeedSequence(seed, spawn_key=(k,)) for k in range(16)]
    for move in study.moves:
        coarse, fine = (
            StudyBench(study.bench.robot, study.bench.law, EXACT, study.bench.spread, substeps=steps)
            for steps in (None, 30)
        )
        one, other = coarse.run(move, seeds, None, 0.0), fine.run(move, seeds, None, 0.0)
        assert np.abs(one.q - other.q).max() < 3e-3
        # 20 % of Coulomb and viscous friction against the stiffness that the law has: 75² · M = 0.78 N m/rad
        assert np.abs(one.q - one.ref.q).max() < 0.2 * 0.65 * 2.0 / 0.78
        assert np.abs(one.qd).max() < 1.5 * np.abs(one.ref.qd).max() + 0.3


def test_steps_follow_the_stiffest_joint():
    arm = aw.load("ur5-kufieta-c")
    plain = study_substeps(arm, Spread(), 1000.0)
    assert plain >= 8 and study_substeps(arm, Spread(), 125.0) >= 8 * (plain - 1)
    assert study_substeps(arm, Spread(drift=(1.0, 2.0)), 1000.0) >= 2 * (plain - 1)
    assert (
        study_substeps(arm.with_rotors(0.1), Spread(), 1000.0)
        == 3
        < study_substeps(arm.with_rotors(0.1), Spread(), 1000.0, 1e7)
    )
    with pytest.raises(InputError, match="tool swings with"):
        study_substeps(arm, Spread(), 1000.0, 1e11)
    with pytest.raises(InputError, match="'wrist_3' decays within"):
        study_substeps(arm.with_friction([7, 5, 5, 1, 1, 100.0]), Spread(), 1000.0)


def test_a_velocity_in_a_dead_zone_is_the_optimum_of_its_step():
    """No small change of v⁺ lowers ½ vᵀMv − mᵀv + Σ b max(|v| − z, 0); without zones it is what sticks."""
    rng, zone = np.random.default_rng(0), np.array([0.02, 0.0, 0.1, 0.02])
    kinds = set()
    for _ in range(60):
        A = rng.normal(size=(4, 4))
        M, v, bound = A @ A.T + 0.1 * np.eye(4), rng.normal(size=4), rng.uniform(0.0, 1.0, 4)
        m = M @ v * rng.choice([0.01, 0.3, 1.0])
        bound[rng.integers(4)] = 0.0

        def cost(x, M=M, m=m, bound=bound):
            return 0.5 * x @ M @ x - m @ x + bound @ np.maximum(np.abs(x) - zone, 0.0)

        best = creeping_velocity(M, m, bound, zone, v)
        kinds |= {(bool(abs(x) == z), bool(abs(x) > z)) for x, z in zip(best, zone, strict=True)}
        tries = best + 1e-4 * rng.normal(size=(200, 4))
        assert min(cost(x) for x in tries) >= cost(best) - 1e-12
        np.testing.assert_allclose(
            creeping_velocity(M, m, bound, np.zeros(4), v), velocity_with_dry_friction(M, m, bound, v), atol=1e-9
        )
    assert len(kinds) == 3  # inside, at the edge, outside


def test_a_joint_that_friction_could_hold_creeps_with_its_dead_zone():
    arm = made_up(1).with_friction(0.0, 20.0, 0.02).with_rotors(0.1)
    options = {"integrator": "semi-implicit", "q0": [0.0], "duration": 0.2, "substeps": 2, "check_step": False}
    held, creeping = (aw.simulate(arm, external=lambda q: 0.0 * q + 5.0, creep=c, **options) for c in (False, True))
    assert np.abs(held["qd"]).max() == 0.0
    np.testing.assert_allclose(creeping["qd"][-1], 0.02)


def test_moves_respect_limits_and_few_joints():
    panda = aw.load("panda")
    for move in tool_moves(panda, 6, seed=2):
        ends = np.array([move.start.q, move.end.q])
        assert (ends >= panda.lower).all() and (ends <= panda.upper).all()
    stands = replace(made_up(1), T_tip_tool=np.eye(4))
    with pytest.raises(InputError, match="no joint of 'made-up-1' moves its tool"):
        tool_moves(stands, 1)


def test_a_wall_in_a_bench_of_a_made_up_arm_is_met():
    bench = StudyBench(made_up(2).with_friction(1.0, 1.0), study_law(400.0, 40.0), EXACT, Spread())
    batch = bench.run(tool_moves(bench.robot, 1)[0], range(3), Wall(1e4), 0.1)
    assert np.isfinite(batch.touched).all() and (batch.force.max(axis=1) > 1.0).all()
