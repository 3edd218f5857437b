# SPDX-License-Identifier: Apache-2.0
"""The same rows and bytes, whoever computes them in what pieces; one bad item costs one row."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from armwright.campaigns import CampaignPlan, resume_campaign, run_campaign
from armwright.campaigns.chunk_file import Chunk, chunk_from
from armwright.campaigns.store import ProcessError, accepted, refusal
from armwright.errors import DescriptionError, InputError, SimulationError
from support.patience import PATIENCE
from support.plugged_kinds import plugged_kinds  # noqa: F401 - a fixture of all tests here

pytest.importorskip("pyarrow", reason="campaigns need pyarrow (extra 'scale')")
GOOD = CampaignPlan("faulty", 47, 3, chunk=10)


def dask_here():
    """Return dask.distributed, or skip: the cluster on this machine needs its certificate as well."""
    pytest.importorskip("cryptography", reason="needs cryptography (extra 'scale')")
    return pytest.importorskip("distributed", reason="needs dask (extra 'scale')")


def content(store):
    return {path.name: path.read_bytes() for path in sorted((store.folder / "rows").iterdir())}


def rows(store):
    return [row for first, last in store.chunks() for row in store.read(first, last).to_pylist()]


def test_engines_workers_and_shards_write_the_same_bytes(tmp_path):
    alone = content(run_campaign(GOOD, tmp_path / "serial", engine="serial"))
    assert len(alone) == 5
    for workers in (1, 2, 4):
        assert content(run_campaign(GOOD, tmp_path / f"{workers}", workers=workers)) == alone
    for k in (3, 1, 2):
        store = run_campaign(GOOD, tmp_path / "shards", engine="serial", shard=(k, 3))
        assert bool(store.missing()) == (k != 2)
    assert content(store) == alone


def test_dask_writes_the_same_bytes(tmp_path):
    dask_here()
    alone = content(run_campaign(GOOD, tmp_path / "serial", engine="serial"))
    assert content(run_campaign(GOOD, tmp_path / "dask", engine="dask", workers=2)) == alone


@pytest.mark.parametrize("chunk", [1, 3, 8, 100, 1000])
def test_rows_do_not_depend_on_the_chunk(chunk, tmp_path):
    one = run_campaign(GOOD, tmp_path / "a", engine="serial")
    other = run_campaign(CampaignPlan(GOOD.kind, 47, 3, chunk=chunk), tmp_path / "b", engine="serial")
    assert rows(one) == rows(other)
    assert rows(one) != rows(run_campaign(CampaignPlan(GOOD.kind, 47, 4), tmp_path / "c", engine="serial"))


def test_what_raises_crashes_or_hangs_costs_one_row_each(tmp_path):
    bad = CampaignPlan(GOOD.kind, 16, 3, {"raises": 3, "crashes": 7, "hangs": 14}, chunk=2, limit=8.0)
    store = run_campaign(bad, tmp_path / "bad", workers=2)
    found = rows(store)
    marked = {row["item"]: row["status"] for row in found if row["status"] != "done"}
    assert marked == {3: "raised", 7: "crashed", 14: "hung"}
    assert "item 3 cannot be" in found[3]["message"]
    good = rows(run_campaign(GOOD, tmp_path / "good", engine="serial"))
    assert [row["value"] for row in found if row["status"] == "done"] == [
        row["value"] for row in good[:16] if row["item"] not in marked
    ]


@pytest.mark.parametrize("engine", ["serial", "processes", "dask"])
def test_settings_that_fit_no_item_stop_after_the_first_chunk(engine, tmp_path):
    if engine == "dask":
        dask_here()
    hopeless = CampaignPlan(GOOD.kind, 60, 3, {"raises below": 60}, chunk=10)
    with pytest.raises(
        SimulationError, match=r"none of the first \d+ items has a result.*ValueError: item \d+ cannot be"
    ):
        run_campaign(hopeless, tmp_path / "none", engine=engine, workers=2)
    written = len(list((tmp_path / "none" / "rows").iterdir()))
    assert 1 <= written < 6
    if engine == "serial":
        assert written == 1
        store = resume_campaign(tmp_path / "none", engine=engine)  # asked for once more, it goes on
        assert not store.missing() and {row["status"] for row in rows(store)} == {"raised"}


def test_a_bad_beginning_does_not_stop_a_campaign(tmp_path):
    unlucky = CampaignPlan(GOOD.kind, 20, 3, {"raises below": 7}, chunk=1)  # seven chunks without a result
    store = run_campaign(unlucky, tmp_path / "some", engine="serial")
    assert [row["status"] for row in rows(store)] == ["raised"] * 7 + ["done"] * 13


@pytest.mark.slow
def test_dask_marks_the_same_rows(tmp_path):
    dask_here()
    bad = CampaignPlan(GOOD.kind, 16, 3, {"raises": 3, "crashes": 7, "hangs": 14}, chunk=2, limit=5.0)
    one = run_campaign(bad, tmp_path / "processes", workers=2)
    assert content(run_campaign(bad, tmp_path / "dask", engine="dask", workers=2)) == content(one)


def test_whichever_call_notices_that_the_scheduler_died_says_how_to_go_on(tmp_path, monkeypatch):
    distributed = dask_here()
    from armwright.campaigns.engines import dask_engine

    asked = []

    def nthreads(client):
        asked.append(client)
        if len(asked) > 1:
            raise distributed.comm.CommClosedError("Stream is closed")
        return {"worker": 1}

    monkeypatch.setattr(distributed.Client, "nthreads", nthreads)
    monkeypatch.setattr(dask_engine, "WORKER_LOOK_SECONDS", 0.0)  # it counts the workers after every chunk
    with pytest.raises(SimulationError, match=r"the scheduler is gone; .*armwright campaign resume"):
        run_campaign(GOOD, tmp_path / "c", engine="dask", workers=1)
    assert len(asked) == 2


def test_an_item_whose_worker_somebody_killed_is_computed_again(tmp_path):
    settings = {"killed once": 1, "mark": str(tmp_path / "mark")}
    found = rows(run_campaign(CampaignPlan(GOOD.kind, 3, 3, settings, chunk=1), tmp_path / "c", workers=1))
    assert (tmp_path / "mark").exists()
    assert [row["status"] for row in found] == ["done"] * 3


@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_a_kind_that_cannot_start_says_why(engine, tmp_path):
    with pytest.raises((ProcessError, ValueError), match="wrong is 5"):
        run_campaign(CampaignPlan(GOOD.kind, 3, 3, {"wrong": 5}), tmp_path / "c", engine=engine, workers=1)
    assert not (tmp_path / "c" / "campaign.json").exists()  # the settings may still be mended


@pytest.mark.parametrize(
    "how, error, said",
    [
        ("mistaken", InputError, r"^faulty: prepare must not be mistaken"),
        ("raises", ProcessError, r"could not be prepared: KeyError(.|\n)*in _prepare"),
        ("crashes", SimulationError, r"prepared a campaign.*ended \(exit code -11\)"),
    ],
)
def test_what_goes_wrong_while_preparing_is_said_and_nothing_stays(how, error, said, tmp_path):
    """Preparing has a process of its own; the user's mistakes stay the user's mistakes."""
    with pytest.raises(error, match=said):
        run_campaign(CampaignPlan(GOOD.kind, 3, 3, {"prepare": how}), tmp_path / "c", workers=1)
    assert not (tmp_path / "c" / "campaign.json").exists()


def test_errors_of_another_process_keep_their_class_and_place():
    told = DescriptionError("the axis is zero", where="arm.urdf, line 3", rule="axis")
    with pytest.raises(DescriptionError, match=r"^arm.urdf, line 3: the axis is zero \[axis\]$") as found:
        accepted(refusal(told), "never said")
    assert (found.value.where, found.value.rule) == ("arm.urdf, line 3", "axis")
    with pytest.raises(SimulationError, match=r"^it fell$") as found:
        accepted(refusal(SimulationError("it fell", recording=object())), "never said")
    assert found.value.recording is None  # a recording does not cross, and nobody stumbles over that
    assert accepted(b"+anything else", "never said") == b"+anything else"


def test_an_answer_that_is_not_the_chunk_that_was_asked_for_is_not_put_away():
    data = Chunk(3, 5, 0, b"rows").to_bytes()
    assert chunk_from(data, (3, 5)) == (3, 5, 0, b"rows")
    for wrong, asked in ((data, (3, 6)), (b"\xff" + data[1:], (3, 5)), (b"", (3, 5))):
        with pytest.raises(SimulationError, match="with something else"):
            chunk_from(wrong, asked)


def test_preparing_may_have_processes_of_its_own(tmp_path):
    store = run_campaign(CampaignPlan(GOOD.kind, 3, 3, {"prepare": "pool"}), tmp_path / "c", workers=1)
    assert store.prepared == b"12"


def test_a_campaign_can_grow(tmp_path):
    run_campaign(CampaignPlan(GOOD.kind, 20, 3, chunk=10), tmp_path, engine="serial")
    kept = content(run_campaign(GOOD, tmp_path, engine="serial", shard=(1, 2)))
    assert len(kept) == 4
    store = resume_campaign(tmp_path, engine="serial")
    assert not store.missing()
    with pytest.raises(InputError, match="has 47 items already"):
        run_campaign(CampaignPlan(GOOD.kind, 20, 3, chunk=10), tmp_path, engine="serial")
    with pytest.raises(InputError, match="another campaign"):
        run_campaign(CampaignPlan(GOOD.kind, 47, 4, chunk=10), tmp_path, engine="serial")


COORDINATOR = """
import signal
from armwright.campaigns import Plan, run_campaign
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where tests run
    show = lambda p: print(p.done, flush=True)
    plan = Plan({kind!r}, 47, 3, {settings!r}, chunk=5, limit={limit})
    run_campaign(plan, {folder!r}, workers=2, progress=show)
