# SPDX-License-Identifier: Apache-2.0
"""Clients that mean ill, against the lab as a process of its own: what it survives, and what they leave behind in it.

python docs/measure_lab_hostile.py [packets a port]

Every port gets fuzzed packets (sound ones with bytes changed, and noise) over connections that end at random, many of
them with a reset; meanwhile half-open clients say nothing, slow readers read nothing, and scripts of 1 MB come.
Threads, sockets and memory of the lab are read from /proc. The exit code tells whether it is as it was.
"""

from __future__ import annotations

import contextlib
import json
import random
import socket
import struct
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from armwright.lab.wire import rtde
from armwright.lab.wire.rtde_fields import OUTPUTS, kinds_of

HOST = "127.78.0.2"
PORTS = {"dashboard": 29999, "primary": 30001, "secondary": 30002, "realtime": 30003, "rtde": 30004}
SOUND = {
    "rtde": [
        rtde.packet(rtde.PROTOCOL, struct.pack(">H", 2)),
        rtde.packet(rtde.OUTPUT, struct.pack(">d", 125.0) + b"timestamp,actual_q"),
        rtde.packet(rtde.INPUT, b"input_int_register_0,input_double_register_0"),
        rtde.packet(rtde.START),
        rtde.packet(rtde.DATA, b"\1" + struct.pack(">id", 1, 0.5)),
    ],
    "dashboard": [b"unlock protective stop\n", b"power on\n", b"brake release\n", b"load x.urp\n", b"popup hello\n"],
}
SCRIPT = [
    b"movej([0,-1.5,1.5,-1.5,-1.5,0],a=1,v=1,r=0.01)\n",
    b"servoj([0,-1.5,1.5,-1.5,-1.5,0],0,0,0.008,0.1,300)\n",
    b"def f():\nmovel(p[0.3,0.2,0.4,0,3.1,0],a=1,v=0.2)\nend\n",
    b"def rtde_control():\nend\n",
    b"movej(p[-0.4,-0.2,0.4,0,3.1,0])\n",
]
MOST_GROWTH = 20_000  # [kB] of memory that may stay: buffers and caches of the first minute


def connect(port: str) -> socket.socket:
    """A client's socket."""
    return socket.create_connection((HOST, PORTS[port]), timeout=60.0)


def fuzzed(port: str, chance: random.Random) -> bytes:
    """A packet that is sound, nearly sound, or noise."""
    data = bytearray(chance.choice(SOUND.get(port, SCRIPT)))
    if chance.random() < 0.3:
        data = bytearray(chance.randbytes(chance.randrange(1, 300)))
    for _ in range(chance.choice((0, 0, 1, 2, 6))):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def attack(port: str, count: int, chance: random.Random) -> int:
    """Send so many packets; return how many connections that took."""
    sent = connections = 0
    while sent < count:
        with connect(port) as sock:
            connections += 1
            if chance.random() < 0.5:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # ends with a reset
            with contextlib.suppress(OSError):  # hung up on, as it should be
                for _ in range(chance.randrange(1, 400)):
                    sock.sendall(fuzzed(port, chance))
                    sent += 1
    return connections


def long_scripts(port: str) -> None:
    """One just below a megabyte, and one above, which ends the connection."""
    for size in (1_000_000, 1_200_000):
        line = b"  textmsg(1)\n"
        with connect(port) as sock, contextlib.suppress(OSError):
            sock.sendall(b"def long():\n" + line * (size // len(line)) + b"end\n")


def slow_reader() -> socket.socket:
    """A client that asks for everything and reads nothing."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.settimeout(60.0)
    sock.connect((HOST, PORTS["rtde"]))
    wanted = struct.pack(">d", 125.0) + ",".join(sorted(kinds_of(OUTPUTS, (3, 15, 8)))).encode()
    for kind, payload in ((rtde.PROTOCOL, struct.pack(">H", 2)), (rtde.OUTPUT, wanted), (rtde.START, b"")):
        sock.sendall(rtde.packet(kind, payload))
    return sock


def footprint(pid: int) -> dict[str, int]:
    """Threads, open files and memory [kB] of a process."""
    status = dict(
        line.split(":", 1)
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
        if ":" in line
    )
    files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return {"threads": int(status["Threads"]), "files": files, "kB": int(status["VmRSS"].split()[0])}


def settled(pid: int, files: int) -> dict[str, int]:
    """The footprint when the lab has noticed that everybody has gone, or after a minute."""
    for _ in range(600):
        now = footprint(pid)
        if now["files"] <= files:
            break
        time.sleep(0.1)
    return now


def answers() -> str:
    """What the dashboard says to an honest client."""
    with connect("dashboard") as sock, sock.makefile("rw", newline="\n") as file:
        file.readline()
        file.write("robotmode\n")
        file.flush()
        return file.readline().strip()


def main() -> int:
    """Attack port after port; return 0 if the lab is as it was."""
    count, tell = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, partial(print, flush=True)
    command = [sys.executable, "-m", "armwright.cli", "lab", "serve", "--json", "--host", HOST]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            fresh = footprint(process.pid)["files"]
            for port in PORTS:  # what is made once is made now
                attack(port, 200, random.Random(0))
                if port not in SOUND:
                    long_scripts(port)
            before = settled(process.pid, fresh)
            tell(json.dumps({"before": before}))
            for port in PORTS:
                begun, crowd = time.monotonic(), [connect(port) for _ in range(5)] + [slow_reader()]
                connections = attack(port, count, random.Random(port))
                if port not in SOUND:
                    long_scripts(port)
                seconds, mode = round(time.monotonic() - begun, 1), answers()
                for sock in crowd:
                    sock.close()
                found = {"port": port, "packets": count, "connections": connections, "s": seconds, "says": mode}
                tell(json.dumps(found | settled(process.pid, before["files"])))
            after = settled(process.pid, before["files"])
        finally:
            process.terminate()
        ended = process.wait(timeout=60.0)
    sound = after["threads"] <= before["threads"] and after["files"] <= before["files"]
    sound = sound and after["kB"] - before["kB"] < MOST_GROWTH and ended == 0
    tell(json.dumps({"after": after, "exit": ended, "as it was": sound}))
    return 0 if sound else 1


if __name__ == "__main__":
    raise SystemExit(main())
