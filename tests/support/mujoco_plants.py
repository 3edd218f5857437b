# SPDX-License-Identifier: Apache-2.0
"""MuJoCo as the plant: it integrates the arm and makes the contacts; the library commands torques and listens.

The arm is what `to_mjcf` writes, with a ball at the tool. Nothing of the library's own simulation or contact model is
used. The truth of a contact (forces, joint torques, first touch) is read from MuJoCo and never shown to an observer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import mujoco
import numpy as np

from armwright.control.law import law_kernel
from armwright.detection.study_contacts import study_law
from armwright.kinematics import fk
from armwright.motion import Reference
from armwright.robot.parts import Actuators, Friction
from armwright.simulation.sensors import JointSensors

DT = 1e-3  # control period [s]
BALL = 0.02  # radius of the tool [m]
W = np.array([22.5, 22.5, 75.0, 75.0, 75.0, 75.0])  # 000's controller frequencies [1/s]
SENSORS = JointSensors(position_resolution=1e-5, velocity_noise=1e-3)
IDEAL_SENSORS = JointSensors()


@dataclass(frozen=True)
class Surface:
    """An obstacle: "box", "plane" or "sphere"; MuJoCo's contact stiffness and damping per mass [1/s²], [1/s]; friction.

    MuJoCo scales both by the apparent mass, some 5 to 20 kg here: 4e4/s² is a hard table, 1e3/s² a cushion.
    """

    shape: str
    stiffness: float = 4e4
    damping: float = 40.0
    friction: float = 0.5


@dataclass(frozen=True)
class Elastic:
    """Joint springs between motor and link: stiffness [N m/rad] (n,), damping [N m s/rad] (n,)."""

    stiffness: np.ndarray
    damping: np.ndarray


@dataclass(frozen=True)
class Run:
    """One run, T ticks. What the library sees: time, q, qd, tau, ref; asked is tau before the drives' limits.

    The truth: contact_torque (T, n), the mean within the tick that ends at the sample; contact_force (T, 3), base axes,
    likewise; true_q (T, n), joint angles after the springs; first, the tick of first touch or None.
    """

    time: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray
    asked: np.ndarray
    ref: Reference
    contact_torque: np.ndarray
    contact_force: np.ndarray
    true_q: np.ndarray
    first: int | None


def disturbed(robot, rng, mass, friction=0.0):
    """The arm with every mass and inertia, and every friction, off by up to that fraction."""
    scale = 1.0 + mass * rng.uniform(-1.0, 1.0, robot.n)
    rubs = 1.0 + friction * rng.uniform(-1.0, 1.0, robot.n)
    bodies = (replace(b, mass=b.mass * s, inertia=b.inertia * s) for b, s in zip(robot.bodies, scale, strict=True))
    joints = (
        replace(j, friction=Friction(j.friction.viscous * s, j.friction.coulomb * s))
        for j, s in zip(robot.joints, rubs, strict=True)
    )
    return replace(robot, bodies=tuple(bodies), joints=tuple(joints))


def geared(robot):
    """The arm with drives of a UR5's size: gears of 101, rotors that weigh 1.0 and 0.2 kg m² at the joint, friction."""
    friction = (7.2, 5.5, 5.7, 0.7, 0.7, 0.65)  # [N m] and [N m s/rad], 004 eq. 6.2 and 6.4
    rotors = np.array([1e-4, 1e-4, 1e-4, 2e-5, 2e-5, 2e-5])
    drives = replace(Actuators.none(robot.n), gear=101.0 * np.eye(robot.n), rotor_inertia=rotors)
    joints = (replace(j, friction=Friction(f, f)) for j, f in zip(robot.joints, friction, strict=True))
    return replace(robot, joints=tuple(joints), actuators=drives)


def plant(robot, surface=None, at=None, normal=None, elastic=None):
    """MuJoCo model of the arm; the surface passes through the point `at` (3,) with the outward `normal` (3,)."""
    spec = mujoco.MjSpec.from_string(robot.to_mjcf())
    spec.option.timestep = 0.5 * DT
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    tip = spec.body(robot.bodies[robot.tip].name)
    tip.add_geom(name="ball", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[BALL, 0, 0], pos=robot.T_tip_tool[:3, 3], mass=0)
    if surface is not None:
        kind, size, depth = {
            "box": (mujoco.mjtGeom.mjGEOM_BOX, [0.1, 0.1, 0.05], 0.05),
            "plane": (mujoco.mjtGeom.mjGEOM_PLANE, [1.0, 1.0, 0.1], 0.0),
            "sphere": (mujoco.mjtGeom.mjGEOM_SPHERE, [0.1, 0.0, 0.0], 0.1),
        }[surface.shape]
        quat = np.zeros(4)
        mujoco.mju_quatZ2Vec(quat, normal)
        spec.worldbody.add_geom(
            name="surface",
            type=kind,
            size=size,
            pos=at - depth * normal,
            quat=quat,
            priority=1,
            condim=3,
            solref=[-surface.stiffness, -surface.damping],
            friction=[surface.friction, 0.0, 0.0],
        )
    if elastic is not None:  # two hinges about one axis: the first turns the motor, the second is the spring after it
        for k, joint in enumerate(robot.joints):
            motor = spec.joint(joint.name)
            motor.parent.add_joint(
                name=f"{joint.name} spring",
                type=motor.type,
                axis=motor.axis,
                pos=motor.pos,
                stiffness=elastic.stiffness[k],
                damping=elastic.damping[k],
            )
    return spec.compile()


