# SPDX-License-Identifier: Apache-2.0
"""`Studio`: what one running studio has: the arm, the live simulation, those who watch, long work, tokens.

`Jobs` runs long work, one job at a time in a thread of its own. Work reports through ``progress(fraction, text)``; a
cancelled job is ended from inside that call, so what cannot be interrupted between two calls ends with the next.
`Shelf` holds what can be opened: recordings, explorations, programs and documents, in memory and by number.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armwright.errors import ArmwrightError, InputError
from armwright.robot.load import load, robots
from armwright.studio.arm_view import describe
from armwright.studio.hub import Hub
from armwright.studio.live_arm import LiveArm
from armwright.studio.pulled_arm import LAWS, Choice, PulledArm, posture
from armwright.studio.touch_beliefs import judge, warm_up

if TYPE_CHECKING:
    from armwright.robot.model import Robot

MOST_STUDIO_JOBS = 4
"""Jobs that may wait or run."""


class WorkCancelledError(ArmwrightError):
    """The user no longer wants the result."""


class Jobs:
    """All long work of a studio."""

    def __init__(self, tell: Callable[[dict[str, Any]], None]) -> None:
        self._tell = tell
        self._numbers = itertools.count(1)
        self._cancelled: dict[int, threading.Event] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="studio work")

    def start(self, name: str, work: Callable[[Callable[[float, str], None]], dict[str, Any]]) -> int:
        """Begin a job; every page is told of progress, and of the end with ``result`` or ``error``."""
        if len(self._cancelled) >= MOST_STUDIO_JOBS:
            raise InputError(f"jobs: {MOST_STUDIO_JOBS} are waiting already; cancel one")
        number = next(self._numbers)
        stop = self._cancelled[number] = threading.Event()

        def progress(fraction: float, text: str = "") -> None:
            if stop.is_set():
                raise WorkCancelledError("cancelled")
            self._tell(
                {"event": "job", "job": number, "name": name, "state": "running", "fraction": fraction, "text": text}
            )

        def run() -> None:
            end: dict[str, Any] = {"event": "job", "job": number, "name": name}
            try:
                progress(0.0, "begins")
                end |= {"state": "done", "result": work(progress)}
            except WorkCancelledError:
                end |= {"state": "cancelled"}
            except ArmwrightError as error:
                end |= {"state": "failed", "error": str(error)}
            except Exception as error:  # noqa: BLE001 - a thread has no caller; the page is told
                end |= {"state": "failed", "error": f"a defect of this program: {error!r:.200}"}
            self._cancelled.pop(number, None)
            self._tell(end)

        self._pool.submit(run)
        return number

    def cancel(self, number: int) -> None:
        """End a job at its next report."""
        if number not in self._cancelled:
            raise InputError(f"jobs: {number} is not running")
        self._cancelled[number].set()

    def close(self) -> None:
        """Cancel everything; what runs ends at its next report."""
        for stop in self._cancelled.values():
            stop.set()
        self._pool.shutdown(wait=False, cancel_futures=True)


MOST_ITEMS, MOST_TICKETS, MOST_WAITING_PAGES = 64, 32, 4
MOST_DESCRIPTION = 1 << 20  # bytes


@dataclass(frozen=True, eq=False)
class ShelfItem:
    """One thing on the shelf: its kind ("recording", "exploration", "program text", "program"), name and value."""

    kind: str
    name: str
    value: Any
    note: str = ""


class Shelf:
    """Things by number; the oldest leaves when there are too many. Its folder holds uploads while they are read."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="armwright-studio-")
        self._numbers = itertools.count(1)
        self._items: OrderedDict[int, ShelfItem] = OrderedDict()
        self._tickets: OrderedDict[str, tuple[str, bool]] = OrderedDict()
        self._waiting: OrderedDict[str, bytes] = OrderedDict()

    @property
    def folder(self) -> Path:
        """Return a folder that only this user can enter."""
        return Path(self._folder.name)

    def add(self, item: ShelfItem) -> int:
        """Put something on the shelf; return its number."""
        number = next(self._numbers)
        self._items[number] = item
        while len(self._items) > MOST_ITEMS:
            self._items.popitem(last=False)
        return number

    def get(self, number: int, kind: str) -> ShelfItem:
        """Take something of a kind by its number."""
        item = self._items.get(number)
        if item is None or item.kind != kind:
            known = ", ".join(str(k) for k, i in self._items.items() if i.kind == kind)
            raise InputError(f"{kind} {number}: not here; there are: {known or 'none'}")
        return item

    def listing(self) -> list[dict[str, Any]]:
        """Return what is there, newest first."""
        return [
            {"number": number, "kind": item.kind, "name": item.name, "note": item.note}
            for number, item in reversed(self._items.items())
        ]

    def ticket(self, page: str, *, own: bool = False) -> str:
        """Hand out an address that cannot be guessed, under which a page can be opened in a frame.

        Args:
            page: HTML.
            own: whether it is a replay, with which the studio's page may talk; others are isolated from it.
        """
        name = secrets.token_urlsafe(24)
        self._tickets[name] = page, own
        while len(self._tickets) > MOST_TICKETS:
            self._tickets.popitem(last=False)
        return name

    def page(self, ticket: str) -> tuple[str, bool] | None:
        """Return the page behind a ticket, and whether it is a replay."""
        return self._tickets.get(ticket)

    def lay_beside(self, name: str, content: bytes) -> None:
        """Keep the description of a file that is about to come."""
        if len(content) > MOST_DESCRIPTION:
            raise InputError(f"{name}: a description has at most {MOST_DESCRIPTION >> 20} MiB")
        self._waiting[name] = content
        while len(self._waiting) > MOST_WAITING_PAGES:
            self._waiting.popitem(last=False)

    def beside(self, name: str) -> bytes | None:
        """Take the description that was kept for a file; None if there is none."""
        return self._waiting.pop(name, None)

    def close(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()


JUDGED = 0.6  # [s] between two isolations: each takes 20 ms of this process


class Studio:
    """All that is shared by the pages of one server.

    Attributes:
        token: of those who may give orders. view_token: of those who may look.
        robot: the arm on the page. arm: the running one. hub: pages. jobs: long work. shelf: what can be opened.
    """

    def __init__(self, robot: Robot) -> None:
        self.token, self.view_token = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self.hub = Hub()
        self.jobs = Jobs(self.hub.tell_soon)
        self.shelf = Shelf()
        self.robot = robot
        self.catalogue = [{"name": entry.name, "title": entry.title, "n": entry.n} for entry in robots()]
        self.described = describe(robot)
        self.arm = LiveArm(robot, self.hub.publish)
        self.hub.on_change = self.watch
        self.gains = {"frequency": 12.0, "damping": 1.0}
        self._choosing = asyncio.Lock()

    def role(self, token: str) -> str | None:
        """Return "owner", "viewer", or None for a token that is neither."""
        given = token.encode()
        owner = secrets.compare_digest(given, self.token.encode())
        viewer = secrets.compare_digest(given, self.view_token.encode())
        return "owner" if owner else "viewer" if viewer else None

    def watch(self) -> None:
        """Run the simulation only while somebody wants frames."""
        self.arm.watched(self.hub.watching)

    def greeting(self, role: str) -> dict[str, Any]:
        """Return the first answer to a page."""
        return {
            "role": role,
            "robots": self.catalogue,
            "laws": list(LAWS),
            "robot": self.described,
            "posture": posture(self.robot).tolist(),
            "live": self.live_state(),
        }

    def live_state(self) -> dict[str, Any]:
        """Return the settings of the running arm."""
        arm, plant = self.arm, self.arm.plant
        return {
            "law": plant.choice.law,
            "knows": plant.choice.knows,
            "friction": plant.friction,
            "payload": plant.payload,
            "speed": arm.speed,
            "motion": arm.motion,
            "recording": arm.recording,
            "goal": arm.goal.tolist(),
            "thresholds": plant.thresholds.tolist(),
            "friction_source": plant.friction_source,
            "error": arm.error,
            "doubt": arm.doubt,
            **self.gains,
        }

    def tell_live(self) -> None:
        """Let every page know the settings."""
        self.hub.tell({"event": "live", "live": self.live_state()})

    async def choose(self, robot: Robot) -> None:
        """Show another arm, to everybody."""
        async with self._choosing:
            described = await asyncio.to_thread(describe, robot)
            plant = await asyncio.to_thread(PulledArm, robot, self.arm.plant.choice, posture(robot))
            plant.tune(**self.gains)
            await self.order(lambda: self.arm.replace(plant))
            self.robot, self.described = robot, described
        self.hub.tell({"event": "robot", "robot": described, "posture": posture(robot).tolist()})
        self.tell_live()

    async def choose_law(self, choice: Choice) -> None:
        """Use another law for the same arm."""
        async with self._choosing:
            q = self.arm.plant.live.q.copy()
            plant = await asyncio.to_thread(PulledArm, self.robot, choice, q)
            plant.tune(**self.gains)
            await self.order(lambda: self.arm.replace(plant))
        self.tell_live()

    async def load(self, name: str) -> Robot:
        """Return an arm of the catalogue; never a path."""
        if name not in {entry["name"] for entry in self.catalogue}:
            raise ArmwrightError(f"robot: no {name!r:.40} in the catalogue; upload a file instead")
        return await asyncio.to_thread(load, name)

    async def order(self, action: Callable[[], Any]) -> Any:
        """Have the simulation do something between two ticks, and wait for it."""
        return await asyncio.wrap_future(self.arm.order(action))

    async def keep_judging(self) -> None:
        """Tell the pages, a few times a second, what the arm believes about a touch."""
        quiet, known, doubt = False, None, ""
        while True:
            await asyncio.sleep(JUDGED)
            if not self.hub.watching:
                continue
            if known is not self.robot:  # imports and compiles; nobody should wait for that during a touch
                known = self.robot
                await asyncio.to_thread(warm_up, known)
            robot, now = await self.order(lambda: (self.arm.plant.robot, self.arm.moment()))
            nothing = now.body < 0 and not now.alarm and now.doubt == doubt
            doubt = now.doubt
            if nothing and quiet:
                continue
            quiet = nothing
            try:
                felt = await asyncio.to_thread(judge, robot, now)
            except ArmwrightError as error:  # a pose in which nothing can be said
                felt = {"outcome": "no contact", "reason": str(error), "time": now.time, "alarm": now.alarm}
                felt["doubt"] = now.doubt
            self.hub.tell({"event": "felt", "felt": felt})

    def close(self) -> None:
        """End threads and remove temporary files."""
        self.jobs.close()
        self.arm.close()
        self.shelf.close()
