# SPDX-License-Identifier: Apache-2.0
"""``armwright bench``: measure against the peers that are installed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from armwright.cli.failures import fail
from armwright.cli.option_groups import grouped
from armwright.cli.option_words import Json, out_option
from armwright.cli.output import say, say_json, table, tell

PEERS = "armwright,pin,mujoco,casadi,rtb,crocoddyl,jax,mjx,mujoco_wasm"
ARMS = "ur5,n30,n50"
PARTS = "core,loop,plan,learn,export,identify"
ALL_PARTS = f"{PARTS},campaigns"


@dataclass(frozen=True)
class BenchEffort:
    """How long everything is measured."""

    rounds: Annotated[int, typer.Option(min=1, help="Rounds over all (peer, case) pairs.")] = 25
    seconds_per_case: Annotated[float, typer.Option(metavar="SECONDS", min=1e-4, help="In every round.")] = 0.04
    calls: Annotated[int, typer.Option(min=1000, help="Calls, and batch size, of the memory figures.")] = 1_000_000
    repeats: Annotated[int, typer.Option(min=1, help="Processes started per start-up figure.")] = 7
    detections: Annotated[int, typer.Option(min=1000, help="Items of the largest campaign.")] = 100_000


@grouped
def bench(
    *,
    out: Annotated[Path, out_option("FILE.json", "The figures.")] = Path("bench.json"),
    effort: BenchEffort,
    peers: Annotated[str, typer.Option(help="Which libraries, separated by commas; missing ones are skipped.")] = PEERS,
    arms: Annotated[str, typer.Option(help="Which arms: ur5, and random ones of 30 and 50 joints.")] = ARMS,
    parts: Annotated[
        str,
        typer.Option(help="What to measure: core (calls, batches), loop, plan, learn, export, identify; campaigns."),
    ] = PARTS,
    json: Json = False,
) -> None:
    """Time this library and its peers, interleaved, on one thread; print ratios and write JSON."""
    for what, wanted, known in (("peer", peers, PEERS), ("arm", arms, ARMS), ("part", parts, ALL_PARTS)):
        unknown = sorted(set(wanted.split(",")) - set(known.split(",")))
        if unknown:
            fail(f"unknown {what} {', '.join(unknown)}; choose from {known}")
    if "ur5" not in arms.split(","):
        fail("--arms: ur5 is the arm that every peer has; leave it in the list")
    if not out.parent.is_dir():
        fail(f"{out.parent}: no such folder for the results")
    from armwright.bench.suite import run

    result = run(
        out,
        rounds=effort.rounds,
        budget=effort.seconds_per_case,
        peers=peers.split(","),
        arms=arms.split(","),
        parts=parts.split(","),
        calls=effort.calls,
        repeats=effort.repeats,
        detections=effort.detections,
        tell=(lambda text: None) if json else tell,
    )
    if json:
        say_json(result)
    else:
        report(result)


def report(result: dict[str, Any]) -> None:
    """Print the tables of a measurement: ns per evaluation, how many times faster, the loop, whole processes."""
    peers = list(result["peers"])
    others = [peer for peer in peers if peer != "armwright"]
    lined = ("loop/", "learn/", "export/")  # parts that are told as lines
    cases = {name: entries for name, entries in result["cases"].items() if not name.startswith(lined)}

    def nanoseconds(name: str, peer: str) -> str:
        return f"{cases[name][peer]['best'] * 1e9:.1f}" if peer in cases[name] else "–"

    if cases:
        table(
            "ns per evaluation (best, one thread)",
            ["case", *peers],
            [[name, *(nanoseconds(name, peer) for peer in peers)] for name in cases],
        )
    rows = []
    for name, faster in result["ratios"].items():
        if faster and name in cases:
            rows.append([name, *(f"{faster[peer]:.1f} ×" if peer in faster else "–" for peer in others)])
    if rows:
        table("armwright is faster by", ["case", *others], rows)
    for title, lines in (("the loop", result.get("loop")), ("campaigns", result.get("campaign_lines"))):
        if lines:
            kept = {True: "yes", False: "NO", None: ""}
            rows = [[r["line"], r["target"], kept[r["met"]], f"{r['figure']:,.4g} {r['unit']}"] for r in lines]
            table(title, ["line", "promised", "kept", "measured"], rows, left=3)
    process = result["process"]
    start, cold, warm = (process[name]["best"] for name in ("import", "first_call_cold", "first_call_warm"))
    say(f"import {start:.3f} s · first call, whole process: cold {cold:.3f} s, warm {warm:.3f} s")
    if "memory_growth_bytes" in process:
        growth, over = process["memory_growth_bytes"], process["batch_overhead"]
        say(
            f"memory: {growth['bytes']:+d} bytes over {growth['calls']} calls · "
            f"a batch of {over['items']} needs {100 * over['fraction']:+.1f} % beyond its arrays"
        )
