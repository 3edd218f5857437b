# SPDX-License-Identifier: Apache-2.0
"""``armwright monitor --wire``: what the motors of a robot do now against the plan of the program that it runs."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.cli import option_words
from armwright.cli.failures import fail
from armwright.cli.feel_wire import NOT_SAFE, REPEAT_HEAD, dial, listen
from armwright.cli.option_groups import arm_command
from armwright.cli.option_words import (
    Json,
    address_option,
    duration_option,
    joints_option,
    out_option,
    payload_option,
    robot_option,
)
from armwright.cli.output import NEGATIVE, say, say_json_line, tell
from armwright.cli.program_reading import ReadingOptions
from armwright.cli.program_starts import start_joints
from armwright.cli.wire_options import EVERY_SECONDS
from armwright.lab.net import LabError

if TYPE_CHECKING:
    from armwright.live.heard_rows import HeardRows
    from armwright.live.program_watch import MoveDone, ProgramWatch, WatchedPlan
    from armwright.live.wire_ear import HeardSample, WireEar
    from armwright.robot.model import Robot

MOST_TEXT = 48  # characters of a move's text in a line
HEAD = (
    "    time s  state     plan s  late s  off mrad  lag mrad  nearest its limit   now %  given %  plan %  move  modes"
)


@dataclass(frozen=True)
class PlanOptions:
    """The program, and what it does not say."""

    program: Annotated[Path, typer.Option("--program", metavar="FILE", help="The robot program that it runs.")]
    override: Annotated[float, typer.Option(help="How many times as fast as planned.")] = 1.0
    payload: Annotated[str | None, payload_option("Load of moves that name none.")] = None
    tool: Annotated[
        str | None, typer.Option(help="Tool of moves that name none: x,y,z in metres from the flange, or x,y,z,A,B,C.")
    ] = None
    start: Annotated[
        str | None, joints_option("--start", "Where the arm stands at first; home: tool in front, down.", "home")
    ] = None

    def plan(self, arm: Robot, reading: ReadingOptions) -> WatchedPlan:
        """Read and plan the program."""
        from armwright.live.program_watch import watched_plan
        from armwright.programs import Payload, read_program, run_program

        start = None if self.start is None else start_joints(self.start, arm)
        told: dict[str, Any] = {} if self.tool is not None else {"robot": arm, "start_q": start}
        text = read_program(self.program, reading.language, **reading.said(), **told)
        load = None if self.payload is None else Payload(*option_words.payload(self.payload))  # type: ignore[arg-type]
        tool = None if self.tool is None else option_words.tool(self.tool)
        run = run_program(arm, text, override=self.override, payload=load, tool=tool, start_q=start)
        return watched_plan(run)


@dataclass(frozen=True)
class MonitorFiles:
    """For how long, how often, what is written."""

    out: Annotated[Path | None, out_option("FILE.mcap|FILE.csv", "What was heard, planned and used.")] = None
    duration: Annotated[
        float | None, duration_option("How long to watch; to the program's end by default.", least=0.1)
    ] = None
    every: Annotated[
        float | None, typer.Option("--every", metavar="SECONDS", min=0.0, help="Between two rows of the table.")
    ] = None


@arm_command(robot=Annotated[str, robot_option()], default="ur5")
def monitor(
    *,
    arm: Robot,
    wire: Annotated[str, address_option("--wire", "A UR that is listened to over RTDE.")],
    asked: PlanOptions,
    reading: ReadingOptions,
    model: Annotated[
        Path | None,
        typer.Option("--model", metavar="FILE", help="Its identified model: then the currents tell torques, too."),
    ] = None,
    wanted: MonitorFiles,
    json: Json = False,
) -> None:
    """Watch the motors of a UR against the plan of the program that it runs: use, lateness, lag, deviation.

    Not a safety function: it is listened to over RTDE until the program's end, nothing is sent, nothing stopped.
    """
    from armwright.identify.model_file import load_model
    from armwright.live.heard_rows import HeardRows
    from armwright.live.program_watch import WATCHED, ProgramWatch

    known = None if model is None else load_model(model)
    plan = asked.plan(arm, reading)
    ear = dial(wire)
    watch, rows, outcome = ProgramWatch(arm, plan, ear.period, known), None, "ended by Ctrl-C"
    printer = MonitorPrinter(watch, EVERY_SECONDS if wanted.every is None else wanted.every, json=json, ear=ear)
    try:
        if wanted.out is not None:
            facts = {"wire": ear.address, "controller": ".".join(map(str, ear.version)), "program": str(asked.program)}
            rows = HeardRows(wanted.out, arm, facts, WATCHED)
        printer.begin(asked.program)
        outcome = _watched(ear, wanted.duration, printer, rows)
    except KeyboardInterrupt:
        pass
    finally:
        ear.close()
        if rows is not None:
            with suppress(KeyboardInterrupt):
                rows.close(outcome, printer.happened)
    printer.end(outcome, rows, wanted.out)
    if outcome.startswith("lost"):
        fail(outcome, NEGATIVE, kind="Lost", answered=json)


def _watched(ear: WireEar, seconds: float | None, printer: MonitorPrinter, rows: HeardRows | None) -> str:
    """Watch, print and record until the program or the time is over or the robot is gone; return which."""
    watch = printer.watch
    try:
        for samples in listen(ear, seconds):
            for sample in samples:
                done = watch.take(sample)
                at = rows.add(sample, watch.row()) if rows is not None else sample.stamp
                for move in done:
                    printer.move(move, sample.stamp, at)
                if seconds is None and watch.place.state == "over":
                    printer.row(sample, last=True)
                    return "the program's end"
            printer.row(samples[-1])
    except LabError as error:
        return f"lost: {error}"
    return "end"


class MonitorPrinter:
    """Prints rows and moves.

    Attributes:
        watch: what is printed. happened: events for the recording.
    """

    def __init__(self, watch: ProgramWatch, every: float, *, json: bool, ear: WireEar) -> None:
        self.watch, self._every, self._json, self._ear = watch, every, json, ear
        self._next, self._rows = 0.0, 0
        self._names = [joint.name for joint in watch.robot.joints]
        self.happened: list[tuple[float, str, dict[str, Any]]] = []

    def begin(self, program: Path) -> None:
        """Say what is watched, and against what."""
        plan, basis = self.watch.plan, self.watch.motors.basis
        seconds, moves = float(plan.begins[-1]), len(plan.lines)
        if self._json:
            head = {"listening": self._ear.address, "rate": 1.0 / self._ear.period, "note": NOT_SAFE}
            say_json_line(head | {"program": str(program), "planned": seconds, "moves": moves, "basis": basis})
            return
        say(f"{self._ear.address} at {1.0 / self._ear.period:.0f} Hz; {NOT_SAFE}; Ctrl-C ends it", lead="monitor: ")
        say(f"{program.name}: {moves} moves in {seconds:.2f} s by our planner, checked against its {basis}")

    def row(self, sample: HeardSample, *, last: bool = False) -> None:
        """Print the present, if it is time, or the last of all."""
        now = time.monotonic()
        if now < self._next and not last:
            return
        self._next = now + self._every
        watch, place, k = self.watch, self.watch.place, self.watch.nearest
        follows = place.state in ("on", "over")
        if self._json:
            move = watch.plan.lines[watch.move] if follows else None
            say_json_line(
                {
                    "time": sample.stamp,
                    "state": place.state,
                    "planned": place.time if follows else None,
                    "move": watch.move + 1 if follows else None,
                    "line": None if move is None else move[0],
                    "late": place.late,
                    "deviation": place.deviation,
                    "lag": watch.lag,
                    "joint": None if k is None else self._names[k],
                    "use": watch.motors.use,
                    "given": watch.motors.given,
                    "plan_use": watch.plan_use if follows else None,
                    "robot_mode": sample.robot_mode,
                    "safety_mode": sample.safety_mode,
                    "age": now - sample.arrived,
                }
            )
            return
        if self._rows % REPEAT_HEAD == 0:
            say(HEAD)
        self._rows += 1
        name = "" if k is None else self._names[k]
        use, given, planned = (
            "–" if k is None or not x[k] >= 0.0 else f"{100.0 * x[k]:.0f}"
            for x in (watch.motors.use, watch.motors.given, watch.plan_use)
        )
        where = f"{place.time:8.2f} {place.late:7.2f}" if follows else f"{'–':>8} {'–':>7}"
        off, lag = 1e3 * place.deviation, 1e3 * float(abs(watch.lag).max())
        which = f"{watch.move + 1:5d}" if follows else "    –"
        words = f"{sample.stamp:10.2f}  {place.state:<8}{where} {off:9.1f} {lag:9.2f}  {name:<17} {use:>7} {given:>8}"
        say(f"{words} {planned if follows else '–':>7} {which}  {sample.modes}")

    def move(self, done: MoveDone, stamp: float, at: float) -> None:
        """Print that a move is over."""
        detail = {"move": done.number, "line": done.line, "took": done.took, "planned": done.planned}
        self.happened.append((at, "move over", detail))
        if self._json:
            say_json_line({"event": "move over", "time": stamp, **detail, "text": done.text})
        else:
            text = done.text if len(done.text) <= MOST_TEXT else f"{done.text[:MOST_TEXT]}…"
            line = f" (line {done.line}: {text})" if done.line else ""
            say(
                f"{stamp:10.2f} move {done.number}{line} took {done.took:.2f} s, planned {done.planned:.2f} s",
                lead="* ",
            )

    def end(self, outcome: str, rows: HeardRows | None, out: Path | None) -> None:
        """Say how it ended, and what was largest."""
        watch, place = self.watch, self.watch.place
        counts = dict(watch.motors.counts)
        if self._json:
            done = {"outcome": outcome, "samples": counts, "late": place.late, "farthest": watch.farthest}
            done |= {"largest": watch.largest, "planned_largest": watch.planned}
            say_json_line(done | ({} if rows is None else {"recording": str(out), "rows": rows.count}))
            return
        odd = {word: count for word, count in counts.items() if word not in ("start", "cycle")}
        told = "".join(f", {count} {word}" for word, count in odd.items())
        say(f"{outcome}; {sum(counts.values())} samples{told}")
        if watch.largest.any():
            late = f"{place.late:+.2f} s late" if place.late >= 0.0 else f"{-place.late:.2f} s early"
            say(f"{late}, {1e3 * watch.farthest:.1f} mrad off the plan at most; largest use, now and planned:")
            for name, now, planned in zip(self._names, watch.largest, watch.planned, strict=True):
                say(f"  {name:<18} {100.0 * now:5.0f} % {100.0 * planned:5.0f} %")
        if rows is not None:
            tell(f"armwright: {rows.count} samples are in {out}")
