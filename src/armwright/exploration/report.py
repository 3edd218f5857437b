# SPDX-License-Identifier: Apache-2.0
"""One HTML page about an exploration: the replay and every figure inside it, nothing loaded from elsewhere."""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.exploration.arm.arm_pictures import CAPTIONS as JOINT_CAPTIONS
from armwright.exploration.arm.arm_result import ArmExploration
from armwright.exploration.figures import png, shown_contact
from armwright.exploration.replay import exploration_stage
from armwright.recording.pictures.report import escaped, html_table, write_html

if TYPE_CHECKING:
    from armwright.exploration.result import Contact, Exploration

CAPTIONS = {
    "path": (
        "Way of the tool over the final map. Red: where an alarm was raised, with the direction of the felt force; "
        "grey: what really stood there, which the arm was never told."
    ),
    "maps": "The map before and after every contact (at most fifteen shown), with the path planned on it.",
    "forces": "Contact force on the tool, actual and estimated from joint motion alone.",
    "zoom": "The first contact close up: from first touch to alarm.",
    "errors": "Joint errors: the arm yields where it touches.",
}


def exploration_report(
    run: Exploration,
    path: str | Path,
    *,
    animation: bool = False,
    frames: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Path:
    """Write a self-contained page.

    Args:
        run: the exploration.
        path: of the page.
        animation: draw a film as well, which other programs can show.
        frames: how many pictures it has.
        progress: of the film, called with (pictures done, pictures in all).
    """
    figures = run.metrics()
    head = f"{run.settings.get('robot', 'arm')} through {run.settings.get('world', 'an unknown world')}"
    body = [f"<h1>{escaped(head)}</h1>", f'<p class="lead">{escaped(sentence(run))}</p>', _cards(figures)]
    if len(run.recording):
        if animation:
            body.append("<h2>Film</h2>" + _film(run, frames, progress))
        joints = isinstance(run, ArmExploration)
        titles = {
            "path": "The way",
            "maps": "The map grows",
            **({"clearance": "Clearance"} if joints else {}),
            "forces": "Forces",
            "zoom": "One contact",
            "errors": "Joint errors",
        }
        captions = CAPTIONS | (JOINT_CAPTIONS if joints else {})
        for view, title in titles.items():
            if view == "zoom" and shown_contact(run) is None:
                continue
            data = base64.b64encode(png(run, view)).decode()
            caption = escaped(captions[view])
            body.append(
                f'<h2>{title}</h2><figure><img alt="{caption}" src="data:image/png;base64,{data}">'
                f"<figcaption>{caption}</figcaption></figure>"
            )
    if run.contacts:
        body.append("<h2>Contacts</h2>" + contact_table(run))
    body.append(f"<h2>Figures</h2><pre>{_json(figures)}</pre>")
    body.append(f"<h2>Settings</h2><pre>{_json({**run.settings, **run.recording.settings})}</pre>")
    body.append(f"<h2>Made with</h2><pre>{_json({'seed': run.recording.seed, **run.recording.versions})}</pre>")
    return write_html(path, head, body, stage=exploration_stage(run, head))


def sentence(run: Exploration) -> str:
    """What happened, for a person."""
    m = run.metrics()
    touched = f"{m['contacts']} contact{'s' if m['contacts'] != 1 else ''}"
    if run.reached:
        where = f"{_goal(run)} after {run.arrival:.1f} s and {touched}"
        return f"Reached the goal {where}; nobody told it what was in the way."
    return f"{run.outcome.capitalize()} after {m['simulated_s']:.1f} s and {touched}" + (
        f": {run.message}." if run.message else "."
    )


def _goal(run: Exploration) -> str:
    if isinstance(run, ArmExploration):
        return "with the tool at " + ", ".join(f"{x:.3f}" for x in run.goal_point) + " m"
    return str(run.goal)


def place_of(contact: Contact) -> str:
    """Where a contact was put on the map: a cell, or a place with how sure it is, and the likeliest link."""
    if contact.places is None:
        return str(contact.cell)
    if not len(contact.places.points):
        return "nowhere"
    at = ", ".join(f"{x:.2f}" for x in contact.places.points[0])
    link, share = next(iter(contact.places.links.items()), ("?", 0.0))
    return f"{at} m{'' if contact.places.sure else ' ?'} ({link} {share:.0%})"


def contact_table(run: Exploration) -> str:
    """One row per contact, truth beside estimate."""
    heads = (
        "no.",
        "place" if isinstance(run, ArmExploration) else "cell",
        "touch [s]",
        "alarm [s]",
        "delay [ms]",
        "felt [N]",
        "true [N]",
        "angle [deg]",
        "touched",
    )
    rows = []
    for k, c in enumerate(run.contacts[:500]):
        felt, true = float(np.linalg.norm(c.felt)), float(np.linalg.norm(c.true))
        cosine = float(c.felt @ c.true) / (felt * true) if felt > 0.0 and true > 0.0 else float("nan")
        angle = f"{np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))):.0f}" if np.isfinite(cosine) else "–"
        known = np.isfinite(c.began)
        rows.append(
            (
                str(k + 1),
                place_of(c),
                f"{c.began:.3f}" if known else "–",
                f"{c.time:.3f}",
                f"{1e3 * c.delay:.0f}" if known else "–",
                f"{felt:.1f}",
                f"{true:.1f}",
                angle,
                f"{c.link} – {c.shape}" if c.link else "nothing: false alarm",
            )
        )
    return html_table(heads, rows)


def _film(run: Exploration, frames: int | None, progress: Any) -> str:
    from armwright.exploration.film import FRAMES, film

    with tempfile.TemporaryDirectory() as folder:
        file = film(run, Path(folder) / "film.gif", frames=frames or FRAMES, progress=progress)
        data = base64.b64encode(file.read_bytes()).decode()
    speed = run.metrics()["simulated_s"] / ((frames or FRAMES) / 10.0)
    caption = f"The arm among the obstacles (left) and the map that it makes of them (right), {speed:.1f} × real time."
    image = f'<img alt="film" src="data:image/gif;base64,{data}">'
    return f"<figure>{image}<figcaption>{escaped(caption)}</figcaption></figure>"


def _cards(m: dict[str, Any]) -> str:
    delay = "–" if not np.isfinite(m["median_delay_s"]) else f"{1e3 * m['median_delay_s']:.0f} ms"
    cards = [
        ("outcome", m["outcome"]),
        ("arrival", f"{m['arrival_s']:.1f} s" if m["reached"] else "–"),
        ("contacts", str(m["contacts"])),
        ("median delay", delay),
        ("largest force", f"{m['largest_force_n']:.1f} N"),
        ("impulse", f"{m['impulse_ns']:.3g} N·s"),
        ("way of the tool", f"{m['tool_path_m']:.2f} m"),
        ("false alarms", str(m["false_alarms"])),
    ]
    inner = "".join(
        f'<div class="card"><b>{escaped(value)}</b><span>{escaped(label)}</span></div>' for label, value in cards
    )
    return f'<div class="cards">{inner}</div>'


def _json(value: Any) -> str:
    return escaped(json.dumps(_plain(value), indent=2, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
