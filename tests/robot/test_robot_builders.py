# SPDX-License-Identifier: Apache-2.0
"""DH, modified DH and screws describe one arm; conversions, payloads and cuts keep its kinematics and dynamics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armwright import spatial as sp
from armwright.errors import InputError, NotSupportedError
from armwright.robot.model import Robot
from armwright.robot.parts import Actuators, Body, Friction, Joint, Limits
from armwright.robot.tables.dh import from_dh, from_mdh, to_dh, to_mdh
from armwright.robot.tables.joint_screws import from_screws, to_screws
from armwright.robot.variations import add_payload, chain

fixed = settings(derandomize=True, deadline=None)
H = 0.5 * np.pi
WRITERS = {"dh": to_dh, "mdh": to_mdh, "screws": to_screws}


# A second, direct reading of the data: poses by multiplication, M(q) = Σ JᵀGJ with body twists in the base frame.


def poses(robot: Robot, q: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """Joint poses, link poses and tool pose in the base frame."""
    joints, links = [], []
    for body in robot.bodies:
        before = links[body.parent] if body.parent >= 0 else robot.T_base_root
        amount = body.ratio * q[body.joint] + body.offset
        unit = sp.screw(np.zeros(3), body.axis) if robot.joints[body.joint].kind == "revolute" else sp.slide(body.axis)
        joints.append(before @ body.T_parent_joint)
        links.append(joints[-1] @ sp.exp_se3(amount * unit) @ body.T_joint_link)
    tip = links[robot.tip] if robot.tip >= 0 else robot.T_base_root
    return joints, links, tip @ robot.T_tip_tool


def jacobian(robot: Robot, q: np.ndarray, body: int, joints: list[np.ndarray]) -> np.ndarray:
    """Space twist of a body in the base frame, (6, n)."""
    J = np.zeros((6, robot.n))
    while body >= 0:
        part = robot.bodies[body]
        axis, point = joints[body][:3, :3] @ part.axis, joints[body][:3, 3]
        column = sp.screw(point, axis) if robot.joints[part.joint].kind == "revolute" else sp.slide(axis)
        J[:, part.joint] += part.ratio * column
        body = part.parent
    return J


def dynamics(robot: Robot, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mass matrix, gravity torque and tool Jacobian; equal M(q) everywhere means equal Coriolis terms."""
    joints, links, T_tool = poses(robot, q)
    M, g = np.zeros((robot.n, robot.n)), np.zeros(robot.n)
    for i, body in enumerate(robot.bodies):
        J = jacobian(robot, q, i, joints)
        com = sp.apply(links[i], body.com)
        M += J.T @ sp.spatial_inertia(body.mass, com, sp.rotate_inertia(links[i][:3, :3], body.inertia)) @ J
        g -= body.mass * robot.gravity @ (J[:3] + sp.skew(com).T @ J[3:])
    J_tool = sp.adjoint(sp.translation(-T_tool[:3, 3])) @ jacobian(robot, q, robot.tip, joints)
    return M, g, J_tool


def assert_same_arm(a: Robot, b: Robot, rng: np.random.Generator, tolerance: float = 1e-12) -> None:
    for q in [np.zeros(a.n), *rng.uniform(-3.0, 3.0, size=(3, a.n))]:
        T_a, T_b = poses(a, q)[2], poses(b, q)[2]
        np.testing.assert_allclose(T_b, T_a, atol=tolerance * max(1.0, np.abs(T_a).max()))
        for x, y in zip(dynamics(a, q), dynamics(b, q), strict=True):
            np.testing.assert_allclose(y, x, atol=tolerance * np.abs(x).max(initial=1.0))


def random_inertia(rng: np.random.Generator) -> np.ndarray:
    points = rng.normal(size=(6, 3)) * 0.2
    return np.trace(points.T @ points) * np.eye(3) - points.T @ points


