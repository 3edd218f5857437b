# SPDX-License-Identifier: Apache-2.0
"""Text and numbers for a page: JSON and arrays in one block of bytes, compressed, as text that HTML can carry.

Layout before compression: length of the JSON (uint32, little-endian), the JSON in UTF-8, filled with blanks to a
multiple of 8, then the arrays one after another. In the JSON an array is ``{"$": [type, offset, shape]}``, the offset
in bytes from the end of the JSON; types are f4 and f8. `page/boot.js` reads it.
"""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import numpy as np

from armwright.types import Array


class Packed:
    """Collects arrays and returns what stands for them in the JSON."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._parts: list[bytes] = []
        self._size = 0

    def array(self, values: Array, *, exact: bool = False) -> dict[str, Any]:
        """Keep an array in single precision, or exactly; every array begins at a multiple of 8 bytes."""
        data = np.ascontiguousarray(values, dtype="<f8" if exact else "<f4")
        raw = data.tobytes()
        raw += bytes(-len(raw) % 8)
        place = {"$": ["f8" if exact else "f4", self._size, list(data.shape)]}
        self._parts.append(raw)
        self._size += len(raw)
        return place

    def text(self, content: Any) -> str:
        """Return JSON and arrays as base64 of a gzip stream."""
        head = json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
        head += b" " * (-(len(head) + 4) % 8)
        return as_text(len(head).to_bytes(4, "little") + head + b"".join(self._parts))


def as_text(data: bytes, level: int = 6) -> str:
    """Return bytes as base64 of a gzip stream; the same bytes give the same text, whenever it is made."""
    return base64.b64encode(gzip.compress(data, level, mtime=0)).decode()
