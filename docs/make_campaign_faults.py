# SPDX-License-Identifier: Apache-2.0
"""The fault matrix of docs/howto/campaigns.md: what is done to a campaign, how often, and what was lost.

    python docs/make_campaign_faults.py [TRIALS] [--write]

With ``--write`` the table goes into the page.

Processes are killed at random moments and the campaign is resumed; what counts is that its files have the bytes of the
undisturbed run and that no process stays behind. Linux (processes are found in /proc).
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from armwright.bench.bench_figures import insert
from armwright.bench.campaign_costs import keys_in
from armwright.campaigns import CampaignPlan, Kind, StoreError, item_rng, open_store, resume_campaign, run_campaign

ITEMS, CHUNK, SEED = 96, 8, 5
STAY = 10.0  # [s] after which no process may be left


def _start(plan, prepared):
    s = plan.settings

    def rows(first, last):
        for item in range(first, last):
            if item == s.get("raises"):
                raise ValueError("cannot be")
            if item == s.get("crashes"):
                os.kill(os.getpid(), signal.SIGSEGV)
            if item == s.get("hangs"):
                time.sleep(3600.0)
            time.sleep(s.get("seconds", 0.0))
        return {"value": [float(item_rng(plan.seed, k).normal()) for k in range(first, last)]}

    return rows


KIND = Kind("faults", {"value": "float64"}, _start, chunk=CHUNK)
SLOW = CampaignPlan(KIND.name, ITEMS, SEED, {"seconds": 0.02}, chunk=CHUNK)


def content(folder):
    """Bytes of all files of rows."""
    return {path.name: path.read_bytes() for path in (Path(folder) / "rows").glob("0*")}


def rows(folder):
    """All rows."""
    store = open_store(folder)
    return [row for chunk in store.chunks() for row in store.read(*chunk).to_pylist()]


def family(pid):
    """A process and all below it: pid → command line."""
    parents, lines = {}, {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = Path(f"/proc/{entry}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
            lines[int(entry)] = Path(f"/proc/{entry}/cmdline").read_text(encoding="utf-8")
        except OSError:
            continue
        if stat[0] != "Z":
            parents[int(entry)] = int(stat[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return {member: lines[member] for member in found if member in parents}


def left_after(pids, seconds=STAY):
    """How many of the processes are still there after so many seconds at most."""
    deadline = time.monotonic() + seconds
    while (alive := sum(_runs(pid) for pid in pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return alive


def _runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def command(*words):
    """Start ``armwright campaign …``."""
    line = [sys.executable, "-m", "armwright.cli", "campaign", *map(str, words)]
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def killed(folder, engine, victim, wait, scheduler=()):
    """Run, kill at a moment, resume; return (same bytes, processes left)."""
    file = folder.with_suffix(".toml")
    file.write_text(
        f'kind = "{SLOW.kind}"\nitems = {ITEMS}\nseed = {SEED}\nchunk = {CHUNK}\n[settings]\nseconds = 0.02\n',
        encoding="utf-8",
    )
    at = ("--scheduler", *scheduler[1:]) if scheduler else ()
    run = command("run", file, "--engine", engine, "--workers", 2, *at)
    until = time.monotonic() + 30.0
    while not list(folder.glob("rows/0*")) and time.monotonic() < until and run.poll() is None:
        time.sleep(0.01)
    time.sleep(wait)
    members = family(run.pid)
    left = 0
    if victim == "worker":
        workers = [pid for pid, line in members.items() if "spawn_main" in line]
        if workers:
            os.kill(random.choice(workers), signal.SIGKILL)
        run.wait(120)
    elif victim == "coordinator":
        run.kill()
        run.wait()
        left = left_after([pid for pid in members if pid != run.pid])
    elif victim == "scheduler":
        scheduler[0].kill()
        scheduler[0].wait()
        run.wait(120)
        left = left_after([pid for pid in members if pid != run.pid])
    elif victim == "Ctrl-C":
        os.killpg(run.pid, signal.SIGINT)
        assert run.wait(60) in (0, 130), run.returncode
        left = left_after([pid for pid in members if pid != run.pid])
    resume_campaign(folder, workers=2)
    return content(folder), left


def scheduler_and_worker(place):
    """A scheduler on loopback and one host's workers, as separate commands: (scheduler, *words for it), workers."""
    file, (cert, key) = place / "scheduler.json", keys_in(place / "keys")
    line = ["dask", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    line += ["--protocol", "tls://", "--tls-ca-file", cert, "--tls-cert", cert, "--tls-key", key]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([str(Path(sys.executable).with_name(line[0])), *line[1:]], **quiet)
    while not file.exists() or '"address"' not in file.read_text(encoding="utf-8"):
        time.sleep(0.05)
    address = file.read_text(encoding="utf-8").split('"address": "')[1].split('"')[0]
    words = (address, "--tls-ca", cert, "--tls-cert", cert, "--tls-key", key)
    return (scheduler, *words), command("worker", *words, "--workers", 2)


def kills(place, trials, alone):
    """Kill each part at random moments."""
    for engine, victim in (
        ("processes", "worker"),
        ("processes", "coordinator"),
        ("processes", "Ctrl-C"),
        ("dask", "worker"),
        ("dask", "coordinator"),
        ("dask", "Ctrl-C"),
        ("dask", "scheduler"),
    ):
        same = left = 0
        for k in range(trials):
            spare = scheduler_and_worker(Path(tempfile.mkdtemp(dir=place))) if victim == "scheduler" else None
            wait = random.uniform(0.0, 1.0)
            found, stayed = killed(place / f"{engine}-{victim}-{k}", engine, victim, wait, spare[0] if spare else ())
            same += found == alone
            left += stayed + (left_after(family(spare[1].pid)) if spare else 0)
        what = f"{victim} `kill -9`" if victim != "Ctrl-C" else victim
        yield f"{engine}: {what}, then resume", trials, f"{same} with the undisturbed bytes", f"{left} left after 10 s"


def engines(place, alone):
    """The same bytes from every engine; the same rows from every chunk."""
    ways = {f"processes {n}": {"workers": n} for n in (1, 2, 4)} | {"dask 2": {"engine": "dask", "workers": 2}}
    same = sum(content(run_campaign(SLOW, place / name, **how).folder) == alone for name, how in ways.items())
    for k in (2, 3, 1):
        store = run_campaign(SLOW, place / "shards", workers=1, shard=(k, 3))
    same += content(store.folder) == alone
    yield "serial against processes 1, 2, 4, dask, three shards", len(ways) + 1, f"{same} with the same bytes", ""
    quick = [CampaignPlan(SLOW.kind, 1000, SEED, chunk=chunk) for chunk in (1, 3, 8, 100, 1000)]
    found = [rows(run_campaign(plan, place / f"chunk{plan.chunk}", engine="serial").folder) for plan in quick]
    yield "chunks of 1, 3, 8, 100, 1,000", 5, f"{sum(r == found[0] for r in found)} with the same rows", ""


def bad_items(place):
    """One item that raises, one that crashes, one that hangs."""
    plan = CampaignPlan(SLOW.kind, 400, SEED, {"raises": 17, "crashes": 130, "hangs": 311}, chunk=50, limit=2.0)
    found = {}
    for engine in ("processes", "dask"):
        store = run_campaign(plan, place / f"bad-{engine}", engine=engine, workers=2)
        found[engine] = content(store.folder)
        marked = [row["status"] for row in rows(store.folder) if row["status"] != "done"]
        yield f"{engine}: one raises, one segfaults, one hangs, of 400", 1, f"marked: {', '.join(marked)}", ""
    yield "the same, bytes of processes against dask", 1, f"{int(found['processes'] == found['dask'])} the same", ""


def damage(place, trials):
    """Files cut, flipped, foreign, missing."""
    store = run_campaign(CampaignPlan(SLOW.kind, ITEMS, SEED, chunk=CHUNK), place / "damage", engine="serial")
    other = run_campaign(CampaignPlan(SLOW.kind, ITEMS, SEED + 1, chunk=CHUNK), place / "other", engine="serial")
    whole = content(store.folder)

    def spoil(path, how):
        data = path.read_bytes()
        if how == "truncated":
            path.write_bytes(data[: random.randrange(len(data))])
        elif how == "a bit flipped":
            at = random.randrange(len(data))
            path.write_bytes(data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :])
        elif how == "foreign":
            path.write_bytes((other.folder / "rows" / path.name).read_bytes())
        else:
            path.unlink()

    for how in ("truncated", "a bit flipped", "foreign", "missing"):
        found = mended = 0
        for _ in range(10 * trials):
            path = store.file(*random.choice(list(store.chunks())))
            spoil(path, how)
            found += bool(store.verify()) if how != "missing" else bool(store.missing())
            resume_campaign(store.folder, engine="serial")
            mended += rows(store.folder) is not None and content(store.folder) == whole
            for name, data in whole.items():
                (store.folder / "rows" / name).write_bytes(data)
        yield f"chunk files {how}", 10 * trials, f"{found} found", f"{mended} mended to the same bytes"