def quarter(rng: np.random.Generator) -> np.ndarray:
    """A rotation by right angles: axes come out parallel, opposite or orthogonal."""
    return np.round(sp.exp_so3(H * rng.integers(0, 4) * np.eye(3)[rng.integers(0, 3)]))


def random_chain(seed: int, n: int) -> Robot:
    """Arms in which parallel, opposite, intersecting, coincident and skew axes all occur."""
    rng = np.random.default_rng(seed)
    bodies, joints = [], []
    for i in range(n):
        general = rng.random() < 0.5
        R = sp.exp_so3(rng.normal(size=3)) if general else quarter(rng)
        p = rng.normal(size=3) * (rng.random(3) < 0.5)  # often on or beside an axis
        axis = rng.normal(size=3) if rng.random() < 0.3 else np.eye(3)[rng.integers(0, 3)] * rng.choice([-1, 1])
        far = sp.exp_se3(rng.normal(size=6)) if rng.random() < 0.3 else np.eye(4)
        joints.append(Joint(f"j{i}", "prismatic" if rng.random() < 0.3 else "revolute", Limits(-2.0, 3.0)))
        bodies.append(
            Body(
                f"b{i}",
                i - 1,
                i,
                sp.pose(R, p),
                axis / np.linalg.norm(axis),
                far,
                rng.uniform(0.1, 5.0),
                rng.normal(size=3) * 0.3,
                random_inertia(rng),
            )
        )
    return Robot(
        "random",
        tuple(joints),
        tuple(bodies),
        Actuators.none(n),
        sp.exp_se3(rng.normal(size=6)),
        n - 1,
        sp.exp_se3(rng.normal(size=6)),
        rng.normal(size=3) * 9.0,
    )


@settings(fixed, max_examples=40)
@given(st.integers(0, 10**6), st.integers(0, 8), st.sampled_from(sorted(WRITERS)))
def test_any_chain_survives_the_round_trip(seed: int, n: int, form: str) -> None:
    robot = random_chain(seed, n)
    table = WRITERS[form](robot)
    rebuilt = table.robot()
    assert [j.name for j in rebuilt.joints] == [j.name for j in robot.joints]
    assert [j.kind for j in rebuilt.joints] == [j.kind for j in robot.joints]
    assert [j.limits for j in rebuilt.joints] == [j.limits for j in robot.joints]
    assert_same_arm(robot, rebuilt, np.random.default_rng(seed))


@settings(fixed, max_examples=15)
@given(st.integers(0, 10**6), st.lists(st.sampled_from(["dh", "mdh", "screws"]), min_size=2, max_size=4))
def test_conversions_can_follow_one_another(seed: int, forms: list[str]) -> None:
    robot = random_chain(seed, 5)
    other = robot
    for form in forms:
        other = WRITERS[form](other).robot()
    assert_same_arm(robot, other, np.random.default_rng(seed), 1e-11)


UR5 = [
    [0, 0.08916, 0, H],
    [0, 0, -0.425, 0],
    [0, 0, -0.39225, 0],
    [0, 0.10915, 0, H],
    [0, 0.09465, 0, -H],
    [0, 0.0823, 0, 0],
]
CEA = [[0, 0, 0, 0.5], [H, 0, 0, 0], [0, 0.7, H, 0], [H, 0, 0, 0.2], [-H, 0, 0, 0], [H, 0, 0, 0]]
SCARA = [[0, 0.4, 0.3, 0], [0, 0, 0.25, np.pi], [0, 0.05, 0, 0], [0.3, 0.1, 0, 0]]


def test_a_table_comes_back_as_it_was_written() -> None:
    np.testing.assert_allclose(to_dh(from_dh(UR5)).table, UR5, atol=1e-15)
    np.testing.assert_allclose(to_dh(from_dh(SCARA, kinds="RRPR")).table, SCARA, atol=1e-15)
    np.testing.assert_allclose(to_mdh(from_mdh(CEA)).table, CEA, atol=1e-15)
    for table in (to_dh(from_dh(UR5)), to_mdh(from_mdh(CEA))):
        np.testing.assert_allclose(table.T_base_root, np.eye(4), atol=1e-15)
        np.testing.assert_allclose(table.T_tip_tool, np.eye(4), atol=1e-15)


