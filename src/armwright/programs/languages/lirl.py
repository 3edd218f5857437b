# SPDX-License-Identifier: Apache-2.0
"""L-IRL, the Lola Industrial Robot Language, as far as 001's listing (Fig. 8) shows it: Pascal-like, any case.

    program = "program" id ";" [ "var" {decl} "endvar" ] "seq" {stmt} [ "endseq" ]
    decl    = ("robtarg" ":" id "=" target | "joint" ":" id "=" joints) ";"
    target  = "robtarg" "(" ( "position" tuple3 | frame ["," int] ) ")"
    frame   = "(" tuple3 "," tuple3 ")"
    joints  = "joint" "(" "mainjoint" tuple ")"
    stmt    = "move" ("ptp" pt | "lin" pt | "circle" pt "," pt) {word} ";"  |  "tool" frame ";"
    word    = ("speed"|"acc"|"speed_ptp"|"acc_ptp"|"c_cp") "=" expr | "c_ptp" | "c_speed"
            | "c_ori" "=" ("o_pco"|"o_pvo"|"o_var") | "act_rob" "=" string
    comment = "{" … "}"

Millimetres, degrees, mm/s; words of PTP moves are fractions. Orientations are R = Rz(A) Ry(B) Rx(C).
``tool`` is our addition: the listing names no tool, and its targets cannot be reached without one.
`read_lirl` reads a program, `write_lirl` writes one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from armwright.programs.languages.expression import Scope, number, tuple_of
from armwright.programs.languages.program_draft import DEG, MM, Draft, joints_deg, pose_abc
from armwright.programs.languages.program_writer import ProgramWriter, abc, amount, amounts, in_base, millimetres, same
from armwright.programs.program import (
    Blend,
    Distance,
    Fraction,
    Joints,
    Move,
    Orientation,
    Pose,
    Program,
    Share,
    Stop,
    Tangent,
    Target,
    ToolRate,
)
from armwright.syntax.scanner import Cursor, Lexicon, Token
from armwright.types import Array

LEXICON = Lexicon(block_comment=("{", "}"), symbols=r"[-+*/()=:;,]")
WORDS = ("speed", "acc", "speed_ptp", "acc_ptp", "c_ptp", "c_cp", "c_speed", "c_ori", "act_rob")
ORIENTATIONS: dict[str, Orientation] = {"o_pco": "with_path", "o_pvo": "with_path", "o_var": "slerp"}
NOTHING = Scope()  # the language has no constants
C_PTP_SHARE = 0.5  # the word carries no size; a quarter of either move is rounded


def read_lirl(text: str, file: str = "") -> Program:
    """Read an L-IRL program; see the module for the grammar."""
    return _LirlReader(text, file).program()


class _LirlReader:
    def __init__(self, text: str, file: str) -> None:
        self.cursor = Cursor(text, LEXICON, file)
        self.draft = Draft(self.cursor, "l-irl")
        self.targets: dict[str, Target] = {}
        self.tool: Array | None = None

    def program(self) -> Program:
        cursor = self.cursor
        cursor.expect("program")
        self.draft.name = cursor.expect_name("the program's name").text
        cursor.expect(";")
        if cursor.accept("var"):
            while not cursor.accept("endvar"):
                self.declaration()
        cursor.expect("seq", "var")
        while not cursor.accept("endseq") and cursor.word.kind != "end":
            self.statement()
        if cursor.word.kind != "end":
            cursor.fail("nothing may follow 'endseq'", valid="the end of the file")
        if self.tool is None:
            self.draft.note(1, "no tool is named; targets are places of the arm's own tool frame")
        return self.draft.finish()

    def declaration(self) -> None:
        cursor = self.cursor
        if not cursor.at("robtarg", "joint"):
            cursor.unknown("unknown kind of declaration", ["robtarg", "joint", "endvar"])
        kind = cursor.take()
        cursor.expect(":")
        name = cursor.expect_name("the target's name")
        if name.key in self.targets:
            cursor.fail(f"{name.text!r} is declared twice", at=name, valid="another name")
        cursor.expect("=")
        if not cursor.at(kind.key):
            cursor.fail(f"{name.text!r} is a {kind.text}; its value must be one, too", valid=f"{kind.key}(…)")
        self.targets[name.key] = self.target(name.text)
        cursor.expect(";")

    def target(self, name: str = "") -> Target:
        cursor = self.cursor
        word = cursor.expect("robtarg", "joint")
        cursor.expect("(")
        if word.key == "joint":
            cursor.expect("mainjoint")
            q = tuple_of(cursor, None, NOTHING, "a joint angle")
            cursor.expect(")")
            if len(q) < 6:
                self.draft.note(word.line, f"{len(q)} joints are listed; any further ones keep their value")
            return cursor.located(word, joints_deg, q, name=name)
        found: Target
        if cursor.accept("position"):
            xyz = tuple_of(cursor, 3, NOTHING, "a coordinate")
            found = Pose(pose_abc(xyz, (0.0, 0.0, 0.0)), oriented=False, name=name)
        else:
            T = self.frame()
            status = (cursor.integer("the status"),) if cursor.accept(",") else ()
            if status:
                self.draft.note(word.line, f"status {status[0]} is kept, the branch follows by continuity", once=True)
            else:
                self.draft.note(word.line, "no status is given; the branch follows by continuity", once=True)
            found = Pose(T, status=status, name=name)
        cursor.expect(")")
        return found

    def frame(self) -> Array:
        cursor = self.cursor
        cursor.expect("(")
        xyz = tuple_of(cursor, 3, NOTHING, "a coordinate")
        cursor.expect(",")
        abc = tuple_of(cursor, 3, NOTHING, "an angle")
        cursor.expect(")")
        return pose_abc(xyz, abc)

    def statement(self) -> None:
        cursor = self.cursor
        if cursor.accept("tool"):
            self.tool = self.frame()
            cursor.expect(";")
            return
        if not cursor.at("move"):
            cursor.unknown("unknown statement", ["move", "tool", "endseq"])
        at = cursor.take()
        self.draft.step(at)
        if not cursor.at("ptp", "lin", "circle"):
            cursor.unknown("unknown kind of move", ["ptp", "lin", "circle"])
        kind = cursor.take().key
        parts: dict[str, Any] = {"kind": {"ptp": "joint", "lin": "line", "circle": "arc"}[kind]}
        if kind == "circle":
            parts["via"] = self.place()
            cursor.expect(",")
        parts["target"] = self.place() if kind != "ptp" else self.point()
        self.words(at, kind == "ptp", parts)
        cursor.expect(";")
        self.draft.add(at, T_flange_tool=self.tool, **parts)

    def point(self) -> Target:
        cursor = self.cursor
        if cursor.at("robtarg", "joint"):
            return self.target()
        name = cursor.expect_name("a target")
        if name.key not in self.targets:
            cursor.unknown(f"target {name.text!r} is not declared", self.targets, at=name)
        return self.targets[name.key]

    def place(self) -> Pose:
        word = self.cursor.word
        found = self.point()
        if isinstance(found, Joints):
            self.cursor.fail("lines and circles lead to places, not to joint angles", at=word, valid="a robtarg")
        return found

    def words(self, at: Token, ptp: bool, parts: dict[str, Any]) -> None:
        """Read the words after a move's targets into its parts."""
        cursor, given = self.cursor, set()
        speed, acc = ("speed_ptp", "acc_ptp") if ptp else ("speed", "acc")
        blend: Blend = Stop()
        target = parts["target"]
        parts["orientation"] = "fixed" if isinstance(target, Pose) and not target.oriented else "slerp"
        while not cursor.at(";"):
            word = cursor.word
            if not cursor.at(*WORDS):
                cursor.unknown("unknown word in a move", [*WORDS, ";"])
            cursor.take()
            role = "blend" if word.key in ("c_ptp", "c_cp", "c_speed") else word.key
            if role in given:
                cursor.fail(f"a move has one {role} word at most", at=word, valid="each word once")
            given.add(role)
            if word.key in (speed, acc):
                cursor.expect("=")
                value = number(cursor, NOTHING)
                rate = cursor.located(word, Fraction, value) if ptp else cursor.located(word, ToolRate, value / MM)
                parts["speed" if word.key == speed else "acceleration"] = rate
            elif word.key in ("speed", "acc", "speed_ptp", "acc_ptp"):
                kind = "ptp moves take fractions" if ptp else "lin and circle moves take mm/s"
                cursor.fail(f"{kind}", at=word, valid=f"{speed} and {acc}")
            elif word.key == "c_cp":
                cursor.expect("=")
                blend = cursor.located(word, Distance, number(cursor, NOTHING) / MM)
            elif word.key == "c_ptp":
                blend = Share(C_PTP_SHARE)
                self.draft.note(word.line, "c_ptp has no size: a quarter of either move may be rounded", once=True)
            elif word.key == "c_speed":
                blend = Tangent()
                self.draft.note(word.line, "c_speed is read as: pass the target at speed, without rounding", once=True)
            elif word.key == "c_ori":
                cursor.expect("=")
                self.orientation(parts)
            else:
                self.robot()
        parts["blend"] = blend
        self.defaults(at, ptp, parts)

    def defaults(self, at: Token, ptp: bool, parts: dict[str, Any]) -> None:
        if "speed" not in parts:
            if not ptp:
                self.cursor.fail("the move says no speed", valid="speed = … (mm/s) before the ';'")
            parts["speed"] = Fraction(1.0)
            self.draft.note(at.line, "no speed_ptp: full speed")
        if "acceleration" not in parts:
            parts["acceleration"] = Fraction(1.0)
            self.draft.note(at.line, "no acceleration: as much as the arm can do")

    def orientation(self, parts: dict[str, Any]) -> None:
        cursor = self.cursor
        if not cursor.at(*ORIENTATIONS):
            cursor.unknown("unknown orientation", ORIENTATIONS)
        word = cursor.take()
        if word.key != "o_var":
            self.draft.note(word.line, f"{word.key} is read as: the tool turns evenly as seen from the path", once=True)
        if ORIENTATIONS[word.key] == "with_path":
            parts["orientation"] = "with_path"  # o_var is what a move without the word does

    def robot(self) -> None:
        cursor = self.cursor
        cursor.expect("=")
        if cursor.word.kind != "string":
            cursor.fail("expected the arm's name", valid='a text in quotes, as "lola_15"')
        word = cursor.take()
        if self.draft.robot not in (None, word.key):
            cursor.fail(f"the program moves {self.draft.robot!r} and {word.key!r}", at=word, valid="one arm a program")
        self.draft.robot = word.key


def write_lirl(program: Program) -> str:
    """Return the program in L-IRL; `NotSupportedError` where the language cannot say it."""
    return _LirlWriter(program).write()


class _LirlWriter(ProgramWriter):
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
        elif blend == Share(C_PTP_SHARE):
            words.append("c_ptp")
        elif not isinstance(blend, Stop):
            self.refuse(f"the blend {blend}")
        if self.program.robot and '"' not in self.program.robot:
            words.append(f'act_rob="{self.program.robot}"')
        return words


def millimetres_of(T: Array) -> str:
    """Write the position of a pose in brackets."""
    return f"({millimetres(np.asarray(T)[:3, 3])})"
