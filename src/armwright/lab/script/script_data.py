# SPDX-License-Identifier: Apache-2.0
"""Functions of the language that only compute: numbers, lists, poses, texts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.lab.script.script_arguments import (
    inverse_matrix,
    listed,
    matrix,
    number,
    numbers,
    pose_numbers,
    pose_of_matrix,
    text,
    whole,
)
from armwright.lab.script.script_faults import ScriptFault
from armwright.lab.script.script_values import (
    CONTAINERS,
    FLAT,
    LISTS,
    MOST_ITEMS,
    MOST_SUMMED_ITEMS,
    NUMBERS,
    PoseValue,
    Rows,
    ScriptValue,
    check_size,
    joined,
    kind_of,
    own,
    text_of,
    weight,
    with_room,
    within,
)
from armwright.spatial import euler_from_rotation, exp_so3, log_so3, pose, rotation_from_euler

if TYPE_CHECKING:
    from armwright.lab.script.script_run import ScriptRun

WHOLE_BITS = 32


def _plain(function: Callable[..., Any]) -> Callable[..., ScriptValue]:
    """Return a function of numbers."""

    def call(m: ScriptRun, *arguments: ScriptValue) -> ScriptValue:
        try:
            return within(function(*(number(value, "an argument") for value in arguments)))
        except (ValueError, ArithmeticError) as error:
            raise ScriptFault(f"value_error: {error}") from None

    return call


def _absolute(m: ScriptRun, f: ScriptValue) -> ScriptValue:
    number(f, "f")
    return within(abs(f))


def _power(m: ScriptRun, base: ScriptValue, exponent: ScriptValue) -> ScriptValue:
    """Return base to the power of exponent, never a whole number: it cannot grow without bounds."""
    try:
        made = float(number(base, "base")) ** number(exponent, "exponent")
    except (ZeroDivisionError, OverflowError) as error:
        raise ScriptFault(f"value_error: {error}") from None
    if made.__class__ is complex:
        raise ScriptFault("value_error: a root of a negative number")
    return made


def _norm(m: ScriptRun, a: ScriptValue) -> ScriptValue:
    if a.__class__ in NUMBERS:
        return within(abs(a))
    if a.__class__ not in FLAT and a.__class__ is not PoseValue:
        raise ScriptFault(f"type_error: a is a number or a list, not a {kind_of(a)}")
    if len(a) > MOST_SUMMED_ITEMS:
        raise ScriptFault(f"norm: of {MOST_SUMMED_ITEMS} items at most")
    m.work(len(a) // 4)
    return math.sqrt(math.fsum(number(item, "a") ** 2 for item in a))


def _normalize(m: ScriptRun, v: ScriptValue) -> ScriptValue:
    """Return a list by its length; one of zeros stays as it is."""
    if v.__class__ not in FLAT:
        raise ScriptFault(f"type_error: v is a list, not a {kind_of(v)}")
    size = _norm(m, v)
    return [item / size for item in v] if size else own(v)


def _length(m: ScriptRun, v: ScriptValue) -> int:
    if v.__class__ in LISTS or v.__class__ is PoseValue or v.__class__ is str:
        return len(v)
    raise ScriptFault(f"type_error: v is a list, a pose or a string, not a {kind_of(v)}")


def _size(m: ScriptRun, v: ScriptValue) -> ScriptValue:
    if v.__class__ is Rows and v and v[0].__class__ in FLAT:
        return [len(v), len(v[0])]
    return _length(m, v)


def _make_list(m: ScriptRun, length: ScriptValue, initial: ScriptValue, capacity: ScriptValue) -> ScriptValue:
    count = whole(length, "length", 0, MOST_ITEMS)
    room = whole(capacity, "capacity", 0, MOST_ITEMS) or MOST_ITEMS  # 0: it was not told
    if count > room:
        raise ScriptFault(f"value_error: a list of {count} items with a capacity of {room}")
    if count * weight(initial) > MOST_ITEMS:
        raise ScriptFault(f"out of memory: more than {MOST_ITEMS} items in one value")
    m.work(count * weight(initial) // 16)
    if initial is None:
        raise ScriptFault("type_error: a list of what has no value")
    if initial.__class__ in CONTAINERS:
        made: list[ScriptValue] = Rows([own(initial) for _ in range(count)])
        check_size(made)
    else:
        made = [initial] * count
    return made if room == MOST_ITEMS else with_room(made, room)


# --- poses ------------------------------------------------------------------------------------------------------------


def _pose_trans(m: ScriptRun, p_from: ScriptValue, p_from_to: ScriptValue) -> ScriptValue:
    return pose_of_matrix(matrix(p_from, "p_from") @ matrix(p_from_to, "p_from_to"))


def _pose_inv(m: ScriptRun, p_from: ScriptValue) -> ScriptValue:
    return pose_of_matrix(inverse_matrix(p_from, "p_from"))


def _inv(m: ScriptRun, a: ScriptValue) -> ScriptValue:
    """Return the inverse of a pose or of a square matrix."""
    if a.__class__ is PoseValue:
        return _pose_inv(m, a)
    if a.__class__ is not Rows or len(a) ** 2 > MOST_SUMMED_ITEMS:
        raise ScriptFault(f"type_error: m is a pose or a matrix, not a {kind_of(a)}")
    m.work(weight(a))
    square = np.array([numbers(row, "a row of m", len(a)) for row in a])
    try:
        made = np.linalg.inv(square)
    except np.linalg.LinAlgError:
        raise ScriptFault("value_error: this matrix has no inverse") from None
    return Rows([listed(row) for row in made])


def _pose_add(m: ScriptRun, p_1: ScriptValue, p_2: ScriptValue) -> ScriptValue:
    A, B = matrix(p_1, "p_1"), matrix(p_2, "p_2")
    return pose_of_matrix(pose(A[:3, :3] @ B[:3, :3], A[:3, 3] + B[:3, 3]))


def _pose_sub(m: ScriptRun, p_to: ScriptValue, p_from: ScriptValue) -> ScriptValue:
    A, B = matrix(p_to, "p_to"), matrix(p_from, "p_from")
    return pose_of_matrix(pose(A[:3, :3] @ B[:3, :3].T, A[:3, 3] - B[:3, 3]))


def _pose_dist(m: ScriptRun, p_from: ScriptValue, p_to: ScriptValue) -> float:
    """Return the length of what pose_sub gives, positions and rotation vector together."""
    return float(np.linalg.norm(numbers(_pose_sub(m, p_to, p_from), "p_to", 6)))


def _point_dist(m: ScriptRun, p_from: ScriptValue, p_to: ScriptValue) -> float:
    return float(np.linalg.norm(pose_numbers(p_to, "p_to")[:3] - pose_numbers(p_from, "p_from")[:3]))


def _interpolate_pose(m: ScriptRun, p_from: ScriptValue, p_to: ScriptValue, alpha: ScriptValue) -> ScriptValue:
    A, B, share = matrix(p_from, "p_from"), matrix(p_to, "p_to"), number(alpha, "alpha")
    R = A[:3, :3] @ exp_so3(share * log_so3(A[:3, :3].T @ B[:3, :3]))
    return pose_of_matrix(pose(R, (1.0 - share) * A[:3, 3] + share * B[:3, 3]))


def _rpy2rotvec(m: ScriptRun, rpy: ScriptValue) -> ScriptValue:
    return listed(log_so3(rotation_from_euler(numbers(rpy, "rpy", 3)[::-1], "zyx")))


def _rotvec2rpy(m: ScriptRun, rotvec: ScriptValue) -> ScriptValue:
    return listed(euler_from_rotation(exp_so3(numbers(rotvec, "rotvec", 3)), "zyx").angles[::-1])


def _wrench_trans(m: ScriptRun, T_from_to: ScriptValue, w_from: ScriptValue) -> ScriptValue:
    """Return a wrench, force first, at and in the axes of another frame."""
    T, w = matrix(T_from_to, "T_from_to"), numbers(w_from, "w_from", 6)
    R, force = T[:3, :3], w[:3]
    return listed(np.concatenate([R.T @ force, R.T @ (w[3:] - np.cross(T[:3, 3], force))]))


# --- texts ------------------------------------------------------------------------------------------------------------


def _str_cat(m: ScriptRun, op1: ScriptValue, op2: ScriptValue) -> str:
    first, second = _to_str(m, op1), _to_str(m, op2)
    m.work((len(first) + len(second)) // 512)
    return joined(first, second)


def _to_str(m: ScriptRun, value: ScriptValue) -> str:
    if value.__class__ in CONTAINERS:
        m.work(weight(value))
    return joined(text_of(value))


def _str_at(m: ScriptRun, src: ScriptValue, index: ScriptValue) -> str:
    return text(src, "src")[whole(index, "index", 0, max(0, len(src) - 1))]


def _str_sub(m: ScriptRun, src: ScriptValue, index: ScriptValue, count: ScriptValue) -> str:
    begin = whole(index, "index", 0, len(text(src, "src")))
    end = len(src) if count is None else begin + whole(count, "len", -1, len(src))
    return text(src, "src")[begin : len(src) if end < begin else end]


def _str_find(m: ScriptRun, src: ScriptValue, target: ScriptValue, start: ScriptValue) -> int:
    m.work(len(text(src, "src")) // 256)
    return src.find(text(target, "target"), whole(start, "start_from", 0, len(src)))


def _to_num(m: ScriptRun, value: ScriptValue) -> ScriptValue:
    said = text(value, "str").strip()
    if len(said) <= 40 and said.isascii():
        try:
            return within(int(said)) if said.lstrip("+-").isdigit() else number(float(said), "str")
        except ValueError:
            pass
    raise ScriptFault(f"value_error: {said[:40]!r} is no number")


def _to_bits(m: ScriptRun, x: ScriptValue) -> ScriptValue:
    value = whole(x, "x", -(2**31), 2**31 - 1) & 0xFFFFFFFF
    return [bool(value >> k & 1) for k in range(WHOLE_BITS)]


def _from_bits(m: ScriptRun, bits: ScriptValue) -> int:
    """Return the whole number of at most 32 bits, the least first."""
    if bits.__class__ not in FLAT or len(bits) > WHOLE_BITS or not all(b.__class__ is bool for b in bits):
        raise ScriptFault(f"type_error: l is a list of at most {WHOLE_BITS} booleans")
    value = sum(bit << k for k, bit in enumerate(bits))
    return value - 2**32 if value >= 2**31 else value


def _assert(m: ScriptRun, expression: ScriptValue) -> None:
    if expression is not True:
        raise ScriptFault("assertion failed")


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "acos": _plain(math.acos),
    "asin": _plain(math.asin),
    "atan": _plain(math.atan),
    "atan2": _plain(math.atan2),
    "cos": _plain(math.cos),
    "sin": _plain(math.sin),
    "tan": _plain(math.tan),
    "sqrt": _plain(math.sqrt),
    "log": _plain(lambda base, f: math.log(f, base)),
    "ceil": _plain(math.ceil),
    "floor": _plain(math.floor),
    "round": _plain(lambda f: math.floor(f + 0.5)),
    "d2r": _plain(math.radians),
    "r2d": _plain(math.degrees),
    "abs": _absolute,
    "pow": _power,
    "norm": _norm,
    "normalize": _normalize,
    "length": _length,
    "size": _size,
    "get_list_length": _length,
    "make_list": _make_list,
    "pose_trans": _pose_trans,
    "pose_inv": _pose_inv,
    "inv": _inv,
    "pose_add": _pose_add,
    "pose_sub": _pose_sub,
    "pose_dist": _pose_dist,
    "point_dist": _point_dist,
    "interpolate_pose": _interpolate_pose,
    "rpy2rotvec": _rpy2rotvec,
    "rotvec2rpy": _rotvec2rpy,
    "wrench_trans": _wrench_trans,
    "str_cat": _str_cat,
    "to_str": _to_str,
    "str_len": lambda m, said: len(text(said, "str")),
    "str_empty": lambda m, said: not text(said, "str"),
    "str_at": _str_at,
    "str_sub": _str_sub,
    "str_find": _str_find,
    "to_num": _to_num,
    "integer_to_binary_list": _to_bits,
    "binary_list_to_integer": _from_bits,
    "random": lambda m: float(m.random.random()),
    "assert": _assert,
}
