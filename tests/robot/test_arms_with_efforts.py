# SPDX-License-Identifier: Apache-2.0
"""Arms with joint efforts: the figures that their makers print, another engine on them, and how sure they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.errors import DescriptionError
from armwright.programs import Fraction, Joints, Move, Payload, Program, read_program, run_program
from armwright.robot.provenance import CLASSES
from armwright.robot.sheet.sheet_write import write_sheet

MASSES = {  # [kg], base first, as printed in the makers' packages
    "kr4r600": (7.9199, 4.389, 7.3011, 2.6794, 2.3085, 1.2008, 0.2348),
    "kr6r900-2": (16.916, 8.416, 16.7929, 5.988, 4.69985262, 1.6128, 0.734),
    "kr10r1100-2": (16.916, 8.416, 17.8369, 6.075, 5.162380706, 1.6128, 0.734),
    "kr20r3100": (111.02, 172.735, 131.16, 109.122, 8.127, 5.671, 0.83),
    "kr70r2100": (108.84, 175.325, 110.245, 77.21, 37.472064569, 16.864, 3.915),
    "lrmate200id": (5.3, 5.62, 9.05, 2.15, 2.42, 0.446, 0.0134),
    "m10id12": (50.4, 26.4, 25.9, 31.2, 9.7, 1.22, 0.235),
    "crx10ia": (4.517, 10.673, 10.892, 4.162, 3.969, 2.509, 1.305),
}
# A link takes three lines: where its joint is [m], how it is turned [quarter turns], mass [kg], centre of mass [m];
# how the principal axes are turned [rad]; principal moments [kg m²].
KR6 = """
0 0 0.208 | 2 0 0 | 8.416 | 0.006410408745247152 -0.01626805370722434 -0.10658893773764262
1.304519343134156 -0.9428616016893947 -1.4226510948637578
0.07406183855390855 0.0890478351825312 0.11039570662759429
0.025 -0.0907 -0.192 | 1 0 0 | 16.7929 | 0.14741713998177805 -0.004477319760136727 -0.07370278248545517
1.8410866125641745 -1.5373992728262285 -0.2834226607733986
0.548306118225302 0.0872309454394033 0.5885170960694246
0.455 0 -0.0042 | 0 0 0 | 5.988 | 0.04165063460253841 -0.012325484301937206 -0.06798628924515698
-2.675092481056456 -1.3258514256524945 1.194666577454412
0.04261164351414989 0.01892041629125804 0.04780021844065417
0.196 -0.025 -0.0865 | 1 0 -1 | 4.69985262 | 0.0014479693417065146 0.009426192930537397 -0.08164304521000952
-2.330109287924748 -1.5210980103983611 2.285952535622045
0.010489707545547112 0.04423898136862264 0.04721253436329341
0 0.0505 -0.224 | 0 1 1 | 1.6128 | 0.009320696924603175 0.000783482142857143 -0.026462549603174602
1.567898714902774 -0.8611716764868309 -3.100280255900493
0.0017317756133102904 0.002219500805440681 0.002467090055442975
0.0615 0 -0.0505 | 1 0 -1 | 0.734 | 0 0 -0.011764604904632152
0 0 1.223427188696551
0.000183698267603013 0.00018213621766783165 0.00029589000000000004
"""


def kr6_urdf() -> str:
    """The printed figures of the KR 6 R900-2 as a URDF, for another engine."""
    parts = ['<robot name="kr6"><link name="link_0"/>']
    lines = KR6.strip().splitlines()
    for i, (first, turn, moments) in enumerate(zip(lines[::3], lines[1::3], lines[2::3], strict=True), 1):
        xyz, turns, mass, com = first.split(" | ")
        rpy = " ".join(repr(float(x) * np.pi / 2) for x in turns.split())
        axes = " ".join(f'{k}="{v}"' for k, v in zip(("ixx", "iyy", "izz"), moments.split(), strict=True))
        parts.append(
            f'<link name="link_{i}"><inertial><mass value="{mass}"/><origin xyz="{com}" rpy="{turn}"/>'
            f'<inertia {axes} ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="joint_{i}" type="continuous"><origin xyz="{xyz}" rpy="{rpy}"/>'
            f'<parent link="link_{i - 1}"/><child link="link_{i}"/><axis xyz="0 0 1"/></joint>'
        )
    return "".join([*parts, "</robot>"])


@pytest.mark.parametrize("name", MASSES)
def test_masses_are_those_that_the_maker_prints(name: str) -> None:
    robot = aw.load(name)
    np.testing.assert_allclose([body.mass for body in robot.bodies], MASSES[name][1:], rtol=1e-9)
    assert f"of {sum(MASSES[name]):.4g}" in robot.notes or f"{sum(MASSES[name]):.1f} kg in sum" in robot.notes


def test_another_engine_on_the_printed_figures_agrees_with_the_sheet() -> None:
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromXML(kr6_urdf())
    data, robot = model.createData(), aw.load("kr6r900-2")
    rng = np.random.default_rng(5)
    for q in (np.zeros(6), rng.uniform(-2, 2, 6)):
        qd, qdd = rng.uniform(-2, 2, (2, 6))
        as_pin = np.column_stack([np.cos(q), np.sin(q)]).ravel()  # continuous joints
        np.testing.assert_allclose(
            aw.inverse_dynamics(robot, q, qd, qdd), pin.rnea(model, data, as_pin, qd, qdd), atol=2e-6
        )
        pin.forwardKinematics(model, data, as_pin)
        wrist = data.oMi[6].translation - 0.0285 * data.oMi[6].rotation[:, 2]
        np.testing.assert_allclose(aw.fk(robot, q)[:3, 3], wrist, atol=1e-12)


def standing(name: str, mass: float, out: float = 0.0) -> np.ndarray:
    """Largest share of each joint's effort that standing takes in 4,000 postures, a load `out` [m] off the flange."""
    robot = aw.load(name)
    q = robot.random_configuration(1, size=4000)
    J, z = aw.jacobian(robot, q), aw.fk(robot, q)[:, :3, 2]
    up = J[:, 2] - np.cross(out * z, np.moveaxis(J[:, 3:], 1, 2).swapaxes(0, 1)).swapaxes(0, 1)[:, :, 2]
    effort = [joint.limits.effort for joint in robot.joints]
    return np.asarray(np.abs((aw.gravity_torque(robot, q) + 9.81 * mass * up) / effort).max(axis=0))


