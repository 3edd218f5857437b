# SPDX-License-Identifier: Apache-2.0
"""``armwright studio``: the page in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from armwright.cli.option_groups import arm_command
from armwright.cli.option_words import Host, Json, Open
from armwright.cli.output import say, say_json_line, tell

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.studio.start_studio import Running


@arm_command(default="ur5")
def studio(
    arm: Robot,
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="0 takes any free one.")] = 8765,
    share: Annotated[bool, typer.Option("--share", help="Print a second address, for those who may only look.")] = (
        False
    ),
    recordings: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where recordings are kept; a folder of this user's data by default."),
    ] = None,
    browse: Open = False,
    json: Json = False,
) -> None:
    """Look at an arm, pull it, let it explore, look at recordings: a page in the browser, until Ctrl-C."""
    from armwright.studio.start_studio import is_loopback, leave, serve

    if not is_loopback(host):
        tell(
            f"warning: {host} can be reached from other machines, and nothing is encrypted; "
            "whoever has the address with its token may do everything"
        )

    def ready(at: Running) -> None:
        if json:
            say_json_line({"address": at.owner} | ({"view": at.viewer} if share else {}))
        else:
            say(f"studio: {at.owner}")
            if share:
                say(f"to look only: {at.viewer}")
            say("Ctrl-C ends it")
        if browse:
            import webbrowser

            webbrowser.open(at.owner)

    serve(arm, host=host, port=port, recordings=recordings, ready=ready)
    leave()
