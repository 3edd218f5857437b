# SPDX-License-Identifier: Apache-2.0
"""An exploration on the wire from facts to result: dry run, consent, rehearsal, bands; and what is refused before."""

from dataclasses import replace

import numpy as np
import pytest

from armwright.cli.app import run
from armwright.errors import InputError
from armwright.exploration.explore_options import ArmTask, Budget, GridTask
from armwright.kinematics import fk
from armwright.live import wire_arm
from armwright.live.wire_consent import BY_OPTION, consents
from armwright.live.wire_dry_run import dry_run_page
from armwright.live.wire_exploring import explore_wire
from armwright.live.wire_job import WireAddress, WireCare, WireLoad, wire_job
from armwright.live.wire_limits import Fence, TimedMotion, Watchman, WireLimits
from armwright.live.wire_rehearsal import LEAST_MOVING, JointWays, MapWays, wiggles
from armwright.live.wire_riding import NOT_PASSED
from armwright.planning import grid_map
from armwright.recording.formats import load
from support.wire import START, WALL, controller, exact_model

CELL = 0.03
POST = WALL.replace("0.5, 0.1]", "0.03, 0.04]")  # a low block across the straight way, with room beside it
MODEL = exact_model()


def patch():
    """A small map in the plane of the start, the tool in its cell (2, 5)."""
    x, y, z = fk(MODEL.robot, START)[:3, 3]
    return grid_map((13, 9), (x - 2 * CELL, y - 5 * CELL, z), CELL, first=1)


@pytest.fixture(scope="module")
def robot():
    """A controller whose arm stands at the start: nothing here moves it."""
    with controller(wall=None) as virtual:
        yield virtual


@pytest.fixture
def task():
    return GridTask(goal=(13, 5), where=patch())


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    """A busy machine is no reason to fail: what a gap does is another test."""
    monkeypatch.setattr(wire_arm, "MOST_GAPS", 10**6)


@pytest.fixture(scope="module")
def explored(tmp_path_factory):
    """One exploration, its folder, its job and what was told."""
    patience = pytest.MonkeyPatch()
    patience.setattr(wire_arm, "MOST_GAPS", 10**6)
    out, said = tmp_path_factory.mktemp("explored"), []
    with controller(wall=POST) as robot:
        job = wire_job(
            WireAddress(robot.host), MODEL, GridTask(goal=(13, 5), where=patch()), care=WireCare(rehearsed=12.0), seed=3
        )
        found = explore_wire(job, consents(robot.host, job.sentences(), None), out=out, tell=said.append)
        touches, truth = robot.contacts(max(0.0, robot.truth().time - 59.0)), robot.truth()
    patience.undo()
    return found, out, job, said, touches, truth


def test_it_reaches_the_goal_around_what_it_felt(explored):
    """Every mark lies at the block, no touch was hard, the controller made no stop, and nobody told a truth."""
    found, _, _, said, touches, truth = explored
    assert found.outcome == "reached", found.message
    assert found.run.contacts and touches and truth.safety == "NORMAL"
    assert max(touch.largest for touch in touches) < 80.0
    reach = 0.04 + CELL  # the round end of the last link, and a cell
    for contact in found.run.contacts:
        away = np.abs(contact.actual[:2] - [0.40, 0.0]) - [0.03, 0.015]
        assert np.linalg.norm(np.maximum(away, 0.0)) < reach
    assert not found.run.truth_known and np.isnan(found.run.contacts[0].true).all()
    assert [line.split(" for")[0] for line in said] == ["rehearsing"] * (1 + found.rehearsals) + ["exploring"]
    assert found.run.recording.time[0] > 5.0  # the run's own part: the rehearsal is in the file


def test_bands_are_learned_and_the_caps_lie_above_them(explored):
    found, _, job, _, _, _ = explored
    known = found.bands
    assert (known.bands.motion < 0.9 * np.asarray(MODEL.bands.motion)).sum() >= 3
    assert (known.torque >= 1.1 * known.bands.motion).all()
    assert known.force < job.limits.force and known.noticed >= known.force


def test_every_recording_says_who_confirmed_what(explored):
    found, out, job, _, _, _ = explored
    files = sorted(out.glob("*.mcap"))
    assert [file.name for file in files] == ["rehearsal.mcap", *(f"ride-{k + 1}.mcap" for k in range(found.rehearsals))]
    for file in files:
        settings = load(file).settings
        assert settings["not_a_safety_function"] is True
        assert [one["sentence"] for one in settings["consents"]] == list(job.sentences())
        assert {one["by"] for one in settings["consents"]} == {BY_OPTION}
        assert settings["limits"]["fence"] == [x.tolist() for x in (job.limits.fence.low, job.limits.fence.high)]
    assert load(files[-1]).settings["torque_caps"] == pytest.approx(found.bands.torque)


