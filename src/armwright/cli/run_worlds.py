# SPDX-License-Identifier: Apache-2.0
"""``armwright run worlds``: random worlds, several observers, planners and reactions, judged by oracles."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.cli.arms import WHICH, Base, Implausible, Tip, load_arm
from armwright.cli.failures import fail, guarded
from armwright.cli.output import INTERRUPTED, NEGATIVE, Json, say, say_json, table, tell
from armwright.cli.run_ends import joint_numbers
from armwright.errors import NotSupportedError

if TYPE_CHECKING:
    from armwright.exploration.grid.compare import Comparison

Tell = Callable[[str, int, dict[str, Any]], None]
OUTCOMES = ("reached", "declared unreachable", "gave up", "still in contact")
EVERY = 20.0  # [s] between lines where there is no terminal


@guarded
def worlds(
    count: Annotated[int, typer.Option(help="Random worlds per variant.", min=1, max=100_000)] = 200,
    robot: Annotated[str, typer.Option(help=WHICH)] = "ur5",
    variant: Annotated[
        list[str] | None,
        typer.Option(help="Such as 'momentum with noise, slide'; repeat for more, all by default ('list' names them)."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the first world; world N alone: --seed N --count 1.", min=0)] = 0,
    learn_seed: Annotated[int, typer.Option(help="Of the motions that thresholds are learned from.", min=0)] = 0,
    near: Annotated[
        str | None, typer.Option(help="Joint coordinates [rad, m] to start near, for other arms than a UR5.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes; one a processor by default.", min=1, max=256)] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for runs.csv, runs.json, worlds.png.")] = None,
    implausible: Implausible = "refuse",
    base: Base = None,
    tip: Tip = None,
    json: Json = False,
) -> None:
    """Explore random worlds in several ways; compare with oracles that see everything, and with each other."""
    from armwright.exploration.grid.compare import VARIANTS, compare_explorations
    from armwright.exploration.options import GridTask

    if variant and variant == ["list"]:
        if json:
            say_json(list(VARIANTS))
        for name in () if json else VARIANTS:
            say(name)
        return
    chosen = variant or list(VARIANTS)
    unknown = [name for name in chosen if name not in VARIANTS]
    if unknown:
        fail(f"--variant {unknown[0]}: choose from {'; '.join(VARIANTS)}")
    if out is not None and out.exists() and not out.is_dir():
        fail(f"{out}: not a folder")
    arm = load_arm(robot, implausible, base, tip)
    processes = jobs or os.cpu_count() or 1
    with _progress(len(chosen), count) as done:
        found = compare_explorations(
            arm,
            {name: VARIANTS[name] for name in chosen},
            count,
            seed=seed,
            learn_seed=learn_seed,
            jobs=processes,
            task=GridTask(near=joint_numbers(near, "--near")),
            progress=done,
        )
    files = _write(found, out) if out is not None and found.outcomes else []
    if json:
        summaries = zip(found.summaries(), found.outcomes, strict=True)
        say_json([{**summary, "table": outcome.table()} for summary, outcome in summaries])
    elif found.outcomes:
        _tables(found)
        for file in files:
            say(f"wrote {file}")
    if found.interrupted:
        done_runs = sum(len(o.rows) for o in found.outcomes)
        fail(f"interrupted after {done_runs} runs", INTERRUPTED, kind="Interrupted", answered=True)
    if not all(outcome.right for outcome in found.outcomes):
        raise typer.Exit(NEGATIVE)


def _tables(found: Comparison) -> None:
    rows = [
        [o.label, truth, *(row[end] for end in OUTCOMES)] for o in found.outcomes for truth, row in o.table().items()
    ]
    table("What the oracles say, how the runs ended", ["variant", "world", *OUTCOMES], rows, left=2)
    heads = [
        "variant",
        "contacts",
        "impulse [N s]",
        "force [N]",
        "95 %",
        "path [m]",
        "time [s]",
        "delay [ms]",
        "false alarms",
    ]
    figures = [
        [
            s["label"],
            s["contacts"],
            _short(s["impulse_ns"]),
            _short(s["largest_force_n"]),
            _short(s["largest_force_n_p95"]),
            _short(s["tool_path_m"]),
            _short(s["arrival_s"]),
            _short(1e3 * s["median_delay_s"]),
            s["false_alarms"],
        ]
        for s in found.summaries()
    ]
    table(f"Medians over the {len(found.common())} worlds that every variant crossed", heads, figures)
    for outcome in found.outcomes:
        for row in outcome.missed():
            say(f"{outcome.label}: {row['world']} ({row['truth']}) ended as {row['outcome']}: {row['message']}")


def _short(value: float) -> str:
    return f"{value:.3g}"


@contextmanager
def _progress(variants: int, count: int) -> Iterator[Tell]:
    """Show how far the runs are and how they ended so far: a bar on a terminal's stderr, else a line now and then."""
    from rich.console import Console

    console = Console(stderr=True)
    ended: dict[str, int] = {}
    total, began, last = variants * count, time.monotonic(), time.monotonic()

    def counts(row: dict[str, Any]) -> tuple[int, str]:
        ended[row["end"]] = ended.get(row["end"], 0) + 1
        return sum(ended.values()), " · ".join(f"{name} {ended[name]}" for name in OUTCOMES if name in ended)

    if console.is_terminal:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, TextColumn("{task.fields[counts]}"), console=console, transient=True) as bar:
            task = bar.add_task("judging the worlds", total=total, counts="")

            def show(label: str, k: int, row: dict[str, Any]) -> None:
                done, text = counts(row)
                bar.update(task, completed=done, description=label, counts=text)

            yield show
        return

    def line(label: str, k: int, row: dict[str, Any]) -> None:
        nonlocal last
        (done, text), now = counts(row), time.monotonic()
        if now - last >= EVERY or done == total:
            last = now
            tell(f"{now - began:.0f} s: {done}/{total} runs, {label} {k}/{count}: {text}")

    yield line


def _write(found: Comparison, out: Path) -> list[Path]:
    from armwright.exploration.grid.compare_report import draw_comparison, write_rows

    files = write_rows(found, out)
    try:
        draw_comparison(found, out / "worlds.png")
        files.append(out / "worlds.png")
    except NotSupportedError as error:
        tell(f"armwright: no picture: {error}")
    return files
