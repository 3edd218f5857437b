# SPDX-License-Identifier: Apache-2.0
"""One word, one syntax: every option is written alike in all commands that take it, and old spellings still work."""

from __future__ import annotations

import functools
import inspect
import json
import re
from dataclasses import dataclass
from typing import Annotated, get_args

import numpy as np
import pytest
import typer

from armwright.cli import main, option_words
from armwright.cli.app import app
from armwright.cli.failures import CommandError
from armwright.cli.old_spellings import RENAMED, with_new_spellings
from armwright.cli.option_groups import ArmReading, arm_command, grouped
from armwright.errors import ArmwrightWarning, InputError
from armwright.robot.load import load

WRITTEN = re.compile(r"(FILE(\.\w+)?|FOLDER)(\|(FILE(\.\w+)?|FOLDER))*")
JOINTS = re.compile(r"(home\|)?(U,V\[,W\]c\|)?(X,Y,Z\|)?A,B,…\[deg\]")
SYNTAX = {  # the words of docs/conventions.md: what help must show for them
    "--robot": re.compile("ROBOT"),
    "--world": re.compile("WORLD"),
    **dict.fromkeys(("--start", "--goal", "--q0", "--qd0", "--near"), JOINTS),
    "--payload": re.compile(r"KG\[@X,Y,Z\](\|log\|FILE)?"),
    "--push": re.compile(r"FX,FY,FZ\[,NX,NY,NZ\]\[@FROM-TO\]"),
    "--duration": re.compile("SECONDS"),
    "--seed": re.compile("NUMBER"),
    "--address": re.compile(r"HOST\[:PORT\]"),
    "--out": WRITTEN,
    "--plot": WRITTEN,
    "--report": re.compile(r"FILE\.(html|md)"),
    "--corrected": re.compile(r"FILE\.urdf(\|FILE\.xml)?"),  # calibrate edits URDF alone
}
FLAGS = ("--noise", "--no-report", "--report", "--unknown-payload")  # among the old ones


@dataclass(frozen=True)
class Word:
    """An option of a command as help shows it."""

    command: str
    name: str
    kind: str
    metavar: str
    help: str


def callbacks():
    """Every command that help lists: its name, and the function that typer reads."""
    for info in app.registered_commands:
        if not info.hidden:
            yield info.callback.__name__, info
    for group in app.registered_groups:
        for info in group.typer_instance.registered_commands:
            yield f"{group.typer_instance.info.name} {info.callback.__name__}", info


def options(name, info):
    for parameter in inspect.signature(info.callback, eval_str=True).parameters.values():
        kind, *extras = get_args(parameter.annotation)
        word = next(extra for extra in extras if hasattr(extra, "param_decls"))
        if isinstance(word, type(typer.Argument())):
            continue
        first = word.default if isinstance(word.default, str) else None  # typer keeps the first spelling there
        spelled = first or f"--{parameter.name.replace('_', '-')}"
        yield Word(name, spelled.split("/")[0], str(kind).replace(" | None", ""), word.metavar or "", word.help)


OTHER_MEANING = {
    ("identify", "--load"),  # which log carries a load; elsewhere: whether an unknown load is estimated
    ("simulate", "--every"),  # a number of ticks that are recorded; elsewhere: seconds between two rows on the screen
    ("lab record", "--force"),  # whether a file is replaced; elsewhere: newtons at the tool
    ("export", "--plant"),  # whether the arm is part of what is exported; elsewhere: what plants a study has
    ("lab move", "--wait"),  # seconds between commands; elsewhere: how long a program waits for an input
}
EVERY = [word for name, info in callbacks() for word in options(name, info)]


def test_an_option_is_written_alike_wherever_it_stands():
    for name in {word.name for word in EVERY}:
        same = [word for word in EVERY if word.name == name and (word.command, name) not in OTHER_MEANING]
        assert len({str(word.kind).removeprefix("<class '").removesuffix("'>") for word in same}) == 1, same
        if name not in SYNTAX:
            assert len({word.metavar for word in same}) == 1, same
    for name in ("--json", "--open", "--seed", "--implausible", "--base", "--tip", "--film", "--host", "--jobs"):
        assert len({word.help for word in EVERY if word.name == name}) == 1, name


def test_the_words_that_the_documentation_lists_are_written_as_it_says():
    for name, pattern in SYNTAX.items():
        found = [word for word in EVERY if word.name == name]
        assert found, name
        for word in found:
            assert pattern.fullmatch(word.metavar), word


