# SPDX-License-Identifier: Apache-2.0
"""Programs that move the arm, talk through sockets and ask people: on a controller that the test ticks."""

import contextlib
import socket
import struct

import numpy as np
import pytest

import armwright as aw
from armwright.cli.lab_serve import ControllerOptions
from armwright.errors import InputError
from armwright.lab.controller.controller_messages import (
    CANNOT_FOLLOW,
    PROGRAM_STARTED,
    PROGRAM_STOPPED,
    ErrorCodeMessage,
    KeyMessage,
    LabelMessage,
    PopupMessage,
    RequestValueMessage,
)
from armwright.lab.controller.controller_states import ControllerEvent, ControllerState
from armwright.lab.script.script_compiler import compile_script
from armwright.lab.script.script_faults import ScriptFault
from armwright.lab.script.script_sockets import ScriptSockets, addresses_of
from armwright.lab.stand import Stand
from support.lab import PORTS
from support.scripts import HOME, controller, run, run_text, went

A = HOME + np.array([0.2, 0, 0, 0, 0, 0])


def test_what_is_not_reached_does_not_move():
    ran = run(f"def f():\n  if False:\n    movej({A.tolist()})\n  end\nend\n")
    assert np.allclose(ran.c.plant.live.q, HOME, atol=1e-6) and ran.ticks <= 2
    assert [record.title for record in ran.said] == [PROGRAM_STARTED, PROGRAM_STOPPED]


def test_moves_take_variables_loops_and_functions():
    text = f"""def f():
  q = {HOME.tolist()}
  def go(q, n):
    q[0] = 0.1 * n
    movej(q, a=10, v=3)
  end
  i = 1
  while i <= 3:
    go(q, i)
    write_output_float_register(i, get_target_joint_positions()[0])
    i = i + 1
  end
end
"""
    ran = run(text)
    assert not ran.faults and ran.kept[1:4] == pytest.approx([0.1, 0.2, 0.3], abs=1e-9)


def test_a_move_to_a_pose_and_one_in_a_time():
    text = """def f():
  p1 = get_target_tcp_pose()
  p1[2] = p1[2] + 0.05
  movel(p1, a=1.2, v=0.2)
  movej(pose_trans(p1, p[0, 0, -0.02, 0, 0, 0]), a=5, v=2)
  q = get_target_joint_positions()
  q[0] = q[0] + 0.1
  movej(q, t=1)
end
"""
    ran = run(text)
    begun = controller().target_pose()
    assert not ran.faults and ran.c.reference.q[0] == pytest.approx(0.1, abs=0.05)
    assert not np.allclose(ran.c.target_pose(), begun, atol=1e-3)


@pytest.mark.parametrize("slider, steps", [(1.0, 50), (0.5, 100)])
def test_the_time_of_speedj_is_scaled_by_the_slider(slider, steps):
    c = controller()
    c.registers.speed = slider
    run_text(c, "def f():\n  speedj([0.2, 0, 0, 0, 0, 0], 40, 0.1)\nend\n")
    assert went(c).ticks == pytest.approx(steps, abs=3)


def test_servoj_follows_its_targets_whatever_the_slider_says():
    c = controller()
    c.registers.speed = 0.5
    text = """def f():
  q = get_target_joint_positions()
  i = 0
  while i < 200:
    q[0] = q[0] + 0.001
    servoj(q, t=0.002, lookahead_time=0.03, gain=2000)
    i = i + 1
  end
  sync()
end
"""
    run_text(c, text)
    ran = went(c)
    assert 200 <= ran.ticks <= 204 and c.reference.q[0] == pytest.approx(0.2, abs=0.03)


def test_a_killed_thread_leaves_no_motion_behind():
    text = f"""def f():
  thread t():
    movej({(HOME + 1.0).tolist()}, a=2, v=1)
  end
  h = run t()
  sleep(0.5)
  kill h
  sleep(0.5)
  write_output_float_register(0, norm(get_target_joint_speeds()))
  write_output_float_register(1, get_target_joint_positions()[0])
end
"""
    ran = run(text)
    assert not ran.faults and ran.kept[0] == 0.0 and 0.1 < ran.kept[1] < 0.5


def test_a_pause_holds_program_and_arm_and_both_go_on():
    c = controller()
    run_text(c, f"def f():\n  movej({A.tolist()}, a=2, v=0.5)\n  write_output_integer_register(0, 7)\nend\n")
    went(c, 100)
    assert c.handle(ControllerEvent.PAUSE)
    went(c, 200)
    held = c.reference.q[0]
    went(c, 200)
    assert c.reference.q[0] == held and c.registers.out_ints[0] == 0
    assert c.handle(ControllerEvent.PLAY)
    went(c)
    assert c.registers.out_ints[0] == 7 and c.reference.q[0] == pytest.approx(0.2, abs=1e-9)


def test_a_new_program_replaces_the_one_that_runs():
    c = controller()
    run_text(c, f"def one():\n  movej({(HOME + 0.5).tolist()})\n  write_output_integer_register(0, 1)\nend\n")
    said = went(c, 50).said
    run_text(c, "def two():\n  sleep(0.02)\nend\n")
    said += went(c).said
    assert [record.text for record in said if isinstance(record, KeyMessage)] == ["one", "one", "two", "two"]
    assert c.registers.out_ints[0] == 0


