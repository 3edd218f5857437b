# SPDX-License-Identifier: Apache-2.0
"""`Truth`: what really touched an arm, told after the run by whoever knows it.

A run never sees it. A simulation computes it from its plant's states, a virtual controller may have kept it; on a real
arm nobody knows it, and then contacts have no truth: NaN for forces and times, no names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.contact.contact_flags import ContactFlag, contact_flags
from armwright.world.arm_capsules import tool_point

if TYPE_CHECKING:
    from armwright.exploration.exploration_result import Contact
    from armwright.exploration.explore_options import Touching
    from armwright.exploration.surroundings import Surroundings, TrueTouch
    from armwright.recording.recording import Recording
    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.world import World

EPISODE = 0.1
"""A shorter gap between touches belongs to the same contact [s]: two time constants of a UR5's slowest joint."""
SAME_INSTANT = 1e-9  # [s] within which two instants of one clock are the same


class Truth(NamedTuple):
    """What really happened while something was recorded.

    Attributes:
        touch: force and touching pair of every recorded row. flags: what surfaces did not hold back.
        world: what stood there; None where it is no world of shapes.
    """

    touch: TrueTouch
    flags: tuple[ContactFlag, ...] = ()
    world: World | None = None


TellsTruth = Callable[["Recording"], Truth]


def truth_of(around: Surroundings, kinematics: Robot, contact: Touching) -> TellsTruth:
    """Return who tells the truth about a simulated run, whose recordings hold the plant's states.

    Args:
        around: its surroundings.
        kinematics: the arm that touches them.
        contact: with its tool or all its links.
    """
    touching = (tool_point(kinematics),) if contact == "tool" else None

    def tell(recording: Recording) -> Truth:
        q, world = recording["q"], around.world
        flags = () if world is None else contact_flags(kinematics, world, recording.time, q, touching)
        return Truth(around.truth(q, recording["qd"]), tuple(flags), world)

    return tell


def told(
    contacts: Sequence[Contact], spans: Sequence[tuple[float, float]], time: Array, touch: TrueTouch
) -> tuple[Contact, ...]:
    """Return contacts with the truth: when the touch began, its force, what touched what.

    Args:
        contacts: of a run.
        spans: of each, from when on its leg counts [s]: an earlier touch belongs to an earlier contact.
        time: of the rows (T,) [s].
        touch: the truth of the rows.
    """
    out = []
    for contact, (since, _) in zip(contacts, spans, strict=True):
        rows = span_of(time, since, contact.time)
        if not len(rows):
            out.append(contact)
            continue
        touched = rows[np.abs(touch.force[rows]).max(axis=1) > 0.0]
        began, link, shape = float("nan"), "", ""
        if len(touched) and time[touched[-1]] >= contact.time - EPISODE:  # otherwise the arm let go of it long ago
            began = begin_of(time[touched])
            link, shape = touch.touching[int(touched[-1])] or ("", "")
        out.append(contact._replace(began=began, true=touch.force[rows[-1]], link=link, shape=shape))
    return tuple(out)


def span_of(time: Array, since: float, until: float) -> Array:
    """Return the numbers of the rows from one instant to another, both included."""
    begin, end = np.searchsorted(time, [since - SAME_INSTANT, until + SAME_INSTANT])
    return np.arange(begin, end)


def begin_of(touched: Array) -> float:
    """Return when the last episode began, from the times (m,) at which something touched [s]."""
    gaps = np.flatnonzero(np.diff(touched) > EPISODE)
    return float(touched[gaps[-1] + 1 if len(gaps) else 0])
