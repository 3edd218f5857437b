# SPDX-License-Identifier: Apache-2.0
"""One representation of a robot program, whatever language it was written in: frozen data in SI units.

A `Program` is a sequence of `Move`. Each move says where to (`Target`), along which curve (`kind`), how fast (`Speed`),
what happens at its end (`Blend`), how the tool turns (`Orientation`), and in which frames all this is given.
Every move keeps the line and the text that it was read from; loops are unrolled, so several moves may share a line.

Poses of targets are ``T_frame_tool``: the tool in the move's own base frame, ``T_base_tool = T_base_frame @ T``.
Equality is by content. Line, text, names and notes do not count: two programs are equal that move alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from armwright.errors import InputError
from armwright.html_text import html_table
from armwright.robot.parts import ByContent, frozen, frozen_pose

if TYPE_CHECKING:
    from armwright.programs.reading import Note, ProgramReading
    from armwright.types import Array

MoveKind = Literal["joint", "line", "arc", "spline", "wait"]
Orientation = Literal["slerp", "fixed", "with_path"]
WrenchFrame = Literal["base", "tool"]
_KINDS = ("joint", "line", "arc", "spline", "wait")
_ORIENTATIONS = ("slerp", "fixed", "with_path")
_WRENCH_FRAMES = ("base", "tool")


# --- how fast -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fraction:
    """A share of what the arm can do (its joints' rated speed or acceleration), 0 < value ≤ 1."""

    value: float

    def __post_init__(self) -> None:
        """Refuse shares outside (0, 1]."""
        if not 0.0 < self.value <= 1.0:
            raise InputError(f"a fraction of the arm's speed or acceleration lies in (0, 1], got {self.value}")


@dataclass(frozen=True, slots=True)
class LeadingAxis:
    """Speed of the joint that needs longest [rad/s, rad/s²; m/s, m/s² if it slides]; the others keep pace."""

    value: float

    def __post_init__(self) -> None:
        """Refuse what is not above zero."""
        _positive(self.value, "speed or acceleration of the leading axis")


@dataclass(frozen=True, slots=True)
class ToolRate:
    """Speed of the tool point [m/s, m/s²] and, if given, of its turning [rad/s, rad/s²]; the slower one rules."""

    linear: float
    angular: float | None = None

    def __post_init__(self) -> None:
        """Refuse what is not above zero."""
        _positive(self.linear, "speed or acceleration of the tool")
        if self.angular is not None:
            _positive(self.angular, "angular speed or acceleration of the tool")


@dataclass(frozen=True, slots=True)
class Duration:
    """Duration of the whole move [s]; as a speed it overrules the acceleration. Waits carry theirs here, too."""

    seconds: float

    def __post_init__(self) -> None:
        """Refuse negative and endless durations."""
        if not 0.0 <= self.seconds < math.inf:
            raise InputError(f"a duration must be finite and ≥ 0 s, got {self.seconds}")


Speed = Fraction | LeadingAxis | ToolRate | Duration
Acceleration = Fraction | LeadingAxis | ToolRate


# --- what happens at the end of a move --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stop:
    """Come to rest at the target."""


@dataclass(frozen=True, slots=True)
class Tangent:
    """Pass through the target at speed, without rounding; the curves must meet without a corner."""


@dataclass(frozen=True, slots=True)
class Distance:
    """Round the corner from `position` [m] of path before the target to as much after it.

    `orientation` [m of path] and `angle` [rad of turning] bound the zone in which the orientation is blended;
    None leaves that to the planner.
    """

    position: float
    orientation: float | None = None
    angle: float | None = None

    def __post_init__(self) -> None:
        """Refuse zones without size."""
        _positive(self.position, "blend distance")
        for name in ("orientation", "angle"):
            if getattr(self, name) is not None:
                _positive(getattr(self, name), f"blend {name}")


@dataclass(frozen=True, slots=True)
class Share:
    """Round the corner over `value` × half of each neighbouring move, 0 < value ≤ 1 (joint moves, mostly)."""

    value: float

    def __post_init__(self) -> None:
        """Refuse shares outside (0, 1]."""
        if not 0.0 < self.value <= 1.0:
            raise InputError(f"a blend share lies in (0, 1], got {self.value}")


@dataclass(frozen=True, slots=True)
class BySpeed:
    """Begin to round where braking for the target has brought the tool down to `value` × its speed, 0 < value ≤ 1."""

    value: float

    def __post_init__(self) -> None:
        """Refuse shares outside (0, 1]."""
        if not 0.0 < self.value <= 1.0:
            raise InputError(f"a blend's share of the speed lies in (0, 1], got {self.value}")


Blend = Stop | Tangent | Distance | Share | BySpeed


# --- where to ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Joints(ByContent):
    """A posture. `q` (n,) [rad or m]; where `known` (n,) is False the joint keeps its value and `q` holds 0.

    n is the number of joints that the program speaks of; an arm with more keeps the rest.
    """

    q: Array
    known: tuple[bool, ...] = ()
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Freeze the array; all joints are known unless said otherwise."""
        object.__setattr__(self, "q", frozen(self.q, (np.size(self.q),), "joint target"))
        if self.q.size == 0:
            raise InputError("joint target: expected at least one joint")
        known = tuple(bool(k) for k in self.known) or (True,) * self.q.size
        if len(known) != self.q.size:
            raise InputError(f"joint target: {self.q.size} joints but {len(known)} marks of which are known")
        object.__setattr__(self, "known", known)


@dataclass(frozen=True, slots=True, eq=False)
class Pose(ByContent):
    """A place of the tool, T (4, 4) = ``T_frame_tool`` [m]; its status, else continuity says in which posture.

    `oriented` is False where the program gave a position only: then the rotation in T is meaningless (identity).
    `status` keeps the integers by which the language names a posture (L-IRL's one, which is not used, KRL's S and T,
    RAPID's four; see `posture_status`).
    `free` marks coordinates x, y, z that count from where the tool is when the move begins, in the axes of the move's
    frame: 0 keeps them. So begin programs of machine tools, which name their axes one after the other.
    """

    T: Array
    oriented: bool = True
    status: tuple[int, ...] = ()
    name: str = field(default="", compare=False)
    free: tuple[bool, bool, bool] = (False, False, False)

    def __post_init__(self) -> None:
        """Freeze the pose."""
        object.__setattr__(self, "T", frozen_pose(self.T, "pose target"))


Target = Joints | Pose


# --- moves and programs -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Payload(ByContent):
    """A rigid load that the arm carries: mass [kg], centre of mass (3,) [m] in the **flange** frame.

    `inertia` (3, 3) is about that centre, in flange axes [kg m²]; a point mass if None.
    """

    mass: float
    com: Array
    inertia: Array | None = None

    def __post_init__(self) -> None:
        """Freeze the arrays; refuse negative masses."""
        if not 0.0 <= self.mass < math.inf:
            raise InputError(f"payload: mass must be finite and ≥ 0 kg, got {self.mass}")
        object.__setattr__(self, "com", frozen(self.com, (3,), "payload com"))
        if self.inertia is not None:
            object.__setattr__(self, "inertia", frozen(self.inertia, (3, 3), "payload inertia"))


@dataclass(frozen=True, slots=True, eq=False)
class Move(ByContent):
    """One motion to a target, or a wait.

    Attributes:
        kind: ``joint`` (point to point, joints synchronised), ``line``, ``arc`` (through `via`), ``spline`` (moves of
            this kind that follow one another make one smooth curve), ``wait`` (no target; `speed` is its `Duration`).
        target: where to; None for waits.
        speed, acceleration: see `Speed`, `Acceleration`.
        blend: what happens at the target.
        via: for arcs, a point between start and target; its orientation is not used.
        arc_angle: for arcs, how far to turn [rad] on the circle through start, `via` and target, forward if positive;
            None ends at the target.
        orientation: ``slerp`` turns evenly to the target's orientation; ``fixed`` keeps the orientation at the start;
            ``with_path`` turns evenly *as seen from the path's direction*: to the target's orientation, or not at all
            where the target has none.
        T_base_frame: (4, 4) the frame in which the targets are given, in the arm's base.
        T_flange_tool: (4, 4) the tool in the frame that the arm's sheet calls its tool; None: that frame itself.
        payload: what the arm carries during the move; None: nothing but what its sheet says.
        wrench: (6,) [f; n] of the world on the tool [N, N m], at the tool point; None: none.
        wrench_frame: axes of its numbers: ``base``, or ``tool``, which turns with the tool of the move.
        line, text: where it was read, 1 for the first line; 0 where there is no file.
    """

    kind: MoveKind
    target: Target | None
    speed: Speed
    acceleration: Acceleration = field(default_factory=lambda: Fraction(1.0))
    blend: Blend = field(default_factory=Stop)
    via: Pose | None = None
    arc_angle: float | None = None
    orientation: Orientation = "slerp"
    T_base_frame: Array = field(default_factory=lambda: np.eye(4))
    T_flange_tool: Array | None = None
    payload: Payload | None = None
    wrench: Array | None = None
    wrench_frame: WrenchFrame = "base"
    line: int = field(default=0, compare=False)
    text: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Freeze arrays; refuse moves that contradict themselves."""
        if self.kind not in _KINDS or self.orientation not in _ORIENTATIONS:
            raise InputError(f"move: kind is one of {', '.join(_KINDS)} and orientation of {', '.join(_ORIENTATIONS)}")
        if (self.target is None) != (self.kind == "wait"):
            raise InputError(f"move: a {self.kind} {'has no' if self.kind == 'wait' else 'needs a'} target")
        if self.kind == "wait" and not isinstance(self.speed, Duration):
            raise InputError(f"move: a wait needs a Duration, got {self.speed}")
        if (self.via is not None) != (self.kind == "arc"):
            raise InputError(f"move: an arc needs a via point and nothing else has one (kind {self.kind})")
        if self.arc_angle is not None and (self.kind != "arc" or not math.isfinite(self.arc_angle)):
            raise InputError(f"move: arc_angle {self.arc_angle} on a move of kind {self.kind}")
        if isinstance(self.target, Pose) and not self.target.oriented and self.orientation == "slerp":
            raise InputError("move: orientation is slerp but the target has none; fixed and with_path need none")
        object.__setattr__(self, "T_base_frame", _shared_frame(self.T_base_frame))
        if self.T_flange_tool is not None:
            object.__setattr__(self, "T_flange_tool", frozen_pose(self.T_flange_tool, "move: T_flange_tool"))
        if self.wrench is not None:
            object.__setattr__(self, "wrench", frozen(self.wrench, (6,), "move: wrench"))
        if self.wrench_frame not in _WRENCH_FRAMES:
            raise InputError(f"move: wrench_frame is base or tool, got {self.wrench_frame!r}")


@dataclass(frozen=True, slots=True, eq=False)
class Program(ByContent):
    """A robot program as understood.

    Attributes:
        moves: in the order in which they run.
        robot: name of the arm that the program was written for, if it says so.
        start_q: (n,) posture before the first move [rad or m], if it says so.
        name: of the program.
        language: ``l-irl``, ``urscript``, ``rapid``, ``krl``, ``g-code``; empty where none was read.
        file: where it was read, for messages.
        notes: what the reader assumed.
        reading: how far it was read, where the reader tells; then a program may move nowhere.
        text: of its own file, as it was read; empty where none was.
    """

    moves: tuple[Move, ...]
    robot: str | None = None
    start_q: Array | None = None
    name: str = field(default="", compare=False)
    language: str = field(default="", compare=False)
    file: str = field(default="", compare=False)
    notes: tuple[Note, ...] = field(default=(), compare=False)
    reading: ProgramReading | None = field(default=None, compare=False)
    text: str = field(default="", compare=False, repr=False)

    def __repr__(self) -> str:
        """Return one line: name, language, arm, moves."""
        told = [part for part in (self.language, self.robot and f"for {self.robot}") if part]
        count = f"{len(self.moves)} move{'s' if len(self.moves) != 1 else ''}"
        return f"Program({self.name!r}, {', '.join([*told, count])})"

    def _repr_html_(self) -> str:
        """Return what notebooks show: a row per move."""
        rows = [(k + 1, move.line or "–", move.kind, move.text) for k, move in enumerate(self.moves)]
        return html_table(repr(self), ("move", "line", "kind", "as written"), rows)

    def __post_init__(self) -> None:
        """Freeze; refuse programs without a motion."""
        object.__setattr__(self, "moves", tuple(self.moves))
        if self.reading is None and not any(move.kind != "wait" for move in self.moves):
            raise InputError(f"program {self.name!r}: it moves nowhere; expected at least one move")
        if self.start_q is not None:
            object.__setattr__(self, "start_q", frozen(self.start_q, (np.size(self.start_q),), "program: start_q"))


_FRAME: list[Array] = []  # the last frozen frame that a move was given, and that frame checked: most moves share theirs


def _shared_frame(T: Array) -> Array:
    """Return a frame (4, 4) checked and frozen; moves that are given the same frozen array share it."""
    last = _FRAME[:]
    if last and last[0] is T and not T.flags.writeable:
        return last[1]
    frame = frozen_pose(T, "move: T_base_frame")
    _FRAME[:] = [T, frame] if isinstance(T, np.ndarray) else []
    return frame


def _positive(value: float, what: str) -> None:
    if not 0.0 < value < math.inf:
        raise InputError(f"{what} must be finite and > 0, got {value}")
