# SPDX-License-Identifier: Apache-2.0
"""The report of a study: one HTML page, figures inside it, nothing loaded from elsewhere."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from armwright.errors import NotSupportedError
from armwright.packages import need
from armwright.recording.pictures.html_page import Markup, Page, figure, joined, list_of, markup
from armwright.recording.pictures.style import STYLE
from armwright.studies.run_study import Change, Result, StudyOutcome

_CSS = """
main { max-width: 66rem; }
h3 { font-size: 1rem; margin: 1.6rem 0 .3rem; }
table { width: 100%; }
th, td { text-align: left; vertical-align: top; }
td:first-child { white-space: nowrap; font-weight: 600; }
.tag { display: inline-block; border: 1px solid currentColor; border-radius: 4px; padding: 0 .45rem; }
.tag { font-size: .85rem; font-weight: 600; white-space: nowrap; color: var(--muted); }
.tag.agrees { color: var(--good); } .tag.document { color: var(--bad); } .tag:is(.not, .failed) { color: var(--warn); }
dl { display: grid; grid-template-columns: fit-content(45%) minmax(0, 1fr); gap: .1rem 1rem; margin: .3rem 0; }
dt { color: var(--muted); } dd { margin: 0; overflow-wrap: anywhere; }
ul { margin: .4rem 0; padding-left: 1.2rem; } .contents ul { padding: 0; }
.why, p.rule { margin: .3rem 0; } .rule { color: var(--muted); font-size: .85rem; }
"""


HEADS = ("item", "", "printed", "as published (ours)", "correct (ours)", "verdict")


def write_page(
    outcome: StudyOutcome,
    path: str | Path,
    *,
    changed: list[Change] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Path:
    """Write the report.

    Args:
        outcome: what came of the study.
        path: of the page.
        changed: items whose verdict is not the recorded one, shown on top.
        tell: called with one line if figures are missing.

    Raises:
        KeyboardInterrupt: Ctrl-C while figures are drawn, after the page has been written without them.
    """
    study = outcome.study
    counts = outcome.counts()
    faults = outcome.faults()
    numbers = {**counts, "distinct faults": len(faults)}
    page = Page(study.title, _CSS).lead(study.document)
    if study.about:
        page.paragraph(study.about)
    page.cards([*numbers.items(), ("all items", f"{outcome.seconds:.1f} s")])
    if outcome.interrupted:
        page.paragraph(markup("<b>Interrupted:</b> the items marked “not run” are missing."))
    for change in changed or []:
        words = "<b>Changed:</b> {} was “{}”, is “{}”."
        page.paragraph(markup(words, change.item, change.recorded or "not recorded", change.now))
    page.table(HEADS, map(_row, outcome.results))
    if faults:
        lines = (f"{fault} ({', '.join(items)})" for fault, items in faults.items())
        page.section("Faults, each counted once").listed(lines)
    drawing = _can_draw(tell)
    page.section("Item by item")
    stopped = False
    for result in outcome.results:
        try:
            page.add(_section(result, drawing and not stopped))
        except KeyboardInterrupt:  # the numbers are there: keep them, without the other figures
            stopped = True
            page.add(_section(result, False))
    for title, told in (("Remarks", study.remarks), ("Used beyond the document's text", study.sources)):
        if told:
            page.section(title).listed(told)
    file = page.write(path)
    if stopped:
        raise KeyboardInterrupt
    return file


def _can_draw(tell: Callable[[str], None] | None) -> bool:
    try:
        need("matplotlib", "plot", "drawing the figures")
    except NotSupportedError as error:
        if tell is not None:
            tell(f"the report has no figures: {error}")
        return False
    return True


def _tag(result: Result) -> Markup:
    kind = result.verdict.kind
    return markup('<span class="tag {}">{}</span>', kind.split()[0], kind)


def _row(result: Result) -> tuple[object, ...]:
    """Return the cells of an item, in the order of `HEADS`."""
    item, verdict = result.item, [_tag(result)]
    if result.verdict.reason:
        verdict.append(markup("<br>{}", result.verdict.reason))
    if item.rule:
        verdict.append(markup('<br><span class="rule">judged by: {}</span>', item.rule))
    ours = (result.write_published(), result.write_correct())
    link = markup('<a href="#{}">{}</a>', item.id, item.id)
    return link, item.title, f"{item.printed.text} {item.printed.unit}", *ours, joined(verdict)


def _section(result: Result, drawing: bool) -> Markup:
    item = result.item
    unit = item.printed.unit
    lines = [("printed", f"{item.printed.text} {unit}".strip())]
    if result.as_published is not None:
        lines.append(("as published (ours)", f"{result.write_published()} {unit}".strip()))
    if result.correct is not None:
        lines.append(("correct (ours)", f"{result.write_correct()} {unit}".strip()))
    for reading, value in zip(item.readings, result.readings, strict=False):
        lines.append((f"read as: {reading.text}", f"{result.write(value)} {unit}".strip()))
    if result.verdict.reproduced is not None:
        lines.append(("the document's way gives the print", "yes" if result.verdict.reproduced else "no"))
    parts = [markup("<h3>{} — {} {}</h3>", item.id, item.title, _tag(result))]
    parts.append(markup("<dl>{}</dl>", joined(markup("<dt>{}</dt><dd>{}</dd>", *line) for line in lines)))
    if result.verdict.reason:
        parts.append(markup('<p class="why">{}</p>', result.verdict.reason))
    if item.rule:
        parts.append(markup('<p class="rule">Judged by: {}</p>', item.rule))
    if result.notes:
        parts.append(list_of(result.notes))
    if drawing and result.verdict.kind not in ("not run", "failed"):
        parts += [figure(png_of(picture.draw), picture.caption) for picture in item.pictures]
    return markup('<section id="{}">{}</section>', item.id, joined(parts))


_QUICK = {"axes.formatter.use_mathtext": False}  # typesetting every tick label takes half of a figure's time


def png_of(draw: Callable[[], Any], dpi: int = 130) -> bytes:
    """Return a figure as a PNG file's bytes, in the style of the other figures."""
    buffer = io.BytesIO()
    with need("matplotlib", "plot", "drawing the figures").rc_context({**STYLE, **_QUICK}):
        draw().savefig(buffer, format="png", dpi=dpi)
    return buffer.getvalue()
