# SPDX-License-Identifier: Apache-2.0
"""`fit`: from logs to an identified arm: base parameters, friction, drive gains, payloads, then bodies that can exist.

`fit_loads` solves least squares and looks for payloads that nobody mentioned: logs that disagree about a mass at the
tool do not show the same arm. `finished` turns the solution into an `Identified`: consistent bodies, friction that goes
with them, names and deviations.

`refit_friction` fits friction again on the same bodies, for an arm whose gears have warmed up or aged since. It is an
option: where friction has really changed it helps, elsewhere a few seconds of log say less than the logs of the fit.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import ArmwrightWarning, InputError
from armwright.identify.consistent_bodies import consistent_parameters
from armwright.identify.current_log import Log
from armwright.identify.drive_gains import ASSUMED, Gains
from armwright.identify.filtered_log import even_samples
from armwright.identify.gear_friction import DAHL, TERMS, GearFriction
from armwright.identify.gram_matrices import accumulate
from armwright.identify.identifiable import structure
from armwright.identify.identified import Estimate, Identified, Load, PayloadEstimate, friction_names
from armwright.identify.least_squares import UNEXCITED_EIGENVALUE, Fit, least_squares, undetermined
from armwright.identify.log_checks import check_log
from armwright.schema.toml_text import Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.robot.model import Robot
    from armwright.types import Array

SUSPECT = 0.25
"""[kg] Logs without payload that disagree by more about a mass at the tool; bare logs of a UR10e agree to 0.01."""
TELLS = 1e-4
"""Smallest eigenvalue of the load's scaled normal matrix at which a log can tell."""


def fit_loads(
    logs: tuple[Log, ...],
    robot: Robot,
    gains: Gains | None,
    payloads: Sequence[Load | None] | None,
    rate: float = 100.0,
    cutoff: float | None = 8.0,
    dahl: float = DAHL,
) -> tuple[Fit, tuple[str, ...]]:
    """Fit; where nothing was said about payloads, a log that is heavier than another gets one. Arguments as `fit`.

    Returns:
        The fit, and sentences about what was assumed.
    """
    found = least_squares(logs, robot, gains, payloads, rate, cutoff, dahl)
    masses = disagreement(found)
    if not masses:
        return found, ()
    told = ", ".join(f"{logs[k].name} {mass:+.2f} kg" for k, mass in masses.items())
    text = f"these logs disagree about the payload ({told} at the tool of {robot.name!r})"
    if payloads is not None:
        text += ", though payloads=[…] says that none carries any; the model fits none of them well"
    else:
        loads: list[Load | None] = [None] * len(logs)
        while masses:  # the heaviest first: it bends the fit most; the lightest stays without
            loads[max(masses, key=lambda k: masses[k])] = Load()
            found = least_squares(logs, robot, gains, loads, rate, cutoff, dahl)
            masses = disagreement(found)
        heavy = ", ".join(f"{log.name} ({_weight(found, k)})" for k, log in enumerate(logs) if loads[k] is not None)
        said = ", ".join("None" if load is None else "Load()" for load in loads)
        text += f"; a payload is assumed and estimated in {heavy}, as payloads=[{said}] would; say so, or otherwise"
    warnings.warn(text, ArmwrightWarning, stacklevel=4)
    return found, (text,)


def _weight(fit: Fit, log: int) -> str:
    g = fit.layout.payloads[log]
    assert g is not None
    return f"{fit.solution.theta[fit.layout.payload(g).start]:.2f} kg"


def disagreement(fit: Fit) -> dict[int, float]:
    """Return the mass at the tool [kg] that each log without payload asks for, by its number; empty where all agree."""
    layout, solution, L = fit.layout, fit.solution, fit.layout.loads
    masses = {}
    for k, g in enumerate(layout.payloads):
        if g is not None:
            continue
        A, b = np.zeros((10, 10)), np.zeros(10)
        for j in range(layout.n):
            kappa = solution.theta[layout.gain(j)]
            w = (kappa / solution.sigma[j]) ** 2
            G = fit.grams[k].matrices[j]
            A += w * (L.T @ G[: layout.rank, : layout.rank] @ L)
            b -= w * (L.T @ (G[: layout.rank] @ (layout.vector(solution.theta, k, j) / kappa)))
        scale = 1.0 / np.sqrt(np.maximum(np.diag(A), 1e-300))
        scaled = A * np.outer(scale, scale)
        if np.linalg.eigvalsh(scaled)[0] >= TELLS:
            masses[k] = float((scale * np.linalg.solve(scaled, scale * b))[0])
    apart = max(masses.values()) - min(masses.values()) if masses else 0.0
    return masses if apart >= SUSPECT else {}


