# SPDX-License-Identifier: Apache-2.0
"""What is read is what the file says: against Pinocchio, through the writer and back, and a real arm."""

from __future__ import annotations

import warnings
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from armwright.dynamics.crba import crba
from armwright.dynamics.newton_euler import rnea
from armwright.errors import ArmwrightWarning, DescriptionError, InputError, NotSupportedError
from armwright.kinematics.forward import tool_pose
from armwright.robot.load import load
from armwright.robot.model import Robot
from armwright.robot.parts import Actuators, Friction
from armwright.robot.urdf.urdf_read import read_urdf
from armwright.robot.urdf.urdf_write import write_urdf
from armwright.spatial.euler import rotation_from_rpy, rpy_from_rotation
from support.arms import cloud_inertia, random_pose, random_robot, random_rotation, states
from support.places import DATA, NO_REAL_ARM, REAL_ARM

ARM = (DATA / "arm.urdf").read_text(encoding="utf-8")


def assert_same_physics(a: Robot, b: Robot, tolerance: float = 1e-12) -> None:
    for seed in range(3):
        q, qd, qdd = states(a, seed)
        for one, other in (
            (tool_pose(a, q), tool_pose(b, q)),
            (crba(a, q), crba(b, q)),
            (rnea(a, q, qd, qdd), rnea(b, q, qd, qdd)),
        ):
            assert np.abs(one - other).max() <= tolerance * max(1.0, np.abs(one).max())


ROBOTS = [
    random_robot(1, 1),
    random_robot(2, 6),
    random_robot(3, 12),
    random_robot(4, 7, branches=True),
    random_robot(5, 5, mimics=True),
    random_robot(6, 6, branches=True, mimics=True, motors=True),
    random_robot(7, 4, motors=True),
]


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)
def test_writing_and_reading_keeps_everything(robot: Robot) -> None:
    back = read_urdf(write_urdf(robot))
    assert_same_physics(robot, back)
    assert back.name == robot.name
    assert [joint.name for joint in back.joints] == [joint.name for joint in robot.joints]
    assert {body.name for body in back.bodies} == {body.name for body in robot.bodies}
    assert back.bodies[back.tip].name == robot.bodies[robot.tip].name
    assert [joint.limits for joint in back.joints] == [joint.limits for joint in robot.joints]
    assert [joint.friction for joint in back.joints] == [joint.friction for joint in robot.joints]
    assert np.array_equal(back.actuators.gear, robot.actuators.gear)
    assert np.array_equal(back.actuators.torque_limit, robot.actuators.torque_limit)
    assert np.array_equal(back.gravity, robot.gravity)
    assert write_urdf(read_urdf(write_urdf(back))).count("<joint") == write_urdf(back).count("<joint")


def test_an_arm_without_joints_survives() -> None:
    rng = np.random.default_rng(0)
    robot = Robot("post", (), (), Actuators.none(0), T_base_root=random_pose(rng), T_tip_tool=random_pose(rng))
    back = read_urdf(write_urdf(robot))
    assert back.n == 0
    assert np.abs(tool_pose(robot, np.zeros(0)) - tool_pose(back, np.zeros(0))).max() < 1e-14


def test_what_urdf_cannot_hold_is_refused() -> None:
    robot = random_robot(2, 2)
    geared = replace(robot, bodies=(replace(robot.bodies[0], ratio=2.0), robot.bodies[1]))
    with pytest.raises(NotSupportedError, match="ratio"):
        write_urdf(geared)
    with pytest.raises(InputError, match="control characters"):
        write_urdf(replace(robot, name="a\x01"))


def test_roll_pitch_yaw_is_exact_also_at_gimbal_lock() -> None:
    rng = np.random.default_rng(3)
    cases = [random_rotation(rng) for _ in range(200)]
    for pitch in (np.pi / 2, -np.pi / 2):
        for nudge in (0.0, 1e-16, 1e-12, 1e-9, 1e-6):
            turns = rng.uniform(-3, 3, (5, 2))
            cases += [rotation_from_rpy(np.array([roll, pitch + nudge, yaw])) for roll, yaw in turns]
    assert max(np.abs(rotation_from_rpy(rpy_from_rotation(R).angles) - R).max() for R in cases) < 2e-15


# Against Pinocchio ---------------------------------------------------------------------------------------------------


def random_urdf(seed: int, n: int) -> str:
    """Written directly: rotated inertial frames, fixed links, branches, every joint type; no code of ours."""
    rng = np.random.default_rng(seed)

    def some(count: int, size: float) -> str:
        return " ".join(repr(value) for value in rng.uniform(-size, size, count))

    text = f'<robot name="r{seed}"><link name="l0"/>\n'
    for i in range(1, n + 1):
        inertia = rng.uniform(0.5, 3.0) * cloud_inertia(rng)
        moments = " ".join(f'i{"xyz"[a]}{"xyz"[b]}="{inertia[a, b]!r}"' for a in range(3) for b in range(a, 3))
        kind = ["revolute", "continuous", "prismatic", "fixed"][rng.integers(4) if i > 1 else 0]
        parent = max(0, i - 1 - (rng.random() < 0.3) * int(rng.integers(3)))
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        text += (
            f'<link name="l{i}"><inertial><origin xyz="{some(3, 0.2)}" rpy="{some(3, 3)}"/>'
            f'<mass value="{rng.uniform(0.5, 3)!r}"/><inertia {moments}/></inertial></link>\n'
            f'<joint name="j{i:02d}" type="{kind}"><parent link="l{parent}"/><child link="l{i}"/>'
            f'<origin xyz="{some(3, 0.4)}" rpy="{some(3, 3)}"/><axis xyz="{" ".join(map(repr, axis.tolist()))}"/>'
            f'<limit lower="-2" upper="2" effort="10" velocity="5"/></joint>\n'
        )
    return (text + "</robot>").replace("np.float64(", "").replace(")", "")


