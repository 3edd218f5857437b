# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C from the first line of `armwright.cli.main` to the end of the process; see `armwright.cli`.

Little is imported here, and slowly loading modules only when they are needed: until this module is loaded, an interrupt
is Python's own.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # that of `typing`, which loads slowly
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import NoReturn

INTERRUPTED = 130  # exit code, as shells tell a process that Ctrl-C has ended
LOST_INTERRUPT_DELAY = 0.02  # [s], more than the way out of the hook for dropped exceptions takes
_SAID = b"armwright: interrupted\n"
_JSON = b'{"error": {"kind": "KeyboardInterrupt", "message": "interrupted"}}\n'


def take_interrupts() -> None:
    """Have Ctrl-C end the process at once with one line, unless it is ignored or somebody else's."""
    import signal

    if _is_ours(signal):
        sys.unraisablehook = _interrupt_again
        signal.signal(signal.SIGINT, _leave_without_answer)


def interruptible(work: Callable[[], int]) -> int:
    """Return what `work` returns; while it runs, Ctrl-C raises `KeyboardInterrupt`, and from then on ends the process.

    Where Ctrl-C is not ours (see `main`), nothing is changed.
    """
    import signal

    if signal.getsignal(signal.SIGINT) is not _leave_without_answer:
        return work()
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = work()
        signal.signal(signal.SIGINT, leave)
    except KeyboardInterrupt:  # once more, while the first was reported
        leave()
    return code


def _leave_without_answer(*_: object) -> NoReturn:
    if "--json" in sys.argv:
        _write(1, _JSON)
    leave()


def leave(*_: object) -> NoReturn:
    """Say that Ctrl-C was pressed, and end the process here and now."""
    _write(2, _SAID)
    os._exit(INTERRUPTED)


def _write(descriptor: int, text: bytes) -> None:
    try:  # noqa: SIM105 (contextlib loads slowly)
        os.write(descriptor, text)
    except OSError:  # closed, or full: the exit code tells
        pass


def _is_ours(signal: ModuleType) -> bool:
    """Whether Ctrl-C is Python's to handle: not if it is ignored (``nohup``), or handled by a host of ours."""
    import threading

    here = threading.current_thread() is threading.main_thread()
    return here and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _interrupt_again(lost: sys.UnraisableHookArgs) -> None:
    """Let an interrupt that came up in a destructor or callback, where Python drops exceptions, come up once more."""
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    import signal
    import threading
    import time

    def later() -> None:  # in here it would be dropped again
        time.sleep(LOST_INTERRUPT_DELAY)
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)  # which ends a wait, too
        else:
            signal.raise_signal(signal.SIGINT)

    threading.Thread(target=later, daemon=True).start()
