# SPDX-License-Identifier: Apache-2.0
"""A law compiled by itself: for a controller outside the simulation, for derivatives, and to look at its equations."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from armwright.arguments import names_culprit
from armwright.control.law import Law, as_law, check_gains, run
from armwright.control.tick_function import initial_memory
from armwright.errors import InputError
from armwright.graph.kernel import compile_function
from armwright.graph.purity import traced_purely
from armwright.motion.reference import Reference
from armwright.robot.tree import Tree, tree_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from armwright.graph.kernel import Kernel
    from armwright.robot.model import Robot
    from armwright.types import Traced


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

    def control(**values: Any) -> Traced:
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
