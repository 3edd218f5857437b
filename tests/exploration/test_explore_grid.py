# SPDX-License-Identifier: Apache-2.0
"""Beyond document 000: detection in milliseconds, other reactions, three dimensions, whole arms, no way at all."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from armwright.cli import main
from armwright.detection.study_contacts import ur5_sensors
from armwright.errors import ArmwrightError, InputError
from armwright.exploration.exploration import explore
from armwright.exploration.exploration_result import OUTCOMES
from armwright.exploration.explore_options import Budget, ControlLoop, GridTask, Sensing, map_of
from armwright.exploration.grid.compare_worlds import explore_variant
from armwright.exploration.grid.grid_worlds import Outcomes, ask_oracles, kind_of_end, random_cylinders
from armwright.exploration.pictures.exploration_report import exploration_stage
from armwright.planning import Hopfield, grid_map
from armwright.world.shapes import Box, Capsule, Cylinder
from armwright.world.world import World
from armwright.world.world_catalogue import load_world, worlds

PATCH = load_world("pillars").tool_task
WHERE = map_of(PATCH)
DOWN = PATCH.rotation


def off_the_obstacles(run):
    """Every marked cell's box comes within 2 mm of a cylinder: nothing free was blocked."""
    grid = run.maps[0].grid
    centres, radii = np.array([s.centre[:2] for s in run.world]), np.array([s.radius for s in run.world])
    for cell in np.argwhere(np.asarray(run.maps[-1].felt) > 0) + grid.first:
        away = np.maximum(np.abs(grid.centre(cell)[:2] - centres) - 0.5 * 0.0263, 0.0)
        assert (np.linalg.norm(away, axis=1) - radii).min() < 2e-3


@pytest.mark.parametrize(
    "reaction, world",
    [
        ("back off", "A"),
        ("retract", "A"),
        ("slide", "B"),
        *(
            pytest.param(*case, marks=pytest.mark.thorough)
            for case in (("slide", "A"), ("back off", "B"), ("retract", "B"))
        ),
    ],
)
def test_reactions_reach_the_goal(ur5, world, reaction):
    run = explore(ur5, world, reaction=reaction)
    assert run.outcome == "reached" and run.contacts
    assert run.metrics()["false_alarms"] == 0 and not run.metrics()["in_contact_at_end"]
    assert len(set(run.cells)) == len(run.cells), "every contact teaches something"
    if reaction != "slide":
        off_the_obstacles(run)


def test_sliding_shows_a_wall_with_few_contacts_and_keeps_its_force(ur5):
    bump, slide = explore(ur5, "A"), explore(ur5, "A", reaction="slide")
    assert len(slide.contacts) <= len(bump.contacts) / 2
    assert slide.arrival < bump.arrival
    force = np.linalg.norm(slide.recording["force_felt"], axis=1)
    sliding = force > 4.0
    assert sliding.sum() > 500 and 6.0 < np.median(force[sliding]) < 10.0


def test_stop_stands_still_at_the_first_contact(ur5):
    run = explore(ur5, "A", reaction="stop")
    assert run.outcome == "stopped" and len(run.contacts) == 1
    assert np.abs(run.recording["qd"][-1]).max() < 1e-3
    assert np.linalg.norm(run.recording["force"][-1]) < 12.0


def test_momentum_observer_detects_within_milliseconds_through_noise(ur5):
    slow = explore(ur5, "A")
    fast = explore(ur5, "A", sensing=Sensing("momentum", sensors=ur5_sensors()), seed=3)
    assert fast.outcome == "reached" and fast.metrics()["false_alarms"] == 0
    assert fast.metrics()["median_delay_s"] < 0.015 < 0.05 < slow.metrics()["median_delay_s"]
    assert fast.metrics()["impulse_ns"] < 0.2 * slow.metrics()["impulse_ns"]


def shelf():
    where = grid_map((14, 14, 8), (0.25, -0.2, -0.05), 0.03)
    shapes = (
        Box(name="shelf", centre=(0.45, 0.0, -0.045), size=(0.04, 0.5, 0.31), damping=50.0),
        Cylinder(name="pillar", centre=(0.35, 0.1, 0.0), radius=0.03, height=0.3),
    )
    return World(shapes, name="shelf and pillar"), where


def test_three_dimensions(ur5):
    world, where = shelf()
    run = explore(ur5, world, GridTask((1, 6, 2), (12, 6, 2), where, (2.7, -1.1, 2.2, 0.4, 1.57, -0.45), DOWN))
    assert run.outcome == "reached"
    assert {c.shape for c in run.contacts} == {"shelf"}
    z = run.recording["tool"][:, 2]
    x = run.recording["tool"][:, 0]
    assert z[(x > 0.44) & (x < 0.46)].min() > 0.105, "it went over the shelf"


