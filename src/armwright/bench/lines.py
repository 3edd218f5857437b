# SPDX-License-Identifier: Apache-2.0
"""The promises about speed as a table: what was measured, and what was promised."""

from __future__ import annotations

from collections.abc import Sequence
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

    def inverse(name: str) -> float:
        return float(solved.get(name, {}).get("best", float("nan")))

    def faster(name: str) -> float:
        return SECONDS.get(name, 2.0) / best(name)

    ours, long = best("loop/computed_torque"), best("loop/long")
    mujoco, pinocchio = (best("loop/computed_torque", peer) for peer in ("mujoco", "pin"))
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
    """Return the rows that were measured, beside what was promised."""
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
