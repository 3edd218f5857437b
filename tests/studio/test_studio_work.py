# SPDX-License-Identifier: Apache-2.0
"""Long work of the studio is done by processes that can be ended; what is too large is refused and says the limit."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from tempfile import gettempdir

import pytest

pytest.importorskip("starlette", reason="the studio needs armwright[studio]")
pytest.importorskip("uvicorn", reason="the studio needs armwright[studio]")
pytest.importorskip("websockets", reason="the studio needs armwright[studio]")

import armwright as aw
from armwright.errors import ArmwrightError, InputError
from armwright.studio.jobs import MOST_STUDIO_JOBS, Jobs
from armwright.studio.long_work import MOST_STUDIO_JOINTS, MOST_STUDIO_SHAPES, check_size, run_a_program
from armwright.studio.work_process import WorkCancelledError, WorkProcess
from support.patience import PATIENCE
from support.places import TESTS
from support.studio import Page, running_studio, started_studio, upload
from support.studio_work import add_up, busy_for_ever, chatter, devour, die, never_open, refuse, stumble


@pytest.fixture(autouse=True)
def tasks_are_found(monkeypatch):
    """Processes of tasks are fresh interpreters: they find those of the tests through the environment."""
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


@pytest.fixture
def told():
    return queue.Queue()


@pytest.fixture
def jobs(told):
    jobs = Jobs(told.put)
    yield jobs
    jobs.close()


def until(told, state):
    while (message := told.get(timeout=PATIENCE))["state"] != state:
        pass
    return message


def run_apart(work):
    """Run a coroutine in a thread of its own: a browser's driver may have a loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(work())).result(PATIENCE)


class Line:
    """A port of this machine that a task connects to; `ended` waits for the end of the process that did."""

    def __init__(self):
        self.door = socket.create_server(("127.0.0.1", 0))
        self.door.settimeout(PATIENCE)
        self.port = self.door.getsockname()[1]

    def opened(self):
        self.line, _ = self.door.accept()
        self.line.settimeout(PATIENCE)
        return self

    def ended(self):
        with contextlib.suppress(ConnectionResetError):
            assert self.line.recv(1) == b""
        self.line.close()
        self.door.close()


def test_a_job_reports_its_progress_and_its_result(jobs, told):
    number = jobs.start("sum", add_up, {"numbers": [1, 2]}, lambda result: {"double": 2 * result["sum"]})
    said = [told.get(timeout=PATIENCE) for _ in range(3)]
    assert [message["state"] for message in said] == ["running", "running", "done"]
    assert [message["job"] for message in said] == [number] * 3 and said[1]["text"] == "half"
    assert said[2]["result"] == {"double": 6}


@pytest.mark.parametrize(
    ("task", "why"),
    [(refuse, "what would be valid"), (stumble, "a defect"), (die, "exit code 3"), (devour, "memory")],
    ids=["refuse", "stumble", "die", "devour"],
)
def test_a_job_that_fails_says_why_and_the_next_one_runs(jobs, told, task, why):
    if task is devour and not sys.platform.startswith("linux"):
        pytest.skip("only Linux limits the memory of a process")
    ended = threading.Event()
    jobs.start("wrong", task, {}, ended=ended.set)
    assert why in until(told, "failed")["error"]
    assert ended.wait(PATIENCE)
    jobs.start("sum", add_up, {"numbers": [1, 2]})
    assert until(told, "done")["result"] == {"sum": 3}


def test_texts_about_a_program_name_its_file_as_the_user_does():
    sheet = aw.load("ur5").to_sheet()
    text = "def p():\n  movej([0, -1.57, 1.57, -1.57, -1.57, 0])\n  movel({})\nend\n"

    def run(target, file="my part.script"):
        content = base64.b64encode(text.format(target).encode()).decode()
        return run_a_program(lambda *_: None, sheet, file, content, 1.0, 0.0)

    for wrong in ("p[9, 9, 9, 0, 0, 0]", "("):  # cannot be reached; cannot be read
        with pytest.raises(aw.InputError, match=r"^my part\.script, line 3") as refused:
            run(wrong)
        assert gettempdir() not in str(refused.value)
    done = run("p[-0.45, -0.2, 0.3, 2.2214, 2.2214, 0]")
    assert gettempdir() not in str(done["said"]) and "my part.script" in done["title"]


def test_what_a_task_prints_is_no_answer():
    assert WorkProcess(chatter, {}).run(lambda fraction, text: None) == {"said": "returned"}


def test_cancelling_ends_work_that_never_reports(jobs, told):
    line = Line()
    number = jobs.start("endless", busy_for_ever, {"port": line.port})
    line.opened()
    jobs.cancel(number)
    line.ended()
    assert until(told, "cancelled")["job"] == number
    with pytest.raises(InputError, match="not running"):
        jobs.cancel(number)


def test_only_some_jobs_wait_and_those_can_be_cancelled_too(jobs, told):
    numbers = [jobs.start("endless", busy_for_ever, {}) for _ in range(MOST_STUDIO_JOBS)]
    with pytest.raises(InputError, match="waiting already"):
        jobs.start("more", busy_for_ever, {})
    for number in reversed(numbers):
        jobs.cancel(number)
    assert {until(told, "cancelled")["job"] for _ in numbers} == set(numbers)


