# SPDX-License-Identifier: Apache-2.0
"""A control law: a pure NumPy function of one instant, its gains, its memory and its storage function.

The function names what it wants and is given just that. Signals are

    arm    the controller's model of the robot (`Robot` or `Tree`)     t     time [s], scalar
    q, qd  measured joint positions and velocities (n,)                dt    control period [s], a constant
    ref    desired motion, `Reference(q, qd, qdd)`, each (n,)          wrench  measured tool wrench (6,) or None
    tau_ext  external torque that an observer estimated the tick before (n,), see `armwright.contact.with_observer`

every other parameter is a gain or a piece of memory. It returns tau (n,), or (tau, {memory name: new value}).
Written with NumPy alone and without branches on values it runs on floats here and is traced into the compiled loop
elsewhere. `law_kernel` compiles a law by itself: for a controller outside the simulation, for derivatives, and to look
at its equations.

    def my_law(q, qd, ref, kp): return kp * (ref.q - q) - 20.0 * qd
    law = as_law(my_law, kp=100.0)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from armwright.arguments import names_culprit
from armwright.control.tick_function import (
    TickFunction,
    call,
    finite_numbers,
    initial_memory,
    new_memory,
    refuse_unknown,
)
from armwright.errors import InputError
from armwright.graph.by_name import call_by_name, is_open_ended
from armwright.graph.kernel import compile_function
from armwright.graph.purity import traced_purely
from armwright.motion.trajectory import Reference
from armwright.robot.tree import Tree, as_tree, tree_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.graph.kernel import Kernel
    from armwright.robot.model import Robot
    from armwright.types import Array, Scalar, Traced

SIGNALS = ("arm", "t", "q", "qd", "ref", "dt", "wrench", "tau_ext")


@dataclass(frozen=True, eq=False, repr=False)
class Law(TickFunction):
    """A control law.

    Attributes:
        name: for messages and recordings.
        function: see the module text.
        gains: scalars, (n,) or, for batches of simulations, (B, n); the last axis of a batch may also be 1.
        memory: initial values. A scalar stands for one value per joint and is stretched to (n,) (`initial_memory`);
            other shapes are kept.
        storage: Lyapunov or storage function (arm, t, q, qd, ref, gains, memory by name) → scalar, or None.
        doc: equations and claim.
        sizes: length of those gains that are not one value per joint, such as 6 for a tool stiffness.
        friction: at which speed it cancels friction (`armwright.control.friction_cancelling`).
        cancelling: that speed's name → the function that cancels friction so; None where it has no choice.
    """

    kind: ClassVar[str] = "law"
    signals: ClassVar[tuple[str, ...]] = SIGNALS

    storage: Callable[..., Traced] | None = None
    doc: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)
    friction: str = "none"
    cancelling: Callable[[str], Callable[..., Any]] | None = None

    def __post_init__(self) -> None:
        """Freeze the arrays and check that every parameter of the function will find its value."""
        super().__post_init__()
        object.__setattr__(self, "sizes", MappingProxyType(dict(self.sizes)))
        for label, parameter in inspect.signature(self.function).parameters.items():
            found = label in self.gains or label in self.memory or label in SIGNALS
            if not found and parameter.default is parameter.empty and not is_open_ended(parameter):
                raise InputError(
                    f"{self.title}: parameter {label!r} has no value; signals are {', '.join(SIGNALS)}; "
                    f"gains are given as {label}=…, memory as memory={{{label!r}: …}}"
                )

    def functions(self) -> tuple[Callable[..., Traced], ...]:
        """The law and its storage function."""
        return (self.function,) if self.storage is None else (self.function, self.storage)


def with_friction(law: Law, friction: str) -> Law | None:
    """Return the law with friction cancelled at another speed, such as "none"; None where it has no choice."""
    if law.cancelling is None:
        return None
    return replace(law, function=law.cancelling(friction), friction=friction)


class Action(NamedTuple):
    """What a law does at one instant: tau (n,) and the memory it keeps for the next."""

    tau: Traced
    memory: dict[str, Any]


@names_culprit
def as_law(
    law: Law | Callable[..., Any],
    *,
    name: str | None = None,
    memory: Mapping[str, Any] | None = None,
    storage: Callable[..., Any] | None = None,
    **gains: Any,
) -> Law:
    """Wrap a user's function as a law, or change gains and initial memory of one.

    Args:
        law: a function as in the module text, or a law.
        name: the function's name by default.
        memory: initial values by name.
        storage: Lyapunov or storage function.
        **gains: values of the function's further parameters; parameters with a default may be left out, they stay
        constants.

    >>> law = as_law(lambda q, qd, ref, kp: kp * (ref.q - q) - 20.0 * qd, name="mine", kp=100.0)
    """
    if isinstance(law, Law):
        if not (name or memory or storage or gains):
            return law
        refuse_unknown(law, "gain", gains, law.gains)
        refuse_unknown(law, "memory", memory or {}, law.memory)
        return replace(
            law,
            name=name or law.name,
            gains={**law.gains, **gains},
            memory={**law.memory, **(memory or {})},
            storage=storage or law.storage,
        )
    if not callable(law):
        raise InputError(f"law: expected a Law or a function of (q, qd, ref, …), got {type(law).__name__}")
    label = name or str(getattr(law, "__name__", type(law).__name__))
    return Law(label, law, gains, memory or {}, storage, inspect.getdoc(law) or "")


@names_culprit
def check_gains(law: Law, n: int, *, batch: int | None = None) -> dict[str, Array]:
    """Return the gains of `law` for an arm with n joints.

    Args:
        law: the law.
        n: number of joints.
        batch: number of simulations B for which gains of shape (B, n) are meant; None for a single simulation.

    Raises:
        InputError: for a gain that is neither a scalar nor (n,) (nor, with `batch`, (B, n) or (B, 1)).
    """
    for label, value in law.gains.items():
        size = law.sizes.get(label, n)
        fits = value.ndim == 0 or value.shape in ((size,), (1,))
        if batch is not None and value.ndim == 2:
            fits = value.shape in ((batch, size), (batch, 1))
        if not fits:
            rows = "" if batch is None else f", ({batch}, {size}) or ({batch}, 1)"
            raise InputError(f"{law.title}: gain {label}: expected ({size},) or a scalar{rows}, got {value.shape}")
    return dict(law.gains)


def run(law: Law, signals: Mapping[str, Any], gains: Mapping[str, Any], memory: Mapping[str, Any]) -> Action:
    """Call the law's function with whatever it names, on floats or on symbols, and check what it returns.

    Args:
        law: the law.
        signals: values of `SIGNALS`, at least those that the function wants and ``q``.
        gains: values of all gains.
        memory: values of all memory.
    """
    value: Any = call(law, signals, gains, memory)
    tau, kept = value if isinstance(value, tuple) else (value, {})
    n = np.shape(signals["q"])
    if np.shape(tau) != n:
        raise InputError(f"{law.title}: must return a torque per joint, shape {n}, got {np.shape(tau)}")
    if not isinstance(kept, Mapping) or set(kept) - set(memory):
        raise InputError(
            f"{law.title}: the second return value must hold the memory ({', '.join(memory) or 'none declared'})"
        )
    return Action(tau, new_memory(law, memory, kept))


def run_storage(law: Law, signals: Mapping[str, Any], gains: Mapping[str, Any], memory: Mapping[str, Any]) -> Traced:
    """Return the law's storage function (scalar), on floats or on symbols; arguments as in `run`."""
    if law.storage is None:
        raise InputError(f"{law.title} has no storage function")
    return call_by_name(law.storage, {**signals, **gains, **memory}, law.title)


