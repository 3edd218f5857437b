# SPDX-License-Identifier: Apache-2.0
"""Faults that can be injected into what is sent: the segmentation that 004 saw, packets that are skipped, a stall."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from armwright.errors import InputError

STALL_AT = 5.0  # [s]
FIRST, LAST = 694, 62
"""004 §1.3: of a packet of 756 bytes behind a late one, 694 come at once and 62 later."""


@dataclass
class Faults:
    """What goes wrong, and how often it has.

    Attributes:
        segment: send the real-time stream of a moving arm as 756 + 694 | 62 bytes, every third packet late.
        skip: fraction of publications that are not sent to anybody, as a busy controller does.
        seed: of the skipping.
        stall: how long the controller stands still, once, `STALL_AT` seconds after its start [s].
        skipped: publications skipped so far.
    """

    segment: bool = False
    skip: float = 0.0
    seed: int = 0
    stall: float = 0.0
    skipped: int = 0
    _random: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the fraction."""
        if not 0.0 <= self.skip < 1.0:
            raise InputError(f"faults: skip must lie in [0, 1), got {self.skip}")
        if not 0.0 <= self.stall <= 60.0:
            raise InputError(f"faults: a stall of 0 to 60 s, got {self.stall}")
        self._random = np.random.default_rng(self.seed)

    def skips(self) -> bool:
        """Whether this publication is skipped."""
        lost = self.skip > 0.0 and bool(self._random.random() < self.skip)
        self.skipped += lost
        return lost


class Segmentation:
    """Packets of one stream, cut as in 004 §1.3: 1 whole, 1 held back, then held + 694 bytes, then 62."""

    def __init__(self) -> None:
        self._count, self._held, self.tail = 0, b"", b""

    def send(self, packet: bytes) -> bytes:
        """What goes out now; `tail` is to follow a moment later."""
        out, self.tail = self.tail, b""
        self._count = (self._count + 1) % 3
        if self._count == 1:
            return out + packet
        if self._count == 2:
            self._held = packet
            return out
        out += self._held + packet[:FIRST]
        self._held, self.tail = b"", packet[FIRST:]
        return out

    def flush(self) -> bytes:
        """Everything that is held back."""
        out, self._held, self.tail, self._count = self._held + self.tail, b"", b"", 0
        return out

    def rest(self) -> bytes:
        """The tail that is due, if any."""
        out, self.tail = self.tail, b""
        return out
