# SPDX-License-Identifier: Apache-2.0
"""Dialogues of the dashboard: every answer in the words that clients match, and programs loaded and played by name."""

import contextlib
import gzip
import re
import socket
import threading
import zlib

import numpy as np
import pytest

import armwright as aw
from armwright.errors import ArmwrightError, InputError
from armwright.lab.controller.controller import Controller
from armwright.lab.controller.controller_messages import PopupMessage
from armwright.lab.controller.controller_states import CommandPlace, ControllerEvent, ControllerState
from armwright.lab.lab_plant import LabPlant
from armwright.lab.net import LabError
from armwright.lab.operator_panel import OPERATIONAL_MODES, ROLES, OperatorPanel
from armwright.lab.program_store import MOST_TEXT, REQUEST, ProgramStore, program_text, script_name, served_program
from armwright.lab.stand import HOME
from armwright.lab.wire.dashboard import MOST_DASHBOARD_LINE, DashboardConnection
from armwright.lab.wire.urp_file import (
    MOST_UNPACKED,
    ExternalProgram,
    UrpProgram,
    WaitStep,
    read_urp,
)
from support.lab import run_for
from support.patience import PATIENCE, until

EXTERNAL = '<Contributed strategyURCapName="External Control"><dataModel/></Contributed>'
WAIT = '<Wait type="Sleep"><waitTime>0.01</waitTime></Wait>'
SCRIPT = (
    '<Script type="File"><cachedContents>a = 1\nb = a &lt; 2</cachedContents><file>/programs/x.script</file></Script>'
)


def urp(*nodes, once=False, before="<InitVariablesNode/>"):
    xml = f'<URProgram name="x"><kinematics/><children>{before}<MainProgram runOnlyOnce="{str(once).lower()}">'
    return gzip.compress(f"{xml}<children>{''.join(nodes)}</children></MainProgram></children></URProgram>".encode())


@pytest.fixture(scope="module")
def plant():
    return LabPlant(aw.load("ur5"), q0=HOME)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "wait_program.urp").write_bytes(urp(WAIT))
    (tmp_path / "external_control.urp").write_bytes(urp(EXTERNAL, once=True))
    (tmp_path / "hello.script").write_text("def hello():\n  textmsg(1)\nend\n", encoding="utf-8")
    (tmp_path / "other.urp").write_bytes(urp(WAIT, "<Loop/>"))
    return tmp_path


class Bench:
    """A controller with a dashboard and no sockets; texts that are to run are noted, and the program plays."""

    def __init__(self, plant, folder=None, address=("127.0.0.1", 9)):
        self.c = Controller(plant, e_series=True, software="5.25.1")
        self.started = []
        self.store = ProgramStore(self.c, self.start, folder, address)
        self.panel = OperatorPanel(self.c, self.store)
        self.talk = DashboardConnection(self.panel)

    def start(self, text):
        self.started.append(text)
        self.c.handle(ControllerEvent.PLAY)

    def ask(self, line, talk=None):
        talk, buffer = talk or self.talk, bytearray(line.encode() + b"\n")
        said = talk.take(buffer)
        assert not buffer

        def answered():
            nonlocal said
            self.store.tick()
            said = said or talk.take(buffer)
            return bool(said)

        until(answered, f"an answer to {line}")
        return said.decode().removesuffix("\n")


@pytest.fixture
def bench(plant, folder):
    plant.live.reset(HOME)
    made = Bench(plant, folder)
    made.c.settle()
    yield made
    made.store.close()