def test_the_end_of_the_studio_ends_all_work(jobs, told):
    line = Line()
    jobs.start("endless", busy_for_ever, {"port": line.port})
    line.opened()
    jobs.close()
    line.ended()
    with pytest.raises(InputError, match="is ending"):
        jobs.start("more", add_up, {"numbers": []})


def test_work_that_takes_too_long_is_ended_and_says_so(jobs):
    with pytest.raises(ArmwrightError, match=r"longer than 0\.2 s"):
        run_apart(lambda: jobs.run("endless", busy_for_ever, {}, 0.2))


def test_awaited_work_can_be_cancelled_and_is_told_to_whoever_waits(jobs, told):
    line = Line()

    async def both():
        running = asyncio.create_task(jobs.run("endless", busy_for_ever, {"port": line.port}, 1e6))
        number = (await asyncio.to_thread(told.get, timeout=PATIENCE))["job"]
        await asyncio.to_thread(line.opened)
        jobs.cancel(number)
        await running

    with pytest.raises(WorkCancelledError):
        run_apart(both)
    line.ended()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_work_does_not_outlive_a_studio_that_was_killed(tmp_path):
    """And the program that opened the studio is not run again by its processes: it has no ``if __name__`` line."""
    line = Line()
    script = tmp_path / "a script.py"
    script.write_text(
        "import sys, threading\n"
        "print('begins', flush=True)\n"
        "from armwright.studio.work_process import WorkProcess\n"
        "from support.studio_work import busy_for_ever\n"
        f"WorkProcess(busy_for_ever, {{'port': {line.port}}}).run(lambda fraction, text: None)\n",
        encoding="utf-8",
    )
    paths = os.pathsep.join(entry for entry in sys.path if entry)
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, encoding="utf-8", env=os.environ | {"PYTHONPATH": paths}
    ) as studio:
        line.opened()
        studio.kill()
        line.ended()
        assert studio.stdout.read() == "begins\n"


def chain(n):
    """Return the URDF of a chain of n joints."""
    inertia = '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>'
    lines = ['<robot name="chain"><link name="l0"/>']
    for k in range(1, n + 1):
        lines.append(f'<link name="l{k}"><inertial><mass value="1"/>{inertia}</inertial></link>')
        lines.append(f'<joint name="j{k}" type="revolute"><parent link="l{k - 1}"/><child link="l{k}"/>')
        lines.append('<origin xyz="0 0 0.1"/><axis xyz="0 1 0"/>')
        lines.append('<limit lower="-2" upper="2" effort="50" velocity="2"/></joint>')
    return "\n".join([*lines, "</robot>"])


def world(n):
    """Return a world file of n spheres."""
    place = 'centre={{value=[{}, 0, 1], unit="m"}}\nradius={{value=0.01, unit="m"}}\n'
    return 'name="w"\n' + "".join(f'[shapes.s{k}]\nkind="sphere"\n{place.format(0.001 * k)}' for k in range(n))


def test_what_is_too_large_is_refused_with_the_limit_and_pages_are_answered_meanwhile():
    with running_studio() as running:
        page = Page(running)
        refused = []
        thread = threading.Thread(
            target=lambda: refused.append(upload(running, "robot", "chain.urdf", chain(120).encode()))
        )
        thread.start()
        page.until("job", state="running")
        assert page.ask("look", q=[0.1, 0.2])["ok"]
        assert page.ask("goal", q=[0.1, 0.2])["ok"] == {}
        thread.join(PATIENCE)
        status, said = refused[0]
        assert status == 200 and "120 joints" in said["error"] and f"at most {MOST_STUDIO_JOINTS}" in said["error"]
        assert "command line" in said["error"] and "/tmp" not in said["error"]
        status, said = upload(running, "world", "dots.toml", world(MOST_STUDIO_SHAPES + 1).encode())
        assert status == 200 and f"at most {MOST_STUDIO_SHAPES}" in said["error"] and "dots.toml" in said["error"]
        status, said = upload(running, "world", "dots.toml", world(3).encode())
        assert status == 200 and len(said["shapes"]) == 3
        assert running.studio.robot.name == "planar2"
        page.close()


def test_an_arm_at_the_limit_is_taken_and_one_beyond_is_not_at_the_start_either():
    check_size(aw.load(chain(MOST_STUDIO_JOINTS)))
    with (
        pytest.raises(InputError, match=f"at most {MOST_STUDIO_JOINTS}"),
        running_studio(chain(MOST_STUDIO_JOINTS + 1)),
    ):
        pass


def test_an_upload_can_be_cancelled(monkeypatch):
    monkeypatch.setattr("armwright.studio.studio_state.open_arm", never_open)
    with running_studio() as running:
        page = Page(running)
        said = []
        thread = threading.Thread(target=lambda: said.append(upload(running, "robot", "arm.urdf", chain(3).encode())))
        thread.start()
        job = page.until("job", state="running", text="busy")["job"]
        assert page.ask("cancel", job=job)["ok"] == {}
        thread.join(PATIENCE)
        assert said == [(200, {"error": "cancelled"})] and running.studio.robot.name == "planar2"
        page.close()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals for other processes")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_studio_at_work(tmp_path, number):
    with started_studio(tmp_path, "ur5") as (process, running):
        page = Page(running)
        page.ask("watch", live=True)
        page.ask("explore", reactions=["stop"], observers=[], duration=600, world="layout-a")
        page.until("job", state="running")
        process.send_signal(number)
        rest, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0 and rest == ""
