# SPDX-License-Identifier: Apache-2.0
"""The arm that is pulled: law, observer and detector compiled into one tick, with everything that a page may change.

Payload and friction are numbers of the plant, the law's gains are inputs of the loop: they change between two ticks
and nothing is compiled again. Another law, another arm, or a controller that knows less is another plant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright import choices
from armwright.contact.detectors.joint_threshold import joint_detector
from armwright.contact.observers.momentum import momentum_observer
from armwright.control.computed_torque import computed_torque
from armwright.control.pd_gravity import pd_gravity
from armwright.dynamics import mass_matrix
from armwright.robot.measured import drives_of, with_drives
from armwright.simulation.control_loop import Loop
from armwright.simulation.live_loop import loaded
from armwright.simulation.pulled_link import Pulled, anchor_of, pull_inputs, pull_wrench, truth_kernel

if TYPE_CHECKING:
    from armwright.control.law import Law
    from armwright.robot.model import Robot
    from armwright.types import Array

PULL_RATE, PULL_SUBSTEPS = 500.0, 4
LAWS = (*(choices.LAWS.title(name) for name in choices.LAWS.some("computed_torque", "pd_gravity")), "free")
PULL_OBSERVER_GAIN = 40.0  # gain [1/s]: 63 % of a push is felt after 25 ms
THRESHOLD = 2.0  # [N m] of the detector, on top of what an arm of 100 N m needs for the noise of its model
EFFORT_LIMIT_SHARE = 0.01  # of the effort limit
ASSUMED_FRICTION = 0.02  # of the effort limit: dry friction of arms whose description has none
DEAD_ZONE = 0.005  # [rad/s] below which a joint counts as standing
MOST_PAYLOAD = 20.0  # [kg]


@dataclass(frozen=True)
class Choice:
    """What another plant is made for: the law, and whether the controller knows payload and friction."""

    law: str = LAWS[0]
    knows: bool = True


def friction_of(robot: Robot) -> tuple[Array, Array, str]:
    """Viscous [N m s/rad] and dry friction [N m] (n,) of an arm, and where they come from, in words."""
    drives = drives_of(robot)
    for arm, words in ((robot, "the arm's description"), (with_drives(robot, drives), drives.source)):
        viscous = np.array([joint.friction.viscous for joint in arm.joints])
        dry = np.array([joint.friction.coulomb for joint in arm.joints])
        if viscous.any() or dry.any():
            return viscous, dry, words
    effort = np.array([joint.limits.effort for joint in robot.joints])
    assumed = ASSUMED_FRICTION * np.where(np.isfinite(effort) & (effort > 0.0), effort, 100.0)
    return assumed, assumed, f"assumed: {100 * ASSUMED_FRICTION:g} % of each joint's effort limit, dry and viscous"


def law_of(name: str, n: int) -> Law:
    """A law whose gains are inputs of the loop."""
    start = np.zeros((1, n))
    if name == LAWS[0]:
        return computed_torque(start, start, friction=False)  # fed forward, a hand could move the joints without effort
    return pd_gravity(start, start)


class PulledArm:
    """One compiled plant.

    Attributes:
        robot: with rotors and friction. live: its loop. choice: what it was made for.
        model: what law and observer take the arm to be, where they do not know all; None where they do.
        friction_source: where its friction comes from. thresholds: of the detector (n,) [N m].
        friction: factor on the dry and viscous friction. payload: [kg] at the tool.
        body: index of the link that is held, −1 for none.
    """

    def __init__(self, robot: Robot, choice: Choice, q0: Array) -> None:
        """Compile everything."""
        self.choice = choice
        arm = with_drives(robot, drives_of(robot))
        self._viscous, self._dry, self.friction_source = friction_of(robot)
        self.robot = self._with(arm, 1.0, 0.0)
        effort = np.array([joint.limits.effort for joint in arm.joints])
        self.thresholds = THRESHOLD + EFFORT_LIMIT_SHARE * np.where(np.isfinite(effort), effort, 0.0)
        self.model = None if choice.knows else self._with(arm, 0.0, 0.0)
        loop = Loop.of(
            self.robot,
            law_of(choice.law, arm.n),
            rate=PULL_RATE,
            substeps=PULL_SUBSTEPS,
            integrator="semi-implicit",
            model=self.model,
            wrench=pull_wrench,
            inputs=pull_inputs(arm),
            monitors=(momentum_observer(PULL_OBSERVER_GAIN), joint_detector(self.thresholds)),
            limits="clamp",
        )
        self.live = loop.live(q0, may_become=(self._with(arm, 2.0, 0.0), loaded(self.robot)))
        self._truth = truth_kernel(self.robot)
        self.friction, self.payload, self.body = 0.0, 0.0, -1
        self.tune(12.0, 1.0)
        self.become(friction=0.0, payload=0.0)
        self.truth()

    def _with(self, arm: Robot, factor: float, payload: float) -> Robot:
        out = arm.with_friction(factor * self._viscous, factor * self._dry, DEAD_ZONE)
        return out.with_payload(payload) if payload else out

    def become(self, *, friction: float | None = None, payload: float | None = None) -> None:
        """Change friction (a factor) or payload [kg] from now on."""
        self.friction = self.friction if friction is None else friction
        self.payload = self.payload if payload is None else payload
        self.live.become(self._with(self.robot, self.friction, self.payload))

    def tune(self, frequency: float, damping: float) -> None:
        """Set the gains: natural frequency [rad/s] of every joint, damping ratio [-]; "free" has no stiffness."""
        weight = np.ones(self.robot.n)
        if self.choice.law != "computed torque":
            weight = np.diag(mass_matrix(self.robot, np.array(self.live.q)))
        stiff = 0.0 if self.choice.law == "free" else frequency**2
        self.live.gains["kp"][...] = np.ravel(stiff * weight)
        self.live.gains["kd"][...] = np.ravel(2.0 * damping * frequency * weight) * (0.1 if stiff == 0.0 else 1.0)

    def hold(self, body: int, point: Array, target: Array, stiffness: float) -> None:
        """Take a link at a point (3,) in its frame and pull it to `target` (3,) in the base frame by a spring [N/m]."""
        inputs = self.live.inputs
        inputs["held"][...] = 0.0
        inputs["held"][body] = 1.0
        inputs["anchor"][...] = anchor_of(self.robot, body, point)
        inputs["target"][...] = target
        inputs["spring"][...] = stiffness, 2.0 * np.sqrt(stiffness)
        self.body = body

    def let_go(self) -> None:
        """Pull no more."""
        self.live.inputs["held"][...] = 0.0
        self.body = -1

    def truth(self) -> Pulled:
        """The truth about the pull now; zero force and torque when nothing is held."""
        p, i = self.live, self.live.inputs
        return Pulled(*self._truth(p.q, p.qd, i["held"], i["anchor"], i["target"], i["spring"]))

    @property
    def dry(self) -> Array:
        """Dry friction of the joints now (n,) [N m]."""
        return np.asarray(self.friction * self._dry)


def inside(robot: Robot, q: Array) -> Array:
    """The configuration (n,) within the joints' limits that is nearest to q."""
    return np.asarray(np.clip(q, robot.lower, robot.upper))
