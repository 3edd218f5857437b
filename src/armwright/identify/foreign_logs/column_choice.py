# SPDX-License-Identifier: Apache-2.0
"""Which columns are the log: time, positions, speeds, currents or torques of the joints, in the arm's order.

Names decide here; what the numbers say comes after (`number_evidence`). What names leave open is a question, with its
readings, and never a guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from armwright.identify.foreign_logs.column_roles import (
    SIGNAL_WORDS,
    ColumnGroup,
    ColumnRole,
    groups_of,
    role_of,
    words_of,
)

UR_JOINT_ORDER = ("shoulder pan", "shoulder lift", "elbow", "wrist 1", "wrist 2", "wrist 3")
"""Joints in the order of the arm that everybody calls so; ROS writes them in the order of the alphabet."""

HOST_WORDS = frozenset(["host", "pc", "received", "receive", "recv", "arrival", "wall"])
"""Words of stamps that the computer set which wrote the rows down: they come late, unevenly, sometimes twice."""


@dataclass
class ColumnChoice:
    """Columns by signal, each a group in the arm's order, with what was noted and what is open.

    Attributes:
        time: column of the stamps, or two: seconds and nanoseconds.
        time_factor: to seconds, if its name says so.
        groups: by signal: q, qd, current, target_current, target_torque.
        kind: current, torque or effort.
        notes, questions: sentences.
    """

    time: tuple[int, ...] = ()
    time_factor: float | None = None
    groups: dict[str, ColumnGroup] = field(default_factory=dict)
    kind: str = "current"
    notes: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)


def choose(
    names: Sequence[str], words: dict[int, str], joints: Sequence[str] | None, twice: Sequence[int] = ()
) -> ColumnChoice:
    """Choose columns by their names.

    Args:
        names: of the columns.
        twice: columns that repeat an earlier one.
        words: what stands in columns of words, as ``field.name0`` does: the names of the joints.
        joints: names of the arm's joints in its order, if the arm is known.
    """
    roles = [role_of(k, name) for k, name in enumerate(names) if k not in twice]
    groups = [_renamed(group, names, words) for group in groups_of(roles)]
    out = ColumnChoice()
    _choose_time(out, roles)
    q = _best(out, groups, "q", joints)
    if q is None:
        q = _best(
            out, [replace(g, signal="q") for g in [*groups, *_bare(names, joints)] if g.signal == "?"], "q", joints
        )
        if q is not None:
            out.notes.append(f"{_named(q)} taken as positions: the file does not say of what they are")
    if q is None:
        return out
    q = _ordered(out, q, joints)
    out.groups["q"] = q
    measured = {kind: _best(out, groups, kind, joints, like=q) for kind in ("current", "torque", "effort")}
    kind = next((kind for kind, group in measured.items() if group is not None), None)
    if kind is not None:
        out.kind, out.groups["current"] = kind, measured[kind]  # type: ignore[assignment]
        left = [_named(g) for k, g in measured.items() if g is not None and k != kind]
        out.notes += [f"{text} left aside: the {kind}s are used" for text in left]
    qd = _best(out, groups, "qd", joints, like=q)
    if qd is not None:
        out.groups["qd"] = qd
    for label, signal in (("target_current", "current"), ("target_torque", "torque")):
        found = _best(out, groups, signal, joints, like=q, kind="target")
        if found is not None:
            out.groups[label] = found
    return out


def _named(group: ColumnGroup) -> str:
    return f"{group.names[0]} … {group.names[-1]}" if len(group.names) > 1 else group.names[0]


def _bare(names: Sequence[str], joints: Sequence[str] | None) -> list[ColumnGroup]:
    """Return the columns that are called like the arm's joints and nothing else: positions, as ROS tools write them."""
    wanted = {_key(name) for name in (joints or UR_JOINT_ORDER)}
    found = [(k, name) for k, name in enumerate(names) if _key(name) in wanted]
    if len(found) < len(wanted):
        return []
    keys = tuple(tuple(words_of(name)) for _, name in found)
    columns, called = tuple(k for k, _ in found), tuple(name for _, name in found)
    return [ColumnGroup("?", "measured", "", (), keys, columns, called, None)]


def _renamed(group: ColumnGroup, names: Sequence[str], words: dict[int, str]) -> ColumnGroup:
    """Call joints by the names that stand in columns of their own: field.name3 holds "elbow_joint"."""
    told = {}
    for column, word in words.items():
        parts = words_of(names[column])
        if "name" in parts and parts[-1].isdigit():
            told[parts[-1]] = word
    if not group.numbered or not all(key[0] in told for key in group.joints):
        return group
    return replace(group, joints=tuple(tuple(words_of(told[key[0]])) for key in group.joints))


def _choose_time(out: ColumnChoice, roles: Sequence[ColumnRole]) -> None:
    times = [role for role in roles if role.signal == "time" and role.kind != "other"]
    by_word = {word: [r for r in times if word in words_of(r.name)] for word in SIGNAL_WORDS["time"]}
    fine = [r for word in ("nsecs", "nanosec", "nsec") for r in by_word[word]]
    for role in fine:
        coarse = [r for word in ("secs", "sec") for r in by_word[word] if abs(r.column - role.column) <= 1]
        if coarse:
            out.time, out.time_factor = (coarse[0].column, role.column), 1.0
            out.notes.append(f"time is {coarse[0].name} with {role.name}")
            return
    rest = [role for role in times if role not in fine]
    # the device's own stamps, not those of the computer that wrote them down
    device = [r for r in rest if "header" in words_of(r.name)]
    hosts = [r for r in rest if HOST_WORDS & set(words_of(r.name)) and r not in device]
    device = device or [r for r in rest if r not in hosts]
    if device or rest:
        out.time, out.time_factor = ((device or rest)[0].column,), (device or rest)[0].factor
    if device:
        out.notes += [f"{r.name} left aside: {device[0].name} is the device's own time" for r in hosts]


