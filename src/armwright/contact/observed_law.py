# SPDX-License-Identifier: Apache-2.0
"""A law that feels through an observer: the observer runs within the law, as a part of its memory.

At tick k the law is handed what the observer made of everything up to tick k − 1; then the observer sees this tick's
measurements and torque. So a law that names ``tau_ext`` is a law like any other afterwards: it is traced, compiled,
exported, and judged for stability together with what it feels with.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from armwright.arguments import names_culprit
from armwright.contact.monitor import SIGNALS, Monitor, run
from armwright.control.law import Law, as_law
from armwright.errors import InputError
from armwright.graph.by_name import call_by_name
from armwright.pickling import Rebuilt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FELT = "felt_torque"
"""Memory that holds the estimate for the next tick (n,) [N m]."""
PREFIX = "observer_"
OWN = ("arm", "t", "dt", "q", "qd", "tau")
"""Signals that an observer within a law may read: a law may follow a reference of its own."""


def names_torque(law: Law) -> bool:
    """Return whether a law wants to be told ``tau_ext``."""
    return "tau_ext" in inspect.signature(law.function).parameters


@dataclass(frozen=True)
class ObservedFunction(Rebuilt):
    """The function of a law with its observer: called with what its signature names, as the law's own would be."""

    function: Callable[..., Any]
    observer: Monitor
    title: str

    @property
    def __signature__(self) -> inspect.Signature:
        """What the law names, what the observer names, and the memory of both."""
        own = [label for label in inspect.signature(self.function).parameters if label != "tau_ext"]
        seen = [label for label in self.observer.wants if label != "tau"]
        names = dict.fromkeys([*own, *seen, FELT, *(PREFIX + label for label in self.observer.memory)])
        optional = {k for k, p in inspect.signature(self.function).parameters.items() if p.default is not p.empty}
        kind = inspect.Parameter.KEYWORD_ONLY
        return inspect.Signature(
            [inspect.Parameter(k, kind, default=None if k in optional else inspect.Parameter.empty) for k in names]
        )

    def __call__(self, **values: Any) -> tuple[Any, dict[str, Any]]:
        """Return the torque and the memory of law and observer."""
        answer: Any = call_by_name(self.function, {**values, "tau_ext": values[FELT]}, self.title)
        tau, kept = answer if isinstance(answer, tuple) else (answer, {})
        memory = {label: values[PREFIX + label] for label in self.observer.memory}
        signals = {label: values[label] for label in SIGNALS if label in values}
        outputs, new = run(self.observer, {**signals, "tau": tau}, memory)
        return tau, {**kept, FELT: outputs["tau_ext"], **{PREFIX + label: value for label, value in new.items()}}


@names_culprit
def with_observer(law: Law | Callable[..., Any], observer: Monitor) -> Law:
    """Return a law that names ``tau_ext`` together with the observer that tells it, as one law.

    Args:
        law: such as ``admittance(…, feel="observer")``, or a function of your own with a parameter ``tau_ext``.
        observer: with an output ``tau_ext``, such as ``momentum_observer(100.0)``. One that reads the reference is
            refused: the law may follow a reference of its own.

    >>> law = with_observer(admittance(kp, kd, 100.0, feel="observer"), momentum_observer(100.0))
    """
    law = as_law(law)
    if not names_torque(law):
        raise InputError(f"with_observer: {law.title} has no parameter tau_ext, so it would not hear the observer")
    if not isinstance(observer, Monitor) or "tau_ext" not in observer.outputs:
        raise InputError("with_observer: expected a monitor with the output tau_ext, such as momentum_observer(100.0)")
    strange = [label for label in observer.wants if label not in OWN]
    if strange:
        raise InputError(
            f"with_observer: {observer.title} reads {', '.join(strange)}; within a law it can read {', '.join(OWN)}: "
            "momentum_observer, momentum_kalman_observer and disturbance_observer do"
        )

    def together(function: Callable[..., Any]) -> ObservedFunction:
        return ObservedFunction(function, observer, law.title)

    memory = {**law.memory, FELT: 0.0, **{PREFIX + label: value for label, value in observer.memory.items()}}
    other = law.cancelling
    cancelling = None if other is None else (lambda how: together(other(how)))
    return replace(law, function=together(law.function), memory=memory, cancelling=cancelling)


def told_by(law: Law, monitors: Sequence[Monitor]) -> Law:
    """Return the law with the first of the monitors that estimates ``tau_ext``, if it wants to be told that."""
    if not names_torque(law):
        return law
    observers = [monitor for monitor in monitors if "tau_ext" in monitor.outputs]
    if not observers:
        raise InputError(
            f"{law.title} feels through an observer (tau_ext) and there is none: give monitors=[momentum_observer(…)], "
            "or armwright.contact.with_observer(law, momentum_observer(…)) in place of the law"
        )
    return with_observer(law, observers[0])
