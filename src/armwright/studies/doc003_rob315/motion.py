# SPDX-License-Identifier: Apache-2.0
"""Q17–Q19 of 003: forward dynamics, minimal time, quintic generator."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from armwright.dynamics import bias, forward_dynamics, gravity_torque, inverse_dynamics, mass_matrix
from armwright.motion import minimum_duration, quintic, quintic_duration, torque_use
from armwright.studies.doc003_rob315.limits import certificate, mu2_as_published
from armwright.studies.doc003_rob315.setting import arm, q_df, q_di, q_f, q_i, qd_used, t_f
from armwright.studies.study import Claim, Formula, Item, Numbers, Picture
from armwright.studies.study_pictures import curves
from armwright.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GIVEN_TORQUES = np.array([10.0, 120.0, 15.0, -3.0, 2.0, 1.0])
D = q_df - q_di


def block_as_published(q: Array, qd: Array, gamma: Array) -> Array:
    """Return the report's block: qdd = A⁻¹(Γ − H), H = C qd + G + F_v qd."""
    H = bias(arm(), q, qd, gravity=False, friction=False) + gravity_torque(arm(), q) + 10.0 * qd
    return np.asarray(np.linalg.solve(mass_matrix(arm(), q), gamma - H), dtype=np.float64)


def what_the_block_is() -> str:
    """Return which of the library's models has the block's numbers."""
    qdd = block_as_published(q_i, qd_used, GIVEN_TORQUES)
    forward = np.allclose(qdd, forward_dynamics(arm(), q_i, qd_used, GIVEN_TORQUES), rtol=1e-9)
    inverse = np.allclose(qdd, inverse_dynamics(arm(), q_i, qd_used, GIVEN_TORQUES), rtol=1e-9)
    return "forward (direct) dynamic model" if forward and not inverse else "inverse dynamic model"


def torque_limits() -> Array:
    """Return Γ_max = τ_max r_red, joint side."""
    return np.array([joint.limits.effort for joint in arm().joints])


def k_a(mu2: float) -> Array:
    """Return the report's acceleration bounds τ_max r_red / μ2."""
    return torque_limits() / mu2


def t_f_as_typeset() -> float:
    """Return eq. 18 as printed, with k_a under the root of 3: max sqrt(10|D| / sqrt(3 k_a))."""
    return float(np.sqrt(10.0 * np.abs(D) / np.sqrt(3.0 * k_a(mu2_as_published()))).max())


@cache
def t_f_formula() -> float:
    """Return eq. 18 as meant, with the proved μ2."""
    return quintic_duration(q_di, q_df, acceleration=k_a(certificate("mu2").attained))


@cache
def t_f_exact() -> float:
    """Return the shortest quintic within the torque limits by the full inverse dynamics."""
    return minimum_duration(arm(), q_di, q_df)


def r_as_published(t: float, duration: float) -> float:
    """Return the report's generator: the polynomial for all t, nothing holds the end."""
    s = t / duration
    return 10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5


def _dynamics_notes() -> list[str]:
    out = []
    for name, q in (("q_i", q_i), ("q_f", q_f)):
        C = bias(arm(), q, qd_used, gravity=False, friction=False)
        out.append(f"C(q, qd) qd at {name}: (" + ", ".join(f"{x + 0.0:.6f}" for x in np.round(C, 9)) + ") N m")
    return out


def _time_notes() -> list[str]:
    a = k_a(mu2_as_published())
    each = np.sqrt(10.0 * np.abs(D) / (np.sqrt(3.0) * a))
    use = torque_use(arm(), quintic(q_di, q_df, t_f_formula()))
    half = torque_use(arm(), quintic(q_di, q_df, t_f))
    return [
        f"k_a: joints 1–3 {a[0]:.4f}, joints 4–6 {a[3]:.4f} rad/s²",
        f"t_f: joints 1–3 {each[0]:.6f} s, joints 4–6 {each[3]:.6f} s",
        f"at {t_f_formula():.6f} s {use.message} ({use.peak[1]:.1f} N m)",
        f"within the limits the quintic takes {t_f_exact():.4f} s at least",
        f"Eq. 18 as typeset, with k_a under the root of 3, would give {t_f_as_typeset():.3f} s",
        f"at {t_f} s the joints use " + ", ".join(f"{x:.3f}" for x in half.use) + " of their torques",
    ]


