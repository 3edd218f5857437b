# SPDX-License-Identifier: Apache-2.0
"""Options that had other names: the old ones are accepted for one release, with a line that says the new one.

They stand in no help. Old syntaxes of values (payloads, cells) are read by the parsers of their words.
"""

from __future__ import annotations

from collections.abc import Sequence

from armwright.cli.output import tell

RENAMED: dict[str, dict[str, tuple[str, ...]]] = {
    "simulate": {"--unknown-payload": ("--law-ignores-payload",)},
    "excite": {"--seconds": ("--duration",)},
    "tour": {"--seconds": ("--duration",)},
    "bench": {"--budget": ("--seconds-per-case",)},
    "reproduce": {"--report": ("--page",), "--no-report": ("--no-page",)},
    "run collision": {
        "--budget": ("--contacts",),
        "--noise": ("--sensors", "ur5"),
        "--contact": ("--touching",),
    },
    "run detection": {
        "--rate": ("--false-alarms",),
        "--drift": ("--friction-drift",),
        "--payload": ("--unknown-payload",),
    },
    "run program": {"--law": ("--timing",)},
    "lab serve": {
        "--ft": ("--ft-rate",),
        "--imu": ("--imu-rate",),
        "--offset": ("--clock-offset",),
        "--drift": ("--clock-drift",),
    },
    "lab record": {"--robot": ("--address",)},
    "lab move": {"--robot": ("--address",)},
}
"""By command: the old option, and the words that replace it."""
GROUPS = frozenset(name.split()[0] for name in RENAMED if " " in name)


def say_renamed(old: str, new: str) -> None:
    """Say on stderr what an old spelling is called now."""
    tell(f"armwright: {old} is now {new}; the old spelling goes with the next release")


def with_new_spellings(words: Sequence[str]) -> list[str]:
    """Return the words of a command line with old options replaced, each announced once; words after ``--`` stay."""
    command = " ".join(words[: 2 if words and words[0] in GROUPS else 1])
    renamed = RENAMED.get(command, {})
    end = words.index("--") if "--" in words else len(words)
    out: list[str] = []
    for word in words[:end]:
        name, equals, value = word.partition("=")
        if name not in renamed:
            out.append(word)
            continue
        say_renamed(f"{command} {name}", " ".join(renamed[name]))
        first, *more = renamed[name]
        out += [f"{first}{equals}{value}", *more]
    return [*out, *words[end:]]
