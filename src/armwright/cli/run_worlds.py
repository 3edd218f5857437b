# SPDX-License-Identifier: Apache-2.0
"""``armwright run worlds``: random worlds, several observers, planners and reactions, judged by oracles."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.cli.campaign import campaign_rows
from armwright.cli.failures import fail, guarded
from armwright.cli.option_groups import ArmReading, grouped
from armwright.cli.option_words import (
    Jobs,
    Json,
    Seed,
    configuration,
    joints_option,
    out_option,
    robot_option,
)
from armwright.cli.output import INTERRUPTED, NEGATIVE, say, say_json, table, tell
from armwright.errors import NotSupportedError

if TYPE_CHECKING:
    from armwright.exploration.grid.compare_worlds import Comparison

OUTCOMES = ("reached", "declared unreachable", "gave up", "still in contact")


@dataclass(frozen=True)
class RandomWorlds:
    """How many random worlds, explored in which ways."""

    count: Annotated[int, typer.Option(metavar="NUMBER", help="Random worlds per variant.", min=1, max=100_000)] = 200
    variant: Annotated[
        list[str] | None,
        typer.Option(help="Such as 'momentum with noise, slide'; repeat for more, all by default ('list' names them)."),
    ] = None
    seed: Seed = 0
    learn_seed: Annotated[
        int, typer.Option(metavar="NUMBER", help="Of the motions that thresholds are learned from.", min=0)
    ] = 0


@guarded
@grouped
def worlds(
    *,
    robot: Annotated[str, robot_option()] = "ur5",
    sample: RandomWorlds,
    near: Annotated[str | None, joints_option("--near", "Where to start, for other arms than a UR5.")] = None,
    jobs: Jobs = None,
    out: Annotated[
        Path | None, out_option("FOLDER", "For the rows (`armwright campaign query`) and worlds.png.")
    ] = None,
    reading: ArmReading,
    json: Json = False,
) -> None:
    """Explore random worlds in several ways; compare with oracles that see everything, and with each other."""
    from armwright.campaigns import CampaignPlan
    from armwright.campaigns.compare_explorations import check_task, comparison_of
    from armwright.exploration.explore_options import GridTask
    from armwright.exploration.grid.compare_worlds import VARIANTS

    count, variant = sample.count, sample.variant
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
    arm = reading.load(robot)
    place = None if near is None else configuration(near, arm, "--near").tolist()
    check_task(arm, GridTask(near=place))  # here, not in every run
    settings: dict[str, Any] = {"robot": robot, "load": reading.options(), "variants": chosen}
    settings |= {"learn_seed": sample.learn_seed, "near": place}
    done, interrupted = campaign_rows(CampaignPlan("worlds", count * len(chosen), sample.seed, settings), out, jobs)
    rows = [] if done is None else done.to_pylist()
    found = comparison_of(rows, interrupted)
    if json:
        summaries = zip(found.summaries(), found.outcomes, strict=True)
        say_json([{**summary, "table": outcome.table()} for summary, outcome in summaries])
    elif found.outcomes:
        _tables(found)
    if out is not None and found.outcomes:
        _draw(found, out / "worlds.png", json)
    if interrupted:
        fail(f"interrupted after {len(rows)} runs", INTERRUPTED, kind="Interrupted", answered=True)
    if len(rows) < count * len(chosen) or not all(outcome.right for outcome in found.outcomes):
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


def _draw(found: Comparison, path: Path, json: bool) -> None:
    from armwright.exploration.grid.compare_worlds import draw_comparison

    try:
        draw_comparison(found, path)
    except NotSupportedError as error:
        tell(f"armwright: no picture: {error}")
    else:
        tell(f"wrote {path}") if json else say(f"wrote {path}")
