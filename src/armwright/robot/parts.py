# SPDX-License-Identifier: Apache-2.0
"""The parts of an arm: limits, friction, joints, bodies, actuators, measured drives. Frozen data, no algorithm.

A robot is a tree of rigid bodies. Body ``i`` hangs on body ``parent`` (``-1`` is the root link) by
one revolute or prismatic joint. Its pose in the parent's link frame is

    T_parent_link(q) = T_parent_joint · motion(axis, ratio·q[joint] + offset) · T_joint_link

so that a link frame may sit before the joint motion's far end (standard DH) or on the joint itself
(URDF, modified DH). Mimic joints are bodies that share a coordinate: `Body.joint` is the index of the
coordinate, `ratio` and `offset` its law. Everywhere else ratio = 1, offset = 0 and body i is moved by
joint i. Bodies are stored parents first.

Units are SI; angles are radians; poses are 4×4 ``T_a_b``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from armwright.arguments import matrix_of, number, numbers, refuse_masked
from armwright.errors import InputError
from armwright.pickling import Rebuilt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

from armwright.types import Array

JointKind = Literal["revolute", "prismatic"]


def frozen(value: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    """Copy `value` into a read-only float64 array of `shape`; raise `InputError` naming `what` if it cannot be."""
    refuse_masked(value, what)
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: expected numbers of shape {shape}, got {value!r}") from error
    if array.shape != shape:
        raise InputError(f"{what}: expected shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{what}: every entry must be finite, got {array.tolist()}")
    array.flags.writeable = False
    return array


RIGID = 1e-9
"""How far RᵀR of a pose may be from the identity: the accuracy that inverse kinematics promises."""


_UNTURNED = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0])


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def frozen_pose(value: ArrayLike, what: str) -> Array:
    """Check that `value` is a 4×4 rigid transform (rotation part orthonormal to 1e-9), or SciPy's, and freeze it."""
    if type(value) is np.ndarray and value.dtype == np.float64 and value.shape == (4, 4):  # programs have thousands
        T = value.copy()
        T.flags.writeable = False
    else:
        T = frozen(matrix_of(value), (4, 4), what)
    x, y, z, last = T.T.tolist()  # columns: plain floats are ten times quicker than NumPy on nine numbers
    if not math.isfinite(sum(x) + sum(y) + sum(z) + sum(last)):
        frozen(T, (4, 4), what)  # says which entry is not
    if [x[3], y[3], z[3], last[3]] != [0.0, 0.0, 0.0, 1.0]:
        raise InputError(f"{what}: last row must be [0, 0, 0, 1], got {T[3].tolist()}")
    if (x[:3], y[:3], z[:3]) == _UNTURNED:
        return T
    misses = (_dot(x, x) - 1.0, _dot(y, y) - 1.0, _dot(z, z) - 1.0, _dot(x, y), _dot(y, z), _dot(z, x))
    normal = (x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0])
    if max(map(abs, misses)) > RIGID or _dot(normal, z) < 0.0:
        raise InputError(f"{what}: upper-left 3×3 block is not a rotation (RᵀR = 1, det R = +1)")
    return T


class ByContent(Rebuilt):
    """Frozen data that is equal where all its fields are: numbers and names by value, arrays bit for bit."""

    __slots__ = ("_content", "_hash")

    _content: tuple[Any, ...]
    _hash: int

    def content(self) -> tuple[Any, ...]:
        """Return the fields that count, hashable; computed once, as robots that share bodies are many."""
        try:
            return self._content
        except AttributeError:
            values = (getattr(self, part.name) for part in fields(self) if part.compare)  # type: ignore[arg-type]
            content = tuple((v.shape, v.tobytes()) if isinstance(v, np.ndarray) else v for v in values)
            object.__setattr__(self, "_content", content)
            return content

    def __eq__(self, other: object) -> bool:
        """Compare the contents."""
        return self.content() == other.content() if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        """Hash the content."""
        try:
            return self._hash
        except AttributeError:
            object.__setattr__(self, "_hash", hash(self.content()))
            return self._hash


