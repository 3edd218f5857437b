# SPDX-License-Identifier: Apache-2.0
"""The machinery of studies: digits, verdicts, the command, records, interruption, the page."""

from __future__ import annotations

import json
import os
import re

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from armwright.cli.failures import guarded
from armwright.cli.reproduce import reproduce
from armwright.errors import ArmwrightError, InputError
from armwright.studies import run_study as recorded
from armwright.studies import study as registry
from armwright.studies.printed_numbers import match, read_numbers, write_value
from armwright.studies.run_study import run_item, run_study
from armwright.studies.study import Claim, Formula, Item, Numbers, Picture, Shown, Span, Study, Supposed, Undetermined
from armwright.studies.study_page import write_page
from support.places import ROOT

app = typer.Typer()
app.command()(guarded(reproduce))


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("2.09", 2.094395, "rounded"),
        ("2.09", 2.0951, "truncated"),
        ("2.09", 2.1, "no"),
        ("2.09", 2.0849, "no"),
        ("0.63", 0.6364, "truncated"),
        ("-0.63", -0.6364, "truncated"),
        ("-0.63", -0.62, "no"),
        ("-0.63", 0.63, "no"),
        ("57.00e-4", 57.36e-4, "no"),
        ("57.00e-4", 57.004e-4, "rounded"),
        ("9.23e-4", 9.2397e-4, "truncated"),
        ("(0.35, 0, -1)", [0.35, 0.0, -1.0], "rounded"),
        ("(0.35, 0, -1)", [0.35, 0.02, -1.0], "no"),
        ("500", 500.4, "rounded"),
        ("10.1985", 10.198553, "truncated"),
    ],
)
def test_tolerance_comes_from_the_printed_digits(text, value, expected):
    assert match(read_numbers(text), value) == expected


def test_a_print_that_readings_disagree_about_cannot_be_determined():
    def item(*values, **more):
        readings = tuple(Supposed(f"way {k}", lambda v=v: v) for k, v in enumerate(values))
        return Item("Q", "t", Numbers("3.0", "s"), readings=readings, reason="not said", **more)

    found = run_item(item(1.9, 3.01))
    assert found.verdict[:2] == ("cannot be determined", "not said")
    assert found.write_correct() == "way 0: 1.900; way 1: 3.010"
    assert found.as_dict()["readings"] == {"way 0": 1.9, "way 1": 3.01}
    assert run_item(item(2.99, 3.01)).verdict.kind == "agrees"
    assert run_item(item(1.9, 2.0)).verdict.kind == "document in error"
    for wrong in ((3.0,), (3.0, 3.0)):
        with pytest.raises(InputError, match="in place of `correct`"):
            item(*wrong, correct=(lambda: 3.0) if len(wrong) > 1 else None)


def test_an_answer_shows_the_numbers_behind_it():
    found = run_item(Item("Q", "t", Claim("lower"), lambda: Shown(False, "3 N"), lambda: Shown(True, "1 against 2 N")))
    assert found.verdict.kind == "agrees when corrected"
    assert (found.write_published(), found.write_correct()) == ("no: 3 N", "yes: 1 against 2 N")
    assert found.as_dict()["correct"] == {"value": True, "shown": "1 against 2 N"}


def test_of_arrays_the_largest_difference_is_shown():
    printed, right = np.eye(3), np.eye(3)
    right[0, 2] = -0.25
    found = run_item(Item("Q", "t", Formula("T"), lambda: printed, lambda: right))
    assert found.write_correct() == "largest difference 0.25, entry (1, 3): -0.25 for 0"


def test_directions_have_no_sign():
    printed = read_numbers("(-0.7114, -0.0975, 0.6959)")
    assert match(printed, [0.711444, 0.09748, -0.695949]) == "no"
    assert match(printed, [0.711444, 0.09748, -0.695949], up_to_sign=True) == "rounded"


def test_numbers_that_cannot_be_compared():
    with pytest.raises(InputError, match="2 numbers are printed, 3 were computed"):
        match(read_numbers("(1.0, 2.0)"), [1, 2, 3])
    with pytest.raises(InputError, match="holds no number"):
        read_numbers("none")
    with pytest.raises(InputError, match="resolutions"):
        _ = Numbers("1, 2", reading=(1.0,)).numbers


