# SPDX-License-Identifier: Apache-2.0
"""Exported C: no warning, equal to the strict loop to the last bit, small, and able to tell when it is not equal."""

from __future__ import annotations

import re
import runpy
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import armwright as aw
from armwright.contact.detectors import two_speed_detector
from armwright.contact.observers import momentum_observer
from armwright.control import as_law, computed_torque, optimal_feedback, pd, pid
from armwright.errors import InputError, SimulationError
from armwright.motion import optimal_motion
from armwright.simulation import JointSensors, Stribeck
from support.c_compiler import WARNINGS, built, checked, compiler

ARM = aw.load("planar2")
BANDS = np.array([[0.5, 0.5], [0.1, 0.1], [0.0, 0.0], [0.0, 0.0], [0.1, 0.1]])
WATCHED = (momentum_observer(30.0), two_speed_detector(BANDS, BANDS))


def every_operation(q, qd, ref, t, dt, old, older):
    """All that a law can consist of, and memory whose parts move from one to the next."""
    a, b = q[0], qd[1]
    angle = (
        np.arctan2(a, b + 2.0) + np.log(2.0 + np.abs(a)) + np.floor(10.0 * b) + np.tanh(a - b) + np.sqrt(a * a + 1.0)
    )
    chosen = np.where((a < b) & ~(t <= 0.01) | (b == 0.0), np.exp(-a), -np.minimum(a, b))
    return np.array([angle + old[1], np.maximum(chosen, -0.1) + older[0]]), {"old": np.array([old[1], a]), "older": old}


LOOPS = {
    "controller": (aw.Loop.of(ARM, computed_torque(400.0, 40.0), monitors=WATCHED), "controller", {}),
    "tunable": (aw.Loop.of(ARM, pid(90.0, 20.0, 9.0), monitors=WATCHED), "controller", {"tune": ("gains", "payload")}),
    "without memory": (aw.Loop.of(ARM, pd(90.0, 9.0)), "controller", {}),
    "every operation": (
        aw.Loop.of(ARM, as_law(every_operation, memory={"old": 0.25, "older": -0.5})),
        "controller",
        {},
    ),
    "with the arm": (
        aw.Loop.of(
            ARM,
            computed_torque(400.0, 40.0),
            monitors=WATCHED,
            sensors=JointSensors(delay=2, position_noise=1e-4),
            friction=Stribeck(0.1, 0.1, 0.2, 0.1),
            limits="clamp",
        ),
        "tick",
        {},
    ),
}


@pytest.mark.parametrize("float32", [False, True], ids=["double", "float"])
@pytest.mark.parametrize("what", LOOPS)
def test_c_is_the_strict_loop_to_the_last_bit_without_a_warning(what, float32, tmp_path):
    cc = compiler()
    loop, kind, options = LOOPS[what]
    artefact = aw.export(loop, kind, name="made", float32=float32, q0=[0.3, -0.4], **options)
    artefact.write(tmp_path)
    made = checked([str(built(tmp_path, "made", cc))])
    assert made["code"] == 0
    if what != "every operation":  # logarithms and arc tangents are the C library's
        assert made["equal"] == made["numbers"] > 0


def test_the_policy_of_an_optimal_motion_leaves_at_1_khz(tmp_path):
    start, goal = np.array([0.3, -0.4]), np.array([0.8, 0.1])
    motion = optimal_motion(aw.Loop.of(ARM, rate=50.0), start, goal, 0.6)
    off = start + np.array([0.04, -0.05])  # what the torques alone would not forgive
    whole = aw.export([ARM, motion.trajectory, optimal_feedback(motion)], "tick", q0=off, name="made")
    assert whole.program.inputs == () and whole.program.period == 1e-3
    whole.write(tmp_path)
    made = checked([str(built(tmp_path, "made", compiler()))])
    assert made["code"] == 0 and made["equal"] == made["numbers"] > 0
    run = aw.simulate(ARM, optimal_feedback(motion), motion.trajectory, 0.6, q0=off)
    alone = replace(motion, K=0.0 * motion.K)
    blind = aw.simulate(ARM, optimal_feedback(alone), motion.trajectory, 0.6, q0=off)
    missed = [np.linalg.norm(each["q"][-1] - goal) for each in (run, blind)]
    assert missed[0] < 0.1 * missed[1]
    np.testing.assert_allclose(whole.program.run({}, ticks=600)["q"][-1], run["q"][-1], atol=1e-9)
    with pytest.raises(InputError, match="give inputs of one length, or ticks"):
        whole.program.run({})


