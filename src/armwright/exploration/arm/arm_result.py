# SPDX-License-Identifier: Apache-2.0
"""The result of a run with the whole arm: an `Exploration` with exact knowledge and joint plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.contact.contact_flags import contact_flags
from armwright.contact.ground_truth import clearance, contact_report
from armwright.contact.isolation.link_surface import pushes
from armwright.exploration.exploration_result import Exploration, arrival_of, told_of_solids, with_errors
from armwright.exploration.truth_told import EPISODE, SAME_INSTANT, begin_of, span_of
from armwright.kinematics import fk
from armwright.recording.signals import Signal
from armwright.statistics import quantile

if TYPE_CHECKING:
    from armwright.contact.ground_truth import ContactReport
    from armwright.exploration.arm.arm_job import ArmJob
    from armwright.exploration.arm.arm_run import ArmRun
    from armwright.exploration.arm.touch_map import TouchMap
    from armwright.exploration.exploration_result import Contact
    from armwright.planning.joint.joint_plan import JointPlan
    from armwright.recording.recording import Recording
    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.world import World

LOOK_BACK = 1.0  # [s] before an alarm in which the truth about a contact is looked for: longer than any delay
PUSH_WINDOW = 1.0  # [s] after an alarm in which the felt torque is taken for a push at the place that was found


@dataclass(frozen=True, eq=False, repr=False)
class ArmExploration(Exploration):
    """A run from configuration to configuration that began with an empty map.

    The recording has further signals: ``force_felt`` (after an alarm: the push at the place that was found), and where
    the truth is known ``force`` (the sum of the true contact forces on all links) and ``clearance`` between arm and
    world (negative: it penetrates).
    Its ``maps`` are 3-D grids for drawing, ``cell`` of a contact that of its likeliest place; there are no grid plans.

    Attributes:
        touch_maps: what was known before the first contact and after every contact, exactly.
        joint_plans: the path planned with each.
        q_start, q_goal: configurations (n,).
    """

    touch_maps: tuple[TouchMap, ...] = ()
    joint_plans: tuple[JointPlan, ...] = ()
    q_start: Array | None = None
    q_goal: Array | None = None

    def metrics(self) -> dict[str, Any]:
        """Return the figures of the run as plain numbers."""
        out = super().metrics()
        true = [c for c in self.contacts if c.link and c.places is not None]
        named = [c for c in true if c.places is not None and c.places.isolation.outcome in ("link", "located")]
        sure = [c for c in true if c.places is not None and c.places.sure]
        apart = [float(np.linalg.norm(c.places.points[0] - c.true_point)) for c in sure if c.places is not None]
        out |= {
            "links_touched": {link: sum(c.link == link for c in true) for link in dict.fromkeys(c.link for c in true)},
            "link_named": len(named),
            "link_right": sum(c.places.isolation.link == c.link for c in named if c.places is not None),
            "located": len(sure),
            "median_place_error_m": quantile(apart, 0.5).value,
            "places_felt": len(self.touch_maps[-1].points),
            "configurations_blocked": len(self.touch_maps[-1].configurations),
            "planning_s": float(self.settings.get("planning_s", float("nan"))),
        }
        return out


class ArmTruth(NamedTuple):
    """What an arm really was and touched, for recordings that hold its true states.

    Attributes:
        robot: whose links touch. world: what stood there.
    """

    robot: Robot
    world: World


def arm_result(job: ArmJob, run: ArmRun, settings: dict[str, Any], truth: ArmTruth | None) -> ArmExploration:
    """Return the result of a run that has ended, with the truth where somebody tells it."""
    recording: Recording = with_errors(run.ride.recording(run.outcome, **settings))
    q, axes, robot = recording["q"], ("x", "y", "z"), job.believed if truth is None else truth.robot
    found = None if truth is None else contact_report(truth.robot, truth.world, q, recording["qd"])
    signals = {
        "tool": Signal(np.asarray(fk(robot, q)[..., :3, 3]), "m", axes),
        "tool_ref": Signal(np.asarray(fk(job.believed, recording["q_ref"])[..., :3, 3]), "m", axes),
        **({} if found is None else {"force": Signal(found.total_force, "N", axes)}),
        "force_felt": Signal(_felt(run, recording), "N", axes),
        **({} if truth is None else {"clearance": Signal(_clearance(truth, q), "m")}),
    }
    recording = recording.with_signals(**signals)
    recording = recording if recording.robot is not None else replace(recording, robot=robot)
    contacts, outcome, message = tuple(run.contacts), run.outcome, run.message
    if truth is not None and found is not None:
        contacts = arm_told(contacts, run.spans, recording.time, found)
        flags = contact_flags(truth.robot, truth.world, recording.time, q)
        recording, outcome, message = told_of_solids(recording, outcome, message, flags)
    grid = run.grids[0].grid
    ends = [tuple(int(c) for c in grid.cell(p)) for p in (fk(job.believed, job.q0)[:3, 3], job.place)]
    return ArmExploration(
        recording,
        tuple(run.grids),
        (),
        contacts,
        ends[0],
        ends[1],
        job.place,
        outcome == "reached",
        arrival_of(run, recording) if outcome == "reached" else float("nan"),
        outcome,
        message,
        None if truth is None else truth.world,
        settings,
        tuple(run.maps),
        tuple(run.plans),
        job.q0,
        np.asarray(job.goals)[0],
    )


def arm_told(
    contacts: Sequence[Contact], spans: Sequence[tuple[float, float]], time: Array, found: ContactReport
) -> tuple[Contact, ...]:
    """Return contacts of a run with what really touched: the hardest touch until each was loudest.

    Args:
        contacts: as they were felt.
        spans: of each, from when on its leg counts, and when it was loudest [s].
        time: of the rows (T,) [s].
        found: all that touched in them.
    """
    out, touching = [], np.zeros(len(time), dtype=bool)
    touching[found.step] = True
    for contact, (since, heard) in zip(contacts, spans, strict=True):
        rows = span_of(time, since, contact.time)
        before = rows[touching[rows] & (time[rows] > contact.time - LOOK_BACK)]
        if not len(before) or time[before[-1]] <= contact.time - EPISODE:
            out.append(contact._replace(true=np.zeros(3)))
            continue
        began = begin_of(time[before])
        # the torque is felt through a filter, so the hardest touch until then is taken
        at = time[found.step]
        span = np.flatnonzero((at >= began) & (at <= heard + SAME_INSTANT))
        main = span[int(np.argmax(np.linalg.norm(found.force[span], axis=1)))]
        out.append(
            contact._replace(
                began=began,
                true=found.total_force[found.step[main]],
                link=found.links[found.body[main]],
                shape=found.shapes[found.shape[main]],
                true_point=found.point[main],
            )
        )
    return tuple(out)


def _clearance(truth: ArmTruth, q: Array) -> Array:
    """Return the distance (T,) [m] between arm and world; the arm's own size where nothing is within reach."""
    if not len(q):
        return np.zeros(0)
    distance: Array = np.minimum(clearance(truth.robot, truth.world, q), 10.0)
    return distance


def _felt(run: ArmRun, recording: Recording) -> Array:
    """Return the felt force (T, 3) [N]: around each alarm, the push at the likeliest place explaining the torques."""
    out = np.zeros((len(recording), 3))
    if "tau_ext" not in recording:
        return out
    time, tau = recording.time, recording["tau_ext"]
    borders = [c.time for c in run.contacts] + [np.inf]
    for k, contact in enumerate(run.contacts):
        if contact.places is None or not len(contact.places.points):
            continue
        before = 0.1 if k == 0 else min(0.1, 0.5 * (contact.time - borders[k - 1]))
        span = np.flatnonzero(
            (time >= contact.time - before) & (time < min(contact.time + PUSH_WINDOW, borders[k + 1]))
        )
        # the push keeps its place on the link: the configuration changes little while it lasts
        linear, _ = pushes(run.job.believed, contact.q, contact.places.body, contact.places.points[:1])
        effect = -linear[0].T @ contact.places.normal  # joint torques of a push of 1 N
        sizes = np.maximum(tau[span] @ effect / max(float(effect @ effect), 1e-12), 0.0)
        out[span] = -sizes[:, None] * contact.places.normal
    return out
