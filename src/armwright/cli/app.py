"""The command table. Each command lives in its own module and imports what it needs when it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from armwright.cli import bench, compare, count, describe, export, reproduce, simulate, tour
from armwright.cli.output import INTERRUPTED, WRONG, guarded
from armwright.cli.run import app as jobs

app = typer.Typer(
    name="armwright",
    help="A workbench for robot arms: descriptions, kinematics, dynamics, generated code.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (
    describe.robots,
    describe.show,
    describe.check,
    compare.compare,
    count.count,
    export.export,
    simulate.simulate,
    reproduce.reproduce,
    bench.bench,
    tour.tour,
):
    app.command()(guarded(command))
app.add_typer(jobs)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("armwright"))
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """A workbench for robot arms: descriptions, kinematics, dynamics, generated code."""


def run(argv: Sequence[str] | None = None) -> int:
    """Run the application and return its exit code instead of leaving the process."""
    try:
        app(args=None if argv is None else list(argv), prog_name="armwright")
    except SystemExit as leave:
        return leave.code if isinstance(leave.code, int) else 0 if leave.code is None else WRONG
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0
