# SPDX-License-Identifier: Apache-2.0
"""One HTML page about a run: replay and figures inside it, nothing loaded from elsewhere, every text escaped."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armwright.recording.pictures.plots import GROUPS, png
from armwright.recording.replay.replay_page import html_page, replay_parts, write_page
from armwright.recording.replay.replay_stage import can_show, stage_of

if TYPE_CHECKING:
    from armwright.recording.recording import Recording
    from armwright.recording.replay.replay_stage import ReplayStage

_ROWS = (
    ("peak.q", "peak position", "q"),
    ("peak.qd", "peak speed", "qd"),
    ("share.qd", "speed / limit", ""),
    ("peak.qdd", "peak acceleration", "qdd"),
    ("peak.tau", "peak torque", "tau"),
    ("share.tau", "torque / limit", ""),
    ("share.q", "use of the range", ""),
    ("error_rms", "rms error", "error"),
    ("error_max", "largest error", "error"),
    ("error_end", "error at the end", "error"),
)
_CAPTIONS = {
    "tool": "Arm and tool path; coordinates of the tool in the base frame.",
    "joints": "Joint positions.",
    "velocity": "Joint velocities.",
    "torques": "Joint torques; dashed: limits where the run comes near them.",
    "errors": "Tracking error, reference minus actual.",
    "energy": "Energy.",
}


def report(
    recording: Recording, path: str | Path, *, title: str | None = None, views: Sequence[str] | None = None
) -> Path:
    """Write a self-contained HTML page: replay, figures, summary, settings, events, versions.

    Args:
        recording: the run.
        path: of the page.
        title: headline; "<robot>: <law>" by default.
        views: figures to show, as in `plots.plot`; by default all that the recording has signals for.

    Returns:
        The path.
    """
    shown = list(views) if views is not None else _views(recording)
    name = recording.robot.name if recording.robot else "Recording"
    law = recording.settings.get("law")
    head = title or (f"{name}: {law}" if isinstance(law, str) else name)
    body = [f"<h1>{escaped(head)}</h1>", f'<p class="lead">{escaped(recording.outcome or "no outcome recorded")}</p>']
    figures = recording.summary()
    body.append(_cards(figures))
    for view in shown:
        body.append(_figure(recording, view))
    body.append(_joint_table(recording, figures))
    if recording.events:
        rows = [(e.name, f"{e.time:.6g}", json.dumps(e.detail) if e.detail else "") for e in recording.events[:1000]]
        body.append("<h2>Events</h2>" + html_table(("event", "t [s]", "detail"), rows))
    body.append(
        f"<h2>Settings</h2><pre>{escaped(json.dumps(dict(recording.settings), indent=2, ensure_ascii=False))}</pre>"
    )
    made = {"seed": recording.seed, **recording.versions}
    body.append(f"<h2>Made with</h2><pre>{escaped(json.dumps(made, indent=2, ensure_ascii=False))}</pre>")
    return write_html(path, head, body, stage=stage_of(recording, title=head) if can_show(recording) else None)


def _views(recording: Recording) -> list[str]:
    robot = recording.robot
    posed = robot is not None and "q" in recording and recording["q"].shape[1:] == (robot.n,)
    views = ["tool"] if posed and len(recording) else []
    views += [view for view in ("joints", "errors", "torques", "velocity") if GROUPS[view] in recording]
    if any(name in recording for name in ("kinetic", "potential", "energy", "storage")):
        views.append("energy")
    return views if len(recording) else []


def _figure(recording: Recording, view: str) -> str:
    data = base64.b64encode(png(recording, view)).decode()
    caption = escaped(_CAPTIONS.get(view, view))
    return (
        f'<figure><img alt="{caption}" src="data:image/png;base64,{data}"><figcaption>{caption}</figcaption></figure>'
    )


def _cards(figures: dict[str, Any]) -> str:
    cards = [("duration", f"{figures['duration']:.4g} s"), ("samples", f"{figures['samples']}")]
    if "rate" in figures:
        cards.append(("rate", f"{figures['rate']:.4g} Hz"))
    if "error_rms" in figures:
        cards.append(("largest rms error", f"{max(figures['error_rms']):.3g}"))
    for key, label in (("share.tau", "torque / limit"), ("share.qd", "speed / limit")):
        if key in figures:
            cards.append((label, f"{100.0 * max(figures[key]):.3g} %"))
    if "energy_end" in figures:
        cards.append(("change of energy", f"{figures['energy_end'] - figures['energy_start']:.3g} J"))
    return (
        '<div class="cards">'
        + "".join(
            f'<div class="card"><b>{escaped(value)}</b><span>{escaped(label)}</span></div>' for label, value in cards
        )
        + "</div>"
    )


def _joint_table(recording: Recording, figures: dict[str, Any]) -> str:
    """One row a figure, one column per joint; shares of limits beyond 100 % stand out."""
    if "q" not in recording or not any(key in figures for key, _, _ in _ROWS):
        return ""
    names = recording.labels("q")
    rows = []
    for key, label, signal in _ROWS:
        values = figures.get(key)
        if values is None or len(values) != len(names):
            continue
        unit = recording.unit(signal).replace("^2", "²").replace("N m", "N·m") if signal else "%"
        cells = "".join(
            f'<td class="{"over" if not signal and v > 1.0 else ""}">{100.0 * v if not signal else v:.4g}</td>'
            for v in values
        )
        rows.append(f"<tr><td>{escaped(label)} [{escaped(unit)}]</td>{cells}</tr>")
    heads = "".join(f"<th>{escaped(name)}</th>" for name in names)
    return (
        f'<h2>Joints</h2><div class="wide"><table><thead><tr><th></th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def html_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as HTML, every text escaped."""
    head = "".join(f"<th>{escaped(cell)}</th>" for cell in heads)
    body = "".join("<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def write_html(
    path: str | Path, title: str, body: Sequence[str], *, css: str | None = None, stage: ReplayStage | None = None
) -> Path:
    """Write one self-contained HTML page of parts that are HTML already; the title is escaped here.

    Args:
        path: of the page.
        title: any text.
        body: the parts.
        css: style of the page; that of all reports by default.
        stage: what happened, to be replayed at the top of the page.
    """
    return write_page(path, html_page(title, body, None if stage is None else replay_parts(stage), css))


def escaped(value: Any) -> str:
    """Return any value as text that is safe within HTML."""
    return html.escape(str(value), quote=True)