def _torques() -> Figure:
    series = []
    for T in (t_f_formula(), t_f_exact()):
        motion = quintic(q_di, q_df, T)
        t = np.linspace(0.0, T, 401)
        tau = inverse_dynamics(arm(), *motion.evaluate(t))
        series.append((f"joint 2, t_f = {T:.4f} s", t, tau[:, 1]))
    return curves(
        series, "time [s]", "torque [N m]", levels=((500.0, "limit"),), window=((0.07, 0.135), (480.0, 504.0))
    )


def _quintic_picture() -> Figure:
    s = np.linspace(0.0, 0.6, 301)
    motion = quintic(q_di, q_df, t_f)
    return curves(
        [
            ("held after t_f", s, motion.evaluate(s).q[:, 0] - q_di[0]),
            ("as published", s, [r_as_published(x, t_f) for x in s]),
        ],
        "time [s]",
        "r(t)",
        height=2.4,
    )


ITEMS: tuple[Item, ...] = (
    Item(
        "Q17a",
        "acceleration from torque",
        Formula("qdd = A⁻¹(Γ − C qd − G − Γ_f)", "rad/s²"),
        lambda: block_as_published(q_i, qd_used, GIVEN_TORQUES),
        lambda: forward_dynamics(arm(), q_i, qd_used, GIVEN_TORQUES),
        notes=_dynamics_notes,
    ),
    Item(
        "Q17b",
        "friction torque",
        Formula("F_v qd, F_v = 10 N m s/rad", "N m"),
        lambda: 10.0 * qd_used,
        lambda: bias(arm(), q_i, qd_used) - bias(arm(), q_i, qd_used, friction=False),
    ),
    Item(
        "Q17c",
        "name of the block",
        Claim("inverse dynamic model", "inverse dynamic model"),
        None,
        what_the_block_is,
        reason="it gives accelerations from torques: the forward model",
        faults=("forward dynamics called inverse dynamic model",),
    ),
    Item("Q18a", "largest joint torques Γ_max", Numbers("(500, 500, 500, 350, 350, 350)", "N m"), None, torque_limits),
    Item(
        "Q18b",
        "minimal time by the formula",
        Numbers("0.4102", "s"),
        lambda: quintic_duration(q_di, q_df, acceleration=k_a(mu2_as_published())),
        t_f_formula,
        notes=_time_notes,
        pictures=(
            Picture(
                "Torque of joint 2 around its peak: with gravity, friction and velocity terms the formula's time needs "
                "502 of 500 N m; the shortest quintic within the limits touches them.",
                _torques,
            ),
        ),
    ),
    Item(
        "Q19a",
        "peaks of the quintic",
        Formula("15|D|/(8 t_f), 10|D|/(√3 t_f²)", "rad/s, rad/s²"),
        lambda: np.array([15.0 / (8.0 * t_f), 10.0 / (np.sqrt(3.0) * t_f**2)]),
        lambda: np.array([quintic(q_di, q_df, t_f).peaks().qd[0], quintic(q_di, q_df, t_f).peaks().qdd[0]]),
    ),
    Item(
        "Q19b",
        "end conditions of the quintic",
        Formula("r(0), r(t_f)"),
        lambda: np.array([r_as_published(0.0, t_f), r_as_published(t_f, t_f)]),
        lambda: np.array([(quintic(q_di, q_df, t_f).evaluate(t).q[0] - q_di[0]) / D[0] for t in (0.0, t_f)]),
        pictures=(
            Picture(
                "The generator; the report's run ends at t_f = 0.5 s, after which it holds nothing.", _quintic_picture
            ),
        ),
    ),
)
