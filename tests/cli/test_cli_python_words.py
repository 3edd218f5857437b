# SPDX-License-Identifier: Apache-2.0
"""Advice of the library's is said in the options of the command line, and those options exist."""

from __future__ import annotations

import re

import pytest

import armwright as aw
from armwright.cli import main
from armwright.cli.python_words import as_options
from armwright.recording.formats import load as load_recording

HAND = """<robot name="hand"><link name="base"/><link name="left"/><link name="right"/>
  <joint name="l" type="revolute"><parent link="base"/><child link="left"/>
    <limit lower="0" upper="1" effort="1" velocity="1"/></joint>
  <joint name="r" type="revolute"><parent link="base"/><child link="right"/>
    <limit lower="0" upper="1" effort="1" velocity="1"/></joint></robot>"""


def run(capsys, *argv):
    code = main(argv)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize(
    ("said", "spelled"),
    [
        ('bad; implausible="warn" loads it anyway', "bad; --implausible warn loads it anyway"),
        ("the deepest of 2 leaves; name another with tip=…", "the deepest of 2 leaves; name another with --tip LINK"),
        ("rate=1800, or more substeps (4) (tried)", "--rate 1800, or more substeps (--substeps 4) (tried)"),
        ("robot.with_rotors(0.1) runs as asked", "--rotors 0.1 runs as asked"),
        ("q̇ = [1, 2] in link_1", "q̇ = [1, 2] in link_1"),
    ],
)
def test_words_of_python_become_options(said, spelled):
    assert as_options(said) == spelled


def test_every_option_that_is_advised_is_one(tmp_path, capsys):
    """What the command says in refusing, the command takes."""
    code, _, err = run(
        capsys, "simulate", "ur5", "--law", "pd", "--gain", "kp=100", "--gain", "kd=20", "--duration", "0.05"
    )
    assert code == 2
    options = set(re.findall(r"--[a-z-]+", err))
    assert {"--rate", "--rotors"} <= options
    helped = run(capsys, "simulate", "--help")[1]
    assert all(option in helped for option in options)
    again = ("--gain", "kp=100", "--gain", "kd=20", "--duration", "0.05", "--rotors", "0.1", "--json")
    assert run(capsys, "simulate", "ur5", "--law", "pd", *again)[0] == 0
    (tmp_path / "hand.urdf").write_text(HAND, encoding="utf-8")
    assert "name another with --tip LINK" in run(capsys, "show", str(tmp_path / "hand.urdf"))[1]


def test_rotors_are_those_of_the_robot(tmp_path, capsys):
    """``--rotors`` is `Robot.with_rotors`, for the arm and for what the law knows of it."""
    out = tmp_path / "run.npz"
    words = ("--law", "pd_gravity", "--duration", "0.02", "--rotors", "0.2", "--q0", "0,-1,1,0,1,0", "--out", str(out))
    assert run(capsys, "simulate", "ur5", *words)[0] == 0
    assert load_recording(out).robot == aw.load("ur5").with_rotors(0.2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("simulate", "ur5"), "--duration: give the seconds to simulate"),
        (("simulate", "ur5", "--law", "mine.py", "--duration", "1"), r"A law of your own is .*aw\.simulate"),
        (("run", "program", "x.script", "--robot", "ur5", "--out", "folder"), r"--out folder: expected .*\.html"),
    ],
)
def test_refusals_name_the_option(words, said, capsys):
    code, _, err = run(capsys, *words)
    assert code == 2
    assert re.search(said, err)
