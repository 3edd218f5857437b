# SPDX-License-Identifier: Apache-2.0
"""What ends a program: faults with line and column, limits; and never an exception of Python."""

import inspect
import random
from functools import partial

import pytest

from armwright.lab.controller import instructed_moves
from armwright.lab.controller.controller_messages import PROGRAM_STOPPED, KeyMessage
from armwright.lab.controller.controller_states import ControllerState
from armwright.lab.script import script_machine
from armwright.lab.script.script_compiler import compile_script
from armwright.lab.script.script_faults import ScriptError
from armwright.lab.script.script_library import RUNS, WORK
from armwright.lab.script.script_sockets import MOST_SOCKETS
from armwright.lab.wire.script_stream import ScriptReader
from armwright.urscript import BUILTINS
from support.scripts import controller, run, run_text, went

VERSION = (5, 25, 1, 0)

# found before anything runs: text, line, column, words
REFUSED = [
    ("def f():\n  foo(1)\nend", 2, 3, "compile_error_name_not_found:foo:"),
    ("def f():\n  textmsg(nowhere)\nend", 2, 11, "compile_error_name_not_found:nowhere:"),
    ("foo(1)", 1, 1, "compile_error_name_not_found:foo:"),
    ("def f():\n  break\nend", 2, 3, "break belongs into a loop"),
    ("continue", 1, 1, "continue belongs into a loop"),
    ('def f():\n  $ 1e999 "x"\n  foo(1)\nend', 3, 3, "compile_error_name_not_found:foo:"),
    ("def f():\n  h = run t()\nend", 2, 11, "compile_error_name_not_found:t:"),
    ('def f():\n  open("/etc/passwd")\nend', 2, 3, "compile_error_name_not_found:open:"),
    ('def f():\n  __import__("os")\nend', 2, 3, "compile_error_name_not_found:__import__:"),
    ("def f():\n  movej([0,0,0,0,0,0], 1, 1, 0, 0, 5)\nend", 2, 3, "movej takes 5 arguments, not 6"),
    ("def f():\n  movej([0,0,0,0,0,0], speed=1)\nend", 2, 24, "movej has no argument 'speed'"),
    ("def f():\n  sleep()\nend", 2, 3, "sleep lacks 't'"),
    ("def f():\n  sleep(1, t=1)\nend", 2, 12, "sleep gets 't' twice"),
    ("def f():\n  def g(a):\n    return a\n  end\n  g()\nend", 5, 3, "g lacks 'a'"),
    ("def f():\n  def g():\n  end\n  h = run g()\nend", 4, 11, "g is no thread"),
    ("def f():\n  thread t():\n  end\n  t()\nend", 4, 3, "t cannot be called"),
    ("def f():\n  f()\nend", 2, 3, "f cannot be called"),
    ("def f(a):\nend", 1, 7, "a program takes no arguments"),
    ("def f():\n  def g():\n  end\n  def g():\n  end\nend", 4, 7, "g is defined twice"),
    ("def f():\n  def g():\n  end\n  g = 1\nend", 4, 3, "g is a function"),
    ("def f():\n  a = 2 ^ 3\nend", 2, 9, "^ is no operator"),
    ("def f():\n  a = p[1, 2]\nend", 2, 7, "a pose has six numbers, not 2"),
    ("def f():\n  if True\n  end\nend", 2, 10, "syntax_error"),
    ("def f():\n  a = = 1\nend", 2, 7, "syntax_error"),
    ("def f():\n  a = 1e999\nend", 2, 7, "no such number"),
    ("def f():\n  while True:\nend", 1, 1, "never closed"),
    ("end", 1, 1, "syntax_error"),
    ("def f():\n  s = struct(1, 2)\nend", 2, 7, "have names"),
    ("def f():\n  a = " + "(" * 70 + "1" + ")" * 70 + "\nend", 2, 0, "more than 60 levels"),
    ("def f():\n  a = " + "1+" * 400 + "1\nend", 2, 0, "inside one another"),
    ("def f():\n" + "while True:\n" * 25 + "sync()\n" + "end\n" * 26, 0, 0, "more than 20 loops"),
    ("def f():\n  a = " + "[sin(1)," * 1 + "sin(1)," * 4000 + "1]\nend", 2, 3, "operations in one statement"),
]

