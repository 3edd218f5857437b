# SPDX-License-Identifier: Apache-2.0
"""The whole experiment: from a file to a verdict; what is wrong in the file is told with its place."""

import json
import shutil

import numpy as np
import pytest

import armwright as aw
from armwright.errors import DescriptionError, InputError
from armwright.lab import LabError, read_packets
from armwright.lab.experiment.acceptance import judge_currents, judge_wrenches
from armwright.lab.experiment.compare_wrenches import CONTROLLER, FRICTION, NONE, OBSERVER, Compared, detect
from armwright.lab.experiment.experiment_file import FILES, read_experiment
from armwright.lab.experiment.experiment_procedure import conduct
from armwright.lab.experiment.run_data import WEIGHING_RATE as RATE
from armwright.lab.experiment.run_data import Data, SensorSamples, weigh
from armwright.lab.flange_sensing import FT_AT
from armwright.lab.hand import Hand, push, push_of
from armwright.lab.lab_plant import LabPlant
from armwright.lab.stand import HOME
from support.lab import address
from support.lock_step import conduct_in_step

# the file


def changed(tmp_path, old, new):
    """The example with one change."""
    shutil.copytree(FILES, tmp_path / "example")
    file = tmp_path / "example" / "stand.toml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    return file


def test_the_example_that_comes_with_the_package_is_valid():
    experiment = read_experiment("stand")
    assert [run.name for run in experiment.runs] == ["free", "pushed", "second"]
    assert [run.contact for run in experiment.runs] == [False, True, True]
    assert experiment.virtual is not None and experiment.robot.n == 6


