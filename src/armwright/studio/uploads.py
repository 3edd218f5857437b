# SPDX-License-Identifier: Apache-2.0
"""Files that a page sends: each kind with its suffixes and its size; read as strangers' files are, never unpacked here.

The description of a CSV recording (``.csv.meta``) comes before the file that it describes, and waits for it.
The body is counted while it comes in, whatever it says about its own length, and a compressed body is refused.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from armwright.errors import ArmwrightError, InputError
from armwright.recording.formats import load as load_recording
from armwright.recording.replay.spec import world_spec
from armwright.robot.load import load as load_robot
from armwright.studio.shelf import Item
from armwright.world.file import read_world

if TYPE_CHECKING:
    from starlette.requests import Request

    from armwright.studio.state import Studio
    from armwright.world.world import World

PROGRAMS = (".irl", ".script", ".urscript", ".mod", ".modx", ".prg", ".src", ".krl", ".nc", ".ngc", ".gcode", ".tap")
KINDS: dict[str, tuple[tuple[str, ...], int]] = {
    "robot": ((".urdf", ".xml", ".toml"), 4 << 20),
    "recording": ((".mcap", ".parquet", ".csv", ".npz", ".meta"), 64 << 20),
    "program": (PROGRAMS, 1 << 20),
    "world": ((".toml",), 1 << 20),
}
"""What can be sent: suffixes and most bytes."""
LARGEST = "upload: too large"
NAME = re.compile(r"[\w][\w .+()-]{0,99}")


def file_name(raw: str, suffixes: tuple[str, ...]) -> str:
    """The name of a file without any folder, with one of these suffixes; anything else is refused."""
    name = unquote(raw)
    if not NAME.fullmatch(name) or Path(name).name != name or Path(name).suffix.lower() not in suffixes:
        raise InputError(
            f"upload: the name must be letters, digits, blanks and . _ - + ( ) with one of {', '.join(suffixes)}; "
            f"got {name!r:.60}"
        )
    return name


async def body_of(request: Request, most: int) -> bytes:
    """The body, counted while it comes in."""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise InputError("upload: send it as it is, not compressed")
    kept = bytearray()
    async for piece in request.stream():
        kept += piece
        if len(kept) > most:
            raise InputError(f"{LARGEST}: at most {most >> 20} MiB of this kind")
    if not kept:
        raise InputError("upload: the file is empty")
    return bytes(kept)


async def take(studio: Studio, request: Request) -> dict[str, Any]:
    """Read an upload and open what it holds; what is wrong with its content is an answer, ``{"error": …}``.

    Raises:
        InputError: what was sent is no such file at all: its kind, name, size or encoding.
    """
    kind = request.path_params["kind"]
    if kind not in KINDS:
        raise InputError(f"upload: unknown kind {kind!r:.40}; valid: {', '.join(KINDS)}")
    suffixes, most = KINDS[kind]
    name = file_name(request.headers.get("x-file-name", ""), suffixes)
    content = await body_of(request, most)
    if name.endswith(".meta"):
        studio.shelf.lay_beside(name, content)
        return {}
    with TemporaryDirectory(dir=studio.shelf.folder) as folder:
        file = Path(folder) / name
        file.write_bytes(content)
        described = studio.shelf.beside(f"{name}.meta")
        if described is not None:
            (Path(folder) / f"{name}.meta").write_bytes(described)
        try:
            return await _open(studio, kind, file)
        except ArmwrightError as error:
            return {"error": str(error).replace(f"{folder}/", "")}  # the user's name of the file, not ours


async def _open(studio: Studio, kind: str, file: Path) -> dict[str, Any]:
    if kind == "robot":
        robot = await asyncio.to_thread(load_robot, file)
        await studio.choose(robot)
        return {"robot": robot.name}
    if kind == "recording":
        recording = await asyncio.to_thread(load_recording, file)
        note = f"{recording.duration:.1f} s, {len(recording)} rows"
        return {"number": studio.shelf.add(Item("recording", file.name, recording, note))}
    if kind == "program":
        from armwright.programs.read import read_program

        program = await asyncio.to_thread(read_program, file)
        note = f"{len(program.moves)} moves"
        return {"number": studio.shelf.add(Item("program text", file.name, program, note)), "moves": len(program.moves)}
    world = await asyncio.to_thread(read_world, file)
    return {"name": world.name, "shapes": world_spec(world), "task": _ends(world)}


def _ends(world: World) -> dict[str, Any] | None:
    return None if world.task is None else {"start": list(world.task.start), "goal": list(world.task.goal)}
