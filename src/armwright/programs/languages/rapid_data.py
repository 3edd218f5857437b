# SPDX-License-Identifier: Apache-2.0
"""Data types of RAPID: what a declaration's bracketed numbers mean, and what every controller knows beforehand.

robtarget   [[x,y,z] mm, [q1,q2,q3,q4] (w, x, y, z), [cf1,cf4,cf6,cfx], [six external axes]]
jointtarget [[six angles, degrees], [six external axes]]
speeddata   [v_tcp mm/s, v_ori °/s, v_leax, v_reax]
zonedata    [finep, pzone_tcp mm, pzone_ori mm, pzone_eax, zone_ori °, zone_leax, zone_reax]
loaddata    [mass kg, [centre of mass, mm], [axes of moment, w, x, y, z], ix, iy, iz kg m²]
tooldata    [robhold, [[x,y,z],[w,x,y,z]], loaddata]
wobjdata    [robhold, ufprog, ufmec, user frame, object frame]
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from armwright.programs.languages.expression import finite
from armwright.programs.languages.program_draft import DEG, MM, Draft, joints_deg, pose_wxyz
from armwright.programs.languages.scanner import Token
from armwright.programs.program import Blend, Distance, Fraction, Joints, Payload, Pose, Speed, Stop, ToolRate
from armwright.spatial import apply, rotation_from_wxyz, sum_bodies
from armwright.types import Array

UNUSED = 9e9  # how RAPID writes an axis or a bound that is not there
NO_LOAD = 0.001  # kg, with which controllers stand for "nothing" in tool0 and load0


class Tool(NamedTuple):
    """A tool's frame in the flange, and its own weight."""

    T_flange_tool: Array
    load: Payload | None


class Parts:
    """Takes a bracketed value apart; what does not fit is an error at the place where the value begins."""

    def __init__(self, draft: Draft, at: Token) -> None:
        """Remember where errors belong."""
        self.draft, self.cursor, self.at = draft, draft.cursor, at

    def items(self, value: object, count: int, what: str) -> list[Any]:
        """Return the `count` items of a list."""
        if not isinstance(value, list):
            self.cursor.fail(f"expected {what}", at=self.at, valid=f"[…] of {count}")
        if len(value) != count:
            few = "too few" if len(value) < count else "too many"
            self.cursor.fail(f"{few} items, {len(value)}, for {what}", at=self.at, valid=f"[…] of {count}")
        return value

    def numbers(self, value: object, count: int, what: str) -> list[float]:
        """Return the `count` numbers of a list."""
        return [finite(self.cursor, item, what, self.at) for item in self.items(value, count, what)]

    def truth(self, value: object, what: str) -> bool:
        """Return a truth value."""
        if not isinstance(value, bool):
            self.cursor.fail(f"expected TRUE or FALSE for {what}", at=self.at, valid="TRUE or FALSE")
        return value

    def frame(self, value: object, what: str) -> Array:
        """Return T (4, 4) of ``[[x,y,z],[w,x,y,z]]``."""
        xyz, wxyz = self.items(value, 2, f"{what}: [position, quaternion]")
        return pose_wxyz(
            self.cursor, self.at, self.numbers(xyz, 3, f"the position of {what}"), self.numbers(wxyz, 4, "a quaternion")
        )

    def robtarget(self, value: object) -> Pose:
        """Return a place of the tool."""
        items = value if isinstance(value, list) else []
        if 2 <= len(items) < 4:
            missing = "status [cf1,cf4,cf6,cfx]" if len(items) == 2 else "external axes"
            self.cursor.fail(
                f"the robtarget lacks its {missing}", at=self.at, valid="[[xyz],[wxyz],[4 status],[6 axes]]"
            )
        xyz, wxyz, status, axes = self.items(value, 4, "a robtarget: position, quaternion, status, external axes")
        self.external(axes)
        T = self.frame([xyz, wxyz], "a robtarget")
        numbers = self.numbers(status, 4, "the status")
        if any(not n.is_integer() for n in numbers):
            self.cursor.fail("status numbers are whole", at=self.at, valid="[cf1,cf4,cf6,cfx]")
        self.draft.note(self.at.line, "the status of robtargets is kept, the branch follows by continuity", once=True)
        return Pose(T, status=tuple(int(n) for n in numbers))

    def jointtarget(self, value: object) -> Joints:
        """Return a posture."""
        robax, axes = self.items(value, 2, "a jointtarget: six angles, external axes")
        self.external(axes)
        degrees = self.numbers(robax, 6, "the six joints of a jointtarget")
        known = tuple(angle != UNUSED for angle in degrees)
        return self.cursor.located(
            self.at, joints_deg, [a if k else 0.0 for a, k in zip(degrees, known, strict=True)], known
        )

    def external(self, value: object) -> None:
        """Check external axes, which are left out."""
        if any(axis != UNUSED for axis in self.numbers(value, 6, "external axes")):
            self.draft.note(self.at.line, "external axes are left out", once=True)

    def speeddata(self, value: object) -> Speed:
        """Return how fast to move."""
        v, w, _, _ = self.numbers(value, 4, "speeddata")
        return self.cursor.located(self.at, ToolRate, v / MM, None if w == UNUSED else w * DEG)

    def zonedata(self, value: object) -> Blend:
        """Return what happens at the target."""
        items = self.items(value, 7, "zonedata")
        if self.truth(items[0], "finep"):
            return Stop()
        position, orientation, _, angle = self.numbers(items[1:5], 4, "zonedata")
        return self.cursor.located(self.at, Distance, position / MM, orientation / MM, angle * DEG)

    def loaddata(self, value: object) -> Payload | None:
        """Return a load; the centre is in whichever frame the load belongs to."""
        items = self.items(value, 6, "loaddata")
        (mass,) = self.numbers(items[:1], 1, "the mass of a load")
        com = np.array(self.numbers(items[1], 3, "the centre of mass")) / MM
        R = pose_wxyz(self.cursor, self.at, (0.0, 0.0, 0.0), self.numbers(items[2], 4, "a quaternion"))[:3, :3]
        moments = np.array(self.numbers(items[3:], 3, "moments of inertia"))
        if mass == NO_LOAD and not moments.any():
            return None
        inertia = R @ np.diag(moments) @ R.T if moments.any() else None
        return self.cursor.located(self.at, Payload, mass, com, inertia)

    def tooldata(self, value: object) -> Tool:
        """Return a tool."""
        held, frame, load = self.items(value, 3, "tooldata")
        if not self.truth(held, "robhold"):
            self.cursor.fail("tools that stand beside the arm are not followed", at=self.at, valid="robhold = TRUE")
        return Tool(self.frame(frame, "a tool"), self.loaddata(load))

    def wobjdata(self, value: object) -> Array:
        """Return a work object's frame, in the arm's base."""
        held, fixed, _, user, object_ = self.items(value, 5, "wobjdata")
        if self.truth(held, "robhold") or not self.truth(fixed, "ufprog"):
            self.cursor.fail("work objects that move are not followed", at=self.at, valid="robhold FALSE, ufprog TRUE")
        T: Array = self.frame(user, "the user frame") @ self.frame(object_, "the object frame")
        return T