"""


@pytest.mark.parametrize("victim", ["worker", "coordinator", "Ctrl-C"])
def test_kill_and_resume_gives_the_bytes_of_an_undisturbed_run(victim, tmp_path):
    gate = tmp_path / "gate"  # the run cannot end before it was disturbed
    settings = {"gate": str(gate), "gated from": 20}
    gate.touch()
    plan = CampaignPlan(GOOD.kind, 47, 3, settings, chunk=5, limit=PATIENCE)
    alone = content(run_campaign(plan, tmp_path / "alone", engine="serial"))
    gate.unlink()
    script = tmp_path / "coordinator.py"
    killed = str(tmp_path / "killed")
    script.write_text(
        COORDINATOR.format(kind=GOOD.kind, settings=settings, limit=PATIENCE, folder=killed), encoding="utf-8"
    )
    run = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
    )
    while run.stdout.readline().strip() == "0":
        pass
    children = _children(run.pid)
    if victim == "worker":
        os.kill(children[-1], signal.SIGKILL)
        gate.touch()
        run.communicate(timeout=PATIENCE)
        assert run.returncode == 0
    else:
        run.send_signal(signal.SIGKILL if victim == "coordinator" else signal.SIGINT)
        run.communicate(timeout=PATIENCE)
        _gone(children)
        gate.touch()
        resume_campaign(tmp_path / "killed", workers=2)
    assert {p.name: p.read_bytes() for p in sorted((tmp_path / "killed" / "rows").glob("0*"))} == alone


def _children(pid):
    """Workers of a coordinator (Linux: /proc); the tracker of shared resources is not one."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
                line = Path(f"/proc/{entry}/cmdline").read_text(encoding="utf-8")
            except OSError:
                continue
            if int(stat[1]) == pid and "spawn_main" in line:
                found.append(int(entry))
    return sorted(found)


def _gone(pids):
    """No worker stays behind; waiting is bounded, but long enough for any machine."""
    deadline = time.monotonic() + PATIENCE
    while any(_runs(pid) for pid in pids):
        assert time.monotonic() < deadline, "a worker outlived its coordinator"
        time.sleep(0.05)


def _runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_other_arithmetic_is_noticed(tmp_path):
    store = run_campaign(GOOD, tmp_path, engine="serial", shard=(1, 5))
    head = tmp_path / "campaign.json"
    head.write_text(head.read_text(encoding="utf-8").replace(store.canary, "0" * 32), encoding="utf-8")
    for engine in ("serial", "processes"):
        with pytest.raises(SimulationError, match="arithmetic differs"):
            resume_campaign(tmp_path, engine=engine, workers=1)
    assert not resume_campaign(tmp_path, workers=1, mixed=True).missing()
