# SPDX-License-Identifier: Apache-2.0
"""The replay as HTML: one page that works offline and from a disk, and may load nothing at all from elsewhere.

Modules and numbers are carried compressed in the page; a short script, known to the page's content security policy by
its hash, unpacks and starts them. `write_replay` makes a file of it, `notebook_page` what notebooks show: the replay,
where there is an arm to be seen, and a row per signal.

`Packed` puts JSON and arrays into one block of bytes, compressed, as text that HTML can carry. Layout before
compression: length of the JSON (uint32, little-endian), the JSON in UTF-8, filled with blanks to a multiple of 8, then
the arrays one after another. In the JSON an array is ``{"$": [type, offset, shape]}``, the offset in bytes from the end
of the JSON; types are f4, f8 and u1 (bytes). `page/boot.js` reads it, and starts the module that `carried` names.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.files import write_file
from armwright.html_text import html_table
from armwright.recording.replay.replay_stage import can_show, stage_of, thinned
from armwright.recording.replay.scene_spec import robot_spec, world_spec
from armwright.types import Array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from armwright.recording.recording import Recording
    from armwright.recording.replay.replay_stage import ReplayStage


class Packed:
    """Collects arrays and returns what stands for them in the JSON."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._parts: list[bytes] = []
        self._size = 0

    def array(self, values: Array, *, exact: bool = False) -> dict[str, Any]:
        """Keep an array in single precision, or exactly; every array begins at a multiple of 8 bytes."""
        data = np.ascontiguousarray(values, dtype="<f8" if exact else "<f4")
        return self._keep("f8" if exact else "f4", data.tobytes(), list(data.shape))

    def raw(self, data: bytes) -> dict[str, Any]:
        """Keep bytes."""
        return self._keep("u1", data, [len(data)])

    def _keep(self, kind: str, raw: bytes, shape: list[int]) -> dict[str, Any]:
        raw += bytes(-len(raw) % 8)
        place = {"$": [kind, self._size, shape]}
        self._parts.append(raw)
        self._size += len(raw)
        return place

    def text(self, content: Mapping[str, Any]) -> str:
        """Return JSON and arrays as base64 of a gzip stream."""
        head = json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
        head += b" " * (-(len(head) + 4) % 8)
        return as_text(len(head).to_bytes(4, "little") + head + b"".join(self._parts))


def as_text(data: bytes, level: int = 6) -> str:
    """Return bytes as base64 of a gzip stream; the same bytes give the same text, whenever it is made."""
    return base64.b64encode(gzip.compress(data, level, mtime=0)).decode()


FOLDER = "page"
DRAWING = (
    "vendor/vendor.js",
    "kinematics.js",
    "palette.js",
    "quality.js",
    "arm_view.js",
    "world_view.js",
    "marks_view.js",
    "scene.js",
    "plots.js",
)
"""What draws an arm, its world and its curves, in every page."""
MODULES = (
    *DRAWING,
    "timeline.js",
    "listing.js",
    "replay.js",
)
STYLES = ("theme.css", "vendor/uplot.css", "replay.css", "report.css")


class ReplayParts(NamedTuple):
    """The pieces of a page that replays a run: what its body shows, and the script at its end."""

    body: str
    script: str


@cache
def page_file(name: str) -> str:
    """Return the text of one of the page's files."""
    return (resources.files("armwright.recording.replay") / FOLDER / name).read_text(encoding="utf-8")


@cache
def modules(names: tuple[str, ...] = MODULES) -> str:
    """Return modules of a page, packed; made once per process."""
    return Packed().text({name: page_file(name) for name in names})


@cache
def style() -> str:
    """Return the style of our pages."""
    return "\n".join(page_file(name) for name in STYLES)


def replay_parts(stage: ReplayStage) -> ReplayParts:
    """Return a replay as HTML: markup with controls, and the data with the script that starts it."""
    return ReplayParts(page_file("replay.html"), carried("replay", modules(), packed(stage)))


def carried(root: str, sources: str, data: str) -> str:
    """Return the end of a page: packed modules and data, and the script that starts ``<root>.js`` with them.

    Args:
        root: id of the element that it shows them in; ``<root>-note`` is where it says what went wrong.
        sources: as `modules` returns them.
        data: as `Packed.text` returns it.
    """
    start = f' data-start="{root}.js" data-root="{root}"'
    texts = _script_data(f"{root}-modules", sources, start) + _script_data(f"{root}-data", data)
    return f"{texts}<script>{page_file('boot.js')}</script>"


