# SPDX-License-Identifier: Apache-2.0
"""Kinds of one's own: given as objects in Python, or by name as plug-ins; workers find them either way."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from armwright.campaigns import CampaignPlan, Kind, StoreError, open_store, resume_campaign, run_campaign
from armwright.campaigns.kind import find_kind, place_of
from armwright.campaigns.summary import record_item, summary_of
from armwright.errors import InputError
from support.campaign_kinds import JUDGED, KIND
from support.places import ROOT, TESTS
from support.plugged_kinds import plug_in

pytest.importorskip("pyarrow", reason="campaigns need pyarrow (extra 'scale')")
PLAN = CampaignPlan("faulty", 20, 3, chunk=10)


def content(folder):
    return {path.name: path.read_bytes() for path in sorted((folder / "rows").glob("0*"))}


@pytest.fixture
def workers_find_tests(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]))


def test_a_kind_that_is_given_needs_no_name_anywhere(tmp_path, workers_find_tests):
    alone = content(run_campaign(PLAN, tmp_path / "serial", kind=KIND, engine="serial").folder)
    apart = run_campaign(PLAN, tmp_path / "processes", kind=KIND, workers=1, shard=(1, 2)).folder
    with pytest.raises(StoreError, match=r"no kind 'faulty'.*armwright\.kinds"):
        resume_campaign(apart, workers=1)  # the folder's word is not enough
    assert not resume_campaign(apart, kind=KIND, workers=1).missing()
    assert content(apart) == alone
    assert open_store(apart, kind=KIND).kind is KIND
    with pytest.raises(InputError, match="keeps no recordings"):
        record_item(apart, 3, tmp_path / "item.npz", kind=KIND)


def test_dask_is_told_where_a_given_kind_is(tmp_path, workers_find_tests):
    pytest.importorskip("distributed", reason="needs dask (extra 'scale')")
    pytest.importorskip("cryptography", reason="needs cryptography (extra 'scale')")
    one = run_campaign(PLAN, tmp_path / "serial", kind=KIND, engine="serial")
    assert content(run_campaign(PLAN, tmp_path / "dask", kind=KIND, engine="dask", workers=1).folder) == content(
        one.folder
    )


def test_summaries_of_a_given_kind(tmp_path):
    folder = run_campaign(CampaignPlan("judged", 8, 3), tmp_path / "c", kind=JUDGED, engine="serial").folder
    assert set(summary_of(folder, kind=JUDGED)) == {"detectors", "roc"}


def test_a_given_kind_is_the_one_of_the_plan(tmp_path):
    with pytest.raises(InputError, match="kind 'judged' was given for a campaign of kind 'faulty'"):
        run_campaign(PLAN, tmp_path / "c", kind=JUDGED, engine="serial")
    with pytest.raises(InputError, match=r"must be an armwright.campaigns.Kind, got str"):
        run_campaign(PLAN, tmp_path / "c", kind="support.campaign_kinds:KIND", engine="serial")
    folder = run_campaign(PLAN, tmp_path / "c", kind=KIND, engine="serial").folder
    with pytest.raises(StoreError, match="was given for a campaign of kind"):
        open_store(folder, kind=JUDGED)
    with pytest.raises(StoreError, match="another version of kind 'faulty'"):
        open_store(folder, kind=replace(KIND, version=2))


def test_a_kind_that_other_processes_cannot_import_is_for_this_one(tmp_path):
    local = replace(KIND)
    assert place_of(KIND) == "support.campaign_kinds:KIND" and place_of(find_kind("montecarlo")) == ""
    with pytest.raises(InputError, match=r"other processes cannot import it.*engine serial"):
        run_campaign(PLAN, tmp_path / "c", kind=local, workers=1)
    assert not (tmp_path / "c" / "campaign.json").exists()
    assert not run_campaign(PLAN, tmp_path / "c", kind=local, engine="serial").missing()


SCRIPT = """
from armwright.campaigns import CampaignPlan, Kind, run_campaign

def start(plan, prepared):
    return lambda first, last: {"twice": [2.0 * k for k in range(first, last)]}

KIND = Kind("twice", {"twice": "float64"}, start, chunk=2)
if __name__ == "__main__":
    store = run_campaign(CampaignPlan("twice", 4), "out", kind=KIND, workers=1)
    print([row["twice"] for chunk in store.chunks() for row in store.read(*chunk).to_pylist()])
"""


def test_a_script_may_hold_its_own_kind(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    environ = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}
    run = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, env=environ, capture_output=True, encoding="utf-8", timeout=600
    )
    assert run.stdout.strip() == "[0.0, 2.0, 4.0, 6.0]", run.stderr


def test_plug_ins_are_found_by_name_and_checked(tmp_path, monkeypatch):
    folder, *_ = plug_in(tmp_path)
    points = tmp_path / "campaign_kinds_of_tests-1.0.dist-info" / "entry_points.txt"
    points.write_text(
        points.read_text(encoding="utf-8") + "wrong = support.places:ROOT\nabsent = no_such_module:KIND\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(folder)
    assert find_kind("faulty") is KIND and isinstance(find_kind("judged"), Kind)
    for name, said in (
        ("nothing", "no kind 'nothing'; known: .*montecarlo.*faulty"),
        ("wrong", "must be an armwright.campaigns.Kind"),
        ("absent", "cannot be loaded"),
    ):
        with pytest.raises(InputError, match=said):
            run_campaign(CampaignPlan(name, 3), tmp_path / "c", engine="serial")
    with pytest.raises(InputError, match="engine must be one of serial, processes, dask"):
        run_campaign(PLAN, tmp_path / "c", engine="magic")
    assert not (tmp_path / "c").exists()
