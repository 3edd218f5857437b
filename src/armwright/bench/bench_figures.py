# SPDX-License-Identifier: Apache-2.0
"""Measured figures in the documentation, and the promises about speed as a table.

`loop_lines` and `campaign_lines` put what was measured next to what was promised. As a program it puts the tables into
files:

python -m armwright.bench.bench_figures out/bench.json docs/speed.md

Each file has two marker lines; what stands between them is replaced. Figures are never typed by hand.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

Row: TypeAlias = tuple[str, float | None, str, str, float | None]
"""Line, figure, unit, ">=" or "<=", promise."""
SECONDS = {"loop/irb140": 5.0, "loop/irb140_exponentials": 5.0, "loop/explore_000": 35.3}  # simulated; the others 2 s


def loop_lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return rows {line, figure, unit, target, met} of loop and planning; what was not measured is left out.

    `target` is a text; `met` is None where nothing was promised.
    """
    cases, process, planned = result["cases"], result.get("process", {}), result.get("planning", {})
    solved = result.get("inverse", {})
    check = planned.get("check", {"armwright": float("nan"), "coal": float("nan")})

    def best(name: str, peer: str = "armwright") -> float:
        return float(cases.get(name, {}).get(peer, {}).get("best", float("nan")))

    def versus(name: str, peer: str) -> float:
        return best(name, peer) / best(name)

    def ready(name: str, peer: str) -> float:
        return float(cases.get(name, {}).get(peer, {}).get("ready", float("nan")))

    def inverse(name: str) -> float:
        return float(solved.get(name, {}).get("best", float("nan")))

    def faster(name: str) -> float:
        return SECONDS.get(name, 2.0) / best(name)

    ours, long = best("loop/computed_torque"), best("loop/long")
    mujoco, pinocchio = (best("loop/computed_torque", peer) for peer in ("mujoco", "pin"))
    through_jax, in_node = best("learn/jax", "jax"), best("export/wasm_tick")
    growth = best("loop/program_plan_1000") / best("loop/program_plan_100")
    rows: list[Row] = [
        ("2 s computed torque against MuJoCo's Python loop", mujoco / ours, "×", ">=", 20),
        ("2 s computed torque against Pinocchio's Python loop", pinocchio / ours, "×", ">=", 40),
        ("2 s computed torque", faster("loop/computed_torque"), "× real time", ">=", 1500),
        ("the same, whole call of simulate()", faster("loop/simulate"), "× real time", "", None),
        ("1,000 simulations together, against one by one", best("loop/one") / best("loop/many"), "×", ">=", 4),
        (
            "the same with noisy encoders, one seed per simulation",
            best("loop/one_noisy") / best("loop/many_noisy"),
            "×",
            ">=",
            4,
        ),
        (
            "1,000 seeds in one call of simulate(), against 1,000 calls",
            best("loop/call_noisy") / best("loop/call_many_noisy"),
            "×",
            "",
            None,
        ),
        (
            "200 arms with different payloads in one call, against one arm 200 times",
            best("loop/call_arms") / best("loop/call_arm"),
            "×",
            "<=",
            2,
        ),
        ("002's closed loop, stiff, Newton–Euler", faster("loop/irb140"), "× real time", ">=", 100),
        ("002's closed loop, stiff, exponentials", faster("loop/irb140_exponentials"), "× real time", ">=", 100),
        ("000's run among its first layout, 35 s, everything included", best("loop/explore_000"), "s", "<=", 0.5),
        ("the same", faster("loop/explore_000"), "× real time", ">=", 100),
        ("user's NumPy law, traced: time against the built-in law", best("loop/own_law") / ours, "×", "<=", 1.5),
        ("user's Python law, called at 1 kHz", faster("loop/callback"), "× real time", ">=", 100),
        ("001's program through Algorithm 1, 884 cycles, Full", 1e3 * best("loop/motors_full"), "ms", "<=", 1),
        ("the same, Partitioned", 1e3 * best("loop/motors_partitioned"), "ms", "<=", 2),
        ("variants of it in lanes, whole records kept", 1.0 / best("loop/motor_variants"), "1/s", ">=", 1000),
        ("one sample through the monitor", 1e6 * best("loop/motor_monitor"), "µs", "<=", 3),
        ("a program of 12 moves, read", 1e3 * best("loop/program_read"), "ms", "<=", 5),
        ("the same, from text to verdict", best("loop/program_check"), "s", "<=", 0.3),
        ("planning, a move of 1,000 against one of 100", growth, "×", "<=", 1.5),
        ("the lab's arm, a tick of 2 ms, free", 1e6 * best("loop/lab_tick"), "µs", "<=", 10),
        ("the same among the shapes of `bench`", 1e6 * best("loop/lab_tick_bench"), "µs", "<=", 25),
        ("what the lab publishes of it", 1e6 * best("loop/lab_published"), "µs", "<=", 2),
        ("a batch of 8, forward dynamics, in all", 1e6 * best("learn/fd_8"), "µs", "<=", 2),
        ("a batch of 32", 1e6 * best("learn/fd_32"), "µs", "<=", 3),
        ("a batch of 8, against Pinocchio's abaInParallel", versus("learn/fd_8", "pin"), "×", "", None),
        ("Jacobian of a step, RK4", 1e6 * best("learn/step_jacobian"), "µs", "<=", 6),
        ("the same, against Crocoddyl", versus("learn/step_jacobian", "crocoddyl"), "×", "", None),
        ("an iteration of 30 nodes", 1e6 * best("learn/ilqr"), "µs", "<=", 150),
        ("the same, against Crocoddyl", versus("learn/ilqr", "crocoddyl"), "×", "", None),
        ("a batch through JAX, against our own call", through_jax / best("learn/jax"), "×", "<=", 1.5),
        (
            "our exported JAX source, against that",
            best("learn/jax_source", "jax") / best("learn/jax", "jax"),
            "×",
            "",
            None,
        ),
        ("forward dynamics by MJX, against that", best("learn/jax", "mjx") / through_jax, "×", "", None),
        ("until our call is ready in JAX, its first included", ready("learn/jax", "jax"), "s", "<=", 1),
        ("the same, our exported JAX source", ready("learn/jax_source", "jax"), "s", "", None),
        ("the same, MJX", ready("learn/jax", "mjx"), "s", "", None),
        (
            "1,024 environments, against MuJoCo's rollout",
            versus("learn/environment", "mujoco"),
            "×",
            ">=",
            10,
        ),
        ("exported C, a tick of computed torque and momentum observer", 1e9 * best("export/c_tick"), "ns", "", None),
        ("CasADi's C of the same, same compiler, against that", versus("export/c_tick", "casadi"), "×", "", None),
        ("WebAssembly in Node, ticks of the closed loop", 1e-6 / in_node, "million/s", ">=", 0.4),
        ("MuJoCo's WebAssembly, against that", versus("export/wasm_tick", "mujoco_wasm"), "×", "", None),
        ("ours, against the same ticks in strict machine code", in_node / best("export/native_tick"), "×", "", None),
        ("compile of a new loop, nothing cached", process.get("loop_cold", {}).get("best"), "s", "<=", 2),
        ("compile of a new loop, cached", process.get("loop_cached", {}).get("best"), "s", "<=", 0.1),
        ("recording 50 s at 1 kHz", 100 * (1 - best("loop/long_unrecorded") / long), "% of the run", "<=", 10),
        ("largest memory of that run", process.get("loop_memory"), "× its recording", "", None),
        ("saving it to .npz", 100 * (1 - long / best("loop/long_npz")), "% of the run", "", None),
        ("saving it to .mcap", 100 * (1 - long / best("loop/long_mcap")), "% of the run", "", None),
        ("a way through random worlds, shortened, against OMPL on coal", planned.get("ratio/short"), "×", ">=", 1),
        ("the same, first way found", planned.get("ratio/first"), "×", ">=", 1),
        ("one collision test alone against coal's", check["coal"] / check["armwright"], "×", ">=", 1),
        ("the same", 1e6 * check["armwright"], "µs", "", None),
        ("inverse kinematics of a Panda, numeric, from near", 1e6 * inverse("armwright/warm"), "µs", "<=", 50),
        ("the same from the middle, with restarts", 1e6 * inverse("armwright/cold"), "µs", "<=", 300),
        ("the same, many at once", 1e6 * inverse("armwright/batch"), "µs", "", None),
        ("from near, against Robotics Toolbox's ik_LM", inverse("rtb/warm") / inverse("armwright/warm"), "×", "", None),
        ("from the middle, against ik_LM", inverse("rtb/cold") / inverse("armwright/cold"), "×", "", None),
        ("from near, against a Pinocchio loop", inverse("pinocchio/warm") / inverse("armwright/warm"), "×", "", None),
        ("from near, against pink", inverse("pink/warm") / inverse("armwright/warm"), "×", "", None),
    ]
    return _judged(rows)


