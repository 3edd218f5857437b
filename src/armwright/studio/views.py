# SPDX-License-Identifier: Apache-2.0
"""What every page may ask for, those that only look included: the arm, and the things on the shelf opened.

A thing on the shelf opens as a replay in a frame, a recording's signals as columns, a file to keep, or a document.
Rooms that take long to import are imported by whoever first needs them, so that the page opens at once.
"""

from __future__ import annotations

import base64
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.dynamics.equations import KINDS as EQUATIONS
from armwright.errors import InputError
from armwright.recording.replay.replay_page import html_page, replay_parts
from armwright.recording.replay.replay_stage import can_show, stage_of
from armwright.schema.checks import Check, flag, listed, numbers, one_of, text, whole
from armwright.schema.checks import record as fields
from armwright.studio.arm_view import branches, configuration, look
from armwright.studio.long_work import run_document, write_code
from armwright.studio.work_threads import beside

if TYPE_CHECKING:
    from armwright.studio.hub import Client
    from armwright.studio.studio_state import Studio

EXPORT_SECONDS = 600.0  # [s] for which code may be written, by another process
CODE = ("c", "numpy", "latex", "matlab", "sympy", "jax")
DESCRIPTIONS = ("urdf", "mjcf", "sheet")
Q = numbers(-1e3, 1e3)
POINT = numbers(-1e3, 1e3, count=3)
SUFFIX = {"c": "c", "numpy": "py", "latex": "tex", "matlab": "m", "sympy": "py", "jax": "py"} | {
    "urdf": "urdf",
    "mjcf": "xml",
    "sheet": "toml",
}


async def drew(studio: Studio, client: Client, count: int) -> None:
    """The page has drawn so many frames."""
    client.drew(count)


async def watch(studio: Studio, client: Client, live: bool) -> dict[str, Any]:
    """The page wants frames, or no more."""
    client.live = live
    studio.watch()
    return {"live": studio.live_state()}


async def look_at(studio: Studio, client: Client, q: tuple[float, ...]) -> dict[str, Any]:
    """Everything about a configuration."""
    return await beside(look, studio.robot, configuration(studio.robot, q))


async def inverse(
    studio: Studio, client: Client, position: tuple[float, ...], rotation: tuple[float, ...], seed: tuple[float, ...]
) -> dict[str, Any]:
    """All branches of inverse kinematics."""
    return await beside(branches, studio.robot, position, rotation, configuration(studio.robot, seed))


async def export(studio: Studio, client: Client, to: str, what: str = "inverse_dynamics") -> dict[str, Any]:
    """The arm's equations as source code, or the arm in another format."""
    robot = studio.robot
    if to in DESCRIPTIONS:
        return {"text": str(await beside(getattr(robot, f"to_{to}"))), "file": f"{robot.name}.{SUFFIX[to]}"}
    fields = {"sheet": robot.to_sheet(), "to": to, "what": what}
    said = await studio.jobs.run(f"export {what}", write_code, fields, EXPORT_SECONDS)
    return {"text": said["text"], "file": f"{robot.name}-{what}.{SUFFIX[to]}"}


async def listing(studio: Studio, client: Client) -> dict[str, Any]:
    """What can be opened."""
    return {"items": studio.shelf.listing()}


VIEWS: dict[str, tuple[Check[dict[str, Any]], Any]] = {
    "drew": (fields({"count": whole(0, 2**53)}), drew),
    "watch": (fields({"live": flag}), watch),
    "look": (fields({"q": Q}), look_at),
    "ik": (fields({"position": POINT, "rotation": numbers(-10.0, 10.0, count=3), "seed": Q}), inverse),
    "export": (fields({"to": one_of(CODE + DESCRIPTIONS)}, {"what": one_of(EQUATIONS)}), export),
    "list": (fields({}), listing),
}


NUMBER = whole(1, 2**31)
KINDS = ("recording", "exploration", "program")
MOST_VIEW_ROWS, MOST_SIGNALS = 2000, 8
MOST_FILE = 16 << 20  # bytes of a recording that is handed out on the page's line