def test_consent_is_everything_or_nothing(robot, task):
    job = wire_job(WireAddress(robot.host), MODEL, task)
    said = job.sentences()
    assert len(said) == len(set(said)) and all("{" not in text for text in said)
    with pytest.raises(InputError, match="not confirmed, nothing was moved: The dry run"):
        consents(robot.host, said, lambda text: not text.startswith("The dry run"))
    with pytest.raises(InputError, match="virtual controllers only"):
        consents("192.168.1.10", said, None)
    given = consents(robot.host, said, lambda text: True, "somebody")
    assert [one.by for one in given] == ["somebody"] * len(said)
    before = robot.truth().q
    with pytest.raises(InputError, match="not everything was confirmed"):
        explore_wire(job, given[1:])
    assert np.abs(np.subtract(robot.truth().q, before)).max() < 1e-4


def test_what_cannot_be_is_refused_while_the_arm_stands(robot, task):
    address = WireAddress(robot.host)
    for how, words in (
        ({"reaction": "slide"}, "position servo"),
        ({"care": WireCare(tool_speed=0.5)}, r"tool_speed must lie in \(0, 0.1\]"),
        ({"care": WireCare(lift=0.0)}, "lift must be > 0"),
        ({"carried": WireLoad(mass=2.0, centre=(0.0, 0.0, 0.05))}, "payload"),
        (
            {"care": WireCare(Fence(np.array([0.0, -0.5, -0.2]), np.array([0.4, 0.5, 0.6])))},
            "the tool would leave the fence",
        ),
    ):
        with pytest.raises(InputError, match=words):
            wire_job(address, MODEL, task, **how)
    with pytest.raises(InputError, match=r"the tool stands in cell \(2, 5\), the run begins in cell \(3, 5\)"):
        wire_job(address, MODEL, replace(task, start=(3, 5)))
    high = patch()
    high = replace(high, grid=replace(high.grid, origin=high.grid.origin + np.array([0.0, 0.0, 0.012])))
    with pytest.raises(InputError, match="12 mm off the plane"):
        wire_job(address, MODEL, GridTask(goal=(13, 5), where=high))


def test_something_in_the_way_of_the_rehearsal_ends_the_job():
    """A shelf above the map: the arm gives way, nothing is explored, and the outcome says why."""
    shelf = WALL.replace("[0.40, 0.0, 0.0]", "[0.26, 0.0, 0.42]").replace("[0.06, 0.5, 0.1]", "[0.1, 0.5, 0.02]")
    with controller(wall=shelf) as robot:
        job = wire_job(WireAddress(robot.host), MODEL, GridTask(goal=(13, 5), where=patch()), care=WireCare(lift=0.3))
        found = explore_wire(job, consents(robot.host, job.sentences(), None))
        assert found.outcome == NOT_PASSED and found.run is None and "something stands" in found.message
        assert max(touch.largest for touch in robot.contacts()) < 100.0
        assert robot.truth().safety == "NORMAL"


def test_ways_of_a_rehearsal_stay_above_move_every_joint_and_lead_home(task):
    q, where = START, patch()
    from armwright.exploration.grid.held_tool import HeldTool

    tool = HeldTool(MODEL.robot, fk(MODEL.robot, q)[:3, :3])
    ways, moved, here = MapWays(tool, where, q, 0.1, 0.6, 1), np.zeros(6), q
    floor = tool.place(q)[2] + 0.1 - 0.035
    for k in range(12):
        motion = ways.next(here)
        rows = motion.evaluate(np.linspace(0.0, motion.duration, 60)).q
        assert np.abs(rows[0] - here).max() < 1e-9
        moved = np.maximum(moved, np.ptp(rows, axis=0))
        assert k == 0 or tool.place(rows)[:, 2].min() > floor
        here = rows[-1]
    assert (moved > 0.05).all() and ways.anywhere
    for motion in ways.home(here):
        here = motion.evaluate(motion.duration).q
    assert np.abs(here - q).max() < 1e-6
    fence = Fence(np.array([0.0, -0.5, -0.2]), np.array([0.7, 0.5, 0.6]))
    watchman = Watchman(MODEL.robot, WireLimits(fence))
    for motion in wiggles(MODEL.robot, ways.up):  # none leaves the fence
        assert TimedMotion(motion, watchman).slowest > 0.0


