# SPDX-License-Identifier: Apache-2.0
"""How exploring on the wire does against the truth: a virtual controller in one process, the command in another.

python docs/measure_wire.py model arm.json [seed]                        identify the lab's arm, as measure_feeling does
python docs/measure_wire.py runs arm.json RATE SEED… [--world W]         explorations, a row each
python docs/measure_wire.py quiet arm.json RATE SEED MINUTES             rehearsed motion without any contact

RATE is 125 or 500 Hz. Seeds are of the current noise and of the rehearsal's ways. The truth is what the controller's
plant touched. Both processes ask for the larger share of the processor where they may (root); the pace is how many
seconds of the controller pass in one of the wall clock: whether the client keeps up is seen in its gaps. In --lockstep
the controller waits with every tick for the answer of its client: what else the machine does then changes nothing that
is measured in the controller's time, and with a large --pace everything goes as fast as it can be computed. A client
that thinks for longer than 0.25 s is not waited for.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.exploration.explore_options import GridTask, map_of
from armwright.identify import load_model, save_model
from armwright.lab.virtual_controller import VirtualController
from armwright.live.wire_consent import consents
from armwright.live.wire_exploring import ways_of
from armwright.live.wire_job import WireAddress, WireJob, wire_job
from armwright.live.wire_rehearsal import first_bands, learned, rehearse
from armwright.live.wire_riding import Company, riding
from armwright.recording.formats import load
from armwright.statistics import share
from armwright.world.arm_capsules import beyond_tool
from armwright.world.world_catalogue import load_world

if TYPE_CHECKING:
    from collections.abc import Iterator

    from armwright.types import Array
    from armwright.world.world import World

NOISE = 0.15  # of a published current [A]
BETWEEN = 0.06  # [s] between touches that are one: an arm that bounces, or one that touches two shapes
ASKING, OVERLAP, MEMORY = (
    0.5,
    2.0,
    50.0,
)  # [s] of the wall clock between questions; of the controller: asked twice, kept
LATE = 0.1  # [s] after a touch's end in which an alarm still belongs to it


class Clockwork(NamedTuple):
    """How a controller's time goes: seconds in one of the wall clock, and whether it waits for its client's answers."""

    pace: float
    lockstep: bool

    def __str__(self) -> str:
        """Return it in words."""
        return f"pace {self.pace:g}{', lockstep' if self.lockstep else ''}"


class Touch(NamedTuple):
    """What really touched: begin and end [s] by the controller, largest force [N]."""

    begin: float
    end: float
    largest: float


def hurry(*processes: int) -> None:
    """Ask for more of the processor than others get, where it is allowed."""
    for process in processes:
        with contextlib.suppress(OSError):
            Path(f"/proc/{process}/autogroup").write_text("-10", encoding="utf-8")
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process, -10)


def controller(world: World | None, q0: Array, rate: float, seed: int, clock: Clockwork) -> VirtualController:
    """Return a virtual controller, not yet started."""
    options = {
        "e_series": rate > 125.0,
        "current_noise": NOISE,
        "seed": seed,
        **clock._asdict(),
        "fifo": not clock.lockstep,
    }
    return VirtualController(world=world, q0=q0.tolist(), **options)


def merged(touches: list[Any]) -> list[Touch]:
    """Return touches of all links and shapes as one list, those that overlap or follow closely as one."""
    out: list[Touch] = []
    for one in sorted(touches, key=lambda touch: touch.begin):
        if out and one.begin <= out[-1].end + BETWEEN:
            last = out[-1]
            out[-1] = Touch(last.begin, max(last.end, one.end), max(last.largest, one.largest))
        else:
            out.append(Touch(one.begin, one.end, one.largest))
    return out


@contextlib.contextmanager
def witnessed(robot: VirtualController) -> Iterator[list[Any]]:
    """Ask again and again what touched: a controller remembers a minute; yield a list that is whole at the end."""
    found: list[Any] = []
    done = threading.Event()

    def ask() -> None:
        last = robot.truth().time
        while not done.wait(ASKING):
            now = robot.truth().time
            if now - last > MEMORY:
                raise RuntimeError(f"the controller went on by {now - last:.0f} s between two questions")
            found.extend(robot.contacts(last - OVERLAP))
            last = now
        found.extend(robot.contacts(last - OVERLAP))

    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask)
        try:
            yield found
        finally:
            done.set()
            asking.result()


class Felt(NamedTuple):
    """Alarms of a run against its touches: delays, times until free [s], peaks [N]; false alarms, missed touches."""

    delay: list[float]
    free: list[float]
    peak: list[float]
    false: int
    missed: int


def compared(alarms: Array, touches: list[Touch]) -> Felt:
    """Compare alarms, device times (m,) [s], with what touched."""
    delay, free, false, seen = list[float](), list[float](), 0, set[int]()
    for at in alarms:
        k = next((k for k, t in enumerate(touches) if t.begin <= at <= t.end + LATE), None)
        if k is None:
            false += 1
        elif k not in seen:
            seen.add(k)
            delay.append(at - touches[k].begin)
            free.append(max(0.0, touches[k].end - at))
    missed = sum(k not in seen for k in range(len(touches)))
    return Felt(delay, free, [touch.largest for touch in touches], false, missed)


def alarms_in(path: Path, since: float) -> Array:
    """Return the device times of alarms in a ride's recording from an instant of the ride's clock on."""
    recording = load(path)
    kind, stamps = recording["kind"], recording["device_time"]
    begins = np.flatnonzero((kind[1:] == 2.0) & (kind[:-1] == 1.0))
    return np.asarray(stamps[begins][recording.time[begins] >= since])


def marks_near(run: dict[str, Any], world: World, reach: float) -> tuple[int, int]:
    """Return how many marked cells are within one cell of an obstacle, and how many there are.

    The arm's last link is a capsule that reaches `reach` beyond the tool's point: so far from a surface it is marked.
    """
    from armwright.exploration.pictures.map_figures import distance_field

    assert world.tool_task is not None
    grid = map_of(world.tool_task).grid
    cells = {tuple(one["cell"]) for one in run["contact_list"]}
    near = 0
    for cell in cells:
        away = float(distance_field(world, np.asarray(grid.centre(cell))[None])[0])
        near += away - reach <= float(np.max(grid.cell_size))
    return near, len(cells)


def one_run(model: Path, name: str, rate: float, seed: int, clock: Clockwork, words: list[str]) -> dict[str, Any]:
    """Explore once by the command line; return what came of it."""
    world = load_world(name)
    q0 = world.tool_task.near if world.tool_task is not None else world.task.start  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory() as folder:
        with controller(world, np.asarray(q0), rate, seed, clock) as robot:
            command = ["run", "collision", "--wire", robot.host, "--model", str(model), "--world", name]
            command += ["--seed", str(seed), "--yes", "--json", "--out", folder, *words]
            assert robot._process is not None
            client = subprocess.Popen(
                [sys.executable, "-m", "armwright.cli", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            hurry(os.getpid(), client.pid, robot._process.pid)
            with witnessed(robot) as touches:
                said, errors = client.communicate()
            truth = robot.truth()
        try:
            run = json.loads(said)
        except ValueError:
            run = {"outcome": "no result"}
        if "contact_list" not in run:
            return {"seed": seed, "outcome": run.get("outcome", "?"), "said": (said + errors).decode()[-600:]}
        rides = sorted(Path(folder).glob("ride-*.mcap"))
        recording = load(rides[-1])
        began = run["settings"]["began"]
        alarms = alarms_in(rides[-1], began)
        first = float(recording["device_time"][np.searchsorted(recording.time, began)])
        found = [touch for touch in merged(touches) if touch.begin >= first]
    felt = compared(alarms, found)
    row = {
        "seed": seed,
        "outcome": run["outcome"],
        "seconds": run["simulated_s"] - began,
        "safety": truth.safety,
        "alarms": len(alarms),
        "contacts": len(run["contact_list"]),
        **felt._asdict(),
        **run["settings"]["ride"],
        "load": os.getloadavg()[0],
    }
    if world.tool_task is not None and "whole" not in words:
        near, marks = marks_near(run, world, beyond_tool(load_model(model).robot))
        row |= {"marks": marks, "near": near}
    return row


def runs(model: Path, name: str, rate: float, seeds: list[int], clock: Clockwork, words: list[str]) -> None:
    """Explore with every seed and print rows and totals."""
    rows = []
    for seed in seeds:
        row = one_run(model, name, rate, seed, clock, words)
        rows.append(row)
        say(json.dumps({key: _short(value) for key, value in row.items()}))
    told = [row for row in rows if "delay" in row]
    delay, free, peak = (np.array([x for row in told for x in row[key]]) for key in ("delay", "free", "peak"))
    reached = sum(row["outcome"] == "reached" for row in rows)
    say(f"{name} at {rate:g} Hz, {clock}: reached {reached} of {len(rows)}, {_least(reached, len(rows))}")
    if len(delay):
        say(f"true contacts {len(delay)}, false alarms {sum(r['false'] for r in told)}")
        say(f"touches without an alarm {sum(r['missed'] for r in told)}")
        for what, x, unit in (("delay", 1e3 * delay, "ms"), ("free after", 1e3 * free, "ms"), ("peak", peak, "N")):
            say(f"{what}: {np.min(x):.0f} / {np.median(x):.0f} / {np.percentile(x, 95):.0f} / {np.max(x):.0f} {unit}")
        near, marks = (sum(row.get(key, 0) for row in told) for key in ("near", "marks"))
        if marks:
            say(f"marks within a cell of an obstacle: {near} of {marks}, {_least(near, marks)}")


def _least(hits: int, trials: int) -> str:
    return f"at 95 % {share(hits, trials).low:.0%} or more"


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return [round(float(x), 3) for x in value]
    return round(value, 3) if isinstance(value, float) else value


def job_over(model: Path, address: WireAddress, name: str, seed: int) -> WireJob:
    """Return a job on a world's map."""
    known = load_world(name).tool_task
    assert known is not None
    task = GridTask(known.start, known.goal, map_of(known))
    return wire_job(address, load_model(model), task, seed=seed)


