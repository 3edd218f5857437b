# SPDX-License-Identifier: Apache-2.0
"""The page about a program: its first screen, and the program's text beside the replay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import armwright as aw
from armwright.programs.outcome import program_report as report_of
from armwright.programs.outcome import run_program
from armwright.programs.outcome.program_findings import (
    answer_words,
    assumptions,
    coverage,
    findings,
    headline,
    worst_of,
)
from armwright.programs.outcome.program_listing import MOST_LISTED_LINES, listing_of
from armwright.programs.outcome.program_report import program_stage
from armwright.programs.outcome.program_tracking import tracking_words
from armwright.programs.reading_figures import reading_figures
from armwright.robot.provenance import Provenance
from support.browser import watched_page

EVIL = "<script>alert(1)</script>"
NO = "[9E9,9E9,9E9,9E9,9E9,9E9]"
TEXT = f"""MODULE cell
CONST jointtarget home := [[0,10,20,0,30,0],{NO}];
CONST robtarget a := [[450,0,500],[0,0,1,0],[0,0,0,0],{NO}];
PROC main()
  MoveAbsJ home, v1000, fine, tool0; ! {EVIL}
  FOR i FROM 1 TO 2 DO
    MoveL Offs(a,0,50*i,0), v1000, fine, tool0;
  ENDFOR
  IF di3 = 1 THEN
    MoveL Offs(a,100,0,0), v100, fine, tool0;
    MoveL Offs(a,150,0,0), v100, fine, tool0;
  ENDIF
  MoveL camera, v200, fine, tool0;
  MoveL Offs(a,0,-100,0), v500, fine, tool0;
  {EVIL};
  helper;
ENDPROC
ENDMODULE
"""
OTHER = """MODULE other
PROC helper()
  MoveAbsJ [[0,20,20,0,30,0],[9E9,9E9,9E9,9E9,9E9,9E9]], v500, fine, tool0;
