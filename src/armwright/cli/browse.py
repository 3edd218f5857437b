# SPDX-License-Identifier: Apache-2.0
"""Where a page can be seen: its address, and a browser if one is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from armwright.cli.output import say, tell

Open = Annotated[bool, typer.Option("--open", help="Show the report in a browser.")]


def show_page(file: str | Path | None, *, opened: bool, quiet: bool = False) -> None:
    """Print the address of a page that was written, unless quiet, and open it where that is asked for."""
    if file is None:
        if opened:
            tell("armwright: --open: no report was written")
        return
    address = Path(file).resolve().as_uri()
    if not quiet:
        say(address, lead="open ")
    if opened:
        import webbrowser

        if not webbrowser.open(address):
            tell(f"armwright: --open: no browser was found; open {address}")


def page_of(files: list[str]) -> str | None:
    """Return the page among the files that were written."""
    return next((file for file in files if file.lower().endswith((".html", ".htm"))), None)
