# SPDX-License-Identifier: Apache-2.0
"""A writer of LLVM instructions: registers, literals, lanes, and our own vector sine and cosine.

The llvmlite wheel carries no vector mathematics library, hence `sincos`: three-part Cody–Waite reduction by π/2 and the
fdlibm polynomials on [−π/4, π/4]. That is good to 2 ulp for |x| below a bound (`FAR_FUSED`, `FAR_SHORT`). Beyond it,
where a reduction needs hundreds of bits of π, `sincos_all` asks the C library, lane by lane and off the usual path: the
same numbers, whichever lanes stand next to one another.

A strict writer never fuses a product with a sum and leaves nothing of the usual path to a library: what it writes has
one result, which code in other languages can have to the last bit (`own_functions.py`).
"""

from __future__ import annotations

import struct

TWO_OVER_PI = 0.63661977236758134308
ROUND = 6755399441055744.0  # 1.5·2⁵²: adding it rounds to an integer kept in the low mantissa bits
PI_HALF_FUSED = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
PI_HALF_SHORT = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)  # 33-bit parts
FAR_FUSED = 2.0**43  # k·π/2 is exact to 2⁻¹⁰⁶·k, and k (as an integer in a double) is off by less than 2⁻¹⁰
FAR_SHORT = 2.0**20  # k must fit into 20 bits next to the 33 of a part
SINE = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
COSINE = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)
SIGN_BIT = -9223372036854775808
UNLIKELY = "!0"  # branch weights of the far path
FAR = f"""
define internal void @armwright_far(ptr %x, i64 %count, double %bound) #1 {{
entry:
  br label %next
next:
  %k = phi i64 [0, %entry], [%k2, %done]
  %xp = getelementptr double, ptr %x, i64 %k
  %v = load double, ptr %xp
  %size = call double @llvm.fabs.f64(double %v)
  %far = fcmp oge double %size, %bound
  br i1 %far, label %ask, label %done
ask:
  %sp = getelementptr double, ptr %xp, i64 %count
  %cp = getelementptr double, ptr %sp, i64 %count
  %s = call double @sin(double %v)
  %c = call double @cos(double %v)
  store double %s, ptr %sp
  store double %c, ptr %cp
  br label %done
done:
  %k2 = add i64 %k, 1
  %more = icmp slt i64 %k2, %count
  br i1 %more, label %next, label %end
end:
  ret void
}}
attributes #1 = {{ cold noinline nounwind }}
{UNLIKELY} = !{{!"branch_weights", i32 1, i32 1000000}}"""


