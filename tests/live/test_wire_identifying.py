# SPDX-License-Identifier: Apache-2.0
"""Identification on the wire: checks and consent before, a model that is right behind, recordings whatever happens."""

import json
import subprocess
import sys

import numpy as np
import pytest

import armwright as aw
from armwright.cli.app import app
from armwright.errors import InputError
from armwright.identify import read_log
from armwright.identify.model_file import load_model
from armwright.lab.virtual_controller import VirtualController
from armwright.live.wire_consent import consents
from armwright.live.wire_excitation import wire_excitation
from armwright.live.wire_identifying import TOUCHED, IdentifyCare, identify_job, identify_wire
from armwright.live.wire_job import WireAddress
from armwright.live.wire_limits import Fence, TimedMotion, Watchman, WireLimits
from armwright.recording.formats import load
from armwright.robot.measured import current_map
from armwright.world.world_file import world_from_text
from support.commanded import commanded
from support.patience import until
from support.wire import WALL

UP = np.array([0.3, -1.4, 1.9, -2.1, -1.57, 0.2])  # bent, 0.4 m above the base
ARM = aw.load("ur5")
QUICK = IdentifyCare(rehearsed=15.0, span=0.4)


def controller(**options):
    return VirtualController(
        q0=UP.tolist(), current_noise=0.15, seed=77, pace=10.0, lockstep=True, fifo=False, **options
    )


def run(words):
    """Run the command line; return its exit code."""
    with pytest.raises(SystemExit) as left:
        app(words, prog_name="armwright")
    return left.value.code


@pytest.fixture(
    scope="module",
    params=[pytest.param(e, marks=pytest.mark.thorough, id=name) for e, name in ((False, "CB3"), (True, "e-Series"))],
)
def identified(request, tmp_path_factory):
    """The command, its JSON, its folder, and what the controller said of it afterwards."""
    folder = tmp_path_factory.mktemp("identified")
    with controller(e_series=request.param) as robot:
        words = ["identify", "ur5", "--wire", robot.host, "--yes", "--out", str(folder / "arm.json"), "--json"]
        words += ["--rehearse", "10", "--span", "0.4", "--period", "10"]
        done = subprocess.run([sys.executable, "-m", "armwright.cli", *words], capture_output=True, check=False)
        truth = robot.truth()
    return done, folder, truth


def test_one_command_leads_to_a_model_that_feels(identified):
    done, folder, truth = identified
    assert done.returncode == 0, done.stderr.decode()
    said, model = json.loads(done.stdout), load_model(folder / "arm.json")
    assert said["outcome"] == "identified" and truth.safety == "NORMAL"
    assert np.abs(np.subtract(truth.q, UP)).max() < 0.01  # it is back
    true = current_map(ARM).k
    assert np.abs(model.gains / true - 1.0).max() < 0.005
    assert model.bands is not None and (model.bands.motion < 6.0).all()
    assert any("nothing is known of faster motion" in text for text in model.remarks)


def test_every_part_is_recorded_with_what_was_confirmed(identified):
    _, folder, _ = identified
    rides = folder / "arm-rides"
    assert (rides / "dry-run.html").exists()
    for name in ("excitation.mcap", "rehearsal.mcap", "ride-1.mcap"):
        settings = load(rides / name).settings
        assert settings["not_a_safety_function"] and len(settings["consents"]) == 8, name
        log = read_log(rides / name)
        assert np.ptp(log.q, axis=0).min() > 0.05 and not log.dropped
    fast = np.abs(np.diff(load(rides / "excitation.mcap")["q_ref"], axis=0)).max(axis=1)
    assert (fast / np.diff(read_log(rides / "excitation.mcap").t)).max() < 0.5


@pytest.mark.parametrize("seed", [3, 4])
def test_an_excitation_keeps_to_its_fence_from_where_the_arm_stands_and_back(seed):
    fence = Fence(np.array([-0.7, -0.5, 0.1]), np.array([-0.2, 0.1, 0.5]))
    found = wire_excitation(ARM, UP, fence, tool_speed=0.1, joint_speed=0.5, span=0.5, period=10.0, seed=seed)
    watchman, here, moved = Watchman(ARM, WireLimits(fence, tool_speed=0.1)), UP, np.zeros(6)
    for motion in found.motions:
        TimedMotion(motion, watchman)  # refuses what leaves it
        rows = motion.evaluate(np.linspace(0.0, motion.duration, 200)).q
        assert np.abs(rows[0] - here).max() < 1e-9
        moved, here = np.maximum(moved, np.ptp(rows, axis=0)), rows[-1]
    assert np.abs(here - UP).max() < 1e-9 and (moved > 0.05).all() and found.dry_run.clearance > 0.0
    with pytest.raises(InputError, match="outside the fence"):
        wire_excitation(ARM, UP, Fence(np.zeros(3), np.ones(3)), tool_speed=0.1, joint_speed=0.5)


