# SPDX-License-Identifier: Apache-2.0
"""Several hosts under TLS give the bytes of one; a host that dies or whose cable is pulled costs nothing but time."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from armwright.campaigns import CampaignPlan, run_campaign
from support.network_hosts import Hosts, certificates, skip_without_hosts
from support.patience import PATIENCE
from support.places import ROOT
from support.plugged_kinds import plugged_kinds  # noqa: F401 - a fixture of all tests here

pytest.importorskip("distributed", reason="needs dask (extra 'scale')")
skip_without_hosts()
KIND = "faulty"
CHUNK = 4  # items
GATED_FROM = 48  # items before this one are done at once, those after it when the gate of the test opens


@pytest.fixture
def hosts():
    with Hosts(3) as found:
        yield found


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    return certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def alone(tmp_path):
    """What one process makes of the campaign of this test."""
    (tmp_path / "gate").touch()
    found = content(run_campaign(plan_at(tmp_path), tmp_path / "alone", engine="serial").folder)
    (tmp_path / "gate").unlink()
    return found


def plan_at(place):
    settings = {"gate": str(place / "gate"), "gated from": GATED_FROM}
    return CampaignPlan(KIND, 96, 3, settings, chunk=CHUNK, limit=PATIENCE)


def content(folder):
    return {path.name: path.read_bytes() for path in sorted((folder / "rows").glob("0*"))}


@pytest.fixture
def lab(hosts, tls, tmp_path):
    """A scheduler on host 0; start workers with `lab.worker(k)`, the campaign with `lab.run()`."""
    with Lab(hosts, tls, tmp_path) as found:
        yield found


class Lab:
    def __init__(self, hosts, tls, place):
        self.hosts, self.tls, self.place = hosts, tls, place
        self.address = f"tls://{hosts.address(0)}:8786"
        paths = [os.environ["PYTHONPATH"], str(ROOT / "src")]
        self.environ = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}
        self.started = []

    def __enter__(self):
        ca, cert, key = self.tls
        dask = Path(sys.executable).with_name("dask")
        binds = ("--host", self.hosts.address(0), "--port", 8786, "--dashboard-address", "127.0.0.1:0")
        self.scheduler = self.start(
            0, dask, "scheduler", *binds, "--tls-ca-file", ca, "--tls-cert", cert, "--tls-key", key
        )
        return self

    def __exit__(self, *_):
        for process in self.started:
            kill(process)

    def start(self, host, *words):
        output = open(self.place / f"output-{len(self.started)}.txt", "w+")  # noqa: SIM115
        process = self.hosts.start(host, *words, env=self.environ, stdout=output, stderr=subprocess.STDOUT)
        process.output = output
        self.started.append(process)
        return process

    def armwright(self, host, *words):
        ca, cert, key = self.tls
        line = [sys.executable, "-m", "armwright.cli", "campaign", *words]
        return self.start(host, *line, "--tls-ca", ca, "--tls-cert", cert, "--tls-key", key)

    def worker(self, host):
        process = self.armwright(host, "worker", self.address, "--workers", "1", "--json")
        wait_for(lambda: '"workers": 1' in said(process), process)
        return process

    def run(self):
        plan, file = plan_at(self.place), self.place / "c.toml"
        head = f'kind = "{plan.kind}"\nitems = {plan.items}\nseed = {plan.seed}\n'
        head += f"chunk = {plan.chunk}\nlimit = {plan.limit}\n"
        file.write_text(
            f"{head}[settings]\ngate = '{self.place / 'gate'}'\n'gated from' = {GATED_FROM}\n", encoding="utf-8"
        )
        return self.armwright(0, "run", file, "--engine", "dask", "--scheduler", self.address, "--json")

    def open_gate(self):
        (self.place / "gate").touch()

    def rows(self):
        return content(self.place / "c") if (self.place / "c" / "rows").exists() else {}


def said(process):
    process.output.flush()
    return Path(process.output.name).read_text(encoding="utf-8")


def wait_for(condition, process, seconds=PATIENCE):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, said(process)
        assert process.poll() is None or condition(), said(process)
        time.sleep(0.02)


def kill(process):
    """End a host's command with all its processes, without a word."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.output.close()


def test_two_hosts_under_tls_give_the_bytes_of_one(lab, alone):
    first = lab.worker(1)
    assert lab.hosts.listening(1) == {lab.hosts.address(1)}  # no page on loopback either
    assert json.loads(said(first))["bind"] == lab.hosts.address(1)
    lab.worker(2)
    lab.open_gate()
    run = lab.run()
    assert run.wait(PATIENCE) == 0, said(run)
    assert lab.rows() == alone
    plain = ("worker", f"tcp://{lab.hosts.address(0)}:8786", "--insecure")
    stranger = lab.start(1, sys.executable, "-m", "armwright.cli", "campaign", *plain)
    assert stranger.wait(PATIENCE) == 2, said(stranger)
    assert "no connection" in said(stranger)


@pytest.mark.slow
def test_a_host_that_dies_and_comes_back_costs_nothing(lab, alone):
    victim = lab.worker(1)
    lab.worker(2)
    run = lab.run()
    wait_for(lambda: len(lab.rows()) > 2, run)
    kill(victim)
    lab.open_gate()
    lab.worker(1)
    assert run.wait(PATIENCE) == 0, said(run)
    assert lab.rows() == alone


@pytest.mark.slow
def test_a_pulled_cable_costs_a_pause(lab, alone):
    lab.worker(1)
    lab.worker(2)
    run = lab.run()
    wait_for(lambda: len(lab.rows()) > 2, run)
    lab.hosts.cable(1, "down")
    lab.open_gate()
    time.sleep(2.0)  # how long the cable is out; whatever is lost meanwhile is computed again
    lab.hosts.cable(1, "up")
    assert run.wait(2 * PATIENCE) == 0, said(run)
    assert lab.rows() == alone


@pytest.mark.slow
def test_a_scheduler_that_dies_ends_the_run_with_how_to_go_on(lab, alone):
    worker = lab.worker(1)
    run = lab.run()
    wait_for(lambda: len(lab.rows()) > 2, run)
    kill(lab.scheduler)
    assert run.wait(PATIENCE) == 2
    assert "scheduler is gone" in said(run)
    assert "armwright campaign resume" in said(run)
    assert worker.wait(PATIENCE) == 2
    folder = lab.place / "c"
    assert all(alone[name] == data for name, data in content(folder).items())
