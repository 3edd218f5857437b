# SPDX-License-Identifier: Apache-2.0
"""Files of a campaign: damage is found and done again, a wrong file is refused in words, a full disk loses nothing."""

from __future__ import annotations

import os
import shutil
import time

import pytest

from armwright.campaigns import CampaignPlan, StoreError, open_store, read_plan, resume_campaign, run_campaign
from armwright.campaigns.summary import record_item
from armwright.errors import DescriptionError, InputError
from support.plugged_kinds import plugged_kinds  # noqa: F401 - a fixture of all tests here

pytest.importorskip("pyarrow", reason="campaigns need pyarrow (extra 'scale')")
PLAN = CampaignPlan("faulty", 40, 3, chunk=10)


@pytest.fixture
def store(tmp_path):
    return run_campaign(PLAN, tmp_path / "c", engine="serial")


def test_every_flipped_byte_is_found(tmp_path):
    """Also beside the rows."""
    store = run_campaign(CampaignPlan(PLAN.kind, 10, 3, chunk=10), tmp_path, engine="serial")
    path = store.file(0, 10)
    data = path.read_bytes()
    for place in range(len(data)):
        for bit in {0x01, 1 << place % 8}:  # the lowest turns a digit into another one
            path.write_bytes(data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :])
            assert len(store.verify()) == 1, f"byte {place}, bit {bit}"
    path.write_bytes(data)
    assert store.verify() == []


@pytest.mark.parametrize("damage", ["cut", "empty", "foreign", "moved", "not planned", "unreadable"])
def test_what_is_damaged_is_set_aside_and_done_again(damage, store, tmp_path):
    before = {path.name: path.read_bytes() for path in (store.folder / "rows").iterdir()}
    victim = store.file(10, 20)
    if damage == "cut":
        victim.write_bytes(victim.read_bytes()[:-5])
    elif damage == "empty":
        victim.write_bytes(b"")
    elif damage == "foreign":
        other = run_campaign(CampaignPlan(PLAN.kind, 40, 9, chunk=10), tmp_path / "other", engine="serial")
        shutil.copy(other.file(10, 20), victim)
    elif damage == "moved":
        shutil.copy(store.file(0, 10), victim)
    elif damage == "unreadable":
        victim.unlink()
        victim.mkdir()
    else:
        shutil.copy(victim, store.file(50, 60))
    assert len(store.verify()) == 1
    assert len(list((store.folder / "set-aside").iterdir())) == 1
    resume_campaign(store.folder, engine="serial")
    assert {path.name: path.read_bytes() for path in (store.folder / "rows").iterdir()} == before
    assert store.verify() == []


def test_a_full_disk_stops_with_what_to_do(store, monkeypatch):
    store.file(10, 20).unlink()

    def full(fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match=r"rows.*No space left.*campaign resume"):
        resume_campaign(store.folder, engine="serial")
    monkeypatch.undo()
    assert sorted(path.name[0] for path in (store.folder / "rows").iterdir()) == ["0", "0", "0"]  # no draft stays


def test_drafts_that_were_left_behind_go_after_an_hour(store):
    """Others may be writing: nothing says whose a draft is, and its age is that of the file system."""
    name = ".000000010-000000019.parquet"
    names = {f"{name}.a1b2c3.draft": 2.0, f"{name}.young.draft": 0.5, f"{name}.some-host.123": 2.0, "mine.draft": 9.0}
    for where in (store.folder, store.folder / "rows"):
        for entry, hours in names.items():
            (where / entry).mkdir()
            (where / entry / "half").write_bytes(b"half")
            os.utime(where / entry, (time.time() - 3600.0 * hours,) * 2)
    resume_campaign(store.folder, engine="serial")
    for where in (store.folder, store.folder / "rows"):
        assert [(where / entry).exists() for entry in names] == [False, True, False, True]


def test_folders_that_are_no_campaign(tmp_path, store):
    with pytest.raises(StoreError, match=r"no campaign here \(campaign.json is missing\)"):
        open_store(tmp_path)
    (store.folder / "prepared.bin").write_bytes(b"54321")
    with pytest.raises(StoreError, match=r"prepared.bin: damaged"):
        open_store(store.folder)
    head = store.folder / "campaign.json"
    head.write_text(head.read_text(encoding="utf-8").replace('"format": 2', '"format": 1'), encoding="utf-8")
    with pytest.raises(StoreError, match=r"version of Armwright whose files are others"):
        open_store(store.folder)
    head.write_text("{", encoding="utf-8")
    with pytest.raises(StoreError, match=r"campaign.json: damaged"):
        open_store(store.folder)


@pytest.mark.parametrize(
    "text, said",
    [
        ("items = 3", "missing key 'kind'"),
        ('kind = "montecarlo"', "missing key 'items'"),
        ('kind = "montecarlo"\nitems = 0', "items must be a whole number from 1"),
        ('kind = "montecarlo"\nitems = 3\nseeds = 1', "unknown key 'seeds'"),
        ('kind = "montecarlo"\nitems = 3\nlimit = -1.0', "limit must be a number of seconds above 0"),
        ('kind = "montecarlo"\nitems = 3\nsettings = 4', "settings must be a table"),
        ('kind = "montecarlo"\nitems = 3\nitems = 4', "not a TOML file"),
    ],
)
def test_campaign_files_are_refused_with_the_key(text, said, tmp_path):
    file = tmp_path / "c.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DescriptionError, match=said) as error:
        read_plan(file)
    assert str(file) in str(error.value)


def test_recordings_of_kinds_that_keep_none(store, tmp_path):
    with pytest.raises(InputError, match="keeps no recordings"):
        record_item(store.folder, 3, tmp_path / "item.npz")