def quiet(model: Path, name: str, rate: float, seed: int, minutes: float, clock: Clockwork) -> None:
    """Rehearse for a minute, then move for so long with the bands of that minute, and count alarms: all are false."""
    known = load_world(name).tool_task
    assert known is not None
    with controller(None, np.asarray(known.near), rate, seed, clock) as robot:
        job = job_over(model, WireAddress(robot.host), name, seed)
        assert robot._process is not None
        hurry(os.getpid(), robot._process.pid)
        consents(robot.host, job.sentences(), None)
        rng = np.random.default_rng(seed)
        with riding(job, first_bands(job.identified), Company({}), "rehearsal") as (ride, kept):
            assert rehearse(ride, ways_of(job, 0), job.care.rehearsed, rng)
            rows, period = kept.since(-np.inf), ride.period
        found = learned(job.identified, rows, period)
        say(f"bands {np.round(found.bands.motion, 2).tolist()} N m, at rest × {found.bands.rest:.2f}")
        say(f"caps {np.round(found.torque, 2).tolist()} N m, felt in free motion {found.noticed:.0f} N at most")
        with riding(job, found.bands, Company({}), "quiet", found.torque) as (ride, _):
            ride._most_gaps = 10**9  # a gap is counted, and ends nothing here
            begun, part = ride.stamp, 1
            while (left := 60.0 * minutes - (ride.stamp - begun)) > 0.0:
                rehearse(ride, ways_of(job, part), min(600.0, left), rng)
                part += 1
            hours = (ride.stamp - begun) / 3600.0
            cpu = 1e6 * ride.cpu / ride.samples
            say(
                f"{rate:g} Hz, seed {seed}, {clock}: {ride.alarms} alarms in {60.0 * hours:.1f} min, {ride.gaps} "
                f"gaps, {ride.samples} samples, {cpu:.0f} µs of CPU each, load {os.getloadavg()[0]:.1f}"
            )


