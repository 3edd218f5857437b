# SPDX-License-Identifier: Apache-2.0
"""Pages about runs: replay and figures inside them, nothing loaded from elsewhere, every text escaped in one place.

A `Page` is built from top to bottom and written once::

    page = Page("ur5: pd").lead("ended as planned").cards([("duration", "2 s")])
    page.section("Joints").table(("joint", "peak [rad]"), rows).figure(data, "Joint positions.")
    page.made_with(versions(), seed=3).write("run.html", stage=stage)

Whatever is put in is escaped, unless `markup` made it: its template is ours, and what it is filled with is escaped.
"""

from __future__ import annotations

import base64
import html
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from armwright.recording.pictures.plots import GROUPS, png
from armwright.recording.replay.replay_page import html_page, replay_parts, style, write_page
from armwright.recording.replay.replay_stage import can_show, stage_of

if TYPE_CHECKING:
    from armwright.recording.recording import Recording
    from armwright.recording.replay.replay_stage import ReplayStage


LEAST_LISTED_SECTIONS = 4
"""A page of as many sections begins with links to them."""


class Markup(str):
    """HTML that is safe: `markup` made it."""

    __slots__ = ()


class MarkedCell(NamedTuple):
    """A cell of a table that stands out: its value, and the class that its style belongs to."""

    value: object
    mark: str


def escaped(value: object) -> Markup:
    """Return any value as text that is safe within HTML; `Markup` as it is."""
    return value if isinstance(value, Markup) else Markup(html.escape(str(value), quote=True))


def markup(template: str, *values: object) -> Markup:
    """Return a template of HTML, a literal of ours, filled with values that are escaped."""
    return Markup(template.format(*map(escaped, values)))


def joined(parts: Iterable[object]) -> Markup:
    """Return texts and pieces of HTML one after the other."""
    return Markup("".join(map(escaped, parts)))


def each(template: str, values: Iterable[object]) -> Markup:
    """Return a template filled once with every value, one after the other."""
    return joined(markup(template, value) for value in values)


def figure(data: bytes, caption: str, kind: str = "png") -> Markup:
    """Return a picture with its caption; `data` are the bytes of an image file of that kind.

    A PNG is taken for a drawing on white ground, which pages in the dark turn into light lines on their own.
    """
    source = f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
    template = '<figure><img class="{}" alt="{}" src="{}"><figcaption>{}</figcaption></figure>'
    return markup(template, "drawing" if kind == "png" else "film", caption, source, caption)


def table(heads: Iterable[object], rows: Iterable[Iterable[object]], kind: str = "") -> Markup:
    """Return a table; `kind` is a class of its own style."""
    body = joined(markup("<tr>{}</tr>", joined(map(_cell, row))) for row in rows)
    template = '<div class="{}"><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>'
    return markup(template, f"wide {kind}".strip(), each("<th>{}</th>", heads), body)


def _cell(value: object) -> Markup:
    if isinstance(value, MarkedCell) and value.mark:
        return markup('<td class="{}">{}</td>', value.mark, value.value)
    return markup("<td>{}</td>", value.value if isinstance(value, MarkedCell) else value)


def list_of(lines: Iterable[object]) -> Markup:
    """Return a list with a point for every line."""
    return markup("<ul>{}</ul>", each("<li>{}</li>", lines))