def test_a_stop_ends_the_program_and_says_so():
    c = controller()
    run_text(c, "def f():\n  while True:\n    sync()\n  end\nend\n")
    went(c, 5)
    c.handle(ControllerEvent.STOP)
    assert c.program is None and went(c, 1).said[-1] == KeyMessage(PROGRAM_STOPPED, "f")


def test_a_protective_stop_by_the_program():
    c = controller()
    run_text(c, "def f():\n  protective_stop()\n  write_output_integer_register(0, 1)\nend\n")
    went(c, 5)
    assert c.state is ControllerState.STOPPED and c.registers.out_ints[0] == 0


def test_a_line_that_cannot_be_followed_is_a_protective_stop_and_no_fault():
    ran = run("def f():\n  p1 = get_target_tcp_pose()\n  p1[0] = 2.5\n  movel(p1)\nend\n")
    assert ran.c.state is ControllerState.STOPPED and ran.faults == []
    assert CANNOT_FOLLOW in [r.code for r in ran.said if isinstance(r, ErrorCodeMessage)]
    assert KeyMessage(PROGRAM_STOPPED, "f") in ran.said


def test_an_older_series_has_longer_steps_and_fewer_functions():
    text = "def f():\n  i = 0\n  while i < 10:\n    i = i + 1\n    sync()\n  end\nend\n"
    assert run(text, software="3.15.8", e_series=False).ticks == pytest.approx(10 * 4, abs=4)
    ran = run("def f():\n  optimovej([0,0,0,0,0,0])\nend\n", software="3.15.8", e_series=False)
    assert ran.faults[0][2] == "compile_error_name_not_found:optimovej:"


# --- people and clients -----------------------------------------------------------------------------------------------


def test_a_window_that_blocks_is_waited_for():
    c = controller()
    run_text(c, 'def f():\n  popup("sure?", title="T", warning=True, blocking=True)\n  textmsg("on")\nend\n')
    ran = went(c, 20)
    assert ran.said[1] == PopupMessage(1, "T", "sure?", "warning", True) and ran.texts == []
    c.program.close_popup()
    assert went(c).texts == ["on"]


@pytest.mark.parametrize("kind, value, text", [("integer", 3, "3"), ("string", "x", "x"), ("boolean", True, "True")])
def test_an_answer_is_waited_for(kind, value, text):
    c = controller()
    run_text(c, f'def f():\n  a = request_{kind}_from_primary_client("how?")\n  textmsg(a)\nend\n')
    ran = went(c, 20)
    assert ran.said[1] == RequestValueMessage(1, kind, "how?")
    c.program.answer(1, value)
    assert went(c).texts == [text]


def test_labels_and_texts():
    lines = ['  $ 3 "Waypoint_1" "breakAfter"', '  textmsg("x=", [1, 2.5, True])', "  textmsg(p[0,0,1,0,0,0])"]
    ran = run("\n".join(["def f():", *lines, "end", ""]))
    assert LabelMessage(3, "Waypoint_1") in ran.said
    assert ran.texts == ["x=[1, 2.5, True]", "p[0, 0, 1, 0, 0, 0]"]


def test_the_line_of_the_main_thread_is_known():
    c = controller()
    run_text(c, "def f():\n  def g():\n    sleep(1)\n  end\n  g()\nend\n")
    went(c, 3)
    assert c.program.line == 3


# --- sockets ----------------------------------------------------------------------------------------------------------


class Peer:
    """The other side of a program's socket, on loopback."""

    def __init__(self, c):
        self.c, self.sock = c, None
        self.server = socket.create_server(("127.0.0.1", 0))
        self.server.setblocking(False)
        self.port = self.server.getsockname()[1]
        self.said = []

    def ticks(self, count):
        for _ in range(count):
            self.c.tick()
            self.said += self.c.outbox.take()
            if self.sock is None:
                with contextlib.suppress(BlockingIOError):
                    self.sock, _ = self.server.accept()
                    self.sock.setblocking(False)

    def until(self, held):
        for _ in range(3000):
            if held():
                return
            self.ticks(1)
        raise AssertionError("never")

    def close(self):
        self.server.close()
        if self.sock is not None:
            self.sock.close()


@pytest.fixture
def peer():
    made = Peer(controller())
    yield made
    made.close()


STREAM = """def stream():
  global q = get_target_joint_positions()
  global mode = 0
  thread servo():
    while mode == 1:
      enter_critical
      servoj(q, t=get_steptime(), lookahead_time=0.03, gain=2000)
      exit_critical
    end
    stopj(4)
  end
  if not socket_open("127.0.0.1", PORT, "in"):
    halt
  end
  h = 0
  timeout = 0.0
  while mode >= 0:
    enter_critical
    got = socket_read_binary_integer(8, "in", timeout)
    if got[0] > 0:
      timeout = got[1] / 1000
      if got[8] != mode:
        mode = got[8]
        join h
        if mode == 1:
          h = run servo()
        end
      end
      q = [got[2], got[3], got[4], got[5], got[6], got[7]] / 1000000
    else:
      textmsg("silence")
      mode = -1
    end
    exit_critical
  end
  join h
  socket_send_int(42, "in")
end
"""


