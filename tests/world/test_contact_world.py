# SPDX-License-Identifier: Apache-2.0
"""Worlds: files round trip, defects are named with their line, layouts stand where document 000's cells are."""

from __future__ import annotations

import re

import numpy as np
import pytest

import armwright as aw
from armwright.errors import DescriptionError, InputError
from armwright.world.shapes import Box, Capsule, Cylinder, HalfSpace, Sphere
from armwright.world.world import World, check_base
from armwright.world.world_catalogue import load_world, worlds
from armwright.world.world_file import world_from_text, world_text

GOOD = """\
name = "bench"
title = "for tests"
[sources]
own = "measured here"
[surface]
stiffness = { value = 100, unit = "N/mm", source = "own" }
friction = { value = 0.3, unit = "-" }
[shapes.floor]
kind = "half-space"
point = { value = [0, 0, -50], unit = "mm" }
[shapes.pillar]
kind = "cylinder"
centre = { value = [0.4, 0.1, 0], unit = "m" }
radius = { value = 30, unit = "mm" }
friction = { value = 0.5, unit = "-" }
damping = { value = 20, unit = "N s/m" }
[shapes.rod]
kind = "capsule"
start = { value = [0.4, 0.1, 0], unit = "m" }
end = { value = [0.4, 0.1, 0.5], unit = "m" }
radius = { value = 30, unit = "mm" }
[shapes.ball]
kind = "sphere"
centre = { value = [0.4, 0.1, 0.3], unit = "m" }
radius = { value = 30, unit = "mm" }
[shapes.shelf]
kind = "box"
centre = { value = [0.5, 0, 0.4], unit = "m" }
size = { value = [200, 400, 20], unit = "mm" }
rpy = { value = [0, 0, 90], unit = "deg" }
[shapes.wall]
kind = "cylinders"
columns = ["radius", "x", "y"]
units = ["mm", "m", "m"]
rows = [[30, 0.4, 0.1], [40, 0.4, 0.2]]
"""


def test_file_is_read_in_si():
    world = world_from_text(GOOD)
    assert [shape.name for shape in world] == ["floor", "pillar", "rod", "ball", "shelf", "wall-1", "wall-2"]
    assert world["floor"] == HalfSpace(name="floor", point=(0.0, 0.0, -0.05), stiffness=1e5, friction=0.3)
    assert world["pillar"] == Cylinder(
        name="pillar", centre=(0.4, 0.1, 0.0), radius=0.03, stiffness=1e5, friction=0.5, damping=20.0
    )
    assert isinstance(world["rod"], Capsule) and isinstance(world["ball"], Sphere)
    assert world["wall-2"] == Cylinder(name="wall-2", centre=(0.4, 0.2, 0.0), radius=0.04, friction=0.3)
    shelf = world["shelf"]
    assert isinstance(shelf, Box)
    np.testing.assert_allclose(shelf.rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)


def test_round_trip(tmp_path):
    world = world_from_text(GOOD).with_shapes(
        Sphere(name='odd "name".x\n', centre=(1 / 3, 0.1, np.pi), radius=1e-3, damping=1 / 7)
    )
    assert world_from_text(world_text(world)) == world
    world.save(tmp_path / "w.toml")
    assert World.load(tmp_path / "w.toml") == world
    assert hash(world) == hash(load_world(str(tmp_path / "w.toml")))


