# SPDX-License-Identifier: Apache-2.0
"""`finished`: the solution of a fit made into an `Identified`: bounded by physics, named, with deviations and remarks.

Every figure belongs to the model that is returned: its θ is that of `bounded_fit`, with the friction loaded by its own
torques, and σ is the residual of that θ.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.identify.bounded_fit import Bounded, bounded_fit
from armwright.identify.day_scatter import DAY_SAID, over_days, payload_over_days
from armwright.identify.gear_friction import MOTOR_TERMS, TERMS, GearFriction
from armwright.identify.identified import Estimate, Identified, PayloadEstimate, friction_names
from armwright.identify.least_squares import Fit, covariance, loaded_again, squares, undetermined
from armwright.identify.supported_terms import choice_said, choose_friction
from armwright.identify.target_gains import DRIVE_SCATTER
from armwright.schema.toml_text import Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.robot.model import Robot
    from armwright.types import Array

FASTER_THAN_LOGS = 3.0
"""Friction dissipates up to the limit of a joint's speed, or this many times the fastest in the logs."""
GAIN_DEVIATION = 0.3
"""Free gains further from those of the controller's targets, relative, are remarked."""
OFFSET_SAID = 0.05
"""[N m] A larger offset of the controller's targets is remarked."""
LEAST_MASS = 1e-3
"""[kg] A lighter payload has no meaningful centre of mass."""
_UNITS = ("N m s/rad", "N m s²/rad²", "N m", "", "N m")
_BASE_UNITS = (("mc", "kg m"), ("m", "kg"), ("I", "kg m²"), ("r", "kg m²"))


def finished(fit: Fit, prior: float, terms: str, assumed: tuple[str, ...] = ()) -> Identified:
    """Bound the fit by physics, choose the friction and name everything; `assumed` are remarks from before."""
    model, layout = fit.model, fit.layout
    robot, n = model.robot, layout.n
    found, sigma = physical(fit, prior)
    free, said = layout.free, []
    if terms == "chosen":
        choice = choose_friction(fit, found, fastest(fit), prior)
        for j in range(n):
            free[layout.friction(j)] = choice.chosen[j]
        if not choice.chosen.all():
            found, sigma = physical(fit, prior, free)
        said = [choice_said(choice, [joint.name for joint in robot.joints])]
    solution, theta = found.solution, found.solution.theta
    kappa = theta[-n:]
    coefficients = np.array([theta[layout.friction(j)] / kappa[j] for j in range(n)])
    spread = covariance(layout, solution, fit.data, free)
    variance = np.diag(spread)
    open_ = undetermined(layout, solution, variance, free)
    alone = (model.base.regrouping != 0.0).sum(axis=1) == 1
    names = [x if single else f"{x} (regrouped)" for x, single in zip(model.base.names, alone, strict=True)]
    base = tuple(
        over_days(_estimate(name, theta[k], variance[k], open_[k], _unit(model.base.names[k])))
        for k, name in enumerate(names)
    )
    frictions = []
    for k, name in enumerate(friction_names(robot)):
        j, term = divmod(k, len(TERMS))
        at = layout.friction(j).start + term
        told = _estimate(name, theta[at] / kappa[j], variance[at] / kappa[j] ** 2, open_[at], _UNITS[term])
        frictions.append(over_days(told, TERMS[term]))
    remarks = [*assumed, *fit.remarks, *said, DAY_SAID]
    gains = _gains(fit, theta, variance, open_, remarks)
    payloads = _payloads(fit, theta, spread)
    remarks += [text for p in payloads if (text := impossible(p))]
    level = np.sqrt(sum(g.squares for g in fit.grams) / np.maximum(sum(g.rows for g in fit.grams), 1.0))
    remarks += [
        f"{joint.name}: the residual is {100.0 * share:.0f} % of its current: this model does not describe the joint. "
        "Does its motor turn with another joint (the sheet's gear matrix)? Are its sign and its columns right?"
        for joint, share in zip(robot.joints, sigma / np.maximum(level, 1e-300), strict=True)
        if UNEXPLAINED < share < 1e6
    ]
    if not found.converged:
        remarks.append(
            f"the bounded fit did not settle in {found.steps} steps: the columns are nearly collinear; log more motion"
        )
    if len(solution.null):
        remarks.append(
            f"the motions leave {len(solution.null)} directions open (collinear excitation): "
            f"{', '.join(e.name for e in base if e.value is None) or 'gains and friction'}"
        )
    motors = theta[layout.motor].reshape(-1, len(MOTOR_TERMS))
    friction = GearFriction(coefficients, fit.travel, model.motors, motors)
    if len(motors):
        remarks.append(
            "the sheet has the viscous friction of motors that turn with several joints, as theirs; it has no word for "
            "their Coulomb friction, which the model file keeps"
        )
    return Identified(
        robot=_robot(robot, found.parameters, friction, 1.0 / kappa, fit),
        gains=1.0 / kappa,
        friction=friction,
        sigma=sigma,
        base=base,
        gain_estimates=gains,
        friction_estimates=tuple(frictions),
        hidden=_hidden(fit),
        payloads=payloads,
        logs=tuple(p.name for p in fit.prepared),
        remarks=tuple(remarks),
        condition=_condition(solution.normal, free),
        misfit=found.misfit,
    )


