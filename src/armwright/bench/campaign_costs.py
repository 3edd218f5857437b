# SPDX-License-Identifier: Apache-2.0
"""What campaigns cost: CPU of all their processes together, peaks of memory, files, queries (Linux).

CPU seconds are those of a coordinator and all its processes (``wait4``): what other programs do on the machine changes
them little. Engines are compared with the serial one on the same items. As a program it puts the figures into their
page:

python -m armwright.bench.campaign_costs out/campaigns.json docs/howto/campaigns.md
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from armwright.bench.bench_figures import figure, insert
from armwright.campaigns import CampaignPlan, Kind, item_rng, open_store
from armwright.campaigns.campaign_query import ask
from armwright.campaigns.chunk_file import arrow, chunk_of
from armwright.campaigns.store import Store, create_store
from armwright.campaigns.work import WORKER_START_SECONDS
from armwright.packages import need

WORKERS = 2
FEW_CHUNKS, MANY_CHUNKS = 100, 2100  # empty chunks: their difference is free of the cost of starting
DETECTIONS = CampaignPlan(
    "detection", 1, 131, {"learning_runs": 400, "observers": ["momentum", "closed-loop"]}, chunk=1000
)
EXPLORATIONS = CampaignPlan("worlds", 1, 20000, chunk=4)


def _nothing(first: int, last: int) -> dict[str, list[float]]:
    return {"value": [float(item_rng(0, k).uniform()) for k in range(first, last)]}


NOTHING = Kind("empty", {"value": "float64"}, lambda plan, prepared: _nothing, chunk=1)


def campaign_figures(
    largest: int = 100_000, *, place: Path, explorations: int = 100, tell: Callable[[str], None] = lambda text: None
) -> dict[str, Any]:
    """Measure everything.

    Args:
        largest: number of detections; sizes are 100, 1,000 … up to it.
        place: an empty folder; a few hundred megabytes go there.
        explorations: their number.
        tell: called with what is measured next.
    """
    tell("campaigns: an empty chunk")
    found: dict[str, Any] = {"workers": WORKERS, "chunk": empty_chunks(place)}
    tell(f"campaigns: {explorations} explorations")
    found["growth"] = growth(place, EXPLORATIONS, explorations, "explorations")
    sizes = [size for size in (100, 1000, 10_000, 100_000, 1_000_000) if size <= largest]
    for size in sizes:
        tell(f"campaigns: {size} detections")
        found["growth"] += growth(place, DETECTIONS, size, "detections")
    tell("campaigns: thresholds are learned")
    found["learning"] = [learning(place, size) for size in sizes if size >= 1000]
    tell("campaigns: questions")
    found["store"] = questions(place, place / f"detections-{sizes[-1]}-serial")
    return found


def empty_chunks(place: Path) -> dict[str, float]:
    """Return the CPU [s] of one empty chunk by engine, and the scheduler's share where it is a process of its own."""
    stores = [
        create_store(place / f"empty-{count}", CampaignPlan(NOTHING.name, count, 0, chunk=1), kind=NOTHING).folder
        for count in (FEW_CHUNKS, MANY_CHUNKS)
    ]

    def each(used: list[float]) -> float:
        return (used[1] - used[0]) / (MANY_CHUNKS - FEW_CHUNKS)

    code = "from armwright.bench.campaign_costs import drain; drain({!r}, {!r}, {!r}, {!r})"
    found = {}
    for engine in ("serial", "processes", "dask"):
        found[engine] = each([measured("-c", code.format(engine, str(folder), None, None))["cpu"] for folder in stores])
    used = []
    for folder in stores:
        keys = keys_in(place / f"{folder.name}-keys")
        with _hosts(place / f"{folder.name}.json", keys) as (address, scheduler):
            before = _cpu(scheduler)
            measured("-c", code.format("dask", str(folder), address, keys))
            used.append(_cpu(scheduler) - before)
    return found | {"scheduler": each(used)}


