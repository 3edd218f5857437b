# SPDX-License-Identifier: Apache-2.0
"""What a column's name says: which signal, of which joint, in which unit, measured or commanded.

A name is cut into words: ``state.dq[3]``, ``actual_qd_3``, ``- arm_3_joint_velocity`` and ``field.velocity3`` are
all the speed of a joint. What is left of the words when those of the signal are taken out says whose it is. Commanded,
estimated and Cartesian quantities are never taken for measured ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


SIGNAL_WORDS: dict[str, tuple[str, ...]] = {
    signal: tuple(words.split())
    for signal, words in {
        "time": "t time timestamp stamp secs sec seconds nsecs nanosec nsec elapsed clock",
        "qd": "qd dq qdot dqdt vel velocity velocities speed speeds omega thetadot dtheta jv",
        "qdd": "qdd ddq qddot acc accel acceleration accelerations ddtheta jerk",
        "current": "current currents curr cur amp amps ampere iq i",
        "torque": "torque torques tau moment trq tq nm",
        "effort": "effort efforts eff load",
        "q": "q pos position positions angle angles theta jp ang",
    }.items()
}
"""Words of each signal; the first signal with a word in a name has it, in this order."""
COMMANDED = _set("target cmd command commanded commands des desired ref reference setpoint goal want sp")
DERIVED = _set(
    """ext external hat est estimated filtered filt err error errors gravity grav coriolis model predicted pred friction
    residual contact min max limit limits rate factor control delta diff deviation std mean dtau"""
)
CARTESIAN = _set(
    """tcp pose x y z rx ry rz cart cartesian ee eef tool flange wrench force forces fx fy fz tx ty tz mx my mz ft o k
    roll pitch yaw quat qx qy qz qw twist gripper finger fingers temp temperature temperatures voltage voltages mode
    status digital analog momentum power base camera linear angular imu frame seq success wheel battery index id
    orientation quaternion"""
)
JOINT_WORDS = _set(
    """joint joints j axis ax a actual act meas measured state field robot msg data motor link
    raw read real arm"""
)
_DEGREE = np.pi / 180.0
UNITS_IN_NAMES: dict[str, tuple[str, float]] = {
    word: (signal, factor)
    for words, signal, factor in (
        ("s sec", "time", 1.0),
        ("ms msec", "time", 1e-3),
        ("us µs usec", "time", 1e-6),
        ("ns nsec nsecs nanosec", "time", 1e-9),
        ("rad radians", "q", 1.0),
        ("deg ° degree degrees", "q", _DEGREE),
        ("rad/s", "qd", 1.0),
        ("deg/s °/s", "qd", _DEGREE),
        ("a", "current", 1.0),
        ("ma", "current", 1e-3),
        ("nm n·m n.m n*m", "torque", 1.0),
        ("mnm", "torque", 1e-3),
    )
    for word in words.split()
}
"""Units in brackets or at the end of a name: signal they belong to, factor to SI."""
_TAIL_UNITS = {"ms", "us", "ns", "deg", "rad", "nsecs", "nanosec", "degrees", "degree", "nsec", "ma"}


@dataclass(frozen=True)
class ColumnRole:
    """What a column's name says.

    Attributes:
        column: its number.
        name: as it stands in the file.
        signal: time, q, qd, qdd, current, torque, effort; "" if none is recognised.
        whose: what says which joint: words, and numbers as text.
        kind: measured, target, or other (estimated, Cartesian, of a gripper).
        factor: to SI, if the name has a unit; else None.
        stem: the word that told the signal.
    """

    column: int
    name: str
    signal: str
    whose: tuple[str, ...]
    kind: str
    factor: float | None
    stem: str = ""


def words_of(name: str) -> list[str]:
    """Cut a name into lower-case words and numbers."""
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    text = re.sub(r"([A-Za-z])(\d)", r"\1 \2", text)
    text = re.sub(r"(\d)([A-Za-z])", r"\1 \2", text)
    return [word for word in re.split(r"[^A-Za-z0-9°µ]+", text.lower()) if word]


def role_of(column: int, name: str) -> ColumnRole:
    """Say what a column's name says."""
    factor, bare = None, name
    bracket = re.search(r"[\[(]\s*([^\])\d][^\])]*?)\s*[\])]", name)
    if bracket and bracket[1].lower() in UNITS_IN_NAMES:
        factor, bare = UNITS_IN_NAMES[bracket[1].lower()][1], name[: bracket.start()] + name[bracket.end() :]
    words = words_of(bare)
    told = set(words)
    if len(words) > 1 and words[-1] in _TAIL_UNITS:
        factor = UNITS_IN_NAMES[words[-1]][1] if factor is None else factor
        words = words[:-1] if words[-1] not in SIGNAL_WORDS["time"] else words
    signal = next((s for s, own in SIGNAL_WORDS.items() if any(w in own for w in words)), "")
    if signal == "time" and any(
        w in own for s, own in SIGNAL_WORDS.items() if s not in ("time", "current") for w in words
    ):
        signal = next(s for s, own in SIGNAL_WORDS.items() if s != "time" and any(w in own for w in words))
    if signal == "q" and "dot" in words:
        signal = "qdd" if words.count("dot") > 1 or "ddot" in words else "qd"
    if signal == "q" and len(words) > 1 and words[0] in ("d", "dd"):  # D_Theta_1
        signal, words = {"d": "qd", "dd": "qdd"}[words[0]], words[1:]
    commanded = told & COMMANDED or _libfranka_target(words)
    other = told & DERIVED or told & CARTESIAN
    kind = "other" if other else "target" if commanded else "measured"
    own = {w for s in {signal, "q"} for w in SIGNAL_WORDS.get(s, ())} | COMMANDED | {"dot"}
    whose = tuple(w for w in words if w not in own)
    if (
        not signal
        and kind == "measured"
        and re.fullmatch(r"[A-Za-z]+[ _.]?\d", bare.strip())
        and words[0] in JOINT_WORDS
    ):
        signal = "?"  # J1, A1, joint_1: of what, the file does not say
    stem = next((w for w in SIGNAL_WORDS.get(signal, ()) if w in words), "")
    return ColumnRole(column, name, signal, whose, kind, factor, stem)


