# SPDX-License-Identifier: Apache-2.0
"""Chapter 6 of 002: what the two formulations cost, in operations and in time (section 6.2).

`torques` carries out A.2: the symbolic Newton–Euler recursion of the thesis, combined and collected as its Maple sheet
says. After ``combine(…, trig)`` every expression is a sum of coefficient × monomial × cos or sin of a sum of angles.
`Algebra` keeps such a sum as {(monomial, multiples of the angles): complex coefficient}, real part for the cosine,
imaginary part for the sine. Coefficients that should cancel do so only in exact arithmetic; Maple's ten decimal digits
leave many behind, and each is an operation of the generated code.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.control import law_kernel, pd_gravity
from armwright.dynamics.crba import crba, crba_forward
from armwright.dynamics.newton_euler import rnea
from armwright.dynamics.poe import poe_equations, poe_forward, poe_mass
from armwright.graph.kernel import Kernel
from armwright.robot.kernels import kernel
from armwright.spatial import cylinder_inertia
from armwright.studies.doc002_irb140.open_loop import u_des
from armwright.studies.doc002_irb140.setting import CYLINDERS, MASSES, RUNS, K_d, K_p, arm, q_down, q_t, qd_t
from armwright.studies.doc002_irb140.twin import KINDS, TWIN_STEP, closed_twins, run_twin
from armwright.studies.operation_counts import bare, pair, table_6_2, tally
from armwright.studies.study import Claim, Item, Shown, Undetermined

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced

Term = tuple[tuple[int, ...], tuple[int, ...]]
Sum = dict[Term, complex]
Vector = list[Sum]
NO_EXPONENTS = (0,) * 6
DUST = 1e-12  # what exact arithmetic would cancel; the smallest real coefficient is above 1e-5
GRAVITY_SYMBOL, ACCELERATION = 20, 10  # velocities are 1…6, accelerations 11…16 in a monomial
TURNED_FRAME = ((1, 0, 0), (0, 0, -1), (0, 1, 0))
STRAIGHT_FRAME = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
FRAMES = (TURNED_FRAME, STRAIGHT_FRAME, TURNED_FRAME, TURNED_FRAME, TURNED_FRAME, STRAIGHT_FRAME)
"""Constant factor of R_{i−1}^i = Rz(q_i)·…, as printed."""
AXES = (1, 2, 1, 1, 1, 2)
"""Which axis of frame i joint i turns about: b_i."""
ENDS = ((0.070, -0.352, 0.0), (0.360, 0.0, 0.0), None, (0.0, 0.380, 0.0), None, (0.0, 0.0, 0.065))
CENTRES = ((0.014, -0.264, 0.067), (0.201, 0.0, -0.070), None, (0.0, 0.080, 0.0), None, (0.0, 0.0, 0.029))
"""(3.35)–(3.46) [m]; links 3 and 5 have neither length nor mass."""
LINK_AXES = {1: "y", 2: "x", 4: "y", 6: "z"}


class TermTally(NamedTuple):
    """Numbers of terms of some expressions, operations in the arguments of their sines, factors of their monomials."""

    terms: int
    arguments: int
    factors: int


class Algebra:
    """Sums of terms with coefficients of `digits` decimal digits; without a number exact to double precision."""

    def __init__(self, digits: int | None) -> None:
        """Fix the precision."""
        self.digits = digits

    def _kept(self, found: dict[Term, complex]) -> Sum:
        if self.digits is None:
            return {key: c for key, c in found.items() if abs(c) > DUST}
        form = f".{self.digits - 1}e"
        rounded = {key: complex(float(format(c.real, form)), float(format(c.imag, form))) for key, c in found.items()}
        return {key: c for key, c in rounded.items() if c != 0.0}

    def add(self, *sums: Sum) -> Sum:
        """Return the sum of sums."""
        found: dict[Term, complex] = defaultdict(complex)
        for one in sums:
            for key, c in one.items():
                found[key] += c
        return self._kept(found)

    def times(self, a: Sum, b: Sum) -> Sum:
        """Return the product, with products of sines and cosines turned into sums."""
        found: dict[Term, complex] = defaultdict(complex)
        for (m, k), c in a.items():
            for (n, h), d in b.items():
                found[tuple(sorted(m + n)), tuple(x + y for x, y in zip(k, h, strict=True))] += c * d
        return self._kept(found)

    def by(self, factor: float, a: Sum) -> Sum:
        """Return a multiple."""
        return self._kept({key: factor * c for key, c in a.items()})

    def rate(self, a: Sum) -> Sum:
        """Return the derivative by time."""
        found: dict[Term, complex] = defaultdict(complex)
        for (m, k), c in a.items():
            for j in np.flatnonzero(k):
                found[tuple(sorted((*m, int(j) + 1))), k] += 1j * k[j] * c
            for i, v in enumerate(m):
                found[tuple(sorted((*m[:i], v + ACCELERATION, *m[i + 1 :]))), k] += c
        return self._kept(found)

    def dot(self, rows: Sequence[Vector], v: Vector) -> Vector:
        """Return matrix times vector."""
        return [self.add(*(self.times(x, y) for x, y in zip(row, v, strict=True))) for row in rows]

    def plus(self, *vectors: Vector) -> Vector:
        """Return the sum of vectors."""
        return [self.add(*parts) for parts in zip(*vectors, strict=True)]

    def cross(self, a: Vector, b: Vector) -> Vector:
        """Return the cross product."""
        pairs = ((1, 2), (2, 0), (0, 1))
        return [self.add(self.times(a[i], b[j]), self.by(-1.0, self.times(a[j], b[i]))) for i, j in pairs]


def number(x: float) -> Sum:
    """Return a constant."""
    return {((), NO_EXPONENTS): complex(x)} if x else {}


def symbol(name: int) -> Sum:
    """Return a velocity, an acceleration or g."""
    return {((name,), NO_EXPONENTS): 1.0 + 0.0j}


def _vector(values: Sequence[float] | None) -> Vector:
    return [number(x) for x in values or (0.0, 0.0, 0.0)]


def _rotation(algebra: Algebra, i: int) -> list[Vector]:
    up, down = (tuple(s * int(j == i) for j in range(6)) for s in (1, -1))
    cosine: Sum = {((), up): 0.5, ((), down): 0.5}
    sine: Sum = {((), up): -0.5j, ((), down): 0.5j}
    Rz = [[cosine, algebra.by(-1.0, sine), {}], [sine, cosine, {}], [{}, {}, number(1.0)]]
    columns = [algebra.dot(Rz, [number(row[j]) for row in FRAMES[i]]) for j in range(3)]
    return _transposed(columns)


def _transposed(rows: Sequence[Vector]) -> list[Vector]:
    return [list(column) for column in zip(*rows, strict=True)]


def torques(digits: int | None) -> list[Sum]:
    """Return the six joint torques as sums of terms, link by link as the sheet has them."""
    o = Algebra(digits)
    R = [_rotation(o, i) for i in range(6)]
    zero = _vector(None)
    w, alpha, a_end = zero, zero, zero
    down: Vector = [{}, {}, o.by(-1.0, symbol(GRAVITY_SYMBOL))]
    spins, spin_rates, pulls = [], [], []
    for i in range(6):
        back = _transposed(R[i])
        axis = [number(float(k == AXES[i])) for k in range(3)]
        turn = [o.times(x, symbol(i + 1)) for x in axis]
        w = o.plus(o.dot(back, w), turn)
        alpha = o.plus(o.dot(back, alpha), [o.times(x, symbol(i + 1 + ACCELERATION)) for x in axis], o.cross(w, turn))
        w_rate, a_centre, before = [o.rate(x) for x in w], zero, o.dot(back, a_end)
        ends: list[Vector] = []
        for r in (ENDS[i], CENTRES[i]):
            arm = _vector(r)
            ends.append(o.plus(before, o.cross(w_rate, arm), o.cross(w, o.cross(w, arm))) if r else before)
        a_end, a_centre = ends
        down = o.dot(back, down)
        m = MASSES.get(i + 1, 0.0)
        pulls.append([o.by(m, o.add(a, o.by(-1.0, g))) for a, g in zip(a_centre, down, strict=True)] if m else zero)
        spins.append(w)
        spin_rates.append(alpha)
    f, tau = zero, zero
    out: list[Sum] = []
    for i in reversed(range(6)):
        link = i + 1
        if i < 5:
            f, tau = o.dot(R[i + 1], f), o.dot(R[i + 1], tau)
        onward, f = f, o.plus(f, pulls[i])
        if link in MASSES:
            J = cylinder_inertia(MASSES[link], *CYLINDERS[link], LINK_AXES[link])
            rows = [[number(float(x)) for x in row] for row in J]
            rest = np.subtract(CENTRES[i], ENDS[i])  # type: ignore[arg-type]
            tau = o.plus(
                tau,
                o.dot(rows, spin_rates[i]),
                o.cross(spins[i], o.dot(rows, spins[i])),
                o.cross(_vector(CENTRES[i]), f),
                o.cross(onward, _vector([float(x) for x in rest])),
            )
        out.insert(0, tau[AXES[i]])
    return out


def _tally(sums: Sequence[Sum]) -> TermTally:
    terms = arguments = factors = 0
    for one in sums:
        for (monomial, k), c in one.items():
            if k < NO_EXPONENTS:
                continue  # the other half of a cosine or sine
            copies = (c.real != 0.0) + (c.imag != 0.0 and k != NO_EXPONENTS)
            angles = [x for x in k if x]
            terms += copies
            arguments += copies * (max(len(angles) - 1, 0) + sum(abs(x) > 1 for x in angles))
            factors += copies * len(monomial)
    return TermTally(terms, arguments, factors)


@cache
def recipe_counts(digits: int | None) -> dict[str, TermTally]:
    """Return counts of what A.2 exports: 36 entries of M, six of g, six of C q̇."""
    tau = torques(digits)

    def part(chosen: Callable[[tuple[int, ...]], bool], *, bare: bool = False) -> TermTally:
        found = [{(() if bare else m, k): c for (m, k), c in one.items() if chosen(m)} for one in tau]
        return _tally(found)

    entries = [part(lambda m, j=j: m == (j + 1 + ACCELERATION,), bare=True) for j in range(6)]  # type: ignore[misc]
    return {
        "M": TermTally(*(sum(x) for x in zip(*entries, strict=True))),
        "g": part(lambda m: m == (GRAVITY_SYMBOL,)),
        "C q̇": part(lambda m: len(m) == 2),
    }


def operations(digits: int | None) -> float:
    """Return all operations: per term a product, a sum, its sine, the argument of that, the factors of its monomial."""
    return float(sum(3 * x.terms + x.arguments + x.factors for x in recipe_counts(digits).values()))


PRINTED = {"CL1": ("28 min", "18 h"), "CL2": ("32 min", "18 h"), "CL3": ("27 min", "18 h")}
"""Table 6.1: wall time by Newton–Euler (5 s simulated) and by exponentials (2.3 s simulated)."""

FORWARD = {"Newton–Euler": crba_forward, "exponentials": poe_forward}


class Count(NamedTuple):
    """Multiplications plus additions of one function: as loops are written, by hand, compiled."""

    loops: int
    hand: int
    compiled: int


def _bias(arm: Robot | Tree, q: Traced, qd: Traced) -> tuple[Traced, Traced]:
    return crba(arm, q), rnea(arm, q, qd, np.zeros(len(q)))


@cache
def counts() -> dict[str, Count]:
    """Return the operations of the arm's equations by both formulations."""
    rows = {
        f"inverse dynamics, {row['method']}": Count(row["loops"], row["by_hand"], row["compiled"])
        for row in table_6_2(arm())
    }
    for label, function, signature in (
        ("M and C q̇ + g, Newton–Euler", _bias, "q qd"),
        ("M, C and g, exponentials", poe_equations, "q qd"),
        ("M alone, composite bodies", crba, "q"),
        ("M alone, exponentials", poe_mass, "q"),
    ):
        found = tally(function, bare(arm()), signature)
        rows[label] = Count(*(sum(pair(way)) for way in found))
    return rows


