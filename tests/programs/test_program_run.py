# SPDX-License-Identifier: Apache-2.0
"""A whole program against its motors: verdict, moves, events, what would work, report."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError, ProgramError
from armwright.kinematics import fk
from armwright.programs import Duration, Fraction, Joints, Move, Payload, Pose, Program, ToolRate, run_program
from armwright.programs.motors import feasible_override
from armwright.programs.motors.drive_loop import ARRIVED
from armwright.programs.outcome.program_events import torque_parts
from armwright.programs.outcome.program_execution import Demands, demand_of
from armwright.programs.outcome.program_report import program_stage
from armwright.programs.outcome.program_words import event_words
from support.moves import HOME, shifted, to
from support.places import ROOT

DEMO = ROOT / "examples" / "programs" / "lola15dd.irl"
START = np.radians([10.0, 20.0, -20.0, 10.0, -60.0, 5.0])


def there_and_back(robot, speed=1.0, **words):
    """Two joint moves and a line, read from nowhere."""
    away = START + np.array([0.6, 0.2, -0.3, 0.4, 0.3, 0.5])
    T = fk(robot, START)
    T[:3, 3] += [0.0, 0.1, 0.05]
    moves = (
        Move("joint", Joints(away), Fraction(speed), line=3, text="go away", **words),
        Move("joint", Joints(START), Fraction(speed), line=4, text="come back", **words),
        Move("line", Pose(T), ToolRate(0.2), ToolRate(1.0), line=5, text="aside", **words),
    )
    return Program(moves, start_q=START, name="three moves")


@pytest.fixture(scope="module")
def good(rl15):
    return run_program(rl15, there_and_back(rl15))


@pytest.fixture(scope="module")
def bad(rl15):
    return run_program(rl15, there_and_back(rl15), override=2.0)


def test_verdict_turns_at_the_override(rl15, good):
    """At the override that is reported nothing is flagged, a hundredth above it something is."""
    x = good.override.program
    assert run_program(rl15, good.program, override=x).feasible
    beyond = run_program(rl15, good.program, override=1.01 * x)
    assert not beyond.feasible
    assert beyond.verdict.startswith("Not feasible")
    move, joint = good.override.limited_by
    assert (move, joint) in {(event.move, event.joint) for event in beyond.events}
    assert beyond.override.program == pytest.approx(x / (1.01 * x), rel=2e-3)  # 1 is as it is run


def test_each_move_has_its_own_override(rl15, good):
    """A move's override is the program's where no other move counts."""
    for row in good.moves:
        k = row.number - 1
        assert row.override == good.override.moves[k] >= good.override.program
    whole = feasible_override(rl15, good.demand, at=lambda x, _: Demands(good.plan).at(x))  # no cutting out of moves
    for k, value in whole.moves.items():
        assert good.override.moves[k] == pytest.approx(value, rel=1e-9)


def test_override_is_that_of_the_planner(rl15, good):
    """The demand that the search looks at is the one that is planned with that override, waits and all."""
    wait = Move("wait", None, aw.programs.Duration(0.237))
    program = replace(good.program, moves=(*good.program.moves[:1], wait, *good.program.moves[1:]))
    once = run_program(rl15, program)
    assert sum(row.duration for row in once.moves) == pytest.approx(once.plan.duration, rel=1e-9)
    for x in (0.37, 1.0, 1.7):
        planned = demand_of(run_program(rl15, program, override=x).plan)
        looked_at = Demands(once.plan).at(x)
        np.testing.assert_allclose(looked_at.q, planned.q, atol=1e-9)
        np.testing.assert_array_equal(looked_at.moves, planned.moves)


def test_rows_and_totals(good):
    run = good.motors
    assert [row.line for row in good.moves] == [3, 4, 5]
    assert sum(row.duration for row in good.moves) == pytest.approx(good.plan.duration, rel=1e-9)
    assert sum(row.summary.energy.sum() for row in good.moves) == pytest.approx(run.energy.sum(), rel=1e-9)
    assert good.feasible and good.late == 0.0 and not good.events
    assert all(row.summary.position < 1e-3 and not row.flagged for row in good.moves)
    uses = np.maximum(good.wished.torque_use, good.wished.speed_use)
    for row in good.moves:
        own = uses[good.demand.moves == row.number - 1]
        assert row.use == pytest.approx(own.max(), rel=1e-9)
        assert own[:, row.limiting].max() == own.max()


def test_events_cover_the_flags(bad):
    """Every flagged cycle of every motor lies in an event of that motor and cause, and no event is without."""
    run, dt = bad.wished, bad.demand.dt
    assert not bad.feasible and bad.events and bad.trip is None
    for cause, flags in (("torque", run.saturated), ("speed", run.clipped)):
        for j in range(run.robot.n):
            own = [event for event in bad.events if (event.joint, event.cause) == (j, cause)]
            assert sum(event.cycles for event in own) == flags[:, j].sum()
            for k in np.flatnonzero(flags[:, j]):
                assert any(event.start - 1e-9 <= k * dt < event.end for event in own)
    assert [event.start for event in bad.events] == sorted(event.start for event in bad.events)
    first = bad.events[0]
    assert first.use > 1.0
    assert f"line {bad.program.moves[first.move].line}" in bad.verdict
    assert bad.robot.joints[first.joint].name in event_words(bad, first)


def test_parts_of_a_torque(rl15):
    """What a torque is for sums up to it; friction opposes, gravity is what holding still takes."""
    weight = Payload(8.0, np.array([0.0, 0.1, 0.2]))
    outcome = run_program(rl15, there_and_back(rl15), override=1.7, payload=weight, wrench=[20.0, 0, -60.0, 1.0, 0, 0])
    run = outcome.wished
    loaded = rl15.with_payload(8.0, (0.0, 0.1, 0.2))
    K = rl15.actuators.gear
    for k in (3, 40, 77):
        parts = torque_parts(run, k)
        np.testing.assert_allclose(sum(parts.values()), run.wanted[k], atol=1e-9)
        q, qd = (rows[k] for rows in run.starts)
        np.testing.assert_allclose(K.T @ parts["gravity"], aw.gravity_torque(loaded, q), rtol=1e-9, atol=1e-9)
        assert (parts["friction"] * (K @ qd) > -1e-9).all()
        assert np.abs(parts["world"]).max() > 0.01


def test_late_arms_arrive(rl15):
    """Where an arm falls behind at the end, its run goes on until it has arrived, and not longer."""
    one = Program(there_and_back(rl15).moves[:1], start_q=START)
    late = run_program(rl15, one, override=2.6)
    run = late.motors
    assert 0.0 < late.late < 2.0 and late.trip is None
    assert late.demand.cycles < run.demand.cycles
    assert np.abs(run.lag[-1]).max() <= ARRIVED < np.abs(run.lag[-2]).max()
    assert late.late == pytest.approx((run.demand.cycles - late.demand.cycles) * late.plan.cycle)
    assert late.wished.demand.cycles == late.demand.cycles and late.beside.demand.cycles == run.demand.cycles


def test_what_would_work_works(rl15, bad):
    """Motors as strong and quick as is said are enough; a hundredth less is not."""
    works = bad.works
    assert works.motors.torque.max() > 1.0 or works.motors.speed.max() > 1.0
    a = rl15.actuators

    def better(factor):
        speed = np.maximum(1.0, works.motors.speed) * factor
        joints = tuple(
            replace(joint, limits=replace(joint.limits, velocity=joint.limits.velocity * s))
            for joint, s in zip(rl15.joints, speed, strict=True)
        )
        stronger = a.torque_limit * np.maximum(1.0, works.motors.torque) * factor
        return replace(
            rl15, joints=joints, actuators=replace(a, torque_limit=stronger, speed_limit=a.speed_limit * speed)
        )

    for factor, enough in ((1.0 + 1e-6, True), (0.99, False)):
        run = aw.programs.motors.run_motors(better(factor), bad.demand)
        assert run.feasible is enough
    assert works.fastest < bad.plan.duration * bad.settings["override"]
    assert works.fastest_clean >= works.fastest
    assert any("override" in words for words in bad.advice)
    assert np.isnan(works.more_payload) and works.payload_share is None


def test_load_that_is_left(rl15):
    """Of a load that is too much, the share that is said can be carried, and a hundredth more cannot."""
    program = there_and_back(rl15, payload=Payload(120.0, np.array([0.0, 0.0, 0.1]), 0.1 * np.eye(3)))
    outcome = run_program(rl15, program)
    share = outcome.works.payload_share
    assert not outcome.feasible and 0.05 < share < 1.0
    for part, fits in ((0.999, True), (1.01, False)):
        lighter = Payload(part * share * 120.0, np.array([0.0, 0.0, 0.1]), part * share * 0.1 * np.eye(3))
        assert run_program(rl15, there_and_back(rl15, payload=lighter)).feasible is fits
    more = run_program(rl15, there_and_back(rl15, payload=Payload(1.0, np.zeros(3)))).works.more_payload
    for mass, fits in ((0.99 * more, True), (1.02 * more, False)):
        assert run_program(rl15, there_and_back(rl15, payload=Payload(1.0 + mass, np.zeros(3)))).feasible is fits


def test_what_is_checked_is_said(rl15):
    """Motors before joint efforts before speeds; nothing at all is refused."""
    ur5 = aw.load("ur5")
    home = np.array([0.0, -1.2, 1.5, -1.8, -1.5, 0.3])
    program = Program((Move("joint", Joints(home + 0.3), Fraction(0.5)),), start_q=home)
    by_efforts = run_program(ur5, program)
    assert by_efforts.basis == "joints" and "joint efforts" in by_efforts.verdict
    joints = tuple(replace(j, limits=replace(j.limits, effort=np.inf)) for j in ur5.joints)
    by_speeds = run_program(replace(ur5, joints=joints), program)
    assert by_speeds.basis == "speeds" and "not decided" in by_speeds.verdict
    assert "limits.effort" in by_speeds.verdict
    assert by_speeds.works.fastest is None and by_speeds.works.more_payload == ur5.rated_payload
    np.testing.assert_allclose(by_speeds.works.torque, by_efforts.works.torque, rtol=1e-9)
    nothing = tuple(replace(j, limits=replace(j.limits, effort=np.inf, velocity=np.inf)) for j in ur5.joints)
    with pytest.raises(InputError, match=r"nothing to check a program against"):
        run_program(replace(ur5, joints=nothing), program)
    with pytest.raises(InputError, match=r"actuators\.torque_limit"):
        run_program(ur5, program, basis="motors")
    with pytest.raises(InputError, match="motors, joints, speeds"):
        run_program(ur5, program, basis="guess")


def test_demo_end_to_end(rl15):
    """The demonstration as it ships: feasible, at the limit of axis 4's speed, every move with its line."""
    outcome = run_program(rl15, DEMO, start_q=np.zeros(6))
    assert outcome.feasible and outcome.basis == "motors"
    assert [row.line for row in outcome.moves] == list(range(41, 53))
    assert 1.0 < outcome.override.program < 1.01
    assert outcome.override.limited_by == (2, 3)
    assert outcome.motors.drives.missing  # and what the sheet lacks is said
    assert all(what in outcome.verdict for what in outcome.motors.drives.missing)
    rough = run_program(rl15, there_and_back(rl15), cycle=0.02)
    assert [row.value for row in rough.works.sensitivity if row.what == "dt"] == [0.005, 0.01, 0.02, 0.04]


