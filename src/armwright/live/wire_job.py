# SPDX-License-Identifier: Apache-2.0
"""`WireJob`: everything about an exploration with an arm on the wire that is known before it moves.

Not a safety function. Facts → `wire_job` (task, limits, dry run; nothing moves) → consent of a person →
`wire_exploring.explore_wire`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from armwright.errors import InputError
from armwright.exploration.arm.arm_job import arm_job
from armwright.exploration.explore_on import check_fits
from armwright.exploration.explore_options import ArmTask, Budget, GridTask
from armwright.exploration.grid.held_tool import HeldTool
from armwright.kinematics import fk
from armwright.live.wire_checks import (
    HAND_SENTENCE,
    check_facts,
    controller_sentence,
    fence_sentence,
    model_sentence,
)
from armwright.live.wire_dry_run import DryRun, arm_dry_run, check_dry_run, map_dry_run
from armwright.live.wire_limits import USUAL_FORCE, USUAL_TOOL_SPEED, Watchman, WireLimits
from armwright.live.wire_rehearsal import REHEARSED_SECONDS
from armwright.live.wire_ride import WireRide
from armwright.live.wire_riding import Ridden, WireAddress

if TYPE_CHECKING:
    from armwright.exploration.explore_options import Reaction
    from armwright.identify.identified import Identified
    from armwright.live.wire_consent import Consent
    from armwright.live.wire_limits import Fence
    from armwright.robot.model import Robot
    from armwright.types import Array

USUAL_LIFT = 0.12  # [m] above a map: a tool with the round end of a UR5's last link clears 80 mm
USUAL_FREE = 0.15  # [rad] of every joint about the start: 12 cm at the end of a UR5's reach


@dataclass(frozen=True, eq=False)
class WireCare:
    """How carefully an arm is moved.

    Attributes:
        fence: where tool and elbow may be; around the dry run if None.
        tool_speed: [m/s]. force: at the tool that is given way to at once [N].
        lift: [m] above the map for the rehearsal. free: [rad] about the start, for that of the whole arm.
        rehearsed: [s] of each rehearsal.
    """

    fence: Fence | None = None
    tool_speed: float = USUAL_TOOL_SPEED
    force: float = USUAL_FORCE
    lift: float = USUAL_LIFT
    free: float = USUAL_FREE
    rehearsed: float = REHEARSED_SECONDS


@dataclass(frozen=True, eq=False)
class WireLoad:
    """What an arm carries beyond its model: parameters (10,); mass [kg] and centre [m] as the controller was told."""

    parameters: Array | None = None
    mass: float = 0.0
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class WireJob(Ridden):
    """Everything about an exploration that is known before an arm moves; see `Ridden`, too.

    Attributes:
        task: complete. q0: where the arm stands (n,). dry_run: where it may go.
        planner, reaction, budget: as in `explore`.
        care: how it is moved.
        seed: of the ways of its rehearsals, and of planners.
    """

    task: GridTask | ArmTask
    q0: Array
    dry_run: DryRun
    planner: str | None
    reaction: Reaction
    budget: Budget
    care: WireCare
    seed: int

    def sentences(self) -> tuple[str, ...]:
        """Return what a person confirms."""
        space = (
            f"The space above the map is free: the arm first lifts the tool by {1e3 * self.care.lift:.0f} mm and "
            "rehearses there"
        )
        if isinstance(self.task, ArmTask):
            space = (
                f"Around the start the arm is free: every joint may be moved by {self.care.free:g} rad to either side; "
                "it rehearses there, and any link may touch what stands in its way afterwards"
            )
        limits = self.limits
        return (
            model_sentence(self.facts, self.identified),
            f"The dry run is as it should be: {self.dry_run.sentence()}",
            fence_sentence(limits),
            space,
            f"It moves by itself: {2.0 * self.care.rehearsed:.0f} s of rehearsal, then {self.budget.duration:.0f} s "
            f"and {self.budget.contacts} contacts at most, at {1e3 * limits.tool_speed:.0f} mm/s and "
            f"{limits.joint_speed:g} rad/s",
            controller_sentence(limits),
            HAND_SENTENCE,
        )

    def settings(self, consents: tuple[Consent, ...]) -> dict[str, Any]:
        """Return what every recording of the job says about it."""
        bands = self.identified.bands
        model = {
            "name": self.identified.robot.name,
            "logs": list(self.identified.logs),
            "gains": np.asarray(self.identified.gains).tolist(),
            "bands": None if bands is None else np.asarray(bands.motion).tolist(),
        }
        return said_of(self, consents) | {"model": model, "seed": self.seed}


def said_of(job: Ridden, consents: tuple[Consent, ...]) -> dict[str, Any]:
    """Return what recordings of any job on the wire say: controller, limits, payload, who confirmed what."""
    limits, fence = job.limits, job.limits.fence
    return {
        "not_a_safety_function": True,
        "wire": job.address.host,
        "controller": ".".join(map(str, job.facts.version)),
        "serial": job.facts.serial,
        "limits": {
            "tool_speed": limits.tool_speed,
            "joint_speed": limits.joint_speed,
            "force": limits.force,
            "fence": [np.asarray(fence.low).tolist(), np.asarray(fence.high).tolist()],
            "elbow": list(fence.elbow),
        },
        "payload": None if job.payload is None else np.asarray(job.payload).tolist(),
        "consents": [consent._asdict() for consent in consents],
    }


def wire_job(
    address: WireAddress,
    identified: Identified,
    task: GridTask | ArmTask,
    *,
    planner: str | None = None,
    reaction: Reaction = "back off",
    budget: Budget | None = None,
    care: WireCare | None = None,
    carried: WireLoad | None = None,
    seed: int = 0,
) -> WireJob:
    """Ask the controller, check everything that can be checked while the arm stands; nothing moves.

    Args:
        address: of the controller.
        identified: the model of the arm.
        task: on a map, or of the whole arm; it begins where the arm stands.
        planner: as in `explore`.
        reaction: "back off", "retract" or "stop".
        budget: when to give up.
        care: fence, speed, force, rehearsal.
        carried: load that the model does not have.
        seed: of its ways and of planners.

    Raises:
        InputError: something is not as it has to be; nothing was moved.
        LabError: nobody answers.
    """
    check_fits(cast("Any", WireRide), reaction=reaction)
    care, load, budget = care or WireCare(), carried or WireLoad(), budget or Budget()
    facts = address.facts()
    check_facts(facts, identified.robot, (load.mass, load.centre))
    robot, q0 = identified.robot, np.array(facts.values["actual_q"], dtype=np.float64)
    if isinstance(task, GridTask):
        task, dry = _on_map(robot, task, q0, care.lift)
    else:
        task = replace(task, start=q0, speed=min(task.speed, care.tool_speed))
        goals = arm_job(robot, task, planner, reaction, budget, seed).goals
        dry = arm_dry_run(robot, q0, goals[0], care.free)
    limits = WireLimits(care.fence or dry.fence, tool_speed=care.tool_speed, force=care.force)
    check_dry_run(dry, Watchman(robot, limits))
    return WireJob(
        address=address,
        facts=facts,
        identified=identified,
        limits=limits,
        payload=load.parameters,
        task=task,
        q0=q0,
        dry_run=dry,
        planner=planner,
        reaction=reaction,
        budget=budget,
        care=care,
        seed=seed,
    )


def _on_map(robot: Robot, task: GridTask, q0: Array, lift: float) -> tuple[GridTask, DryRun]:
    """Complete a task on a map from where the arm stands: its tool's cell, and its tool held as it is."""
    if task.where is None or task.goal is None:
        raise InputError("wire: a task on a map needs the map (where) and the goal's cell")
    T = fk(robot, q0)
    here = tuple(int(c) for c in task.where.grid.cell(T[:3, 3]))
    start = here if task.start is None else tuple(task.start)
    if here != start or not task.where.grid.inside(here):
        raise InputError(
            f"wire: the tool stands in cell {here}, the run begins in cell {start}: move the arm there by hand first"
        )
    off = float(np.abs((T[:3, 3] - task.where.grid.centre(here)) @ task.where.grid.frame)[2])
    if task.where.grid.dim == 2 and off > 0.25 * float(np.min(np.asarray(task.where.grid.cell_size))):
        raise InputError(f"wire: the tool stands {1e3 * off:.0f} mm off the plane of the map; move it there first")
    tool = HeldTool(robot, T[:3, :3])
    if not lift > 0.0:
        raise InputError(f"wire: lift must be > 0 m, got {lift:g}")
    task = replace(task, start=start, near=q0, rotation=T[:3, :3])
    assert task.where is not None
    return task, map_dry_run(tool, task.where, q0, lift)
