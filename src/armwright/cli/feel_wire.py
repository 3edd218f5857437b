# SPDX-License-Identifier: Apache-2.0
"""``armwright feel --wire``: what a robot on the wire feels, as a table that scrolls. It is only listened to."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armwright.cli.failures import fail
from armwright.cli.option_words import address
from armwright.cli.option_words import payload as payload_of
from armwright.cli.output import NEGATIVE, say, say_json_line, tell
from armwright.cli.wire_options import EVERY_SECONDS, WireListening
from armwright.lab.net import LabError

if TYPE_CHECKING:
    from armwright.identify.felt_contacts import FoundContact
    from armwright.identify.identified import Identified
    from armwright.live.heard_rows import HeardRows
    from armwright.live.live_feeling import LiveEvent, LiveFeeling
    from armwright.live.wire_ear import HeardSample, WireEar

FIRST_PATIENCE = 3.0  # [s] for the first sample
SILENCE = 2.0  # [s] without a sample after which the robot is lost
WAIT = 0.2  # [s] of one wait: Ctrl-C and the end are noticed within it
NOT_SAFE = "not a safety function: it listens, and stops nothing"
HEAD = "    time s    level  felt N: x, y, z, each ± half of its 95 % interval          joint           modes"
REPEAT_HEAD = 40  # rows after which the head is printed again


def dial(word: str) -> WireEar:
    """Return a subscription to the robot that ``--wire`` names, connected."""
    from armwright.lab.wire.rtde import PORT
    from armwright.live.wire_ear import WireEar

    host, port = address(word, "--wire")
    ear = WireEar(host, port=port or PORT)
    ear.connect_robot()
    return ear


def listen(ear: WireEar, seconds: float | None) -> Iterator[list[HeardSample]]:
    """Yield samples as they come until so many seconds have passed.

    Raises:
        LabError: the robot is gone, or silent for too long.
    """
    begun = last = time.monotonic()
    patience = FIRST_PATIENCE
    while seconds is None or time.monotonic() - begun < seconds:
        samples = ear.heard(WAIT)
        now = time.monotonic()
        if samples:
            last, patience = now, SILENCE
            yield samples
        elif now - last > patience:
            raise LabError(f"{ear.address}: no sample for {now - last:.1f} s")


def feel_wire(model: Identified, asked: WireListening, payload: str | None, *, json: bool) -> None:
    """Listen until Ctrl-C, the end of the time, or the robot is gone; print, and record if asked to."""
    from armwright.live.heard_rows import HeardRows
    from armwright.live.live_feeling import LiveFeeling

    carried = None
    if payload is not None:
        from armwright.identify.external_torque import point_mass

        carried = point_mass(model, *payload_of(payload))
    feeling = LiveFeeling(model, payload=carried)
    assert asked.wire is not None
    out, ear, rows = asked.out, dial(asked.wire), None
    printer = FeelPrinter(feeling, EVERY_SECONDS if asked.every is None else asked.every, json=json, ear=ear)
    outcome = "ended by Ctrl-C"
    try:
        if out is not None:
            facts = {"wire": ear.address, "controller": ".".join(map(str, ear.version)), "period": ear.period}
            rows = HeardRows(out, model.robot, facts)
        printer.begin()
        outcome = _heard(ear, asked.duration, feeling, printer, rows)
    except KeyboardInterrupt:
        pass
    finally:
        ear.close()
        with suppress(KeyboardInterrupt):
            for event in feeling.finish():
                printer.event(event, event.time)
        if rows is not None:
            rows.close(outcome, printer.happened)
    printer.end(outcome, rows, out)
    if outcome.startswith("lost"):
        fail(outcome, NEGATIVE, kind="Lost", answered=json)


def _heard(
    ear: WireEar, seconds: float | None, feeling: LiveFeeling, printer: FeelPrinter, rows: HeardRows | None
) -> str:
    """Feel, print and record until the time is over or the robot is gone; return which."""
    from armwright.live.heard_rows import felt_row

    try:
        for samples in listen(ear, seconds):
            for sample in samples:
                events = feeling.take(sample)
                at = rows.add(sample, felt_row(feeling.now)) if rows is not None else sample.stamp
                for event in events:
                    printer.event(event, at)
            printer.row(samples[-1])
    except LabError as error:
        return f"lost: {error}"
    return "end"


class FeelPrinter:
    """Prints rows and events.

    Attributes:
        happened: events for the recording.
    """

    def __init__(self, feeling: LiveFeeling, every: float, *, json: bool, ear: WireEar) -> None:
        self._feeling, self._every, self._json, self._ear = feeling, every, json, ear
        self._next, self._rows = 0.0, 0
        self.happened: list[tuple[float, str, dict[str, Any]]] = []

    def begin(self) -> None:
        """Say what is listened to."""
        if self._json:
            say_json_line({"listening": self._ear.address, "rate": 1.0 / self._ear.period, "note": NOT_SAFE})
        else:
            say(f"{self._ear.address} at {1.0 / self._ear.period:.0f} Hz; {NOT_SAFE}; Ctrl-C ends it", lead="feel: ")

    def row(self, sample: HeardSample) -> None:
        """Print the present, if it is time."""
        felt, now = self._feeling.now, time.monotonic()
        if felt is None or now < self._next:
            return
        self._next = now + self._every
        tau, band, wrench, half = (felt.of(name) for name in ("tau_ext", "band", "wrench", "half"))
        share = abs(tau) / band
        joint = self._feeling.feeler.identified.robot.joints[int(share.argmax())].name
        if self._json:
            say_json_line(
                {
                    "time": felt.t,
                    "level": felt.level,
                    "alarm": felt.alarm,
                    "wrench": wrench if felt.reliable else None,
                    "half": half if felt.reliable else None,
                    "tau_ext": tau,
                    "band": band,
                    "joint": joint,
                    "robot_mode": sample.robot_mode,
                    "safety_mode": sample.safety_mode,
                    "age": now - sample.arrived,
                }
            )
            return
        if self._rows % REPEAT_HEAD == 0:
            say(HEAD)
        self._rows += 1
        force = "near a singularity: no force can be told"
        if felt.reliable:
            force = "  ".join(f"{f:7.1f} ±{h:5.1f}" for f, h in zip(wrench[:3], half[:3], strict=True))
        mark = "TOUCH" if felt.alarm else ""
        say(f"{felt.t:10.2f} {felt.level:8.2f}  {force:<52} {joint:<15} {sample.modes} {mark}".rstrip())

    def event(self, event: LiveEvent, at: float) -> None:
        """Print that a touch has begun or ended."""
        from armwright.live.live_feeling import TouchBegun

        if isinstance(event, TouchBegun):
            detail: dict[str, Any] = {"joint": event.joint, "level": event.level}
            name = "touch begun"
            text = f"touched: {event.joint} at {event.level:.1f} of its band"
        else:
            name, detail = "touch ended", _contact(event.contact)
            text = "free again" if event.contact is None else f"free again: {said_of(event.contact)}"
        self.happened.append((at, name, detail))
        if self._json:
            say_json_line({"event": name, "time": event.time, **detail})
        else:
            say(f"{event.time:10.2f} {text}", lead="* ")

    def end(self, outcome: str, rows: HeardRows | None, out: Path | None) -> None:
        """Say how it ended."""
        counts = dict(self._feeling.feeler.counts)
        odd = {word: count for word, count in counts.items() if word not in ("start", "cycle")}
        if self._json:
            done = {"outcome": outcome, "samples": counts, "contacts": self._feeling.contacts}
            say_json_line(done | ({} if rows is None else {"recording": str(out), "rows": rows.count}))
            return
        heard = sum(counts.values())
        told = "".join(f", {count} {word}" for word, count in odd.items())
        say(f"{outcome}; {heard} samples{told}; {self._feeling.contacts} contacts")
        if rows is not None:
            tell(f"armwright: {rows.count} samples are in {out}")


def said_of(contact: FoundContact) -> str:
    """Return a contact in a line: how long, which link, which force."""
    where = contact.link or "link not told"
    text = f"{contact.end - contact.start:.2f} s, {contact.joint} up to {contact.level:.1f} of its band, {where}"
    if contact.wrench is not None and contact.wrench.valid:
        text += ", " + " ".join(f"{x:.0f}" for x in contact.wrench.wrench[:3]) + " N"
    return text


def _contact(contact: FoundContact | None) -> dict[str, Any]:
    if contact is None:
        return {}
    wrench = contact.wrench
    return {
        "start": contact.start,
        "end": contact.end,
        "joint": contact.joint,
        "level": contact.level,
        "link": contact.link,
        "force": None if contact.force is None else contact.force.tolist(),
        "wrench": wrench.wrench.tolist() if wrench is not None and wrench.valid else None,
        "said": contact.said,
    }
