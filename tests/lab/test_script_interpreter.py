# SPDX-License-Identifier: Apache-2.0
"""Interpreter mode: statements of a client, one by one, in a program that runs."""

import pytest

from armwright.lab.wire.interpreter_mode import interpreter_answer
from support.scripts import HOME, controller, run_text, went

PROGRAM = """def prog():
  n = 1
  def twice(a):
    return 2 * a
  end
  interpreter_mode()
  write_output_integer_register(1, n)
end
"""


@pytest.fixture
def c():
    made = controller()
    run_text(made, PROGRAM)
    went(made, 2)
    return made


def say(c, line):
    return interpreter_answer(c.program.interpreter, line)


def test_statements_run_in_order_with_the_programs_names(c):
    assert say(c, "n = twice(n) + 5") == "ack: 1: n = twice(n) + 5"
    assert say(c, "write_output_integer_register(0, n)").startswith("ack: 2:")
    assert say(c, "stateunexecuted") == "state: 2: stateunexecuted"
    went(c, 10)
    assert c.registers.out_ints[0] == 7 and say(c, "statelastexecuted") == "state: 2: statelastexecuted"


def test_new_variables_and_functions_are_known_to_what_follows(c):
    for line in ("def thrice(a): return 3 * a end", "m = thrice(4)", "write_output_integer_register(0, m)"):
        assert say(c, line).startswith("ack:")
        went(c, 5)
    assert c.registers.out_ints[0] == 12


def test_what_does_not_fit_is_discarded_and_takes_no_number(c):
    assert "compile_error_name_not_found:foo:" in say(c, "foo(1)")
    assert say(c, "n = ").startswith("discard: ")
    assert say(c, "n = 2").startswith("ack: 1:")


def test_a_fault_ends_the_program_at_its_place(c):
    say(c, "n = 1 / 0")
    ran = went(c, 10)
    assert ran.faults == [(1, 7, "division by zero")] and c.program is None


def test_the_mode_is_left_and_the_program_goes_on(c):
    say(c, "n = 3")
    say(c, "end_interpreter()")
    went(c, 20)
    assert c.program is None and c.registers.out_ints[1] == 3


def test_abort_ends_the_move_under_way_and_goes_on_with_the_next_statement(c):
    say(c, f"movej({(HOME + 0.8).tolist()}, a=2, v=1)")
    say(c, "write_output_integer_register(0, 9)")
    went(c, 200)
    assert c.moving and say(c, "abort") == "ack: 2: abort"
    went(c, 300)
    assert not c.moving and 0.0 < c.reference.q[0] < 0.79 and c.registers.out_ints[0] == 9
    assert say(c, "statelastexecuted") == "state: 2: statelastexecuted" and c.program is not None


def test_skipbuffer_before_abort_leaves_nothing_to_do(c):
    say(c, f"movej({(HOME + 0.8).tolist()}, a=2, v=1)")
    say(c, "write_output_integer_register(0, 9)")
    went(c, 200)
    assert say(c, "skipbuffer") == "ack: 2: skipbuffer" and say(c, "abort") == "ack: 2: abort"
    went(c, 300)
    assert not c.moving and 0.0 < c.reference.q[0] < 0.79 and c.registers.out_ints[0] == 0
    assert say(c, "statelastcleared") == "state: 2: statelastcleared" and c.program is not None


def test_clearing_keeps_the_statements_behind_it(c):
    for line in ("n = 2", "clear_interpreter()", "write_output_integer_register(0, n)"):
        say(c, line)
    went(c, 20)
    assert c.registers.out_ints[0] == 2 and say(c, "statelastcleared") == "state: 2: statelastcleared"


def test_skipbuffer_forgets_what_has_not_begun(c):
    say(c, "sleep(0.1)")
    went(c, 3)
    say(c, "write_output_integer_register(0, 9)")
    assert say(c, "skipbuffer") == "ack: 2: skipbuffer"
    went(c, 100)
    assert c.registers.out_ints[0] == 0
