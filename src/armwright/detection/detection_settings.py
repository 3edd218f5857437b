# SPDX-License-Identifier: Apache-2.0
"""A detection study as plain settings: what a campaign file says about arm, moves, contact, observers and detectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright import choices
from armwright.contact.detectors import TwoSpeed, adaptive_detector, two_speed_detector
from armwright.contact.detectors.threshold_learning import DEFAULT_FALSE_ALARMS
from armwright.detection.detection_presets import CONTACTS, preset
from armwright.detection.study_contacts import study_law, tool_moves
from armwright.detection.study_runs import StudyBench, Trial, Trials
from armwright.detection.threshold_rehearsal import rehearse
from armwright.errors import InputError
from armwright.robot.load import load
from armwright.schema.checks import anything, listed, number, one_of, record, refuser, whole

if TYPE_CHECKING:
    from armwright.contact.monitor import Monitor

OBSERVERS = choices.OBSERVERS.some("momentum", "kalman", "closed-loop")  # the order of columns in result files
DETECTORS = choices.STUDY_DETECTORS.names
DEFAULTS: Mapping[str, Any] = {
    "preset": "torque",
    "robot": None,
    "load": {},
    "contact": "wall",
    "observers": list(OBSERVERS),
    "detectors": list(DETECTORS),
    "moves": 24,
    "free": 4,
    "learning_moves": 24,
    "learning_runs": 960,
    "false_alarms": DEFAULT_FALSE_ALARMS,
    "spread": {},
}
"""preset: arm, rate, sensors (`detection_presets`); robot: another arm, loaded with ``load``. contact: of `CONTACTS`.
moves: how many; free: runs without contact for each with one. learning_moves, learning_runs: other moves, to learn
thresholds for `false_alarms` per hour. spread: entries of `Spread`."""
CHECKS = record(
    {},
    dict.fromkeys(DEFAULTS, anything)
    | {
        "contact": one_of(CONTACTS),
        "observers": listed(one_of(OBSERVERS), least=1),
        "detectors": listed(one_of(DETECTORS), least=1),
        "moves": whole(1),
        "free": whole(0),
        "learning_moves": whole(1),
        "learning_runs": whole(2),
        "false_alarms": number(1e-12),
    },
)
OTHERS = 1_000_003  # added to the seed of the moves for the moves that thresholds are learned from


@dataclass(frozen=True, eq=False)
class DetectionSettings:
    """A study that can begin: settings with defaults, benches with and without payload and drift, moves."""

    settings: Mapping[str, Any]
    seed: int
    bench: StudyBench
    before: StudyBench
    chains: Mapping[str, tuple[Monitor, ...]]

    @property
    def moves(self) -> list[Any]:
        """Return the trajectories that the arms follow."""
        return self._moves(self.settings["moves"], self.seed)

    def _moves(self, count: int, seed: int) -> list[Any]:
        return tool_moves(self.bench.robot, count, seed=seed, travel=CONTACTS[self.settings["contact"]][2])

    def trial(self, item: int) -> Trial:
        """Return which run an item is: one with a contact, then `free` without, and so on."""
        s = self.settings
        contact, rest = divmod(item, 1 + s["free"])
        return Trial(item, (contact if rest == 0 else contact * s["free"] + rest - 1) % s["moves"], rest == 0)

    def learn(self) -> dict[str, Any]:
        """Return thresholds as plain numbers, by observer and detector, and the bounds of what was ``rehearsed``."""
        s = self.settings
        kinds = {"two-speed": TwoSpeed()} if "two-speed" in s["detectors"] else {}
        moves = self._moves(s["learning_moves"], self.seed + OTHERS)
        options: dict[str, Any] = {"runs": s["learning_runs"], "seed": self.seed, "false_alarms": s["false_alarms"]}
        found = rehearse(self.before, moves, self.chains, kinds, **options)
        out: dict[str, Any] = {}
        for o, fit in found.fits.items():
            box = fit.rehearsed  # the same for every observer
            assert box is not None
            out["rehearsed"] = [side.tolist() for side in (box.lower, box.upper, box.speed)]
            rows = [part.tolist() for part in (fit.a, fit.b, fit.c, fit.d)]
            out[o] = {"absolute": rows, "margin": fit.margin, "hours": fit.hours}
            if kinds:
                two = found.two_speed[o, "two-speed"]
                out[o] |= {name: getattr(two, name).coefficients.tolist() for name in ("quick", "slowly")}
        return out

    def trials(self, learned: Mapping[str, Any]) -> Trials:
        """Return the runs, judged by detectors with the thresholds that `learn` found."""
        made = {}
        for o in self.chains:
            for d in self.settings["detectors"]:
                rows = learned[o]
                made[o, d] = (
                    adaptive_detector(*rows["absolute"])
                    if d == "absolute"
                    else two_speed_detector(rows["quick"], rows["slowly"])
                )
        contact, horizon, _ = CONTACTS[self.settings["contact"]]
        return Trials(self.bench, self.moves, contact, self.chains, made, np.ones(1), horizon, self.seed)


def experiment(settings: Mapping[str, Any], seed: int, name: str = "detection") -> DetectionSettings:
    """Check settings, load the arm and prepare what all runs share; errors begin with the name."""
    s = {**DEFAULTS, **CHECKS(settings, refuser(name))}
    chosen = preset(s["preset"])
    arm = load(s["robot"] or chosen.robot, **s["load"])
    if len(chosen.torque_noise) != arm.n:
        raise InputError(
            f"{name}: preset {s['preset']} has sensors for {len(chosen.torque_noise)} joints, robot {arm.name!r} "
            f"has {arm.n}"
        )
    given: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in s["spread"].items()}
    try:
        spread = chosen.spread._replace(**given)
        spread.check()
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: spread: {error}") from None
    law = study_law(chosen.omega**2, 2.0 * chosen.omega)
    common = (chosen.rate, chosen.substeps, chosen.torque_noise)
    bench, before = (StudyBench(arm, law, chosen.sensors, x, *common) for x in (spread, spread.rehearsal()))
    chains = {name: (monitor,) for name, monitor in chosen.observers().items() if name in s["observers"]}
    return DetectionSettings(s, seed, bench, before, chains)
