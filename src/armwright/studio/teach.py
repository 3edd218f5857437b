# SPDX-License-Identifier: Apache-2.0
"""The studio with one arm, beside the program that asked for it: for notebooks and interactive sessions."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any

from armwright.studio.serve import Running, serve

if TYPE_CHECKING:
    from armwright.robot.model import Robot


def teach(robot: Robot, *, port: int = 0, browser: bool = True) -> Running:
    """Open the studio with an arm (extra ``[studio]``): jog it, drag its tool, pull it. Returns at once.

    Args:
        robot: the arm.
        port: to serve on, on this machine only; 0 takes any free one.
        browser: open it in a browser.

    Returns:
        What runs: ``.owner`` is its address, ``.stop()`` ends it; it ends with the program anyway.
    """
    heard: queue.Queue[Any] = queue.Queue()

    def work() -> None:
        try:
            serve(robot, port=port, ready=heard.put)
        except BaseException as error:  # noqa: BLE001 - handed over to the caller, who waits
            heard.put(error)

    threading.Thread(target=work, name="armwright-studio", daemon=True).start()
    found = heard.get()
    if isinstance(found, BaseException):
        raise found
    if browser:
        import webbrowser

        webbrowser.open(found.owner)
    return found  # type: ignore[no-any-return]
