# SPDX-License-Identifier: Apache-2.0
"""Programs in L-IRL; see `lirl` for the grammar."""

from __future__ import annotations

import numpy as np

from armwright.programs.languages.draft import DEG, MM
from armwright.programs.languages.lirl import C_PTP
from armwright.programs.languages.writing import Writer, abc, amount, amounts, in_base, millimetres, same
from armwright.programs.program import Distance, Fraction, Joints, Move, Pose, Program, Share, Stop, Tangent, Target
from armwright.types import Array


def write_lirl(program: Program) -> str:
    """Return the program in L-IRL; `NotSupportedError` where the language cannot say it."""
    return _Writer(program).write()


class _Writer(Writer):
    language = "L-IRL"
    tool: Array | None = None

    def begin(self) -> None:
        self.lines = [f"program {self.word()};", "", "seq"]

    def end(self) -> None:
        self.lines.append("endseq")

    def move(self, move: Move) -> None:
        self.need(move.kind in ("joint", "line", "arc"), f"a {move.kind}")
        self.need(move.arc_angle is None, "an arc by its angle")
        self.need(move.payload is None, "a payload")
        if move.kind != "wait" and not same(self.tool, move.T_flange_tool):
            T = move.T_flange_tool
            if T is None:
                self.refuse("back to the arm's own tool")
            self.tool = T
            self.lines.append(f"  tool ({millimetres_of(T)}, ({amounts(abc(T[:3, :3]))}));")
        assert move.target is not None
        points = [self.target(move, target) for target in (move.via, move.target) if target is not None]
        kind = {"joint": "ptp", "line": "lin", "arc": "circle"}[move.kind]
        words = [*self.rates(move), *self.words(move)]
        self.lines.append(f"  move {kind} {', '.join(points)} {' '.join(words)};")

    def target(self, move: Move, target: Target) -> str:
        if isinstance(target, Joints):
            self.need(all(target.known), "joints that keep their value before others that do not")
            return f"joint(mainjoint({amounts(target.q / DEG)}))"
        T = in_base(move, target)
        if not target.oriented or (target is move.target and move.orientation == "fixed"):
            return f"robtarg(position({millimetres(T[:3, 3])}))"
        status = f", {target.status[0]}" if len(target.status) == 1 else ""
        return f"robtarg(({millimetres_of(T)}, ({amounts(abc(T[:3, :3]))})){status})"

    def rates(self, move: Move) -> list[str]:
        if move.kind == "joint":
            if not isinstance(move.speed, Fraction) or not isinstance(move.acceleration, Fraction):
                self.refuse(
                    f"speed {move.speed} and acceleration {move.acceleration} of a joint move; fractions can be said"
                )
            return [f"speed_ptp={amount(move.speed.value)}", f"acc_ptp={amount(move.acceleration.value)}"]
        words = [f"speed={amount(self.tool_rate(move.speed, 'speed') * MM)}"]
        if move.acceleration != Fraction(1.0):
            words.append(f"acc={amount(self.tool_rate(move.acceleration, 'acceleration') * MM)}")
        return words

    def words(self, move: Move) -> list[str]:
        words = []
        if move.orientation == "with_path":
            words.append("c_ori=o_pco")
        elif move.orientation == "fixed":
            self.need(isinstance(move.target, Pose) and move.kind != "joint", "an orientation that is kept")
        blend = move.blend
        if isinstance(blend, Distance):
            words.append(f"c_cp={amount(self.corner(blend) * MM)}")
        elif isinstance(blend, Tangent):
            words.append("c_speed")
        elif blend == Share(C_PTP):
            words.append("c_ptp")
        elif not isinstance(blend, Stop):
            self.refuse(f"the blend {blend}")
        if self.program.robot and '"' not in self.program.robot:
            words.append(f'act_rob="{self.program.robot}"')
        return words


def millimetres_of(T: Array) -> str:
    """Write the position of a pose in brackets."""
    return f"({millimetres(np.asarray(T)[:3, 3])})"
