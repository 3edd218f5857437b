# SPDX-License-Identifier: Apache-2.0
"""Programs as PolyScope writes them: what their installation sets, Modbus signals, motions until something happens."""

import numpy as np
import pytest

from armwright.lab.controller.controller_states import ControllerState
from support.scripts import controller, program, run, run_text, went

PREAMBLE = """def whole():
  set_standard_analog_input_domain(0, 1)
  set_tool_analog_input_domain(1, 1)
  set_analog_inputrange(3, 0)
  set_analog_outputdomain(0, 0)
  set_analog_outputdomain(1, 1)
  set_tool_output_mode(1)
  set_tool_digital_output_mode(0, 1)
  set_tool_digital_output_mode(1, 3)
  set_tool_voltage(24)
  set_input_actions_to_default()
  set_standard_digital_input_action(7, "default")
  set_safety_mode_transition_hardness(1)
  set_runstate_outputs([])
  set_gravity([0.0, 0.0, 9.82])
  set_tcp(p[0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
  set_payload(0.0)
  $ 1 "Robot Program"
  write_output_integer_register(0, 42)
end
"""


def test_a_program_that_polyscope_wrote_gets_past_its_installation():
    ran = run(PREAMBLE)
    assert ran.faults == []
    registers = ran.c.registers
    assert registers.out_ints[0] == 42
    assert registers.analogue_types == 0b10 and registers.tool_output_mode == 1 and registers.tool_pin_modes == [1, 3]


@pytest.mark.parametrize(
    "line, words",
    [
        ("set_analog_outputdomain(2, 0)", "port is a whole number of 0 to 1"),
        ("set_tool_digital_output_mode(0, 4)", "mode is a whole number of 1 to 3"),
        ('set_tool_digital_input_action(0, "freedrive")', "'default'"),
        ("set_safety_mode_transition_hardness(2)", "type is a whole number of 0 to 1"),
        ("set_runstate_outputs([1])", "only [] is available"),
        ("set_runstate_standard_digital_output_to_value(8, 1)", "outputId is a whole number of 0 to 7"),
    ],
)
def test_settings_are_checked(line, words):
    (fault,) = run(program(f"  {line}\n")).faults
    assert words in fault[2]


@pytest.mark.parametrize(
    "state, before, running, ended, failed",
    [
        (0, 0, 0, 0, 0),
        (0, 1, 1, 1, 1),
        (1, 1, 1, 0, 0),
        (2, 0, 0, 1, 1),
        (3, 0, 1, 0, 0),
        (4, 1, 1, 1, 0),
        (5, 0, 0, 0, 1),
    ],
)
@pytest.mark.parametrize("kind, first", [("standard", 0), ("configurable", 8), ("tool", 16)])
def test_outputs_follow_the_state_of_the_program(kind, first, state, before, running, ended, failed):
    for fault in (False, True):
        c = controller()
        c.registers.digital = before << (first + 1)
        line = f"  set_runstate_{kind}_digital_output_to_value(1, {state})\n  sleep(0.01)\n"
        run_text(c, program(line + ("  a = 1 / 0\n" if fault else "")))
        c.tick()
        assert c.registers.digital == running << (first + 1)
        went(c)
        assert c.program is None
        assert c.registers.digital == (failed if fault else ended) << (first + 1)


SIGNALS = """  modbus_add_signal("10.0.0.5", 255, 16, 3, "SPEED")
  modbus_add_signal("10.0.0.5", 255, 8193, 1, "VALVE", False)
  modbus_add_signal("10.0.0.5", 255, 8192, 0, "READY", False)
  modbus_set_signal_update_frequency("SPEED", 10)
  modbus_set_runstate_dependent_choice("VALVE", 0)
"""


def test_modbus_outputs_give_back_what_was_written():
    body = SIGNALS + (
        '  modbus_set_output_register("SPEED", 1234, False)\n  modbus_set_output_signal("VALVE", True)\n'
        '  keep(modbus_get_signal_status("SPEED", False))\n'
        '  if modbus_get_signal_status("VALVE"):\n    keep(7)\n  end\n'
    )
    ran = run(program(body))
    assert ran.faults == [] and ran.kept[:2] == [1234, 7]


@pytest.mark.parametrize(
    "line, words",
    [
        ('a = modbus_get_signal_status("READY")', "nobody answers behind the Modbus input 'READY'"),
        ('a = modbus_get_signal_status("OTHER")', "there is no Modbus signal 'OTHER'"),
        ('modbus_set_output_signal("SPEED", True)', "is no digital output"),
        ('modbus_set_output_register("SPEED", 65536)', "0 to 65535"),
        ('modbus_delete_signal("SPEED")\n  modbus_set_output_register("SPEED", 1)', "there is no Modbus signal"),
        ('modbus_add_signal("10.0.0.5", 255, 16, 4, "X")', "signal_type"),
    ],
)
def test_modbus_is_never_made_up(line, words):
    (fault,) = run(program(SIGNALS + f"  {line}\n")).faults
    assert words in fault[2]


def test_the_number_of_modbus_signals_is_limited():
    body = (
        '  n = 0\n  while n < 300:\n    modbus_add_signal("10.0.0.5", 1, n, 3, str_cat("s", n))\n    n = n + 1\n  end\n'
    )
    (fault,) = run(program(body)).faults
    assert "more than 256 Modbus signals" in fault[2]


def test_normalize():
    ran = run(
        program("  v = normalize([3, 0, -4])\n  keep(v[0])\n  keep(v[2])\n  z = normalize([0, 0])\n  keep(z[0])\n")
    )
    assert ran.kept[:3] == pytest.approx([0.6, -0.8, 0.0])


UNTIL = """def until():
  def towards(direction, distance):
    local n = normalize(direction)
    local way = p[n[0] * distance, n[1] * distance, n[2] * distance, 0, 0, 0]
    return pose_add(get_target_waypoint(), way)
  end
  thread going():
    enter_critical
    movel(towards([0, 1.0, 0], 1000.0), a=1.2, v=0.05)
    exit_critical
  end
  han = run going()
  {wait}
  kill han
  stopl(3.0)
end
"""


def test_a_motion_in_a_direction_goes_on_until_its_thread_is_killed():
    c = controller()
    start = c.target_pose()
    run_text(c, UNTIL.format(wait="sleep(1.0)"))
    ran = went(c)
    assert ran.faults == [] and c.state is ControllerState.READY, c.why
    gone = c.target_pose() - start
    assert gone[1] == pytest.approx(0.05 * 1.0, abs=0.004) and np.abs(np.delete(gone, 1)).max() < 1e-5


def test_a_motion_in_a_direction_ends_in_a_stop_where_the_arm_ends():
    c = controller()
    run_text(c, UNTIL.format(wait="join han").replace("v=0.05", "v=1.0"))
    went(c, 4000)
    assert c.state is ControllerState.STOPPED and "out of reach" in c.why
    assert np.linalg.norm(c.target_pose()[:3]) > 0.6
