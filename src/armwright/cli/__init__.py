# SPDX-License-Identifier: Apache-2.0
"""The commands, thin: the user's words in, the library's answers out.

Exit codes: 0 all is well, 1 the answer is negative (findings, disagreement), 2 the request was wrong or its answer
cannot be written, 70 a defect of this program, 130 Ctrl-C, 141 the reader of standard output has gone.

Ctrl-C ends every command with one line. While a command works, it is the exception that the command may catch, to keep
what it has (`interruptible`). Before (while modules are loaded and the words are read) and after (while the interpreter
ends) there is nothing to keep, and an exception could come up anywhere: the process is left at once. As little as
possible is loaded before `main` runs, for until then an interrupt is Python's own.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # that of `typing`, which loads slowly
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType
    from typing import NoReturn

INTERRUPTED = 130  # exit code, as shells tell a process that Ctrl-C has ended
LOST_INTERRUPT_DELAY = 0.02  # [s], more than the way out of the hook for dropped exceptions takes
_SAID = b"armwright: interrupted\n"
_JSON = b'{"error": {"kind": "KeyboardInterrupt", "message": "interrupted"}}\n'


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        argv: arguments after the program name; if omitted, those of this process, which ends with the command: Ctrl-C
            is handled from here to its end.
    """
    try:
        import signal

        ours = argv is None and _takes_interrupts(signal)
        if ours:
            sys.unraisablehook = _interrupt_again
            signal.signal(signal.SIGINT, _leave_without_answer)
        from armwright.cli.app import run

        return run(argv)
    except KeyboardInterrupt:  # before this process could be left at once
        if argv is None:
            _leave()
        raise


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
        signal.signal(signal.SIGINT, _leave)
    except KeyboardInterrupt:  # once more, while the first was reported
        _leave()
    return code


def _leave_without_answer(*_: object) -> NoReturn:
    if "--json" in sys.argv:
        _write(1, _JSON)
    _leave()


def _leave(*_: object) -> NoReturn:
    """Say that Ctrl-C was pressed, and end the process here and now."""
    _write(2, _SAID)
    os._exit(INTERRUPTED)


def _write(descriptor: int, text: bytes) -> None:
    try:  # noqa: SIM105 (contextlib loads slowly)
        os.write(descriptor, text)
    except OSError:  # closed, or full: the exit code tells
        pass


def _takes_interrupts(signal: ModuleType) -> bool:
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
