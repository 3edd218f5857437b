# SPDX-License-Identifier: Apache-2.0
"""Operations as LLVM instructions: one node, one register."""

from __future__ import annotations

from collections.abc import MutableMapping

from armwright.graph.emit.llvm_math import Writer, sincos_all
from armwright.graph.ops import TRIGONOMETRIC, Op
from armwright.graph.program import Program

FLAGS = "contract nsz"  # fuse a·b+c; no reassociation: range reduction and symmetry of results depend on it
_BINARY = {Op.ADD: "fadd", Op.SUB: "fsub", Op.MUL: "fmul", Op.DIV: "fdiv"}
_COMPARE = {Op.LT: "olt", Op.LE: "ole", Op.EQ: "oeq"}
_INTRINSIC = {Op.SQRT: "sqrt", Op.ABS: "fabs", Op.FLOOR: "floor"}
_LIBM = {Op.EXP: "exp", Op.LOG: "log", Op.TANH: "tanh", Op.ATAN2: "atan2"}


def emit_nodes(w: Writer, program: Program, value: MutableMapping[int, str], span: range, trig_width: int = 4) -> None:
    """Emit the nodes of `span`. `value` has the register (or literal) of every earlier node and receives theirs."""
    angles = _Angles(w, program, value, span, trig_width)
    T = w.type
    for k in span:
        op, args, constant = program.nodes[k]
        if op is Op.INPUT:
            continue
        x = [value[a] for a in args]
        if op is Op.CONST:
            value[k] = w.literal(constant)
        elif op in _BINARY:
            value[k] = w.emit(f"{_BINARY[op]} {FLAGS} {T} {x[0]}, {x[1]}")
        elif op is Op.NEG:
            value[k] = w.emit(f"fneg {T} {x[0]}")
        elif op in (Op.SIN, Op.COS):
            value[k] = angles.sincos(args[0], k)[0 if op is Op.SIN else 1]
        elif op in _INTRINSIC:
            value[k] = w.intrinsic(_INTRINSIC[op], x[0])
        elif op in _LIBM:
            value[k] = w.library_call(_LIBM[op], x)
        elif op in (Op.MIN, Op.MAX):
            second = w.emit(f"fcmp {'olt' if op is Op.MIN else 'ogt'} {T} {x[1]}, {x[0]}")
            value[k] = w.emit(f"select {w.truth_type} {second}, {T} {x[1]}, {T} {x[0]}")
        elif op in _COMPARE:
            value[k] = w.emit(f"fcmp {_COMPARE[op]} {T} {x[0]}, {x[1]}")
        elif op in (Op.AND, Op.OR):
            value[k] = w.emit(f"{op.name.lower()} {w.truth_type} {x[0]}, {x[1]}")
        elif op is Op.NOT:
            value[k] = w.emit(f"xor {w.truth_type} {x[0]}, {w.literal(True)}")
        else:
            value[k] = w.emit(f"select {w.truth_type} {x[0]}, {T} {x[1]}, {T} {x[2]}")


class _Angles:
    """Sines and cosines, each angle once. One-row code evaluates angles that are known at the same time together."""

    def __init__(self, w: Writer, program: Program, value: MutableMapping[int, str], span: range, lanes: int) -> None:
        self.w, self.value = w, value
        self.lanes = lanes if w.width == 1 else 1
        nodes = [program.nodes[k] for k in span]
        self.pending = list(dict.fromkeys(node.args[0] for node in nodes if node.op in TRIGONOMETRIC))
        self.done: dict[int, tuple[str, str]] = {}

    def sincos(self, angle: int, position: int) -> tuple[str, str]:
        """Registers of sine and cosine of a node, wanted at a position."""
        if angle not in self.done:
            ready = [k for k in self.pending if k < position]
            self.pending = [k for k in self.pending if k >= position]
            self._together(ready)
        return self.done[angle]

    def _together(self, ready: list[int]) -> None:
        w, lanes = self.w, min(self.lanes, len(ready))
        if lanes == 1:
            self.done.update(zip(ready, sincos_all(w, [self.value[k] for k in ready]), strict=True))
            return
        vector = Writer(self.lanes, fma=w.fma, shared=w)
        groups = [ready[k : k + self.lanes] for k in range(0, len(ready), self.lanes)]
        packed = []
        for group in groups:
            register = "zeroinitializer"
            for lane, k in enumerate(group):
                register = w.emit(f"insertelement {vector.type} {register}, double {self.value[k]}, i32 {lane}")
            packed.append(register)
        for group, pair in zip(groups, sincos_all(vector, packed), strict=True):
            for lane, k in enumerate(group):
                s, c = (w.emit(f"extractelement {vector.type} {register}, i32 {lane}") for register in pair)
                self.done[k] = s, c
