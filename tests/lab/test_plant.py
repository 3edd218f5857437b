# SPDX-License-Identifier: Apache-2.0
"""The arm in the lab: it arrives in spite of stiction, feels blows, and believes what it is told of its load."""

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError
from armwright.graph.kernel import Kernel
from armwright.kinematics import fk
from armwright.lab.controller.controller import Controller
from armwright.lab.controller.published import values
from armwright.lab.lab_plant import LabPlant
from armwright.lab.script.script_host import ScriptHost
from armwright.lab.wire.rtde_fields import OUTPUTS, kinds_of
from armwright.robot.measured import ASSUMED_ROTORS
from armwright.spatial.rotations import exp_so3
from support.patience import until

Q0 = np.array([0.0, -1.57, 1.57, -1.57, -1.57, 0.0])
ZERO = np.zeros(6)


@pytest.fixture(scope="module")
def compiled():
    return LabPlant(aw.load("ur5"), q0=Q0)


@pytest.fixture
def plant(compiled):
    compiled.live.reset(Q0)
    compiled.live.inputs["push"][...] = 0.0
    compiled.carry(0.0, np.zeros(3))
    compiled.told(0.0, np.zeros(3))
    compiled.tcp[...] = 0.0
    return compiled


def drive(plant, a, b, seconds, rest=0.6):
    """A trapezoid in thirds, then rest."""
    ticks = int(seconds * 500)
    for k in range(ticks):
        s = k / ticks
        u, du, ddu = (
            (2.25 * s * s, 4.5 * s, 4.5)
            if s < 1 / 3
            else (1.5 * s - 0.25, 1.5, 0.0)
            if s < 2 / 3
            else (1 - 2.25 * (1 - s) ** 2, 4.5 * (1 - s), -4.5)
        )
        plant.step(a + (b - a) * u, (b - a) * du / seconds, (b - a) * ddu / seconds**2)
    for _ in range(int(rest * 500)):
        plant.step(b, ZERO, ZERO)


def test_it_arrives_under_stiction_and_then_rests(plant):
    random, a = np.random.default_rng(4), Q0
    for _ in range(8):
        b = Q0 + random.uniform(-1.5, 1.5, 6)
        drive(plant, a, b, random.uniform(0.8, 2.0))
        now = plant.look()
        assert np.abs(plant.live.q - b).max() <= 1e-4
        assert np.linalg.norm(now.pose[:3] - now.target_pose[:3]) <= 1e-4
        assert np.abs(plant.live.qd).max() < 1e-5  # it creeps, at most: no hunting
        assert not plant.alarm
        a = b


def test_a_blow_is_felt_and_a_touch_is_not(plant):
    for force, felt in ((20.0, False), (150.0, True)):
        plant.live.reset(Q0)
        plant.push(5, np.array([0, 0, force, 0, 0, 0]))
        alarms = []
        for _ in range(50):  # 0.1 s
            plant.step(Q0, ZERO, ZERO)
            alarms.append(plant.alarm)
        assert any(alarms) == felt


def test_a_load_that_it_was_told_is_not_a_collision(plant):
    heavy, centre = 5.0, np.array([0.0, 0.05, 0.1])
    stretched = np.array([0.0, 0.0, 0.0, 0.0, -1.57, 0.0])
    levels = {}
    for told in (0.0, heavy):
        plant.live.reset(stretched)
        plant.carry(heavy, centre)
        plant.told(told, centre)
        for _ in range(300):
            plant.step(stretched, ZERO, ZERO)
        levels[told] = float(plant.live.outputs["level"][0])
    assert levels[heavy] < 0.2
    assert levels[0.0] > 4 * levels[heavy]


def test_published_poses_are_the_forward_kinematics_with_the_tcp(plant):
    plant.tcp[...] = [0.01, -0.02, 0.1, 0.3, 0.2, -0.1]
    T = fk(plant.robot, Q0)
    pose = plant.pose_of(Q0)
    assert np.allclose(pose[:3], T[:3, 3] + T[:3, :3] @ plant.tcp[:3], atol=1e-12)
    assert np.allclose(exp_so3(pose[3:]), T[:3, :3] @ exp_so3(plant.tcp[3:]), atol=1e-12)
    back = plant.inverse(pose, Q0 + 0.1)
    assert np.allclose(plant.pose_of(back), pose, atol=1e-9)
    near, error = plant.towards(Q0 + 0.01, pose, rounds=6)
    assert np.allclose(near, Q0, atol=1e-6) and error < 1e-6


def test_a_pose_out_of_reach_has_no_configuration(plant):
    assert plant.inverse(np.array([2.0, 0, 0, 0, 0, 0]), Q0) is None


def test_at_rest_the_accelerometer_reads_one_g(plant):
    for _ in range(10):
        plant.step(Q0, ZERO, ZERO)
    assert np.linalg.norm(plant.look().acceleration) == pytest.approx(9.81, abs=0.01)


def test_the_catalogue_keeps_its_ur5(plant):
    assert not aw.load("ur5").actuators.rotor_inertia.any()
    assert np.allclose(np.diag(plant.robot.tree.armature), ASSUMED_ROTORS)


