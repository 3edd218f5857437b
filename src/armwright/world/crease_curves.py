# SPDX-License-Identifier: Apache-2.0
"""Creases of a union: where the surfaces of two of its shapes cross and nothing else covers them.

| pieces that cross | curve |
|---|---|
| two faces; a face along a cylinder; parallel cylinders | straight lines (`Edge`) |
| a face and a ball; two balls; a face across a cylinder; a ball on a cylinder's axis | circles (`Ring`) |
| all others | loops on a cylinder's side, cut into pieces that turn by at most `TURN_ANGLE` (`Bend`) |

Each is cut back to what lies within both pieces and outside all other shapes. The ends of what is left of rings and
bends are points of their own (three surfaces meet there); an edge has its ends in itself. All of it is found once, in
floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product

import numpy as np

from armwright.types import Array
from armwright.world.segments import basis
from armwright.world.shape_chords import BURIED, chord, open_stretches, roots, slab
from armwright.world.shapes import Shape
from armwright.world.solid_clusters import beyond
from armwright.world.surface_pieces import BallPiece, Flat, Piece, Side, pieces_of, room

ENDLESS = 100.0
"""How far from the base [m] lines without an end are cut: no arm reaches farther."""
SAME_DIRECTION = 1e-9
"""Sine of an angle below which two directions are the same: 1 nm over a metre."""
TURN_ANGLE = math.radians(60.0)
"""Most that a `Bend` turns: from a circle through three of its points Newton's method finds the nearest one."""
SAMPLES = 720
"""Points of a loop at which its cover is looked at; what is smaller is found by a search between them."""
Owners = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Edge:
    """Straight crease from `start` along `along` (3,) [m] between the shapes `owners`."""

    owners: Owners
    start: Array
    along: Array


@dataclass(frozen=True, eq=False)
class Ring:
    """Circular crease, open where unit·middle ≥ least for one of `windows` (middle, least), or everywhere."""

    owners: Owners
    centre: Array
    normal: Array
    radius: float
    windows: tuple[tuple[Array, float], ...]


@dataclass(frozen=True, eq=False)
class Bend:
    """Part of a crease of two pieces; near the circle (centre, normal, radius). `covers`: shapes that may hide it."""

    owners: Owners
    first: Piece
    second: Piece
    centre: Array
    normal: Array
    radius: float
    covers: tuple[int, ...]


@dataclass
class Creases:
    """All creases of a union; `corners` are ends of rings and bends."""

    edges: list[Edge] = field(default_factory=list)
    rings: list[Ring] = field(default_factory=list)
    bends: list[Bend] = field(default_factory=list)
    corners: list[tuple[Owners, Array]] = field(default_factory=list)

    def __len__(self) -> int:
        """Number of candidates for the nearest point."""
        return len(self.edges) + len(self.rings) + len(self.bends) + len(self.corners)


def _within(piece: Piece, p: Array, d: Array) -> tuple[float, float]:
    """Return the stretch of a line on the quadric of a piece that lies within its bounds."""
    r = p - piece.centre
    if isinstance(piece, Flat):
        u = slab(float(piece.u @ d), float(piece.u @ r), piece.half[0])
        v = slab(float(piece.v @ d), float(piece.v @ r), piece.half[1])
        around = (-math.inf, math.inf)
        if math.isfinite(piece.radius):
            around = roots(1.0, float(r @ d), float(r @ r) - piece.radius**2)
        return max(u[0], v[0], around[0]), min(u[1], v[1], around[1])
    assert isinstance(piece, Side)
    return slab(float(piece.axis @ d), float(piece.axis @ r), piece.half)


def _reach(face: Flat, n: Array) -> float:
    """Return how far a face reaches from its centre along a unit vector; inf if it has no end."""
    if math.isfinite(face.radius):
        return face.radius
    if math.isinf(face.half[0]):
        return math.inf
    return abs(float(face.u @ n)) * face.half[0] + abs(float(face.v @ n)) * face.half[1]


def _abreast(p: Array, d: Array) -> Array:
    """Return the point of the line p + t d (d of length 1) that is nearest to the base."""
    return p - float(p @ d) * d