UNEXPLAINED = 0.25
"""Residual relative to a joint's current from which the model is said not to describe it."""
LOADED_AGAIN = 4
"""Most times that the friction is loaded with the torques of the result."""
RESIDUAL_CHANGE = 1e-3
"""Relative change of the residuals at which that is enough."""


def physical(fit: Fit, prior: float, free: NDArray[np.bool_] | None = None) -> tuple[Bounded, Array]:
    """Bound a fit by physics, until the friction is loaded with the torques of the result.

    Returns:
        The bounded fit, and the rms residual of each joint (n,) [A]; for joints that never moved, the largest of the
        others.
    """
    layout = fit.layout
    rows = np.sum([g.rows for g in fit.grams], axis=0)
    speed = fastest(fit)
    grams = fit.grams
    found = bounded_fit(grams, fit.model, layout, fit.solution, speed, prior=prior, free=free)
    for _ in range(LOADED_AGAIN):
        grams = loaded_again(fit.data, layout, found.solution.theta)
        sigma = np.sqrt(squares(grams, layout, found.solution.theta) / np.maximum(rows, 1.0))
        if (np.abs(sigma - found.solution.sigma) <= RESIDUAL_CHANGE * sigma).all():
            break
        found = bounded_fit(grams, fit.model, layout, fit.solution, speed, prior=prior, free=free, again=found)
    moved = rows > 0
    return found, np.where(moved, found.solution.sigma, found.solution.sigma[moved].max())


def fastest(fit: Fit) -> Array:
    """Return the speeds (n,) up to which friction dissipates [rad/s]."""
    limits = np.array([joint.limits.velocity for joint in fit.model.robot.joints])
    seen = np.max([np.abs(piece.qd).max(axis=0) for p in fit.prepared for piece in p.pieces], axis=0)
    seen = np.maximum(seen, 1e-2 * max(float(seen.max()), 1e-6))
    return np.where(limits > 0.0, np.minimum(limits, FASTER_THAN_LOGS * seen), FASTER_THAN_LOGS * seen)


def _estimate(name: str, value: float, variance: float, is_open: bool, unit: str) -> Estimate:
    if is_open:
        return Estimate(name, None, None, unit)
    return Estimate(name, float(value), float(np.sqrt(max(variance, 0.0))), unit)


def _unit(name: str) -> str:
    label = name.rsplit(".", 1)[-1]
    return next(unit for start, unit in _BASE_UNITS if label.startswith(start))


def _gains(
    fit: Fit, theta: Array, variance: Array, open_: NDArray[np.bool_], remarks: list[str]
) -> tuple[Estimate, ...]:
    layout, robot, targets = fit.layout, fit.model.robot, fit.targets
    out = []
    for j, joint in enumerate(robot.joints):
        k, gain = layout.gain(j), 1.0 / theta[layout.gain(j)]
        name = f"{joint.name}.gain"
        if layout.free_gains:
            out.append(_estimate(name, gain, variance[k] * gain**4, open_[k], "N m/A"))
            if (
                targets is not None
                and targets.seen[j]
                and not open_[k]
                and abs(gain / targets.values[j] - 1.0) > GAIN_DEVIATION
            ):
                remarks.append(
                    f"{joint.name}: the gain of {gain:.4g} N m/A is far from the controller's {targets.values[j]:.4g}; "
                    "is the mass of the load right?"
                )
            continue
        if targets is None:
            out.append(Estimate(name, float(gain), 0.0, "N m/A"))
        elif targets.seen[j]:
            ratio = float(targets.deviation[j])
            deviation = float(np.hypot(ratio, DRIVE_SCATTER * gain))
            out.append(Estimate(name, float(gain), deviation, "N m/A", ratio=ratio))
        else:
            out.append(Estimate(name, None, None, "N m/A"))
            remarks.append(
                f"{joint.name}: the controller's targets do not determine its drive gain; {gain:.4g} N m/A, its "
                "nearest neighbour's or as given, is computed with, and its torques and friction are as wrong as that"
            )
    if not layout.free_gains and targets is not None:
        remarks += targets.remarks
        told = ", ".join(
            f"{joint.name} {word or 'undetermined'}" + (f" (offset {b:.3g} N m)" if abs(b) > OFFSET_SAID else "")
            for joint, word, b in zip(robot.joints, targets.how, targets.offset, strict=True)
        )
        remarks.append(
            f"gains are the slopes of the controller's targets at rest or in motion: {told}; drives themselves were "
            f"{100.0 * DRIVE_SCATTER:.0f} % (one deviation) from them on a UR10e weighed with a known load"
        )
    return tuple(out)


