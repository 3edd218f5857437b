# SPDX-License-Identifier: Apache-2.0
"""Exploration with the whole arm: configurations, places found from joint torques, joint plans, named outcomes."""

from __future__ import annotations

import json
import re
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from armwright.cli import main
from armwright.contact import clearance
from armwright.errors import DescriptionError, InputError
from armwright.exploration.arm.arm_job import goal_configurations
from armwright.exploration.arm.arm_worlds import explore_arm_world, oracle, random_world
from armwright.exploration.arm.felt_places import find_places
from armwright.exploration.arm.plan_arm import arm_motion
from armwright.exploration.arm.touch_map import empty_map
from armwright.exploration.exploration import explore
from armwright.exploration.exploration_result import OUTCOMES
from armwright.exploration.explore_options import ArmTask, Budget, GridTask
from armwright.exploration.pictures.exploration_report import exploration_stage
from armwright.kinematics import fk, fk_all
from armwright.planning import RRTConnect, WholeArm, spheres
from armwright.planning.grid.grid_map import FELT, FREE, UNKNOWN
from armwright.planning.joint.whole_arm import KnownArm
from armwright.planning.obstacles import contact_capsules
from armwright.robot.load import load
from armwright.world.shapes import Sphere
from armwright.world.world import JointTask, ToolTask, World
from armwright.world.world_catalogue import load_world
from armwright.world.world_file import world_from_text, world_text

START = np.array([2.14, -1.2, 1.6, -0.4, 1.57, 0.0])
GOAL = START + np.array([1.2, 0.0, 0.0, 0.0, 0.0, 0.0])
TASK = ArmTask(START, GOAL)


@cache
def on_bench(reaction, seed):
    """A run, once for all tests that look at it."""
    return explore(load("ur5"), "bench", planner="rrt-connect", reaction=reaction, seed=seed, budget=Budget(240.0))


@pytest.fixture(scope="module")
def bench():
    return on_bench("back off", 2)


def ball(point, radius=0.03, **surface):
    return World((Sphere(name="ball", centre=tuple(point), radius=radius, damping=200.0, **surface),), name="ball")


def of_a_kind(run):
    """What holds for every run, however it ended."""
    assert run.outcome in OUTCOMES
    assert run.metrics()["false_alarms"] == 0
    levers = run.touch_maps[0].arm(margin=0.0).levers
    for k, contact in enumerate(run.contacts):
        known = run.touch_maps[k + 1].arm(margin=0.0, trust="sure", crowded=False)
        assert known.clearance(contact.q) <= 0.0, "every contact blocks the configuration in which it was felt"
        for plan in run.joint_plans[k + 1 :]:
            steps = [
                a + (b - a) * s
                for a, b in zip(plan.path[:-1], plan.path[1:], strict=True)
                for s in np.linspace(0, 1, 40)
            ]
            assert (np.abs(np.array(steps) - contact.q) @ levers).min() > 0.0
        before, after = run.touch_maps[k], run.touch_maps[k + 1]
        assert after.reach.sum() > before.reach.sum(), (
            "a configuration that touches again blocks more of what is around it"
        )


def test_a_run_on_the_bench_is_what_it_says(bench, ur5):
    of_a_kind(bench)
    assert bench.contacts, "the straight motion bumps into something"
    if bench.reached:
        assert np.abs(bench.recording["q"][-1] - load_world("bench").task.goal).max() < 5e-3
        assert not bench.metrics()["in_contact_at_end"]
    assert bench.metrics()["median_delay_s"] < 0.015
    truth = clearance(ur5, bench.world, bench.recording["q"][::10])
    np.testing.assert_allclose(np.ravel(bench.recording["clearance"])[::10], truth, atol=1e-12)
    assert truth.min() > -5e-3, "bumps, not collisions"


def test_doubt_about_places_is_admitted(bench):
    for contact in bench.contacts:
        places = contact.places
        assert places.share.min() > 0.0 and places.share.max() <= 1.0 + 1e-9
        assert places.sure or len(places.points) > 1
    first = bench.contacts[0].places
    assert not first.sure, "a pillar that pushes sideways loads the first joint only: no place can be told from that"


