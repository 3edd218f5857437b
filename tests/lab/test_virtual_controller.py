# SPDX-License-Identifier: Apache-2.0
"""`VirtualController`: clients find it, faults come when they are called for, and what it says of contacts is true."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest

import armwright as aw
from armwright.contact import contact_report
from armwright.contact.ground_truth import ContactReport
from armwright.lab import LabError, VirtualController, connect
from armwright.lab.controller_child import ServedController, own_address
from armwright.lab.touch_record import BOUNCE_TICKS, touches_of
from armwright.robot.measured import as_measured
from armwright.world import Box, World
from support.lab import ask
from support.patience import PATIENCE, until

TABLE = World((Box(name="table", centre=(-0.5, -0.1, 0.25), size=(0.4, 0.4, 0.1), stiffness=2e4, damping=200.0),))
ABOVE = [0.0, -1.5708, 1.5708, -1.5708, -1.5708, 0.0]


@pytest.fixture(scope="module")
def shared():
    with VirtualController(world=TABLE, ports="free", pace=10.0, q0=np.array(ABOVE)) as robot:
        yield robot


@pytest.fixture
def robot(shared):
    """The controller of this file, running and above the table again."""
    shared.emergency_stop(False)
    shared.safeguard(False)
    if shared.truth().state == "fault":
        ask(shared, "restart safety")
    settled = ("power off", "protective stop", "running, no program")
    ask(shared, "stop")
    shared.until(lambda truth: truth.state in settled, 60.0)
    ask(shared, "unlock protective stop")
    ask(shared, "brake release")
    shared.until(lambda truth: truth.state == "running, no program", 60.0)
    if not near(shared.truth().q, ABOVE):
        tell(shared, f"movej({ABOVE}, a=3, v=3)\n")
        there = shared.until(lambda truth: near(truth.q, ABOVE) and np.abs(truth.qd).max() < 1e-4, 60.0)
        shared.until(lambda truth: truth.time > there.time + 0.5)  # the move has ended, too
    return shared


def tell(robot, script):
    with socket.create_connection((robot.host, robot.ports["secondary"]), timeout=PATIENCE) as sock:
        sent = robot.truth().time
        sock.sendall(script.encode())
        robot.until(lambda truth: truth.time > sent + 0.5)  # who hangs up with packages unread may not be heard


def near(a, b, within=1e-3):
    return bool(np.abs(np.array(a) - np.array(b)).max() < within)


def press(robot):
    """Drive the tool down onto the table until the controller stops; the time at which that began."""
    begun = robot.truth()
    x, y, z, *turn = begun.pose
    tell(robot, f"movel(p{[x, y, z - 0.2, *turn]}, a=0.5, v=0.1)\n")
    robot.until(lambda truth: truth.state == "protective stop" and np.abs(truth.qd).max() < 1e-4, 60.0)
    return begun


def test_contacts_are_those_of_the_world_and_no_others(robot):
    since = press(robot).time
    truth = robot.truth()
    here = contact_report(as_measured(aw.load("ur5")), TABLE, truth.q, truth.qd).total_force[0]
    assert np.allclose(truth.contact_force, here, rtol=1e-6, atol=1e-6)
    assert truth.contact_force[2] > 10.0 and "collision" in truth.why
    (touch,) = robot.contacts(since)
    assert (touch.link, touch.shape) == ("wrist_3", "table")
    assert since < touch.begin < touch.end <= robot.truth().time
    assert touch.largest == pytest.approx(np.linalg.norm(touch.force))
    assert touch.largest >= truth.contact_force[2] - 1.0
    assert touch.point[2] == pytest.approx(0.3)
    assert robot.contacts(robot.truth().time + 1.0) == []


def test_a_hand_pushes_and_is_no_contact_with_the_world(robot):
    since = robot.truth().time
    ends = robot.push((0.0, 0.0, 400.0), seconds=0.4)
    assert since + 0.4 < ends <= robot.truth().time + 0.4 + 2 * 0.002
    felt = robot.until(lambda truth: truth.state == "protective stop", 30.0)
    assert "collision" in felt.why and felt.contact_force == [0.0, 0.0, 0.0]
    robot.until(lambda truth: truth.time > ends)
    assert robot.contacts(since) == []


def test_faults_come_when_they_are_called_for(robot):
    assert robot.protective_stop("a test") and robot.truth().state == "protective stop"
    assert robot.truth().why == "a test" and "PROTECTIVE" in ask(robot, "safetymode")
    assert not (robot.protective_stop() and robot.protective_stop())  # it has stopped already
    assert robot.truth().why == "a test"
    assert robot.fault() and robot.truth().state == "fault"


def test_safety_inputs_last_as_long_as_they_are_asked_for(robot):
    robot.emergency_stop(system=True)
    robot.until(lambda truth: truth.safety == "SYSTEM_EMERGENCY_STOP" and truth.state.endswith("power off"))
    assert "EMERGENCY" in ask(robot, "safetymode")
    robot.emergency_stop(False)
    robot.until(lambda truth: (truth.safety, truth.state) == ("NORMAL", "power off"))
    ask(robot, "brake release")
    robot.until(lambda truth: truth.state == "running, no program")
    robot.safeguard()
    robot.until(lambda truth: truth.safety == "SAFEGUARD_STOP")
    robot.safeguard(False)
    robot.reduced()
    robot.until(lambda truth: truth.safety == "REDUCED")
    robot.reduced(False)
    robot.until(lambda truth: truth.safety == "NORMAL")


def test_clients_are_cut_off(robot):
    with (
        socket.create_connection((robot.host, robot.ports["dashboard"]), timeout=PATIENCE) as one,
        socket.create_connection((robot.host, robot.ports["realtime"]), timeout=PATIENCE) as other,
    ):
        assert one.recv(100) and other.recv(4)
        assert robot.cut("dashboard") == 1
        with contextlib.suppress(ConnectionError):
            while one.recv(100):
                pass
        assert other.recv(4)
    with pytest.raises(LabError, match="no port 'modbus'; valid: primary"):
        robot.cut("modbus")


def test_publications_are_left_out_and_come_again(robot):
    with connect(robot.host, port=robot.ports["rtde"], stale=PATIENCE) as link:
        before = link.next()
        robot.skip(0.5)
        until(lambda: link.next().lost > 0, "a lost publication")
        robot.skip(0.0)
        after = robot.truth().time
        robot.until(lambda truth: truth.time > after + 1.0)
        lost = link.next().number, link.lost
        robot.until(lambda truth: truth.time > after + 3.0)
        last = link.next()
        assert last.number > lost[0] > before.number and link.lost == lost[1]
    with pytest.raises(LabError, match=r"skip must lie in \[0, 1\)"):
        robot.skip(2.0)


def test_a_load_that_nobody_told_counts_as_a_collision(robot):
    robot.carry(9.0, (0.0, 0.0, 0.1))
    try:
        assert "collision" in robot.until(lambda truth: truth.state == "protective stop", 30.0).why
    finally:
        robot.carry(0.0)


def test_what_does_not_come_true_is_an_error_with_the_truth(robot):
    with pytest.raises(LabError, match=r"not within 0\.2 s; at last: VirtualTruth\(time="):
        robot.until(lambda truth: truth.state == "fault", 0.2)


@pytest.mark.skipif(sys.platform != "linux", reason="loopback addresses beyond 127.0.0.1 need Linux")
def test_controllers_have_urs_ports_at_addresses_of_their_own():
    seen = [own_address(number) for number in (1, 2, 255, 256, 65_536, 4_194_303)]
    assert len(set(seen)) == len(seen) and all(address.startswith("127.") for address in seen)
    assert "127.0.0.1" not in seen
    with socket.socket() as taken:
        taken.bind((seen[1], 30004))
        assert own_address(2) not in seen  # somebody listens there already
    with VirtualController(pace=10.0) as one:
        assert one.ports["rtde"] == 30004 and one.host not in ("127.0.0.1", "0.0.0.0")


PLAIN = {"robot": "ur5", "world": None, "host": None, "ports": "free", "options": {}}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"options": {"speed": 2.0}}, "unknown option 'speed'; valid: .*pace"),
        ({"options": {"pace": 1000.0}}, "pace must be 0.1 to 50"),
        ({"robot": "irb"}, "irb"),
        ({"world": "no such world"}, "no world 'no such world'"),
    ],
)
def test_what_cannot_be_started_says_why(settings, said):
    with pytest.raises(aw.ArmwrightError, match=said):
        ServedController({**PLAIN, **settings})


def test_what_its_process_refuses_is_an_error_here():
    with pytest.raises(LabError, match="no world 'no such world'"), VirtualController(world="no such world"):
        pass


def test_settings_are_plain_data():
    for wrong, said in (({"q0": object()}, "q0 must be numbers"), ({"ports": "some"}, '"free" or a dictionary')):
        with pytest.raises(aw.InputError, match=said):
            VirtualController(**wrong)
    with pytest.raises(aw.InputError, match="robot is a name or a file, got Robot"):
        VirtualController(aw.load("ur5"))


def test_an_end_is_told_and_nothing_is_left():
    robot = VirtualController(ports="free", pace=10.0)
    with pytest.raises(LabError, match="it does not run"):
        robot.truth()
    with robot:
        with pytest.raises(LabError, match="it runs already"):
            robot.start()
        robot._process.kill()
        with pytest.raises(LabError, match="has ended"):
            robot.truth()
    robot.close()
    robot.close()


PARENT = """
import time
from armwright.lab import VirtualController
robot = VirtualController(ports="free")
robot.start()
print(robot.ports["dashboard"], flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_it_ends_with_a_parent_that_was_killed():
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, encoding="utf-8") as parent:
        port = int(parent.stdout.readline())
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
            assert client.recv(100)
            parent.send_signal(signal.SIGKILL)
            with contextlib.suppress(ConnectionError):
                while client.recv(100):
                    pass


