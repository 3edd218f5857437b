# SPDX-License-Identifier: Apache-2.0
"""The commands, thin: the user's words in, the library's answers out.

Exit codes: 0 all is well, 1 the answer is negative (findings, disagreement), 2 the request was wrong or its answer
cannot be written, 70 a defect of this program, 130 Ctrl-C, 141 the reader of standard output has gone.

Ctrl-C ends every command with one line (`armwright.cli.interrupts`). While a command works, it is the exception that
the command may catch, to keep what it has. Before (while modules are loaded and the words are read) and after (while
the interpreter ends) there is nothing to keep, and an exception could come up anywhere: the process is left at once. As
little as possible is loaded before `main` runs, for until then an interrupt is Python's own.
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of `typing`, which loads slowly
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        argv: arguments after the program name; if omitted, those of this process, which ends with the command: Ctrl-C
            is handled from here to its end.
    """
    if argv is not None:
        from armwright.cli.app import run

        return run(argv)
    try:
        from armwright.cli.interrupts import take_interrupts

        take_interrupts()
        from armwright.cli.app import run

        return run(None)
    except KeyboardInterrupt:  # before this process could be left at once
        from armwright.cli.interrupts import leave

        leave()
