# SPDX-License-Identifier: Apache-2.0
"""``armwright compare``: every formulation of one arm on random states — do they agree, what do they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.cli.arms import Base, Implausible, RobotName, Tip, load_arm
from armwright.cli.output import NEGATIVE, Json, say, say_json, table

if TYPE_CHECKING:
    from armwright.dynamics.compare import Row

TOLERANCE = 1e-10


def compare(
    robot: RobotName,
    samples: Annotated[int, typer.Option(min=1, max=100_000, help="Random states.")] = 100,
    seed: Annotated[int, typer.Option(help="Seed of the random states.")] = 0,
    tolerance: Annotated[float, typer.Option(min=0.0, help="Largest relative disagreement accepted.")] = TOLERANCE,
    implausible: Implausible = "refuse",
    base: Base = None,
    tip: Tip = None,
    json: Json = False,
) -> None:
    """Run every formulation on random states: disagreement, operations, ns. Exit code 1 if one disagrees."""
    from armwright.dynamics.compare import compare as run
    from armwright.dynamics.compare import worst_disagreement

    arm = load_arm(robot, implausible, base, tip)
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


def listing(rows: list[Row]) -> list[dict[str, Any]]:
    """The rows, ready for JSON."""
    out = []
    for row in rows:
        entry: dict[str, Any] = {"method": row.method, "title": row.title, "document": row.document, "note": row.note}
        for kind, job in (("inverse", row.inverse), ("forward", row.forward)):
            if job is not None:
                entry[kind] = {"disagreement": job.error, "operations": job.compiled._asdict(), "ns": job.ns}
        out.append(entry)
    return out


def print_rows(name: str, rows: list[Row]) -> None:
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
