# SPDX-License-Identifier: Apache-2.0
"""Standard normals from counters as one LLVM function: Threefry, then Box–Muller, in SIMD lanes.

The function is

    void name(ptr keys, i64 stream, i64 first, i64 pairs, i64 blocks, ptr out)

`side` simulations with the keys (keys[l], stream) lie side by side. Two ticks at a time: block b of simulation l is
Threefry of the counter (d, p) = (first + b div pairs, b mod pairs); its first word makes the components 2p and 2p + 1
at tick 2d, its second word those at tick 2d + 1. With t counted from tick 2·first, component c of tick t goes to
out[(t·2·pairs + c)·side + l]. Nothing is reassociated and each lane is on its own, so the numbers do not depend on
`side`, on the width or on how a stretch of ticks is cut.
"""

from __future__ import annotations

from armwright.graph.emit.llvm_math import COSINE, SIGN_BIT, SINE, LaneWriter

ROTATIONS = (16, 42, 12, 31, 16, 32, 24, 21)  # Threefry-2x64 (Salmon et al. 2011, table 2)
PARITY = 0x1BD11BDAA9FC1A22  # third word of the key schedule is this xor the key
ROUNDS = 20
ONE_BITS = 0x3FF0000000000000  # of 1.0
FRACTION_BITS = 0x000FFFFFFFFFFFFF
ROOT_HALF_BITS = 0x3FE6A09E667F3BCD  # of √½
WHOLE_BITS = 0x4330000000000000  # of 2⁵²: a small whole number in its low bits adds to it
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
PI_HALF = 1.5707963267948966


