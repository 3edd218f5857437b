# SPDX-License-Identifier: Apache-2.0
"""The commands, thin: the user's words in, the library's answers out.

Exit codes: 0 all is well, 1 the answer is negative (findings, disagreement), 2 the request was wrong or its answer
cannot be written, 70 a defect of this program, 130 Ctrl-C, 141 the reader of standard output has gone.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        argv: arguments after the program name; ``sys.argv[1:]`` if omitted.
    """
    from armwright.cli.app import run

    return run(argv)