LARGEST_LOAD_FRICTION = 0.5
"""Largest load coefficient of friction that is believed; gears that rub more lock."""
GAIN_DEVIATION = 0.3
"""Free gains further from those of the controller's targets, relative, are remarked."""
LEAST_MASS = 1e-3
"""[kg] A lighter payload has no meaningful centre of mass."""
_UNITS = ("N m s/rad", "N m s²/rad²", "N m", "", "N m")
_BASE_UNITS = (("mc", "kg m"), ("m", "kg"), ("I", "kg m²"), ("r", "kg m²"))


def finished(fit: Fit, prior: float, dahl: float, assumed: tuple[str, ...] = ()) -> Identified:
    """Make the bodies consistent, move friction along, and name everything; `assumed` are remarks from before."""
    model, layout, solution = fit.model, fit.layout, fit.solution
    robot, rank, n = model.robot, model.rank, layout.n
    nb = len(robot.bodies)
    S, back = _profiled(solution.normal, layout.free, rank)
    beta = solution.theta[:rank]
    bodies = consistent_parameters(model.base.regrouping, beta, S, solution.rows, model.sheet(), bodies=nb, prior=prior)
    shift = model.base.regrouping @ bodies.parameters - beta
    theta = solution.theta.copy()
    others = np.flatnonzero(layout.free)
    others = others[others >= rank]
    theta[others] -= back @ shift
    kappa = theta[-n:]
    free, free_kappa = solution.theta, solution.theta[-n:]  # estimates are those of least squares: no prior in them
    coefficients = np.array([theta[layout.friction(j)] / kappa[j] for j in range(n)])
    loaded = coefficients[:, 3].copy()
    coefficients[:, 3] = np.clip(loaded, -LARGEST_LOAD_FRICTION, LARGEST_LOAD_FRICTION)
    variance = np.diag(fit.covariance)
    open_ = undetermined(layout, solution, variance)
    alone = (model.base.regrouping != 0.0).sum(axis=1) == 1
    names = [x if single else f"{x} (regrouped)" for x, single in zip(model.base.names, alone, strict=True)]
    base = tuple(
        _estimate(name, solution.theta[k], variance[k], open_[k], _unit(model.base.names[k]))
        for k, name in enumerate(names)
    )
    frictions = []
    for k, name in enumerate(friction_names(robot)):
        j, term = divmod(k, len(TERMS))
        at = layout.friction(j).start + term
        found = _estimate(name, free[at] / free_kappa[j], variance[at] / free_kappa[j] ** 2, open_[at], _UNITS[term])
        frictions.append(found)
    remarks = [*assumed, *fit.remarks]
    remarks += [
        f"{joint.name}: a load friction of {value:.2f} is not believed; {LARGEST_LOAD_FRICTION} is used"
        for joint, value in zip(robot.joints, loaded, strict=True)
        if abs(value) > LARGEST_LOAD_FRICTION
    ]
    gains = _gains(fit, free, variance, open_, remarks)
    payloads = _payloads(fit, free)
    remarks += [text for p in payloads if (text := impossible(p))]
    if len(solution.null):
        remarks.append(
            f"the motions leave {len(solution.null)} directions open (collinear excitation): "
            f"{', '.join(e.name for e in base if e.value is None) or 'gains and friction'}"
        )
    return Identified(
        robot=_robot(robot, bodies.parameters, coefficients, 1.0 / kappa, fit),
        gains=1.0 / kappa,
        friction=GearFriction(coefficients, dahl),
        sigma=_residuals(fit),
        base=base,
        gain_estimates=gains,
        friction_estimates=tuple(frictions),
        hidden=_hidden(fit),
        payloads=payloads,
        logs=tuple(p.name for p in fit.prepared),
        remarks=tuple(remarks),
        condition=_condition(solution.normal, layout.free),
        misfit=bodies.misfit,
    )


