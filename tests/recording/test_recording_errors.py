# SPDX-License-Identifier: Apache-2.0
"""Recordings, batches and descriptions that cannot be: refused with the name of what is wrong."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError
from armwright.recording import RecordedEvent, Recording, Recordings, RecordingWriter, Signal
from armwright.recording.formats import file_header as meta
from support.recording import awkward

T = np.arange(3.0)
ARM = aw.load("planar2")
ONE = {"x": Signal(np.zeros((3, 2)), "m")}
MANY = {"x": Signal(np.zeros((2, 3, 2)), "m")}
BATCH = Recordings(T, MANY)
RUN = Recording(T, {"q": Signal(np.zeros((3, 2)), "rad")}, robot=ARM)
STONE = aw.Robot("stone", (), (), aw.robot.Actuators.none(0))


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: Recordings(T, {}), "at least one signal is needed"),
        (lambda: Recordings(T[:2], MANY), r"signal 'x' is \(2, 3\), expected \(2, 2, ...\)"),
        (lambda: Recordings(T, MANY, robots=(ARM,) * 3), r"no robot, one, or one per run \(2\), got 3"),
        (lambda: Recordings(T, MANY, each={"kp": [1.0]}), r"each\['kp'\] needs one entry per run \(2\), got 1"),
        (lambda: Recordings(T, MANY, seeds=(1, 2, 3)), r"seeds needs one entry per run \(2\), got 3"),
        (lambda: BATCH["y"], "no signal 'y' in these recordings; they have: x"),
        (lambda: BATCH.select([0, 5]), r"run numbers within 0…1, got \[0, 5\]"),
        (lambda: Recording("now", ONE), "time: expected an array of numbers, got str"),
        (lambda: Recording(T, [1, 2]), "signals: expected a mapping of names to Signal, got list"),
        (lambda: Recording(T, {"x": 3}), r"signal 'x': expected a Signal\(values, unit, labels\), got int"),
        (lambda: Recording(T, ONE, seed=1.5), "seed: expected a whole number or None, got 1.5"),
        (lambda: Recording(T, ONE).select(2.0, 1.0), r"select: t0 \(2.0\) must not exceed t1 \(1.0\)"),
        (lambda: Recording(T, ONE).decimate(0), "decimate: k must be a whole number ≥ 1, got 0"),
        (lambda: Recording(T, ONE)["y"], "no signal 'y' in this recording; it has: x"),
        (lambda: Signal(3.0, "m"), r"expected values of shape \(T, ...\), got a single number"),
        (lambda: Recording(T, {"x": Signal(np.zeros((3, 2)), "m", ("a",))}), "1 labels for 2 components"),
        (lambda: Recording(T, ONE, events=(RecordedEvent("soon", "x"),)), "time must be a number"),
        (lambda: RecordingWriter("x.mcap", ONE, chunk=0), "chunk: expected at least 1 sample, got 0"),
    ],
)
def test_recordings_that_cannot_be(call, text):
    with pytest.raises(InputError, match=text):
        call()


def test_runs_beyond_the_last_end_a_loop_as_in_any_sequence():
    with pytest.raises(IndexError, match="run 2 of 2"):
        BATCH[2]
    assert len(list(BATCH)) == 2


HEAD = {"armwright_recording": meta.FORMAT, "signals": [{"name": "x", "unit": "m", "labels": [], "shape": [2]}]}


@pytest.mark.parametrize(
    "text, said",
    [
        ("[1]", "file: expected a JSON object, got list"),
        ("{", "file: the description is damaged"),
        (json.dumps({**HEAD, "armwright_recording": 99}), "file: not a recording of a known format"),
        (json.dumps({**HEAD, "signals": [{"name": "x"}]}), "file: the list of signals is damaged"),
        (json.dumps({**HEAD, "signals": [{**HEAD["signals"][0], "name": "a b"}]}), r"signal 'a b' of shape \(2,\)"),
        (json.dumps({**HEAD, "signals": [{**HEAD["signals"][0], "shape": [-1]}]}), r"shape \(-1,\) is not valid"),
    ],
)
def test_descriptions_that_are_none(text, said):
    with pytest.raises(InputError, match=said):
        meta.columns_from(meta.parse(text, "file"), "file")


@pytest.mark.parametrize(
    "head, said",
    [({"versions": 3}, "file: the description is damaged"), ({"seed": "x"}, "file: seed: expected a whole number")],
)
def test_descriptions_that_do_not_fit_a_recording(head, said):
    columns = meta.columns_from(HEAD, "file")
    with pytest.raises(InputError, match=said):
        meta.assemble({**HEAD, **head}, None, columns, T, [np.zeros((3, 2))], "file")


def test_long_descriptions_are_not_parsed(monkeypatch):
    monkeypatch.setattr(meta, "MAX_TEXT", 10)
    with pytest.raises(InputError, match="description of 11 bytes; at most 10 are read"):
        meta.parse(" " * 11, "file")


def test_csv_descriptions_have_one_or_two_lines(tmp_path):
    path = awkward().save(tmp_path / "run.csv")
    beside = path.with_name("run.csv.meta")
    beside.write_text(beside.read_text(encoding="utf-8") + "{}\n", encoding="utf-8")
    with pytest.raises(InputError, match="expected one or two lines of JSON, found 3"):
        Recording.load(path)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda p: RUN.animate(p / "a.gif", size=(8, 8)), "size: expected 64 to 4096 pixels each way"),
        (lambda p: RUN.animate(p / "a.gif", fps=-1.0), "fps and speed must be positive, got -1.0"),
        (lambda p: replace(RUN, robot=aw.load("ur5")).animate(p / "a.gif"), r"q must be \(T ≥ 1, 6\), got \(3, 2\)"),
        (lambda p: RUN.plot([]), "nothing to draw; name a view or a signal"),
        (lambda p: RUN.plot("energy"), "no energies in this recording"),
    ],
)
def test_pictures_that_cannot_be(tmp_path, call, text):
    pytest.importorskip("matplotlib", reason="pictures need the extra 'plot'")
    with pytest.raises(InputError, match=text):
        call(tmp_path)


def test_an_arm_without_extent_has_no_picture():
    from armwright.recording.pictures.skeleton import capsules

    with pytest.raises(InputError, match="'stone' has neither joints nor a tool away from its base"):
        capsules(STONE, np.zeros((1, 0)))