def test_ur5_forward_kinematics_of_document_004() -> None:
    robot = from_dh(UR5)
    T = poses(robot, np.zeros(6))[2]
    np.testing.assert_allclose(T[:3, :3], [[1, 0, 0], [0, 0, -1], [0, 1, 0]], atol=1e-15)
    np.testing.assert_allclose(T[:3, 3], [-0.81725, -0.19145, -0.00549], atol=1e-15)
    q_w = np.array([2.181661, -2.135061, -1.745329, 0.275936, -6.021385, 0])
    T = poses(robot, q_w)[2]
    np.testing.assert_allclose(T[:3, 3], [-0.177337, 0.582157, 0.259316], atol=1e-6)
    assert np.linalg.det(dynamics(robot, q_w)[2]) == pytest.approx(-0.0237753, abs=1e-7)


def test_a_dh_table_is_taken_as_it_is_printed() -> None:
    """Columns in any order, millimetres and degrees: the same arm, to the last bit."""
    rows = np.array([[0.0, 350.0, 90.0, -90.0], [90.0, 0.0, 45.0, 180.0], [-90.0, 425.0, 0.0, 0.0]])
    printed = rows[:, [2, 3, 1, 0]]  # a, alpha, d, theta
    si = np.column_stack([np.radians(rows[:, 0]), rows[:, 1] / 1e3, rows[:, 2] / 1e3, np.radians(rows[:, 3])])
    assert from_dh(printed, columns="a alpha d theta", length="mm", angle="deg") == from_dh(si)
    modified = from_mdh(printed, columns=("a", "alpha", "d", "theta"), length="mm", angle="deg")
    assert modified == from_mdh(si[:, [3, 2, 0, 1]])
    for wrong in ({"columns": "a alpha d"}, {"columns": "a a d theta"}, {"length": "deg"}, {"angle": "grad"}):
        with pytest.raises(InputError, match=r"DH table: (columns: expected theta|length: unknown|angle: unknown)"):
            from_dh(printed, **wrong)


def test_modified_dh_closed_form_of_document_003() -> None:
    robot = from_mdh(CEA, tool=sp.translation([0, 0, 0.1]))
    for q in np.random.default_rng(1).uniform(-3, 3, size=(20, 6)):
        c2, s2, c23, s23 = np.cos(q[1]), np.sin(q[1]), np.cos(q[1] + q[2]), np.sin(q[1] + q[2])
        c4, s4, c5, s5 = np.cos(q[3]), np.sin(q[3]), np.cos(q[4]), np.sin(q[4])
        x = 0.7 * c2 + 0.2 * c23 + 0.1 * (c5 * c23 - c4 * s5 * s23)
        z = 0.5 + 0.7 * s2 + 0.2 * s23 + 0.1 * (c5 * s23 + c4 * s5 * c23)
        expected = sp.rot_z(q[0]) @ [x, -0.1 * s4 * s5, z]
        np.testing.assert_allclose(poses(robot, q)[2][:3, 3], expected, atol=1e-14)