def _residuals(fit: Fit) -> Array:
    """Return the rms residual of each joint [A]; for joints that never moved, the largest of the others."""
    moved = np.sum([g.rows for g in fit.grams], axis=0) > 0
    return np.where(moved, fit.solution.sigma, fit.solution.sigma[moved].max())


def _profiled(H: Array, free: Array, rank: int) -> tuple[Array, Array]:
    """Return the information of β with all else profiled out (Schur complement), and how the rest follows β."""
    others = np.flatnonzero(free)
    others = others[others >= rank]
    A = H[np.ix_(others, others)]
    scale = np.sqrt(np.maximum(np.diag(A), 0.0))
    scale = np.where(scale > 1e-150, scale, 1.0)
    inverse = np.linalg.pinv(A / np.outer(scale, scale), rcond=UNEXCITED_EIGENVALUE, hermitian=True) / np.outer(
        scale, scale
    )
    back = inverse @ H[others, :rank]
    S = H[:rank, :rank] - H[:rank, others] @ back
    return 0.5 * (S + S.T), back


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
        seen = targets is None or targets.seen[j]
        deviation = 0.0 if targets is None else float(targets.deviation[j])
        out.append(Estimate(name, float(gain), deviation, "N m/A", assumed=not seen))
        if not seen:
            remarks.append(
                f"{joint.name}: the controller's targets do not show its drive gain; {gain:.4g} N m/A is assumed, "
                f"±{200.0 * ASSUMED:.0f} %, as its nearest neighbour's or as given"
            )
    return tuple(out)


def _hidden(fit: Fit) -> tuple[str, ...]:
    """Return parameters of single links that enter the torques only in combinations, or not at all."""
    R = fit.model.base.regrouping
    alone = {int(np.flatnonzero(row)[0]) for row in R if (row != 0.0).sum() == 1}
    return tuple(name for k, name in enumerate(fit.model.names) if k not in alone)


def _payloads(fit: Fit, theta: Array) -> tuple[PayloadEstimate, ...]:
    out = []
    for k, g in enumerate(fit.layout.payloads):
        if g is None:
            continue
        at = fit.layout.payload(g)
        out.append(payload_estimate(fit.prepared[k].name, theta[at], fit.covariance[at, at]))
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


def _condition(H: Array, free: Array) -> float:
    at = np.flatnonzero(free)
    A = H[np.ix_(at, at)]
    scale = np.sqrt(np.maximum(np.diag(A), 1e-300))
    values = np.linalg.eigvalsh(A / np.outer(scale, scale))
    return float(np.sqrt(values[-1] / max(values[0], 1e-300)))


def _robot(robot: Robot, rigid: Array, friction: Array, gains: Array, fit: Fit) -> Robot:
    """Return the arm with the found numbers; the sheet's friction keeps what viscous and Coulomb terms can say."""
    nb, n = len(robot.bodies), robot.n
    ratio = np.diag(robot.actuators.gear)
    found = np.concatenate(
        [
            rigid[: 10 * nb],
            np.maximum(friction[:, 0], 0.0),
            np.maximum(friction[:, 2], 0.0),
            rigid[10 * nb :] / ratio**2,
            np.zeros(n),
        ]
    )
    source = Source(f"identified from {', '.join(p.name for p in fit.prepared)}", "armwright identify")
    sources = dict(robot.sources)
    for body in robot.bodies:
        sources |= {f"bodies.{body.name}.{part}": source for part in ("mass", "com", "inertia")}
    sources |= {f"joints.{part}": source for part in ("viscous", "coulomb")}
    sources |= {f"actuators.{part}": source for part in ("rotor_inertia", "torque_constant")}
    return replace(robot.with_parameters(found, gains / np.abs(ratio)), sources=sources)


