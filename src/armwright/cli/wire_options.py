# SPDX-License-Identifier: Apache-2.0
"""Options of commands that listen to a robot on the wire."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from armwright.cli.failures import fail
from armwright.cli.option_words import address_option, duration_option, out_option

EVERY_SECONDS = 0.5  # between two rows of a table that scrolls


@dataclass(frozen=True)
class WireListening:
    """A robot, for how long, what is written."""

    wire: Annotated[str | None, address_option("--wire", "A UR that is listened to over RTDE, instead of a file.")] = (
        None
    )
    out: Annotated[
        Path | None, out_option("FILE.mcap|FILE.csv", "With --wire: what was heard and felt, as it comes.")
    ] = None
    duration: Annotated[float | None, duration_option("With --wire: how long to listen.", least=0.1)] = None
    every: Annotated[
        float | None, typer.Option("--every", metavar="SECONDS", min=0.0, help="With --wire: between two rows.")
    ] = None

    def refuse(self, command: str) -> None:
        """Refuse options that need a robot."""
        given = [
            word
            for word, value in (("--out", self.out), ("--duration", self.duration), ("--every", self.every))
            if value is not None
        ]
        if given:
            fail(f"{command}: {', '.join(given)} {'goes' if len(given) == 1 else 'go'} with --wire HOST")
