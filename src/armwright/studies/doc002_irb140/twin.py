# SPDX-License-Identifier: Apache-2.0
"""The same closed loop twice, by Newton–Euler and by exponentials, through the same integrator (section 6.1).

Only the derivative differs: `ExponentialArm` gets M and the torque of a motion from the screws of `dynamics.poe`.
Explicit steps of 0.1 ms resolve the fastest mode of the thesis's loop (−22,700 1/s).
"""

from __future__ import annotations

import time
from functools import cache
from typing import NamedTuple

import numpy as np

from armwright.control import pd_gravity
from armwright.control.law import run as run_law
from armwright.dynamics.poe import poe_forward, poe_mass
from armwright.graph.loop import CompiledLoop
from armwright.graph.loop_plan import LoopPlan, stage
from armwright.graph.traced_program import trace
from armwright.motion.trajectory import Reference
from armwright.robot.tree import tree_of
from armwright.simulation.integrators import method
from armwright.simulation.system import System
from armwright.studies.doc002_irb140.setting import RUNS, K_d, K_p, arm
from armwright.types import Array, Scalar, Traced

TWIN_STEP = 1e-4
TWIN_SUBSTEPS = 10


class ExponentialArm(System):
    """The arm by products of exponentials (section 4.2)."""

    def _mass(self, q: Traced) -> Traced:
        return poe_mass(self.tree, q)

    def derivative(self, t: Scalar, x: Traced) -> Traced:
        """Return ẋ = (q̇, M⁻¹(u − C q̇ − g)) with M, C and g from the screws."""
        n = self.n
        tau, rest, _ = self.torques(t, x)
        return np.concatenate([x[n : 2 * n], poe_forward(self.tree, x[:n], x[n : 2 * n], tau), *rest])


KINDS = {"Newton–Euler": System, "exponentials": ExponentialArm}


@cache
def _plan(kind: str) -> LoopPlan:
    """Return one step of the arm under a constant torque plus, where `closed` is 1, PD and gravity compensation."""
    tree = tree_of(arm(), regroup=kind == "Newton–Euler")
    law, integrate = pd_gravity(K_p, K_d), method("rk4").step
    model, still = tree_of(arm(), regroup=True), np.zeros(6)

    def step(x: Traced, target: Traced, torque: Traced, closed: Traced) -> Traced:
        def command(t: Traced, q: Traced, qd: Traced) -> Traced:
            signals = {"arm": model, "t": t, "q": q, "qd": qd, "ref": Reference(target, still, still), "dt": TWIN_STEP}
            return torque + closed[0] * run_law(law, signals, law.gains, {})[0]

        return integrate(KINDS[kind](tree, command), 0.0, x, TWIN_STEP)[0]

    slots = {"x": 12, "target": 6, "torque": 6, "closed": 1}
    program = trace(step, {name: (size,) for name, size in slots.items()}, name="step")
    advance = stage(program, "inside", writes={program.outputs[0].name: "x"})
    return LoopPlan(slots, (advance,), record=("x",), state=("x",))


class Twin(NamedTuple):
    """Trajectories (runs, T, 6) every millisecond, wall time of one pass, derivative evaluations, steps."""

    time: Array
    q: Array
    seconds: float
    evaluations: int


def run_twin(kind: str, starts: Array, targets: Array, duration: float, *, closed: bool = True) -> Twin:
    """Integrate lanes of the loop, or of the arm under constant torque.

    Args:
        kind: "Newton–Euler" or "exponentials".
        starts: initial positions (runs, 6), at rest.
        targets: set points (runs, 6), or torques (runs, 6) if the loop is open.
        duration: [s].
        closed: whether PD + gravity acts.
    """
    loop = CompiledLoop(_plan(kind), len(starts))
    ticks = round(duration / (TWIN_STEP * TWIN_SUBSTEPS))
    loop.set("x", np.concatenate([starts, np.zeros_like(starts)], axis=1))
    loop.set("target" if closed else "torque", targets)
    loop.set("closed", [1.0 if closed else 0.0])
    begin = time.perf_counter()
    record, _ = loop.run(ticks, substeps=TWIN_SUBSTEPS)
    seconds = time.perf_counter() - begin
    instants = np.arange(ticks, dtype=np.float64) * (TWIN_STEP * TWIN_SUBSTEPS)
    return Twin(instants, record[:, :, :6], seconds, 4 * ticks * TWIN_SUBSTEPS)


@cache
def closed_twins() -> dict[str, Twin]:
    """Return CL1–CL3 by both formulations."""
    starts = np.array([run.q_init for run in RUNS.values()])
    targets = np.array([run.q_ref for run in RUNS.values()])
    return {kind: run_twin(kind, starts, targets, 5.0) for kind in KINDS}
