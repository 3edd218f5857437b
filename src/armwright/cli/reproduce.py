# SPDX-License-Identifier: Apache-2.0
"""``armwright reproduce``: run a document's experiments and judge every printed number."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.cli.failures import fail
from armwright.cli.option_words import Json, out_option
from armwright.cli.output import INTERRUPTED, NEGATIVE, console, safe, say, say_json, table, writing
from armwright.cli.output import tell as on_stderr
from armwright.cli.written_files import unfinished

if TYPE_CHECKING:
    from armwright.studies.run_study import Change, Result, StudyOutcome
    from armwright.studies.study import Study

Items = Annotated[list[str] | None, typer.Option("--item", "-i", help="Only this item (Q8a) or question (Q8).")]


def reproduce(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="Number of the document, e.g. 003, or 'all'.")] = "all",
    item: Items = None,
    out: Annotated[Path, out_option("FOLDER", "For the HTML pages.")] = Path(),
    page: Annotated[bool, typer.Option("--page/--no-page", help="Write the HTML page.")] = True,
    listing: Annotated[bool, typer.Option("--list", help="List the studies and their items, run nothing.")] = False,
    record: Annotated[bool, typer.Option("--record", help="Put the verdicts on record (developers).")] = False,
    json: Json = False,
) -> None:
    """Reproduce a document: printed, as published, correct, verdict. Exit code 1 if a verdict changed."""
    from armwright.studies.run_study import choose
    from armwright.studies.study import available, load_study

    if listing:
        _list(json)
        return
    names = available() if study == "all" else (study,)
    studies = [load_study(name) for name in names]
    if item and len(studies) > 1:
        fail("--item needs one study, e.g. armwright reproduce 003 --item Q8a")
    for one in studies:
        choose(one, item or [])  # complain before any work is done
    if page:
        _writable(out)
    outcomes, changed = [], []
    for one in studies:
        outcome, differences = _one(one, item or [], out if page else None, record, json)
        outcomes.append(outcome)
        changed += differences
        if outcome.interrupted:
            break
    if json:
        say_json([_as_dict(outcome) for outcome in outcomes])
    if any(outcome.interrupted for outcome in outcomes):
        raise typer.Exit(INTERRUPTED)
    if changed and not record:
        raise typer.Exit(NEGATIVE)


def _one(
    study: Study, items: list[str], out: Path | None, record: bool, json: bool
) -> tuple[StudyOutcome, list[Change]]:
    from armwright.studies.run_study import changes, run_study
    from armwright.studies.run_study import record as put_on_record
    from armwright.studies.study_page import write_page

    quiet = json or not sys.stderr.isatty()

    def tell(text: str) -> None:
        on_stderr(f"armwright: {text}")

    def progress(result: Result) -> None:
        if not quiet:
            typer.echo(f"\r{study.id} {result.item.id:6}", err=True, nl=False)

    outcome = run_study(study, items, progress)
    if not quiet:
        typer.echo("\r" + " " * 12 + "\r", err=True, nl=False)
    if record:
        tell(f"recorded in {put_on_record(outcome)}")
    changed = changes(outcome)
    page = None
    if out:
        file = out / f"armwright-{study.id}.html"
        page = write_page(outcome, unfinished(file) if outcome.interrupted else file, changed=changed, tell=tell)
    if not json:
        _print(outcome)
        for change in changed:
            say(lead="changed", text=f": {change.item} was {change.recorded or 'not recorded'}, is {change.now}")
        if page is not None:
            say(f"report: {page}")
    return outcome, changed


def _print(outcome: StudyOutcome) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    grid = Table(
        title=Text(safe(f"{outcome.study.id} — {outcome.study.title}")),
        box=box.SIMPLE_HEAD,
        title_justify="left",
        title_style="bold",
        pad_edge=False,
        expand=True,
    )
    grid.add_column("item", no_wrap=True)
    columns = (("", 3), ("printed", 4), ("as published (ours)", 4), ("correct (ours)", 4), ("verdict", 6))
    for name, share in columns:
        grid.add_column(name, ratio=share, overflow="fold")
    styles = {
        "agrees": "green",
        "agrees when corrected": "green",
        "document in error": "red",
        "not run": "yellow",
        "failed": "yellow",
    }
    for result in outcome.results:
        printed = f"{result.item.printed.text} {result.item.printed.unit}".strip()
        cells = (
            result.item.id,
            result.item.title,
            printed,
            result.write_published(),
            result.write_correct(),
        )
        verdict = Text(safe(result.verdict.text), styles.get(result.verdict.kind, ""))
        grid.add_row(*(Text(safe(cell, lines=True)) for cell in cells), verdict)
    if outcome.study.about:
        say(outcome.study.about)
    with writing():
        console(width=200).print(grid)  # wide enough for a pipe that most rows stay on one line
    counts = " · ".join(f"{n} {kind}" for kind, n in outcome.counts().items())
    say(f"{counts} · {len(outcome.faults())} distinct faults · {outcome.seconds:.1f} s")
    if outcome.interrupted:
        say(": the rest was not run", lead="interrupted")


def _as_dict(outcome: StudyOutcome) -> dict[str, Any]:
    from armwright.studies.run_study import changes

    return {
        "study": outcome.study.id,
        "title": outcome.study.title,
        "document": outcome.study.document,
        "about": outcome.study.about,
        "sources": list(outcome.study.sources),
        "counts": outcome.counts(),
        "faults": outcome.faults(),
        "seconds": outcome.seconds,
        "interrupted": outcome.interrupted,
        "items": [result.as_dict() for result in outcome.results],
        "changed": [change._asdict() for change in changes(outcome)],
    }


def _list(json: bool) -> None:
    from armwright.studies.study import available, load_study

    studies = [load_study(name) for name in available()]
    if json:
        say_json(
            [
                {
                    "study": s.id,
                    "title": s.title,
                    "document": s.document,
                    "items": [{"item": i.id, "title": i.title} for i in s.items],
                }
                for s in studies
            ]
        )
        return
    for study in studies:
        table(
            f"{study.id} — {study.title}",
            ["item", "", "printed"],
            [[i.id, i.title, f"{i.printed.text} {i.printed.unit}".strip()] for i in study.items],
            left=3,
        )


def _writable(folder: Path) -> None:
    """Refuse a folder that cannot take the report before the work is done; make a missing one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"{folder}: cannot be used as the folder for the report ({error.strerror or error})")
    if not os.access(folder, os.W_OK | os.X_OK):
        fail(f"{folder}: the folder for the report is not writable; choose another with --out")