class LaneWriter:
    """Collects instructions of one function for `width` lanes; writers of other widths may share its lines."""

    def __init__(self, width: int, *, fma: bool, shared: LaneWriter | None = None, strict: bool = False) -> None:
        """Start empty, or append to the lines of `shared`; a strict writer rounds every operation by itself."""
        self.width = width
        self.strict: bool = shared.strict if shared else strict
        self.fma = fma and not self.strict
        self.type = "double" if width == 1 else f"<{width} x double>"
        self.integer = "i64" if width == 1 else f"<{width} x i64>"
        self.truth_type = "i1" if width == 1 else f"<{width} x i1>"
        self.lines: list[str] = shared.lines if shared else []
        self.declarations: set[str] = shared.declarations if shared else set()
        self._counter: list[int] = shared._counter if shared else [0]
        self.memory: dict[str, int] = shared.memory if shared else {}

    def raw(self, text: str) -> None:
        """Append a line as it is (labels)."""
        self.lines.append(text)

    def line(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append("  " + text)

    def emit(self, instruction: str) -> str:
        """Append an instruction and return its register."""
        self._counter[0] += 1
        register = f"%t{self._counter[0]}"
        self.lines.append(f"  {register} = {instruction}")
        return register

    def label(self) -> str:
        """Return a new name for a block."""
        self._counter[0] += 1
        return f"b{self._counter[0]}"

    def start(self) -> list[str]:
        """Return instructions for the start of the function, once all else is written: the memory that it works in."""
        return [f"  %{name} = alloca [{size} x double], align 64" for name, size in self.memory.items()]

    def literal(self, value: float | bool | int) -> str:
        """Write a constant in all lanes, bit-exact."""
        if isinstance(value, bool):
            return str(value).lower() if self.width == 1 else f"splat (i1 {str(value).lower()})"
        if isinstance(value, int):
            return str(value) if self.width == 1 else f"splat (i64 {value})"
        bits = "0x" + struct.pack(">d", float(value)).hex().upper()
        return bits if self.width == 1 else f"splat (double {bits})"

    def offset(self, base: str, elements: int) -> str:
        """Return the address of the double `elements` after `base`."""
        return base if elements == 0 else self.emit(f"getelementptr double, ptr {base}, i64 {elements}")

    def shuffle(self, a: str, b: str, lanes: list[int]) -> str:
        """Pick lanes from the concatenation of a and b."""
        mask = ", ".join(f"i32 {lane}" for lane in lanes)
        return self.emit(f"shufflevector {self.type} {a}, {self.type} {b}, <{len(lanes)} x i32> <{mask}>")

    def load_piece(self, address: str, count: int) -> str:
        """Load `count` neighbouring doubles."""
        return self.emit(f"load {'double' if count == 1 else f'<{count} x double>'}, ptr {address}, align 8")

    def join(self, pieces: list[str], count: int) -> str:
        """Concatenate vectors of `count` lanes into one of full width."""
        if count == 1:
            vector = "poison"
            for lane, piece in enumerate(pieces):
                vector = self.emit(f"insertelement {self.type} {vector}, double {piece}, i32 {lane}")
            return vector
        while len(pieces) > 1:
            mask = ", ".join(f"i32 {lane}" for lane in range(2 * count))
            kind = f"<{count} x double>"
            pieces = [
                self.emit(f"shufflevector {kind} {a}, {kind} {b}, <{2 * count} x i32> <{mask}>")
                for a, b in zip(pieces[::2], pieces[1::2], strict=True)
            ]
            count *= 2
        return pieces[0]

    def any_lane(self, truth: str) -> str:
        """Return whether a truth value holds in some lane."""
        if self.width == 1:
            return truth
        return self.emit(f"icmp ne i{self.width} {self.emit(f'bitcast {self.truth_type} {truth} to i{self.width}')}, 0")

    def part(self, vector: str, piece: int, count: int) -> str:
        """Return the lanes piece·count … of a vector."""
        if count == self.width:
            return vector
        if count == 1:
            return self.emit(f"extractelement {self.type} {vector}, i32 {piece}")
        return self.shuffle(vector, "poison", list(range(piece * count, (piece + 1) * count)))

    def _suffix(self) -> str:
        return "f64" if self.width == 1 else f"v{self.width}f64"

    def intrinsic(self, name: str, *x: str) -> str:
        """Call an LLVM intrinsic on full vectors."""
        T = self.type
        self.declarations.add(f"declare {T} @llvm.{name}.{self._suffix()}({', '.join([T] * len(x))})")
        return self.emit(f"call {T} @llvm.{name}.{self._suffix()}({', '.join(f'{T} {v}' for v in x)})")

    def fused(self, a: str, b: str, c: str) -> str:
        """Return a·b + c, in one rounding where the machine can."""
        if self.fma:
            return self.intrinsic("fma", a, b, c)
        return self.emit(f"fadd {self.type} {self.emit(f'fmul {self.type} {a}, {b}')}, {c}")

    def library_call(self, name: str, x: list[str]) -> str:
        """Call a function of the C library lane by lane (rare operations only)."""
        self.declarations.add(f"declare double @{name}({', '.join(['double'] * len(x))})")
        if self.width == 1:
            return self.emit(f"call double @{name}({', '.join(f'double {v}' for v in x)})")
        result = "poison"
        for lane in range(self.width):
            arguments = ", ".join(f"double {self.emit(f'extractelement {self.type} {v}, i32 {lane}')}" for v in x)
            value = self.emit(f"call double @{name}({arguments})")
            result = self.emit(f"insertelement {self.type} {result}, double {value}, i32 {lane}")
        return result


def _polynomial(w: LaneWriter, z: str, coefficients: tuple[float, ...]) -> str:
    result = w.literal(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        result = w.fused(z, result, w.literal(c))
    return result


def sincos(w: LaneWriter, x: str) -> tuple[str, str]:
    """Return registers of sin x and cos x."""
    T, integer = w.type, w.integer
    shifted = w.fused(x, w.literal(TWO_OVER_PI), w.literal(ROUND))
    k = w.emit(f"fsub {T} {shifted}, {w.literal(ROUND)}")
    r = x
    for part in PI_HALF_FUSED if w.fma else PI_HALF_SHORT:
        r = w.fused(k, w.literal(-part), r)
    z = w.emit(f"fmul {T} {r}, {r}")
    sine = w.fused(w.emit(f"fmul {T} {r}, {z}"), _polynomial(w, z, SINE), r)
    cosine = w.fused(z, w.fused(z, _polynomial(w, z, COSINE), w.literal(-0.5)), w.literal(1.0))
    quadrant = w.emit(f"bitcast {T} {shifted} to {integer}")
    bit = w.emit(f"and {integer} {quadrant}, {w.literal(1)}")
    odd = w.emit(f"icmp ne {integer} {bit}, {w.literal(0)}")
    results = []
    for first, second, turn in ((sine, cosine, 0), (cosine, sine, 1)):
        chosen = w.emit(f"select {w.truth_type} {odd}, {T} {second}, {T} {first}")
        turned = w.emit(f"add {integer} {quadrant}, {w.literal(turn)}") if turn else quadrant
        flag = w.emit(f"and {integer} {w.emit(f'shl {integer} {turned}, {w.literal(62)}')}, {w.literal(SIGN_BIT)}")
        bits = w.emit(f"xor {integer} {w.emit(f'bitcast {T} {chosen} to {integer}')}, {flag}")
        results.append(w.emit(f"bitcast {integer} {bits} to {T}"))
    return results[0], results[1]


def sincos_all(w: LaneWriter, angles: list[str]) -> list[tuple[str, str]]:
    """Return registers of sin x and cos x for several x of any size: the fast way, and one rare branch for all."""
    T, bound = w.type, FAR_FUSED if w.fma else FAR_SHORT
    here, far, near = w.label(), w.label(), w.label()
    w.line(f"br label %{here}")
    w.raw(f"{here}:")
    pairs = [sincos(w, x) for x in angles]
    beyond = w.literal(False)
    for x in angles:
        this = w.emit(f"fcmp oge {T} {w.intrinsic('fabs', x)}, {w.literal(bound)}")
        beyond = w.emit(f"or {w.truth_type} {beyond}, {this}")
    w.line(f"br i1 {w.any_lane(beyond)}, label %{far}, label %{near}, !prof {UNLIKELY}")
    w.raw(f"{far}:")
    count = len(angles) * w.width
    w.memory["angles"] = max(3 * count, w.memory.get("angles", 0))
    w.declarations |= {FAR, *(f"declare double @{name}(double)" for name in ("sin", "cos", "llvm.fabs.f64"))}
    vectors = [*angles, *(s for s, _ in pairs), *(c for _, c in pairs)]
    places = [w.offset("%angles", k * w.width) for k in range(len(vectors))]
    for vector, place in zip(vectors, places, strict=True):
        w.line(f"store {T} {vector}, ptr {place}, align 8")
    w.line(f"call void @armwright_far(ptr %angles, i64 {count}, double {bound!r})")
    asked = [w.emit(f"load {T}, ptr {place}, align 8") for place in places[len(angles) :]]
    w.line(f"br label %{near}")
    w.raw(f"{near}:")
    fast = vectors[len(angles) :]
    merged = [w.emit(f"phi {T} [{a}, %{here}], [{b}, %{far}]") for a, b in zip(fast, asked, strict=True)]
    return list(zip(merged[: len(angles)], merged[len(angles) :], strict=True))
