# SPDX-License-Identifier: Apache-2.0
"""How long tests wait for what must come. A busy machine is slow, so this guards against hangs and measures nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 300.0
"""[s] After which something that has not happened is taken never to happen."""


def until(happened: Callable[[], Any], what: str) -> Any:
    """Wait for an event in another thread or process; returns what `happened` returned."""
    end = time.monotonic() + PATIENCE
    while not (found := happened()):
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.005)  # between two looks; whatever it is, the event decides
    return found
