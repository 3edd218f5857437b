# SPDX-License-Identifier: Apache-2.0
"""Do the arguments of a call fit? By the one table for functions of the language, by their heads for the program's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from armwright.lab.script.script_faults import ScriptError, not_found
from armwright.lab.script.script_library import RUNS
from armwright.urscript import BUILTINS

if TYPE_CHECKING:
    from armwright.syntax.program_tree import Argument
    from armwright.syntax.scanner import Token
    from armwright.urscript import Builtin


class CallMatcher:
    """Matches calls for a controller of one version.

    Attributes:
        used: functions of the language that were found.
    """

    def __init__(self, version: tuple[int, ...]) -> None:
        """Take the version, such as (5, 11, 6, 0)."""
        self.version = version
        self.used: set[str] = set()

    def row(self, at: Token) -> Builtin:
        """Return the row of a function of the language.

        Raises:
            ScriptError: there is none, or this version does not have it.
        """
        row = BUILTINS.get(at.key)
        if row is None or not self.has(row):
            raise not_found(at.text, at.line, at.column)
        if at.key in RUNS:
            self.used.add(at.key)
        return row

    def has(self, row: Builtin) -> bool:
        """Return whether this version has a function."""
        return not row.since or self.version[:2] >= tuple(map(int, row.since.split(".")))

    def matched(
        self, at: Token, arguments: Sequence[Argument], names: Sequence[str], needed: Sequence[str]
    ) -> dict[str, Argument]:
        """Return arguments by the names of their parameters.

        Raises:
            ScriptError: one that fits none, one given twice, one that is missing.
        """
        given: dict[str, Argument] = {}
        for place, argument in enumerate(arguments):
            if not argument.name and place >= len(names):
                words = f"compile_error: {at.text} takes {len(names)} arguments, not {len(arguments)}"
                raise ScriptError(words, at.line, at.column)
            name = argument.name or names[place]
            if name not in names:
                words = f"compile_error: {at.text} has no argument {name!r}"
                raise ScriptError(words, argument.at.line, argument.at.column)
            if name in given:
                words = f"compile_error: {at.text} gets {name!r} twice"
                raise ScriptError(words, argument.at.line, argument.at.column)
            given[name] = argument
        for name in needed:
            if name not in given:
                raise ScriptError(f"compile_error: {at.text} lacks {name!r}", at.line, at.column)
        return given