# while it runs: body, line, column, words
FAULTS = [
    ("  a = [1, 2]\n  b = a[2]\n", 3, 7, "index_error: no item 2 of 2"),
    ("  a = [1, 2]\n  b = a[-1]\n", 3, 7, "index_error"),
    ("  a = [1, 2]\n  a[2] = 1\n", 3, 3, "index_error"),
    ("  a = [1, 2]\n  b = a[0.5]\n", 3, 7, "type_error: an index is a whole number"),
    ("  a = 5\n  b = a[0]\n", 3, 7, "type_error: a integer has no items"),
    ("  a = 1 / 0\n", 2, 9, "division by zero"),
    ("  a = 1 % 0\n", 2, 9, "division by zero"),
    ("  a = [1, 2] / 0\n", 2, 14, "division by zero"),
    ('  a = 1 + "b"\n', 2, 9, "type_error: integer + string"),
    ("  a = 1 + True\n", 2, 9, "type_error: integer + boolean"),
    ("  a = [1, 2] + [1]\n", 2, 14, "lists of 2 and 1 items"),
    ("  a = p[1,2,3,0,0,0] + p[1,2,3,0,0,0]\n", 2, 22, "type_error: pose + pose"),
    ('  a = "x" < 1\n', 2, 11, "type_error: string < integer"),
    ('  if "x":\n  end\n', 2, 6, "type_error: a condition"),
    ("  if False:\n    a = 1\n  end\n  b = a\n", 5, 7, "The variable 'a' has no value yet"),
    ("  a = sqrt(-1)\n", 2, 7, "value_error"),
    ("  a = asin(2)\n", 2, 7, "value_error"),
    ("  a = pow(-8, 0.5)\n", 2, 7, "value_error"),
    ("  a = pow(10, 400)\n", 2, 7, "value_error"),
    ('  a = sin("x")\n', 2, 7, "type_error"),
    ('  a = to_num("x")\n', 2, 7, "is no number"),
    ("  a = make_list(100000, 1)\n", 2, 7, "65536"),
    ("  a = make_list(60000, make_list(60000, 1))\n", 2, 7, "out of memory"),
    ('  a = str_at("abc", 3)\n', 2, 7, "value_error"),
    ("  write_output_integer_register(48, 1)\n", 2, 3, "0 to 47"),
    ("  set_standard_digital_out(8, True)\n", 2, 3, "0 to 7"),
    ("  s = struct(a=1)\n  b = s.b\n", 3, 9, "no part 'b'"),
    ('  s = struct(a=1)\n  s.a = "x"\n', 3, 5, "type_error"),
    ("  a = 5\n  a.append(1)\n", 3, 5, "has no method"),
    ("  a = [1]\n  a.push(1)\n", 3, 5, "no method 'push'"),
    ("  sleep(-1)\n", 2, 3, "value_error"),
    ("  assert(1 > 2)\n", 2, 3, "assertion failed"),
    ("  movej([9, 0, 0, 0, 0, 0])\n", 2, 3, "leave their range"),
    ("  movej([0, 0, 0])\n", 2, 3, "3 numbers, 6 are needed"),
    ("  movej(p[2.5, 0, 0, 0, 0, 0])\n", 2, 3, "no configuration reaches"),
    ('  movej("home")\n', 2, 3, "type_error"),
    ("  movej([0,0,0,0,0,0], a=-1)\n", 2, 3, "must be > 0"),
    ("  a = get_inverse_kin(p[2.5, 0, 0, 0, 0, 0])\n", 2, 7, "no inverse solution"),
    ('  socket_open("192.0.2.1", 80)\n', 2, 3, "only loopback"),
    ('  socket_open("example.org", 80)\n', 2, 3, "only loopback"),
    ('  a = rpc_factory("xmlrpc", "http://127.0.0.1/")\n', 2, 7, "rpc_factory is not available"),
    ("  a = g()\n  def g():\n    sync()\n  end\n  b = a + 1\n", 6, 9, "type_error: none + integer"),
    ("  def g(n):\n    return g(n + 1)\n  end\n  g(0)\n", 2, 7, "recursion: more than 50 calls"),
    ("  thread t():\n    a = 1 / 0\n  end\n  h = run t()\n  sleep(1)\n", 3, 11, "division by zero"),
    ('  kill "x"\n', 2, 3, "type_error"),
]


@pytest.mark.parametrize("text, line, column, words", REFUSED, ids=[row[3][:40] for row in REFUSED])
def test_a_text_that_cannot_be_run_is_refused_with_its_place(text, line, column, words):
    with pytest.raises(ScriptError) as caught:
        compile_script(text, VERSION)
    assert words in caught.value.words
    assert caught.value.line >= 1 and caught.value.column >= 1
    assert (line or caught.value.line, column or caught.value.column) == (caught.value.line, caught.value.column)


@pytest.mark.parametrize("body, line, column, words", FAULTS, ids=[row[0][:40].strip() for row in FAULTS])
def test_a_fault_tells_its_place_and_ends_the_program(body, line, column, words):
    ran = run(f"def prog():\n{body}end\n")
    assert [(found[0], found[1]) for found in ran.faults] == [(line, column)]
    assert words in ran.faults[0][2] and "internal_error" not in ran.faults[0][2]
    assert ran.said[-1] == KeyMessage(PROGRAM_STOPPED, "prog") and ran.c.state is ControllerState.READY