def irb140() -> tuple[Robot, Robot]:
    """Document 002, chapter 3: one arm as a DH table and as screws."""
    table = [[0, 0.352, 0.070, -H], [-H, 0, 0.360, 0], [0, 0, 0, -H], [0, 0.380, 0, H], [0, 0, 0, -H], [0, 0.065, 0, 0]]
    masses = [27.0, 22.0, 0.0, 25.0, 0.0, 1.0]
    size = {0: (0.191, 0.363), 1: (0.151, 0.515), 3: (0.115, 0.583), 5: (0.044, 0.107)}

    def tensors(axes: str) -> np.ndarray:
        shaped = zip(size.items(), axes, strict=True)
        out = np.zeros((6, 3, 3))
        for (i, (radius, height)), axis in shaped:
            out[i] = sp.cylinder_inertia(masses[i], radius, height, axis)
        return out

    coms = [[-0.056, 0.088, 0.067], [-0.159, 0, -0.070], [0, 0, 0], [0, -0.300, 0], [0, 0, 0], [0, 0, -0.036]]
    by_dh = from_dh(
        table,
        masses=masses,
        coms=coms,
        inertias=tensors("yxyz"),
        name="irb140",
        tool=sp.pose([[0, 0, 1], [0, -1, 0], [1, 0, 0]], np.zeros(3)),
    )
    screws = [
        [0, 0, 0, 0, 0, 1],
        [-0.352, 0, 0.070, 0, 1, 0],
        [-0.712, 0, 0.070, 0, 1, 0],
        [0, 0.712, 0, 1, 0, 0],
        [-0.712, 0, 0.450, 0, 1, 0],
        [0, 0.712, 0, 1, 0, 0],
    ]
    at_home = [
        [0.014, 0.067, 0.264],
        [0.070, -0.070, 0.553],
        [0.070, 0, 0.712],
        [0.150, 0, 0.712],
        [0.450, 0, 0.712],
        [0.479, 0, 0.712],
    ]
    by_screws = from_screws(
        screws, sp.translation([0.515, 0, 0.712]), masses=masses, coms=at_home, inertias=tensors("zzxx"), name="irb140"
    )
    return by_dh, by_screws


def test_irb140_by_table_and_by_screws_is_one_arm() -> None:
    by_dh, by_screws = irb140()
    assert_same_arm(by_dh, by_screws, np.random.default_rng(2))
    np.testing.assert_allclose(to_screws(by_dh).screws, to_screws(by_screws).screws, atol=1e-15)
    np.testing.assert_allclose(to_screws(by_dh).coms[[0, 1, 3, 5]], to_screws(by_screws).coms[[0, 1, 3, 5]], atol=1e-15)
    M, g, _ = dynamics(by_dh, np.zeros(6))
    assert M[0, 0] == pytest.approx(2.669537, abs=1e-6)
    assert M[0, 1] == pytest.approx(0.309540, abs=1e-6)
    assert M[1, 1] == pytest.approx(5.989551, abs=1e-6)
    np.testing.assert_allclose(g, [0, -23.63229, -23.63229, 0, -0.28449, 0], atol=1e-5)
    q = np.array([0.3, -0.4, 0.5, -0.6, 0.7, -0.8])
    np.testing.assert_allclose(poses(by_screws, q)[2][:3, 3], [0.345107, 0.082005, 0.606294], atol=1e-6)
    assert_same_arm(by_dh, to_dh(by_screws).robot(), np.random.default_rng(3))


def test_screw_table_is_the_product_of_exponentials() -> None:
    robot = random_chain(11, 6)
    table = to_screws(robot)
    for q in np.random.default_rng(4).uniform(-2, 2, size=(5, 6)):
        product = sp.compose(*(sp.exp_se3(s * x) for s, x in zip(table.screws, q, strict=True)), table.home)
        np.testing.assert_allclose(poses(robot, q)[2], product, atol=1e-13)


def test_joint_offsets_become_part_of_the_table() -> None:
    robot = random_chain(12, 4)
    shifted = replace(robot, bodies=tuple(replace(body, offset=0.3) for body in robot.bodies))
    for writer in WRITERS.values():
        assert_same_arm(shifted, writer(shifted).robot(), np.random.default_rng(5))


