# SPDX-License-Identifier: Apache-2.0
"""`Recorder`: one thread per device, one thread that writes; what was received is written, what was lost is counted.

`JointStates` adds a channel next to the raw packets of a robot, as Foxglove draws it and `identify` reads it: position,
speed and motor current (as effort) at the robot's own time. The raw packets stay the truth.
"""

from __future__ import annotations

import struct
import threading
import time
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from armwright.files import Uninterrupted
from armwright.lab.mover import JOINTS
from armwright.lab.net import LabError
from armwright.lab.packet_writer import LATEST_TIME, PacketWriter
from armwright.lab.packets import Channel, Packet, recipe_from
from armwright.lab.sources import PacketSource, host_clock
from armwright.lab.wire.rtde import BrokenStreamError, Recipe
from armwright.recording.formats.protobuf import JOINT_STATES, joint_layout, joint_schema, varint

TOPIC = "/joint_states"
FIELDS = ("actual_q", "actual_qd", "actual_current")
LEAST_STEP = 8_000_000  # [ns] between messages: 125 per second are enough for a screen and for a fit
_LAYOUT, _STAMP = joint_layout(JOINTS, 3)
_REALTIME = struct.Struct(">252x18d")  # 004, Table 4.3: q, qd and current after size, time and five targets
SCHEMA = (JOINT_STATES, "protobuf", joint_schema())


class JointStates:
    """Makes joint states from the packets of one robot: its RTDE stream if that is recorded, else port 30003."""

    def __init__(self, topics: Collection[str]) -> None:
        self._topic = next((topic for topic in ("/robot/rtde", "/robot/realtime") if topic in topics), "")
        self._last = -LEAST_STEP
        self._places: list[int] = []

    def announce(self, channel: Channel) -> None:
        """Note that a stream has begun, perhaps with another recipe."""
        if channel.topic == self._topic == "/robot/rtde":
            recipe = recipe_from(channel.recipe)
            if not set(FIELDS) <= set(recipe.names):
                self._topic = ""
                return
            head = 3 + ((channel.facts or {}).get("protocol", "2") == "2")
            before = [recipe.names.index(name) for name in FIELDS]
            self._places = [head + Recipe(recipe.names[:k], recipe.kinds[:k]).codes.size for k in before]

    def of(self, packet: Packet) -> bytes | None:
        """Return the message that belongs to a packet; None if it is not due."""
        if packet.topic != self._topic:
            return None
        if 0 <= packet.device - self._last < LEAST_STEP - 1000:
            return None
        try:
            if self._places:
                parts = [struct.unpack_from(">6d", packet.data, at) for at in self._places]
            else:
                numbers = _REALTIME.unpack_from(packet.data)
                parts = [numbers[k : k + 6] for k in (0, 6, 12)]
        except struct.error:
            return None
        self._last = packet.device
        return message(packet.device, *parts)