def test_every_command_takes_json_and_no_help_shows_an_old_spelling():
    names = {word.command for word in EVERY}
    assert {word.command for word in EVERY if word.name == "--json"} == names and len(names) == 39
    for command, renamed in RENAMED.items():
        now = {word.name for word in EVERY if word.command == command}
        assert now and not set(renamed) & now, command
        assert {new[0].replace("--no-", "--") for new in renamed.values()} <= now, command


def test_commands_have_few_parameters():
    """Long commands take groups; what typer reads is written by `grouped`."""
    for name, info in callbacks():
        assert len(inspect.signature(inspect.unwrap(info.callback)).parameters) <= 8, name


@pytest.fixture
def taken(monkeypatch):
    """The commands take their words, hand them over, and do nothing."""
    calls = []

    def idle(command):
        @functools.wraps(command)
        def words(**given):
            calls.append(given)

        return words

    for _, info in callbacks():
        monkeypatch.setattr(info, "callback", idle(info.callback))
    return calls


NEEDED = {"run program": ["p.irl", "--robot", "ur5"], "simulate": ["ur5"], "excite": ["ur5"], "lab move": ["m.txt"]}


@pytest.mark.parametrize(("command", "old"), [(c, o) for c, words in RENAMED.items() for o in words])
@pytest.mark.parametrize("equals", [False, True])
def test_an_old_option_does_what_the_new_one_does_and_says_so_in_one_line(command, old, equals, taken, capsys):
    words, new = [*command.split(), *NEEDED.get(command, [])], RENAMED[command][old]
    flag = old in FLAGS
    value = [] if flag else ["5"]

    def spelled(name):
        return [f"{name}={value[0]}"] if equals and value else [name, *value]

    assert main([*words, *(new if flag else spelled(new[0]))]) == 0
    assert capsys.readouterr().err == ""
    assert main([*words, *spelled(old)]) == 0
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and f"{old} is now {' '.join(new)}" in said
    assert taken[0] == taken[1]


def test_words_behind_two_dashes_and_of_other_commands_stay(capsys):
    for words in (["lab", "record", "--", "--robot"], ["lab", "serve", "--robot", "ur5"], ["simulate", "--rate=5"], []):
        assert with_new_spellings(words) == words
    assert capsys.readouterr().err == ""


def test_show_takes_a_robot_or_a_program(capsys, tmp_path):
    file = tmp_path / "moves.script"
    file.write_text("def p():\n  movej([0, -1.2, 1.5, -1.8, -1.5, 0.3], a=1.4, v=1.0)\nend\n", encoding="utf-8")
    assert main(["show", str(file), "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["language"] == "urscript" and shown.err == ""
    assert main(["show-program", str(file), "--json"]) == 0
    old = capsys.readouterr()
    assert old.out == shown.out and "show-program is now show" in old.err
    plain = file.rename(tmp_path / "moves.txt")  # by its look, or by its language
    for words in ([], ["--language", "urscript"]):
        assert main(["show", str(plain), *words, "--json"]) == 0
        assert len(json.loads(capsys.readouterr().out)["moves"]) == 1
    assert main(["show", str(plain), "--draw", "arm.png"]) == 2
    assert "robot program" in capsys.readouterr().err
    assert main(["show", "no-such-arm"]) == 2
    assert "no-such-arm" in capsys.readouterr().err


def test_payloads_have_one_syntax_and_one_old_one(capsys):
    assert option_words.payload("2") == (2.0, [0.0, 0.0, 0.0])
    assert option_words.payload("2@0,-0.1,1e-2") == (2.0, [0.0, -0.1, 0.01])
    assert capsys.readouterr().err == ""
    assert option_words.payload("2,0,-0.1,0.01") == (2.0, [0.0, -0.1, 0.01])
    assert "--payload 2,0,-0.1,0.01 is now --payload 2@0,-0.1,0.01" in capsys.readouterr().err
    for wrong in ("heavy", "2@0,1", "2@", "nan", "2@0,inf,0", "2,3"):
        with pytest.raises(InputError, match=re.escape(f"--payload {wrong!r}")):
            option_words.payload(wrong)


def test_cells_have_a_letter_and_go_without_for_one_release(capsys):
    from armwright.cli.exploration_task import TaskOptions, task_of
    from armwright.world import load_world

    arm, world = load("ur5"), load_world("layout-a")
    known = world.tool_task
    new, old = (task_of(arm, world, TaskOptions(goal=text)) for text in ("9,9c", "9,9"))
    assert new.goal == old.goal == (9, 9) and new.start == known.start
    assert capsys.readouterr().err.count("--goal 9,9 is now --goal 9,9c") == 1
    with pytest.raises(CommandError, match="2 numbers"):
        task_of(arm, world, TaskOptions(goal="9,9,9c"))
    with pytest.raises(CommandError, match="no cells"):
        task_of(arm, load_world("bench"), TaskOptions(planner="rrt-connect", goal="9,9c"))


def test_ends_of_the_whole_arm_carry_their_unit():
    from armwright.cli.exploration_task import TaskOptions, task_of
    from armwright.world import load_world

    arm, world = load("ur5"), load_world("bench")
    degrees = TaskOptions(start="0,-90,90,0,0,0deg", goal="0.4,0.1,0.3")
    task = task_of(arm, world, TaskOptions(planner="rrt-connect", start=degrees.start, goal=degrees.goal))
    np.testing.assert_allclose(task.start, np.radians([0, -90, 90, 0, 0, 0]))
    assert task.goal == (0.4, 0.1, 0.3)


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("robot", ("robot", None)),
        ("10.0.0.7:30004", ("10.0.0.7", 30004)),
        ("::1", ("::1", None)),
        ("[::1]", ("::1", None)),
        ("[::1]:29999", ("::1", 29999)),
    ],
)
def test_addresses(text, means):
    assert option_words.address(text, "--address") == means


