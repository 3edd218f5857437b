# SPDX-License-Identifier: Apache-2.0
"""`Studio`: what one running studio has: the arm, simulated or on the wire, those who watch, long work, tokens."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from armwright.errors import ArmwrightError, InputError
from armwright.robot.load import load, robots
from armwright.simulation.pulled_link import posture
from armwright.studio.arm_view import describe
from armwright.studio.hub import Hub
from armwright.studio.jobs import Jobs
from armwright.studio.live_arm import LiveArm
from armwright.studio.live_recording import LiveRecording
from armwright.studio.long_work import check_size, loaded_with_words, make_ready, open_arm
from armwright.studio.mirror_arm import MirrorArm
from armwright.studio.mirror_recording import MirrorRecording
from armwright.studio.own_arm import OwnArm, own_arm
from armwright.studio.pulled_arm import LAWS, Choice, PulledArm
from armwright.studio.queued_recording import KeptRecording
from armwright.studio.recordings_folder import kept_in, recordings_folder
from armwright.studio.shelf import Shelf, ShelfItem
from armwright.studio.touch_beliefs import judge, warm_up
from armwright.studio.work_threads import beside

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.studio.mirror_arm import WireHost

T = TypeVar("T")
JUDGED = 0.6  # [s] between two isolations: each takes 20 ms of this process
PREPARE_SECONDS = 240.0  # [s] that opening and compiling an arm may take: ten times what the largest needs on one core
QUICK_JOINTS = 8  # joints up to which an arm is compiled in a second or two


class TouchesTold(NamedTuple):
    """What was told last about touches: the arm that is warmed up, whether nothing was felt, doubts of the model."""

    robot: Robot | None = None
    quiet: bool = False
    doubt: str = ""


class Studio:
    """All that is shared by the pages of one server.

    Attributes:
        token: of those who may give orders. view_token: of those who may look.
        robot: the arm on the page. running: it, simulated or on the wire. hub: pages. jobs: long work.
        shelf: what can be opened. folder: of the user's, for recordings; None where it cannot be used.
    """

    def __init__(self, robot: Robot, recordings: str | Path | None = None, wire: WireHost | None = None) -> None:
        """Compile the arm, start its simulation or listen to it, and offer the recordings that are in the folder.

        Args:
            robot: the arm.
            recordings: folder for recordings; see `recordings_folder`.
            wire: where the arm is; None for one that is simulated.
        """
        check_size(robot)
        self.folder: Path | None = None
        self._no_folder = ArmwrightError("")
        try:
            self.folder = recordings_folder(recordings)
        except ArmwrightError as error:
            if recordings is not None:
                raise
            self._no_folder = error  # everything else works; whoever wants to record is told
        self.token, self.view_token = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self.hub = Hub()
        self.robot = robot
        self.catalogue = [{"name": entry.name, "title": entry.title, "n": entry.n} for entry in robots()]
        self.described = describe(robot)
        self.running: LiveArm | MirrorArm
        if wire is None:
            self.running = LiveArm(robot, self.hub.publish, changed=self._changed)
        else:
            self.running = MirrorArm(robot, wire, self.hub.publish, self._changed, self._touched)
        self.jobs = Jobs(self.hub.tell_soon)
        self.shelf = Shelf()
        if self.folder is not None:
            self.shelf.offer(kept_in(self.folder))
        self.hub.on_change = self.watch
        self.own: OwnArm | None = None  # the last arm of somebody's that was shown
        self.gains = {"frequency": 12.0, "damping": 1.0}
        self._choosing, self._recording = asyncio.Lock(), asyncio.Lock()
        self._under_way: set[asyncio.Task[Any]] = set()

    @property
    def arm(self) -> LiveArm:
        """Return the simulated arm, which may be pulled, led and changed.

        Raises:
            InputError: the arm is a real one.
        """
        if isinstance(self.running, MirrorArm):
            raise InputError("the arm on this page is on the wire: it is only looked at, nothing can be sent to it")
        return self.running

    def role(self, token: str) -> str | None:
        """Return "owner", "viewer", or None for a token that is neither."""
        given = token.encode()
        owner = secrets.compare_digest(given, self.token.encode())
        viewer = secrets.compare_digest(given, self.view_token.encode())
        return "owner" if owner else "viewer" if viewer else None

    def watch(self) -> None:
        """Run the simulation only while somebody wants frames."""
        self.running.watched(self.hub.watching)

    def greeting(self, role: str) -> dict[str, Any]:
        """Return the first answer to a page."""
        return {
            "role": role,
            "robots": self.catalogue,
            "laws": list(LAWS),
            "robot": self.described,
            "posture": posture(self.robot).tolist(),
            "live": self.live_state(),
            "folder": str(self.folder) if role == "owner" and self.folder is not None else None,
        }

    def live_state(self) -> dict[str, Any]:
        """Return the settings of the running arm."""
        return self.running.state() | self.gains

    def tell_live(self) -> None:
        """Let every page know the settings."""
        self.hub.tell({"event": "live", "live": self.live_state()})

    def _changed(self, trouble: str) -> None:
        """Let every page know what happened to the arm without an order; from any thread."""
        if trouble:
            self.hub.tell_soon({"event": "trouble", "text": trouble})
        self.hub.call_soon(self.tell_live)

    def _touched(self, touch: dict[str, Any]) -> None:
        """Let every page know of a touch; from any thread."""
        self.hub.tell_soon({"event": "touch", "touch": touch})

    async def whole(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for work that is done to its end even if whoever waits for it leaves: half of it would be wrong."""
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # whoever is left hears of it
        return await asyncio.shield(task)

    async def open_arm(self, name: str, content: bytes) -> Robot:
        """Keep the file or the archive of somebody's arm, and show it to everybody."""
        own, before = await beside(own_arm, name, content, self.shelf.folder), self.own
        try:
            robot = await self.show_own(own)
        except BaseException:
            await beside(own.remove)
            raise
        if before is not None:
            await beside(before.remove)
        return robot

    async def show_own(self, own: OwnArm) -> Robot:
        """Read an arm of somebody's and show it to everybody; another process tries it first, and can be ended."""
        choice, folder = self.arm.plant.choice, str(own.folder)
        fields: dict[str, Any] = {"file": str(own.path), "tip": own.tip, "folder": folder}
        fields |= {"law": choice.law, "knows": choice.knows}
        try:
            said = await self.jobs.run(f"open {own.path.name}", open_arm, fields, PREPARE_SECONDS)
            robot, _ = await beside(loaded_with_words, own.path, own.tip)  # the page has heard the words
        except ArmwrightError as error:  # the user's name of the file, not ours
            raise InputError(str(error).replace(f"{folder}{os.sep}", "")) from None
        described = said["described"]
        described["own"] |= {"files": list(own.files), "file": own.file, "tip": own.tip}
        await self.choose(robot, described)
        self.own = own
        return robot

    async def choose(self, robot: Robot, described: dict[str, Any] | None = None) -> None:
        """Show another arm, to everybody; a recording of the one before ends."""
        await self.whole(self._choose(robot, described))

    async def _choose(self, robot: Robot, described: dict[str, Any] | None) -> None:
        async with self._choosing:
            choice = self.arm.plant.choice
            if described is None:
                check_size(robot)
                described = await self._tried(robot, choice)
            if described is None:
                described = await beside(describe, robot)
            plant = await beside(PulledArm, robot, choice, posture(robot))
            plant.tune(**self.gains)
            await self.order(lambda: self.arm.replace(plant))
            self.robot, self.described = robot, described
        self.hub.tell({"event": "robot", "robot": described, "posture": posture(robot).tolist()})
        self.tell_live()

    async def choose_law(self, choice: Choice) -> None:
        """Use another law for the same arm; a recording ends."""
        await self.whole(self._choose_law(choice))

    async def _choose_law(self, choice: Choice) -> None:
        async with self._choosing:
            await self._tried(self.robot, choice)
            q = self.arm.plant.live.q.copy()
            plant = await beside(PulledArm, self.robot, choice, q)
            plant.tune(**self.gains)
            await self.order(lambda: self.arm.replace(plant))
        self.tell_live()

    async def _tried(self, robot: Robot, choice: Choice) -> dict[str, Any] | None:
        """Have a large arm compiled by another process first, which can be ended; None for one that is quick."""
        if robot.n <= QUICK_JOINTS:
            return None
        fields = {"sheet": robot.to_sheet(), "law": choice.law, "knows": choice.knows}
        said = await self.jobs.run(f"compile {robot.name}", make_ready, fields, PREPARE_SECONDS)
        described: dict[str, Any] = said["described"]
        return described

    async def load(self, name: str) -> Robot:
        """Return an arm of the catalogue; never a path."""
        if name not in {entry["name"] for entry in self.catalogue}:
            raise ArmwrightError(f"robot: no {name!r:.40} in the catalogue; upload a file instead")
        return await beside(load, name)

    async def order(self, action: Callable[[], T]) -> T:
        """Have the running arm's thread do something between two ticks, and wait for it."""
        return await asyncio.wrap_future(self.running.order(action))

    async def record(self, wanted: bool) -> dict[str, Any]:
        """Begin a recording, unless one runs already, or end it; tell the number of one that ended."""
        return await self.whole(self._record(wanted))

    async def _record(self, wanted: bool) -> dict[str, Any]:
        async with self._recording:
            if not wanted:
                recording = await self.order(lambda: self.running.stop_recording("stopped on the page"))
                self.tell_live()
                if recording is None:
                    return {}
                kept = await asyncio.wrap_future(recording.done)
                return {"number": self.shelf.number_of(kept.file)} if kept.rows else {}
            if self.folder is None:
                raise self._no_folder
            if not self.running.recording:
                await self._begin_recording(self.folder, self.running)
            self.tell_live()
            return {}

    async def _begin_recording(self, folder: Path, running: LiveArm | MirrorArm) -> None:
        begun: LiveRecording | MirrorRecording
        if isinstance(running, MirrorArm):
            mirrored = begun = await beside(MirrorRecording, folder, running.robot, running.facts(), self._kept)
            record = partial(running.record, mirrored)
        else:
            simulated = begun = await beside(LiveRecording, folder, running.plant, self._kept)
            record = partial(running.record, simulated)
        try:
            await self.order(record)
        except BaseException:
            begun.end("it did not begin")  # without rows nothing is left of it
            raise

    def _kept(self, kept: KeptRecording) -> None:
        """Put a recording that ended on the shelf, and tell everybody; from any thread."""
        told: dict[str, Any] = {"event": "kept", "name": kept.file.name, "note": kept.note}
        told |= {"reason": kept.reason, "error": kept.error}
        if kept.rows:
            told["number"] = self.shelf.add(
                ShelfItem("recording", kept.file.name, kept.file, kept.note, {"cut": bool(kept.error)})
            )
        self.hub.tell_soon(told)
        self.hub.call_soon(self.tell_live)

    async def keep_judging(self) -> None:
        """Tell the pages, a few times a second, what the arm believes about a touch; a defect in that is told once."""
        last, told = TouchesTold(), ""
        while True:
            await asyncio.sleep(JUDGED)
            if not self.hub.watching or isinstance(self.running, MirrorArm):  # a mirror judges every sample by itself
                continue
            try:
                last = await self._judge(last)
            except Exception as error:  # noqa: BLE001 - nobody waits for this task; the pages are told
                trouble = f"touches cannot be judged: {error!r:.200}"
                if trouble != told:
                    told = trouble
                    self.hub.tell({"event": "trouble", "text": trouble})

    async def _judge(self, last: TouchesTold) -> TouchesTold:
        if last.robot is not self.robot:  # imports and compiles; nobody should wait for that during a touch
            last = last._replace(robot=self.robot)
            await beside(warm_up, self.robot)
        robot, now = await self.order(lambda: (self.arm.plant.robot, self.arm.moment()))
        nothing = now.body < 0 and not now.alarm and now.doubt == last.doubt
        if not (nothing and last.quiet):
            try:
                felt = await beside(judge, robot, now)
            except (ArmwrightError, np.linalg.LinAlgError) as error:  # a pose in which nothing can be said
                felt = {"outcome": "no contact", "reason": str(error), "time": now.time, "alarm": now.alarm}
                felt["doubt"] = now.doubt
            self.hub.tell({"event": "felt", "felt": felt})
        return last._replace(quiet=nothing, doubt=now.doubt)

    def close(self) -> None:
        """End processes and threads, close a recording that runs, and remove temporary files."""
        self.jobs.close()
        self.running.close()
        self.shelf.close()
