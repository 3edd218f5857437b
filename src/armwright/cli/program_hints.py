# SPDX-License-Identifier: Apache-2.0
"""Which option would make more moves of a program known: tried by reading it once more with each, not guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from armwright.cli.output import say
from armwright.errors import ArmwrightError

if TYPE_CHECKING:
    from armwright.programs import Program
    from armwright.programs.reading import ProgramReading
    from armwright.robot.model import Robot

MOST_READ = 400_000  # characters of a program that is read again
MOST_TESTS = 16  # that are decided otherwise, to see what they lead to


@dataclass(frozen=True)
class Hint:
    """An option that may make moves known: its words, what `read_program` is told by it, and what it takes for granted.

    `languages` are those whose programs have use for it.
    """

    option: str
    told: Callable[[Robot], dict[str, Any]]
    means: str
    languages: tuple[str, ...]


def _home(arm: Robot) -> dict[str, Any]:
    from armwright.programs import home_posture

    return {"start_q": home_posture(arm)}


HINTS = (
    Hint(
        "--assume-frames",
        lambda arm: {"assume_frames": True},
        "tools and frames that no file has are the flange and the base",
        ("rapid", "krl", "g-code"),
    ),
    Hint(
        "--config factory",
        lambda arm: {"config": "factory"},
        "speeds and corners that $config.dat would have are as shipped",
        ("krl",),
    ),
    Hint("--lock-external", lambda arm: {"lock_external": True}, "external axes carry no arm", ("krl", "g-code")),
    Hint(
        "--start home",
        _home,
        "the arm begins with its tool in front of the base, pointing down",
        ("rapid", "krl", "urscript"),
    ),
    Hint("--define F=600", lambda arm: {"define": {"F": 600.0}}, "a feed of 600 a minute", ("g-code",)),
)
"""Tried all together; then each is left out again that adds nothing."""
FILES = {
    "krl": "the controller's $config.dat (--config) has the true ones",
    "rapid": "the other files of the task (--more FILE, or the folder of the whole backup) have the true ones",
}


def reading_hint(program: Program, read: Callable[..., Program], told: dict[str, Any], arm: Robot) -> tuple[str, ...]:
    """Return what would make more moves of a program known, in sentences; nothing if all are known.

    Args:
        program: as it was read.
        read: reads it again.
        told: what the reader was told.
        arm: whose program it is.
    """
    reading = program.reading
    if reading is None or len(program.text) > MOST_READ:
        return ()
    if not reading.reached and reading.undecided:
        return (_other_branch(reading, read, told),)
    if not reading.gaps:
        return ()
    used = {hint: more for hint in HINTS if (more := _adds(hint, program.language, told, arm))}
    most = _known(read, told, used.values())
    for hint in reversed(HINTS):
        others = {one: more for one, more in used.items() if one is not hint}
        if hint in used and _known(read, told, others.values()) >= most:
            used = others
    first = reading.gaps[0]
    head = f"{reading.known} of {reading.reached} moves are known"
    if most <= reading.known:
        return (f"{head}; the first that is not is in line {first.line}: {first.reason}.",)
    options, means = " ".join(hint.option for hint in used), "; ".join(hint.means for hint in used)
    framed = any(hint.option == "--assume-frames" for hint in used)
    also = f"; {FILES[program.language]}" if framed and program.language in FILES else ""
    return (f"{head}; {most} would be with {options} ({means}){also}.",)


def _other_branch(reading: ProgramReading, read: Callable[..., Program], told: dict[str, Any]) -> str:
    """Return which test, decided otherwise, would lead to the most moves of a program that reaches none."""
    best, words = 0, ""
    for one in reading.undecided[::-1][:MOST_TESTS]:  # the program's own come behind those of what it begins with
        for way in range(len(one.ways)):
            if way != one.taken:
                known = _known(read, told, [{"choose": {**(told.get("choose") or {}), one.key: way}}])
                if known > best:
                    best, words = known, replace(one, taken=way).words
    count = len(reading.undecided)
    many = "" if count == 1 else "s"
    head = f"no move is reached: {count} test{many} or choice{many} that nothing decides"
    if not best:
        return f"{head}; --branches all tries each of them, --input says what is."
    return f"{head}; {best} moves would be with {words}; --branches all tries each of them, --input says what is."


def _adds(hint: Hint, language: str, told: dict[str, Any], arm: Robot) -> dict[str, Any]:
    """Return what a hint would tell the reader beyond what it was told; nothing if that is said, or of no use."""
    if language not in hint.languages:
        return {}
    try:
        more = hint.told(arm)
    except ArmwrightError:
        return {}
    if "start_q" in more and "robot" not in told:  # a --tool, of which the program knows nothing
        return {}
    if "define" in more:
        return {"define": {**more["define"], **told.get("define", {})}}
    return {} if any(told.get(name) is not None for name in more) else more


def _known(read: Callable[..., Program], told: dict[str, Any], more: Iterable[dict[str, Any]]) -> int:
    """Return how many moves are known if more is told."""
    for words in more:
        told = {**told, **words}
    try:
        found = read(**told).reading
    except ArmwrightError:
        return -1
    return -1 if found is None else found.known


def say_all(sentences: tuple[str, ...]) -> None:
    """Print sentences."""
    for words in sentences:
        say(words)