async def replay(studio: Studio, client: Client, kind: str, number: int) -> dict[str, Any]:
    """A replay to be opened in a frame."""
    item = studio.shelf.get(number, kind)

    def make() -> str:
        if kind != "recording":
            return str(item.value)
        recording = studio.shelf.recording(number)
        return (
            html_page(item.name, (), replay_parts(stage_of(recording, title=item.name))) if can_show(recording) else ""
        )

    page = await beside(make)
    if not page:
        raise InputError(f"{item.name}: says neither which arm it was nor where; look at its signals instead")
    return {"ticket": studio.shelf.ticket(page, own=True), "name": item.name}


async def signals(studio: Studio, client: Client, number: int) -> dict[str, Any]:
    """What a recording holds."""
    recording = await beside(studio.shelf.recording, number)
    return {
        "duration": recording.duration,
        "rows": len(recording),
        "robot": recording.robot.name if recording.robot is not None else None,
        "shows": can_show(recording),
        "outcome": recording.outcome,
        "signals": [
            {"name": name, "unit": signal.unit, "labels": list(recording.labels(name))[:64], "width": signal.width}
            for name, signal in recording.signals.items()
        ],
        "events": [{"time": event.time, "name": event.name} for event in recording.events[:500]],
    }


async def columns(studio: Studio, client: Client, number: int, names: tuple[str, ...]) -> dict[str, Any]:
    """Some signals of a recording over time, thinned to what a screen can show; time begins at 0."""
    recording = await beside(studio.shelf.recording, number)
    step = max(1, -(-len(recording) // MOST_VIEW_ROWS))
    out = {}
    for name in names:
        values = np.asarray(recording[name]).reshape(len(recording), -1)[::step, :16]
        out[name] = [[None if not np.isfinite(x) else float(f"{x:.6g}") for x in column] for column in values.T]
    time = recording.time[::step] - (recording.time[0] if len(recording) else 0.0)
    return {"time": [round(float(t), 6) for t in time], "columns": out}


async def file(studio: Studio, client: Client, number: int, to: str) -> dict[str, Any]:
    """A recording as a file, in base64."""
    item = studio.shelf.get(number, "recording")
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in item.name.rsplit(".", 1)[0]) + f".{to}"

    def write() -> bytes:
        with TemporaryDirectory(dir=studio.shelf.folder) as folder:
            return Path(studio.shelf.recording(number).save(Path(folder) / name)).read_bytes()

    content = await beside(write)
    if len(content) > MOST_FILE:
        raise InputError(f"file: {len(content) >> 20} MiB are too much for the page; choose another format")
    return {"file": name, "base64": base64.b64encode(content).decode()}


async def documents(studio: Studio, client: Client) -> dict[str, Any]:
    """The documents that can be run."""
    from armwright.studies.study import available, load_study

    def read() -> list[dict[str, Any]]:
        studies = [load_study(name) for name in available()]
        return [{"id": s.id, "title": s.title, "document": s.document, "items": len(s.items)} for s in studies]

    return {"documents": await beside(read)}


async def reproduce(studio: Studio, client: Client, document: str) -> dict[str, Any]:
    """Run a document; the job's result has the ticket of its report."""
    from armwright.studies.study import available

    if document not in available():
        raise InputError(f"documents: no {document!r:.40}; valid: {', '.join(available())}")

    def finish(done: dict[str, Any]) -> dict[str, Any]:
        return {"document": document, "ticket": studio.shelf.ticket(done["page"]), "counts": done["counts"]}

    return {"job": studio.jobs.start(f"document {document}", run_document, {"document": document}, finish)}


LIBRARY_VIEWS: dict[str, tuple[Check[dict[str, Any]], Any]] = {
    "replay": (fields({"kind": one_of(KINDS), "number": NUMBER}), replay),
    "signals": (fields({"number": NUMBER}), signals),
    "columns": (fields({"number": NUMBER, "names": listed(text(100), MOST_SIGNALS)}), columns),
    "file": (fields({"number": NUMBER, "to": one_of(("mcap", "parquet", "npz"))}), file),
    "documents": (fields({}), documents),
}
ORDERS: dict[str, tuple[Check[dict[str, Any]], Any]] = {"reproduce": (fields({"document": text(20)}), reproduce)}