class _Finder:
    """Collects the creases of one cluster of (grown) shapes."""

    def __init__(self, shapes: Sequence[Shape], neighbours: Sequence[Sequence[int]]) -> None:
        self.shapes, self.found = tuple(shapes), Creases()
        self.near = [frozenset(numbers) for numbers in neighbours]

    def others(self, owners: Owners) -> list[int]:
        """Shapes that may cover a crease of two: they meet both."""
        i, j = owners
        return sorted(self.near[i] & self.near[j])

    def line(self, owners: Owners, p: Array, d: Array, bounds: Sequence[tuple[float, float]]) -> None:
        """Add what is open of a line p + t d within all `bounds`."""
        low, high = max(-ENDLESS, *(b[0] for b in bounds)), min(ENDLESS, *(b[1] for b in bounds))
        if high - low <= 1e-9:
            return
        hidden = [chord(self.shapes[k], p, d) for k in self.others(owners)]
        for a, b in open_stretches(low, high, hidden):
            self.found.edges.append(Edge(owners, p + a * d, (b - a) * d))

    def loop(self, first: Piece, second: Piece, curve: Callable[[Array], Array], ring: Ring | None = None) -> None:
        """Add what is open of a closed curve (m,) in 0…2π → (m, 3); a circle if `ring` is given."""
        owners = (first.owner, second.owner)
        rough = curve(np.linspace(0.0, 2.0 * math.pi, SAMPLES, endpoint=False))
        step = float(np.linalg.norm(np.roll(rough, -1, axis=0) - rough, axis=1).max())
        covers = tuple(k for k in self.others(owners) if beyond(self.shapes[k], rough).min() < step)

        def margin(phi: Array) -> Array:
            Y = curve(phi)
            return np.min([room(first, Y), room(second, Y), *(beyond(self.shapes[k], Y) for k in covers)], axis=0)

        stretches = _stretches(curve, margin)
        whole = bool(stretches) and stretches[0][1] - stretches[0][0] > 2.0 * math.pi - 1e-12
        ends = [] if whole else list(curve(np.array([x for pair in stretches for x in pair]))) if stretches else []
        self.found.corners += [(owners, p) for p in ends]
        if ring is not None and stretches:
            windows = []
            for a, b in [] if whole else stretches:
                middle = curve(np.array([0.5 * (a + b)]))[0] - ring.centre
                windows.append((middle / ring.radius, math.cos(0.5 * (b - a))))
            self.found.rings.append(Ring(owners, ring.centre, ring.normal, ring.radius, tuple(windows)))
        elif ring is None:
            for a, b in stretches:
                for circle in _bends(curve(np.linspace(a, b, SAMPLES + 1))):
                    self.found.bends.append(Bend(owners, first, second, *circle, covers))

    def cross(self, first: Piece, second: Piece) -> None:
        """Add the creases of two pieces of different shapes."""
        order = {Flat: 0, Side: 1, BallPiece: 2}
        if order[type(first)] > order[type(second)]:
            first, second = second, first
        if isinstance(first, Flat) and isinstance(second, Flat):
            self._two_faces(first, second)
        elif isinstance(first, Flat) and isinstance(second, Side):
            self._face_and_side(first, second)
        elif isinstance(first, Side) and isinstance(second, Side):
            self._two_sides(first, second)
        elif isinstance(first, Side) and isinstance(second, BallPiece):
            r = second.centre - first.centre
            flat = r - (r @ first.axis) * first.axis
            if float(np.linalg.norm(flat)) < SAME_DIRECTION * first.radius:
                height = second.radius**2 - first.radius**2
                for side in (-1.0, 1.0) if height > 0.0 else ():
                    self._circle(
                        first, second, second.centre + side * math.sqrt(height) * first.axis, first.axis, first.radius
                    )
            else:
                self._on_side(first, second)
        elif isinstance(second, BallPiece):
            self._around_ball(first, second)

    def _two_faces(self, a: Flat, b: Flat) -> None:
        n, m, between = a.normal, b.normal, b.centre - a.centre
        if abs(n @ between) > _reach(b, n) or abs(m @ between) > _reach(a, m):
            return  # one face lies on one side of the other
        d = np.cross(n, m)
        size = float(np.linalg.norm(d))
        if size < SAME_DIRECTION:
            return
        d = d / size
        # from a's centre within a's plane, at right angles to d, up to b's plane
        aside = np.cross(d, n)
        p = _abreast(a.centre + ((m @ between) / (m @ aside)) * aside, d)
        self.line((a.owner, b.owner), p, d, [_within(a, p, d), _within(b, p, d)])

    def _face_and_side(self, face: Flat, side: Side) -> None:
        n, h = face.normal, float(face.normal @ (side.centre - face.centre))
        tilt = float(n @ side.axis)
        if abs(tilt) < SAME_DIRECTION:
            if abs(h) < side.radius:
                across, chord_half = np.cross(n, side.axis), math.sqrt(side.radius**2 - h * h)
                for sign in (-1.0, 1.0):
                    p = _abreast(side.centre - h * n + sign * chord_half * across, side.axis)
                    bounds = [_within(face, p, side.axis), _within(side, p, side.axis)]
                    self.line((face.owner, side.owner), p, side.axis, bounds)
        elif float(np.linalg.norm(np.cross(n, side.axis))) < SAME_DIRECTION:
            self._circle(face, side, side.centre - (h / tilt) * side.axis, side.axis, side.radius)
        else:
            self._on_side(side, face)

    def _two_sides(self, a: Side, b: Side) -> None:
        if float(np.linalg.norm(np.cross(a.axis, b.axis))) > SAME_DIRECTION:
            return self._on_side(*((a, b) if a.radius <= b.radius else (b, a)))
        r = b.centre - a.centre
        flat = r - (r @ a.axis) * a.axis
        far = float(np.linalg.norm(flat))
        if far < SAME_DIRECTION or far > a.radius + b.radius or far < abs(a.radius - b.radius):
            return None
        along = (far * far + a.radius**2 - b.radius**2) / (2.0 * far)
        across = math.sqrt(max(a.radius**2 - along * along, 0.0))
        unit = flat / far
        for sign in (-1.0, 1.0):
            p = _abreast(a.centre + along * unit + sign * across * np.cross(a.axis, unit), a.axis)
            self.line((a.owner, b.owner), p, a.axis, [_within(a, p, a.axis), _within(b, p, a.axis)])
        return None

    def _around_ball(self, first: Flat | BallPiece | Side, ball: BallPiece) -> None:
        if isinstance(first, Flat):
            n, h = first.normal, float(first.normal @ (ball.centre - first.centre))
        else:
            r = first.centre - ball.centre
            far = float(np.linalg.norm(r))
            if far < SAME_DIRECTION:
                return
            n, h = r / far, -(far * far + ball.radius**2 - first.radius**2) / (2.0 * far)
        square = ball.radius**2 - h * h
        if square > 0.0:
            self._circle(first, ball, ball.centre - h * n, n, math.sqrt(square))

    def _circle(self, first: Piece, second: Piece, centre: Array, normal: Array, radius: float) -> None:
        B = basis(normal)

        def curve(phi: Array) -> Array:
            return centre + radius * (np.cos(phi)[:, None] * B[:, 0] + np.sin(phi)[:, None] * B[:, 1])

        owners = (first.owner, second.owner)
        self.loop(first, second, curve, Ring(owners, centre, normal, radius, ()))

    def _on_side(self, side: Side, other: Piece) -> None:
        """Add the loops in which another quadric cuts the side of a cylinder: heights over its angle φ."""
        B, r = basis(side.axis), side.centre - other.centre

        def around(phi: Array) -> Array:
            return side.radius * (np.cos(phi)[:, None] * B[:, 0] + np.sin(phi)[:, None] * B[:, 1])

        if isinstance(other, Flat):
            n = other.normal

            def ellipse(phi: Array) -> Array:
                flat = around(phi)
                return side.centre + flat - (((r + flat) @ n) / (n @ side.axis))[:, None] * side.axis

            return self.loop(side, other, ellipse)
        axis = other.axis if isinstance(other, Side) else np.zeros(3)
        d = side.axis - (side.axis @ axis) * axis  # the part of the axis that the other quadric sees
        dd = float(d @ d)

        def heights(phi: Array) -> tuple[Array, Array]:
            flat = r + around(phi)
            seen = flat - (flat @ axis)[:, None] * axis
            b = seen @ d
            return -b / dd, (b * b - dd * (np.sum(seen * seen, axis=1) - other.radius**2)) / (dd * dd)

        def place(phi: Array, sign: Array | float) -> Array:
            base, square = heights(phi)
            height = base + sign * np.sqrt(np.maximum(square, 0.0))
            return side.centre + around(phi) + height[:, None] * side.axis

        def swung(t: Array, middle: float, half: float) -> Array:
            return place(middle + half * np.sin(t), np.sign(np.cos(t)))

        def scaled(phi: Array) -> Array:
            return heights(phi)[1] / other.radius

        spans = _stretches(lambda phi: side.centre + around(phi), scaled)
        for a, b in spans:
            if b - a > 2.0 * math.pi - 1e-12:
                for sign in (-1.0, 1.0):
                    self.loop(side, other, partial(place, sign=sign))
            else:
                self.loop(side, other, partial(swung, middle=0.5 * (a + b), half=0.5 * (b - a)))

        return None