def ratio() -> float:
    """Return compiled operations of exponentials (M, C, g) over those of Newton–Euler (M, C q̇ + g)."""
    return counts()["M, C and g, exponentials"].compiled / counts()["M and C q̇ + g, Newton–Euler"].compiled


def _newton_euler_is_shorter() -> Shown:
    """Return whether every way of counting has fewer operations for Newton–Euler."""
    newton, poe = counts()["M and C q̇ + g, Newton–Euler"], counts()["M, C and g, exponentials"]
    told = ", ".join(f"{a:,} against {b:,}" for a, b in zip(newton, poe, strict=True))
    return Shown(all(a < b for a, b in zip(newton, poe, strict=True)), told)


def _fastest(function: Callable[[], Any], repeats: int, times: int = 3) -> float:
    """Return the shortest mean time of a call [s]."""
    best = np.inf
    for _ in range(times):
        begin = time.perf_counter()
        for _ in range(repeats):
            function()
        best = min(best, (time.perf_counter() - begin) / repeats)
    return float(best)


@cache
def evaluation_times() -> dict[str, tuple[float, float]]:
    """Return the time [s] of one q̈(q, q̇, τ): plain NumPy, and compiled in a batch of 1000 states."""
    tau, out = np.ones(6), {}
    batch = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 1000, 6))
    for kind, function in FORWARD.items():
        compiled = kernel(arm(), function, regroup=kind == "Newton–Euler")
        compiled(*batch)
        plain = _fastest(partial(function, arm(), q_t, qd_t, tau), 1, 2)
        out[kind] = (plain, _fastest(partial(compiled, *batch), 5) / 1000.0)
    return out


