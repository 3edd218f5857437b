# SPDX-License-Identifier: Apache-2.0
"""Arms as their makers draw them: axes and flange at the zero pose, reach, inverse kinematics, names."""

from __future__ import annotations

import re
import tomllib
from typing import NamedTuple

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import armwright as aw
from armwright.errors import DescriptionError
from armwright.kinematics import elbow_angle
from armwright.robot.sheet.sheet_read import catalogue_names, catalogue_text
from support.places import ROOT


class Drawing(NamedTuple):
    """An arm at its zero pose [mm], base frame: each axis as (direction, a point on it), the flange and its turn.

    The turn is what `Rotation.from_euler` takes, in degrees.
    """

    axes: list[tuple[str, tuple[float, float, float]]]
    flange: tuple[float, float, float]
    turn: tuple[str, float | tuple[float, float]] = ("x", 0.0)


def iiwa(shoulder: float, upper: float) -> Drawing:
    elbow, wrist = shoulder + upper, shoulder + upper + 400
    heights = zip(["z", "y", "z", "-y", "z", "y", "z"], [0, shoulder, 0, elbow, 0, wrist, 0], strict=True)
    return Drawing([(axis, (0, 0, height)) for axis, height in heights], (0, 0, wrist + 126))


def abb(shoulder: float, upper: float, offset: float, fore: float, flange: float) -> Drawing:
    elbow, wrist = shoulder + upper, shoulder + upper + offset
    heights = [("y", (0, 0, shoulder)), ("y", (0, 0, elbow)), ("x", (0, 0, wrist)), ("y", (fore, 0, wrist))]
    return Drawing([("z", (0, 0, 0)), *heights, ("x", (0, 0, wrist))], (fore + flange, 0, wrist), ("y", 90))


def ur(shoulder: float, upper: float, fore: float, side: float, drop: float, flange: float) -> Drawing:
    reach, wrist = -(upper + fore), shoulder - drop
    heights = [("-y", (0, 0, shoulder)), ("-y", (-upper, 0, shoulder)), ("-y", (reach, 0, shoulder))]
    axes = [("z", (0, 0, 0)), *heights, ("-z", (reach, -side, 0)), ("-y", (reach, 0, wrist))]
    return Drawing(axes, (reach, -(side + flange), wrist), ("x", 90))


def kuka(shoulder: tuple[float, float], upper: float, rise: float, fore: float, flange: float) -> Drawing:
    """Upper arm and forearm stretched along +x; `rise` of axis 4 above axis 3, z of $FLANGE along +x."""
    (x, z), elbow = shoulder, shoulder[0] + upper
    wrist, high = elbow + fore, shoulder[1] + rise
    axes = [("-z", (0, 0, 0)), ("y", (x, 0, z)), ("y", (elbow, 0, z)), ("-x", (0, 0, high)), ("y", (wrist, 0, high))]
    return Drawing([*axes, ("-x", (0, 0, high))], (wrist + flange, 0, high), ("y", 90))


def fanuc(shoulder: tuple[float, float], upper: float, rise: float, fore: float, flange: float, side: float) -> Drawing:
    """Upper arm vertical, forearm along +x; the wrist's last axis `side` to the right."""
    (x, z), elbow = shoulder, shoulder[1] + upper
    wrist, high = x + fore, elbow + rise
    axes = [("z", (0, 0, 0)), ("y", (x, 0, z)), ("-y", (x, 0, elbow)), ("-x", (0, 0, high)), ("-y", (wrist, 0, high))]
    return Drawing([*axes, ("-x", (0, -side, high))], (wrist + flange, -side, high), ("YX", (-90, 180)))


