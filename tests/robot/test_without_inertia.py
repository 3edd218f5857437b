# SPDX-License-Identifier: Apache-2.0
"""Arms without inertia have kinematics; dynamics say which link lacks what. Files are judged where it matters."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

import armwright as aw
from armwright.errors import ArmwrightWarning, DescriptionError, InputError
from armwright.robot.urdf.urdf_read import read_urdf
from support.places import DATA

ARM = (DATA / "arm.urdf").read_text(encoding="utf-8")
BARE = re.sub(r"<inertial>.*?</inertial>", "", ARM, flags=re.DOTALL)
SHEET = """
name = "bare"
[geometry]
kind = "dh"
columns = ["theta", "d", "a", "alpha"]
units = ["deg", "mm", "mm", "deg"]
rows = [[0, 100, 0, 90], [0, 0, 425, 0]]
"""
NAMED = (
    SHEET
    + """[bodies.shoulder]
[bodies.arm]
"""
)


@pytest.mark.parametrize("text", [BARE, SHEET, NAMED], ids=["urdf", "sheet", "sheet with names of bodies"])
def test_kinematics_need_no_inertia_and_dynamics_name_the_links(text):
    robot = aw.load(text)
    q = np.full(robot.n, 0.3)
    assert np.isfinite(aw.fk(robot, q)).all()
    assert "no inertia" in repr(robot)
    lacking = rf"was described without inertia.*{robot.bodies[-1].name} \(mass, inertia\)"
    calls = {
        "mass_matrix": lambda: aw.mass_matrix(robot, q),
        "gravity_torque": lambda: aw.gravity_torque(robot, q),
        "inverse_dynamics": lambda: aw.inverse_dynamics(robot, q, q, q),
        "forward_dynamics": lambda: aw.forward_dynamics(robot, q, q, q),
        "energy": lambda: aw.energy(robot, q, q),
        "simulate": lambda: aw.simulate(robot, duration=0.01),
    }
    for name, call in calls.items():
        with pytest.raises(InputError, match=f"^{name}: .*{lacking}"):
            call()
    assert [(finding.severity, finding.rule) for finding in aw.check(robot)] == [("info", "inertia known")]


def test_kinematics_of_the_bare_arm_are_those_of_the_arm():
    q = np.array([0.4, -0.8, 0.02])
    np.testing.assert_array_equal(aw.fk(aw.load(BARE), q), aw.fk(aw.load(ARM), q))


def test_a_sheet_in_which_one_body_says_nothing_is_still_refused():
    with pytest.raises(DescriptionError, match="missing key 'mass'"):
        aw.load(NAMED + 'mass = { value = 1, unit = "kg" }\ninertia = { kind = "point" }\n')


def with_camera(inertia: str) -> str:
    """The arm with a camera of 1 g, fixed to the forearm."""
    camera = f"""<link name="camera"><inertial><mass value="0.001"/>{inertia}</inertial></link>
      <joint name="screw" type="fixed"><parent link="fore"/><child link="camera"/></joint></robot>"""
    return ARM.replace("</robot>", camera)


BRICK = '<inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/>'


def test_what_is_fixed_together_is_judged_together():
    """1e-4 kg m² of 1 g reach 0.3 m around a camera, but change nothing of a forearm of 2.4 kg."""
    robot = read_urdf(with_camera(BRICK))
    assert robot.bodies[1].mass == pytest.approx(2.401)
    with pytest.raises(DescriptionError, match=r'name="camera".*with what is fixed to it: 4 links.*radius-of-gyration'):
        read_urdf(with_camera(BRICK.replace("1e-4", "9")))
    with pytest.warns(ArmwrightWarning, match="it is fixed to others, and together they are sound"):
        read_urdf(with_camera(BRICK.replace('izz="1e-4"', 'izz="-1e-6"')))


def test_ranges_ratios_and_foreign_meshes_are_warned_about_on_request():
    geared = """<transmission name="t"><type>transmission_interface/SimpleTransmission</type><joint name="shoulder"/>
      <actuator name="m"><mechanicalReduction>reduction</mechanicalReduction></actuator></transmission></robot>"""
    flaws = {
        "limit-missing": ARM.replace('lower="-2.5" upper="2.5" ', ""),
        "decimal-number": ARM.replace("</robot>", geared),
        "path-inside-root": ARM.replace("package://arm/meshes/upper.stl", "file:///opt/meshes/upper.stl"),
    }
    for rule, text in flaws.items():
        with pytest.raises(DescriptionError, match=rule):
            read_urdf(text)
        with pytest.warns(ArmwrightWarning, match=rule):
            robot = read_urdf(text, implausible="warn")
        assert robot.n == 3
    with pytest.warns(ArmwrightWarning, match="limit-missing"):
        limits = read_urdf(flaws["limit-missing"], implausible="warn").joints[0].limits
    assert (limits.lower, limits.upper) == (0.0, 0.0)


def test_warnings_show_the_line_of_the_user(tmp_path):
    """Python prints the line that a warning points to: it must be one of the caller's, whatever lies in between."""
    (tmp_path / "arm.urdf").write_text(with_camera(BRICK.replace("1e-4", "9")), encoding="utf-8")
    program = tmp_path / "mine.py"
    program.write_text("import armwright as aw\n\naw.load('arm.urdf', implausible='warn')  # here\n", encoding="utf-8")
    said = subprocess.run(
        [sys.executable, program], cwd=tmp_path, capture_output=True, encoding="utf-8", check=True
    ).stderr
    assert "mine.py:3: ArmwrightWarning" in said
    assert "# here" in said and "tell_user" not in said