def against_pinocchio(text: str, robot: Robot, tool: str, *, mimic: bool = False) -> None:
    pin = pytest.importorskip("pinocchio", reason="pin is not installed")
    try:
        model = pin.buildModelFromXML(text, mimic=True) if mimic else pin.buildModelFromXML(text)
    except TypeError:
        pytest.skip("this version of pin does not read mimic joints")
    data = model.createData()
    model.gravity.linear = np.array(robot.gravity)
    assert model.nv == robot.n
    index = [model.joints[model.getJointId(joint.name)].idx_v for joint in robot.joints]
    for seed in range(3):
        q, qd, qdd = states(robot, seed)
        v, a, Q = np.zeros(model.nv), np.zeros(model.nv), pin.neutral(model)
        v[index], a[index] = qd, qdd
        for joint, value in zip(robot.joints, q, strict=True):
            j = model.joints[model.getJointId(joint.name)]
            Q[j.idx_q : j.idx_q + j.nq] = [value] if j.nq == 1 else [np.cos(value), np.sin(value)]
        frictionless = replace(robot, joints=tuple(replace(joint, friction=Friction()) for joint in robot.joints))
        M = pin.crba(model, data, Q)
        M = np.triu(M) + np.triu(M, 1).T
        assert np.abs(M[np.ix_(index, index)] - crba(robot, q)).max() < 1e-12 * np.abs(M).max()
        tau = np.array(pin.rnea(model, data, Q, v, a))[index]
        assert np.abs(tau - rnea(frictionless, q, qd, qdd)).max() < 1e-12 * max(1.0, np.abs(tau).max())
        pin.framesForwardKinematics(model, data, Q)
        pose = data.oMf[model.getFrameId(tool)].homogeneous
        assert np.abs(pose - tool_pose(robot, q)).max() < 1e-12


@pytest.mark.parametrize("seed", range(8))
def test_random_descriptions_agree_with_pinocchio(seed: int) -> None:
    n = 4 + seed
    text = random_urdf(seed, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArmwrightWarning)  # limits on continuous joints have no effect
        robot = read_urdf(text, tip=f"l{n}")
    against_pinocchio(text, robot, f"l{n}")


@pytest.mark.parametrize(
    "robot",
    [robot for robot in ROBOTS if len(robot.bodies) == robot.n and not robot.actuators.rotor_inertia.any()],
    ids=lambda robot: robot.name,
)
def test_pinocchio_reads_what_we_write(robot: Robot) -> None:
    against_pinocchio(write_urdf(robot), robot, "tool")


@pytest.mark.parametrize(
    "robot",
    [random_robot(21, 4, mimics=True), random_robot(22, 5, branches=True, mimics=True)],
    ids=lambda robot: robot.name,
)
def test_pinocchio_agrees_on_mimic_joints(robot: Robot) -> None:
    against_pinocchio(write_urdf(robot), robot, "tool", mimic=True)
    against_pinocchio(ARM, read_urdf(ARM, tip="tool0"), "tool0", mimic=True)


# The small arm -------------------------------------------------------------------------------------------------------


def test_small_arm_reads_as_written() -> None:
    robot = read_urdf(DATA / "arm.urdf")
    assert [joint.name for joint in robot.joints] == ["shoulder", "elbow", "grip"]
    assert [body.name for body in robot.bodies] == ["upper", "fore", "left", "right"]
    assert [body.parent for body in robot.bodies] == [-1, 0, 1, 1]
    assert robot.joints[0].friction == Friction(0.5, 1.5)
    assert (robot.joints[1].limits.lower, robot.joints[1].limits.upper) == (-np.inf, np.inf)
    assert (robot.bodies[3].joint, robot.bodies[3].ratio) == (2, 1.0)
    assert robot.bodies[1].mass == pytest.approx(2.4)  # the sleeve is welded on
    assert robot.bodies[robot.tip].name == "left"
    assert "3 leaves" in robot.notes
    assert_same_physics(robot, read_urdf(write_urdf(robot)))


def test_tool_on_a_fixed_link() -> None:
    robot = read_urdf(ARM, tip="tool0")
    assert robot.bodies[robot.tip].name == "fore"
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation_from_rpy(np.array([0, 1.5, 0])), [0.3, 0, 0]
    S = np.eye(4)
    S[:3, :3], S[:3, 3] = rotation_from_rpy(np.array([0.4, 0, 0])), [0, 0, 0.1]
    assert np.abs(robot.T_tip_tool - T @ S).max() < 1e-15
    assert robot.notes == ""