def test_figures_are_plain(good, bad):
    """Everything in them is of JSON's kind, and both kinds of outcome have the same keys."""
    import json

    from armwright.cli.output import as_json

    read = [json.loads(as_json(outcome.figures())) for outcome in (good, bad)]
    assert set(read[0]) == set(read[1])
    assert [entry["feasible"] for entry in read] == [True, False]
    assert read[1]["events"][0].keys() >= {"joint", "cause", "move", "line", "start_s", "asked", "limit", "parts_nm"}
    assert len(read[1]["moves"]) == 3 and read[0]["works"]["override"] == pytest.approx(good.override.program)


def test_recording_has_every_cycle(bad, tmp_path):
    recording = bad.recording
    again = aw.Recording.load(recording.save(tmp_path / "cycles.csv"))
    np.testing.assert_allclose(again["motor_torque"], bad.motors.torque, rtol=1e-12)
    np.testing.assert_array_equal(again["saturated"] > 0.5, bad.motors.saturated)
    assert len(again) == bad.motors.demand.cycles


class Page(HTMLParser):
    """Tags, text, anchors and what the page refers to."""

    def __init__(self):
        super().__init__()
        self.tags, self.text, self.sources, self.anchors = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href")]
        self.anchors += [value for name, value in attrs if name == "id"]

    def handle_data(self, data):
        self.text.append(data)


