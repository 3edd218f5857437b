# SPDX-License-Identifier: Apache-2.0
"""A plan as a WebAssembly module: no compiler, no library, equal to the strict loop to the last bit.

Every stage is a function without arguments over the slots of the plan, double k of the memory being position k of the
plan. `run(n)` runs the stages "before" n times, in order. Sine, cosine, exponential and hyperbolic tangent are our own
(`own_functions.py`); the host is asked for logarithms, arc tangents and angles beyond 2²⁰ rad:

    const { instance } = await WebAssembly.instantiate(bytes, { math: Math });
    const slots = new Float64Array(instance.exports.memory.buffer);
    slots.set(q_ref, offset.q_ref);
    instance.exports.run(16);

A value that is used once is written where it is used; others have a local variable, which is used again when nobody
reads its value any more. All results are stored at the end: a stage may write what it reads.
"""

from __future__ import annotations

from collections import Counter

from armwright.errors import NotSupportedError
from armwright.graph.emit import wasm_bytes as wasm
from armwright.graph.emit.own_functions import DOUBLE
from armwright.graph.emit.own_steps import OWN, OwnArithmetic, reduced_sincos
from armwright.graph.emit.printing import is_boolean
from armwright.graph.loop_plan import LoopPlan, Stage
from armwright.graph.ops import TRIGONOMETRIC, Op

DEEPEST_NESTING = 60  # of one expression
MOST_BODY = 7_000_000  # bytes of a function; engines take 7,654,321
SINCOS = "sincos"
HOST: dict[Op | str, tuple[str, int]] = {
    Op.LOG: ("log", 1),
    Op.ATAN2: ("atan2", 2),
    "far sine": ("sin", 1),
    "far cosine": ("cos", 1),
}
"""Functions of the host (JavaScript's Math) by what they are for, with their number of arguments."""
_SIMPLE = {
    Op.ADD: wasm.ADD,
    Op.SUB: wasm.SUB,
    Op.MUL: wasm.MUL,
    Op.DIV: wasm.DIV,
    Op.NEG: wasm.NEG,
    Op.SQRT: wasm.SQRT,
    Op.ABS: wasm.ABS,
    Op.FLOOR: wasm.FLOOR,
    Op.LT: wasm.LESS,
    Op.LE: wasm.AT_MOST,
    Op.EQ: wasm.EQUAL,
    Op.AND: wasm.I32_AND,
    Op.OR: wasm.I32_OR,
    Op.NOT: wasm.I32_NOT,
}


def wasm_module(plan: LoopPlan) -> bytes:
    """Return a plan as a module: ``memory``, one function per stage, named as its program, and ``run(n)``.

    Raises:
        NotSupportedError: for an operation that the module cannot do, or a stage too long for one function.
    """
    used = {node.op for part in plan.stages for node in part.program.nodes}
    own: list[Op | str] = [*([SINCOS] if used & TRIGONOMETRIC else []), *(op for op in OWN if op in used)]
    asked = [key for key in HOST if key in used or (SINCOS in own and isinstance(key, str))]
    numbers: dict[Op | str, int] = {key: k for k, key in enumerate([*asked, *own])}
    functions = [_own_function(key, numbers) for key in own]
    first = len(numbers)
    constants = _often(plan)
    functions += [_StageWriter(plan, part, numbers, constants).function() for part in plan.stages]
    before = [first + k for k, part in enumerate(plan.stages) if part.when == "before"]
    exports = [(part.program.name, first + k) for k, part in enumerate(plan.stages)]
    exports.append(("run", first + len(plan.stages)))
    names = [name for name, _ in exports]
    if len(set(names)) < len(names):
        raise NotSupportedError(f"wasm: stages need names of their own, and none may be 'run'; got {', '.join(names)}")
    for part, function in zip(plan.stages, functions[len(own) :], strict=True):
        if len(function.code) > MOST_BODY:
            raise NotSupportedError(
                f"wasm: {part.program.name} has {len(function.code)} bytes, engines take {MOST_BODY}"
            )
    imports = [("math", HOST[key][0], (wasm.F64 * HOST[key][1], wasm.F64)) for key in asked]
    return wasm.module(imports, [*functions, _run(before)], exports, plan.size, list(constants))


def _often(plan: LoopPlan) -> dict[float, int]:
    """Number the constants that are used more than once, the most used first: nine bytes written once."""
    uses: Counter[float] = Counter()
    for part in plan.stages:
        nodes = part.program.nodes
        uses.update(nodes[a].value for node in nodes for a in node.args if nodes[a].op is Op.CONST)
    return {value: k for k, (value, count) in enumerate(uses.most_common()) if count > 1}


