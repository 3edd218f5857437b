# SPDX-License-Identifier: Apache-2.0
"""`robot.plot` and `robot.teach`: from an arm to its picture in one call."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError
from support.patience import PATIENCE


def test_a_pose_and_a_motion_are_recordings_that_show_themselves(tmp_path):
    robot = aw.load("planar2")
    still, moving = robot.plot([0.1, -0.4]), robot.plot(np.linspace([0, 0], [1, 1], 20), dt=0.1)
    assert (still["q"] == [0.1, -0.4]).all()
    assert moving.duration == pytest.approx(1.9)
    assert "<iframe" in still._repr_html_()
    assert (moving.replay(tmp_path / "page.html").read_text(encoding="utf-8")).startswith("<!doctype html>")
    assert np.array_equal(robot.plot()["q"][0], robot.neutral())
    for bad, said in (([0.1], r"shape \(2,\) or \(T, 2\)"), ([0.1, np.nan], "finite")):
        with pytest.raises(InputError, match=said):
            robot.plot(bad)


def test_teach_serves_the_studio_beside_the_program(tmp_path, monkeypatch):
    monkeypatch.setenv("ARMWRIGHT_STUDIO_RECORDINGS", str(tmp_path))
    for name in ("starlette", "uvicorn", "websockets"):
        pytest.importorskip(name, reason="extra [studio] is not installed")
    studio = aw.load("planar2").teach(browser=False)
    try:
        with urllib.request.urlopen(studio.base, timeout=PATIENCE) as page:
            assert page.status == 200
        assert studio.base.startswith("http://127.0.0.1:")
        assert "#" in studio.owner
    finally:
        studio.stop()


SCRIPT = """
import atexit, signal
import armwright as aw
signal.signal(signal.SIGINT, signal.default_int_handler)
studio = aw.load("planar2").teach(browser=False)
atexit.register(lambda: print(studio.base, flush=True))  # behind the last line of the script
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for other processes")
def test_a_script_keeps_its_studio_until_control_c(tmp_path):
    for name in ("starlette", "uvicorn", "websockets"):
        pytest.importorskip(name, reason="extra [studio] is not installed")
    env = os.environ | {"ARMWRIGHT_STUDIO_RECORDINGS": str(tmp_path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    with subprocess.Popen([sys.executable, "-c", SCRIPT], env=env, **pipes) as script:
        try:
            assert "Ctrl-C when this program has nothing else to do" in script.stderr.readline()
            with urllib.request.urlopen(script.stdout.readline().strip(), timeout=PATIENCE) as page:
                assert page.status == 200
            script.send_signal(signal.SIGINT)
            assert script.wait(PATIENCE) is not None
        finally:
            script.kill()
