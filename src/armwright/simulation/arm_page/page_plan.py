# SPDX-License-Identifier: Apache-2.0
"""What a page computes: the tick of an arm that a hand pulls, and a look at the forces on it, once per picture.

    tick    law → arm (pulled, and touching its world) → observer → detector
    look    where the hand holds and how strongly it pulls; where the world pushes; and the force that the joints feel

The joints feel tau_ext, not a place. The force that is drawn is the one that explains tau_ext best if it acts where the
arm is held, or touched, or else at the tool: F = (J Jᵀ + δ²)⁻¹ J tau_ext, J the Jacobian of that point. Directions that
no joint can feel there come out as zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.contact_model import contact_pairs, contact_wrench, has_mesh, touches
from armwright.contact.wrench_estimate import LEVER_DAMPING
from armwright.errors import InputError
from armwright.graph.loop_plan import LoopPlan, Slots, stage, traced_stage
from armwright.graph.tick_program import OUT
from armwright.kinematics.forward import body_poses
from armwright.simulation.artefact.tunable_loop import tunable_loop
from armwright.simulation.control_loop import Loop
from armwright.simulation.loop_programs import loop_program
from armwright.simulation.pulled_link import pull_inputs, pull_wrench
from armwright.spatial.linear import cross, dot, ltdl_solve

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.contact.monitor import Monitor
    from armwright.control.law import Law
    from armwright.graph.tick_program import TickProgram
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced
    from armwright.world.world import World

SUBSTEPS, SUBSTEPS_IN_CONTACT = 1, 2
"""Steps of the integrator in a tick of 1 ms: a hand of 40 N s/m may then pull links of 20 g and more, and surfaces of
1e5 N/m may be touched with links of 25 g and more (h √(k/m) < 2 and h d/m < 2)."""
LEAST_FORCE = 1e-9
"""Force of the world [N] below which nothing touches."""


def page_loop(
    robot: Robot, law: Law, monitors: Sequence[Monitor], world: World | None = None, *, rate: float = 1000.0
) -> Loop:
    """Return the loop of an arm that a hand pulls, among the shapes of a world, with a payload that may change.

    Args:
        robot: the arm.
        law: gains that the page changes are given as (1, n).
        monitors: an observer, and a detector that reads it.
        world: what it can touch.
        rate: ticks per second.
    """
    loop = Loop.of(
        robot,
        law,
        rate=rate,
        substeps=SUBSTEPS if world is None else SUBSTEPS_IN_CONTACT,
        integrator="semi-implicit",
        wrench=_surroundings(robot, world),
        inputs=pull_inputs(robot),
        monitors=tuple(monitors),
        limits="clamp",
        stop_on_alarm=False,
        strict=True,
    )
    return tunable_loop(loop, ("payload",)) if robot.tip >= 0 else loop


def _surroundings(robot: Robot, world: World | None) -> Callable[..., Any]:
    """Return the wrenches of hand and world on all links."""
    if world is None:
        return pull_wrench
    if has_mesh(world):
        raise InputError(f"world {world.name!r} has a mesh, which compiled code cannot hold; give its bounding box")
    touched = contact_wrench(robot, world)

    def pulled_and_touched(
        arm: Robot | Tree,
        t: Traced,
        q: Traced,
        qd: Traced,
        held: Traced,
        anchor: Traced,
        target: Traced,
        spring: Traced,
    ) -> Traced:
        return pull_wrench(arm, t, q, qd, held, anchor, target, spring) + touched(arm, t, q, qd)

    return pulled_and_touched


def page_plan(loop: Loop, q0: ArrayLike, world: World | None = None) -> tuple[LoopPlan, TickProgram]:
    """Return the plan of the module, and the program of a tick, which starts at q0 (n,).

    The slots are those of the program's plan; `look` adds grip, pull, touch, touched, place and felt (3,), and torque
    (n,), the true external torque of hand and world.
    """
    tick = loop_program(loop, "tick", q0, name="tick")
    own = tick.plan
    robot, n = loop.robot, loop.n
    felt = next((name for name in own.slots if name.startswith(OUT) and name.endswith("tau_ext")), None)
    if felt is None:
        raise InputError("page: no observer among the monitors; its estimate tau_ext is what the page shows")
    shapes: dict[str, tuple[int, ...]] = {"q": (n,), "qd": (n,), felt: (n,), **pull_inputs(robot)}
    look = stage(traced_stage(lambda s: _look(robot, world, s, felt), shapes, "look"), "after")
    slots = dict(own.slots) | {signal.name: signal.size for signal in look.program.outputs}
    (ticking,) = own.stages
    ticking = replace(ticking, program=replace(ticking.program, name="tick"))
    return LoopPlan(slots, (ticking, look), own.shared, record=own.record), tick


def _look(robot: Robot, world: World | None, s: Slots, felt: str) -> Slots:
    tree, q, qd = robot.tree, s["q"], s["qd"]
    hand = [s[name] for name in ("held", "anchor", "target", "spring")]
    rows = pull_wrench(tree, np.zeros(1), q, qd, *hand)
    poses = body_poses(tree, q)
    pull = sum(rows[i][:3] for i in range(tree.nb))
    held = hand[0]
    grip = sum(held[i] * (poses[i][1] + poses[i][0] @ hand[1]) for i in range(tree.nb))
    forces, moments = [rows[i][:3] for i in range(tree.nb)], []  # moments about the base's origin
    for i in range(tree.nb):
        R, p = poses[i]
        moments.append(rows[i][3:] + cross(p + R @ tree.T_body_link[i][:3, 3], rows[i][:3]))
    touch, touched, pressed = np.zeros(3), np.zeros(3), np.zeros(tree.nb)
    if world is not None:
        weights: list[Any] = [0.0] * tree.nb
        centre: Any = np.zeros(3)
        for pair, contact in touches(tree, q, qd, contact_pairs(robot, world)):
            i, size = pair.capsule.body, np.sqrt(dot(contact.force, contact.force))
            weights[i] = weights[i] + size
            centre = centre + size * contact.point
            touch = touch + contact.force
            forces[i] = forces[i] + contact.force
            moments[i] = moments[i] + cross(contact.lever, contact.force)
        divisor = np.maximum(sum(weights), LEAST_FORCE)
        touched, pressed = centre / divisor, np.array([w / divisor for w in weights])
    is_held = sum(held[i] for i in range(tree.nb)) > 0.0
    is_touched = dot(touch, touch) > LEAST_FORCE**2
    at_tool = np.array([float(i == tree.tip) for i in range(tree.nb)])
    R, p = poses[tree.tip]
    tool = p + R @ tree.T_tip_tool[:3, 3]
    place = np.where(is_held, grip, np.where(is_touched, touched, tool))
    weight = np.where(is_held, held, np.where(is_touched, pressed, at_tool))
    columns = _columns(tree, poses, weight, place)
    J = np.array([[column[k] for column in columns] for k in range(3)])
    force = ltdl_solve(J @ J.T + LEVER_DAMPING**2 * np.eye(3), J @ s[felt])
    return {
        "grip": grip,
        "pull": pull,
        "touch": touch,
        "touched": touched,
        "place": place,
        "felt": force,
        "torque": _joint_torque(tree, poses, forces, moments),
    }


def _columns(tree: Tree, poses: dict[int, tuple[Any, Any]], weight: Traced, p: Traced) -> list[Traced]:
    """Return the columns (3,) of the Jacobian of a point p that moves with each link as much as `weight` (nb,) says."""
    columns: list[Any] = [np.zeros(3) for _ in range(tree.n)]
    for i in range(tree.nb):
        for a in tree.ancestors(i):
            z = tree.ratio[a] * poses[a][0][:, 2]
            reach = cross(z, p - poses[a][1]) if tree.revolute[a] else z
            columns[tree.joint[a]] = columns[tree.joint[a]] + weight[i] * reach
    return columns


def _joint_torque(
    tree: Tree, poses: dict[int, tuple[Any, Any]], forces: Sequence[Traced], moments: Sequence[Traced]
) -> Array:
    """Return the joint torques (n,) of forces on links and moments about the base's origin, base axes."""
    torque: list[Any] = [0.0] * tree.n
    for i in range(tree.nb):
        for a in tree.ancestors(i):
            z, p = tree.ratio[a] * poses[a][0][:, 2], poses[a][1]
            share = dot(z, moments[i] - cross(p, forces[i])) if tree.revolute[a] else dot(z, forces[i])
            torque[tree.joint[a]] = torque[tree.joint[a]] + share
    return np.array(torque)
