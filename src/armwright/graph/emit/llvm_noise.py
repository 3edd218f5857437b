"""Standard normals from counters as one LLVM function: Threefry, then Box and Muller, in SIMD lanes.

The function is

    void name(ptr keys, i64 stream, i64 first, i64 pairs, i64 blocks, ptr out)

`side` simulations with the keys (keys[l], stream) lie side by side. Block b of simulation l is Threefry of the counter
(first + b div pairs, b mod pairs), that is (tick, pair); its two normals go to out[(2b)·side + l] and
out[(2b + 1)·side + l]. Nothing is reassociated and each lane is on its own, so the numbers do not depend on `side`,
on the width or on how a stretch of ticks is cut.
"""

from __future__ import annotations

from armwright.graph.emit.llvm_math import Writer, sincos

ROTATIONS = (16, 42, 12, 31, 16, 32, 24, 21)  # Threefry-2x64 (Salmon et al. 2011, table 2)
PARITY = 0x1BD11BDAA9FC1A22  # third word of the key schedule is this xor the key
ROUNDS = 20
ONE_BITS = 0x3FF0000000000000  # of 1.0
FRACTION_BITS = 0x000FFFFFFFFFFFFF
ROOT_HALF_BITS = 0x3FE6A09E667F3BCD  # of √½
WHOLE_BITS = 0x4330000000000000  # of 2⁵²: a small whole number in its low bits adds to it
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
LOG = (6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
       1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01)  # fmt: skip
TWO_PI = 6.283185307179586


def _signed(word: int) -> int:
    return word - (1 << 64) if word >= 1 << 63 else word


def threefry(w: Writer, counter: tuple[str, str], key: tuple[str, str]) -> tuple[str, str]:
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


def _kind(w: Writer) -> str:
    return "i64" if w.width == 1 else f"v{w.width}i64"


def log(w: Writer, x: str) -> str:
    """Return the register of ln x for normal x > 0: x = 2ᵏ·m with √½ ≤ m < √2, then fdlibm's series in (m−1)/(m+1)."""
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
    even, odd = w.literal(LOG[5]), w.literal(LOG[6])  # two chains: shorter than one
    for c in (LOG[3], LOG[1]):
        even = w.fused(z2, even, w.literal(c))
    for c in (LOG[4], LOG[2], LOG[0]):
        odd = w.fused(z2, odd, w.literal(c))
    series = w.fused(z2, even, w.emit(f"fmul {T} {z}, {odd}"))
    half = w.emit(f"fmul {T} {w.emit(f'fmul {T} {f}, {f}')}, {w.literal(0.5)}")
    tail = w.fused(s, w.emit(f"fadd {T} {half}, {series}"), w.emit(f"fmul {T} {k}, {w.literal(LN2_LOW)}"))
    rest = w.emit(f"fsub {T} {w.emit(f'fsub {T} {half}, {tail}')}, {f}")
    return w.emit(f"fsub {T} {w.emit(f'fmul {T} {k}, {w.literal(LN2_HIGH)}')}, {rest}")


def box_muller(w: Writer, words: tuple[str, str]) -> tuple[str, str]:
    """Return two normals of two words: √(−2 ln u) times cos and sin of an angle, u in (0, 1], the angle in [−π, π)."""
    T, integer = w.type, w.integer
    ones = []
    for word in words:  # 52 bits of each word become a number in [1, 2)
        top = w.emit(f"lshr {integer} {word}, {w.literal(12)}")
        ones.append(w.emit(f"bitcast {integer} {w.emit(f'or {integer} {top}, {w.literal(ONE_BITS)}')} to {T}"))
    u = w.emit(f"fsub {T} {w.literal(2.0)}, {ones[0]}")
    square = w.emit(f"fmul {T} {log(w, u)}, {w.literal(-2.0)}")
    radius = w.intrinsic("sqrt", square)
    angle = w.emit(f"fmul {T} {w.emit(f'fsub {T} {ones[1]}, {w.literal(1.5)}')}, {w.literal(TWO_PI)}")
    sine, cosine = sincos(w, angle)
    return w.emit(f"fmul {T} {radius}, {cosine}"), w.emit(f"fmul {T} {radius}, {sine}")


def _iota(w: Writer, values: list[int]) -> str:
    return str(values[0]) if w.width == 1 else "<" + ", ".join(f"i64 {v}" for v in values) + ">"


def _spread(w: Writer, scalar: str) -> str:
    if w.width == 1:
        return scalar
    first = w.emit(f"insertelement {w.integer} poison, i64 {scalar}, i32 0")
    return w.emit(f"shufflevector {w.integer} {first}, {w.integer} poison, <{w.width} x i32> zeroinitializer")


def _keys(w: Writer, side: int) -> str:
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


