# SPDX-License-Identifier: Apache-2.0
"""``lab record`` and the other commands that write: what was there before is still there, unless asked otherwise."""

import contextlib
import errno
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

import armwright as aw
from armwright.cli import main
from armwright.cli.lab import DeviceOptions
from armwright.errors import ArmwrightWarning, InputError
from armwright.files import SafeFile
from armwright.lab import LabError, Recorder, Stand, read_packets
from armwright.lab.experiment import experiment_runs
from armwright.lab.experiment.experiment_file import read_experiment
from armwright.lab.experiment.experiment_procedure import conduct
from armwright.lab.lab_export import export
from armwright.lab.packets import Channel
from support.lab import PORTS, address, wait_for
from support.patience import PATIENCE

pytest.importorskip("mcap", reason="armwright[log] is not installed")

PACKETS = 40
OLD = b"an older recording, or anything else"
NAME = re.compile(r"run-\d{8}-\d{6}(-\d+)?\.mcap")


class Device:
    """A device that says what it was given, once."""

    topic, step, modulus = "/ft", 1, 0

    def __init__(self, times=range(PACKETS)):
        self.times, self.opened, self.said = list(times), 0, threading.Event()

    def open(self):
        self.opened += 1
        return Channel(self.topic, "ati-rdt", "", {"serial": "FT1"})

    def read(self):
        for k, time in enumerate(self.times):
            yield time, k, bytes(36)
        self.times = []
        self.said.set()
        threading.Event().wait(0.01)

    def close(self):
        pass