# one line, one answer


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ("robotmode", r"Robotmode: RUNNING"),
        ("safetymode", r"Safetymode: NORMAL"),
        ("safetystatus", r"Safetystatus: NORMAL"),
        ("running", r"Program running: false"),
        ("PolyscopeVersion", r"URSoftware 5\.25\.1\.0 \(.*\)"),
        ("version", r"\d+\.\d+\.\d+\.\d+"),
        ("get robot model", r"UR5"),
        ("get serial number", r"20\d+"),
        ("get loaded program", r"No program loaded"),
        ("programState", r"STOPPED .*"),
        ("isProgramSaved", r"false .*"),
        ("popup hello there", r"showing popup"),
        ("close popup", r"closing popup"),
        ("close safety popup", r"closing safety popup"),
        ("addToLog a b", r"Added log message"),
        ("addToLog", r"No log message to add"),
        ("saveLog", r"Log saved to disk"),
        ("generate flight report", r"Flight Report generated with id: \d+"),
        ("generate flight report system", r"Flight Report generated with id: \d+"),
        ("generate flight report fancy", r"Error: no report fancy.*controller.*"),
        ("generate support file .", r"Completed successfully: .*"),
        ("load installation default.installation", r"Loading installation: default\.installation"),
        ("load installation other.installation", r"File not found: other\.installation"),
        ("play", r"Failed to execute: play"),
        ("unlock protective stop", r"Cannot unlock protective stop.*"),
        ("brake_release", r"could not understand: 'brake_release'"),
        ("make coffee", r"could not understand: 'make coffee'"),
        ("  ROBOTMODE  ", r"Robotmode: RUNNING"),
    ],
)
def test_answers(bench, line, pattern):
    assert re.fullmatch(pattern, bench.ask(line))


def test_goodbye_is_answered_before_the_end(bench):
    buffer = bytearray(b"quit\nrobotmode\n")
    assert bench.talk.take(buffer) == b"Disconnected\n"
    with pytest.raises(EOFError):
        bench.talk.take(buffer)


def test_roles_and_modes_are_kept(bench):
    for role in ROLES:
        assert bench.ask(f"setUserRole {role}") == f"Setting user role: {role}" and bench.ask("getUserRole") == role
    assert bench.ask("setUserRole king").startswith("Failed") and bench.ask("getUserRole") == ROLES[-1]
    assert bench.ask("get operational mode") == "NONE"
    for mode in OPERATIONAL_MODES:
        assert bench.ask(f"set operational mode {mode.lower()}") == f"Operational mode {mode} is set"
        assert bench.ask("get operational mode") == mode
    assert bench.ask("set operational mode fast").startswith("Failed")
    assert bench.ask("clear operational mode").startswith("No longer controlling the operational mode.")
    assert bench.ask("get operational mode") == "NONE"


@pytest.mark.parametrize(("place", "said"), [("REMOTE", "true"), ("OPEN", "false"), ("LOCAL", "false")])
def test_remote_control_is_told_as_it_is_set(bench, place, said):
    bench.c.place = CommandPlace[place]
    assert bench.ask("is in remote control") == said


def test_power_takes_its_time(bench):
    """From power off to running, with the states in between; and restarting the safety system ends with power off."""
    assert bench.ask("power off") == "Powering off"
    run_for(bench.c, 0.5)
    seen = [bench.ask("robotmode")]
    assert bench.ask("brake release") == "Brake releasing"
    for _ in range(50):
        run_for(bench.c, 0.02)
        said = bench.ask("robotmode")
        seen += [said] if said != seen[-1] else []
    assert seen == [f"Robotmode: {mode}" for mode in ("POWER_OFF", "POWER_ON", "IDLE", "RUNNING")]
    assert bench.ask("restart safety") == "Restarting safety"
    run_for(bench.c, 1.0)
    assert bench.ask("robotmode") == "Robotmode: POWER_OFF" and bench.ask("safetymode") == "Safetymode: NORMAL"


def test_a_protective_stop_is_told_and_unlocked(bench):
    bench.c.protective_stop("by hand")
    assert bench.ask("safetymode") == "Safetymode: PROTECTIVE_STOP" and bench.ask("robotmode") == "Robotmode: RUNNING"
    assert bench.ask("unlock protective stop") == "Protective stop releasing"
    run_for(bench.c, 0.5)
    assert bench.ask("safetystatus") == "Safetystatus: NORMAL"


