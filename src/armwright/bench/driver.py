# SPDX-License-Identifier: Apache-2.0
"""Interleaved measurement: one process per peer, one active at a time, random order, best of many rounds.

A machine's speed drifts over seconds. Measuring all of one library and then all of the next would compare
different machines; here every round visits every (peer, case) in a new random order.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import armwright

LIBRARY = str(Path(armwright.__file__).resolve().parents[1])  # workers measure the library that starts them
THREADS = ("ARMWRIGHT_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
ONE_THREAD = dict.fromkeys(THREADS, "1")


@dataclass
class PeerProcess:
    name: str
    process: subprocess.Popen[str]
    log: Path
    version: str = ""
    cases: dict[str, Any] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def ask(self, line: str) -> dict[str, Any] | None:
        """Send a line, return the answer, or None if the worker has died."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except OSError:
            return None
        answer = self.process.stdout.readline()
        return json.loads(answer) if answer else None


def greeting(lines: Iterable[str]) -> dict[str, Any] | None:
    """Return what a worker announces, or None if it never does; before it, libraries may print while they load."""
    return next((json.loads(line) for line in lines if line.startswith("{")), None)


def start(peer: str, folder: Path) -> PeerProcess | None:
    """Start one worker and wait until its cases are checked; None if the peer is not installed or fails."""
    log = folder / f"{peer}.log"
    path = [LIBRARY, *filter(None, [os.environ.get("PYTHONPATH")])]
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", f"armwright.bench.peer_{peer}", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=os.environ | ONE_THREAD | {"PYTHONPATH": os.pathsep.join(path)},
        )
    worker = PeerProcess(peer, process, log)
    assert process.stdout is not None
    answer = greeting(process.stdout)
    if answer is None:
        _stop(worker)
        return None
    worker.version, worker.cases, worker.left_out = answer["version"], answer["cases"], answer["left_out"]
    return worker


def measure(
    peers: Sequence[str],
    folder: Path,
    *,
    rounds: int,
    budget: float,
    seed: int = 0,
    tell: Callable[[str], None] = lambda text: None,
    wanted: Callable[[str], bool] = lambda case: True,
) -> dict[str, Any]:
    """Measure all wanted cases of all peers; times are seconds per evaluation.

    Returns:
        {"peers": {peer: version}, "skipped": {peer: reason}, "left_out": {peer: {case: reason}},
        "cases": {case: {peer: {...}}}}.
    """
    workers: list[PeerProcess] = []
    skipped: dict[str, str] = {}
    try:
        for peer in peers:
            worker = start(peer, folder)
            if worker is None:
                lines = (folder / f"{peer}.log").read_text(errors="replace", encoding="utf-8").strip().splitlines()
                skipped[peer] = lines[-1] if lines else "did not start"
                tell(f"{peer}: skipped ({skipped[peer]})")
            else:
                workers.append(worker)
                tell(f"{peer} {worker.version}: {len(worker.cases)} cases agree with the reference")
                for name, reason in worker.left_out.items():
                    tell(f"{peer}: {name} left out ({reason})")
        pairs = [(worker, name) for worker in workers for name in worker.cases if wanted(name)]
        times: dict[tuple[str, str], list[float]] = {(worker.name, name): [] for worker, name in pairs}
        order = random.Random(seed)
        for number in range(rounds):
            order.shuffle(pairs)
            for worker, name in pairs:
                answer = worker.ask(f"{name} {budget}")
                if answer is not None:
                    times[worker.name, name].append(answer["best"])
            tell(f"round {number + 1} of {rounds}")
    finally:
        for worker in workers:
            _stop(worker)
    cases: dict[str, dict[str, Any]] = {}
    for worker, name in sorted(pairs, key=lambda pair: (pair[1], pair[0].name)):
        series = times[worker.name, name]
        if series:
            cases.setdefault(name, {})[worker.name] = {
                "best": min(series),
                "median": statistics.median(series),
                **worker.cases[name],
            }
    versions = {worker.name: worker.version for worker in workers}
    left_out = {worker.name: worker.left_out for worker in workers if worker.left_out}
    return {"peers": versions, "skipped": skipped, "left_out": left_out, "cases": cases}


def _stop(worker: PeerProcess) -> None:
    process = worker.process
    with process:  # closes the pipes and waits
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