@pytest.mark.parametrize(
    "old, new, key, valid",
    [
        ("seed = 1", "sead = 1", "virtual.sead", "seed, pace"),
        ("pace = 6.0", "pace = 600", "virtual.pace", "0.1 to 50"),
        ('kind = "virtual"', 'kind = "imaginary"', "devices.kind", "virtual, real"),
        ('kind = "virtual"', 'kind = "real"', "virtual", "only for"),
        ("payload = [0.3, 0.0,", "payload = [0.3,", "virtual.payload", "4 numbers"),
        ("wait = 3.2", 'wait = "long"', "runs.free.wait", "0.1 to 60"),
        ('moves = "path.txt"', 'moves = "none.txt"', "runs.free.moves", "none.txt"),
        ('robot = "ur5"', 'robot = "panda"', "robot", "six-axis"),
        ("[6.8, 2.0, 30, 0, 0]", "[6.8, 2.0, 30, 0]", "runs.pushed.pushes", "entry 4: must be a list of 5 numbers"),
        ("[6.8, 2.0, 30, 0, 0]", "[6.8, 0.0, 30, 0, 0]", "runs.pushed.pushes", "entry 4: a push begins"),
        ("[6.8, 2.0, 30, 0, 0]", "[68.0, 2.0, 30, 0, 0]", "runs.pushed.pushes", "entry 4: begins after the run"),
        ("drift = 2e-4", "imu = 30.0", "virtual.imu", "divide 500"),
        ('A = "ur5-kufieta-a"', 'A = "planar2"', "models.A", "six-axis"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_line_key_and_what_would_be_valid(tmp_path, old, new, key, valid):
    file = changed(tmp_path, old, new)
    last = key.rpartition(".")[2]  # of a list over several lines, that of its key is told
    lines = file.read_text(encoding="utf-8").splitlines()
    line = next(n for n, text in enumerate(lines, 1) if new in text)
    line = next(n for n in range(line, 0, -1) if lines[n - 1].startswith(last) or key == "virtual")
    with pytest.raises(DescriptionError) as error:
        read_experiment(file)
    at_section = key in ("virtual",)  # a whole table is wrong: its own line is told
    assert at_section or f"{file}:{line}:" in str(error.value)
    assert key in error.value.where and valid in str(error.value)


def test_a_line_of_the_moves_that_is_none_is_told(tmp_path):
    file = changed(tmp_path, "seed = 1", "seed = 2")
    (file.parent / "path.txt").write_text("movej([0, 0, 0, 0, 0, 0])\nset_digital_out(1, True)\n", encoding="utf-8")
    with pytest.raises(DescriptionError, match=r"path.txt, line 2: expected movej"):
        read_experiment(file)


def test_runs_with_contact_alone_cannot_identify_anything(tmp_path):
    file = changed(tmp_path, 'moves = "path.txt"\nwait = 3.2\n\n', 'moves = "path.txt"\ncontact = true\n\n')
    with pytest.raises(DescriptionError, match="without contact"):
        read_experiment(file)


def test_no_such_experiment():
    with pytest.raises(DescriptionError, match="come with the package: stand"):
        read_experiment("nothing.toml")


# the hand


def test_a_push_acts_at_the_sensor_without_moment():
    plant = LabPlant(aw.load("ur5"), q0=HOME)
    hand = Hand(plant)
    hand.add(push(1.0, 2.0, 10.0, -20.0, 30.0))
    hand(400, plant.feel())  # 0.8 s
    assert np.allclose(plant.feel().wrench, 0.0)
    hand(1000, plant.feel())  # its middle
    R = plant.flange()[:3, :3]
    plant.qdd = np.zeros(6)
    assert np.allclose(plant.feel().wrench[:3], R.T @ [10.0, -20.0, 30.0], atol=1e-9)
    assert np.allclose(plant.feel().wrench[3:], 0.0, atol=1e-9)
    hand(1600, plant.feel())
    assert np.allclose(plant.feel().wrench, 0.0)


@pytest.mark.parametrize("line", ["1 2 3", "1 2 3 4 x", "1 0 0 0 1", "1 2 1e9 0 0", "nan 1 0 0 0"])
def test_a_push_that_is_none_is_refused(line):
    with pytest.raises(InputError, match="push"):
        push_of(line)


# the judgement


def compared(sensor, estimate, without):
    n = len(sensor)
    return Compared(
        "run",
        np.arange(n) / RATE,
        sensor,
        {NONE: without, FRICTION: estimate, OBSERVER: estimate, CONTROLLER: estimate},
        np.ones(n, dtype=bool),
        np.full(n, 5.0),
        0.0,
    )


def test_the_detector_counts_pushes_misses_and_false_alarms():
    sensor = np.zeros((1000, 6))
    sensor[100:200, 2] = 30.0
    sensor[300:400, 2] = -25.0
    sensor[500:600, 2] = 15.0  # too weak to count as a push that must be found
    estimate = sensor.copy()
    estimate[300:400, 2] = -9.0  # missed
    estimate[700:710, 2] = 12.0  # nobody was there
    found = detect(compared(sensor, estimate, estimate), 10.0, 20.0)
    assert found.pushes == (30.0, 25.0) and found.missed == 1 and found.false_alarms == 1


def test_an_estimate_that_is_no_better_than_without_friction_fails():
    sensor, noise = np.zeros((500, 6)), np.random.default_rng(0).normal(size=(500, 6))
    good = compared(sensor, 0.1 * noise, noise)
    bad = compared(sensor, noise, noise)
    for case, passed in ((good, True), (bad, False)):
        criteria = judge_wrenches(case, detect(case, 10.0, 20.0), 10.0, 20.0)
        assert criteria[0].passed is passed
    worse = compared(sensor, 20.0 * noise, 100.0 * noise)
    assert judge_wrenches(worse, detect(worse, 10.0, 20.0), 10.0, 20.0)[1].passed is False


def test_a_gain_that_is_wrong_fails_and_none_is_judged_without_truth():
    from armwright.identify import FittedDrives

    k, b, one = np.array([7.5, 6.8, 7.1, 2.8, 3.2, 3.4]), np.zeros(6), np.ones(6)
    found = FittedDrives(k, 0.01 * one, b, one, one, 0.1 * one, 0.9 * one, (True,) * 5 + (False,))
    truth = {"k": k.tolist(), "b": b.tolist()}
    assert [c.passed for c in judge_currents(found, truth)] == [True] * 4
    truth["k"][1] *= 1.1
    assert judge_currents(found, truth)[1].passed is False
    assert [c.passed for c in judge_currents(found, None)] == [True, None, None, True]


def test_the_sensor_weighs_its_tool():
    robot = aw.load("ur5")
    t = np.arange(0.0, 20.0, 0.008)
    w = 2 * np.pi * 0.1 * np.arange(1, 7)
    q, qd, qdd = HOME + np.sin(t[:, None] * w), w * np.cos(t[:, None] * w), -(w**2) * np.sin(t[:, None] * w)
    from armwright.identify import Log
    from armwright.kinematics import acceleration, fk

    tool = robot.with_tool(robot.T_tip_tool @ np.block([[np.eye(3), FT_AT[:, None]], [np.zeros(3), 1.0]]))
    R = fk(tool, q)[:, :3, :3]
    s = np.einsum("tji,tj->ti", R, acceleration(tool, q, qd, qdd)[:, :3] - robot.gravity)
    centre, bias = np.array([0.01, -0.02, 0.03]), np.array([3.0, -2.0, 5.0, 0.1, -0.2, 0.05])
    reading = bias + np.concatenate([-0.4 * s, np.cross(centre, -0.4 * s)], axis=1)
    log = Log(t, q, qd, np.zeros_like(q))
    data = Data("free", log, t, reading, np.ones(len(t), dtype=bool), SensorSamples(t, t, reading), None, t, {})
    found = weigh(data, t, robot)
    assert found.mass == pytest.approx(0.4, rel=2e-3)
    assert np.allclose(found.centre, centre, atol=2e-4) and np.allclose(found.bias, bias, atol=2e-2)


# the whole, on virtual devices in processes of their own

SHORT = """
robot = "ur5"
[virtual]
seed = 3
pace = 4.0
payload = [0.3, 0.0, 0.0, 0.06]
ft_bias = [3.0, -2.0, 5.0, 0.1, -0.2, 0.05]
offset = 1.7
drift = 2e-4
ft_sensor = "gamma-si-130-10"
[models]
legacy = "ur5-ragazzon-published"
A = "ur5-kufieta-a"
C = "ur5-kufieta-c"
[runs.free]
moves = "short.txt"
wait = 2.8
[runs.pushed]
moves = "short.txt"
wait = 2.8
pushes = [
  [3.6, 0.03, 40, 0, 0], [4.2, 0.03, 0, 40, 0], [6.4, 1.6, 0, 0, 30], [12.0, 1.6, 0, 0, -25],
  [20.4, 0.03, 40, 0, 0], [21.0, 0.03, 0, 40, 0],
]
"""


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiment")
    shutil.copyfile(FILES / "path.txt", folder / "short.txt")
    (folder / "short.toml").write_text(SHORT, encoding="utf-8")
    return folder / "short.toml"


@pytest.fixture(scope="module")
def interrupted(short):
    """Ctrl-C in the first run; what it left is the beginning of `done`."""

    def tell(line):
        if "command 1 of 8" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        conduct(read_experiment(short), short.parent / "out", tell=tell)
    held = read_packets(short.parent / "out" / "free.mcap")
    return held, (short.parent / "out" / "free.mcap").stat().st_size


@pytest.fixture(scope="module")
def done(short, interrupted):
    """Devices that wait for whoever listens: what is found hangs on no clock but theirs."""
    told = []
    with pytest.MonkeyPatch.context() as patch:
        conduct_in_step(patch)
        return conduct(read_experiment(short), short.parent / "out", resume=True, tell=told.append), told


def test_an_interrupt_keeps_what_was_recorded(interrupted, done):
    held, size = interrupted
    assert held.whole and held.facts["finished"] is False and held.of("/robot/rtde") and held.of("/ft")
    assert done[0].recorded == ("free", "pushed")  # what was not finished has been made again
    assert (done[0].folder / "free.mcap").stat().st_size > size


def test_the_command_says_how_to_go_on_after_an_interrupt(short, tmp_path, monkeypatch, capsys):
    from armwright.cli import main

    def interrupt(experiment, folder, **_):
        folder.mkdir()
        (folder / "free.mcap").write_bytes(b"")
        raise KeyboardInterrupt

    monkeypatch.setattr("armwright.lab.experiment.experiment_procedure.conduct", interrupt)
    assert main(["lab", "run", str(short), "--out", str(tmp_path / "out")]) == 130
    said = capsys.readouterr().err
    assert "free.mcap" in said and f"--out {tmp_path / 'out'} --resume" in said.replace("\n", " ")


def test_a_whole_experiment_closes_the_loop(done):
    outcome, told = done
    by_name = {c.what: c for c in outcome.evaluated.criteria}
    assert {c.section for c in by_name.values()} == {"4.4", "5.4", "5.5", "6.1", "6.2"}
    judged = [c for c in by_name.values() if "second path" not in c.what]
    assert [c.what for c in judged if c.passed is False and c.section != "4.4"] == []
    assert by_name["repeated on a second path"].passed is False  # this one has but one: that is told, too
    for clock in ("free: clock of /imu", "free: clock of /ft", "pushed: clock of /imu", "pushed: clock of /ft"):
        assert by_name[f"{clock} on the robot's"].passed, by_name[f"{clock} on the robot's"]
    assert any("command 8 of 8" in line for line in told)


def test_every_step_leaves_its_results(done):
    outcome, _ = done
    files = {file.name for file in outcome.folder.iterdir()}
    assert {"free.mcap", "pushed.mcap", "model.json", "identified.md", "clocks.json", "report.html"} <= files
    assert {"wrenches-pushed.csv", "report.json", "short.toml", "short.txt"} <= files
    facts = json.loads((outcome.folder / "report.json").read_text(encoding="utf-8"))
    assert len(facts["criteria"]) == len(outcome.evaluated.criteria) and facts["recorded_now"] == ["free", "pushed"]
    page = (outcome.folder / "report.html").read_text(encoding="utf-8")
    # currents, wrenches; gains and torques of the run without contact; accelerations of both
    assert page.count("data:image/png") == 6 and "NOT MET" in page


def test_limits_are_called_ours_and_say_where_they_come_from(done, capsys):
    """004 sets none: no page and no output says that it does."""
    from armwright.cli.lab import _print

    outcome, _ = done
    assert all(c.origin for c in outcome.evaluated.criteria)
    _print(outcome)
    page, said = (outcome.folder / "report.html").read_text(encoding="utf-8"), capsys.readouterr().out
    for text in (page, said):
        assert "Our limits (004 sets none)" in text and "ours, from" in text
        assert "004 demands" not in text and "demands met" not in text
    facts = json.loads((outcome.folder / "report.json").read_text(encoding="utf-8"))
    assert {fact["origin"] for fact in facts["criteria"]} == {c.origin for c in outcome.evaluated.criteria}


def test_chapter_five_is_in_page_and_facts(done):
    outcome, _ = done
    facts, page = (
        json.loads((outcome.folder / "report.json").read_text(encoding="utf-8")),
        (outcome.folder / "report.html").read_text(encoding="utf-8"),
    )
    assert set(facts["models"]) == set(facts["gains"]) == {"free"}  # torques and gains of runs without contact
    errors = {name: np.array(values) for name, values in facts["models"]["free"]["mean_error"].items()}
    both = [f"{name}, tool and rotors" for name in "AC"]
    assert set(errors) == {"legacy", "A", "C", *both, "description, tool and rotors"}
    assert 15.0 < errors["legacy"][1] < 40.0 and 10.0 < errors["legacy"][2] < 16.0  # Table 5.1: 25.8 and 14.3 N m
    assert (errors[both[0]][1:3] > 1.5 * errors[both[1]][1:3]).all()  # Table 5.6: A is worse than C by 3.1 and 1.6
    assert errors["description, tool and rotors"].max() < 0.02  # the virtual controller knows this very arm
    assert facts["gains"]["free"]["verdict"].startswith("undetermined in all 6 joints")
    assert set(facts["accelerometer"]) == {"free", "pushed"}
    for found in facts["accelerometer"].values():
        assert max(found["mean_error"]) < 0.03 and max(found["angular_mean_error"]) < 0.03
    for title in (
        "5.1: gains of the controller, free",
        "5.4: torques of models, free",
        "5.5: acceleration of the tool",
    ):
        assert title in page


def test_an_aligned_table_lies_beside_the_tables_of_devices(done):
    """On the clocks that the experiment found, which are known to be within 8 ms."""
    from armwright.recording import Recording

    outcome, _ = done
    for run in ("free", "pushed"):
        table = Recording.load(outcome.folder / "tables" / run / "aligned.parquet")
        data = outcome.evaluated.data[run]
        assert np.array_equal(table.time, data.log.t) and np.array_equal(table["q"], data.log.q)
        sensors = table.settings["sensors"]
        assert sensors["ft"]["clock"] == outcome.evaluated.clocks[run]["/ft"].said
        assert np.isfinite(table["ft"]).mean() > 0.9 and np.isfinite(table["imu_rate"]).mean() > 0.9


def test_an_exported_table_and_the_recording_itself_identify_the_same_arm(done):
    """The columns are those that `identify` reads, and so is /joint_states."""
    from armwright.identify import Known, fit, read_log

    outcome, _ = done
    model = outcome.evaluated.model
    for file in (outcome.folder / "tables" / "free" / "robot-rtde.parquet", outcome.folder / "free.mcap"):
        log = read_log(file)
        assert np.array_equal(log.q, outcome.evaluated.data["free"].log.q)
        assert np.allclose(np.diff(log.t), 0.008, atol=1e-6)
        again = fit(log, outcome.evaluated.robot, gains=Known(outcome.evaluated.currents.usable()))
        assert np.allclose(again.beta, model.beta, rtol=1e-6, atol=1e-6)


def test_what_is_recorded_is_not_recorded_again_and_not_overwritten(short, done, monkeypatch):
    outcome, _ = done
    experiment, told, before = read_experiment(short), [], (outcome.folder / "free.mcap").stat().st_mtime_ns
    with pytest.raises(InputError, match="--resume"):
        conduct(experiment, outcome.folder)

    class EvaluatedError(Exception):
        pass

    def evaluate(*_):
        raise EvaluatedError

    monkeypatch.setattr("armwright.lab.experiment.experiment_procedure.evaluate", evaluate)
    with pytest.raises(EvaluatedError):
        conduct(experiment, outcome.folder, resume=True, tell=told.append)
    assert told == ["free: free.mcap is there", "pushed: pushed.mcap is there", "evaluating"]
    assert (outcome.folder / "free.mcap").stat().st_mtime_ns == before


def test_resuming_replaces_the_copies_of_what_it_reads(short, tmp_path):
    """As a command: what it reads is protected, and the copies in the folder are not what it reads."""
    from armwright.files import inputs_protected
    from armwright.lab.experiment.experiment_procedure import _folder

    file = tmp_path / "stand.toml"
    shutil.copyfile(short.parent / "short.txt", tmp_path / "short.txt")
    for text in (SHORT, SHORT, SHORT.replace("seed = 3", "seed = 4")):
        file.write_text(text, encoding="utf-8")
        with inputs_protected():
            _folder(read_experiment(file), tmp_path / "results", resume=True)
        assert (tmp_path / "results" / "stand.toml").read_text(encoding="utf-8") == text
        assert (tmp_path / "results" / "short.txt").read_bytes() == (tmp_path / "short.txt").read_bytes()
    file.write_text(SHORT, encoding="utf-8")
    with inputs_protected(), pytest.raises(InputError, match=r"has stand\.toml already"):
        _folder(read_experiment(file), tmp_path / "results", resume=False)


def test_resuming_makes_an_unfinished_recording_again(short, tmp_path):
    from armwright.files import inputs_protected
    from armwright.lab.experiment.experiment_runs import is_finished
    from armwright.lab.packet_writer import PacketWriter
    from armwright.lab.packets import Channel, Packet

    run, file = read_experiment(short).runs[0], tmp_path / "free.mcap"
    commands = [command.line for command in run.commands]
    for finished in (False, True):
        with inputs_protected():
            assert not is_finished(file, run)
            writer = PacketWriter(file, force=True)
            writer.add(Channel("/robot/rtde", "ur-rtde", "timestamp DOUBLE\n"))
            writer.write(Packet("/robot/rtde", 1, 1, 1, bytes(12)))
            writer.close({"finished": finished, "commands": commands})
    assert is_finished(file, run)


def test_a_robot_that_is_not_there_is_told(tmp_path):
    file = changed(tmp_path, 'kind = "virtual"', f'kind = "real"\nrobot = "{address()}"')
    text = file.read_text(encoding="utf-8")
    begin, end = text.index("[virtual]"), text.index("[runs.free]")
    file.write_text(text[:begin] + text[end : text.index("[runs.pushed]")], encoding="utf-8")
    with pytest.raises(LabError, match=r"127\..*:30004: cannot connect"):
        conduct(read_experiment(file), tmp_path / "out")