def _store(w: Writer, values: tuple[str, str], side: int, target: str) -> None:
    """Store the normals of width/side blocks in their order."""
    wide = f"<{2 * w.width} x double>"
    if w.width == 1:
        w.line(f"store double {values[0]}, ptr {target}, align 8")
        w.line(f"store double {values[1]}, ptr {w.offset(target, 1)}, align 8")
        return
    order = [half * w.width + block * side + lane
             for block in range(w.width // side) for half in range(2) for lane in range(side)]  # fmt: skip
    mask = ", ".join(f"i32 {k}" for k in order)
    both = w.emit(f"shufflevector {w.type} {values[0]}, {w.type} {values[1]}, <{2 * w.width} x i32> <{mask}>")
    w.line(f"store {wide} {both}, ptr {target}, align 8")


def noise_ir(name: str, *, side: int, width: int, fma: bool, register: int) -> str:
    """Return a module with the function above.

    Args:
        name: of the function.
        side: simulations side by side.
        width: lanes worked on at once, a multiple of `side`; more than the machine's own keeps its units busy.
        fma: whether the machine fuses a·b + c.
        register: the machine's own lanes.
    """
    w, per = Writer(width, fma=fma), width // side
    T = w.integer
    w.raw("entry:")
    w.line(f"%rest = alloca [{2 * width} x double], align 64")
    key = (_keys(w, side), _spread(w, "%stream"))
    pairs, first = _spread(w, "%pairs"), _spread(w, "%first")
    place = _iota(w, [lane // side for lane in range(width)])
    ticks0 = w.emit(f"add {T} {first}, {w.emit(f'udiv {T} {place}, {pairs}')}")
    pair0 = w.emit(f"urem {T} {place}, {pairs}")
    step_tick = _spread(w, w.emit(f"udiv i64 {per}, %pairs"))
    step_pair = _spread(w, w.emit(f"urem i64 {per}, %pairs"))
    w.line("br label %head")
    w.raw("head:")
    w.line("%block = phi i64 [0, %entry], [%next, %whole]")
    w.line(f"%tick = phi {T} [{ticks0}, %entry], [%tick2, %whole]")
    w.line(f"%pair = phi {T} [{pair0}, %entry], [%pair2, %whole]")
    w.line("%left = sub i64 %blocks, %block")
    w.line("%some = icmp sgt i64 %left, 0")
    w.line("br i1 %some, label %body, label %end")
    w.raw("body:")
    values = box_muller(w, threefry(w, ("%tick", "%pair"), key))
    w.line(f"%next = add i64 %block, {per}")
    w.line(f"%full = icmp sge i64 %left, {per}")
    w.line("br i1 %full, label %whole, label %partial")
    w.raw("whole:")
    _store(w, values, side, w.emit(f"getelementptr double, ptr %out, i64 {w.emit(f'mul i64 %block, {2 * side}')}"))
    moved = w.emit(f"add {T} %pair, {step_pair}")
    over = w.emit(f"icmp sge {T} {moved}, {pairs}")
    w.line(f"%pair2 = sub {T} {moved}, {w.emit(f'select {w.truth_type} {over}, {T} {pairs}, {T} {w.literal(0)}')}")
    carry = w.emit(f"zext {w.truth_type} {over} to {T}")
    w.line(f"%tick2 = add {T} {w.emit(f'add {T} %tick, {step_tick}')}, {carry}")
    w.line("br label %head")
    w.raw("partial:")  # the last blocks, fewer than fit: the vector goes aside and its part is copied
    _store(w, values, side, "%rest")
    w.line(f"%start = mul i64 %block, {2 * side}")
    w.line(f"%numbers = mul i64 %left, {2 * side}")
    w.line("br label %copy")
    w.raw("copy:")
    w.line("%k = phi i64 [0, %partial], [%k2, %copy]")
    number = w.emit(f"load double, ptr {w.emit('getelementptr double, ptr %rest, i64 %k')}, align 8")
    target = w.emit(f"getelementptr double, ptr %out, i64 {w.emit('add i64 %start, %k')}")
    w.line(f"store double {number}, ptr {target}, align 8")
    w.line("%k2 = add i64 %k, 1")
    w.line("%more = icmp slt i64 %k2, %numbers")
    w.line("br i1 %more, label %copy, label %end")
    w.raw("end:")
    w.line("ret void")
    wide = f' "prefer-vector-width"="{64 * register}" "min-legal-vector-width"="{64 * register}"' if register > 2 else ""
    head = f"define void @{name}(ptr %keys, i64 %stream, i64 %first, i64 %pairs, i64 %blocks, ptr %out) #0 {{"
    return "\n".join([head, *w.lines, "}", *sorted(w.declarations), f"attributes #0 = {{ nounwind{wide} }}", ""])
