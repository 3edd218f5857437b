# SPDX-License-Identifier: Apache-2.0
"""Virtual sensors on the arm of a `Stand`: an ATI Net F/T on UDP and HTTP, an Xsens MTi on a pseudo-terminal.

`Terminal` is a pseudo-terminal with a device at our end: what a driver of a serial device opens.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.lab.flange_sensing import DeviceClock, FeltWrench, Imperfect
from armwright.lab.force_sensors import AXIA, ForceSensor
from armwright.lab.rdt_streams import RdtStreams
from armwright.lab.wire import netft, xsens

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.lab.stand import Stand


READ_BYTES = 256  # of a terminal at once, every 10 ms: twice what 115200 baud bring; the rest waits in the system


class Terminal:
    """A pseudo-terminal that never waits: what nobody reads is lost and counted.

    Attributes:
        path: that a driver opens. lost: bytes that nobody read.
    """

    def __init__(self) -> None:
        """Open both ends, without echo and line editing."""
        import tty  # not on Windows

        self._own, self._other = os.openpty()
        tty.setraw(self._own)
        tty.setraw(self._other)
        os.set_blocking(self._own, False)
        self.path, self.lost = os.ttyname(self._other), 0

    def read(self) -> bytes:
        """Return what the driver has sent since the last time."""
        try:
            return os.read(self._own, READ_BYTES)
        except OSError:  # nothing there, or nobody any more
            return b""

    def write(self, data: bytes) -> None:
        """Send bytes to the driver."""
        try:
            self.lost += len(data) - os.write(self._own, data) if data else 0
        except OSError:
            self.lost += len(data)

    def close(self) -> None:
        """Close both ends."""
        for handle in (self._own, self._other):
            with contextlib.suppress(OSError):
                os.close(handle)


FT_BANDWIDTH = 200.0  # [Hz]
IMU_NOISE, IMU_BANDWIDTH = 0.002, 30.0  # [m/s², rad/s] per sample, [Hz]


class VirtualNetFt:
    """An ATI sensor; every client that asked for a stream gets its datagrams.

    Attributes:
        sensor: what it presents itself as. clock: its own time. rate: of its samples [1/s].
        skip: one in `skip` records is not sent (0: none lost), which only the sequence numbers tell. skipped: how many.
    """

    def __init__(
        self,
        stand: Stand,
        *,
        rate: float = 250.0,
        http_port: int = netft.HTTP_PORT,
        rdt_port: int = netft.RDT_PORT,
        sensor: ForceSensor = AXIA,
        bias: ArrayLike = 0.0,
        bandwidth: float = FT_BANDWIDTH,
        clock: DeviceClock | None = None,
        skip: int = 0,
        seed: int = 1,
    ) -> None:
        """Open its ports on the stand's address."""
        self._every = _every(rate, "F/T")
        self.rate, self.clock, self.skip = rate, clock or DeviceClock(), skip
        self.sensor = sensor
        self._reading = Imperfect(6, noise=sensor.noise, bias=bias, bandwidth=bandwidth, seed=seed)
        self._zero = np.zeros(6)
        self._last = np.zeros(6)
        self.skipped = 0
        page = netft.configuration(rate, sensor.product, sensor.counts, sensor.calibration, sensor.ranges)
        self.http_port = stand.network.listen(
            stand.host, http_port, "ft http", lambda: (netft.HttpConnection(page), b"")
        )
        self._streams = RdtStreams(stand.network, stand.host, rdt_port, self._bias)
        self.rdt_port = self._streams.port
        stand.sensors.append(self.tick)

    @property
    def sent(self) -> int:
        """Return the records so far, to all clients."""
        return self._streams.sent

    def _bias(self) -> None:
        self._zero = self._last.copy()

    def tick(self, ticks: int, felt: FeltWrench) -> None:
        """Take a sample if one is due; send it."""
        if ticks % self._every:
            return
        self._last, status = self.sensor.shown(self._reading(np.asarray(felt.wrench), self._every * 0.002))
        wrench = tuple((self._last - self._zero).tolist())
        internal = int(self.clock.at(ticks * 0.002) * netft.INTERNAL_RATE)

        def record(sequence: int) -> bytes | None:
            lost = bool(self.skip) and sequence % self.skip == 0
            self.skipped += lost
            return None if lost else netft.pack(netft.Record(sequence, internal, status, wrench), self.sensor.counts)

        self._streams.send(record)


class VirtualMti:
    """An Xsens MTi on a pseudo-terminal; `path` is what a driver opens.

    Attributes:
        path: of the terminal. device: its protocol. samples: so far. lost: bytes that nobody read.
    """

    def __init__(
        self,
        stand: Stand,
        *,
        rate: float = 100.0,
        noise: float = IMU_NOISE,
        bias: ArrayLike = 0.0,
        bandwidth: float = IMU_BANDWIDTH,
        clock: DeviceClock | None = None,
        seed: int = 2,
    ) -> None:
        """Open a pseudo-terminal."""
        self._every, self.clock = _every(rate, "IMU"), clock or DeviceClock()
        self._reading = Imperfect(9, noise=noise, bias=bias, bandwidth=bandwidth, seed=seed)
        self._terminal = Terminal()
        self.path = self._terminal.path
        self.device, self.samples, self._counter = xsens.Device(1.0 / rate), 0, -1
        stand.sensors.append(self.tick)
        stand.closers.append(self._terminal.close)

    @property
    def lost(self) -> int:
        """Return the bytes that nobody read."""
        return self._terminal.lost

    def tick(self, ticks: int, felt: FeltWrench) -> None:
        """Answer the driver; take a sample when the device's own clock says so, to the next tick."""
        if ticks % 5 == 0:
            self._terminal.write(self.device.receive(self._terminal.read()))
        counter = int(self.clock.at(ticks * 0.002) / (self._every * 0.002) + 1e-6)
        due, self._counter = counter != self._counter, counter
        if not (due and self.device.measuring):
            return
        true = np.concatenate([felt.acceleration, felt.rate, felt.field])
        reading = self._reading(true, self._every * 0.002).tolist()
        self.samples += 1
        sample = xsens.ImuSample(tuple(reading[:3]), tuple(reading[3:6]), tuple(reading[6:]), counter)
        self._terminal.write(xsens.pack(sample))


def _every(rate: float, what: str) -> int:
    every = round(500.0 / rate) if rate > 0 else 0
    if every < 1 or abs(500.0 / every - rate) > 1e-6:
        raise InputError(f"{what}: the rate must divide 500 1/s (500, 250, 125, 100, 50, …), got {rate}")
    return every