def test_a_kr6_stands_with_its_load_at_62_per_cent_of_axis_2() -> None:
    """50 mm from the frame of joint 6, which is 21.5 mm beyond the flange."""
    use = standing("kr6r900-2", 6.0, 0.0215)
    assert 0.61 < use[1] < 0.645 and use.argmax() == 1


@pytest.mark.parametrize("name", ["kr8r2100-2", "kr20r3100", "kr70r2100"])
def test_large_arms_stand_with_their_load_without_a_counterbalance(name: str) -> None:
    use = standing(name, aw.load(name).rated_payload)
    assert 0.5 < use.max() < 0.8


def stretched_out(robot, mass):
    """A slow move near the horizontal, in which standing takes most; the outcome with a load at the flange."""
    q = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    program = Program((Move("joint", Joints(q + 0.02), Fraction(0.02), line=3),), start_q=q)
    return run_program(robot, program, payload=Payload(mass, np.zeros(3)))


def test_an_answer_is_given_only_where_the_widths_allow_it() -> None:
    """With δ = 5 % the answer is open for uses between 1/1.05 and 1/0.95; without widths it turns at 1."""
    robot = aw.load("kr6r900-2")
    light, heavy = stretched_out(robot, 1.0), stretched_out(robot, 2.0)
    per_kg = heavy.wished.torque_use.max() - light.wished.torque_use.max()
    empty = light.wished.torque_use.max() - per_kg
    for use, answer in ((0.94, "feasible"), (0.96, "cannot be told"), (1.04, "cannot be told"), (1.06, "not feasible")):
        outcome = stretched_out(robot, (use - empty) / per_kg)
        assert outcome.wished.torque_use.max() == pytest.approx(use, abs=2e-3)
        assert outcome.answer == answer
        assert outcome.verdict.startswith(
            {"cannot be told": "Cannot be told with these data"}.get(answer, answer.capitalize())
        )
        assert "± 5 %" in outcome.verdict and "without rotors and friction" in outcome.verdict
        bare = stretched_out(replace(robot, provenance={}), (use - empty) / per_kg)
        assert bare.answer == ("feasible" if use <= 1.0 else "not feasible")


