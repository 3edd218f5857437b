# SPDX-License-Identifier: Apache-2.0
"""Reports on a phone and in the dark: no kind of page is wider than 390 px, drawings are as dark as the page."""

from __future__ import annotations

import io

import numpy as np
import pytest

import armwright as aw
from armwright.programs.outcome import run_program
from armwright.programs.outcome.program_findings import headline
from armwright.programs.outcome.program_report import program_report
from armwright.recording import RecordedEvent, Recording, Signal
from armwright.recording.pictures.html_page import LEAST_LISTED_SECTIONS, Page
from armwright.studies.doc003_rob315 import STUDY
from armwright.studies.run_study import run_study
from armwright.studies.study_page import write_page
from support.browser import watched_page

PHONE = {"width": 390, "height": 844}
LONG = "a_name_that_is_much_longer_than_phones_are_wide_" * 3
FREE = "[9E9,9E9,9E9,9E9,9E9,9E9]"
WORDS = f"""MODULE {LONG[:70]}
PROC main()
  MoveAbsJ [[0,10,20,0,30,0],{FREE}], v1000, fine, tool0;
  MoveL [[450,0,500],[0,0,1,0],[0,0,0,0],{FREE}],v1000,fine,tool0;
  MoveL [[1450,0,500.00000000],[0,0,1,0],[0,0,0,0],{FREE}],v1000,fine,tool0;
  MoveL [[1450,0,1500],[0,0,1,0],[0,0,0,0],{FREE}],v1000,fine,tool0;
ENDPROC
ENDMODULE
"""
PAST = """() => Array.from(document.querySelectorAll("body *"))
  .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".wide, pre, .lines, svg, .uplot"))
  .map((e) => `${e.tagName} ${e.className}: ${e.textContent.slice(0, 60)}`)"""


def _drawing(width=1500):
    """A white picture with one black stroke."""
    image = pytest.importorskip("PIL.Image", reason="pictures need pillow (extra `plot`)")
    drawn = image.new("RGB", (width, 200), "white")
    drawn.paste("black", (0, 90, width, 110))
    buffer = io.BytesIO()
    drawn.save(buffer, format="PNG")
    return buffer.getvalue()


def _all_parts(folder):
    page = Page(LONG).lead(LONG).cards([(LONG, LONG)]).paragraph(LONG).listed([LONG])
    page.section(LONG).table([LONG] * 9, [[LONG] * 9]).figure(_drawing(), LONG)
    page.section("b").verbatim(LONG).folded(LONG, LONG).values({LONG: LONG})
    return (
        page.section("c").table([LONG] * 9, [[LONG] * 9], folded=True).made_with({LONG: LONG}).write(folder / "p.html")
    )


def _recording(folder):
    robot, t = aw.load("panda"), np.linspace(0.0, 1.0, 50)
    q = robot.random_configuration(1, 1) + 0.1 * np.sin(t)[:, None]
    events = (RecordedEvent(0.0, LONG), RecordedEvent(0.5, LONG, {"why": LONG}))
    run = Recording(t, {"q": Signal(q, "rad")}, robot, events=events, outcome=LONG)
    return run.report(folder / "run.html", title=LONG, views=["joints"])


def _program(folder):
    (folder / "cell.mod").write_text(WORDS, encoding="utf-8")
    outcome = run_program(aw.load("irb140"), aw.read_program(folder / "cell.mod"))
    assert "2 of 4 moves cannot be made" in headline(outcome)
    return program_report(outcome, folder / "cell.html")


def _study(folder):
    return write_page(run_study(STUDY, ["Q4a"]), folder / "study.html")


@pytest.mark.parametrize("made", [_all_parts, _recording, _program, _study])
def test_a_report_is_no_wider_than_a_phone(browser, tmp_path, made):
    pytest.importorskip("matplotlib", reason="reports have figures")
    file = made(tmp_path)
    with watched_page(browser, viewport=PHONE) as page:
        page.goto(file.as_uri())
        if page.locator("#replay").count():
            page.wait_for_selector("#replay[data-ready]")
        assert page.evaluate(PAST) == []
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_drawings_follow_light_and_dark(browser, tmp_path):
    """White ground becomes the page's own, a black stroke white; films and prints are as they were made."""
    image = pytest.importorskip("PIL.Image", reason="pictures need pillow (extra `plot`)")
    file = Page("a").figure(_drawing(300), "drawn").figure(_drawing(300), "filmed", "gif").write(tmp_path / "p.html")

    def seen(page, which):
        box = page.locator("img").nth(which).bounding_box()
        shot = image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
        place = (int(box["x"] + 50), int(box["y"]))
        return [shot.getpixel((place[0], place[1] + dy)) for dy in (40, 100)]

    white, black = (255, 255, 255), (0, 0, 0)
    for scheme, media, drawn in (
        ("dark", "screen", [(14, 19, 25), white]),
        ("light", "screen", [white, black]),
        ("dark", "print", [white, black]),
    ):
        with watched_page(browser, color_scheme=scheme) as page:
            page.goto(file.as_uri())
            page.emulate_media(media=media, color_scheme=scheme)
            assert seen(page, 0) == drawn, (scheme, media)
            assert seen(page, 1) == [white, black], (scheme, media)


def test_many_sections_begin_with_links_to_them(browser, tmp_path):
    def written(count):
        page = Page("a").lead("b")
        for k in range(count):
            page.section(f"part {k} <i>").paragraph(k)
        return page.write(tmp_path / "p.html")

    with watched_page(browser) as page:
        page.goto(written(LEAST_LISTED_SECTIONS - 1).as_uri())
        assert page.get_by_role("navigation").count() == 0
        page.goto(written(LEAST_LISTED_SECTIONS).as_uri())
        links = page.get_by_role("navigation", name="Contents").get_by_role("link")
        assert links.all_inner_texts() == page.locator("h2").all_inner_texts()
        for k in range(LEAST_LISTED_SECTIONS):
            target = links.nth(k).get_attribute("href")
            assert page.locator(f"h2{target}").inner_text() == f"part {k} <i>"
