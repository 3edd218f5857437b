# SPDX-License-Identifier: Apache-2.0
"""The whole benchmark: prepare the arms, measure interleaved, measure processes, write one JSON file."""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from armwright.bench.bench_figures import campaign_lines, loop_lines
from armwright.bench.driver import measure
from armwright.bench.export_task import prepare_export
from armwright.bench.learning_cases import prepare_learning
from armwright.bench.loop_task import prepare_task
from armwright.bench.prepare_arms import prepare
from armwright.bench.process import process_figures
from armwright.errors import ArmwrightError
from armwright.files import write_file

PEERS = ("armwright", "pin", "mujoco", "casadi", "rtb", "crocoddyl", "jax", "mjx", "mujoco_wasm")
ARMS = ("ur5", "n30", "n50")
TASKS = ("loop", "learn", "export")  # parts whose cases have their names in front
PARTS = ("core", "loop", "plan", "learn", "export", "identify", "campaigns")


def machine() -> dict[str, Any]:
    """Return what the figures were taken on."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            model = next(line.split(":", 1)[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_average_at_start": load,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def ratios(result: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return how many times faster than each peer, per case.

    A peer that only has preset buffers (``single_out``) is compared with our ``single_out``; one that only returns new
    arrays is compared with our ``single``.
    """
    table: dict[str, dict[str, float]] = {}
    for name, entries in result["cases"].items():
        if "armwright" in entries:
            ours = entries["armwright"]["best"]
            table[name] = {peer: entry["best"] / ours for peer, entry in entries.items() if peer != "armwright"}
    return table


def part(case: str) -> str:
    """Return the part of the benchmark that a case belongs to."""
    first = case.split("/")[0]
    return first if first in TASKS else "core"


def planning(rounds: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Return figures of planning in joint space against OMPL; empty, with the reason told, where that is missing."""
    try:
        from armwright.bench.arm_planning import planning_figures

        return planning_figures(problems=2 * rounds, tell=tell)
    except ImportError as error:
        tell(f"planning: skipped ({error})")
        return {}


def inverse(rounds: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Return figures of inverse kinematics against others, in this process; empty, with the reason told, on failure."""
    from armwright.bench.inverse_kinematics import inverse_figures

    try:
        return inverse_figures(targets=5 * rounds, tell=tell)
    except Exception as error:  # whatever another library raises must not lose what was measured before
        tell(f"inverse kinematics: skipped ({type(error).__name__}: {error})")
        return {}


def identification(tell: Callable[[str], None]) -> dict[str, Any]:
    """Return figures of identification against others, in this process; empty, with the reason told, on failure."""
    from armwright.bench.identification_peers import identification_figures

    try:
        return identification_figures(tell=tell)
    except Exception as error:  # whatever another library raises must not lose what was measured before
        tell(f"identification: skipped ({type(error).__name__}: {error})")
        return {}


def campaigns(folder: Path, largest: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Return what campaigns cost (Linux); empty, with the reason told, where that cannot be measured."""
    try:
        from armwright.bench.campaign_costs import campaign_figures

        return campaign_figures(largest, place=folder, tell=tell)
    except (ImportError, OSError, RuntimeError, ArmwrightError) as error:
        tell(f"campaigns: skipped ({error})")
        return {}


def run(
    out: Path,
    *,
    rounds: int = 25,
    budget: float = 0.04,
    peers: Sequence[str] = PEERS,
    arms: Sequence[str] = ARMS,
    parts: Sequence[str] = PARTS[:-1],
    calls: int = 1_000_000,
    repeats: int = 7,
    detections: int = 100_000,
    tell: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Measure everything and write `out`; returns what was written."""
    started = machine()
    result: dict[str, Any] = {"peers": {}, "skipped": {}, "cases": {}}
    with tempfile.TemporaryDirectory(prefix="armwright-bench-") as name:
        folder = Path(name)
        if {"core", *TASKS} & set(parts):
            tell("preparing arms and reference results")
            prepare(folder, arms)
            if "loop" in parts:
                prepare_task(folder)
            if "learn" in parts:
                prepare_learning(folder)
            if "export" in parts:
                prepare_export(folder)
            result = measure(
                peers, folder, rounds=rounds, budget=budget, tell=tell, wanted=lambda name: part(name) in parts
            )
        many = campaigns(folder, detections, tell) if "campaigns" in parts else {}
    planned = planning(rounds, tell) if "plan" in parts else {}
    solved = inverse(rounds, tell) if "plan" in parts else {}
    identified = identification(tell) if "identify" in parts else {}
    tell("whole processes and memory")
    figures = process_figures(repeats=repeats, calls=calls, parts=parts)
    document = {
        "machine": started,
        "rounds": rounds,
        "budget": budget,
        **result,
        "ratios": ratios(result),
        "process": figures,
        "planning": planned,
        "inverse": solved,
        "identification": identified,
        "campaigns": many,
    }
    document["loop"] = loop_lines(document)
    document["campaign_lines"] = campaign_lines(many) if many else []
    write_file(out, json.dumps(document, indent=2) + "\n")
    tell(f"wrote {out}")
    return document
