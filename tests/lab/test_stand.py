# SPDX-License-Identifier: Apache-2.0
"""The controller on the wire: collisions, limits, faults, hostile clients; by the device's clock."""

import struct
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import armwright as aw
from armwright.errors import ArmwrightWarning, InputError
from armwright.lab.controller.controller import version_of
from armwright.lab.controller.controller_states import EDGES, ControllerEvent, ControllerState, after
from armwright.lab.controller.script_programs import run_text
from armwright.lab.stand import HOME, Faults, Stand
from armwright.lab.wire import rtde
from armwright.lab.wire.rtde import recipe_of
from armwright.lab.wire.rtde_fields import OUTPUTS, kinds_of
from armwright.robot.urdf.urdf_write import write_urdf
from armwright.spatial.rotations import exp_so3
from armwright.world import HalfSpace, World
from support.lab import PORTS, address, ask, call, dial, read_packet, read_stream, wait_for
from support.patience import PATIENCE

# the state machine


@pytest.mark.parametrize("state", ControllerState)
@pytest.mark.parametrize("event", ControllerEvent)
def test_every_edge(fresh, state, event):
    c = fresh.controller
    with c.lock:
        c.state = state
        allowed = c.handle(event)
        assert allowed == ((state, event) in EDGES)
        assert c.state is (after(state, event) or state)


def test_states_that_a_person_can_always_leave():
    """From every state some sequence of dashboard events leads back to READY."""
    reached = {ControllerState.READY}
    for _ in ControllerState:
        reached |= {a for (a, _), b in EDGES.items() if b in reached}
    assert reached == set(ControllerState)


# RTDE


def test_both_protocol_versions_stream_the_same_values(fresh):
    names = ["timestamp", "actual_q", "robot_mode", "actual_digital_output_bits"]
    recipe, _ = recipe_of(names, kinds_of(OUTPUTS, fresh.controller.version))
    for version in (1, 2):
        with dial(fresh, "rtde") as sock:
            assert call(sock, rtde.PROTOCOL, struct.pack(">H", version)) == b"\1"
            assert struct.unpack(">4I", call(sock, rtde.CONTROLLER))[:3] == (3, 15, 8)
            head = struct.pack(">d", 125.0) if version == 2 else b""
            types = call(sock, rtde.OUTPUT, head + ",".join(names).encode() + b",")
            assert types.endswith(b"DOUBLE,VECTOR6D,INT32,UINT64") and (version == 1 or types[0] == 1)
            assert call(sock, rtde.START) == b"\1"
            stamps = []
            for _ in range(20):
                kind, body = read_packet(sock)
                assert kind == rtde.DATA
                values = recipe.unpack(body[version - 1 :])
                stamps.append(values["timestamp"])
                assert np.allclose(values["actual_q"], HOME, atol=1e-3) and values["robot_mode"] == 7
            assert np.allclose(np.diff(stamps), 0.008)


def test_protocol_3_is_refused_and_unknown_fields_are_named(fresh):
    with dial(fresh, "rtde") as sock:
        assert call(sock, rtde.PROTOCOL, struct.pack(">H", 3)) == b"\0"
        assert call(sock, rtde.PROTOCOL, struct.pack(">H", 2)) == b"\1"
        answer = call(sock, rtde.OUTPUT, struct.pack(">d", 125.0) + b"timestamp,no_such_field")
        assert answer == b"\0DOUBLE,NOT_FOUND"
        assert call(sock, rtde.START) == b"\0"  # nothing to stream


def test_an_input_belongs_to_one_client_until_it_goes(fresh):
    with dial(fresh, "rtde") as first, dial(fresh, "rtde") as second:
        for sock in (first, second):
            call(sock, rtde.PROTOCOL, struct.pack(">H", 2))
        assert call(first, rtde.INPUT, b"input_int_register_5")[0] == 1
        assert call(second, rtde.INPUT, b"input_int_register_5") == b"\0IN_USE"
        first.sendall(rtde.packet(rtde.DATA, b"\1" + struct.pack(">i", 42)))
        wait_for(lambda: fresh.controller.registers.ints[5] == 42, "the register is written")
        first.close()
        wait_for(lambda: call(second, rtde.INPUT, b"input_int_register_5")[0] == 1, "the register is free again")


def test_the_client_is_told_that_a_packet_with_no_number_was_refused(fresh):
    with dial(fresh, "rtde") as sock:
        call(sock, rtde.PROTOCOL, struct.pack(">H", 2))
        call(sock, rtde.INPUT, b"input_int_register_6,input_double_register_6")
        sock.sendall(rtde.packet(rtde.DATA, b"\1" + struct.pack(">id", 17, float("nan"))))
        kind, body = read_packet(sock)
        assert kind == rtde.TEXT and b"input_double_register_6 is not finite" in body
        assert fresh.controller.registers.ints[6] != 17
        sock.sendall(rtde.packet(rtde.DATA, b"\1" + struct.pack(">id", 18, 0.5)))
        wait_for(lambda: fresh.controller.registers.ints[6] == 18, "the connection goes on")


