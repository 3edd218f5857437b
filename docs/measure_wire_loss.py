# SPDX-License-Identifier: Apache-2.0
"""What an arm on the wire does when something is lost: every event many times, judged by a witness.

python docs/measure_wire_loss.py [COUNT] [RATE] [EVENT…] [--seed FIRST] [--pace PACE]  (20, 125 Hz, all events, 900, 1)

The pace is how many seconds of the controller pass in one of the wall clock. On a busy machine 0.5 leaves everybody
twice the time; what is counted in the controller's time, events included, stays.

A virtual controller is one process, the client that moves its arm another (this file with the word `client`), and here
the witness listens to the controller by RTDE and says what happened: how long until the arm rested, counted from the
last heartbeat that reached the controller, or from the stop where the controller stops by itself; the fastest that its
reference moved; whether anything moved again. The wire between client and controller leads through here, too.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.lab.net import LabError
from armwright.lab.sources import RtdeSource
from armwright.lab.virtual_controller import VirtualController
from armwright.lab.wire import rtde
from armwright.live.wire_limits import MOST_JOINT_SPEED, MOST_TOOL_SPEED, Fence, Watchman, WireLimits
from armwright.recording.formats import load
from armwright.statistics import share

if TYPE_CHECKING:
    from armwright.types import Array

START = [2.5511, -1.1193, 2.5706, 0.1196, 1.5708, -0.5905]
WITNESSED = (
    *("timestamp", "actual_q", "actual_qd", "target_q", "runtime_state", "safety_mode"),
    *("input_int_register_24", "speed_scaling"),
)
REST_SPEED = 0.01  # [rad/s] below which a joint rests
REST_SECONDS = 0.1  # for which it has to
REST_DEMAND = 0.15  # [s] within which it has to come to rest
STEP_TOLERANCE = 1.02  # of the speed cap: a stamp is rounded to a period
PATIENCE = 60.0  # [s] of the wall clock for anything
STOPS = ("protective stop", "emergency stop", "safeguard")
ENDING = ("kill", "cut", "nan", "restart", *STOPS)
GOING_ON = ("freeze", "late", "slider")
EVENTS = (*ENDING, *GOING_ON)
WORDS = {
    "cut": "lost",
    "nan": "lost",
    "restart": "lost",
    "protective stop": "protective stop",
    "emergency stop": "stopped by a person",
    "safeguard": "stopped by a person",
    "freeze": "end",
    "late": "end",
    "slider": "end",
}
"""What the client's ride has to say; a client that was killed says nothing."""


# ------------------------------------------------------------------------------------------------------------- client
def client() -> None:
    """Be the client: ride to and fro until told otherwise, say why it ended, and try to move again."""
    import armwright as aw
    from armwright.identify.gear_friction import GearFriction
    from armwright.identify.identified import Bands, Identified
    from armwright.lab.lab_plant import as_measured, current_map
    from armwright.live.wire_feeling import WireFeeling
    from armwright.live.wire_ride import WireRide
    from armwright.live.wire_rows import WireRows
    from armwright.live.wire_socket import WireSocket
    from armwright.motion import piecewise_quintic

    arm, drives = as_measured(aw.load("ur5")), current_map(aw.load("ur5"))
    c = np.zeros((6, 5))
    c[:, 0] = [joint.friction.viscous for joint in arm.joints]
    c[:, 2] = [joint.friction.coulomb for joint in arm.joints]
    c[:, 4] = -drives.b
    bands = Bands(np.ones(6), np.ones(6), np.full(6, 50.0), rest=10.0)  # nothing is touched here
    model = Identified(arm, drives.k, GearFriction(c, 2e-4), 0.1 * np.ones(6), (), (), (), bands=bands)
    fence = Fence(np.full(3, -2.0), np.full(3, 2.0))
    watchman = Watchman(model.robot, WireLimits(fence, tool_speed=MOST_TOOL_SPEED, force=100.0))
    feelings = {period: WireFeeling(model, bands, period) for period in (0.008, 0.002)}
    print(json.dumps({"ready": True}), flush=True)  # noqa: T201 - the pipe to the witness
    for line in sys.stdin:
        asked = json.loads(line)
        connection = WireSocket(asked["host"], port=asked["port"], script_port=asked["script_port"])
        connection.connect_all()
        rows = WireRows(model.robot, Path(asked["path"]), {"event": asked["event"]})
        feeling = feelings[round(connection.period, 6)]
        ride = WireRide(connection, feeling, watchman, rows, most_gaps=asked["most_gaps"])
        why, said = "end", {}
        try:
            ride.start()
            q = ride.reference().q
            there = q + np.array([0.3, 0.0, 0.0, 0.0, 0.0, 1.2])  # the last joint at its cap, the tool at its own
            motion = piecewise_quintic(np.array([q, there, q, there, q]), 1.5)
            ride.follow(motion)
            print(json.dumps({"moving": True}), flush=True)  # noqa: T201
            until = time.monotonic() + asked["seconds"]
            while why == "end" and time.monotonic() < until:
                why = ride.run(0.2)
            sent = connection.sent
            if why not in ("end", "alarm"):
                again = ride.run(0.5), ride.follow(motion)
                said = {"again": again[0], "sent_again": connection.sent - sent}
        finally:
            ride.close()
            rows.close(why)
        print(json.dumps({"why": why, "reason": ride.reason, "gaps": ride.gaps, **said}), flush=True)  # noqa: T201
        print(json.dumps({"ready": True}), flush=True)  # noqa: T201