def _run(stages: list[int]) -> wasm.WasmFunction:
    """Call the stages as often as the argument says; not at all for 0 or less."""
    again = wasm.get(0) + wasm.small(1) + wasm.I32_SUB + b"\x22\x00" + wasm.REPEAT_IF + b"\x00"
    loop = wasm.LOOP + wasm.NOTHING + b"".join(map(wasm.call, stages)) + again + wasm.END
    positive = wasm.get(0) + wasm.small(0) + b"\x4a"
    return wasm.WasmFunction((wasm.I32, b""), b"", positive + wasm.IF + wasm.NOTHING + loop + wasm.END)


def _own_function(key: Op | str, numbers: dict[Op | str, int]) -> wasm.WasmFunction:
    """Return sine and cosine, or a function of `OWN`."""
    a = LocalArithmetic()
    x = wasm.get(0)
    if key == SINCOS:
        beyond = wasm.get(0) + wasm.ABS + wasm.number(DOUBLE.far) + wasm.AT_LEAST + wasm.IF + wasm.NOTHING
        ask = [wasm.get(0) + wasm.call(numbers[word]) for word in ("far sine", "far cosine")]
        a.code += beyond + b"".join(ask) + wasm.RETURN + wasm.END
        results = b"".join(_sine_and_cosine(a, x))
        return wasm.WasmFunction((wasm.F64, 2 * wasm.F64), a.kinds, bytes(a.code) + results)
    assert isinstance(key, Op)
    result = OWN[key](a, x)
    return wasm.WasmFunction((wasm.F64, wasm.F64), a.kinds, bytes(a.code) + result)


