# SPDX-License-Identifier: Apache-2.0
"""Worker for MuJoCo: mj_inverse, mj_forward and the pieces; rollout of one Euler step as batch of forward dynamics."""

from __future__ import annotations

import mujoco as mj
import numpy as np
from mujoco import rollout

from armwright.bench.learning_cases import ARMS_LEARNING, LEARNING_RATE, TICKS_PER_STEP, load_learning
from armwright.bench.loop_task import CHECKED_TICKS, KD, KP, PERIOD, TICKS, load_task
from armwright.bench.protocol import COMPARED_STATES, case, serve, setup

folder, models = setup()
data = models["ur5"]
text = (folder / "ur5.xml").read_text(encoding="utf-8")
m = mj.MjModel.from_xml_string(text)
d = mj.MjData(m)
q, v, x = (data[key][0].copy() for key in ("q", "qd", "x"))
n = m.nv


def inverse():
    d.qpos[:], d.qvel[:], d.qacc[:] = q, v, x
    mj.mj_inverse(m, d)
    return d.qfrc_inverse


def forward():
    d.qpos[:], d.qvel[:], d.qfrc_applied[:] = q, v, x
    mj.mj_forward(m, d)
    return d.qacc


full = np.zeros((n, n))
build_mass = mj.mj_makeM if hasattr(mj, "mj_makeM") else mj.mj_crb


def expand():
    try:
        mj.mj_fullM(m, full, d.qM)
    except (TypeError, AttributeError):
        mj.mj_fullM(m, d, full)


def mass():
    d.qpos[:] = q
    mj.mj_kinematics(m, d)
    mj.mj_comPos(m, d)
    build_mass(m, d)
    expand()
    return full


case("rnea/single", inverse, data["tau"][0], got=inverse().copy(), note="mj_inverse")
case("fd/single", forward, data["qdd"][0], got=forward().copy(), note="mj_forward")
case("mass/single", mass, data["M"][0], got=mass().copy())

linear, angular = np.zeros((3, n)), np.zeros((3, n))
point, last = np.array(data["T"][0][:3, 3]), m.nbody - 1


def fkj():
    d.qpos[:] = q
    mj.mj_kinematics(m, d)
    mj.mj_comPos(m, d)
    mj.mj_jac(m, d, linear, angular, point, last)


fkj()
case("fkj/single", fkj, data["J"][0], got=np.vstack([linear, angular]), note="mj_jac")

count, step = len(data["q"]), 1e-3
spec = mj.MjSpec.from_string(text)
spec.option.timestep = step
spec.option.integrator = mj.mjtIntegrator.mjINT_EULER
euler = spec.compile()
if euler.nu == 0:  # rollout drives through actuators: give every joint a direct one
    for joint in spec.joints:
        actuator = spec.add_actuator(name=f"drive_{joint.name}", target=joint.name)
        actuator.trntype = mj.mjtTrn.mjTRN_JOINT
    euler = spec.compile()
size = mj.mj_stateSize(euler, mj.mjtState.mjSTATE_FULLPHYSICS.value)
state, after = np.zeros((count, size)), np.zeros((count, 1, size))
state[:, 1 : 1 + n], state[:, 1 + n : 1 + 2 * n] = data["q"], data["qd"]
control, datas = data["x"].reshape(count, 1, n).copy(), [mj.MjData(euler)]
roll = rollout.Rollout(nthread=0)


def batch():
    roll.rollout(euler, datas, state, control, nstep=1, state=after)


batch()
found = (after[:COMPARED_STATES, 0, 1 + n : 1 + 2 * n] - data["qd"][:COMPARED_STATES]) / step
case("fd/batch", batch, data["qdd"], got=found, items=count, note="rollout, one Euler step", tolerance=1e-7)
task = load_task(folder)
if task is not None:
    spec = mj.MjSpec.from_string(text)
    spec.option.timestep = PERIOD
    spec.option.integrator = mj.mjtIntegrator.mjINT_RK4
    plant = spec.compile()
    body, mind = mj.MjData(plant), mj.MjData(plant)
    q_ref, qd_ref, qdd_ref = (list(task[key]) for key in ("q_ref", "qd_ref", "qdd_ref"))

    def loop(ticks=TICKS):
        step, inverse_dynamics = mj.mj_step, mj.mj_inverse
        qpos, qvel, force = body.qpos, body.qvel, body.qfrc_applied
        position, velocity, acceleration, needed = mind.qpos, mind.qvel, mind.qacc, mind.qfrc_inverse
        body.time, qpos[:], qvel[:] = 0.0, task["q0"], 0.0
        for k in range(ticks):
            position[:], velocity[:] = qpos, qvel
            acceleration[:] = qdd_ref[k] + KP * (q_ref[k] - qpos) + KD * (qd_ref[k] - qvel)
            inverse_dynamics(plant, mind)
            force[:] = needed
            step(plant, body)
        return np.concatenate([qpos, qvel])

    case("loop/computed_torque", loop, task["state"], got=loop(CHECKED_TICKS), note="mj_step, mj_inverse, Python loop")

learning = load_learning(folder)
if learning is not None:
    spec = mj.MjSpec.from_string((folder / "learn" / "arm.xml").read_text(encoding="utf-8"))
    spec.option.timestep = 1.0 / LEARNING_RATE
    spec.option.integrator = mj.mjtIntegrator.mjINT_EULER
    many = spec.compile()  # its motors have a gear of one
    begun = np.zeros((ARMS_LEARNING, mj.mj_stateSize(many, mj.mjtState.mjSTATE_FULLPHYSICS.value)))
    begun[:, 1 : 1 + 2 * n] = learning["start"]
    ended = np.zeros((ARMS_LEARNING, TICKS_PER_STEP, begun.shape[1]))
    torques = np.repeat(learning["torques"][:, None], TICKS_PER_STEP, axis=1)
    own = [mj.MjData(many)]

    def environment():
        roll.rollout(many, own, begun, torques, nstep=TICKS_PER_STEP, state=ended)

    environment()
    case(
        "learn/environment",
        environment,
        learning["after"],
        got=ended[:, -1, 1 : 1 + 2 * n],
        items=ARMS_LEARNING * TICKS_PER_STEP,
        note="rollout alone, Euler, per tick",
    )

serve(mj.__version__)