@cache
def stiff_calls() -> dict[str, tuple[int, float, float]]:
    """Run CL1 for 5 s by SciPy's Radau (rtol 1e-8, atol 1e-6) on compiled kernels.

    Returns:
        Formulation → derivative calls, wall time [s], largest |Δq| to Newton–Euler [rad].
    """
    from scipy.integrate import solve_ivp  # half a second of import that few calls need

    q_init, q_ref = RUNS["CL1"]
    law, still, ends, out = law_kernel(pd_gravity(K_p, K_d), arm(), dt=1.0), np.zeros(6), {}, {}
    for kind, function in FORWARD.items():
        forward = kernel(arm(), function, regroup=kind == "Newton–Euler")

        def f(t: float, x: Traced, forward: Kernel = forward) -> Traced:
            tau = law(0.0, x[:6], x[6:], q_ref, still, still)
            return np.concatenate([x[6:], forward(x[:6], x[6:], tau[0] if isinstance(tau, tuple) else tau)])

        begin = time.perf_counter()
        found = solve_ivp(
            f,
            (0.0, 5.0),
            np.concatenate([q_init, still]),
            method="Radau",
            rtol=1e-8,
            atol=1e-6,
            t_eval=np.linspace(0, 5, 51),
        )
        ends[kind] = found.y[:6]
        out[kind] = (
            int(found.nfev),
            time.perf_counter() - begin,
            float(np.abs(ends[kind] - ends["Newton–Euler"]).max()),
        )
    return out