class Page:
    """A page that grows from top to bottom; every method returns the page.

    Args:
        title: of the page and its headline, any text.
        css: style in addition to that of all reports.
    """

    def __init__(self, title: str, css: str = "") -> None:
        self.title, self.css = title, css
        self._parts: list[str] = []
        self._sections: list[tuple[int, str]] = []  # the part that it begins with, its title
        self._first = 0  # how many of them stand before the replay
        self.add(markup("<h1>{}</h1>", title))

    def add(self, *parts: object) -> Page:
        """Add pieces of `Markup`; what is not such a piece is escaped."""
        self._parts += map(escaped, parts)
        return self

    def replay_here(self) -> Page:
        """Let the replay follow what is there already, in place of opening the page."""
        self._first = len(self._parts)
        return self

    def section(self, title: str) -> Page:
        """Begin a section."""
        self._sections.append((len(self._parts), title))
        return self.add(markup('<h2 id="section-{}">{}</h2>', len(self._sections), title))

    def lead(self, text: object, kind: str = "lead") -> Page:
        """Add the sentence that says what came of it, or with another `kind` one in another style."""
        return self.add(markup('<p class="{}">{}</p>', kind, text))

    def paragraph(self, text: object) -> Page:
        """Add a paragraph."""
        return self.add(markup("<p>{}</p>", text))

    def cards(self, pairs: Iterable[tuple[object, object]]) -> Page:
        """Add figures that are seen at once: (label, value) of each."""
        template = '<div class="card"><b>{}</b><span>{}</span></div>'
        return self.add(markup('<div class="cards">{}</div>', joined(markup(template, v, k) for k, v in pairs)))

    def figure(self, data: bytes, caption: str, kind: str = "png") -> Page:
        """Add a picture with its caption, the bytes of an image file."""
        return self.add(figure(data, caption, kind))

    def table(
        self, heads: Iterable[object], rows: Iterable[Iterable[object]], kind: str = "", *, folded: bool = False
    ) -> Page:
        """Add a table; a `folded` one is opened by a click."""
        made = table(heads, rows, kind)
        return self.folded("Table", made) if folded else self.add(made)

    def folded(self, title: str, *parts: object) -> Page:
        """Add pieces of `Markup` that are opened by a click on their title."""
        return self.add(markup("<details><summary>{}</summary>{}</details>", title, joined(parts)))

    def listed(self, lines: Iterable[object]) -> Page:
        """Add a list."""
        return self.add(list_of(lines))

    def verbatim(self, text: object) -> Page:
        """Add a text with its line breaks."""
        return self.add(markup("<pre>{}</pre>", text))

    def values(self, value: object) -> Page:
        """Add plain data (mappings, lists, arrays, numbers) as JSON; null where a number is not finite."""
        return self.verbatim(json.dumps(_plain(value), indent=2, ensure_ascii=False))

    def made_with(self, versions: Mapping[str, str], /, **settings: Any) -> Page:
        """Add the last section: what decided the numbers, such as the seed, and the versions."""
        return self.section("Made with").values({**settings, **versions})

    def write(self, path: str | Path, *, stage: ReplayStage | None = None) -> Path:
        """Write the page; one of many sections begins with links to them.

        Args:
            path: of the page.
            stage: what happened, to be replayed at its top, or where `replay_here` says.
        """
        look = style() + self.css
        replay = None if stage is None else replay_parts(stage)
        at = self._sections[0][0] if self._sections else len(self._parts)
        parts = [*self._parts[:at], *self._contents(), *self._parts[at:]]
        first, rest = parts[: self._first], parts[self._first :]
        return write_page(path, html_page(self.title, rest, replay, look, first))

    def _contents(self) -> list[Markup]:
        """Return links to the sections, if there are many."""
        if len(self._sections) < LEAST_LISTED_SECTIONS:
            return []
        titles = [title for _, title in self._sections]
        links = joined(markup('<li><a href="#section-{}">{}</a></li>', k, title) for k, title in enumerate(titles, 1))
        return [markup('<nav class="contents" aria-label="Contents"><ul>{}</ul></nav>', links)]


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


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
    name = recording.robot.name if recording.robot else "Recording"
    law = recording.settings.get("law")
    head = title or (f"{name}: {law}" if isinstance(law, str) else name)
    figures = recording.summary()
    page = Page(head).lead(recording.outcome or "no outcome recorded").cards(_cards(figures))
    shown = views if views is not None else _views(recording)
    if shown:
        page.section("Figures")
    for view in shown:
        page.figure(png(recording, view), _CAPTIONS.get(view, view))
    if "q" in recording and any(key in figures for key, _, _ in _ROWS):
        page.section("Joints").table(("", *recording.labels("q")), _joint_rows(recording, figures))
    if recording.events:
        rows = [(e.name, f"{e.time:.6g}", json.dumps(e.detail) if e.detail else "") for e in recording.events[:1000]]
        page.section("Events").table(("event", "t [s]", "detail"), rows)
    page.section("Settings").values(recording.settings)
    page.made_with(recording.versions, seed=recording.seed)
    return page.write(path, stage=stage_of(recording, title=head) if can_show(recording) else None)


def _views(recording: Recording) -> list[str]:
    robot = recording.robot
    posed = robot is not None and "q" in recording and recording["q"].shape[1:] == (robot.n,)
    views = ["tool"] if posed and len(recording) else []
    views += [view for view in ("joints", "errors", "torques", "velocity") if GROUPS[view] in recording]
    if any(name in recording for name in ("kinetic", "potential", "energy", "storage")):
        views.append("energy")
    return views if len(recording) else []


def _cards(figures: dict[str, Any]) -> list[tuple[str, str]]:
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
    return cards


def _joint_rows(recording: Recording, figures: dict[str, Any]) -> list[list[object]]:
    """Return one row per figure, one column per joint; shares of limits beyond 100 % stand out."""
    rows: list[list[object]] = []
    for key, label, signal in _ROWS:
        values = figures.get(key)
        if values is None or len(values) != len(recording.labels("q")):
            continue
        unit = recording.unit(signal).replace("^2", "²").replace("N m", "N·m") if signal else "%"
        cells = [f"{v:.4g}" if signal else MarkedCell(f"{100.0 * v:.4g}", "over" if v > 1.0 else "") for v in values]
        rows.append([f"{label} [{unit}]", *cells])
    return rows
