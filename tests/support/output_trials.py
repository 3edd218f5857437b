# SPDX-License-Identifier: Apache-2.0
"""Commands that write, each tried on a disk without room, and with Ctrl-C whenever it opens or renames a file.

Run as a process: ``python output_trials.py FOLDER MOST NAME…`` (at most so many interrupts per command). It lets every
command write its files once. Then it runs the command again in these ways and prints one JSON line per trial: what was
done, the exit code, what was said on stderr, which older files have changed, and what is left in the folder besides.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

QUICK = "simulate planar2 --duration 0.05 --q0 0.1,0.2"
COMMANDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "simulate-mcap": (f"{QUICK} --out {{}}/run.mcap", ("run.mcap",)),
    "simulate-csv": (f"{QUICK} --out {{}}/run.csv", ("run.csv", "run.csv.meta")),
    "simulate-parquet": (f"{QUICK} --out {{}}/run.parquet", ("run.parquet",)),
    "simulate-npz": (f"{QUICK} --out {{}}/run.npz", ("run.npz",)),
    "simulate-plot": (f"{QUICK} --plot {{}}/views", ("views/joints.png", "views/energy.png")),
    "simulate-animate": (f"{QUICK} --animate {{}}/film.gif", ("film.gif",)),
    "simulate-report": (f"{QUICK} --report {{}}/run.html", ("run.html",)),
    "export": ("export planar2 --to c --out {}/arm.c", ("arm.c",)),
    "identify": (
        "identify {}/arm.toml {}/log.csv --gains 11,11,11,11,11,11 "
        "--out {}/model.json --sheet {}/found.toml --report {}/fit.md",
        ("model.json", "found.toml", "fit.md"),
    ),
    "feel": (
        "feel {}/log.csv --model {}/known.json --plot {}/felt.png --report {}/felt.html",
        ("felt.png", "felt.html"),
    ),
    "sense": (
        "sense {}/free.csv --model {}/known.json --alarm-share 0.3 --out {}/sense.png --report {}/sense.md",
        ("sense.png", "sense.md"),
    ),
    "excite": ("excite planar2 --duration 2 --starts 1 --iterations 1 --out {}/moves.csv", ("moves.csv",)),
    "show": ("show planar2 --draw {}/arm.png", ("arm.png",)),
    "program": (
        "run program {}/ur5.script --robot ur5 --csv {}/cycles.npz --out {}/page.html",
        ("cycles.npz", "page.html"),
    ),
    "tour": ("tour planar2 --duration 0.1 --out {}/tour", ("tour/free_fall.png",)),
    "reproduce": ("reproduce 003 --item Q2 --out {}/pages", ("pages/armwright-003.html",)),
    "collision": ("run collision --no-film --out {}/bumps", ("bumps/recording.npz", "bumps/report.html")),
    "campaign-report": ("campaign report {}/many --out {}/many.html", ("many.html",)),
}
"""Words by name, in which ``{}`` stands for the folder, and the files that they write."""


def prepare(folder: Path, names: list[str]) -> None:
    """Lay down what the commands read."""
    from support.simulated_logs import gear_friction, sheet_of, simulated_log, true_arm

    if {"identify", "feel", "sense"} & set(names):
        head = ["t", *(f"{s}_{j}" for s in ("q", "qd", "current") for j in range(6))]
        for name, seconds in (("log", 8.0), *([("free", 40.0)] if "sense" in names else [])):
            log = simulated_log(true_arm(), gear_friction(6), np.full(6, 11.0), seconds, noise=0.02)
            rows = np.concatenate([log.t[:, None], log.q, log.qd, log.current], axis=1)
            np.savetxt(folder / f"{name}.csv", rows, delimiter=",", header=",".join(head), comments="", fmt="%.7f")
        (folder / "arm.toml").write_text(sheet_of().to_sheet(), encoding="utf-8")
    if {"feel", "sense"} & set(names):
        words = COMMANDS["identify"][0].replace("model.json", "known.json").replace("{}", str(folder))
        assert run(words.split())[0] == 0
    if "program" in names:
        (folder / "ur5.script").write_text(
            "def p():\n  movej([0,-1,1,0,0,0])\n  movej([0.2,-1,1,0,0,0])\nend\n", encoding="utf-8"
        )
    if "campaign-report" in names:
        settings = 'robot = "planar2"\nstart = [0, 0.1]\ngoal = [0.2, 0.3]\nduration = 0.1\nfriction = [1.0, 1.0]\n'
        (folder / "many.toml").write_text(f'kind = "montecarlo"\nitems = 2\n[settings]\n{settings}', encoding="utf-8")
        words = f"campaign run {folder}/many.toml --out {folder}/many --engine serial"
        assert run(words.split())[0] == 0


def run(words: list[str]) -> tuple[int, str]:
    """Run a command in this process; return its exit code and what it said on stderr."""
    from armwright.cli.app import run as command

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        code = command(words)
    return code, said.getvalue()


@contextlib.contextmanager
def no_room() -> Iterator[None]:
    """Let the system refuse every byte that is written to a file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class Interrupter:
    """Presses Ctrl-C when the process opens for writing, or renames, a file below a folder for the `at`-th time."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.at, self.seen = str(folder), 0, 0
        sys.addaudithook(self._hear)

    def _hear(self, event: str, given: tuple[Any, ...]) -> None:
        writes = event == "open" and given[2] & (os.O_WRONLY | os.O_RDWR)
        if self.at and (writes or event == "os.rename") and str(given[0]).startswith(self.folder):
            self.seen += 1
            if self.seen == self.at:
                signal.raise_signal(signal.SIGINT)


def main(folder: Path, most: int, names: list[str]) -> None:
    """Do all trials; see the module's first lines."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    prepare(folder, names)
    interrupter = Interrupter(folder)
    for name in names:
        words, files = COMMANDS[name]
        argv = [word.replace("{}", str(folder)) for word in words.split()]
        code, said = run(argv)
        assert all((folder / file).exists() for file in files), (name, code, said)
        whole = {file: (folder / file).read_bytes() for file in files}
        before = contents(folder)

        def tell(how: str, ended: tuple[int, str], whole=whole, before=before, name=name) -> None:
            changed = [file for file, old in whole.items() if not same((folder / file).read_bytes(), old)]
            left = sorted(contents(folder) - before)
            row = {"command": name, "how": how, "code": ended[0], "said": ended[1], "changed": changed, "left": left}
            print(json.dumps(row), flush=True)

        tell("undisturbed", (code, said))
        with no_room():
            ended = run(argv)
        tell("no room", ended)
        for at in range(1, most + 1):
            interrupter.at, interrupter.seen = at, 0
            ended = run(argv)
            interrupter.at = 0
            if interrupter.seen < at:
                break
            tell(f"interrupt {at}", ended)


def same(new: bytes, old: bytes) -> bool:
    """Whether a file is the older one, or another whole page: pages tell how long they took."""
    page = b"</html>"
    return new == old or (new.rstrip().endswith(page) and old.rstrip().endswith(page))


def contents(folder: Path) -> set[str]:
    """Return the names of everything below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