def _search(margin: Callable[[Array], Array], low: Array, high: Array, sign: float) -> tuple[Array, Array]:
    """Return where sign·margin is largest in low…high, by golden sections (all at once), and the margins there."""
    share = 0.5 * (math.sqrt(5.0) - 1.0)
    for _ in range(45):
        a, b = high - share * (high - low), low + share * (high - low)
        left = sign * margin(a) >= sign * margin(b)
        low, high = np.where(left, low, a), np.where(left, b, high)
    middle = 0.5 * (low + high)
    return middle, margin(middle)


def _stretches(curve: Callable[[Array], Array], margin: Callable[[Array], Array]) -> list[tuple[float, float]]:
    """Return the stretches of 0…2π in which a continuous margin is ≥ −`BURIED`; one may end beyond 2π."""
    phi = np.linspace(0.0, 2.0 * math.pi, SAMPLES, endpoint=False)
    Y, m = curve(phi), margin(phi)
    ahead = np.linalg.norm(np.roll(Y, -1, axis=0) - Y, axis=1)
    step, width = np.maximum(ahead, np.roll(ahead, 1)), 2.0 * math.pi / SAMPLES
    before, after = np.roll(m, 1), np.roll(m, -1)
    for sign in (1.0, -1.0):  # what lies between the samples: hidden openings, and hidden covers
        top = (
            (sign * m >= sign * before) & (sign * m >= sign * after) & (sign * (m + BURIED) < 0.0) & (np.abs(m) < step)
        )
        if top.any():
            at, value = _search(margin, phi[top] - width, phi[top] + width, sign)
            phi, m = np.append(phi, at[sign * value > 0.0]), np.append(m, value[sign * value > 0.0])
            before, after, step = (np.append(x, np.zeros(len(phi) - len(x))) for x in (before, after, step))
    phi = phi % (2.0 * math.pi)
    order = np.argsort(phi)
    phi, is_open = phi[order], m[order] >= -BURIED
    if is_open.all():
        return [(0.0, 2.0 * math.pi)]
    if not is_open.any():
        return []
    following = np.append(phi[1:], phi[0] + 2.0 * math.pi)
    change = np.flatnonzero(is_open != np.roll(is_open, -1))
    inside = np.where(is_open[change], phi[change], following[change])
    outside = np.where(is_open[change], following[change], phi[change])
    for _ in range(60):
        middle = 0.5 * (inside + outside)
        good = margin(middle) >= -BURIED
        inside, outside = np.where(good, middle, inside), np.where(good, outside, middle)
    opens = not bool(is_open[change[0]])
    edges = inside.tolist()
    if not opens:
        edges = [*edges[1:], edges[0] + 2.0 * math.pi]
    return [(a, b if b >= a else b + 2.0 * math.pi) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _bends(Y: Array) -> list[tuple[Array, Array, float]]:
    """Cut a curve through points (m, 3) where it has turned by `TURN_ANGLE`; return a circle near each part."""
    steps = np.diff(Y, axis=0)
    size = np.linalg.norm(steps, axis=1)
    keep = size > 1e-14
    if not keep.any():
        return []
    Y = np.concatenate([Y[:-1][keep], Y[-1:]])
    tangents = steps[keep] / size[keep][:, None]
    turned = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(tangents, axis=0), axis=1)))
    along = np.cumsum(size[keep])
    progress = turned / TURN_ANGLE + along / along[-1] * 1e-3
    count = max(1, math.ceil(float(progress[-1])))
    cuts = np.searchsorted(progress, np.linspace(0.0, progress[-1], count + 1))
    cuts[0], cuts[-1] = 0, len(Y) - 1
    out = []
    for a, b in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        if b - a < 1:
            continue
        half = a + int(
            np.searchsorted(
                along[a:b] - (along[a - 1] if a else 0.0), 0.5 * (along[b - 1] - (along[a - 1] if a else 0.0))
            )
        )
        out.append(_circle_through(Y[a], Y[min(max(half + 1, a), b)], Y[b]))
    return out


def _circle_through(a: Array, b: Array, c: Array) -> tuple[Array, Array, float]:
    """Return centre, unit normal and radius of the circle through three points; inf for a line, `normal` along it."""
    u, v = b - a, c - a
    w = np.cross(u, v)
    ww, uu, vv = float(w @ w), float(u @ u), float(v @ v)
    if ww <= 1e-10 * uu * vv or ww == 0.0:
        return a, v / math.sqrt(vv) if vv > 0.0 else np.array([1.0, 0.0, 0.0]), math.inf
    offset = (vv * np.cross(w, u) + uu * np.cross(v, w)) / (2.0 * ww)
    return a + offset, w / math.sqrt(ww), float(np.linalg.norm(offset))


def creases_of(shapes: Sequence[Shape], neighbours: Sequence[Sequence[int]]) -> Creases:
    """Return all creases of the union of (grown) shapes; `neighbours` are the numbers of those that each one meets."""
    finder = _Finder(shapes, neighbours)
    pieces = [pieces_of(shape, k) for k, shape in enumerate(shapes)]
    for i in range(len(shapes)):
        for j in neighbours[i]:
            if j > i:
                for first, second in product(pieces[i], pieces[j]):
                    finder.cross(first, second)
    return finder.found