@dataclass(frozen=True, slots=True)
class Limits:
    """Range of one joint coordinate: position [rad or m], speed, acceleration, torque/force. `inf` means none."""

    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    acceleration: float = np.inf
    effort: float = np.inf

    def __post_init__(self) -> None:
        """Refuse swapped, negative or NaN bounds."""
        for name in ("lower", "upper", "velocity", "acceleration", "effort"):
            object.__setattr__(self, name, number(getattr(self, name), f"limits: {name}"))
        if not self.lower <= self.upper:
            raise InputError(f"limits: lower ({self.lower}) must not exceed upper ({self.upper})")
        for name in ("velocity", "acceleration", "effort"):
            if not getattr(self, name) >= 0.0:
                raise InputError(f"limits: {name} must be ≥ 0, got {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class Friction:
    """Joint-side friction: τ_f = viscous·q̇ + coulomb·sign(q̇), zero Coulomb part where |q̇| ≤ dead_zone (004 eq. 6.4)."""

    viscous: float = 0.0
    coulomb: float = 0.0
    dead_zone: float = 0.0

    def __post_init__(self) -> None:
        """Refuse negative or non-finite coefficients."""
        for name in ("viscous", "coulomb", "dead_zone"):
            value = number(getattr(self, name), f"friction: {name}")
            object.__setattr__(self, name, value)
            if not (np.isfinite(value) and value >= 0.0):
                raise InputError(f"friction: {name} must be finite and ≥ 0, got {value}")


@dataclass(frozen=True, slots=True, eq=False)
class Joint(ByContent):
    """One coordinate of the arm: its name, kind, range and friction."""

    name: str
    kind: JointKind = "revolute"
    limits: Limits = field(default_factory=Limits)
    friction: Friction = field(default_factory=Friction)

    def __post_init__(self) -> None:
        """Refuse unknown kinds."""
        if not isinstance(self.kind, str) or self.kind not in ("revolute", "prismatic"):
            raise InputError(f"joint {self.name!r}: kind must be 'revolute' or 'prismatic', got {self.kind!r}")


@dataclass(frozen=True, slots=True, eq=False)
class Body(ByContent):
    """One moving rigid body, with the joint that carries it.

    Attributes:
        name: the link's name.
        parent: index of the parent body, -1 for the root link.
        joint: index of the coordinate that moves it.
        T_parent_joint: pose of the joint in the parent's link frame at zero displacement.
        axis: unit axis of the joint, in joint coordinates (rotation or translation).
        T_joint_link: pose of the link frame in the displaced joint frame.
        mass: [kg]. com: centre of mass in the link frame [m].
        inertia: 3×3 about the centre of mass, in link axes [kg m²]; off-diagonals are matrix entries (−∫xy dm).
        ratio, offset: displacement = ratio·q[joint] + offset (mimic joints; 1 and 0 otherwise).
    """

    name: str
    parent: int
    joint: int
    T_parent_joint: Array
    axis: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    T_joint_link: Array = field(default_factory=lambda: np.eye(4))
    mass: float = 0.0
    com: Array = field(default_factory=lambda: np.zeros(3))
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))
    ratio: float = 1.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        """Freeze the arrays and refuse malformed ones."""
        put = object.__setattr__
        put(self, "T_parent_joint", frozen_pose(self.T_parent_joint, f"body {self.name!r}: T_parent_joint"))
        put(self, "T_joint_link", frozen_pose(self.T_joint_link, f"body {self.name!r}: T_joint_link"))
        axis = frozen(self.axis, (3,), f"body {self.name!r}: axis")
        if abs(float(np.linalg.norm(axis)) - 1.0) > 1e-9:
            raise InputError(f"body {self.name!r}: axis must have unit length, got {axis.tolist()}")
        put(self, "axis", axis)
        put(self, "com", frozen(self.com, (3,), f"body {self.name!r}: com"))
        put(self, "inertia", frozen(self.inertia, (3, 3), f"body {self.name!r}: inertia"))
        if np.abs(self.inertia - self.inertia.T).max() > 1e-12 * max(1.0, float(np.abs(self.inertia).max())):
            raise InputError(f"body {self.name!r}: inertia must be symmetric")
        for label in ("mass", "ratio", "offset"):
            value = number(getattr(self, label), f"body {self.name!r}: {label}")
            if not np.isfinite(value):
                raise InputError(f"body {self.name!r}: {label} must be finite, got {value}")
            put(self, label, value)