class LocalArithmetic(OwnArithmetic[bytes]):
    """Operations of a function of one double; a value is the instruction that reads it."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.format, self.code, self.kinds = DOUBLE, bytearray(), b""

    def keep(self, expression: bytes, kind: bytes = wasm.F64) -> bytes:
        """Compute an expression into a new local variable."""
        self.kinds += kind
        self.code += expression + wasm.put(len(self.kinds))
        return wasm.get(len(self.kinds))

    def number(self, value: float) -> bytes:
        """Return a constant."""
        return wasm.number(value)

    def plus(self, a: bytes, b: bytes) -> bytes:
        """Return a + b."""
        return self.keep(a + b + wasm.ADD)

    def minus(self, a: bytes, b: bytes) -> bytes:
        """Return a − b."""
        return self.keep(a + b + wasm.SUB)

    def times(self, a: bytes, b: bytes) -> bytes:
        """Return a·b."""
        return self.keep(a + b + wasm.MUL)

    def over(self, a: bytes, b: bytes) -> bytes:
        """Return a/b."""
        return self.keep(a + b + wasm.DIV)

    def negative(self, a: bytes) -> bytes:
        """Return −a."""
        return self.keep(a + wasm.NEG)

    def magnitude(self, a: bytes) -> bytes:
        """Return |a|."""
        return self.keep(a + wasm.ABS)

    def if_less(self, a: bytes, b: bytes, yes: bytes, no: bytes) -> bytes:
        """Return `yes` where a < b, else `no`."""
        return self.keep(yes + no + a + b + wasm.LESS + wasm.CHOOSE)

    def power_of_two(self, k: bytes) -> bytes:
        """Return 2ᵏ: k, moved to where the exponent stands."""
        f = self.format
        moved = k + wasm.number(f.round + f.bias) + wasm.ADD + wasm.BITS_OF + wasm.large(f.shift) + wasm.I64_SHL
        return self.keep(moved + wasm.FROM_BITS)


def _sine_and_cosine(a: LocalArithmetic, x: bytes) -> tuple[bytes, bytes]:
    """Return sin x and cos x, in the steps of `own_functions.strict_sincos`."""
    shifted, sine, cosine = reduced_sincos(a, x)
    quadrant = a.keep(shifted + wasm.BITS_OF, wasm.I64)
    odd = a.keep(quadrant + wasm.TO_I32 + wasm.small(1) + wasm.I32_AND, wasm.I32)

    def turned(even: bytes, uneven: bytes, turns: int) -> bytes:
        chosen = uneven + even + odd + wasm.CHOOSE + wasm.BITS_OF
        sign = quadrant + wasm.large(turns) + wasm.I64_ADD + wasm.large(62) + wasm.I64_SHL
        return a.keep(chosen + sign + wasm.large(-(2**63)) + wasm.I64_AND + wasm.I64_XOR + wasm.FROM_BITS)

    return turned(sine, cosine, 0), turned(cosine, sine, 1)


class _StageWriter:
    """Writes one stage: which nodes get local variables, and the instructions in order."""

    def __init__(self, plan: LoopPlan, part: Stage, numbers: dict[Op | str, int], constants: dict[float, int]) -> None:
        self.program, self.numbers, self.constants = part.program, numbers, constants
        self.reads = [plan.offset(part.reads[signal.name]) for signal in self.program.inputs]
        self.writes = [plan.offset(part.writes[signal.name]) for signal in self.program.outputs]
        self.named = self._named(set(part.writes.values()), part)

    def _named(self, written: set[str], part: Stage) -> list[bool]:
        """Return which nodes get a local variable; the results are read at the end."""
        nodes = self.program.nodes
        uses = [0] * len(nodes)
        for _, args, _ in nodes:
            for a in args:
                uses[a] += 1
        for result in self.program.results:
            for k in result:
                uses[k] += 1
        named, depth = [False] * len(nodes), [0] * len(nodes)
        rewritten = {k for k, signal in enumerate(self.program.inputs) if part.reads[signal.name] in written}
        for k, (op, args, value) in enumerate(nodes):
            if op is Op.CONST:
                continue
            named[k] = uses[k] > 1 or op in TRIGONOMETRIC or (op is Op.INPUT and value[0] in rewritten)
            if op in (Op.MIN, Op.MAX):  # both operands are read twice
                for a in args:
                    named[a] = nodes[a].op is not Op.CONST
            depth[k] = 1 + max((0 if named[a] else depth[a] for a in args), default=0)
            named[k] |= depth[k] > DEEPEST_NESTING
        return named

    def function(self) -> wasm.WasmFunction:
        nodes = self.program.nodes
        steps: list[tuple[tuple[int, ...], int]] = []  # nodes that get their variables, and what is computed
        angles: dict[int, dict[Op, int]] = {}
        for k, (op, args, _) in enumerate(nodes):
            if op in TRIGONOMETRIC:
                angles.setdefault(args[0], {})[op] = k
        for k, (op, args, _) in enumerate(nodes):
            if op in TRIGONOMETRIC:
                pair = angles[args[0]]
                if k == min(pair.values()):
                    steps.append((tuple(pair.get(kind, -1) for kind in (Op.SIN, Op.COS)), k))
            elif self.named[k]:
                steps.append(((k,), k))
        ends = [
            (place + e, k)
            for place, result in zip(self.writes, self.program.results, strict=True)
            for e, k in enumerate(result)
        ]
        reading = [self._reads(k) for _, k in steps]
        last: dict[int, int] = {}
        for i, reads in enumerate(reading):
            last |= dict.fromkeys(reads, i)
        for _, k in ends:
            last |= dict.fromkeys([k] if self.named[k] else self._reads(k), len(steps))
        kinds = bytearray()
        free: dict[bytes, list[int]] = {wasm.F64: [], wasm.I32: []}
        place: dict[int, int] = {}
        code = bytearray()
        for i, (defined, k) in enumerate(steps):
            code += self._spell(k, place)
            for a in reading[i]:
                if last[a] == i:
                    free[self._kind(a)].append(place[a])
            for target in reversed(defined):
                if target < 0 or target not in last:
                    code += wasm.DROP
                    continue
                kind = self._kind(target)
                if not free[kind]:
                    free[kind].append(len(kinds))
                    kinds += kind
                place[target] = free[kind].pop()
                code += wasm.put(place[target])
        for address, k in ends:
            code += wasm.store(address, self._value(k, place))
        return wasm.WasmFunction((b"", b""), bytes(kinds), bytes(code))

    def _kind(self, k: int) -> bytes:
        return wasm.I32 if is_boolean(self.program.nodes[k]) else wasm.F64

    def _reads(self, k: int) -> set[int]:
        """Return the nodes with variables that the expression of node k reads."""
        found, stack = set(), list(self.program.nodes[k].args)
        while stack:
            a = stack.pop()
            if self.named[a]:
                found.add(a)
            else:
                stack += self.program.nodes[a].args
        return found

    def _value(self, k: int, place: dict[int, int]) -> bytes:
        return wasm.get(place[k]) if self.named[k] else self._spell(k, place)

    def _spell(self, k: int, place: dict[int, int]) -> bytes:
        """Return the instructions of node k."""
        op, args, value = self.program.nodes[k]
        if op is Op.CONST:
            if isinstance(value, bool):
                return wasm.small(int(value))
            return wasm.constant(self.constants[value]) if value in self.constants else wasm.number(value)
        if op is Op.INPUT:
            return wasm.load(self.reads[value[0]] + value[1])
        x = [self._value(a, place) for a in args]
        if op in _SIMPLE:
            return b"".join(x) + _SIMPLE[op]
        if op in TRIGONOMETRIC:
            return x[0] + wasm.call(self.numbers[SINCOS])
        if op in (Op.MIN, Op.MAX):  # b where b < a, so that NaN and ±0 fall as in the loop
            return x[1] + x[0] + x[1] + x[0] + (wasm.LESS if op is Op.MIN else wasm.GREATER) + wasm.CHOOSE
        if op is Op.SELECT:
            return x[1] + x[2] + x[0] + wasm.CHOOSE
        if op in self.numbers:
            return b"".join(x) + wasm.call(self.numbers[op])
        raise NotSupportedError(f"wasm: no way to write {op.name}")
