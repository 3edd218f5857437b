# SPDX-License-Identifier: Apache-2.0
"""One integrator step as a kernel of its own: for laws that Python calls, and for finding an event within a step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from armwright.graph.kernel import make_kernel
from armwright.simulation.step_stages import step_program

if TYPE_CHECKING:
    from armwright.graph.program import Program
    from armwright.robot.model import Robot
    from armwright.simulation.loop_stages import Ingredients
    from armwright.types import Array


class StepCall:
    """The step kernel with its inputs in a fixed order, returning the next state only.

    Attributes:
        kernel: x, h, past, t, tau → outputs (for a held torque). index: of x among the outputs.
    """

    def __init__(self, kernel: Any, program: Program) -> None:
        """Look up the order of inputs and outputs."""
        self.kernel, self.single = kernel, kernel.program.single
        self.order = [s.name for s in program.inputs]
        self.index = [s.name for s in program.outputs].index("x")

    def by_name(self, slots: Mapping[str, Array]) -> Array:
        """Call with a dictionary of slots."""
        result = self.kernel(*(slots[name] for name in self.order))
        state: Array = result if self.single else result[self.index]
        return state


def step_call(robot: Robot, parts: Ingredients) -> StepCall:
    """Compile the step, or take the one that an earlier simulation of this robot compiled."""
    known = parts.step_key()

    def make(_: Robot) -> StepCall:
        program = step_program(parts)
        return StepCall(make_kernel(program, check_finite=False), program)

    return make(robot) if known is None else robot.memo(("step", *known), make)