def policy(css: str, *, compiled: bool = False) -> str:
    """Return the content security policy of our pages: only what they carry, known by its hash.

    With `compiled`, WebAssembly may be made of it, too.
    """
    boot = _hash(page_file("boot.js"))
    wasm = " 'wasm-unsafe-eval'" if compiled else ""
    return (
        f"default-src 'none'; script-src '{boot}' blob:{wasm}; style-src '{_hash(css)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def html_page(
    title: str,
    body: Sequence[str],
    replay: ReplayParts | None = None,
    css: str | None = None,
    first: Sequence[str] = (),
    *,
    compiled: bool = False,
) -> str:
    """Return a whole page.

    Args:
        title: any text.
        body: parts that are HTML already.
        replay: what the page opens with.
        first: parts before the replay, HTML already.
        css: its style; `style()` by default. Attributes with styles are refused by the page's policy.
        compiled: the page carries WebAssembly.
    """
    top, script = replay or ("", "")
    if first:
        top = '<header class="first">\n' + "\n".join(first) + f"\n</header>\n{top}"
    look = style() if css is None else css
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy(look, compiled=compiled))}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{look}</style></head><body>\n{top}"
        + ("<main>\n" + "\n".join(body) + "\n</main>\n" if body else "")
        + f"{script}</body></html>\n"
    )


def packed(stage: ReplayStage) -> str:
    """Return everything that a replay shows, packed; see `Packed`."""
    shown, pack = thinned(stage), Packed()
    content: dict[str, Any] = {
        "title": shown.title,
        "robot": robot_spec(shown.robot, shown.capsules),
        "world": world_spec(shown.world),
        "endless": shown.endless,
        "time": pack.array(shown.time, exact=True),
        "q": pack.array(shown.q),
        "touched": None if shown.touched is None else pack.array(shown.touched),
        "events": [{"time": e.time, "name": e.name} for e in shown.events],
        "plots": [
            {
                "title": plot.title,
                "unit": plot.unit,
                "series": [
                    {"label": label, **({"colour": colour} if colour else {})}
                    for label, colour in zip(plot.labels, plot.colours or (None,) * len(plot.labels), strict=True)
                ],
                "values": pack.array(plot.values.T),
            }
            for plot in shown.plots
        ],
        "arrows": [
            {
                "name": arrow.name,
                "colour": arrow.colour,
                "values": pack.array(arrow.values),
                "largest": float(np.max(np.linalg.norm(np.nan_to_num(whole.values), axis=1), initial=0.0)),
                "origin": None if arrow.origin is None else pack.array(arrow.origin),
            }
            for arrow, whole in zip(shown.arrows, stage.arrows, strict=True)
        ],
    }
    if shown.map is not None:
        known = shown.map
        box = {"size": _list(known.size), "rotation": _list(known.rotation)}
        content["map"] = {
            "name": known.name,
            "points": known.points.tolist(),
            "times": known.times.tolist(),
            "shown": known.shown,
            **({"radius": known.radius} if known.size is None else box),
        }
    if shown.listing is not None:
        content["listing"] = {
            "lines": [[line.text, line.mark, line.note] for line in shown.listing.lines],
            "steps": [[time, line] for time, line in shown.listing.steps],
        }
    if shown.path is not None:
        way = shown.path
        content["path"] = {"name": way.name, "unit": way.unit, "low": way.low, "high": way.high}
        content["path"]["values"] = pack.array(way.values)
    return pack.text(content)


def _list(values: ArrayLike | None) -> list[Any] | None:
    return None if values is None else np.asarray(values).tolist()


def _script_data(name: str, text: str, more: str = "") -> str:
    return f'<script type="text/plain" id="{name}"{more}>{text}</script>\n'


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


FRAME_HEIGHT = 620  # pixels in a notebook


def write_page(path: str | Path, page: str) -> Path:
    """Write a page; see `armwright.files.replacing`."""
    write_file(path, page)
    return Path(path)


def write_replay(stage: ReplayStage, path: str | Path) -> Path:
    """Write a page that holds the replay alone."""
    return write_page(path, html_page(stage.title, (), replay_parts(stage)))


def notebook_frame(stage: ReplayStage) -> str:
    """Return the replay in a frame of its own, which can reach neither the notebook nor anything else."""
    page = html.escape(html_page(stage.title, (), replay_parts(stage)), quote=True)
    look = f'width="100%" height="{FRAME_HEIGHT}" frameborder="0" allow="fullscreen"'
    return f'<iframe title="replay" sandbox="allow-scripts" {look} srcdoc="{page}"></iframe>'


def notebook_page(recording: Recording) -> str:
    """Return HTML of the replay, in a frame of its own, and of a table of the signals."""
    rows = [(name, signal.unit or "–", signal.values.shape) for name, signal in recording.signals.items()]
    table = html_table(repr(recording), ("signal", "unit", "shape"), rows)
    return notebook_frame(stage_of(recording)) + table if can_show(recording) else table