# real-time port, scripts


@pytest.mark.parametrize("segment", [False, True])
def test_the_756_byte_stream_is_whole_under_segmentation(fresh, segment):
    fresh.faults = Faults(segment=segment)
    with dial(fresh, "realtime") as sock, dial(fresh, "secondary") as script:
        read_stream(sock, 1)
        goal = (HOME + 0.4).tolist()
        script.sendall(f"movej({goal}, a=2.0, v=0.8)\n".encode())
        rows = np.array(read_stream(sock, 150))
    assert (rows[:, 0] == 756).all()
    assert np.allclose(np.diff(rows[:, 1]), 0.008)  # controller time
    assert np.allclose(rows[-1, 32:38], HOME + 0.4, atol=1e-3)


def test_a_move_sent_while_moving_takes_over(fresh):
    """Every bare line is a program of its own, and a program replaces the one that runs."""
    c = fresh.controller
    with dial(fresh, "secondary") as script:
        script.sendall(f"movej({(HOME + 0.3).tolist()}, a=1.4, v=0.5)\n".encode())
        wait_for(lambda: c.moving, "the first move begins")
        script.sendall(f"movej({(HOME - 0.1).tolist()})\n".encode())
        wait_for(lambda: np.allclose(c.plant.live.q, HOME - 0.1, atol=1e-3), "the second goal is reached")


def test_a_program_is_ignored_while_the_arm_may_not_move(fresh):
    c = fresh.controller
    with c.lock:
        before = c.ignored
        c.protective_stop("a test")
    with dial(fresh, "secondary") as script:
        script.sendall(f"movej({(HOME + 0.3).tolist()}, a=1.4, v=0.5)\n".encode())
        wait_for(lambda: c.ignored == before + 1, "it is counted")
    assert np.allclose(c.plant.live.q, HOME, atol=1e-3) and not c.moving


def test_a_program_with_words_of_python_is_refused_and_runs_nothing(fresh, tmp_path):
    c = fresh.controller
    canary = tmp_path / "canary"
    text = f"""def prog():
  movej({(HOME + 0.2).tolist()}, a=3, v=1)
  open("{canary}", "w")
  __import__("os")
end
def after():
  set_digital_out(2, True)
end
"""
    with dial(fresh, "primary") as script:
        script.sendall(text.encode())
        wait_for(lambda: c.registers.digital & 4, "the next program has run")
    assert not canary.exists() and np.allclose(c.plant.live.q, HOME, atol=1e-3)
    c.registers.digital = 0


@pytest.mark.parametrize("goal", ["[9, 9, 9, 9, 9, 9]", "[0, 0, 0]", "p[5, 5, 5, 0, 0, 0]", "[nan, 0, 0, 0, 0, 0]"])
def test_goals_out_of_range_do_not_move_the_arm(fresh, goal):
    c = fresh.controller
    with dial(fresh, "secondary") as script:
        script.sendall(f"movej({goal})\nset_digital_out(2, True)\n".encode())
        wait_for(lambda: c.registers.digital & 4, "the line after it is read")
    assert not c.moving and np.allclose(c.plant.live.q, HOME, atol=1e-3)
    c.registers.digital = 0


def test_too_long_a_line_ends_the_connection(fresh):
    with dial(fresh, "realtime") as sock:
        sock.sendall(b"x" * 10_000)
        with pytest.raises((ConnectionError, AssertionError)):
            read_stream(sock, 1_000_000)


# safety

BLOW = """
import sys
from rtde_control import RTDEControlInterface
control = RTDEControlInterface(sys.argv[1])
print("ready", flush=True)
print(control.moveJ([1.5, -1.57, 1.57, -1.57, -1.57, 0.0], 0.3, 1.0), flush=True)
"""


def test_a_blow_stops_the_arm_and_the_unmodified_client_is_told():
    pytest.importorskip("rtde_control", reason="ur_rtde is not installed (pip install armwright[lab-clients])")
    with Stand(aw.load("ur5"), host=address(), fifo=False) as stand:
        c = stand.controller
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(BLOW), stand.host], stdout=subprocess.PIPE, encoding="utf-8"
        )
        assert process.stdout.readline() == "ready\n"
        wait_for(lambda: c.moving and abs(c.reference.qd[0]) > 0.2, "the arm moves")
        with c.lock:
            c.plant.push(5, np.array([0.0, 0.0, 150.0, 0, 0, 0]))
        assert process.stdout.readline() == "False\n"
        assert c.state is ControllerState.STOPPED and c.collisions == 1 and "collision" in c.why
        process.wait(timeout=PATIENCE)
        process.stdout.close()
        with c.lock:
            c.plant.live.inputs["push"][...] = 0.0
            released = c.time
        wait_for(lambda: c.time > released + 1.0, "it rests")
        assert not np.abs(c.plant.live.qd).max() > 1e-3
        assert ask(stand, "safetymode") == "Safetymode: PROTECTIVE_STOP"
        assert ask(stand, "unlock protective stop") == "Protective stop releasing"
        wait_for(lambda: ask(stand, "safetymode") == "Safetymode: NORMAL", "the stop is unlocked")