@names_culprit
def fit(
    logs: Log | Sequence[Log],
    robot: Robot,
    *,
    gains: Gains | None = None,
    payloads: Sequence[Load | None] | None = None,
    rate: float = 100.0,
    cutoff: float | None = 8.0,
    dahl: float = DAHL,
    prior: float = 1e-3,
) -> Identified:
    """Identify an arm from logs of its motion and motor currents.

    Args:
        logs: one or several; rows of resting joints are not used.
        robot: the description: its geometry is taken as it is, its inertias as the prior.
        gains: `Known`, `FromTargets` (default where a log has targets) or `Free` (with a load of known mass).
        payloads: one per log: None without, ``Load()`` or ``Load(mass)`` with a payload, estimated log by log. By
            default none carries any, unless they disagree about it: then the heavier get a ``Load()``, with a warning.
        rate: of the even samples [Hz], see `even_samples`.
        cutoff: of the low-pass [Hz], None without.
        dahl: δ of the friction's hysteresis [rad].
        prior: weight of the description in the consistency step.

    Returns:
        An `Identified`; what the logs leave open is named there, not numbered.

    Example:
        >>> model = fit(read_log("run.csv"), aw.load("ur10e"))
        >>> model.undetermined  # what the log leaves open
    """
    many = (logs,) if isinstance(logs, Log) else tuple(logs)
    found, assumed = fit_loads(many, robot, gains, payloads, rate, cutoff, dahl)
    return finished(found, prior, dahl, assumed)


LEAST_FRICTION_ROWS = 200
"""Moving samples (two seconds) from which a joint's friction is fitted again."""
DISTINCT_EIGENVALUE_RATIO = 0.02
"""Ratio of smallest to largest eigenvalue of the three scaled columns above which they are told apart."""
REFITTED = (0, 2, 4)
"""Viscous, Coulomb and offset; a short log does not show the others."""


@names_culprit
def refit_friction(
    identified: Identified, log: Log, *, seconds: float | None = None, rate: float = 100.0, cutoff: float | None = 8.0
) -> Identified:
    """Return the model with viscous, Coulomb and offset terms fitted to a log without payload and contact.

    Args:
        identified: the model; everything else of it stays.
        log: joints that move in it for two seconds or more are fitted.
        seconds: use only the beginning.
        rate: of the even samples [Hz].
        cutoff: of the low-pass [Hz], None without.

    Example:
        >>> model = refit_friction(model, warm_log, seconds=30.0)
    """
    check_log(log, identified.robot)
    part = log if seconds is None else log.rows(log.t <= log.t[0] + seconds)
    model = structure(identified.robot)
    gram = accumulate(
        even_samples(part, rate=rate, cutoff=cutoff), model, identified.beta, dahl=identified.friction.dahl
    )
    v = identified.vectors()
    columns = [model.rank + k for k in REFITTED]
    coefficients = identified.friction.coefficients.copy()
    done = []
    for j, joint in enumerate(identified.robot.joints):
        G = gram.matrices[j]
        scale = np.sqrt(np.maximum(np.diag(G)[columns], 1e-300))
        spread = np.linalg.eigvalsh(G[np.ix_(columns, columns)] / np.outer(scale, scale))
        if gram.rows[j] < LEAST_FRICTION_ROWS or spread[0] < DISTINCT_EIGENVALUE_RATIO * spread[-1]:
            continue  # in one direction at one speed, all three look alike
        known = v[j].copy()
        known[columns] = 0.0
        found = np.linalg.lstsq(G[np.ix_(columns, columns)], -(G[columns] @ known), rcond=1e-10)[0]
        found = found * identified.gains[j]
        if found[1] >= 0.0:
            coefficients[j, list(REFITTED)] = found
            done.append(joint.name)
    if not done:
        raise InputError(
            f"refit_friction: no joint moves for {LEAST_FRICTION_ROWS / rate:g} s, to and fro, in log {log.name!r}"
        )
    remark = f"viscous, Coulomb and offset terms of {', '.join(done)} fitted anew to {log.name}"
    friction = GearFriction(coefficients, identified.friction.dahl)
    return replace(identified, friction=friction, remarks=(*identified.remarks, remark))