def test_contacts_on_other_links(ur5):
    bar = Capsule(name="bar", start=(0.35, -0.3, 0.38), end=(0.35, -0.05, 0.38), radius=0.03, damping=100.0)
    bar = World((bar,), name="bar", tool_task=PATCH)
    run = explore(ur5, bar, GridTask(contact="links"), sensing=Sensing("momentum"), budget=Budget(90.0))
    assert {"forearm", "upper_arm"} >= {c.link for c in run.contacts} >= {"forearm"}
    assert run.outcome in ("reached", "unreachable")
    assert run.metrics()["median_delay_s"] < 0.015
    blind = explore(ur5, bar, GridTask(contact="tool"))
    assert blind.reached and not blind.contacts, "the tool point alone passes under the bar"


def test_goal_in_an_obstacle_and_walled_in_are_declared(ur5):
    goal = WHERE.grid.centre((18, 7))
    inside = World((Cylinder(name="on the goal", centre=tuple(goal), radius=0.03),), name="inside", tool_task=PATCH)
    run = explore(ur5, inside)
    assert run.outcome == "unreachable" and "goal" in run.message
    assert not run.metrics()["in_contact_at_end"]
    angles = np.linspace(0.0, 2.0 * np.pi, 20, endpoint=False)
    ring = [goal + 0.085 * np.array([np.cos(a), np.sin(a), 0.0]) for a in angles]
    shapes = tuple(Cylinder(name=f"r{k}", centre=tuple(p), radius=0.02) for k, p in enumerate(ring))
    run = explore(ur5, World(shapes, name="ring", tool_task=PATCH), budget=Budget(600.0))
    assert run.outcome == "unreachable"


def test_budget_time_and_start_in_contact_have_names(ur5):
    assert explore(ur5, "A", budget=Budget(contacts=3)).outcome == "contact budget"
    assert explore(ur5, "A", budget=Budget(2.0)).outcome == "out of time"
    start = WHERE.grid.centre((2, 11))
    world = World(
        (Cylinder(name="here", centre=(start[0] + 0.02, start[1], 0.0), radius=0.03, stiffness=1e4),),
        name="here",
        tool_task=PATCH,
    )
    run = explore(ur5, world, sensing=Sensing("momentum"))
    assert run.outcome == "start in contact" and run.outcome in OUTCOMES


@pytest.mark.parametrize("count", [4, pytest.param(12, marks=pytest.mark.thorough)])
def test_random_worlds_against_the_oracles(ur5, count):
    result = Outcomes("", tuple(explore_variant(ur5, {}, seed) for seed in range(40, 40 + count)))
    assert result.table()["solvable"]["reached"] == sum(result.table()["solvable"].values()) > 0
    assert result.summary()["false_alarms"] == 0


def test_a_random_world_without_a_way_is_declared_unreachable(ur5):
    seed = next(s for s in range(200) if ask_oracles(random_cylinders(s)) == "unsolvable")
    run = explore(ur5, random_cylinders(seed), loop=ControlLoop(slots=24), budget=Budget(600.0))
    assert kind_of_end(run) == "declared unreachable"


def test_planners_agree_on_the_length_of_the_first_way(ur5):
    costs = {
        name: explore(ur5, "A", planner=name, budget=Budget(contacts=1)).plans[0].cost
        for name in ("hopfield", "dijkstra", "astar")
    }
    assert len(set(costs.values())) == 1
    assert explore(ur5, "A", planner=Hopfield(hood="moore")).reached


