# SPDX-License-Identifier: Apache-2.0
"""`Drives`: the limits of an arm's motors or, where a sheet knows none, the efforts of its joints.

Where it knows neither, only speeds are checked. A program is checked against motors unless the caller asks for
another basis explicitly: the answers differ in worth, and every report says which basis it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from armwright.errors import InputError
from armwright.robot.parts import Actuators

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.robot.model import Robot
    from armwright.types import Array, Traced

Basis = Literal["motors", "joints", "speeds"]


@dataclass(frozen=True, slots=True, eq=False)
class Drives:
    """Limits of one arm's drives.

    Attributes:
        basis: "motors"; "joints" where torques and speeds below are those of the joints themselves; "speeds" is the
            same without limits of torque.
        actuators: gears, rotors, friction, limits; gear 1 and no rotor for "joints".
        speed: (n,) of the joints [rad/s or m/s], inf where none.
        reflected, drag: for "joints", rotor inertia (n, n) and viscous friction (n, n) of the motors as the joints
            feel them; None for "motors".
        per_continuous: (n,) 1/continuous torque [1/(N m)], 0 where heat is unknown.
        thermal_time: (n,) [s], inf where unknown.
        says: one sentence for the report, and what is missing.
    """

    basis: Basis
    actuators: Actuators
    speed: Array
    reflected: Array | None
    drag: Any
    per_continuous: Array
    thermal_time: Array
    says: str
    missing: tuple[str, ...] = field(default=())

    @property
    def heat_is_known(self) -> NDArray[np.bool_]:
        """Return for which motors the thermal state means something (n,)."""
        return np.asarray((self.per_continuous > 0.0) & np.isfinite(self.thermal_time))

    def warming(self, dt: float) -> Array:
        """Return (n,) the share 1 − exp(−Δt/T) of the way to the steady temperature per cycle; 0 where unknown."""
        known = np.where(self.heat_is_known, self.thermal_time, np.inf)
        with np.errstate(divide="ignore"):  # without a lag the temperature is reached at once
            return np.asarray(-np.expm1(-dt / known))

    def within_speeds(self, qd: Traced, *, motors: bool = True) -> Traced:
        """Cut joint speeds (n,) to the limits of the joints and, with `motors`, to those of the motors.

        Where motor i turns with joints 1…i only (K lower triangular), joint after joint takes what its motor has left.
        Other couplings slow all joints alike.
        """
        n, K, limit = len(self.speed), self.actuators.gear, self.actuators.speed_limit
        joints = [qd[i] if np.isinf(v) else np.clip(qd[i], -v, v) for i, v in enumerate(self.speed)]
        if not motors or np.isinf(limit).all():
            return np.array(joints)
        if np.triu(K, 1).any():
            out = np.array(joints)
            most: Any = 1.0
            for i in np.flatnonzero(np.isfinite(limit)):
                most = np.maximum(most, np.abs(K[i] @ out) / limit[i])
            return out / most
        for i in np.flatnonzero(np.isfinite(limit)):
            rest: Any = sum((K[i, j] * joints[j] for j in range(i) if K[i, j]), start=0.0)
            middle, half = -rest / K[i, i], limit[i] / abs(K[i, i])
            left = np.clip(joints[i], middle - half, middle + half)
            joints[i] = np.clip(left, -self.speed[i], self.speed[i]) if np.isfinite(self.speed[i]) else left
        return np.array([joints[i] for i in range(n)])

    def torque_at(self, speed: Traced) -> Traced:
        """Return the torque (n,) of each motor at its speed (n,) [rad/s]: its sheet's curve, or its constant limit."""
        a = self.actuators
        if not a.curve_speed.size:
            return a.torque_limit
        out = []
        for i in range(len(a.torque_limit)):
            w, points, torques = np.abs(speed[i]), a.curve_speed[i], a.curve_torque[i]
            left: Any = torques[0]
            for k in range(len(points) - 1):
                slope = (torques[k + 1] - torques[k]) / (points[k + 1] - points[k])
                left = np.where(w > points[k], torques[k] + slope * (w - points[k]), left)
            left = np.where(w > points[-1], torques[-1], left)
            out.append(np.minimum(left, a.torque_limit[i]) if np.isfinite(a.torque_limit[i]) else left)
        return np.array(out)