def test_report(bad, tmp_path):
    """One page: the verdict before all else, nothing loaded from elsewhere, and no text of the program is obeyed."""
    pytest.importorskip("matplotlib", reason="pictures need armwright[plot]")
    evil = "<script>alert(1)</script>"
    moves = tuple(replace(move, text=evil) for move in bad.program.moves)
    outcome = replace(bad, plan=replace(bad.plan, program=replace(bad.program, moves=moves, name=evil)))
    shares = []
    file = outcome.report(tmp_path / "report.html", animation=False, progress=shares.append)
    page = Page()
    page.feed(file.read_text(encoding="utf-8"))
    assert page.tags.count("script") == 3  # the replay: its modules, its data, and what starts it
    places = [source[1:] for source in page.sources if source.startswith("#")]
    assert "replay" in places and all(page.anchors.count(place) == 1 for place in places)
    assert all(source.startswith(("data:", "#")) for source in page.sources)
    assert page.tags.count("img") == 8
    said = "".join(page.text)
    assert said.index("Not feasible") < said.index("Moves") < said.index("Events")
    assert shares == sorted(shares) and shares[-1] == 1.0


@pytest.mark.slow
def test_report_with_film(good, tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need armwright[plot]")
    page = Page()
    page.feed(good.report(tmp_path / "report.html", animation=True).read_text(encoding="utf-8"))
    assert any(source.startswith("data:image/gif") for source in page.sources)


def test_the_replay_shows_what_the_arm_does_and_what_is_asked_of_it(bad):
    stage = program_stage(bad, "x")
    run = bad.motors
    assert np.array_equal(stage.q[1:], run.q) and np.array_equal(stage.q[0], run.demand.q[0])
    assert np.array_equal(stage.time[1:], run.time)
    tool = aw.fk(stage.robot, stage.q[1:])[:, :3, 3]
    assert tool == pytest.approx(bad.tool_positions[1], abs=1e-9)
    asked = np.maximum(bad.beside.torque_use, bad.beside.speed_use).max(axis=1)
    assert stage.path.values[1:] == pytest.approx(np.minimum(100.0 * asked, 100.0))
    beyond = [event.time for event in stage.events if "limit" in event.name]
    assert beyond == sorted(event.start for event in bad.events)
    assert sum("move" in event.name for event in stage.events) == len(bad.plan.moves)


def test_bad_options(rl15, good):
    for options, says in (
        ({"cycle": 0.0}, "cycle"),
        ({"cycle": -0.01}, "cycle"),
        ({"cycle": float("nan")}, "cycle"),
        ({"override": 0.0}, "override"),
        ({"rule": "guess"}, "full, partitioned"),
        ({"rule": "partitioned"}, "tracking='algorithm-1'"),
        ({"tracking": "guess"}, "drive, axes, algorithm-1"),
        ({"law": "guess"}, "words"),
        ({"wrench": [np.nan] * 6}, "wrench"),
        ({"start_q": np.zeros(5)}, "start_q"),
    ):
        with pytest.raises(InputError, match=says):
            run_program(rl15, good.program, **options)
    far = Program((Move("joint", Joints(np.zeros(7)), Fraction(1.0), line=9),))
    with pytest.raises(ProgramError, match="7 joints"):
        run_program(rl15, far)


def test_the_way_back_over_the_same_line_is_not_taken_for_being_late():
    """Down, a pause, and up again: a lag of micrometres must not be counted to the pass before."""
    ur5 = aw.load("ur5")
    T = fk(ur5, HOME)
    low = shifted(T, 0.0, 0.0, -0.1)
    moves = [to(T), to(low, speed=ToolRate(0.3)), Move("wait", None, Duration(0.3)), to(T, speed=ToolRate(0.3))]
    outcome = run_program(ur5, Program(tuple(moves)))
    off = outcome.motors.deviation
    assert outcome.feasible and off.position.max() < 1e-3
    assert off.behind.max() < 1e-3


def test_curves_of_margins_are_those_of_the_way():
    ur5 = aw.load("ur5")
    run = run_program(ur5, Program((Move("joint", Joints(HOME + 0.4), Fraction(0.5)),), start_q=HOME))
    stage = program_stage(run, margins=True)
    ranges, singular = stage.plots[len(program_stage(run).plots) :]
    q = run.motors.demand.q[1:]
    np.testing.assert_allclose(ranges.values[1:], 100.0 * (q - ur5.lower) / (ur5.upper - ur5.lower))
    k = len(q) // 2
    least = np.linalg.svd(aw.jacobian(ur5, q[k]), compute_uv=False)[-1]
    assert singular.values[k + 1, 0] == pytest.approx(least) and (singular.values > 0.0).all()