def drain(engine: str, folder: str, address: str | None, keys: tuple[str, str] | None) -> None:
    """Compute all chunks by an engine and discard them: what an engine costs without a store.

    `keys` are the files of certificate and key for the scheduler at `address`.
    """
    from armwright.campaigns import campaign_run as serial
    from armwright.campaigns.engines import dask_engine as dask
    from armwright.campaigns.engines import processes

    store = open_store(folder, kind=NOTHING)
    chunks = list(store.chunks())
    if engine == "serial":
        found = serial.serial(store, chunks)
    elif engine == "processes":
        found = processes.processes(store, chunks, WORKERS)
    else:
        security = dask.security_of(address, *(Path(keys[k]) if keys else None for k in (0, 0, 1)))
        found = dask.dask(store, chunks, WORKERS, scheduler=address, security=security)
    if sum(chunk.last - chunk.first for chunk in found) != store.plan.items:
        raise RuntimeError(f"{engine}: items were lost")


def growth(place: Path, plan: CampaignPlan, items: int, name: str) -> list[dict[str, Any]]:
    """Return CPU [s], memory [MB] and files [MB] of one campaign by every engine; learning is done once before."""
    first, out = create_store(place / f"{name}-prepared", plan), []
    for engine in ("serial", "processes", "dask"):
        folder = place / f"{name}-{items}-{engine}"
        shutil.copytree(first.folder, folder)
        create_store(folder, CampaignPlan(plan.kind, items, plan.seed, plan.settings, plan.chunk))
        words = ("campaign", "resume", folder, "--engine", engine, "--workers", WORKERS)
        found = measured("-m", "armwright.cli", *words)
        out.append({"what": name, "items": items, "engine": engine, **found, "files": _size(folder)})
    return out


def learning(place: Path, runs: int) -> dict[str, float]:
    """Return the memory [MB] of a whole small campaign of detections, and of the process that learns its thresholds."""
    file = place / f"learning-{runs}.toml"
    observers = json.dumps(DETECTIONS.settings["observers"])
    file.write_text(
        f'kind = "detection"\nitems = 2\nseed = 131\n[settings]\nlearning_runs = {runs}\nobservers = {observers}\n',
        encoding="utf-8",
    )
    found = measured("-m", "armwright.cli", "campaign", "run", file, "--workers", 1)
    return {"runs": runs, **found}


def questions(place: Path, source: Path) -> dict[str, float]:
    """Return size [MB] and time [s] of a query on 10⁶ rows copied from a smaller campaign; CPU [s] of 10⁴ chunks."""
    small = open_store(source)  # of at least one whole chunk
    plan = CampaignPlan(small.plan.kind, 1_000_000, small.plan.seed, small.plan.settings, small.plan.chunk)
    folder = place / "million"
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.parquet"))
    big = Store(folder, plan, small.kind, small.prepared, small.canary)
    chunks = list(small.chunks())
    for k, (first, last) in enumerate(big.chunks()):
        items = arrow().array(range(first, last), arrow().int64())
        big.write(chunk_of(small.read(*chunks[k % len(chunks)]).set_column(0, "item", items), big.digest))
    create_store(folder, plan)
    ask(source, "select count(*) from rows")  # imports
    begin = time.perf_counter()
    ask(folder, "select move, median(momentum_absolute_delay) from rows group by move")
    asked = time.perf_counter() - begin
    many = create_store(place / "many", CampaignPlan("montecarlo", 10_000, 0, {"duration": 0.1}, chunk=1))
    for first, last in many.chunks():  # their names are all that a status needs
        many.file(first, last).touch()
    status = measured("-m", "armwright.cli", "campaign", "status", many.folder)["cpu"]
    return {"rows_mb": _size(folder), "median_s": asked, "status_s": status}


def measured(*words: Any) -> dict[str, float]:
    """Run Python; return CPU [s] of all its processes, peak memory [MB] of the process and of its largest child."""
    own = worker = 0.0
    with tempfile.TemporaryFile() as said:
        run = subprocess.Popen([sys.executable, *map(str, words)], stdout=subprocess.DEVNULL, stderr=said)
        while True:
            pid, status, used = os.wait4(run.pid, os.WNOHANG)
            if pid:
                break
            own = max(own, _peak(run.pid))
            worker = max([worker, *(_peak(child) for child in _children(run.pid))])
            time.sleep(0.1)
        run.returncode = os.waitstatus_to_exitcode(status)
        if run.returncode:
            said.seek(0)
            raise RuntimeError(said.read().decode(errors="replace"))
    return {"cpu": used.ru_utime + used.ru_stime, "coordinator": own, "worker": worker}


