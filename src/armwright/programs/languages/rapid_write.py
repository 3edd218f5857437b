# SPDX-License-Identifier: Apache-2.0
"""Writer of programs in RAPID; see `rapid` for the grammar."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.programs.languages.program_draft import DEG, MM, PERCENT
from armwright.programs.languages.program_writer import (
    ProgramWriter,
    amount,
    amounts,
    diagonal,
    is_identity,
    millimetres,
)
from armwright.programs.languages.rapid_data import NO_LOAD, UNUSED
from armwright.programs.program import (
    Distance,
    Duration,
    Fraction,
    Joints,
    Move,
    Payload,
    Pose,
    Program,
    Stop,
    Target,
    ToolRate,
)
from armwright.spatial import wxyz_from_rotation
from armwright.types import Array

if TYPE_CHECKING:
    from armwright.programs.program import Blend, Speed

NO_AXES = "[9E9,9E9,9E9,9E9,9E9,9E9]"


def write_rapid(program: Program) -> str:
    """Return the program in RAPID; `NotSupportedError` where the language cannot say it."""
    return _RapidWriter(program).write()


class _RapidWriter(ProgramWriter):
    language = "RAPID"

    def begin(self) -> None:
        self.declared: dict[tuple[str, str], str] = {}
        self.state: dict[str, str] = {"CirPathMode": "CirPathMode \\PathFrame;"}

    def end(self) -> None:
        data = [f"  {kind} {name} := {value};" for (kind, value), name in self.declared.items()]
        body = [f"    {line}" for line in self.lines]
        self.lines = [f"MODULE {self.word()}", *data, "  PROC main()", *body, "  ENDPROC", "ENDMODULE"]

    def named(self, kind: str, value: str, letter: str) -> str:
        """Return the name of a declared value; equal ones are declared once."""
        count = sum(1 for known in self.declared.values() if known.startswith(letter))
        return self.declared.setdefault((kind, value), f"{letter}{count + 1}")

    def set(self, what: str, statement: str) -> None:
        """Write a setting where it changes."""
        if self.state.get(what) != statement:
            self.state[what] = statement
            self.lines.append(statement)

    def move(self, move: Move) -> None:
        if move.kind == "wait":
            assert isinstance(move.speed, Duration)
            self.lines.append(f"WaitTime {amount(move.speed.seconds)};")
            return
        self.need(move.kind != "spline", "a spline")
        self.need(move.arc_angle is None, "an arc by its angle")
        self.need(move.orientation != "fixed", "a kept orientation: every robtarget has one of its own")
        self.acceleration(move)
        if move.kind == "arc":
            frame = "PathFrame" if move.orientation == "with_path" else "ObjectFrame"
            self.set("CirPathMode", f"CirPathMode \\{frame};")
        else:
            self.need(move.orientation == "slerp", "a tool that turns with the path of a line")
        assert move.target is not None
        points = [self.target(target) for target in (move.via, move.target) if target is not None]
        name = {"line": "MoveL", "arc": "MoveC"}.get(
            move.kind, "MoveAbsJ" if isinstance(move.target, Joints) else "MoveJ"
        )
        self.need(isinstance(move.target, Pose) or move.kind == "joint", "a line to joint angles")
        frame = "" if is_identity(move.T_base_frame) else f"\\WObj:={self.work_object(move.T_base_frame)}"
        words = [*points, self.speed(move.speed), self.zone(move.blend), self.tool(move) + frame]
        self.lines.append(f"{name} {', '.join(words)};")

    def acceleration(self, move: Move) -> None:
        if isinstance(move.acceleration, Fraction):
            self.set("AccSet", f"AccSet {amount(move.acceleration.value * PERCENT)}, 100;")
            if move.kind != "joint" and "PathAccLim" in self.state:
                self.set("PathAccLim", "PathAccLim FALSE, FALSE;")
        else:
            self.need(move.kind != "joint", f"the acceleration {move.acceleration} of a joint move")
            a = amount(self.tool_rate(move.acceleration, "acceleration"))
            self.set("PathAccLim", f"PathAccLim TRUE \\AccMax:={a}, TRUE \\DecelMax:={a};")

    def target(self, target: Target) -> str:
        if isinstance(target, Joints):
            self.need(len(target.q) <= 6, f"{len(target.q)} joints")
            degrees = [amount(q / DEG) if known else "9E9" for q, known in zip(target.q, target.known, strict=True)]
            text = f"[[{','.join([*degrees, *['9E9'] * (6 - len(degrees))])}],{NO_AXES}]"
            return self.named("CONST jointtarget", text, "jpos")
        self.need(
            target.oriented or target is not self.program.moves[self.number - 1].target, "a target without orientation"
        )
        status = target.status if len(target.status) == 4 else (0, 0, 0, 0)
        return self.named("CONST robtarget", f"[{frame(target.T)},[{','.join(map(str, status))}],{NO_AXES}]", "p")

    def work_object(self, T: Array) -> str:
        return self.named("PERS wobjdata", f'[FALSE,TRUE,"",{_framed(T)},{_framed(np.eye(4))}]', "wobj")

    def speed(self, speed: Speed) -> str:
        if isinstance(speed, Duration):
            self.need(speed.seconds > 0.0, "a move that takes no time")
            return f"v1000\\T:={amount(speed.seconds)}"
        if speed == Fraction(1.0):
            return "vmax"
        if not isinstance(speed, ToolRate):
            self.refuse(f"the speed {speed}; that of the tool can be said")
        w = amount(UNUSED if speed.angular is None else speed.angular / DEG)
        return self.named("CONST speeddata", f"[{amount(speed.linear * MM)},{w},5000,1000]", "speed")

    def zone(self, blend: Blend) -> str:
        if isinstance(blend, Stop):
            return "fine"
        if not isinstance(blend, Distance):
            self.refuse(f"the blend {blend}; it has zones")
        if blend.orientation is None and blend.angle is None:
            return f"z0\\Z:={amount(blend.position * MM)}"
        if blend.orientation is None or blend.angle is None:
            self.refuse("a zone with either the way or the angle of its turning")
        r, angle = amount(blend.orientation * MM), amount(blend.angle / DEG)
        return self.named(
            "CONST zonedata", f"[FALSE,{amount(blend.position * MM)},{r},{r},{angle},{r},{angle}]", "zone"
        )

    def tool(self, move: Move) -> str:
        T = np.eye(4) if move.T_flange_tool is None else move.T_flange_tool
        if is_identity(T) and move.payload is None:
            return "tool0"
        return self.named("PERS tooldata", f"[TRUE,{_framed(T)},{self.load(move.payload)}]", "tool_")

    def load(self, load: Payload | None) -> str:
        if load is None:
            return f"[{NO_LOAD},[0,0,{NO_LOAD}],[1,0,0,0],0,0,0]"
        moments = diagonal(load)
        if moments is None:
            self.refuse("a payload with products of inertia")
        return f"[{amount(load.mass)},[{amounts(load.com * MM, ',')}],[1,0,0,0],{amounts(moments, ',')}]"


def frame(T: Array) -> str:
    """Write ``[x,y,z],[w,x,y,z]``."""
    return f"[{millimetres(T[:3, 3])}],[{amounts(wxyz_from_rotation(T[:3, :3]), ',')}]"


def _framed(T: Array) -> str:
    return f"[{frame(T)}]"