@pytest.mark.parametrize("body, along", [(1, 0.7), (2, 0.5), (5, 0.9)])
def test_torques_and_motion_name_the_place(ur5, body, along):
    """A push of 30 N on the side towards which a link moves is found where the joints can tell it."""
    from armwright.contact.isolation.link_surface import pushes, surfaces
    from armwright.world.arm_capsules import link_capsules

    q, qd = np.array([0.4, -1.0, 1.3, 0.5, 1.2, 0.3]), np.array([0.5, 0.4, -0.3, 0.2, 0.1, 0.0])
    parts = link_capsules(ur5)
    surface = next(s for s in surfaces(ur5, q, parts) if s.body == body)
    u, theta, _ = surface.grid(0.02, 32)
    points, normals = surface.at(u, theta)
    linear, _ = pushes(ur5, q, body, points)
    towards = np.einsum("mi,mij,j->m", normals, linear, qd) - 10.0 * np.abs(u - along * surface.length)
    k = int(np.argmax(towards))
    tau = -30.0 * linear[k].T @ normals[k]
    found = find_places(empty_map(ur5, q, q[None]), q, tau, np.full(6, 0.05), qd=qd)
    assert ur5.bodies[body].name in found.links
    if body == 5:
        assert found.sure and np.linalg.norm(found.points[0] - points[k]) < 0.02
    assert np.linalg.norm(found.points - points[k], axis=1).min() < 0.05


def test_belief_is_felt_swept_or_unknown(bench):
    known = bench.touch_maps[-1]
    assert (known.belief(known.points) == FELT).all()
    middle = 0.5 * (fk_all(known.robot, known.swept[0])[1, :3, 3] + fk_all(known.robot, known.swept[0])[0, :3, 3])
    assert known.belief(middle) == FREE and known.belief([3.0, 0.0, 0.0]) == UNKNOWN
    assert (np.diff([len(m.configurations) for m in bench.touch_maps]) >= 0).all()


def test_known_arm_measures_like_any_other(ur5):
    rng = np.random.default_rng(3)
    Q, c = rng.uniform(-3, 3, (50, 6)), rng.uniform(-0.6, 0.6, (20, 3))
    plain, known = (kind(ur5, spheres(c, 0.02), margin=0.01, pairs=((0, 5),)) for kind in (WholeArm, KnownArm))
    np.testing.assert_allclose(known.clearance(Q), plain.clearance(Q), atol=1e-12)
    blocked = KnownArm(ur5, spheres(c, 0.02), configurations=Q[:2], reach=np.array([0.1, 0.2]))
    assert blocked(Q[:2]).all() and not blocked.motion_free(Q[0], Q[0] + 0.01)
    with pytest.raises(InputError, match="configurations"):
        KnownArm(ur5, spheres(c, 0.02), configurations=np.zeros((2, 3)), reach=np.zeros(2))


def test_goal_in_an_obstacle_start_in_contact_stop_budget_and_time(ur5):
    tip = fk(ur5, GOAL)[:3, 3]
    world = ball(tip)
    run = explore(ur5, world, TASK, planner=RRTConnect(seed=1))
    assert run.outcome == "unreachable" and "goal" in run.message and not run.metrics()["in_contact_at_end"]
    of_a_kind(run)
    stopped = explore(ur5, world, TASK, reaction="stop")
    assert stopped.outcome == "stopped" and np.abs(stopped.recording["qd"][-1]).max() < 1e-2
    assert explore(ur5, world, TASK, budget=Budget(contacts=1)).outcome == "contact budget"
    assert explore(ur5, world, TASK, budget=Budget(1.0)).outcome == "out of time"
    there = explore(ur5, world, ArmTask(GOAL, START))
    assert there.outcome == "start in contact" and len(there.contacts) == 1


def test_boxed_in():
    arm = load("planar2")
    q = np.array([0.6, 0.5])
    elbow, tip = fk_all(arm, q)[:, :3, 3]
    shapes = []
    for name, a, b, gap in (("a", np.zeros(3), elbow, 0.02), ("b", elbow, tip, 0.03)):
        along = (b - a) / np.linalg.norm(b - a)
        for sign in (1.0, -1.0):
            beside = a + 0.85 * (b - a) + sign * np.array([-along[1], along[0], 0.0]) * (0.06 + 0.05 + gap)
            shapes.append(
                Sphere(name=f"{name}{sign:+.0f}", centre=tuple(beside), radius=0.05, stiffness=2e4, damping=50.0)
            )
    cage, goal = World(tuple(shapes), name="cage"), q + np.array([0.0, 1.5])
    run = explore(arm, cage, ArmTask(q, goal), budget=Budget(300.0))
    assert run.outcome == "boxed in" and 1 < len(run.contacts) < 60
    of_a_kind(run)


def test_interrupt_keeps_the_recording(ur5):
    def stop(fraction, contacts):
        if contacts:
            raise KeyboardInterrupt

    run = explore(ur5, "bench", seed=2, progress=stop)
    assert run.outcome == "interrupted" and len(run.recording) > 1000 and len(run.contacts) == 1