def _libfranka_target(words: Sequence[str]) -> bool:
    """Whether a name is libfranka's word for what is desired: q_d, dq_d, tau_J_d."""
    letters = [w for w in words if not w.isdigit()]
    return len(letters) > 1 and letters[-1] == "d" and letters[-2] in ("q", "dq", "ddq", "j", "tau")


@dataclass(frozen=True)
class ColumnGroup:
    """Columns that are one signal of several joints: how they are called in common, and by joint.

    Attributes:
        signal, kind: as in `ColumnRole`.
        stem: the word of their names that tells the signal.
        common: words that all their names share.
        joints: what tells their joints apart, in the order of the columns.
        columns: their numbers.
        names: as they stand in the file.
        factor: to SI, if the names have a unit; else None.
    """

    signal: str
    kind: str
    stem: str
    common: tuple[str, ...]
    joints: tuple[tuple[str, ...], ...]
    columns: tuple[int, ...]
    names: tuple[str, ...]
    factor: float | None

    @property
    def numbered(self) -> bool:
        """Return whether joints are told apart by a number alone."""
        return all(len(key) == 1 and key[0].isdigit() for key in self.joints)


def groups_of(roles: Sequence[ColumnRole]) -> list[ColumnGroup]:
    """Gather columns of joints into signals: those whose names differ in the words for the joint alone."""
    out: list[ColumnGroup] = []
    by: dict[tuple[str, ...], list[ColumnRole]] = {}
    for role in roles:
        if role.signal in ("", "time"):
            continue
        digits = [w for w in role.whose if w.isdigit()]
        letters = tuple(w for w in role.whose if not w.isdigit())
        by.setdefault((role.signal, role.kind, role.stem, *(letters if len(digits) == 1 else ("*",))), []).append(role)
    loose: dict[tuple[str, str, str], list[ColumnRole]] = {}
    for key, found in by.items():
        numbers = [tuple(w for w in role.whose if w.isdigit()) for role in found]
        if key[3:] != ("*",) and len(found) > 1 and len(set(numbers)) == len(numbers):
            out.append(_group(found, numbers, key[3:]))
        else:
            loose.setdefault(key[:3], []).extend(found)  # type: ignore[arg-type]
    for found in loose.values():  # told apart by words: shoulder_pan, elbow, arm_1, torso_lift
        merged = _with_numbered(out, found)
        if len({role.whose for role in merged}) == len(merged):
            out.append(_group(merged, [role.whose for role in merged], ()))
    return sorted(out, key=lambda group: min(group.columns))


def _with_numbered(out: list[ColumnGroup], found: list[ColumnRole]) -> list[ColumnRole]:
    """Add numbered columns of the same signal: torso_lift_joint beside arm_1_joint … arm_7_joint."""
    beside = [g for g in out if (g.signal, g.kind, g.stem) == (found[0].signal, found[0].kind, found[0].stem)]
    beside = [g for g in beside if set(g.common) - (JOINT_WORDS - {"arm"})]  # q1 … q6 are no part of anything
    for group in beside:
        out.remove(group)
    columns = [(c, n) for g in beside for c, n in zip(g.columns, g.names, strict=True)]
    return sorted([*found, *(role_of(c, n) for c, n in columns)], key=lambda role: role.column)


def _group(found: list[ColumnRole], keys: list[tuple[str, ...]], common: tuple[str, ...]) -> ColumnGroup:
    factors = {role.factor for role in found}
    shared = set(keys[0]).intersection(*keys) if len(keys) > 1 else set()
    bare = [tuple(w for w in key if w not in shared) for key in keys]
    numbered = all(len(key) == 1 and key[0].isdigit() for key in bare)
    order = sorted(range(len(found)), key=lambda k: int(bare[k][0])) if numbered else list(range(len(found)))
    return ColumnGroup(
        found[0].signal,
        found[0].kind,
        found[0].stem,
        common or tuple(sorted(shared)),
        tuple(bare[k] for k in order),
        tuple(found[k].column for k in order),
        tuple(found[k].name for k in order),
        factors.pop() if len(factors) == 1 else None,
    )
