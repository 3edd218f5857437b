# SPDX-License-Identifier: Apache-2.0
"""What the tab Recordings opens: recordings, logs of any program that `identify` reads, and samples of the arm."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.errors import ArmwrightError, ArmwrightWarning, InputError
from armwright.recording.formats import load as load_recording
from armwright.recording.recording import Recording
from armwright.recording.signals import Signal

if TYPE_CHECKING:
    from armwright.identify.current_log import Log
    from armwright.robot.model import Robot
    from armwright.types import Traced

TABLES = (".csv", ".txt", ".tsv", ".dat", ".parquet", ".mcap")  # may be a log of another program


class Opened(NamedTuple):
    """A recording, and what was understood of a file that is none of ours ("" of one that is)."""

    recording: Recording
    account: str = ""


def opened(
    file: Path, robot: Robot, *, rate: float | None = None, angles: str | None = None, effort: str | None = None
) -> Opened:
    """Read a recording or a log; a log with as many joints as `robot` is taken for one of that arm.

    Args:
        file: what was sent.
        robot: the arm on the page.
        rate: rows a second of a log without a time.
        angles: "radians" or "degrees", where a log does not say.
        effort: "current" or "torque", likewise.

    Raises:
        InputError: it is neither; both reasons are told.
    """
    own = file.with_name(f"{file.name}.meta").exists() or file.suffix.lower() not in TABLES
    try:
        if own or file.suffix.lower() in (".parquet", ".mcap"):
            return Opened(load_recording(file))
    except ArmwrightError as error:
        if own:
            raise
        reason = str(error)
    else:
        reason = f"{file.name}.meta would have to come with it"
    from armwright.identify.log_reader import read_log

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ArmwrightWarning)  # the account says it
            log = read_log(file, rate=rate, angles=angles, effort=effort)
    except ArmwrightError as error:
        raise InputError(f"{file.name}: no recording of ours ({reason}), and as a log: {error}") from error
    return Opened(recording_of(log, robot), log.account or "a log")


def recording_of(log: Log, robot: Robot) -> Recording:
    """Return a log as a recording; without the arm where its joints are not as many."""
    n = log.q.shape[1]
    known = robot if robot.n == n else None
    labels = tuple(f"joint {k + 1}" if known is None else robot.joints[k].name for k in range(n))
    turns = known is None or all(joint.kind == "revolute" for joint in known.joints)
    what, unit = {"torque": ("tau", "N m"), "current": ("current", "A")}.get(log.kind, ("effort", ""))
    signals = {
        "q": Signal(log.q, "rad" if turns else "", labels),
        "qd": Signal(log.qd, "rad/s" if turns else "", labels),
        what: Signal(log.current, unit, labels),
    }
    for name, values, of in (("target_current", log.target_current, "A"), ("target_torque", log.target_torque, "N m")):
        if values is not None:
            signals[name] = Signal(values, of, labels)
    return Recording(log.t, signals, robot=known, settings={"log": log.name}, outcome="a log")


class SampleRecording(NamedTuple):
    """Something to begin with: its title, and seconds."""

    title: str
    seconds: float


SAMPLES = {
    "fall": SampleRecording("the arm falls freely from a bent posture", 1.5),
    "sway": SampleRecording("a motion of rest to rest under computed torque, with motors' rotors", 2.0),
    "push": SampleRecording("the same, pushed at the tool; tau_ext is what an observer feels", 2.0),
}


def sample(robot: Robot, name: str) -> Recording:
    """Simulate a sample with this arm.

    Raises:
        InputError: there is no such sample, or the arm has no inertia.
    """
    from armwright.contact.observers import momentum_observer
    from armwright.control import computed_torque
    from armwright.motion import quintic
    from armwright.simulation import simulate
    from armwright.simulation.pulled_link import posture

    if name not in SAMPLES:
        raise InputError(f"sample: {name!r:.60} is unknown; there are {', '.join(SAMPLES)}")
    arm, q = robot.with_rotors(0.02 * max(sum(body.mass for body in robot.bodies), 0.05) / 4.0), posture(robot)
    if name == "fall":
        return simulate(arm, None, None, SAMPLES[name].seconds, q0=q, every=5)
    way = quintic(q, np.clip(q + 0.4, robot.lower, robot.upper), 1.5)
    law, seconds = computed_torque(100.0, 20.0), SAMPLES[name].seconds
    if name == "sway":
        return simulate(arm, law, way, seconds, every=5)
    weight = 0.2 * 9.81 * sum(body.mass for body in robot.bodies)

    def push(t: Traced) -> Traced:
        return np.array([0.0, weight, 0.0, 0.0, 0.0, 0.0]) * np.where((t > 0.5) & (t < 0.9), 1.0, 0.0)

    return simulate(arm, law, way, seconds, wrench=push, monitors=[momentum_observer(50.0)], every=5)