@pytest.mark.parametrize("text", ["host:", ":30004", "host:rtde", "host:0", "host:65536", "host:-1"])
def test_addresses_that_are_none(text):
    with pytest.raises(CommandError, match="HOST:PORT"):
        option_words.address(text, "--address")


def test_a_device_is_listened_to_at_its_port():
    from armwright.cli.lab import DeviceOptions

    (usual,), (other,) = (DeviceOptions(controller=text).sources() for text in ("10.0.0.7", "10.0.0.7:4000"))
    assert (usual.host, usual.port, other.host, other.port) == ("10.0.0.7", 30004, "10.0.0.7", 4000)
    assert [s.port for s in DeviceOptions(controller="10.0.0.7", stream="both").sources()] == [30004, 30003]
    with pytest.raises(CommandError, match="one port"):
        DeviceOptions(controller="10.0.0.7:4000", stream="both").sources()
    with pytest.raises(CommandError, match="--address HOST"):
        DeviceOptions().sources()


@dataclass(frozen=True)
class Pair:
    """A group with a field that must be given."""

    first: Annotated[int, typer.Option(metavar="NUMBER")]
    second: Annotated[str, typer.Option("--other")] = "b"


def run_alone(command, words):
    alone = typer.Typer()
    alone.command()(command)
    return alone(args=words, standalone_mode=False)


def test_a_group_stands_as_its_fields_and_comes_back_whole():
    seen = []

    @grouped
    def command(*, name: Annotated[str, typer.Argument()] = "x", pair: Pair, json: option_words.Json = False):
        seen.append((name, pair, json))

    assert list(inspect.signature(command).parameters) == ["name", "first", "second", "json"]
    run_alone(command, ["y", "--first", "3"])
    run_alone(command, ["--other", "c", "--first", "4", "--json"])
    assert seen == [("y", Pair(3, "b"), False), ("x", Pair(4, "c"), True)]
    with pytest.raises(Exception, match="first"):
        run_alone(command, [])


def test_an_arm_command_is_handed_its_arm(tmp_path):
    seen = []

    def command(arm: object, pair: Pair, json: option_words.Json = False):
        seen.append((arm.name, arm.n, pair.first))

    made = arm_command(default="ur5")(command)
    names = list(inspect.signature(made).parameters)
    assert names == ["robot", "first", "second", "implausible", "base", "tip", "json"]
    run_alone(made, ["--first", "1"])
    run_alone(made, ["irb140", "--first", "2"])
    file = tmp_path / "arm.urdf"
    file.write_text(load("ur5").to_urdf(), encoding="utf-8")
    short = load(str(file)).bodies[1].name
    with pytest.warns(ArmwrightWarning, match="cut from"):
        run_alone(made, [str(file), "--tip", short, "--first", "3"])
    assert seen == [("ur5", 6, 1), ("irb140", 6, 2), (seen[2][0], 2, 3)]
    assert ArmReading("warn", None, "wrist").options() == {"implausible": "warn", "tip": "wrist"}
