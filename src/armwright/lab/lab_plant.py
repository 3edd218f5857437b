# SPDX-License-Identifier: Apache-2.0
"""The arm, its servo and its world as one compiled tick, and everything that a controller publishes as one kernel.

The servo and the monitor that watches it both know the load they are told:

    a = q̈_r + k_p e + k_d ė + z,     ż = k_i e  outside a dead band, |z| ≤ z_max
    τ = M(q) a + C q̇ + g + ν_v q̇_r + ν_c tanh(q̇_r/v_0 + e/(e_0 (1 + (q̇/v_1)²))),  limited to what joints can give

Dry friction is fed forward in the direction of the *reference*, and for an arm at rest in that of the error, so that it
does not stick short of its goal; never more than there is, so it cannot drive the arm by itself. An arm that moves
does not stick: there the error's part would only be a gain that ticks of 2 ms cannot hold. The integral takes what
the model does not know (a load it was not told), and rests within a dead band, so that nothing hunts. Triple pole at
30 rad/s. `Model` is the arm's mathematics as a controller tells it to a client: mass matrix, Coriolis torques, Jacobian
and its rate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.contact.contact_model import contact_wrench
from armwright.contact.detectors.joint_threshold import joint_detector
from armwright.contact.monitor import Monitor
from armwright.contact.observers.momentum import momentum_observer
from armwright.control.law import Law
from armwright.dynamics.crba import crba
from armwright.dynamics.newton_euler import rnea
from armwright.errors import InputError
from armwright.graph import compile_function
from armwright.graph.by_name import call_by_name
from armwright.kinematics.frame_motion import point_jacobian_dot
from armwright.kinematics.ik_numeric import RESTARTS
from armwright.kinematics.inverse import ik
from armwright.kinematics.jacobians import point_jacobian, pose_jacobian
from armwright.lab.flange_sensing import FeltWrench, felt_kernel
from armwright.lab.plant_detail import PlantDetail, detail_kernel
from armwright.motion.joint_curve import closed_form
from armwright.robot.kernels import kernel
from armwright.robot.measured import as_measured, carrying, current_map, load_of
from armwright.robot.tree import as_tree
from armwright.simulation.control_loop import Loop
from armwright.simulation.live_loop import loaded
from armwright.spatial.linear import ltdl_solve
from armwright.spatial.rotations import exp_so3, log_so3

if TYPE_CHECKING:
    from collections.abc import Callable

    from armwright.graph import Kernel
    from armwright.motion.trajectory import Reference
    from armwright.robot.model import Robot
    from armwright.robot.parts import CurrentMap
    from armwright.robot.tree import Tree
    from armwright.simulation.live_loop import Live
    from armwright.types import Array, Traced
    from armwright.world.world import World


class Model(NamedTuple):
    """`mass` (n, n) without rotors; `coriolis` (n,): C(q, q̇) q̇; Jacobian of the TCP (6, n), base axes, and its rate."""

    mass: Traced
    coriolis: Traced
    jacobian: Traced
    jacobian_dot: Traced


def model_kernel(robot: Robot) -> Kernel:
    """(q, qd, tcp, load) → `Model`; tcp (6,): pose at the flange; load (4,): see `carrying`."""
    n = robot.n

    def model(q: Traced, qd: Traced, tcp: Traced, load: Traced) -> Model:
        tree = carrying(as_tree(robot), load)
        coriolis = rnea(tree, q, qd, 0.0 * qd, gravity=False, friction=False)
        J = point_jacobian(robot, q, tcp[:3])
        return Model(crba(tree, q, rotors=False), coriolis, J, point_jacobian_dot(robot, q, qd, tcp[:3]))

    shapes: dict[str, tuple[int, ...]] = {"q": (n,), "qd": (n,), "tcp": (6,), "load": (4,)}
    return compile_function(model, shapes, name="lab model", check_finite=False)


POLE = 30.0  # [rad/s]
DEAD_BAND = 5e-5  # [rad]
SERVO_ERROR_SCALE = 3e-5  # e_0 [rad]
LARGEST_SERVO_INTEGRAL = 60.0  # of the integral [rad/s²]
FRICTION_SMOOTHING_SPEED = 0.01  # v_0 [rad/s]
STICKING = 0.05  # v_1 [rad/s]: faster than that an arm does not stick
LAB_OBSERVER_GAIN = 50.0  # gain of the observer [1/s]
LARGE_JOINTS, SMALL_JOINTS = 45.0, 12.0  # thresholds [N m] where the effort limit is above 100 N m, and below


def servo(robot: Robot) -> Law:
    """The law above, for an arm with friction and effort limits of its own; memory: integral (n,), load (4,)."""
    most = np.array([joint.limits.effort for joint in robot.joints])

    def torque(
        arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, dt: Traced, integral: Traced, load: Traced
    ) -> tuple[Traced, dict[str, Traced]]:
        tree = as_tree(arm)
        e = ref.q - q
        a = ref.qdd + 3.0 * POLE**2 * e + 3.0 * POLE * (ref.qd - qd) + integral
        tau = rnea(carrying(tree, load), q, qd, a, friction=False)
        stuck = e / (SERVO_ERROR_SCALE * (1.0 + (qd / STICKING) ** 2))
        tau = tau + tree.viscous @ ref.qd + tree.coulomb * np.tanh(ref.qd / FRICTION_SMOOTHING_SPEED + stuck)
        grown = integral + dt * POLE**3 * np.where(np.abs(e) > DEAD_BAND, e, 0.0 * e)
        tau = np.array(
            [np.minimum(np.maximum(tau[k], -m), m) if np.isfinite(m) else tau[k] for k, m in enumerate(most)]
        )
        return tau, {
            "integral": np.minimum(np.maximum(grown, -LARGEST_SERVO_INTEGRAL), LARGEST_SERVO_INTEGRAL),
            "load": load,
        }

    return Law("lab servo", torque, {}, {"integral": 0.0, "load": np.zeros(4)})


def watch(robot: Robot, *, sensitivity: float = 1.0) -> tuple[Monitor, Monitor]:
    """Observer of external torque and detector of collisions; the observer's memory holds the load it is told.

    Args:
        robot: the arm.
        sensitivity: divides the thresholds of 45 N m (12 N m for joints that give less than 100 N m).
    """
    inner = momentum_observer(LAB_OBSERVER_GAIN)

    def observe(
        arm: Robot | Tree,
        dt: float,
        q: Traced,
        qd: Traced,
        tau: Traced,
        gain: Traced,
        r: Traced,
        carry: Traced,
        started: Traced,
        load: Traced,
    ) -> dict[str, Traced]:
        signals = {"dt": dt, "q": q, "qd": qd, "tau": tau, "gain": gain, "r": r, "carry": carry, "started": started}
        seen: dict[str, Traced] = call_by_name(inner.function, {"arm": carrying(as_tree(arm), load), **signals})
        return seen | {"load": load}

    observer = Monitor("momentum", observe, inner.gains, {**inner.memory, "load": np.zeros(4)}, inner.outputs)
    return observer, joint_detector(thresholds(robot) / sensitivity)


def thresholds(robot: Robot) -> Array:
    """Thresholds of the collision detector (n,) [N m]."""
    effort = np.array([joint.limits.effort for joint in robot.joints])
    return np.where(effort > 100.0, LARGE_JOINTS, SMALL_JOINTS)


PLANT_RATE, PLANT_SUBSTEPS = 500, 4
INVERSE_DAMPING = 1e-4  # of the inverse Jacobian: near a singularity forces and steps stay finite
POSE_OUT_OF_REACH = np.array([9.0, 0.0, 0.0, 0.0, 0.0, 0.0])  # a pose out of reach
MOST_LOAD = 10.0  # [kg] that any arm may be told; more if it is rated for more


class PublishedState(NamedTuple):
    """Poses are x y z [m] and rotation vector [rad]; speeds and force linear first, base axes, at the TCP.

    `torque` (n,) is what the model says that the reference needs, without friction: "target moment" on a UR.
    """

    pose: Traced
    speed: Traced
    target_pose: Traced
    target_speed: Traced
    force: Traced
    acceleration: Traced
    torque: Traced


def _tcp(robot: Robot, q: Traced, tcp: Traced) -> tuple[Traced, Traced]:
    """Pose (4, 4) and Jacobian (6, n) of the TCP, given as a pose (6,) in the flange's frame."""
    T, J = pose_jacobian(robot, q)
    arm = T[:3, :3] @ tcp[:3]
    linear = J[:3] + np.array([np.cross(J[3:, k], arm) for k in range(robot.n)]).T
    R = T[:3, :3] @ exp_so3(tcp[3:])
    return np.concatenate([T[:3, 3] + arm, log_so3(R)]), np.concatenate([linear, J[3:]])


