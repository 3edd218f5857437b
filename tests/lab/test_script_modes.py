# SPDX-License-Identifier: Apache-2.0
"""Programs that let the arm give way (force mode, free drive, torques), what they feel, and its mathematics."""

import numpy as np
import pytest

import armwright as aw
from armwright.kinematics import jacobian
from armwright.lab.controller.compliant_motions import DirectTorque, force_axes
from armwright.lab.controller.controller import HISTORY
from armwright.lab.controller.controller_states import ControllerState
from armwright.spatial.rotations import exp_so3
from support.lab import run_for
from support.scripts import HOME, controller, run_text, went

ON = "  while True:\n    sync()\n  end\nend\n"
"""The rest of a program that goes on."""


@pytest.fixture
def c():
    return controller()


def torques_for(steps, torque, share):
    """A program that asks for torques (6,) so often, with a share of friction compensated, and then goes on."""
    scales = [share] * 6
    call = f"direct_torque({[float(x) for x in torque]}, viscous_scale={scales}, coulomb_scale={scales})"
    return f"def f():\n  i = 0\n  while i < {steps}:\n    {call}\n    i = i + 1\n  end\n{ON}"


def forced(frame, selection, wrench, kind, limit):
    return f"force_mode(p{list(frame)}, {selection}, {list(wrench)}, {kind}, {[limit] * 6})"


# the arm's mathematics and its past


@pytest.mark.parametrize(
    "function",
    [
        "get_mass_matrix",
        "get_jacobian",
        "get_jacobian_time_derivative",
        "get_coriolis_and_centrifugal_torques",
        "get_target_joint_accelerations",
    ],
)
def test_the_arms_mathematics_are_those_of_the_library(c, function):
    """Of an arm that moves, with a load and a tool: a matrix fills registers 0 to 35 row by row, a list 0 to 5."""
    keep = "      write_output_float_register(6 * i + k, m[i, k])\n"
    if "matrix" not in function and "jacobian" not in function:
        keep = "      write_output_float_register(k, m[k])\n"
    text = f"""def f():
  set_payload(1.5, [0, 0, 0.1])
  set_tcp(p[0, 0.02, 0.1, 0.3, 0, 0])
  speedj([0.5, -0.3, 0.2, 0.4, 0.1, 0.3], 3, 0.1)
  m = {function}()
  i = 0
  while i < 6:
    k = 0
    while k < 6:
{keep}      k = k + 1
    end
    i = i + 1
  end
  write_output_integer_register(0, 1)
  sync()
end
"""
    run_text(c, text)
    while c.registers.out_ints[0] != 1:  # a program comes before the arm in a tick
        q, qd, qdd = c.plant.live.q.copy(), c.plant.live.qd.copy(), c.reference.qdd.copy()
        c.tick()
    assert np.abs(qd).min() > 0.01 and np.abs(qdd).max() > 1.0
    out = np.array(c.registers.out_doubles)
    arm, tool = aw.load("ur5").with_payload(1.5, (0.0, 0.0, 0.1)), [0.0, 0.02, 0.1]
    h = 1e-6
    expected = {
        "get_mass_matrix": lambda: aw.mass_matrix(arm, q),
        "get_jacobian": lambda: jacobian(arm, q, point=tool),
        "get_jacobian_time_derivative": lambda: (
            (jacobian(arm, q + h * qd, point=tool) - jacobian(arm, q - h * qd, point=tool)) / (2 * h)
        ),
        "get_coriolis_and_centrifugal_torques": lambda: (
            aw.inverse_dynamics(arm, q, qd, 0 * q) - aw.inverse_dynamics(arm, q, 0 * q, 0 * q)
        ),
        "get_target_joint_accelerations": lambda: qdd,
    }[function]()
    assert np.allclose(out[: expected.size], expected.ravel(), atol=1e-6)