def test_a_popup_is_told_to_the_primary_port(bench):
    bench.ask("popup hello there")
    assert [r.text for r in bench.c.outbox.take() if isinstance(r, PopupMessage)] == ["hello there"]


def test_long_and_strange_lines_end_or_are_answered(bench):
    with pytest.raises(ValueError, match="line"):
        bench.talk.take(bytearray(b"x" * (MOST_DASHBOARD_LINE + 2)))
    random = np.random.default_rng(4)
    for _ in range(300):
        line = random.integers(1, 256, int(random.integers(1, 200))).astype(np.uint8).tobytes().replace(b"\n", b"")
        said = bench.talk.take(bytearray(line + b"\n"))
        assert said == b"" or said.endswith(b"\n")


# programs


def test_a_program_is_loaded_by_its_name_and_told_as_it_goes(bench):
    assert bench.ask("load /ursim/programs/wait_program.urp") == "Loading program: /ursim/programs/wait_program.urp"
    assert bench.ask("programState") == "STOPPED wait_program.urp"
    assert bench.ask("get loaded program") == "Loaded program: wait_program.urp"
    assert bench.ask("isProgramSaved") == "true wait_program.urp"
    assert bench.ask("play") == "Starting program"
    (text,) = bench.started
    wanted = "def wait_program():/while True:/sleep(0.010000000)/end/end"
    assert [line.strip() for line in text.splitlines()] == wanted.split("/")
    assert bench.ask("programState") == "PLAYING wait_program.urp" and bench.ask("running") == "Program running: true"
    assert bench.ask("load hello.script").startswith("Error while loading program")  # one runs
    assert bench.ask("pause") == "Pausing program" and bench.ask("programState") == "PAUSED wait_program.urp"
    assert bench.ask("play") == "Starting program" and bench.ask("programState").startswith("PLAYING")
    assert len(bench.started) == 1  # it went on
    assert bench.ask("stop") == "Stopped"
    run_for(bench.c, 0.5)
    assert bench.ask("programState") == "STOPPED wait_program.urp" and bench.ask("running") == "Program running: false"


def test_a_script_runs_as_it_is(bench, folder):
    assert bench.ask("load hello.script") == "Loading program: hello.script"
    assert bench.ask("play") == "Starting program"
    assert bench.started == [(folder / "hello.script").read_text(encoding="utf-8")]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing.urp", "File not found: missing.urp"),
        ("wait_program", "File not found: wait_program"),
        ("../secret", "File not found: ../secret"),
        ("", "File not found: "),
        ("other.urp", "Error while loading program: other.urp"),
        ("folder.urp", "Error while loading program: folder.urp"),
        ("latin.script", "Error while loading program: latin.script"),
    ],
)
def test_what_cannot_be_loaded_changes_nothing(bench, folder, name, said):
    (folder / "folder.urp").mkdir()
    (folder / "latin.script").write_bytes(b"textmsg(\xe4)")
    bench.ask("load wait_program.urp")
    assert bench.ask(f"load {name}") == said
    assert bench.ask("get loaded program") == "Loaded program: wait_program.urp"


def test_a_folder_before_the_name_is_not_looked_at(bench, folder):
    (folder.parent / "outside.script").write_text("x", encoding="utf-8")
    assert bench.ask("load ../outside.script") == "File not found: ../outside.script"
    assert bench.ask("load ../../wait_program.urp").startswith("Loading program")
    assert bench.ask(r"load ..\wait_program.urp").startswith("Loading program")