def test_a_client_streams_joints_and_its_silence_is_noticed(peer):
    run_text(peer.c, STREAM.replace("PORT", str(peer.port)))
    peer.until(lambda: peer.sock is not None)
    peer.ticks(10)
    goal = HOME.copy()
    for _ in range(300):
        goal = goal + 0.0005
        peer.sock.send(struct.pack(">8i", 200, *(round(x * 1e6) for x in goal), 1))
        peer.ticks(1)
    assert np.allclose(peer.c.reference.q, goal, atol=0.02)
    begun = peer.c.time
    peer.until(lambda: peer.c.program is None)
    assert peer.c.time - begun == pytest.approx(0.2, abs=0.1)
    assert struct.unpack(">i", peer.sock.recv(4)) == (42,) and peer.sock.recv(1) == b""  # closed with the program


def test_only_whole_messages_are_taken_and_time_outs_are_frames(peer):
    text = f"""def f():
  socket_open("127.0.0.1", {peer.port}, "s")
  a = socket_read_binary_integer(2, "s", 0.02)
  textmsg(a)
  b = socket_read_binary_integer(2, "s", 0)
  textmsg(b)
end
"""
    run_text(peer.c, text)
    peer.until(lambda: peer.sock is not None)
    peer.sock.send(struct.pack(">i", 5) + b"\x00\x00")
    peer.ticks(40)
    assert [r.text for r in peer.said if hasattr(r, "text")][1:] == ["[0, -1, -1]"]
    peer.sock.send(b"\x00\x07")
    peer.until(lambda: peer.c.program is None)
    assert "[2, 5, 7]" in [getattr(r, "text", "") for r in peer.said]


def test_texts_through_a_socket(peer):
    text = f"""def f():
  socket_open("127.0.0.1", {peer.port})
  socket_send_string("hello ")
  socket_send_line("you")
  socket_send_byte(65)
  a = socket_read_ascii_float(2)
  textmsg(a)
  textmsg(socket_read_line())
  textmsg(socket_read_string(prefix="<", suffix=">"))
  textmsg(socket_read_byte_list(2))
  textmsg(socket_get_var("POS"))
  socket_set_var("GTO", 1)
  textmsg(socket_read_line(timeout=0.01))
  socket_close()
  textmsg(socket_read_binary_integer(1)[0])
end
"""
    run_text(peer.c, text)
    peer.until(lambda: peer.sock is not None)
    peer.sock.send(b"(1.5, -2) rest\nx<in>AB")
    peer.ticks(30)
    peer.sock.send(b"POS 17\n")
    peer.until(lambda: peer.c.program is None)
    texts = [r.text for r in peer.said if type(r).__name__ == "TextMessage"]
    assert texts == ["[2, 1.5, -2.0]", " rest", "in", "[2, 65, 66]", "17", "", "0"]
    assert peer.sock.recv(100) == b"hello you\nAget POS\nset GTO 1\n"


def test_what_nobody_answers_is_false_and_the_end_of_a_program_closes():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    dial = f'  a = socket_open("127.0.0.1", {port}, "s", 0.1)\n'
    ran = run("def f():\n" + dial + '  textmsg(a)\n  textmsg(socket_send_int(1, "s"))\nend\n')
    assert ran.texts == ["False", "False"] and not ran.faults


def test_a_whole_file_with_functions_and_lines_is_one_program():
    text = "def g(a):\n  return a + 1\nend\nx = g(2)\nwrite_output_float_register(0, x)\n"
    assert run(text).kept[0] == 3.0
    assert compile_script(text, (5, 25, 1, 0)).kind == "top"


def test_scripts_dial_loopback_and_what_the_lab_was_told_and_no_other():
    with Stand(aw.load("ur5"), ports=PORTS, fifo=False, script_hosts=["192.0.2.7", "FD00::7"]) as lab:
        sockets = ScriptSockets(lab.scripts.hosts)
    for host in ("192.0.2.7", "fd00::7", "fd00:0::7", "127.0.0.1", "::1"):
        assert sockets.allowed(host) == host
    for host in ("192.0.2.8", "fd00::8", "robot.example", "192.0.2.7 ", ""):
        with pytest.raises(ScriptFault, match="only loopback and allowed addresses"):
            sockets.allowed(host)


@pytest.mark.parametrize("hosts", [["robot.example"], ["192.0.2"], [""], "192.0.2.7"])
def test_hosts_of_scripts_are_addresses(hosts):
    with pytest.raises(InputError, match="script hosts"):
        addresses_of(hosts)


def test_the_command_line_takes_hosts_of_scripts():
    options = ControllerOptions(script_hosts="192.0.2.7, fd00::7").stand_options(aw.load("ur5"))
    assert addresses_of(options["script_hosts"]) == {"192.0.2.7", "fd00::7"}
    assert ControllerOptions().stand_options(aw.load("ur5"))["script_hosts"] == []