TYPES = (
    "robtarget",
    "jointtarget",
    "speeddata",
    "zonedata",
    "loaddata",
    "tooldata",
    "wobjdata",
    "num",
    "bool",
    "string",
)
_ZONES = {
    0: (0.3, 0.03),
    1: (1, 0.1),
    5: (8, 0.8),
    10: (15, 1.5),
    15: (23, 2.3),
    20: (30, 3),
    30: (45, 4.5),
    40: (60, 6),
    50: (75, 7.5),
    60: (90, 9),
    80: (120, 12),
    100: (150, 15),
    150: (225, 23),
    200: (300, 30),
}
_SPEEDS = (
    5,
    10,
    20,
    30,
    40,
    50,
    60,
    80,
    100,
    150,
    200,
    300,
    400,
    500,
    600,
    800,
    1000,
    1500,
    2000,
    2500,
    3000,
    4000,
    5000,
    6000,
    7000,
)


def predefined() -> dict[str, Any]:
    """Return what every controller knows: v5 … v7000, vmax, fine, z0 … z200, tool0, wobj0, load0."""
    known: dict[str, Any] = {f"v{v}": ToolRate(v / MM, 500.0 * DEG) for v in _SPEEDS}
    for z, (orientation, angle) in _ZONES.items():
        known[f"z{z}"] = Distance((z or 0.3) / MM, orientation / MM, angle * DEG)
    return {
        **known,
        "vmax": Fraction(1.0),
        "fine": Stop(),
        "tool0": Tool(np.eye(4), None),
        "wobj0": np.eye(4),
        "load0": None,
    }


def carried(tool: Tool, grip: Payload | None) -> Payload | None:
    """Return the tool's own weight and what it grips (given in the tool's frame) as one load in the flange frame."""
    if grip is None:
        return tool.load
    T = tool.T_flange_tool
    R = T[:3, :3]
    inertia = None if grip.inertia is None else R @ grip.inertia @ R.T
    held = Payload(grip.mass, apply(T, grip.com), inertia)
    if tool.load is None:
        return held
    loads = [(p.mass, p.com, np.zeros((3, 3)) if p.inertia is None else p.inertia) for p in (tool.load, held)]
    both = sum_bodies(loads)
    return Payload(float(both.mass), both.com, both.inertia)


def turned(target: Pose, angles_deg: tuple[float, float, float], shift_mm: list[float]) -> Pose:
    """Return a target moved and turned in its own frame: RelTool, about x, then y, then z."""
    T = np.eye(4)
    T[:3, 3] = np.array(shift_mm) / MM
    for axis, angle in enumerate(angles_deg):
        half = 0.5 * angle * DEG
        wxyz = np.zeros(4)
        wxyz[0], wxyz[1 + axis] = np.cos(half), np.sin(half)
        T[:3, :3] = T[:3, :3] @ rotation_from_wxyz(wxyz)
    return Pose(target.T @ T, status=target.status)