@pytest.fixture
def device(monkeypatch, tmp_path):
    """In an empty folder, the one device that ``lab record`` finds; the command ends when all was said."""
    found = Device()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(DeviceOptions, "sources", lambda self: [found])
    monkeypatch.setattr("armwright.cli.lab.until_told", lambda seconds, going: found.said.wait(PATIENCE))
    return found


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def test_every_recording_has_a_name_of_its_own(device, tmp_path, capsys):
    """Also those that begin within the same second."""
    (tmp_path / "run.mcap").write_bytes(OLD)
    files = []
    for _ in range(3):
        device.times, device.said = list(range(PACKETS)), threading.Event()
        assert main(["lab", "record", "--ft", "nowhere", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["written"] == PACKETS
        files.append(told["file"])
    assert len(set(files)) == 3 and all(NAME.fullmatch(file) for file in files)
    assert names(tmp_path) == sorted([*files, "run.mcap"])
    assert all(read_packets(file).whole and len(read_packets(file).packets) == PACKETS for file in files)
    assert (tmp_path / "run.mcap").read_bytes() == OLD


def test_a_file_that_is_there_is_refused_before_anything_is_opened(device, tmp_path, capsys):
    (tmp_path / "mine.mcap").write_bytes(OLD)
    assert main(["lab", "record", "--ft", "nowhere", "--out", "mine.mcap"]) == 2
    assert re.fullmatch(r"armwright: mine\.mcap: is there already; --force .*\n", capsys.readouterr().err)
    assert device.opened == 0 and names(tmp_path) == ["mine.mcap"] and (tmp_path / "mine.mcap").read_bytes() == OLD


def test_force_replaces_a_file_when_the_new_one_is_whole(device, tmp_path, monkeypatch):
    out = tmp_path / "mine.mcap"
    out.write_bytes(OLD)
    out.chmod(0o640)

    def until(seconds, going):
        assert device.said.wait(PATIENCE) and out.read_bytes() == OLD

    monkeypatch.setattr("armwright.cli.lab.until_told", until)
    assert main(["lab", "record", "--ft", "nowhere", "--out", "mine.mcap", "--force"]) == 0
    assert names(tmp_path) == ["mine.mcap"] and len(read_packets(out).packets) == PACKETS
    assert stat.S_IMODE(out.stat().st_mode) == 0o640 or os.name == "nt"


def fill_the_disk(monkeypatch, pieces):
    """Let so many pieces be written, none after them."""
    write, left = SafeFile.write, [pieces]

    def full(self, *parts):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(self, *parts)

    monkeypatch.setattr(SafeFile, "write", full)


@pytest.mark.parametrize("pieces", [0, 1, 2])
def test_a_full_disk_leaves_the_older_file_and_what_could_be_written(device, tmp_path, monkeypatch, capsys, pieces):
    (tmp_path / "mine.mcap").write_bytes(OLD)
    fill_the_disk(monkeypatch, pieces)
    assert main(["lab", "record", "--ft", "nowhere", "--out", "mine.mcap", "--force"]) == 2
    said = capsys.readouterr().err
    assert os.strerror(errno.ENOSPC) in said and "Traceback" not in said
    assert (tmp_path / "mine.mcap").read_bytes() == OLD
    others = [name for name in names(tmp_path) if name != "mine.mcap"]
    assert len(others) == min(pieces, 1) and all(name in said for name in others)
    for name in others:
        with pytest.warns(ArmwrightWarning, match="cut short"):
            assert len(read_packets(tmp_path / name).packets) == PACKETS


def test_no_packets_are_an_error_and_leave_no_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.mcap").write_bytes(OLD)
    command = ["lab", "record", "--address", f"{address()}:9", "--duration", "0.1"]
    for more in ([], ["--out", "new.mcap"], ["--out", "mine.mcap", "--force"]):
        assert main([*command, *more]) == 2
        said = capsys.readouterr()
        assert "no packet came" in said.err and "/robot/rtde" in said.err and said.out == ""
    assert main([*command, "--json"]) == 2
    assert "/robot/rtde" in json.loads(capsys.readouterr().out)["error"]["message"]
    assert names(tmp_path) == ["mine.mcap"] and (tmp_path / "mine.mcap").read_bytes() == OLD


def test_an_exception_leaves_the_older_recording_and_the_new_one(tmp_path):
    """As when a run of an experiment is interrupted once more."""
    out, device = tmp_path / "free.mcap", Device()
    out.write_bytes(OLD)
    recorder = Recorder(out, [device], force=True)
    recorder.__enter__()
    assert device.said.wait(PATIENCE)
    recorder.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert out.read_bytes() == OLD
    (new,) = (file for file in tmp_path.iterdir() if file != out)
    assert new.suffix == ".mcap" and read_packets(new).whole and len(read_packets(new).packets) == PACKETS


def test_the_times_of_a_mad_device_do_not_end_a_recording(tmp_path):
    device = Device([-5, 10**40, 1 << 64, 7])
    with Recorder(tmp_path / "run.mcap", [device]) as recorder:
        assert device.said.wait(PATIENCE)
    assert not recorder.failed
    assert [packet.device for packet in read_packets(tmp_path / "run.mcap").packets] == [0, 2**64 - 1, 2**64 - 1, 7]


def test_a_device_that_tells_a_time_without_end_is_reported(tmp_path):
    class Endless(Device):
        def read(self):
            self.said.set()
            yield round(float("inf")), 0, b""

    device = Endless()
    with Recorder(tmp_path / "run.mcap", [device]) as recorder:
        wait_for(lambda: recorder.tallies["/ft"].error, "it is reported")
    assert "infinity" in recorder.silent() and names(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has neither signal for other processes")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_was_recorded_survives_the_end_of_the_command(tmp_path, number):
    """Ctrl-C ends the file; a kill leaves what was flushed, which is told."""
    with Stand(aw.load("ur5"), host=address(), ports=PORTS, fifo=False) as stand:
        where = f"{stand.host}:{stand.ports['rtde']}"
        command = [sys.executable, "-m", "armwright.cli", "lab", "record", "--address", where]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            said = b""
            while b"/s, " not in said:  # its first line of progress, with the rate of a device
                line = process.stderr.readline()
                assert line, said
                said += line
            wait_for(lambda: sum(file.stat().st_size for file in tmp_path.iterdir()), "a chunk is in the file")
            process.send_signal(number)
            said += process.communicate(timeout=PATIENCE)[1]
    (file,) = tmp_path.iterdir()
    assert NAME.fullmatch(file.name) and file.name.encode() in said
    if number == signal.SIGINT:
        assert process.returncode == 0, said
        held = read_packets(file)
    else:
        with pytest.warns(ArmwrightWarning, match="cut short, the file has no end"):
            held = read_packets(file)
    assert held.whole == (number == signal.SIGINT) and len(held.of("/robot/rtde")) > 0


# other commands


@pytest.fixture
def recording(tmp_path):
    device = Device()
    with Recorder(tmp_path / "run.mcap", [device]):
        assert device.said.wait(PATIENCE)
    return tmp_path / "run.mcap"


def test_an_export_that_fails_leaves_the_older_table(recording, tmp_path, monkeypatch):
    (table,) = export(recording, tmp_path / "tables")
    before = table.read_bytes()

    def full(file, *_, **__):
        file.write_text("half a ta", encoding="utf-8")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(np, "savetxt", full)
    with pytest.raises(aw.ArmwrightError, match="could not be written"):
        export(recording, tmp_path / "tables")
    assert table.read_bytes() == before and names(tmp_path / "tables") == ["ft.csv"]


def test_export_says_what_is_missing_and_recovers_if_asked(recording, tmp_path, capsys):
    data = bytearray(recording.read_bytes())
    data[-40] ^= 1
    recording.write_bytes(data)
    command = ["lab", "export", str(recording), "--out", str(tmp_path / "tables"), "--json"]
    assert main(command) == 2
    said = capsys.readouterr()
    assert re.search(r"run\.mcap, byte \d+: damaged", said.err) and not (tmp_path / "tables").exists()
    assert main([*command, "--recover"]) == 0
    said = capsys.readouterr()
    answer = json.loads(said.out)
    assert answer["whole"] is False and f"{PACKETS} packets before it were kept" in answer["notes"][0]
    assert answer["notes"][0] in said.err
    assert len((tmp_path / "tables" / "ft.csv").read_text(encoding="utf-8").splitlines()) == PACKETS + 1


@pytest.mark.parametrize("name", ["model.json", "path.txt", "free.mcap", "report.html"])
def test_an_experiment_does_not_begin_in_a_folder_that_holds_something_else(tmp_path, name):
    (tmp_path / name).write_bytes(OLD)
    with pytest.raises(InputError, match=rf"has {re.escape(name)} already; go on with --resume"):
        conduct(read_experiment("stand"), tmp_path)
    assert names(tmp_path) == [name] and (tmp_path / name).read_bytes() == OLD


@pytest.mark.parametrize("what", [b"FT1", b'"finished"'], ids=["packets", "facts"])
def test_a_damaged_recording_of_an_experiment_is_neither_evaluated_nor_recorded_over(tmp_path, what):
    experiment = read_experiment("stand")
    for run in experiment.runs:
        device = Device()
        facts = {"finished": True, "commands": [command.line for command in run.commands]}
        with Recorder(tmp_path / f"{run.name}.mcap", [device], facts):
            assert device.said.wait(PATIENCE)
    file = tmp_path / f"{experiment.runs[0].name}.mcap"
    file.write_bytes(bad := file.read_bytes().replace(what, what.swapcase(), 1))
    with pytest.raises(InputError, match=r"byte \d+.*damaged.*; move it away, and --resume records that run again"):
        conduct(experiment, tmp_path, resume=True)
    assert file.read_bytes() == bad


def test_a_run_whose_recording_could_not_be_ended_is_told(tmp_path, monkeypatch):
    """The moves were made, and the disk was full at the end."""
    run, device, there = read_experiment("stand").runs[0], Device(), tmp_path / "free.mcap"
    monkeypatch.setattr(experiment_runs, "connect", lambda *_, **__: contextlib.nullcontext())
    for name in ("_wait_for_sample", "_check_start"):
        monkeypatch.setattr(experiment_runs, name, lambda *_: None)
    monkeypatch.setattr(experiment_runs, "_wait_for_devices", lambda *_: device.said.wait(PATIENCE))
    monkeypatch.setattr(experiment_runs, "move", lambda *_, **__: None)
    monkeypatch.setattr(experiment_runs.LabBench, "sources", lambda self: [device])
    fill_the_disk(monkeypatch, 1)  # the packets can be written, the end cannot
    with pytest.raises(LabError, match=rf"{os.strerror(errno.ENOSPC)}; {PACKETS} packets are in it"):
        experiment_runs.make_run(experiment_runs.LabBench("nowhere"), run, there, lambda _: None, lambda _: None)
    assert not experiment_runs.is_finished(there, run)


@pytest.fixture
def moves(tmp_path):
    (tmp_path / "moves.txt").write_text("movej([0, -1.57, 1.57, -1.57, -1.57, 0])\n", encoding="utf-8")
    return ["lab", "move", str(tmp_path / "moves.txt"), "--address", f"{address()}:9"]


@pytest.mark.parametrize("closed", [False, True])
def test_move_without_a_terminal_says_which_option_answers(moves, monkeypatch, capsys, closed):
    monkeypatch.setattr(sys, "stdin", None if closed else io.StringIO(""))
    assert main(moves) == 2
    *_, last = capsys.readouterr().err.splitlines()
    assert last.startswith("armwright: ") and "--yes" in last and "nothing was sent" in last


def test_move_takes_an_answer_from_a_pipe(moves, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("no\n"))
    assert main(moves) == 2
    assert "nothing was sent" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", io.StringIO("yes\n"))
    assert main(moves) == 2
    assert "cannot connect" in capsys.readouterr().err


def test_ready_is_one_line_of_json(recording, capsys):
    """So that whoever started the command can read a line, and go on."""
    command = ["--json", "--duration", "0.1", "--host", address()]
    assert main(["lab", "serve", "--free-ports", "--no-fifo", *command]) == 0
    assert main(["lab", "replay", str(recording), "--ft-http-port", "8080", *command]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and all("ports" in json.loads(line)["ready"] for line in lines)
