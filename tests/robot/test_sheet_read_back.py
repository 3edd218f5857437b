# SPDX-License-Identifier: Apache-2.0
"""What a sheet may say: every robot that loads is written and read back as it is, and moves by a mass matrix.

Sheets are spoilt at random (seeded): numbers, names of bodies and frames.
"""

from __future__ import annotations

import random
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.robot.load import robots
from armwright.robot.sheet.sheet_read import catalogue_text, robot_from_text

SHEETS = [catalogue_text(entry.name)[0] for entry in robots()]
NUMBER = re.compile(r'(?<![\w."-])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w"])')
NUMBERS = ["0", "-0.0", "-1", "0.5", "3", "1e-100", "1e-90", "1e-60", "1e-6", "1e6", "1e11", "1e12", "inf"]
NAMES = ["source", "note", "value", "rows", "sources", "kind", "units", "base", "tool", "mass", "inertia", "a.b" * 9]
NAMES += ['q"x', "new\nline", "\x7f", "é ß", "]", " ", "#x", "back\\slash", "-x", "'", "\t", "\u202e"]


def key(name: str) -> str:
    return '"' + "".join(c if c.isalnum() else f"\\u{ord(c):04x}" for c in name) + '"'


def spoilt(seed: int) -> str:
    rng = random.Random(seed)
    text = rng.choice(SHEETS)
    for _ in range(rng.choice([1, 1, 2, 3, 5])):
        way = rng.random()
        bodies = re.findall(r"^\[bodies\.([\w-]+)\]", text, re.M)
        if way < 0.65 or not bodies:
            found = rng.choice(list(NUMBER.finditer(text)))
            scaled = repr(float(found[0]) * rng.choice([-1, 10, 0.1, 1e3, 1e-3, 1e6, 1e-6]))
            text = text[: found.start()] + rng.choice([*NUMBERS, scaled, scaled]) + text[found.end() :]
        elif way < 0.9:
            old, new = rf"^\[bodies\.{re.escape(rng.choice(bodies))}([.\]])", key(rng.choice(NAMES))
            text = re.sub(old, lambda found, new=new: f"[bodies.{new}{found[1]}", text, flags=re.M)
        else:
            text += (
                f'\n[frames.{key(rng.choice(NAMES))}]\npose = {{ value = [0, 0, {rng.choice(NUMBERS)}], unit = "m" }}'
            )
    return text


def loaded(text: str) -> aw.Robot | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return robot_from_text(text, implausible="warn")
        except aw.DescriptionError:
            return None


def assert_reads_back(seeds: range) -> None:
    arms = {seed: arm for seed in seeds if (arm := loaded(spoilt(seed))) is not None}
    assert len(arms) > len(seeds) // 3
    wrong = [seed for seed, arm in arms.items() if loaded(arm.to_sheet()) != arm]
    assert not wrong


def test_what_loads_reads_back():
    assert_reads_back(range(100))


@pytest.mark.thorough
def test_what_loads_reads_back_of_many():
    assert_reads_back(range(3000))


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_any_name_reads_back(name):
    arm = aw.load("planar2")
    frame = aw.robot.Frame(f"{name}2", 1, np.eye(4))
    bodies = (replace(arm.bodies[0], name=name), arm.bodies[1])
    joints = (replace(arm.joints[0], name=name), arm.joints[1])
    odd = replace(arm, name=name, notes=name, bodies=bodies, joints=joints, frames=(frame,))
    back = robot_from_text(odd.to_sheet())
    assert back == odd and back.notes == odd.notes
    named = replace(arm, frames=(replace(frame, name=name),))
    assert robot_from_text(named.to_sheet()) == named


@pytest.mark.parametrize("limit", [0.0, 1e-3, np.inf])
def test_limits_read_back_zero_is_not_infinity(limit):
    arm = aw.load("planar2")
    keys = ("torque_limit", "speed_limit", "current_limit", "continuous_torque", "thermal_time")
    motors = replace(arm.actuators, **{key: np.full(2, limit) for key in keys})
    joints = tuple(replace(joint, limits=aw.robot.Limits(-limit, limit, limit, limit, limit)) for joint in arm.joints)
    odd = replace(arm, actuators=motors, joints=joints)
    assert robot_from_text(odd.to_sheet()) == odd


def test_what_a_sheet_cannot_hold_is_refused_with_the_place():
    arm = aw.load("planar2")
    first, second = arm.bodies
    for body, message in ((replace(first, name="-"), "no body called '-'"), (replace(first, mass=1e13), "link.*1e.13")):
        with pytest.raises(aw.NotSupportedError, match=f"to_sheet: .*{message}"):
            replace(arm, bodies=(body, second)).to_sheet()
    tiny = replace(arm, bodies=(replace(first, com=[1e-200, 0.0, 0.0]), second))
    assert robot_from_text(tiny.to_sheet()).bodies[0].com[0] == 0.0


NEGATIVE_MOMENT = """
name = "two links"
[geometry]
kind = "dh"
columns = ["theta", "d", "a", "alpha"]
units = ["rad", "m", "m", "rad"]
rows = [[0, 0, 1, 0], [0, 0, 1, 0]]
[joints]
lower = { value = [-3, 0.5], unit = "rad" }
upper = { value = [3, UPPER], unit = "rad" }
[bodies.first]
mass = { value = 1, unit = "kg" }
com = { value = [-1, 0, 0], unit = "m" }
inertia = { value = [0.1, 0.1, -0.1], unit = "kg m^2", about = "com" }
[bodies.second]
mass = { value = 1, unit = "kg" }
com = { value = [0, 0, 0], unit = "m" }
inertia = { value = [0.1, 0.1, 0.1], unit = "kg m^2", about = "com" }
"""


def test_an_indefinite_mass_matrix_is_refused_whatever_the_option():
    """M₁₁ − M₁₂²/M₂₂ = 0.9 − cos²q₂ / 1.1: negative within 0.1 rad of the stretched arm alone."""
    with pytest.warns(aw.ArmwrightWarning, match="is negative"):
        arm = robot_from_text(NEGATIVE_MOMENT.replace("UPPER", "2.9"), implausible="warn")
    assert np.linalg.eigvalsh(aw.mass_matrix(arm, [0.0, 2.9]))[0] > 0.0
    for option in ("warn", "refuse"):
        with pytest.raises(aw.DescriptionError, match="a moment is negative") as told:
            robot_from_text(NEGATIVE_MOMENT.replace("UPPER", "3.14"), implausible=option)
    assert told.value.rule == "inertia positive definite"
    with pytest.raises(aw.DescriptionError, match=r"mass matrix is indefinite at q = .*no option loads it"):
        robot_from_text(NEGATIVE_MOMENT.replace("UPPER", "3.14"), implausible="warn")


def assert_positive(seeds: range) -> None:
    rng = np.random.default_rng(1)
    for seed in seeds:
        arm = loaded(spoilt(seed))
        if arm is None or not any(np.linalg.eigvalsh(body.inertia)[0] < 0.0 for body in arm.bodies):
            continue
        low, high = (np.where(np.isfinite(x), x, 3.0 * s) for x, s in ((arm.lower, -1), (arm.upper, 1)))
        for M in aw.mass_matrix(arm, rng.uniform(low, high, (8, arm.n))):
            size = np.sqrt(np.maximum(np.abs(np.diag(M)), 1e-100))
            assert np.linalg.eigvalsh(M / np.outer(size, size))[0] > -1e-9, seed


@pytest.mark.thorough
def test_no_sheet_that_loads_has_an_indefinite_mass_matrix():
    assert_positive(range(3000))
