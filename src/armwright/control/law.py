# SPDX-License-Identifier: Apache-2.0
"""What a control law is: a pure NumPy function of one instant, its gains, its memory and its storage function.

The function names what it wants and is given just that. Signals are

    arm    the controller's model of the robot (`Robot` or `Tree`)     t     time [s], scalar
    q, qd  measured joint positions and velocities (n,)                dt    control period [s], a constant
    ref    desired motion, `Reference(q, qd, qdd)`, each (n,)          wrench  measured tool wrench (6,) or None

every other parameter is a gain or a piece of memory. It returns tau (n,), or (tau, {memory name: new value}).
Written with NumPy alone and without branches on values it runs on floats here and is traced into the compiled loop
elsewhere.

    def my_law(q, qd, ref, kp): return kp * (ref.q - q) - 20.0 * qd
    law = as_law(my_law, kp=100.0)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.motion.reference import Reference
from armwright.pickling import Rebuilt
from armwright.robot.tree import as_tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array

SIGNALS = ("arm", "t", "q", "qd", "ref", "dt", "wrench")


@dataclass(frozen=True, eq=False)
class Law(Rebuilt):
    """A control law.

    Attributes:
        name: for messages and recordings.
        function: see the module text.
        gains: scalars, (n,) or, for batches of simulations, (B, n); the last axis of a batch may also be 1.
        memory: initial values. A scalar stands for one value a joint and is stretched to (n,) (`initial_memory`);
            other shapes are kept.
        storage: Lyapunov or storage function (arm, t, q, qd, ref, gains, memory by name) → scalar, or None.
        doc: equations and claim.
        sizes: length of those gains that are not one value a joint, such as 6 for a tool stiffness.
    """

    name: str
    function: Callable[..., Any]
    gains: Mapping[str, Any] = field(default_factory=dict)
    memory: Mapping[str, Any] = field(default_factory=dict)
    storage: Callable[..., Any] | None = None
    doc: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Freeze the arrays and check that every parameter of the function will find its value."""
        for what in ("gains", "memory"):
            given = getattr(self, what).items()
            values = {label: _frozen(value, f"law {self.name!r}: {label}") for label, value in given}
            object.__setattr__(self, what, MappingProxyType(values))
        object.__setattr__(self, "sizes", MappingProxyType(dict(self.sizes)))
        if not callable(self.function):
            raise InputError(f"law {self.name!r}: expected a function, got {type(self.function).__name__}")
        named = {*self.gains, *self.memory}
        clash = sorted(named & set(SIGNALS)) + sorted(set(self.gains) & set(self.memory))
        if clash:
            raise InputError(
                f"law {self.name!r}: {', '.join(clash)} cannot name a gain or memory: already a signal or both"
            )
        wanted = inspect.signature(self.function).parameters
        for label, parameter in wanted.items():
            if (
                not _open_ended(parameter)
                and parameter.default is parameter.empty
                and label not in named
                and label not in SIGNALS
            ):
                raise InputError(
                    f"law {self.name!r}: parameter {label!r} has no value; signals are {', '.join(SIGNALS)}; "
                    f"gains are given as {label}=…, memory as memory={{{label!r}: …}}"
                )
        known = set(wanted) | (set(inspect.signature(self.storage).parameters) if self.storage else set())
        unused = sorted(named - known)
        if unused:
            raise InputError(
                f"law {self.name!r}: the function has no parameter {', '.join(unused)}; it takes {', '.join(wanted)}"
            )

    def __repr__(self) -> str:
        """Return the name and the gains."""
        values = ", ".join(f"{label}={np.array2string(value)}" for label, value in self.gains.items())
        return f"Law({self.name}: {values})"


def locked(value: Any) -> Any:
    """Return a view that cannot be written to: what is measured is no law's to change."""
    if isinstance(value, Reference):
        return Reference(*(locked(part) for part in value))
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    return value


def refuse_in_place(error: ValueError, what: str) -> None:
    """Say what to do where a function has tried to write to what it was given (`locked`); else do nothing."""
    if "read-only" in str(error):
        raise InputError(
            f"{what} changes what it was given in place ({error}); write to a copy: q = q.copy(), or q = q - 1.0"
        ) from error


class Action(NamedTuple):
    """What a law does at one instant: tau (n,) and the memory it keeps for the next."""

    tau: Any
    memory: dict[str, Any]


def _open_ended(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)


