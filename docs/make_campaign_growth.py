# SPDX-License-Identifier: Apache-2.0
"""What campaigns cost, for docs/howto/campaigns.md: CPU of all processes together, memory, files, questions.

    python docs/make_campaign_growth.py [LARGEST] [tasks] [growth] [explorations] [store]

CPU seconds are those of the coordinator and all its processes (`wait4`), so that a busy machine changes little; memory
is the peak of resident pages. Ratios are to the serial engine with the same items. Linux.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from armwright.campaigns import Kind, Plan, item_rng, open_store, read_plan
from armwright.campaigns.query import ask
from armwright.campaigns.store import Store, create_store
from armwright.campaigns.table import arrow

HERE = Path(__file__).resolve().parent
WORKERS = 2
DETECTION = Plan("detection", 1, 131, {"learning_runs": 400, "observers": ["momentum", "closed-loop"]}, chunk=1000)
EMPTY = Kind("empty", {"value": "float64"}, lambda plan, prepared: _empty, chunk=1)


def _empty(first, last):
    return {"value": [float(item_rng(0, k).uniform()) for k in range(first, last)]}


def say(*cells):
    """Print a row of a table."""
    sys.stdout.write("| " + " | ".join(str(c) for c in cells) + " |\n")
    sys.stdout.flush()


def resumed(folder, *options):
    """Resume a campaign in a process of its own, see `measured`."""
    return measured("-m", "armwright.cli", "campaign", "resume", folder, *options)


def measured(*words):
    """Run Python: (CPU [s], peak of the coordinator, of its largest worker [MB])."""
    line = [sys.executable, *map(str, words)]
    run = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    own = worker = 0.0
    while True:
        pid, status, used = os.wait4(run.pid, os.WNOHANG)
        if pid:
            break
        own = max(own, _peak(run.pid))
        worker = max([worker, *(_peak(child) for child in _children(run.pid))])
        time.sleep(0.1)
    if status:
        raise SystemExit(run.stderr.read().decode())
    return used.ru_utime + used.ru_stime, own, worker


def _children(pid):
    try:
        threads = Path(f"/proc/{pid}/task").glob("*/children")
        return [int(child) for thread in threads for child in thread.read_text().split()]
    except OSError:
        return []


def _peak(pid):
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024.0 for line in text.splitlines() if line.startswith("VmHWM")), 0.0)


def _cpu(pid):
    stat = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


def drain(engine, folder, *address):
    """Compute all chunks by an engine and throw them away: what an engine costs without a store."""
    from armwright.campaigns.engines import dask, processes, serial

    store = open_store(folder)
    chunks = list(store.chunks())
    if engine == "serial":
        found = serial.serial(store, chunks)
    elif engine == "processes":
        found = processes.processes(store, chunks, WORKERS)
    else:
        found = dask.dask(store, chunks, WORKERS, scheduler=address[0] if address else None)
    assert sum(len(table) for table in found) == store.plan.items


def tasks(place):
    """CPU per empty task: the difference between many tasks and few, without the store."""
    few, many = (
        create_store(place / f"tasks-{count}", Plan("make_campaign_growth:EMPTY", count, 0, chunk=1)).folder
        for count in (100, 2100)
    )
    say("engine", "CPU per task [ms]", "of it the scheduler [ms]")
    say("---", "---", "---")
    for engine in ("serial", "processes", "dask"):
        used = [measured(__file__, "drain", engine, folder)[0] for folder in (few, many)]
        say(engine, f"{(used[1] - used[0]) / 2.0:.2f}", "")
    of_scheduler = []
    for folder in (few, many):
        address, scheduler, workers = _apart(place / f"{folder.name}.json")
        before = _cpu(scheduler.pid)
        measured(__file__, "drain", "dask", folder, address)
        of_scheduler.append(_cpu(scheduler.pid) - before)
        workers.send_signal(2)
        workers.wait()
        scheduler.kill()
        scheduler.wait()
    say("dask, scheduler apart", "", f"{(of_scheduler[1] - of_scheduler[0]) / 2.0:.2f}")


def _apart(file):
    dask = Path(sys.executable).with_name("dask")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    binds = ("--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0")
    scheduler = subprocess.Popen([dask, "scheduler", *binds, "--scheduler-file", file], **quiet)
    while not file.exists() or '"address"' not in file.read_text():
        time.sleep(0.05)
    address = json.loads(file.read_text())["address"]
    line = [sys.executable, "-m", "armwright.cli", "campaign", "worker", address, "--workers", str(WORKERS)]
    return address, scheduler, subprocess.Popen(line, **quiet)


def growth(place, plan, sizes, name):
    """CPU per item and memory for growing numbers of items."""
    say(name, "engine", "CPU per item [ms]", "÷ serial", "worker [MB]", "coordinator [MB]", "files [MB]")
    say(*["---"] * 7)
    first = create_store(place / f"{name}-prepared", plan)  # what is learned is learned once
    for items in sizes:
        serial = 0.0
        for engine in ("serial", "processes", "dask"):
            folder = place / f"{name}-{items}-{engine}"
            shutil.copytree(first.folder, folder)
            create_store(folder, Plan(plan.kind, items, plan.seed, plan.settings, plan.chunk))
            used, own, worker = resumed(folder, "--engine", engine, "--workers", WORKERS)
            serial = used if engine == "serial" else serial
            size = sum(path.stat().st_size for path in (folder / "rows").iterdir()) / 1e6
            cells = (f"{1e3 * used / items:.3g}", f"{used / serial:.2f}", f"{worker:.0f}", f"{own:.0f}", f"{size:.3g}")
            say(items, engine, *cells)


def big_store(place, source):
    """10⁶ rows, made of a smaller campaign's over and over: size, grouped median, status of 10⁴ chunks."""
    small = open_store(source)
    plan = Plan(small.plan.kind, 1_000_000, small.plan.seed, small.plan.settings, small.plan.chunk)
    folder = place / "big"
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.parquet"))
    big = Store(folder, plan, small.kind, small.prepared, small.canary)
    chunks = list(small.chunks())
    for k, (first, last) in enumerate(big.chunks()):
        table = small.read(*chunks[k % len(chunks)])
        items = arrow().array(range(first, last), arrow().int64())
        big.write(table.set_column(0, "item", items))
    create_store(folder, plan)
    size = sum(path.stat().st_size for path in (folder / "rows").iterdir()) / 1e6
    say("10⁶ rows of detection", f"{size:.0f} MB")
    begin = time.process_time()
    ask(folder, "select move, median(momentum_absolute_delay) from rows group by move")
    say("grouped median over 10⁶ rows", f"{time.process_time() - begin:.2f} s CPU")
    many = create_store(place / "many", Plan("make_campaign_growth:EMPTY", 10_000, 0, chunk=1))
    resumed(many.folder, "--engine", "serial")
    begin = os.times()
    subprocess.run(
        [sys.executable, "-m", "armwright.cli", "campaign", "status", str(many.folder)], check=True, capture_output=True
    )
    end = os.times()
    used = end.children_user + end.children_system - begin.children_user - begin.children_system
    say("status of 10⁴ chunks", f"{used:.2f} s CPU")


def main(words):
    """Print the tables that are asked for, all by default."""
    largest = int(float(words[0])) if words and words[0][0].isdigit() else 100_000
    wanted = {word for word in words if word.isalpha()} or {"tasks", "growth", "explorations", "store"}
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), *sys.path])
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if "tasks" in wanted:
            tasks(place)
        if "explorations" in wanted:
            plan = read_plan(HERE / "campaigns" / "worlds-grid.toml")
            growth(place, Plan(plan.kind, 1, plan.seed, plan.settings, 4), [100], "explorations")
        if "growth" in wanted or "store" in wanted:
            sizes = [items for items in (100, 1000, 10_000, 100_000) if items <= largest]
            growth(place, DETECTION, sizes, "detections")
        if "store" in wanted:
            big_store(place, place / f"detections-{sizes[-1]}-serial")


if __name__ == "__main__":
    if sys.argv[1:2] == ["drain"]:
        drain(*sys.argv[2:])
    else:
        main(sys.argv[1:])
