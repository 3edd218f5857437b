# SPDX-License-Identifier: Apache-2.0
"""Our own client gives every sample its age; the mover notices a command that was skipped."""

import socket

import pytest

import armwright as aw
from armwright.errors import InputError
from armwright.lab import LabError, RobotSample, Stand, connect
from armwright.lab.mover import Command, move, read_commands, start_pose
from armwright.lab.stand import HOME
from support.lab import PORTS, address, wait_for
from support.patience import PATIENCE

# our own client


def refused(ask):
    """Whether the link refuses to answer."""
    try:
        ask()
    except LabError as error:
        return "ms old" in str(error)
    return False


def test_samples_have_an_age_and_stale_ones_are_refused():
    with Stand(aw.load("ur5"), host=address(), ports=PORTS, fifo=False) as stand:
        with connect(stand.host, port=stand.ports["rtde"], stale=PATIENCE) as link:
            first = link.next()
            second = link.next(first)
            assert second.device_time > first.device_time and second.age >= 0.0
        with connect(stand.host, port=stand.ports["rtde"]) as link:
            wait_for(lambda: link._last is not None, "a sample comes")
            with stand.controller.lock:  # the robot stands still, the connection stays
                wait_for(lambda: refused(link.latest), "the stall is noticed")
                assert refused(link.next)


def test_a_dead_robot_is_told():
    with Stand(aw.load("ur5"), host=address(), ports=PORTS, fifo=False) as stand:
        link = connect(stand.host, port=stand.ports["rtde"], stale=PATIENCE)
        link.next()
    wait_for(lambda: link._error, "it is noticed")
    with pytest.raises(LabError, match="gone"):
        link.latest()
    link.close()
    with pytest.raises(LabError, match="cannot connect"):
        connect(stand.host, port=stand.ports["rtde"])


# the mover


def test_the_mover_sends_one_command_after_the_other_and_notices_one_that_was_skipped(tmp_path):
    file = tmp_path / "moves.txt"
    goals = [(HOME + shift).tolist() for shift in (0.2, 0.0)]
    file.write_text("# a comment\n" + "".join(f"movej({goal}, a=5, v=1.5)\n" for goal in goals), encoding="utf-8")
    commands = read_commands(file)
    assert start_pose(commands[0]).startswith("Base 11.5°, Shoulder -78.5°")
    stand = Stand(aw.load("ur5"), host=address(), ports=PORTS, fifo=False)
    with stand, connect(stand.host, port=stand.ports["rtde"], stale=PATIENCE) as link:
        done = []
        move(link, commands, wait=0.9, port=stand.ports["secondary"], told=lambda k, _: done.append(k))
        assert done == [1, 2]
        c = stand.controller
        with c.lock:  # a stop: what comes meanwhile is ignored
            c.protective_stop("a test")
        with pytest.raises(LabError, match=r"command 1 .* was skipped or not finished"):
            move(link, commands, wait=0.1, patience=0.3, port=stand.ports["secondary"])
        assert c.ignored == 1


class Sleeper:
    """A link on a host that slept: the second sample that it gives comes a hundred seconds after the first."""

    host = "127.0.0.1"

    def __init__(self, off):
        self.times, self.off = iter([0.0, *(100.0 + 0.008 * k for k in range(1000))]), off

    def latest(self):
        values = {"actual_q": (HOME + self.off).tolist(), "actual_qd": [0.0] * 6, "target_qd": [0.0] * 6}
        return RobotSample(values, next(self.times), 0.0, 0, 0)

    def next(self, _):
        return self.latest()


@pytest.mark.parametrize("off", [0.0, 0.1])
def test_an_arm_that_is_there_has_not_skipped_its_command_however_late_that_is_seen(off):
    done, command = [], Command(f"movej({HOME.tolist()})", HOME)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        if off:
            with pytest.raises(LabError, match=r"not finished within .*: the arm is 0\.1 rad from its goal"):
                move(Sleeper(off), [command], wait=3.0, port=port)
        else:
            move(Sleeper(off), [command], wait=3.0, port=port, told=lambda k, _: done.append(k))
            assert done == [1]


def test_a_file_with_anything_else_is_refused(tmp_path):
    file = tmp_path / "moves.txt"
    file.write_text("movej([0,0,0,0,0,0])\nimport os\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 2"):
        read_commands(file)
