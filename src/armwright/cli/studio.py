# SPDX-License-Identifier: Apache-2.0
"""``armwright studio``: the page in the browser."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from armwright.cli import option_words
from armwright.cli.failures import fail
from armwright.cli.option_groups import arm_command
from armwright.cli.option_words import Host, Json, Open, address, address_option, payload_option
from armwright.cli.output import say, say_json_line, tell

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.studio.mirror_arm import WireHost
    from armwright.studio.start_studio import Running


@dataclass(frozen=True)
class MirrorOptions:
    """A robot that is looked at."""

    wire: Annotated[
        str | None, address_option("--wire", "A UR that is looked at over RTDE, instead of a simulated arm.")
    ] = None
    model: Annotated[
        Path | None,
        typer.Option(
            "--model", metavar="FILE", help="With --wire: its model, by which forces are felt; it is the arm."
        ),
    ] = None
    payload: Annotated[str | None, payload_option("With --model: what the tool carries.")] = None

    def host(self) -> WireHost | None:
        """Return what is to be mirrored; None without a wire."""
        if self.wire is None:
            if self.model is not None or self.payload is not None:
                fail("studio: --model and --payload go with --wire HOST")
            return None
        from armwright.identify.external_torque import point_mass
        from armwright.identify.model_file import load_model
        from armwright.lab.wire.rtde import PORT
        from armwright.studio.mirror_arm import WireHost

        host, port = address(self.wire, "--wire")
        if self.model is None:
            if self.payload is not None:
                fail("studio --wire: --payload goes with --model FILE")
            return WireHost(host, port or PORT)
        model = load_model(self.model)
        carried = None if self.payload is None else point_mass(model, *option_words.payload(self.payload))
        return WireHost(host, port or PORT, model, carried)


@arm_command(default="ur5")
def studio(
    *,
    arm: Robot,
    mirror: MirrorOptions,
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
    """Look at an arm, pull it, let it explore, look at recordings: a page in the browser, until Ctrl-C.

    With --wire the live arm is a UR that is listened to over RTDE. Not a safety function: nothing is sent, nothing
    stopped.
    """
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

    wire = mirror.host()
    robot = arm if wire is None or wire.identified is None else wire.identified.robot
    serve(robot, host=host, port=port, recordings=recordings, wire=wire, ready=ready)
    leave()
