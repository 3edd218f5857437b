# SPDX-License-Identifier: Apache-2.0
"""What the arm of ``armwright simulate`` meets: a push at its tool or a world, and the observer that feels them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from armwright.choices import OBSERVERS
from armwright.cli.failures import fail
from armwright.cli.option_words import names_of, numbers, world_option
from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.contact import Monitor
    from armwright.control import Law
    from armwright.robot.model import Robot
    from armwright.types import Array, Traced

PUSH = "FX,FY,FZ[,NX,NY,NZ][@FROM-TO]"
BY_ERROR = ("closed-loop", "scaled-error")
"""Observers that read the tracking error of computed torque."""


@dataclass(frozen=True)
class MetOptions:
    """What the arm meets, and what it feels that with."""

    push: Annotated[
        str | None,
        typer.Option(metavar=PUSH, help="On the tool, N and N m in base axes; between two times in s, or always."),
    ] = None
    world: Annotated[str | None, world_option("What the arm can touch.")] = None
    observer: Annotated[
        str | None,
        typer.Option(
            metavar="OBSERVER",
            help=f"{names_of(OBSERVERS)}: records tau_ext, and tells it to a law that can follow forces.",
        ),
    ] = None


def wrench_of(met: MetOptions, robot: Robot) -> Callable[..., Any] | Array | None:
    """Return the wrench of `simulate`: the push, what touching the world does, or None."""
    if met.push is not None and met.world is not None:
        fail("--push and --world exclude each other: a sensor at the wrist could not tell one from the other")
    if met.push is not None:
        return push_of(met.push)
    if met.world is None:
        return None
    from armwright.contact import contact_wrench
    from armwright.world import load_world

    return contact_wrench(robot, load_world(met.world))


def push_of(text: str) -> Callable[..., Any] | Array:
    """Read 'fx,fy,fz[,nx,ny,nz][@from-to]': a wrench (6,), or a function of time that is it between two instants."""
    what = f"--push {text!r}"
    values, at, span = text.partition("@")
    found = numbers(values, what)
    if len(found) not in (3, 6):
        raise InputError(f"{what}: expected a force fx,fy,fz in N, or fx,fy,fz,nx,ny,nz with a moment in N m")
    wrench = np.array([*found, 0.0, 0.0, 0.0][:6])
    if not at:
        return wrench
    begin, dash, end = span.partition("-")
    if not dash:
        raise InputError(f"{what}: expected {PUSH}, such as 0,0,-20@0.5-2")
    first, last = numbers(f"{begin},{end}", what)
    if not 0.0 <= first < last:
        raise InputError(f"{what}: it must begin at 0 s or later, and end after that")

    def pushed(t: Traced) -> Traced:
        return wrench * np.where(t < first, 0.0, np.where(t < last, 1.0, 0.0))

    return pushed


def observers_of(met: MetOptions, law: Law, model: Robot, q: Array, rate: float) -> list[Monitor]:
    """Return the observer that was asked for, tuned as for explorations; none if none was."""
    if met.observer is None:
        return []
    from armwright.exploration.touch_sensing import find_observer

    if met.observer in BY_ERROR and law.name != "computed torque":
        fail(f"--observer {met.observer}: reads the tracking error of computed_torque; --law is {law.name}")
    kp = np.broadcast_to(law.gains.get("kp", 1.0), (model.n,))
    return find_observer(met.observer, model, q, kp, rate)
