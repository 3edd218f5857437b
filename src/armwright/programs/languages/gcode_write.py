# SPDX-License-Identifier: Apache-2.0
"""Writer of programs in G-code; see `gcode` for its words.

Frames become G68.2; arcs must lie in a plane of their frame.
"""

from __future__ import annotations

import numpy as np

from armwright.programs.languages.gcode_arcs import ARC_PLANE_TOLERANCE, PLANES
from armwright.programs.languages.program_draft import DEG, MM
from armwright.programs.languages.program_writer import ProgramWriter, abc, is_identity
from armwright.programs.program import Distance, Duration, Fraction, Move, Pose, Program, Stop, Tangent
from armwright.programs.program_comparison import circle
from armwright.spatial import apply, euler_from_rotation, inverse
from armwright.types import Array


def write_gcode(program: Program) -> str:
    """Return the program in G-code; `NotSupportedError` where the language cannot say it."""
    return _GcodeWriter(program).write()


class _GcodeWriter(ProgramWriter):
    language = "G-code"

    def begin(self) -> None:
        self.lines = [f"({self.word()})", "G21 G90 G94"]
        self.state = {"blend": "G61", "plane": "G17", "frame": ""}
        self.start: Array | None = None  # where the tool is, in the frame
        self.frame: Array = np.eye(4)
        self.turned = False

    def end(self) -> None:
        self.lines.append("M2")

    def set(self, what: str, text: str) -> None:
        """Write a mode where it changes."""
        if self.state[what] != text:
            self.state[what] = text
            self.lines.append(text or "G69")

    def move(self, move: Move) -> None:
        if move.kind == "wait":
            assert isinstance(move.speed, Duration)
            self.lines.append(f"G4 P{_plain(move.speed.seconds)}")
            return
        target = move.target
        self.need(move.kind in ("joint", "line", "arc"), f"a {move.kind}")
        self.need(move.arc_angle is None, "an arc by its angle")
        if not isinstance(target, Pose):
            self.refuse("a joint target")
        self.need(is_identity(move.T_flange_tool), "a tool")
        self.need(move.payload is None, "a payload")
        self.need(move.acceleration == Fraction(1.0), f"the acceleration {move.acceleration}")
        self.set("frame", "" if is_identity(move.T_base_frame) else _tilted(move.T_base_frame))
        if self.start is not None:
            self.start = apply(inverse(move.T_base_frame) @ self.frame, self.start)
        self.frame = move.T_base_frame
        self.blend(move)
        words = [f"{letter}{_plain(v)}" for letter, v in zip("XYZ", target.T[:3, 3] * MM, strict=True)]
        words += self.turn(move, target)
        if move.kind == "joint":
            self.need(move.speed == Fraction(1.0), f"the speed {move.speed} of a joint move; G0 is as fast as can be")
            words.insert(0, "G0")
        else:
            feed = f"F{_plain(self.tool_rate(move.speed, 'speed') * MM * 60.0)}"
            words = [*(["G1"] if move.via is None else self.arc(move.via)), *words, feed]
        self.lines.append(" ".join(words))
        self.start = target.T[:3, 3]

    def blend(self, move: Move) -> None:
        if isinstance(move.blend, Distance):
            self.set("blend", f"G64 P{_plain(self.corner(move.blend) * MM)}")
        elif isinstance(move.blend, Tangent):
            self.set("blend", "G64")
        elif isinstance(move.blend, Stop):
            self.set("blend", "G61")
        else:
            self.refuse(f"the blend {move.blend}")

    def turn(self, move: Move, target: Pose) -> list[str]:
        if move.orientation == "fixed":
            self.need(not self.turned, "a kept orientation behind one that was said")
            return []
        self.need(move.orientation == "slerp", "a tool that turns with the path")
        self.turned = True
        return [f"{letter}{_plain(v)}" for letter, v in zip("CBA", abc(target.T[:3, :3]), strict=True)]

    def arc(self, via: Pose) -> list[str]:
        """Return G2 or G3 with its centre."""
        target = self.program.moves[self.number - 1].target
        assert isinstance(target, Pose)
        p, m, q = self.start, via.T[:3, 3], target.T[:3, 3]
        if p is None:
            self.refuse("an arc as the first move")
        centre, normal = circle(p, m, q)
        self.need(np.isfinite(centre).all(), "an arc whose three points lie on a line")
        for plane, (u, v, w) in PLANES.items():
            if max(abs(m[w] - p[w]), abs(q[w] - p[w])) <= ARC_PLANE_TOLERANCE:
                self.set("plane", plane)
                offset = (centre - p) * MM
                words = [f"{'IJK'[axis]}{_plain(offset[axis])}" for axis in sorted((u, v))]
                return ["G2" if normal[w] < 0.0 else "G3", *words]
        self.refuse("an arc that lies in no plane of its frame")


def _plain(value: float) -> str:
    """Write a number without an exponent, which few controllers read: to 1e-10 of a millimetre, degree or second."""
    text = f"{value:.10f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _tilted(T: Array) -> str:
    angles = euler_from_rotation(T[:3, :3], "zxz").angles / DEG
    words = [f"{a}{_plain(v)}" for a, v in zip("XYZIJK", [*(T[:3, 3] * MM), *angles], strict=True)]
    return f"G68.2 {' '.join(words)}"