def test_other_clients_are_answered_while_a_program_is_being_read(bench):
    talk = DashboardConnection(bench.panel)
    buffer = bytearray(b"load wait_program.urp\nrobotmode\n")
    assert talk.take(buffer) == b"" and talk.take(buffer) == b""  # read elsewhere; the next line waits
    assert bench.ask("robotmode") == "Robotmode: RUNNING" and buffer == b"robotmode\n"
    said = b""

    def answered():
        nonlocal said
        bench.store.tick()
        said += talk.take(buffer) or b""
        return said.count(b"\n") == 2

    until(answered, "both lines")
    assert said == b"Loading program: wait_program.urp\nRobotmode: RUNNING\n"


def test_without_a_folder_there_are_no_programs(plant, tmp_path):
    bench = Bench(plant)
    assert bench.ask("load wait_program.urp") == "File not found: wait_program.urp"
    bench.store.close()
    with pytest.raises(InputError, match="no folder"):
        Bench(plant, tmp_path / "missing")


def test_in_local_control_nothing_is_played(bench):
    bench.ask("load wait_program.urp")
    bench.c.place = CommandPlace.LOCAL
    assert bench.ask("play") == "Failed to execute: play" and not bench.started


# External Control


class Server:
    """Serves a program as a client does: once the request has come, in pieces; it does not hang up."""

    def __init__(self, *pieces):
        self.pieces, self.heard = pieces, b""
        self._sock = socket.create_server(("127.0.0.1", 0))
        self.address = self._sock.getsockname()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        self._done = threading.Event()

    def _serve(self):
        sock, _ = self._sock.accept()
        with sock:
            sock.settimeout(PATIENCE)
            while not self.heard.endswith(b"\n"):
                self.heard += sock.recv(100)
            for piece in self.pieces:
                sock.sendall(piece)
            self._done.wait(PATIENCE)

    def close(self):
        self._done.set()
        self._thread.join(PATIENCE)
        self._sock.close()


@pytest.fixture
def serving():
    made = []

    def serve(*pieces):
        made.append(Server(*pieces))
        return made[-1]

    yield serve
    for server in made:
        server.close()


def test_external_control_asks_a_client_for_its_program(plant, folder, serving):
    plant.live.reset(HOME)
    server = serving(b"a = 1\n", b"movej(q)\n" * 5000)
    bench = Bench(plant, folder, server.address)
    bench.ask("load external_control.urp")
    assert bench.ask("play") == "Starting program"
    assert bench.ask("play") == "Failed to execute: play"  # it is being asked for
    until(lambda: bench.store.tick() or bench.started, "the program is started")
    (text,) = bench.started
    lines = text.splitlines()
    assert server.heard == REQUEST and lines[0] == "def external_control():" and lines[-1] == "end"
    assert [line.strip() for line in lines[1:-1]] == ["a = 1", *["movej(q)"] * 5000]
    assert bench.ask("programState") == "PLAYING external_control.urp"
    bench.store.close()


def test_a_program_that_was_stopped_while_it_was_asked_for_does_not_start(plant, folder, serving):
    bench = Bench(plant, folder, serving(b"movej(q)\n").address)
    bench.ask("load external_control.urp")
    bench.ask("play")
    bench.ask("stop")
    bench.store.close()
    bench.store.tick()
    assert not bench.started
    assert bench.ask("play") == "Starting program"  # asked for again


def test_where_nobody_serves_a_program_the_reason_is_kept(plant, folder):
    with socket.create_server(("127.0.0.1", 0)) as sock:
        address = sock.getsockname()
    bench = Bench(plant, folder, address)
    bench.ask("load external_control.urp")
    assert bench.ask("play") == "Starting program"
    until(lambda: bench.store.tick() or bench.c.messages, "it is told")
    assert "serves no program" in bench.c.messages[-1] and bench.c.state is ControllerState.READY
    bench.store.close()


@pytest.mark.parametrize(("pieces", "reason"), [((b"x" * (MOST_TEXT + 1),), "more than"), ((b"\xff\xfe",), "UTF-8")])
def test_programs_that_are_refused(serving, pieces, reason):
    with pytest.raises(LabError, match=reason):
        served_program(serving(*pieces).address)