def published_kernel(robot: Robot) -> Kernel:
    """Everything that is published about the tool, traced: (q, qd, qdd, ref, tau_ext, tcp, load) → `PublishedState`."""
    n = robot.n

    def publish(
        q: Traced, qd: Traced, qdd: Traced, ref: Traced, tau_ext: Traced, tcp: Traced, load: Traced
    ) -> PublishedState:
        pose, J = _tcp(robot, q, tcp)
        q_ref, qd_ref, qdd_ref = ref[:n], ref[n : 2 * n], ref[2 * n :]
        target, J_ref = _tcp(robot, q_ref, tcp)
        torque = rnea(carrying(as_tree(robot), load), q_ref, qd_ref, qdd_ref, friction=False)
        speed = J @ qd
        force = ltdl_solve(J @ J.T + INVERSE_DAMPING * np.eye(6), J @ tau_ext)
        # J̇ q̇ is left out: below 1 m/s² at the speeds of a UR5
        felt = (J @ qdd)[:3] - robot.gravity
        return PublishedState(pose, speed, target, J_ref @ qd_ref, force, exp_so3(pose[3:]).T @ felt, torque)

    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("q", "qd", "qdd"), (n,))
    shapes |= {"ref": (3 * n,), "tau_ext": (n,), "tcp": (6,), "load": (4,)}
    return compile_function(publish, shapes, name="lab published", check_finite=False)


