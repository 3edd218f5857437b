# SPDX-License-Identifier: Apache-2.0
"""ur_rtde's commands of group 3 and the modes that give way, by their registers and the device's own clock."""

import numpy as np
import pytest

import armwright as aw
from armwright.kinematics import jacobian
from armwright.lab.controller.compliant_motions import DirectTorque, force_axes
from armwright.lab.controller.controller import HISTORY, Controller
from armwright.lab.controller.controller_states import ControllerState
from armwright.lab.controller.script_programs import COMMANDS, run_text
from armwright.lab.lab_plant import LabPlant
from armwright.spatial.rotations import exp_so3
from support.lab import SCRIPT, command, run_for

HOME = np.array([0.0, -1.57, 1.57, -1.57, -1.57, 0.0])


@pytest.fixture(scope="module")
def compiled():
    return LabPlant(aw.load("ur5"), q0=HOME)


@pytest.fixture
def c(compiled):
    compiled.live.reset(HOME)
    compiled.live.inputs["push"][...] = 0.0
    compiled.told(0.0, np.zeros(3))
    compiled.tcp[...] = 0.0
    controller = Controller(compiled)
    run_text(controller, SCRIPT)
    controller.tick()
    return controller


def hold(c, number, seconds, doubles=(), ints=()):
    """A real-time command, left in its register for a while."""
    c.registers.doubles[: len(doubles)] = doubles
    c.registers.ints[1 : 1 + len(ints)] = ints
    c.registers.ints[0] = number
    run_for(c, seconds)
    c.registers.ints[0] = 0


def matrix(c):
    out = c.registers.out_doubles
    return np.array([*out[:24], *out[36:48]]).reshape(6, 6).T  # told by columns


def test_all_three_groups_are_there():
    assert {12, 27, 66, 67, 68, 69, 70, 71} <= set(COMMANDS)


def test_the_arms_mathematics_are_those_of_the_library(c):
    command(c, 17, [1.5, 0.0, 0.0, 0.1])
    command(c, 29, [0.0, 0.02, 0.1, 0.3, 0.0, 0.0])
    hold(c, 9, 0.3, [0.5, -0.3, 0.2, 0.4, 0.1, 0.3, 3.0, 10.0])
    q, qd = c.plant.live.q.copy(), c.plant.live.qd.copy()
    arm = c.plant.robot.with_payload(1.5, (0.0, 0.0, 0.1))
    bare = aw.load("ur5").with_payload(1.5, (0.0, 0.0, 0.1))
    J = jacobian(arm, q, point=[0.0, 0.02, 0.1])
    for number, expected in ((67, aw.mass_matrix(bare, q)), (70, J)):
        c.program._obey(number)
        assert np.allclose(matrix(c), expected, atol=1e-9)
    c.program._obey(68)
    still = aw.inverse_dynamics(bare, q, 0 * q, 0 * q)
    assert np.allclose(c.registers.out_doubles[:6], aw.inverse_dynamics(bare, q, qd, 0 * q) - still, atol=1e-9)
    c.program._obey(71)
    h = 1e-6
    rate = (jacobian(arm, q + h * qd, point=[0, 0.02, 0.1]) - jacobian(arm, q - h * qd, point=[0, 0.02, 0.1])) / (2 * h)
    assert np.allclose(matrix(c), rate, atol=1e-6)
    c.program._obey(69)
    assert np.allclose(c.registers.out_doubles[:6], c.reference.qdd)


def test_the_past_is_told_step_by_step(c):
    seen = []
    c.registers.doubles[:8] = [0.4, 0, 0, 0, 0, 0, 3.0, 10.0]
    c.registers.ints[0] = 9
    for _ in range(400):
        c.tick()
        if c.ticks % 4 == 0:  # steps of 8 ms
            seen.append(c.plant.live.q.copy())
    for back in (0, 1, 7, 50):
        assert np.array_equal(c.past(back), seen[-1 - back])
    hold(c, 27, 0.002, ints=[7])
    assert np.allclose(c.registers.out_doubles[:6], c.past(7))
    before = list(c.registers.out_doubles)
    hold(c, 27, 0.002, ints=[HISTORY])  # beyond what is kept
    assert c.registers.out_doubles == before and any("history" in m for m in c.messages)


def test_servoc_goes_at_its_speed_and_turns_to_a_new_target_in_an_arc(c):
    start = c.target_pose()
    first, second = start + np.array([0, 0.15, 0, 0, 0, 0]), start + np.array([0, 0.15, 0.15, 0, 0, 0])
    assert command(c, 12, [*first, 0.1, 0.5, 0.0]) < 0.01 and c.moving  # done at once, the arm goes on
    run_for(c, 1.2)
    halfway = c.target_pose()
    assert halfway[1] - start[1] == pytest.approx(0.1 * (1.2 - 0.1), abs=2e-3)  # v (t − v/2a)
    command(c, 12, [*second, 0.1, 0.5, 0.0])
    points = []
    while c.moving:
        c.tick()
        points.append(c.target_pose()[:3])
    points = np.array(points)
    steps = np.diff(points, axis=0) / 0.002
    assert np.linalg.norm(np.diff(steps, axis=0), axis=1).max() / 0.002 < 0.5 * 1.05  # acceleration kept
    assert np.allclose(points[-1], second[:3], atol=1e-6) and c.state is ControllerState.PLAYING


