# SPDX-License-Identifier: Apache-2.0
"""`Loop`: what a simulation is made of, in one frozen object that runs, live steps and explorations share.

A loop option is a field of `Loop` with its line in the docstring, its type in `LoopOptions` (for the keywords of
`simulate`), and the stage that uses it. Every field is part of the key under which a traced loop is found again, unless
it is marked `UNTRACED`: it does not change the traced code, or does so through something else that is in the key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import numpy as np

from armwright.arguments import keyword_types, names_culprit
from armwright.contact.monitor import Monitor, as_chain
from armwright.contact.observed_law import told_by
from armwright.control.law import Law, as_law
from armwright.control.simple_laws import zero
from armwright.errors import InputError
from armwright.graph.fingerprint import NotComparable, fingerprint
from armwright.robot.inertia_needed import require_inertia
from armwright.robot.model import Robot
from armwright.robot.tree import tree_of
from armwright.simulation import simulate_checks as checks
from armwright.simulation.drives import Drive
from armwright.simulation.friction_models import FrictionModel
from armwright.simulation.integrators import Integrator
from armwright.simulation.integrators import method as find_method
from armwright.simulation.lanes import Lanes, lanes_of
from armwright.simulation.sensors import JointSensors, wrench_function

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import ArrayLike

    from armwright.graph import Kernel
    from armwright.motion import Trajectory
    from armwright.robot.tree import Tree
    from armwright.simulation.live_loop import Live
    from armwright.simulation.session import Session
    from armwright.types import Array, Traced

AtLimits = Literal["record", "clamp", "stop"]
UNTRACED = {"traced": False}  # metadata of fields that the key of a traced loop leaves out
SIGNALS = ("arm", "t", "q", "qd", "tau")  # what forces from outside are given; inputs need other names
MOST_INPUTS = 10_000  # numbers of one input


class LoopOptions(TypedDict, total=False):
    """Types of the options of a `Loop`, as keywords of `simulate` and `Loop.of`."""

    model: Robot | None
    rate: float
    substeps: int
    integrator: str
    continuous: bool
    drive: Drive | None
    friction: FrictionModel | None
    sensors: JointSensors | None
    wrench: Callable[..., Traced] | ArrayLike | None
    external: Callable[..., Traced] | None
    dry_friction: Callable[..., Traced] | None
    creep: bool
    events: Mapping[str, Callable[..., Traced]] | None
    monitors: Sequence[Monitor]
    limits: AtLimits
    inputs: Mapping[str, tuple[int, ...]] | None
    stop_on_alarm: bool
    strict: bool


@dataclass(frozen=True, eq=False)
class Loop:
    """What a simulation is made of: reference → law → drive → arm → sensors, and what watches it.

    A loop knows nothing of a start or a reference: `session` and `live` set it going. `dataclasses.replace` gives one
    that differs in an option. Options are checked when a loop is made.

    Attributes:
        robots: the plant; several that differ in numbers only make a batch.
        law: the control law.
        model: the controller's own model of the arm; the plant itself by default (each its own in a batch of robots).
        rate: control ticks per second; the torque is held between them.
        substeps: integrator steps per tick.
        integrator: "rk4", "semi-implicit" (dry friction that holds), "dopri5" (adaptive), "rodas3" and
            "rodas3-adaptive" (stiff).
        continuous: let the law act continuously instead of once per tick.
        drive: motors (`drive_of`); ideal torque sources by default.
        friction: a friction model replacing the robot's (`friction_of`).
        sensors: `JointSensors`; the law sees the true state by default.
        wrench: external wrench [N, N m]: (6,) at the tool, (nb, 6) at the links, or a function of (arm, t, q, qd) and
            inputs, base axes.
        external: external joint torque, a function of (arm, t, q, qd, tau) and inputs → (n,), tau that of the drives;
            for forces known as torques.
        dry_friction: level [N m] of dry friction beyond the arm's own Coulomb friction, a function as `external`: what
            grows with load, sticks or drifts. "semi-implicit" solves for it, so that joints hold.
        creep: "semi-implicit" honours the dead zone of the arm's Coulomb friction, in which joints creep, as the other
            integrators do. By default they hold.
        events: name → function of (arm, t, q, qd); a run stops where one rises through zero.
        monitors: observers and detectors (`armwright.contact`), once per tick after the law; outputs are recorded.
        limits: what to do at joint limits: "record", "clamp" (mechanical stop) or "stop".
        inputs: name → shape of what `wrench` and `external` are given besides (arm, t, q, qd); zero until it is set
            (`Live.inputs`).
        stop_on_alarm: an "alarm" of a monitor that rises through zero stops the run (of a single simulation).
        strict: every operation rounds by itself, with our own sine, exponential and hyperbolic tangent: what
            `Session.program` gives is equal to a strict loop to the last bit, and within 1e-12 of the default one.
        batch: record a single simulation as a batch of one; `of` sets it for robots in a list.
        plant: the common tree of all lanes and the numbers in which they differ, for plants that carry more than their
            robots do (obstacles, contacts); made from `robots` by default.
        believed: the controller's model with numbers that are given at run time instead of `model`, see
            `Session.believe`.
    """

    robots: tuple[Robot, ...] = field(metadata=UNTRACED)
    law: Law
    model: Robot | None = None
    rate: float = 1000.0
    substeps: int = field(default=1, metadata=UNTRACED)
    integrator: str = "rk4"
    continuous: bool = False
    drive: Drive | None = None
    friction: FrictionModel | None = None
    sensors: JointSensors | None = None
    wrench: Callable[..., Any] | None = None
    external: Callable[..., Any] | None = None
    dry_friction: Callable[..., Any] | None = None
    creep: bool = False
    events: Mapping[str, Callable[..., Any]] = field(default_factory=dict, metadata=UNTRACED)
    monitors: tuple[Monitor, ...] = ()
    limits: AtLimits = field(default="record", metadata=UNTRACED)
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    stop_on_alarm: bool = True
    strict: bool = field(default=False, metadata=UNTRACED)
    batch: bool = field(default=False, metadata=UNTRACED)
    plant: Lanes | None = field(default=None, repr=False, metadata=UNTRACED)
    believed: Lanes | None = field(default=None, repr=False, metadata=UNTRACED)

    def __post_init__(self) -> None:
        """Check every option and bring it into the form that the stages use."""
        robots = checks.robots_of(self.robots, "robots")
        arm = robots[0]
        require_inertia(arm, "simulate", forward=True)
        given = {"model": Robot, "drive": Drive, "friction": FrictionModel, "sensors": JointSensors}
        checks.check_parts(arm, {name: (getattr(self, name), kind) for name, kind in given.items()})
        checks.check_functions(self.events, self.external)
        checks.check_functions(None, self.dry_friction, "dry_friction")
        if not isinstance(self.limits, str) or self.limits not in ("record", "clamp", "stop"):
            raise InputError(f"simulate: limits must be 'record', 'clamp' or 'stop', got {self.limits!r}")
        if self.continuous and self.sensors is not None:
            raise InputError("simulate: sensors sample once per tick; they need a law that is held (continuous=False)")
        none = isinstance(self.monitors, tuple | list) and not self.monitors
        monitors = () if none else as_chain(self.monitors)
        normal = {
            "robots": tuple(robots),
            "law": told_by(as_law(self.law), monitors),
            "rate": checks.rate_of(self.rate),
            "substeps": checks.whole(self.substeps, "substeps", checks.MOST_SUBSTEPS),
            "wrench": wrench_function(self.wrench),
            "events": dict(self.events or {}),
            "monitors": monitors,
            "inputs": _shapes_of(self.inputs or {}),
        }
        find_method(self.integrator)
        checks.check_holding(self.friction, self.integrator)
        for name, value in normal.items():
            object.__setattr__(self, name, value)

    @classmethod
    @names_culprit
    def of(
        cls,
        robot: Robot | Sequence[Robot],
        law: Law | Callable[..., Any] | None = None,
        **options: Unpack[LoopOptions],
    ) -> Loop:
        """Return the loop of a robot (several in a list: a batch) under a law or a NumPy function of (q, qd, ref, …).

        Args:
            robot: the plant.
            law: zero torque if omitted. A function that cannot be traced is called from Python once per tick. A law
                that names ``wrench`` gets what a sensor at the wrist feels of `wrench`: (6,) at the tool, base axes.
                One that names ``tau_ext`` gets what the observer among the monitors estimated the tick before.
            **options: fields of `Loop`.
        """
        several = not isinstance(robot, Robot)
        given: dict[str, Any] = {"batch": True, **options} if several else {**options}
        return cls(tuple(checks.robots_of(robot)), zero() if law is None else law, **given)  # type: ignore[arg-type]

    @names_culprit
    def session(
        self,
        q0: ArrayLike | None = None,
        *,
        qd0: ArrayLike | None = None,
        reference: Trajectory | ArrayLike | None = None,
        count: int | None = None,
        every: int = 1,
        seed: int | Sequence[int] = 0,
        check_step: bool = True,
    ) -> Session:
        """Compile the loop and set it to its start; `Session.run` runs it.

        Args:
            q0: initial position, (n,) or (B, n) [rad or m]; the reference's start by default.
            qd0: initial velocity, (n,) or (B, n) [rad/s or m/s]; at rest by default.
            reference: a `Trajectory`, a constant configuration (n,), or None to hold the start.
            count: number of simulations if the inputs do not tell; with it the session is a batch, of one as well.
            every: ticks from one recorded row to the next.
            seed: of the sensor noise; simulation k of a batch has seed + k, or give one each.
            check_step: refuse steps that cannot be stable.
        """
        from armwright.simulation.session_start import start_session

        return start_session(self, q0, qd0, reference, count, every, seed, check_step)

    @names_culprit
    def live(self, q0: ArrayLike, *, may_become: Sequence[Robot] = (), check_step: bool = True) -> Live:
        """Compile the loop to be stepped by hand; it stands at q0 (n,) [rad or m], at rest, when this returns.

        Args:
            q0: start (n,).
            may_become: arms of the same shape whose differing numbers may change at run time (see `Live.become`).
            check_step: refuse steps that cannot be stable.
        """
        from armwright.simulation.live_loop import start_live

        return start_live(self, q0, may_become, check_step)

    def step(self) -> Kernel:
        """Kernel (x, u) → x₊: one control tick of the plant with torque u (n,) [N m or N] held.

        The state x (m,) is [q, q̇, states of drive and friction]. A plant that hangs on the time takes t (1,) [s] as
        well, one of several arms their numbers, one with `inputs` these: `step().program.inputs` lists what it takes.
        Sensors, monitors and events have no part in it.
        """
        from armwright.simulation.step_derivative import step_kernel

        return step_kernel(self)

    @names_culprit
    def derivative(self, *names: str) -> Kernel:
        """Kernel of one control tick and its exact derivatives: (x₊, ∂x₊/∂ each name), RK4 and all friction included.

        Args:
            *names: "x": by the state, (m, m); "u": by the held torque, (m, n); "gains": by every gain of the law, (m,
                *shape of the gain). With "gains" the torque is the law's: the kernel takes x, t, ref (3n,), the law's
                memory and gains instead of u, and returns u after x₊.

        >>> x_next, A, B = loop.derivative("x", "u")(x, u)
        """
        from armwright.simulation.step_derivative import step_derivative

        return step_derivative(self, names)

    @property
    def robot(self) -> Robot:
        """The first arm."""
        return self.robots[0]

    @cached_property
    def lanes(self) -> Lanes:
        """The plant: what all simulations have in common, and the numbers in which they differ."""
        return lanes_of(self.robots) if self.plant is None else self.plant

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.lanes.tree.n

    @cached_property
    def period(self) -> float:
        """Time of a tick [s]."""
        return 1.0 / self.rate

    @cached_property
    def method(self) -> Integrator:
        """The integrator."""
        return find_method(self.integrator)

    @cached_property
    def model_tree(self) -> Tree | None:
        """The controller's model in canonical frames; None where each plant is its own model."""
        if self.believed is not None:
            return self.believed.fill(self.believed.values[0])
        return None if self.model is None else tree_of(self.model, regroup=True)

    @property
    def model_slots(self) -> dict[str, tuple[int, ...]]:
        """Slots that law and monitors read their model's numbers from, with their shapes; none for a fixed model."""
        if self.believed is not None:
            return {"model": (len(self.believed.places),)}
        varies = self.model is None and bool(self.lanes.places)
        return {"parameters": (len(self.lanes.places),)} if varies else {}

    def model_in(self, slots: Mapping[str, Any]) -> Tree:
        """Return the controller's model, with the numbers in `slots` where they are given at run time."""
        if self.believed is not None:
            return self.believed.fill(slots["model"])
        fixed = self.model_tree
        return self.lanes.fill(slots.get("parameters")) if fixed is None else fixed

    @cached_property
    def clamp(self) -> tuple[Array, Array] | None:
        """Mechanical stops, lower and upper (n,), if there are any."""
        return (self.robot.lower, self.robot.upper) if self.limits == "clamp" else None

    @cached_property
    def stops(self) -> dict[str, Callable[..., Any]]:
        """The functions that stop a run where they rise through zero: events, and joint limits if asked for."""
        at_limits = {"joint limit": self.robot.memo("limit event", _limit_event)} if self.limits == "stop" else {}
        return {**self.events, **at_limits}

    @cached_property
    def gains_vary(self) -> tuple[str, ...]:
        """Names of the law's gains that differ between simulations."""
        return tuple(label for label, value in self.law.gains.items() if np.ndim(value) == 2)

    @property
    def extra_names(self) -> tuple[str, ...]:
        """States beyond q and qd, each of n numbers."""
        return (self.drive.state_names if self.drive else ()) + (self.friction.state_names if self.friction else ())

    @property
    def size(self) -> int:
        """Length of the state x."""
        return self.n * (2 + len(self.extra_names))

    def key(self) -> tuple[Any, ...] | None:
        """What the traced loop depends on, for reuse within a process; None if that cannot be told."""
        traced = [getattr(self, each.name) for each in fields(self) if each.metadata.get("traced", True)]
        try:
            believed = None if self.believed is None else self.believed.common()
            return self.lanes.places, believed, *(_comparable(value) for value in (self.clamp, self.stops, *traced))
        except NotComparable:
            return None

    def step_key(self) -> tuple[Any, ...] | None:
        """The same for the step alone: a held torque hides the law from it."""
        return self.key() if self.continuous else replace(self, law=zero()).key()


