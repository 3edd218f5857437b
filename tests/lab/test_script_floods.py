# SPDX-License-Identifier: Apache-2.0
"""A client that sends without a pause keeps a program busy with reading; that is no endless loop."""

from __future__ import annotations

import contextlib
import socket
import struct

from armwright.lab.controller.controller_messages import RuntimeExceptionMessage
from armwright.lab.script.script_machine import LONGEST_LOOP
from support.patience import PATIENCE
from support.scripts import controller, run_text

READER = """def reader():
  socket_open("127.0.0.1", PORT, "flood")
  count = 0
  while True:
    read = socket_read_binary_integer(2, "flood", 0.1)
    count = count + read[0]
    write_output_integer_register(0, count)
  end
end
"""
TICKS = round(2 * LONGEST_LOOP / 0.002)


def test_reading_what_comes_without_a_pause_is_no_endless_loop():
    c, said = controller(), []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE)
        run_text(c, READER.replace("PORT", str(server.getsockname()[1])))
        c.tick()
        with server.accept()[0] as peer:
            peer.setblocking(False)
            for k in range(TICKS):
                with contextlib.suppress(BlockingIOError):  # it is full: there is more to read than a frame can
                    peer.sendall(struct.pack(">2i", k, 0) * 2000)
                c.tick()
                said += c.outbox.take()
            assert c.program is not None
            c.program.close()
    assert not [m.text for m in said if isinstance(m, RuntimeExceptionMessage)]
    assert c.registers.out_ints[0] > 20 * TICKS  # it did nothing but read
