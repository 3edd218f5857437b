# SPDX-License-Identifier: Apache-2.0
"""Writer of programs in URScript; see `urscript` for the grammar."""

from __future__ import annotations

from armwright.programs.languages.program_writer import ProgramWriter, amount, amounts, in_base, same
from armwright.programs.program import Distance, Duration, Joints, LeadingAxis, Move, Payload, Program, Stop, Target
from armwright.spatial import log_so3
from armwright.types import Array


def write_urscript(program: Program) -> str:
    """Return the program in URScript; `NotSupportedError` where the language cannot say it."""
    return _UrscriptWriter(program).write()


class _UrscriptWriter(ProgramWriter):
    language = "URScript"
    tool: Array | None = None
    payload: Payload | None = None

    def begin(self) -> None:
        self.lines = [f"def {self.word()}():"]

    def end(self) -> None:
        self.lines.append("end")

    def say(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def move(self, move: Move) -> None:
        if move.kind == "wait":
            assert isinstance(move.speed, Duration)
            self.say(f"sleep({amount(move.speed.seconds)})")
            return
        self.need(move.kind != "spline", "a spline")
        self.need(move.arc_angle is None, "an arc by its angle")
        self.settings(move)
        assert move.target is not None
        words = [self.target(move, target) for target in (move.via, move.target) if target is not None]
        words += self.rates(move)
        if isinstance(move.blend, Distance):
            words.append(f"r={amount(self.corner(move.blend))}")
        elif not isinstance(move.blend, Stop):
            self.refuse(f"the blend {move.blend}; it has a radius or none")
        if move.orientation == "with_path":
            self.need(move.kind == "arc", "a tool that turns with the path of a line")
            self.need(not getattr(move.target, "oriented", True), "turning to an orientation as seen from the path")
            words.append("mode=1")
        self.need(move.orientation != "fixed", "a kept orientation: every pose has one of its own")
        name = {"joint": "movej", "line": "movel", "arc": "movec"}[move.kind]
        self.say(f"{name}({', '.join(words)})")

    def settings(self, move: Move) -> None:
        if not same(self.tool, move.T_flange_tool):
            if move.T_flange_tool is None:
                self.refuse("back to the arm's own tool")
            self.tool = move.T_flange_tool
            self.say(f"set_tcp({self.pose(move.T_flange_tool)})")
        if move.payload != self.payload:
            load = self.payload = move.payload
            if load is None:
                self.refuse("back to no payload")
            text = f"{amount(load.mass)}, [{amounts(load.com)}]"
            if load.inertia is None:
                self.say(f"set_payload({text})")
            else:
                J = load.inertia
                six = (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
                self.say(f"set_target_payload({text}, [{amounts(six)}])")

    def target(self, move: Move, target: Target) -> str:
        if isinstance(target, Joints):
            self.need(len(target.q) == 6 and all(target.known), "joint targets of other than six known joints")
            return f"[{amounts(target.q)}]"
        return self.pose(in_base(move, target))

    def pose(self, T: Array) -> str:
        return f"p[{amounts([*T[:3, 3], *log_so3(T[:3, :3])])}]"

    def rates(self, move: Move) -> list[str]:
        if isinstance(move.speed, Duration):
            self.need(move.kind != "arc", "the duration of an arc")
            self.need(move.speed.seconds > 0.0, "a move that takes no time")
        if move.kind == "joint":
            if not isinstance(move.acceleration, LeadingAxis):
                self.refuse(f"the acceleration {move.acceleration}; that of the leading axis can be said")
            words = [f"a={amount(move.acceleration.value)}"]
            if isinstance(move.speed, LeadingAxis):
                words.append(f"v={amount(move.speed.value)}")
            elif not isinstance(move.speed, Duration):
                self.refuse(f"the speed {move.speed}; that of the leading axis can be said")
        else:
            words = [f"a={amount(self.tool_rate(move.acceleration, 'acceleration'))}"]
            if not isinstance(move.speed, Duration):
                words.append(f"v={amount(self.tool_rate(move.speed, 'speed'))}")
        return [*words, f"t={amount(move.speed.seconds)}"] if isinstance(move.speed, Duration) else words
