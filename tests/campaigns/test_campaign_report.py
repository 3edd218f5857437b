# SPDX-License-Identifier: Apache-2.0
"""Pages about campaigns, progress while they run, and addresses that commands accept."""

from __future__ import annotations

import json

import numpy as np
import pytest

import armwright.campaigns.campaign_report as campaign_report_module
from armwright.campaigns import CampaignPlan, Progress, run_campaign
from armwright.campaigns.campaign_report import campaign_report
from armwright.campaigns.engines.dask_engine import check_address, security_of
from armwright.campaigns.kind import find_kind
from armwright.cli.app import run as command
from armwright.cli.campaign import duration, line
from armwright.errors import InputError
from armwright.statistics import CONVENTION, quantile, share
from support.plugged_kinds import plugged_kinds  # noqa: F401 - a fixture of all tests here

pytest.importorskip("pyarrow", reason="campaigns need pyarrow (extra 'scale')")
pytest.importorskip("matplotlib", reason="reports need matplotlib (extra 'plot')")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    plan = CampaignPlan("judged", 100, 3, {"note": "<script>"})
    return run_campaign(plan, tmp_path_factory.mktemp("judged") / "c", engine="serial").folder


def test_the_tables_are_counts_of_the_rows(folder, tmp_path):
    store_rows = [row for row in _rows(folder) if row["met"] == "contact"]
    _, tables = campaign_report(folder, tmp_path / "r.html")
    shares = {(row["column"], row["outcome"]): row for row in tables["outcomes"]}
    assert shares["status", "done"]["share"] == share(100, 100)._asdict()
    assert shares["met", "contact"]["share"] == share(25, 100)._asdict()
    good = sum(row["good"] for row in _rows(folder))
    assert shares["good", "True"]["items"] == good
    (delays,) = (row for row in tables["figures"] if row["column"] == "a_b_delay")
    assert delays["values"] == 25
    assert delays["50 %"] == quantile([row["a_b_delay"] for row in store_rows], 0.5)._asdict()
    assert tables["roc"][1]["found"] == share(1, 4)._asdict()


def _rows(folder):
    from armwright.campaigns import open_store

    store = open_store(folder)
    return [row for chunk in store.chunks() for row in store.read(*chunk).to_pylist()]


def test_the_page_is_whole_and_harmless(folder, tmp_path):
    path, _ = campaign_report(folder, tmp_path / "r.html")
    page = path.read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 3  # delays, ROC, spread
    assert "<script>" not in page
    assert "a · &lt;b&gt;" not in page  # names of curves are in the picture
    assert "&lt;b&gt;" in page
    assert "http://" not in page and "https://" not in page  # nothing is loaded from elsewhere


def test_the_command_and_its_json(folder, tmp_path, capsys):
    assert command(["campaign", "report", str(folder), "--out", str(tmp_path / "r.html"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["outcomes"][0]["share"]["value"] == 1.0
    assert found["intervals"] == CONVENTION and "one-sided where none or all were seen" in CONVENTION
    assert command(["campaign", "report", str(folder), "--out", str(tmp_path / "none" / "r.html")]) == 2
    assert "could not be written" in capsys.readouterr().err


def test_figures_leave_what_never_came_to_the_summary(tmp_path):
    """Five of six were missed: the median of the sixth would be a flattering delay; the kind's summary counts all."""
    plan = CampaignPlan("misses", 60, 3)
    _, tables = campaign_report(run_campaign(plan, tmp_path / "c", engine="serial").folder, tmp_path / "r.html")
    assert [(row["column"], row["values"], row["of"]) for row in tables["figures"]] == [("size", 60, 60)]
    kind = find_kind("detection")
    assert kind.judged == {name for name in kind.schema if name.endswith(("_delay", "_force", "_until"))}


@pytest.mark.parametrize(
    "values", [[1.0, np.nextafter(1.0, 2.0)], [0.0, 5e-324], [-1e308, 1e308], [1e300, 1.0], [7.0], [1e16, 1e16 + 4.0]]
)
def test_any_numbers_can_be_drawn(values, folder, tmp_path, monkeypatch):
    """Nearly the same, and far apart: an axis has no room for either."""
    monkeypatch.setattr(campaign_report_module, "numbers", lambda dataset, name: np.array(values))
    path, _ = campaign_report(folder, tmp_path / "r.html")
    assert path.exists()


def test_progress_has_rate_failures_and_time_left():
    text = line(Progress(done=300, items=1000, failed=2, todo=900), start=100, elapsed=10.0)
    assert text == "300 of 1000 items, 20 per second, 2 without a result, 35 s left"
    assert line(Progress(100, 1000, 0, 900), start=100, elapsed=0.0) == "100 of 1000 items, 0 without a result"
    assert [duration(s) for s in (3.4, 200.0, 7500.0)] == ["3 s", "3 min 20 s", "2 h 05 min"]


@pytest.mark.parametrize(
    "address", ["10.0.0.1:8786", "http://a:1", "tcp://a", "tls://:8786", "tls://a:x", "tcp://[::1"]
)
def test_what_is_no_address(address):
    with pytest.raises(InputError, match=r"must be tls://HOST:PORT"):
        check_address(address, insecure=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "10.0.0.1"])
def test_plain_connections_need_the_option_that_says_so(host):
    """Loopback as well: every user of a machine reaches it."""
    check_address(f"tls://{host}:8786")
    with pytest.raises(InputError, match=r"whoever reaches it can run code as you.*--insecure"):
        check_address(f"tcp://{host}:8786")
    check_address(f"tcp://{host}:8786", insecure=True)


def test_certificates_are_asked_for_and_looked_for(tmp_path, capsys):
    pytest.importorskip("distributed", reason="needs dask (extra 'scale')")
    here = tmp_path / "ca.pem"
    here.write_text("no certificate", encoding="utf-8")
    assert security_of("tcp://127.0.0.1:1", None, None, None) is None
    for given, said in (
        ((None, None, None), "TLS needs --tls-ca, --tls-cert and --tls-key"),
        ((here, None, None), "--tls-cert is missing"),
        ((here, tmp_path / "none.pem", here), "none.pem: no such file"),
    ):
        with pytest.raises(InputError, match=said):
            security_of("tls://10.0.0.1:8786", *given)
    with pytest.raises(InputError, match="certificates need an address tls://"):
        security_of("tcp://127.0.0.1:1", here, here, here)
    assert command(["campaign", "worker", "tcp://10.0.0.1:8786"]) == 2
    assert "plain tcp, and whoever reaches it" in capsys.readouterr().err
    assert command(["campaign", "worker", "tls://10.0.0.1:8786", "--json"]) == 2
    assert "TLS needs" in json.loads(capsys.readouterr().out)["error"]["message"]


def test_a_scheduler_needs_dask(tmp_path):
    with pytest.raises(InputError, match="a scheduler needs the engine dask"):
        run_campaign(CampaignPlan("judged", 3), tmp_path, scheduler="tcp://127.0.0.1:1")
