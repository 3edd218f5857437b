# SPDX-License-Identifier: Apache-2.0
"""Worlds, capsules and meshes that cannot be: refused in a sentence that names the culprit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.errors import DescriptionError, InputError
from armwright.robot import Actuators, Body, Joint, Robot
from armwright.world import LinkCapsule, LinkCapsules, Mesh, Sphere, World, link_capsules, mesh_files, tool_point
from armwright.world.mesh_files import read_mesh_file
from armwright.world.world import JointTask

UR5 = aw.load("ur5")
POINT = Robot("point", (Joint("j"),), (Body("b", -1, 0, np.eye(4)),), Actuators.none(1), tip=0)
BALL = Sphere(name="ball", centre=(1.0, 0.0, 0.0), radius=0.1)


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: LinkCapsules([0], np.zeros((1, 3)), np.zeros((1, 3)), [-0.1]), "capsules.radius: must be ≥ 0"),
        (lambda: LinkCapsules([0], np.zeros((1, 2)), np.zeros((1, 3)), [0.1]), r"capsules.a: expected .*\(1, 3\)"),
        (
            lambda: LinkCapsules([0], [[0, 0, np.nan]], np.zeros((1, 3)), [0.1]),
            "capsules.a: every entry must be finite",
        ),
        (lambda: LinkCapsule(0, "arm", (0, 0, 0), (0, 0, 1), np.nan), "capsule of 'arm': radius must be finite"),
        (lambda: LinkCapsule(0, "arm", (0, 0), (0, 0, 1), 0.1), "capsule of 'arm': start must be three finite numbers"),
        (lambda: link_capsules(POINT), "'point' has links without any extent"),
        (lambda: link_capsules(UR5, [0.1, 0.2]), r"one number, 6 numbers or a mapping; got shape \(2,\)"),
        (lambda: link_capsules(UR5, {"tail": 0.1}), "no link 'tail'; valid: .*forearm"),
        (lambda: tool_point(replace(UR5, tip=-1)), "'ur5' has no moving link that carries the tool"),
        (lambda: replace(BALL, stiffness="hard"), "'ball': stiffness must be a number, got 'hard'"),
        (lambda: replace(BALL, centre="here"), "'ball': centre must be three numbers, got 'here'"),
        (
            lambda: Mesh(name="m", vertices=((0, 0),), triangles=()),
            "'m': vertices and triangles must be lists",
        ),
        (lambda: JointTask("ur5", (0.0, 1.0), (0.0,)), "start has 2 joint coordinates, goal 1"),
        (lambda: JointTask("ur5", (0.0, np.nan), (0.0, 1.0)), "task: joint coordinates of start must be finite"),
        (lambda: World(3), "shapes must be a sequence of shapes, got 3"),
        (lambda: World((BALL,)).with_surface(colour=1.0), "unknown 'colour'; valid: stiffness, damping, friction"),
        (lambda: World((BALL,))["wall"], "no shape 'wall'; it has: ball"),
    ],
)
def test_what_is_no_world_is_refused(make, text):
    with pytest.raises(InputError, match=text):
        make()


def test_worlds_have_a_stated_size(monkeypatch):
    monkeypatch.setattr("armwright.world.world.MAX_SHAPES", 2)
    with pytest.raises(InputError, match="at most 2 shapes, got 3"):
        World(tuple(replace(BALL, name=f"ball {k}") for k in range(3)))


CUBE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
TEXT_STL = "solid x\n" + 5 * (
    "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
)
PLY = (
    "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
    "element face 5\nproperty list uchar int vertex_indices\nend_header\n" + 4 * "0 0 0\n" + 5 * "3 0 1 2\n"
)


@pytest.mark.parametrize(
    "name, content, text",
    [
        ("zero.obj", CUBE + "f 0 1 2\n", "line 5: vertices are numbered from 1"),
        ("many.obj", CUBE + 5 * "f 1 2 3\n", "5 triangles; at most 4 are read"),
        ("many.stl", TEXT_STL, "5 triangles; at most 4 are read"),
        ("many.ply", PLY, "an element 'face', at most 4 times"),
    ],
)
def test_mesh_files_have_a_stated_size_and_vertices_from_one(tmp_path, monkeypatch, name, content, text):
    monkeypatch.setattr(mesh_files, "MAX_TRIANGLES", 4)
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DescriptionError, match=text) as caught:
        read_mesh_file(path)
    assert caught.value.where == str(path)


def test_a_folder_is_no_mesh(tmp_path):
    (tmp_path / "folder.stl").mkdir()
    with pytest.raises(DescriptionError, match="cannot read the mesh"):
        read_mesh_file(tmp_path / "folder.stl")
