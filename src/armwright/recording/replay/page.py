# SPDX-License-Identifier: Apache-2.0
"""The replay as HTML: one file that works offline and from a disk, and may load nothing at all from elsewhere.

Modules and numbers are carried compressed in the page; a short script, known to the page's content security policy by
its hash, unpacks and starts them.
"""

from __future__ import annotations

import base64
import hashlib
import html
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.recording.replay.pack import Packed
from armwright.recording.replay.spec import robot_spec, world_spec
from armwright.recording.replay.stage import thinned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.recording.replay.stage import Stage

FOLDER = "page"
MODULES = (
    "vendor/vendor.js",
    "kinematics.js",
    "palette.js",
    "quality.js",
    "arm_view.js",
    "world_view.js",
    "marks_view.js",
    "scene.js",
    "plots.js",
    "timeline.js",
    "replay.js",
)
STYLES = ("theme.css", "vendor/uplot.css", "replay.css", "report.css")


class Replay(NamedTuple):
    """The pieces of a page that replays a run: what its body shows, and the script at its end."""

    body: str
    script: str


@cache
def page_file(name: str) -> str:
    """Return the text of one of the page's files."""
    return (resources.files("armwright.recording.replay") / FOLDER / name).read_text(encoding="utf-8")


@cache
def modules() -> str:
    """Return all modules of the page, packed; made once a process."""
    return Packed().text({name: page_file(name) for name in MODULES})


@cache
def style() -> str:
    """Return the style of our pages."""
    return "\n".join(page_file(name) for name in STYLES)


def replay_parts(stage: Stage) -> Replay:
    """Return a replay as HTML: markup with controls, and the data with the script that starts it."""
    data = _script_data("replay-modules", modules()) + _script_data("replay-data", packed(stage))
    boot = page_file("boot.js")
    return Replay(page_file("replay.html"), f"{data}<script>{boot}</script>")


def policy(css: str) -> str:
    """Return the content security policy of our pages: nothing but what they carry, known by its hash."""
    boot = _hash(page_file("boot.js"))
    return (
        f"default-src 'none'; script-src '{boot}' blob:; style-src '{_hash(css)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def html_page(title: str, body: Sequence[str], replay: Replay | None = None, css: str | None = None) -> str:
    """Return a whole page.

    Args:
        title: any text.
        body: parts that are HTML already.
        replay: what the page opens with.
        css: its style; `style()` by default. Attributes with styles are refused by the page's policy.
    """
    top, script = replay or ("", "")
    look = style() if css is None else css
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy(look))}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{look}</style></head><body>\n{top}"
        + ("<main>\n" + "\n".join(body) + "\n</main>\n" if body else "")
        + f"{script}</body></html>\n"
    )


def packed(stage: Stage) -> str:
    """Return everything a replay shows, packed; see `pack`."""
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
    if shown.path is not None:
        way = shown.path
        content["path"] = {"name": way.name, "unit": way.unit, "low": way.low, "high": way.high}
        content["path"]["values"] = pack.array(way.values)
    return pack.text(content)


def _list(values: Any) -> Any:
    return None if values is None else np.asarray(values).tolist()


def _script_data(name: str, text: str) -> str:
    return f'<script type="text/plain" id="{name}">{text}</script>\n'


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