def newton_kernel(robot: Robot) -> Kernel:
    """One step towards a TCP pose (6,): (q, pose, tcp) → (q + J⁺ error, error (6,))."""

    def step(q: Traced, goal: Traced, tcp: Traced) -> tuple[Traced, Traced]:
        T, J = pose_jacobian(robot, q)
        arm = T[:3, :3] @ tcp[:3]
        linear = J[:3] + np.array([np.cross(J[3:, k], arm) for k in range(robot.n)]).T
        J = np.concatenate([linear, J[3:]])
        R = T[:3, :3] @ exp_so3(tcp[3:])
        error = np.concatenate([goal[:3] - T[:3, 3] - arm, log_so3(exp_so3(goal[3:]) @ R.T)])
        return q + J.T @ ltdl_solve(J @ J.T + 1e-6 * np.eye(6), error), error

    return compile_function(step, {"q": (robot.n,), "goal": (6,), "tcp": (6,)}, name="lab newton", check_finite=False)


def _surroundings(robot: Robot, world: World | None) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """Pushes on any link (nb, 6), link origins, base axes, and the contacts of a world; and what that depends on."""
    if world is None:
        return _pushed, ("push",)
    contacts = contact_wrench(robot, world)

    def both(arm: Robot | Tree, t: Traced, q: Traced, qd: Traced, push: Traced) -> Traced:
        return contacts(arm, t, q, qd) + push

    return both, ("arm", "t", "q", "qd", "push")


def _pushed(push: Traced) -> Traced:
    return push


