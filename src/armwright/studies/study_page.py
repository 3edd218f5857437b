# SPDX-License-Identifier: Apache-2.0
"""The report of a study: one HTML page, figures inside it, nothing loaded from elsewhere."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from armwright.errors import NotSupportedError
from armwright.packages import need
from armwright.recording.pictures.html_page import write_html
from armwright.recording.pictures.style import STYLE
from armwright.studies.run_study import Change, Result, StudyOutcome

_CSS = """
:root{color-scheme:light}
body{font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif;color:#1b1f24;margin:0;
background:#fff}
main{max-width:66rem;margin:0 auto;padding:2rem 1.2rem 4rem}
h1{font-size:1.6rem;margin:0 0 .2rem}
h2{font-size:1.15rem;margin:2.6rem 0 .6rem;border-bottom:1px solid #d9dde2;padding-bottom:.2rem}
h3{font-size:1rem;margin:1.6rem 0 .3rem}p.lead{color:#5f6975;margin:0 0 1rem}
figure{margin:.6rem 0 1.2rem}figure img{max-width:100%;height:auto}figcaption{color:#5f6975;font-size:.85rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.88rem;width:100%}
th,td{padding:.3rem .6rem;text-align:left;vertical-align:top;border-bottom:1px solid #e6e9ed}
thead th{color:#5f6975;font-weight:600;border-bottom:2px solid #d9dde2}
td:first-child{white-space:nowrap;font-weight:600}
td a{color:inherit;text-decoration-color:#b9c0c8}
.tag{display:inline-block;border-radius:4px;padding:0 .45rem;font-size:.85rem;font-weight:600;white-space:nowrap}
.agrees{background:#e3f3ea;color:#12613c}.document{background:#fbe6e3;color:#98231b}
.cannot{background:#eceff3;color:#4a545f}.not,.failed{background:#fff1d6;color:#7a5200}
.cards{display:flex;flex-wrap:wrap;gap:.8rem;margin:1rem 0}
.card{border:1px solid #d9dde2;border-radius:6px;padding:.5rem .9rem}
.card b{display:block;font-size:1.15rem}.card span{color:#5f6975;font-size:.8rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:.3rem 0}dt{color:#5f6975}dd{margin:0}
ul{margin:.4rem 0;padding-left:1.2rem}.why,p.rule{margin:.3rem 0}.rule{color:#5f6975;font-size:.85rem}
@media print{main{max-width:none}h2,h3{break-after:avoid}figure{break-inside:avoid}}
"""


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
    cards = "".join(f'<div class="card"><b>{n}</b><span>{_text(kind)}</span></div>' for kind, n in numbers.items())
    body = [
        f"<h1>{_text(study.title)}</h1>",
        f'<p class="lead">{_text(study.document)}</p>',
        f'<div class="cards">{cards}<div class="card"><b>{outcome.seconds:.1f} s</b><span>all items</span></div></div>',
    ]
    if outcome.interrupted:
        body.append("<p><b>Interrupted:</b> the items marked “not run” are missing.</p>")
    for change in changed or []:
        body.append(
            f"<p><b>Changed:</b> {_text(change.item)} was “{_text(change.recorded or 'not recorded')}”, "
            f"is “{_text(change.now)}”.</p>"
        )
    body.append(_table(outcome))
    if faults:
        lines = (f"{fault} ({', '.join(items)})" for fault, items in faults.items())
        body.append(_listed("Faults, each counted once", lines))
    drawing = _can_draw(tell)
    body.append("<h2>Item by item</h2>")
    stopped = False
    for result in outcome.results:
        try:
            body.append(_section(result, drawing and not stopped))
        except KeyboardInterrupt:  # the numbers are there: keep them, without the other figures
            stopped = True
            body.append(_section(result, False))
    body += [_listed("Remarks", study.remarks)] if study.remarks else []
    body += [_listed("Used beyond the document's text", study.sources)] if study.sources else []
    file = write_html(path, study.title, body, css=_CSS)
    if stopped:
        raise KeyboardInterrupt
    return file


def _listed(title: str, lines: Iterable[str]) -> str:
    return f"<h2>{_text(title)}</h2><ul>{''.join(f'<li>{_text(line)}</li>' for line in lines)}</ul>"


def _can_draw(tell: Callable[[str], None] | None) -> bool:
    try:
        need("matplotlib", "plot", "drawing the figures")
    except NotSupportedError as error:
        if tell is not None:
            tell(f"the report has no figures: {error}")
        return False
    return True


def _tag(result: Result) -> str:
    kind = result.verdict.kind
    return f'<span class="tag {kind.split()[0]}">{_text(kind)}</span>'


def _table(outcome: StudyOutcome) -> str:
    rows = []
    for result in outcome.results:
        item, unit = result.item, result.item.printed.unit
        why = f"<br>{_text(result.verdict.reason)}" if result.verdict.reason else ""
        why += f'<br><span class="rule">judged by: {_text(item.rule)}</span>' if item.rule else ""
        rows.append(
            f'<tr><td><a href="#{_text(item.id)}">{_text(item.id)}</a></td><td>{_text(item.title)}</td>'
            f"<td>{_text(item.printed.text)} {_text(unit)}</td><td>{_text(result.write(result.as_published))}</td>"
            f"<td>{_text(result.write(result.correct))}</td><td>{_tag(result)}{why}</td></tr>"
        )
    return (
        '<div class="wide"><table><thead><tr><th>item</th><th></th><th>printed</th><th>as published (ours)</th>'
        f"<th>correct (ours)</th><th>verdict</th></tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _section(result: Result, drawing: bool) -> str:
    item = result.item
    unit = item.printed.unit
    lines = [("printed", f"{item.printed.text} {unit}".strip())]
    if result.as_published is not None:
        lines.append(("as published (ours)", f"{result.write(result.as_published)} {unit}".strip()))
    if result.correct is not None:
        lines.append(("correct (ours)", f"{result.write(result.correct)} {unit}".strip()))
    if result.verdict.reproduced is not None:
        lines.append(("the document's way gives the print", "yes" if result.verdict.reproduced else "no"))
    rows = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in lines)
    parts = [
        f'<section id="{_text(item.id)}"><h3>{_text(item.id)} — {_text(item.title)} {_tag(result)}</h3><dl>{rows}</dl>'
    ]
    if result.verdict.reason:
        parts.append(f'<p class="why">{_text(result.verdict.reason)}</p>')
    if item.rule:
        parts.append(f'<p class="rule">Judged by: {_text(item.rule)}</p>')
    if result.notes:
        parts.append("<ul>" + "".join(f"<li>{_text(note)}</li>" for note in result.notes) + "</ul>")
    if drawing and result.verdict.kind not in ("not run", "failed"):
        for picture in item.pictures:
            data = base64.b64encode(png_of(picture.draw)).decode()
            caption = _text(picture.caption)
            parts.append(
                f'<figure><img alt="{caption}" src="data:image/png;base64,{data}">'
                f"<figcaption>{caption}</figcaption></figure>"
            )
    return "".join(parts) + "</section>"


_QUICK = {"axes.formatter.use_mathtext": False}  # typesetting every tick label takes half of a figure's time


def png_of(draw: Callable[[], Any], dpi: int = 130) -> bytes:
    """Return a figure as a PNG file's bytes, in the style of the other figures."""
    buffer = io.BytesIO()
    with need("matplotlib", "plot", "drawing the figures").rc_context({**STYLE, **_QUICK}):
        draw().savefig(buffer, format="png", dpi=dpi)
    return buffer.getvalue()


def _text(value: Any) -> str:
    return html.escape(str(value), quote=True)