DRAWINGS = {
    "kr4r600": kuka((0, 330), 290, 20, 310, 75),
    "kr6r900-2": kuka((25, 400), 455, 25, 420, 90),
    "kr10r1100-2": kuka((25, 400), 560, 25, 515, 90),
    "kr8r2100-2": kuka((160, 520), 980, 220, 935, 80),
    "kr20r3100": kuka((175, 575), 1290, 50, 1635, 153),
    "kr70r2100": kuka((175, 575), 890, 50, 1035, 185),
    "m10id12": fanuc((75, 450), 640, 195, 700, 75, 0),
    "crx10ia": fanuc((0, 245), 540, 0, 540, 160, 150),
    "ur3": ur(151.9, 243.65, 213.25, 112.35, 85.35, 81.9),
    "ur5": ur(89.159, 425, 392.25, 109.15, 94.65, 82.3),
    "ur10": ur(127.3, 612, 572.3, 163.941, 115.7, 92.2),
    "ur3e": ur(151.85, 243.55, 213.2, 131.05, 85.35, 92.1),
    "ur5e": ur(162.5, 425, 392.2, 133.3, 99.7, 99.6),
    "ur10e": ur(180.7, 612.7, 571.55, 174.15, 119.85, 116.55),
    "ur16e": ur(180.7, 478.4, 360, 174.15, 119.85, 116.55),
    "ur20": ur(236.3, 862, 728.7, 201, 159.3, 154.3),
    "irb140": Drawing(
        [
            ("z", (0, 0, 0)),
            ("y", (70, 0, 352)),
            ("y", (70, 0, 712)),
            ("x", (0, 0, 712)),
            ("y", (450, 0, 712)),
            ("x", (0, 0, 712)),
        ],
        (515, 0, 712),
        ("y", 90),  # tool0: x points down
    ),
    "iiwa7": iiwa(340, 400),
    "iiwa14": iiwa(360, 420),
    "xarm6": Drawing(
        [
            ("z", (0, 0, 0)),
            ("y", (0, 0, 267)),
            ("y", (53.5, 0, 551.5)),
            ("-z", (131, 0, 0)),
            ("y", (131, 0, 209)),
            ("-z", (207, 0, 0)),
        ],
        (207, 0, 112),
        ("x", 180),
    ),
    "xarm7": Drawing(
        [
            ("z", (0, 0, 0)),
            ("y", (0, 0, 267)),
            ("z", (0, 0, 0)),
            ("-y", (52.5, 0, 560)),
            ("-z", (130, 0, 0)),
            ("y", (130, 0, 217.5)),
            ("-z", (206, 0, 0)),
        ],
        (206, 0, 120.5),
        ("x", 180),
    ),
    "gen3": Drawing(
        [
            ("-z", (0, 0, 0)),
            ("y", (0, 0, 284.81)),
            ("-z", (0, -11.75, 0)),
            ("y", (0, 0, 705.57)),
            ("-z", (0, -24.5, 0)),
            ("y", (0, 0, 1019.93)),
            ("-z", (0, -24.8501, 0)),
        ],
        (0, -24.8501, 1187.385),
    ),
    "fr3": Drawing(
        [
            ("z", (0, 0, 0)),
            ("y", (0, 0, 333)),
            ("z", (0, 0, 0)),
            ("-y", (82.5, 0, 649)),
            ("z", (0, 0, 0)),
            ("-y", (0, 0, 1033)),
            ("-z", (88, 0, 0)),
        ],
        (88, 0, 926),
        ("x", 180),
    ),
    "irb120": abb(290, 270, 70, 302, 72),
    "irb1200": abb(399.1, 448, 42, 451, 82),
    "kr6r900": Drawing(
        [
            ("-z", (0, 0, 0)),
            ("y", (25, 0, 400)),
            ("y", (480, 0, 400)),
            ("-x", (0, 0, 435)),
            ("y", (900, 0, 435)),
            ("-x", (0, 0, 435)),
        ],
        (980, 0, 435),
        ("y", 90),
    ),
    "lrmate200id": fanuc((50, 330), 330, 35, 335, 80, 0),
}
DRAWINGS["panda"] = DRAWINGS["fr3"]
KINEMATICS_ALONE = ("iiwa7", "iiwa14", "kr6r900")


def drawn_flange(drawing: Drawing, q: np.ndarray) -> np.ndarray:
    """Position [m] and axes of the flange after turning about every axis of the drawing, the last one first."""
    R = Rotation.from_euler(*drawing.turn, degrees=True)
    p = np.array(drawing.flange, dtype=float)
    for (axis, point), angle in zip(reversed(drawing.axes), q[::-1], strict=True):
        turn = Rotation.from_rotvec(angle * (-1 if axis[0] == "-" else 1) * np.eye(3)["xyz".index(axis[-1])])
        R, p = turn * R, turn.apply(p - point) + point
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R.as_matrix(), p / 1000
    return T


@pytest.mark.parametrize("name", catalogue_names())
def test_every_sheet_says_what_its_zero_pose_and_flange_were_checked_against(name: str) -> None:
    said = " ".join(tomllib.loads(catalogue_text(name)[0])["notes"].split())
    assert "Zero pose" in said and "flange" in said
    assert re.search(r"checked against|are our own|the thesis's, not ABB's|not for kinematics", said)