def test_direct_torque_moves_the_arm_as_the_model_says(c):
    """Gravity is carried, friction is not: the shoulder accelerates by what is left of the torque."""
    u = np.array([25.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    hold(c, 66, 0.1, [*u, *[0.0] * 12])
    q, qd, h = HOME.copy(), np.zeros(6), 1e-3
    for _ in range(100):
        gravity = aw.inverse_dynamics(c.plant.robot, q, 0 * q, 0 * q)
        qd = qd + h * aw.forward_dynamics(c.plant.robot, q, qd, u + gravity)
        q = q + h * qd
    assert c.plant.live.qd[0] == pytest.approx(qd[0], rel=0.1) and qd[0] > 0.3


def test_without_torque_the_arm_stays_and_with_all_friction_carried_it_coasts(c):
    hold(c, 66, 0.3, [0.0] * 6 + [1.0] * 12)
    assert np.allclose(c.plant.live.q, HOME, atol=1e-3)
    speeds = {}
    for part in (0.0, 1.0):
        c.plant.live.reset(HOME)
        c.settle()
        hold(c, 66, 0.15, [20.0, 0, 0, 0, 0, 0] + [part] * 12)
        speeds[part] = c.plant.live.qd[0]
    assert speeds[1.0] > 1.3 * speeds[0.0] > 0.0


@pytest.fixture
def torques(c):
    """Torques on the last wrist, with friction fully compensated: (torque at a time and state) → speeds, positions."""

    def run(torque, seconds):
        motion = DirectTorque(c)
        c.begin(motion)
        rows = []
        for k in range(round(seconds * 500)):
            u = np.zeros(6)
            u[5] = torque(k * 0.002, c.plant.live.q[5])
            motion.aim(u, np.ones(6), np.ones(6))
            c.tick()
            assert c.state is not ControllerState.STOPPED, c.why
            rows.append((c.plant.live.qd[5], c.plant.live.q[5]))
        return np.array(rows).T

    return run


def test_a_wrist_without_friction_moves_as_its_inertia_says(c, torques):
    """Beyond the step with which it starts to slide, where its dry friction is not carried."""
    inertia = c.plant.model().mass[5, 5] + c.plant.robot.tree.armature[5, 5]
    qd, _ = torques(lambda t, q: 1.5 * np.cos(4 * np.pi * t), 1.0)
    t = 0.002 * np.arange(1, 501)
    free = 1.5 / (4 * np.pi * inertia) * np.sin(4 * np.pi * t)
    assert np.allclose(qd, free, atol=0.15 * free.max())


@pytest.mark.parametrize("frequency", [1.0, 2.0, 5.0])
def test_a_large_torque_on_a_wrist_without_friction_does_not_run_away(c, torques, frequency):
    qd, _ = torques(lambda t, q: 2.5 * np.sin(2 * np.pi * frequency * t), 2.0)
    assert 0.3 < np.abs(qd).max() < 0.97 * c.most_speed[5]


def test_a_torque_to_and_fro_turns_the_wrist_to_two_radians_and_back(torques):
    signs = [1.0]

    def torque(t, q):
        if (signs[-1] > 0.0 and q >= 2.0) or (signs[-1] < 0.0 and q <= 0.0 and len(signs) == 2):
            signs.append(-signs[-1])
        return 2.5 * signs[-1]

    _, q = torques(torque, 2.0)
    assert len(signs) == 3 and q.max() < 2.6 and q.min() > -0.6


def test_torques_to_the_end_of_a_range_are_a_protective_stop(c):
    motion = DirectTorque(c)
    c.begin(motion)
    while c.state is not ControllerState.STOPPED:
        motion.aim(np.array([0, 0, 0, 0, 0, 2.5]), np.ones(6), np.ones(6))
        c.tick()
        assert c.time < 6.0
    run_for(c, 0.5)
    assert "end of its range" in c.why and c.plant.live.q[5] < c.plant.robot.upper[5]


def test_the_arm_brakes_when_no_torque_comes(c):
    hold(c, 66, 0.15, [20.0, 0, 0, 0, 0, 0] + [0.9] * 12)
    assert c.plant.live.qd[0] > 0.05
    run_for(c, 0.5)
    assert np.abs(c.plant.live.qd).max() < 1e-3 and not c.moving and c.state is ControllerState.PLAYING


# modes that give way


def test_axes_of_force_modes():
    frame = np.array([0.5, 0.0, 0.2, 0.0, 0.0, 0.4])
    last, tcp = np.eye(3), np.array([0.1, 0.3, 0.4])
    for kind in (1, 2, 3):
        R = force_axes(kind, frame, tcp, np.array([0.1, 0.05, 0.2]), last)
        assert np.allclose(R @ R.T, np.eye(3)) and np.linalg.det(R) == pytest.approx(1.0)
    toward = frame[:3] - tcp
    assert np.allclose(force_axes(1, frame, tcp, np.zeros(3), last)[:, 1], toward / np.linalg.norm(toward))
    own = exp_so3(frame[3:])
    assert np.allclose(force_axes(2, frame, tcp, np.zeros(3), last), own)
    along = force_axes(3, frame, tcp, np.array([0.0, 0.1, 0.7]), last)
    assert np.allclose(along[:, 0], [0, 1, 0]) and np.allclose(along[:, 2], own[:, 2])
    assert force_axes(3, frame, tcp, np.zeros(3), last) is last  # nothing moves: no direction


def test_force_mode_of_type_1_pulls_towards_the_origin_of_its_frame(c):
    place = c.target_pose()[:3]
    origin = place + np.array([0.3, 0.2, -0.1])
    before = c.plant.look().pose[:3].copy()
    doubles = [*origin, 0, 0, 0, 0, 40.0, 0, 0, 0, 0, *[0.1] * 6]
    hold(c, 6, 0.8, doubles, [1, 0, 1, 0, 0, 0, 0])
    moved = c.plant.look().pose[:3] - before
    assert np.linalg.norm(moved) > 0.02
    assert np.allclose(moved / np.linalg.norm(moved), (origin - place) / np.linalg.norm(origin - place), atol=0.02)


def test_the_gain_of_force_mode(c):
    moved = {}
    for gain in (0.25, 0.5):
        c.plant.live.reset(HOME)
        c.settle()
        command(c, 21, [gain])
        before = c.plant.look().pose[2]
        hold(c, 6, 0.6, [0.0] * 6 + [0, 0, -20.0, 0, 0, 0] + [0.5] * 6, [2, 0, 0, 1, 0, 0, 0])
        moved[gain] = before - c.plant.look().pose[2]
        command(c, 7)
    assert moved[0.5] == pytest.approx(2 * moved[0.25], rel=0.15)


def test_a_force_mode_of_no_type_is_refused(c):
    hold(c, 6, 0.01, [0.0] * 18, [4, 0, 0, 1, 0, 0, 0])
    assert any("type 1, 2 or 3" in m for m in c.messages)


@pytest.mark.parametrize("frame", [[0.0] * 6, [0.0, 0.0, 0.0, 0.0, 0.0, 0.6]])
def test_free_drive_along_one_axis_gives_way_along_that_only(c, frame):
    """A hand pushes slantwise; the tool goes along y of the frame."""
    y = exp_so3(np.array(frame[3:]))[:, 1]
    before = c.plant.look().pose.copy()
    command(c, 52, frame, [0, 1, 0, 0, 0, 0])
    c.plant.push(5, np.array([*(15.0 * y + [0.0, 0.0, 10.0]), 0, 0, 0]))
    run_for(c, 0.4)
    moved = c.plant.look().pose[:3] - before[:3]
    assert moved @ y > 0.02
    assert np.linalg.norm(moved - (moved @ y) * y) < 2e-3
    assert np.allclose(exp_so3(c.plant.look().pose[3:]), exp_so3(before[3:]), atol=5e-3)
    c.plant.live.inputs["push"][...] = 0.0
    command(c, 53)
    run_for(c, 0.6)
    assert np.abs(c.plant.live.qd).max() < 1e-3 and c.state is ControllerState.PLAYING


def test_free_drive_knows_how_near_a_singularity_is(c):
    command(c, 54)
    assert c.registers.out_ints[1] == 0
    for wrist, status in ((0.06, 1), (0.005, 2)):
        c.plant.live.reset(HOME * [1, 1, 1, 1, 0, 1] + [0, 0, 0, 0, wrist, 0])
        c.settle()
        command(c, 54)
        assert c.registers.out_ints[1] == status


def test_after_a_contact_the_arm_goes_back_to_where_it_felt_it(c):
    c.registers.doubles[:13] = [0, 0, -0.1, 0, 0, 0, 0, 0, -1.0, 0, 0, 0, 1.0]
    c.registers.ints[0] = 51
    run_for(c, 0.5)
    c.plant.push(5, np.array([0, 0, 60.0, 0, 0, 0]))
    while not c.motion._back:
        felt = c.plant.live.q.copy()
        c.tick()
    overshoot = 0.0
    for _ in range(500):
        c.tick()
        overshoot = max(overshoot, np.abs(c.reference.q - felt).max())
    assert c.registers.out_ints[0] == 2 and overshoot > 4e-3
    assert np.allclose(c.reference.q, felt, atol=1e-9)
