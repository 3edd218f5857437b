# SPDX-License-Identifier: Apache-2.0
"""Exported functions are compiled, run and compared: C by a strict compiler, MATLAB by Octave, without a warning."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest

import armwright as aw
from armwright.dynamics.equations import equations
from armwright.robot.symbolic import planar
from support.patience import PATIENCE

ARM = planar("RPR")
WHAT = ("mass_matrix", "coriolis_matrix", "gravity_torque", "energy", "regressor", "jacobian")
RNG = np.random.default_rng(2)
VALUES = {name: float(RNG.uniform(0.3, 1.5)) for name in ARM.parameters}
STATE = dict(zip(("q", "qd", "qdd"), RNG.uniform(-1, 1, (3, 3)), strict=True))


@pytest.fixture(scope="module")
def made():
    return equations(ARM, *WHAT)


@pytest.fixture(scope="module")
def expected():
    robot, (q, qd, qdd) = ARM.robot(VALUES), STATE.values()
    energy = aw.energy(robot, q, qd)
    return {
        "M": aw.mass_matrix(robot, q),
        "C": aw.coriolis_matrix(robot, q, qd),
        "g": aw.gravity_torque(robot, q),
        "K": energy.kinetic,
        "V": energy.potential,
        "Y": aw.regressor(robot, q, qd, qdd)[:, :30],
        "J": aw.jacobian(robot, q),
    }


def close(actual, wanted, name):
    np.testing.assert_allclose(np.reshape(actual, np.shape(wanted)), wanted, rtol=1e-11, atol=1e-11, err_msg=name)


def test_c_takes_the_parameters_as_arguments(made, expected, tmp_path):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler on this machine (gcc, cc): the exported functions cannot be built")
    (tmp_path / "arm.c").write_text(made.source("c"), encoding="utf-8")
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "arm.c", "-o", "arm.so", "-lm"], cwd=tmp_path, check=True, timeout=PATIENCE)
    library = ctypes.CDLL(str(tmp_path / "arm.so"))
    for function in made.functions():
        rows = 2  # the second one: every coordinate moved, the parameters the same
        inputs = [np.stack([STATE[s.name], STATE[s.name] + 1.0]) for s in function.inputs if s.shape]
        given = [VALUES[s.name] for s in function.inputs if not s.shape]
        outputs = [np.full((rows, s.size), np.nan) for s in function.outputs]
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*inputs, *outputs)]
        arguments = [*pointers[: len(inputs)], *map(ctypes.c_double, given), *pointers[len(inputs) :]]
        getattr(library, function.name)(*arguments)
        for value, signal in zip(outputs, function.outputs, strict=True):
            close(value[0], expected[signal.name], function.name)
            assert np.isnan(value[1]).all()
        getattr(library, f"{function.name}_batch")(ctypes.c_long(rows), *arguments)
        for value, signal in zip(outputs, function.outputs, strict=True):
            close(value[0], expected[signal.name], function.name)
            assert np.isfinite(value[1]).all()


def test_octave_runs_single_files_and_the_model_without_a_warning(made, expected, tmp_path):
    octave = shutil.which("octave-cli")
    if octave is None:
        pytest.skip("octave-cli is not installed on this machine: the exported MATLAB functions cannot be run")
    (tmp_path / "model.m").write_text(made.source("matlab", name="model"), encoding="utf-8")
    calls = ["warning('on', 'all');", "model = model();"]
    for what, function in zip(WHAT, made.functions(), strict=True):
        alone = equations(ARM, what)
        (tmp_path / f"{function.name}.m").write_text(alone.source("matlab"), encoding="utf-8")
        given = {**{name: f"[{'; '.join(map(repr, map(float, x)))}]" for name, x in STATE.items()}, **VALUES}
        words = ", ".join(str(given[signal.name]) for signal in function.inputs)
        names = [signal.name for signal in function.outputs]
        for call in (f"{function.name}({words})", f"model.{what}({words})"):
            calls.append(f"[{', '.join(f'{name}_' for name in names)}] = {call};")
            calls += [f"printf('{name}:'); printf(' %.17g', {name}_.'); printf('\\n');" for name in names]
    calls.append("warning('off', 'all'); fputs(stderr, 'all called');")  # what Octave says about its own end is its own
    done = subprocess.run(
        [octave, "--no-gui", "--norc", "--quiet", "--eval", "\n".join(calls)],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=True,
    )
    assert done.stderr.startswith("all called"), done.stderr
    lines = done.stdout.strip().splitlines()
    assert len(lines) == 2 * len(expected)
    for line in lines:
        name, _, text = line.partition(": ")
        close([float(x) for x in text.split()], expected[name], name)


def test_matlab_is_ready_for_simulink(made):
    """Fixed sizes, code generation, no cell or handle inside the functions that compute."""
    text = equations(ARM, "mass_matrix").source("matlab")
    assert text.startswith("function [M] = planar_rpr_mass_matrix(q, m1, ")
    assert "%#codegen" in text
    assert "M = zeros(3, 3);" in text
    assert not re.search(r"[@{}]|eval|struct", text)


def test_parameters_are_inputs_of_compiled_kernels(made, expected):
    kernel = made.kernel("mass_matrix")
    values = [VALUES[signal.name] for signal in kernel.program.inputs[1:]]
    close(kernel(STATE["q"], *values), expected["M"], "M")
    masses = np.linspace(0.5, 2.0, 5)
    many = kernel(STATE["q"], masses, *values[1:])  # a batch over m1
    close(many[:, 0, 0] - many[0, 0, 0], (masses - masses[0]) * VALUES["lc1"] ** 2, "dM/dm1")