@pytest.mark.parametrize("name", DRAWINGS)
def test_arms_are_as_their_makers_draw_them(name: str) -> None:
    robot, drawing = aw.load(name), DRAWINGS[name]
    for q in (np.zeros(robot.n), *np.random.default_rng(11).uniform(-3, 3, (4, robot.n))):
        np.testing.assert_allclose(aw.fk(robot, q), drawn_flange(drawing, q), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "name, reach, flange",
    [
        ("irb120", 580, 72),
        ("irb1200", 901, 82),
        ("kr6r900", 901.5, 80),
        ("lrmate200id", 717, 80),
        ("kr6r900-2", 901, 90),
    ],
)
def test_the_wrist_reaches_as_far_as_the_data_sheet_says(name: str, reach: float, flange: float) -> None:
    """Distance of the wrist's centre from axis 2, and of axis 2 from axis 1, with the elbow stretched [mm]."""
    robot = aw.load(name)
    q = np.zeros((20001, 6))
    q[:, 2] = np.linspace(robot.lower[2], robot.upper[2], len(q))
    T = aw.fk(robot, q)
    shoulder = np.array(DRAWINGS[name].axes[1][1])
    wrist = 1000 * T[:, :3, 3] - flange * T[:, :3, 2]
    assert np.linalg.norm(wrist - shoulder, axis=1).max() + shoulder[0] == pytest.approx(reach, abs=0.5)


@pytest.mark.parametrize("name", DRAWINGS)
def test_inverse_kinematics_lead_back(name: str) -> None:
    robot = aw.load(name)
    T = aw.fk(robot, robot.random_configuration(0, size=5))
    found = aw.ik(robot, T)
    assert (found.status == "solved").all()
    assert ((robot.lower <= found.q) & (found.q <= robot.upper)).all()
    np.testing.assert_allclose(aw.fk(robot, found.q), T, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["iiwa7", "iiwa14"])
def test_the_elbow_of_an_iiwa_goes_where_it_is_asked_to(name: str) -> None:
    robot = aw.load(name)
    q = np.array([0.3, 0.6, -0.2, -1.2, 0.4, 0.9, 0.1])
    T, asked = aw.fk(robot, q), float(elbow_angle(robot, q)) + 0.3
    found = aw.ik(robot, T, elbow=asked, seed=q)
    np.testing.assert_allclose(aw.fk(robot, found.q), T, rtol=0, atol=1e-9)
    assert elbow_angle(robot, found.q) == pytest.approx(asked, abs=1e-8)


@pytest.mark.parametrize("name", [name for name in DRAWINGS if name != "irb140"])  # two of its links have no mass
def test_every_number_has_a_source_and_arms_without_masses_say_so(name: str) -> None:
    robot = aw.load(name)
    table = "geometry.rows" in robot.sources
    wanted = [f"joints.{key}" for key in ("lower", "upper", "velocity")]
    wanted += [] if table else [f"bodies.{body.name}.joint_pose" for body in robot.bodies]
    alone = name in KINEMATICS_ALONE
    wanted += [] if alone else [f"bodies.{body.name}.{key}" for body in robot.bodies for key in ("mass", "inertia")]
    assert [path for path in wanted if path not in robot.sources] == []
    assert robot.notes.startswith("Kinematics alone") == alone == ("no inertia" in repr(robot))
    assert np.isfinite([joint.limits.velocity for joint in robot.joints]).all()


def test_the_how_to_lists_them_with_what_they_can_do() -> None:
    page = (ROOT / "docs" / "howto" / "load.md").read_text(encoding="utf-8")
    rows = [line.split("|")[2:4] for line in page[page.index("| maker |") :].split("\n\n")[0].splitlines()[2:]]
    full, bare = (re.findall("`(.+?)`", "".join(column)) for column in zip(*rows, strict=True))
    assert set(bare) == set(KINEMATICS_ALONE)
    assert set(DRAWINGS) <= {*full, *bare} <= {entry.name for entry in aw.robots()}
    assert all("no inertia" not in repr(aw.load(name)) for name in full)


@pytest.mark.parametrize("written", ["UR5e", "ur5E", "IIWA7"])
def test_names_may_be_written_in_any_case(written: str) -> None:
    robot = aw.load(written.lower())
    assert aw.load(written) == robot
    assert aw.load(f'extends = "{written}"\nname = "{robot.name}"\n') == robot


@pytest.mark.parametrize(
    "typo, first", [("ur5f", "ur5"), ("UR 5e", "ur5e"), ("iiwa", "iiwa7"), ("fr-3", "fr3"), ("lr mate", "lrmate200id")]
)
def test_unknown_names_get_the_three_nearest_and_where_to_look(typo: str, first: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        aw.load(typo)
    nearest, rest = str(caught.value).split("nearest: ")[1].split(";")
    assert nearest.split(", ")[0].startswith(first) and len(nearest.split(", ")) == 3
    assert rest.startswith(" see armwright robots")
    assert len(str(caught.value)) < 160
