# SPDX-License-Identifier: Apache-2.0
"""Benchmark of Algorithm 1 of 001 on its demonstration of 884 cycles: one run, lanes of variants, the monitor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.bench.protocol import case
from armwright.graph.loop import CompiledLoop
from armwright.programs.motors import Algorithm, MotorMonitor, cycle_plan, find_rule, run_motors, run_variants
from armwright.studies.doc001_erfd import demo
from armwright.studies.doc001_erfd.setting import CYCLE_SECONDS, arm

if TYPE_CHECKING:
    from armwright.programs.motors.motor_demand import Demand
    from armwright.programs.motors.motor_monitor import Reading
    from armwright.types import Array


VARIANTS = 256


class Repeated:
    """The compiled loop alone, from the same start again and again."""

    def __init__(self, rule: str, demand: Demand) -> None:
        plan = cycle_plan(arm(), CYCLE_SECONDS, Algorithm(rule=find_rule(rule)), inputs=("wrench",)).loop
        self.loop = CompiledLoop(plan, 1)
        self.table = np.concatenate([demand.q[1:], demand.wrench], axis=1)
        self.start = demand.q[0]
        self.out = np.empty((1, demand.cycles, len(plan.record_slots)))

    def __call__(self) -> Array:
        for name, value in (("q", self.start), ("qd", np.zeros(6)), ("heat", np.zeros(6)), ("wish", self.start)):
            self.loop.set(name, value)
        self.loop.run(len(self.table), shared=self.table, out=self.out)
        return self.out[0, -1, :6]


def register() -> None:
    """Register the cases."""
    demand = demo.demand().held(100)
    for rule in ("full", "partitioned"):
        run = run_motors(arm(), demand, rule)
        note = f"{demand.cycles} cycles, compiled loop"
        case(f"loop/motors_{rule}", Repeated(rule, demand), run.q[-1], note=note)
    friction = np.linspace(0.5, 1.5, VARIANTS)
    one = run_motors(arm(), demand, friction=friction[7])
    case(
        "loop/motor_variants",
        lambda: run_variants(arm(), demand, friction=friction),
        one.q[-1],
        got=run_variants(arm(), demand, friction=friction)[7].q[-1],
        items=VARIANTS,
        tolerance=1e-6,
        note=f"{VARIANTS} variants, per variant, whole call",
    )
    watch = MotorMonitor(arm(), CYCLE_SECONDS, inputs=("wrench",))
    at = {"k": 0}

    def sample() -> Reading:
        k = at["k"] = at["k"] + 1
        row = k % demand.cycles
        return watch(k * CYCLE_SECONDS, demand.q[row], demand.wrench[row])  # type: ignore[index]

    watch(0.0, demand.q[0])
    case("loop/motor_monitor", sample, demand.cycles, got=demand.cycles, note="one sample")
