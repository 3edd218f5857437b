# SPDX-License-Identifier: Apache-2.0
"""What one running studio has: the arm, the live simulation, those who watch, long work, tokens."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Any

from armwright.errors import ArmwrightError
from armwright.robot.load import load, robots
from armwright.studio.felt import judge, warm_up
from armwright.studio.hub import Hub
from armwright.studio.jobs import Jobs
from armwright.studio.live import LiveArm
from armwright.studio.plant import LAWS, Choice, Plant, posture
from armwright.studio.robot_view import describe
from armwright.studio.shelf import Shelf

if TYPE_CHECKING:
    from armwright.robot.model import Robot

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
        """The first answer to a page."""
        return {
            "role": role,
            "robots": self.catalogue,
            "laws": list(LAWS),
            "robot": self.described,
            "posture": posture(self.robot).tolist(),
            "live": self.live_state(),
        }

    def live_state(self) -> dict[str, Any]:
        """The settings of the running arm."""
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
            **self.gains,
        }

    def tell_live(self) -> None:
        """Let every page know the settings."""
        self.hub.tell({"event": "live", "live": self.live_state()})

    async def choose(self, robot: Robot) -> None:
        """Another arm, for everybody."""
        async with self._choosing:
            described = await asyncio.to_thread(describe, robot)
            plant = await asyncio.to_thread(Plant, robot, self.arm.plant.choice, posture(robot))
            plant.tune(**self.gains)
            await self.order(lambda: self.arm.replace(plant))
            self.robot, self.described = robot, described
        self.hub.tell({"event": "robot", "robot": described, "posture": posture(robot).tolist()})
        self.tell_live()

    async def choose_law(self, choice: Choice) -> None:
        """Another law, the same arm."""
        async with self._choosing:
            q = self.arm.plant.live.q.copy()
            plant = await asyncio.to_thread(Plant, self.robot, choice, q)
            plant.tune(**self.gains)
            await self.order(lambda: self.arm.replace(plant))
        self.tell_live()

    async def load(self, name: str) -> Robot:
        """An arm of the catalogue; never a path."""
        if name not in {entry["name"] for entry in self.catalogue}:
            raise ArmwrightError(f"robot: no {name!r:.40} in the catalogue; upload a file instead")
        return await asyncio.to_thread(load, name)

    async def order(self, action: Any) -> Any:
        """Have the simulation do something between two ticks, and wait for it."""
        return await asyncio.wrap_future(self.arm.order(action))

    async def keep_judging(self) -> None:
        """Tell the pages, a few times a second, what the arm believes about a touch."""
        quiet, known = False, None
        while True:
            await asyncio.sleep(JUDGED)
            if not self.hub.watching:
                continue
            if known is not self.robot:  # imports and compiles; nobody shall wait for that while something is touched
                known = self.robot
                await asyncio.to_thread(warm_up, known)
            robot, now = await self.order(lambda: (self.arm.plant.robot, self.arm.moment()))
            nothing = now.body < 0 and not now.alarm
            if nothing and quiet:
                continue
            quiet = nothing
            try:
                felt = await asyncio.to_thread(judge, robot, now)
            except ArmwrightError as error:  # a pose in which nothing can be said
                felt = {"outcome": "no contact", "reason": str(error), "time": now.time, "alarm": now.alarm}
            self.hub.tell({"event": "felt", "felt": felt})

    def close(self) -> None:
        """End threads and remove temporary files."""
        self.jobs.close()
        self.arm.close()
        self.shelf.close()
