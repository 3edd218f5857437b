# SPDX-License-Identifier: Apache-2.0
"""The engine dask on one machine: other users of the machine reach its sockets, and nothing more."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest

from armwright.campaigns import CampaignPlan, run_campaign
from armwright.errors import ArmwrightWarning, InputError
from support.patience import PATIENCE
from support.plugged_kinds import plugged_kinds  # noqa: F401 - a fixture of all tests here

distributed = pytest.importorskip("distributed", reason="needs dask (extra 'scale')")
pytest.importorskip("cryptography", reason="needs cryptography (extra 'scale')")
psutil = pytest.importorskip("psutil", reason="comes with dask")
WORKERS = 2
TLS_ALERT = 0x15  # first byte of a TLS record that refuses


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, plugged_kinds):  # noqa: F811 - the fixture, not a second one
    """A campaign by dask in a process of its own, held while the tests look at it."""
    place = tmp_path_factory.mktemp("wires")
    scratch = place / "scratch"
    scratch.mkdir()
    file = place / "c.toml"
    settings = f'gate = "{place / "go"}"\n"gated from" = 0\nbegan = "{place / "began"}"\n'
    file.write_text(
        f'kind = "faulty"\nitems = 4\nseed = 3\nchunk = 1\nlimit = 600.0\n[settings]\n{settings}', encoding="utf-8"
    )
    line = [sys.executable, "-m", "armwright.cli", "campaign", "run", str(file), "--engine", "dask"]
    environ = os.environ | {"TMPDIR": str(scratch)}
    with open(place / "said.txt", "w") as said:
        run = subprocess.Popen([*line, "--workers", str(WORKERS)], stdout=said, stderr=said, env=environ)
    try:
        until = time.monotonic() + PATIENCE
        while not (place / "began").exists():
            assert run.poll() is None and time.monotonic() < until, (place / "said.txt").read_text(encoding="utf-8")
            time.sleep(0.05)
        family = [psutil.Process(run.pid), *psutil.Process(run.pid).children(recursive=True)]
        yield family, scratch
        (place / "go").touch()
        assert run.wait(PATIENCE) == 0, (place / "said.txt").read_text(encoding="utf-8")
        assert len(list((place / "c" / "rows").glob("0*.parquet"))) == 4
        assert list(scratch.iterdir()) == []  # nothing stays behind
    finally:
        run.kill()
        run.wait()


def listeners(family):
    """Addresses on which the processes listen."""
    found = set()
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            connections = process.net_connections if hasattr(process, "net_connections") else process.connections
            found |= {tuple(each.laddr) for each in connections("inet") if each.status == psutil.CONN_LISTEN}
    return sorted(found)


def answer(address, said=b"", context=None):
    """Return what a server answers to somebody who speaks first."""
    with socket.create_connection(address, timeout=PATIENCE) as wire, contextlib.ExitStack() as closing:
        speaking = closing.enter_context(context.wrap_socket(wire)) if context else wire
        speaking.sendall(said)
        return speaking.recv(64)


def test_every_listener_is_on_loopback_and_none_is_a_page(cluster):
    found = listeners(cluster[0])
    assert len(found) == 1 + 2 * WORKERS  # the scheduler; of each worker itself and its nanny
    assert {host for host, _ in found} == {"127.0.0.1"}


def test_every_listener_refuses_plain_talk(cluster):
    for address in listeners(cluster[0]):
        for said in (b"GET / HTTP/1.0\r\n\r\n", b"\x18" + b"\x00" * 7 + b"\x10" + b"\x00" * 31):
            try:
                found = answer(address, said)
            except ConnectionError:
                continue
            assert found == b"" or found[0] == TLS_ALERT, (address, found)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("certificate", ["none", "another"])
def test_every_listener_asks_for_the_certificate_of_this_cluster(certificate, version, cluster, tmp_path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    if certificate == "another":
        made = distributed.Security.temporary()
        (tmp_path / "both.pem").write_text(made.tls_client_key + made.tls_client_cert, encoding="utf-8")
        context.load_cert_chain(tmp_path / "both.pem")
    for address in listeners(cluster[0]):
        try:
            found = answer(address, b"x", context)
        except (ssl.SSLError, ConnectionError):
            continue
        assert found == b"", (address, found)  # closed without a word


@pytest.mark.parametrize("scheme", ["tcp", "tls"])
def test_strangers_cannot_submit_anything(scheme, cluster, tmp_path):
    security = distributed.Security.temporary() if scheme == "tls" else None
    for host, port in listeners(cluster[0]):
        with pytest.raises(OSError):  # dask tries again and again, until its time is over
            distributed.Client(f"{scheme}://{host}:{port}", security=security, timeout="0.5s", set_as_default=False)


def test_the_key_is_in_no_file_environment_or_command_line(cluster):
    """What lies in temporary folders meanwhile is open to this user alone."""
    family, scratch = cluster
    for path in scratch.rglob("*"):
        if path.is_file():
            assert b"PRIVATE KEY" not in path.read_bytes()
    for path in scratch.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            assert "PRIVATE KEY" not in " ".join([*process.cmdline(), *process.environ().values()])


def test_a_plain_scheduler_is_warned_of(tmp_path, monkeypatch):
    from armwright.campaigns.engines import dask_engine

    short = {**dask_engine.TUNED, "distributed.comm.timeouts.connect": "0.1s"}
    monkeypatch.setattr(dask_engine, "TUNED", short)
    plan = CampaignPlan("faulty", 2, 3)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # nobody listens there, and nobody will
        options = {"engine": "dask", "workers": 1, "scheduler": f"tcp://127.0.0.1:{unused.getsockname()[1]}"}
        with pytest.raises(InputError, match=r"whoever reaches it can run code as you.*--insecure"):
            run_campaign(plan, tmp_path / "c", **options)
        with pytest.warns(ArmwrightWarning, match="whoever reaches it can run code as you"):  # noqa: SIM117
            with pytest.raises(InputError, match="no connection"):
                run_campaign(plan, tmp_path / "c", insecure=True, **options)


def test_certificates_belong_to_a_scheduler(tmp_path):
    security = distributed.Security.temporary()
    with pytest.raises(InputError, match="security is that of a scheduler"):
        run_campaign(CampaignPlan("faulty", 2, 3), tmp_path / "c", engine="dask", workers=1, security=security)


def test_without_the_package_that_makes_certificates_nothing_listens(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(NotImplementedError, match=r"needs cryptography: pip install 'armwright\[scale\]'"):
        run_campaign(CampaignPlan("faulty", 2, 3), tmp_path / "c", engine="dask", workers=1)
    assert not list(Path(tmp_path / "c" / "rows").iterdir())
