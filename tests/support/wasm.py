# SPDX-License-Identifier: Apache-2.0
"""WebAssembly run by Node; tests that ask for it are skipped, and say so, where Node is not installed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from armwright.graph.emit.wasm_module import wasm_module
from armwright.graph.loop_plan import LoopPlan
from support.patience import PATIENCE

OLDEST_NODE = 16  # multi-value functions
RUNNER = """
const fs = require("fs"), [, , file] = process.argv;
const read = (name) => new Float64Array(new Uint8Array(fs.readFileSync(name)).buffer);
for (const job of JSON.parse(fs.readFileSync(file))) {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(job.wasm)), { math: Math });
  const slots = new Float64Array(exports.memory.buffer), table = read(job.table), record = [];
  slots.set(read(job.start));
  const width = job.shared.length;
  for (let tick = 0; tick < job.ticks; tick++) {
    job.shared.forEach((place, k) => { slots[place] = table[tick * width + k]; });
    exports.run(1);
    for (const name of job.after) exports[name]();
    for (const place of job.record) record.push(slots[place]);
  }
  fs.writeFileSync(job.out, Buffer.from(new Float64Array(record).buffer));
}
"""


class WasmRun(NamedTuple):
    """A plan, its rows of given values (T, shared), and the slots that do not start as zeros."""

    plan: LoopPlan
    rows: np.ndarray
    start: Mapping[str, Any] = {}


def node() -> str:
    """The program; skips the test without it."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("no Node: the program `node` is not installed")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.lstrip("v").split(".")[0]) < OLDEST_NODE:
        pytest.skip(f"Node {version} is older than {OLDEST_NODE}, which WebAssembly with several results needs")
    return program


def run_wasm(runs: Sequence[WasmRun], folder: Path) -> list[np.ndarray]:
    """What each plan records, (T, record), from modules of their own in one process."""
    program, jobs = node(), []
    for k, (plan, rows, start) in enumerate(runs):
        memory = np.zeros(plan.size)
        for name, value in start.items():
            memory[plan.positions((name,))] = np.ravel(value)
        job = {word: str(folder / f"{k}.{word}") for word in ("wasm", "table", "start", "out")}
        Path(job["wasm"]).write_bytes(wasm_module(plan))
        np.ascontiguousarray(rows, dtype="<f8").tofile(job["table"])
        memory.astype("<f8").tofile(job["start"])
        jobs.append({**job, "ticks": len(rows), "shared": plan.shared_slots, "record": plan.record_slots})
        jobs[-1]["after"] = [part.program.name for part in plan.stages if part.when == "after"]
    script, listed = folder / "runner.cjs", folder / "jobs.json"
    script.write_text(RUNNER, encoding="utf-8")
    listed.write_text(json.dumps(jobs), encoding="utf-8")
    done = subprocess.run([program, str(script), str(listed)], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return [np.fromfile(job["out"], dtype="<f8").reshape(len(r.rows), -1) for job, r in zip(jobs, runs, strict=True)]
