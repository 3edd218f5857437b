# SPDX-License-Identifier: Apache-2.0
"""The command table. Each command lives in its own module and imports what it needs when it runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from armwright import __version__
from armwright.cli import (
    bench,
    compare,
    describe,
    doctor,
    export,
    identify,
    monitor_command,
    program_command,
    program_versions,
    reproduce,
    studio,
    tour,
)
from armwright.cli import calibrate_command as calibrate
from armwright.cli import sense_command as sense
from armwright.cli import simulate_command as simulate
from armwright.cli.campaign import app as campaigns
from armwright.cli.failures import CommandError, guarded, outcome, report
from armwright.cli.lab import app as lab
from armwright.cli.old_spellings import with_new_spellings
from armwright.cli.output import WRONG, prepare_streams, writing
from armwright.cli.run_collision import app as jobs

UsageError: type[Exception] = typer.BadParameter.__bases__[0]
"""Of whichever click this typer carries; newer ones have their own."""

app = typer.Typer(
    name="armwright",
    help="A workbench for robot arms: descriptions, kinematics, dynamics, generated code.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help is plain text: "[rad]" is a unit
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (
    describe.robots,
    describe.show,
    describe.check,
    compare.compare,
    compare.count,
    program_versions.compare_programs,
    export.export,
    simulate.simulate,
    identify.identify,
    identify.feel,
    sense.sense,
    calibrate.calibrate,
    identify.excite,
    monitor_command.monitor,
    reproduce.reproduce,
    studio.studio,
    bench.bench,
    tour.tour,
    doctor.doctor,
):
    app.command()(guarded(command))
app.command(hidden=True)(guarded(program_command.show_program))  # the old name of ``show FILE``
app.add_typer(jobs)
app.add_typer(campaigns)
app.add_typer(lab)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
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
    prepare_streams()
    words = with_new_spellings(sys.argv[1:] if argv is None else argv)
    json = "--json" in words
    return outcome(lambda: _dispatch(words, json), json)


def _dispatch(words: list[str], json: bool) -> int:
    """Hand the words to typer; wrong ones end like every other wrong request."""
    try:
        with writing():
            return int(app(args=words, prog_name="armwright", standalone_mode=False) or 0)
    except SystemExit:  # typer's answer to a closed pipe under --help and --version is 1, which means "no" here
        raise BrokenPipeError from None
    except UsageError as error:
        return _wrong_usage(error, json)


def _wrong_usage(error: Any, json: bool) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return WRONG
    command = error.ctx.command_path if error.ctx is not None else "armwright"
    message = f"{error.format_message().rstrip('.')}; see {command} --help"
    return report(CommandError(message), WRONG, json)
