# SPDX-License-Identifier: Apache-2.0
"""Meshes from files: distances equal those of the box and the sphere that were written; broken files are refused."""

from __future__ import annotations

import struct
import warnings

import numpy as np
import pytest

from armwright.errors import ArmwrightWarning, DescriptionError, InputError
from armwright.world.mesh_distance import load_mesh
from armwright.world.shape_distance import distance_and_normal
from armwright.world.shapes import Box, Sphere
from armwright.world.world_catalogue import load_world

pytest.importorskip("coal", reason="distances of meshes need coal")
BOX = Box(name="box", centre=(0.4, 0.1, 0.2), size=(0.2, 0.3, 0.1))
FACES = [
    (0, 1, 3),
    (0, 3, 2),
    (4, 6, 7),
    (4, 7, 5),
    (0, 4, 5),
    (0, 5, 1),
    (2, 3, 7),
    (2, 7, 6),
    (0, 2, 6),
    (0, 6, 4),
    (1, 5, 7),
    (1, 7, 3),
]


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


def ply(order, quads=False):
    """Return a writer of PLY: "" for text, "<" or ">" for binary; with a colour, and an element that means nothing."""
    kind = {"": "ascii", "<": "binary_little_endian", ">": "binary_big_endian"}[order]

    def write(points, faces):
        rows = np.asarray(points).tolist()
        head = f"""ply
format {kind} 1.0
comment a part
element camera 1
property float angle
element vertex {len(rows)}
property double x
property uchar red
property double y
property double z
element face {len(faces)}
property uchar flags
property list uchar int vertex_indices
end_header
"""
        if not order:
            lines = ["0.5", *(f"{x!r} 7 {y!r} {z!r}" for x, y, z in rows)]
            lines += [f"1 {len(face)} {' '.join(map(str, face))}" for face in faces]
            return (head + "\n".join(lines) + "\n").encode()
        body = struct.pack(f"{order}f", 0.5) + b"".join(struct.pack(f"{order}dBdd", x, 7, y, z) for x, y, z in rows)
        return (
            head.encode()
            + body
            + b"".join(struct.pack(f"{order}BB{len(face)}i", 1, len(face), *face) for face in faces)
        )

    return write


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
    "write, name, digits",
    [
        (obj, "box.obj", 1e-9),
        (binary_stl, "box.stl", 1e-6),
        (text_stl, "box.stl", 1e-9),
        (ply(""), "box.ply", 1e-9),
        (ply("<"), "box.ply", 1e-9),
        (ply(">"), "box.PLY", 1e-9),
    ],
)
@pytest.mark.parametrize("inside_out", [False, True])
def test_box_from_a_file(tmp_path, write, name, digits, inside_out):
    """Binary STL holds single precision: 1e-6 m."""
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
    "dent.obj": obj([(0, 0, 0), (2, 0, 0), (0.2, 0.2, 0), (0, 2, 0), (0, 0, 1)], [(1, 2, 3, 0)]),
    "short.ply": ply("<")(corners(), FACES)[:-1],
    "index.ply": ply("")(corners(), [*FACES[1:], (0, 1, 8)]),
    "negative.ply": ply(">")(corners(), [*FACES[1:], (0, 1, -1)]),
    "two-corners.ply": ply("<")(corners(), [*FACES, (0, 1)]),
    "many.ply": ply("<")(corners(), FACES).replace(b"face 12", b"face 999999999"),
    "nothing.ply": b"ply\nformat ascii 1.0\nelement none 999999999\nelement vertex 0\nelement face 0\nend_header\n",
    "twice.ply": ply("")(corners(), FACES).replace(b"element camera", b"element vertex"),
    "version.ply": ply("")(corners(), FACES).replace(b"ascii 1.0", b"ascii 2.0"),
    "list.ply": ply("")(corners(), FACES).replace(b"list uchar", b"list double"),
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


QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


@pytest.mark.parametrize("write, name", [(obj, "box.obj"), (ply(""), "box.ply"), (ply("<"), "box.ply")])
def test_faces_of_more_corners_are_divided(tmp_path, write, name):
    (tmp_path / name).write_bytes(write(corners(), QUADS))
    mesh = load_mesh(tmp_path / name)
    assert len(mesh.triangles) == 12
    assert distance_and_normal(mesh, BOX.centre)[0] == pytest.approx(-0.05, abs=1e-9)


def test_indices_of_obj_may_count_from_the_end_and_carry_textures(tmp_path):
    text = obj(corners(), []) + b"".join(b"f " + b" ".join(b"%d/1/1" % (i - 8) for i in face) + b"\n" for face in FACES)
    (tmp_path / "box.obj").write_bytes(text)
    assert distance_and_normal(load_mesh(tmp_path / "box.obj"), (0.8, 0.1, 0.2))[0] == pytest.approx(0.3, abs=1e-9)


def mutated(data, rng):
    """Return a file with some bytes replaced, counts blown up, parts cut out or doubled."""
    bad = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        at, size = int(rng.integers(len(bad))), int(rng.integers(1, 60))
        match int(rng.integers(6)):
            case 0:
                bad[at] ^= 1 << int(rng.integers(8))
            case 1:
                bad[at : at + 4] = struct.pack("<I", int(rng.choice([0, 2**31, 2**32 - 1, 2**20])))
            case 2:
                del bad[at : at + size]
            case 3:
                bad[at:at] = bad[at : at + size]
            case 4:
                bad[at : at + size] = bytes(rng.integers(0, 256, size, dtype=np.uint8))
            case 5:
                bad[at : at + 1] = str(int(rng.choice([-1, 10**9, 255, 10**30]))).encode()
        bad = bad or bytearray(b" ")
    return bytes(bad)


@pytest.mark.filterwarnings("ignore::armwright.errors.ArmwrightWarning")
@pytest.mark.parametrize(
    "write, name", [(obj, "a.obj"), (binary_stl, "a.stl"), (text_stl, "a.stl"), (ply(""), "a.ply"), (ply("<"), "a.ply")]
)
def test_mutated_files_are_refused_or_are_meshes(tmp_path, write, name):
    """In this process: an importer that reads past its memory would end it."""
    data, file, rng = write(corners(), FACES), tmp_path / name, np.random.default_rng(8)
    refused = whole = 0
    for _ in range(400):
        file.write_bytes(mutated(data, rng))
        try:
            mesh = load_mesh(file)
        except DescriptionError as error:
            refused += str(file) in str(error)
        else:
            whole += 1
            assert np.isfinite(mesh.vertices).all() and np.max(mesh.triangles) < len(mesh.vertices)
    assert refused > 40 and refused + whole == 400


def test_a_million_triangles_is_the_most(tmp_path):
    (tmp_path / "large.stl").write_bytes(bytes(80) + struct.pack("<I", 1_000_001) + bytes(50 * 1_000_001))
    with pytest.raises(DescriptionError, match="1000001 triangles; at most 1000000"):
        load_mesh(tmp_path / "large.stl")