Loop.__init__.__annotations__.update(keyword_types(LoopOptions))  # errors name what may be given, not what is kept
Loop.__init__ = names_culprit(Loop.__init__)  # type: ignore[method-assign]


def _comparable(value: object) -> Hashable:
    """Return a hashable stand-in for an option, equal where both trace to the same code."""
    if isinstance(value, Law):
        gains = ((k, np.shape(v)[1:] if np.ndim(v) == 2 else v.tobytes()) for k, v in value.gains.items())
        memory = ((k, v.tobytes(), np.shape(v)) for k, v in value.memory.items())
        return fingerprint(value.function), tuple(gains), tuple(memory)
    if isinstance(value, Monitor):
        gains = ((k, np.shape(v) if k in value.vary else v.tobytes()) for k, v in value.gains.items())
        return value.name, fingerprint(value.function), *gains
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if isinstance(value, Mapping):
        return tuple((name, _comparable(each)) for name, each in value.items())
    if isinstance(value, tuple | list):
        return tuple(_comparable(each) for each in value)
    return fingerprint(value) if callable(value) else value


def _shapes_of(inputs: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, ...]]:
    shapes = {}
    for name, shape in inputs.items():
        if not name.isidentifier() or name in SIGNALS or not _is_shape(shape) or prod(shape) > MOST_INPUTS:
            raise InputError(
                f"live: input {name!r} of shape {shape}: needs a name of its own and 1 to {MOST_INPUTS} numbers"
            )
        shapes[name] = tuple(shape)
    return shapes


def _is_shape(shape: object) -> bool:
    return isinstance(shape, tuple | list) and all(isinstance(size, int) and size > 0 for size in shape)


def _limit_event(robot: Robot) -> Callable[..., Traced]:
    lower, upper = robot.lower, robot.upper

    def beyond(q: Traced) -> Traced:
        worst: Any = -1.0
        for k in range(len(lower)):
            if np.isfinite(upper[k]):
                worst = np.maximum(worst, q[k] - upper[k])
            if np.isfinite(lower[k]):
                worst = np.maximum(worst, lower[k] - q[k])
        return worst

    return beyond
