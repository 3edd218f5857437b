# SPDX-License-Identifier: Apache-2.0
"""``armwright lab run`` and ``lab example``: 004's whole experiment from one file."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.cli.failures import fail, guarded
from armwright.cli.output import INTERRUPTED, NEGATIVE, Json, say, say_json, table, tell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from armwright.lab.experiment.whole import Outcome
    from armwright.lab.mover import Command


@guarded
def run(
    file: Annotated[str, typer.Argument(help="Experiment file (TOML), or `stand`, which comes with the package.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for recordings and results; the file's name otherwise.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Keep the runs that are recorded to their end.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="A real arm stands at the first positions: do not ask.")] = False,
    json: Json = False,
) -> None:
    """Run a whole experiment: start devices, move, record, align clocks, identify, feel, report."""
    from armwright.errors import ArmwrightError
    from armwright.lab.experiment.file import read_experiment
    from armwright.lab.experiment.whole import conduct

    experiment = read_experiment(file)
    folder = out or Path(Path(file).stem)
    again = f"go on with: armwright lab run {file} --out {folder} --resume"

    def ready(command: Command) -> None:
        from armwright.lab.mover import start_pose

        if yes or experiment.virtual is not None:
            return
        tell(f"first position: {start_pose(command)}")
        if typer.prompt("Does the arm stand there, and is nobody near it? (yes/no)", err=True) != "yes":
            fail(f"run: nothing was sent; {again}")

    try:
        with _terminated_like_interrupted():
            done = conduct(experiment, folder, resume=resume, tell=tell, ready=ready)
    except KeyboardInterrupt:
        fail(f"interrupted; {_kept(folder)}; {again}", INTERRUPTED, kind="Interrupted")
    except ArmwrightError as error:
        if not any(folder.glob("*.mcap")):
            raise
        hint = f"; {_kept(folder)}; {again}" if "--resume" not in str(error) else ""
        fail(f"{error}{hint}", kind=type(error).__name__)
    failed = [c for c in done.evaluated.criteria if c.passed is False]
    if json:
        say_json({"folder": str(folder), "report": str(done.report), "seconds": done.seconds, **done.facts})
    else:
        _print(done)
    if failed:
        raise typer.Exit(NEGATIVE)


def _print(done: Outcome) -> None:
    from armwright.lab.experiment.report import WORDS, sentence

    criteria = done.evaluated.criteria
    rows = [[c.experiment, c.what, c.limit, c.found, WORDS[c.passed]] for c in criteria]
    table("what 004 demands", ["", "demand", "limit", "found", ""], rows, left=5)
    say(sentence(criteria))
    say(f"wrote {done.report} after {done.seconds:.0f} s")


def _kept(folder: Path) -> str:
    files = sorted(file.name for file in folder.glob("*.mcap"))
    return f"recorded so far, in {folder}: {', '.join(files)}" if files else "nothing was recorded"


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """A termination ends the experiment as Ctrl-C does: arm stopped, files closed, stand ended."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    kept = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, kept)


@guarded
def example(
    folder: Annotated[Path, typer.Argument(help="Where to write it.")],
    json: Json = False,
) -> None:
    """Write the experiment that comes with the package into a folder, to be edited."""
    import shutil

    from armwright.lab.experiment.file import FILES

    names = sorted(file.name for file in FILES.iterdir() if file.suffix in (".toml", ".txt"))
    held = [name for name in names if (folder / name).exists()]
    if held:
        fail(f"{folder}: has {', '.join(held)} already; choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        shutil.copyfile(FILES / name, folder / name)
    if json:
        say_json({"files": [str(folder / name) for name in names]})
    else:
        say(f"wrote {', '.join(str(folder / name) for name in names)}")
        say(f"armwright lab run {folder / 'stand.toml'} --out {folder / 'results'}")
