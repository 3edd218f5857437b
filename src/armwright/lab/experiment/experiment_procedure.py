# SPDX-License-Identifier: Apache-2.0
"""`conduct`: a whole experiment: devices, runs, evaluation, report; it can be interrupted at any time and resumed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armwright.errors import InputError
from armwright.files import read_regular, results_looked_at, write_file
from armwright.lab.experiment.evaluate import Evaluated, evaluate, facts_of, write_json
from armwright.lab.experiment.experiment_file import Experiment
from armwright.lab.experiment.experiment_report import write_report
from armwright.lab.experiment.experiment_runs import Tell, bench, is_finished, make_run
from armwright.lab.mover import Command
from armwright.packages import need


@dataclass(frozen=True, eq=False)
class ExperimentOutcome:
    """Outcome of an experiment: where everything is, what was found, and how long it took [s].

    Attributes:
        recorded: names of the runs that were made now; the others existed before.
    """

    folder: Path
    report: Path
    evaluated: Evaluated
    facts: dict[str, Any]
    seconds: float
    recorded: tuple[str, ...]


def conduct(
    experiment: Experiment,
    folder: str | Path,
    *,
    resume: bool = False,
    tell: Tell = lambda text: None,
    ready: Callable[[Command], None] = lambda command: None,
) -> ExperimentOutcome:
    """Run an experiment.

    Args:
        experiment: from `read_experiment`.
        folder: for recordings and results; made if it is not there.
        resume: keep the recordings of runs that were finished; otherwise a folder that has any, or results, is refused.
        tell: takes lines of progress.
        ready: called before each run with the first command; returns when the arm stands there.

    Returns:
        An `ExperimentOutcome`. What was recorded stays in the folder, also when this raises.

    Example:
        >>> conduct(read_experiment("experiment.toml"), "out/experiment", resume=True)
    """
    for package, extra in (("mcap", "log"), ("pyarrow", "log"), ("matplotlib", "plot")):
        need(package, extra, "a whole experiment")  # before anything moves
    begun = time.monotonic()
    out = _folder(experiment, Path(folder), resume)
    todo = [run for run in experiment.runs if not is_finished(out / f"{run.name}.mcap", run)]
    for run in experiment.runs:
        if run not in todo:
            tell(f"{run.name}: {run.name}.mcap is there")
    if todo:
        tell("starting the devices" if experiment.virtual is not None else "looking for the devices")
        with bench(experiment) as devices:
            for run in todo:
                make_run(devices, run, out / f"{run.name}.mcap", tell, ready)
    tell("evaluating")
    done = evaluate(experiment, out, tell)
    facts = {"title": experiment.title, "recorded_now": [run.name for run in todo], **facts_of(done)}
    whole = time.monotonic() - begun if len(todo) == len(experiment.runs) else None
    report = write_report(experiment, done, out / "report.html", whole)
    seconds = time.monotonic() - begun
    write_json(out / "report.json", facts | {"seconds": seconds})
    return ExperimentOutcome(out, report, done, facts, seconds, tuple(run.name for run in todo))


RESULTS = ("report.html", "report.json", "model.json", "identified.md", "clocks.json", "tables")
MOST_INPUT_BYTES = 16 * 2**20  # of an experiment file or a file of moves, as they are copied


def _folder(experiment: Experiment, out: Path, resume: bool) -> Path:
    """Make the folder, with copies of what the experiment was told; without `resume` nothing in it may be replaced."""
    try:
        given = {file.name: read_regular(file, MOST_INPUT_BYTES) for file in _inputs(experiment, out)}
        with results_looked_at():
            changed = {name: content for name, content in given.items() if _copy(out / name) != content}
        made = [*(f"{run.name}.mcap" for run in experiment.runs), *RESULTS]
        made += [f"wrenches-{run.name}.csv" for run in experiment.runs]
        held = [name for name in made if (out / name).exists()]
        held += [name for name in changed if (out / name).exists()]
        if held and not resume:
            raise InputError(f"{out}: has {', '.join(held)} already; go on with --resume, or choose another --out")
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out}: cannot be used: {error.strerror or error}") from error
    for name, content in changed.items():
        write_file(out / name, content)
    return out


def _copy(file: Path) -> bytes | None:
    """Return the content of a copy that an earlier run left; None if there is none."""
    return read_regular(file, MOST_INPUT_BYTES) if file.exists() else None


def _inputs(experiment: Experiment, out: Path) -> list[Path]:
    """Return the files that the experiment consists of and that are not in the folder itself."""
    files = {experiment.path, *(run.moves for run in experiment.runs)}
    return sorted(file for file in files if file.resolve().parent != out.resolve())