ENDPROC
ENDMODULE
"""
LOOP, IDLE, GAP, LED, ASIDE = 7, 10, 13, 14, 15  # lines of the text


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("cell")
    (place / "cell.mod").write_text(TEXT, encoding="utf-8")
    (place / "other.mod").write_text(OTHER, encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def partly(folder):
    """A program with a gap, a branch that does not run, a line that is not understood, and a call of another file."""
    return run_program(aw.load("irb140"), aw.read_program(folder / "cell.mod"))


@pytest.fixture(scope="module")
def hurried():
    """A program that asks too much: of three joints, in several moves."""
    place = Path(__file__).parents[2] / "examples" / "programs" / "ur5_weld.script"
    return run_program(aw.load("ur5"), place, override=6.0)


def test_every_line_says_what_came_of_it(partly):
    listing = listing_of(partly)
    marks = {k: line.mark for k, line in enumerate(listing.lines, 1) if line.mark}
    assert marks == {5: "kept", LOOP: "kept", IDLE: "idle", IDLE + 1: "idle", GAP: "gap", LED: "gap", ASIDE: "gap"}
    assert [line.text for line in listing.lines] == TEXT.rstrip("\n").split("\n")
    assert "di3" in listing.lines[IDLE - 1].note and "camera" in listing.lines[GAP - 1].note
    steps = [line for _, line in listing.steps]
    assert steps == [5, LOOP, LOOP, GAP, LED, 0]  # a line in a loop has several times; another file's has no line here
    assert [time for time, _ in listing.steps] == sorted(time for time, _ in listing.steps)


def test_lines_that_ask_too_much_are_told_from_those_that_the_data_cannot_tell(hurried):
    over = {k for k, line in enumerate(listing_of(hurried).lines, 1) if line.mark == "over"}
    assert over == {row.line for row in findings(hurried)} != set()
    most = float(hurried.wished.torque_use.max())
    unsure = replace(hurried, plan=replace(hurried.plan, robot=_with_width(hurried.robot, 1.0 / most)))
    clean = replace(unsure.wished, clipped=np.zeros_like(unsure.wished.clipped))
    unsure.__dict__["wished"] = clean  # the same plan, had its speeds been kept
    assert most < 1.0 and {line.mark for line in listing_of(unsure).lines} == {"", "kept", "open"}


def _with_width(robot, width):
    both = {"inertia": Provenance("cad", width), "effort": Provenance("rounded", width)}
    return replace(robot, provenance=both)


def test_one_row_per_move_joint_and_cause_the_worst_first(hurried):
    rows = findings(hurried)
    keys = [(row.event.move, row.event.joint, row.event.cause) for row in rows]
    assert len(set(keys)) == len(keys) and sum(row.stretches for row in rows) == len(hurried.events)
    rest = [row.use for row in rows if row.event.cause != "trip"]
    assert rest == sorted(rest, reverse=True)
    assert worst_of(hurried) == rows[:3] and len(worst_of(hurried)) == 3


def test_without_events_the_moves_nearest_to_their_limits_are_told(partly):
    rows = worst_of(partly)
    assert [row.use for row in rows] == sorted((move.use for move in partly.moves), reverse=True)[:3]
    assert all(row.event is None and "% of its" in row.words and "motor" not in row.words for row in rows)


def test_what_was_assumed_names_the_option_that_changes_it(partly):
    found = [row.option for row in assumptions(partly)]
    options = set(found)
    assert found.index("") > max(k for k, option in enumerate(found) if option)  # what can be changed comes first
    assert {"--input di3=…", "--payload"} <= options
    assert any(row.option == "--start" and "at first" in row.said for row in assumptions(partly)) or (
        partly.program.start_q is not None
    )


def test_how_far_it_was_read(partly):
    said = coverage(partly)
    assert said[0] == "5 of 6 moves are known, 4 are checked: to the others the way is not known."
    assert any(words.startswith("Lines 10–11 did not run; they need di3") for words in said)
    assert any(words.startswith("Line 13: a move that is not known") for words in said)
    assert headline(partly) == "Speeds kept, torques not decided as far as read: 4 of 6 moves"
    read = reading_figures(partly.program)
    assert {"moves", "gaps", "unread", "set_aside", "assumed", "files", "lines_not_run"} <= set(read)
    assert partly.figures()["read"] == read and read["lines_not_run"][0] | {"needs": ""} == {
        "first": 10,
        "last": 11,
        "needs": "",
    }


def test_a_reader_that_does_not_tell_gives_its_moves_all_the_same():
    program = aw.Program((aw.programs.Move("wait", None, aw.programs.Duration(1.0)), _there()))
    read = reading_figures(program)
    assert (read["moves"], read["whole"], read["gaps"], read["files"]) == (1, True, [], [])


def _there():
    return aw.programs.Move("joint", aw.programs.Joints([0.0] * 6), aw.programs.Fraction(1.0))


def test_nothing_of_the_answer_is_said_twice(partly, hurried):
    for outcome in (partly, hurried):
        decided, tracked = answer_words(outcome)
        assert not decided.startswith(headline(outcome).split(" as far")[0]) and tracked == tracking_words(outcome)
        assert tracked in outcome.verdict and decided.split(". ")[-1][1:] in outcome.verdict
        assert tracked not in decided and outcome.motors.drives.says[1:] not in decided


def test_the_text_can_be_left_out(partly):
    assert program_stage(partly).listing is not None
    assert program_stage(partly, text=False).listing is None
    many = replace(partly.program, text=TEXT + MOST_LISTED_LINES * "! more\n")
    shown = listing_of(replace(partly, plan=replace(partly.plan, program=many))).lines
    assert len(shown) == MOST_LISTED_LINES + 1 and "lines more" in shown[-1].text
    unread = replace(partly.program, text="")
    assert listing_of(replace(partly, plan=replace(partly.plan, program=unread))) is None


@pytest.fixture(scope="module")
def pages(partly, hurried, tmp_path_factory):
    """Reports without pictures, which take long and have their own tests."""
    place = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_of, "views_of", lambda outcome: ())
        for name, outcome in (("partly", partly), ("hurried", hurried)):
            outcome.report(place / f"{name}.html")
        partly.report(place / "bare.html", text=False)
    return place


def test_no_page_knows_where_the_file_lay(pages, partly, folder):
    text = (pages / "partly.html").read_text(encoding="utf-8")
    assert "other.mod" in text and str(folder) not in text
    assert not any(str(folder) in line.note for line in listing_of(partly).lines)
    assert str(folder) not in partly.verdict


def test_what_decides_is_on_the_first_screen(browser, pages):
    with watched_page(browser, viewport={"width": 1400, "height": 1000}) as page:
        page.goto((pages / "hurried.html").as_uri())
        page.wait_for_selector("#replay[data-ready]")
        for part in (".answer .head", ".worst li:nth-child(3)", ".facing code"):
            box = page.locator(part).first.bounding_box()
            assert box["y"] + box["height"] < 1000
        assert page.locator(".worst li").count() == 3 and page.locator(".answer .head").inner_text() == "Not feasible"
        page.locator(".worst li a").last.click()
        assert page.evaluate("__replay.state().t") > 0.0
        assert page.evaluate("document.documentElement.scrollWidth") <= 1400


def test_the_line_under_way_is_lit_and_a_click_leads_to_its_time(browser, pages, partly):
    starts = [move.start for move in partly.plan.moves]
    with watched_page(browser, viewport={"width": 1400, "height": 1000}) as page:
        page.goto((pages / "partly.html").as_uri())
        page.wait_for_selector("#replay[data-ready]")
        line = ".replay .lines li:nth-child({})"
        lit = ".replay .lines li[aria-current]"
        assert page.locator("script").count() == 3  # modules, data, and what starts them: none is the program's
        assert page.locator(lit).count() == 1
        assert EVIL in page.locator(line.format(5)).inner_text()  # shown, not obeyed
        for expected in (starts[2], starts[1], starts[2]):  # from one pass of the loop to the next, and around
            page.locator(line.format(LOOP)).locator("button").click()
            assert page.evaluate("__replay.state().t") == pytest.approx(expected)
            assert page.evaluate("__replay.state().line") == LOOP
        assert page.locator(line.format(IDLE)).locator("button").count() == 0  # it has no time
        page.evaluate(f"__replay.seek({0.5 * (starts[3] + starts[4])})")
        assert page.locator(lit).inner_text().strip().startswith("MoveL Offs(a,0,-100,0)")
        page.set_viewport_size({"width": 480, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= 480
        page.goto((pages / "bare.html").as_uri())
        page.wait_for_selector("#replay[data-ready]")
        assert page.locator(".replay .listing").is_hidden()
