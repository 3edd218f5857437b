# SPDX-License-Identifier: Apache-2.0
"""A monitor: a pure NumPy function of one control tick that watches the arm, such as an observer or a detector.

The function names what it wants and is given just that. Signals are

    arm    the monitor's model of the robot (`Robot` or `Tree`)        t, dt  time and control period [s]
    q, qd  measured joint positions and velocities (n,)                tau    torque commanded at this tick (n,)
    q_ref, qd_ref, qdd_ref  desired motion (n,)

every other parameter is a gain, a piece of memory, or an output of an earlier monitor (a detector reads the observer's
``tau_ext``). It returns a dictionary of outputs and new memory. At tick k the torque ``tau`` is about to be held until
tick k + 1; what moved the arm until now is the torque of tick k − 1, which an observer has to remember.

An output ``alarm`` (scalar) is ≥ 0 in alarm, < 0 when quiet. External torque ``tau_ext`` is what the world does to the
arm, +JᵀF: M q̈ + C q̇ + g + friction = tau + tau_ext.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

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
from armwright.robot.tree import as_tree

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree

SIGNALS = ("arm", "t", "dt", "q", "qd", "q_ref", "qd_ref", "qdd_ref", "tau")


@dataclass(frozen=True, eq=False, repr=False)
class Monitor(TickFunction):
    """An observer or a detector.

    Attributes:
        name: for messages and recordings.
        function: see the module text.
        gains: scalars or arrays, constants of the compiled loop but for those in `vary`.
        memory: initial values. A scalar stands for one value per joint and is stretched to (n,); other shapes are kept
            (a single flag is written ``[0.0]``).
        outputs: names of what the function returns in addition to its memory, such as ``("tau_ext",)``.
        doc: equations and claim.
        vary: names of gains that the compiled loop reads at every tick, so that they may change while it runs.
    """

    kind: ClassVar[str] = "monitor"
    signals: ClassVar[tuple[str, ...]] = SIGNALS

    outputs: tuple[str, ...] = ()
    doc: str = ""
    vary: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Freeze the arrays and refuse names that clash or are not used."""
        object.__setattr__(self, "outputs", tuple(self.outputs))
        super().__post_init__()
        if not self.outputs:
            raise InputError(f"{self.title}: name at least one output, such as outputs=('tau_ext',)")
        object.__setattr__(self, "vary", tuple(self.vary))
        refuse_unknown(self, "gain", dict.fromkeys(self.vary), self.gains)

    def further_names(self) -> tuple[str, ...]:
        """The outputs."""
        return self.outputs

    @property
    def wants(self) -> tuple[str, ...]:
        """Signals and outputs of earlier monitors that the function needs."""
        own = {*self.gains, *self.memory}
        parameters = inspect.signature(self.function).parameters.items()
        return tuple(label for label, p in parameters if label not in own and p.default is p.empty)


def as_chain(monitors: Monitor | Sequence[Monitor]) -> tuple[Monitor, ...]:
    """Return monitors in the order in which they run; check that each finds what it reads and that names are unique."""
    chain = (monitors,) if isinstance(monitors, Monitor) else tuple(monitors)
    if not chain:
        raise InputError("monitors: none given")
    known: set[str] = set(SIGNALS)
    for monitor in chain:
        if not isinstance(monitor, Monitor):
            raise InputError(f"monitors: expected Monitor, got {type(monitor).__name__}")
        missing = [label for label in monitor.wants if label not in known]
        if missing:
            raise InputError(
                f"{monitor.title} reads {', '.join(missing)}: no gain, no memory, and no earlier monitor "
                f"gives it; known here: {', '.join(sorted(known))}"
            )
        known |= set(monitor.outputs)
    names = [monitor.name for monitor in chain]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"monitors: the name {', '.join(twice)} occurs twice; rename one with dataclasses.replace")
    return chain


def labels(chain: Sequence[Monitor]) -> dict[tuple[int, str], str]:
    """Return the recorded name of output o of monitor k, by (k, o): o, or "monitor.o" where several share it."""
    every = [output for monitor in chain for output in monitor.outputs]
    return {
        (k, output): output if every.count(output) == 1 else f"{monitor.name}.{output}"
        for k, monitor in enumerate(chain)
        for output in monitor.outputs
    }