def test_what_runs_is_in_the_one_table_and_waits_where_it_says_so():
    for name, function in RUNS.items():
        row, bare = BUILTINS[name], function.func if isinstance(function, partial) else function
        assert inspect.isgeneratorfunction(bare) == row.waits, name
        first = 2 if isinstance(function, partial) else 1  # what is bound, and the program
        taken = [p for p in inspect.signature(bare).parameters.values() if p.kind is not p.VAR_POSITIONAL][first:]
        assert row.told and len(taken) in (0, len(row.names)), name
        for parameter in row.names:
            row.default(parameter)  # every default of the table is a value
    assert set(WORK) <= set(RUNS)


def test_a_text_with_a_fault_does_not_stop_the_program_that_runs():
    c = controller()
    run_text(c, "def first():\n  while True:\n    sync()\n  end\nend\n")
    running = c.program
    run_text(c, "first()")
    assert c.program is running and went(c, 3).faults[0][2] == "compile_error_name_not_found:first:"
    run_text(c, "set_digital_out(1, True)")
    assert c.program is not running


def test_a_loop_that_never_waits_is_ended_after_half_a_second_of_the_controller():
    ran = run("def f():\n  while True:\n  end\nend\n")
    assert ran.ticks == pytest.approx(0.5 / 0.002, abs=2) and "infinite loop" in ran.faults[0][2]


def test_a_long_computation_is_spread_over_frames_and_others_go_on():
    text = """def f():
  n = 0
  thread t():
    while True:
      n = n + 1
      sync()
    end
  end
  h = run t()
  i = 0
  while i < 20000:
    i = i + 1
  end
  write_output_float_register(0, i)
  write_output_float_register(1, n)
end
"""
    ran = run(text)
    assert ran.kept[0] == 20000 and ran.kept[1] >= 10 and not ran.faults


def test_threads_and_sockets_are_limited():
    threads = "  thread t():\n    while True:\n      sync()\n    end\n  end\n"
    many = run(f"def f():\n{threads}  i = 0\n  while True:\n    i = i + 1\n    h = run t()\n  end\nend\n")
    assert f"more than {script_machine.MOST_THREADS} threads" in many.faults[0][2]
    dial = '  i = 0\n  while True:\n    i = i + 1\n    socket_open("127.0.0.1", 9, to_str(i), 0.01)\n  end\n'
    assert run(f"def f():\n{dial}end\n", ticks=300).faults == []  # those that fail are given back
    assert MOST_SOCKETS == 16


def test_of_all_threads_one_plans_a_way_of_the_tool_in_a_tick(monkeypatch):
    c, planned, sampled = controller(), [], instructed_moves.sampled

    def noted(*way):
        planned.append(c.ticks)
        return (yield from sampled(*way))

    monkeypatch.setattr(instructed_moves, "sampled", noted)
    line = "movel(pose_add(get_actual_tcp_pose(), p[0, 0, 0.01, 0, 0, 0]))"
    threads = "".join(f"  thread t{k}():\n    {line}\n  end\n  run t{k}()\n" for k in range(8))
    run_text(c, f"def f():\n{threads}  sleep(0.1)\nend\n")
    assert went(c, 100).faults == []
    assert len(planned) == 8 == len(set(planned)), "each in a tick of its own"


def test_memory_is_limited():
    grown = run('def f():\n  s = "0123456789"\n  while True:\n    s = str_cat(s, s)\n  end\nend\n')
    assert "65536 characters" in grown.faults[0][2]
    nested = run("def f():\n  l = [[1]]\n  while True:\n    l = [l]\n  end\nend\n")
    assert "deep" in nested.faults[0][2]
    long = run("def f():\n  l = [1]\n  while True:\n    l.extend(l)\n  end\nend\n")
    assert "room" in long.faults[0][2]


def test_a_program_may_talk_a_hundred_times_a_tick_and_no_more():
    c = controller()
    run_text(c, "def f():\n  i = 0\n  while i < 150:\n    textmsg(i)\n    i = i + 1\n  end\nend\n")
    went(c, 5)
    assert c.outbox.lost == 50


def test_a_secondary_program_takes_no_time_and_may_not_move():
    c = controller()
    run_text(c, "def f():\n  while True:\n    sync()\n  end\nend\n")
    running = c.program
    run_text(c, "sec s():\n  set_standard_digital_out(2, True)\nend\n")
    assert went(c, 3).faults == [] and c.registers.digital == 4 and c.program is running
    for body in ("movej([0,0,0,0,0,0])", "sleep(1)", "stopj(1)"):
        run_text(c, f"sec s():\n  {body}\nend\n")
        assert [found[:2] for found in went(c, 3).faults] == [(2, 3)] and c.program is running


