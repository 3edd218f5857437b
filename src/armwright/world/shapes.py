# SPDX-License-Identifier: Apache-2.0
"""Shapes of obstacles: frozen, hashable, with a name, stiffness, damping and friction.

Everything is in the base frame and SI. Vectors are kept as tuples, so that shapes and worlds compare by value and can
key compiled functions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import matrix_of, refuse_masked
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Vector = tuple[float, float, float]
Rotation = tuple[Vector, Vector, Vector]
STIFFNESS = 1e5
"""Default stiffness of a surface [N/m] (000, section 7.1)."""
UPRIGHT: Vector = (0.0, 0.0, 1.0)
UNTURNED: Rotation = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What all shapes have in common.

    Attributes:
        name: unique within a world.
        stiffness: force per depth of penetration [N/m].
        damping: force per speed of approach [N s/m].
        friction: Coulomb coefficient [-].
    """

    name: str
    stiffness: float = STIFFNESS
    damping: float = 0.0
    friction: float = 0.0

    def __post_init__(self) -> None:
        """Refuse shapes without a name and numbers that no surface has."""
        if not isinstance(self.name, str) or not self.name.strip():
            raise InputError("a shape needs a name")
        self._positive("stiffness")
        for what in ("damping", "friction"):
            self._number(what)
            if getattr(self, what) < 0.0:
                raise InputError(f"shape {self.name!r}: {what} must be ≥ 0, got {getattr(self, what)}")

    def _number(self, what: str, *, infinite: bool = False) -> None:
        try:
            number = float(getattr(self, what))
        except (TypeError, ValueError):
            raise InputError(f"shape {self.name!r}: {what} must be a number, got {getattr(self, what)!r}") from None
        if math.isnan(number) or (math.isinf(number) and not infinite):
            raise InputError(f"shape {self.name!r}: {what} must be finite, got {number}")
        object.__setattr__(self, what, number)

    def _positive(self, what: str, *, infinite: bool = False) -> None:
        self._number(what, infinite=infinite)
        if not getattr(self, what) > 0.0:
            raise InputError(f"shape {self.name!r}: {what} must be > 0, got {getattr(self, what)}")

    def _vector(self, what: str) -> None:
        object.__setattr__(self, what, vector(getattr(self, what), f"shape {self.name!r}: {what}"))

    def _unit(self, what: str) -> None:
        self._vector(what)
        size = float(np.linalg.norm(getattr(self, what)))
        if abs(size - 1.0) > 1e-9:
            raise InputError(f"shape {self.name!r}: {what} must have unit length, got length {size:g}")


def vector(value: ArrayLike, what: str) -> Vector:
    """Return three finite floats as a tuple, or raise `InputError` naming `what`."""
    refuse_masked(value, what)
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} must be three numbers, got {value!r}") from None
    if array.shape != (3,) or not np.isfinite(array).all():
        raise InputError(f"{what} must be three finite numbers, got {array.tolist()}")
    x, y, z = array.tolist()
    return (x, y, z)


@dataclass(frozen=True, kw_only=True)
class Sphere(Shape):
    """Ball about `centre` [m] with `radius` [m]."""

    centre: Vector
    radius: float

    def __post_init__(self) -> None:
        """Check the numbers."""
        super().__post_init__()
        self._vector("centre")
        self._positive("radius")


@dataclass(frozen=True, kw_only=True)
class Capsule(Shape):
    """All points within `radius` [m] of the segment from `start` to `end` [m]."""

    start: Vector
    end: Vector
    radius: float

    def __post_init__(self) -> None:
        """Check the numbers."""
        super().__post_init__()
        self._vector("start")
        self._vector("end")
        self._positive("radius")


@dataclass(frozen=True, kw_only=True)
class Cylinder(Shape):
    """Cylinder about the line through `centre` along the unit vector `axis`; `height` [m] centred, inf by default."""

    centre: Vector
    radius: float
    axis: Vector = UPRIGHT
    height: float = math.inf

    def __post_init__(self) -> None:
        """Check the numbers."""
        super().__post_init__()
        self._vector("centre")
        self._unit("axis")
        self._positive("radius")
        self._positive("height", infinite=True)


