# SPDX-License-Identifier: Apache-2.0
"""Verdicts and figures of the documents' pages, from the studies: ``python docs/make_studies.py [003 …]``.

Runs the studies and rewrites what stands between the markers in ``docs/documents/<number>.md``; the figures named below
go to ``docs/img``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

from armwright.studies.run_study import Result, StudyOutcome, run_study
from armwright.studies.study import Shown, available, load_study

DOCS = Path(__file__).resolve().parent
FIGURES = {
    "003": {"Q7": "ellipsoids", "Q8": "iterations", "Q11": "avoidance", "Q11c": "faults", "Q16": "grid"},
    "002": {"3.3": "frames", "A3": "listing", "OL2": "open_loop", "task4": "robust"},
    "001": {"T1a": "growth", "Alg1c": "settling", "A6a": "torques"},
    "004": {"6.2f": "currents", "T5.7a": "acceleration"},
    "000": {
        "3.3a": "drop",
        "3.3c": "pose",
        "6.2a": "planner",
        "7.3a": "path",
        "7.3f": "contact",
        "7.3h": "snapshots",
        "7.3i": "error",
    },
}
"""Study → prefix of item ids → name of the figure: the last picture of these items."""


def counts(outcome: StudyOutcome) -> str:
    """Return the line that counts the verdicts."""
    return " · ".join(f"{count} {kind}" for kind, count in sorted(outcome.counts().items()))


def markdown(outcome: StudyOutcome) -> str:
    """Return the counts, the faults, the table of everything that does not simply agree, and what else was used."""
    faults = outcome.faults()
    wrong = outcome.counts().get("document in error", 0)
    lines = [f"**{len(outcome.results)} items: {counts(outcome)}.**", ""]
    lines += [f"The {wrong} items in error come from **{len(faults)} distinct faults**:", ""]
    lines += [f"* {fault} ({', '.join(items)})" for fault, items in faults.items()] + [""]
    lines += ["| item | printed | correct | verdict |", "|---|---|---|---|"]
    for result in outcome.results:
        if result.verdict.kind != "agrees":
            printed = f"{result.item.printed.text} {result.item.printed.unit}".strip()
            value = result.write_correct()
            rule = f" [judged by: {result.verdict.rule}]" if result.verdict.rule else ""
            verdict = f"*{result.verdict.kind}*: {result.verdict.reason}{rule}"
            cells = (f"**{result.item.id}** {result.item.title}", printed, value, verdict)
            lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    chosen = [r for r in outcome.results if r.verdict.kind == "agrees" and r.verdict.rule]
    if chosen:
        lines += ["", "What agrees by a rule of ours, because the document prints none:", ""]
        lines += [f"* **{r.item.id}** {r.item.title}: {found(r)}{r.verdict.rule}" for r in chosen]
    for title, said in (("Remarks", outcome.study.remarks), ("Used beyond the document's text", outcome.study.sources)):
        lines += ["", f"{title}:", "", *(f"* {line}" for line in said)] if said else []
    return "\n".join(lines)


def found(result: Result) -> str:
    """Return print and numbers behind an answer that would otherwise be a bare "yes", or "" where there are none."""
    if not any(isinstance(value, Shown) for value in (result.correct, *result.readings)):
        return ""
    return f"printed {result.item.printed.text}. Ours: {result.write_correct()}. Judged by: "


def insert(page: Path, name: str, text: str) -> None:
    """Replace what stands between the markers of this name in a page."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, rest = page.read_text(encoding="utf-8").split(begin)
    page.write_text(f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}", encoding="utf-8")


def draw(study: str) -> None:
    """Write the chosen figures of a study."""
    for prefix, name in FIGURES[study].items():
        pictures = [p for item in load_study(study).items if item.id.startswith(prefix) for p in item.pictures]
        figure = pictures[-1].draw()
        figure.savefig(DOCS / "img" / f"study_{study}_{name}.png", dpi=100, bbox_inches="tight")


if __name__ == "__main__":
    mpl.use("Agg")
    for number in sys.argv[1:] or available():
        page = DOCS / "documents" / f"{number}.md"
        insert(page, "about", load_study(number).about)
        insert(page, "verdicts", markdown(run_study(load_study(number))))
        draw(number)
