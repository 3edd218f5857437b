# SPDX-License-Identifier: Apache-2.0
"""`Demand`: what is asked of the arm, cycle by cycle, as plain arrays, however they were planned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.programs.motors.motor_cycle import period
from armwright.robot.loaded_tree import PAYLOAD_SIZE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.robot.model import Robot
    from armwright.types import Array


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """Wished positions at equal times; the arm stands still at the first one when the first cycle begins.

    The wished speed of a cycle is the backward difference of the positions, as step 7 of Algorithm 1 (001) needs it; so
    positions say all.

    Attributes:
        dt: length of a cycle [s].
        q: (T + 1, n) wished positions at t = 0, Δt, …; T cycles.
        wrench: (T, 6) or (6,) what the world does to the tool during each cycle, tool origin, base axes [N, N m].
        payload: (T, 10) or (10,) load on the tool during each cycle, see `motor_cycle`; None for none.
        move: (T,) number of the move that each cycle belongs to; all 0 if omitted.
        tool: (T, 4, 4) or (4, 4) pose of the program's tool in the arm's own tool frame, where deviations are measured;
            None if they are the same. Wrench and payload stay in the arm's own.
        leaps: (T,) cycles in which the arm is set down at rest elsewhere: no motion, and nothing is asked of a motor.
            What lies between two of them is run by itself, from rest and with cold motors.
    """

    dt: float
    q: Array
    wrench: Array | None = None
    payload: Array | None = None
    move: NDArray[np.int64] | None = None
    tool: Array | None = None
    leaps: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        """Check shapes and numbers, and freeze."""
        put = object.__setattr__
        put(self, "dt", period(self.dt))
        q = _finite(self.q, "q")
        if q.ndim != 2 or len(q) < 2:
            raise InputError(f"demand: q must be (T + 1, n) with at least one cycle, got shape {q.shape}")
        put(self, "q", q)
        for name, size in (("wrench", 6), ("payload", PAYLOAD_SIZE)):
            value = getattr(self, name)
            if value is not None:
                rows = _finite(value, name)
                if rows.shape not in ((size,), (self.cycles, size)):
                    raise InputError(f"demand: {name} must be ({size},) or ({self.cycles}, {size}), got {rows.shape}")
                put(self, name, np.broadcast_to(rows, (self.cycles, size)))
        if self.tool is not None:
            poses = _finite(self.tool, "tool")
            if poses.shape not in ((4, 4), (self.cycles, 4, 4)):
                raise InputError(f"demand: tool must be (4, 4) or ({self.cycles}, 4, 4), got {poses.shape}")
            put(self, "tool", np.broadcast_to(poses, (self.cycles, 4, 4)))
        if self.payload is not None and (self.payload[:, 0] < 0.0).any():
            raise InputError("demand: the payload's mass must be ≥ 0")
        move = np.zeros(self.cycles, dtype=np.int64) if self.move is None else np.array(self.move)
        if move.shape != (self.cycles,) or move.dtype.kind not in "iu" or (move < 0).any():
            raise InputError(f"demand: move must be {self.cycles} whole numbers ≥ 0, got {move.dtype} {move.shape}")
        put(self, "move", move.astype(np.int64))
        if self.leaps is not None:
            leaps = np.array(self.leaps, dtype=bool)
            if leaps.shape != (self.cycles,):
                raise InputError(f"demand: leaps must be ({self.cycles},), got {leaps.shape}")
            put(self, "leaps", leaps if leaps.any() else None)

    @property
    def cycles(self) -> int:
        """Return the number of cycles T."""
        return len(self.q) - 1

    @property
    def n(self) -> int:
        """Return the number of joints."""
        return int(self.q.shape[1])

    @property
    def moves(self) -> NDArray[np.int64]:
        """Return (T,) the number of the move of each cycle."""
        assert self.move is not None
        return self.move

    @property
    def time(self) -> Array:
        """Return (T,) the end of each cycle [s]."""
        return np.asarray(np.arange(1, self.cycles + 1) * self.dt, dtype=np.float64)

    @property
    def ends_at_rest(self) -> bool:
        """Return whether the last step of every joint is at most a tenth of its largest one."""
        steps = np.abs(np.diff(self.q, axis=0))
        return bool((steps[-1] <= 0.1 * steps.max(axis=0)).all())

    def held(self, cycles: int) -> Demand:
        """Return the same demand followed by `cycles` more cycles at its last position."""
        if cycles < 0:
            raise InputError(f"held: cycles must be ≥ 0, got {cycles}")

        def longer(rows: NDArray[Any]) -> Any:
            return np.concatenate([rows, np.repeat(rows[-1:], cycles, axis=0)])

        return replace(self, q=longer(self.q), **{name: longer(rows) for name, rows in self._rows().items()})

    def _rows(self) -> dict[str, Any]:
        """Return what is given cycle by cycle, by name."""
        given = {name: getattr(self, name) for name in ("wrench", "payload", "move", "tool", "leaps")}
        return {name: rows for name, rows in given.items() if rows is not None}

    def parts(self) -> list[tuple[int, Demand]]:
        """Return what lies between leaps: first cycle, and a demand without leaps; parts without a cycle are left out.

        The demand itself if it has none.
        """
        if self.leaps is None:
            return [(0, self)]
        ends = [*np.flatnonzero(self.leaps).tolist(), self.cycles]
        starts = [0, *(end + 1 for end in ends[:-1])]
        return [(a, self._between(a, b)) for a, b in zip(starts, ends, strict=True) if b > a]

    def _between(self, first: int, last: int) -> Demand:
        rows = {name: rows[first:last] for name, rows in self._rows().items() if name != "leaps"}
        return replace(self, q=self.q[first : last + 1], leaps=None, **rows)

    def at_override(self, override: float) -> Demand:
        """Return the same path at another speed: time goes `override` times as fast."""
        if not (np.isfinite(override) and override > 0.0):
            raise InputError(f"override: must be finite and > 0, got {override}")
        return self._sampled(float(override), self.dt)

    def at_period(self, dt: float) -> Demand:
        """Return the same motion in cycles of another length [s]."""
        return self._sampled(period(dt) / self.dt, period(dt))

    def _sampled(self, step: float, dt: float) -> Demand:
        """Look at the motion every `step` cycles: cubics that pass the samples with the slopes of their neighbours.

        Straight lines between the samples would give back every acceleration as a train of jolts. Wrench, payload and
        move are those of the moment. A motion that ends at rest reaches its end exactly; one that does not loses what
        is left of a cycle, which would otherwise look like braking.
        """
        if self.leaps is not None:
            raise InputError("demand: it leaps over what is not known; sample its plan instead")
        whole = np.ceil(self.cycles / step - 1e-9) if self.ends_at_rest else np.floor(self.cycles / step + 1e-9)
        cycles = max(1, int(whole))
        place = np.minimum(np.arange(cycles + 1) * step, self.cycles)
        low = np.minimum(place.astype(np.int64), self.cycles - 1)
        x = (place - low)[:, None]
        slope = np.concatenate([np.zeros((1, self.n)), 0.5 * (self.q[2:] - self.q[:-2]), self.q[-1:] - self.q[-2:-1]])
        rise = self.q[low + 1] - self.q[low]
        q = self.q[low] + x * (
            slope[low]
            + x * (3.0 * rise - 2.0 * slope[low] - slope[low + 1] + x * (slope[low] + slope[low + 1] - 2.0 * rise))
        )
        q[place == self.cycles] = self.q[-1]
        during = np.clip(np.ceil(place[1:] - 1e-9).astype(np.int64) - 1, 0, self.cycles - 1)
        return replace(self, dt=dt, q=q, **{name: rows[during] for name, rows in self._rows().items()})


def fits(demand: Demand, robot: Robot) -> Demand:
    """Return the demand if it has the robot's joints."""
    if not isinstance(demand, Demand):
        raise InputError(f"demand: expected a Demand, got {type(demand).__name__}")
    if demand.n != robot.n:
        raise InputError(f"demand: it has {demand.n} joints, robot {robot.name!r} has {robot.n}")
    return demand


def _finite(value: ArrayLike, what: str) -> Array:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"demand: {what} must be numbers, got {type(value).__name__}") from error
    if not np.isfinite(array).all():
        place = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        raise InputError(f"demand: {what}{list(place)} is {array[place]}; every entry must be finite")
    array.flags.writeable = False
    return array
