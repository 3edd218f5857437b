# SPDX-License-Identifier: Apache-2.0
"""Commands of ur_rtde's script, by their registers and the device's own clock: no sockets, no waiting."""

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError
from armwright.lab.controller.controller import Controller
from armwright.lab.controller.controller_states import ControllerEvent, ControllerState
from armwright.lab.controller.input_watchdogs import InputWatchdogs
from armwright.lab.controller.script_programs import COMMANDS, Dispatcher, run_text
from armwright.lab.lab_plant import LabPlant
from armwright.lab.wire.script_text import parse, parse_call
from support.lab import SCRIPT, command, run_for

HOME = np.array([0.0, -1.57, 1.57, -1.57, -1.57, 0.0])


@pytest.fixture(scope="module")
def compiled():
    return LabPlant(aw.load("ur5"), q0=HOME)


@pytest.fixture
def c(compiled):
    compiled.live.reset(HOME)
    compiled.live.inputs["push"][...] = 0.0
    compiled.told(0.0, np.zeros(3))
    compiled.tcp[...] = 0.0
    controller = Controller(compiled)
    run_text(controller, SCRIPT)
    controller.tick()
    return controller


def test_the_script_starts_the_dispatcher_with_its_path(c):
    assert isinstance(c.program, Dispatcher) and c.state is ControllerState.PLAYING
    assert c.registers.out_ints[0] == 1 and len(c.program.path) == 2


def test_the_upper_range_of_registers():
    text = SCRIPT.replace("offset\n0 ", "offset\n24 ").replace("offset\n0\n", "offset\n24\n")
    assert (parse(text).offset_int, parse(text).offset_float) == (24, 24)


def test_moves_take_the_time_of_their_profile(c):
    goal = HOME + np.array([0.6, 0, 0, 0, 0, 0])
    taken = command(c, 1, [*goal, 1.0, 2.0])
    assert taken == pytest.approx(0.6 / 1.0 + 1.0 / 2.0, abs=0.01)  # way/v + v/a
    assert np.allclose(c.plant.live.q, goal, atol=2e-3)


def test_the_slider_slows_a_move(c):
    c.registers.speed = 0.5
    assert command(c, 1, [*(HOME + 0.6), 1.0, 2.0]) == pytest.approx(2 * (0.6 + 0.5), abs=0.02)


def test_a_line_is_straight_and_ends_at_its_pose(c):
    start = c.target_pose()
    goal = start + np.array([0.0, 0.1, 0.1, 0, 0, 0])
    c.registers.doubles[:8] = [*goal, 0.25, 1.0]
    c.registers.ints[:2] = [3, 0]
    way = (goal - start)[:3] / np.linalg.norm((goal - start)[:3])
    while c.registers.out_ints[0] != 2:
        c.tick()
        off = c.target_pose()[:3] - start[:3]
        assert np.linalg.norm(off - (off @ way) * way) < 1e-6
    assert np.allclose(c.target_pose(), goal, atol=1e-6)


def test_an_asynchronous_move_is_done_at_once_and_tells_its_progress(c):
    taken = command(c, 45, ints=[1])
    assert taken < 0.02 and c.moving
    first = c.registers.out_ints[2]
    assert first & 0x8000 and first & 0x7FFF == 0
    run_for(c, 0.6)
    assert c.registers.out_ints[2] & 0x7FFF == 1
    run_for(c, 1.0)
    assert not c.registers.out_ints[2] & 0x8000 and c.registers.out_ints[2] >> 24 == first >> 24
    assert c.plant.live.q[0] == pytest.approx(0.2, abs=1e-3)


def test_a_goal_out_of_range_ends_the_program(c):
    command(c, 1, [9.0, 0, 0, 0, 0, 0, 1.0, 1.0])
    assert c.state is ControllerState.READY and any("leave their range" in m for m in c.messages)


def test_a_line_out_of_reach_is_a_protective_stop(c):
    goal = c.target_pose() + np.array([-2.0, 0, 0, 0, 0, 0])
    command(c, 3, [*goal, 0.5, 2.0])
    assert c.state is ControllerState.STOPPED


def test_speed_and_stop(c):
    c.registers.doubles[:8] = [0.3, 0, 0, 0, 0, 0, 2.0, 10.0]
    c.registers.ints[0] = 9
    run_for(c, 0.5)
    assert c.plant.live.qd[0] == pytest.approx(0.3, abs=0.01)
    c.registers.ints[0] = 0
    c.tick()
    command(c, 15, [3.0])
    run_for(c, 0.1)
    assert abs(c.plant.live.qd[0]) < 1e-3