def test_goals_by_pose_and_position(ur5):
    T = fk(ur5, GOAL)
    rows, place = goal_configurations(ur5, T, START)
    assert len(rows) > 1 and np.abs(fk(ur5, rows) - T).max() < 1e-6 and np.abs(place - T[:3, 3]).max() == 0.0
    assert np.linalg.norm(rows[0] - START) <= np.linalg.norm(rows[-1] - START)
    rows, _ = goal_configurations(ur5, T[:3, 3], START)
    assert np.abs(fk(ur5, rows)[:, :3, 3] - T[:3, 3]).max() < 1e-6
    run = explore(ur5, ball((0.0, 0.0, 1.5)), ArmTask(START, T))
    assert run.outcome == "reached" and not run.contacts
    assert np.linalg.norm(run.recording["tool"][-1] - T[:3, 3]) < 3e-3


@pytest.mark.parametrize(
    "change, words",
    [
        ({"start": START[:5]}, "configuration of 6 numbers"),
        ({"start": np.full(6, np.nan)}, "finite"),
        ({"goal": "there"}, "numbers"),
        ({"goal": np.eye(4) * 2.0}, "rigid"),
        ({"goal": (3.0, 0.0, 0.0)}, "cannot be reached"),
        ({"goal": START + 7.0}, "beyond its limits"),
        ({"goal": START}, "same configuration"),
        ({"task": GridTask(contact="tool")}, "whole arm"),
        ({"speed": -1.0}, "speed"),
        ({"margin": float("nan")}, "margin"),
        ({"reaction": "dance"}, "reaction"),
        ({"start": None, "goal": None}, "no start and goal"),
        ({"world": lambda p: 0.0 * p}, "World"),
    ],
)
def test_bad_input_is_refused(ur5, change, words):
    given = {"start": START, "goal": GOAL, **change}
    options = {"world": ball((0.0, 0.0, 1.5)), "planner": "rrt-connect"}
    options |= {key: given.pop(key) for key in ("world", "reaction", "task") if key in given}
    with pytest.raises(InputError, match=words):
        explore(ur5, **{"task": ArmTask(**given)} | options)


def test_tasks_in_world_files():
    world = load_world("bench")
    assert world_from_text(world_text(world)) == world and world.task.robot == "ur5"
    head = 'name = "x"\n[task]\nrobot = "ur5"\nstart = { value = [0, 1], unit = "deg" }\n'
    for goal in (
        '{ value = [0, 1, 2], unit = "deg" }',
        '{ value = [0, 1], unit = "kg" }',
        '{ value = 3, unit = "deg" }',
    ):
        with pytest.raises(DescriptionError, match="task"):
            world_from_text(head + f"goal = {goal}\n")
    with pytest.raises(InputError, match="finite"):
        JointTask("ur5", (0.0,), (float("nan"),))


TOOL_TASK = """name = "x"
[tool_task]
robots = ["ur5"]
cells = [20, 20]
origin = { value = [124, -276, 0], unit = "mm" }
size = { value = 26, unit = "mm" }
start = [2, 11]
goal = [18, 7]
near = { value = [146, -64, 147, 7, 90, -34], unit = "deg" }
"""


def test_tool_tasks_in_world_files():
    world = load_world("layout-a")
    assert world_from_text(world_text(world)) == world and world.tool_task.goal == (18, 7)
    task = world_from_text(TOOL_TASK).tool_task
    assert task.origin == (0.124, -0.276, 0.0) and task.size == 0.026 and task.ring and not task.rotation
    for wrong, words in (
        ("goal = [18, 21]", "not a cell"),
        ("goal = [18, 7, 2]", "not a cell"),
        ("goal = 18", "list"),
        ("goal = [18, 0]", "whole numbers"),
        ('goal = [18, 7]\nring = "yes"', "true or false"),
        ("goal = [18, 7]\nrotation = [[1, 0, 0], [0, 1, 0], [0, 0, -1]]", "rotation matrix"),
        ("goal = [18, 7]\npace = 2", "pace"),
    ):
        with pytest.raises(DescriptionError, match=words):
            world_from_text(TOOL_TASK.replace("goal = [18, 7]", wrong))
    with pytest.raises(DescriptionError, match="missing key 'near'"):
        world_from_text(TOOL_TASK.split("near")[0])
    with pytest.raises(InputError, match="size positive"):
        ToolTask(("ur5",), (9, 9), (0.0, 0.0, 0.0), -1.0, (2, 2), (3, 3), (0.0,))