# ------------------------------------------------------------------------------------------------------------ witness
class Witness:
    """Listens to a controller and keeps every sample; `tell` writes inputs (a slider)."""

    def __init__(self, host: str, port: int = rtde.PORT) -> None:
        self._source = RtdeSource(host, WITNESSED, port=port)
        self._source.open()
        self.period, self.rows, self._end = self._source.period, list[Any](), False
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        with contextlib.suppress(OSError, LabError, ValueError):
            while not self._end:
                for _, _, whole in self._source.read():
                    v = self._source.recipe.unpack(whole[4:])
                    row = [v["timestamp"], *v["actual_q"], *v["actual_qd"], *v["target_q"]]
                    self.rows.append([*row, v["runtime_state"], v["safety_mode"], v["input_int_register_24"]])

    @property
    def now(self) -> float:
        """The newest stamp."""
        return float(self.rows[-1][0]) if self.rows else 0.0

    def wait(self, stamp: float) -> None:
        """Wait until the controller's time has come that far."""
        until = time.monotonic() + PATIENCE
        while self.now < stamp and self._thread.is_alive() and time.monotonic() < until:
            time.sleep(0.01)

    def close(self) -> Array:
        """Hang up; return all rows."""
        self._end = True
        self._thread.join(5.0)
        self._source.close()
        return np.array(self.rows, dtype=np.float64)


class Wire:
    """A wire to a port that can be cut, delayed or spoilt; it carries one connection."""

    def __init__(self, host: str, port: int) -> None:
        self._to, self._listener = (host, port), socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.dropped, self.hold_until, self.spoil, self._end = False, 0.0, False, False
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()

    def _carry(self) -> None:
        with contextlib.suppress(OSError):
            near, _ = self._listener.accept()
            with near, socket.create_connection(self._to) as far:
                self._carry_between(near, far)

    def _carry_between(self, near: socket.socket, far: socket.socket) -> None:
        for sock in (near, far):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while not self._end:
            for here in select.select([near, far], [], [], 0.05)[0]:
                data = here.recv(1 << 16)
                if not data:
                    return
                while time.monotonic() < self.hold_until:  # everything waits, and comes at once
                    time.sleep(0.005)
                if self.dropped:
                    continue
                if here is near and self.spoil and len(data) >= 60:
                    data = data[:4] + struct.pack(">d", float("nan")) + data[12:]
                    self.spoil = False
                (far if here is near else near).sendall(data)

    def close(self) -> None:
        """Stop carrying."""
        self._end = True
        self._listener.close()
        self._thread.join(5.0)


class Trial(NamedTuple):
    """What came of one event: rest [s] after it, fastest reference as a share of the cap, moved again [rad]; words."""

    event: str
    rest: float
    fastest: float
    again: float
    program: int
    opens: bool
    word: str
    reason: str
    sent_again: int
    gaps: int

    @property
    def good(self) -> bool:
        """Whether all demands are met."""
        stays = self.event in GOING_ON or (self.again < 2e-3 and self.program != 2 and self.sent_again == 0)
        rests = self.event == "slider" or self.rest <= REST_DEMAND
        named = self.word == WORDS.get(self.event, "")
        return rests and self.fastest <= STEP_TOLERANCE and stays and self.opens and named


