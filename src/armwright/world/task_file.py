# SPDX-License-Identifier: Apache-2.0
"""The tasks of a world file, ``[task]`` and ``[tool_task]``, read and written; see `file` for the format."""

from __future__ import annotations

from typing import Any

from armwright.errors import InputError
from armwright.robot.sheet.text import Quantity, Table
from armwright.robot.sheet.units import check_unit, to_si
from armwright.robot.sheet.values import real, scalar, take, vector
from armwright.world.task import Task, ToolTask

KEYS = ("robots", "cells", "origin", "size", "start", "goal", "near", "rotation", "ring")


def need(table: Table, key: str) -> Quantity:
    """Return a quantity that must be there."""
    q = take(table, key)
    if q is None:
        raise table.refuse(f"missing key {key!r}", "required key")
    return q


def _joints(table: Table, key: str) -> tuple[float, ...]:
    q = need(table, key)
    unit = check_unit(q.entries.get("unit"), ("angle", "length"), q.refuse)
    value = q.entries["value"]
    if not isinstance(value, list) or not value:
        raise q.refuse("must be a list of joint coordinates", "type")
    return tuple(to_si(real(v, q), unit) for v in value)


def _list(table: Table, key: str, default: Any = None) -> tuple[Any, ...]:
    value = table.entries.get(key, default)
    if not isinstance(value, (list, tuple)):
        raise table.refuse(f"{key} must be a list", "tool_task")
    return tuple(value)


def read_task(table: Table | None) -> Task | None:
    """Return the task of the whole arm, if there is one."""
    if table is None:
        return None
    table.only("robot", "start", "goal")
    rows = (_joints(table, "start"), _joints(table, "goal"))
    try:
        return Task(table.text_of("robot"), *rows)
    except InputError as error:
        raise table.refuse(str(error), "task") from None


def read_tool_task(table: Table | None) -> ToolTask | None:
    """Return the task of the tool, if there is one."""
    if table is None:
        return None
    table.only(*KEYS)
    origin, size = vector(need(table, "origin"), 3, ("length",)), scalar(need(table, "size"), ("length",))
    lists = {key: _list(table, key) for key in ("robots", "cells", "start", "goal")}
    ring = table.entries.get("ring", True)
    if not isinstance(ring, bool):
        raise table.refuse("ring must be true or false", "tool_task")
    try:
        return ToolTask(
            origin=tuple(origin.tolist()),
            size=size,
            near=_joints(table, "near"),
            rotation=_list(table, "rotation", ()),
            ring=ring,
            **lists,
        )
    except (InputError, TypeError, ValueError) as error:
        raise table.refuse(str(error), "tool_task") from None


def task_lines(task: Task | None, tool_task: ToolTask | None) -> list[str]:
    """Return both as lines of a world file."""
    lines = []
    if task is not None:
        lines += ["", "[task]", f"robot = {quoted(task.robot)}"]
        lines += [f'{key} = {{ value = {numbers(getattr(task, key))}, unit = "rad" }}' for key in ("start", "goal")]
    if tool_task is not None:
        lines += ["", "[tool_task]", f"robots = [{', '.join(quoted(name) for name in tool_task.robots)}]"]
        lines += [f"{key} = {numbers(getattr(tool_task, key))}" for key in ("cells", "start", "goal")]
        for key, unit in (("origin", "m"), ("size", "m"), ("near", "rad")):
            lines.append(f'{key} = {{ value = {numbers(getattr(tool_task, key))}, unit = "{unit}" }}')
        lines += [f"rotation = {numbers(tool_task.rotation)}"] if tool_task.rotation else []
        lines.append(f"ring = {str(tool_task.ring).lower()}")
    return lines


def numbers(value: Any) -> str:
    """Return numbers, in lists of lists or alone, as they stand in a file."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(numbers(v) for v in value) + "]"
    return repr(value)


def quoted(value: str) -> str:
    """Return a text as it stands in a file."""
    out = []
    for char in value:
        plain = char not in '"\\' and (ord(char) >= 32 and ord(char) != 127)
        out.append(char if plain else f"\\u{ord(char):04x}")
    return '"' + "".join(out) + '"'
