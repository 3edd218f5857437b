"""Writing LLVM instructions: registers, literals, lanes, and our own vector sine and cosine.

The llvmlite wheel carries no vector mathematics library, hence `sincos`: three-part Cody–Waite reduction by π/2 and the
fdlibm polynomials on [−π/4, π/4]; at most 1.5 ulp for |x| < 1e8.
"""

from __future__ import annotations

import struct

TWO_OVER_PI = 0.63661977236758134308
ROUND = 6755399441055744.0  # 1.5·2⁵²: adding it rounds to an integer kept in the low mantissa bits
PI_HALF_FUSED = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
PI_HALF_SHORT = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)  # 33-bit parts
SINE = (-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
        2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10)  # fmt: skip
COSINE = (4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
          -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11)  # fmt: skip
SIGN_BIT = -9223372036854775808


class Writer:
    """Collects instructions of one function for `width` lanes; writers of other widths may share its lines."""

    def __init__(self, width: int, *, fma: bool, shared: Writer | None = None) -> None:
        """Start empty, or append to the lines of `shared`."""
        self.width = width
        self.fma = fma
        self.type = "double" if width == 1 else f"<{width} x double>"
        self.integer = "i64" if width == 1 else f"<{width} x i64>"
        self.truth_type = "i1" if width == 1 else f"<{width} x i1>"
        self.lines: list[str] = shared.lines if shared else []
        self.declarations: set[str] = shared.declarations if shared else set()
        self._counter: list[int] = shared._counter if shared else [0]

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

    def literal(self, value: float | bool | int) -> str:
        """Write a constant in all lanes, bit-exact."""
        if isinstance(value, bool):
            return str(value).lower() if self.width == 1 else f"splat (i1 {str(value).lower()})"
        if isinstance(value, int):
            return str(value) if self.width == 1 else f"splat (i64 {value})"
        bits = "0x" + struct.pack(">d", float(value)).hex().upper()
        return bits if self.width == 1 else f"splat (double {bits})"

    def offset(self, base: str, elements: int) -> str:
        """Address of the double `elements` after `base`."""
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
            pieces = [self.emit(f"shufflevector {kind} {a}, {kind} {b}, <{2 * count} x i32> <{mask}>")
                      for a, b in zip(pieces[::2], pieces[1::2], strict=True)]  # fmt: skip
            count *= 2
        return pieces[0]

    def part(self, vector: str, piece: int, count: int) -> str:
        """Lanes piece·count … of a vector."""
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
        """a·b + c, in one rounding where the machine has it."""
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


def _polynomial(w: Writer, z: str, coefficients: tuple[float, ...]) -> str:
    result = w.literal(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        result = w.fused(z, result, w.literal(c))
    return result


def sincos(w: Writer, x: str) -> tuple[str, str]:
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