def start_client() -> subprocess.Popen[bytes]:
    """Start a client; it rides once for every line that it is told."""
    return subprocess.Popen(
        [sys.executable, __file__, "client"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def end_client(process: subprocess.Popen[bytes]) -> None:
    """Let a client end, and close its pipes."""
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdout, process.stderr):
        assert pipe is not None
        pipe.close()


def heard(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Return the next line of a client; {} if there is none any more."""
    assert process.stdout is not None
    line = process.stdout.readline()
    return json.loads(line) if line else {}


def slider(host: str, port: int, fraction: float) -> None:
    """Set the speed slider, as a client of RTDE's inputs does."""

    class Sliding(RtdeSource):
        def prepare(self) -> None:
            self.number = self._ask(rtde.INPUT, b"speed_slider_mask,speed_slider_fraction")[0]

    source = Sliding(host, ("timestamp",), port=port)
    source.open()
    source._sock.sendall(rtde.packet(rtde.DATA, struct.pack(">BId", source.number, 1, fraction)))  # type: ignore[union-attr]
    source.fill()
    source.close()


def one_trial(
    event: str,
    rate: float,
    seed: int,
    folder: Path,
    warm: subprocess.Popen[bytes] | None = None,
    most_gaps: int | None = None,
    pace: float = 1.0,
) -> Trial:
    """Let one event happen to a moving arm, and judge what came of it."""
    process = warm or start_client()
    try:
        return _tried(event, rate, seed, folder, process, most_gaps, pace)
    finally:
        if warm is None:
            end_client(process)


def _tried(
    event: str,
    rate: float,
    seed: int,
    folder: Path,
    process: subprocess.Popen[bytes],
    most_gaps: int | None,
    pace: float,
) -> Trial:
    rng, path = np.random.default_rng([seed, 17]), folder / f"{event.replace(' ', '-')}-{seed}.mcap"
    robot = VirtualController(q0=START, e_series=rate > 125.0, current_noise=0.15, seed=seed, pace=pace)
    with robot:
        witness = Witness(robot.host)
        wire = Wire(robot.host, robot.ports.get("rtde", rtde.PORT))
        through = event in ("cut", "nan", "late")
        asked = {
            "host": "127.0.0.1" if through else robot.host,
            "port": wire.port if through else robot.ports.get("rtde", rtde.PORT),
            "script_port": robot.ports.get("secondary", 30002),
            "path": str(path),
            "event": event,
            "most_gaps": most_gaps,
            "seconds": (4.0 if event in GOING_ON else 12.0) / pace,
        }
        relay = Wire(robot.host, robot.ports.get("secondary", 30002)) if through else None
        if relay is not None:
            asked["script_port"] = relay.port
        heard(process)  # it is ready
        assert process.stdin is not None
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()
        if not heard(process):
            raise RuntimeError(process.stderr.read().decode()[-800:] if process.stderr else "")
        witness.wait(witness.now + rng.uniform(0.5, 1.6))
        at = witness.now
        said = _happen(event, robot, process, wire, pace)
        after = 3.0 if event in ENDING else 4.0
        witness.wait(at + after)
        if not said:
            said = heard(process) if event != "kill" else {}
        rows = witness.close()
        wire.close()
        if relay is not None:
            relay.close()
    return judged(event, rows, at, path, said, witness.period)


def _happen(
    event: str, robot: VirtualController, process: subprocess.Popen[bytes], wire: Wire, pace: float
) -> dict[str, Any]:
    """Let it happen; return what the client said, if it has been waited for."""
    happens: dict[str, Callable[[], Any]] = {
        "kill": process.kill,
        "cut": lambda: setattr(wire, "dropped", True),
        "nan": lambda: setattr(wire, "spoil", True),
        "protective stop": lambda: robot.protective_stop("by a trial"),
        "emergency stop": robot.emergency_stop,
        "safeguard": robot.safeguard,
        "late": lambda: setattr(wire, "hold_until", time.monotonic() + 0.3 / pace),
        "slider": lambda: slider(robot.host, robot.ports.get("rtde", rtde.PORT), 0.2),
    }
    if event == "freeze":
        process.send_signal(signal.SIGSTOP)
        time.sleep(1.0 / pace)
        process.send_signal(signal.SIGCONT)
        return {}
    if event == "restart":
        host, ports = robot.host, robot.ports
        robot.close()
        said = heard(process)
        anew = VirtualController(q0=START, host=host, ports=dict(ports), current_noise=0.15, pace=pace)
        with anew:
            witness = Witness(host)
            witness.wait(1.5)
            rows = witness.close()
        moved = float(np.abs(rows[:, 1:7] - rows[0, 1:7]).max())
        return said | {"moved_anew": moved, "program_anew": int(rows[-1, 19])}
    happens[event]()
    return {}


def judged(event: str, rows: Array, at: float, path: Path, said: dict[str, Any], period: float) -> Trial:
    """Judge the witness's rows."""
    t, q, qd, target = rows[:, 0], rows[:, 1:7], rows[:, 7:13], rows[:, 13:19]
    program, safety, beat = rows[:, 19], rows[:, 20], rows[:, 21]
    if event in STOPS:
        stopped = np.flatnonzero((t >= at) & ~np.isin(safety, (1, 2)))
        begun = int(stopped[0]) if len(stopped) else len(t) - 1
    else:  # the last heartbeat that came before the silence
        changes = np.flatnonzero(np.diff(beat) != 0.0) + 1
        gaps = np.flatnonzero(np.diff(t[changes]) > 0.05)
        late = [int(changes[k]) for k in gaps if t[changes[k]] >= at - 0.1]
        begun = late[0] if late else int(changes[-1])
    still = np.abs(qd).max(axis=1) < REST_SPEED
    width = max(1, round(REST_SECONDS / period))
    lasting = np.convolve(still[begun:].astype(int), np.ones(width, dtype=int))[width - 1 :] == width
    found = np.flatnonzero(lasting)
    rest = float(t[begun + found[0]] - t[begun]) if len(found) else float("inf")
    steps = np.abs(np.diff(target, axis=0)).max(axis=1) / np.maximum(np.diff(t), 0.5 * period)
    until = begun - 1 if event in STOPS else len(steps)  # as it stops, the controller takes what is for what shall be
    end = begun + (int(found[0]) if len(found) else 0)
    again = float(np.abs(q[end:] - q[end]).max()) if event in ENDING else 0.0
    if event == "restart":  # its arm is gone with it: what counts is that the new one stands
        rest, again = 0.0, said.get("moved_anew", float("inf"))
    opens = False
    with contextlib.suppress(Exception):
        opens = len(load(path)) > 0
    return Trial(
        event,
        rest,
        float(steps[:until].max()) / MOST_JOINT_SPEED,
        again,
        int(said.get("program_anew", program[-1])),
        opens,
        said.get("why", ""),
        said.get("reason", ""),
        int(said.get("sent_again", 0)),
        int(said.get("gaps", 0)),
    )


def say(text: str) -> None:
    """Print a line now."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    """Every event so many times; print a row each."""
    if sys.argv[1:] == ["client"]:
        client()
        return
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("count", type=int, nargs="?", default=20)
    words.add_argument("rate", type=float, nargs="?", default=125.0)
    words.add_argument("events", nargs="*", metavar="EVENT", help=", ".join(EVENTS))
    words.add_argument("--seed", type=int, default=900, help="the first; of the current noise and of the moment")
    words.add_argument("--pace", type=float, default=1.0, help="seconds of the controller in one of the wall clock")
    asked = words.parse_args()
    count, rate, events = asked.count, asked.rate, asked.events or list(EVENTS)
    if strange := set(events) - set(EVENTS):
        words.error(f"no event {sorted(strange)[0]!r}; there are {', '.join(EVENTS)}")
    with tempfile.TemporaryDirectory() as folder:
        for event in events:
            trials, process = list[Trial](), start_client()
            for k in range(count):
                if process.poll() is not None:  # killed, as the event wants it
                    end_client(process)
                    process = start_client()
                trials.append(one_trial(event, rate, asked.seed + k, Path(folder), process, pace=asked.pace))
                if not trials[-1].good:
                    say(f"  {trials[-1]}")
            end_client(process)
            good = sum(trial.good for trial in trials)
            rest = [trial.rest for trial in trials]
            said = sorted({trial.word or "(killed)" for trial in trials})
            say(
                f"{event} at {rate:g} Hz, pace {asked.pace:g}: {good} of {len(trials)} as demanded, at 95 % "
                f"{share(good, len(trials)).low:.0%} or more; rest after "
                f"{np.median(rest):.3f} s, {max(rest):.3f} at most; fastest {max(t.fastest for t in trials):.3f} of "
                f"the cap; moved again {max(t.again for t in trials):.1e} rad; said {', '.join(said)}: "
                f"{trials[-1].reason or '–'}; gaps {sum(t.gaps for t in trials)}; load {os.getloadavg()[0]:.1f}"
            )


if __name__ == "__main__":
    main()
