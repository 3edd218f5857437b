# SPDX-License-Identifier: Apache-2.0
"""A controller as WebAssembly, opened by the module that comes with it: the strict loop's numbers to the last bit."""

from __future__ import annotations

import json
import subprocess

import numpy as np

import armwright as aw
from armwright.contact.detectors import joint_detector
from armwright.contact.observers import momentum_observer
from armwright.control import pid
from armwright.simulation.artefact.exercise import exercise
from support.patience import PATIENCE
from support.wasm import node

DRIVER = """
import { open, PERIOD } from "./arm.mjs";
import { readFileSync, writeFileSync } from "node:fs";
const { inputs, gains } = JSON.parse(readFileSync(new URL("./given.json", import.meta.url)));
const { at, run, reset } = await open();
run(3);
reset();
for (const [name, values] of Object.entries(gains)) at[name].set(values);
const made = { period: PERIOD, tau: [], tau_ext: [], alarm: [] };
for (let k = 0; k < inputs.q.length; k++) {
  for (const [name, rows] of Object.entries(inputs)) at[name].set(rows[k]);
  run(1);
  for (const name of ["tau", "tau_ext", "alarm"]) made[name].push(Array.from(at[name]));
}
writeFileSync(new URL("./made.json", import.meta.url), JSON.stringify(made));
"""


def test_a_controller_is_opened_by_its_module(tmp_path):
    monitors = (momentum_observer(30.0), joint_detector(2.0))
    loop = aw.Loop.of(aw.load("planar2"), pid(100.0, 50.0, 20.0), monitors=monitors, rate=500.0)
    artefact = aw.export(loop, to="wasm", tune=["gains"], name="arm", q0=[0.3, -0.4])
    artefact.write(tmp_path)
    assert artefact.figures["bytes"] == (tmp_path / "arm.wasm").stat().st_size
    inputs = exercise(artefact.program, 200)
    gains = {"gain_kp": np.array([150.0, 120.0])}
    given = {"inputs": inputs, "gains": gains}
    text = json.dumps(given, default=lambda rows: rows.tolist())
    (tmp_path / "given.json").write_text(text, encoding="utf-8")
    (tmp_path / "driver.mjs").write_text(DRIVER, encoding="utf-8")
    words = [node(), str(tmp_path / "driver.mjs")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / "made.json").read_text(encoding="utf-8"))
    expected = artefact.program.run(inputs, start=gains)
    assert made["period"] == 0.002
    for name in ("tau", "tau_ext", "alarm"):
        np.testing.assert_array_equal(np.reshape(made[name], expected[name].shape), expected[name], err_msg=name)
    text = (tmp_path / "arm.mjs").read_text(encoding="utf-8")
    assert "q_ref (2,) [rad]: desired positions" in text
