# SPDX-License-Identifier: Apache-2.0
"""Every defect is refused with file, line, element and rule."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from armwright.dynamics import forward_dynamics
from armwright.errors import ArmwrightWarning, DescriptionError, InputError
from armwright.robot.urdf.urdf_read import read_urdf
from armwright.simulation import simulate
from support.places import DATA

ARM = (DATA / "arm.urdf").read_text(encoding="utf-8")
UPPER = '<inertia ixx="0.02" ixy="0.001" ixz="-0.002" iyy="0.05" iyz="0.003" izz="0.06"/>'
ELBOW_AXIS = '<axis xyz="0 1 0"/>\n  </joint>'
SHOULDER_LIMIT = '<limit lower="-2.5" upper="2.5" effort="120" velocity="3"/>'

# id: (text replaced once, its replacement, text on the line that must be named, element, rule, words of the message)
DEFECTS = {
    # the list of broken robots that other readers accept
    "mass nan": (
        'value="3.5"',
        'value="nan"',
        'value="nan"',
        '<link name="upper"><inertial><mass>',
        "finite-number",
        "value = 'nan' is not finite",
    ),
    "mass inf": (
        'value="3.5"',
        'value="inf"',
        'value="inf"',
        '<link name="upper"><inertial><mass>',
        "finite-number",
        "value = 'inf' is not finite",
    ),
    "mass negative": (
        'value="3.5"',
        'value="-3"',
        'value="-3"',
        '<link name="upper"><inertial><mass>',
        "mass-positive",
        "mass = -3 kg is negative",
    ),
    "inertia triangle": (
        UPPER,
        UPPER.replace("0.06", "0.09"),
        "<inertial>",
        '<link name="upper"><inertial>',
        "inertia-triangle",
        "break the triangle inequality",
    ),
    "inertia negative": (
        UPPER,
        UPPER.replace('"0.02"', '"-0.02"'),
        'ixx="-0.02"',
        '<link name="upper"><inertial><inertia>',
        "inertia-positive",
        "none may be negative",
    ),
    "axis zero": (
        '<axis xyz="0 0 1"/>',
        '<axis xyz="0 0 0"/>',
        '<axis xyz="0 0 0"/>',
        '<joint name="shoulder"><axis>',
        "axis-direction",
        "has no direction",
    ),
    "limits swapped": (
        'lower="-2.5" upper="2.5"',
        'lower="2.5" upper="-2.5"',
        'lower="2.5"',
        '<joint name="shoulder"><limit>',
        "limit-order",
        "lower (2.5) is greater than upper (-2.5)",
    ),
    "limit missing": (
        SHOULDER_LIMIT,
        "",
        '<joint name="shoulder"',
        '<joint name="shoulder">',
        "limit-missing",
        "a revolute joint needs <limit",
    ),
    "mass comma": (
        'value="3.5"',
        'value="1,5"',
        'value="1,5"',
        '<link name="upper"><inertial><mass>',
        "decimal-number",
        "'1,5' is not a number (use a point, not a comma)",
    ),
    "duplicate link": (
        '<link name="tool0"/>',
        '<link name="tool0"/><link name="fore"/>',
        '<link name="fore"/>',
        '<link name="fore">',
        "unique-names",
        "already used on line 25",
    ),
    "orphan link": (
        '<link name="tool0"/>',
        '<link name="tool0"/><link name="lost"/>',
        'name="lost"',
        '<link name="lost">',
        "orphan-link",
        "no joint connects this link",
    ),
    # the tree
    "duplicate joint": (
        '<joint name="elbow"',
        '<joint name="shoulder"',
        '<joint name="shoulder" type="continuous"',
        '<joint name="shoulder">',
        "unique-names",
        "already used on line 17",
    ),
    "two roots": (
        '<link name="tool0"/>',
        '<link name="tool0"/><link name="a"/><link name="b"/>\n<joint name="ab" '
        'type="fixed"><parent link="a"/><child link="b"/></joint>',
        '<link name="a"/>',
        '<link name="a">',
        "single-root",
        "two roots, 'base' and 'a'",
    ),
    "cycle below": (
        '<parent link="base"/>',
        '<parent link="fore"/>',
        '<joint name="shoulder"',
        '<joint name="shoulder">',
        "tree",
        "link 'upper' cannot be reached from the root 'base'",
    ),
    "cycle beside": (
        '<link name="tool0"/>',
        '<link name="tool0"/><link name="a"/><link name="b"/>\n'
        '<joint name="ab" type="fixed"><parent link="a"/><child link="b"/></joint>\n'
        '<joint name="ba" type="fixed"><parent link="b"/><child link="a"/></joint>',
        'name="ab"',
        '<joint name="ab">',
        "tree",
        "its joints form a cycle",
    ),
    "unknown parent": (
        '<parent link="upper"/>',
        '<parent link="uper"/>',
        "uper",
        '<joint name="elbow"><parent>',
        "known-link",
        "there is no link 'uper'",
    ),
    "unknown child": (
        '<child link="fore"/>',
        '<child link="for"/>',
        'link="for"',
        '<joint name="elbow"><child>',
        "known-link",
        "there is no link 'for'",
    ),
    "own parent": (
        '<parent link="upper"/>',
        '<parent link="fore"/>',
        '<joint name="elbow"',
        '<joint name="elbow">',
        "tree",
        "link 'fore' is its own parent",
    ),
    "no parent": (
        '<parent link="upper"/>',
        "",
        '<joint name="elbow"',
        '<joint name="elbow">',
        "required-element",
        "<parent> is missing",
    ),
    "no child": (
        '<child link="fore"/>',
        "",
        '<joint name="elbow"',
        '<joint name="elbow">',
        "required-element",
        "<child> is missing",
    ),
    "two parents": (
        '<link name="tool0"/>',
        '<link name="tool0"/>\n<joint name="again" type="fixed"><parent link="upper"/><child link="sleeve"/></joint>',
        'name="again"',
        '<joint name="again">',
        "tree",
        "already hangs on joint 'sleeve_mount' (line 45)",
    ),
    "mimic unknown": (
        'mimic joint="grip"',
        'mimic joint="grp"',
        "<mimic",
        '<joint name="grip_right"><mimic>',
        "known-joint",
        "mimics 'grp'",
    ),
    "mimic itself": (
        'mimic joint="grip"',
        'mimic joint="grip_right"',
        "<mimic",
        '<joint name="grip_right"><mimic>',
        "mimic-cycle",
        "in the end mimics this joint",
    ),
    "mimic fixed": (
        'mimic joint="grip"',
        'mimic joint="tool_mount"',
        "<mimic",
        '<joint name="grip_right"><mimic>',
        "mimic-kind",
        "which is fixed",
    ),
    "mimic other kind": (
        'mimic joint="grip"',
        'mimic joint="elbow"',
        "<mimic",
        '<joint name="grip_right"><mimic>',
        "mimic-kind",
        "a prismatic joint cannot mimic 'elbow', which is revolute",
    ),
    # elements
    "floating": (
        'type="continuous"',
        'type="floating"',
        'type="floating"',
        '<joint name="elbow">',
        "joint-type",
        "'floating' is not supported: an arm stands on something",
    ),
    "planar": (
        'type="continuous"',
        'type="planar"',
        'type="planar"',
        '<joint name="elbow">',
        "joint-type",
        "write two prismatic joints and a revolute one",
    ),
    "unknown type": (
        'type="continuous"',
        'type="hinge"',
        'type="hinge"',
        '<joint name="elbow">',
        "joint-type",
        "use revolute, continuous, prismatic or fixed",
    ),
    "no type": (
        ' type="continuous"',
        "",
        '<joint name="elbow"',
        '<joint name="elbow">',
        "required-attribute",
        "attribute 'type' is missing",
    ),
    "unnamed link": (
        '<link name="tool0"/>',
        "<link/>",
        "<link/>",
        "<link>",
        "required-attribute",
        "attribute 'name' is missing",
    ),
    "no mass": (
        '<mass value="3.5"/>',
        "",
        "<inertial>",
        '<link name="upper"><inertial>',
        "required-element",
        "<mass> is missing",
    ),
    "no moments": (
        UPPER,
        "",
        "<inertial>",
        '<link name="upper"><inertial>',
        "required-element",
        "<inertia> is missing",
    ),
    "one moment short": (
        ' izz="0.06"',
        "",
        'ixx="0.02"',
        '<link name="upper"><inertial><inertia>',
        "required-attribute",
        "attribute 'izz' is missing",
    ),
    "two masses": (
        '<mass value="3.5"/>',
        '<mass value="3.5"/>\n<mass value="4"/>',
        '"4"',
        '<link name="upper"><inertial><mass>',
        "one-of-each",
        "a second <mass>",
    ),
    "two numbers": (
        'xyz="0 0 0.4"',
        'xyz="0 0.4"',
        'xyz="0 0.4"',
        '<joint name="shoulder"><origin>',
        "count",
        "has 2 entries; 3 are needed",
    ),
    "four numbers": (
        'xyz="0 0 0.4"',
        'xyz="0 0 0.4 1"',
        'xyz="0 0 0.4 1"',
        '<joint name="shoulder"><origin>',
        "count",
        "has 4 entries; 3 are needed",
    ),
    "xacro expression": (
        'xyz="0 0 0.4"',
        'xyz="0 0 ${h}"',
        "${h}",
        '<joint name="shoulder"><origin>',
        "decimal-number",
        "'${h}' is not a number",
    ),
    "underscore number": (
        'value="3.5"',
        'value="3_5"',
        "3_5",
        '<link name="upper"><inertial><mass>',
        "decimal-number",
        "is not a number",
    ),
    "huge length": (
        'xyz="0 0 0.4"',
        'xyz="0 0 1e300"',
        "1e300",
        '<joint name="shoulder"><origin>',
        "reasonable-size",
        "is beyond ±100000",
    ),
    "overflowing number": (
        'value="3.5"',
        'value="1e999"',
        "1e999",
        '<link name="upper"><inertial><mass>',
        "reasonable-size",
        "is beyond",
    ),
    "nan limit": (
        'lower="-2.5"',
        'lower="nan"',
        'lower="nan"',
        '<joint name="shoulder"><limit>',
        "finite-number",
        "is not finite",
    ),
    "limit without range": (
        'lower="-2.5" upper="2.5" ',
        "",
        'effort="120"',
        '<joint name="shoulder"><limit>',
        "limit-missing",
        "needs lower and upper",
    ),
    "limit without effort": (
        ' effort="120"',
        "",
        'velocity="3"',
        '<joint name="shoulder"><limit>',
        "required-attribute",
        "attribute 'effort' is missing",
    ),
    "negative effort": (
        'effort="120"',
        'effort="-120"',
        'effort="-120"',
        '<joint name="shoulder"><limit>',
        "not-negative",
        "effort = -120 is negative",
    ),
    "negative damping": (
        'damping="0.5"',
        'damping="-0.5"',
        "damping",
        '<joint name="shoulder"><dynamics>',
        "not-negative",
        "damping = -0.5 is negative",
    ),
    "negative box": (
        'size="0.04 0.01 0.01"',
        'size="-0.04 0.01 0.01"',
        "size=",
        '<link name="left"><collision><geometry><box>',
        "not-negative",
        "negative side",
    ),
    # bodies
    "gyration": (
        '<inertia ixx="0.004" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/>',
        '<inertia ixx="9" ixy="0" ixz="0" iyy="9" iyz="0" izz="9"/>',
        "<inertial>",
        '<link name="fore"><inertial>',
        "radius-of-gyration",
        "radius of gyration 1.94 m of a 2.4 kg body",
    ),
    "centre of mass far away": (
        '<origin xyz="0.15 0 0"/>',
        '<origin xyz="30 0 0"/>',
        "<inertial>",
        '<link name="fore"><inertial>',
        "com-near-the-link",
        "centre of mass 24.7 m away from a link about 0.4 m long",
    ),
    # references
    "package escape": (
        "package://arm/meshes/upper.stl",
        "package://arm/../../etc/passwd",
        "passwd",
        '<link name="upper"><visual><geometry><mesh>',
        "path-inside-root",
        "climbs out",
    ),
    "hidden escape": (
        "package://arm/meshes/upper.stl",
        "package://arm/%2e%2e/x.stl",
        "%2e",
        '<link name="upper">',
        "path-inside-root",
        "climbs out",
    ),
    "absolute file": (
        "package://arm/meshes/upper.stl",
        "file:///etc/passwd",
        "passwd",
        '<link name="upper">',
        "path-inside-root",
        "absolute path outside the allowed roots",
    ),
    "bare absolute": (
        "package://arm/meshes/upper.stl",
        "/etc/passwd",
        "passwd",
        '<link name="upper">',
        "path-inside-root",
        "absolute path",
    ),
    "url": (
        "package://arm/meshes/upper.stl",
        "https://example.org/upper.stl",
        "example.org",
        '<link name="upper">',
        "no-url",
        "https:// addresses are not followed",
    ),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_defect_is_refused_with_place_and_rule(name: str, tmp_path: Path) -> None:
    old, new, marker, element, rule, words = DEFECTS[name]
    assert old in ARM
    text = ARM.replace(old, new, 1)
    lines = text.splitlines()
    start = text[: ARM.index(old)].count("\n")
    candidates = [i + 1 for i, line in enumerate(lines) if marker in line]
    # the marker nearest to the change
    line = min(candidates, key=lambda number: abs(number - 1 - start))
    file = tmp_path / "broken.urdf"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DescriptionError) as caught:
        read_urdf(file)
    message = str(caught.value)
    assert caught.value.rule == rule
    assert f"[{rule}]" in message
    assert words in message
    assert caught.value.where.startswith(f"{file}:{line}: {element}")


def test_long_axis_is_normalised_with_a_warning() -> None:
    text = ARM.replace('<axis xyz="0 0 1"/>', '<axis xyz="0 0 2"/>')
    with pytest.warns(ArmwrightWarning, match=r'<text>:21: <joint name="shoulder"><axis>.*normalised'):
        robot = read_urdf(text)
    assert robot.bodies[0].axis.tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("name", ["inertia triangle", "gyration", "centre of mass far away"])
def test_implausible_loads_with_warnings_on_request(name: str) -> None:
    old, new, _, element, rule, _ = DEFECTS[name]
    with pytest.warns(ArmwrightWarning, match=rule) as caught:
        robot = read_urdf(ARM.replace(old, new, 1), implausible="warn")
    assert robot.n == 3
    assert element in str(caught[0].message)
    with pytest.raises(InputError, match="implausible"):
        read_urdf(ARM, implausible="ignore")  # type: ignore[arg-type]


def test_impossible_is_refused_even_on_request() -> None:
    for name in ("mass negative", "inertia negative", "mass nan"):
        old, new, *_ = DEFECTS[name]
        with pytest.raises(DescriptionError):
            read_urdf(ARM.replace(old, new, 1), implausible="warn")


def _chain(*inertials: str, axes: tuple[str, ...] = ("0 0 1", "0 1 0", "0 0 1")) -> str:
    text = '<robot name="r"><link name="l0"/>\n'
    for i, inertial in enumerate(inertials, 1):
        text += (
            f'<link name="l{i}">{inertial}</link>\n<joint name="j{i}" type="continuous"><parent link="l{i - 1}"/>'
            f'<child link="l{i}"/><origin xyz="0 0 0.3"/><axis xyz="{axes[i - 1]}"/></joint>\n'
        )
    return text + "</robot>"


BALL = (
    '<inertial><origin xyz="0.1 0 0"/><mass value="1"/>'
    '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>'
)
POINT = BALL.replace("0.01", "0")
AXIAL = POINT.replace("0.1 0 0", "0 0 0.1")


def test_massless_links_are_fine_while_the_mass_matrix_is_positive() -> None:
    assert read_urdf(_chain("", BALL)).bodies[0].mass == 0.0
    assert read_urdf(_chain(BALL, POINT)).n == 2


@pytest.mark.parametrize(
    "text, joint",
    [
        (_chain(BALL, ""), "j2"),  # a massless leaf
        (_chain(BALL, BALL, AXIAL), "j3"),  # a point on the axis
        (_chain("", AXIAL, axes=("0 0 1", "0 0 1")), "j2"),
        (_chain("", POINT, axes=("0 0 1", "0 0 1")), "j1"),  # two parallel joints, one point: singular when stretched
    ],
)
def test_a_joint_that_moves_no_inertia_is_named_and_has_no_forward_dynamics(text: str, joint: str) -> None:
    with pytest.warns(ArmwrightWarning, match="mass matrix is singular.*mass-matrix-positive") as caught:
        robot = read_urdf(text)
    assert f'<joint name="{joint}">' in str(caught[0].message)
    rest = np.zeros(robot.n)
    with pytest.raises(InputError, match=f"forward_dynamics: joint '{joint}' .*links that lack it: l"):
        forward_dynamics(robot, rest, rest, rest)
    with pytest.raises(InputError, match="simulate: joint"):
        simulate(robot, duration=0.1)


def test_rotor_inertia_keeps_the_mass_matrix_positive() -> None:
    motors = (
        '<armwright><coordinate joint="j1"/><coordinate joint="j2" gear="0 50" rotor_inertia="1e-4"/>'
        "</armwright></robot>"
    )
    robot = read_urdf(_chain(BALL, "").replace("</robot>", motors))
    assert robot.tree.armature[1, 1] == pytest.approx(0.25)


def test_the_common_ur5_wrist_is_found_implausible() -> None:
    """A widely copied description gives the 0.188 kg wrist an inertia that puts its mass 0.42 m from the axis."""
    wrist = (
        '<inertial><origin xyz="0 0 0"/><mass value="0.1879"/>'
        '<inertia ixx="0.0171" ixy="0" ixz="0" iyy="0.0171" iyz="0" izz="0.0338"/></inertial>'
    )
    flange = (
        '<link name="ee"/><joint name="flange" type="fixed"><parent link="l2"/><child link="ee"/>'
        '<origin xyz="0 0.0823 0"/></joint></robot>'
    )
    with pytest.raises(DescriptionError, match=r"radius of gyration 0.424 m of a 0.1879 kg body about 0.165 m long"):
        read_urdf(_chain(BALL, wrist).replace("</robot>", flange))


def test_documents_that_are_no_urdf() -> None:
    for text, rule in (
        ("<mujoco/>", "urdf"),
        ("<robot><link name='a'/></robot>", "required-attribute"),
        ("<robot name='r'/>", "required-element"),
        (
            "<robot name='r'><link name='a'/><link name='b'/><joint name='j' type='fixed'><parent link='a'/>"
            "<child link='b'/></joint><joint name='k' type='fixed'><parent link='b'/><child link='a'/></joint></robot>",
            "tree",
        ),
        ('<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:property name="a"/></robot>', "urdf"),
    ):
        with pytest.raises(DescriptionError) as caught:
            read_urdf(text)
        assert caught.value.rule == rule
        assert caught.value.where.startswith("<text>:1: <")


def test_a_lone_link_is_an_arm_without_joints() -> None:
    robot = read_urdf('<robot name="r"><link name="a"/></robot>')
    assert robot.n == 0
    assert robot.tip == -1
    assert np.array_equal(robot.T_tip_tool, np.eye(4))


def test_unknown_base_or_tip_lists_the_links() -> None:
    with pytest.raises(InputError, match=r"tip: there is no link 'hand'; links are base, upper"):
        read_urdf(ARM, tip="hand")
    with pytest.raises(InputError, match="base: there is no link"):
        read_urdf(ARM, base="hand")
    with pytest.raises(InputError, match="tip: there is no link 'base'"):
        read_urdf(ARM, base="fore", tip="base")


def test_package_roots_allow_what_lies_inside(tmp_path: Path) -> None:
    (tmp_path / "arm" / "meshes").mkdir(parents=True)
    inside = tmp_path / "arm" / "meshes" / "upper.stl"
    text = ARM.replace("package://arm/meshes/upper.stl", f"file://{inside}")
    assert read_urdf(text, package_roots=[tmp_path]).n == 3
    with pytest.raises(DescriptionError, match="outside the allowed roots"):
        read_urdf(text, package_roots=[tmp_path / "other"])
    (tmp_path / "arm" / "out").symlink_to("/")
    with pytest.raises(DescriptionError, match="leaves its root"):
        read_urdf(ARM.replace("arm/meshes/", "arm/out/"), package_roots=[tmp_path])
