# SPDX-License-Identifier: Apache-2.0
"""What moves of a program take, servoing and speeds that stop coming, and watchdogs on the inputs of a client."""

import numpy as np
import pytest

from armwright.errors import InputError
from armwright.lab.controller.controller_states import ControllerState
from armwright.lab.controller.input_watchdogs import InputWatchdogs
from support.lab import run_for
from support.scripts import HOME, controller, run, run_text, went

TICK = 0.002
LOOP = "def f():\n  while True:\n    sync()\n  end\nend\n"


@pytest.fixture
def c():
    return controller()


def shifted(x, *d):
    return (np.array(x) + np.array([*d, *[0.0] * (6 - len(d))])).tolist()


# moves


@pytest.mark.parametrize("slider", [1.0, 0.5])
def test_moves_take_the_time_of_their_profile(c, slider):
    c.registers.speed = slider
    goal = shifted(HOME, 0.6)
    run_text(c, f"movej({goal}, a=2, v=1)")
    assert went(c).ticks * TICK == pytest.approx((0.6 / 1.0 + 1.0 / 2.0) / slider, abs=0.02)  # way/v + v/a
    assert np.allclose(c.plant.live.q, goal, atol=2e-3)


def test_a_line_is_straight_and_ends_at_its_pose(c):
    start = c.target_pose()
    goal = np.array(shifted(start, 0.0, 0.1, 0.1))
    way = (goal - start)[:3] / np.linalg.norm((goal - start)[:3])
    run_text(c, f"movel(p{goal.tolist()}, a=1, v=0.25)")
    while c.program is not None:
        c.tick()
        off = c.target_pose()[:3] - start[:3]
        assert np.linalg.norm(off - (off @ way) * way) < 1e-6
    assert np.allclose(c.target_pose(), goal, atol=1e-6)


def test_a_fault_behind_a_move_comes_after_it_and_ends_the_program(c):
    run_text(c, f"def f():\n  movej({shifted(HOME, 0.1)}, a=9, v=2)\n  movej([9, 0, 0, 0, 0, 0])\nend\n")
    ran = went(c)
    assert ran.faults[0][0] == 3 and "leave their range" in ran.faults[0][2]
    assert c.state is ControllerState.READY and c.reference.q[0] == pytest.approx(0.1)


# from frame to frame


def test_a_speed_is_kept_until_it_is_stopped(c):
    run_text(c, "def f():\n  speedj([0.3, 0, 0, 0, 0, 0], 2, 10)\nend\n")
    run_for(c, 0.5)
    assert c.plant.live.qd[0] == pytest.approx(0.3, abs=0.01)
    run_text(c, "stopj(3)")  # a program of its own, in place of the first
    run_for(c, 0.3)
    assert np.abs(c.plant.live.qd).max() < 1e-3 and c.state is ControllerState.READY


def test_tool_speed_is_what_was_asked(c):
    run_text(c, "speedl([0, 0, 0.05, 0, 0, 0], 1, 10)")
    run_for(c, 0.5)
    assert np.allclose(c.plant.look().speed, [0, 0, 0.05, 0, 0, 0], atol=3e-3)


@pytest.mark.parametrize(
    "call", ["speedj([0.3, 0, 0, 0, 0, 0], 4, 0.002)", "servoj(q, t=0.002)", "speedl([0, 0.1, 0, 0, 0, 0], 2, 0.002)"]
)
def test_when_commands_of_a_client_stop_coming_the_arm_brakes_and_the_program_goes_on(c, call):
    """A loop that obeys a register, as control scripts of clients do."""
    text = f"""def f():
  q = get_target_joint_positions()
  while True:
    if read_input_integer_register(0) == 1:
      q[0] = q[0] + 0.0006
      {call}
    else:
      sync()
    end
  end
end
"""
    c.registers.ints[0] = 1
    run_text(c, text)
    run_for(c, 0.5)
    assert np.linalg.norm(c.plant.live.qd) > 0.1
    c.registers.ints[0] = 0
    run_for(c, 0.5)
    assert np.abs(c.plant.live.qd).max() < 1e-3 and not c.moving and c.state is ControllerState.PLAYING


