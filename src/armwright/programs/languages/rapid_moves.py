# SPDX-License-Identifier: Apache-2.0
r"""RAPID's instructions: those that move the arm, that say how, that wait, and the many that do neither.

Moves take their arguments by place, ``MoveL target, speed, zone, tool [\WObj]``, circles a point before the target;
`PLACES` says where speed, zone and tool stand. The speed of joint moves is that of the tool, as in the language. On
circles the tool turns as seen from the path unless CirPathMode says otherwise: that is the language's default.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from armwright.programs.interpreter.program_values import RecordValue, Unknown, UnknownPart, Value
from armwright.programs.languages.program_draft import DEG, MM, joints_deg
from armwright.programs.languages.rapid_data import (
    UNUSED,
    Tool,
    carried,
    frame_of,
    load_of,
    matrix,
    numbers,
    speed_of,
    tool_of,
    zone_of,
)
from armwright.programs.languages.rapid_parser import MOTION
from armwright.programs.languages.rapid_quiet import GIVING, LEFT_OUT, OTHER_TASKS, OUTSIDE_CONTROL, QUIET
from armwright.programs.languages.rapid_settings import RapidSettings
from armwright.programs.languages.rapid_values import ONLY_PARTS
from armwright.programs.program import Distance, Duration, Fraction, Joints, Payload, Pose, ToolRate
from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Argument
from armwright.syntax.scanner import Token
from armwright.syntax.tree_parser import near
from armwright.types import Array

PLACES = {  # target, speed, zone, tool: which argument by place
    **dict.fromkeys(("movej", "movel", "moveabsj", "movejdo", "moveldo", "movejsync", "movelsync"), (0, 1, 2, 3)),
    **dict.fromkeys(("movejao", "movejgo", "movelao", "movelgo"), (0, 1, 2, 3)),
    **dict.fromkeys(("movec", "movecdo", "movecsync", "movecao", "movecgo"), (1, 2, 3, 4)),
    **dict.fromkeys(("triggj", "triggl", "triggabsj"), (0, 1, 3, 4)),
    "triggc": (1, 2, 4, 5),
    **dict.fromkeys(("trigglios", "triggjios"), (0, 1, 2, 3)),
    **dict.fromkeys(("arcl", "arclstart", "arclend"), (0, 1, -2, -1)),
    **dict.fromkeys(("arcc", "arccstart", "arccend"), (1, 2, -2, -1)),
}
OPTIONS = ("conc", "id", "noeoffs", "v", "t", "z", "inpos", "wobj", "corr", "tload", "usebaseframe")
SEARCH_OPTIONS = ("stop", "pstop", "sstop", "sup", "flanks", "posflank", "negflank", "highlevel", "lowlevel")
SEAMS = ("arcl", "arclend", "arcc", "arccend")  # moves that weld; to the start of a seam the arm comes at its speed
OWN_MOVES = frozenset(
    key for key in PLACES if key.startswith("move")
)  # those of other makers have options of their own
KIND_OF = {"j": "joint", "l": "line", "c": "arc"}


class RapidMoves(RapidSettings):
    """The instructions that move the arm."""

    def begin(self) -> None:
        """Begin as a controller does, and know the moves."""
        super().begin()
        self.commands |= {
            **dict.fromkeys(PLACES, self.move),
            "searchl": self.search,
            "searchc": self.search,
            "moveextj": self.move_external,
        }

    def instruction(self, at: Token, arguments: tuple[Argument, ...]) -> bool:
        """Carry out an instruction; False if the language has none of this name."""
        key = at.key
        command = self.commands.get(key)
        if command is not None:
            placed = [a for a in arguments if not a.name]
            command(at, placed, {a.name: a for a in arguments if a.name})
            return True
        if key in OUTSIDE_CONTROL:
            self.notes.gap(at, f"{at.text} lets something outside lead the arm")
            self.last = None
        elif key in OTHER_TASKS:
            self.notes.obstacle(f"{at.text}: several arms or tasks that move together are not followed", at, "one arm")
        elif key in GIVING:
            self.notes.note(at.line, f"{at.text}: {GIVING[key]} is not known beforehand", once=True)
            self.forget(arguments, at, GIVING[key])
        elif key in LEFT_OUT:
            self.notes.note(at.line, f"{at.text} is left out: {LEFT_OUT[key]}", once=True)
        elif key in QUIET:
            self.notes.note(at.line, f"{at.text} moves nothing and is left out", once=True)
        else:
            return False
        return True

    def missing(self, at: Token) -> None:
        """Skip a routine that no file has; one that looks like a misspelt move is not skipped."""
        like = near(at.key, MOTION, 0.8)
        if like:
            self.notes.obstacle(f"unknown word; did you mean {like!r}?", at, "MoveAbsJ, MoveJ, MoveL, MoveC")
        super().missing(at)

    def lacking(self, node: tree.FunctionCall, said: str) -> None:
        """Skip a function that no file has; it may move the arm, and change the variables that it is given."""
        self.notes.skip(node.at, f"{said}; it may move the arm")
        self.spoil(node.arguments)

    # --- moves --------------------------------------------------------------------------------------------------------

    def move(self, at: Token, placed: list[Argument], named: dict[str, Argument]) -> None:
        """Add a move; one of whose parts nothing is known becomes a gap."""
        target, speed, zone, tool = PLACES[at.key]
        arc = target == 1
        fewest = max(target, speed, zone, tool) + 1 if tool > 0 else 4
        if len(placed) < fewest:
            if len(placed) == fewest - 1:
                end = placed[-1].at if placed else at
                self.notes.obstacle("the move names no tool", self.word_after(end), "', tool0' or another tool")
            self.notes.obstacle(f"{at.text} lacks arguments", at, "target, speed, zone, tool")
        self.check_options(at, named)
        kind = "joint" if at.key in ("moveabsj", "triggabsj") else KIND_OF[_letter(at.key)]
        reach: dict[str, Any] = {}
        try:
            reach["target"] = self.target(placed[target], at.key in ("moveabsj", "triggabsj"))
            if isinstance(reach["target"], Pose) and ("confj" if kind == "joint" else "confl") not in self.watched:
                reach["target"] = replace(reach["target"], status=())
            if arc:
                via: Value = self.target(placed[target - 1], False)
                reach["via"] = Pose(via.T, oriented=False)
            reach["speed"] = self.speed(placed[speed], named)
            if at.key in SEAMS and "on" not in named:  # with \On the arc strikes at the end of the move
                reach["speed"] = self.seam_speed(at, placed[-3], reach["speed"])
            reach["blend"] = self.zone(placed[zone], named)
            held = self.tool(placed[tool], at)
            reach["T_base_frame"] = self.frame_of(named.get("wobj"), at)
            reach["T_flange_tool"] = held.T_flange_tool
            reach["payload"] = self.load(held, named.get("tload"), at)
        except UnknownPart as gap:
            self.notes.gap(at, gap.unknown.reason)
            self.last = None
            return
        straight = kind != "joint"
        self.notes.draft.add(
            at,
            kind=kind,
            acceleration=self.path_acceleration if straight and self.path_acceleration else self.share,
            orientation=self.on_circles if arc else "slerp",
            **reach,
        )
        self.changes += 1
        self.keep_last(reach)
        if at.key.startswith(("arc", "trigg")) or at.key.endswith(("do", "ao", "go", "sync")):
            self.notes.note(at.line, f"{at.text}: the move counts, what happens on the way is left out", once=True)

    def check_options(self, at: Token, named: dict[str, Argument]) -> None:
        """Refuse an option that looks like a misspelt one; tell of others that are not known."""
        for name, argument in named.items():
            if name in OPTIONS or at.key not in OWN_MOVES:
                continue
            like = near(name, OPTIONS, 0.7)
            if like:
                self.notes.obstacle(
                    f"unknown option; did you mean '\\{like}'?", argument.at, "\\WObj, \\TLoad, \\V, \\T, \\Z"
                )
            self.notes.note(at.line, f"the option \\{argument.at.text} is not known and left out", once=True)

    def keep_last(self, reach: dict[str, Any]) -> None:
        """Remember where the arm stands now, as far as it is known."""
        target = reach["target"]
        if isinstance(target, Joints):
            self.last = target
            return
        T = reach["T_base_frame"] @ target.T
        self.last = T @ np.linalg.inv(reach["T_flange_tool"])

    def word_after(self, at: Token) -> Token:
        """Return the end of the statement that a word stands in, for messages."""
        line = self.notes.module.lines[at.line - 1]
        column = line.find(";", at.column - 1)
        return Token("symbol", ";", ";", at.line, column + 1) if column >= 0 else at

    def target(self, argument: Argument, joints: bool) -> Joints | Pose:
        """Return where a move leads."""
        data = self.given(argument, "jointtarget" if joints else "robtarget")
        axes = [0.0 if axis == UNUSED else axis for axis in numbers(data.parts["extax"])]
        self.check_external(axes, argument.at)
        if joints:
            degrees = numbers(data.parts["robax"])
            known = tuple(angle != UNUSED for angle in degrees)
            angles = [a if k else 0.0 for a, k in zip(degrees, known, strict=True)]
            made: Joints = self.notes.draft.cursor.located(data.at or argument.at, joints_deg, angles, known, data.name)
            return made
        if not any(numbers(data.parts["rot"])):
            raise UnknownPart(Unknown(f"{argument.at.text} was never given an orientation", (argument.at.text,)))
        T = self.used(matrix, data, argument.at)
        status = numbers(data.parts["robconf"])
        if any(not float(n).is_integer() for n in status):
            self.notes.obstacle("status numbers are whole", data.at or argument.at, "[cf1,cf4,cf6,cfx]")
        return Pose(T, status=tuple(int(n) for n in status), name=data.name)

    def speed(self, argument: Argument, named: dict[str, Argument]) -> Value:
        """Return how fast to move, with VelSet: its percentage scales times as well, its limit does not."""
        at, place = argument.at, self.notes.draft.cursor
        if "t" in named:
            return place.located(at, Duration, self.amount(named["t"]) / self.override)
        data = self.given(argument, "speeddata")
        if "v" in named:
            angular = None if data.parts["v_ori"] == UNUSED else data.parts["v_ori"] * DEG
            speed: Value = place.located(at, ToolRate, self.amount(named["v"]) / MM, angular or None)
        else:
            speed = place.located(at, lambda: speed_of(data))
        if self.override == 1.0 and not self.most_speed:
            return speed
        if isinstance(speed, Fraction):
            if self.most_speed:
                return ToolRate(self.most_speed)
            return place.located(at, Fraction, speed.value * self.override)
        linear = speed.linear * self.override
        linear = min(linear, self.most_speed) if self.most_speed else linear
        return ToolRate(linear, None if speed.angular is None else speed.angular * self.override)

    def seam_speed(self, at: Token, weld: Argument, speed: Value) -> Value:
        """Return how fast a seam is welded: as its welddata say, without VelSet; else at the move's own speed."""
        value = self.value(weld.value)
        mm = value.parts["weld_speed"] if isinstance(value, RecordValue) and value.kind == "welddata" else 0.0
        if isinstance(mm, float) and 0.0 < mm < UNUSED:
            said = f"{at.text}: welded at {mm:g} mm/s, the weld_speed of {weld.at.text}; mm/s is taken as its unit"
            self.notes.note(at.line, said, once=True)
            return ToolRate(mm / MM, getattr(speed, "angular", None))
        said = f"{at.text}: the weld speed of {weld.at.text} is not known; the speed of the move is taken"
        self.notes.assume(at.line, said)
        return speed

    def zone(self, argument: Argument, named: dict[str, Argument]) -> Value:
        """Return what happens at the target."""
        data = self.given(argument, "zonedata")
        if "z" in named:
            return self.notes.draft.cursor.located(argument.at, Distance, self.amount(named["z"]) / MM)
        return self.notes.draft.cursor.located(argument.at, lambda: zone_of(data))

    def tool(self, argument: Argument, at: Token) -> Tool:
        """Return the tool; one that is not known is the flange if the user says so."""
        try:
            return self.used(tool_of, self.given(argument, "tooldata"), argument.at)
        except UnknownPart as gap:
            if not self.options.assume_frames:
                raise UnknownPart(
                    replace(gap.unknown, reason=f"tool {gap.unknown.reason}; --assume-frames or --define")
                ) from None
            self.notes.assume(at.line, f"tool {gap.unknown.reason}: the flange is taken", "--define")
            return Tool(np.eye(4), None)

    def frame_of(self, argument: Argument | None, at: Token) -> Array:
        """Return the frame of a move's targets: work object and displacement."""
        T = np.eye(4)
        if argument is not None:
            try:
                T = self.used(frame_of, self.given(argument, "wobjdata"), argument.at)
            except UnknownPart as gap:
                partly = gap.unknown.reason.endswith(ONLY_PARTS)
                if partly or not self.options.assume_frames:
                    option = "--define or --more" if partly else "--assume-frames or --define"
                    reason = f"work object {gap.unknown.reason}; {option}"
                    raise UnknownPart(replace(gap.unknown, reason=reason)) from None
                self.notes.assume(at.line, f"work object {gap.unknown.reason}: the arm's base is taken", "--define")
        if isinstance(self.shift, Unknown):
            raise UnknownPart(self.shift)
        return T if self.shift is None else T @ self.shift

    def load(self, tool: Tool, total: Argument | None, at: Token) -> Payload | None:
        """Return what the flange carries."""
        if total is not None:
            made: Payload | None = self.used(load_of, self.given(total, "loaddata"), total.at)
            return made
        if isinstance(self.grip, Unknown):
            self.notes.note(at.line, f"the load is not known and left out: {self.grip.reason}", once=True)
            return tool.load
        return carried(tool, self.grip)

    def search(self, at: Token, placed: list[Argument], named: dict[str, Argument]) -> None:
        """Move to the end of a search: nothing was found; the point that is found gets that place."""
        arc = at.key == "searchc"
        if len(placed) < 5 + arc:
            self.notes.obstacle(f"{at.text} lacks arguments", at, "signal, point, target, speed, tool")
        targets = placed[2 : 4 if arc else 3]
        fine = Argument(at, "", tree.Name(Token("name", "fine", "fine", at.line, at.column)))
        line = Token(at.kind, at.text, "movec" if arc else "movel", at.line, at.column)
        own = {name: option for name, option in named.items() if name not in SEARCH_OPTIONS}
        self.move(line, [*targets, placed[3 + arc], fine, placed[4 + arc]], own)
        self.notes.assume(at.line, "nothing is found on the way: the search ends at its target", "--define")
        self.store(self.place(placed[1].value), self.value(targets[-1].value), at)

    def move_external(self, at: Token, placed: list[Argument], named: dict[str, Argument]) -> None:
        """Leave out a move of external axes alone."""
        self.notes.note(at.line, f"{at.text} moves external axes, which are left out", once=True)


def _letter(key: str) -> str:
    """Return the letter that says how a move runs: j, l or c."""
    for beginning in ("move", "trigg", "arc"):
        if key.startswith(beginning):
            return key[len(beginning)]
    return "l"