def mutated(text: str, rng: random.Random) -> str:
    """The text with a few letters, words or lines changed, doubled, moved or lost."""
    words = [
        "[",
        "]",
        "(",
        ")",
        "end",
        "while",
        "if",
        "=",
        "-",
        "1e9",
        '"',
        "p[",
        "global",
        "run",
        "\n",
        ":",
        "0",
        "kill",
    ]
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text))
        kind = rng.randrange(4)
        size = rng.choice((1, 1, 3, 20))
        if kind == 0:
            text = text[:at] + text[at + size :]
        elif kind == 1:
            text = text[:at] + rng.choice(words) + text[at:]
        elif kind == 2:
            other = rng.randrange(len(text))
            text = text[:at] + text[other : other + size] + text[at:]
        else:
            text = (
                text[:at] + chr(rng.choice((9, 34, 35, 39, 92, 233, 0x4E00, rng.randrange(32, 127)))) + text[at + 1 :]
            )
        text = text or "a"
    return text


SEEDS = [
    """def one():
  global n = 0
  local l = [1, 2.5, -3]
  def f(a, b=2):
    l[1] = a * b / 3
    return l + [a, b, n]
  end
  thread t():
    while n < 5:
      enter_critical
      n = n + 1
      exit_critical
      sync()
    end
  end
  h = run t()
  x = f(2, b=f(1)[0])
  s = struct(a = x, b = "text")
  s.a[0] = norm(x) + s.a[2]
  textmsg(str_cat("x ", s), p[0.1, 0, n, 0, 0, 1][2])
  q = get_target_joint_positions()
  q[0] = q[0] + 0.01
  servoj(q, t=0.008, lookahead_time=0.1, gain=300)
  speedj([0.01, 0, 0, 0, 0, 0], 1, 0.01)
  movel(pose_trans(get_actual_tcp_pose(), p[0, 0, 0.001, 0, 0, 0]), a=1, v=0.1)
  join h
  switch n:
    case 5:
      stopj(2)
    end
    default:
      halt
    end
  end
  kill h
  m = make_list(3, 0, 10)
  m.append(4)
  write_output_float_register(m.length(), to_num("3.5") % 2)
  if socket_open("127.0.0.1", 9, "s", 0.01) or not get_digital_in(1) xor True:
    socket_send_int(3, "s")
  end
end
""",
    "movej([0, -1.57, 1.5, -1.57, -1.57, 0.1], a=1.4, v=1.05, t=0, r=0.01)\nset_tcp(p[0,0,0.1,0,0,0])\n",
    'def f(): while True: x = random() if x > 0.9: popup("a", "b") break end end end\nf()\n$ 2 "Waypoint_1"\n',
]


def escapes(count: int, seed: int) -> list[str]:
    """Run mutated texts as a port would; return faults that are no message of the controller."""
    rng = random.Random(seed)
    c = controller()
    found = []
    for _ in range(count):
        text = mutated(rng.choice(SEEDS), rng)
        reader, buffer = ScriptReader(), bytearray(text.encode() + b"\n")
        for _ in range(200):
            before = len(buffer)
            unit = reader.take(buffer)
            if unit is not None:
                run_text(c, unit)
            for _ in range(8):
                c.tick()
            found += [f"{record} in {text!r}" for record in c.outbox.take() if "internal_error" in str(record)]
            if len(buffer) == before and unit is None:
                break
        if c.state not in (ControllerState.READY, ControllerState.PLAYING):
            c = controller()
    return found


def test_mutated_texts_end_in_messages_of_the_controller():
    assert not escapes(200, seed=1)


@pytest.mark.thorough
def test_many_mutated_texts_end_in_messages_of_the_controller():
    assert not escapes(20_000, seed=2)


def test_programs_out_of_a_stream_end_where_their_end_is():
    stream = b"""
def a():
if True:
x = 1
end
end
movej([0,
 0])
a()
sec s(): y = "end" # end
end def b(): end
while False: sync() end
 textmsg(1) textmsg(2)
open([
def c():
end
"""
    reader, buffer, units = ScriptReader(), bytearray(stream), []
    for _ in range(100):
        unit = reader.take(buffer)
        if unit is not None:
            units.append(unit.strip())
    assert units == [
        "def a():\nif True:\nx = 1\nend\nend",
        "movej([0,\n 0])",
        "a()",
        'sec s(): y = "end" # end\nend',
        "def b(): end",
        "while False: sync() end",
        "textmsg(1) textmsg(2)",
        "open([",
        "def c():\nend",
    ]