def _judged(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the rows that were measured, with what was promised."""
    out = []
    for line, figure, unit, sign, target in rows:
        if figure is None or figure != figure:
            continue
        met = None if target is None else bool(figure >= target if sign == ">=" else figure <= target)
        wanted = "" if target is None else f"{'≥' if sign == '>=' else '≤'} {target:,g} {unit}"
        out.append({"line": line, "figure": figure, "unit": unit, "target": wanted, "met": met})
    return out


def campaign_lines(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the same rows of `campaign_costs.campaign_figures`."""
    chunk, store, growth = found["chunk"], found["store"], found["growth"]
    largest = max(row["items"] for row in growth if row["what"] == "detections")

    def of(what: str, engine: str) -> dict[str, Any]:
        items = largest if what == "detections" else None
        return next(
            row for row in growth if (row["what"], row["engine"]) == (what, engine) and items in (None, row["items"])
        )

    rows: list[Row] = []
    for what, engine, bound in (
        ("detections", "processes", 1.06),
        ("detections", "dask", 1.15),
        ("explorations", "processes", 1.03),
        ("explorations", "dask", 1.2),
    ):
        one = of(what, engine)
        ratio = one["cpu"] / of(what, "serial")["cpu"]
        rows.append((f"{one['items']:,} {what}, CPU of {engine} ÷ serial", ratio, "×", "<=", bound))
    for engine in ("processes", "dask"):
        rows += [
            (f"memory of a worker, {engine}", of("detections", engine)["worker"], "MB", "<=", 500),
            (f"memory of the coordinator, {engine}", of("detections", engine)["coordinator"], "MB", "<=", 120),
        ]
    more = {engine: 1e3 * (chunk[engine] - chunk["serial"]) for engine in ("processes", "dask")}
    learned = [row["worker"] for row in found["learning"]]
    rows += [
        ("CPU that processes add to a chunk", more["processes"], "ms", "<=", 0.3),
        ("CPU that dask adds to a chunk", more["dask"], "ms", "<=", 6),
        ("of it the scheduler, where it stands apart", 1e3 * chunk["scheduler"], "ms", "<=", 2),
        ("an empty chunk itself, serial", 1e3 * chunk["serial"], "ms", "", None),
        ("memory of learning, most runs against fewest", learned[-1] / learned[0] if learned else None, "×", "", None),
        ("status of 10,000 chunks, CPU", store["status_s"], "s", "<=", 2),
        ("files of 1,000,000 rows", store["rows_mb"], "MB", "<=", 100),
        ("grouped median over them, until the answer", store["median_s"], "s", "<=", 0.5),
    ]
    return _judged(rows)


PEERS = {"pin": "Pinocchio", "mujoco": "MuJoCo", "casadi": "CasADi", "rtb": "Robotics Toolbox"}
ROWS = (
    ("inverse dynamics, batch", "rnea/batch"),
    ("forward dynamics, batch", "fd/batch"),
    ("mass matrix, batch", "mass/batch"),
    ("pose and Jacobian, batch", "fkj/batch"),
    ("inverse dynamics, one call, new array", "rnea/single"),
    ("forward dynamics, one call, new array", "fd/single"),
    ("inverse dynamics, one call, buffer given", "rnea/single_out"),
    ("forward dynamics, one call, buffer given", "fd/single_out"),
    ("derivatives of inverse dynamics, one call", "drnea/single"),
    ("derivatives of forward dynamics, one call", "dfd/single"),
    ("inverse dynamics, 30 joints, batch", "n30/rnea/batch"),
    ("forward dynamics, 30 joints, batch", "n30/fd/batch"),
    ("inverse dynamics, 50 joints, batch", "n50/rnea/batch"),
    ("forward dynamics, 50 joints, batch", "n50/fd/batch"),
)


def markdown(result: dict[str, Any]) -> str:
    """Return the tables of one measurement."""
    peers = [peer for peer in PEERS if peer in result["peers"]]
    titles = [f"{PEERS[peer]} {result['peers'][peer]}" for peer in peers]
    lines = [
        f"| UR5, one thread | Armwright | {' | '.join(titles)} |",
        f"|---|---|{'---|' * len(peers)}",
    ]
    for title, name in ROWS:
        entries = result["cases"].get(name, {})
        if "armwright" in entries:
            cells = [cell(entries, peer) for peer in peers]
            lines.append(f"| {title} | **{nanoseconds(entries['armwright']['best'])}** | {' | '.join(cells)} |")
    if len(lines) == 2:  # only the loop was measured
        lines = []
    if result.get("loop"):
        lines += ["", "| the loop, UR5 unless said, one thread | measured | promised |", "|---|---|---|"]
        lines += [
            f"| {row['line']} | **{figure(row['figure'])}** {row['unit']} | {row['target']} |" for row in result["loop"]
        ]
    process, machine = result["process"], result["machine"]
    start, cold, warm = (process[name]["best"] for name in ("import", "first_call_cold", "first_call_warm"))
    lines += [
        "",
        f"`import armwright` {start:.2f} s. First call, whole process: {cold:.2f} s with an empty cache, {warm:.2f} s "
        "with a filled one.",
    ]
    if "memory_growth_bytes" in process:
        growth, over = process["memory_growth_bytes"], process["batch_overhead"]
        lines.append(
            f"Memory: {growth['bytes'] / 1024:.0f} KiB more after {growth['calls']:,} calls; "
            f"a batch of {over['items']:,} takes {100 * over['fraction']:.1f} % more than its arrays."
        )
    lines.append(
        f"Measured on {machine['cpu']}, Python {machine['python']}, {machine['date'][:10]}; best of {result['rounds']} "
        "interleaved rounds; × says how many times longer the peer takes."
    )
    return "\n".join(lines)


def nanoseconds(seconds: float) -> str:
    """Write a time with the unit that suits it."""
    return f"{seconds * 1e9:.3g} ns" if seconds < 1e-6 else f"{seconds * 1e6:.3g} µs"


def figure(value: float) -> str:
    """Write a figure with three digits, or whole where it has more."""
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.3g}"


def cell(entries: dict[str, Any], peer: str) -> str:
    """Return one peer's time and how many times ours it is."""
    if peer not in entries:
        return "–"
    return f"{nanoseconds(entries[peer]['best'])} ({entries[peer]['best'] / entries['armwright']['best']:.3g} ×)"


def insert(path: Path, text: str, mark: str = "figures") -> None:
    """Replace what stands between the markers of a file."""
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    content = path.read_text(encoding="utf-8")
    head, found, rest = content.partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"{path}: the lines {begin!r} and {end!r} are missing")
    path.write_text(f"{head}{begin}\n{text}\n{end}{tail}", encoding="utf-8")


if __name__ == "__main__":
    source, *targets = sys.argv[1:]
    for target in targets:
        insert(Path(target), markdown(json.loads(Path(source).read_text(encoding="utf-8"))))