class LabPlant:
    """The arm in the lab, at rest at `q0` and compiled when it has been made.

    Attributes:
        robot: with rotors and friction. live: the compiled loop. map: current and torque. tcp: pose (6,) at the flange.
        load: (mass, cx, cy, cz) that the controller has been told; the true one is `carry`.
        load_inertia: (6,) told with it, Ixx Iyy Izz Ixy Ixz Iyz [kg m²]; kept and published, a load moves as a point.
        thresholds: of the collision detector (6,) [N m]. work: of the drives so far, driving and braking [J].
        now: what is published of the last tick.
    """

    live: Live
    map: CurrentMap
    tcp: Array
    load: Array
    load_inertia: Array
    thresholds: Array
    work: tuple[float, float]

    def __init__(
        self,
        robot: Robot,
        *,
        q0: Array,
        world: World | None = None,
        sensitivity: float = 1.0,
        current_noise: float = 0.0,
        seed: int = 0,
    ) -> None:
        """Compile everything that a running controller will call; current_noise is a deviation a sample [A]."""
        if not 0.0 <= current_noise < 100.0:
            raise InputError(f"lab: current noise must be 0 to 100 A, got {current_noise}")
        if robot.n != 6:
            raise InputError(f"lab: a UR controller drives six joints, {robot.name!r} has {robot.n}")
        self.robot: Robot = as_measured(robot)
        loop = Loop.of(
            self.robot,
            servo(self.robot),
            rate=PLANT_RATE,
            substeps=PLANT_SUBSTEPS,
            integrator="semi-implicit",
            model=self.robot,
            wrench=_surroundings(self.robot, world)[0],
            inputs={"push": (len(self.robot.bodies), 6)},
            monitors=watch(self.robot, sensitivity=sensitivity),
            limits="clamp",
        )
        self.live = loop.live(q0, may_become=(loaded(self.robot),))
        self._feel = felt_kernel(self.robot, *_surroundings(self.robot, world))
        self.map = current_map(robot)
        self._noise, self._random = current_noise, np.random.default_rng(seed)
        self.tcp, self.load, self._carried = np.zeros(6), np.zeros(4), np.zeros(4)
        self.load_inertia, self.thresholds = np.zeros(6), thresholds(self.robot) / sensitivity
        self.work = (0.0, 0.0)
        self._publish, self._newton = published_kernel(self.robot), newton_kernel(self.robot)
        self._model, self._detail = model_kernel(self.robot), detail_kernel(self.robot)
        self._before = np.zeros(6)
        self.qdd = np.zeros(6)
        first = np.array(q0, dtype=np.float64)
        self.inverse(self.pose_of(first), first)
        self.inverse(POSE_OUT_OF_REACH, first)  # what looks for a way compiles, too
        self.look()
        for first_use in (self.model, self.detail, self.feel, self.flange, lambda: self.towards(first, self.now.pose)):
            first_use()  # none of them compiles within a tick

    def step(self, q: Array, qd: Array, qdd: Array) -> None:
        """One tick of 2 ms towards a reference."""
        self._before[...] = self.live.qd
        self.live.step(q, qd, qdd)
        self.qdd = (self.live.qd - self._before) * PLANT_RATE
        done = float(self.live.tau @ self.live.qd) / PLANT_RATE
        given, taken = self.work
        self.work = (given + done, taken) if done > 0.0 else (given, taken - done)

    def brake(self) -> None:
        """One tick with the brakes on: nothing moves, no torque."""
        self.live.qd[...] = self.live.tau[...] = 0.0
        self.qdd = np.zeros(6)

    def look(self) -> PublishedState:
        """Compute what is published of the present state."""
        p, load = self.live, self.live.memory["load"]
        self.now = PublishedState(*self._publish(p.q, p.qd, self.qdd, p.ref, p.outputs["tau_ext"], self.tcp, load))
        return self.now

    def measured_current(self) -> Array:
        """Motor currents (6,) as the drives measure them, with their noise [A]."""
        exact = self.map.current(np.asarray(self.live.tau))
        return exact + self._noise * self._random.standard_normal(6) if self._noise else exact

    def model(self) -> Model:
        """The arm's mathematics at its present state, with the load that it was told."""
        p = self.live
        return Model(*self._model(p.q, p.qd, self.tcp, p.memory["load"]))

    def detail(self) -> PlantDetail:
        """What is asked for more rarely: see `PlantDetail`."""
        p = self.live
        return PlantDetail(*self._detail(p.q, p.qd, self.qdd, p.ref, self.tcp, p.memory["load"]))

    @property
    def noisy(self) -> bool:
        """Whether measured currents have noise."""
        return self._noise > 0.0

    def flange(self) -> Array:
        """Pose (4, 4) of the flange."""
        return np.asarray(kernel(self.robot, pose_jacobian)(self.live.q)[0])

    @property
    def alarm(self) -> bool:
        """Whether the detector feels a collision."""
        return bool(self.live.outputs["alarm"][0] >= 0.0)

    def push(self, body: int, wrench: Array) -> None:
        """Push a body with a wrench (6,) at its link's origin, base axes, until it is set again."""
        self.live.inputs["push"][body] = wrench

    def carry(self, mass: float, centre: Array) -> None:
        """Hang a true load on the flange: mass [kg], centre in the flange's frame [m]."""
        self.live.become(self.robot.with_payload(mass, centre))
        self._carried = np.array([mass, *centre])

    def feel(self) -> FeltWrench:
        """What sensors at the flange feel now."""
        p = self.live
        return FeltWrench(*self._feel(p.q, p.qd, self.qdd, p.inputs["push"], self._carried))

    def told(self, mass: float, centre: Array, inertia: Array | None = None) -> None:
        """Tell the controller what it carries; servo and observer believe it. `inertia`: see `load_inertia`."""
        most = max(MOST_LOAD, self.robot.rated_payload or 0.0)
        if not (0.0 <= mass <= most and np.isfinite(centre).all() and np.abs(centre).max() <= 1.0):
            raise InputError(f"payload: 0 to {most:g} kg within 1 m of the flange, got {mass} kg at {centre}")
        if inertia is not None and not (np.shape(inertia) == (6,) and np.isfinite(inertia).all()):
            raise InputError(f"payload: six finite numbers Ixx, Iyy, Izz, Ixy, Ixz, Iyz needed, got {inertia}")
        self.load = np.array([mass, *centre])
        self.load_inertia = np.zeros(6) if inertia is None else np.array(inertia, dtype=np.float64)
        load = load_of(as_tree(self.robot), mass, centre)
        self.live.memory["load"][...] = self.live.watching["momentum"]["load"][...] = load

    def rest(self) -> None:
        """Forget what servo and observer remember, as after a stop."""
        self.live.memory["integral"][...] = 0.0
        self.live.watching["momentum"]["started"][...] = self.live.watching["momentum"]["r"][...] = 0.0
        self.live.watching["joint thresholds"]["active"][...] = 0.0
        self.live.outputs["alarm"][...] = -1.0

    def pose_of(self, q: Array, tcp: Array | None = None) -> Array:
        """TCP pose (6,) at q."""
        zero, tool = np.zeros(6), self.tcp if tcp is None else tcp
        return np.array(self._publish(q, zero, zero, np.zeros(18), zero, tool, np.zeros(4))[0])

    def towards(self, q: Array, pose: Array, rounds: int = 2) -> tuple[Array, float]:
        """Follow a pose (6,) from a configuration nearby; return it and the error that was left [m, rad]."""
        for _ in range(rounds):
            q, error = self._newton(q, pose, self.tcp)
        return q, float(np.abs(error).max())

    def inverse(self, pose: Array, near: Array, tcp: Array | None = None) -> Array | None:
        """Configuration (6,) nearest to `near` that reaches a TCP pose, or None."""
        tool = self.tcp if tcp is None else tcp
        T, F = np.eye(4), np.eye(4)
        T[:3, :3], T[:3, 3] = exp_so3(pose[3:]), pose[:3]
        F[:3, :3], F[:3, 3] = exp_so3(tool[3:]), tool[:3]
        # a closed form knows by itself that there is nothing: no search for it from other starts
        restarts = 0 if closed_form(self.robot) else RESTARTS
        found: Any = ik(self.robot, T @ np.linalg.inv(F), seed=near, project=True, restarts=restarts)
        return np.array(found.solutions[0]) if found.status in ("solved", "singular") else None
