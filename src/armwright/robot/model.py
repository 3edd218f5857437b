# SPDX-License-Identifier: Apache-2.0
"""What an arm is: `Robot`, frozen data with its readers, writers and variations as thin methods.

See `armwright.robot.parts` for joints, bodies and actuators, and for the kinematic law of a body. `Robot.memo` keeps
what was computed for an arm (trees, kernels, loops, thresholds) for the next call and for every equal robot: robots of
equal content have one `Memo` between them, for as long as one of them lives. A second ``load("ur5")`` finds the kernels
of the first. A memo is never pickled and never copied.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from armwright.errors import InputError
from armwright.robot.parts import Actuators, Body, ByContent, Frame, Joint, Measured, frozen, frozen_pose, in_order
from armwright.schema.toml_text import Source

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike

    from armwright.robot.provenance import Provenance
    from armwright.robot.tree import Tree
    from armwright.types import Array


class Memo:
    """Results by key, in a plain dictionary, which is found quickest; robots of equal content hold the same memo."""

    __slots__ = ("__weakref__", "known")

    def __init__(self) -> None:
        """Start empty."""
        self.known: dict[Hashable, Any] = {}


_memos: WeakValueDictionary[tuple[Any, ...], Memo] = WeakValueDictionary()
_under_way: dict[tuple[int, Hashable], threading.RLock] = {}
_guard = threading.Lock()


def memo_of(content: tuple[Any, ...]) -> Memo:
    """Return the memo of all robots with this content."""
    with _guard:
        memo = _memos.get(content)
        if memo is None:
            memo = _memos[content] = Memo()
        return memo


def make_once(known: dict[Hashable, T], key: Hashable, make: Callable[[], T]) -> T:
    """Make a result that is missing. Threads that ask for the same key wait for the one that makes it.

    There is one lock per key: a maker may ask for other keys, of this robot and of others, but never for its own.
    """
    place = (id(known), key)
    with _guard:
        lock = _under_way.setdefault(place, threading.RLock())
    try:
        with lock:
            return known[key] if key in known else known.setdefault(key, make())
    finally:
        with _guard:
            _under_way.pop(place, None)


def _after_fork() -> None:
    """Forget the locks in a child process, which has none of the threads that held them."""
    global _guard
    _guard = threading.Lock()
    _under_way.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


T = TypeVar("T")
EARTH_GRAVITY = (0.0, 0.0, -9.81)
MOST_KINDS = 12  # joints whose kinds fit into one line
PER_MOTOR = [part.name for part in fields(Actuators) if part.name not in ("gear", "curve_speed", "curve_torque")]
INTERNAL = {"content", "known", "memo", "tree", "_content", "_hash", "_memo"}


def robot_needed(value: object) -> str:
    """Return the message where a robot is needed and something else is given; "" if it is a robot."""
    if isinstance(value, Robot):
        return ""
    hint = f"; load it first: armwright.load({value!r})" if isinstance(value, str) else ""
    from armwright.robot.tree import Tree

    if isinstance(value, Tree):
        return "robot must be a Robot: what a law is handed is the arm's equations alone; name the Robot in the law"
    return f"robot must be a Robot, got {value!r:.60} ({type(value).__name__}){hint}"


@dataclass(frozen=True, slots=True, eq=False)
class Robot(ByContent):
    """An arm. Build one with `armwright.load` or the ``from_…`` constructors.

    Robots are equal where every name and every number of their descriptions agree, bit for bit; sources, notes,
    measured drives and widths do not count: no equation has them. Equal robots share what was compiled for them.

    Attributes:
        name: catalogue or file name.
        joints: the n coordinates, `q[i]` belongs to `joints[i]`.
        bodies: moving bodies, parents first; len(bodies) == n unless joints mimic each other.
        actuators: motors and gears.
        T_base_root: pose of the root link in the base frame; forward kinematics is given in the base frame.
        tip: index of the body that carries the tool (-1: the root link itself, for an arm without joints).
        T_tip_tool: pose of the tool in the tip's link frame.
        gravity: gravitational acceleration in the base frame [m/s²], e.g. (0, 0, -9.81).
        sources: provenance of numbers by dotted path ("bodies.upper_arm.mass"); empty where unknown.
        notes: free remarks of the description's author.
        frames: further named places (flange, hand, camera), those nearest the root first; see `frame_names`.
        measured: what somebody measured at the drives of this arm, None if nobody did. Kept, never applied by itself;
            see `armwright.robot.measured.as_measured`.
        provenance: class and width of "inertia", "effort", "speed", "rotor", "friction"; empty where nobody says.
        rated_payload: largest load that the maker allows [kg], None where unknown.
        known: what was computed for this arm so far, by key; `memo` fills it. Shared by all equal robots.
    """

    name: str
    joints: tuple[Joint, ...]
    bodies: tuple[Body, ...]
    actuators: Actuators
    T_base_root: Array = field(default_factory=lambda: np.eye(4))
    tip: int = -1
    T_tip_tool: Array = field(default_factory=lambda: np.eye(4))
    gravity: Array = field(default_factory=lambda: np.array(EARTH_GRAVITY))
    sources: dict[str, Source] = field(default_factory=dict, compare=False)
    notes: str = field(default="", compare=False)
    frames: tuple[Frame, ...] = ()
    measured: Measured | None = field(default=None, compare=False)
    provenance: dict[str, Provenance] = field(default_factory=dict, compare=False)
    rated_payload: float | None = field(default=None, compare=False)
    known: dict[Hashable, Any] = field(init=False, repr=False, compare=False)
    _memo: Memo = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check that the pieces fit together."""
        put = object.__setattr__
        put(self, "T_base_root", frozen_pose(self.T_base_root, "T_base_root"))
        put(self, "T_tip_tool", frozen_pose(self.T_tip_tool, "T_tip_tool"))
        put(self, "gravity", frozen(self.gravity, (3,), "gravity"))
        n, names = len(self.joints), [joint.name for joint in self.joints]
        bodies, frames = [body.name for body in self.bodies], [frame.name for frame in self.frames]
        for kind, labels in (("joint", names), ("body", bodies), ("body and frame", bodies + frames)):
            twice = sorted({label for label in labels if labels.count(label) > 1})
            if twice:
                raise InputError(f"robot {self.name!r}: {kind} names must be unique, repeated: {', '.join(twice)}")
        for index, body in enumerate(self.bodies):
            if not -1 <= body.parent < index:
                raise InputError(f"body {body.name!r}: parent index {body.parent} must lie in -1…{index - 1}")
            if not 0 <= body.joint < n:
                raise InputError(f"body {body.name!r}: joint index {body.joint} must lie in 0…{n - 1}")
        unused = set(range(n)) - {body.joint for body in self.bodies}
        if unused:
            raise InputError(f"robot {self.name!r}: joint {names[min(unused)]!r} moves no body")
        if not -1 <= self.tip < len(self.bodies):
            raise InputError(f"robot {self.name!r}: tip index {self.tip} must lie in -1…{len(self.bodies) - 1}")
        put(self, "frames", in_order(self.frames, len(bodies)))
        for label in PER_MOTOR:
            if np.shape(getattr(self.actuators, label)) != (n,):
                raise InputError(f"actuators.{label}: expected shape ({n},)")
        if np.shape(self.actuators.gear) != (n, n):
            raise InputError(f"actuators.gear: expected shape ({n}, {n})")
        if self.measured is not None and len(self.measured.friction) != n:
            raise InputError(f"measured: the drives of {len(self.measured.friction)} joints, the arm has {n}")
        try:
            memo = memo_of(self.content())
        except TypeError as error:
            raise InputError(f"robot {self.name!r}: names must be text, joints and bodies tuples ({error})") from error
        put(self, "_memo", memo)  # keeps what is known alive
        put(self, "known", memo.known)

    def memo(self, key: Hashable, make: Callable[..., T], *arguments: Any) -> T:
        """Return ``make(robot, *arguments)``, made once for all equal robots by whatever thread asks first.

        The key must tell everything that the result depends on besides the robot.
        """
        try:
            return self.known[key]
        except KeyError:
            pass
        return make_once(self.known, key, lambda: make(self, *arguments))

    @property
    def n(self) -> int:
        """Number of joint coordinates."""
        return len(self.joints)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joint coordinates, in the order of q."""
        return tuple(joint.name for joint in self.joints)

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names that every ``frame=`` takes: the tool, the links that move, and `frames`."""
        names = [body.name for body in self.bodies] + [frame.name for frame in self.frames]
        return tuple(names if "tool" in names else ["tool", *names])

    def neutral(self) -> Array:
        """Return the configuration (n,) with every joint at 0, or in the middle of its range where that excludes 0."""
        from armwright.robot.configurations import neutral

        return neutral(self)

    def random_configuration(
        self, rng: np.random.Generator | int | None = None, size: int | tuple[int, ...] = ()
    ) -> Array:
        """Draw configurations, uniform within the limits of every joint.

        A joint without limits is drawn within ±π rad, or ±1 m if it slides; one with a limit on one side only, within
        2π rad or 2 m from there.

        Args:
            rng: a NumPy generator, or a seed for one; None draws differently every time.
            size: how many, as for NumPy; () gives one.

        Returns:
            (*size, n).
        """
        from armwright.robot.configurations import random_configuration

        return random_configuration(self, rng, size)

    def __repr__(self) -> str:
        """Return one line: name, joints, mass."""
        kinds = "".join(joint.kind[0].upper() for joint in self.joints) if self.n <= MOST_KINDS else ""
        mass = sum(body.mass for body in self.bodies)
        weight = f"{mass:.4g} kg" if mass else "no inertia"
        return f"Robot({self.name!r}, {self.n} joints{kinds and f' {kinds}'}, {weight})"

    def _repr_html_(self) -> str:
        """Return what notebooks show: a row per joint."""
        from armwright.html_text import html_table

        rows = [
            (j.name, j.kind, f"{j.limits.lower:.4g} … {j.limits.upper:.4g}", f"{j.limits.velocity:.4g}")
            for j in self.joints
        ]
        return html_table(repr(self), ("joint", "kind", "limits [rad, m]", "speed [rad/s, m/s]"), rows)

    def __dir__(self) -> list[str]:
        """Return what a user needs; tab completion leaves out what only the library calls."""
        return [name for name in super(Robot, self).__dir__() if name.startswith("__") or name not in INTERNAL]

    @property
    def is_chain(self) -> bool:
        """Return whether the bodies form one serial chain without mimic joints, tool at its end."""
        serial = all(body.parent == i - 1 and body.joint == i for i, body in enumerate(self.bodies))
        plain = all(body.ratio == 1.0 and body.offset == 0.0 for body in self.bodies)
        return serial and plain and self.tip == len(self.bodies) - 1

    @property
    def lower(self) -> Array:
        """Lower position limits, shape (n,)."""
        return np.array([joint.limits.lower for joint in self.joints])

    @property
    def upper(self) -> Array:
        """Upper position limits, shape (n,)."""
        return np.array([joint.limits.upper for joint in self.joints])

    @property
    def tree(self) -> Tree:
        """The same arm as the recursions see it (`armwright.robot.tree`), unregrouped; computed once."""
        from armwright.robot.tree import tree_of

        return tree_of(self)

    @classmethod
    def from_dh(cls, table: ArrayLike, **parts: Any) -> Robot:
        """Build a chain from standard Denavit–Hartenberg rows (theta, d, a, alpha); see `robot.tables.dh.from_dh`."""
        from armwright.robot.tables.dh import from_dh

        return from_dh(table, **parts)

    @classmethod
    def from_mdh(cls, table: ArrayLike, **parts: Any) -> Robot:
        """Build a chain from modified Denavit–Hartenberg rows (alpha, a, theta, d); see `robot.tables.dh.from_mdh`."""
        from armwright.robot.tables.dh import from_mdh

        return from_mdh(table, **parts)

    @classmethod
    def from_screws(cls, screws: ArrayLike, home: ArrayLike, **parts: Any) -> Robot:
        """Build a chain from space screws (n, 6), linear first, and its home pose; see `robot.tables.joint_screws`."""
        from armwright.robot.tables.joint_screws import from_screws

        return from_screws(screws, home, **parts)

    @classmethod
    def from_urdf(cls, path_or_text: str | bytes | os.PathLike[str], **options: Any) -> Robot:
        """Read a URDF file or its text; see `armwright.robot.urdf.urdf_read.read_urdf`."""
        from armwright.robot.urdf.urdf_read import read_urdf

        return read_urdf(path_or_text, **options)

    @classmethod
    def from_mjcf(cls, path_or_text: str | bytes | os.PathLike[str], **options: Any) -> Robot:
        """Read an MJCF (MuJoCo XML) file or its text; see `armwright.robot.mjcf.mjcf_read.read_mjcf`."""
        from armwright.robot.mjcf.mjcf_read import read_mjcf

        return read_mjcf(path_or_text, **options)

    @classmethod
    def from_sheet(cls, path: str | Path, **options: Any) -> Robot:
        """Read a TOML sheet; see `armwright.robot.sheet.sheet_read.read_sheet`."""
        from armwright.robot.sheet.sheet_read import read_sheet

        return read_sheet(path, **options)

    def to_dh(self) -> Any:
        """Return the arm's standard DH description (a chain); its `.robot()` rebuilds the arm."""
        from armwright.robot.tables.dh import to_dh

        return to_dh(self)

    def to_mdh(self) -> Any:
        """Return the arm's modified DH description (a chain); its `.robot()` rebuilds the arm."""
        from armwright.robot.tables.dh import to_mdh

        return to_mdh(self)

    def to_screws(self) -> Any:
        """Return the arm's space screws, home pose and inertias in base axes (a chain)."""
        from armwright.robot.tables.joint_screws import to_screws

        return to_screws(self)

    def to_urdf(self) -> str:
        """Write the arm as URDF text."""
        from armwright.robot.urdf.urdf_write import write_urdf

        return write_urdf(self)

    def to_mjcf(self) -> str:
        """Write the arm as MuJoCo XML text."""
        from armwright.robot.mjcf.mjcf_write import write_mjcf

        return write_mjcf(self)

    def to_sheet(self) -> str:
        """Write the arm as a TOML sheet."""
        from armwright.robot.sheet.sheet_write import write_sheet

        return write_sheet(self)

    def plot(self, q: ArrayLike | None = None, *, dt: float = 0.05) -> Any:
        """Show the arm in 3-D at q (n,) or moving through q (T, n); see `recording.replay.replay_stage.plot`."""
        # a verb of a later room, looked up when it is called: rooms import only those before them
        return import_module("armwright.recording.replay.replay_stage").plot(self, q, dt=dt)

    def teach(self, *, port: int = 0, browser: bool = True) -> Any:
        """Open the studio with this arm, to jog, drag and pull it; see `armwright.studio.start_studio.teach`."""
        return import_module("armwright.studio.start_studio").teach(self, port=port, browser=browser)

    def chain(self, base: str | None = None, tip: str | None = None, **options: Any) -> Robot:
        """Cut a serial chain from a tree by naming its ends; see `armwright.robot.variations.chain`."""
        from armwright.robot.variations import chain

        return chain(self, base, tip, **options)

    def with_tool(self, T_tip_tool: ArrayLike) -> Robot:
        """Return the same arm with another tool frame (pose in the tip's link frame)."""
        return replace(self, T_tip_tool=frozen_pose(T_tip_tool, "T_tip_tool"))

    def with_frame(self, name: str, T_parent_frame: ArrayLike, parent: str | None = None) -> Robot:
        """Return the same arm with one more frame, at a pose (4, 4) in the frame `parent` (the tool if omitted)."""
        from armwright.robot.variations import add_frame

        return add_frame(self, name, T_parent_frame, parent)

    def with_base(self, T_base_root: ArrayLike) -> Robot:
        """Return the same arm mounted elsewhere; gravity keeps its direction in the base frame."""
        return replace(self, T_base_root=frozen_pose(T_base_root, "T_base_root"))

    def with_gravity(self, gravity: ArrayLike) -> Robot:
        """Return the same arm under another gravity vector (base frame, m/s²)."""
        return replace(self, gravity=frozen(gravity, (3,), "gravity"))

    def with_payload(self, mass: float, com: ArrayLike = (0.0, 0.0, 0.0), inertia: ArrayLike | None = None) -> Robot:
        """Return the same arm with a rigid load on its tip.

        Args:
            mass: mass of the load [kg].
            com: its centre of mass in the **tool** frame [m].
            inertia: 3×3 about that centre, tool axes [kg m²]; a point mass if omitted.
        """
        from armwright.robot.variations import add_payload

        return add_payload(self, mass, com, inertia)

    def with_rotors(self, inertia: ArrayLike) -> Robot:
        """Return the same arm with rotors of this inertia at the joints [kg m²]; see `robot.variations.set_rotors`."""
        from armwright.robot.variations import set_rotors

        return set_rotors(self, inertia)

    def with_friction(self, viscous: ArrayLike = 0.0, coulomb: ArrayLike = 0.0, dead_zone: ArrayLike = 0.0) -> Robot:
        """Return the same arm with this friction in its joints; see `armwright.robot.variations.set_friction`."""
        from armwright.robot.variations import set_friction

        return set_friction(self, viscous, coulomb, dead_zone)

    def with_parameters(self, parameters: ArrayLike, torque_constant: ArrayLike | None = None) -> Robot:
        """Return the same arm with other inertias, friction and rotors; see `armwright.robot.variations`."""
        from armwright.robot.variations import set_parameters

        return set_parameters(self, parameters, torque_constant)
