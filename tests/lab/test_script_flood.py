# SPDX-License-Identifier: Apache-2.0
"""Floods: a socket that is never empty, and loops of work with long lists."""

from types import SimpleNamespace

import numpy as np
import pytest

from armwright.lab.script.script_machine import COUNTED_PER_WORK, FRAME_WORK
from armwright.lab.script.script_memory import MOST_KEPT
from armwright.lab.script.script_sockets import ScriptSockets
from support.scripts import controller, program, run, run_text

READS = """def prog():
  n = 0
  while True:
    got = socket_read_binary_integer(1, "s", 1.0)
    n = n + got[0]
    write_output_integer_register(0, n)
{more}  end
end
"""
BUSY = "    k = 0\n    while k < 5000:\n      k = k + 1\n    end\n"


@pytest.mark.parametrize("more", ["", BUSY])
def test_reading_what_never_ends_is_no_infinite_loop(monkeypatch, more):
    flood = SimpleNamespace(connected=True, arrived=bytearray())

    def find(sockets, name):
        flood.arrived[:] = bytes([0, 0, 0, 1]) * 4  # a client that sends without a pause
        return flood

    monkeypatch.setattr(ScriptSockets, "find", find)
    ran = run(READS.format(more=more), ticks=600)
    assert ran.faults == [] and ran.ticks == 600
    assert ran.c.registers.out_ints[0] > 100


def test_a_loop_that_reads_from_nowhere_still_ends():
    ran = run(READS.format(more=""), ticks=600)
    assert [text for _, _, text in ran.faults] == ["infinite loop: no instruction takes time for 0.5 s"]


LONG = {
    "sum": ("make_list(4000, 0.5, 4000)", "b = a + a"),
    "difference": ("make_list(4000, 0.5, 4000)", "b = a - a"),
    "sign": ("make_list(4000, 0.5, 4000)", "b = -a"),
    "share": ("make_list(4000, 0.5, 4000)", "b = a / 2"),
    "multiple": ("make_list(4000, 0.5, 4000)", "b = 2 * a"),
    "comparison": ("make_list(60000, 0.5, 60000)", "b = a == a"),
    "matrices": ("make_list(16, make_list(16, 0.5, 16), 16)", "b = a * a"),
    "row": ("make_list(3000, [1], 3000)", "a[0] = [2]"),
    "part": ("struct(x=make_list(3000, [1], 3000), y=1)", "a.y = 2"),
}


@pytest.mark.parametrize("case", LONG)
def test_work_with_long_lists_is_charged(case):
    made, work = LONG[case]
    body = f"  a = {made}\n  n = 0\n  while True:\n    {work}\n"
    frames = 20
    ran = run(program(body + "    n = n + 1\n    write_output_integer_register(0, n)\n  end\n"), ticks=frames)
    assert ran.faults == []
    assert 0 < ran.c.registers.out_ints[0] <= 8 * frames  # hundreds a frame, if it cost as much as with numbers


@pytest.mark.parametrize("call", ("popup(a)", "textmsg(a)", 'b = str_find(a, "y")', 'socket_send_string(a, "none")'))
def test_long_texts_are_charged(call):
    double = "  a = str_cat(a, a)\n" * 12
    body = f'  a = "12345678"\n{double}  n = 0\n  while True:\n    {call}\n'
    ran = run(program(body + "    n = n + 1\n    write_output_integer_register(0, n)\n  end\n"), ticks=60)
    assert ran.faults == []
    assert 0 < ran.c.registers.out_ints[0] <= 8 * 60


def test_an_item_of_a_long_list_costs_as_little_as_a_number():
    body = "  a = make_list(60000, 0.5, 60000)\n  n = 0\n  while True:\n    a[7] = n\n"
    ran = run(program(body + "    n = n + 1\n    write_output_integer_register(0, n)\n  end\n"), ticks=20)
    assert ran.c.registers.out_ints[0] > 100 * 20


# the frame as a whole


def works_of(text, frames):
    """Run a program; the work of each frame, in passes of an empty loop."""
    c = controller()
    run_text(c, text)
    machine, found = c.program, []
    for _ in range(frames):
        before = machine._left
        c.tick()
        if c.program is None:
            break
        found.append(min(FRAME_WORK, before + FRAME_WORK) - machine._left)
    return c, found