def test_builders_keep_what_they_are_given_and_refuse_the_rest() -> None:
    robot = from_dh(
        SCARA,
        kinds=["R", "R", "prismatic", "R"],
        joint_names=list("abcd"),
        limits=[(-1, 1)] * 4,
        friction=[Friction(viscous=2.0)] * 4,
        gravity=(0, 0, -3.7),
        notes="mine",
    )
    assert [joint.kind for joint in robot.joints] == ["revolute", "revolute", "prismatic", "revolute"]
    assert robot.joints[1] == Joint("b", "revolute", Limits(-1.0, 1.0), Friction(viscous=2.0))
    assert (robot.gravity[2], robot.notes, robot.n) == (-3.7, "mine", 4)
    rebuilt = to_mdh(robot).robot()
    assert (rebuilt.joints, rebuilt.notes) == (robot.joints, "mine")
    for bad, message in [
        (lambda: from_dh([[0, 1, 2]]), r"\(n, 4\)"),
        (lambda: from_dh([[0, 1, 2, np.nan]]), "finite"),
        (lambda: from_dh([["a", 1, 2, 3]]), "numbers"),
        (lambda: from_dh(UR5, masses=[1.0]), "masses"),
        (lambda: from_dh(UR5, kinds="RRR"), "kinds"),
        (lambda: from_dh(UR5, kinds="RRRRRX"), "'X'"),
        (lambda: from_dh(UR5, joint_names=["a"]), "joint_names"),
        (lambda: from_screws([[0, 0, 0, 0, 0, 2]], np.eye(4)), "unit w"),
        (lambda: from_screws([[0, 0, 3, 0, 0, 0]], np.eye(4)), "unit v"),
        (lambda: from_screws([[0, 0, 1, 0, 0, 1]], np.eye(4)), "pitch"),
        (lambda: from_screws([[0, 0, 0, 0, 0, 1]], np.eye(4), masses=[1.0]), "coms"),
        (lambda: from_screws([[0, 0, 0, 0, 0, 1]], 2 * np.eye(4)), "home"),
    ]:
        with pytest.raises((InputError, NotSupportedError), match=message):
            bad()


def test_nearly_parallel_axes_are_refused_rather_than_rounded() -> None:
    bodies = (
        Body("a", -1, 0, sp.exp_se3(np.array([0.1, 0.2, 0.3, 0.4, -0.5, 0.6]))),
        Body("b", 0, 1, sp.pose(sp.rot_x(3e-10), [0.3, 0.4, 0.0])),
    )
    robot = Robot("r", (Joint("a"), Joint("b")), bodies, Actuators.none(2), tip=1)
    with pytest.raises(NotSupportedError, match="parallel"):
        to_dh(robot)
    assert_same_arm(robot, to_screws(robot).robot(), np.random.default_rng(6))


def test_payload_is_a_body_more() -> None:
    rng = np.random.default_rng(7)
    robot = random_chain(13, 4)
    mass, com, inertia = 2.5, rng.normal(size=3) * 0.1, random_inertia(rng)
    loaded = add_payload(robot, mass, com, inertia)
    q = rng.uniform(-2, 2, 4)
    joints, _, T_tool = poses(robot, q)
    J = jacobian(robot, q, 3, joints)
    centre = sp.apply(T_tool, com)
    G = sp.spatial_inertia(mass, centre, sp.rotate_inertia(T_tool[:3, :3], inertia))
    M, g, J_tool = dynamics(robot, q)
    M_loaded, g_loaded, J_loaded = dynamics(loaded, q)
    np.testing.assert_allclose(M_loaded, M + J.T @ G @ J, atol=1e-12 * np.abs(M_loaded).max())
    weight = mass * robot.gravity @ (J[:3] + sp.skew(centre).T @ J[3:])
    np.testing.assert_allclose(g_loaded, g - weight, atol=1e-12 * np.abs(g).max())
    np.testing.assert_array_equal(J_loaded, J_tool)
    assert robot.with_payload(mass, com, inertia).bodies[-1].mass == loaded.bodies[-1].mass
    assert add_payload(robot, 0.0).bodies[-1].com == pytest.approx(robot.bodies[-1].com)
    crooked = [[1, 2, 0], [0, 1, 0], [0, 0, 1]]
    for bad in ((-1.0,), (np.nan,), (1.0, [1]), (1.0, com, crooked)):
        with pytest.raises(InputError, match="payload"):
            add_payload(robot, *bad)