def test_the_dry_run_names_cells_out_of_reach_and_its_page_says_what_it_is(robot, tmp_path):
    x, y, z = fk(MODEL.robot, START)[:3, 3]
    wide = grid_map((32, 3), (x - 2 * CELL, y - 2 * CELL, z), CELL, first=1)
    job = wire_job(WireAddress(robot.host), MODEL, GridTask(goal=(9, 2), where=wide))
    lost = {cell for cell, _ in job.dry_run.out_of_reach}
    assert lost and all(cell[0] > 15 for cell in lost)
    page = dry_run_page(job.dry_run, MODEL.robot, tmp_path / "dry-run.html", job.sentences())
    text = page.read_text(encoding="utf-8")
    assert text.index("Not a safety function") < text.index("Fence") and "Out of reach" in text


def test_the_command_says_what_it_is_and_needs(capsys, robot, tmp_path):
    run(["run", "collision", "--help"])
    assert "not a safety function" in " ".join(capsys.readouterr().out.split()[:40])
    for words, said in (
        (["--model", "arm.json"], "--model goes with --wire"),
        (["--wire", robot.host], "--model arm.json"),
        (["--wire", robot.host, "--robot", "ur5"], "--robot does not go with --wire"),
        (["--wire", robot.host, "--observer", "closed-loop"], "the servo of this arm hides them"),
        (["--wire", robot.host, "--model", "x"], "give --out FOLDER"),
        (["--wire", robot.host, "--reaction", "slide", "--model", "x", "--out", str(tmp_path), "--dry-run"], "x"),
    ):
        assert run(["run", "collision", *words]) == 2
        assert said in " ".join(capsys.readouterr().err.split())


@pytest.fixture
def model_file(monkeypatch):
    """The exact model, which no fit gives and no file holds."""
    monkeypatch.setattr("armwright.identify.model_file.load_model", lambda path: MODEL)
    return "arm.json"


def test_a_dry_run_moves_nothing_and_a_person_is_asked_at_a_terminal(robot, model_file, tmp_path, capsys):
    before = robot.truth().q
    words = ["--wire", robot.host, "--model", model_file, "--grid", "8x7@0.15,-0.09,0.0/0.03", "--goal", "7,4c"]
    assert run(["run", "collision", *words, "--out", str(tmp_path), "--dry-run"]) == 0
    assert "dry run: 56 cells" in capsys.readouterr().out and (tmp_path / "dry-run.html").exists()
    assert run(["run", "collision", *words, "--out", str(tmp_path)]) == 2
    assert "a person confirms at a terminal" in capsys.readouterr().err
    assert run(["run", "collision", *words]) == 2
    assert "give --out" in capsys.readouterr().err
    assert np.abs(np.subtract(robot.truth().q, before)).max() < 1e-4


def test_the_whole_arm_takes_its_goal_from_the_world(robot, model_file, tmp_path, capsys):
    words = ["--wire", robot.host, "--model", model_file, "--world", "bench", "--planner", "rrt-connect"]
    assert run(["run", "collision", *words, "--out", str(tmp_path), "--dry-run"]) == 0
    assert "dry run: 261 configurations" in capsys.readouterr().out


@pytest.mark.thorough
def test_the_whole_arm_explores_too(robot):
    """It rehearses near its start, listens after an alarm up to the cap, and keeps to its fence."""
    goal = START + np.array([-0.6, 0.0, 0.0, 0.0, 0.0, 0.0])
    job = wire_job(
        WireAddress(robot.host),
        MODEL,
        ArmTask(goal=goal),
        care=WireCare(rehearsed=15.0, free=0.08),
        budget=Budget(90.0),
    )
    found = explore_wire(job, consents(robot.host, job.sentences(), None))
    assert found.outcome in ("reached", "gave up", "out of time"), found.message
    assert robot.truth().safety == "NORMAL"


def test_a_rehearsal_of_the_whole_arm_moves_every_joint_and_lets_every_joint_rest_while_others_move():
    """A joint that rested for moments only taught the arm too little of what its friction may hold."""
    ways, q = JointWays(MODEL.robot, START, 0.1, 0.05, 3), START
    moving, resting = np.zeros(6), np.zeros(6)
    for _ in range(16):
        motion = ways.next(q)
        rows = motion.evaluate(np.linspace(0.0, motion.duration, 50)).q
        goes = np.ptp(rows, axis=0) > 1e-6
        assert goes.any() and ((rows > ways.lower - 0.05) & (rows < ways.upper + 0.05)).all()
        moving, resting = moving + goes * motion.duration, resting + ~goes * motion.duration
        q = rows[-1]
    assert (moving > LEAST_MOVING).all() and (resting > LEAST_MOVING).all()
    assert ways.pause > MapWays.pause
