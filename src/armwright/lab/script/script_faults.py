# SPDX-License-Identifier: Apache-2.0
"""What ends a program of the machine: a fault with its words, a place in the text, and the ways to leave early."""

from __future__ import annotations

from armwright.errors import ProgramError


class ScriptFault(Exception):  # noqa: N818 - becomes a message with its place
    """Something that the controller calls a runtime exception; its place is where it was raised."""


class ScriptHalt(Exception):  # noqa: N818 - flow, not an error
    """``halt``: the whole program ends."""


class ThreadEnd(Exception):  # noqa: N818 - flow, not an error
    """A thread kills itself."""


class ScriptError(ProgramError):
    """A text that cannot be run; `words` is what the controller says of it, without the place."""

    def __init__(self, words: str, line: int, column: int) -> None:
        """Keep the words as they go to clients."""
        super().__init__(words, line=line, column=column)
        self.words = words


def not_found(name: str, line: int, column: int) -> ScriptError:
    """Return the controller's error for a name that nothing has."""
    return ScriptError(f"compile_error_name_not_found:{name}:", line, column)