def test_the_collision_is_seen_within_a_tenth_of_a_second_of_the_device(fresh):
    c = fresh.controller
    with c.lock:
        c.plant.push(5, np.array([0.0, 0.0, 150.0, 0, 0, 0]))
        for _ in range(50):
            c.tick()
            if c.state is ControllerState.STOPPED:
                break
        assert c.state is ControllerState.STOPPED


def test_driving_into_the_world_is_a_collision():
    world = World((HalfSpace(name="floor", point=(0.0, 0.0, -0.05)),))
    stand = Stand(aw.load("ur5"), host=address(), ports=PORTS, world=world, fifo=False)
    try:
        c = stand.controller
        run_text(c, f"movej({[0.0, 0.6, 0.0, -1.57, -1.57, 0.0]}, a=2, v=1.5)")
        for _ in range(4000):
            c.tick()
            if c.state is ControllerState.STOPPED:
                break
        assert c.state is ControllerState.STOPPED
    finally:
        stand.close()


def test_brakes_hold_the_arm(fresh):
    c = fresh.controller
    assert "Powering off" in ask(fresh, "power off")
    with c.lock:
        c.plant.push(5, np.array([0.0, 0.0, -100.0, 0, 0, 0]))
        for _ in range(200):
            c.tick()
        assert np.allclose(c.plant.live.q, HOME, atol=2e-3)
        c.plant.live.inputs["push"][...] = 0.0
    assert "Brake releasing" in ask(fresh, "brake release")
    wait_for(lambda: c.state is ControllerState.READY, "the brakes are released")


def test_dashboard_says_what_it_cannot(fresh):
    assert "could not understand" in ask(fresh, "make coffee")
    assert ask(fresh, "play").startswith("Failed")
    assert ask(fresh, "PolyscopeVersion").startswith("URSoftware 3.15.8.")


def from_urdf(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(write_urdf(aw.load("puma560")), encoding="utf-8")
    return aw.load(path)


@pytest.mark.parametrize("arm", ["irb140", "urdf"])
def test_another_six_axis_arm_can_be_behind_the_protocol(arm, tmp_path):
    robot = from_urdf(tmp_path) if arm == "urdf" else aw.load(arm)
    with pytest.warns(ArmwrightWarning, match="nothing measured at the drives"):  # what the lab assumes is said
        stand = Stand(robot, host=address(), ports=PORTS, fifo=False)
    try:
        c = stand.controller
        start = c.plant.live.q.copy()
        assert (start >= robot.lower).all() and (start <= robot.upper).all()
        run_text(c, f"movej({(start + 0.2).tolist()}, a=2, v=1)")
        for _ in range(1000):
            c.tick()
        assert c.state is ControllerState.READY and np.allclose(c.plant.live.q, start + 0.2, atol=1e-3)
    finally:
        stand.close()


def test_mounting_and_load_decide_what_the_motors_carry():
    """On a wall the shoulder carries other torques than on the floor; the controller knows, and feels no collision."""
    arm, q = aw.load("ur5"), HOME
    wall = exp_so3(np.array([np.pi / 2, 0.0, 0.0])).T @ arm.gravity
    stand = Stand(arm.with_gravity(wall), host=address(), ports=PORTS, fifo=False, payload=(2.0, (0.0, 0.0, 0.05)))
    try:
        c = stand.controller
        for _ in range(300):
            c.tick()
        loaded = arm.with_gravity(wall).with_payload(2.0, (0.0, 0.0, 0.05))
        expected = aw.inverse_dynamics(loaded, q, 0 * q, 0 * q)
        assert np.allclose(c.plant.look().torque, expected, atol=0.05) and c.state is ControllerState.READY
        assert np.abs(expected - aw.inverse_dynamics(arm, q, 0 * q, 0 * q)).max() > 10.0
    finally:
        stand.close()


@pytest.mark.parametrize("software", ["4.1", "5", "5.x", "3.15.8", "5.1.2.3.4", ""])
def test_a_version_of_no_such_controller_is_refused(software):
    with pytest.raises(InputError, match="software"):
        version_of(software, e_series=True)


def test_the_version_that_is_told():
    assert version_of(None, e_series=False)[:3] == (3, 15, 8) and version_of("5.26", e_series=True) == (5, 26, 0, 0)
