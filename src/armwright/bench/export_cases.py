# SPDX-License-Identifier: Apache-2.0
"""What leaves the computer, timed: a tick of law and observer in C, and the closed loop in WebAssembly.

The WebAssembly runs the loop of `loop_task`, reference rows given at every tick; beside it the same program, built
strictly, in machine code of this machine.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.bench.compiled_rows import ROWS_NOTE, CompiledRows
from armwright.bench.export_task import COMPARED_TICKS, GIVEN, OBSERVER_GAIN
from armwright.bench.loop_task import CHECKED_TICKS, KD, KP, PERIOD, TICKS
from armwright.bench.node_loop import NodeLoop
from armwright.bench.prepare_arms import arm
from armwright.bench.protocol import case, leave_out
from armwright.contact.observers import momentum_observer
from armwright.control import computed_torque
from armwright.graph.loop import CompiledLoop
from armwright.simulation.artefact import export

if TYPE_CHECKING:
    from armwright.types import Array

REFERENCE = ("q_ref", "qd_ref", "qdd_ref")
_ROWS = b"""\
#include "touch.h"
#include <string.h>

void rows(long ticks, const double *in, double *out)
{
    touch_state state;
    touch_input input;
    touch_output output;
    long k;

    touch_init(&state);
    for (k = 0; k < ticks; ++k) {
        memcpy(&input, in + k * (long)(sizeof input / sizeof *in), sizeof input);
        touch_step(&state, &input, &output);
        memcpy(out + k * (long)(sizeof output / sizeof *out), &output, sizeof output);
    }
}
"""
_LOOP = """\
import * as arm from "./arm.mjs";
export async function open(task) {
  const { at, run, reset } = await arm.open();
  const rows = (name) => task[name].map((row) => Float64Array.from(row));
  const q_ref = rows("q_ref"), qd_ref = rows("qd_ref"), qdd_ref = rows("qdd_ref");
  return (ticks) => {
    reset();
    for (let k = 0; k < ticks; ++k) {
      at.q_ref.set(q_ref[k]);
      at.qd_ref.set(qd_ref[k]);
      at.qdd_ref.set(qdd_ref[k]);
      run(1);
    }
    return [...at.q, ...at.qd];
  };
}
"""


def register(folder: Path, task: dict[str, Any]) -> None:
    """Register this library's cases."""
    robot, law = arm("ur5"), computed_torque(KP, KD)
    made = export([robot, law, momentum_observer(OBSERVER_GAIN)], to="c", rate=1.0 / PERIOD, name="touch")
    assert tuple(port.name for port in made.program.inputs) == GIVEN
    try:
        ticks = CompiledRows(folder / "export" / "c", {**made.files, "rows.c": _ROWS}, task["rows"], 12)
    except LookupError as error:
        leave_out("export/c_tick", str(error))
    else:
        got = ticks()[:COMPARED_TICKS].copy()
        case("export/c_tick", ticks, task["made"], got=got, items=len(task["rows"]), note=ROWS_NOTE)
    q0 = task["q0"]
    whole = export([robot, law], "tick", to="wasm", rate=1.0 / PERIOD, name="arm", q0=q0)
    whole.write(folder / "export" / "wasm")
    try:
        loop = NodeLoop(folder / "export" / "wasm", _LOOP, {name: task[name] for name in REFERENCE})
    except LookupError as error:
        leave_out("export/wasm_tick", str(error))
    else:
        note = f"WebAssembly in Node {loop.version}, {int(whole.figures['bytes'])} bytes"
        got = loop(CHECKED_TICKS)
        case("export/wasm_tick", lambda: loop(TICKS), task["state"], got=got, items=TICKS, note=note)
    native = CompiledLoop(whole.program.plan, strict=True)
    table = np.hstack([task[name] for name in REFERENCE])

    def run(ticks: int = TICKS) -> Array:
        for name, value in whole.program.starts.items():
            native.set(name, value.ravel())
        native.run(ticks, shared=table[:ticks])
        return np.concatenate([native.get("q")[0], native.get("qd")[0]])

    case("export/native_tick", run, task["state"], got=run(CHECKED_TICKS), items=TICKS, note="strict machine code")