def drives_of(robot: Robot, basis: Basis = "motors") -> Drives:
    """Return what drives `robot`.

    Args:
        robot: the arm.
        basis: "motors" checks motor torques and speeds; "joints" checks joint efforts and speeds, for arms without
            motor data; "speeds" checks joint speeds alone.

    Raises:
        InputError: if the sheet lacks what `basis` needs; the message lists it and says what would work.

    Example:
        >>> drives_of(aw.load("ur5"), "joints").speed  # (n,) [rad/s]
    """
    a, n = robot.actuators, robot.n
    speed = np.array([joint.limits.velocity for joint in robot.joints])
    effort = np.array([joint.limits.effort for joint in robot.joints])
    if basis not in get_args(Basis):
        raise InputError(f"basis: expected {', '.join(get_args(Basis))}, got {basis!r}")
    if basis != "motors":
        if basis == "joints" and np.isinf(effort).any():
            raise InputError(
                f"robot {robot.name!r}: no effort limit for {_named(robot, np.isinf(effort))}; "
                "give limits.effort in its sheet"
            )
        if basis == "speeds" and np.isinf(speed).any():
            raise InputError(
                f"robot {robot.name!r}: no speed limit for {_named(robot, np.isinf(speed))}; "
                "give limits.velocity in its sheet"
            )
        if basis == "speeds":
            effort = np.full(n, np.inf)
        ideal = Actuators.none(n)
        joints = Actuators(**{**_parts(ideal), "torque_limit": effort})
        says = (
            "checked against the joint efforts and speeds of the sheet; what its motors can do is not known"
            if basis == "joints"
            else "checked against the joint speeds of the sheet alone; it has neither motor torques "
            "(actuators.torque_limit) nor joint efforts (limits.effort)"
        )
        K = a.gear
        reflected, drag = K.T @ np.diag(a.rotor_inertia) @ K, K.T @ np.diag(a.viscous) @ K
        return Drives(basis, joints, speed, reflected, drag, np.zeros(n), np.full(n, np.inf), says, ("motors",))
    unknown = np.isinf(a.torque_limit) & (not a.curve_torque.size)
    if unknown.any():
        can = "" if np.isinf(effort).any() else "; basis='joints' would check its joint efforts instead"
        raise InputError(
            f"robot {robot.name!r}: its sheet has no motor torque limit for {_named(robot, unknown)} "
            f"(actuators.torque_limit or curve_speed, curve_torque){can}"
        )
    if (a.load_friction >= 1.0).any():
        raise InputError(
            f"robot {robot.name!r}: load_friction of {_named(robot, a.load_friction >= 1.0)} is 1 or more: "
            "the gear would lock; it must be < 1"
        )
    missing = [
        what
        for what, gone in (
            ("motor speed limit", np.isinf(a.speed_limit).any()),
            ("torque-speed curve (the limit is taken to hold at every speed)", not a.curve_speed.size),
            ("continuous torque", np.isinf(a.continuous_torque).any()),
            ("thermal time constant", np.isinf(a.thermal_time).any()),
        )
        if gone
    ]
    says = "checked against the motors of the sheet" + (f"; it lacks: {', '.join(missing)}" if missing else "")
    with np.errstate(divide="ignore"):
        per = np.where(np.isfinite(a.continuous_torque) & (a.continuous_torque > 0.0), 1.0 / a.continuous_torque, 0.0)
    return Drives(basis, a, speed, None, None, per, a.thermal_time, says, tuple(missing))


def _parts(actuators: Actuators) -> dict[str, Any]:
    return {name: getattr(actuators, name) for name in Actuators.__dataclass_fields__}


def _named(robot: Robot, which: NDArray[np.bool_]) -> str:
    return ", ".join(f"joint {joint.name!r}" for joint, chosen in zip(robot.joints, which, strict=True) if chosen)
