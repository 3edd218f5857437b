# SPDX-License-Identifier: Apache-2.0
"""The report of an exploration: one self-contained HTML page with the replay and every figure.

`exploration_stage` makes the replay: the arm among its surroundings, the growing map, felt and true forces.
`exploration_report` writes the page with sentence, table and figures.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.exploration.arm.arm_result import ArmExploration
from armwright.exploration.arm.touch_map import RADIUS
from armwright.exploration.pictures.arm_figures import CAPTIONS as JOINT_CAPTIONS
from armwright.exploration.pictures.arm_figures import TALL
from armwright.exploration.pictures.map_figures import png, shown_contact
from armwright.recording.pictures.html_page import Page
from armwright.recording.replay.replay_stage import Arrows, Curves, Growing, ReplayStage, can_show, curves, stage_of
from armwright.recording.signals import RecordedEvent

if TYPE_CHECKING:
    from armwright.exploration.exploration_result import Contact, Exploration
    from armwright.types import Array

FLAT_CELL_HEIGHT = 0.1  # of a cell's edge: how thick a cell of a flat map is drawn


def exploration_stage(run: Exploration, title: str = "") -> ReplayStage | None:
    """Return what a page replays of a run; None where nothing was recorded."""
    recording = run.recording
    if not can_show(recording):
        return None
    joints = isinstance(run, ArmExploration)
    plots = [_forces(run)]
    if "clearance" in recording:
        plots.append(Curves("clearance", "m", ("arm to world",), recording["clearance"][:, None]))
    plots += [curves(recording, name, words) for name, words in _JOINTS if name in recording]
    return replace(
        stage_of(recording, () if run.world is None else run.world.shapes, title=title),
        events=tuple(RecordedEvent(c.time, _words(k, c)) for k, c in enumerate(run.contacts)),
        plots=tuple(plots),
        arrows=_arrows(run) if joints else stage_of(recording).arrows,
        map=_places(run) if isinstance(run, ArmExploration) else _cells(run),
        endless=None if joints else _endless(run),
    )


_JOINTS = (("error", "joint errors"), ("tau_ext", "external torque, felt"), ("q", "joint positions"))


def _words(k: int, contact: Contact) -> str:
    told = contact.link or ("false alarm" if contact.touched == "nothing" else "")
    return f"contact {k + 1}" + (f": {told}" if told else "")


def _forces(run: Exploration) -> Curves:
    names = {"force": "true", "force_felt": "felt"} if run.truth_known else {"force_felt": "felt"}
    sizes = [np.linalg.norm(run.recording[name], axis=1) for name in names]
    return Curves("contact force", "N", tuple(names.values()), np.stack(sizes, axis=1), tuple(names.values()))


def _cells(run: Exploration) -> Growing:
    """Return the cells that were felt, after each contact; a cell can be cleared again."""
    grid = run.maps[0].grid
    felt = np.stack([np.asarray(known.felt) > 0 for known in run.maps])
    ever = np.argwhere(felt.any(axis=0))
    known = felt[(slice(None), *ever.T)]
    size = np.asarray(grid.cell_size)
    edges = size if grid.dim == 3 else np.append(size, FLAT_CELL_HEIGHT * float(size.min()))
    times = _times(run, len(run.maps))
    points = np.asarray(grid.centre(ever + grid.first)) if len(ever) else np.zeros((0, 3))
    shown = tuple(tuple(np.flatnonzero(row).tolist()) for row in known)
    return Growing("felt cells", points, times, shown, 0.96 * edges, np.asarray(grid.frame))


def _places(run: ArmExploration) -> Growing:
    """Return the places that were likely touched, after each contact; later contacts may make others likelier."""
    points: list[tuple[float, ...]] = []
    at: dict[tuple[float, ...], int] = {}
    shown = []
    for known in run.touch_maps:
        likely = [tuple(p) for p in known.points[known.likely].tolist()]
        for p in likely:
            if p not in at:
                at[p] = len(points)
                points.append(p)
        shown.append(tuple(at[p] for p in likely))
    return Growing(
        "felt places", np.array(points).reshape(-1, 3), _times(run, len(shown)), tuple(shown), radius=1.6 * RADIUS
    )


def _times(run: Exploration, count: int) -> Array:
    """Return from when on each of the maps held [s]: the first from the beginning, the others from their contact."""
    marks = [contact.time for contact in run.contacts][: count - 1]
    return np.array([float(run.recording.time[0]), *marks])[:count]


def _arrows(run: Exploration) -> tuple[Arrows, ...]:
    """Return the forces on the links, each drawn where it was felt and where it truly was."""
    time = run.recording.time
    felt, true = (np.full((len(time), 3), np.nan) for _ in range(2))
    for k, contact in enumerate(run.contacts):
        began = contact.began if np.isfinite(contact.began) else contact.time
        until = run.contacts[k + 1].time if k + 1 < len(run.contacts) else np.inf
        span = (time >= began - 0.1) & (time < until)
        if contact.places is not None and len(contact.places.points):
            felt[span] = contact.places.points[0]
        if contact.true_point is not None:
            true[span] = contact.true_point
    out = []
    for name, words, colour, origin in (
        ("force", "true force", "true", true),
        ("force_felt", "felt force", "felt", felt),
    ):
        if name not in run.recording:
            continue
        placed = np.isfinite(origin).all(axis=1)
        values = np.where(placed[:, None], run.recording[name], 0.0)
        out.append(Arrows(words, values, colour, np.nan_to_num(origin)))
    return tuple(out)


def _endless(run: Exploration) -> tuple[float, float]:
    """Return from where to where [m] endless cylinders are drawn: low posts at the map's level, not to hide the arm."""
    grid = run.maps[0].grid
    level = float(grid.origin[2]) if grid.dim == 2 else float(grid.centre(np.array(grid.shape) // 2)[2])
    return level - 0.5 * TALL, level + 0.5 * TALL


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
    page = Page(head).lead(sentence(run)).cards(_cards(figures))
    if len(run.recording):
        if animation:
            page.section("Film").figure(*_film(run, frames, progress), "gif")
        joints = isinstance(run, ArmExploration)
        titles = {
            "path": "The way",
            "maps": "The map grows",
            **({"clearance": "Clearance"} if "clearance" in run.recording else {}),
            "forces": "Forces",
            "zoom": "One contact",
            "errors": "Joint errors",
        }
        captions = CAPTIONS | (JOINT_CAPTIONS if joints else {})
        for view, title in titles.items():
            if view != "zoom" or shown_contact(run) is not None:
                page.section(title).figure(png(run, view), captions[view])
    if run.contacts:
        page.section("Contacts").table(*contact_table(run))
    page.section("Figures").values(figures)
    page.section("Settings").values({**run.settings, **run.recording.settings})
    page.made_with(run.recording.versions, seed=run.recording.seed)
    return page.write(path, stage=exploration_stage(run, head))


def sentence(run: Exploration) -> str:
    """Return a sentence that says what happened; after it what was wrong with the model, and the warnings."""
    wrong = run.settings.get("model_errors", {}).get("said", [])
    found = [f"Its model was wrong ({text})." for text in wrong[-1:]]
    return " ".join([_ending(run), *found, *(f"Warning: {text}." for text in run.warnings)])


def _ending(run: Exploration) -> str:
    m = run.metrics()
    touched = f"{m['contacts']} contact{'s' if m['contacts'] != 1 else ''}"
    if run.reached:
        where = f"{_goal(run)} after {run.arrival:.1f} s and {touched}"
        off = f"the tool stands {1e3 * m['goal_error_m']:.1f} mm from it"
        return f"Reached the goal {where}, {off}; nobody told it what was in the way."
    return f"{run.outcome.capitalize()} after {m['simulated_s']:.1f} s and {touched}" + (
        f": {run.message}." if run.message else "."
    )


def _goal(run: Exploration) -> str:
    if isinstance(run, ArmExploration):
        return "with the tool at " + ", ".join(f"{x:.3f}" for x in run.goal_point) + " m"
    return str(run.goal)


def place_of(contact: Contact) -> str:
    """Return where a contact was put on the map: a cell, or a place with how sure it is, and the likeliest link."""
    if contact.places is None:
        return str(contact.cell)
    if not len(contact.places.points):
        return "nowhere"
    at = ", ".join(f"{x:.2f}" for x in contact.places.points[0])
    link, share = next(iter(contact.places.links.items()), ("?", 0.0))
    return f"{at} m{'' if contact.places.sure else ' ?'} ({link} {share:.0%})"


def contact_table(run: Exploration) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return heads, and one row per contact with estimate and truth."""
    heads: tuple[str, ...] = (
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
    rows: list[tuple[str, ...]] = []
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
                f"{true:.1f}" if np.isfinite(true) else "–",
                angle,
                "nothing: false alarm" if c.touched == "nothing" else c.touched,
            )
        )
    return heads, rows


def _film(run: Exploration, frames: int | None, progress: Callable[[int, int], Any] | None) -> tuple[bytes, str]:
    """Return the film and its caption."""
    from armwright.exploration.pictures.exploration_film import FILM_FRAMES, film

    with tempfile.TemporaryDirectory() as folder:
        data = film(run, Path(folder) / "film.gif", frames=frames or FILM_FRAMES, progress=progress).read_bytes()
    speed = run.metrics()["simulated_s"] / ((frames or FILM_FRAMES) / 10.0)
    shown = "The arm among the obstacles (left) and the map that it makes of them (right)"
    return data, f"{shown}, {speed:.1f} × real time."


def _cards(m: dict[str, Any]) -> list[tuple[str, str]]:
    delay = "–" if not np.isfinite(m["median_delay_s"]) else f"{1e3 * m['median_delay_s']:.0f} ms"
    return [
        ("outcome", m["outcome"]),
        ("arrival", f"{m['arrival_s']:.1f} s" if m["reached"] else "–"),
        ("contacts", str(m["contacts"])),
        ("median delay", delay),
        *(
            [("largest force", f"{m['largest_force_n']:.1f} N"), ("impulse", f"{m['impulse_ns']:.3g} N·s")]
            if np.isfinite(m["largest_force_n"])
            else [("largest force felt", f"{m['largest_felt_n']:.1f} N")]
        ),
        ("way of the tool", f"{m['tool_path_m']:.2f} m"),
        *([("false alarms", str(m["false_alarms"]))] if np.isfinite(m["false_alarms"]) else []),
    ]