def _best(
    out: ColumnChoice,
    groups: Sequence[ColumnGroup],
    signal: str,
    joints: Sequence[str] | None,
    *,
    like: ColumnGroup | None = None,
    kind: str = "measured",
) -> ColumnGroup | None:
    """Return the group of a signal; for others than positions the one that has the same joints, in their order."""
    found = [g for g in groups if g.signal == signal and g.kind == kind]
    if like is not None:
        matched = [_matched(g, like) for g in found]
        found = [g for g in matched if g is not None]
    elif joints is not None:
        found = [g for g in found if _picked(g, joints) is not None or len(g.columns) >= len(joints)]
    if len(found) < 2:
        return found[0] if found else None
    ranked = sorted(found, key=lambda g: _rank(g, signal, joints, like))
    if _rank(ranked[0], signal, joints, like) == _rank(ranked[1], signal, joints, like):
        out.questions.append(
            f"{_named(ranked[0])} and {_named(ranked[1])} may both be the {_WORDS[signal]}: which? "
            "--columns FILE names them (--explain writes one to start from)"
        )
    return ranked[0]


_WORDS = {"q": "positions", "qd": "speeds", "current": "currents", "torque": "torques", "effort": "efforts"}


def _rank(group: ColumnGroup, signal: str, joints: Sequence[str] | None, like: ColumnGroup | None) -> tuple[int, ...]:
    """Return what orders candidates: the arm's joints, the joints' side, measured words, the usual word."""
    words = {w for name in group.names for w in words_of(name)}
    arm = 0 if joints is None else int(_picked(group, joints) is None) + int(len(group.columns) != len(joints))
    side = int(bool(words & {"motor", "theta"}))
    beside = 0 if like is None else int(group.common != like.common)
    measured = int(not words & {"actual", "act", "measured", "meas"})
    usual = SIGNAL_WORDS[signal].index(group.stem) if group.stem else len(SIGNAL_WORDS[signal])
    return arm, side, -len(group.columns), measured, beside, usual


def _matched(group: ColumnGroup, like: ColumnGroup) -> ColumnGroup | None:
    """Return the columns for the joints of another group, in its order; by number if both are counted."""
    if set(like.joints) <= set(group.joints):
        at = [group.joints.index(key) for key in like.joints]
    elif group.numbered and like.numbered and len(group.columns) == len(like.columns):
        at = list(range(len(group.columns)))
    elif not like.numbered and group.numbered and len(group.columns) == len(like.columns):
        at = sorted(range(len(group.columns)), key=lambda k: int(group.joints[k][0]))
    else:
        return None
    return _taken(group, at)


def _taken(group: ColumnGroup, at: Sequence[int]) -> ColumnGroup:
    return replace(
        group,
        joints=tuple(group.joints[k] for k in at),
        columns=tuple(group.columns[k] for k in at),
        names=tuple(group.names[k] for k in at),
    )


def _key(name: str) -> str:
    return " ".join(
        w for w in words_of(name) if w not in ("joint", "j", "position", "pos", "velocity", "effort", "field")
    )


def _picked(group: ColumnGroup, joints: Sequence[str]) -> list[int] | None:
    """Return the places of the arm's joints among a group's, by name; None if a name has no match or several."""
    wanted = [set(_key(name).split()) for name in joints]
    if any(not key for key in wanted):
        return None
    have = [{w for w in key if w != "joint"} | (set(group.common) - {"joint"}) for key in group.joints]
    at = []
    for key in wanted:
        same = [k for k, other in enumerate(have) if key <= other]
        exact = [k for k in same if set(group.joints[k]) - {"joint"} <= key] or same
        if len(exact) != 1:
            return None
        at.append(exact[0])
    return at if len(set(at)) == len(at) else None


def _ordered(out: ColumnChoice, group: ColumnGroup, joints: Sequence[str] | None) -> ColumnGroup:
    """Put positions into the arm's order; say how, or ask."""
    if joints is not None:
        at = _picked(group, joints)
        if at is not None:
            if at != list(range(len(group.columns))):
                left = [group.names[k] for k in range(len(group.columns)) if k not in at]
                more = f"; not of this arm: {', '.join(left)}" if left else ""
                out.notes.append(f"columns put into the arm's order by their names{more}")
            return _taken(group, at)
        if len(group.columns) > len(joints):
            out.questions.append(
                f"{_named(group)} are {len(group.columns)} positions, the arm has {len(joints)} joints "
                f"({', '.join(joints[:3])}, …): which are they? --columns FILE names them"
            )
    chain = [
        k for part in UR_JOINT_ORDER for k, key in enumerate(group.joints) if set(part.split()) <= {*key, *group.common}
    ]
    if len(chain) == len(group.columns) == len(UR_JOINT_ORDER):
        if chain != sorted(chain):
            out.notes.append("columns put into the order of the arm: shoulder, elbow, wrists")
        return _taken(group, chain)
    called = [" ".join(key) for key in group.joints]
    if not group.numbered and len(called) > 2 and called == sorted(called) and not _counted(called):
        out.questions.append(
            f"the joints {', '.join(called)} stand in the order of the alphabet, or of the arm: "
            "--columns FILE says which"
        )
    return group


def _counted(called: Sequence[str]) -> bool:
    """Whether names count the joints: arm 1, arm 2, … with at most one other, such as a torso."""
    return sum(any(w.isdigit() for w in name.split()) for name in called) >= len(called) - 1
