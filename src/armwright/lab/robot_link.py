# SPDX-License-Identifier: Apache-2.0
"""`RobotLink`: our own reader of a robot; every sample has its age, and stale data is an error, never a repetition."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from armwright.errors import InputError
from armwright.lab.net import LabError
from armwright.lab.sources import FIELDS, RtdeSource
from armwright.lab.wire import rtde
from armwright.lab.wire.rtde import BrokenStreamError

STALE = 0.1  # [s]


class RobotSample(NamedTuple):
    """Values by name; device time [s]; host monotonic time of arrival [s]; number; publications lost before it."""

    values: dict[str, Any]
    device_time: float
    host_time: float
    number: int
    lost: int

    @property
    def age(self) -> float:
        """Return the seconds since it came."""
        return time.monotonic() - self.host_time


class RobotLink:
    """A connection that listens to a robot. Use it as a context, or `close` it.

    Attributes:
        host: its address. version: of the controller. period: of its samples [s]. lost: publications missed so far.
    """

    def __init__(self, source: RtdeSource, stale: float) -> None:
        self._source, self._stale = source, stale
        try:
            source.open()
        except (OSError, BrokenStreamError) as error:
            source.close()
            raise LabError(f"{source.host}:{source.port}: cannot connect: {error}") from error
        except LabError:
            source.close()
            raise
        self.host, self.version, self.period, self.lost = source.host, source.version, source.period, 0
        self._news = threading.Condition()
        self._last: RobotSample | None = None
        self._error = ""
        self._end = False
        self._thread = threading.Thread(target=self._read, name="robot link", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        before: int | None = None
        head = 2 + self._source.protocol
        try:
            while not self._end:
                for device, sequence, data in self._source.read():
                    step = 1 if before is None else sequence - before
                    before = sequence
                    with self._news:
                        self.lost += max(0, step - 1)
                        number = self._last.number + 1 if self._last else 0
                        values = self._source.recipe.unpack(data[head:])
                        self._last = RobotSample(values, device * 1e-9, time.monotonic(), number, max(0, step - 1))
                        self._news.notify_all()
        except (OSError, LabError, BrokenStreamError) as error:
            with self._news:
                self._error = str(error)
                self._news.notify_all()
        finally:
            self._source.close()

    def latest(self) -> RobotSample:
        """Return the newest sample.

        Raises:
            LabError: it is older than allowed, or the robot is gone.
        """
        with self._news:
            if self._last is None and not self._error:
                self._news.wait(self._stale)
            if self._last is None or self._last.age > self._stale or self._error:
                raise LabError(self._trouble())
            return self._last

    def next(self, after: RobotSample | None = None) -> RobotSample:
        """Return the first sample that is newer than `after` (than the newest, if omitted).

        Raises:
            LabError: none comes in time, or the robot is gone.
        """
        with self._news:
            seen = self._last.number if after is None and self._last else after.number if after else -1
            fresh = self._news.wait_for(
                lambda: bool(self._error) or (self._last is not None and self._last.number > seen), self._stale
            )
            if not fresh or self._error or self._last is None:
                raise LabError(self._trouble())
            return self._last

    def _trouble(self) -> str:
        where = f"{self._source.host}:{self._source.port}"
        if self._error:
            return f"{where}: the robot is gone: {self._error}"
        if self._last is None:
            return f"{where}: no sample has come yet"
        return f"{where}: the last sample is {self._last.age * 1e3:.0f} ms old (allowed: {self._stale * 1e3:.0f} ms)"

    def close(self) -> None:
        """Hang up."""
        self._end = True
        self._thread.join()

    def __enter__(self) -> RobotLink:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(
    host: str, fields: Sequence[str] = FIELDS, *, port: int = rtde.PORT, rate: float = 0.0, stale: float = STALE
) -> RobotLink:
    """Listen to a robot, real or virtual, over RTDE.

    Args:
        host: its address.
        fields: RTDE outputs; those that it does not know are left out.
        port: of RTDE.
        rate: of the samples [1/s]; the robot's own by default.
        stale: age from which a sample is refused [s].

    Raises:
        LabError: nobody answers there.

    Example:
        >>> with connect("192.168.0.10", ("actual_q", "actual_current")) as link:
        ...     print(link.latest().values["actual_q"])
    """
    if not stale > 0.0:
        raise InputError(f"connect: stale must be > 0 s, got {stale}")
    return RobotLink(RtdeSource(host, fields, port=port, rate=rate), stale)