def test_values_are_written_with_two_digits_more():
    assert write_value(2.094395, 0.01) == "2.0944"
    assert write_value([0.0, -1e-17], 0.01) == "(0.0000, 0.0000)"
    assert write_value(True) == "yes" and write_value(None) == "–" and write_value(np.inf) == "∞"


def verdict(printed, as_published, correct):
    return run_item(Item("Q", "t", printed, lambda: as_published, lambda: correct, reason="because")).verdict


def test_verdicts_are_computed():
    assert verdict(Numbers("1.46"), 1.4614, 0.467) == ("document in error", "because", True, "")
    assert verdict(Numbers("1.46"), 1.47, 0.467).reproduced is False
    assert verdict(Numbers("1.46"), None, 1.4614).kind == "agrees"
    assert verdict(Numbers("1.46"), None, None) == ("cannot be determined", "because", None, "")
    assert verdict(Claim("yes"), True, False) == ("document in error", "because", True, "")
    assert verdict(Claim("forward", "forward"), None, "forward").kind == "agrees"
    assert verdict(Formula("a + b"), [1.0, 2.0], [1.0, 2.0 + 1e-12]).kind == "agrees"
    assert verdict(Formula("a + b"), [1.0, 2.0], [1.0, 2.1]).kind == "document in error"
    assert verdict(Formula("a + b"), [1.0], [1.0, 2.1]).kind == "document in error"
    assert verdict(Undetermined("drawing"), 1.0, 2.0).kind == "cannot be determined"


def test_a_print_that_only_the_corrected_model_gives_is_told_apart():
    assert verdict(Claim("yes"), False, True) == ("agrees when corrected", "because", False, "")
    assert verdict(Numbers("1.46"), 0.0, 1.4614).kind == "agrees when corrected"
    assert verdict(Claim("yes"), True, True).kind == "agrees"
    plain = run_item(Item("Q", "t", Claim("yes"), lambda: False, lambda: True)).verdict
    assert "own way" in plain.text


def test_digits_that_the_documents_way_rounds_to_are_not_cut_off_from_another_value():
    assert verdict(Numbers("10.1985"), 10.198511, 10.198553).kind == "document in error"
    assert verdict(Numbers("10.1985"), 10.198553, 10.198553) == ("agrees", "last place cut off, not rounded", True, "")
    assert verdict(Numbers("10.1985"), None, 10.198553).kind == "agrees"


def test_a_range_must_be_spread_over():
    delays = Span("0.2–0.5", "s")
    assert verdict(delays, (0.20, 0.74), (0.10, 0.24)) == ("document in error", "because", True, "")
    assert verdict(delays, None, (0.24, 0.46)).kind == "agrees"  # both ends, to half of the last place
    assert verdict(delays, None, (0.26, 0.60)).kind == "document in error"
    assert verdict(delays, (0.3, 0.4), (0.2, 0.5)).kind == "agrees when corrected"
    for wrong in ("0.5–0.2", "0.2"):
        with pytest.raises(InputError, match="no range"):
            _ = Span(wrong).numbers


def test_what_was_chosen_is_said(only, tmp_path):
    for printed in (Numbers("235", reading=(5.0,)), Formula("a + b", tolerance=1e-3)):
        with pytest.raises(InputError, match="needs a rule"):
            Item("Q", "t", printed)
    one = Item("Q1a", "t", Numbers("235", reading=(5.0,)), None, lambda: 232.7, rule="read <off> a curve")
    found = run_item(one)
    assert found.verdict.text == "agrees [judged by: read <off> a curve]" and found.as_dict()["rule"] == one.rule
    only(Study("003", "A", "d", (one,)), record={"Q1a": "agrees"})
    assert "judged by" in command("003", "-o", str(tmp_path)).output
    assert "read &lt;off&gt; a curve" in (tmp_path / "armwright-003.html").read_text(encoding="utf-8")