def test_tool_speed_is_what_was_asked(c):
    c.registers.doubles[:8] = [0.0, 0.0, 0.05, 0, 0, 0, 1.0, 10.0]
    c.registers.ints[0] = 10
    run_for(c, 0.5)
    assert np.allclose(c.plant.look().speed, [0, 0, 0.05, 0, 0, 0], atol=3e-3)


def test_servo_joints_reaches_its_target_and_holds_when_nothing_more_comes(c):
    goal = HOME + 0.05
    c.registers.doubles[:11] = [*goal, 0, 0, 0.008, 0.05, 500]
    c.registers.ints[0] = 11
    run_for(c, 0.6)
    assert np.allclose(c.plant.live.q, goal, atol=2e-3)
    c.registers.ints[0] = 0
    run_for(c, 0.5)
    assert not c.moving and c.state is ControllerState.PLAYING


def test_kinematics(c):
    pose = c.plant.pose_of(HOME + 0.1)
    command(c, 46, list(pose))
    assert np.allclose(c.plant.pose_of(np.array(c.registers.out_doubles[:6])), pose, atol=1e-8)
    command(c, 44, [*HOME, 0, 0, 0.2, 0, 0, 0])
    assert np.allclose(c.registers.out_doubles[:6], c.plant.pose_of(HOME, np.array([0, 0, 0.2, 0, 0, 0])))
    for goal, answer in ((pose, 1), (pose + 3.0, 0)):
        command(c, 60, list(goal))
        assert c.registers.out_ints[1] == answer


def test_settings(c):
    command(c, 29, [0, 0, 0.15, 0, 0, 0])
    command(c, 40)
    assert np.allclose(c.registers.out_doubles[:6], [0, 0, 0.15, 0, 0, 0])
    command(c, 17, [1.5, 0, 0, 0.1])
    assert np.allclose(c.plant.load, [1.5, 0, 0, 0.1])
    command(c, 17, [99.0, 0, 0, 0])  # refused
    assert c.plant.load[0] == 1.5
    run_for(c, 0.4)
    command(c, 47)
    assert c.registers.out_ints[1] == 1


def heard_for(c, seconds, command_number, every=0.05):
    """A client that writes its command register again and again, new or not, as ur_rtde's kicks and real-time moves."""
    for k in range(round(seconds * 500)):
        if k % round(every * 500) == 0:
            c.write_inputs({"input_int_register_0": command_number})
        c.tick()


@pytest.mark.parametrize("command_number", [0, 9, 99])
def test_the_watchdog_counts_what_comes_whether_it_is_new_or_not(c, command_number):
    command(c, 35, [10.0])
    c.registers.doubles[:8] = [0.05, 0, 0, 0, 0, 0, 1.0, 0.1]
    heard_for(c, 1.0, command_number)
    assert c.state is ControllerState.PLAYING
    c.write_inputs({"input_double_register_0": 0.05})  # another input is no sign of life
    run_for(c, 0.12)
    assert c.state is ControllerState.READY and any("watchdog" in m for m in c.messages)
    run_for(c, 0.5)
    assert np.abs(c.plant.live.qd).max() < 1e-3  # what a dead client commanded last has ended, too
    run_text(c, SCRIPT)
    run_for(c, 0.5)
    assert c.state is ControllerState.PLAYING  # a new program has no watchdog


def test_a_watchdog_may_pause_and_is_refused_with_words():
    dogs = InputWatchdogs()
    dogs.watch("input_int_register_3", 20.0, "pause", 1.0)
    assert dogs.overdue(1.04) is None and dogs.overdue(1.06) == ("input_int_register_3", "pause")
    assert dogs.overdue(9.0) is None
    for frequency, action in ((10.0, "bark"), (-1.0, "stop"), (np.nan, "stop"), (1e4, "stop")):
        with pytest.raises(InputError, match="watchdog"):
            dogs.watch("input_int_register_3", frequency, action, 0.0)


