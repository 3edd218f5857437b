# SPDX-License-Identifier: Apache-2.0
"""``armwright compare`` and ``count``: every formulation of one arm on random states, and what it costs.

`compare` says whether the formulations agree; `count` has their operations, and the documents' tables next to ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.cli.option_groups import arm_command
from armwright.cli.option_words import Json, Seed
from armwright.cli.output import NEGATIVE, say, say_json, table

if TYPE_CHECKING:
    from armwright.dynamics.compare_methods import MethodRow
    from armwright.graph.traced_program import Counts
    from armwright.robot.model import Robot

AGREEMENT_TOLERANCE = 1e-10


@arm_command()
def compare(
    arm: Robot,
    samples: Annotated[int, typer.Option(min=1, max=100_000, help="Random states.")] = 100,
    seed: Seed = 0,
    tolerance: Annotated[
        float, typer.Option(min=0.0, help="Largest relative disagreement accepted.")
    ] = AGREEMENT_TOLERANCE,
    json: Json = False,
) -> None:
    """Run every formulation on random states: disagreement, operations, ns. Exit code 1 if one disagrees."""
    from armwright.dynamics.compare_methods import compare as run
    from armwright.dynamics.compare_methods import worst_disagreement

    rows = run(arm, samples, seed, naive=False)
    worst = worst_disagreement(rows)
    if json:
        say_json(
            {
                "robot": arm.name,
                "samples": samples,
                "worst": worst,
                "tolerance": tolerance,
                "agree": worst <= tolerance,
                "formulations": listing(rows),
            }
        )
    else:
        print_rows(arm.name, rows)
        say(f"worst disagreement {worst:.1e}, relative, over {samples} random states")
    if not worst <= tolerance:
        raise typer.Exit(NEGATIVE)


def listing(rows: list[MethodRow]) -> list[dict[str, Any]]:
    """The rows, ready for JSON."""
    out = []
    for row in rows:
        entry: dict[str, Any] = {"method": row.method, "title": row.title, "document": row.document, "note": row.note}
        for kind, job in (("inverse", row.inverse), ("forward", row.forward)):
            if job is not None:
                entry[kind] = {"disagreement": job.error, "operations": job.compiled._asdict(), "ns": job.ns}
        out.append(entry)
    return out


def print_rows(name: str, rows: list[MethodRow]) -> None:
    """Print one table per direction."""
    for kind, reference in (("inverse", "rnea"), ("forward", "crba")):
        cells = []
        for row in rows:
            job = getattr(row, kind)
            title = f"{row.title} ({row.document})"
            if job is not None:
                ops = job.compiled
                cells.append(
                    [
                        row.method,
                        title,
                        f"{job.error:.1e}",
                        ops.mul + ops.div,
                        ops.add,
                        ops.trig,
                        "–" if job.ns is None else f"{job.ns:.1f}",
                    ]
                )
            elif row.note:
                cells.append([row.method, f"{title}: {row.note}", *["–"] * 5])
        table(
            f"{name}: {kind} dynamics, disagreement with {reference}",
            ["method", "formulation", "disagreement", "mul, div", "add", "sin, cos", "ns in a batch"],
            cells,
            left=2,
        )


@arm_command()
def count(
    arm: Robot,
    documents: Annotated[
        bool, typer.Option("--documents/--no-documents", help="Also the documents' tables, for the documents' arms.")
    ] = True,
    json: Json = False,
) -> None:
    """Count multiplications, additions, divisions and sines per formulation: as written, by hand, compiled."""
    from armwright.robot.load import load
    from armwright.studies import operation_counts as study

    rows = study.formulations(arm)
    tables: dict[str, Any] = {}
    if documents:
        rl15, irb140 = load("rl15"), load("irb140")
        tables = {
            "001 Table 1": study.table_1(rl15),
            "001 Table 2": study.table_2(rl15),
            "002 Table 6.2": study.table_6_2(irb140),
        }
    if json:
        listing = [
            {
                "problem": row.problem,
                "formulation": row.formulation,
                "reason": row.reason,
                **({way: getattr(row.tally, way)._asdict() for way in row.tally._fields} if row.tally else {}),
            }
            for row in rows
        ]
        say_json({"robot": arm.name, "formulations": listing, "documents": tables})
        return
    for problem in ("inverse dynamics", "forward dynamics"):
        cells = [
            [row.formulation, *(["–"] * 3 if row.tally is None else map(brief, row.tally))]
            for row in rows
            if row.problem == problem
        ]
        table(
            f"{arm.name}: {problem} (M multiplications, A additions, D divisions, T sines and cosines)",
            ["formulation", "loops as written", "by hand: 0 and ±1 free", "compiled"],
            cells,
        )
    for row in rows:
        if row.reason:
            say(f"{row.formulation}: {row.reason}")
    if tables:
        print_documents(tables)


def brief(counts: Counts) -> str:
    """One cell: multiplications, additions, divisions, sines and cosines."""
    return f"{counts.mul}M {counts.add}A {counts.div}D {counts.trig}T"


def slash(pair: tuple[int, int] | None) -> str:
    """Write a pair of counts as M/A."""
    return "–" if pair is None else f"{pair[0]}/{pair[1]}"


def print_documents(tables: dict[str, Any]) -> None:
    """Print the printed tables beside our counts (M/A, divisions counted as multiplications)."""
    from armwright.studies.operation_counts import growth

    rows = tables["001 Table 1"]
    table(
        "001 Table 1: forward dynamics by mRNEA, first n joints of RL15 (M/A)",
        ["n", "printed", "ours, the printed sums", "ours, lean", "ours, compiled"],
        [[str(r["n"]), *(slash(r[key]) for key in ("printed", "as_published", "lean", "compiled"))] for r in rows],
    )
    printed, lean = growth(rows), growth(rows, "lean")
    say(
        f"The heading says O(n); the printed M grow like n^{printed:.2f}, ours (lean) like n^{lean:.2f}. "
        "The printed counts leave out turning r, p_e and I into the base, and half of H."
    )
    say()
    table(
        "001 Table 2, titled n = 6; ours for RL15 (M/A)",
        ["method", "what the printed pair is", "printed", "its law, n = 6", "ours, by hand", "ours, compiled"],
        [
            [r["method"], r["meaning"], *(slash(r[key]) for key in ("printed", "law_at_6", "by_hand", "compiled"))]
            for r in tables["001 Table 2"]
        ],
        left=2,
    )
    rows = tables["002 Table 6.2"]
    table(
        "002 Table 6.2: operations of inverse dynamics, IRB 140 (M + A)",
        ["method", "printed (expanded)", "ours, loops", "ours, by hand", "ours, compiled"],
        [[r["method"], r["printed"], r["loops"], r["by_hand"], r["compiled"]] for r in rows],
    )
    ratios = [rows[1][key] / rows[0][key] for key in ("printed", "loops", "by_hand", "compiled")]
    say("exponentials / Newton–Euler: " + " · ".join(f"{ratio:.2f}" for ratio in ratios))