def test_a_fault_is_counted_once(only, tmp_path):
    wrong = [("Q1", ("slip",), False), ("Q2", ("slip", "sign"), False), ("Q3", ("sign",), True), ("Q4", (), False)]
    items = tuple(
        Item(name, f"item {name}", Claim("so"), None, lambda v=v: v, reason="because", faults=faults)
        for name, faults, v in wrong
    )
    outcome = run_study(Study("003", "A", "d", items, sources=("a <letter>",)))
    assert outcome.counts()["document in error"] == 3
    assert outcome.faults() == {"slip": ("Q1", "Q2"), "sign": ("Q2",), "item Q4": ("Q4",)}
    page = write_page(outcome, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "slip (Q1, Q2)" in page and "<b>3</b><span>distinct faults" in page and "a &lt;letter&gt;" in page
    only(outcome.study, record={r.item.id: r.verdict.kind for r in outcome.results})
    assert "3 distinct faults" in command("003", "--no-page").output
    assert json.loads(command("003", "--no-page", "--json").output)[0]["faults"]["sign"] == ["Q2"]


DOCS = ROOT / "docs" / "documents"
REAL = [registry.load_study(name) for name in registry.available()]


@pytest.mark.parametrize("one", REAL, ids=lambda s: s.id)
def test_users_see_no_code_of_unpublished_notes(one):
    """Item names, titles, prints, reasons and remarks speak of the document, not of our notes on it."""
    for item in one.items:
        shown = " ".join((item.id, item.title, item.printed.text, item.reason, item.rule, *item.faults))
        assert not re.search(r"\bE\d+|00[0-4] §|\bX\d\d", shown), shown
    for line in (*one.remarks, *one.sources):
        assert not re.search(r"\bE\d+\b|00[0-4] §", line), line


@pytest.mark.parametrize("one", REAL, ids=lambda s: s.id)
def test_a_study_introduces_its_document(one):
    """Who built what, what came out, what the page adds: for a reader who has never seen the document."""
    assert len(one.about.split()) >= 60
    page = (DOCS / f"{one.id}.md").read_text(encoding="utf-8")
    assert f"<!-- about: begin -->\n{one.about}\n<!-- about: end -->" in page


@pytest.mark.parametrize("one", REAL, ids=lambda s: s.id)
def test_items_on_record_as_errors_name_their_faults(one):
    for name, kind in recorded.recorded(one.id).items():
        assert (kind != "document in error") or one.item(name).faults, name


@pytest.mark.parametrize("one", REAL, ids=lambda s: s.id)
def test_rows_on_the_page_are_those_of_the_study(one):
    """Titles, prints and reasons in the documents' tables are not stale."""
    page = (DOCS / f"{one.id}.md").read_text(encoding="utf-8")
    known = recorded.recorded(one.id)
    for item in one.items:
        if known[item.id] == "agrees":
            continue
        rows = [line for line in page.splitlines() if line.startswith(f"| **{item.id}** ")]
        assert len(rows) == 1, item.id
        for shown in (item.title, item.printed.text, item.reason, item.rule):
            assert shown.replace("|", "\\|") in rows[0], (item.id, shown)


def test_changes_of_the_record_are_kept():
    """What the page says an item came to be is what is on record; dropped items are gone."""
    page = (DOCS / "changes.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d{3}) \| (\S+)(?: → (\S+))? \| ([\w –]+) \| ([\w –]+) \| (.+) \|$", page, re.M)
    assert len(rows) > 50
    newest: dict[tuple[str, str], str] = {}
    for study_id, old, new, was, now, why in rows:  # the newest reading stands first
        newest.setdefault((study_id, new or old), now)
        assert now != was and len(why) > 7, (study_id, old)
    for (study_id, item), now in newest.items():
        assert recorded.recorded(study_id).get(item, "–") == now, (study_id, item)


def test_an_error_of_the_library_is_a_verdict():
    def broken():
        raise ArmwrightError("no such arm")

    found = run_item(Item("Q", "t", Numbers("1"), broken))
    assert found.verdict.kind == "failed" and "no such arm" in found.verdict.text
    bug = run_item(Item("Q", "t", Numbers("1"), lambda: {}["x"], lambda: 1.0))
    assert bug.verdict.kind == "failed" and "KeyError" in bug.verdict.text


def interrupt():
    raise KeyboardInterrupt


def study(value=1.0, second=lambda: 2.0, pictures=()):
    return Study(
        "003",
        "A <study>",
        "somebody & others",
        (
            Item("Q1a", "first", Numbers("1.00", "m"), None, lambda: value, reason="wrong <b>", pictures=pictures),
            Item("Q1b", "second", Numbers("2.00"), None, second),
            Item("Q2", "third", Claim("it is so"), None, lambda: True),
        ),
        remarks=("a slip",),
    )


@pytest.fixture
def only(monkeypatch):
    """Put one study in place of the real ones, with a record in which everything agrees."""

    def put(one, record=None):
        monkeypatch.setattr(registry, "available", lambda: ("003",))
        monkeypatch.setattr(registry, "load_study", lambda name: one)
        agreed = {"Q1a": "agrees", "Q1b": "agrees", "Q2": "agrees"}
        monkeypatch.setattr(recorded, "recorded", lambda name: agreed if record is None else record)

    return put


def command(*args):
    return CliRunner().invoke(app, list(args))


def test_exit_code_tells_whether_a_verdict_changed(only, tmp_path):
    only(study())
    assert command("003", "-o", str(tmp_path)).exit_code == 0
    only(study(value=1.1))
    done = command("003", "-o", str(tmp_path))
    assert done.exit_code == 1 and "changed: Q1a was agrees, is document in error" in done.output
    page = (tmp_path / "armwright-003.html").read_text(encoding="utf-8")
    assert "Changed:" in page and "wrong &lt;b&gt;" in page and "<b>\n" not in page
    only(study(), record={"Q1a": "agrees"})
    assert command("003", "--no-page").exit_code == 1  # an item without a record is a change too


def test_interruption_keeps_what_there_is(only, tmp_path):
    only(study(second=interrupt))
    done = command("003", "-o", str(tmp_path))
    assert done.exit_code == 130 and "interrupted" in done.output
    page = (tmp_path / "armwright-003.html").read_text(encoding="utf-8")
    assert "Interrupted:" in page and page.count('class="tag not"') == 4 and page.count('class="tag agrees"') == 2
    outcome = run_study(study(second=interrupt))
    assert [r.verdict.kind for r in outcome.results] == ["agrees", "not run", "not run"]
    with pytest.raises(ArmwrightError, match="complete run"):
        recorded.record(outcome)


def test_json_and_items(only):
    only(study())
    found = json.loads(command("003", "--no-page", "--json", "--item", "Q1").output)
    assert [item["item"] for item in found[0]["items"]] == ["Q1a", "Q1b"] and found[0]["changed"] == []
    assert found[0]["items"][0]["correct"] == 1.0 and found[0]["counts"] == {"agrees": 2}
    assert "second" in command("--list").output
    assert json.loads(command("--list", "--json").output)[0]["items"][2]["item"] == "Q2"


def test_bad_input(only, tmp_path, monkeypatch):
    done = command("999")
    assert done.exit_code == 2 and "no study '999'" in done.output and "003" in done.output
    only(study())
    done = command("003", "--item", "Q7")
    assert done.exit_code == 2 and "no item 'Q7'" in done.output and "Q1a" in done.output
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = command("003", "-o", str(tmp_path / "file" / "folder"))
    assert done.exit_code == 2 and "folder for the report" in done.output
    monkeypatch.setattr("armwright.cli.reproduce.os.access", lambda path, mode: mode == os.R_OK)
    done = command("003", "-o", str(tmp_path))
    assert done.exit_code == 2 and "not writable" in done.output


def test_a_study_names_its_items_once():
    with pytest.raises(InputError, match="Q1 is there twice"):
        Study("003", "t", "d", (Item("Q1", "a", Claim("x")), Item("Q1", "b", Claim("x"))))


def test_the_page_stands_alone(tmp_path):
    pytest.importorskip("matplotlib", reason="figures need matplotlib")
    from armwright.studies.study_pictures import curves

    picture = Picture("a curve", lambda: curves([("y", [0, 1], [0, 1])], "x", "y"))
    path = write_page(run_study(study(pictures=(picture,))), tmp_path / "page.html")
    page = path.read_text(encoding="utf-8")
    assert "data:image/png;base64," in page and "A &lt;study&gt;" in page and "somebody &amp; others" in page
    assert standalone(page)
    stopped = Picture("never drawn", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_page(run_study(study(pictures=(stopped,))), path)
    assert "<figure>" not in path.read_text(encoding="utf-8") and "third" in path.read_text(encoding="utf-8")
    with pytest.raises(ArmwrightError, match="could not be written"):
        write_page(run_study(study()), tmp_path / "missing" / "page.html")


def standalone(page: str) -> bool:
    """Whether a page refers to nothing outside itself."""
    links = re.findall(r"""(?:src|href)\s*=\s*["']([^"']*)""", page)
    return (
        all(link.startswith(("data:", "#")) for link in links)
        and "url(" not in page
        and "@import" not in page
        and "<script" not in page
        and "://" not in page
    )
