# SPDX-License-Identifier: Apache-2.0
"""A closed loop in WebAssembly: a script in Node that runs ticks from the start whenever it is asked to.

The script exports `open(task)`, which returns a function of a number of ticks that starts anew and returns the state
(q, q̇). The task is what everyone gets: reference rows and the posture at the start.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from armwright.types import Array

_SERVER = """\
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { open } from "./loop.mjs";
const run = await open(JSON.parse(readFileSync(new URL("./task.json", import.meta.url))));
process.stdout.write(process.version + "\\n");
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(Array.from(run(Number(line)))) + "\\n");
}
"""


def _end(process: subprocess.Popen[str]) -> None:
    with process:  # closes the pipes, which ends it, and waits
        pass


class NodeLoop:
    """A process of Node beside this one; it ends with this object, or with the process whose pipe it reads."""

    def __init__(self, folder: Path, script: str, task: Mapping[str, Any]) -> None:
        """Start; LookupError without Node or if the script fails.

        Args:
            folder: where `script` (as loop.mjs) and its task are written; what else it imports is there already.
            script: JavaScript, see above.
            task: arrays by name.
        """
        program = shutil.which("node")
        if program is None:
            raise LookupError("Node is not installed")
        (folder / "loop.mjs").write_text(script, encoding="utf-8")
        (folder / "serve.mjs").write_text(_SERVER, encoding="utf-8")
        arrays = {name: np.asarray(value).tolist() for name, value in task.items()}
        (folder / "task.json").write_text(json.dumps(arrays), encoding="utf-8")
        words = [program, str(folder / "serve.mjs")]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._end = weakref.finalize(self, _end, self._process)
        self.version = self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise LookupError(f"Node ended with code {self._process.wait()}")
        return line.strip()

    def __call__(self, ticks: int) -> Array:
        """Run ticks from the start; return the state (12,)."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{ticks}\n")
        self._process.stdin.flush()
        return np.array(json.loads(self._answer()))
