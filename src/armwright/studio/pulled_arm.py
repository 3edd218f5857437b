# SPDX-License-Identifier: Apache-2.0
"""The arm that is pulled: law, observer and detector compiled into one tick, with everything that a page may change.

Payload and friction are numbers of the plant, the law's gains are inputs of the loop: they change between two ticks
and nothing is compiled again. Another law, another arm, or a controller that knows less is another plant. The hand
pulls a link by a spring, inside the compiled loop:

    f = k (x_target − p) − d ṗ,   F = f / √(1 + |f|²/F_max²)

p is a point fixed to one link. Which link is a row of weights (nb,), one of them 1: so one compiled loop serves all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright import choices
from armwright.contact.detectors.joint_threshold import joint_detector
from armwright.contact.observers.momentum import momentum_observer
from armwright.control.computed_torque import computed_torque
from armwright.control.pd_gravity import pd_gravity
from armwright.dynamics import mass_matrix
from armwright.graph import compile_function
from armwright.kinematics.forward import body_poses
from armwright.robot.measured import drives_of, with_drives
from armwright.robot.tree import as_tree
from armwright.simulation.control_loop import Loop
from armwright.simulation.live_loop import loaded
from armwright.spatial.linear import cross, dot

if TYPE_CHECKING:
    from armwright.control.law import Law
    from armwright.graph import Kernel
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced

LARGEST_PULL = 300.0  # [N] that a hand is allowed to pull with


class Pulled(NamedTuple):
    """The truth about a pull, base frame: point (3,) [m], force on the arm there (3,) [N], joint torques (n,) [N m]."""

    point: Array
    force: Array
    torque: Array


def inputs_of(robot: Robot) -> dict[str, tuple[int, ...]]:
    """Inputs of the loop: which link, the point in its canonical frame, where to, and (stiffness, damping)."""
    return {"held": (len(robot.bodies),), "anchor": (3,), "target": (3,), "spring": (2,)}


def _pulled(
    tree: Tree, q: Traced, qd: Traced, held: Traced, anchor: Traced, target: Traced, spring: Traced
) -> tuple[Traced, Traced, list[Traced], dict[int, tuple[Any, Any]]]:
    """Point, force, the columns of the point's Jacobian (n of (3,)) and the poses of all bodies."""
    poses = body_poses(tree, q)
    places = [poses[i][1] + poses[i][0] @ anchor for i in range(tree.nb)]
    p = sum(held[i] * places[i] for i in range(tree.nb))
    columns: list[Any] = [np.zeros(3) for _ in range(tree.n)]
    for i in range(tree.nb):
        for a in tree.ancestors(i):
            z = tree.ratio[a] * poses[a][0][:, 2]
            reach = cross(z, p - poses[a][1]) if tree.revolute[a] else z
            columns[tree.joint[a]] = columns[tree.joint[a]] + held[i] * reach
    v = sum(columns[j] * qd[j] for j in range(tree.n))
    f = spring[0] * (target - p) - spring[1] * v
    return p, f / np.sqrt(1.0 + dot(f, f) / LARGEST_PULL**2), columns, poses


def pull_wrench(
    arm: Robot | Tree, t: Traced, q: Traced, qd: Traced, held: Traced, anchor: Traced, target: Traced, spring: Traced
) -> Traced:
    """Wrenches (nb, 6) on all links, at their origins, base axes: the `wrench` of a `Loop`."""
    tree = as_tree(arm)
    p, F, _, poses = _pulled(tree, q, qd, held, anchor, target, spring)
    rows = []
    for i in range(tree.nb):
        R, at = poses[i]
        origin = at + R @ tree.T_body_link[i][:3, 3]
        rows.append(held[i] * np.concatenate([F, cross(p - origin, F)]))
    return np.stack(rows)


def truth_kernel(robot: Robot) -> Kernel:
    """The truth, compiled: (q, qd, held, anchor, target, spring) → `Pulled`."""
    tree = robot.tree

    def look(
        q: Traced, qd: Traced, held: Traced, anchor: Traced, target: Traced, spring: Traced
    ) -> tuple[Traced, Traced, Traced]:
        p, F, columns, _ = _pulled(tree, q, qd, held, anchor, target, spring)
        share = sum(held[i] for i in range(tree.nb))
        return p, share * F, np.stack([share * dot(column, F) for column in columns])

    shapes: dict[str, tuple[int, ...]] = {"q": (robot.n,), "qd": (robot.n,), **inputs_of(robot)}
    return compile_function(look, shapes, name="studio truth", check_finite=False)


def anchor_of(robot: Robot, body: int, point: Array) -> Array:
    """Point (3,) in a link's frame, as a point in the link's canonical frame."""
    T = robot.tree.T_body_link[body]
    return np.asarray(T[:3, :3] @ np.asarray(point, dtype=np.float64) + T[:3, 3])


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
            inputs=inputs_of(arm),
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


def posture(robot: Robot) -> Array:
    """A configuration (n,) to begin with: bent, away from the singularities that lie at zero and at the limits."""
    bent = np.resize([0.3, -0.9, 1.2, -0.6, 0.8, 0.2, 0.1], robot.n)
    low = np.where(np.isfinite(robot.lower), robot.lower, -np.inf)
    high = np.where(np.isfinite(robot.upper), robot.upper, np.inf)
    room = np.where(np.isfinite(high - low), 0.1 * (high - low), 0.0)
    slide = np.array([joint.kind == "prismatic" for joint in robot.joints])
    start = np.where(slide, 0.0, bent)
    return np.asarray(np.clip(start, low + room, high - room))
