# SPDX-License-Identifier: Apache-2.0
"""``armwright run collision --wire``: dry run, consent, rehearsal, exploration with an arm on the wire.

Not a safety function.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.cli.exploration_task import task_of
from armwright.cli.failures import fail
from armwright.cli.option_words import payload as payload_of
from armwright.cli.output import NEGATIVE, say, show_page, tell
from armwright.cli.wire_driving import DRY_RUN_PAGE, consented, fence_of, held_by, ready_to_ask, wire_address

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from armwright.cli.exploration_task import TaskOptions
    from armwright.cli.wire_driving import WireDriving
    from armwright.exploration.exploration_result import Exploration
    from armwright.exploration.explore_options import Budget, Reaction
    from armwright.identify.identified import Identified
    from armwright.live.wire_job import WireJob
    from armwright.world.world import World

    Bar = AbstractContextManager[Callable[[float, int], None] | None]


def wire_job_of(
    asked: TaskOptions,
    driving: WireDriving,
    place: World,
    out: Path | None,
    *,
    reaction: Reaction,
    budget: Budget,
    payload: str | None,
    seed: int,
) -> WireJob:
    """Ask the controller, check everything, plan nothing that moves."""
    from armwright.exploration.exploration import planner_space
    from armwright.exploration.explore_options import ArmTask, arm_task
    from armwright.identify.external_torque import point_mass
    from armwright.identify.model_file import load_model
    from armwright.live.wire_job import WireCare, WireLoad, wire_job

    assert driving.wire is not None
    if driving.model is None:
        fail("--wire: name the arm's model with --model arm.json; `armwright identify` makes one from its logs")
    ready_to_ask(driving, out, "FOLDER for its page and the recordings")
    model: Identified = load_model(driving.model)
    address = wire_address(driving.wire)
    facts = address.facts()
    here = ",".join(repr(float(x)) for x in facts.values["actual_q"])
    whole_arm = asked.planner is not None and planner_space(asked.planner) == "joint"
    if not whole_arm and asked.near is None and (asked.grid is not None or place.tool_task is not None):
        asked = replace(asked, near=here)
    if whole_arm and asked.start is None:
        asked = replace(asked, start=here)
    task = task_of(model.robot, place, asked)
    if isinstance(task, ArmTask):  # it begins where the arm stands; a goal that was not given is the world's
        task = arm_task(task, model.robot, place)
    carried = None
    if payload is not None:
        mass, centre = payload_of(payload)
        T = model.robot.T_tip_tool
        x, y, z = (T[:3, 3] + T[:3, :3] @ np.asarray(centre)).tolist()
        carried = WireLoad(point_mass(model, mass, centre), mass, (x, y, z))
    return wire_job(
        address,
        model,
        task,
        planner=asked.planner,
        reaction=reaction,
        budget=budget,
        care=WireCare(
            fence_of(driving.fence), driving.tool_speed, driving.force, driving.lift, driving.free, driving.rehearse
        ),
        carried=carried,
        seed=seed,
    )


def explore_there(
    job: WireJob, driving: WireDriving, out: Path | None, *, browse: bool, bar: Callable[[], Bar]
) -> Exploration | None:
    """Show the dry run, ask, and explore with a bar that shows progress; None after a dry run."""
    from armwright.live.wire_dry_run import dry_run_page
    from armwright.live.wire_exploring import explore_wire

    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        page = dry_run_page(job.dry_run, job.identified.robot, out / DRY_RUN_PAGE, job.sentences())
        tell(f"armwright: {page} plays where the arm may go; nothing has moved")
        if browse:
            show_page(str(page), opened=True, quiet=True)
    if driving.dry_run:
        say(f"dry run: {job.dry_run.sentence()}")
        return None
    given = consented(driving, job.address.host, job.sentences())
    held = held_by(driving, job.address.host)
    if held is not None:
        tell(f"armwright: hold {held.name} now, and for as long as the arm moves; letting go ends the job")
    with held or nullcontext(), bar() as progress:
        found = explore_wire(
            job, given, held=held, out=out, tell=lambda text: tell(f"armwright: {text}"), progress=progress
        )
    if found.run is None:
        kept = "" if out is None else f"; what was recorded is in {out}"
        fail(f"{found.outcome}: {found.message}{kept}", NEGATIVE, kind="NotExplored")
    figures = found.ride | {"rehearsals": found.rehearsals}
    tell(
        f"armwright: {figures['samples']:.0f} samples, {figures['cpu_us_per_sample']:.0f} µs of CPU each, "
        f"{figures['gaps']:.0f} gaps; {found.rehearsals} rehearsals with learned bands"
    )
    return replace(found.run, settings=found.run.settings | {"ride": figures})
