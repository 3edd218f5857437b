# SPDX-License-Identifier: Apache-2.0
"""Appendix A3 of 002: where each error of the product-of-exponentials listing enters, one at a time and together."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from functools import cache, partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from armwright.dynamics import coriolis_matrix, gravity_torque, mass_matrix
from armwright.studies.doc002_irb140.as_published import (
    MASS_ERRORS,
    OF_OUR_TEXT,
    a21_as_published,
    a54_as_published,
    adjoint_column,
    coriolis_as_published,
    gravity_as_published,
    mass_as_published,
)
from armwright.studies.doc002_irb140.kinematics import AXIS_1, XI_4
from armwright.studies.doc002_irb140.setting import a1, arm, e1, e2, e4, postures, q_t, qd_t
from armwright.studies.study import Claim, Formula, Item, Picture, Shown, Supposed
from armwright.studies.study_pictures import new_figure
from armwright.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALL, DOUBTFUL = frozenset(MASS_ERRORS), frozenset(OF_OUR_TEXT)


@cache
def relative_error(errors: Set[str]) -> Array:
    """Return ‖M_listing − M‖/‖M‖ (Frobenius) at 300 random postures."""
    M = mass_matrix(arm(), postures())
    wrong = mass_as_published(postures(), errors)
    return np.asarray(np.linalg.norm(wrong - M, axis=(1, 2)) / np.linalg.norm(M, axis=(1, 2)))


@cache
def indefinite(errors: Set[str]) -> int:
    """Return at how many of the 300 postures the M of the listing has an eigenvalue that is not positive."""
    return int((np.linalg.eigvalsh(mass_as_published(postures(), errors))[:, 0] <= 0.0).sum())


def median(*errors: str) -> float:
    """Return the median of `relative_error`."""
    return float(np.median(relative_error(frozenset(errors))))


def skew_defect(errors: Set[str]) -> float:
    """Return the largest entry of N + Nᵀ, N = Ṁ − 2C, at the test state, with C as listed: 0 for the right C."""
    step = 1e-6
    M = mass_as_published(np.array([q_t + step * qd_t, q_t - step * qd_t]), errors)
    N = (M[0] - M[1]) / (2.0 * step) - 2.0 * coriolis_as_published(q_t, qd_t, errors)
    return float(np.abs(N + N.T).max())


def _mass_notes() -> list[str]:
    lines = [f"correct listing: M differs from composite bodies by {relative_error(frozenset()).max():.0e} at most"]
    for name in MASS_ERRORS:
        lines.append(
            f"{name} alone: median relative error of M {median(name):.3g}, indefinite at "
            f"{indefinite(frozenset({name}))} of 300 postures"
        )
    for left in MASS_ERRORS:
        lines.append(
            f"all but {left}: median {median(*(ALL - {left})):.3g}, indefinite at {indefinite(ALL - {left})} of 300"
        )
    pairs = [(a, b, indefinite(frozenset({a, b}))) for a, b in combinations(MASS_ERRORS, 2)]
    found = ", ".join(f"{a} with {b} ({n} of 300)" for a, b, n in pairs if n)
    lines.append("no error alone makes M indefinite; pairs that do: " + found)
    lines.append(
        f"all, were p̂ in M' the cross product (M0[1], damaged in our text, has it otherwise): indefinite at "
        f"{indefinite(ALL | {'skew in A'})} of 300"
    )
    return lines


def _draw_errors() -> Figure:
    figure = new_figure(7.2, 2.9)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    names = [*MASS_ERRORS, "all"]
    samples = [relative_error(frozenset({name})) for name in MASS_ERRORS] + [relative_error(ALL)]
    left.boxplot(samples, whis=(5, 95), showfliers=False, medianprops={"color": "#d55e00"})
    left.set_xticks(range(1, len(names) + 1), names)
    left.set_yscale("log")
    left.set_ylabel("‖M printed − M‖ / ‖M‖")
    eigenvalues = np.linalg.eigvalsh(mass_as_published(postures(), ALL))[:, 0]
    right.hist(eigenvalues, bins=30, color="#b2182b")
    right.axvline(0.0, color="black", linewidth=0.8)
    right.set_xlabel("smallest eigenvalue of M [kg m²]")
    right.set_ylabel("postures")
    return figure


def _skew_notes() -> list[str]:
    return [
        f"Ṁ − 2C without its ½: symmetric part up to {skew_defect(frozenset({'1/2'})):.3g}; "
        f"with it {skew_defect(frozenset()):.0e} (differences)"
    ]


def _gravity_notes() -> list[str]:
    rows = gravity_as_published(q_t)
    return [
        f"the listing has {rows.size} numbers in m/s², six joint torques in N m are wanted; first rows: "
        + ", ".join(f"({a:.3f}, {b:.3f}, {c:.3f})" for a, b, c in rows[:2])
    ]


def _one(
    item: str,
    name: str,
    title: str,
    text: str,
    reason: str,
    fault: str,
    *,
    notes: Callable[[], Sequence[str]] | None = None,
) -> Item:
    return Item(
        item,
        title,
        Formula(text),
        lambda: mass_as_published(postures()[:1], frozenset({name}))[0],
        lambda: mass_matrix(arm(), postures()[0]),
        reason=reason,
        faults=(fault,),
        notes=notes,
    )


def _share(name: str, effect: str) -> Callable[[], Sequence[str]]:
    def lines() -> Sequence[str]:
        return [f"alone: median relative error of M {median(name):.3g} ({effect})"]

    return lines


def _definite(errors: Set[str]) -> Shown:
    return Shown(indefinite(errors) == 0, f"indefinite at {indefinite(errors)} of 300 postures")


def _skew(errors: Set[str]) -> Shown:
    return Shown(skew_defect(errors) < 1e-6, f"symmetric part up to {skew_defect(errors):.1g}")


def _as_our_text(name: str) -> Shown:
    """Return whether M is that of the arm with an entry as our text of the listing has it, and how far off it is."""
    off = relative_error(frozenset({name}))
    return Shown(bool(off.max() < 1e-12), f"median relative error of M {np.median(off):.2g}")


def _put_right() -> Shown:
    """Return the same with the entry put right."""
    off = relative_error(frozenset())
    return Shown(bool(off.max() < 1e-12), f"largest relative error of M {off.max():.0e}")


def _doubtful_notes() -> list[str]:
    both = ALL | DOUBTFUL
    return [
        f"M0[2] as our text has it, on top of the errors of the listing: median {np.median(relative_error(both)):.3g}, "
        f"indefinite at {indefinite(both)} of 300 postures; put right: {median(*ALL):.3g}, {indefinite(ALL)} of 300"
    ]


def rule_gives_a21() -> Shown:
    """Return whether a[2,1] is (4.59), the exponential twice, with the listing's skew operator or the right one."""
    printed, rule = a21_as_published(q_t[1]), adjoint_column(a1, e1, 2.0 * q_t[1])
    holds = any(np.allclose(printed, sign * rule, atol=1e-12) for sign in (1.0, -1.0))  # about y they differ in sign
    return Shown(holds, f"±({rule[0]:.4f}, {rule[1]:.4f}) for ({printed[0]:.4f}, {printed[1]:.4f})")


