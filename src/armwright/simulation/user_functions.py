# SPDX-License-Identifier: Apache-2.0
"""The user's functions in a loop: each is traced alone before the loop is, to see whether it keeps state in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.graph.loop_plan import traced_stage
from armwright.graph.purity import is_trusted, traced_purely
from armwright.simulation.loop_stages import law_stage, monitor_stage
from armwright.simulation.step_stages import outer

if TYPE_CHECKING:
    from armwright.graph.loop_plan import Stage
    from armwright.simulation.loop_stages import Ingredients


def _digest(part: Stage) -> str:
    return part.program.digest


def pure_law_stage(parts: Ingredients) -> Stage:
    """Return `law_stage`; raise `TraceError` if the law cannot be traced, `StatefulError` if that would freeze it."""
    return traced_purely([parts.law.function], lambda: law_stage(parts), _digest, f"law {parts.law.name!r}")


def require_pure_surroundings(parts: Ingredients) -> None:
    """Raise `StatefulError` if a monitor, an event, or a force from outside keeps state: Python cannot call these."""
    if parts.monitors:
        names = ", ".join(monitor.name for monitor in parts.monitors)
        functions = [monitor.function for monitor in parts.monitors]
        traced_purely(functions, lambda: monitor_stage(parts), _digest, f"monitors ({names}): one of them")
    for name, function in parts.events.items():
        _require_pure(parts, function, f"event {name!r}", ())
    _require_pure(parts, parts.wrenches, "simulate: wrench", (6,), (parts.lanes.tree.nb, 6))
    _require_pure(parts, parts.external, "simulate: external", (parts.n,))


def _require_pure(parts: Ingredients, function: Any, what: str, *shapes: tuple[int, ...]) -> None:
    """Trace a function of (arm, t, q, qd, inputs) alone."""
    if is_trusted(function):
        return
    tree, n = parts.lanes.tree, parts.n

    def alone(s: dict[str, Any]) -> dict[str, Any]:
        inputs = {name: s[f"input_{name}"] for name in parts.inputs}
        signals = {"arm": tree, "t": s["t"][0], "q": s["q"], "qd": s["qd"], **inputs}
        return {"value": np.ravel(outer(function, signals, what, *shapes))}

    slots = {"t": (1,), "q": (n,), "qd": (n,)} | {f"input_{name}": shape for name, shape in parts.inputs.items()}
    traced_purely([function], lambda: traced_stage(alone, slots, "alone"), lambda made: made.digest, what)
