# SPDX-License-Identifier: Apache-2.0
"""A detection study as plain settings: what a campaign file says about arm, moves, contact, observers and detectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright import choices
from armwright.contact.detectors import TwoSpeed, adaptive_detector, two_speed_detector
from armwright.contact.detectors.threshold_learning import DEFAULT_FALSE_ALARMS, rehearsed
from armwright.contact.doubt.doubt_learning import READY, DoubtFit
from armwright.detection.chained_moves import TRAVEL, move_chain
from armwright.detection.detection_presets import CONTACTS, preset
from armwright.detection.doubt_rehearsal import FIRST_CHAINS, WORLDS, DoubtJudge, doubted, rehearse_doubt
from armwright.detection.studied_arm import study_arm
from armwright.detection.study_contacts import Contact, StudyPush, reach, resting, study_law, tool_moves
from armwright.detection.study_runs import SPAN, StudyBench, Trial, Trials
from armwright.detection.threshold_rehearsal import Learned, rehearse
from armwright.detection.varied_arms import PLANTS, Spread
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
    "friction": None,
    "rotors": None,
    "plant": "preset",
    "contact": "wall",
    "links": None,
    "at": "speed",
    "observers": list(OBSERVERS),
    "detectors": ["absolute", "two-speed"],
    "chain": None,
    "worlds": ["spread"],
    "moves": 24,
    "free": 4,
    "learning_moves": 24,
    "learning_runs": 960,
    "false_alarms": DEFAULT_FALSE_ALARMS,
    "spread": {},
}
"""preset: arm, rate, sensors (`detection_presets`); robot: another arm, loaded with ``load``. friction, rotors: of
`study_arm`. plant: of `PLANTS`, how arms differ from their model, or the preset's. contact: of `CONTACTS`. links:
which are pushed in turn, numbers of bodies from 0 or "tool". at: "speed", pushed while the tool is fast, or "rest",
while the arm stands at the end of its move. moves: how many; free: runs without contact for each with one.
learning_moves, learning_runs: other moves, to learn thresholds for `false_alarms` per hour. spread: entries of
`Spread`. detectors: "doubt" among them lets arms follow chains of moves of `chain` seconds, and counts nothing before
the doubting arm is ready. worlds: of `WORLDS`, what arms have besides that their model does not know, in turn."""
CHECKS = record(
    {},
    dict.fromkeys(DEFAULTS, anything)
    | {
        "plant": one_of(("preset", *PLANTS)),
        "contact": one_of(CONTACTS),
        "at": one_of(("speed", "rest")),
        "observers": listed(one_of(OBSERVERS), least=1),
        "detectors": listed(one_of(DETECTORS), least=1),
        "worlds": listed(one_of(WORLDS), least=1),
        "moves": whole(1),
        "free": whole(0),
        "learning_moves": whole(1),
        "learning_runs": whole(2),
        "false_alarms": number(1e-12),
    },
)
REACH_SHARE = 0.5  # of the tool's reach, that a move goes at most: small arms make small moves
CHAIN = 15.0  # [s] of a chain of moves, where a doubting arm is studied
OTHERS = 1_000_003  # added to the seed of the moves for the moves that thresholds are learned from


@dataclass(frozen=True, eq=False)
class DetectionSettings:
    """A study that can begin.

    Attributes:
        settings: with defaults. seed: of everything random.
        bench, before: arms with and without what comes after thresholds were learned: payload, drift, missing friction.
        chains: observers by name.
        contacts: what is met, in turn. horizon: [s] in which it must be found.
        travel: of the tool in a move [m].
        basis: what friction, rotors and the rest of the setting rest on, in words, by name.
        chain: seconds of a chain of moves; 0 for single moves. gain: of the momentum observer [1/s].
    """

    settings: Mapping[str, Any]
    seed: int
    bench: StudyBench
    before: StudyBench
    chains: Mapping[str, tuple[Monitor, ...]]
    contacts: tuple[Contact, ...]
    horizon: float
    travel: float
    basis: Mapping[str, str] = field(default_factory=dict)
    chain: float = 0.0
    gain: float = 0.0

    @property
    def ready(self) -> float:
        """Time [s] before which nothing counts: a doubting arm must know its model first, and others wait with it."""
        return READY if self.chain > 0.0 else 0.0

    def _bench(self, spread: Spread) -> StudyBench:
        return replace(self.bench, spread=spread)

    @property
    def moves(self) -> list[Any]:
        """Return the trajectories that the arms follow."""
        return self._moves(self.settings["moves"], self.seed)

    def _moves(self, count: int, seed: int) -> list[Any]:
        robot = self.bench.robot
        if self.chain > 0.0:
            small = min(1.0, REACH_SHARE * reach(robot) / TRAVEL[1])
            moves = [move_chain(robot, self.chain, reach=small, seed=[seed, k]) for k in range(count)]
        else:
            moves = tool_moves(robot, count, seed=seed, travel=self.travel)
        # half of a rest is for the beginnings of pushes, the other for their horizon
        return moves if self.settings["at"] == "speed" else [resting(move, 2.0 * self.horizon + 0.4) for move in moves]

    def trial(self, item: int) -> Trial:
        """Return which run an item is: one with a contact, then `free` without, and so on."""
        s = self.settings
        contact, rest = divmod(item, 1 + s["free"])
        move = (contact if rest == 0 else contact * s["free"] + rest - 1) % s["moves"]
        # every link on every move in turn, also where their numbers have a common divisor
        which = (contact + contact // s["moves"]) % len(self.contacts)
        number = contact if rest == 0 else contact * s["free"] + rest - 1
        world = number // s["moves"] % len(s["worlds"])  # every world on every move
        return Trial(item, move, rest == 0, which if rest == 0 else 0, world)

    def learn(self) -> dict[str, Any]:
        """Return thresholds as plain numbers, by observer and detector, and the bounds of what was ``rehearsed``."""
        s = self.settings
        kinds = {"two-speed": TwoSpeed()} if "two-speed" in s["detectors"] else {}
        moves = self._moves(s["learning_moves"], self.seed + OTHERS)
        options: dict[str, Any] = {"runs": s["learning_runs"], "seed": self.seed, "false_alarms": s["false_alarms"]}
        box = rehearsed([move.evaluate(np.arange(0.0, move.duration, 1.0 / self.bench.rate)) for move in moves])
        out: dict[str, Any] = {"rehearsed": [side.tolist() for side in (box.lower, box.upper, box.speed)]}
        others = set(s["detectors"]) != {"doubt"}
        found = rehearse(self.before, moves, self.chains, kinds, **options) if others else Learned({}, {}, 0)
        for o, fit in found.fits.items():
            rows = [part.tolist() for part in (fit.a, fit.b, fit.c, fit.d)]
            out[o] = {"absolute": rows, "margin": fit.margin, "hours": fit.hours}
            if kinds:
                two = found.two_speed[o, "two-speed"]
                out[o] |= {name: getattr(two, name).coefficients.tolist() for name in ("quick", "slowly")}
        if "doubt" in s["detectors"]:
            bench = self._bench(doubted(self.bench.spread))
            out["doubt"] = rehearse_doubt(bench, moves, self.gain, **options).to_dict()
        return out

    def trials(self, learned: Mapping[str, Any]) -> Trials:
        """Return the runs, judged by detectors with the thresholds that `learn` found."""
        made = {}
        for o in self.chains:
            for d in self.settings["detectors"]:
                if d == "doubt":
                    continue
                rows = learned[o]
                made[o, d] = (
                    adaptive_detector(*rows["absolute"])
                    if d == "absolute"
                    else two_speed_detector(rows["quick"], rows["slowly"])
                )
        judge = None
        if "doubt" in learned:
            judge = DoubtJudge(self.bench.robot, self.bench.rate, DoubtFit.from_dict(learned["doubt"]))
        worlds = tuple(self._bench(self.bench.spread._replace(**WORLDS[name])) for name in self.settings["worlds"])
        common = (self.bench, self.moves, self.contacts, self.chains, made, np.ones(1), self.horizon, self.seed)
        return Trials(*common, worlds, judge, self.ready)


def experiment(settings: Mapping[str, Any], seed: int, name: str = "detection") -> DetectionSettings:
    """Check settings, load the arm and prepare what all runs share; errors begin with the name."""
    s = {**DEFAULTS, **CHECKS(settings, refuser(name))}
    chosen, moved = preset(s["preset"]), CONTACTS[s["contact"]][2]
    found = load(s["robot"] or chosen.robot, **s["load"])
    own = s["robot"] in (None, chosen.robot) and not s["load"]
    made = study_arm(found, s["friction"], s["rotors"], as_described=own, name=name)
    arm, basis = made.robot, dict(made.basis)
    contacts = _contacts(s, len(arm.bodies), name)
    travel = min(moved, REACH_SHARE * reach(arm))
    if travel < moved:
        basis["moves"] = f"assumed: {travel:.3g} m of the tool in place of {moved:g} m, {REACH_SHARE:g} of its reach"
    spread = PLANTS.get(s["plant"], chosen.spread)
    if not own:
        chosen, words = chosen.fitted(arm)
        basis |= words
    given: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in s["spread"].items()}
    try:
        spread = spread._replace(**given)
        spread.check()
        spread.check_fits(arm)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: spread: {error}") from None
    law = study_law(chosen.omega**2, 2.0 * chosen.omega)
    common = (chosen.rate, None, chosen.torque_noise)
    bench, before = (StudyBench(arm, law, chosen.sensors, x, *common) for x in (spread, spread.rehearsal()))
    chains = {name: (monitor,) for name, monitor in chosen.observers().items() if name in s["observers"]}
    horizon = CONTACTS[s["contact"]][1]
    chain = _chain(s, name)
    bench, before = (replace(x, ready=READY if chain > 0.0 else 0.0) for x in (bench, before))
    return DetectionSettings(s, seed, bench, before, chains, contacts, horizon, travel, basis, chain, chosen.gain)


def _chain(s: Mapping[str, Any], name: str) -> float:
    """Return the length of a chain of moves [s], 0 for single moves."""
    doubts, given = "doubt" in s["detectors"], s["chain"]
    if doubts and "momentum" not in s["observers"]:
        raise InputError(f"{name}: detector doubt needs the observer momentum among {', '.join(s['observers'])}")
    if doubts and s["learning_moves"] < FIRST_CHAINS:
        raise InputError(f"{name}: learning_moves must be at least {FIRST_CHAINS} for the detector doubt")
    if given is None:
        return CHAIN if doubts else 0.0
    least = READY + SPAN + 1.0
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if number and (least <= given < np.inf or (given == 0 and not doubts)):
        return float(given)
    zero = "" if doubts else ", or 0 for single moves"
    raise InputError(f"{name}: chain must be {least:g} s or more{zero}, got {given!r:.40}")


def _contacts(s: Mapping[str, Any], bodies: int, name: str) -> tuple[Contact, ...]:
    """Return what is met in turn: the contact as it is, or on every link that was named."""
    contact = CONTACTS[s["contact"]][0]
    links = s["links"]
    if not isinstance(contact, StudyPush):
        if links is not None or s["at"] == "rest":
            raise InputError(f"{name}: contact {s['contact']} is met by the moving tool; links and at are for pushes")
        return (contact,)
    if links is None:
        middle = contact.link if contact.link is None else min(contact.link, bodies - 1)
        return (replace(contact, link=middle, at_rest=s["at"] == "rest"),)
    if not isinstance(links, list) or not links:
        raise InputError(f"{name}: links must be a list of numbers of bodies, or 'tool', got {links!r:.60}")
    for link in links:
        if link != "tool" and (isinstance(link, bool) or not isinstance(link, int) or not 0 <= link < bodies):
            raise InputError(f"{name}: links: {link!r} is no link; valid are 0 to {bodies - 1} and 'tool'")
    return tuple(replace(contact, link=None if k == "tool" else k, at_rest=s["at"] == "rest") for k in links)