def _open_notes() -> list[str]:
    runs = {kind: run_twin(kind, q_down[None], u_des()[None], 10.0, closed=False) for kind in KINDS}
    lines = [
        f"ours, 10 s by RK4 of 0.1 ms: {kind} {run.seconds:.3f} s ({run.evaluations:,} evaluations)"
        for kind, run in runs.items()
    ]
    newton, poe = (runs[kind].seconds for kind in ("Newton–Euler", "exponentials"))
    lines.append(
        f"exponentials over Newton–Euler: {7 * 60 / 6:.0f} with the 6 s of the text, {7 / 6:.1f} with the 6 min of the "
        f"table; closed loop, per simulated second, {18 * 60 / 2.3 / (28 / 5):.0f} (T6.1b); ours {poe / newton:.1f}"
    )
    return lines


def _closed_notes() -> list[str]:
    lines = [
        f"ours, all three runs of 5 s side by side by RK4 of {1e3 * TWIN_STEP:g} ms: {kind} {run.seconds:.3f} s "
        f"({run.evaluations:,} evaluations a run)"
        for kind, run in closed_twins().items()
    ]
    lines += [
        f"CL1 by SciPy's Radau on the compiled {kind}: {calls} derivative calls, {seconds:.2f} s"
        for kind, (calls, seconds, _) in stiff_calls().items()
    ]
    lines += [
        f"one q̈ by {kind}: {1e3 * plain:.2f} ms in plain NumPy, {1e6 * compiled:.2f} µs compiled"
        for kind, (plain, compiled) in evaluation_times().items()
    ]
    lines.append(
        "ours: the hours come from expanded symbolic code and from an explicit solver on a loop with modes at "
        "−22,700 1/s; per simulated second Table 6.1 has 84 to 1, compiled operations "
        f"{ratio():.1f} to 1"
    )
    return lines


