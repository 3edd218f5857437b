# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C at any time between the first line of ours and the end of the process: one line, exit code 130, no traceback.

A ``sitecustomize`` of the test sends the interrupt from inside: when a certain module is looked for, or as the process
ends. So nothing here depends on when a signal arrives.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from armwright.cli.app import app
from support.patience import PATIENCE

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals differ")

SITE = """
import atexit, os, signal, sys, time

place, way = os.environ["INTERRUPT_AT"], os.environ["INTERRUPT_WAY"]
signal.signal(signal.SIGINT, signal.SIG_IGN if way == "ignored" else signal.default_int_handler)

class Dying:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
        sum(range(10))

class Watch:
    seen = []
    def find_spec(self, name, path=None, target=None):
        if self.seen or name == "armwright.cli.app":  # the first that is loaded by a line of ours
            self.seen.append(name)
            if place in (name, str(len(self.seen))):
                Dying() if way == "lost" else signal.raise_signal(signal.SIGINT)
                time.sleep(way == "lost" and 60)  # for the interrupt to come again

sys.meta_path.insert(0, Watch())
if place == "exit":
    atexit.register(signal.raise_signal, signal.SIGINT)
if place == "count":
    atexit.register(lambda: os.write(2, b"%d" % len(Watch.seen)))
"""


@pytest.fixture
def command(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(SITE, encoding="utf-8")
    paths = os.pathsep.join([str(tmp_path), *sys.path])

    def run(place: str, *argv: str, way: str = "plain") -> tuple[int, str, str]:
        environment = os.environ | {"PYTHONPATH": paths, "INTERRUPT_AT": place, "INTERRUPT_WAY": way}
        argv = (sys.executable, "-m", "armwright.cli", *argv)
        done = subprocess.run(argv, env=environment, capture_output=True, encoding="utf-8", timeout=PATIENCE)
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.mark.parametrize("place", ["armwright.cli.app", "typer.main", "armwright.cli.tour", "armwright.robot.load"])
def test_an_interrupt_while_modules_are_loaded_is_one_line(command, place):
    assert command(place, "show", "planar2") == (130, "", "armwright: interrupted\n")


def test_an_interrupt_while_modules_are_loaded_is_an_answer_in_json(command):
    code, out, err = command("armwright.cli.tour", "show", "planar2", "--json")
    assert (code, err) == (130, "armwright: interrupted\n")
    assert json.loads(out) == {"error": {"kind": "KeyboardInterrupt", "message": "interrupted"}}


def test_an_interrupt_while_the_process_ends_is_one_line_after_the_answer(command):
    code, out, err = command("exit", "show", "planar2", "--json")
    assert (code, err) == (130, "armwright: interrupted\n")
    assert json.loads(out)["name"] == "planar2"


def test_an_interrupt_that_a_destructor_swallows_is_not_lost(command):
    assert command("armwright.robot.load", "show", "planar2", way="lost") == (130, "", "armwright: interrupted\n")


def test_an_ignored_interrupt_stays_ignored(command):
    code, out, err = command("armwright.cli.tour", "--version", way="ignored")
    assert (code, err) == (0, "") and out


@pytest.mark.thorough
def test_an_interrupt_at_any_module_is_one_line(command):
    code, _, count = command("count", "show", "planar2")
    assert code == 0
    wrong = {}
    for k in range(1, int(count) + 1):
        found = command(str(k), "show", "planar2")
        if found != (130, "", "armwright: interrupted\n"):
            wrong[k] = found
    assert not wrong


def test_every_command_lets_its_work_be_interrupted():
    """A command that is not guarded would be ended at once, with what it has not written yet."""

    def commands(group):
        yield from group.registered_commands
        for each in group.registered_groups:
            yield from commands(each.typer_instance)

    bare = [each.callback.__name__ for each in commands(app) if not hasattr(each.callback, "__wrapped__")]
    assert not bare
