# SPDX-License-Identifier: Apache-2.0
"""A campaign's folder may come from anybody: it is refused in words, imports nothing, and leads nowhere else."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import sys
import threading
from dataclasses import replace

import pytest

from armwright.campaigns import CampaignPlan, StoreError, open_store, read_plan, resume_campaign, run_campaign
from armwright.campaigns.campaign_query import ask
from armwright.campaigns.campaign_report import campaign_report
from armwright.campaigns.summary import outcome_tables, record_item
from armwright.cli.app import run as command
from armwright.errors import ArmwrightError, DescriptionError, InputError
from support.campaign_kinds import JUDGED
from support.hostile_folders import meddle, state_of
from support.patience import PATIENCE

pytest.importorskip("pyarrow", reason="campaigns need pyarrow (extra 'scale')")
PLAN = CampaignPlan("montecarlo", 6, 3, {"duration": 0.05}, chunk=2)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = run_campaign(PLAN, tmp_path_factory.mktemp("whole") / "c", engine="serial").folder
    (folder / "set-aside").mkdir()
    return folder


@pytest.fixture
def copy(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "c")


@pytest.fixture
def outside(tmp_path):
    """What nobody may touch, with files that are named like chunks and drafts."""
    place = tmp_path / "outside"
    place.mkdir()
    for name in ("precious", "000000000-000000001.parquet", "000000002-000000003.parquet", "campaign.json"):
        (place / name).write_bytes(b"precious")
    old = place / ".000000000-000000001.parquet.abc.draft"
    old.mkdir()
    (old / "precious").write_bytes(b"precious")
    for path in (old / "precious", old):
        os.utime(path, (1e9, 1e9))
    return place


def within_guard(action):
    """Run something that must not hang: in a thread that is left behind if it does."""
    said = []

    def run():
        try:
            action()
        except BaseException as error:
            said.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "it hangs"
    if said:
        raise said[0]


def everything(folder, *, page):
    """Do to a folder what commands do; errors of ours are answers."""
    report = folder.parent / "report.html"
    for action in (
        lambda: open_store(folder).missing(),
        lambda: open_store(folder).tidy(),
        lambda: outcome_tables(open_store(folder)),
        lambda: ask(folder, "select count(*), sum(error_max) from rows"),
        lambda: record_item(folder, 1, folder.parent / "item.npz"),
        lambda: campaign_report(folder, report) if page else None,
        lambda: campaign_report(folder) if page else None,
        lambda: open_store(folder).verify(),
        lambda: open_store(folder).verify(),
    ):
        with contextlib.suppress(ArmwrightError):
            action()


def trials(seeds, whole, outside, folder):
    before = state_of(outside)

    def run():
        for seed in seeds:
            shutil.copytree(whole, folder)
            meddle(folder, outside, seed)
            try:
                everything(folder, page=seed % 40 == 0)
            except Exception as error:
                raise AssertionError(f"seed {seed}") from error
            assert state_of(outside) == before, f"seed {seed}"
            shutil.rmtree(folder)

    within_guard(run)


@pytest.mark.parametrize("part", range(5))
def test_whatever_a_folder_holds_it_is_refused_in_words_and_leads_nowhere(part, whole, outside, tmp_path):
    pytest.importorskip("duckdb", reason="needs duckdb (extra 'scale')")
    pytest.importorskip("matplotlib", reason="reports need matplotlib (extra 'plot')")
    trials(range(40 * part, 40 * part + 40), whole, outside, tmp_path / "c")


@pytest.mark.thorough
def test_many_more_folders(whole, outside, tmp_path):
    pytest.importorskip("duckdb", reason="needs duckdb (extra 'scale')")
    pytest.importorskip("matplotlib", reason="reports need matplotlib (extra 'plot')")
    trials(range(1000, 4000), whole, outside, tmp_path / "c")


EVIL = "open({mark!r}, 'w').close()\nfrom support.campaign_kinds import KIND\n"


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """A module that leaves a mark when it is imported; it has a kind, too."""
    mark = tmp_path / "imported"
    (tmp_path / "evil_kinds.py").write_text(EVIL.format(mark=str(mark)), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield mark
    sys.modules.pop("evil_kinds", None)


@pytest.mark.parametrize("kind", ["evil_kinds:KIND", "evil_kinds", "evil_kinds:", "armwright.campaigns.kind:KINDS"])
def test_no_text_of_a_file_is_imported(kind, copy, evil, tmp_path, capsys):
    file = copy / "campaign.json"
    head = json.loads(file.read_text(encoding="utf-8"))
    plan = CampaignPlan(kind, 6, 3, {}, chunk=2)
    file.write_text(json.dumps(head | {"plan": plan.text(), "digest": plan.digest(1)}), encoding="utf-8")
    for words in (
        ("status", copy),
        ("verify", copy),
        ("query", copy, "select 1"),
        ("report", copy),
        ("record", copy, 1),
        ("resume", copy, "--engine", "serial"),
    ):
        assert command(["campaign", *map(str, words)]) == 2
        assert "no kind" in capsys.readouterr().err
    (tmp_path / "c.toml").write_text(f'kind = "{kind}"\nitems = 3\n', encoding="utf-8")
    for engine in ("serial", "processes"):
        assert (
            command(["campaign", "run", str(tmp_path / "c.toml"), "--engine", engine, "--out", str(tmp_path / "n")])
            == 2
        )
        said = capsys.readouterr().err
        assert "no kind" in said and "montecarlo" in said and "armwright.kinds" in said
    with pytest.raises(InputError, match="no kind"):
        run_campaign(plan, tmp_path / "n")
    assert not evil.exists() and not (tmp_path / "n").exists()


def chunk_names():
    return [f"{first:09d}-{first + 1:09d}.parquet" for first in (0, 2, 4)]


def drafts_of_old():
    """Names that drafts had while they could be foreseen."""
    host = socket.gethostname().replace(".", "-")
    return [f"rows/.{name}.{host}.{os.getpid()}" for name in chunk_names()] + [
        f".{name}.{host}.{os.getpid()}" for name in ("campaign.json", "prepared.bin")
    ]


@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nothing"])
def test_links_in_a_folder_are_not_written_through(there, copy, outside, whole):
    """Neither where drafts were expected, nor at the places of chunks that are to be written."""
    before = state_of(outside)
    target = outside / ("precious" if there else "new")
    for name in drafts_of_old():
        (copy / name).symlink_to(target)
    for name in chunk_names():
        (copy / "rows" / name).unlink()
    (copy / "rows" / chunk_names()[1]).symlink_to(target)
    store = open_store(copy)
    assert len(store.verify()) == 1  # the link is set aside, not what it leads to
    resume_campaign(copy, engine="serial")
    for name in chunk_names():
        assert not (copy / "rows" / name).is_symlink()
        assert (copy / "rows" / name).read_bytes() == (whole / "rows" / name).read_bytes()
    run_campaign(CampaignPlan(PLAN.kind, 8, 3, PLAN.settings, chunk=2), copy, engine="serial")  # a new campaign.json
    assert open_store(copy).plan.items == 8
    assert state_of(outside) == before


def test_a_head_that_is_a_link_is_replaced_and_not_written_through(copy, outside, whole):
    (outside / "campaign.json").write_bytes((whole / "campaign.json").read_bytes())
    before = state_of(outside)
    (copy / "campaign.json").unlink()
    (copy / "campaign.json").symlink_to(outside / "campaign.json")
    run_campaign(CampaignPlan(PLAN.kind, 8, 3, PLAN.settings, chunk=2), copy, engine="serial")
    assert not (copy / "campaign.json").is_symlink() and open_store(copy).plan.items == 8
    assert state_of(outside) == before


@pytest.mark.parametrize("name", ["rows", "set-aside"])
def test_folders_that_are_links_are_refused(name, copy, outside):
    """Rows would be written elsewhere, and what is damaged, or a draft, would be moved or removed there."""
    (copy / "rows" / chunk_names()[1]).write_bytes(b"damaged")
    shutil.rmtree(copy / name)
    (copy / name).symlink_to(outside)
    before = state_of(outside)
    for action in (open_store(copy).verify, lambda: resume_campaign(copy, engine="serial").verify()):
        with pytest.raises(StoreError, match=rf"{name}: is a link; a campaign needs a folder"):
            action()
    assert state_of(outside) == before


def test_a_page_is_not_written_through_a_link_that_nobody_named(copy, outside, tmp_path):
    pytest.importorskip("matplotlib", reason="reports need matplotlib (extra 'plot')")
    before = state_of(outside)
    (copy / "report.html").symlink_to(outside / "precious")
    with pytest.raises(StoreError, match=r"report\.html: is a link"):
        campaign_report(copy)
    assert state_of(outside) == before
    assert campaign_report(copy, tmp_path / "named.html")[0].exists()


def test_looking_writes_nothing(copy):
    shutil.rmtree(copy / "rows")
    before = state_of(copy)
    assert len(open_store(copy).missing()) == 3
    assert command(["campaign", "status", str(copy)]) == 0
    assert state_of(copy) == before


def test_pipes_are_refused_at_once(copy, tmp_path):
    os.mkfifo(tmp_path / "c.toml")

    def ask_for_plan():
        with pytest.raises(DescriptionError, match="found a pipe"):
            read_plan(tmp_path / "c.toml")

    within_guard(ask_for_plan)
    for name in ("campaign.json", "prepared.bin", f"rows/{chunk_names()[0]}"):
        kept = (copy / name).read_bytes()
        (copy / name).unlink()
        os.mkfifo(copy / name)

        def look():
            with pytest.raises(StoreError, match="found a pipe"):
                open_store(copy).read(0, 2)

        within_guard(look)
        (copy / name).unlink()
        (copy / name).write_bytes(kept)


def test_numbers_of_files_that_no_folder_could_hold(copy, tmp_path):
    """A billion chunks of one item would be listed for minutes, and fill the memory."""
    plan = CampaignPlan(PLAN.kind, 10**9, 3, PLAN.settings, chunk=2)
    head = json.loads((copy / "campaign.json").read_text(encoding="utf-8"))
    (copy / "campaign.json").write_text(json.dumps(head | {"plan": plan.text()}), encoding="utf-8")
    with pytest.raises(StoreError, match="chunk must be 1000 or more"):
        open_store(copy)
    with pytest.raises(StoreError, match="chunk must be 1000 or more"):
        run_campaign(plan, tmp_path / "new", engine="serial")
    assert not (tmp_path / "new").exists()


def test_chunks_of_a_shorter_campaign_are_not_counted_twice(copy):
    """A last chunk that was cut short stays when the campaign grows; its items come once more in a whole one."""
    pytest.importorskip("duckdb", reason="needs duckdb (extra 'scale')")
    place = copy.parent / "grown"
    for items in (5, 6):
        run_campaign(CampaignPlan(PLAN.kind, items, 3, PLAN.settings, chunk=2), place, engine="serial")
    assert ask(place, "select count(*), count(distinct item) from rows")[1] == [(6, 6)]


def test_rows_that_the_summary_of_a_kind_stumbles_over(tmp_path):
    def stumble(table):
        raise KeyError("nothing of that name")

    plan, kind = CampaignPlan("judged", 5, 3), replace(JUDGED, summary=stumble)
    store = run_campaign(plan, tmp_path / "c", kind=kind, engine="serial")
    with pytest.raises(StoreError, match=r"cannot summarise these rows.*KeyError.*nothing of that name"):
        outcome_tables(store)