def test_the_past_is_told_step_by_step(c):
    text = """def f():
  global steps = 0
  speedj([0.4, 0, 0, 0, 0, 0], 3, 0.4)
  q = get_actual_joint_positions_history(STEPS)
  i = 0
  while i < 6:
    write_output_float_register(i, q[i])
    i = i + 1
  end
  write_output_integer_register(0, 1)
  sync()
end
"""
    for back in (0, 1, 7, 50):
        c.registers.out_ints[0] = 0
        run_text(c, text.replace("STEPS", str(back)))
        seen = [c.plant.live.q.copy()]
        while c.registers.out_ints[0] != 1:
            c.tick()
            seen.append(c.plant.live.q.copy())
        assert np.array_equal(c.registers.out_doubles[:6], seen[-2 - back])  # the last came after the program's frame
        went(c)
    run_text(c, text.replace("STEPS", str(HISTORY)))
    assert "history" in went(c).faults[0][2]


# torques


def test_direct_torque_moves_the_arm_as_the_model_says(c):
    """Gravity is carried, friction is not: the shoulder accelerates by what is left of the torque."""
    u = np.array([25.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    run_text(c, torques_for(60, u, 0.0))
    run_for(c, 0.1)
    q, qd, h = HOME.copy(), np.zeros(6), 1e-3
    for _ in range(100):
        gravity = aw.inverse_dynamics(c.plant.robot, q, 0 * q, 0 * q)
        qd = qd + h * aw.forward_dynamics(c.plant.robot, q, qd, u + gravity)
        q = q + h * qd
    assert c.plant.live.qd[0] == pytest.approx(qd[0], rel=0.1) and qd[0] > 0.3


def test_without_torque_the_arm_stays_and_with_all_friction_carried_it_coasts(c):
    run_text(c, torques_for(150, [0.0] * 6, 1.0))
    run_for(c, 0.3)
    assert np.allclose(c.plant.live.q, HOME, atol=1e-3)
    speeds = {}
    for part in (0.0, 1.0):
        c.plant.live.reset(HOME)
        c.settle()
        run_text(c, torques_for(100, [20.0, 0, 0, 0, 0, 0], part))
        run_for(c, 0.15)
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
    run_text(c, torques_for(75, [20.0, 0, 0, 0, 0, 0], 0.9))
    run_for(c, 0.15)
    assert c.plant.live.qd[0] > 0.05
    run_for(c, 0.5)
    assert np.abs(c.plant.live.qd).max() < 1e-3 and not c.moving and c.state is ControllerState.PLAYING


# force mode


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


def test_force_mode_gives_way_along_the_chosen_axis_only_until_it_ends(c):
    before = c.plant.look().pose.copy()
    call = forced([0.0] * 6, [0, 0, 1, 0, 0, 0], [0, 0, -40.0, 0, 0, 0], 2, 0.1)
    run_text(c, f"def f():\n  {call}\n  sleep(1)\n  end_force_mode()\n{ON}")
    run_for(c, 1.0)
    moved = c.plant.look().pose - before
    assert moved[2] < -0.02 and np.abs(moved[:2]).max() < 1e-3
    run_for(c, 0.2)
    assert np.abs(c.plant.live.qd).max() < 1e-3 and c.state is ControllerState.PLAYING


def test_force_mode_of_type_1_pulls_towards_the_origin_of_its_frame(c):
    place = c.target_pose()[:3]
    origin = place + np.array([0.3, 0.2, -0.1])
    before = c.plant.look().pose[:3].copy()
    call = forced([*origin.tolist(), 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 40.0, 0, 0, 0, 0], 1, 0.1)
    run_text(c, f"def f():\n  {call}\n{ON}")
    run_for(c, 0.8)
    moved = c.plant.look().pose[:3] - before
    assert np.linalg.norm(moved) > 0.02
    assert np.allclose(moved / np.linalg.norm(moved), (origin - place) / np.linalg.norm(origin - place), atol=0.02)


def test_the_gain_of_force_mode(c):
    moved = {}
    call = forced([0.0] * 6, [0, 0, 1, 0, 0, 0], [0, 0, -20.0, 0, 0, 0], 2, 0.5)
    for gain in (0.25, 0.5):
        c.plant.live.reset(HOME)
        c.settle()
        run_text(c, f"def f():\n  force_mode_set_gain_scaling({gain})\n  {call}\n{ON}")
        before = c.plant.look().pose[2]
        run_for(c, 0.6)
        moved[gain] = before - c.plant.look().pose[2]
    assert moved[0.5] == pytest.approx(2 * moved[0.25], rel=0.15)


def test_a_force_mode_of_no_type_is_a_fault(c):
    run_text(c, forced([0.0] * 6, [0, 0, 1, 0, 0, 0], [0.0] * 6, 4, 0.1))
    assert "type is a whole number of 1 to 3" in went(c).faults[0][2]
    run_for(c, 0.1)
    assert not c.moving and np.allclose(c.plant.live.q, HOME, atol=1e-3)


# free drive


@pytest.mark.parametrize("kind", ["freedrive", "teach"])
def test_free_drive_follows_the_hand_until_it_ends(c, kind):
    before = c.plant.live.q.copy()
    run_text(c, f"def f():\n  {kind}_mode()\n  sleep(0.3)\n  end_{kind}_mode()\n{ON}")
    c.plant.push(5, np.array([0.0, 20.0, 0, 0, 0, 0]))
    run_for(c, 0.3)
    assert np.abs(c.plant.live.q - before).max() > 0.02
    c.plant.live.inputs["push"][...] = 0.0
    run_for(c, 0.5)
    assert np.abs(c.plant.live.qd).max() < 1e-3 and c.state is ControllerState.PLAYING


@pytest.mark.parametrize("frame", [[0.0] * 6, [0.0, 0.0, 0.0, 0.0, 0.0, 0.6]])
def test_free_drive_along_one_axis_gives_way_along_that_only(c, frame):
    """A hand pushes slantwise; the tool goes along y of the frame."""
    y = exp_so3(np.array(frame[3:]))[:, 1]
    before = c.plant.look().pose.copy()
    run_text(c, f"def f():\n  freedrive_mode([0, 1, 0, 0, 0, 0], p{frame})\n  sleep(0.4)\n  end_freedrive_mode()\n{ON}")
    c.plant.push(5, np.array([*(15.0 * y + [0.0, 0.0, 10.0]), 0, 0, 0]))
    run_for(c, 0.4)
    moved = c.plant.look().pose[:3] - before[:3]
    assert moved @ y > 0.02
    assert np.linalg.norm(moved - (moved @ y) * y) < 2e-3
    assert np.allclose(exp_so3(c.plant.look().pose[3:]), exp_so3(before[3:]), atol=5e-3)
    c.plant.live.inputs["push"][...] = 0.0
    run_for(c, 0.6)
    assert np.abs(c.plant.live.qd).max() < 1e-3 and c.state is ControllerState.PLAYING


@pytest.mark.parametrize(("wrist", "status"), [(-1.57, 0), (0.06, 1), (0.005, 2)])
def test_free_drive_knows_how_near_a_singularity_is(c, wrist, status):
    q = HOME.copy()
    q[4] = wrist
    c.plant.live.reset(q)
    c.settle()
    run_text(c, "write_output_integer_register(0, get_freedrive_status())")
    went(c)
    assert c.registers.out_ints[0] == status


# contact


def test_a_program_that_feels_a_contact_stops_and_goes_back_to_where_it_began(c):
    """As programs of clients do it: tool_contact tells how many steps ago it was."""
    text = f"""def f():
  steps = 0
  while steps == 0:
    speedl([0, 0, -0.1, 0, 0, 0], 1, 0.002)
    steps = tool_contact([0, 0, -1, 0, 0, 0])
  end
  q = get_actual_joint_positions_history(steps)
  stopl(3)
  write_output_integer_register(0, steps)
  movej(q, a=2, v=0.2)
  write_output_integer_register(1, 1)
{ON}"""
    run_text(c, text)
    run_for(c, 0.5)
    assert c.moving and c.registers.out_ints[0] == 0
    felt = c.plant.live.q.copy()
    c.plant.push(5, np.array([0, 0, 60.0, 0, 0, 0]))
    overshoot = 0.0
    while c.registers.out_ints[1] == 0:
        c.tick()
        overshoot = max(overshoot, float(np.abs(c.reference.q - felt).max()))
        assert c.state is ControllerState.PLAYING and c.time < 5.0
    assert c.registers.out_ints[0] > 0 and overshoot > 4e-3
    assert np.allclose(c.reference.q, felt, atol=2e-3)
