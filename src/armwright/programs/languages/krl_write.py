# SPDX-License-Identifier: Apache-2.0
"""Writer of programs in KRL; see `krl` for the grammar. Moves that are passed without rounding become spline blocks."""

from __future__ import annotations

from armwright.programs.languages.krl_data import AXES
from armwright.programs.languages.program_draft import DEG, MM, PERCENT
from armwright.programs.languages.program_writer import ProgramWriter, abc, amount, amounts, diagonal, is_identity
from armwright.programs.program import (
    BySpeed,
    Distance,
    Duration,
    Fraction,
    Joints,
    Move,
    Payload,
    Pose,
    Program,
    Share,
    Stop,
    Tangent,
    Target,
    ToolRate,
)
from armwright.types import Array


def write_krl(program: Program) -> str:
    """Return the program in KRL; `NotSupportedError` where the language cannot say it."""
    return _KrlWriter(program).write()


class _KrlWriter(ProgramWriter):
    language = "KRL"

    def begin(self) -> None:
        self.lines = [f"DEF {self.word()}()"]
        self.state: dict[str, str] = {"$ORI_TYPE": "#VAR", "$CIRC_TYPE": "#BASE"}
        self.shares = {"VEL": 1.0, "ACC": 1.0}
        self.payload: Payload | None = None
        self.in_block = False

    def end(self) -> None:
        self.lines.append("END")

    def say(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def set(self, values: dict[str, str | None]) -> None:
        """Write the settings that change; what was set cannot be unset."""
        for name, value in values.items():
            if value is None and name in self.state:
                self.refuse(f"{name}, once it is set, cannot be left open again")
            if value is not None and self.state.get(name) != value:
                self.state[name] = value
                self.say(f"{name}={value}")

    def move(self, move: Move) -> None:
        if move.kind == "wait":
            assert isinstance(move.speed, Duration)
            self.need(not self.in_block, "a wait between moves that pass their targets")
            self.say(f"WAIT SEC {amount(move.speed.seconds)}")
            return
        passed = isinstance(move.blend, Tangent)
        if self.in_block or passed or move.kind == "spline":
            self.segment(move, last=not passed)
            return
        self.frames(move)
        word = self.blend(move)
        if move.kind == "joint":
            self.share("VEL", move.speed)
            self.share("ACC", move.acceleration)
            self.need(
                isinstance(move.target, Joints) or move.orientation == "slerp", "a joint move that keeps its turn"
            )
            self.set({"$ORI_TYPE": "#VAR"})
        else:
            self.set({**self.rates(move), **self.turning(move)})
        name = {"joint": "PTP", "line": "LIN", "arc": "CIRC"}[move.kind]
        self.say(f"{name} {self.targets(move)}{word}")

    def segment(self, move: Move, last: bool) -> None:
        """Write a move of a spline block; begin and end the block where needed."""
        self.need(move.kind != "joint", "a joint move among moves that pass their targets")
        if not self.in_block:
            self.frames(move)
            self.blend(self.last_of_block())  # its size must be set before the block
            self.say("SPLINE")
            self.in_block, self.frame = True, self.frame_texts(move)
        self.need(
            self.frame == self.frame_texts(move), "another frame, tool or load between moves that pass their targets"
        )
        name = {"spline": "SPL", "line": "SLIN", "arc": "SCIRC"}[move.kind]
        settings = {k: v for k, v in {**self.rates(move), **self.turning(move)}.items() if v is not None}
        self.need(
            all(k in settings or k not in self.state for k in ("$ACC.CP", "$VEL.ORI1", "$ACC.ORI1")),
            "settings, once made, cannot be left open again",
        )
        words = ", ".join(f"{key}={value}" for key, value in settings.items())
        self.say(f"  {name} {self.targets(move)} WITH {words}")
        if last:
            self.say(f"ENDSPLINE{self.blend(move)}")
            self.in_block = False

    def last_of_block(self) -> Move:
        for move in self.program.moves[self.number - 1 :]:
            if not isinstance(move.blend, Tangent):
                return move
        self.refuse("the last move passes its target")

    def frame_texts(self, move: Move) -> tuple[str, str, Payload | None]:
        tool = "" if move.T_flange_tool is None else _frame(move.T_flange_tool)
        return _frame(move.T_base_frame), tool, move.payload

    def frames(self, move: Move) -> None:
        base, tool, payload = self.frame_texts(move)
        if not is_identity(move.T_base_frame) or "$BASE" in self.state:
            self.set({"$BASE": base})
        self.set({"$TOOL": tool or None})
        if payload != self.payload:
            self.payload = payload
            self.say(f"$LOAD={self.load(payload)}")

    def load(self, load: Payload | None) -> str:
        if load is None:
            return "{M -1}"
        moments = diagonal(load)
        if moments is None:
            self.refuse("a payload with products of inertia")
        x, y, z = (amount(v * MM) for v in load.com)
        jx, jy, jz = (amount(float(j)) for j in moments)
        return f"{{M {amount(load.mass)}, CM {{X {x}, Y {y}, Z {z}, A 0, B 0, C 0}}, J {{X {jx}, Y {jy}, Z {jz}}}}}"

    def share(self, name: str, rate: object) -> None:
        if not isinstance(rate, Fraction):
            self.refuse(f"{rate} of a joint move; fractions can be said")
        if self.shares[name] != rate.value:
            self.shares[name] = rate.value
            self.say(f"BAS(#{name}_PTP, {amount(rate.value * PERCENT)})")

    def rates(self, move: Move) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for name, rate in (("VEL", move.speed), ("ACC", move.acceleration)):
            if name == "ACC" and rate == Fraction(1.0):
                found |= {"$ACC.CP": None, "$ACC.ORI1": None}
                continue
            if not isinstance(rate, ToolRate):
                self.refuse(f"{rate} of a line or circle; speed and acceleration of the tool can be said")
            found[f"${name}.CP"] = amount(rate.linear)
            found[f"${name}.ORI1"] = None if rate.angular is None else amount(rate.angular / DEG)
        return found

    def turning(self, move: Move) -> dict[str, str | None]:
        assert isinstance(move.target, Pose)
        if move.kind != "arc":
            self.need(move.orientation != "with_path", "a tool that turns with the path of a line")
            return {"$ORI_TYPE": "#CONSTANT" if move.orientation == "fixed" else "#VAR"}
        if move.orientation == "with_path":
            return {"$ORI_TYPE": "#VAR" if move.target.oriented else "#CONSTANT", "$CIRC_TYPE": "#PATH"}
        return {"$ORI_TYPE": "#CONSTANT" if move.orientation == "fixed" else "#VAR", "$CIRC_TYPE": "#BASE"}

    def blend(self, move: Move) -> str:
        blend = move.blend
        if isinstance(blend, Stop):
            return ""
        if isinstance(blend, Share):
            self.set({"$APO.CPTP": amount(blend.value * PERCENT)})
            return " C_PTP"
        if isinstance(blend, BySpeed):
            self.set({"$APO.CVEL": amount(blend.value * PERCENT)})
            return " C_VEL"
        assert isinstance(blend, Distance)
        self.need(blend.orientation is None, "a zone of its own for the orientation")
        self.set({"$APO.CDIS": amount(blend.position * MM)})
        if blend.angle is None:
            return " C_DIS"
        self.set({"$APO.CORI": amount(blend.angle / DEG)})
        return " C_ORI"

    def targets(self, move: Move) -> str:
        assert move.target is not None
        points = [self.target(move, target) for target in (move.via, move.target) if target is not None]
        if move.arc_angle is not None:
            points.append(f"CA {amount(move.arc_angle / DEG)}")
        return ", ".join(points)

    def target(self, move: Move, target: Target) -> str:
        if isinstance(target, Joints):
            self.need(len(target.q) <= 6 and move.kind == "joint", "joint targets of lines, or of more than six axes")
            pairs = zip(AXES, target.q, target.known, strict=False)
            return "{" + ", ".join(f"{a.upper()} {amount(float(q) / DEG)}" for a, q, known in pairs if known) + "}"
        position = "X {}, Y {}, Z {}".format(*map(amount, target.T[:3, 3] * MM))
        if not target.oriented or (target is move.target and move.orientation == "fixed"):
            return f"{{{position}}}"
        angles = ", A {}, B {}, C {}".format(*map(amount, abc(target.T[:3, :3])))
        status = ", S {}, T {}".format(*target.status) if len(target.status) == 2 else ""
        return f"{{{position}{angles}{status}}}"


def _frame(T: Array) -> str:
    x, y, z, a, b, c = amounts([*(T[:3, 3] * MM), *abc(T[:3, :3])]).split(", ")
    return f"{{X {x}, Y {y}, Z {z}, A {a}, B {b}, C {c}}}"
