# SPDX-License-Identifier: Apache-2.0
"""``armwright export`` of a controller, an arm, or both: the same loop as from Python, every option told or refused."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.choices import DETECTORS, LAWS, OBSERVERS
from armwright.cli import main
from armwright.contact.detectors import TwoSpeed, two_speed_detector
from armwright.contact.monitor_makers import joints
from armwright.contact.observers import momentum_observer
from armwright.control import inertia_gains, pd_gravity
from armwright.detection.learned_thresholds import learned_thresholds
from armwright.simulation.arm_page import arm_page

ARM = aw.load("planar2")
WATCHED = ("--controller", "pd_gravity", "--observer", "momentum", "--detector", "two-speed")


def run(capsys, *words):
    code = main([str(word) for word in words])
    said = capsys.readouterr()
    return code, said.out, said.err


def exported(capsys, folder, *words):
    code, out, err = run(capsys, "export", "planar2", *words, "-o", folder, "--json")
    assert code == 0, err
    return json.loads(out)


def test_it_is_the_loop_of_these_parts(capsys, tmp_path):
    words = ("--gain", "kd=9", "--observer-gain", "gain=30", "--detector-gain", "slow=60", "--thresholds", "0.5,0.4")
    told = exported(capsys, tmp_path, "--to", "numpy", *WATCHED, *words, "--rate", "500", "--q0", "20,30deg")
    q0 = np.radians([20.0, 30.0])
    kp = inertia_gains(ARM, q0, 10.0).kp
    bands = np.array([[0.5, 0.4], *np.zeros((4, 2))])
    detector = two_speed_detector(bands, bands, kind=TwoSpeed(slow=60.0))
    made = aw.export([ARM, pd_gravity(kp, 9.0), momentum_observer(30.0), detector], to="numpy", rate=500.0, q0=q0)
    assert (tmp_path / "planar2_controller.py").read_bytes() == made.files["planar2_controller.py"]
    assert {key: told[key] for key in made.describe()} == json.loads(json.dumps(made.describe()))


@pytest.mark.parametrize(
    ("to", "files"),
    [
        ("c", {"planar2_tick.h", "planar2_tick.c", "planar2_tick_check.c", "planar2_tick_vectors.h"}),
        ("fmu", {"planar2_tick.fmu"}),
        ("numpy", {"planar2_tick.py"}),
        ("wasm", {"planar2_tick.wasm", "planar2_tick.mjs"}),
    ],
)
def test_every_form_with_the_arm(capsys, tmp_path, to, files):
    told = exported(capsys, tmp_path, "--to", to, *WATCHED, "--plant", *(["--binaries", "none"] if to == "fmu" else []))
    assert {path.name for path in tmp_path.iterdir()} == files == {path.rsplit("/", 1)[1] for path in told["files"]}
    assert [port["name"] for port in told["inputs"]] == ["q_ref", "qd_ref", "qdd_ref", "push"]
    assert told["inputs"][-1]["unit"] == "N, N m" and told["kind"] == "tick"


def test_an_arm_alone_is_pushed_and_has_its_load(capsys, tmp_path):
    words = ("--payload", "1@0.1,0,0", "--motors", "--limits", "clamp", "--substeps", "2")
    step = ("--integrator", "semi-implicit", "--name", "heavy")
    told = exported(capsys, tmp_path, "--to", "numpy", "--plant", *words, *step)
    assert [port["name"] for port in told["inputs"]] == ["tau", "push"]
    space: dict[str, object] = {}
    exec(compile((tmp_path / "heavy.py").read_text(encoding="utf-8"), "heavy.py", "exec"), space)
    arm = space["Controller"]()
    out = arm.step(tau=np.zeros(2), push=np.array([0.0, 0.0, 5.0, 0.0, 0.0, 0.0]))
    heavy = ARM.with_payload(1.0, com=[0.1, 0.0, 0.0])
    wrench = np.array([0.0, 0.0, 5.0, 0.0, 0.0, 0.0])
    qdd = aw.forward_dynamics(heavy, np.zeros(2), np.zeros(2), np.zeros(2), wrench=wrench)
    np.testing.assert_allclose(out["qd"], 1e-3 * qdd, rtol=1e-2)


def test_a_world_is_part_of_the_arm_and_a_reference_of_the_controller(capsys, tmp_path):
    words = ("--plant", "--world", "bench", "--reference", "quintic:0,0->0.5,0.2:1", "--integrator", "semi-implicit")
    told = exported(capsys, tmp_path, "--to", "numpy", "--law", "computed_torque", *words)
    assert told["inputs"] == [] and "q_ref" in {port["name"] for port in told["outputs"]}


def test_what_may_be_tuned_and_how_an_fmu_is_written(capsys, tmp_path):
    words = ("--to", "fmu", *WATCHED, "--binaries", "none", "--fmi", "2.0")
    told = exported(capsys, tmp_path, *words, "--tune", "payload")
    assert [port["name"] for port in told["parameters"]] == ["payload_mass", "payload_centre", "payload_inertia"]
    assert exported(capsys, tmp_path, *words, "--tune", "none")["parameters"] == []
    with zipfile.ZipFile(tmp_path / "planar2_controller.fmu") as archive:
        assert b'fmiVersion="2.0"' in archive.read("modelDescription.xml")


@pytest.mark.parametrize("law", [law for law in LAWS if law != "adaptive"])
def test_every_law_of_the_table(capsys, tmp_path, law):
    given = {"pid": ["kp=9", "ki=1", "kd=1"], "constant": ["tau=1"], "lyapunov_redesign": ["rho=1", "epsilon=0.1"]}
    given |= {"damping": ["kd=1"], "sliding_mode": ["slope=5", "reach=5", "boundary=0.1"]}
    words = [word for value in given.get(law, []) for word in ("--gain", value)]
    code, _, err = run(capsys, "export", "ur5", "--to", "numpy", "--law", law, *words, "-o", tmp_path, "--json")
    assert code == 0 or "give --gain" in err or "no gain" in err, err


@pytest.mark.parametrize("detector", [*DETECTORS, "two-speed"])
@pytest.mark.parametrize("observer", OBSERVERS)
def test_every_observer_with_every_detector(capsys, tmp_path, observer, detector):
    words = ("--law", "computed_torque", "--observer", observer, "--detector", detector)
    told = exported(capsys, tmp_path, "--to", "numpy", *words)
    assert {"tau", "tau_ext", "alarm"} <= {port["name"] for port in told["outputs"]}


@pytest.mark.parametrize("detector", ["joints", "two-speed"])
def test_thresholds_are_learned_with_this_controller_if_asked(capsys, tmp_path, detector):
    words = ("--controller", "pd_gravity", "--gain", "kp=50", "--gain", "kd=9", "--observer", "momentum")
    more = ("--detector", detector, "--thresholds", "learned", "--rate", "500")
    code, _, err = run(capsys, "export", "planar2", "--to", "numpy", *words, *more, "-o", tmp_path)
    assert code == 0, err
    assert "thresholds: learned on 192 simulated runs" in err and "friction none, as planar2 is described" in err
    law, chain = pd_gravity(50.0, 9.0), (momentum_observer(100.0),)
    found = learned_thresholds(ARM, law, chain, 500.0)
    made = found.two_speed.detector() if detector == "two-speed" else joints(found.fit)
    expected = aw.export([ARM, law, *chain, made], to="numpy", rate=500.0)
    assert (tmp_path / "planar2_controller.py").read_bytes() == expected.files["planar2_controller.py"]


def test_words_for_people(capsys, tmp_path):
    code, out, err = run(capsys, "export", "planar2", "--to", "c", *WATCHED, "--float32", "-o", tmp_path)
    assert code == 0
    assert "two-speed" in out + err and "alarm: 0" in out + err and "tau [N m]" in out + err


def test_a_page_has_the_controller_that_is_asked_for(capsys, tmp_path):
    words = ("--to", "page", "--law", "pd_gravity", "--observer", "momentum", "--frequency", "15")
    code, _, err = run(capsys, "export", "planar2", *words, "-o", tmp_path / "arm.html")
    assert code == 0, err
    gains = inertia_gains(ARM, np.zeros(2), 15.0)
    made = arm_page(ARM, pd_gravity(*gains), (momentum_observer(100.0),), frequency=15.0)
    assert (tmp_path / "arm.html").read_text(encoding="utf-8") == made.text


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--to", "c", "--law", "pid2"), "--law pid2: choose from"),
        (("--to", "c", "--law", "pd_gravity"), "-o FOLDER"),
        (("--to", "urdf", "--law", "pd_gravity"), "a controller or an arm is written as c, fmu, numpy, wasm"),
        (("--to", "c", "--law", "pd_gravity", "--what", "M"), "without --what"),
        (("--to", "c", "--law", "pd_gravity", "--payload", "1"), "--payload: goes with --plant"),
        (("--to", "c", "--law", "pd_gravity", "--world", "bench"), "--world: goes with --plant"),
        (("--to", "c", "--plant", "--gain", "kp=1"), "--gain: goes with --law"),
        (("--to", "c", "--observer", "momentum"), "--observer: goes with --law"),
        (("--to", "fmu"), "--law LAW or --plant"),
        (("--to", "c", "--fmi", "2.0", "--law", "pd_gravity", "-o", "."), "--fmi: not with --to c"),
        (("--to", "fmu", "--fmi", "4", "--plant", "-o", "."), "fmi must be one of 2.0, 3.0"),
        (("--to", "c", "--plant", "--tune", "colour", "-o", "."), "--tune colour: choose from gains"),
        (("--to", "c", "--plant", "--name", "a b", "-o", "."), "--name 'a b'"),
        (("--to", "c", "--law", "pd_gravity", "--detector", "two-speed"), "give --observer"),
        (("--to", "c", *WATCHED[:4], "--detector", "doubt"), "choose from norm, adaptive, joints, cusum, two-speed"),
        (("--to", "c", *WATCHED, "--thresholds", "1,2,3"), "expected 1 or 2 positive numbers"),
        (("--to", "c", *WATCHED, "--thresholds", "-1"), "expected 1 or 2 positive numbers"),
        (("--to", "c", *WATCHED[:4], "--detector", "norm", "--thresholds", "learned"), "norm has none per joint"),
        (("--to", "c", *WATCHED, "--thresholds", "taught"), "(numbers or learned)"),
        (("--to", "c", *WATCHED, "--observer-gain", "speed=1"), "momentum has gain"),
        (("--to", "c", *WATCHED, "--observer-gain", "gain=-1"), "positive"),
        (("--to", "page", "--plant", "-o", "x.html"), "which a page always has"),
        (("--to", "page", "--observer", "momentum", "-o", "x.html"), "--observer: goes with --law"),
        (("--to", "c", "--plant", "--integrator", "dopri5", "-o", "."), "choose 'rk4'"),
    ],
)
def test_refusals(capsys, words, told, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "export", "planar2", *words)
    assert code == 2 and told in err and out == "" and err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_law_and_controller_are_one_word(capsys, tmp_path):
    for k, word in enumerate(("--law", "--controller")):
        exported(capsys, tmp_path / str(k), "--to", "numpy", word, "pd_gravity")
    one, two = ((tmp_path / k / "planar2_controller.py").read_bytes() for k in "01")
    assert one == two


def test_gains_that_were_replaced_are_those_of_the_monitor():
    """What `--observer-gain` does to a monitor is what its constructor does."""
    made = replace(momentum_observer(100.0), gains={"gain": 30.0})
    assert made.gains == momentum_observer(30.0).gains
