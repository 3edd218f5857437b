# SPDX-License-Identifier: Apache-2.0
"""Options of commands that move an arm on the wire, and how a person is asked. Not a safety function."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from armwright.cli.failures import fail
from armwright.cli.option_words import address, address_option, numbers
from armwright.cli.output import say

if TYPE_CHECKING:
    from armwright.live.dead_man import DeadMan
    from armwright.live.wire_consent import Consent
    from armwright.live.wire_limits import Fence
    from armwright.live.wire_riding import WireAddress

NO_DEAD_MAN = "none"
DRY_RUN_PAGE = "dry-run.html"
BY_A_PERSON = "a person at the terminal"


@dataclass(frozen=True)
class WireWatched:
    """An arm on the wire, where it may be, and who watches."""

    wire: Annotated[str | None, address_option("--wire", "Not a safety function: a UR on the wire is moved.")] = None
    fence: Annotated[
        str | None,
        typer.Option(
            metavar="X,Y,Z:X,Y,Z",
            help="With --wire: two corners of the box that the tool stays in [m]; around the dry run by default.",
        ),
    ] = None
    force: Annotated[
        float, typer.Option(metavar="NEWTON", help="With --wire: at the tool, given way to at once; 100 at most.")
    ] = 60.0
    rehearse: Annotated[
        float, typer.Option(metavar="SECONDS", min=10.0, help="With --wire: of each of the two rehearsals.")
    ] = 60.0
    dead_man: Annotated[
        str | None,
        typer.Option(metavar="space|di0…di17|none", help="With --wire: held while it moves. None: loopback only."),
    ] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --wire: look everything over, write the page, move nothing.")
    ] = False
    yes: Annotated[
        bool, typer.Option("--yes", help="With --wire: confirm everything, for a virtual controller at 127.x.y.z only.")
    ] = False

    def refuse(self, command: str) -> None:
        """Refuse options that need an arm on the wire."""
        usual = type(self)()
        names = [field.name for field in fields(self) if field.name != "wire"]
        given = [f"--{name.replace('_', '-')}" for name in names if getattr(self, name) != getattr(usual, name)]
        if given:
            fail(f"{command}: {', '.join(given)} {'goes' if len(given) == 1 else 'go'} with --wire HOST")


@dataclass(frozen=True)
class WireDriving(WireWatched):
    """Options of an exploration with an arm on the wire."""

    model: Annotated[
        Path | None, typer.Option("--model", metavar="FILE", help="With --wire: the arm, from `identify --out`.")
    ] = None
    tool_speed: Annotated[float, typer.Option(metavar="M/S", help="With --wire: of the tool, 0.1 at most.")] = 0.05
    lift: Annotated[float, typer.Option(metavar="METRES", help="With --wire, on maps: rehearses so high above.")] = 0.12
    free: Annotated[
        float, typer.Option(metavar="RAD", help="With --wire, whole arm: rehearses with joints so near the start.")
    ] = 0.15


def wire_address(word: str) -> WireAddress:
    """Return the controller that ``--wire`` names."""
    from armwright.live.wire_riding import WireAddress

    host, port = address(word, "--wire")
    return WireAddress(host) if port is None else WireAddress(host, port)


def fence_of(text: str | None) -> Fence | None:
    """Return the box that ``--fence`` gives, the elbow anywhere; None where none is given."""
    import numpy as np

    from armwright.live.wire_limits import Fence

    if text is None:
        return None
    corners = [numbers(part, f"--fence {text!r}") for part in text.split(":")]
    if len(corners) != 2 or any(len(corner) != 3 for corner in corners):
        fail(f"--fence {text}: expected two corners, such as 0.1,-0.3,-0.02:0.7,0.3,0.2")
    low, high = (np.asarray(corner, dtype=np.float64) for corner in corners)
    return Fence(np.minimum(low, high), np.maximum(low, high))


def held_by(asked: WireWatched, host: str) -> DeadMan | None:
    """Return the dead-man, None where none is needed: towards a virtual controller."""
    from armwright.live.dead_man import dead_man
    from armwright.live.wire_checks import is_loopback

    word = asked.dead_man or (NO_DEAD_MAN if asked.yes else "space")
    if word == NO_DEAD_MAN:
        if not is_loopback(host):
            fail(f"--dead-man none: somebody holds one, except towards a virtual controller at 127.x.y.z, not {host}")
        return None
    return dead_man(word)


def ready_to_ask(asked: WireWatched, out: Path | None, form: str) -> None:
    """Refuse at once what would be refused when everything has been computed and confirmed.

    Args:
        asked: the options.
        out: where page and recordings go.
        form: of `--out`, for the text.
    """
    from armwright.live.wire_consent import consents

    assert asked.wire is not None
    if out is None and not asked.yes:
        fail(f"--wire: the dry run is looked at before an arm moves: give --out {form}")
    if asked.dry_run:
        return
    host = wire_address(asked.wire).host
    if asked.yes:
        consents(host, (), None)  # refuses it towards an arm
    elif not sys.stdin.isatty():
        fail("--wire: a person confirms at a terminal before an arm moves, and standard input is none")
    held_by(asked, host)


def consented(asked: WireWatched, host: str, sentences: tuple[str, ...]) -> tuple[Consent, ...]:
    """Ask a person at the terminal for every sentence, or nobody with ``--yes``."""
    from armwright.live.wire_consent import consents

    ask: Callable[[str], bool] | None = None
    if not asked.yes:
        say("NOT A SAFETY FUNCTION. Confirm each of these with yes; anything else ends it, and nothing moves.")

        def ask(sentence: str) -> bool:
            say(sentence)
            return input("yes? ").strip().lower() == "yes"

    return consents(host, sentences, ask, BY_A_PERSON)