def identify(path: Path, seed: int) -> None:
    """Identify the lab's arm from 50 s of excitation at 500 Hz, bands from a minute."""
    sys.path.insert(0, str(Path(__file__).parent))
    from measure_feeling import identified

    model = identified(seed, 500.0)
    save_model(replace(model), path)
    say(f"{path}: gains {np.round(model.gains, 2).tolist()}")


def say(text: str) -> None:
    """Print a line now."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    """Read the words, measure, print."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("what", choices=["model", "runs", "quiet"])
    words.add_argument("model", type=Path)
    words.add_argument("numbers", type=float, nargs="*")
    words.add_argument("--world", default="layout-a-low")
    words.add_argument("--pace", type=float, default=1.0)
    words.add_argument("--lockstep", action="store_true", help="the controller waits for answers, 0.25 s at most")
    words.add_argument("--also", default="", help="further words for the command")
    asked = words.parse_args()
    clock = Clockwork(asked.pace, asked.lockstep)
    if asked.what == "model":
        identify(asked.model, int(asked.numbers[0]) if asked.numbers else 5)
    elif asked.what == "runs":
        rate, *seeds = asked.numbers
        runs(asked.model, asked.world, rate, [int(seed) for seed in seeds], clock, asked.also.split())
    else:
        rate, seed, minutes = asked.numbers
        quiet(asked.model, asked.world, rate, int(seed), minutes, clock)


if __name__ == "__main__":
    main()
