# SPDX-License-Identifier: Apache-2.0
"""``armwright sense``: the smallest force that an identified arm can tell from its currents, still and moving."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from armwright.cli import option_words
from armwright.cli.identify import carried_payload
from armwright.cli.log_options import LogReading, read_told
from armwright.cli.option_groups import grouped
from armwright.cli.option_words import Json, Seed, joints_option, out_option, payload_option, report_option
from armwright.cli.output import say, say_json, table
from armwright.files import write_file


@dataclass(frozen=True)
class SenseFiles:
    """What ``sense`` writes."""

    out: Annotated[Path | None, out_option("FILE.png", "Torques and forces against speed.")] = None
    report: Annotated[Path | None, report_option("FILE.md", "All tables as Markdown.")] = None


@dataclass(frozen=True)
class SenseOptions:
    """What counts as told."""

    alarm_share: Annotated[
        float, typer.Option(help="Share of windows that may tell a contact that is none.", min=0.0, max=1.0)
    ] = 0.05
    power: Annotated[
        float, typer.Option(help="Share of contacts of the smallest size that are to be told.", min=0.0, max=1.0)
    ] = 0.9
    window: Annotated[float, typer.Option(metavar="SECONDS", help="Over which the residual is averaged.")] = 0.2
    q0: Annotated[str | None, joints_option("--q0", "Posture of the forces; the middle of the logs by default.")] = None
    seed: Seed = 0


@grouped
def sense(
    *,
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="Logs without contact, unknown to the model.")],
    model: Annotated[
        Path, typer.Option("--model", metavar="FILE", help="Model that `armwright identify --out` wrote.")
    ],
    asked: SenseOptions,
    payload: Annotated[
        str | None,
        payload_option("What the tool carries; weighed in the first log (log), or in the FILE.", "log", "FILE"),
    ] = None,
    wanted: SenseFiles,
    reading: LogReading,
    json: Json = False,
) -> None:
    """Tell the smallest force that can be told from the currents: standing, turning, at several speeds."""
    from armwright.identify.force_observability import force_observability
    from armwright.identify.model_file import load_model
    from armwright.identify.observability_report import (
        as_plain,
        draw_observability,
        observability_markdown,
        sentences,
        state_names,
        tool_rows,
        torque_rows,
    )

    known = load_model(model)
    read = [read_told(path, reading, known.robot) for path in logs]
    study = force_observability(
        known,
        read,
        q=None if asked.q0 is None else option_words.configuration(asked.q0, known.robot, "--q0"),
        false_alarms=asked.alarm_share,
        power=asked.power,
        window=asked.window,
        payload=None if payload is None else carried_payload(known, read[0], payload, reading),
        seed=asked.seed,
    )
    if wanted.out is not None:
        draw_observability(study, wanted.out)
    if wanted.report is not None:
        write_file(wanted.report, observability_markdown(study))
    if json:
        say_json(as_plain(study))
        return
    table(
        f"{study.robot}: smallest torque that each joint tells [N m], by its speed [rad/s]",
        ["joint", *state_names(), "known from"],
        torque_rows(study),
    )
    posture = ", ".join(f"{x:.2f}" for x in study.q)
    table(
        f"smallest force at the tool [N], all joints alike, at q = {posture}",
        ["state", "best", "along", "worst", "along", "x", "y", "z"],
        tool_rows(study),
    )
    for text in sentences(study):
        say(text)