def test_a_load_a_tool_or_a_refusal_ends_it_before_anything_moves():
    with controller(payload=(0.5, (0.0, 0.0, 0.05)), tcp=(0.0, 0.0, 0.1, 0.0, 0.0, 0.0)) as robot:
        with pytest.raises(InputError, match=r"payload of 0\.500 kg.*TCP lies 100 mm") as told:
            identify_job(WireAddress(robot.host), ARM)
        assert "nothing was moved" in str(told.value)
        assert np.abs(np.subtract(robot.truth().q, UP)).max() < 1e-4
    with controller() as robot:
        with pytest.raises(InputError, match="moves a UR5, the model is 'ur10'"):
            identify_job(WireAddress(robot.host), aw.load("ur10"))
        job = identify_job(WireAddress(robot.host), ARM, care=QUICK)
        given = consents(robot.host, job.sentences(), None)
        with pytest.raises(InputError, match="not everything was confirmed"):
            identify_wire(job, given[:-1])
        with pytest.raises(InputError, match="not confirmed, nothing was moved: My hand"):
            consents(robot.host, job.sentences(), lambda sentence: not sentence.startswith("My hand"))
        unfelt = identify_job(WireAddress(robot.host), ARM, care=IdentifyCare(felt=False))
        assert any("it feels nothing" in sentence for sentence in unfelt.sentences())
        assert np.abs(np.subtract(robot.truth().q, UP)).max() < 1e-4


def test_what_stands_in_its_way_ends_it_without_a_model(tmp_path):
    """The arm gives way as arms of its kind would; what was recorded is kept."""
    shelf = WALL.replace("[0.40, 0.0, 0.0]", "[-0.45, -0.25, 0.15]").replace("[0.06, 0.5, 0.1]", "[0.4, 0.4, 0.1]")
    with controller(world=world_from_text(shelf, "shelf")) as robot:
        job = identify_job(WireAddress(robot.host), ARM, care=QUICK)
        found = identify_wire(job, consents(robot.host, job.sentences(), None), out=tmp_path)
        assert found.model is None and found.outcome == TOUCHED and found.rides[0]["alarms"] == 1
        assert robot.contacts() and robot.truth().safety == "NORMAL"
    assert len(read_log(tmp_path / "excitation.mcap").t) > 100


@pytest.mark.parametrize(
    ("what", "code", "said"), [("interrupt", 130, "brought to rest"), ("cut", 1, "the controller is gone")]
)
def test_ctrl_c_and_a_lost_controller_leave_what_was_recorded(what, code, said, tmp_path):
    out = tmp_path / "arm.json"
    words = ("identify", "ur5", "--yes", "--out", str(out), "--span", "0.3")
    with controller() as robot, commanded(*words, "--wire", robot.host) as client:
        client.until(lambda: np.abs(np.subtract(robot.truth().q, UP)).max() > 0.05, "the arm moves")
        client.interrupt() if what == "interrupt" else robot.cut("rtde")
        assert client.ended() == code, client.said()
        assert said in client.said() and "recorded is in" in client.said()
        until(lambda: np.abs(robot.truth().qd).max() < 1e-3, "the arm rests")
        rested = robot.truth()
        later = robot.until(lambda truth: truth.time > rested.time + 5.0)
        assert np.abs(np.subtract(later.q, rested.q)).max() < 2e-3
    assert not out.exists()
    recording = next((tmp_path / "arm-rides").glob("excitation*.mcap"))
    assert len(read_log(recording).t) > 20


def test_the_command_says_what_goes_together(capsys):
    run(["identify", "--help"])
    assert "not a safety function" in " ".join(capsys.readouterr().out.split()[:40])
    for words, said in (
        (["ur5"], "name a LOG, or an arm with --wire HOST"),
        (["ur5", "log.csv", "--span", "0.3"], "--span goes with --wire HOST"),
        (["ur5", "log.csv", "--wire", "127.0.0.1"], "go with logs"),
        (["ur5", "--wire", "127.0.0.1", "--gains", "free"], "go with logs"),
    ):
        assert run(["identify", *words]) == 2
        assert said in " ".join(capsys.readouterr().err.split())


def test_what_cannot_be_confirmed_is_refused_before_anything_is_computed_or_dialled(tmp_path, capsys):
    """Nobody listens at these addresses; 192.0.2.1 belongs to no network."""
    out = ("--out", str(tmp_path / "arm.json"))
    model = ("--model", str(tmp_path / "none.json"), "--world", "layout-a-low")
    for words, said in (
        (("identify", "ur5", "--wire", "127.0.0.9"), "give --out FILE.json"),
        (("identify", "ur5", "--wire", "127.0.0.9", *out), "standard input is none"),
        (("identify", "ur5", "--wire", "192.0.2.1", "--yes", *out), "for virtual controllers only"),
        (("identify", "ur5", "--wire", "127.0.0.9", "--yes", "--dead-man", "knee", *out), "dead-man: choose"),
        (("run", "collision", "--wire", "127.0.0.9", *model), "give --out FOLDER"),
        (("run", "collision", "--wire", "127.0.0.9", *model, *out), "standard input is none"),
        (("run", "collision", "--wire", "192.0.2.1", "--yes", *model, *out), "for virtual controllers only"),
    ):
        assert run(list(words)) == 2
        assert said in " ".join(capsys.readouterr().err.split()), words
    assert not any(tmp_path.iterdir())
