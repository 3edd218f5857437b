# SPDX-License-Identifier: Apache-2.0
"""What only the owner's pages may ask for: everything that changes what the others see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.studio.messages import Shape, flag, number, one_of, text, whole
from armwright.studio.plant import LAWS, MOST_PAYLOAD, Choice
from armwright.studio.shelf import Item
from armwright.studio.views import POINT, Q

if TYPE_CHECKING:
    from armwright.studio.hub import Client
    from armwright.studio.state import Studio


async def choose_robot(studio: Studio, client: Client, name: str) -> None:
    """Another arm of the catalogue."""
    await studio.choose(await studio.load(name))


async def pull(
    studio: Studio, client: Client, body: int, point: list[float], target: list[float], stiffness: float
) -> None:
    """Take a link and pull; nobody waits for the answer, so that pointers are followed at once."""
    plant = studio.arm.plant
    if body >= len(plant.robot.bodies):
        raise InputError(f"pull: {plant.robot.name!r} has links 0 … {len(plant.robot.bodies) - 1}, got {body}")
    studio.arm.order(lambda: studio.arm.plant.hold(body, np.array(point), np.array(target), stiffness))


async def release(studio: Studio, client: Client) -> None:
    """Let go."""
    await studio.order(studio.arm.let_go)


async def goal(studio: Studio, client: Client, q: list[float]) -> None:
    """Where the law is to take the arm."""
    await studio.order(lambda: studio.arm.go_to(np.array(q)))
    studio.tell_live()


async def motion(studio: Studio, client: Client, kind: str) -> None:
    """Hold, or sway about the goal."""
    await studio.order(lambda: studio.arm.move(kind))
    studio.tell_live()


async def speed(studio: Studio, client: Client, value: float) -> None:
    """Simulated over real time; 0 pauses."""
    await studio.order(lambda: studio.arm.pause(value))
    studio.tell_live()


async def step(studio: Studio, client: Client, ticks: int) -> None:
    """Go on by some ticks of 2 ms while paused."""
    if studio.arm.speed:
        raise InputError("step: pause first")
    await studio.order(lambda: studio.arm.step(ticks))


async def tune(studio: Studio, client: Client, frequency: float, damping: float) -> None:
    """Gains of the law."""
    studio.gains = {"frequency": frequency, "damping": damping}
    await studio.order(lambda: studio.arm.plant.tune(frequency, damping))
    studio.tell_live()


async def plant(studio: Studio, client: Client, friction: float | None = None, payload: float | None = None) -> None:
    """Friction and payload of the plant."""
    await studio.order(lambda: studio.arm.plant.become(friction=friction, payload=payload))
    studio.tell_live()


async def law(studio: Studio, client: Client, law: str, knows: bool) -> None:
    """Another law, or a controller that knows more or less."""
    await studio.choose_law(Choice(law, knows))


async def reset(studio: Studio, client: Client) -> None:
    """Back to the beginning."""
    await studio.order(studio.arm.reset)
    studio.tell_live()


async def record(studio: Studio, client: Client, on: bool) -> dict[str, Any]:
    """Begin or end a recording of the live arm; an ended one is put on the shelf."""
    kept = await studio.order(lambda: studio.arm.record(on))
    studio.tell_live()
    if kept is None:
        return {}
    note = f"{kept.duration:.1f} s, {len(kept)} rows"
    return {"number": studio.shelf.add(Item("recording", f"live {studio.robot.name}", kept, note))}


async def cancel(studio: Studio, client: Client, job: int) -> None:
    """End long work."""
    studio.jobs.cancel(job)


ORDERS: dict[str, tuple[Shape, Any]] = {
    "robot": (Shape({"name": text(80)}), choose_robot),
    "pull": (
        Shape({"body": whole(0, 255), "point": POINT, "target": POINT, "stiffness": number(1.0, 20_000.0)}),
        pull,
    ),
    "release": (Shape(), release),
    "goal": (Shape({"q": Q}), goal),
    "motion": (Shape({"kind": one_of("hold", "sway")}), motion),
    "speed": (Shape({"value": number(0.0, 1.0)}), speed),
    "step": (Shape({"ticks": whole(1, 500)}), step),
    "tune": (Shape({"frequency": number(0.5, 60.0), "damping": number(0.0, 3.0)}), tune),
    "plant": (Shape({}, {"friction": number(0.0, 3.0), "payload": number(0.0, MOST_PAYLOAD)}), plant),
    "law": (Shape({"law": one_of(*LAWS), "knows": flag}), law),
    "reset": (Shape(), reset),
    "record": (Shape({"on": flag}), record),
    "cancel": (Shape({"job": whole(1, 2**31)}), cancel),
}