def test_cut_chain_keeps_the_mass_beside_it() -> None:
    with pytest.warns(ArmwrightWarning, match="locked beside the chain, mass kept: grip, grip_right"):
        chain = read_urdf(ARM, base="base", tip="tool0")
    whole = read_urdf(ARM, tip="tool0")
    assert chain.is_chain
    q = np.array([0.3, -0.7])
    assert np.abs(crba(chain, q) - crba(whole, np.array([*q, 0.0]))[:2, :2]).max() < 1e-14
    below = read_urdf(ARM, base="upper")
    assert [joint.name for joint in below.joints] == ["elbow", "grip"]


def test_chain_of_mimics_and_friction_through_ratios() -> None:
    text = ARM.replace('multiplier="1" offset="0"', 'multiplier="-2" offset="0.01"').replace(
        '<link name="tool0"/>',
        '<link name="third"/><joint name="third" type="prismatic"><parent link="sleeve"/><child link="third"/>'
        '<limit lower="0" upper="1" effort="1" velocity="1"/><dynamics damping="2" friction="3"/>'
        '<mimic joint="grip_right" multiplier="0.25" offset="0.5"/></joint><link name="tool0"/>',
    )
    robot = read_urdf(text)
    third = next(body for body in robot.bodies if body.name == "third")
    assert (third.joint, third.ratio, third.offset) == (2, -0.5, 0.25 * 0.01 + 0.5)
    assert robot.joints[2].friction == Friction(0.5, 1.5)


def test_simple_transmissions_give_the_gear_ratio() -> None:
    block = (
        '<transmission name="t"><type>transmission_interface/SimpleTransmission</type><joint name="elbow"/>'
        '<actuator name="m"><mechanicalReduction>101</mechanicalReduction></actuator></transmission></robot>'
    )
    assert np.diag(read_urdf(ARM.replace("</robot>", block)).actuators.gear).tolist() == [1.0, 101.0, 1.0]
    other = block.replace("SimpleTransmission", "DifferentialTransmission")
    assert np.diag(read_urdf(ARM.replace("</robot>", other)).actuators.gear).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.skipif(not REAL_ARM.exists(), reason=NO_REAL_ARM)
def test_a_manufacturers_description_loads() -> None:
    file = REAL_ARM / "ur10e.urdf"
    robot = read_urdf(file)
    assert robot.n == 6
    assert robot.is_chain
    against_pinocchio(file.read_text(encoding="utf-8"), robot, "ee_link")
    assert_same_physics(robot, read_urdf(write_urdf(robot)))


def test_load_cuts_the_chain_to_the_tip_as_it_says(tmp_path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM, encoding="utf-8")
    with pytest.warns(ArmwrightWarning, match="locked beside the chain, mass kept: grip, grip_right"):
        chain = load(path, tip="tool0")
    whole = load(path)
    assert chain.is_chain and not whole.is_chain
    assert [joint.name for joint in chain.joints] == [joint.name for joint in whole.joints][:2]
    q = np.array([0.3, -0.7])
    assert np.abs(crba(chain, q) - crba(whole, np.array([*q, 0.0]))[:2, :2]).max() < 1e-14
    assert sum(body.mass for body in chain.bodies) == pytest.approx(sum(body.mass for body in whole.bodies))
    with pytest.warns(ArmwrightWarning, match="locked beside"):
        assert np.array_equal(tool_pose(chain, q), tool_pose(read_urdf(ARM, base="base", tip="tool0"), q))


def negative_moment(link: str) -> str:
    """The arm with a slightly negative principal moment on one link, which stands on a fixed foot."""
    bad = '<inertial><mass value="4"/><inertia ixx="1e-3" iyy="1e-3" izz="-1e-7" ixy="0" ixz="0" iyz="0"/></inertial>'
    foot = '<link name="foot"/><joint name="bolted" type="fixed"><parent link="foot"/><child link="base"/></joint>'
    root = ElementTree.fromstring(ARM.replace("</robot>", f"{foot}</robot>"))
    target = next(node for node in root.findall("link") if node.get("name") == link)
    for old in target.findall("inertial"):
        target.remove(old)
    target.append(ElementTree.fromstring(bad))
    return ElementTree.tostring(root, encoding="unicode")


@pytest.mark.parametrize("link", ["foot", "base"])
def test_a_negative_moment_that_never_moves_is_only_warned_about(link) -> None:
    with pytest.warns(ArmwrightWarning, match="never moves.*inertia-positive"):
        robot = read_urdf(negative_moment(link))
    assert_same_physics(robot, read_urdf(ARM))


def test_a_negative_moment_that_moves_is_refused_whatever_is_implausible() -> None:
    for verdict in ("refuse", "warn"):
        with pytest.raises(DescriptionError, match="none may be negative") as error:
            read_urdf(negative_moment("upper"), implausible=verdict)
        assert error.value.rule == "inertia-positive"