@pytest.mark.parametrize(
    "old, new, rule, line",
    [
        (
            'radius = { value = 30, unit = "mm" }\nfriction',
            'radius = { value = -30, unit = "mm" }\nfriction',
            "range",
            14,
        ),
        (
            'radius = { value = 30, unit = "mm" }\nfriction',
            'radius = { value = nan, unit = "mm" }\nfriction',
            "finite",
            14,
        ),
        (
            'radius = { value = 30, unit = "mm" }\nfriction',
            'radius = { value = 30, unit = "kg" }\nfriction',
            "unit",
            14,
        ),
        ('radius = { value = 30, unit = "mm" }\nfriction', "radius = 0.03\nfriction", "quantity", 14),
        ('radius = { value = 30, unit = "mm" }\nfriction', "friction", "required key", 11),
        ('kind = "sphere"', 'kind = "spere"', "kind", 23),
        ('unit = "N/mm"', 'unit = "N"', "unit", 6),
        ("value = 100,", "value = -100,", "range", 6),
        ("[shapes.ball]", "[shapes.ball]\ncolour = 3", "unknown key", 23),
        ("[40, 0.4, 0.2]", "[0, 0.4, 0.2]", "range", 35),
        ("value = [200, 400, 20]", "value = [200, 0, 20]", "shape", 26),
        ("name =", "nme =", "unknown key", 1),
        (
            "[shapes.wall]",
            '[shapes."wall-1"]\nkind = "half-space"\npoint = { value = [0, 0, -1], unit = "m" }\n[shapes.wall]',
            "world",
            1,
        ),
        ("[sources]", "[sources", "TOML syntax", 3),
        ("[sources]", 'extends = "x"\n[sources]', "extends", 3),
    ],
)
def test_defects_are_named(old, new, rule, line):
    assert old in GOOD
    with pytest.raises(DescriptionError) as caught:
        world_from_text(GOOD.replace(old, new, 1), "w.toml")
    assert caught.value.rule == rule
    assert re.match(r"w.toml:(\d+)", caught.value.where)[1] == str(line)


def test_names_and_lookups():
    ball = Sphere(name="ball", centre=(1, 0, 0), radius=0.1)
    with pytest.raises(InputError, match=r"unique.*ball"):
        World((ball, ball))
    with pytest.raises(InputError, match="expected a shape"):
        World(("ball",))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no shape 'cube'"):
        World((ball,))["cube"]
    with pytest.raises(InputError, match="layout-a"):
        load_world("nowhere")
    with pytest.raises(DescriptionError, match="cannot read"):
        load_world("nowhere.toml")
    assert World((ball,)).with_surface(friction=0.2)["ball"].friction == 0.2


def cell(u: int, v: int) -> tuple[float, float]:
    """Document 000 eq. 6.13."""
    return 0.0263 * u + 0.1238, 0.0263 * v - 0.2762


@pytest.mark.parametrize(
    "name, cells",
    [
        ("layout-a", [(10, v) for v in range(1, 13)]),
        (
            "layout-b",
            [(13, v) for v in range(6, 15)] + [(u, 6) for u in range(8, 13)] + [(u, 14) for u in range(8, 13)],
        ),
    ],
)
def test_layouts_of_document_000(name, cells):
    world = load_world(name)
    assert name in worlds()
    assert all(
        isinstance(s, Cylinder) and s.radius == 0.03 and np.isinf(s.height) and s.axis == (0, 0, 1) for s in world
    )
    assert all(s.stiffness == 1e5 and s.damping == 0.0 and s.friction == 0.0 for s in world)
    np.testing.assert_allclose([s.centre[:2] for s in world], [cell(u, v) for u, v in cells], atol=1e-12)
    for robot in ("ur5", "ur5-ragazzon", "ur5-ragazzon-published"):
        check_base(world, aw.load(robot))


def test_shapes_in_the_base_are_refused():
    robot = aw.load("ur5")
    floor = HalfSpace(name="floor", point=(0, 0, 0))
    check_base(World((floor, Sphere(name="far", centre=(0.5, 0, 0), radius=0.1))), robot)
    for shape in (
        HalfSpace(name="high floor", point=(0, 0, 0.05)),
        Sphere(name="ball", centre=(0.1, 0, 0.05), radius=0.06),
        Cylinder(name="post", centre=(0.05, 0, 0), radius=0.01),
        Box(name="block", centre=(0, 0, -0.1), size=(0.4, 0.4, 0.3)),
    ):
        with pytest.raises(InputError, match=f"{shape.name}.*overlaps.*mm"):
            check_base(World((shape,)), robot)
