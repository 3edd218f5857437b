# SPDX-License-Identifier: Apache-2.0
"""Floods, port by port, against the lab as a process of its own: how many publications they cost an honest client.

python docs/measure_lab_flood.py [seconds a port]
python docs/measure_lab_flood.py SECONDS PORT REPEATS    # with and without a flood of that port, in turns

An honest client reads RTDE samples. First nobody else is there; then one packet of 64 KB comes to the dashboard; then
a process floods one port after the other as fast as the lab takes it. Printed are samples per second, the longest gap
between two of them at the client, and samples that are missing by their number. Loopback only.

In turns: on a busy machine a loss may be the load's and not the flood's. Two honest clients read RTDE samples and
records of the force sensor; pairs of equally long stretches, one with the flood and one without, the first of a pair
being each in turn, give differences that belong to the flood. Printed are rates by the wall clock, and mean and
deviation of the mean of the differences.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from functools import partial
from itertools import pairwise
from pathlib import Path

from armwright.errors import ArmwrightError
from armwright.lab.sources import FtSource, PacketSource, RtdeSource
from armwright.lab.wire import netft, rtde

HOST = "127.78.0.3"
PACKET_BYTES = 1 << 16
LINE = b"movej([0,-1.5,1.5,-1.5,-1.5,0],a=1,v=1)\n"
FLOODS = {
    "dashboard": b"robotmode\n",
    "rtde": rtde.packet(rtde.CONTROLLER),
    "rtde recipes": rtde.packet(rtde.INPUT, ",".join(f"input_int_register_{k}" for k in range(48)).encode()),
    "realtime": LINE,
    "primary": b"movej(p[0.9,0.9,0.9,0,3.1,0])\n",
    "secondary": b"def long():\n" + 200 * LINE + b"end\n",
    "ft http": b"GET /netftapi2.xml HTTP/1.1\r\n\r\n",
    "rdt": netft.request(netft.START_REALTIME),
    "connections": b"",
}


def flood(name: str, port: int, seconds: float) -> None:
    """Send the same bytes again and again; a connection that was ended is made anew."""
    data, until = FLOODS[name], time.monotonic() + seconds
    if name == "rdt":
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            while time.monotonic() < until:
                sock.sendto(data, (HOST, port))
        return
    block = data * max(1, PACKET_BYTES // max(1, len(data)))
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=1.0) as sock:
            sock.setblocking(False)
            while data and time.monotonic() < until:
                with contextlib.suppress(BlockingIOError):
                    sock.send(block)
                with contextlib.suppress(BlockingIOError):
                    if not sock.recv(PACKET_BYTES):
                        break


class Listener(threading.Thread):
    """The honest client: reads all the time, and tells how it fares."""

    def __init__(self, source: PacketSource) -> None:
        super().__init__(daemon=True)
        self._source = source
        self._samples: list[tuple[float, int]] = []
        self._source.open()

    def run(self) -> None:
        """Read until the lab hangs up."""
        with contextlib.suppress(ArmwrightError, OSError):
            while True:
                for _, number, _ in self._source.read():
                    self._samples.append((time.monotonic(), number))

    def count(self) -> int:
        """Return the samples so far."""
        return len(self._samples)

    def over(self, seconds: float) -> dict[str, float]:
        """Wait for so long; samples per second, the longest gap between two [ms], samples that were lost."""
        begun, first = time.monotonic(), len(self._samples)
        time.sleep(seconds)
        passed, rows = time.monotonic() - begun, self._samples[first:]
        gap = max((b - a for (a, _), (b, _) in pairwise(rows)), default=seconds)
        lost = sum(b - a - 1 for (_, a), (_, b) in pairwise(rows))
        return {"per second": round(len(rows) / passed, 1), "longest gap ms": round(1e3 * gap, 1), "lost": lost}


def flooding(name: str, port: int, seconds: float) -> subprocess.Popen[bytes]:
    """Start the flood as a process of its own."""
    folder = str(Path(__file__).parent)
    code = f"import sys; sys.path.insert(0, {folder!r}); import measure_lab_flood as m; "
    return subprocess.Popen([sys.executable, "-c", code + f"m.flood({name!r}, {port}, {seconds})"])


def in_turns(ports: dict[str, int], name: str, seconds: float, repeats: int) -> dict[str, object]:
    """Return rates with and without a flood, and their differences, pair by pair [%]."""
    clients = {
        "rtde": Listener(RtdeSource(HOST, ["timestamp"], port=ports["rtde"])),
        "rdt": Listener(FtSource(HOST, port=ports["rdt"], http_port=ports["ft http"])),
    }
    for client in clients.values():
        client.start()
    time.sleep(1.0)

    def stretch() -> dict[str, float]:
        begun, before = time.monotonic(), {key: client.count() for key, client in clients.items()}
        time.sleep(seconds)
        passed = time.monotonic() - begun
        return {key: (client.count() - before[key]) / passed for key, client in clients.items()}

    rates: dict[bool, list[dict[str, float]]] = {True: [], False: []}
    for turn in range(repeats):
        for flooded in (True, False) if turn % 2 else (False, True):
            other = flooding(name, ports[name], seconds + 1.5) if flooded else None
            time.sleep(1.0)
            rates[flooded].append(stretch())
            if other is not None:
                other.wait()
    out: dict[str, object] = {"flood": name, "pairs": repeats, "load": [round(x, 1) for x in os.getloadavg()]}
    for key in clients:
        without, with_flood = ([rate[key] for rate in rates[flooded]] for flooded in (False, True))
        off = [100.0 * (b / a - 1.0) for a, b in zip(without, with_flood, strict=True)]
        deviation = statistics.stdev(off) / len(off) ** 0.5
        out[key] = {
            "without": round(statistics.mean(without), 2),
            "with": round(statistics.mean(with_flood), 2),
            "difference %": round(statistics.mean(off), 2),
            "its deviation %": round(deviation, 2),
            "pairs %": [round(x, 1) for x in off],
        }
    return out


def main() -> None:
    """Measure and print, a line a port."""
    tell, seconds = partial(print, flush=True), float(sys.argv[1]) if len(sys.argv) > 1 else 4.0
    options = ["--json", "--host", HOST, "--free-ports", "--ft-rate", "250"]
    command = [sys.executable, "-m", "armwright.cli", "lab", "serve", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        text, ready = "", None
        while ready is None:
            text += process.stdout.readline()
            with contextlib.suppress(json.JSONDecodeError):
                ready = json.loads(text)["ready"]
        ports = ready["ports"] | {"rdt": ready["ft"]["rdt"], "ft http": ready["ft"]["http"]}
        ports |= {"rtde recipes": ports["rtde"], "connections": ports["dashboard"]}
        try:
            if len(sys.argv) > 3:
                tell(json.dumps(in_turns(ports, sys.argv[2], seconds, int(sys.argv[3]))))
                return
            honest = Listener(RtdeSource(HOST, ["timestamp"], port=ports["rtde"]))
            honest.start()
            time.sleep(1.0)
            tell(json.dumps({"flood": "none"} | honest.over(seconds)))
            with socket.create_connection((HOST, ports["dashboard"])) as sock:
                sock.sendall(FLOODS["dashboard"] * (PACKET_BYTES // len(FLOODS["dashboard"])))
                tell(json.dumps({"flood": "64 KB to the dashboard"} | honest.over(seconds)))
            for name in FLOODS:
                with flooding(name, ports[name], seconds + 1.5) as other:
                    time.sleep(1.0)
                    tell(json.dumps({"flood": name} | honest.over(seconds)))
                    other.wait()
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
