# SPDX-License-Identifier: Apache-2.0
"""Our own sine, cosine, exponential and hyperbolic tangent: what strict code computes, in every language.

C libraries, browsers and processors round these functions differently in the last bit. Here they consist of +, −, ×, ÷,
each rounded by itself, and of shifts of bits, in an order that is fixed: the functions below are the reference on
arrays, and every emitter writes the same steps. Within 1 ulp (exp), 2 ulp (tanh) and 3 ulp (sin, cos) of the truth.

    sin, cos   x = k π/2 + r, |r| ≤ π/4, in three parts of π/2; polynomials of fdlibm in r². Beyond 2²⁰ rad the
               reduction has no digits left: there, and only there, the C library is asked.
    exp        x = k ln 2 + r; eˣ = 2ᵏ (1 + r + r c/(2 − c)), c = r − r² P(r²); 2ᵏ in two factors, so that it neither
               overflows nor underflows before the result does.
    tanh       x + x³ P(x²)/Q(x²) below 0.625, 1 − 2/(e²ˣ + 1) beyond.

"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from armwright.graph.emit.llvm_math import COSINE, PI_HALF_SHORT, ROUND, SINE, TWO_OVER_PI
from armwright.types import Array


class Format(NamedTuple):
    """The numbers of one floating-point format; polynomials from the lowest power on.

    Attributes:
        round: 1.5·2^mantissa: adding it rounds to a whole number, kept in the lowest bits.
        shift, bias: where the exponent stands, and of what it is the excess.
        two_over_pi, pi_half, sine, cosine: of sine and cosine.
        far: |x| from which the library is asked for them.
        log2e, ln2, exponential: of the exponential.
        low, high: beyond which eˣ is 0 or infinite in any case.
        small, tangent, divisor: of the hyperbolic tangent.
    """

    round: float
    shift: int
    bias: float
    two_over_pi: float
    pi_half: tuple[float, float, float]
    sine: tuple[float, ...]
    cosine: tuple[float, ...]
    far: float
    log2e: float
    ln2: tuple[float, float]
    exponential: tuple[float, ...]
    low: float
    high: float
    small: float
    tangent: tuple[float, ...]
    divisor: tuple[float, ...]


DOUBLE = Format(
    round=ROUND,
    shift=52,
    bias=1023.0,
    two_over_pi=TWO_OVER_PI,
    pi_half=PI_HALF_SHORT,
    sine=SINE,
    cosine=COSINE,
    far=2.0**20,
    log2e=1.44269504088896338700e00,
    ln2=(6.93147180369123816490e-01, 1.90821492927058770002e-10),
    exponential=(
        1.66666666666666019037e-01,
        -2.77777777770155933842e-03,
        6.61375632143793436117e-05,
        -1.65339022054652515390e-06,
        4.13813679705723846039e-08,
    ),
    low=-750.0,
    high=710.0,
    small=0.625,
    tangent=(-1.61468768441708447952e3, -9.92877231001918586564e1, -9.64399179425052238628e-1),
    divisor=(4.84406305325125486048e3, 2.23548839060100448583e3, 1.12811678491632931402e2, 1.0),
)

FLOAT = Format(
    round=12582912.0,  # 1.5·2²³
    shift=23,
    bias=127.0,
    two_over_pi=0.636619772,
    pi_half=(1.5703125, 4.837512969970703125e-4, 7.54978995489188216e-8),  # 8 and 11 bits, and what is left
    sine=(-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4),
    cosine=(4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5),
    far=2.0**13,
    log2e=1.44269504,
    ln2=(6.9314575195e-01, 1.4286067653e-06),
    exponential=(1.6666625440e-1, -2.7667332906e-3),
    low=-105.0,
    high=89.0,
    small=0.625,
    tangent=(-3.33332819422e-1, 1.33314422036e-1, -5.37397155531e-2, 2.06390887954e-2, -5.70498872745e-3),
    divisor=(1.0,),
)
"""Single precision: the polynomials of Cephes and of fdlibm's expf."""


def _format(x: Array) -> tuple[Format, Any]:
    """Return the format of an array, and the whole numbers of its size."""
    return (FLOAT, np.uint32) if x.dtype == np.float32 else (DOUBLE, np.uint64)


def horner(z: Array, coefficients: tuple[float, ...]) -> Array:
    """Return the polynomial at z, one rounding per operation."""
    result = np.full_like(z, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        result = z * result + c
    return result


def strict_sincos(x: Array) -> tuple[Array, Array]:
    """Return sin x and cos x for |x| below `Format.far`, in the precision of x."""
    f, whole = _format(x)
    shifted = x * f.two_over_pi + f.round
    k = shifted - f.round
    r = x
    for part in f.pi_half:
        r = k * -part + r
    z = r * r
    sine = (r * z) * horner(z, f.sine) + r
    cosine = z * (z * horner(z, f.cosine) + -0.5) + 1.0
    quadrant = shifted.view(whole)
    odd = (quadrant & whole(1)) != 0
    s = np.where((quadrant & whole(2)) != 0, -np.where(odd, cosine, sine), np.where(odd, cosine, sine))
    turned = quadrant + whole(1)
    c = np.where((turned & whole(2)) != 0, -np.where(odd, sine, cosine), np.where(odd, sine, cosine))
    return s, c


def _power_of_two(k: Array) -> Array:
    """Return 2ᵏ for whole k from −1022 to 1023 (−126 to 127 in single precision)."""
    f, whole = _format(k)
    return np.asarray((k + (f.round + f.bias)).view(whole) << whole(f.shift)).view(k.dtype)


def strict_exp(x: Array) -> Array:
    """Return eˣ in the precision of x."""
    f, _ = _format(x)
    x = np.where(x > f.high, f.high, x)
    x = np.where(x < f.low, f.low, x)
    k = (x * f.log2e + f.round) - f.round
    high, low = x - k * f.ln2[0], k * f.ln2[1]
    r = high - low
    z = r * r
    c = r - z * horner(z, f.exponential)
    y = 1.0 - ((low - (r * c) / (2.0 - c)) - high)
    first = (k * 0.5 + f.round) - f.round
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray((y * _power_of_two(first)) * _power_of_two(k - first))


def strict_tanh(x: Array) -> Array:
    """Return tanh x in the precision of x."""
    f, _ = _format(x)
    size = np.abs(x)
    with np.errstate(over="ignore", invalid="ignore"):  # both branches are computed
        z = x * x
        near = x + (x * z) * (horner(z, f.tangent) / horner(z, f.divisor))
    far = 1.0 - 2.0 / (strict_exp(size + size) + 1.0)
    return np.where(size < f.small, near, np.where(x < 0.0, -far, far))