@dataclass(frozen=True, slots=True, eq=False)
class Frame(ByContent):
    """A named place on a body: flange, hand, camera. It has no mass and moves with what carries it.

    Attributes:
        name: as given to `fk`, `jacobian` and `ik`.
        parent: index of the body that carries it, -1 for the root link.
        T_parent_frame: its constant pose in that body's link frame (the root link's for -1).
    """

    name: str
    parent: int
    T_parent_frame: Array = field(default_factory=lambda: np.eye(4))

    def __post_init__(self) -> None:
        """Freeze the pose and refuse what is not one."""
        object.__setattr__(
            self, "T_parent_frame", frozen_pose(self.T_parent_frame, f"frame {self.name!r}: T_parent_frame")
        )


def in_order(frames: tuple[Frame, ...], bodies: int) -> tuple[Frame, ...]:
    """Return the frames of an arm with that many bodies in their order: by carrier, the root's first, then by name."""
    for frame in frames:
        if not -1 <= frame.parent < bodies:
            raise InputError(f"frame {frame.name!r}: parent index {frame.parent} must lie in -1…{bodies - 1}")
    return tuple(sorted(frames, key=lambda frame: (frame.parent, frame.name)))


@dataclass(frozen=True, slots=True, eq=False)
class Actuators(ByContent):
    """Motors of an n-joint arm. Motor angles are ``q_a = gear @ q`` (001, D.1 and D.2); all vectors have n entries.

    Attributes:
        gear: n×n matrix K; diagonal for independent gears, off-diagonal for wrist or 2–3 coupling.
        rotor_inertia: motor side [kg m²].
        viscous: motor-side viscous friction [N m s/rad].
        load_friction: Coulomb friction as a fraction of the transmitted load (001 eq. D.3) [-].
        torque_limit, speed_limit, current_limit: motor side [N m], [rad/s], [A]; inf where unknown.
        torque_constant: motor side [N m/A]; nan-free, 0 where unknown.
        continuous_torque: what the motor may give without end, motor side [N m]; inf where unknown.
        thermal_time: time constant of its winding and case [s]; inf where unknown.
        curve_speed, curve_torque: (n, k) points of the torque that is left at a speed, motor side [rad/s], [N m];
            straight lines between them, the first and the last torque outside; k = 0 where `torque_limit` holds at
            every speed.
    """

    gear: Array
    rotor_inertia: Array
    viscous: Array
    load_friction: Array
    torque_limit: Array
    speed_limit: Array
    current_limit: Array
    torque_constant: Array
    continuous_torque: Array = field(default_factory=lambda: np.zeros(0))
    thermal_time: Array = field(default_factory=lambda: np.zeros(0))
    curve_speed: Array = field(default_factory=lambda: np.zeros((0, 0)))
    curve_torque: Array = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        """Freeze the arrays and refuse NaN; what was left out is unknown; `Robot` checks the other shapes."""
        arrays = {part.name: numbers(getattr(self, part.name), f"actuators.{part.name}") for part in fields(self)}
        n = len(np.atleast_1d(arrays["gear"]))
        unknown = {
            "continuous_torque": np.full(n, np.inf),
            "thermal_time": np.full(n, np.inf),
            "curve_speed": np.zeros((n, 0)),
            "curve_torque": np.zeros((n, 0)),
        }
        for name, array in arrays.items():
            if np.isnan(array).any():
                raise InputError(f"actuators.{name}: NaN is not a number to compute with; inf means unlimited")
            kept = unknown[name] if name in unknown and not array.size else array
            kept.flags.writeable = False
            object.__setattr__(self, name, kept)
        speed, torque = self.curve_speed, self.curve_torque
        if speed.shape != torque.shape or speed.ndim != 2 or len(speed) != n:
            raise InputError(
                f"actuators: curve_speed {speed.shape} and curve_torque {torque.shape} must both be ({n}, points)"
            )
        if (speed[:, :1] < 0.0).any() or (np.diff(speed, axis=1) <= 0.0).any() or not np.isfinite(speed).all():
            raise InputError("actuators.curve_speed: every row must rise from a speed ≥ 0, all of them finite")
        if (torque < 0.0).any() or not np.isfinite(torque).all():
            raise InputError("actuators.curve_torque: every torque must be finite and ≥ 0")

    def of(self, kept: Sequence[int] | NDArray[np.int64]) -> Actuators:
        """Return the motors of the kept joints; motor i is taken to belong to joint i."""
        index = np.asarray(kept, dtype=np.int64)
        rows = {part.name: getattr(self, part.name)[index] for part in fields(self) if part.name != "gear"}
        return Actuators(gear=self.gear[np.ix_(index, index)], **rows)

    @staticmethod
    def none(n: int) -> Actuators:
        """Return ideal torque sources: gear 1, no rotor, no limits."""
        zero, inf = np.zeros(n), np.full(n, np.inf)
        return Actuators(np.eye(n), zero, zero, zero, inf, inf, inf, zero)