def test_report_and_pictures(bench, tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need the extra 'plot'")
    page = bench.report(tmp_path / "r.html", animation=True, frames=3).read_text(encoding="utf-8")
    assert "Clearance" in page and "forearm" in page and page.count("<img") == 7
    assert not re.search("https?:", page.split("<pre>")[0])
    assert bench.plot("clearance") is not None


def test_command_line(capsys):
    assert main(["run", "collision", "--world", "bench", "--reaction", "stop", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (
        told["outcome"] == "stopped"
        and told["contact_list"][0]["links"]
        and told["settings"]["planner"] == "rrt-connect"
    )
    assert main(["run", "collision", "--world", "A", "--planner", "rrt-connect"]) != 0
    assert "no start and goal" in capsys.readouterr().err


REACTIONS = ("back off", "retract", "slide")


def on_the_bench(cases):
    """A last bit that differs grows into another run, so what is said about runs is a count with its limit.

    Promised are 19 of 20 runs that arrive, 17 of 20 contacts whose link is not ruled out, 19 of 20 places that are
    right where they are sure. The limits are exceeded once in 100 times (10,000 times for links) if just
    that is kept. Of 36 runs of other seeds 35 arrived, and of their 37 sure places one was wrong.
    """
    runs = [on_bench(reaction, seed) for reaction, seed in cases]
    for run in runs:
        of_a_kind(run)
        assert run.outcome in ("reached", "gave up", "out of time"), "nobody says that there is no way: there is one"
    assert sum(not run.reached for run in runs) <= binom.isf(1e-2, len(runs), 0.05)
    contacts = [c for run in runs for c in run.contacts if c.true_point is not None]
    assert {c.link for c in contacts} >= {"forearm", "upper_arm"} and {c.shape for c in contacts} >= {"lamp", "pillar"}
    ruled_out = sum(c.link not in c.places.links for c in contacts)
    assert ruled_out <= binom.isf(1e-4, len(contacts), 0.15)
    sure = [np.linalg.norm(c.places.points[0] - c.true_point) for c in contacts if c.places.sure]
    assert np.sum(np.array(sure) > 0.03) <= binom.isf(1e-2, len(sure), 0.05)


@pytest.mark.slow
@pytest.mark.thorough
def test_the_goal_on_the_bench_is_reached_by_every_reaction():
    on_the_bench(zip(REACTIONS, (2, 1, 0), strict=True))


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("reaction", REACTIONS)
def test_the_goal_on_the_bench_is_reached_whatever_the_seed(reaction):
    on_the_bench([(reaction, seed) for seed in (0, 1, 2)])


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [[1], pytest.param([0, *range(2, 8)], marks=pytest.mark.thorough)])
def test_random_worlds_beside_the_oracle(ur5, seeds):
    """No way is declared closed that is open; 19 of 20 open ones are gone, within what chance allows (1 in 100)."""
    rows = [explore_arm_world(ur5, seed) for seed in seeds]
    open_ones = [row for row in rows if row["truth"] == "solvable"]
    assert open_ones and not [row for row in open_ones if row["outcome"] in ("unreachable", "boxed in")]
    assert sum(not row["reached"] for row in open_ones) <= binom.isf(1e-2, len(open_ones), 0.05)


def test_the_oracle_of_random_worlds(ur5):
    world = random_world(ur5, 5)
    assert world == random_world(ur5, 5) and oracle(ur5, world) == "solvable"
    at_goal = Sphere(name="on the goal", centre=tuple(fk(ur5, world.task.goal)[:3, 3]), radius=0.05)
    assert oracle(ur5, World((), name="empty", task=world.task)) == "solvable"
    assert oracle(ur5, World((at_goal,), name="no way", task=world.task)) == "no way found"


def test_waypoints_that_nearly_coincide_neither_slow_a_motion_nor_bend_it(ur5):
    """Planners return such pairs where they cut corners; the motion is that of the path without them."""
    links, rng = contact_capsules(ur5), np.random.default_rng(41)
    for _ in range(5):
        path = np.cumsum(rng.uniform(-0.6, 0.6, (5, 6)), axis=0)
        twice = np.insert(path, [2, 3, 4], path[2:5] + rng.uniform(-2e-4, 2e-4, (3, 6)), axis=0)
        one, other = (arm_motion(ur5, links, rows, 0.25) for rows in (path, twice))
        assert other.duration == pytest.approx(one.duration, rel=0.02)
        share = np.linspace(0.0, 1.0, 200)
        rows = [motion.evaluate(share * motion.duration).q for motion in (one, other)]
        assert np.abs(rows[0] - rows[1]).max() < 0.02


def test_the_replay_draws_forces_where_they_were(bench):
    """After every contact the replay's places are the likely ones of the run's map; arrows stand at the contact."""
    stage = exploration_stage(bench)
    for known, shown in zip(bench.touch_maps, stage.map.shown, strict=True):
        assert np.array_equal(stage.map.points[list(shown)].reshape(-1, 3), known.points[known.likely])
    true, felt = stage.arrows
    for contact in bench.contacts:
        row = int(np.searchsorted(stage.time, contact.time))
        assert np.array_equal(felt.origin[row], contact.places.points[0])
        assert np.array_equal(true.origin[row], contact.true_point)
        assert np.array_equal(true.values[row], bench.recording["force"][row])
    assert max(map(np.linalg.norm, true.values)) == pytest.approx(bench.metrics()["largest_force_n"])