def polynomial(w: LaneWriter, z: str, coefficients: tuple[float, ...]) -> str:
    """Return the register of Σ cᵢ zⁱ."""
    result = w.literal(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        result = w.fused(z, result, w.literal(c))
    return result


def _signed(word: int) -> int:
    return word - (1 << 64) if word >= 1 << 63 else word


def threefry(w: LaneWriter, counter: tuple[str, str], key: tuple[str, str]) -> tuple[str, str]:
    """Return registers of the two words of Threefry-2x64-20."""
    T = w.integer

    def add(a: str, b: str) -> str:
        return w.emit(f"add {T} {a}, {b}")

    mixed = w.emit(f"xor {T} {w.emit(f'xor {T} {key[0]}, {key[1]}')}, {w.literal(_signed(PARITY))}")
    schedule = (*key, mixed)
    w.declarations.add(f"declare {T} @llvm.fshl.{_kind(w)}({T}, {T}, {T})")
    x0, x1 = add(counter[0], key[0]), add(counter[1], key[1])
    for turn in range(ROUNDS):
        x0 = add(x0, x1)
        by = w.literal(ROTATIONS[turn % 8])
        x1 = w.emit(f"xor {T} {w.emit(f'call {T} @llvm.fshl.{_kind(w)}({T} {x1}, {T} {x1}, {T} {by})')}, {x0}")
        if turn % 4 == 3:
            n = turn // 4 + 1
            x0 = add(x0, schedule[n % 3])
            x1 = add(x1, add(schedule[(n + 1) % 3], w.literal(n)))
    return x0, x1


def _kind(w: LaneWriter) -> str:
    return "i64" if w.width == 1 else f"v{w.width}i64"


def minus_two_log(w: LaneWriter, x: str) -> str:
    """Return the register of −2 ln x for normal x > 0: x = 2ᵏ·m, √½ ≤ m < √2, fdlibm's series in s = (m−1)/(m+1).

    With f = m − 1 it is f² − s(f² + 2R) − 2f − 2k ln 2, R(s²) the series; ln 2 in two parts.
    """
    T, integer = w.type, w.integer
    bits = w.emit(f"bitcast {T} {x} to {integer}")
    raised = w.emit(f"add {integer} {bits}, {w.literal(ONE_BITS - ROOT_HALF_BITS)}")
    exponent = w.emit(f"or {integer} {w.emit(f'lshr {integer} {raised}, {w.literal(52)}')}, {w.literal(WHOLE_BITS)}")
    k = w.emit(f"fsub {T} {w.emit(f'bitcast {integer} {exponent} to {T}')}, {w.literal(2.0**52 + 1023.0)}")
    low = w.emit(f"and {integer} {raised}, {w.literal(FRACTION_BITS)}")
    mantissa = w.emit(f"add {integer} {low}, {w.literal(ROOT_HALF_BITS)}")
    f = w.emit(f"fsub {T} {w.emit(f'bitcast {integer} {mantissa} to {T}')}, {w.literal(1.0)}")
    s = w.emit(f"fdiv {T} {f}, {w.emit(f'fadd {T} {f}, {w.literal(2.0)}')}")
    z = w.emit(f"fmul {T} {s}, {s}")
    z2 = w.emit(f"fmul {T} {z}, {z}")
    square = w.emit(f"fmul {T} {f}, {f}")
    even, odd = w.literal(2.0 * LOG[5]), w.literal(2.0 * LOG[6])  # two chains: shorter than one
    for c in (LOG[3], LOG[1]):
        even = w.fused(z2, even, w.literal(2.0 * c))
    for c in (LOG[4], LOG[2], LOG[0]):
        odd = w.fused(z2, odd, w.literal(2.0 * c))
    series = w.fused(z2, even, w.fused(z, odd, square))
    tail = w.fused(s, series, w.emit(f"fmul {T} {k}, {w.literal(2.0 * LN2_LOW)}"))
    rest = w.fused(f, w.literal(-2.0), w.emit(f"fsub {T} {square}, {tail}"))
    return w.fused(k, w.literal(-2.0 * LN2_HIGH), rest)


def direction(w: LaneWriter, word: str) -> tuple[str, str]:
    """Return a uniformly distributed point of the circle, from the 32 low bits of a word.

    30 bits are an angle in [−π/4, π/4), one turns it by half a turn (the sign of the cosine, the sine's being as often
    positive as negative), one by a quarter (which of the two is which).
    """
    T, integer = w.type, w.integer
    bits = w.emit(f"and {integer} {w.emit(f'shl {integer} {word}, {w.literal(22)}')}, {w.literal(FRACTION_BITS)}")
    one = w.emit(f"bitcast {integer} {w.emit(f'or {integer} {bits}, {w.literal(ONE_BITS)}')} to {T}")
    r = w.emit(f"fmul {T} {w.emit(f'fsub {T} {one}, {w.literal(1.5)}')}, {w.literal(PI_HALF)}")
    z = w.emit(f"fmul {T} {r}, {r}")
    sine = w.fused(w.emit(f"fmul {T} {r}, {z}"), polynomial(w, z, SINE), r)
    cosine = w.fused(z, w.fused(z, polynomial(w, z, COSINE), w.literal(-0.5)), w.literal(1.0))
    sign = w.emit(f"and {integer} {w.emit(f'shl {integer} {word}, {w.literal(33)}')}, {w.literal(SIGN_BIT)}")
    signed = w.emit(f"xor {integer} {w.emit(f'bitcast {T} {cosine} to {integer}')}, {sign}")
    cosine = w.emit(f"bitcast {integer} {signed} to {T}")
    turned = w.emit(f"icmp slt {integer} {w.emit(f'shl {integer} {word}, {w.literal(32)}')}, {w.literal(0)}")
    return (
        w.emit(f"select {w.truth_type} {turned}, {T} {sine}, {T} {cosine}"),
        w.emit(f"select {w.truth_type} {turned}, {T} {cosine}, {T} {sine}"),
    )


def box_muller(w: LaneWriter, word: str) -> tuple[str, str]:
    """Return two normals of a word: √(−2 ln u) times a direction, u in (0, 1] from the 52 high bits.

    Radius and direction share 20 bits, which move u by less than 2⁻³²: below 6.66 standard deviations they are
    independent to 32 bits each, and the tail still reaches 8.49.
    """
    T, integer = w.type, w.integer
    top = w.emit(f"lshr {integer} {word}, {w.literal(12)}")
    one = w.emit(f"bitcast {integer} {w.emit(f'or {integer} {top}, {w.literal(ONE_BITS)}')} to {T}")
    u = w.emit(f"fsub {T} {w.literal(2.0)}, {one}")
    radius = w.intrinsic("sqrt", minus_two_log(w, u))
    x, y = direction(w, word)
    return w.emit(f"fmul {T} {radius}, {x}"), w.emit(f"fmul {T} {radius}, {y}")


def _iota(w: LaneWriter, values: list[int]) -> str:
    return str(values[0]) if w.width == 1 else "<" + ", ".join(f"i64 {v}" for v in values) + ">"


def _spread(w: LaneWriter, scalar: str) -> str:
    if w.width == 1:
        return scalar
    first = w.emit(f"insertelement {w.integer} poison, i64 {scalar}, i32 0")
    return w.emit(f"shufflevector {w.integer} {first}, {w.integer} poison, <{w.width} x i32> zeroinitializer")


def _keys(w: LaneWriter, side: int) -> str:
    """Load `side` keys, repeated over the width."""
    T = w.integer
    result = "poison"
    for lane in range(side):
        address = w.emit(f"getelementptr i64, ptr %keys, i64 {lane}")
        word = w.emit(f"load i64, ptr {address}, align 8")
        if w.width == 1:
            return word
        result = w.emit(f"insertelement {T} {result}, i64 {word}, i32 {lane}")
    mask = ", ".join(f"i32 {lane % side}" for lane in range(w.width))
    return w.emit(f"shufflevector {T} {result}, {T} poison, <{w.width} x i32> <{mask}>")


def _store(w: LaneWriter, values: tuple[str, str], side: int, targets: list[str]) -> None:
    """Store the two normals of each block, 2·side numbers, at its target."""
    for block, target in enumerate(targets):
        lanes = [half * w.width + block * side + lane for half in range(2) for lane in range(side)]
        if w.width == 1:
            w.line(f"store double {values[0]}, ptr {target}, align 8")
            w.line(f"store double {values[1]}, ptr {w.offset(target, 1)}, align 8")
        else:
            w.line(f"store <{2 * side} x double> {w.shuffle(*values, lanes)}, ptr {target}, align 8")


def _pick(w: LaneWriter, vector: str, lane: int) -> str:
    return vector if w.width == 1 else w.emit(f"extractelement {w.integer} {vector}, i32 {lane}")


def noise_ir(name: str, *, side: int, width: int, fma: bool, register: int) -> str:
    """Return a module with the function above.

    Args:
        name: name of the function.
        side: simulations side by side.
        width: lanes worked on at once, a multiple of `side`; more than the machine's own keeps its units busy.
        fma: whether the machine fuses a·b + c.
        register: the machine's own lanes.
    """
    w, per = LaneWriter(width, fma=fma), width // side
    T = w.integer
    w.raw("entry:")
    w.line(f"%aside = alloca [{2 * side} x double], align 64")
    w.line(f"%row = mul i64 %pairs, {2 * side}")  # numbers of a tick
    key = (_keys(w, side), _spread(w, "%stream"))
    pairs, first, row = _spread(w, "%pairs"), _spread(w, "%first"), _spread(w, "%row")
    place = _iota(w, [lane // side for lane in range(width)])
    ahead = w.emit(f"udiv {T} {place}, {pairs}")
    double0 = w.emit(f"add {T} {first}, {ahead}")
    pair0 = w.emit(f"urem {T} {place}, {pairs}")
    # block b of double tick d starts at 2·side·(b + d·pairs), as a row lies between it and the next double tick
    numbers = w.emit(f"mul {T} {place}, {w.literal(2 * side)}")
    start0 = w.emit(f"add {T} {numbers}, {w.emit(f'mul {T} {ahead}, {row}')}")
    w.line(f"%doubles = udiv i64 {per}, %pairs")
    w.line(f"%step = add i64 {w.emit('mul i64 %doubles, %row')}, {2 * side * per}")
    step_double, step = _spread(w, "%doubles"), _spread(w, "%step")
    step_pair = _spread(w, w.emit(f"urem i64 {per}, %pairs"))
    w.line("%any = icmp sgt i64 %blocks, 0")
    w.line("br i1 %any, label %body, label %end")
    w.raw("body:")
    w.line("%block = phi i64 [0, %entry], [%next, %body]")
    for register_name, initial in (("double", double0), ("pair", pair0), ("start", start0)):
        w.line(f"%{register_name} = phi {T} [{initial}, %entry], [%{register_name}2, %body]")
    words = threefry(w, ("%double", "%pair"), key)
    w.line("%left = sub i64 %blocks, %block")
    targets: list[list[str]] = [[], []]
    for block in range(per):  # what lies beyond the last block goes aside
        wanted = w.emit(f"icmp sgt i64 %left, {block}")
        address = w.emit(f"getelementptr double, ptr %out, i64 {_pick(w, '%start', block * side)}")
        for half in range(2):
            place = w.emit(f"getelementptr double, ptr {address}, i64 %row") if half else address
            targets[half].append(w.emit(f"select i1 {wanted}, ptr {place}, ptr %aside"))
    for word, places in zip(words, targets, strict=True):
        _store(w, box_muller(w, word), side, places)
    moved = w.emit(f"add {T} %pair, {step_pair}")
    over = w.emit(f"icmp sge {T} {moved}, {pairs}")
    carry = w.emit(f"sext {w.truth_type} {over} to {T}")
    w.line(f"%pair2 = sub {T} {moved}, {w.emit(f'and {T} {carry}, {pairs}')}")
    w.line(f"%double2 = sub {T} {w.emit(f'add {T} %double, {step_double}')}, {carry}")
    w.line(f"%start2 = add {T} {w.emit(f'add {T} %start, {step}')}, {w.emit(f'and {T} {carry}, {row}')}")
    w.line(f"%next = add i64 %block, {per}")
    w.line("%more = icmp slt i64 %next, %blocks")
    w.line("br i1 %more, label %body, label %end")
    w.raw("end:")
    w.line("ret void")
    wide = (
        f' "prefer-vector-width"="{64 * register}" "min-legal-vector-width"="{64 * register}"' if register > 2 else ""
    )
    head = f"define void @{name}(ptr %keys, i64 %stream, i64 %first, i64 %pairs, i64 %blocks, ptr %out) #0 {{"
    return "\n".join([head, *w.lines, "}", *sorted(w.declarations), f"attributes #0 = {{ nounwind{wide} }}", ""])
