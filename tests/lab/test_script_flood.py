# SPDX-License-Identifier: Apache-2.0
"""Floods: a socket that is never empty, and loops of work with long lists."""

from types import SimpleNamespace

import pytest

from armwright.lab.script.script_sockets import ScriptSockets
from support.scripts import program, run

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
    "row": ("make_list(20000, [1], 20000)", "a[0] = [2]"),
    "part": ("struct(x=make_list(20000, [1], 20000), y=1)", "a.y = 2"),
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
