# SPDX-License-Identifier: Apache-2.0
"""Samples of a stream, and where they come from: a controller's messages, a recording, arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.programs.motors.demand import Demand
    from armwright.recording.recording import Recording


class Sample(NamedTuple):
    """One message of a stream.

    Attributes:
        t: time that it speaks of [s].
        q: wished position at t (n,) [rad or m].
        wrench: (6,) what the world does to the tool, if the monitor was made for it.
        payload: (10,), likewise.
        measured: where the arm was and how fast at t − Δt, (q, q̇), each (n,): the cycle then starts there instead of
            where the model is.
        arrived: when it came [s], same clock as t; gives its age.
    """

    t: float
    q: Any
    wrench: Any = None
    payload: Any = None
    measured: tuple[Any, Any] | None = None
    arrived: float | None = None


def samples_of_demand(demand: Demand, start: float = 0.0) -> Iterator[Sample]:
    """The samples that a controller would send for a demand, on time."""
    yield Sample(start, demand.q[0])
    for k in range(demand.cycles):
        wrench = None if demand.wrench is None else demand.wrench[k]
        payload = None if demand.payload is None else demand.payload[k]
        yield Sample(start + (k + 1) * demand.dt, demand.q[k + 1], wrench, payload)


def samples_of_recording(recording: Recording, signal: str = "q_ref") -> Iterator[Sample]:
    """The samples of a recording: its times, and the wished positions of `signal` (T, n)."""
    if signal not in recording.signals:
        raise InputError(f"recording: no signal {signal!r}; it has {', '.join(recording.signals)}")
    for t, q in zip(recording.time, recording[signal], strict=True):
        yield Sample(float(t), q)


def sample_of_message(
    message: Mapping[str, Any], *, t: str = "timestamp", q: str = "target_q", arrived: str | None = None
) -> Sample:
    """A sample from a controller's message by field names; the defaults are those of Universal Robots' RTDE."""
    missing = [name for name in (t, q) if name not in message]
    if missing:
        raise InputError(f"message: no field {', '.join(missing)}; it has {', '.join(message)}")
    came = message.get(arrived) if arrived else None
    return Sample(float(message[t]), np.asarray(message[q], dtype=np.float64), arrived=came)


def as_sample(value: Sample | Mapping[str, Any] | Sequence[Any]) -> Sample:
    """Take a sample, a message with RTDE's names, or a tuple (t, q, …)."""
    if isinstance(value, Sample):
        return value
    return sample_of_message(value) if isinstance(value, Mapping) else Sample(*value)
