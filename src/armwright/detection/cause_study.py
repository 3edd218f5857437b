# SPDX-License-Identifier: Apache-2.0
"""How often a doubting arm takes a load for a load and a push for a push: both at rest, and after backing off.

Every run is a chain of moves; then the arm stands, and after 0.3 s either a load is hung on its tool, or somebody
pushes it there. A second later it backs off, and stands again. The push ends with the contact, 0.1 s after the arm
begins to move away; the load stays. Dry friction hides much from an arm that stands: many alarms come when it moves
again. Runs without one are counted, not judged.

The load is its weight alone, as a force on the tool: an arm whose mass changes in a run cannot be simulated here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.contact.doubt.alarm_cause import Cause, alarm_causes
from armwright.contact.doubt.doubt_learning import READY
from armwright.contact.doubt.doubt_watch import DoubtWatch, sample_ticks
from armwright.detection.chained_moves import chain_with_backing_off
from armwright.detection.doubt_rehearsal import study_filter
from armwright.detection.study_contacts import Contact, StudyPush
from armwright.detection.study_runs import StudyBench
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.contact.doubt.doubt_learning import DoubtFit
    from armwright.detection.varied_arms import TouchedTree
    from armwright.motion import Trajectory
    from armwright.types import Array, Traced

WAIT, STAND, GONE = 0.3, 1.3, 0.1
"""Times [s]: at rest before something happens, at rest in all, and until a push is over when the arm backs off."""
PUSH, LOAD = (15.0, 40.0), (0.8, 3.0)
"""Least and largest push [N] and load [kg]."""
GRAVITY = 9.81


class CauseCount(NamedTuple):
    """What became of runs in which something happened at rest.

    Attributes:
        what: "push" or "load". runs: how many. noticed: with an alarm after it happened.
        causes: name → number of noticed runs that were called so.
    """

    what: str
    runs: int
    noticed: int
    causes: dict[str, int]


def _while(arm: TouchedTree, t: Traced) -> Traced:
    """Return the wrench (6,) of a force at the tool that rises within 0.2 s from one time on, and ends at another."""
    share = np.minimum(np.maximum((t - arm.contact[3]) * arm.contact[4], 0.0), 1.0)
    return np.concatenate([np.where(t < arm.contact[5], share, 0.0) * arm.contact[:3], np.zeros(3)])


class EventBench(StudyBench):
    """A bench whose arms are pushed, or loaded, at rest at one time."""

    what: str = "push"
    begin: float = 0.0
    end: float = np.inf

    def contacts(
        self, kind: Contact, trajectory: Trajectory, rngs: Sequence[np.random.Generator]
    ) -> tuple[Array, Array]:
        """Return force, beginning, rise and end (count, 6), and beginnings (count,)."""
        out = np.zeros((len(rngs), 6))
        for row, rng in zip(out, rngs, strict=True):
            if self.what == "load":
                row[:3] = [0.0, 0.0, -GRAVITY * rng.uniform(*LOAD)]
            else:
                way = rng.normal(size=3)
                row[:3] = rng.uniform(*PUSH) * way / np.linalg.norm(way)
        out[:, 3], out[:, 4], out[:, 5] = self.begin, 5.0, self.end
        return out, out[:, 3].copy()

    def _wrench(self, kind: Contact) -> Callable[..., Any]:
        return _while


def cause_study(
    bench: StudyBench, fit: DoubtFit, *, chains: int = 24, runs: int = 4, seed: int = 0
) -> tuple[CauseCount, CauseCount]:
    """Push and load arms at rest, let them back off, and count what they say it was.

    Args:
        bench: arms, as they differ from their model.
        fit: what was learned (`rehearse_doubt`).
        chains: different motions.
        runs: of each motion, with a push and with a load each; two or more.
        seed: of everything random.

    Example:
        >>> pushes, loads = cause_study(bench, fit, chains=24)
    """
    if chains < 1 or runs < 2:
        raise InputError(f"cause study: need chains ≥ 1 and runs ≥ 2, got {chains} and {runs}")
    out = []
    for number, what in enumerate(("push", "load")):
        noticed, names = 0, list[str]()
        for k in range(chains):
            motion, stood, back = chain_with_backing_off(bench.robot, STAND, seed=[seed, k])
            seeds = [np.random.SeedSequence(seed, spawn_key=(number, k, i)) for i in range(runs)]
            alarmed, causes = _said(bench, fit, what, motion, stood + WAIT, back, seeds)
            noticed += int(alarmed.sum())
            names += [cause.name for cause, seen in zip(causes, alarmed, strict=True) if seen]
        counts = {name: names.count(name) for name in dict.fromkeys(names)}
        out.append(CauseCount(what, chains * runs, noticed, counts))
    return out[0], out[1]


def _said(
    bench: StudyBench,
    fit: DoubtFit,
    what: str,
    motion: Trajectory,
    begin: float,
    back: float,
    seeds: Sequence[Any],
) -> tuple[NDArray[np.bool_], list[Cause]]:
    """Return which runs (B,) had an alarm after it happened, and what each was called at the end."""
    mine = EventBench(**{name: getattr(bench, name) for name in bench.__dataclass_fields__})
    mine.what, mine.begin, mine.end = what, begin, back + GONE if what == "push" else np.inf
    batch = mine.run(motion, seeds, StudyPush(at_rest=True), motion.duration)
    dt = 1.0 / bench.rate
    sample = sample_ticks(dt) * dt
    doubt = study_filter(bench.robot, len(seeds), fit.unspanned, sample)
    level = DoubtWatch(doubt, dt, fit.gain, fit.detector(), fit.limits, READY)
    said = level.run(batch.time, batch.q, batch.qd, batch.tau, batch.ref).level
    after = batch.time[: said.shape[1]] >= begin
    return np.asarray((said[:, after] >= 1.0).any(axis=1)), alarm_causes(doubt)