def keys_in(folder: Path) -> tuple[str, str]:
    """Write a certificate, which is its own authority, and its key into a new folder of this user alone."""
    folder.mkdir(mode=0o700)
    made = need("distributed", "scale", "a campaign of dask").Security.temporary()
    for name, text in (("cert.pem", made.tls_client_cert), ("key.pem", made.tls_client_key)):
        (folder / name).write_text(text, encoding="utf-8")
    return str(folder / "cert.pem"), str(folder / "key.pem")


@contextlib.contextmanager
def _hosts(file: Path, keys: tuple[str, str]) -> Iterator[tuple[str, int]]:
    """Start a scheduler and its workers as a user does, on loopback; yield its address and process."""
    cert, key = keys
    line = ["--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(file)]
    line += ["--protocol", "tls://", "--tls-ca-file", cert, "--tls-cert", cert, "--tls-key", key]
    dask, quiet = str(Path(sys.executable).with_name("dask")), subprocess.DEVNULL
    started = [subprocess.Popen([dask, "scheduler", *line], stdout=quiet, stderr=quiet)]
    try:
        until = time.monotonic() + WORKER_START_SECONDS
        while not file.exists() or '"address"' not in file.read_text(encoding="utf-8"):
            if time.monotonic() > until or started[0].poll() is not None:
                raise RuntimeError("no dask scheduler came up")
            time.sleep(0.05)
        address = json.loads(file.read_text(encoding="utf-8"))["address"]
        line = [sys.executable, "-m", "armwright.cli", "campaign", "worker", address, "--workers", str(WORKERS)]
        line += ["--tls-ca", cert, "--tls-cert", cert, "--tls-key", key]
        started.append(subprocess.Popen(line, stdout=quiet, stderr=quiet))
        yield address, started[0].pid
    finally:
        for process in reversed(started):  # workers leave by themselves when they are asked to
            process.send_signal(signal.SIGINT)
            try:
                process.wait(10.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _size(folder: Path) -> float:
    return sum(path.stat().st_size for path in (folder / "rows").iterdir()) / 1e6


def _children(pid: int) -> list[int]:
    try:
        threads = Path(f"/proc/{pid}/task").glob("*/children")
        return [int(child) for thread in threads for child in thread.read_text(encoding="utf-8").split()]
    except OSError:
        return []


def _peak(pid: int) -> float:
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024.0 for line in text.splitlines() if line.startswith("VmHWM")), 0.0)


def _cpu(pid: int) -> float:
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


MARK = "costs"


def markdown(result: dict[str, Any]) -> str:
    """Return the tables of one measurement."""
    found, machine = result["campaigns"], result["machine"]
    lines = ["| | measured | at most |", "|---|---|---|"]
    for row in result["campaign_lines"]:
        bound = row["target"].removeprefix("≤ ") + ("" if row["met"] in (True, None) else " (**missed**)")
        lines.append(f"| {row['line']} | {figure(row['figure'])} {row['unit']} | {bound} |")
    heads = ("items", "engine", "CPU per item [ms]", "÷ serial", "worker [MB]", "coordinator [MB]", "files [MB]")
    lines += ["", f"| {' | '.join(heads)} |", "|---|---|" + "---:|" * 5]
    serial = {(row["what"], row["items"]): row["cpu"] for row in found["growth"] if row["engine"] == "serial"}
    for row in found["growth"]:
        ratio = row["cpu"] / serial[row["what"], row["items"]]
        worker = "" if row["engine"] == "serial" else f"{row['worker']:.0f}"
        cells = (f"{1e3 * row['cpu'] / row['items']:.3g}", f"{ratio:.3f}", worker, f"{row['coordinator']:.0f}")
        lines.append(f"| {row['items']:,} {row['what']} | {row['engine']} | {' | '.join(cells)} | {row['files']:.3g} |")
    memory = "; ".join(f"{row['runs']:,} runs {row['worker']:.0f} MB" for row in found["learning"])
    lines += ["", f"Memory of the process in which thresholds are learned: {memory}."] if memory else []
    cores = f"{machine['cores']} cores, {found['workers']} workers"
    lines.append(f"Measured on {machine['cpu']}, {cores}, Python {machine['python']}, {machine['date'][:10]}.")
    return "\n".join(lines)


if __name__ == "__main__":
    source, *targets = sys.argv[1:]
    for target in targets:
        insert(Path(target), markdown(json.loads(Path(source).read_text(encoding="utf-8"))), MARK)