@pytest.mark.parametrize("inertia", [-0.1, np.nan])
def test_rotors_cannot_be_negative(inertia):
    with pytest.raises(InputError, match="inertia"):
        aw.load("ur5").with_rotors(inertia)


def test_a_ur_controller_has_six_joints():
    with pytest.raises(InputError, match="six joints"):
        LabPlant(aw.load("panda"), q0=np.zeros(7))


def test_targets_are_the_model_without_friction_and_show_the_drive_gain(plant):
    """What a UR calls target moment and target current: their ratio is the gain."""
    plant.told(2.0, np.array([0.0, 0.0, 0.1]))
    plant.step(Q0, ZERO, ZERO)
    torque = np.array(plant.look().torque)
    loaded = aw.load("ur5").with_payload(2.0, (0.0, 0.0, 0.1))
    assert np.allclose(torque, aw.inverse_dynamics(loaded, Q0, ZERO, ZERO), atol=1e-9)
    assert np.allclose(plant.map.k * plant.map.current(torque) + plant.map.b, torque)


@pytest.mark.parametrize("start", [[0.0] * 6, [0.1, -0.9, 0.9, -0.8, -0.9, 0.1]])
def test_the_servo_is_stable_wherever_the_arm_begins(start):
    """Dry friction fed forward must not become a gain that ticks of 2 ms cannot hold."""
    plant = LabPlant(aw.load("ur5"), q0=np.array(start))
    plant.live.qd[...] = 0.3  # a kick
    for _ in range(400):
        plant.step(np.array(start), ZERO, ZERO)
    assert np.abs(plant.live.q - start).max() < 2e-4 and np.abs(plant.live.qd).max() < 1e-4


def test_measured_currents_have_the_noise_that_was_asked_for_and_the_same_seed_gives_the_same():
    rows = []
    for _ in range(2):
        plant = LabPlant(aw.load("ur5"), q0=Q0, current_noise=0.05, seed=3)
        rows.append(np.array([plant.measured_current() for _ in range(2000)]))
    exact = plant.map.current(plant.live.tau)
    assert np.array_equal(*rows)
    assert np.allclose(rows[0].mean(axis=0), exact, atol=0.006) and np.allclose(rows[0].std(axis=0), 0.05, rtol=0.08)
    with pytest.raises(InputError, match="current noise"):
        LabPlant(aw.load("ur5"), q0=Q0, current_noise=-1.0)


EVERYTHING = """def prog():
  movej(pose_add(get_actual_tcp_pose(), p[0, 0.02, 0, 0, 0, 0]), t=0.1)
  movel(pose_add(get_target_tcp_pose(), p[0.01, 0, 0, 0, 0, 0]), t=0.1)
  movep(pose_add(get_target_tcp_pose(), p[0, 0, 0.01, 0, 0, 0]), v=0.2, r=0.001)
  a = pose_add(get_target_tcp_pose(), p[0.01, 0.01, 0, 0, 0, 0])
  movec(a, pose_add(a, p[0.01, -0.01, 0, 0, 0, 0]), a=2, v=0.2)
  speedl([0.01, 0, 0, 0, 0, 0], 0.5, 0.02)
  stopl(10)
  servoc(get_target_tcp_pose(), 1.2, 0.25, 0.01)
  q = get_inverse_kin(pose_add(get_target_tcp_pose(), p[0, 0.2, 0.1, 0, 0.5, 0]))
  force_mode(p[0, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0], 2, [0.1, 0.1, 0.1, 0.3, 0.3, 0.3])
  sleep(0.02)
  end_force_mode()
  freedrive_mode()
  sleep(0.02)
  end_freedrive_mode()
  direct_torque([0, 0, 0, 0, 0, 0])
  textmsg(get_tcp_force(), get_jacobian())
  movej([0, -1.5, 1.5, -1.5, -1.5, 0.1], t=0.2, r=0.01)
  movej([0, -1.5, 1.5, -1.5, -1.5, 0], t=0.2)
  write_output_integer_register(0, 7)
end
"""


def test_nothing_is_compiled_once_the_arm_is_made(monkeypatch):
    """A first pose, a first field that few ask for: each took 20 to 90 ms of a tick where no code was kept."""
    plant, late = LabPlant(aw.load("ur5"), q0=Q0), []
    make = Kernel._make_rows
    monkeypatch.setattr(Kernel, "_make_rows", lambda kernel: late.append(kernel.name) or make(kernel))
    c = Controller(plant, e_series=True, software="5.25.1")
    c.settle()
    host = ScriptHost(c)
    host.run(EVERYTHING)
    for _ in range(4000):
        c.tick()
        until(lambda: not c.solver._jobs, "what a tick asked for is solved")
        if c.program is None:
            break
    said = c.outbox.take()
    assert c.registers.out_ints[0] == 7, said
    outputs = values(c)
    assert all(outputs[name] is not None for name in kinds_of(OUTPUTS, c.version))
    plant.feel(), plant.flange(), plant.look()
    assert late == []
    host.close()
    c.solver.close()