def _block_notes() -> list[str]:
    same = np.isclose(a54_as_published(q_t[4]), adjoint_column(a1 + e4, e1 + e2, 2.0 * q_t[4])[1], atol=1e-12)
    printed, rule, right = (
        a21_as_published(q_t[1]),
        adjoint_column(a1, e1, 2.0 * q_t[1]),
        -adjoint_column(a1, e1, q_t[1]),
    )
    shown = (f"({x[0]:.4f}, {x[1]:.4f})" for x in (printed, rule, right))
    return [
        "entries (1, 5) and (3, 5) of a[2,1] at q_t: {} printed, {} by the rule, {} correct".format(*shown),
        f"a[5,4] {'follows' if same else 'does not follow'} the rule; M is not touched: the column meets ω_y of ξ_1, "
        "which is 0",
        "one term is printed with a2, read here as a1; the second row of a[2,1] is lost",
    ]


SKEW = "skew operator with wrong signs"
DAMAGED = "our text of M0[1] and M0[2] is damaged: rows are missing or there twice, r4c reads rdc"
ITEMS: tuple[Item, ...] = (
    _one(
        "A3.Mxi1",
        "xi_1",
        "M with ξ_1 as listed",
        "ξ_1 = (0, −0.070, 0, 0, 0, 1)",
        "the first axis is put through x = a1",
        AXIS_1,
        notes=_share("xi_1", "wrist position off by up to 2·a1 = 0.140 m"),
    ),
    _one(
        "A3.Mxi4",
        "xi_4",
        "M with ξ_4 as listed",
        "ξ_4 = (0, 0.712, 0.070, 1, 0, 0)",
        "third entry must be 0: ω_4 × point has none",
        XI_4,
        notes=_share("xi_4", "the joint would also slide"),
    ),
    _one(
        "A3.Ma",
        "A_ij",
        "M with A_ij as listed",
        "(4.59)–(4.73): A_ij = Ad⁻¹(e^{ξ_{j+1}} e^{ξ_i})",
        "chains need every exponential between; adjacent pairs use one twice (2q), longer ones skip the "
        "middle: 11 of 15 "
        "blocks are wrong",
        "A_ij: only the first and the last exponential of a chain",
        notes=_share("A_ij", "11 of 15 blocks"),
    ),
    _one(
        "A3.Ms",
        "skew",
        "M with the skew operator as listed",
        "a[3,1], a[4,2], a[6,5]: p̂ = [0 p3 p2; −p3 0 p1; −p2 −p1 0]",
        "signs of p1 and p3 are reversed: a cross product with (−p1, p2, −p3); the closed forms of the listing come "
        "out with this operator only",
        SKEW,
        notes=_share("skew", "in Ad and in M'"),
    ),
    _one(
        "A3.Mi",
        "M'",
        "M with M' as listed",
        "(4.74)–(4.79): M' = [m, m p̂; −m p̂, I]",
        "(2.57) with Ad of (2.55) gives [m, −m p̂; m p̂, I − m p̂²]: −m p̂² is missing and the off-diagonal sign reversed",
        "M': −m p̂² missing, off-diagonal sign reversed",
        notes=_share("M'", "the largest share of link inertia is missing"),
    ),
    Item(
        "A3.a21",
        "a[2,1] of the listing is what (4.59) says",
        Claim("A_21 = Ad⁻¹(e^{ξ2θ2} e^{ξ2θ2})"),
        None,
        rule_gives_a21,
        reason="(4.59) gives other entries, with either skew operator: the fifth column holds −(Rp)_1 and (Rp)_3 of "
        "that product, where −Rᵀp̂ belongs: an error of its own, beside those of the rule",
        faults=("a[2,1]: fifth column of its own",),
        notes=_block_notes,
    ),
    Item(
        "A3.p2",
        "home centre of mass of link 2 in M0[2]",
        Claim("M0[2] with e1 + r5c, r4c and 0"),
        None,
        readings=(
            Supposed("0 in x, as our text has it", partial(_as_our_text, "p_2")),
            Supposed("a1 in x, lost in our text", _put_right),
        ),
        reason=f"{DAMAGED}; the link vectors give a1 in x",
    ),
    Item(
        "A3.m2",
        "mass in the off-diagonal blocks of M0[2]",
        Claim("m1·(e1 + r5c), m1·r4c beside m2 on the diagonal"),
        None,
        readings=(
            Supposed("m1, as our text has it", partial(_as_our_text, "m_2")),
            Supposed("m2, misread in our text", _put_right),
        ),
        reason=f"{DAMAGED}; (4.75) has m2",
        notes=_doubtful_notes,
    ),
    Item(
        "A3.M",
        "M of the whole listing is positive definite",
        Claim("Thus, M is invertible"),
        partial(_definite, ALL),
        partial(_definite, frozenset()),
        reason="of the corrected listing; as printed M is indefinite at every one of 300 postures",
        notes=_mass_notes,
        pictures=(
            Picture(
                "Error of the printed M at 300 random postures, one error at a time and all together (boxes: "
                "quartiles, whiskers 5–95 %), and the smallest eigenvalue of the listing's M.",
                _draw_errors,
            ),
        ),
    ),
    Item(
        "A3.C",
        "Christoffel matrix C(θ, θ̇) θ̇",
        Formula("C_ij = Σ_k (∂M_ij/∂θ_k + ∂M_ik/∂θ_j − ∂M_kj/∂θ_i) θ̇_k", "N m", 1e-6),
        lambda: coriolis_as_published(q_t, qd_t, {"1/2"}) @ qd_t,
        lambda: coriolis_matrix(arm(), q_t, qd_t) @ qd_t,
        reason="the factor ½ of the text is lost in the listing",
        faults=("C of the listing without its ½",),
        rule="to 1e-6: ∂M/∂θ is taken by differences",
        notes=_skew_notes,
    ),
    Item(
        "A3.Cs",
        "Ṁ − 2C is skew, as the stability proof needs",
        Claim("Ṁ − 2C is skew symmetric"),
        partial(_skew, frozenset({"1/2"})),
        partial(_skew, frozenset()),
        reason="of the C of the text; without the ½, as the listing has it, it is not",
        rule="to 1e-6: Ṁ and C are taken by differences",
    ),
    Item(
        "A3.g",
        "gravity vector of the listing",
        Formula("g_i = R_0^iᵀ g_0, g_0 = (0, 0, +g)", "N m"),
        lambda: gravity_as_published(q_t),
        lambda: gravity_torque(arm(), q_t),
        reason="a stack of accelerations with the wrong sign, no ∂V/∂q anywhere",
        faults=("gravity of the listing: accelerations in place of ∂V/∂q",),
        notes=_gravity_notes,
    ),
)