@dataclass(frozen=True, kw_only=True)
class Box(Shape):
    """Box about `centre` with edge lengths `size` [m] along the columns of `rotation` (R_base_box, rows as tuples)."""

    centre: Vector
    size: Vector
    rotation: Rotation = UNTURNED

    def __post_init__(self) -> None:
        """Check the numbers."""
        super().__post_init__()
        self._vector("centre")
        self._vector("size")
        if min(self.size) <= 0.0:
            raise InputError(f"shape {self.name!r}: every edge of size must be > 0, got {list(self.size)}")
        refuse_masked(self.rotation, f"shape {self.name!r}: rotation")
        try:
            R = np.array(matrix_of(self.rotation), dtype=np.float64)
        except (TypeError, ValueError):
            R = np.zeros(0)
        if (
            R.shape != (3, 3)
            or not np.isfinite(R).all()
            or np.abs(R.T @ R - np.eye(3)).max() > 1e-9
            or np.linalg.det(R) < 0.0
        ):
            raise InputError(f"shape {self.name!r}: rotation must be a 3×3 rotation matrix (RᵀR = 1, det R = +1)")
        object.__setattr__(self, "rotation", tuple(tuple(row) for row in R.tolist()))


@dataclass(frozen=True, kw_only=True)
class HalfSpace(Shape):
    """Everything behind the plane through `point` whose unit `normal` points to the free side."""

    point: Vector
    normal: Vector = UPRIGHT

    def __post_init__(self) -> None:
        """Check the numbers."""
        super().__post_init__()
        self._vector("point")
        self._unit("normal")


@dataclass(frozen=True, kw_only=True)
class Mesh(Shape):
    """Triangle mesh: `vertices` [m] and `triangles` (indices, counter-clockwise from outside). Needs coal to be used.

    Meshes work on floats (reports, planning); they cannot be traced into a compiled loop. `bounding_box` can.
    """

    vertices: tuple[Vector, ...] = field(repr=False)
    triangles: tuple[tuple[int, int, int], ...] = field(repr=False)

    def __post_init__(self) -> None:
        """Check that the triangles exist."""
        super().__post_init__()
        what = f"shape {self.name!r}"
        try:
            points = np.array(self.vertices, dtype=np.float64).reshape(-1, 3)
            faces = np.array(self.triangles, dtype=np.float64).reshape(-1, 3)
        except (TypeError, ValueError):
            raise InputError(f"{what}: vertices and triangles must be lists of three numbers each") from None
        if len(points) < 4 or len(faces) < 4 or not np.isfinite(points).all():
            raise InputError(f"{what}: a mesh needs at least 4 finite vertices and 4 triangles")
        if (faces != np.floor(faces)).any() or faces.min() < 0 or faces.max() >= len(points):
            raise InputError(f"{what}: triangles must hold vertex indices 0…{len(points) - 1}")
        object.__setattr__(self, "vertices", tuple(tuple(p) for p in points.tolist()))
        object.__setattr__(self, "triangles", tuple(tuple(f) for f in faces.astype(int).tolist()))

    def bounding_box(self) -> Box:
        """Return the smallest box with base axes around the mesh, same name and surface."""
        points = np.array(self.vertices)
        low, high = points.min(axis=0), points.max(axis=0)
        return Box(
            name=self.name,
            stiffness=self.stiffness,
            damping=self.damping,
            friction=self.friction,
            centre=vector(0.5 * (low + high), "centre"),
            size=vector(np.maximum(high - low, 1e-6), "size"),
        )


KINDS: dict[str, type[Shape]] = {
    "sphere": Sphere,
    "capsule": Capsule,
    "cylinder": Cylinder,
    "box": Box,
    "half-space": HalfSpace,
    "mesh": Mesh,
}


def kind_of(shape: object) -> str:
    """Return the word for a shape's kind in world files; anything else is refused."""
    for word, kind in KINDS.items():
        if type(shape) is kind:
            return word
    raise InputError(f"expected a shape ({', '.join(KINDS)}), got {type(shape).__name__}")
