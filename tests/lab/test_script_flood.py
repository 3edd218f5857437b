# SPDX-License-Identifier: Apache-2.0
"""A program that reads a socket which is never empty goes on; one that reads and gets nothing new ends as a loop."""

from types import SimpleNamespace

import pytest

from armwright.lab.script.script_sockets import ScriptSockets
from support.scripts import run

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
