# SPDX-License-Identifier: Apache-2.0
"""How logs of other programs are to be read: the options of every command that reads them, and what is told first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from armwright.cli.failures import fail
from armwright.cli.output import tell

if TYPE_CHECKING:
    from armwright.identify.current_log import Log
    from armwright.robot.model import Robot


def tables_of(path: Path) -> Path | list[Path]:
    """Return the tables of a word such as ``position.csv+current.csv``; a file that is really called so is one."""
    parts = str(path).split("+")
    if path.exists() or len(parts) == 1 or not all(parts):
        return path
    first = Path(parts[0])
    return [first, *(Path(part) if Path(part).exists() else first.with_name(part) for part in parts[1:])]


def explain_and_leave(value: str | None) -> None:
    """Print a mapping file for a log, and end the program: the callback of ``--explain``."""
    if value is None:
        return
    from armwright.errors import ArmwrightError
    from armwright.identify.log_reader import explain_log

    try:
        typer.echo(explain_log(tables_of(Path(value))), nl=False)
    except ArmwrightError as error:
        fail(str(error))
    raise typer.Exit


@dataclass(frozen=True)
class LogReading:
    """What the user says about logs that they do not say themselves."""

    columns: Annotated[
        str | None,
        typer.Option(metavar="FILE.toml|LAYOUT", help="What the columns are: a mapping, or a layout such as ur10e."),
    ] = None
    rate: Annotated[float | None, typer.Option(help="Rows per second, where a log has no time.", min=1e-3)] = None
    angles: Annotated[
        Literal["radians", "degrees"] | None, typer.Option(help="Of joint positions whose unit is not said.")
    ] = None
    effort: Annotated[Literal["current", "torque"] | None, typer.Option(help="What columns called effort hold.")] = None

    explain: Annotated[
        str | None,
        typer.Option(
            metavar="LOG",
            is_eager=True,
            callback=explain_and_leave,
            help="Print a mapping of its columns, for --columns, and leave.",
        ),
    ] = None

    @property
    def given(self) -> bool:
        """Return whether anything was said."""
        return self != LogReading()

    def words(self) -> dict[str, Any]:
        """Return the keywords of `read_log`."""
        return {"columns": self.columns, "rate": self.rate, "angles": self.angles, "effort": self.effort}


def read_told(path: Path, reading: LogReading, robot: Robot | None = None) -> Log:
    """Read a log, or several tables of one joined by "+", and tell what was understood and what was dropped."""
    from armwright.identify.log_reader import read_log

    log = read_log(tables_of(path), robot=robot, **reading.words())
    if log.account:
        tell(f"armwright: {log.account}")
    for dropped in log.dropped:
        tell(f"armwright: {path}: dropped {dropped}")
    return log