TEN_DIGITS = 10  # of Maple's floating point, unless told otherwise


def _recipe_notes() -> list[str]:
    out = []
    for digits, name in ((None, "exactly"), (TEN_DIGITS, "with ten digits")):
        found = recipe_counts(digits)
        shown = ", ".join(f"{part} {x.terms}" for part, x in found.items())
        out.append(
            f"A.2 carried out {name}: terms {shown}; {operations(digits):,.0f} operations, sines, their arguments "
            f"and the products of velocities included, {sum(2 * x.terms for x in found.values()):,} without these"
        )
    out.append(f"ratio of the printed counts: {39001 / 16080:.2f}")
    return out


def _count_notes() -> list[str]:
    lines = [
        f"{name}: {c.loops:,} as loops, {c.hand:,} by hand, {c.compiled:,} compiled" for name, c in counts().items()
    ]
    lines.append(
        f"ours, compiled, M, C, g by exponentials over M, C q̇ + g by Newton–Euler: {ratio():.1f}; for M alone "
        f"{counts()['M alone, exponentials'].compiled / counts()['M alone, composite bodies'].compiled:.1f}: "
        "the cost lies in the "
        "Christoffel sums, not in the exponentials"
    )
    return lines


ITEMS: tuple[Item, ...] = (
    Item(
        "T6.1o",
        "run time of OL2, Newton–Euler / exponentials",
        Undetermined("only 6 seconds (text), 6 min (Table 6.1) / 7 min"),
        reason="time of another machine, solver and generated code; text and table contradict each other about one",
        notes=_open_notes,
    ),
    *(
        Item(
            f"T6.1{letter}",
            f"run time of {name}, Newton–Euler / exponentials",
            Undetermined(f"{newton} / {poe}"),
            reason="time of another machine, solver and generated code",
            notes=_closed_notes if name == "CL1" else None,
        )
        for letter, (name, (newton, poe)) in zip("bcd", PRINTED.items(), strict=True)
    ),
    Item(
        "T6.2a",
        "operations by Newton–Euler",
        Undetermined("16080"),
        lambda: operations(TEN_DIGITS),
        lambda: operations(None),
        reason="the recipe is printed (A.2: combine(…, trig), collect) and was carried out: without and with the "
        "terms that Maple's ten digits keep from cancelling it gives fewer; what was counted as an operation, and in "
        "which order Maple summed, is not printed",
        notes=_recipe_notes,
    ),
    Item(
        "T6.2b",
        "operations by exponentials",
        Undetermined("39001"),
        reason="A.3 prints no simplification: counted is what Maple makes of the listed matrices, of which M' of "
        "links 4 and 6 and several blocks are lost in our text",
        notes=_count_notes,
    ),
    Item(
        "T6.2d",
        "the equations by Newton–Euler have fewer operations",
        Claim("16080, 39001"),
        None,
        _newton_euler_is_shorter,
        rule="in our counts, which are others: of loops as written, by hand and compiled",
    ),
)
