# SPDX-License-Identifier: Apache-2.0
"""KRL's moves: PTP, LIN, CIRC, their relative and spline forms, with settings that hold for one move (WITH).

Components that a target leaves out keep the value of the last one, in the numbers of the base that is active now.
$OV_PRO scales every speed from where it is set.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from armwright.programs.interpreter.interpreter_scope import Cell
from armwright.programs.interpreter.program_values import (
    RecordValue,
    Unknown,
    UnknownPart,
    Value,
    ValueTrouble,
    number_of,
)
from armwright.programs.languages.krl_data import (
    AXES,
    C_PTP_PERCENT,
    EXTERNAL,
    PLACE,
    frame_matrix,
    frame_record,
    load_of,
    numbers_in,
)
from armwright.programs.languages.krl_kinematics import ARM_FUNCTIONS, KrlKinematics
from armwright.programs.languages.krl_settings import OUTSIDE_CONTROL, QUIET, TECHNOLOGY
from armwright.programs.languages.krl_values import STANDING
from armwright.programs.languages.krl_words import BLENDS, MOTION, MOVES, SYSTEM
from armwright.programs.languages.planned_place import start_degrees
from armwright.programs.languages.program_draft import DEG, MM, PERCENT, joints_deg, pose_abc
from armwright.programs.program import (
    Blend,
    BySpeed,
    Distance,
    Fraction,
    Joints,
    MoveKind,
    Orientation,
    Pose,
    Share,
    Stop,
    Tangent,
    ToolRate,
)
from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Argument
from armwright.syntax.scanner import Token
from armwright.syntax.tree_parser import meant, near

RECEIVING = ("eki_get", "cread", "sread", "cast_from", "exists_krldlg")
KINDS: dict[str, MoveKind] = {"ptp": "joint", "lin": "line", "circ": "arc", "spl": "spline"}


class KrlMoves(KrlKinematics):
    """The instructions that move the arm, and the calls that do not."""

    def begin(self) -> None:
        """Begin with an arm that stands where the user says, or nobody knows where."""
        super().begin()
        self.place_now: dict[str, float] = {}
        self.stand_at(dict(zip(AXES, start_degrees(self.options), strict=False)))

    def instruction(self, at: Token, arguments: tuple[Argument, ...]) -> bool:
        """Carry out an instruction; False if the language has none of this name."""
        key = at.key
        if key in MOVES:
            self.move(at, arguments)
        elif key in ("spline", "ptp_spline"):
            self.spline(at, arguments)
        elif key == "wait":
            self.wait(at, arguments[0])
        elif key == "halt":
            self.halted(at)
            self.notes.assume(at.line, "HALT waits for a person and goes on; that time is not counted")
        elif key == "bas":
            self.bas(at, list(arguments))
        elif key == "interrupt":
            self.interrupt(at, arguments)
        elif key in OUTSIDE_CONTROL:
            self.notes.gap(at, f"{at.text} lets something outside lead the arm")
            self.lost()
        elif key.startswith(RECEIVING):
            self.received(at, arguments)
        elif key in TECHNOLOGY:
            self.technology(at, arguments)
        elif key in QUIET:
            self.notes.note(at.line, f"{at.text} moves nothing and is left out", once=True)
        else:
            return False
        self.goes_on = key == "continue"
        return True

    def missing(self, at: Token) -> None:
        """Skip a routine that no file has; one that looks like a misspelt move is not skipped."""
        if near(at.key, MOTION, 0.8):
            self.notes.obstacle(f"unknown word; did you mean {near(at.key, MOTION, 0.8)!r}?", at, "PTP, LIN, CIRC")
        super().missing(at)

    def lacking(self, node: tree.FunctionCall, said: str) -> None:
        """Skip a function that no file has; it may move the arm, and change the variables that it is given."""
        self.notes.skip(node.at, f"{said}; it may move the arm")
        self.spoil(node.arguments)

    def received(self, at: Token, arguments: tuple[Argument, ...]) -> None:
        """Take everything that is received for not known."""
        self.notes.note(at.line, f"{at.text}: what is received is not known beforehand", once=True)
        self.forget(arguments, "outside", kinds=None)

    def motion_function(self, key: str, values: list[Value], node: tree.FunctionCall) -> Value:
        """Return what functions of inline forms give; those that are instructions, too, answer how it went."""
        if key in ARM_FUNCTIONS:
            return self.by_the_arm(key, values, node)
        if key in OUTSIDE_CONTROL or key in QUIET or key.startswith(RECEIVING):
            self.instruction(node.at, node.arguments)
            return Unknown(f"{node.at.text}: what the controller answers is not known", (node.at.text,))
        return super().motion_function(key, values, node)

    def interrupt(self, at: Token, arguments: tuple[Argument, ...]) -> None:
        """Leave out an interrupt; what its routine sets, or is given, may be another value at any time from here on."""
        self.notes.note(at.line, f"{at.text} moves nothing and is left out", once=True)
        if not arguments:
            return
        routine = arguments[0].at
        self.changed_by(routine.key, routine.text)
        for argument in arguments[1:]:
            cell = self.cell(argument.at) if self.key_of(argument.value) is None else None
            if isinstance(cell, Cell):
                cell.changer = routine.text

    def spoil(self, arguments: tuple[Argument, ...]) -> None:
        """Forget the variables that a skipped routine may have set."""
        self.forget(arguments, "a routine that was skipped")

    def after_setting(self, base: str, at: Token) -> None:
        """See the last target in the numbers of a new base or tool."""
        super().after_setting(base, at)
        if base in ("$base", "$tool"):
            self.see_place()

    def see_place(self) -> None:
        """See the last target as a place in the base and with the tool of now, as far as all three are known."""
        self.place_now = {}
        flange = self.led_to()
        if flange is not None:
            with contextlib.suppress(UnknownPart, ValueTrouble):
                T = np.linalg.inv(self.base_matrix()) @ flange @ self.tool_matrix()
                self.place_now = {k: float(v) for k, v in frame_record(T).parts.items()}

    def stand_at(self, posture: dict[str, float]) -> None:
        """Remember axes [°] as the last target."""
        self.posture = posture
        self.last = RecordValue("e6axis", dict(posture)) if len(posture) == len(AXES) else None
        self.see_place()

    def lost(self) -> None:
        """Forget where the arm stands."""
        self.last, self.place_now, self.posture = None, {}, {}

    def base_matrix(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return $BASE (4, 4)."""
        base = self.system.get("$base")
        return np.eye(4) if base is None else frame_matrix(base)

    def tool_matrix(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return $TOOL (4, 4)."""
        tool = self.system.get("$tool")
        return np.eye(4) if tool is None else frame_matrix(tool)

    # --- moves --------------------------------------------------------------------------------------------------------

    def move(self, at: Token, arguments: tuple[Argument, ...]) -> None:
        """Add a move; one of whose parts nothing is known becomes a gap."""
        targets = [a for a in arguments if not a.name]
        if len(targets) == 1 and isinstance(targets[0].value, tree.Name) and targets[0].value.at.key in STANDING:
            self.notes.note(at.line, f"{at.text} {targets[0].at.text} leads where the arm stands: no move", once=True)
            return
        try:
            parts = self.parts(at, arguments)
        except UnknownPart as part:
            self.notes.gap(at, part.unknown.reason)
            self.lost()
            return
        self.notes.draft.add(at, **parts)
        self.changes += 1

    def spline(self, at: Token, arguments: tuple[Argument, ...]) -> None:
        """Add the segments of a spline block; its inner targets are passed without rounding."""
        named = {a.name: a for a in arguments}
        words = [a for a in arguments if a.name in BLENDS]
        outer = self.with_settings(named.get("with"))
        made: list[tuple[Token, dict[str, Any]]] = []
        where = at  # what is under way: a gap is told at the segment that makes it
        try:
            for statement in named["segments"].value:
                where = statement.at
                self.notes.ran_line(statement.at.line)
                if isinstance(statement, tree.NotUnderstood):
                    self.notes.obstacle(statement.message, statement.at, statement.valid)
                if isinstance(statement, tree.Invoke) and statement.at.key in MOVES:
                    made.append((statement.at, self.parts(statement.at, statement.arguments)))
                elif not isinstance(statement, tree.Invoke):
                    self.statement(statement)
            if not made:
                self.notes.obstacle("a spline block without a segment", at, "SPL, SLIN or SCIRC before ENDSPLINE")
            last = self.blend(words, made[-1][1]["kind"], at)
        except UnknownPart as part:
            self.notes.gap(where, part.unknown.reason)
            self.lost()
            return
        finally:
            self.system = outer
        for index, (word, parts) in enumerate(made):
            parts["blend"] = last if index == len(made) - 1 else Tangent()
            self.notes.draft.add(word, **parts)
        self.changes += 1

    def with_settings(self, argument: Argument | None) -> dict[str, Any]:
        """Make settings that hold for one move; return those to go back to."""
        before = dict(self.system)
        for setting in argument.value if argument is not None else ():
            value = self.value(setting.value)
            self.tell_unknown(value, setting.at)
            if not self.set_system(setting.target, value, setting.at):
                known = [*SYSTEM, "$spl_vel_mode", "$jerk"]
                message = f"WITH sets variables of the controller, and this is none{meant(setting.at.key, known)}"
                self.notes.obstacle(message, setting.at, "$VEL, $ACC, $APO, $TOOL, $BASE, …")
        return before

    def parts(self, at: Token, arguments: tuple[Argument, ...]) -> dict[str, Any]:
        """Return targets and settings of one move."""
        key = at.key.removesuffix("_rel")
        kind = KINDS[key if key in KINDS else key[1:]]
        relative = "" if not at.key.endswith("_rel") else "base"
        named = {a.name: a for a in arguments if a.name}
        if relative and "frame" in named:
            relative = "tool" if named["frame"].at.key == "tool" else "base"
        targets = [a for a in arguments if not a.name]
        share = self.acc_share
        outer = self.with_settings(named.get("with"))
        try:
            found = self.made(at, kind, targets, named, relative)
            found["blend"] = self.blend([a for a in arguments if a.name in BLENDS], kind, at)
            return found
        finally:
            changed = {k: v for k, v in self.system.items() if k in ("$tool", "$base") and outer.get(k) is not v}
            self.system, self.acc_share = outer, share
            if changed:
                self.after_setting("$base", at)

    def made(
        self, at: Token, kind: MoveKind, targets: list[Argument], named: dict[str, Argument], relative: str
    ) -> dict[str, Any]:
        """Return the parts of a move with the settings as they are now."""
        arc = kind == "arc"
        if len(targets) != (2 if arc else 1):
            self.notes.obstacle(f"{at.text} has {len(targets)} targets", at, "two" if arc else "one")
        if self.system.get("$ipo_mode") == "#tcp":
            self.notes.obstacle("tools that stand beside the arm are not followed", at, "$IPO_MODE = #BASE")
        found: dict[str, Any] = {"kind": kind}
        values = [self.target_value(a) for a in targets]
        if arc:
            found["via"] = self.via(values[0], targets[0].at, relative)
            angle = self.value(named["ca"].value) if "ca" in named else None
            if isinstance(angle, Unknown):
                raise UnknownPart(angle)
            found["arc_angle"] = None if angle is None else float(number_of(angle)) * DEG
        word = targets[-1].at
        target = self.target(values[-1], word, relative, arc)
        if kind != "joint" and isinstance(target, Joints):
            self.notes.obstacle(f"{at.text} leads to a place, not to axes", word, "{X …, Y …, Z …, A …, B …, C …}")
        found["target"] = target
        if kind == "joint":
            found |= {"speed": self.share("$vel_axis", at, True), "acceleration": self.share("$acc_axis", at, False)}
            if isinstance(target, Pose) and not target.oriented:
                self.notes.obstacle("PTP to a place needs its orientation", word, "A, B and C")
        else:
            found |= {"speed": self.rate("$vel", at), "acceleration": self.acceleration(at)}
            found["orientation"] = self.orientation(arc)
        return found | self.frames(at, target)

    def frames(self, at: Token, target: Joints | Pose) -> dict[str, Any]:
        """Return base, tool and load; a move to axes needs no frame."""
        found: dict[str, Any] = {}
        place = self.notes.draft.cursor
        try:
            found["T_base_frame"] = self.base_matrix()
            if "$tool" in self.system:
                found["T_flange_tool"] = self.tool_matrix()
        except UnknownPart:
            if isinstance(target, Pose):
                raise
            found = {}
        load = self.system.get("$load")
        if load is not None and not isinstance(load, Unknown):
            found["payload"] = place.located(at, load_of, load)
        if isinstance(target, Pose):
            self.last = self.base_matrix() @ target.T @ np.linalg.inv(self.tool_matrix()) if target.oriented else None
        return found

    def target_value(self, argument: Argument) -> RecordValue:
        """Return a target as it was written: an aggregate or the name of one."""
        value = self.value(argument.value)
        if isinstance(value, Unknown):
            raise UnknownPart(value)
        if not isinstance(value, RecordValue):
            self.notes.obstacle("this is no target", argument.at, "{X …} or {A1 …}, or a declared name")
        axes = [float(v) if isinstance(v := value.parts.get(e, 0.0), int | float) else 0.0 for e in EXTERNAL]
        self.check_external(axes, argument.at)
        return value

    def target(self, value: RecordValue, at: Token, relative: str, arc: bool) -> Joints | Pose:
        """Return the target that an aggregate means, and remember it as the last one."""
        given = numbers_in(value)
        if any(key in given for key in AXES):
            if any(key in given for key in PLACE):
                self.notes.obstacle("a target has axes or a place, not both", at, "{A1 …} or {X …}")
            return self.joints(given, at, relative, value.name)
        if not any(key in given for key in PLACE):
            self.notes.obstacle("a target without axes and place", at, "{A1 …} or {X …, Y …, Z …}")
        return self.pose(value, given, at, relative, arc)

    def joints(self, value: dict[str, float], at: Token, relative: str, name: str) -> Joints:
        """Return a posture; axes that are not given keep their value."""
        given = {key: value[key] for key in AXES if key in value}
        if relative:
            missing = [key.upper() for key in given if key not in self.posture]
            if missing:
                raise UnknownPart(Unknown(f"relative to an unknown {', '.join(missing)}", tuple(missing)))
            given = {key: self.posture[key] + angle for key, angle in given.items()}
        known = tuple(key in given for key in AXES)
        self.stand_at({**self.posture, **given})
        angles = [given.get(key, 0.0) for key in AXES]
        made: Joints = self.notes.draft.cursor.located(at, joints_deg, angles, known, name)
        return made

    def via(self, value: RecordValue, at: Token, relative: str) -> Pose:
        """Return the point on a circle: only its position counts, and it does not become the last target."""
        given = numbers_in(value)
        if any(key in given for key in AXES):
            self.notes.obstacle("the point on the circle is a place, not axes", at, "{X …, Y …, Z …}")
        whole = self.components(given, at, relative)
        return Pose(pose_abc([whole[key] for key in PLACE[:3]], [0.0, 0.0, 0.0]), oriented=False)

    def components(self, value: dict[str, float], at: Token, relative: str) -> dict[str, float]:
        """Return X, Y, Z and, if known, A, B, C; those that are not given keep their value."""
        given = {key: value[key] for key in PLACE if key in value}
        now = self.place_now
        if relative and not now:
            raise UnknownPart(Unknown("relative to an unknown place", ()))
        if relative == "tool" and all(key in now for key in PLACE):
            T = pose_abc([now[k] for k in PLACE[:3]], [now[k] for k in PLACE[3:]])
            by = pose_abc([given.get(k, 0.0) for k in PLACE[:3]], [given.get(k, 0.0) for k in PLACE[3:]])
            return {k: float(v) for k, v in frame_record(T @ by).parts.items()}
        given = {key: now.get(key, 0.0) + given.get(key, 0.0) for key in now} if relative else {**now, **given}
        missing = [key.upper() for key in PLACE[:3] if key not in given]
        if missing:
            said = f"the target lacks {', '.join(missing)}, and no move before it says them"
            raise UnknownPart(Unknown(said, tuple(missing)))
        return given

    def pose(self, value: RecordValue, written: dict[str, float], at: Token, relative: str, arc: bool) -> Pose:
        """Return a place; components that are not given keep their value."""
        given = self.components(written, at, relative)
        angles = [key for key in PLACE[3:] if key in given]
        constant = self.system["$ori_type"] == "#constant"
        if 0 < len(angles) < 3:
            self.notes.obstacle("an orientation needs A, B and C", at, "all three, or none")
        if not angles and not constant:
            raise UnknownPart(Unknown("the target has no orientation, and no move before it says one", ("A, B, C",)))
        self.place_now, self.posture = given, {}
        unused = constant and ("a" not in written or (arc and self.system["$circ_type"] == "#path"))
        status = tuple(int(written[key]) for key in ("s", "t") if key in written)
        if "s" not in written and status:
            status = ()
            self.notes.note(at.line, "T without S names no posture: the nearest one is taken", once=True)
        abc = [given[key] for key in PLACE[3:]] if angles else [0.0, 0.0, 0.0]
        T = pose_abc([given[key] for key in PLACE[:3]], abc)
        return Pose(T, oriented=bool(angles) and not unused, status=status, name=value.name)

    # --- how a move runs ----------------------------------------------------------------------------------------------

    def orientation(self, arc: bool) -> Orientation:
        """Return how the tool turns on the way."""
        if arc and self.system["$circ_type"] == "#path":
            return "with_path"
        return "fixed" if self.system["$ori_type"] == "#constant" else "slerp"

    def number(self, key: str) -> float | None:
        """Return a number of the controller's state; None if it was not set."""
        value: Value = self.system.get(key)
        if isinstance(value, Unknown):
            raise UnknownPart(value)
        return None if value is None else float(number_of(value, f"a number for {key.upper()}"))

    def override(self, at: Token) -> float:
        """Return the share to which $OV_PRO cuts every speed."""
        percent = self.number("$ov_pro")
        made: Fraction = self.notes.draft.cursor.located(at, Fraction, (percent or 0.0) / PERCENT)
        return made.value

    def share(self, name: str, at: Token, scaled: bool) -> Fraction:
        """Return the share of the axes' speed or acceleration; the smallest if they differ."""
        values = [self.number(f"{name}[{i}]") or 0.0 for i in range(1, 7)]
        if len(set(values)) > 1:
            self.notes.note(at.line, f"{name.upper()}[] differs: its smallest value is used for all axes", once=True)
        made: Fraction = self.notes.draft.cursor.located(at, Fraction, min(values) / PERCENT)
        return Fraction(made.value * self.override(at)) if scaled else made

    def rate(self, name: str, at: Token) -> ToolRate:
        """Return the tool's speed (``$vel``) or acceleration (``$acc``)."""
        linear, turning = self.number(f"{name}.cp"), self.number(f"{name}.ori1")
        if linear is None:
            said = f"{name.upper()}.CP was not set before this move"
            raise UnknownPart(Unknown(said, (f"{name.upper()}.CP",)))
        self.notes.draft.check_amount("tool speed" if name == "$vel" else "tool acceleration", linear, at)
        scale = self.override(at) if name == "$vel" else 1.0
        turned = None if turning is None else turning * DEG * scale
        made: ToolRate = self.notes.draft.cursor.located(at, ToolRate, linear * scale, turned)
        return made

    def acceleration(self, at: Token) -> ToolRate | Fraction:
        """Return the tool's acceleration; all that the arm can do, or a share of it, where none was set."""
        if "$acc.cp" in self.system:
            return self.rate("$acc", at)
        share: Fraction = self.notes.draft.cursor.located(at, Fraction, self.acc_share or 1.0)
        return share

    def blend(self, words: list[Argument], kind: MoveKind, at: Token) -> Blend:
        """Return what the words behind a target mean."""
        if not words:
            return Stop()
        if len(words) > 1:
            self.notes.note(at.line, f"of two blend words the first counts: {words[0].at.text}", once=True)
        word = words[0].at
        if self.system.get("$advance") == 0:
            self.notes.note(at.line, "$ADVANCE = 0: nothing is rounded", once=True)
            return Stop()
        key = word.key
        if key == "c_spl":
            key = "c_ptp" if kind == "joint" and "$apo.cdis" not in self.system else "c_dis"
        size = self.number({"c_ptp": "$apo.cptp", "c_vel": "$apo.cvel"}.get(key, "$apo.cdis"))
        if key == "c_ptp" and size is None:
            size = C_PTP_PERCENT
            self.notes.note(word.line, f"$APO.CPTP is not set: {C_PTP_PERCENT:g} % is assumed", once=True)
        if not size:
            self.notes.note(word.line, f"{word.text} without a size ($APO): the arm stops at the target", once=True)
            return Stop()
        place = self.notes.draft.cursor
        made: Blend
        if key == "c_ptp":
            made = place.located(word, Share, size / PERCENT)
        elif key == "c_vel":
            made = place.located(word, BySpeed, size / PERCENT)
        else:
            angle = self.number("$apo.cori") if key == "c_ori" else None
            made = place.located(word, Distance, size / MM, None, None if angle is None else angle * DEG)
        return made
