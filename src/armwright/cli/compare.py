"""``armwright compare``: every formulation of one arm on random states — do they agree, what do they cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.cli.output import NEGATIVE, Json, RobotName, say, say_json, table

if TYPE_CHECKING:
    from armwright.graph.kernel import Kernel
    from armwright.robot.model import Robot

BATCH = 4096


def compare(
    robot: RobotName,
    samples: Annotated[int, typer.Option(min=1, max=100_000, help="Random states.")] = 100,
    tolerance: Annotated[float, typer.Option(min=0.0, help="Largest relative disagreement that is accepted.")] = 1e-10,
    json: Json = False,
) -> None:
    """Run every formulation on random states: worst disagreement, operations, nanoseconds. Exit code 1 if one disagrees."""
    from armwright.robot.load import load

    result = compared(load(robot), samples=samples)
    agree = result["worst"] <= tolerance
    if json:
        say_json({**result, "agree": agree, "tolerance": tolerance})
    else:
        print_comparison(result)
    if not agree:
        raise typer.Exit(NEGATIVE)


def compared(robot: Robot, *, samples: int = 100, clock: bool = True) -> dict[str, Any]:
    """Compare all formulations with the Newton–Euler source run on plain floats.

    Args:
        robot: the arm.
        samples: number of random states.
        clock: whether to time the kernels (ns per evaluation, single call and batch).

    Returns:
        ``worst`` relative disagreement and ``rows``: problem, method, disagreement (None with a reason where the
        formulation cannot treat this arm), operations, ns_single, ns_batch.
    """
    import numpy as np

    from armwright.dynamics.api import random_states
    from armwright.dynamics.methods import METHODS, find
    from armwright.dynamics.newton_euler import rnea
    from armwright.errors import NotSupportedError
    from armwright.robot.kernels import kernel

    q, qd, qdd = random_states(robot, samples)
    tau = np.array([rnea(robot, *state) for state in zip(q, qd, qdd, strict=True)])
    rows: list[dict[str, Any]] = []
    for job, third, expected in (("inverse", qdd, tau), ("forward", tau, qdd)):
        for method in METHODS.values():
            if getattr(method, job) is None:
                continue
            row: dict[str, Any] = {"problem": f"{job} dynamics", "method": method.name, "title": method.title,
                                   "document": method.document, "disagreement": None, "reason": ""}  # fmt: skip
            rows.append(row)
            try:
                function, options = find(robot, method.name, job)
                k = kernel(robot, function, regroup=True, **options)
            except NotSupportedError as error:
                row["reason"] = str(error)
                continue
            row["disagreement"] = float(np.abs(k(q, qd, third) - expected).max() / np.abs(expected).max())
            row["operations"] = k.counts._asdict()
            if clock:
                row |= timed(k, (q, qd, third))
    worst = max(row["disagreement"] for row in rows if row["disagreement"] is not None)
    return {"robot": robot.name, "samples": samples, "worst": worst, "rows": rows}


def timed(k: Kernel, arrays: tuple[Any, ...]) -> dict[str, float]:
    """Nanoseconds per evaluation, best of several: one call with new arrays, and a batch."""
    import numpy as np

    one = [array[0].copy() for array in arrays]
    many = [np.resize(array, (BATCH, array.shape[1])) for array in arrays]
    out = k(*many)
    return {"ns_single": _best(lambda: k(*one), 2000), "ns_batch": _best(lambda: k(*many, out=out), 2) / BATCH}


def _best(run: Callable[[], Any], inner: int, repeats: int = 7) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter_ns()
        for _ in range(inner):
            run()
        best = min(best, (time.perf_counter_ns() - start) / inner)
    return best


def print_comparison(result: dict[str, Any]) -> None:
    """Print one table per problem and the verdict."""
    for problem in ("inverse dynamics", "forward dynamics"):
        cells = []
        for row in result["rows"]:
            if row["problem"] != problem:
                continue
            if row["disagreement"] is None:
                cells.append([row["method"], row["reason"], "–", "–", "–", "–", "–"])
                continue
            ops = row["operations"]
            times = [f"{row[key]:.0f}" if key in row else "–" for key in ("ns_single", "ns_batch")]
            title = f"{row['title']} ({row['document']})"
            cells.append([row["method"], title, f"{row['disagreement']:.1e}", ops["mul"] + ops["div"], ops["add"], *times])
        table(f"{result['robot']}: {problem}, {result['samples']} random states",
              ["method", "formulation", "disagreement", "mul+div", "add", "ns, one call", "ns, in a batch"],
              cells, left=2)  # fmt: skip
    say(f"worst disagreement {result['worst']:.1e} (relative, against the Newton–Euler source on plain floats)")