def _hidden(fit: Fit) -> tuple[str, ...]:
    """Return parameters of single links that enter the torques only in combinations, or not at all."""
    R = fit.model.base.regrouping
    alone = {int(np.flatnonzero(row)[0]) for row in R if (row != 0.0).sum() == 1}
    return tuple(name for k, name in enumerate(fit.model.names) if k not in alone)


def _payloads(fit: Fit, theta: Array, spread: Array) -> tuple[PayloadEstimate, ...]:
    out = []
    for k, g in enumerate(fit.layout.payloads):
        if g is None:
            continue
        at = fit.layout.payload(g)
        known = fit.layout.free_gains or fit.layout.masses[g] is not None
        wide = payload_over_days(theta[at], spread[at, at], gains_known=known)
        out.append(payload_estimate(fit.prepared[k].name, theta[at], wide))
    return tuple(out)


def payload_estimate(log: str, p: Array, spread: Array) -> PayloadEstimate:
    """Return mass and centre with deviations from the ten parameters and their covariance."""
    m = float(p[0])
    mass = _estimate("mass", m, spread[0, 0], not np.isfinite(spread[0, 0]), "kg")
    # without mass there is no centre
    weighs = np.isfinite(spread).all() and m > 2.0 * np.sqrt(spread[0, 0]) and m > LEAST_MASS
    centre = []
    for axis, label in enumerate("xyz", start=1):
        slope = np.zeros(10)
        if weighs:
            slope[0], slope[axis] = -p[axis] / m**2, 1.0 / m
        value = p[axis] / m if weighs else 0.0
        centre.append(
            _estimate(f"com_{label}", value, float(slope @ spread @ slope) if weighs else 0.0, not weighs, "m")
        )
    return PayloadEstimate(log, mass, (centre[0], centre[1], centre[2]), np.array(p), np.array(spread))


def impossible(p: PayloadEstimate) -> str:
    """Return a sentence where the mass is negative beyond doubt, else nothing."""
    m, sd = p.mass.value, p.mass.deviation
    if m is None or sd is None or m >= 0.0 or m >= -3.0 * sd:
        return ""
    return f"{p.log}: a payload of {m:.2f} kg cannot be; do the logs without payload carry one?"


def _condition(H: Array, free: NDArray[np.bool_]) -> float:
    at = np.flatnonzero(free)
    A = H[np.ix_(at, at)]
    scale = np.sqrt(np.maximum(np.diag(A), 1e-300))
    values = np.linalg.eigvalsh(A / np.outer(scale, scale))
    return float(np.sqrt(values[-1] / max(values[0], 1e-300)))


def _robot(robot: Robot, rigid: Array, friction: GearFriction, gains: Array, fit: Fit) -> Robot:
    """Return the arm with the found numbers; the sheet's friction keeps what viscous and Coulomb terms can say."""
    nb, n = len(robot.bodies), robot.n
    ratio, motors = np.diag(robot.actuators.gear), np.zeros(n)
    motors[np.count_nonzero(robot.actuators.gear, axis=1) > 1] = friction.of_motors[:, 0]
    found = np.concatenate(
        [
            rigid[: 10 * nb],
            np.maximum(friction.coefficients[:, 0], 0.0),
            np.maximum(friction.coefficients[:, 2], 0.0),
            rigid[10 * nb :] / ratio**2,
            motors / ratio**2,
        ]
    )
    source = Source(f"identified from {', '.join(p.name for p in fit.prepared)}", "armwright identify")
    sources = dict(robot.sources)
    for body in robot.bodies:
        sources |= {f"bodies.{body.name}.{part}": source for part in ("mass", "com", "inertia")}
    sources |= {f"joints.{part}": source for part in ("viscous", "coulomb")}
    sources |= {f"actuators.{part}": source for part in ("rotor_inertia", "viscous", "torque_constant")}
    return replace(robot.with_parameters(found, gains / np.abs(ratio)), sources=sources)