HEAVY = """def prog():
{threads}  while True:
    sync()
  end
end
"""
ONE = """  thread t{k}():
    a = make_list(10000, 0.5, 10000)
    while True:
      b = a
      sync()
    end
  end
  run t{k}()
"""


def test_many_threads_with_heavy_statements_share_one_frame():
    text = HEAVY.format(threads="".join(ONE.format(k=k) for k in range(8)))
    _, works = works_of(text, 200)
    assert len(works) == 200, "it runs on"
    heaviest = (
        2 * 10000 // 16 + 100 + MOST_KEPT // COUNTED_PER_WORK
    )  # a statement of one thread, and its memory counted
    assert max(works) <= FRAME_WORK + heaviest
    assert np.mean(works) <= FRAME_WORK * 1.05, "what a frame overdraws is saved in those behind it"


def test_threads_that_had_no_turn_come_first_in_the_next_frame():
    threads = "".join(ONE.format(k=k).replace("b = a\n", f"b = a\n      n{k} = n{k} + 1\n") for k in range(6))
    counts = "".join(f"  n{k} = 0\n" for k in range(6))
    shown = "".join(f"    write_output_integer_register({k}, n{k})\n" for k in range(6))
    text = f"def prog():\n{counts}{threads}  while True:\n{shown}    sync()\n  end\nend\n"
    c, _ = works_of(text, 300)
    turns = c.registers.out_ints[:6]
    assert min(turns) > 20 and max(turns) - min(turns) <= 2, f"none starves: {turns}"


def test_one_statement_that_does_too_much_is_a_fault_where_it_stands():
    ran = run(program("  a = make_list(4000, 0.5, 4000)\n  b = " + " + ".join(["a"] * 20) + "\n"))
    assert [(line, text) for line, _, text in ran.faults] == [
        (8, "too much work in one statement: nothing else could run meanwhile")
    ]


# memory


def test_the_memory_of_all_values_together_is_limited():
    lists = "".join(f"  a{k} = make_list(60000, 0.5, 60000)\n  sync()\n" for k in range(8))
    ran = run(f"def prog():\n{lists}  while True:\n    sync()\n  end\nend\n", ticks=300)
    assert [text for _, _, text in ran.faults] == [
        f"out of memory: more than {MOST_KEPT} items in all values of the program"
    ]
    assert 2 < ran.faults[0][0] < 18, "at the place where it went on"


@pytest.mark.parametrize(
    "more",
    [
        "  def f(n):\n    a = make_list(20000, 0.5, 20000)\n    sync()\n    if n > 0:\n      f(n - 1)\n    end\n  end\n"
        "  f(40)\n",  # in variables of functions under way
        "  def g(n):\n    sync()\n    if n > 0:\n      return length(make_list(20000, 1, 20000)) + g(n - 1)\n    end\n"
        "    return 0\n  end\n  def h(a, n):\n    sync()\n    if n > 0:\n"
        "      h(make_list(20000, 0.5, 20000), n - 1)\n    end\n  end\n  h(0, 40)\n",  # in arguments
        "".join(
            f"  thread t{k}():\n    a = make_list(20000, 0.5, 20000)\n    while True:\n      sync()\n    end\n  end\n"
            f"  run t{k}()\n"
            for k in range(20)
        )
        + "  sleep(0.5)\n",  # in threads
        '  global s = [""]\n  t = "12345678"\n'
        + "  t = str_cat(t, t)\n" * 12
        + "  while True:\n    s.append(str_cat(t, to_str(length(s))))\n    sync()\n  end\n",
    ],
)
def test_memory_is_counted_wherever_it_is_kept(more):
    ran = run(f"def prog():\n{more}end\n", ticks=800)
    assert any("out of memory" in text for _, _, text in ran.faults), ran.faults


def test_values_that_are_dropped_do_not_count():
    body = "  n = 0\n  while n < 200:\n    a = make_list(60000, 0.5, 60000)\n    n = n + 1\n    keep(n)\n  end\n"
    ran = run(program(body.replace("    keep(n)\n", "")), ticks=2000)
    assert ran.faults == [] and ran.c.program is None