def message(stamp: int, q: Sequence[float], qd: Sequence[float], current: Sequence[float]) -> bytes:
    """Return JointStates at a time [ns] as bytes."""
    out = bytearray(_LAYOUT.template)
    out[_STAMP : _STAMP + 5] = varint(stamp // 10**9, pad=5)
    out[_STAMP + 6 : _STAMP + 11] = varint(stamp % 10**9, pad=5)
    for (offset, _, stride), values in zip(_LAYOUT.places, zip(q, qd, current, strict=True), strict=True):
        for k, value in enumerate(values):
            struct.pack_into("<d", out, offset + k * stride, value)
    return bytes(out)


MOST_WAITING_PACKETS = 100_000  # packets between reading and writing; a reader waits when there are more
RETRY_SECONDS = 0.2  # [s] before a device is tried again


@dataclass
class DeviceTally:
    """Counts of one device: packets received, packets lost by its counter, connections, restarts of its counter.

    Attributes:
        age: when the last packet came, host monotonic [s]; 0 if none has. error: the last trouble.
    """

    received: int = 0
    lost: int = 0
    connections: int = 0
    restarts: int = 0
    age: float = 0.0
    error: str = ""

    def count(self, before: int | None, sequence: int, modulus: int) -> None:
        """Count a packet with this counter that came after one with `before`."""
        self.received += 1
        if before is None:
            return
        step = (sequence - before) % modulus if modulus else sequence - before
        if step <= 0 or (modulus and step > modulus // 2):
            self.restarts += 1
        else:
            self.lost += step - 1


class Recorder:
    """Devices being recorded to a file. Use it as a context, or `start` and `stop` it.

    Attributes:
        tallies: by topic. failed: why writing ended early, such as a full disk; empty if it did not.
    """

    def __init__(
        self,
        path: str | Path | None,
        sources: Sequence[PacketSource],
        facts: dict[str, Any] | None = None,
        *,
        force: bool = False,
    ) -> None:
        """Prepare.

        Args:
            path: of the file; None for a new name with date and time in the present folder. No file is left where no
                packet came.
            sources: the devices.
            facts: become metadata at the end, and may be completed until then.
            force: replace a file that is there, when the new one has its end; otherwise it is refused.

        Raises:
            InputError: the file is there already, or cannot be written.
        """
        self._writer = PacketWriter(path, force=force)
        self._sources, self._facts = list(sources), facts if facts is not None else {}
        self.tallies = {source.topic: DeviceTally() for source in self._sources}
        self._queue: deque[Packet | Channel] = deque()
        self._end = threading.Event()
        self._read_all = threading.Event()
        self.failed, self._broken = "", False
        self._date, self._monotonic = host_clock()
        self._threads = [
            threading.Thread(target=self._read, args=(s,), name=f"record {s.topic}", daemon=True) for s in self._sources
        ]
        self._writing = threading.Thread(target=self._write, name="record to file", daemon=True)

    def start(self) -> None:
        """Begin; devices that are missing are waited for."""
        self._writing.start()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End: read what has arrived, write it, close the file. Ctrl-C takes effect after it."""
        with Uninterrupted():
            self._end.set()
            for thread in self._threads:
                thread.join()
            self._read_all.set()
            self._writing.join()

    def __enter__(self) -> Recorder:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Stop; after an exception an older file keeps its name, and the new one that under which it was written."""
        self._broken = kind is not None
        self.stop()

    @property
    def path(self) -> Path:
        """Return where the file is: under another name than it was given while it is to replace an older one."""
        return self._writer.path

    @property
    def written(self) -> int:
        """Return the number of packets in the file."""
        return self._writer.written

    def kept(self) -> str:
        """Return what is left of a recording that has `failed`, in words."""
        return f"{self.written} packets are in it, and can be read" if self.written else "nothing was kept"

    def silent(self) -> str:
        """Return which devices have sent nothing, and why as far as that is known; "" if all have."""
        return "; ".join(
            f"{topic}: {tally.error or 'nothing came'}" for topic, tally in self.tallies.items() if not tally.received
        )

    def _read(self, source: PacketSource) -> None:
        tally = self.tallies[source.topic]
        before: int | None = None
        while not self._end.is_set():
            try:
                self._queue.append(source.open())
                tally.connections += 1
                while not self._end.is_set():
                    for device, sequence, data in source.read():
                        now = time.monotonic_ns()
                        tally.count(before, sequence, source.modulus)
                        tally.age, before = now * 1e-9, sequence
                        host = self._date + now - self._monotonic
                        stamp = min(max(device, 0), LATEST_TIME)
                        self._queue.append(Packet(source.topic, host, stamp, sequence, data))
                    while len(self._queue) > MOST_WAITING_PACKETS and not self.failed:
                        time.sleep(0.005)
            except (OSError, LabError, BrokenStreamError, ValueError, OverflowError, struct.error) as error:
                tally.error = str(error)  # the last two: a device that tells a time without end, or half a packet
            finally:
                source.close()
            self._end.wait(RETRY_SECONDS)

    def _write(self) -> None:
        queue, writer, states = self._queue, self._writer, JointStates(self.tallies)
        try:
            while True:
                ending = self._read_all.is_set()
                while queue:
                    item = queue.popleft()
                    if isinstance(item, Packet):
                        writer.write(item)
                        made = states.of(item)
                        if made is not None:
                            writer.beside(TOPIC, SCHEMA, item, made)
                    else:
                        writer.add(item)
                        states.announce(item)
                if ending:
                    break
                writer.flush()
                time.sleep(0.01)
            tallies = {topic: asdict(tally) for topic, tally in self.tallies.items()}
            writer.close({**self._facts, "devices": tallies}, placed=not self._broken)
        except Exception as error:  # noqa: BLE001 - whatever it is: nothing is written any more, which must be told
            self.failed = f"{writer.path}: {getattr(error, 'strerror', None) or error or repr(error)}"
            writer.abandon()
            self._end.set()
            queue.clear()

    def line(self, since: float) -> str:
        """Return one line of progress: rate, losses and age of every device."""
        now, parts = time.monotonic(), []
        for topic, tally in self.tallies.items():
            if not tally.received:
                parts.append(f"{topic}: waiting" + (f" ({tally.error})" if tally.error else ""))
                continue
            rate = tally.received / max(now - since, 1e-9)
            parts.append(f"{topic}: {rate:.1f}/s, {tally.lost} lost, {1e3 * (now - tally.age):.0f} ms old")
        return " | ".join(parts)
