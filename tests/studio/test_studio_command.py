# SPDX-License-Identifier: Apache-2.0
"""``armwright studio`` as a command: it says where it is, ends cleanly, and takes no other port than it was told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request

import pytest

from support.patience import PATIENCE

pytest.importorskip("starlette", reason="the studio needs armwright[studio]")
pytest.importorskip("uvicorn", reason="the studio needs armwright[studio]")
pytest.importorskip("websockets", reason="the studio needs armwright[studio]")


def command(*words):
    return [sys.executable, "-m", "armwright.cli", "studio", "planar2", *words]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for other processes")
def test_it_serves_refuses_a_taken_port_and_ends_with_ctrl_c(tmp_path, monkeypatch):
    monkeypatch.setenv("ARMWRIGHT_STUDIO_RECORDINGS", str(tmp_path))
    with subprocess.Popen(
        command("--port", "0", "--share", "--json"), stdout=subprocess.PIPE, encoding="utf-8"
    ) as first:
        said = ""
        while not said.rstrip().endswith("}"):
            said += first.stdout.readline()
        at = json.loads(said)
        base, token = at["address"].split("#")
        assert base.startswith("http://127.0.0.1:") and at["view"].split("#")[0] == base and at["view"] != at["address"]
        assert len(token) >= 32
        with urllib.request.urlopen(base) as answer:
            assert b"Armwright" in answer.read()
        port = base.rstrip("/").rsplit(":", 1)[1]
        second = subprocess.run(command("--port", port), capture_output=True, encoding="utf-8", check=False)
        assert second.returncode == 2
        assert f"port {port} of 127.0.0.1 is taken" in second.stderr and "Traceback" not in second.stderr
        first.send_signal(signal.SIGINT)
        rest, _ = first.communicate(timeout=PATIENCE)
        assert first.returncode == 0 and rest == ""