def _instant(
    law: Law, arm: Robot | Tree, values: Mapping[str, Any], ref: Reference, memory: Mapping[str, Any] | None
) -> tuple[dict[str, Traced], dict[str, Array], dict[str, Traced]]:
    n = as_tree(arm).n
    parts = [_sized(part, n, f"ref.{label}") for part, label in zip(ref, Reference._fields, strict=True)]
    signals: dict[str, Any] = {"arm": arm, "ref": Reference(*parts)}
    for label, value in values.items():
        if value is not None:
            signals[label] = _sized(value, {"q": n, "qd": n, "wrench": 6, "tau_ext": n}.get(label, 0), label)
    kept: dict[str, Any] = initial_memory(law, n)
    refuse_unknown(law, "memory", memory or {}, kept)
    kept |= {label: finite_numbers(value, label) for label, value in (memory or {}).items()}
    return signals, check_gains(law, n), kept


def _sized(value: ArrayLike, size: int, what: str) -> Scalar:
    array = finite_numbers(value, what)
    if array.shape != ((size,) if size else ()):
        raise InputError(f"{what}: expected {f'shape ({size},)' if size else 'a scalar'}, got {array.shape}")
    return array if size else float(array)


@names_culprit
def evaluate_law(
    law: Law | Callable[..., Any],
    arm: Robot | Tree,
    t: float,
    q: ArrayLike,
    qd: ArrayLike,
    ref: Reference,
    memory: Mapping[str, Any] | None = None,
    *,
    dt: float | None = None,
    wrench: ArrayLike | None = None,
    tau_ext: ArrayLike | None = None,
) -> Action:
    """Evaluate a law at one instant on floats.

    Args:
        law: a law, or a user's function without gains.
        arm: the controller's model.
        t: time [s].
        q: measured joint positions (n,).
        qd: measured joint velocities (n,).
        ref: desired motion, each part (n,).
        memory: values kept from the last call, the initial ones if omitted.
        dt: control period [s]; needed by laws with memory.
        wrench: measured tool wrench (6,), what the world does to the arm, base axes at the tool origin.
        tau_ext: external torque (n,) as an observer estimates it.

    Returns:
        (tau (n,), memory for the next call).

    >>> tau, _ = evaluate_law(pd(100.0, 20.0), robot, 0.0, q, qd, ref)
    """
    law = as_law(law)
    signals = {"t": t, "q": q, "qd": qd, "dt": dt, "wrench": wrench, "tau_ext": tau_ext}
    return run(law, *_instant(law, arm, signals, ref, memory))