def run(
    monitor: Monitor, signals: Mapping[str, Any], memory: Mapping[str, Any], gains: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Call one monitor with whatever it names, on floats or on symbols, and check what it returns.

    Args:
        monitor: the monitor.
        signals: values of `SIGNALS` and of the outputs of earlier monitors, at least those that it wants.
        memory: values of all its memory.
        gains: of those in place of its own.

    Returns:
        (outputs by name, new memory by name; what the function leaves out keeps its value).
    """
    result: Any = call(monitor, signals, {**monitor.gains, **(gains or {})}, memory)
    if (
        not isinstance(result, Mapping)
        or set(result) - {*monitor.outputs, *memory}
        or set(monitor.outputs) - set(result)
    ):
        got = ", ".join(result) if isinstance(result, Mapping) else type(result).__name__
        raise InputError(
            f"{monitor.title}: must return a dictionary with {', '.join(monitor.outputs)} "
            f"and memory ({', '.join(memory) or 'none declared'}), got {got}"
        )
    kept = new_memory(monitor, memory, {label: result[label] for label in memory if label in result})
    outputs = {label: result[label] for label in monitor.outputs}
    if "alarm" in outputs and np.shape(outputs["alarm"]) != ():
        raise InputError(f"{monitor.title}: alarm must be one number, got shape {np.shape(outputs['alarm'])}")
    return outputs, kept


def run_chain(
    chain: Sequence[Monitor],
    signals: Mapping[str, Any],
    memories: Sequence[Mapping[str, Any]],
    gains: Sequence[Mapping[str, Any]] | None = None,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Run monitors in order for one tick, each seeing the outputs of those before it; `gains` in place of their own.

    Returns:
        (outputs by recorded name, see `labels`; memory of each monitor).
    """
    known, out, kept = dict(signals), dict[str, Any](), list[dict[str, Any]]()
    names = labels(chain)
    for k, (monitor, memory) in enumerate(zip(chain, memories, strict=True)):
        outputs, new = run(monitor, known, memory, gains[k] if gains else None)
        known |= outputs
        out |= {names[k, label]: value for label, value in outputs.items()}
        kept.append(new)
    return out, kept


@names_culprit
def evaluate_monitor(
    monitors: Monitor | Sequence[Monitor],
    arm: Robot | Tree,
    signals: Mapping[str, Any],
    memories: Sequence[Mapping[str, Any]] | None = None,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Evaluate monitors at one tick on floats, as a controller in Python would.

    Args:
        monitors: one, or several in order.
        arm: the monitors' model.
        signals: ``t``, ``dt``, ``q``, ``qd``, ``tau`` and whatever else they name; arrays (n,).
        memories: what the last call returned; the initial memory if omitted.

    Returns:
        (outputs by recorded name, memory for the next call).

    >>> signals = {"t": 0.0, "dt": 0.001, "q": q, "qd": qd, "tau": tau}
    >>> outputs, memory = evaluate_monitor(momentum_observer(50.0), robot, signals)
    """
    chain = as_chain(monitors)
    n = as_tree(arm).n
    values: dict[str, Any] = {"arm": arm}
    for label, value in signals.items():
        array = finite_numbers(value, label)
        wanted = () if label in ("t", "dt") else (n,)
        if array.shape != wanted:
            raise InputError(f"{label}: expected shape {wanted}, got {array.shape}")
        values[label] = float(array) if wanted == () else array
    kept = memories or [initial_memory(monitor, n) for monitor in chain]
    return run_chain(chain, values, kept)


@names_culprit
def with_gains(monitor: Monitor, **gains: Any) -> Monitor:
    """Return the monitor with some gains changed.

    >>> slower = with_gains(momentum_observer(50.0), gain=20.0)
    """
    refuse_unknown(monitor, "gain", gains, monitor.gains)
    return replace(monitor, gains={**monitor.gains, **gains})