def _frozen(value: Any, what: str) -> Array:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: expected numbers, got {value!r}") from error
    if not np.isfinite(array).all():
        raise InputError(f"{what}: every entry must be finite")
    array.setflags(write=False)
    return array


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
    """
    if isinstance(law, Law):
        for given, known, what in ((gains, law.gains, "gain"), (memory or {}, law.memory, "memory")):
            strange = sorted(set(given) - set(known))
            if strange:
                raise InputError(
                    f"law {law.name!r}: no {what} {', '.join(strange)}; it has {', '.join(known) or 'none'}"
                )
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
        batch: number of simulations for which gains of shape (B, n) are meant; None where only one is.

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
            raise InputError(f"law {law.name!r}: gain {label}: expected ({size},) or a scalar{rows}, got {value.shape}")
    return dict(law.gains)


def initial_memory(law: Law, n: int) -> dict[str, Array]:
    """Return the initial memory of `law` for an arm with n joints: scalars become (n,)."""
    return {label: np.full(n, float(value)) if value.ndim == 0 else value.copy() for label, value in law.memory.items()}


def run(law: Law, signals: Mapping[str, Any], gains: Mapping[str, Any], memory: Mapping[str, Any]) -> Action:
    """Call the law's function with whatever it names, on floats or on symbols, and check what it returns.

    Args:
        law: the law.
        signals: values of `SIGNALS`, at least those that the function wants and ``q``.
        gains: values of all gains.
        memory: values of all memory.
    """
    chosen = _chosen(law, law.function, {**{k: locked(v) for k, v in signals.items()}, **gains, **memory})
    try:
        value = law.function(**chosen)
    except ValueError as error:
        refuse_in_place(error, f"law {law.name!r}")
        raise
    tau, kept = value if isinstance(value, tuple) else (value, {})
    n = np.shape(signals["q"])
    if np.shape(tau) != n:
        raise InputError(f"law {law.name!r}: must return a torque a joint, shape {n}, got {np.shape(tau)}")
    if not isinstance(kept, Mapping) or set(kept) - set(memory):
        raise InputError(
            f"law {law.name!r}: the second return value must hold the memory ({', '.join(memory) or 'none declared'})"
        )
    for label, new in kept.items():
        if np.shape(new) != np.shape(memory[label]):
            raise InputError(
                f"law {law.name!r}: memory {label} starts as {np.shape(memory[label])}, became {np.shape(new)}"
            )
    return Action(tau, {**memory, **kept})


def run_storage(law: Law, signals: Mapping[str, Any], gains: Mapping[str, Any], memory: Mapping[str, Any]) -> Any:
    """Storage function of the law (scalar), on floats or on symbols; arguments as in `run`."""
    if law.storage is None:
        raise InputError(f"law {law.name!r} has no storage function")
    return law.storage(**_chosen(law, law.storage, {**signals, **gains, **memory}))


def _chosen(law: Law, function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    out = {}
    for label, parameter in inspect.signature(function).parameters.items():
        if values.get(label) is not None:
            out[label] = values[label]
        elif parameter.default is parameter.empty and not _open_ended(parameter):
            raise InputError(f"law {law.name!r} needs {label}, which was not given")
    return out


def _instant(
    law: Law, arm: Robot | Tree, values: Mapping[str, Any], ref: Reference, memory: Mapping[str, Any] | None
) -> tuple[dict[str, Any], dict[str, Array], dict[str, Any]]:
    n = as_tree(arm).n
    parts = [_sized(part, n, f"ref.{label}") for part, label in zip(ref, Reference._fields, strict=True)]
    signals: dict[str, Any] = {"arm": arm, "ref": Reference(*parts)}
    for label, value in values.items():
        if value is not None:
            signals[label] = _sized(value, {"q": n, "qd": n, "wrench": 6}.get(label, 0), label)
    kept: dict[str, Any] = initial_memory(law, n)
    for label, value in (memory or {}).items():
        if label not in kept:
            raise InputError(f"law {law.name!r}: no memory {label!r}; it has {', '.join(kept) or 'none'}")
        kept[label] = _frozen(value, label)
    return signals, check_gains(law, n), kept


def _sized(value: Any, size: int, what: str) -> Any:
    array = _frozen(value, what)
    if array.shape != ((size,) if size else ()):
        raise InputError(f"{what}: expected {f'shape ({size},)' if size else 'a scalar'}, got {array.shape}")
    return array if size else float(array)


@names_culprit
def evaluate(
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

    Returns:
        (tau (n,), memory for the next call).
    """
    law = as_law(law)
    return run(law, *_instant(law, arm, {"t": t, "q": q, "qd": qd, "dt": dt, "wrench": wrench}, ref, memory))


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
    """Evaluate the law's Lyapunov or storage function on floats; arguments as in `evaluate`."""
    return float(run_storage(law, *_instant(law, arm, {"t": t, "q": q, "qd": qd}, ref, memory)))
