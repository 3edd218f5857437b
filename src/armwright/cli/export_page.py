# SPDX-License-Identifier: Apache-2.0
"""``armwright export --to page``: one HTML file in which the arm lives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from armwright.cli.failures import fail
from armwright.cli.option_words import configuration, joints_option, world_option
from armwright.cli.output import say_json, tell

if TYPE_CHECKING:
    from armwright.contact import Monitor
    from armwright.control import Law
    from armwright.robot.model import Robot

PAGE = "page"


@dataclass(frozen=True)
class PageOptions:
    """What is around the arm of a page, and how it stands."""

    world: Annotated[str | None, world_option("Of a page or an arm: what it can touch.")] = None
    q0: Annotated[str | None, joints_option("--q0", "Of a page or a controller: how the arm stands.")] = None


def write_arm_page(
    robot: Robot,
    law: Law | None,
    monitors: Sequence[Monitor],
    options: PageOptions,
    out: Path | None,
    json: bool,
    pace: tuple[float, float] | None = None,
) -> None:
    """Write the page of an arm, and say how large it is; `pace` is the frequency of the law's gains, and the rate."""
    from armwright.simulation.arm_page import arm_page
    from armwright.world import load_world

    if out is None:
        fail("--to page: give its file, -o FILE.html")
    place = out / f"{robot.name}.html" if out.is_dir() else out
    world = None if options.world is None else load_world(options.world)
    start = None if options.q0 is None else configuration(options.q0, robot, "--q0")
    given: dict[str, Any] = {} if pace is None else {"frequency": pace[0], "rate": pace[1]}
    made = arm_page(robot, law, monitors, world=world, q0=start, **given)
    made.write(place)
    answer: dict[str, Any] = {"to": PAGE, "robot": robot.name, "file": str(place), "bytes": made.figures}
    if json:
        say_json(answer)
    else:
        sizes = made.figures
        tell(f"wrote {place} ({sizes['page'] // 1000} kB, of which the arm is {sizes['module'] // 1000} kB)")
