# SPDX-License-Identifier: Apache-2.0
"""How far a campaign is, while it runs: one line that is rewritten on a terminal, a line now and then in a log."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from armwright.cli.output import tell

if TYPE_CHECKING:
    from armwright.campaigns import Progress

IN_LOG, ON_TERMINAL = 5.0, 0.2  # [s] between lines


def duration(seconds: float) -> str:
    """Write a duration as people say it: 42 s, 3 min 20 s, 2 h 05 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def line(now: Progress, start: int, elapsed: float) -> str:
    """Say items done, rate, failures and time left; `start` items were there `elapsed` seconds ago."""
    if now.preparing:
        return "preparing: what all items share is made once, such as thresholds that are learned"
    text = f"{now.done} of {now.items} items"
    rate = (now.done - start) / elapsed if elapsed > 0.0 else 0.0
    if rate > 0.0:
        text += f", {rate:.3g} per second"
    text += f", {now.failed} without a result"
    left = now.todo - (now.done - start)
    return text + (f", {duration(left / rate)} left" if rate > 0.0 and left > 0 else "")


@contextlib.contextmanager
def shown() -> Iterator[Callable[[Progress], None]]:
    """Yield what `run_campaign` calls with its progress."""
    live = sys.stderr.isatty()
    every = ON_TERMINAL if live else IN_LOG
    began = last = time.monotonic()
    start: int | None = None
    shows = False

    def show(now: Progress) -> None:
        nonlocal began, last, start, shows
        at = time.monotonic()
        if start is None and not now.preparing:
            start, began = now.done, at
        if start is not None and at - last < every and now.done - start < now.todo:
            return
        last, shows = at, True
        text = line(now, start or 0, at - began)
        if live:
            with contextlib.suppress(OSError):
                sys.stderr.write(f"\r\x1b[K{text}")
                sys.stderr.flush()
        else:
            tell(text)

    try:
        yield show
    finally:
        if live and shows:
            tell("")
