"""A3: where each error of the product-of-exponentials listing enters, one at a time and together (002 §7, E1–E9)."""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from armwright.dynamics import coriolis_matrix, gravity_torque, mass_matrix
from armwright.spatial import skew
from armwright.studies.irb140.as_published import (
    MASS_ERRORS,
    coriolis_as_published,
    gravity_as_published,
    mass_2_58_as_published,
    mass_as_published,
    skew_as_published,
)
from armwright.studies.irb140.figures import new_figure
from armwright.studies.irb140.kinematics import home_centres
from armwright.studies.irb140.setting import Array, arm, postures, q_t, qd_t
from armwright.studies.item import Claim, Formula, Item, Numbers, Picture

ALL = frozenset(MASS_ERRORS)


@cache
def relative_error(errors: Set[str]) -> Array:
    """‖M_listing − M‖/‖M‖ (Frobenius) at 300 random postures."""
    M = mass_matrix(arm(), postures())
    wrong = mass_as_published(postures(), errors)
    return np.asarray(np.linalg.norm(wrong - M, axis=(1, 2)) / np.linalg.norm(M, axis=(1, 2)))


@cache
def indefinite(errors: Set[str]) -> int:
    """At how many of the 300 postures the M of the listing has an eigenvalue that is not positive."""
    return int((np.linalg.eigvalsh(mass_as_published(postures(), errors))[:, 0] <= 0.0).sum())


def median(*errors: str) -> float:
    """Median of `relative_error`."""
    return float(np.median(relative_error(frozenset(errors))))


def skew_defect(errors: Set[str]) -> float:
    """Largest entry of N + Nᵀ, N = Ṁ − 2C, at the test state, with C as listed: 0 for the right C."""
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
    return lines


def _draw_errors() -> Any:
    figure = new_figure(7.2, 2.9)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    names = [*MASS_ERRORS, "all"]
    samples = [relative_error(frozenset({name})) for name in MASS_ERRORS] + [relative_error(ALL)]
    left.boxplot(samples, whis=(5, 95), showfliers=False, medianprops={"color": "#d55e00"})
    left.set_xticks(range(1, 8), names)
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
        f"Ṁ − 2C without its ½: symmetric part up to {skew_defect(frozenset({'E7'})):.3g}; "
        f"with it {skew_defect(frozenset()):.0e} (differences)"
    ]


def _gravity_notes() -> list[str]:
    rows = gravity_as_published(q_t)
    return [
        f"the listing has {rows.size} numbers in m/s², six joint torques in N m are wanted; first rows: "
        + ", ".join(f"({a:.3f}, {b:.3f}, {c:.3f})" for a, b, c in rows[:2])
    ]


def _one(name: str, title: str, text: str, reason: str, *, notes: Any = None) -> Item:
    return Item(
        f"A3.{name}",
        title,
        Formula(text, "kg m²"),
        lambda: mass_as_published(postures()[:1], frozenset({name}))[0],
        lambda: mass_matrix(arm(), postures()[0]),
        reason=reason,
        notes=notes,
    )


def _share(name: str, effect: str) -> Any:
    def lines() -> Sequence[str]:
        return [f"alone: median relative error of M {median(name):.3g} ({effect})"]

    return lines


a = np.array([0.3, -0.5, 0.7])
ITEMS: tuple[Item, ...] = (
    _one(
        "E1",
        "M with ξ_1 as listed",
        "ξ_1 = (0, −0.070, 0, 0, 0, 1)",
        "the first axis is put through x = a1",
        notes=_share("E1", "wrist position off by up to 2·a1 = 0.140 m"),
    ),
    _one(
        "E2",
        "M with ξ_4 as listed",
        "ξ_4 = (0, 0.712, 0.070, 1, 0, 0)",
        "third entry must be 0: ω_4 × point has none",
        notes=_share("E2", "the joint would also slide"),
    ),
    _one(
        "E3",
        "M with A_ij as listed",
        "A_ij = Ad⁻¹(e^{ξ_{j+1}} e^{ξ_i})",
        "chains need every exponential between; adjacent pairs use one twice (2q), longer ones skip the "
        "middle: 11 of 15 "
        "blocks are wrong",
        notes=_share("E3", "11 of 15 blocks"),
    ),
    _one(
        "E4",
        "M with the skew operator as listed",
        "Ad and M' with S = [0 s3 s2; −s3 0 s1; −s2 −s1 0]",
        "signs of s1 and s3 are reversed: a cross product with (−a1, a2, −a3)",
        notes=_share("E4", "in Ad and in M'"),
    ),
    _one(
        "E5",
        "M with M' as listed",
        "M' = [m, m p̂; −m p̂, I]",
        "−m p̂² is missing and the off-diagonal sign reversed",
        notes=_share("E5", "the largest share of link inertia is missing"),
    ),
    _one(
        "E6",
        "M with p_2 as listed",
        "p_2 = (0, −0.070, 0.553)",
        "the shoulder offset a1 is missing in x",
        notes=_share("E6", "link 2 only"),
    ),
    Item(
        "A3.S",
        "skew operator S(a)",
        Formula("[0 s3 s2; −s3 0 s1; −s2 −s1 0]"),
        lambda: skew_as_published(a),
        lambda: skew(a),
        reason="S(a)p is then not a × p; the listing used it (E4)",
    ),
    Item(
        "A3.p2",
        "home centre of mass of link 2",
        Numbers("(0, -0.070, 0.553)", "m"),
        None,
        lambda: np.array(home_centres()[2]),
        reason="the listing leaves out the shoulder offset a1 = 0.070 in x (E6)",
    ),
    Item(
        "A3.M",
        "M of the whole listing is positive definite",
        Claim("M invertible, because ½ q̇ᵀM q̇ > 0"),
        lambda: indefinite(ALL) == 0,
        lambda: indefinite(frozenset()) == 0,
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
        "A3.E7",
        "Christoffel matrix C(θ, θ̇) θ̇",
        Formula("C_ij = Σ_k (∂M_ij/∂θ_k + ∂M_ik/∂θ_j − ∂M_kj/∂θ_i) θ̇_k", "N m", 1e-6),
        lambda: coriolis_as_published(q_t, qd_t, {"E7"}) @ qd_t,
        lambda: coriolis_matrix(arm(), q_t, qd_t) @ qd_t,
        reason="the factor ½ of the text is lost in the listing",
        notes=_skew_notes,
    ),
    Item(
        "A3.E7s",
        "Ṁ − 2C is skew, as the stability proof needs",
        Claim("skew (text); C without ½ (listing)"),
        lambda: skew_defect(frozenset({"E7"})) < 1e-6,
        lambda: skew_defect(frozenset()) < 1e-6,
    ),
    Item(
        "A3.E8",
        "gravity vector of the listing",
        Formula("g_i = R_0^iᵀ g_0, g_0 = (0, 0, +g)", "N m"),
        lambda: gravity_as_published(q_t),
        lambda: gravity_torque(arm(), q_t),
        reason="a stack of accelerations with the wrong sign, no ∂V/∂q anywhere",
        notes=_gravity_notes,
    ),
    Item(
        "2.58",
        "M_ij written with M_l instead of M'_l",
        Formula("M_ij = Σ ξ_iᵀ A_liᵀ M_l A_lj ξ_j", "kg m²"),
        lambda: mass_2_58_as_published(postures()[:1])[0],
        lambda: mass_matrix(arm(), postures()[0]),
        reason="the sum needs M'_l, the inertia about the base's origin, as the text writes the second time",
    ),
)
