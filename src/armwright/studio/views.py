# SPDX-License-Identifier: Apache-2.0
"""What every page may ask for, those that only look included."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from armwright.dynamics.equations import KINDS, equations
from armwright.studio.messages import Shape, flag, numbers, one_of, whole
from armwright.studio.robot_view import branches, configuration, look

if TYPE_CHECKING:
    from armwright.studio.hub import Client
    from armwright.studio.state import Studio

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


async def look_at(studio: Studio, client: Client, q: list[float]) -> dict[str, Any]:
    """Everything about a configuration."""
    return await asyncio.to_thread(look, studio.robot, configuration(studio.robot, q))


async def inverse(
    studio: Studio, client: Client, position: list[float], rotation: list[float], seed: list[float]
) -> dict[str, Any]:
    """All branches of inverse kinematics."""
    return await asyncio.to_thread(branches, studio.robot, position, rotation, configuration(studio.robot, seed))


async def export(studio: Studio, client: Client, to: str, what: str = "inverse_dynamics") -> dict[str, Any]:
    """The arm's equations as source code, or the arm in another format."""
    robot = studio.robot

    def write() -> str:
        if to in DESCRIPTIONS:
            return str(getattr(robot, f"to_{to}")())
        return equations(robot, what).source(to)

    name = robot.name if to in DESCRIPTIONS else f"{robot.name}-{what}"
    return {"text": await asyncio.to_thread(write), "file": f"{name}.{SUFFIX[to]}"}


async def listing(studio: Studio, client: Client) -> dict[str, Any]:
    """What can be opened."""
    return {"items": studio.shelf.listing()}


VIEWS: dict[str, tuple[Shape, Any]] = {
    "drew": (Shape({"count": whole(0, 2**53)}), drew),
    "watch": (Shape({"live": flag}), watch),
    "look": (Shape({"q": Q}), look_at),
    "ik": (Shape({"position": POINT, "rotation": numbers(-10.0, 10.0, count=3), "seed": Q}), inverse),
    "export": (Shape({"to": one_of(*CODE, *DESCRIPTIONS)}, {"what": one_of(*KINDS)}), export),
    "list": (Shape(), listing),
}