def test_vectors_have_quiet_and_alarmed_ticks():
    files = aw.export(LOOPS["controller"][0], rate=None, q0=[0.3, -0.4]).files
    rows = re.search(rb"outputs\[TICKS\]\[OUTPUTS\] = {\n(.*?)\n};", files["planar2_controller_vectors.h"], re.S)[1]
    alarms = np.array([[float(x) for x in row.strip(b" {},").split(b",")] for row in rows.split(b"\n")])[:, 4]
    assert 0 < (alarms >= 0.0).sum() < len(alarms)


def test_the_check_notices_a_wrong_number(tmp_path):
    cc = compiler()
    artefact = aw.export(LOOPS["controller"][0], name="made")
    source = artefact.files["made.c"].replace(b"400.0", b"400.0000001")
    assert source != artefact.files["made.c"]
    artefact.write(tmp_path)
    (tmp_path / "made.c").write_bytes(source)
    made = checked([str(built(tmp_path, "made", cc))])
    assert made["code"] == 1 and made["beyond"] > 0


def test_fused_products_are_not_allowed_even_if_the_compiler_is_asked_for_them(tmp_path):
    cc = compiler()
    if "fma" not in Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        pytest.skip("this processor does not fuse")
    aw.export(LOOPS["controller"][0], name="made").write(tmp_path)
    made = checked([str(built(tmp_path, "made", cc, "-mfma", "-ffp-contract=fast"))])
    assert made["equal"] == made["numbers"]


def test_the_c_librarys_functions_are_near(tmp_path):
    cc = compiler()
    aw.export(LOOPS["controller"][0], name="made", libm=True).write(tmp_path)
    made = checked([str(built(tmp_path, "made", cc))])
    assert made["code"] == 0 and made["largest"] < 1e-12
    assert b"memcpy" not in (tmp_path / "made.c").read_bytes()


def test_clang_agrees(tmp_path):
    cc = compiler("clang")
    aw.export(LOOPS["with the arm"][0], "tick", name="made").write(tmp_path)
    made = checked([str(built(tmp_path, "made", cc))])
    assert made["equal"] == made["numbers"]


def test_fast_math_is_refused_by_the_source_itself(tmp_path):
    cc = compiler()
    aw.export(LOOPS["without memory"][0], name="made").write(tmp_path)
    done = subprocess.run([cc, "-ffast-math", "-c", "made.c"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0 and "changes the arithmetic" in done.stderr


def test_a_ur5_with_observer_and_detector_fits_a_small_controller(tmp_path):
    """Text at most 20 kB, stack at most 1 kB; nothing is allocated, nothing is global."""
    cc = compiler()
    bands = np.tile([[2.0], [0.5], [0.1], [0.05], [1.0]], (1, 6))
    parts = ["ur5", computed_torque(400.0, 40.0), momentum_observer(30.0), two_speed_detector(bands, bands)]
    aw.export(parts, rate=500.0, name="made").write(tmp_path)
    done = subprocess.run([cc, *WARNINGS, "-O2", "-fstack-usage", "-c", "made.c"], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr
    text, data, bss = map(int, subprocess.check_output(["size", "made.o"], cwd=tmp_path).split()[6:9])
    stack = [int(line.split()[1]) for line in (tmp_path / "made.su").read_text(encoding="utf-8").splitlines()]
    assert text <= 20_000 and data == bss == 0
    assert sum(stack) <= 1024
    asked = subprocess.check_output(["nm", "-u", "made.o"], cwd=tmp_path, text=True).split()[1::2]
    assert set(asked) <= {"sin", "cos", "sincos", "floor", "sqrt", "memcpy"}  # no heap; sines of a million radians


def test_names_from_outside_cannot_leave_their_comment(tmp_path):
    cc = compiler()
    evil = replace(
        ARM, name='*/ #error "x" \\', joints=tuple(replace(j, name=f'*/ int {j.name}; """ /*\n') for j in ARM.joints)
    )
    for to in ("c", "numpy"):
        aw.export([evil, pd(9.0, 1.0)], to=to, name="made").write(tmp_path)
    assert checked([str(built(tmp_path, "made", cc))])["code"] == 0
    assert set(runpy.run_path(str(tmp_path / "made.py"))) >= {"Controller", "made"}


def test_single_precision_says_how_far_it_is_and_alarms_at_the_same_ticks():
    artefact = aw.export(LOOPS["controller"][0], float32=True, q0=[0.3, -0.4])
    assert artefact.figures["alarm"] == 0.0 and 0.0 < artefact.figures["tau"] < 1e-3
    assert f"tau: {artefact.figures['tau']:.1e}".encode() in artefact.files["planar2_controller.h"]


def test_an_arm_that_does_not_stay_finite_is_refused():
    law = as_law(lambda q, qd, ref, old: (1e200 * old, {"old": 1e200 * (old + 1.0)}), memory={"old": 0.0})
    with pytest.raises(SimulationError, match="does not stay finite"):
        aw.export([ARM, law], "tick")
