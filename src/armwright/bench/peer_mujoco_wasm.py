# SPDX-License-Identifier: Apache-2.0
"""Worker for MuJoCo's own WebAssembly: the closed loop of `loop_task` in Node, mj_inverse and mj_step as in Python.

npm install --ignore-scripts --prefix <environment>/node @mujoco/mujoco
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from armwright.bench.export_task import load_export
from armwright.bench.loop_task import CHECKED_TICKS, KD, KP, PERIOD, TICKS
from armwright.bench.node_loop import NodeLoop
from armwright.bench.protocol import case, serve, setup

PACKAGE = Path(sys.prefix) / "node" / "node_modules" / "@mujoco" / "mujoco"
LOOP = """\
import { pathToFileURL } from "node:url";
export async function open(task) {
  const { default: load } = await import(pathToFileURL(task.module));
  const mj = await load();
  const model = mj.MjModel.from_xml_string(task.xml);
  model.opt.timestep = task.period;
  model.opt.integrator = mj.mjtIntegrator.mjINT_RK4.value;
  const body = new mj.MjData(model), mind = new mj.MjData(model);
  const { qpos, qvel, qfrc_applied: force } = body;
  const { qpos: position, qvel: velocity, qacc: acceleration, qfrc_inverse: needed } = mind;
  const rows = (name) => task[name].map((row) => Float64Array.from(row));
  const q = rows("q_ref"), qd = rows("qd_ref"), qdd = rows("qdd_ref");
  return (ticks) => {
    body.time = 0;
    qpos.set(task.q0);
    qvel.fill(0);
    for (let k = 0; k < ticks; ++k) {
      const a = q[k], b = qd[k], c = qdd[k];
      for (let i = 0; i < 6; ++i) {
        position[i] = qpos[i];
        velocity[i] = qvel[i];
        acceleration[i] = c[i] + task.kp * (a[i] - qpos[i]) + task.kd * (b[i] - qvel[i]);
      }
      mj.mj_inverse(model, mind);
      force.set(needed);
      mj.mj_step(model, body);
    }
    return [...qpos, ...qvel];
  };
}
"""


def main() -> None:
    folder, _ = setup()
    version, task = "", load_export(folder)
    if task is not None:
        about = PACKAGE / "package.json"
        if not about.exists():
            raise SystemExit(f"npm's @mujoco/mujoco is not in {PACKAGE.parents[2]}")
        version = json.loads(about.read_text(encoding="utf-8"))["version"]
        given = {
            "module": str(PACKAGE / "mujoco.js"),
            "xml": (folder / "ur5.xml").read_text(encoding="utf-8"),
            "kp": KP,
            "kd": KD,
            "period": PERIOD,
            **{name: task[name] for name in ("q0", "q_ref", "qd_ref", "qdd_ref")},
        }
        place = folder / "export" / "mujoco"
        place.mkdir()
        loop = NodeLoop(place, LOOP, given)
        note = f"WebAssembly in Node {loop.version}, mj_inverse and mj_step"
        case("export/wasm_tick", lambda: loop(TICKS), task["state"], got=loop(CHECKED_TICKS), items=TICKS, note=note)
    serve(version)


if __name__ == "__main__":
    main()