def test_no_arm_is_told_that_it_could_carry_more_than_its_rating() -> None:
    robot = aw.load("kr6r900-2")
    q = np.array([0.0, -1.5, 1.5, 0.0, 0.5, 0.0])
    program = Program((Move("joint", Joints(q + 0.02), Fraction(0.02)),), start_q=q)
    for carried, more in ((0.0, 6.0), (4.0, 2.0), (6.0, 0.0)):
        outcome = run_program(robot, program, payload=Payload(carried, np.zeros(3)) if carried else None)
        assert outcome.works.more_payload == pytest.approx(more)
        assert any("could carry" in line for line in outcome.advice) == (more > 0.0)
        assert "rates the arm" not in outcome.verdict
    heavy = run_program(robot, program, payload=Payload(6.5, np.zeros(3)))
    assert "It carries up to 6.5 kg (move 1), more than the 6 kg for which its maker rates the arm." in heavy.verdict
    unrated = run_program(replace(robot, rated_payload=None), program)
    assert unrated.works.more_payload > 6.0 and not any("could carry" in line for line in unrated.advice)


KRL = """DEF job()
  BAS(#INITMOV, 0)
  $TOOL = $NULLFRAME
  $BASE = $NULLFRAME
  $VEL.CP = 0.2
  PTP {A1 0, A2 -90, A3 90, A4 0, A5 30, A6 0}
  LIN {X 500, Y 0, Z 500, A 180, B 30, C 180}
END
"""
RAPID = """MODULE m
  PROC main()
    MoveAbsJ [[0, 20, 10, 0, 30, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]], v500, fine, tool0;
    MoveAbsJ [[30, 0, 20, 10, 40, 20], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]], v500, fine, tool0;
  ENDPROC
ENDMODULE
"""


def test_makers_programs_get_torque_verdicts() -> None:
    """KRL on a KUKA: joint torques; RAPID on an ABB whose drives nobody published: speeds, and what is needed."""
    kuka = run_program(aw.load("kr6r900-2"), read_program(KRL, "krl"))
    assert kuka.basis == "joints" and kuka.answer == "feasible" and 0.1 < kuka.wished.torque_use.max() < 1.0
    abb = run_program(aw.load("irb120"), read_program(RAPID, "rapid"))
    assert abb.basis == "speeds" and "torques not decided" in abb.verdict
    assert any("needs joint torques of at least" in line for line in abb.advice)


def test_provenance_and_payload_are_read_and_written_back() -> None:
    text = 'extends = "kr6r900-2"\nname = "k"\n[provenance]\nfriction = "identified"\n'
    text += 'friction_width = { value = 0.06, unit = "-" }\n'
    robot = aw.load(text)
    assert (robot.provenance["inertia"].kind, robot.provenance["inertia"].width) == ("maker-verified", 0.05)
    assert robot.provenance["friction"].width == 0.06 and robot.rated_payload == 6.0
    again = aw.load(write_sheet(robot))
    assert (again.provenance, again.rated_payload) == (robot.provenance, 6.0)
    assert aw.load("planar2").provenance == {} and aw.load("planar2").rated_payload is None


@pytest.mark.parametrize(
    "line, rule",
    [
        ('inertia = "guessed"', "provenance"),
        ('mass = "maker"', "unknown key"),
        ('effort_width = { value = 0.1, unit = "-" }\n', "required key"),
        ('inertia = "assumed"\ninertia_width = { value = 0.1, unit = "-" }', "provenance"),
        ('inertia = "maker"\ninertia_width = { value = 2.0, unit = "-" }', "range"),
    ],
)
def test_what_is_no_provenance_is_refused(line: str, rule: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        aw.load(f'extends = "planar2"\nname = "p"\n[provenance]\n{line}\n')
    assert caught.value.rule == rule


def test_check_tells_the_classes_and_doubts_what_is_assumed() -> None:
    told = {f.place: f for f in aw.check(aw.load("irb120")) if f.rule == "width"}
    assert "estimated from CAD, ± 30 %" in told["provenance.inertia"].reason
    assumed = aw.load('extends = "irb120"\nname = "p"\n[provenance]\ninertia = "assumed"\n')
    assert [f.severity for f in aw.check(assumed) if f.rule == "width"] == ["warning", "info"]
    assert CLASSES["cad"].width == 0.3
