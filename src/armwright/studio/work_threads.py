# SPDX-License-Identifier: Apache-2.0
"""Short work next to the event loop, in threads that nobody waits for at the end.

`asyncio.to_thread` would: the loop, and Python itself, end only when its threads have. What cannot be interrupted
(compiling, reading a large file) would hold up Ctrl-C. Work that may take long belongs into a process
(`armwright.studio.jobs`), which can be ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_at_work: set[threading.Thread] = set()


async def beside(work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Call something in a thread of its own, and wait for its result without holding up the event loop."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(finish: Callable[[Any], None], value: object) -> None:
        if not done.done():  # nobody waits any more
            finish(value)

    def run() -> None:
        try:
            result: tuple[Callable[[Any], None], object] = done.set_result, work(*given, **named)
        except BaseException as error:  # noqa: BLE001 - handed over to whoever waits
            result = done.set_exception, error
        _at_work.discard(threading.current_thread())
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, *result)

    thread = threading.Thread(target=run, name="studio work", daemon=True)
    _at_work.add(thread)
    thread.start()
    return await done


def busy() -> bool:
    """Return whether a thread is still at work, which the end of the process would have to wait for or cut off."""
    return any(thread.is_alive() for thread in _at_work.copy())