@dataclass(frozen=True, slots=True, eq=False)
class CurrentMap(ByContent):
    """Joint torque from motor current, element by element: tau = k i + b (004 eq. 6.6).

    Attributes:
        k: [N m/A] at the joint, (n,), not zero.
        b: [N m], (n,).
    """

    k: Array
    b: Array

    def __post_init__(self) -> None:
        """Refuse what cannot be a map."""
        k, b = numbers(self.k, "current map: k"), numbers(self.b, "current map: b")
        if k.ndim != 1 or k.shape != b.shape or not np.isfinite([k, b]).all() or (k == 0.0).any():
            raise InputError(
                f"current map: k and b must be finite, (n,) each, k ≠ 0; got {k.tolist()} and {b.tolist()}"
            )
        for name, value in (("k", k), ("b", b)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    def torque(self, current: ArrayLike) -> Array:
        """Joint torque (..., n) [N m] of motor currents (..., n) [A]."""
        return self.k * self._rows(current, "current") + self.b

    def current(self, tau: ArrayLike) -> Array:
        """Motor currents (..., n) [A] that give joint torques (..., n) [N m]."""
        return (self._rows(tau, "tau") - self.b) / self.k

    def _rows(self, value: ArrayLike, what: str) -> Array:
        array = numbers(value, f"current map: {what}")
        if array.shape[-1:] != self.k.shape or not np.isfinite(array).all():
            raise InputError(
                f"current map: {what} must be (..., {len(self.k)}) finite numbers, got shape {array.shape}"
            )
        return array


@dataclass(frozen=True, slots=True, eq=False)
class Measured(ByContent):
    """What somebody measured at the drives of an arm; a description keeps it and applies nothing of it by itself.

    Attributes:
        friction: one per joint.
        current: torque of motor currents, joint side.
        rotors: rotor inertia as it is felt at the joint, (n,) [kg m²]; 0 where unknown.
        source: who measured, and what is assumed, in words.
    """

    friction: tuple[Friction, ...]
    current: CurrentMap
    rotors: Array
    source: str = ""

    def __post_init__(self) -> None:
        """Check that there is one of each per joint."""
        n = len(self.friction)
        object.__setattr__(self, "rotors", frozen(self.rotors, (n,), "measured rotors"))
        if len(self.current.k) != n:
            raise InputError(f"measured: friction of {n} joints, a current map of {len(self.current.k)}")
        if (self.rotors < 0.0).any():
            raise InputError(f"measured rotors: must be ≥ 0, got {self.rotors.tolist()}")

    def of(self, kept: Sequence[int]) -> Measured:
        """What was measured at the kept joints."""
        index = np.asarray(kept, dtype=np.int64)
        current = CurrentMap(self.current.k[index], self.current.b[index])
        return Measured(tuple(self.friction[i] for i in kept), current, self.rotors[index], self.source)