def test_servoc_goes_at_its_speed_and_turns_to_a_new_target_in_an_arc(c):
    start = c.target_pose()
    first, second = shifted(start, 0, 0.15), shifted(start, 0, 0.15, 0.15)
    text = f"""def f():
  i = 0
  while i < 600:
    servoc(p{first}, a=0.5, v=0.1)
    i = i + 1
  end
  write_output_float_register(0, get_target_tcp_pose()[1])
  while True:
    servoc(p{second}, a=0.5, v=0.1)
  end
end
"""
    run_text(c, text)
    points = [start[:3]]
    while not np.allclose(points[-1], second[:3], atol=1e-6):
        c.tick()
        points.append(c.target_pose()[:3])
        assert c.time < 6.0
    assert c.registers.out_doubles[0] - start[1] == pytest.approx(0.1 * (1.2 - 0.1), abs=2e-3)  # v (t − v/2a)
    steps = np.diff(points, axis=0) / TICK
    assert np.linalg.norm(np.diff(steps, axis=0), axis=1).max() / TICK < 0.5 * 1.05  # acceleration kept
    assert np.linalg.norm(np.array(points) - np.array(first[:3]), axis=1).min() > 1e-3  # it is not reached on the way


@pytest.mark.parametrize(
    "call",
    [
        "speedl([0.7, 0.42, 0, 0, 0, 0], 2, 1.5)",
        "servoc(p[0.2, 0.3, z, x, y, w], 3, 2)",
        "force_mode(p[0, 0, 0, 0, 0, 0.54], [1, 0, 0, 0, 0, 0], [500, 0, 0, 0, 0, 0], 2, [1, 1, 1, 1, 1, 1])",
    ],
)
def test_a_tool_that_is_steered_past_the_base_keeps_its_line_and_no_joint_is_too_fast(c, call):
    """It would have to turn faster than it can near its first axis: the tool slows down, and the arm goes on."""
    start = c.target_pose()
    call = call.replace("z, x, y, w", ", ".join(map(repr, start[2:].tolist())))
    run_text(c, f"def f():\n  while True:\n    {call}\n    sync()\n  end\nend\n")
    places, used = [], []
    for _ in range(750):
        c.tick()
        assert c.state is ControllerState.PLAYING, c.why
        places.append(c.target_pose())
        used.append(np.max(np.abs(c.reference.qd) / c.most_speed))
    tool = np.linalg.norm(np.diff(places, axis=0)[:, :3], axis=1) / TICK
    slow = int(np.argmax(used))
    assert used[slow] <= 1.0 + 1e-9 and max(used) > 0.95 and tool[slow:].min() < 0.7 * tool[:slow].max()
    gone = np.array(places)[:, :3] - start[:3]
    way = gone[-1] / np.linalg.norm(gone[-1])
    assert np.linalg.norm(gone[-1]) > 0.6 and np.abs(gone - np.outer(gone @ way, way)).max() < 1e-4
    assert np.allclose(np.array(places)[:, 3:], start[3:], atol=1e-4)


# what a client must not stop doing


def heard_for(c, seconds, value, every=0.05):
    """A client that writes its register again and again, new or not."""
    for k in range(round(seconds / TICK)):
        if k % round(every / TICK) == 0:
            c.write_inputs({"input_int_register_0": value})
        c.tick()


@pytest.mark.parametrize("value", [0, 9])
def test_the_watchdog_counts_what_comes_whether_it_is_new_or_not(c, value):
    text = """def f():
  rtde_set_watchdog("input_int_register_0", 10, "stop")
  while True:
    speedj([0.05, 0, 0, 0, 0, 0], 1, 0.002)
  end
end
"""
    run_text(c, text)
    heard_for(c, 1.0, value)
    assert c.state is ControllerState.PLAYING and c.moving
    c.write_inputs({"input_double_register_0": 0.05})  # another input is no sign of life
    run_for(c, 0.12)
    assert c.program is None and any("watchdog" in m for m in c.messages)
    run_for(c, 0.5)
    assert c.state is ControllerState.READY and np.abs(c.plant.live.qd).max() < 1e-3  # the last command has ended, too
    run_text(c, LOOP)
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
    assert "watchdog" in run('rtde_set_watchdog("input_int_register_0", 10, "bark")').faults[0][2]


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