def full_disk(place):
    """A file system that is too small."""
    disk = place / "disk"
    disk.mkdir()
    plan = CampaignPlan(SLOW.kind, 400_000, SEED, chunk=20_000)
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk]
    if os.geteuid() != 0 or subprocess.run(mount, check=False).returncode != 0:
        yield "full disk", 0, "not tried: no right to mount", ""
        return
    try:
        try:
            run_campaign(plan, disk / "c", engine="serial")
            said = "nothing was said"
        except StoreError as error:
            said = str(error).replace(str(place), "…")
        kept = len(content(disk / "c"))
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        resume_campaign(disk / "c", workers=2)
        whole = content(run_campaign(plan, place / "roomy", workers=2).folder)
        mended = content(disk / "c") == whole
        yield f"full disk: “{said}”", 1, f"{kept} chunks kept", f"same bytes after resume: {mended}"
    finally:
        subprocess.run(["umount", disk], check=False)


def register(place):
    """Make the kind known to this program and to those that it starts, as an installed package would."""
    about = place / "campaign_faults-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: campaign-faults\nVersion: 1\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(
        f"[armwright.kinds]\n{KIND.name} = make_campaign_faults:KIND\n", encoding="utf-8"
    )
    sys.path[:0] = [str(place), str(Path(__file__).parent)]
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)


def main(trials, write):
    """Print the table, and put it into the page."""
    random.seed(1)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        register(place)
        alone = content(run_campaign(SLOW, place / "alone", engine="serial").folder)
        table = ["| what was done | times | result | |", "|---|---|---|---|"]
        sys.stdout.write("\n".join(table) + "\n")
        for part in (
            engines(place, alone),
            kills(place, trials, alone),
            bad_items(place),
            damage(place, trials),
            full_disk(place),
        ):
            for line in part:
                table.append("| " + " | ".join(map(str, line)) + " |")
                sys.stdout.write(table[-1] + "\n")
                sys.stdout.flush()
    if write:
        insert(Path(__file__).parent / "howto" / "campaigns.md", "\n".join(table), "faults")


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    main(numbers[0] if numbers else 10, "--write" in sys.argv)