@pytest.mark.parametrize(
    "values",
    [
        {"input_double_register_3": np.nan},
        {"external_force_torque": (0.0, 0.0, np.inf, 0.0, 0.0, 0.0)},
        {"speed_slider_mask": 1, "speed_slider_fraction": np.nan},
    ],
)
def test_a_packet_with_a_number_that_is_none_is_refused_whole(c, values):
    c.registers.ints[5], c.registers.speed = 7, 0.9
    with pytest.raises(InputError, match="not finite"):
        c.write_inputs({"input_int_register_5": 8, "input_double_register_2": 1.5, **values})
    assert c.registers.ints[5] == 7 and c.registers.doubles[2] != 1.5 and c.registers.speed == 0.9


def test_force_mode_gives_way_along_the_chosen_axis_only(c):
    before = c.plant.look().pose.copy()
    wrench, limits = [0, 0, -40.0, 0, 0, 0], [0.1] * 6
    c.registers.doubles[:18] = [0.0] * 6 + wrench + limits
    c.registers.ints[:8] = [6, 2, 0, 0, 1, 0, 0, 0]
    run_for(c, 1.0)
    moved = c.plant.look().pose - before
    assert moved[2] < -0.02 and np.abs(moved[:2]).max() < 1e-3
    c.registers.ints[0] = 0
    c.tick()
    command(c, 7)
    run_for(c, 0.2)
    assert np.abs(c.plant.live.qd).max() < 1e-3


def test_free_drive_follows_the_hand(c):
    command(c, 52, ints=[1] * 6)
    c.plant.push(5, np.array([0.0, 20.0, 0, 0, 0, 0]))
    before = c.plant.live.q.copy()
    run_for(c, 0.3)
    assert np.abs(c.plant.live.q - before).max() > 0.02
    c.plant.live.inputs["push"][...] = 0.0
    command(c, 53)
    run_for(c, 0.5)
    assert np.abs(c.plant.live.qd).max() < 1e-3 and c.state is ControllerState.PLAYING


def test_jogging_goes_on_until_it_is_stopped(c):
    command(c, 41, [0, 0, 0.05, 0, 0, 0, 0.0, 1.0])
    run_for(c, 1.0)
    assert c.plant.look().speed[2] == pytest.approx(0.05, abs=5e-3)
    command(c, 42)
    assert not c.moving


def test_a_move_until_contact_stops_at_one(c):
    c.registers.doubles[:13] = [0, 0, -0.05, 0, 0, 0, 0, 0, -1.0, 0, 0, 0, 1.0]
    c.registers.ints[0] = 51
    run_for(c, 0.5)
    assert c.moving and c.registers.out_ints[0] == 0
    c.plant.push(5, np.array([0, 0, 60.0, 0, 0, 0]))
    run_for(c, 0.6)
    assert not c.moving and c.registers.out_ints[0] == 2 and c.state is ControllerState.PLAYING


def test_contact_detection_can_be_read(c):
    command(c, 62, [0, 0, -1.0, 0, 0, 0])
    command(c, 64)
    assert c.registers.out_ints[1] == 0
    c.plant.push(5, np.array([0, 0, 60.0, 0, 0, 0]))
    run_for(c, 0.3)
    command(c, 63)
    assert c.registers.out_ints[1] == 1


def test_a_program_can_stop_itself_and_ask_for_a_protective_stop(c):
    command(c, 31)
    assert c.state is ControllerState.STOPPED
    c.handle(ControllerEvent.UNLOCK)
    run_for(c, 0.3)
    run_text(c, SCRIPT)
    command(c, 255)
    assert c.state is ControllerState.READY and c.program is None


def test_an_unknown_command_is_answered_and_named(c):
    command(c, 200)
    assert c.program.missing == {200}


def test_commands_of_both_groups_are_there():
    group_1 = {1, 2, 3, 4, 9, 10, 11, 24, 15, 16, 33, 34, 30, 46, 60, 61, 43, 44, 17, 29, 40, 31, 35, 38, 47, 255}
    group_2 = {6, 7, 20, 21, 8, 18, 19, 52, 53, 54, 51, 62, 63, 64, 45, 41, 42, 56, 57}
    assert group_1 | group_2 <= set(COMMANDS)


@pytest.mark.parametrize(
    "line",
    [
        "movej([1,2",
        "movej(__import__('os'))",
        "movej([1,2,3],a=b)",
        "x" * 5000,
        "movej([1e999,0,0,0,0,0])",
        "movej",
        "",
    ],
)
def test_what_is_no_literal_call_is_nothing(line):
    assert parse_call(line) is None