@names_culprit
def storage(
    law: Law,
    arm: Robot | Tree,
    t: float,
    q: ArrayLike,
    qd: ArrayLike,
    ref: Reference,
    memory: Mapping[str, Any] | None = None,
) -> float:
    """Evaluate the law's Lyapunov or storage function on floats; arguments as in `evaluate_law`.

    >>> storage(pd(100.0, 20.0), robot, 0.0, q, qd, ref)  # [J]
    """
    return float(run_storage(law, *_instant(law, arm, {"t": t, "q": q, "qd": qd}, ref, memory)))


@names_culprit
def law_kernel(law: Law | Callable[..., Any], robot: Robot, *, dt: float | None = None, wrench: bool = False) -> Kernel:
    """Compile a law for one arm, with its gains folded in.

    Args:
        law: a law, or a user's function without gains.
        robot: the controller's model.
        dt: control period [s]; needed by laws with memory.
        wrench: whether a measured tool wrench (6,) is a further input.

    Returns:
        Kernel (t, q, qd, q_ref, qd_ref, qdd_ref, [wrench,] memory…) → tau, or (tau, new memory…) in the order of
        ``law.memory``; batch axes broadcast.

    >>> kernel = law_kernel(pd(100.0, 20.0), robot)  # (t, q, qd, q_ref, qd_ref, qdd_ref) → tau
    """
    law = as_law(law)
    gains, memory = check_gains(law, robot.n), initial_memory(law, robot.n)
    if "dt" in inspect.signature(law.function).parameters and dt is None:
        raise InputError(f"law {law.name!r} needs dt=…, the control period [s]")
    arm: Tree = tree_of(robot, regroup=True)
    shapes: dict[str, tuple[int, ...]] = {
        "t": (),
        **dict.fromkeys(("q", "qd", "q_ref", "qd_ref", "qdd_ref"), (robot.n,)),
    }
    if wrench:
        shapes["wrench"] = (6,)
    shapes |= {label: value.shape for label, value in memory.items()}

    def control(**values: Any) -> Any:
        signals = {label: values.get(label) for label in ("t", "q", "qd", "wrench")}
        signals |= {"arm": arm, "dt": dt, "ref": Reference(values["q_ref"], values["qd_ref"], values["qdd_ref"])}
        tau, kept = run(law, signals, gains, {label: values[label] for label in memory})
        return (tau, *(kept[label] for label in memory)) if memory else tau

    parameters = [inspect.Parameter(label, inspect.Parameter.KEYWORD_ONLY) for label in shapes]
    control.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return traced_purely(
        [law.function],
        lambda: compile_function(control, shapes, name=law.name),
        lambda kernel: kernel.program.digest,
        f"law {law.name!r}",
    )