def report(rows):
    """A report of one link and shape: (step, force along z) each."""
    steps = np.array([step for step, _ in rows], dtype=np.int64)
    forces = np.array([[0.0, 0.0, force] for _, force in rows]).reshape(-1, 3)
    zero, some = np.zeros(len(rows), dtype=np.int64), np.zeros((len(rows), 3))
    return ContactReport(10_000, steps, zero, zero, some, some, zero.astype(float), forces, ("hand",), ("wall",))


def test_a_bounce_is_one_touch_and_a_longer_gap_two():
    ticks = np.arange(10_000) + 500
    rows = [(10, 1.0), (11, 2.0), (11 + BOUNCE_TICKS, 5.0), (11 + BOUNCE_TICKS, 4.0), (12 + 2 * BOUNCE_TICKS, 3.0)]
    one, two = touches_of(report(rows), ticks)
    assert (one.begin, one.end) == (510 * 0.002, (511 + BOUNCE_TICKS) * 0.002)
    assert (one.largest, two.largest) == (9.0, 3.0)  # two places of one link at once add up
    assert two.begin == two.end == (512 + 2 * BOUNCE_TICKS) * 0.002
    assert touches_of(report([]), ticks) == []


def test_programs_and_remote_control_are_options(tmp_path):
    (tmp_path / "hello.script").write_text("textmsg(1)\n", encoding="utf-8")
    with VirtualController(ports="free", e_series=True, programs=str(tmp_path), remote=False) as robot:
        assert ask(robot, "load hello.script") == "Loading program: hello.script"
        assert ask(robot, "is in remote control") == "false"
    with pytest.raises(LabError, match="no folder"):
        VirtualController(ports="free", programs=str(tmp_path / "missing")).start()
