# SPDX-License-Identifier: Apache-2.0
"""KRL's values: aggregates such as ``{X 100, Y 0, Z 50, A 0, B 90, C 0, S 2, T 10}``, targets, and system variables.

Millimetres and degrees; A, B, C mean R = Rz(A) Ry(B) Rx(C). Components that an aggregate leaves out keep the value of
the last target, as in the language.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from armwright.programs.languages.expression import Scope, evaluate, finite
from armwright.programs.languages.program_draft import DEG, MM, PERCENT, Draft, joints_deg, pose_abc
from armwright.programs.languages.scanner import Cursor, Token
from armwright.programs.program import (
    Blend,
    BySpeed,
    Distance,
    Fraction,
    Joints,
    Payload,
    Pose,
    Share,
    Stop,
    ToolRate,
)
from armwright.types import Array

Aggregate = dict[str, Any]
AXES = tuple(f"a{i}" for i in range(1, 7))
PLACE = ("x", "y", "z", "a", "b", "c")
KEYS = {*AXES, *PLACE, "s", "t", *(f"e{i}" for i in range(1, 7)), "m", "cm", "j"}
NUMERIC = (
    "$vel.cp",
    "$acc.cp",
    "$vel.ori1",
    "$acc.ori1",
    "$vel.ori2",
    "$acc.ori2",
    "$apo.cdis",
    "$apo.cori",
    "$apo.cvel",
    "$apo.cptp",
    "$advance",
    "$ov_pro",
)
ENUMS = {"$ori_type": ("#var", "#constant", "#joint"), "$circ_type": ("#base", "#path")}
FRAMES = ("$tool", "$base", "$load")
ARRAYS = ("$vel_axis", "$acc_axis")
BLENDS = ("c_ptp", "c_dis", "c_ori", "c_vel")
C_PTP_PERCENT = 50.0  # percent, used where $APO.CPTP was not set


def aggregate(cursor: Cursor, scope: Scope) -> Aggregate:
    """Read ``{[type:] KEY value, …}``."""
    opening = cursor.expect("{")
    cursor.deeper()
    if cursor.word.kind == "name" and cursor.ahead().key == ":":
        cursor.take(), cursor.take()
    found: Aggregate = {}
    while not cursor.at("}"):
        if found:
            cursor.expect(",")
        key = cursor.expect_name("a component")
        if key.key not in KEYS:
            cursor.unknown("unknown component", [k.upper() for k in KEYS], at=key)
        if key.key in found:
            cursor.fail(f"{key.text} is given twice", at=key, valid="each component once")
        at = cursor.word
        value = evaluate(cursor, scope, f"a value for {key.text}")
        found[key.key] = value if isinstance(value, dict) else finite(cursor, value, f"a number for {key.text}", at)
    if not found:
        cursor.fail("an aggregate without components", at=opening, valid="{X …, Y …, Z …, A …, B …, C …} or {A1 …, …}")
    cursor.higher()
    cursor.take()
    return found


class Machine:
    """State of the controller while a program is read: system variables and the last target."""

    def __init__(self, draft: Draft) -> None:
        """Begin with what a controller has after a cold start, as far as it matters here."""
        self.draft, self.cursor = draft, draft.cursor
        self.system: dict[str, Any] = {"$ori_type": "#var", "$circ_type": "#base"}
        self.axes = {name: [100.0] * 6 for name in ARRAYS}
        self.place: dict[str, float] = {}
        self.posture: dict[str, float] = {}
        self.tool: Array | None = None
        self.base: Array = np.eye(4)
        self.payload: Payload | None = None

    # --- targets ------------------------------------------------------------------------------------------------------

    def target(self, value: Aggregate, at: Token, *, relative: bool = False, arc: bool = False) -> Joints | Pose:
        """Return the target that an aggregate means, and remember it as the last one."""
        if any(key in value for key in AXES):
            if any(key in value for key in PLACE):
                self.cursor.fail("a target has axes or a place, not both", at=at, valid="{A1 …} or {X …}")
            return self.joints(value, at, relative)
        if not any(key in value for key in PLACE):
            self.cursor.fail("a target without axes and place", at=at, valid="{A1 …} or {X …, Y …, Z …}")
        return self.pose(value, at, relative, arc)

    def joints(self, value: Aggregate, at: Token, relative: bool) -> Joints:
        """Return a posture; axes that are not given keep their value."""
        given = {key: self.amount(value[key], key, at) for key in AXES if key in value}
        if relative:
            missing = [key.upper() for key in given if key not in self.posture]
            if missing:
                self.cursor.fail(f"relative to an unknown {', '.join(missing)}", at=at, valid="a PTP to axes before it")
            given = {key: self.posture[key] + angle for key, angle in given.items()}
        self.posture = {**self.posture, **given}
        self.place = {}
        known = tuple(key in given for key in AXES)
        return self.cursor.located(at, joints_deg, [given.get(key, 0.0) for key in AXES], known)

    def via(self, value: Aggregate, at: Token, relative: bool) -> Pose:
        """Return the point on a circle: only its position counts, and it does not become the last target."""
        if any(key in value for key in AXES):
            self.cursor.fail("the point on the circle is a place, not axes", at=at, valid="{X …, Y …, Z …}")
        given = self.components(value, at, relative)
        return Pose(pose_abc([given[key] for key in ("x", "y", "z")], [0.0, 0.0, 0.0]), oriented=False)

    def components(self, value: Aggregate, at: Token, relative: bool) -> dict[str, float]:
        """Return X, Y, Z and, if known, A, B, C; those that are not given keep their value."""
        given = {key: self.amount(value[key], key, at) for key in PLACE if key in value}
        if relative:
            if not self.place:
                self.cursor.fail("relative to an unknown place", at=at, valid="a move to a place before it")
            given = {key: self.place.get(key, 0.0) + given.get(key, 0.0) for key in self.place}
        else:
            given = {**self.place, **given}
        missing = [key.upper() for key in ("x", "y", "z") if key not in given]
        if missing:
            self.cursor.fail(
                f"the target lacks {', '.join(missing)}, and no move before it says them",
                at=at,
                valid="{X …, Y …, Z …, A …, B …, C …}",
            )
        return given

    def pose(self, value: Aggregate, at: Token, relative: bool, arc: bool) -> Pose:
        """Return a place; components that are not given keep their value."""
        given = self.components(value, at, relative)
        angles = [key for key in ("a", "b", "c") if key in given]
        if 0 < len(angles) < 3:
            self.cursor.fail("an orientation needs A, B and C", at=at, valid="all three, or none")
        self.place, self.posture = given, {}
        oriented = bool(angles) and not self.ignores_target(value, arc)
        if not angles and self.system["$ori_type"] == "#var":
            self.cursor.fail(
                "the target has no orientation, and no move before it says one",
                at=at,
                valid="A, B, C, or $ORI_TYPE = #CONSTANT",
            )
        status = tuple(int(value[key]) for key in ("s", "t") if key in value)
        if status:
            self.draft.note(at.line, "S and T are kept, the branch follows by continuity", once=True)
        abc = [given[key] for key in ("a", "b", "c")] if angles else [0.0, 0.0, 0.0]
        return Pose(pose_abc([given[key] for key in ("x", "y", "z")], abc), oriented=oriented, status=status)

    def ignores_target(self, value: Aggregate, arc: bool) -> bool:
        """Return whether the orientation of a target is not used: none was written, or the arc keeps its own."""
        if self.system["$ori_type"] != "#constant":
            return False
        return "a" not in value or (arc and self.system["$circ_type"] == "#path")

    def amount(self, value: object, key: str, at: Token) -> float:
        """Return one component as a number."""
        return finite(self.cursor, value, f"a number for {key.upper()}", at)

    # --- system variables ---------------------------------------------------------------------------------------------

    def assign(self, name: Token, value: object, at: Token) -> None:
        """Set a system variable."""
        if name.key in NUMERIC:
            self.system[name.key] = finite(self.cursor, value, f"a number for {name.text}", at)
        elif name.key in ENUMS:
            if value not in ENUMS[name.key]:
                self.cursor.fail(f"{name.text} has no such value", at=at, valid=", ".join(ENUMS[name.key]).upper())
            self.system[name.key] = value
        elif not isinstance(value, dict):
            self.cursor.fail(f"{name.text} needs an aggregate that stands in this file", at=at, valid="{X …, …, C …}")
        elif name.key == "$load":
            self.payload = self.load(value, at)
        else:
            T = self.frame(value, at)
            self.place = {}  # the last target is another place in the new frame
            if name.key == "$tool":
                self.tool = T
            else:
                self.base = T

    def frame(self, value: Aggregate, at: Token) -> Array:
        """Return T (4, 4) of a frame; components that are not given are 0."""
        numbers = [self.amount(value.get(key, 0.0), key, at) for key in PLACE]
        return pose_abc(numbers[:3], numbers[3:])

    def load(self, value: Aggregate, at: Token) -> Payload | None:
        """Return a load {M kg, CM {X mm, …}, J {X, Y, Z kg m²}} in the flange frame; M -1 means none."""
        mass = self.amount(value.get("m", -1.0), "m", at)
        if mass == -1.0:
            return None
        centre, moments = value.get("cm", {}), value.get("j", {})
        for part in (centre, moments):
            if not isinstance(part, dict):
                self.cursor.fail("CM and J are aggregates", at=at, valid="{M …, CM {X …, Y …, Z …}, J {X …, Y …, Z …}}")
        T = self.frame(centre, at)
        J = np.diag([self.amount(moments.get(key, 0.0), key, at) for key in ("x", "y", "z")])
        inertia = T[:3, :3] @ J @ T[:3, :3].T if J.any() else None
        return self.cursor.located(at, Payload, mass, T[:3, 3], inertia)

    # --- how a move runs ----------------------------------------------------------------------------------------------

    def share(self, name: str, at: Token) -> Fraction:
        """Return the share of the axes' speed or acceleration; all must have the same."""
        values = set(self.axes[name])
        if len(values) != 1:
            self.cursor.fail(
                f"the axes have different values in {name.upper()}[]", at=at, valid="one value for all axes"
            )
        return self.cursor.located(at, Fraction, values.pop() / PERCENT)

    def rate(self, name: str, at: Token) -> ToolRate:
        """Return the tool's speed (``$vel``) or acceleration (``$acc``)."""
        if f"{name}.cp" not in self.system:
            self.cursor.fail(f"{name.upper()}.CP was not set before this move", at=at, valid=f"{name.upper()}.CP = …")
        turning = self.system.get(f"{name}.ori1")
        return self.cursor.located(at, ToolRate, self.system[f"{name}.cp"], None if turning is None else turning * DEG)

    def acceleration(self, at: Token) -> ToolRate | Fraction:
        """Return the tool's acceleration; all that the arm can do where none was set."""
        return self.rate("$acc", at) if "$acc.cp" in self.system else Fraction(1.0)

    def blend(self, word: Token | None) -> Blend:
        """Return what a word after the target means."""
        if word is None:
            return Stop()
        size = self.system.get({"c_ptp": "$apo.cptp", "c_vel": "$apo.cvel"}.get(word.key, "$apo.cdis"))
        if word.key == "c_ptp" and size is None:
            size = C_PTP_PERCENT
            self.draft.note(word.line, f"$APO.CPTP is not set: {C_PTP_PERCENT:g} % is assumed", once=True)
        if not size:
            self.draft.note(word.line, f"{word.text} without a size ($APO): the arm stops at the target", once=True)
            return Stop()
        if word.key == "c_ptp":
            return self.cursor.located(word, Share, size / PERCENT)
        if word.key == "c_vel":
            return self.cursor.located(word, BySpeed, size / PERCENT)
        angle = self.system.get("$apo.cori") if word.key == "c_ori" else None
        return self.cursor.located(word, Distance, size / MM, None, None if angle is None else angle * DEG)
