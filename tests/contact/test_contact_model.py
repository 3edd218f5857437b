# SPDX-License-Identifier: Apache-2.0
"""Contact models: forces are gradients, act on the right body, conserve, dissipate and drag as they should."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import armwright as aw
from armwright.contact.contact_model import contact_pairs, contact_wrench, touches, wrenches_of
from armwright.contact.ground_truth import clearance, contact_report
from armwright.dynamics.energy import kinetic_energy, potential_energy
from armwright.dynamics.newton_euler import rnea
from armwright.errors import InputError, NotSupportedError
from armwright.kinematics import fk, jacobian
from armwright.robot.kernels import compile as compiled
from armwright.simulation import simulate
from armwright.world.arm_capsules import LinkCapsule, beyond_tool, fixed_column, link_capsules
from armwright.world.shapes import Box, Capsule, Cylinder, HalfSpace, Mesh, Sphere
from armwright.world.world import World
from armwright.world.world_catalogue import load_world

UR5 = aw.load("ur5")
AXIS = (0.6, 0.0, 0.8)
EXACT = World(
    (
        Sphere(name="ball", centre=(0.4, 0.2, 0.5), radius=0.2),
        Capsule(name="rod", start=(-0.5, -0.3, 0.2), end=(-0.2, -0.5, 0.6), radius=0.1),
        Cylinder(name="leaning", centre=(-0.4, 0.4, 0.3), axis=AXIS, radius=0.1),
        Cylinder(name="post", centre=(0.4, -0.3, 0.0), radius=0.1),
        HalfSpace(name="floor", point=(0.0, 0.0, 0.0)),
    )
)
SHELF = World((Box(name="shelf", centre=(0.4, 0.1, 0.4), size=(0.3, 0.5, 0.2)),))
DRUM = World((Cylinder(name="drum", centre=(-0.4, -0.2, 0.3), radius=0.15, height=0.4),))


def configurations(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-np.pi, np.pi, (count, 6))


def stored_energy(world: World, q: np.ndarray) -> np.ndarray:
    """½ k δ² summed over the contacts at each state."""
    report = contact_report(UR5, world, q)
    k = np.array([shape.stiffness for shape in world])[report.shape]
    return np.bincount(report.step, 0.5 * k * report.depth**2, minlength=len(q))


def joint_torque(robot, q, qd, wrenches):
    """What external wrenches do at the joints."""
    zero = np.zeros(robot.n)
    return rnea(robot, q, qd, zero) - rnea(robot, q, qd, zero, wrenches=wrenches)


@pytest.mark.parametrize(
    "world, tolerance", [(EXACT, 1e-6), (SHELF, 1e-6), (DRUM, 3e-2)], ids=["closed forms", "box", "finite cylinder"]
)
def test_undamped_force_is_the_gradient_of_the_stored_energy(world, tolerance):
    touched = 0
    sample = configurations(1500, 1)
    gap = clearance(UR5, world, sample)
    for q in sample[(gap > -0.03) & (gap < 0.0)][:40]:  # no axis inside a shape
        steps = 1e-6 * np.eye(6)
        V = stored_energy(world, np.concatenate([q + steps, q - steps]))
        gradient = (V[:6] - V[6:]) / 2e-6
        tau = joint_torque(UR5, q, np.zeros(6), wrenches_of(UR5, q, np.zeros(6), contact_pairs(UR5, world)))
        size = max(1.0, float(np.abs(gradient).max()))
        touched += size > 1.0
        assert np.abs(tau + gradient).max() < tolerance * size
    assert touched > 10


def test_forces_act_on_the_right_body():
    world = EXACT.with_surface(damping=300.0, friction=0.4)
    rng = np.random.default_rng(2)
    for q in configurations(20, 3):
        qd = rng.normal(size=6)
        report = contact_report(UR5, world, q, qd)
        expected = np.zeros(6)
        for body, point, force in zip(report.body, report.point, report.force, strict=True):
            T = fk(UR5, q, int(body))
            J = jacobian(UR5, q, int(body), point=T[:3, :3].T @ (point - T[:3, 3]))
            expected += J[:3].T @ force
        tau = joint_torque(UR5, q, qd, contact_wrench(UR5, world)(UR5, 0.0, q, qd))
        np.testing.assert_allclose(tau, expected, atol=1e-8 * max(1.0, float(np.abs(expected).max())))
        np.testing.assert_allclose(
            report.total_force[0], contact_wrench(UR5, world)(UR5, 0.0, q, qd)[:, :3].sum(axis=0), atol=1e-8
        )


def test_compiled_equals_floats():
    world = World((*EXACT.shapes, SHELF["shelf"])).with_surface(damping=100.0, friction=0.3)
    pairs = contact_pairs(UR5, world, link_capsules(UR5)[2:4])
    run = compiled(lambda arm, q, qd: wrenches_of(arm, q, qd, pairs), UR5)
    qd = np.random.default_rng(4).normal(size=(30, 6))
    q = configurations(30, 5)
    table = run(q, qd)
    assert (np.abs(table).max(axis=(1, 2)) > 100.0).sum() > 5
    for k in range(30):
        reference = wrenches_of(UR5, q[k], qd[k], pairs)
        np.testing.assert_allclose(table[k], reference, atol=1e-9 * max(1.0, float(np.abs(reference).max())))


def test_friction_opposes_sliding_and_nothing_pulls():
    world = EXACT.with_surface(damping=500.0, friction=0.4)
    pairs = contact_pairs(UR5, world)
    rng = np.random.default_rng(6)
    seen = 0
    for q in configurations(40, 7):
        qd = 3.0 * rng.normal(size=6)
        for pair, touch in touches(UR5, q, qd, pairs):
            push = float(touch.force @ touch.normal)
            drag = touch.force - push * touch.normal
            assert push >= 0.0
            if touch.depth <= 0.0:
                assert not touch.force.any()
                continue
            T = fk(UR5, q, pair.capsule.body)
            J = jacobian(UR5, q, pair.capsule.body, point=T[:3, :3].T @ (touch.point - T[:3, 3]))
            v = J[:3] @ qd
            slide = v - (v @ touch.normal) * touch.normal
            assert drag @ slide <= 1e-9
            assert np.linalg.norm(drag) <= 0.4 * push * (1.0 + 1e-9)
            if np.linalg.norm(slide) > 0.1 and push > 1.0:
                seen += 1
                assert np.linalg.norm(drag) > 0.39 * push
    assert seen > 10


SOFT = World(
    (
        Sphere(name="ball", centre=(-0.35, -0.1, -0.15), radius=0.15),
        Cylinder(name="post", centre=(-0.6, -0.15, -0.3), axis=(0.0, 1.0, 0.0), radius=0.1),
    )
)


def drop(world: World) -> tuple[np.ndarray, np.ndarray]:
    """Total energy and recorded positions of a stretched arm that falls onto things."""
    rec = simulate(
        UR5,
        None,
        None,
        0.5,
        q0=np.array([0.0, 0.1, 0.2, 0.0, 0.3, 0.0]),
        rate=4000.0,
        wrench=contact_wrench(UR5, world),
        check_step=False,
    )
    own = compiled(lambda arm, q, qd: np.array([kinetic_energy(arm, q, qd) + potential_energy(arm, q)]), UR5)(
        rec["q"], rec["qd"]
    )[:, 0]
    return own + stored_energy(world, rec["q"]), rec["q"]


def test_energy_of_a_fall_is_kept_without_damping_and_lost_with_it():
    soft = SOFT.with_surface(stiffness=2e4)
    energy, q = drop(soft)
    report = contact_report(UR5, soft, q)
    assert report.touching.any() and not report.touching[0]
    stored = float(stored_energy(soft, q).max())
    assert stored > 1.0
    assert np.abs(energy - energy[0]).max() < 1e-4 * stored
    damped, _ = drop(soft.with_surface(damping=200.0, friction=0.5))
    assert np.diff(damped).max() < 1e-4 * stored
    assert damped[-1] < damped[0] - 0.2 * stored


def test_capsules_follow_the_geometry():
    parts = link_capsules(UR5)
    assert [p.link for p in parts] == [b.name for b in UR5.bodies]
    np.testing.assert_allclose(
        [p.length for p in parts], [0.089159, 0.425, 0.39225, 0.10915, 0.09465, 0.0823], atol=1e-12
    )
    report_arm = link_capsules(aw.load("ur5-ragazzon"))
    np.testing.assert_allclose([p.radius for p in report_arm[:3]], [0.045, 0.045, 0.0386283], atol=1e-6)  # 000 B.1
    assert [p.link for p in fixed_column(UR5, parts)] == ["shoulder"]
    for q in configurations(5, 9):  # each capsule begins where the one before ends, the last one ends at the tool
        ends = [
            [fk(UR5, q, p.body)[:3, :3] @ np.array(x) + fk(UR5, q, p.body)[:3, 3] for x in (p.start, p.end)]
            for p in parts
        ]
        for before, after in itertools.pairwise(ends):
            np.testing.assert_allclose(before[1], after[0], atol=1e-12)
        np.testing.assert_allclose(ends[-1][1], fk(UR5, q)[:3, 3], atol=1e-12)
    assert link_capsules(UR5, 0.05)[3].radius == 0.05
    assert link_capsules(UR5, {"forearm": 0.2})[2].radius == 0.2
    with pytest.raises(InputError, match="no link 'tail'"):
        link_capsules(UR5, {"tail": 0.2})
    with pytest.raises(InputError, match="radius"):
        link_capsules(UR5, -0.1)
    for name in ("panda", "puma560", "planar2", "irb140", "rl15", "sdt"):
        assert {p.body for p in link_capsules(aw.load(name))} >= {len(aw.load(name).bodies) - 1}


def test_unreachable_pairs_are_left_out_without_changing_anything():
    world = World((*EXACT.shapes, Sphere(name="away", centre=(5.0, 0.0, 0.0), radius=0.3)))
    names = {pair.shape.name for pair in contact_pairs(UR5, world)}
    assert names == {shape.name for shape in EXACT}
    q = configurations(200, 10)
    np.testing.assert_array_equal(clearance(UR5, world, q), clearance(UR5, EXACT, q))
    assert np.isinf(clearance(UR5, World((world["away"],)), q[0]))
    touching = contact_report(UR5, EXACT, q).touching
    np.testing.assert_array_equal(touching, clearance(UR5, EXACT, q) < 0.0)
    assert 0 < touching.sum() < 200


def test_meshes_take_part_in_reports_but_not_in_compiled_loops():
    pytest.importorskip("coal", reason="coal is an extra")
    corners = [(x, y, z) for x in (0.25, 0.55) for y in (-0.15, 0.35) for z in (0.3, 0.5)]
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = tuple(half for a, b, c, d in quads for half in ((a, b, c), (a, c, d)))
    mesh = World((Mesh(name="shelf", vertices=tuple(corners), triangles=faces),))
    box = World((SHELF["shelf"],))
    q = configurations(150, 11)
    far, near = clearance(UR5, mesh, q), clearance(UR5, box, q)
    outside = near > -0.03
    np.testing.assert_allclose(far[outside], near[outside], atol=1e-3)
    a, b = contact_report(UR5, mesh, q[outside]), contact_report(UR5, box, q[outside])
    assert len(a) > 0 and abs(len(a) - len(b)) <= 2
    with pytest.raises(NotSupportedError, match="cannot be traced"):
        compiled(lambda arm, q, qd: contact_wrench(UR5, mesh)(arm, 0.0, q, qd), UR5)


def test_bad_input():
    with pytest.raises(InputError, match="overlaps"):
        contact_wrench(UR5, World((Sphere(name="ball", centre=(0, 0, 0), radius=0.3),)))
    with pytest.raises(InputError, match="slip_speed"):
        contact_wrench(UR5, EXACT, slip_speed=0.0)
    with pytest.raises(InputError, match="shape"):
        contact_report(UR5, EXACT, np.zeros(5))
    with pytest.raises(InputError, match="finite"):
        contact_report(UR5, EXACT, np.full(6, np.nan))
    with pytest.raises(InputError, match="body 9"):
        contact_pairs(UR5, EXACT, [LinkCapsule(9, "tail", (0, 0, 0), (0, 0, 1), 0.1)])
    assert contact_wrench(UR5, EXACT) is contact_wrench(UR5, World(EXACT.shapes))
    assert not contact_wrench(UR5, World())(UR5, 0.0, np.zeros(6), np.zeros(6)).any()


def test_every_link_meets_every_cylinder_of_a_layout():
    assert len(contact_pairs(UR5, load_world("layout-a"))) == 60


@pytest.mark.parametrize("name", ["ur5", "panda", "irb140", "puma560"])
def test_how_far_the_arm_is_touched_beyond_its_tool_frame_is_told(name):
    """A ball that comes along the tool's own capsule is touched that much before it reaches the tool point."""
    robot = aw.load(name)
    parts = link_capsules(robot)
    last = [part for part in parts if part.body == robot.tip][-1]
    along = np.subtract(last.end, last.start)
    out = np.linalg.inv(robot.bodies[robot.tip].T_joint_link)[:3, 2] if last.length == 0.0 else along / last.length
    tool = robot.T_tip_tool[:3, 3]
    far = max(
        distance
        for distance in np.linspace(0.0, 0.3, 3001)
        if np.linalg.norm(tool + distance * out - last.end) <= last.radius
    )
    assert beyond_tool(robot) == pytest.approx(far, abs=2e-4)
    assert beyond_tool(robot) > 0.03
    thin = link_capsules(robot, {last.link: 0.01})
    assert beyond_tool(robot, thin) == pytest.approx(0.01)
    before = LinkCapsule(robot.tip, last.link, tuple(tool - 0.2 * out), tuple(tool - 0.05 * out), 0.02)
    assert beyond_tool(robot, [before]) == pytest.approx(-0.03)
