"""Chapter 5, closed loop: PD with gravity compensation, three set points, both formulations (002 §3.8, §5.2)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from armwright.control import linearise, loop_poles, pd_gravity
from armwright.dynamics import gravity_torque
from armwright.dynamics.newton_euler import gravity_torque as gravity_of_one
from armwright.studies.irb140.closed_figures import draw_runs, draw_storage, draw_torques
from armwright.studies.irb140.listing import ALL, indefinite
from armwright.studies.irb140.runs import (
    at,
    dissipation_error,
    errors_at,
    feedback,
    overshoot,
    peak_speeds,
    run,
    settles,
    settling,
    speed_limits,
    storage_falls,
    within_range,
    within_speeds,
)
from armwright.studies.irb140.setting import RUNS, Array, K_d, K_p, arm, postures
from armwright.studies.irb140.twin import closed_twins
from armwright.studies.item import Claim, Item, Picture, Undetermined


def law_as_published(arm: Any, q: Any, qd: Any, ref: Any) -> Any:
    """Torque −K_p q̃ − K_d q̇ + g(q) with the printed q̃ = q_ref − q: it pushes away from the goal."""
    return -K_p * (ref.q - q) - K_d * qd + gravity_of_one(arm, q)


def formulations_apart() -> Array:
    """Largest |q_NE − q_PoE| of each run (3,) [rad] over 5 s."""
    twins = closed_twins()
    return np.asarray(np.abs(twins["Newton–Euler"].q - twins["exponentials"].q).max(axis=(1, 2)))


def gravity_stiffness() -> float:
    """Largest ‖∂g/∂q‖ [N m/rad] over the random postures, by differences along the joints."""
    step = 1e-6
    q = postures()
    slopes = np.stack(
        [(gravity_torque(arm(), q + step * e) - gravity_torque(arm(), q - step * e)) / (2 * step) for e in np.eye(6)],
        axis=-1,
    )
    return float(np.linalg.norm(slopes, ord=2, axis=(1, 2)).max())


def grows(law: Any) -> bool:
    """Whether the loop has a pole on the right."""
    return bool(loop_poles(linearise(arm(), law, RUNS["CL1"].q_ref)).real.max() > 1e-6)


def _join(values: Any, form: str) -> str:
    return ", ".join("–" if np.isnan(x) else format(x, form) for x in values)


def _notes(name: str) -> list[str]:
    recording = run(name)
    lines = [
        f"2 % settling by joint: {_join(settling(name), '.2f')} s",
        f"overshoot: {_join(100 * overshoot(name), '.1f')} % of the step",
        f"peak speeds {_join(peak_speeds(name), '.0f')} °/s (data sheet {_join(speed_limits(), '.0f')})",
        f"feedback torque at the start ({_join(feedback(name)[0], '.2f')}) N m, peak with gravity "
        f"({_join(np.abs(recording['tau']).max(axis=0), '.0f')})",
        f"largest error at 2.3, 3, 5 s: {_join(errors_at(name), '.2g')} rad",
    ]
    lines += [f"q({t:g} s) = ({_join(at(name, t), '.4f')})" for t in (0.25, 0.5, 1.0, 2.0)]
    return lines


def _stability_notes() -> list[str]:
    poles = loop_poles(linearise(arm(), pd_gravity(K_p, K_d), RUNS["CL1"].q_ref))
    lines = [
        f"{name}: V falls from {run(name)['storage'][0]:.1f} J to {run(name)['storage'][-1]:.1e} J; V̇ + "
        "q̇ᵀK_d q̇ closes to "
        f"{dissipation_error(name):.0e} of V(0)"
        for name in RUNS
    ]
    lines.append(
        f"poles at the goal of CL1: fastest {poles[0].real:.0f} and {poles[1].real:.0f} 1/s, slowest "
        f"{poles.real.max():.1f} 1/s: stiff, "
        "because joints 5 and 6 have 2.3e-3 and 9.7e-4 kg m² against K_d = 20"
    )
    return lines


def _compensation_notes() -> list[str]:
    k = gravity_stiffness()
    return [
        f"largest gravity stiffness {k:.0f} N m/rad (300 postures), largest |g_2| "
        f"{np.abs(gravity_torque(arm(), postures())[:, 1]).max():.0f} "
        f"N m, K_p = 50: constant compensation g(q_ref) is not covered",
        f"without compensation the stretched arm would sag by about {158.834 / 50:.1f} rad, with 5 % mass error by "
        f"{0.05 * 158.834 / 50:.2f} rad",
    ]


ITEMS: tuple[Item, ...] = (
    Item(
        "5.q",
        "error of the PD law",
        Claim("u = −K_p q̃ − K_d q̇ + g(q) with q̃ = q_ref − q is stable"),
        None,
        lambda: not grows(law_as_published),
        reason="with this q̃ the law pushes away from the goal; q̃ = q − q_ref is meant (E11)",
    ),
    Item(
        "5.V",
        "Lyapunov function of the three runs",
        Claim("V > 0, V̇ = −q̇ᵀK_d q̇ ≤ 0"),
        None,
        lambda: all(storage_falls(name) and dissipation_error(name) < 1e-4 for name in RUNS),
        notes=_stability_notes,
        pictures=(
            Picture(
                "Left, V(t) of the three runs. Right, the difference between the two formulations, integrated alike.",
                draw_storage,
            ),
        ),
    ),
    Item(
        "5.sat",
        "stability with saturated inputs",
        Undetermined("global stability also for saturated inputs"),
        reason="the proof does not cover it, and no torque limits are published (E12)",
    ),
    *(
        Item(
            name,
            f"{name}: time to converge",
            Claim("about 3 s"),
            None,
            partial(settles, name),
            notes=partial(_notes, name),
            pictures=(
                Picture("The three closed-loop runs; black ticks mark the goals.", draw_runs),
                Picture("Torque without g(q), as the thesis plots it (first two seconds).", draw_torques),
            )
            if name == "CL1"
            else (),
        )
        for name in RUNS
    ),
    *(
        Item(
            f"{name}v",
            f"{name}: peak speeds against the data sheet",
            Claim("response very satisfying"),
            None,
            partial(within_speeds, name),
            reason=why,
        )
        for name, why in (
            ("CL1", "joints 4 and 6 exceed 360 and 450 °/s (E15)"),
            ("CL2", "joints 1 to 4 and 6 exceed the data sheet's speeds (E15)"),
            ("CL3", "joints 1, 4 and 6 exceed the data sheet's speeds (E15)"),
        )
    ),
    *(
        Item(
            f"{name}r",
            f"{name}: start and goal within the joint ranges",
            Claim("postures of the arm"),
            None,
            partial(within_range, name),
            reason=why,
        )
        for name, why in (
            ("CL1", ""),
            ("CL2", "it starts at q2 = 180°; axis 2 ends at 110° (the usual split of its 200°)"),
            ("CL3", "it ends at q2 = 180°; axis 2 ends at 110° (the usual split of its 200°)"),
        )
    ),
    Item(
        "5.ov",
        "Newton–Euler and exponentials in closed loop",
        Claim("curves coincide"),
        lambda: indefinite(ALL) == 0,
        lambda: bool(formulations_apart().max() < 1e-9),
        notes=lambda: [
            f"largest |Δq| over 5 s: {_join(formulations_apart(), '.0e')} rad (CL1–CL3), the same integrator",
            "the listing as printed has an indefinite M at every posture tried: its curves cannot have come from it",
        ],
    ),
    Item(
        "5.g",
        "gravity must be known",
        Claim("robust or adaptive laws are needed if g(q) is unknown"),
        None,
        lambda: gravity_stiffness() > K_p.min(),
        notes=_compensation_notes,
    ),
)