def random_tree(seed: int) -> Robot:
    """Trunk 0–1, arm 2–3–4 with a two-finger hand 5, 6 (one coordinate), second arm 7–8."""
    plain = random_chain(seed, 9)
    parents = (-1, 0, 1, 2, 3, 4, 4, 1, 7)
    coordinates = (0, 1, 2, 3, 4, 5, 5, 6, 7)
    bodies = [replace(body, parent=p, joint=c) for body, p, c in zip(plain.bodies, parents, coordinates, strict=True)]
    bodies[6] = replace(bodies[6], ratio=-1.0, offset=0.1)
    return replace(plain, joints=plain.joints[:8], bodies=tuple(bodies), actuators=Actuators.none(8), tip=4)


@pytest.mark.parametrize("base", [None, "b0", "b2"])
def test_a_cut_chain_is_the_tree_with_the_other_joints_locked(base: str | None) -> None:
    rng = np.random.default_rng(8)
    tree = random_tree(14)
    arm = chain(tree, base)
    kept = {None: [0, 1, 2, 3, 4], "b0": [1, 2, 3, 4], "b2": [3, 4]}[base]
    assert [joint.name for joint in arm.joints] == [f"j{i}" for i in kept]
    assert arm.is_chain
    for _ in range(3):
        q = np.zeros(8)
        q[kept] = rng.uniform(-2, 2, len(kept))
        np.testing.assert_allclose(poses(arm, q[kept])[2], poses(tree, q)[2], atol=1e-12)
        M, g, J = dynamics(tree, q)
        M_arm, g_arm, J_arm = dynamics(arm, q[kept])
        np.testing.assert_allclose(M_arm, M[np.ix_(kept, kept)], atol=1e-11 * np.abs(M).max())
        np.testing.assert_allclose(g_arm, g[kept], atol=1e-11 * np.abs(g).max())
        np.testing.assert_allclose(J_arm, J[:, kept], atol=1e-12 * np.abs(J).max())


def test_cut_options_and_errors() -> None:
    tree = random_tree(15)
    bare = chain(tree, tip="b4", drop=True)
    assert sum(body.mass for body in bare.bodies) == pytest.approx(sum(body.mass for body in tree.bodies[:5]))
    merged = chain(tree, tip="b4")
    assert sum(body.mass for body in merged.bodies) == pytest.approx(sum(body.mass for body in tree.bodies))
    other = chain(tree, "b1", "b8")
    assert [body.name for body in other.bodies] == ["b7", "b8"]
    np.testing.assert_array_equal(other.T_tip_tool, np.eye(4))
    finger = chain(tree, "b4", "b6", drop=True)
    assert (finger.bodies[0].ratio, finger.bodies[0].offset) == (-1.0, 0.1)
    assert chain(tree, "b4", "b4").n == 0
    with pytest.raises(InputError, match=r"no link 'hand'.*b0, b1"):
        chain(tree, tip="hand")
    with pytest.raises(InputError, match="no path from 'b7' out to 'b4'"):
        chain(tree, "b7", "b4")
    with pytest.raises(NotSupportedError, match=r"mimic.*drop=True"):
        chain(tree, None, "b6")
    with pytest.raises(NotSupportedError, match="serial chain"):
        to_dh(tree)
    gear = np.eye(8)
    gear[5, 4] = 0.5
    coupled = replace(tree, actuators=replace(tree.actuators, gear=gear, rotor_inertia=np.arange(8.0)))
    with pytest.raises(NotSupportedError, match="couple"):
        chain(coupled)
    np.testing.assert_array_equal(chain(coupled, tip="b3").actuators.rotor_inertia, [0, 1, 2, 3])


def test_a_joint_that_neither_turns_nor_slides_is_refused():
    with pytest.raises(InputError, match="'elbow': kind must be 'revolute' or 'prismatic', got 'helical'"):
        Joint("elbow", "helical")
