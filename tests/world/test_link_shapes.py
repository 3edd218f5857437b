# SPDX-License-Identifier: Apache-2.0
"""Meshes of a URDF: found only where they may lie, placed on the bodies, covered by capsules of a stated error."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.errors import DescriptionError, InputError
from armwright.world import fitted_capsules, link_shapes
from armwright.world.arm_shapes import LinkShape
from armwright.world.mesh_capsules import smallest_circle
from armwright.world.mesh_distance import load_mesh

CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
SIDES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
FACES = np.array([t for a, b, c, d in SIDES for t in ((a, b, c), (a, c, d))])
OBJ = "".join(f"v {x} {y} {z}\n" for x, y, z in CUBE) + "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in FACES)


def urdf(geometry: str, origin: str = "") -> str:
    return f"""<robot name="r"><link name="base"/><link name="arm"/><link name="hand">
      <collision>{origin}<geometry>{geometry}</geometry></collision></link>
      <joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
      <joint name="f" type="fixed"><parent link="arm"/><child link="hand"/><origin xyz="0.5 0 0" rpy="0 0 1.5"/></joint>
    </robot>"""


@pytest.fixture
def package(tmp_path):
    """A robot in a package of its own, with a mesh, and a secret beside it."""
    (tmp_path / "ws/robot/meshes").mkdir(parents=True)
    (tmp_path / "ws/robot/meshes/cube.obj").write_text(OBJ, encoding="utf-8")
    (tmp_path / "secret.obj").write_text(OBJ, encoding="utf-8")
    return tmp_path / "ws/robot/arm.urdf"


def shapes_of(file, text, **options):
    file.write_text(text, encoding="utf-8")
    return link_shapes(aw.load(file, package_roots=options.get("package_roots")), file, **options)


def test_meshes_stand_where_their_links_do(package):
    text = urdf('<mesh filename="package://robot/meshes/cube.obj" scale="0.1 0.2 0.3"/>', '<origin xyz="0 0.1 0"/>')
    (shape,) = shapes_of(package, text, package_roots=[package.parent.parent])
    assert (shape.body, shape.link) == (0, "hand")
    robot, q = aw.load(package), np.array([0.7])
    seen = shape.vertices @ aw.fk(robot, q, "arm")[:3, :3].T + aw.fk(robot, q, "arm")[:3, 3]
    T = aw.fk(robot, q, "hand")
    expected = (CUBE * [0.1, 0.2, 0.3] + [0.0, 0.1, 0.0]) @ T[:3, :3].T + T[:3, 3]
    assert np.abs(np.sort(seen, axis=0) - np.sort(expected, axis=0)).max() < 1e-14
    (same,) = shapes_of(package, urdf('<mesh filename="meshes/cube.obj"/>'))
    assert len(same.triangles) == 12


def test_nothing_outside_the_folders_is_opened(package):
    root = package.parent.parent
    (package.parent / "meshes/link.obj").symlink_to(root.parent / "secret.obj")
    for reference, rule in {
        "package://robot/meshes/none.obj": "mesh-file",
        "package://robot/meshes/link.obj": "path-inside-root",
        "meshes/link.obj": "mesh-file",
        "package://robot/../../secret.obj": "path-inside-root",
        "../../secret.obj": "path-inside-root",
        f"file://{root.parent}/secret.obj": "path-inside-root",
    }.items():
        file = package.with_name("other.urdf")
        file.write_text(urdf(f'<mesh filename="{reference}"/>'), encoding="utf-8")
        robot = aw.load(urdf('<box size="1 1 1"/>'))
        with pytest.raises(DescriptionError) as caught:
            link_shapes(robot, file, package_roots=[root])
        assert caught.value.rule == rule
        assert "<collision><geometry><mesh>" in caught.value.where
    with pytest.raises(DescriptionError, match="package_roots="):
        link_shapes(robot, urdf('<mesh filename="package://robot/meshes/cube.obj"/>'))
    with pytest.raises(InputError, match="layer"):
        link_shapes(robot, package, "inertial")  # type: ignore[arg-type]


def test_collada_counts_its_unit(tmp_path):
    trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed")
    pytest.importorskip("collada", reason="pycollada is not installed")
    data = trimesh.exchange.dae.export_collada(trimesh.creation.box((1.0, 2.0, 3.0)))
    text = data.decode().replace("<up_axis>", '<unit name="centimeter" meter="0.01"/><up_axis>')
    assert 'meter="0.01"' in text
    file = tmp_path / "box.dae"
    file.write_text(text, encoding="utf-8")
    points = np.array(load_mesh(file).vertices)
    np.testing.assert_allclose(np.ptp(points, axis=0), [0.01, 0.02, 0.03], rtol=1e-6)
    file.write_text('<!DOCTYPE x [<!ENTITY a "b">]>' + text, encoding="utf-8")
    with pytest.raises(DescriptionError, match="document type"):
        load_mesh(file)


def outside(fitted, points):
    """How far points (n, 3) lie outside the nearest of the capsules."""
    gaps = []
    for capsule in (f.capsule for f in fitted):
        a, along = np.array(capsule.start), np.subtract(capsule.end, capsule.start)
        t = np.clip((points - a) @ along / max(float(along @ along), 1e-300), 0.0, 1.0)
        gaps.append(np.linalg.norm(points - a - t[:, None] * along, axis=1) - capsule.radius)
    return np.min(gaps, axis=0)


def on_capsule(capsule, rng):
    """Random points (n, 3) on the surface of a capsule."""
    a, b = np.array(capsule.start), np.array(capsule.end)
    outwards = rng.normal(size=(4000, 3))
    outwards /= np.linalg.norm(outwards, axis=1, keepdims=True)
    t = np.clip(rng.uniform(-0.5, 1.5, 4000), 0.0, 1.0)[:, None]
    u = (b - a) / max(float(np.linalg.norm(b - a)), 1e-300)
    lean = (outwards @ u)[:, None]
    flat = outwards - lean * u
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    turned = np.where(t == 0.0, outwards * -np.sign(lean), np.where(t == 1.0, outwards * np.sign(lean), flat))
    return a + t * (b - a) + capsule.radius * turned


def to_boxes(points, sizes, centres):
    """Distance (n,) of points outside to the nearest of some boxes."""
    gaps = [np.maximum(np.abs(points - c) - 0.5 * np.array(s), 0.0) for s, c in zip(sizes, centres, strict=True)]
    return np.min([np.linalg.norm(gap, axis=1) for gap in gaps], axis=0)


@pytest.mark.parametrize(
    "geometry, radius, length",
    [('<sphere radius="0.1"/>', 0.1, 0.0), ('<capsule radius="0.05" length="0.4"/>', 0.05, 0.4)],
)
def test_round_shapes_are_found_again(geometry, radius, length):
    robot = aw.load(urdf(geometry))
    (fitted,) = fitted_capsules(robot, link_shapes(robot, urdf(geometry)))
    assert fitted.capsule.radius == pytest.approx(radius, rel=0.02) and fitted.capsule.length == pytest.approx(
        length, abs=0.01
    )
    assert fitted.error < 0.1 * radius


def test_capsules_hold_every_triangle_and_state_how_far_they_stand_off():
    """An L of two bars: one capsule stands off by centimetres, two fit closely."""
    robot = aw.load(urdf('<box size="1 1 1"/>'))
    sizes, centres = ([0.4, 0.04, 0.04], [0.04, 0.04, 0.4]), ([0, 0, 0], [0.2, 0, 0.2])
    bars = [(CUBE - 0.5) * size + centre for size, centre in zip(sizes, centres, strict=True)]
    shape = LinkShape(0, "arm", np.concatenate(bars), np.concatenate([FACES, FACES + 8]))
    rng = np.random.default_rng(2)
    weights = rng.dirichlet(np.ones(3), 2000)
    chosen = shape.triangles[rng.integers(len(shape.triangles), size=2000)]
    on_mesh = np.einsum("ij,ijk->ik", weights, shape.vertices[chosen])
    whole, parts = fitted_capsules(robot, [shape]), fitted_capsules(robot, [shape], error=0.03)
    for fitted in (whole, parts):
        assert outside(fitted, on_mesh).max() < 1e-9
    assert len(whole) == 1 and len(parts) > 1
    assert max(f.error for f in parts) < 0.5 * whole[0].error
    for fitted in (*whole, *parts):  # the stated error is the true one, or a little more
        far = to_boxes(on_capsule(fitted.capsule, rng), sizes, centres).max()
        assert far - 2e-3 < fitted.error < far + 0.01
    with pytest.raises(InputError, match="greater than 0"):
        fitted_capsules(robot, [shape], error=0.0)


def test_capsules_go_where_link_capsules_go():
    robot = aw.load(urdf('<cylinder radius="0.05" length="0.3"/>'))
    (fitted,) = fitted_capsules(robot, link_shapes(robot, urdf('<cylinder radius="0.05" length="0.3"/>')))
    assert (fitted.capsule.link, fitted.link) == ("arm", "hand")


def test_the_smallest_circle_is_carried_by_two_or_three_points():
    rng = np.random.default_rng(1)
    for _ in range(50):
        points = rng.normal(size=(int(rng.integers(2, 40)), 2))
        centre, radius = smallest_circle(points)
        distance = np.linalg.norm(points - centre, axis=1)
        assert distance.max() <= radius * (1 + 1e-12)
        spokes = (points - centre)[distance > radius * (1 - 1e-9)]
        turns = np.sort(np.arctan2(spokes[:, 1], spokes[:, 0]))
        gaps = np.diff(np.append(turns, turns[0] + 2 * np.pi))
        assert len(spokes) >= 2 and gaps.max() <= np.pi + 1e-6  # no half circle without a point: it cannot shrink


def test_the_command_draws_the_meshes(package, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from armwright.cli import main

    text = urdf('<mesh filename="package://robot/meshes/cube.obj" scale="0.1 0.1 0.1"/>')
    package.write_text(text.replace("collision", "visual"), encoding="utf-8")
    picture = package.with_suffix(".png")
    root = str(package.parent.parent)
    assert main(["show", str(package), "--draw", str(picture), "--meshes", root]) == 0
    assert picture.stat().st_size > 10_000
    assert "Frames: base, hand" in capsys.readouterr().out
    assert main(["show", "ur5", "--draw", str(picture), "--meshes", root]) == 2
