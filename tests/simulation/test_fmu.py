# SPDX-License-Identifier: Apache-2.0
"""Exported FMUs in an importer that nobody here wrote: valid, equal to the strict loop, tunable, able to go back."""

from __future__ import annotations

import re
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

import armwright as aw
from armwright.contact.detectors import two_speed_detector
from armwright.contact.observers import momentum_observer
from armwright.control import computed_torque, pd_gravity
from armwright.errors import InputError, NotSupportedError
from armwright.motion import quintic
from armwright.simulation import JointSensors
from armwright.simulation.artefact import fmu_binaries
from armwright.simulation.artefact.exercise import exercise
from support.c_compiler import WARNINGS, compiler
from support.fmu import Imported, fmpy, silent

ARM = aw.load("planar2")
Q0 = np.array([0.3, -0.4])
BANDS = np.array([[0.5, 0.5], [0.1, 0.1], [0.0, 0.0], [0.0, 0.0], [0.1, 0.1]])
PARTS = [ARM, computed_torque(400.0, 40.0), momentum_observer(30.0), two_speed_detector(BANDS, BANDS)]
KINDS = {"controller": PARTS, "tick": PARTS, "arm": [ARM]}
VERSIONS = ("2.0", "3.0")
LOAD = {
    "payload_mass": 1.5,
    "payload_centre": [0.1, 0.02, -0.03],
    "payload_inertia": [2e-3, 3e-3, 4e-3, 1e-4, 0.0, 2e-4],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Every kind in both versions: artefact and file, by (kind, version)."""
    fmpy(), compiler()
    folder = tmp_path_factory.mktemp("fmu")
    units = {}
    for kind, parts in KINDS.items():
        for version in VERSIONS:
            artefact = aw.export(parts, kind, to="fmu", fmi=version, rate=500.0, q0=Q0, name="unit")
            units[kind, version] = artefact, artefact.write(folder / f"{kind}{version}")[0]
    return units


def rows(unit, inputs, ticks, program, names):
    """Run ticks of co-simulation, one at a time."""
    got = {name: [] for name in names}
    for k in ticks:
        unit.put(**{name: values[k] for name, values in inputs.items()})
        unit.step(program.period)
        for name in names:
            got[name].append(unit.get(name))
    return got


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_an_importer_finds_nothing_wrong(made, kind, version):
    from fmpy.validation import validate_fmu

    with silent():
        assert validate_fmu(str(made[kind, version][1])) == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_all_results_of_co_simulation_are_the_strict_loop_also_when_numbers_are_tuned_under_way(made, kind, version):
    """Gains, payload and friction change half way; every output is the twin's to the last bit."""
    artefact, file = made[kind, version]
    program = artefact.program
    inputs = exercise(program, 200)
    tuned = LOAD | {"friction_viscous": [0.5, 0.3], "friction_coulomb": [0.2, 0.1]}
    if kind != "arm":
        tuned |= {"gain_kp": [250.0, 300.0], "momentum_gain": 60.0, "two_speed_slow": 70.0}
    unit, names = Imported(file).begin(), [port.name for port in program.outputs]
    got = [rows(unit, inputs, range(100), program, names)]
    unit.put(**tuned)
    got.append(rows(unit, inputs, range(100, 200), program, names))
    halves = [{name: values[half] for name, values in inputs.items()} for half in (slice(100), slice(100, 200))]
    first = program.run(halves[0])
    carried = {port.name: first[port.name + "_next"] for port in program.states}
    same = program.run(halves[1], start=carried)
    second = program.run(halves[1], start=carried | tuned)
    for name in names:
        twin = np.concatenate([first[name], second[name]])
        np.testing.assert_array_equal(np.reshape(np.concatenate([got[0][name], got[1][name]]), twin.shape), twin)
    assert any((second[name] != same[name]).any() for name in names)


def test_a_payload_is_mass_centre_and_inertia(made):
    artefact, file = made["arm", "3.0"]
    tensor = np.array([[2e-3, 1e-4, 0.0], [1e-4, 3e-3, 2e-4], [0.0, 2e-4, 4e-3]])
    heavy = ARM.with_payload(1.5, com=LOAD["payload_centre"], inertia=tensor)
    tau = np.tile([1.0, -0.5], (100, 1))
    expected = aw.export([heavy], "arm", to="numpy", rate=500.0, q0=Q0).program.run({"tau": tau})
    unit = Imported(file)
    unit.put(**LOAD)
    got = rows(unit.begin(), {"tau": tau}, range(100), artefact.program, ["q", "qd"])
    for name in ("q", "qd"):
        np.testing.assert_allclose(got[name], expected[name], rtol=0, atol=1e-10)


@pytest.mark.parametrize("version", VERSIONS)
def test_ticks_are_counted_whatever_steps_the_importer_takes(made, version):
    """Sums of steps that fall short of a period by a rounding, long steps, and a start that is not zero."""
    artefact, file = made["tick", version]
    units = [Imported(file, start=start).begin() for start in (0.0, 0.0, 7.25)]
    for steps, unit in zip(([2e-3] * 60, [0.0007] * 160 + [0.008], [0.02] * 6), units, strict=True):
        unit.put(q_ref=Q0 + 0.1)
        for h in steps:
            unit.step(h)
    places = [unit.get("q") for unit in units]
    twin = artefact.program.run({"q_ref": np.tile(Q0 + 0.1, (60, 1))})["q"][-1]
    np.testing.assert_array_equal(places, [twin] * 3)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_reference_starts_where_the_arm_is(made, version):
    for start in (Q0, [0.9, 0.1]):
        unit = Imported(made["tick", version][1])
        unit.put(q=start)
        unit.begin().step(0.1)
        np.testing.assert_allclose(unit.get("q"), start, atol=1e-9)
    unit = Imported(made["tick", version][1])
    unit.put(q=[0.9, 0.1], q_ref=[0.8, 0.1])
    unit.begin().step(0.1)
    assert unit.get("q")[0] < 0.89


@pytest.mark.parametrize("version", VERSIONS)
def test_it_goes_back_to_a_state_that_was_kept_or_written_down(made, version):
    artefact, file = made["tick", version]
    unit, other = Imported(file).begin(), Imported(file).begin()
    inputs, program = exercise(artefact.program, 60), artefact.program
    rows(unit, inputs, range(30), program, [])
    call = unit.fmu
    kept = call.getFMUState() if version == "3.0" else call.getFMUstate()
    text = call.serializeFMUState(kept) if version == "3.0" else call.serializeFMUstate(kept)
    time = unit.time
    once = rows(unit, inputs, range(30, 60), program, ["q", "tau", "level"])
    (call.setFMUState if version == "3.0" else call.setFMUstate)(kept)
    unit.time = time
    again = rows(unit, inputs, range(30, 60), program, ["q", "tau", "level"])
    far = other.fmu
    found = far.deserializeFMUState(text) if version == "3.0" else far.deSerializeFMUstate(text)
    (far.setFMUState if version == "3.0" else far.setFMUstate)(found)
    other.time = time
    elsewhere = rows(other, inputs, range(30, 60), program, ["q", "tau", "level"])
    for name in once:
        np.testing.assert_array_equal(again[name], once[name])
        np.testing.assert_array_equal(elsewhere[name], once[name])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_controller_of_model_exchange_runs_at_its_events_without_delay(made, version):
    artefact, file = made["controller", version]
    program, inputs = artefact.program, exercise(artefact.program, 50)
    twin = program.run(inputs)
    unit = Imported(file, exchange=True).begin()
    for k in range(50):
        after = unit.event(**{name: values[k] for name, values in inputs.items()})
        for name in ("tau", "tau_ext", "level", "alarm"):
            np.testing.assert_array_equal(unit.get(name), np.ravel(twin[name][k]))
        assert after == pytest.approx((k + 1) * program.period, abs=1e-12)
        unit.onward(after)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", ["arm", "tick"])
def test_an_integrator_of_others_finds_the_same_motion(made, kind, version):
    """CVODE on the arm's equation, with law and monitors at events: where RK4 goes, within what the two differ by."""
    artefact, file = made[kind, version]
    program = artefact.program
    held = "tau" if kind == "arm" else "q_ref"
    goal = np.array([0.4, -0.2]) if kind == "arm" else Q0 + np.array([0.2, -0.1])
    names = [f"{held}[{k}]" for k in (1, 2)] if version == "2.0" else [held]
    start = dict(zip(names, goal, strict=True)) if version == "2.0" else {held: goal}
    with silent():
        found = fmpy().simulate_fmu(
            str(file),
            fmi_type="ModelExchange",
            solver="CVode",
            relative_tolerance=1e-10,
            start_values=start | ({"payload_mass": 0.5}),
            stop_time=0.2,
            output_interval=0.002,
            output=["q[1]", "q[2]"] if version == "2.0" else ["q"],
        )
    twin = program.run({held: np.tile(goal, (100, 1))}, start={"payload_mass": 0.5})["q"]
    q = np.array([[row["q[1]"], row["q[2]"]] if version == "2.0" else row["q"] for row in found])
    at = np.searchsorted(found["time"], np.arange(1, 101) * 0.002 - 1e-9)
    assert np.abs(twin - Q0).max() > 0.02
    np.testing.assert_allclose(q[at], twin, atol=2e-6)


def test_units_labels_and_postures_are_told(made):
    about = Imported(made["tick", "3.0"][1]).about
    variables = {v.name: v for v in about.modelVariables}
    assert variables["tau"].unit == "N.m" and variables["qd"].unit == "rad/s"
    assert variables["payload_mass"].unit == "kg" and variables["payload_inertia"].unit == "kg.m2"
    assert variables["gain_kp"].variability == "tunable" and variables["gain_kp"].start == "400.0 400.0"
    assert variables["q_ref"].start == variables["q"].start == "0.3 -0.4"
    assert ", ".join(joint.name for joint in ARM.joints) in variables["q"].description
    base = {unit.name: unit.baseUnit for unit in about.unitDefinitions}["N.m"]
    assert (base.kg, base.m, base.s) == (1, 2, -2)


def test_what_may_not_be_set_is_refused(made):
    unit = Imported(made["tick", "3.0"][1])
    with silent():
        with pytest.raises(Exception, match="fmi3SetFloat64"):
            unit.put(tau=[1.0, 1.0])
        unit.begin()
        with pytest.raises(Exception, match="fmi3SetFloat64"):
            unit.put(q=[0.0, 0.0])
        unit.put(q_ref=[np.nan, 0.0])
        with pytest.raises(Exception, match="fmi3DoStep"):
            unit.step(0.1)


def prototypes(text):
    """The types that functions take, by name."""
    found = {}
    for name, given in re.findall(
        r"fmi[23](?:Status|Component|Instance)\s+(fmi[23]\w+?)(?:TYPE)?\s*\(([^()]*)\)", text
    ):
        words = [re.sub(r"\s*\[\]", "*", word).strip() for word in given.split(",")]
        found[name] = [re.sub(r"\s*(?<=[\s*])\w+(\*?)$", r"\1", w).replace(" ", "") if " " in w else w for w in words]
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_functions_have_the_prototypes_of_the_standard_and_all_are_there(made, version, tmp_path):
    headers = Path(fmpy().__file__).parent / "c-code"
    digit, cc = version[0], compiler()
    own = Path(__file__).parents[2] / "src/armwright/simulation/artefact/fmi" / f"fmi{digit}.c"
    with zipfile.ZipFile(made["tick", version][1]) as archive:
        archive.extractall(tmp_path)
    words = [cc, "-E", "-P", str(own), "-I", str(tmp_path / "sources")]
    ours = prototypes(re.sub(r"__attribute__\S+", "", subprocess.check_output(words, text=True)))
    theirs = prototypes((headers / f"fmi{digit}FunctionTypes.h").read_text(encoding="utf-8"))
    theirs = {name: [re.sub(r"fmi2Byte$", "fmi2Byte*", t) for t in types] for name, types in theirs.items()}
    assert len(theirs) > (40 if digit == "2" else 70)
    assert {name: types for name, types in ours.items() if name in theirs} == theirs
    listed = set(re.findall(rf"(fmi{digit}\w+)TYPE", (headers / f"fmi{digit}Functions.h").read_text(encoding="utf-8")))
    (library,) = tmp_path.glob("binaries/*/*")
    exported = set(re.findall(rf" T (fmi{digit}\w+)", subprocess.check_output(["nm", "-D", library], text=True)))
    assert listed == exported


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_sources_compile_without_a_warning(made, kind, version, tmp_path):
    with zipfile.ZipFile(made[kind, version][1]) as archive:
        archive.extractall(tmp_path)
    sources = tmp_path / "sources"
    files = sorted(path.name for path in sources.glob("*.c"))
    done = subprocess.run([compiler(), *WARNINGS, "-c", *files], cwd=sources, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_model_exchange_is_left_out_where_it_has_no_sense():
    options = {"to": "fmu", "binaries_for": "none"}
    path = quintic(Q0, Q0 + 0.5, 1.0)
    sensing = aw.Loop.of(ARM, PARTS[1], sensors=JointSensors(delay=1))
    assert aw.export(sensing, "tick", **options).figures["model exchange"] == 0.0
    assert aw.export(sensing, "controller", **options).figures["model exchange"] == 1.0
    assert aw.export(aw.Loop.of(ARM, PARTS[1], limits="clamp"), "tick", **options).figures["model exchange"] == 0.0
    assert aw.export([ARM, path, PARTS[1]], "tick", **options).figures["model exchange"] == 1.0


def test_without_a_compiler_it_is_a_source_fmu_which_an_importer_compiles(made, monkeypatch, tmp_path):
    monkeypatch.setattr(fmu_binaries, "COMPILERS", ("no-such-compiler",))
    artefact = aw.export([ARM, pd_gravity(90.0, 9.0)], to="fmu", q0=Q0)
    assert artefact.figures["binaries"] == 0.0
    with zipfile.ZipFile(artefact.write(tmp_path)[0]) as archive:
        assert not [name for name in archive.namelist() if name.startswith("binaries")]


def test_the_same_model_is_the_same_file():
    one, two = (aw.export(PARTS, to="fmu", q0=Q0, binaries_for="none") for _ in range(2))
    assert one.files == two.files


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"fmi": "1.0"}, InputError, "fmi must be one of 2.0, 3.0"),
        ({"binaries_for": "amiga"}, InputError, "windows-x86_64"),
    ],
)
def test_refusals(options, error, words):
    with pytest.raises(error, match=words):
        aw.export(PARTS, to="fmu", **options)


def test_other_machines_need_the_extra(monkeypatch):
    monkeypatch.setattr(fmu_binaries, "find_spec", lambda name: None)
    with pytest.raises(NotSupportedError, match=r"armwright\[export\]"):
        aw.export(PARTS, to="fmu", binaries_for="windows-x86_64")
