# SPDX-License-Identifier: Apache-2.0
"""Which names of a program belong to it as a whole, and which to one function.

``global`` names belong to the program, ``local`` ones and parameters to the function. Of the others, those that the
program assigned textually before the function are the program's, the rest the function's own. What the outermost
function sets, which the others stand in, belongs to the program, even what it calls ``local`` (manual, "Scoping
rules").
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from armwright.syntax import program_tree as tree

if TYPE_CHECKING:
    from armwright.syntax.program_tree import Block
    from armwright.syntax.scanner import Token
    from armwright.urscript.script_module import ScriptModule


def bind_names(module: ScriptModule) -> None:
    """Say which names each function keeps to itself.

    The rule is in the module's text; the answer is in ``module.bound``.
    """
    spans = {key: (r.at.line, r.last_line) for key, r in module.routines.items()}
    inside = {
        key: [o for o, s in spans.items() if o != key and s[0] <= spans[key][0] and spans[key][1] <= s[1]]
        for key in spans
    }
    program = [at for at, _ in set_names(module.top)]
    wide: set[str] = set()
    first_level = {key for key in spans if not inside[key] and any(key in around for around in inside.values())}
    for key, routine in module.routines.items():
        names = list(set_names(routine.body))
        wide |= {at.key for at, storage in names if storage == "global"}
        if key in first_level:
            program += [at for at, _ in names]
    first_line: dict[str, int] = {}  # in which the program sets a name
    for at in program:
        first_line[at.key] = min(at.line, first_line.get(at.key, at.line))
    for key, routine in module.routines.items():
        own = {p.at.key for p in routine.parameters}
        for at, storage in set_names(routine.body):
            before = key in first_level or first_line.get(at.key, routine.at.line) < routine.at.line
            if (storage == "local" and key not in first_level) or (not storage and not before and at.key not in wide):
                own.add(at.key)
        module.bound[key] = own


def set_names(block: Block) -> Iterator[tuple[Token, str]]:
    """Yield the names that statements set, each with its storage: "global", "local" or nothing."""
    for statement in tree.statements_in(block):
        if isinstance(statement, tree.Declare):
            yield statement.at, statement.storage
        elif isinstance(statement, tree.Assign) and isinstance(statement.target, tree.Name):
            yield statement.target.at, ""
