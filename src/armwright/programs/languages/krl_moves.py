# SPDX-License-Identifier: Apache-2.0
"""KRL's motion instructions: PTP, LIN, CIRC, their relative forms, and spline blocks."""

from __future__ import annotations

from typing import Any

from armwright.programs.languages.draft import DEG, Draft
from armwright.programs.languages.expression import Scope, evaluate, number
from armwright.programs.languages.krl_data import BLENDS, ENUMS, FRAMES, NUMERIC, Machine
from armwright.programs.languages.lexer import Token
from armwright.programs.program import Duration, Joints, MoveKind, Orientation, Pose, Stop, Tangent

MOTIONS: dict[str, MoveKind] = {
    "ptp": "joint",
    "sptp": "joint",
    "ptp_rel": "joint",
    "lin": "line",
    "slin": "line",
    "lin_rel": "line",
    "circ": "arc",
    "scirc": "arc",
    "circ_rel": "arc",
}
SEGMENTS: dict[str, MoveKind] = {"spl": "spline", "slin": "line", "scirc": "arc"}


class MoveReader:
    """Reads motion instructions with what the machine knows."""

    def __init__(self, draft: Draft, scope: Scope) -> None:
        """Begin with an unmoved machine."""
        self.draft, self.cursor, self.scope = draft, draft.cursor, scope
        self.machine = Machine(draft)

    def motion(self, at: Token) -> None:
        """Read a move behind its first word."""
        parts = self.parts(at, MOTIONS[at.key])
        words = [word for word in iter(lambda: self.cursor.accept(*BLENDS), None) if word]
        if len(words) > 1:
            self.draft.note(words[1].line, f"of two blend words the first counts: {words[0].text}", once=True)
        parts["blend"] = self.machine.blend(words[0] if words else None)
        self.draft.add(at, **parts)

    def spline(self, at: Token) -> None:
        """Read a spline block; its inner targets are passed without rounding."""
        cursor = self.cursor
        segments: list[tuple[Token, dict[str, Any]]] = []
        outer = self.with_settings()
        while not cursor.accept("endspline"):
            if cursor.accept("\n"):
                continue
            if not cursor.at(*SEGMENTS):
                cursor.unknown("unknown word in a spline block", ["SPL", "SLIN", "SCIRC", "ENDSPLINE"])
            word = cursor.take()
            segments.append((word, self.parts(word, SEGMENTS[word.key])))
            if cursor.word.kind != "end":
                cursor.expect("\n")
        if not segments:
            cursor.fail("a spline block without a segment", at=at, valid="SPL, SLIN or SCIRC before ENDSPLINE")
        last = self.machine.blend(cursor.accept("c_dis", "c_ori", "c_vel"))
        self.machine.system = outer
        for index, (word, parts) in enumerate(segments):
            self.draft.add(word, blend=last if index == len(segments) - 1 else Tangent(), **parts)

    def parts(self, at: Token, kind: MoveKind) -> dict[str, Any]:
        """Read targets and settings of one move."""
        cursor, machine = self.cursor, self.machine
        relative, arc = at.key.endswith("_rel"), kind == "arc"
        places = [self.place()]
        if arc:
            cursor.expect(",")
            places.append(self.place())
        angle = None
        if arc and cursor.accept(","):
            cursor.expect("ca")
            angle = number(cursor, self.scope, "an angle in degrees") * DEG
        outer = self.with_settings()
        found: dict[str, Any] = {"kind": kind}
        if arc:
            found |= {"via": machine.via(*places[0], relative), "arc_angle": angle}
        value, word = places[-1]
        target = machine.target(value, word, relative=relative, arc=arc)
        if kind != "joint" and isinstance(target, Joints):
            cursor.fail(f"{at.text} leads to a place, not to axes", at=word, valid="{X …, Y …, Z …, A …, B …, C …}")
        found["target"] = target
        if kind == "joint":
            found |= {"speed": machine.share("$vel_axis", at), "acceleration": machine.share("$acc_axis", at)}
            if isinstance(target, Pose) and not target.oriented:
                cursor.fail("PTP to a place needs its orientation", at=word, valid="A, B and C")
        else:
            found |= {"speed": machine.rate("$vel", at), "acceleration": machine.acceleration(at)}
            found["orientation"] = self.orientation(arc)
        found |= {"T_base_frame": machine.base, "T_flange_tool": machine.tool, "payload": machine.payload}
        machine.system = outer
        return found

    def orientation(self, arc: bool) -> Orientation:
        """Return how the tool turns on the way."""
        system = self.machine.system
        if arc and system["$circ_type"] == "#path":
            return "with_path"
        return "fixed" if system["$ori_type"] == "#constant" else "slerp"

    def place(self) -> tuple[dict[str, Any], Token]:
        """Read a target: an aggregate or the name of one."""
        at = self.cursor.word
        value = evaluate(self.cursor, self.scope, "a target")
        if not isinstance(value, dict):
            self.cursor.fail("this is no target", at=at, valid="{X …} or {A1 …}, or a declared name")
        return value, at

    def with_settings(self) -> dict[str, Any]:
        """Read ``WITH name = value, …``, which holds for one move; return the settings to go back to."""
        cursor, before = self.cursor, dict(self.machine.system)
        if cursor.accept("with"):
            while True:
                name = cursor.expect_name("a system variable")
                if name.key not in NUMERIC and name.key not in ENUMS:
                    cursor.unknown("unknown after WITH", [*NUMERIC, *ENUMS, *FRAMES], at=name)
                cursor.expect("=")
                at = cursor.word
                self.machine.assign(name, evaluate(cursor, self.scope), at)
                if not cursor.accept(","):
                    break
        return before

    def wait(self, at: Token) -> None:
        """``WAIT SEC s``."""
        seconds = self.cursor.located(at, Duration, number(self.cursor, self.scope, "seconds"))
        self.draft.add(at, kind="wait", target=None, speed=seconds, blend=Stop())