# files


def test_steps_of_a_program():
    program = read_urp(urp(SCRIPT, WAIT, EXTERNAL, once=True), "x.urp")
    assert program == UrpProgram(("a = 1\nb = a < 2", WaitStep(0.01), ExternalProgram()), True)
    text = program_text("2 go-on.urp", program, "c = 3\n")
    assert text == "def program_2_go_on():\n  a = 1\n  b = a < 2\n  sleep(0.010000000)\n  c = 3\nend\n"
    assert script_name("straße.urp") == "stra_e"


def test_a_served_program_in_many_nodes_is_limited_as_a_whole():
    twice = UrpProgram((ExternalProgram(), ExternalProgram()), True)
    assert program_text("x.urp", twice, "a\n" * (MOST_TEXT // 4)).count("a") == MOST_TEXT // 2
    with pytest.raises(LabError, match=f"x.urp: a program of more than {MOST_TEXT} characters"):
        program_text("x.urp", twice, "a\n" * (MOST_TEXT // 4 + 1))


BOMB = gzip.compress(bytes(20 * MOST_UNPACKED))
ENTITIES = b'<!DOCTYPE x [<!ENTITY a "b">]><URProgram><children>&a;</children></URProgram>'
REFUSED = {
    "no gzip": (b"<URProgram/>", "no gzip"),
    "empty": (b"", "ends in the middle"),
    "cut": (urp(WAIT)[:-20], "ends in the middle"),
    "flipped": (urp(WAIT)[:-6] + b"xxxxxx", "no gzip"),
    "bomb": (BOMB, "unpacks to more than"),
    "bomb in bombs": (gzip.compress(BOMB), "XML|UTF-8|text"),
    "entities": (gzip.compress(ENTITIES), "not allowed"),
    "deep": (gzip.compress(b"<a>" * 5000), "deep"),
    "no XML": (gzip.compress(b"hello"), "XML"),
    "other root": (gzip.compress(b"<x/>"), "URProgram"),
    "no main": (gzip.compress(b"<URProgram><children/></URProgram>"), "MainProgram"),
    "nothing in it": (urp(), "no nodes"),
    "unknown node": (urp(WAIT, '<Move name="a"/>'), r"<Move name=.a.>.*not known here; known: External Control"),
    "other part": (urp(WAIT, before="<Thread/>"), "Thread"),
    "other cap": (urp('<Contributed strategyURCapName="Gripper"/>'), "not known"),
    "a line of script": (urp('<Script type="Line"/>'), "not known"),
    "negative wait": (urp('<Wait type="Sleep"><waitTime>-1</waitTime></Wait>'), "seconds"),
    "wait for ever": (urp('<Wait type="Sleep"><waitTime>inf</waitTime></Wait>'), "seconds"),
    "no number": (urp('<Wait type="Sleep"><waitTime>__import__("os")</waitTime></Wait>'), "seconds"),
    "wait for a signal": (urp('<Wait type="DigitalInput"/>'), "not known"),
    "long script": (urp(SCRIPT.replace("a = 1", "x" * (MOST_TEXT + 1))), "more than"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_files_that_are_refused_say_why(case):
    data, reason = REFUSED[case]
    with pytest.raises(ArmwrightError, match=reason):
        read_urp(data, "x.urp")


def test_damaged_files_are_read_or_refused():
    whole, random = urp(SCRIPT, WAIT, EXTERNAL), np.random.default_rng(7)
    xml = gzip.decompress(whole)
    for _ in range(300):
        data = bytearray(whole if random.random() < 0.3 else xml)
        for _ in range(int(random.integers(1, 8))):
            data[int(random.integers(len(data)))] = int(random.integers(256))
        packed = bytes(data) if data[:2] == whole[:2] else zlib.compress(bytes(data), wbits=31)
        with contextlib.suppress(ArmwrightError):
            assert read_urp(packed, "x.urp").steps