@pytest.mark.parametrize(
    "change, words",
    [
        ({"task": GridTask((1, 1))}, "ring"),
        ({"task": GridTask(goal=(25, 7))}, "outside the grid"),
        ({"task": GridTask(goal=(2, 11))}, "same cell"),
        ({"reaction": "dance"}, "reaction"),
        ({"sensing": Sensing("crystal ball")}, "observer"),
        ({"sensing": Sensing(detector="nose")}, "detector"),
        ({"planner": "compass"}, "planner"),
        ({"task": GridTask(contact="links"), "reaction": "slide"}, "only the tool can slide"),
        ({"task": GridTask(near=(0.0, 1.0))}, "near must hold 6"),
        ({"task": GridTask(where=WHERE)}, "which goal cell"),
        ({"task": (2, 11)}, "GridTask or an ArmTask"),
        ({"planner": lambda where, start, goal: None}, "must declare where it plans"),
        ({"planner": "rrt-connect", "task": GridTask()}, "planner is for the whole arm"),
        ({"world": World(name="bare")}, "has no map of its own.*give a map"),
        ({"robot": "irb140"}, "for ur5 and ur5-ragazzon only.*give near"),
        ({"world": "nowhere"}, "no world"),
        ({"world": World((Cylinder(name="base", centre=(0.0, 0.0, 0.0), radius=0.1),), tool_task=PATCH)}, "overlaps"),
        ({"task": GridTask((2, 11), (18, 7), WHERE.with_felt((18, 7)))}, "known obstacle"),
        ({"task": GridTask((0, 0), (0, 0), grid_map((1, 1), (0.3, 0.0, 0.0)))}, "one cell"),
        ({"task": GridTask((1, 1), (5, 5), grid_map((20, 20), (1.5, 0.0, 0.0), 0.1))}, "cannot be reached"),
    ],
)
def test_bad_requests_are_refused_before_anything_runs(ur5, change, words):
    given = {"robot": ur5, "world": "A", **change}
    with pytest.raises(InputError, match=words):
        explore(**given)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: GridTask(contact="hair"), "contact"),
        (lambda: GridTask(pace=0.0), "pace"),
        (lambda: Budget(float("nan")), "duration"),
        (lambda: Budget(contacts=0), "contacts"),
        (lambda: Budget(tolerance=-1.0), "tolerance"),
    ],
)
def test_bad_options_are_refused_where_they_are_made(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_enormous_grids_and_thresholds_below_the_noise_are_refused(ur5):
    from armwright.contact.detectors import joint_detector

    with pytest.raises(InputError, match="more than"):
        grid_map((100_000, 100_000), (0.0, 0.0, 0.0), 0.01)
    with pytest.raises(InputError, match="noise floor"):
        explore(ur5, "A", sensing=Sensing("momentum", joint_detector(1e-4), ur5_sensors()))


def test_interrupt_leaves_a_partial_run(ur5):
    def stop(fraction, contacts):
        if contacts >= 2:
            raise KeyboardInterrupt

    run = explore(ur5, "A", progress=stop)
    assert run.outcome == "interrupted" and len(run.contacts) == 2 and len(run.recording) > 1000


def test_command_line(tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib", reason="the report draws figures")
    seen = []
    monkeypatch.setattr("webbrowser.open", lambda address: seen.append(address) or True)
    assert main(["run", "collision", "--published", "--json", "--open", "-o", str(tmp_path / "out")]) == 0
    assert seen == [(tmp_path / "out" / "report.html").as_uri()]
    said = json.loads(capsys.readouterr().out)
    assert said["reached"] and said["contacts"] == 11 and said["cells"][0] == [10, 11]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64") == 5 and "http://" not in page and "https://" not in page
    assert main(["run", "collision", "--world", "nowhere"]) == 2
    assert main(["run", "collision", "--start", "a,b"]) == 2


def test_interrupt_on_the_command_line_writes_what_there_is(tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib", reason="the report draws figures")
    from armwright.exploration.grid.grid_run import GridRun

    place, calls = GridRun.place, []

    def interrupted(self):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return place(self)

    monkeypatch.setattr(GridRun, "place", interrupted)
    assert main(["run", "collision", "--no-film", "-o", str(tmp_path)]) == 130
    assert "interrupted" in capsys.readouterr().err
    assert "Interrupted after" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "recording.npz").stat().st_size > 1000


def test_wrong_model_is_answered_by_wider_thresholds(ur5):
    """Masses 10 % off: thresholds learned with that model keep quiet in free motion; contacts are still felt soon."""
    bodies = tuple(replace(body, mass=1.1 * body.mass, inertia=1.1 * body.inertia) for body in ur5.bodies)
    wrong = replace(ur5, bodies=bodies)
    run = explore(ur5, "A", sensing=Sensing("momentum", sensors=ur5_sensors()), loop=ControlLoop(model=wrong))
    assert run.outcome == "reached" and run.metrics()["false_alarms"] == 0
    assert run.metrics()["median_delay_s"] < 0.05


def test_film_and_figures(tmp_path, ur5):
    pytest.importorskip("PIL", reason="films are written by Pillow")
    pytest.importorskip("matplotlib", reason="figures")
    world, where = shelf()
    run = explore(ur5, world, GridTask((1, 6, 2), (12, 6, 2), where, (2.7, -1.1, 2.2, 0.4, 1.57, -0.45), DOWN))
    known = exploration_stage(run).map
    assert "<iframe" in run._repr_html_() and 'id="replay-data"' in run.replay(tmp_path / "r.html").read_text("utf-8")
    assert list(known.times) == [0.0, *(contact.time for contact in run.contacts)]
    for after, shown in zip(run.maps, known.shown, strict=True):  # the replay's map is the run's, contact by contact
        cells = {tuple(after.grid.cell(known.points[k]) - after.grid.first) for k in shown}
        assert cells == set(zip(*np.nonzero(after.felt), strict=True))
    assert run.animate(tmp_path / "x.gif", frames=3).read_bytes()[:3] == b"GIF"
    for view in ("path", "maps"):
        run.plot(view, tmp_path / f"{view}.png")
    with pytest.raises(ArmwrightError, match="cannot draw"):
        run.plot("moon")
    with pytest.raises(InputError, match="gif"):
        run.animate(tmp_path / "x.mp4")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.thorough) if n == "bench" else n for n in worlds()]
)  # most tests of exploring with the whole arm cross the bench, which takes minutes
def test_every_world_that_is_shipped_is_crossed(ur5, name):
    run = explore(ur5, name)
    assert run.outcome == "reached" and run.contacts
