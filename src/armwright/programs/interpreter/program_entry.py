# SPDX-License-Identifier: Apache-2.0
"""Which routine of a program is run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from armwright.errors import ProgramError
from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Module, Routine

MOST_LISTED = 12


def entry_of(
    modules: Sequence[Module],
    wanted: str | None,
    file_name: str,
    kinds: tuple[str, ...],
    *,
    motion: Collection[str] = (),
    tell: Callable[[Routine], None] = lambda routine: None,
    main: str = "main",
) -> Routine | None:
    """Return the routine to run: the wanted one, `main`, one named like the file, or the only one that nobody calls.

    If nobody calls several, it is the only one of them that moves the arm by words of `motion`, and `tell` is told.
    Returns None for files without any routine of `kinds`; `ProgramError` lists the candidates if there are several.
    """
    routines = {r.at.key: r for m in reversed(modules) for r in m.routines.values() if r.kind in kinds}
    file = modules[0].file
    names = ", ".join(r.at.text for r in list(routines.values())[:MOST_LISTED])
    if wanted is not None:
        found = routines.get(wanted.lower())
        if found is None:
            raise ProgramError(f"no routine {wanted!r} to run", file=file, valid=f"one of {names or 'none'}")
        return found
    for key in (main, file_name.lower()):
        if key in routines:
            return routines[key]
    called = {
        s.at.key
        for m in modules
        for r in m.routines.values()
        for s in tree.statements_in(r.body)
        if isinstance(s, tree.Invoke)
    }
    free = [r for r in routines.values() if not r.parameters]
    if len(free) == 1:
        return free[0]
    top = [r for r in free if r.at.key not in called]
    if len(top) == 1:
        return top[0]
    moving = _moving(routines, motion)
    going = [r for r in top if r.at.key in moving]
    if len(going) == 1:
        tell(going[0])
        return going[0]
    if not free:
        return None
    names = ", ".join(f"{r.at.text} (line {r.at.line})" for r in (top or free)[:MOST_LISTED])
    raise ProgramError(
        "which procedure is the program? There is no main, and several are called by nobody",
        file=file,
        line=free[0].at.line,
        valid=f"--entry with one of {names}",
    )


def _moving(routines: Mapping[str, Routine], motion: Collection[str]) -> set[str]:
    """Return the names of routines that move the arm, by themselves or by what they call."""
    calls = {
        key: {s.at.key for s in tree.statements_in(r.body) if isinstance(s, tree.Invoke)} for key, r in routines.items()
    }
    found: set[str] = set()
    words = set(motion)
    while more := {key for key, called in calls.items() if called & words} - found:
        found |= more
        words = more
    return found
