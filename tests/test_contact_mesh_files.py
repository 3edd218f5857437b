"""Meshes from files: distances equal those of the box and the sphere that were written; broken files are refused."""

from __future__ import annotations

import struct
import warnings

import numpy as np
import pytest

from armwright.contact.shapes import Box, Sphere
from armwright.contact.shapes_distance import distance_and_normal
from armwright.contact.shapes_mesh import load_mesh
from armwright.contact.world import load_world
from armwright.errors import ArmwrightWarning, DescriptionError, InputError

pytest.importorskip("coal", reason="meshes are read by coal")
BOX = Box(name="box", centre=(0.4, 0.1, 0.2), size=(0.2, 0.3, 0.1))
FACES = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
         (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)]  # fmt: skip


def corners(box=BOX):
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return 0.5 * signs * np.array(box.size) + np.array(box.centre)


def obj(points, faces):
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in np.asarray(points).tolist()]
    return "\n".join([*lines, *("f " + " ".join(str(i + 1) for i in face) for face in faces), ""]).encode()


def binary_stl(points, faces):
    triangles = (struct.pack("<12fH", 0, 0, 0, *np.asarray(points)[list(face)].ravel(), 0) for face in faces)
    return bytes(80) + struct.pack("<I", len(faces)) + b"".join(triangles)


def text_stl(points, faces):
    def facet(face):
        rows = "".join(f"vertex {x!r} {y!r} {z!r}\n" for x, y, z in np.asarray(points)[list(face)].tolist())
        return f"facet normal 0 0 0\nouter loop\n{rows}endloop\nendfacet\n"

    return ("solid box\n" + "".join(facet(face) for face in faces) + "endsolid box\n").encode()


def ball(radius, centre, rounds=4):
    """Vertices and faces of an octahedron divided again and again, blown up to a sphere."""
    points = [np.array(p, dtype=float) for p in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))]
    faces = [(0, 2, 4), (2, 1, 4), (1, 3, 4), (3, 0, 4), (2, 0, 5), (1, 2, 5), (3, 1, 5), (0, 3, 5)]
    for _ in range(rounds):
        middle: dict[tuple[int, int], int] = {}

        def between(i, j, middle=middle):
            key = (min(i, j), max(i, j))
            if key not in middle:
                m = points[i] + points[j]
                points.append(m / np.linalg.norm(m))
                middle[key] = len(points) - 1
            return middle[key]

        faces = [
            part
            for a, b, c in faces
            for ab, bc, ca in [(between(a, b), between(b, c), between(c, a))]
            for part in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))
        ]
    return radius * np.array(points) + np.array(centre), faces


@pytest.mark.parametrize(
    "write, name, digits", [(obj, "box.obj", 1e-6), (binary_stl, "box.stl", 1e-6), (text_stl, "box.stl", 1e-6)]
)
@pytest.mark.parametrize("inside_out", [False, True])
def test_box_from_a_file(tmp_path, write, name, digits, inside_out):
    """Files hold single precision at best: 1e-6 m."""
    faces = [face[::-1] for face in FACES] if inside_out else FACES
    (tmp_path / name).write_bytes(write(1e3 * corners(), faces))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ArmwrightWarning)
        mesh = load_mesh(tmp_path / name, scale=1e-3, stiffness=2e4, friction=0.3)
    assert (mesh.name, mesh.stiffness, mesh.friction, len(mesh.triangles)) == ("box", 2e4, 0.3, 12)
    np.testing.assert_allclose(mesh.bounding_box().size, BOX.size, atol=digits)
    rng = np.random.default_rng(5)
    points = np.array(BOX.centre) + rng.uniform(-1.2, 1.2, (80, 3)) * np.array(BOX.size)
    inside = 0
    for p in points:
        (d, n), (d_box, n_box) = distance_and_normal(mesh, p), distance_and_normal(BOX, p)
        assert d == pytest.approx(d_box, abs=digits)
        inside += d < 0.0
        if abs(d) > 1e-3:
            assert n @ n_box > 1.0 - 1e-4
    assert 3 < inside < 60


def test_sphere_from_a_file(tmp_path):
    """A mesh inscribed in a sphere lies inside it, by less than its facets' sagitta."""
    sphere = Sphere(name="ball", centre=(0.1, -0.2, 0.5), radius=0.2)
    points, faces = ball(sphere.radius, sphere.centre)
    (tmp_path / "ball.obj").write_bytes(obj(points, faces))
    mesh = load_mesh(tmp_path / "ball.obj")
    edge = max(float(np.linalg.norm(points[a] - points[b])) for a, b, _ in faces)
    sagitta = edge * edge / (2.0 * sphere.radius)
    rng = np.random.default_rng(6)
    for p in np.array(sphere.centre) + rng.uniform(-0.4, 0.4, (60, 3)):
        d, exact = distance_and_normal(mesh, p)[0], distance_and_normal(sphere, p)[0]
        assert -1e-6 <= d - exact < sagitta


def test_a_world_file_names_its_mesh(tmp_path):
    (tmp_path / "part.stl").write_bytes(binary_stl(1e3 * corners(), FACES))
    (tmp_path / "world.toml").write_text(
        'name = "with a part"\n[shapes.part]\nkind = "mesh"\nfile = "part.stl"\nunit = "mm"\n', encoding="utf-8"
    )
    (mesh,) = load_world(tmp_path / "world.toml").shapes
    assert distance_and_normal(mesh, (0.8, 0.1, 0.2))[0] == pytest.approx(0.3, abs=1e-6)


BROKEN = {
    "empty.stl": b"",
    "text.stl": b"hello",
    "cut.stl": binary_stl(corners(), FACES)[:200],
    "one-point.obj": b"v 0 0 0\n",
    "index.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n",
    "nan.obj": obj(np.where(np.arange(24).reshape(8, 3) == 4, np.nan, corners()), FACES),
    "two-triangles.obj": obj(corners(), FACES[:2]),
    "numbers.xyz": b"1 2 3\n",
}


@pytest.mark.filterwarnings("ignore::armwright.errors.ArmwrightWarning")
@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused_by_name_in_a_sentence(tmp_path, name):
    file = tmp_path / name
    file.write_bytes(BROKEN[name])
    with pytest.raises(DescriptionError) as caught:
        load_mesh(file)
    said = str(caught.value)
    assert name in said and "\n" not in said and "assimp" not in said


def test_missing_files_bad_scales_and_open_meshes(tmp_path):
    with pytest.raises(DescriptionError, match="no such"):
        load_mesh(tmp_path / "nothing.stl")
    file = tmp_path / "open.obj"
    file.write_bytes(obj(corners(), FACES[:-2]))
    for scale in (0.0, -1.0, float("nan")):
        with pytest.raises(InputError, match="scale"):
            load_mesh(file, scale=scale)
    with pytest.warns(ArmwrightWarning, match="not closed"):
        mesh = load_mesh(file)
    assert distance_and_normal(mesh, (0.8, 0.1, 0.2))[0] == pytest.approx(0.3, abs=1e-6)
