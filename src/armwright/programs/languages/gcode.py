# SPDX-License-Identifier: Apache-2.0
"""G-code, the part that moves a tool: one block per line, letters with numbers; ``(…)`` and ``;`` hold comments.

    G0        rapid, read as a joint move at full speed        G20, G21   inches, millimetres (one of them is required)
    G1        line at F                                        G61, G61.1 stop at every target (also the default)
    G2, G3    arc, clockwise and counter-clockwise, by         G64        pass targets at speed, without rounding
              I, J, K (from its start) or R                    G64 P…     round corners within P
    G4 P…     wait, seconds                                    G90, G91   absolute, incremental
    G17–G19   plane of arcs: XY, ZX, YZ                        M2, M30    end
    G68.2 X Y Z I J K  tilted frame: origin, then Rz(I) Rx(J) Rz(K); G69 back to the base

F is length per minute. A, B, C are turns about X, Y, Z in degrees, R = Rz(C) Ry(B) Rx(A); without them the tool keeps
its orientation. There are no joint targets, tools or loads in the language.

An arc lies in a plane and is given by centre or by radius; `arc_by_centre` and `arc_by_radius` return its
middle. `read_gcode` reads a program.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.programs.languages.program_draft import DEG, MM, Draft
from armwright.programs.languages.scanner import Cursor, Lexicon, Token
from armwright.programs.program import Blend, Distance, Duration, Fraction, Pose, Program, Stop, Tangent, ToolRate
from armwright.spatial import euler_from_rotation, inverse, pose, rotation_from_euler

if TYPE_CHECKING:
    from armwright.types import Array

PLANES = {"G17": (0, 1, 2), "G18": (2, 0, 1), "G19": (1, 2, 0)}
"""Plane → its first and second axis and its normal, right-handed."""
ARC_RADIUS_TOLERANCE = (
    2e-5  # m: how far start and end may differ in their distance to the centre, as programs are rounded
)
ARC_PLANE_TOLERANCE = 1e-9  # m: how far an arc may leave its plane


def arc_by_centre(cursor: Cursor, at: Token, p: Array, q: Array, offset: Array, plane: str, clockwise: bool) -> Array:
    """Return the middle (3,) [m] of the arc from p to q about ``p + offset``."""
    u, v, w = PLANES[plane]
    _check_flat(cursor, at, p, q, w, plane)
    centre = p + offset
    radius, other = (math.hypot(x[u] - centre[u], x[v] - centre[v]) for x in (p, q))
    if radius < ARC_RADIUS_TOLERANCE:
        cursor.fail("an arc without a radius", at=at, valid=f"{'XYZ'[u]}, {'XYZ'[v]} and two of I, J, K")
    if abs(radius - other) > ARC_RADIUS_TOLERANCE:
        cursor.fail(
            f"the end is {1e3 * abs(radius - other):.4g} mm off the circle about the centre that I, J, K give",
            at=at,
            valid="I, J, K from the start to the centre",
        )
    return _middle(cursor, at, p, q, centre, plane, clockwise)


def arc_by_radius(cursor: Cursor, at: Token, p: Array, q: Array, radius: float, plane: str, clockwise: bool) -> Array:
    """Return the middle (3,) [m] of the arc from p to q; a negative radius means the longer way."""
    u, v, w = PLANES[plane]
    _check_flat(cursor, at, p, q, w, plane)
    du, dv = q[u] - p[u], q[v] - p[v]
    chord = math.hypot(du, dv)
    if chord < ARC_RADIUS_TOLERANCE or chord > 2.0 * abs(radius) + ARC_RADIUS_TOLERANCE:
        cursor.fail(f"no circle of radius {abs(radius):.6g} m leads there", at=at, valid="R of at least half the way")
    height = math.sqrt(max(radius * radius - 0.25 * chord * chord, 0.0))
    side = (-1.0 if clockwise else 1.0) * math.copysign(1.0, radius)
    centre = 0.5 * (p + q)
    centre[u] -= side * height * dv / chord
    centre[v] += side * height * du / chord
    return _middle(cursor, at, p, q, centre, plane, clockwise)


def _check_flat(cursor: Cursor, at: Token, p: Array, q: Array, w: int, plane: str) -> None:
    if abs(q[w] - p[w]) > ARC_PLANE_TOLERANCE:
        cursor.fail(f"a helix: {'XYZ'[w]} changes along an arc of {plane}", at=at, valid="an arc in the plane")


def _middle(cursor: Cursor, at: Token, p: Array, q: Array, centre: Array, plane: str, clockwise: bool) -> Array:
    u, v, _ = PLANES[plane]
    first, last = (math.atan2(x[v] - centre[v], x[u] - centre[u]) for x in (p, q))
    turn = (first - last if clockwise else last - first) % (2.0 * math.pi)
    if turn < 1e-9 or turn > 2.0 * math.pi - 1e-9:
        cursor.fail("a full circle: its start and end do not tell the way", at=at, valid="two arcs of half a circle")
    angle = first + (-0.5 if clockwise else 0.5) * turn
    radius = math.hypot(p[u] - centre[u], p[v] - centre[v])
    middle = np.array(p)
    middle[u], middle[v] = centre[u] + radius * math.cos(angle), centre[v] + radius * math.sin(angle)
    return middle


LEXICON = Lexicon(names="[A-Za-z]", symbols=r"[-+%/]", line_comments=(";",), block_comment=("(", ")"), newlines=True)
_CODES = (0, 1, 2, 3, 4, 17, 18, 19, 20, 21, 61, 61.1, 64, 68.2, 69, 90, 91)
_IDLE = (40, 49, 54, 80, 91.1, 94)  # no compensation, lengths from the base, feed per minute: the defaults here
KNOWN = tuple(f"G{code:g}" for code in (*_CODES, *_IDLE))
LETTERS = "ABCFGIJKMNPRSTXYZ"
INCH = 25.4
XYZ, ABC, IJK = "xyz", "abc", "ijk"


def read_gcode(text: str, file: str = "") -> Program:
    """Read a G-code program; see the module for what it knows."""
    return _GcodeReader(text, file).program()


class _GcodeReader:
    def __init__(self, text: str, file: str) -> None:
        self.cursor = Cursor(text, LEXICON, file)
        self.draft = Draft(self.cursor, "g-code")
        self.unit: float | None = None  # metres per unit of the program's lengths
        self.absolute = True
        self.plane = "G17"
        self.motion = ""
        self.feed: float | None = None
        self.blend: Blend = Stop()
        self.place: dict[str, float] = {}  # X, Y, Z [m] and A, B, C [rad] as far as known
        self.frame: Array = np.eye(4)
        self.block: dict[str, tuple[float, Token]] = {}

    def program(self) -> Program:
        cursor = self.cursor
        going = True
        while cursor.word.kind != "end" and going:
            if not cursor.accept("\n", "%", "/"):
                going = self.line()
        self.draft.note(1, "targets are places of the arm's own tool frame; G-code names no tool")
        return self.draft.finish()

    def line(self) -> bool:
        """Carry out one block; False at the end of the program."""
        cursor, codes = self.cursor, []
        first = cursor.word
        self.draft.step(first)
        self.block = {}
        while cursor.word.kind != "end" and not cursor.at("\n"):
            letter, value = self.letter()
            name = f"{letter.text.upper()}{value:g}"
            if letter.key in "gm":
                codes.append((name, letter))
            elif letter.key in self.block:
                cursor.fail(f"{letter.text} stands twice in this block", at=letter, valid="each letter once per line")
            else:
                self.block[letter.key] = (value, letter)
        for name, at in sorted(codes, key=lambda code: code[0] not in ("G20", "G21")):  # lengths need their unit
            if name.startswith("G"):
                self.mode(name, at)
        if "f" in self.block:
            self.set_feed(*self.block["f"])
        self.remarks(codes)
        self.move(codes, first)
        return not any(name in ("M2", "M30") for name, _ in codes)

    def letter(self) -> tuple[Token, float]:
        cursor = self.cursor
        letter = cursor.word
        if letter.kind != "name" or letter.text.upper() not in LETTERS:
            cursor.unknown("unknown letter", LETTERS)
        cursor.take()
        sign = -1.0 if cursor.accept("-") else 1.0
        if sign > 0:
            cursor.accept("+")
        if cursor.word.kind != "number":
            cursor.fail(f"{letter.text} needs a number", valid=f"{letter.text}1.5")
        value = sign * float(cursor.take().text)
        if not abs(value) <= 1e9:
            cursor.fail(f"{letter.text} is beyond all numbers of a program", at=letter, valid="at most 1e9")
        return letter, value

    def mode(self, name: str, at: Token) -> None:
        """Set what a G word sets; motions are carried out later."""
        if name not in KNOWN:
            self.cursor.unknown(f"unknown word {name}", KNOWN, at=at)
        if name in ("G0", "G1", "G2", "G3"):
            self.motion = name
        elif name in PLANES:
            self.plane = name
        elif name in ("G20", "G21"):
            self.unit = (INCH if name == "G20" else 1.0) / MM
        elif name in ("G90", "G91"):
            self.absolute = name == "G90"
        elif name in ("G61", "G61.1"):
            self.blend = Stop()
        elif name == "G64":
            self.set_blend(at)
        elif name == "G68.2":
            self.set_frame(at)
        elif name == "G69":
            self.change_frame(np.eye(4))

    def length(self, value: float, at: Token) -> float:
        if self.unit is None:
            self.cursor.fail(
                "no unit was said before this length", at=at, valid="G20 (inches) or G21 (millimetres) first"
            )
        return value * self.unit if self.unit != 1.0 / MM else value / MM

    def set_blend(self, at: Token) -> None:
        self.blend = Tangent()
        if "p" in self.block:
            value, place = self.block.pop("p")
            self.blend = self.cursor.located(place, Distance, self.length(value, place))
            self.draft.note(
                at.line, "G64 P: corners are rounded over P before and behind them, so by less than P", once=True
            )

    def set_frame(self, at: Token) -> None:
        missing = [letter.upper() for letter in XYZ + IJK if letter not in self.block]
        if missing:
            self.cursor.fail(f"G68.2 lacks {', '.join(missing)}", at=at, valid="G68.2 X… Y… Z… I… J… K…")
        origin = [self.length(*self.block.pop(letter)) for letter in XYZ]
        angles = [self.block.pop(letter)[0] * DEG for letter in IJK]
        self.change_frame(pose(rotation_from_euler(np.array(angles), "zxz"), np.array(origin)))

    def change_frame(self, frame: Array) -> None:
        """Express the place, as far as it is known, in another frame: the tool does not move by this."""
        old, self.frame = self.frame, frame
        if all(letter in self.place for letter in XYZ):
            turned = all(letter in self.place for letter in ABC)
            T = inverse(frame) @ old @ self.pose(turned)
            self.place = dict(zip(XYZ, T[:3, 3].tolist(), strict=True))
            if turned:
                self.place |= dict(zip("cba", euler_from_rotation(T[:3, :3], "zyx").angles.tolist(), strict=True))
        else:
            self.place = {}

    def set_feed(self, value: float, at: Token) -> None:
        self.feed = self.length(value, at) / 60.0
        if not self.feed > 0.0:
            self.cursor.fail("the feed must be above 0", at=at, valid="F in length a minute, above 0")

    def remarks(self, codes: list[tuple[str, Token]]) -> None:
        for name, at in codes:
            if name.startswith("M") and name not in ("M2", "M30"):
                self.draft.note(at.line, f"{name} moves nothing and is left out", once=True)
        for letter in "st":
            if letter in self.block:
                self.draft.note(self.block[letter][1].line, f"{letter.upper()} words are left out", once=True)

    def move(self, codes: list[tuple[str, Token]], first: Token) -> None:
        if any(name == "G4" for name, _ in codes):
            if "p" not in self.block:
                self.cursor.fail("G4 does not say how long", at=first, valid="G4 P… (seconds)")
            seconds, at = self.block["p"]
            wait = self.cursor.located(at, Duration, seconds)
            self.draft.add(first, kind="wait", target=None, speed=wait)
            return
        if not any(letter in self.block for letter in XYZ + ABC):
            if any(letter in self.block for letter in IJK + "r"):
                self.cursor.fail(
                    "an arc that ends where it begins: full circles are not followed, as start, end and "
                    "direction do not tell the arm's way",
                    at=first,
                    valid="two arcs of half a circle",
                )
            return
        if not self.motion:
            self.cursor.fail("where to is said, but not how", at=first, valid="G0, G1, G2 or G3")
        start = dict(self.place)
        self.go()
        target = self.target(first)
        orientation = "slerp" if target.oriented else "fixed"
        if self.motion == "G0":
            self.draft.note(first.line, "G0 is read as a joint move at full speed", once=True)
            self.add(first, kind="joint", target=target, speed=Fraction(1.0), orientation=orientation)
            return
        if self.feed is None:
            self.cursor.fail("no feed was said before this move", at=first, valid="F… (length a minute)")
        via = None if self.motion == "G1" else Pose(self.arc(start, first), oriented=False)
        kind = "line" if via is None else "arc"
        self.add(first, kind=kind, target=target, via=via, speed=ToolRate(self.feed), orientation=orientation)

    def add(self, at: Token, **parts: Any) -> None:
        self.draft.add(at, blend=self.blend, T_base_frame=self.frame, **parts)

    def go(self) -> None:
        """Bring the place up to date with the block."""
        for letter in XYZ + ABC:
            if letter not in self.block:
                continue
            value, at = self.block[letter]
            amount = self.length(value, at) if letter in XYZ else value * DEG
            if not self.absolute:
                if letter not in self.place:
                    self.cursor.fail(f"{letter.upper()} is relative to an unknown place", at=at, valid="G90 first")
                amount += self.place[letter]
            self.place[letter] = amount

    def target(self, at: Token) -> Pose:
        missing = [letter.upper() for letter in XYZ if letter not in self.place]
        if missing:
            self.cursor.fail(f"{', '.join(missing)} not known at the first move", at=at, valid="X, Y and Z")
        turns = [letter for letter in ABC if letter in self.place]
        if 0 < len(turns) < 3:
            self.cursor.fail("an orientation needs A, B and C", at=at, valid="all three, or none")
        return Pose(self.pose(bool(turns)), oriented=bool(turns))

    def pose(self, turned: bool) -> Array:
        R = rotation_from_euler(np.array([self.place[letter] for letter in "cba"]), "zyx") if turned else np.eye(3)
        T: Array = pose(R, np.array([self.place[letter] for letter in XYZ]))
        return T

    def arc(self, start: dict[str, float], at: Token) -> Array:
        """Return the pose (4, 4) of the middle of an arc."""
        if any(letter not in start for letter in XYZ):
            self.cursor.fail("an arc from an unknown place", at=at, valid="G0 or G1 to X, Y and Z before it")
        p, q = (np.array([place[letter] for letter in XYZ]) for place in (start, self.place))
        clockwise = self.motion == "G2"
        if "r" in self.block:
            radius = self.length(*self.block["r"])
            middle = arc_by_radius(self.cursor, at, p, q, radius, self.plane, clockwise)
        else:
            offset = np.array([self.length(*self.block[k]) if k in self.block else 0.0 for k in IJK])
            middle = arc_by_centre(self.cursor, at, p, q, offset, self.plane, clockwise)
        T: Array = pose(np.eye(3), middle)
        return T
