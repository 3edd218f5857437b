# SPDX-License-Identifier: Apache-2.0
"""Messages of one length as a chunk of an MCAP file: laid out as rows of bytes, completed and listed at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.recording.formats.mcap_file import MESSAGE_HEAD
from armwright.recording.formats.mcap_read import MESSAGE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.recording.formats.mcap_file import McapFile


def message_rows(rows: int, channel: int, template: bytes) -> NDArray[np.uint8]:
    """Return `rows` message records with everything that does not change filled in."""
    head = MESSAGE_HEAD.pack(MESSAGE, MESSAGE_HEAD.size - 9 + len(template), channel, 0, 0, 0)
    return np.tile(np.frombuffer(head + template, dtype=np.uint8), (rows, 1))


def write_messages(mcap: McapFile, channel: int, messages: NDArray[np.uint8], stamps: NDArray[np.uint64]) -> None:
    """Write one chunk of equally long messages, whose heads are completed here, and its index."""
    count, width = messages.shape
    sequence = mcap.counts.get(channel, 0)
    np.ndarray((count,), "<u4", messages, 11, (width,))[:] = np.arange(sequence, sequence + count, dtype=np.uint32)
    for offset in (15, 23):
        np.ndarray((count,), "<u8", messages, offset, (width,))[:] = stamps
    listed = np.stack([stamps, np.arange(count, dtype=np.uint64) * np.uint64(width)], axis=1).astype("<u8")
    mcap.chunk(messages.data, (int(stamps[0]), int(stamps[-1])), {channel: listed})