def contact_truth(model, data, dofs):
    """Joint torque (n,) and force (3,) that the surface exerts on the ball, from MuJoCo's contacts."""
    tau, total, out, jacobian = np.zeros(len(dofs)), np.zeros(3), np.zeros(6), np.zeros((3, model.nv))
    ball = model.geom("ball").id
    for k in range(data.ncon):
        contact = data.contact[k]
        mujoco.mj_contactForce(model, data, k, out)
        force = contact.frame.reshape(3, 3).T @ out[:3] * (1.0 if contact.geom[1] == ball else -1.0)
        mujoco.mj_jac(model, data, jacobian, None, contact.pos, model.geom_bodyid[ball])
        tau += (jacobian.T @ force)[dofs]
        total += force
    return tau, total


def drive(robot, model, motion, rng, *, sensors=SENSORS, until=None, touching=np.inf):
    """Move the MuJoCo arm along `motion` under computed torque with the library's model `robot`, then hold.

    Ends at `until` [s] (the motion's end by default), or `touching` [s] after the first touch.
    """
    law = law_kernel(study_law(W**2, 2.0 * W), robot)
    ticks = round((until or motion.duration) / DT) + 1
    time = DT * np.arange(ticks)
    ref = Reference(*motion.evaluate(np.minimum(time, motion.duration))[:3])
    data = mujoco.MjData(model)
    joints = [model.joint(joint.name) for joint in robot.joints]
    place, dofs = np.array([j.qposadr[0] for j in joints]), np.array([j.dofadr[0] for j in joints])
    motors = np.array([model.actuator(joint.name).id for joint in robot.joints])
    spring_names = [f"{j.name} spring" for j in robot.joints] if model.nv > robot.n else []
    springs = [model.joint(name).qposadr[0] for name in spring_names]
    data.qpos[place], data.qvel[dofs] = ref.q[0], ref.qd[0]
    for _ in range(4 if springs else 0):  # the springs start where they carry the weight
        mujoco.mj_forward(model, data)
        data.qpos[springs] = -data.qfrc_bias[dofs] / model.jnt_stiffness[[model.joint(s).id for s in spring_names]]
    effort = np.array([joint.limits.effort for joint in robot.joints])
    noise = rng.standard_normal((ticks, 2 * robot.n))
    seen = np.zeros((ticks, 4, robot.n))
    torque, force, true_q = np.zeros((ticks, robot.n)), np.zeros((ticks, 3)), np.zeros((ticks, robot.n))
    first, substeps = None, round(DT / model.opt.timestep)
    for k in range(ticks):
        q, qd = sensors.read(data.qpos[place], data.qvel[dofs], noise[k])
        asked = law(time[k, ...], q, qd, ref.q[k], ref.qd[k], ref.qdd[k])
        tau = np.clip(asked, -effort, effort)
        seen[k] = q, qd, tau, asked
        true_q[k] = data.qpos[place] + (data.qpos[springs] if springs else 0.0)
        if k + 1 == ticks or (first is not None and (k - first) * DT >= touching):
            break
        data.ctrl[motors] = tau
        for _ in range(substeps):
            mujoco.mj_step(model, data)
            if data.ncon:
                first = k + 1 if first is None else first
                step_torque, step_force = contact_truth(model, data, dofs)
                torque[k + 1] += step_torque / substeps
                force[k + 1] += step_force / substeps
    end = k + 1
    ref = Reference(*(part[:end] for part in ref))
    return Run(time[:end], *seen[:end].transpose(1, 0, 2), ref, torque[:end], force[:end], true_q[:end], first)


def obstructed(robot, motion, surface, share=0.6, elastic=None, arm=None):
    """Plant in which the ball meets the surface head on when the reference has gone `share` of its duration.

    `arm` is what moves, where it is not what the library believes (`robot`).
    """
    t = share * motion.duration
    points = fk(robot, motion.evaluate(np.array([t - 1e-4, t]))[0])[..., :3, 3]
    along = (points[1] - points[0]) / np.linalg.norm(points[1] - points[0])
    model = plant(arm or robot, surface, points[1] + BALL * along, -along, elastic)
    return model, np.linalg.norm(points[1] - points[0]) / 1e-4
