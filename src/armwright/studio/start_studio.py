# SPDX-License-Identifier: Apache-2.0
"""Start the studio: until Ctrl-C (`serve`), or next to the program that asked for it (`teach`).

`serve` binds a port, says where it is, and serves. `teach` opens the studio with one arm in a thread: it stays open as
long as the notebook or the interactive session, and a script that has come to its end stays until Ctrl-C.
"""

from __future__ import annotations

import asyncio
import atexit
import builtins
import errno
import ipaddress
import os
import queue
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armwright.errors import ArmwrightError, InputError
from armwright.packages import need
from armwright.schema.checks import MOST_BYTES
from armwright.studio.work_threads import busy

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.studio.mirror_arm import WireHost
    from armwright.studio.studio_state import Studio

PORT = 8765
GRACE = 1  # [s] that open pages have to end
CTRL_C_INTERVAL = 0.2  # [s] after which a wait looks for Ctrl-C, where the system does not interrupt it


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket; a port that is taken is an error, never another port.

    Raises:
        InputError: the port is taken or the address is not this machine's.
    """
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        door = socket.socket(family, kind, proto)
    except OSError as error:
        raise InputError(f"studio: {host!r} is no address of this machine ({error.strerror or error})") from None
    try:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind(address)
        door.listen(64)
    except OSError as error:
        door.close()
        if error.errno == errno.EADDRINUSE:
            raise InputError(
                f"studio: port {port} of {host} is taken; choose another with --port, or --port 0 for any free one"
            ) from None
        raise InputError(f"studio: cannot listen on {host}:{port} ({error.strerror or error})") from None
    return door


def hosts_of(host: str, port: int) -> frozenset[str]:
    """Return the Host headers that belong to this server; browsers leave out port 80."""
    names = {host if ":" not in host else f"[{host}]"}
    if is_loopback(host):
        names |= {"127.0.0.1", "localhost", "[::1]"}
    if host in ("0.0.0.0", "::"):
        raise InputError("studio: name one address of this machine; with all of them there is no host name to check")
    return frozenset(f"{name.lower()}:{port}" for name in names) | (frozenset(names) if port == 80 else frozenset())


@dataclass(frozen=True, eq=False)
class Running:
    """A studio that can be opened.

    Attributes:
        base: address without a token. owner: address of those who may do everything. viewer: of those who may look.
        studio: what it shows. stop: ends it, from any thread.
    """

    base: str
    studio: Studio
    stop: Callable[[], None]

    @property
    def owner(self) -> str:
        """Return the address with the owner's token."""
        return f"{self.base}#{self.studio.token}"

    @property
    def viewer(self) -> str:
        """Return the address with the token of those who may only look."""
        return f"{self.base}#{self.studio.view_token}"


def serve(
    robot: Robot,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    recordings: str | Path | None = None,
    wire: WireHost | None = None,
    ready: Callable[[Running], None] = lambda running: None,
) -> None:
    """Serve the studio until Ctrl-C or a termination.

    Args:
        robot: the arm to begin with.
        host: address to listen on.
        port: 0 for any free one.
        recordings: folder for what is recorded; see `armwright.studio.recordings_folder`.
        wire: where the arm is, to be looked at instead of simulated.
        ready: called as soon as pages can be opened.
    """
    need("starlette", "studio", "the studio")
    uvicorn = need("uvicorn", "studio", "the studio")
    need("websockets", "studio", "the studio")
    from armwright.studio.server import make_app
    from armwright.studio.studio_state import Studio

    door = bind(host, port)
    try:
        actual = int(door.getsockname()[1])
        hosts = hosts_of(host, actual)
        studio = Studio(robot, recordings, wire)
        config = uvicorn.Config(
            make_app(studio, hosts),
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            ws="websockets-sansio",
            ws_max_size=MOST_BYTES,
            ws_per_message_deflate=False,
            h11_max_incomplete_event_size=32 * 1024,
            limit_concurrency=128,
            timeout_graceful_shutdown=GRACE,
            proxy_headers=False,
        )
        base = f"http://{host if ':' not in host else f'[{host}]'}:{actual}/"
        asyncio.run(_run(uvicorn.Server(config), door, studio, lambda stop: ready(Running(base, studio, stop))))
    finally:
        door.close()


async def _run(server: Any, door: socket.socket, studio: Studio, ready: Callable[[Callable[[], None]], None]) -> None:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        studio.jobs.close()  # at once, so that no page waits for long work while it ends
        server.force_exit = server.should_exit  # a second Ctrl-C does not wait for open pages
        server.should_exit = True

    with suppress(NotImplementedError, RuntimeError, ValueError):  # threads and Windows have no such handlers
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
    server.capture_signals = nullcontext  # uvicorn's own would raise Ctrl-C once more after the end
    serving = asyncio.create_task(server.serve(sockets=[door]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    if serving.done():
        await serving
        raise ArmwrightError("studio: the server did not start")

    def stop_soon() -> None:
        with suppress(RuntimeError):  # it has ended by itself
            loop.call_soon_threadsafe(stop)

    ready(stop_soon)
    await serving


def leave() -> None:
    """End the process, after `serve`, even if a thread is still compiling something, which nobody can interrupt."""
    if busy():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def teach(robot: Robot, *, port: int = 0, browser: bool = True) -> Running:
    """Open the studio with an arm (extra ``[studio]``): jog it, drag its tool, pull it. Returns at once.

    Args:
        robot: the arm.
        port: to serve on, on this machine only; 0 takes any free one.
        browser: open it in a browser.

    Returns:
        The running studio: ``.owner`` is its address, ``.stop()`` ends it. One line on standard error says where it is
        and how it ends. A script that has nothing else to do keeps it open until Ctrl-C.

    Example:
        >>> studio = teach(aw.load("ur5"))
        >>> studio.stop()
    """
    heard: queue.Queue[Any] = queue.Queue()
    ended = threading.Event()

    def work() -> None:
        try:
            serve(robot, port=port, ready=heard.put)
        except BaseException as error:  # noqa: BLE001 - handed over to the caller, who waits
            heard.put(error)
        finally:
            ended.set()

    threading.Thread(target=work, name="armwright-studio", daemon=True).start()
    found = heard.get()
    if isinstance(found, BaseException):
        raise found
    if at_a_prompt():
        end = "and so does the end of this session"
    else:
        end = "or Ctrl-C when this program has nothing else to do"
        atexit.register(_keep_open, found, ended)
    sys.stderr.write(f"studio at {found.owner} ; .stop() ends it, {end}\n")
    if browser:
        import webbrowser

        webbrowser.open(found.owner)
    return found


def at_a_prompt() -> bool:
    """Return whether somebody types: Python's own prompt, ``python -i``, or IPython and its notebooks."""
    return hasattr(sys, "ps1") or bool(sys.flags.interactive) or hasattr(builtins, "__IPYTHON__")


def _keep_open(running: Running, ended: threading.Event) -> None:
    """Wait for the end of a studio, when the script that opened it has come to its own; not after an error."""
    if hasattr(sys, "last_value"):
        return
    try:
        while not ended.wait(CTRL_C_INTERVAL):
            pass
    except KeyboardInterrupt:
        running.stop()
        ended.wait(2 * GRACE)
