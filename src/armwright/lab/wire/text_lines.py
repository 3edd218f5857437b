# SPDX-License-Identifier: Apache-2.0
"""Lines of text that arrive in pieces."""

from __future__ import annotations


def first_line(buffer: bytearray, most: int) -> str | None:
    """Take the first line off a buffer, without its end; None if it is not whole yet.

    Args:
        buffer: what has arrived.
        most: bytes that a line may have.

    Raises:
        ValueError: a line that is longer.
    """
    end = buffer.find(b"\n", 0, most + 1)
    if end < 0:
        if len(buffer) > most:
            raise ValueError(f"a line of more than {most} bytes")
        return None
    line = buffer[:end].decode("utf-8", errors="replace")
    del buffer[: end + 1]
    return line.rstrip("\r")
