# SPDX-License-Identifier: Apache-2.0
"""Recordings as data: freezing, cutting, figures, batches, and refusals."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError
from armwright.recording.batch import Recordings
from armwright.recording.recording import Recording
from armwright.recording.signals import RecordedEvent, Signal
from support.recording import awkward, falling


def test_values_are_frozen_and_the_callers_array_is_not() -> None:
    mine = np.zeros((5, 2))
    rec = Recording(np.arange(5.0), {"q": Signal(mine, "rad")})
    assert rec["q"].base is mine or np.shares_memory(rec["q"], mine)
    mine[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        rec["q"][0, 0] = 2.0
    with pytest.raises(TypeError):
        rec.settings["x"] = 1  # type: ignore[index]


def test_select_and_decimate_cut_time_signals_and_events() -> None:
    rec = falling(seconds=1.0)
    part = rec.select(0.2, 0.4)
    assert part.time[0] == 0.2
    assert part.time[-1] == pytest.approx(0.4, abs=1e-12)
    assert part.events == ()
    assert rec.select(0.45).events == rec.events
    assert np.array_equal(part["q"], rec["q"][100:201])
    thin = rec.decimate(7)
    assert np.array_equal(thin["qd"], rec["qd"][::7])
    assert np.array_equal(thin.time, rec.time[::7])
    assert len(rec.select(5.0, 6.0)) == 0
    rec.select(5.0, 6.0).summary()
    for bad in (0, -1, 1.5, True):
        with pytest.raises(InputError, match="decimate"):
            rec.decimate(bad)  # type: ignore[arg-type]


def test_summary_gives_the_figures_of_the_run() -> None:
    rec = falling(seconds=1.0)
    figures = rec.summary()
    assert figures["peak.tau"] == np.abs(rec["tau"]).max(axis=0).tolist()
    limits = np.array([joint.limits.effort for joint in rec.robot.joints])  # type: ignore[union-attr]
    assert np.allclose(figures["share.tau"], np.abs(rec["tau"]).max(axis=0) / limits)
    square = rec["error"] ** 2
    mean = (0.5 * (square[1:] + square[:-1])).mean(axis=0)
    assert np.allclose(figures["error_rms"], np.sqrt(mean))
    assert figures["energy_end"] < figures["energy_start"]  # damped
    free = Recording(rec.time, {"kinetic": Signal(1 - np.cos(rec.time)), "potential": Signal(np.cos(rec.time))})
    assert free.summary()["energy_drift"] < 1e-15
    assert figures["rate"] == pytest.approx(500.0)


def test_share_of_an_unsymmetric_range_is_one_on_either_limit() -> None:
    from dataclasses import replace

    arm = aw.load("planar2")
    limits = [replace(joint.limits, lower=-1.0, upper=3.0) for joint in arm.joints]
    arm = replace(arm, joints=tuple(replace(j, limits=x) for j, x in zip(arm.joints, limits, strict=True)))
    rec = Recording([0.0, 1.0], {"q": Signal([[1.0, 1.0], [-1.0, 5.0]], "rad")}, arm)
    assert rec.summary()["share.q"] == [1.0, 2.0]


def test_labels_fall_back_to_joint_names() -> None:
    arm = aw.load("planar2")
    rec = Recording([0.0], {"q": Signal(np.zeros((1, 2)), "rad"), "tool": Signal(np.zeros((1, 2)), "m")}, arm)
    assert rec.labels("q") == tuple(joint.name for joint in arm.joints)
    assert rec.labels("tool") == ("0", "1")


@pytest.mark.parametrize(
    "time, signals, word",
    [
        ([0.0, np.nan], {}, "not finite"),
        ([0.0, 1.0, 0.5], {}, "falls after sample 1"),
        ([[0.0]], {}, r"shape \(T,\)"),
        ([0.0], {"q": Signal(np.zeros((2, 1)))}, "2 samples"),
        ([0.0], {"2q": Signal([0.0])}, "a name is a letter"),
        ([0.0], {"t": Signal([0.0])}, "a name is a letter"),
        ([0.0], {"q": np.zeros(1)}, "expected a Signal"),
        ([0.0], {"q": Signal(np.zeros((1, 1))), "q_0": Signal([0.0])}, "column 'q_0'"),
    ],
)
def test_malformed_recordings_are_refused(time: object, signals: dict[str, Signal], word: str) -> None:
    with pytest.raises(InputError, match=word):
        Recording(time, signals)  # type: ignore[arg-type]


def test_settings_and_events_must_be_plain() -> None:
    with pytest.raises(InputError, match=r"settings\.law\[1\]: a function"):
        Recording([0.0], {}, settings={"law": [1, lambda: 0]})
    loop: dict[str, object] = {}
    loop["self"] = loop
    with pytest.raises(InputError, match="nested deeper"):
        Recording([0.0], {}, settings=loop)
    rec = Recording([0.0], {}, events=((0.5, "a"), {"t": 1, "name": "b", "joint": 2}, RecordedEvent(2.0, "c")))  # type: ignore[arg-type]
    assert rec.events == (RecordedEvent(0.5, "a"), RecordedEvent(1.0, "b", {"joint": 2}), RecordedEvent(2.0, "c"))
    with pytest.raises(InputError, match="a time and a name"):
        Recording([0.0], {}, events=("crash",))  # type: ignore[arg-type]


def test_unknown_signals_are_named() -> None:
    with pytest.raises(InputError, match=r"no signal 'tau' .* q, qd"):
        awkward()["tau"]


def test_names_that_are_no_attributes_say_where_they_stand():
    """`run.q` and `run.t` are what people type first."""
    run = Recording(np.arange(3.0), {"q": Signal(np.zeros((3, 2)), "rad")})
    with pytest.raises(AttributeError, match=r"no attribute 'q'; it is run\[\"q\"\]"):
        _ = run.q
    with pytest.raises(AttributeError, match=r"no attribute 't'; it is run\.time"):
        _ = run.t
    with pytest.raises(AttributeError, match=r"no attribute 'colour'$"):
        _ = run.colour
    assert not hasattr(run, "__array__") and copy.copy(run).duration == run.duration


def test_a_batch_gives_single_recordings() -> None:
    rng = np.random.default_rng(3)
    time, q = np.arange(10) * 0.1, rng.normal(size=(4, 10, 2))
    runs = Recordings(
        time,
        {"q": Signal(q, "rad", ("a", "b")), "energy": Signal(q[..., 0], "J")},
        (aw.load("planar2"),),
        {"law": "pd"},
        each={"kp": [1.0, 2.0, 3.0, 4.0]},
        lengths=(10, 10, 3, 10),
        outcomes=("ok", "ok", "diverged", "ok"),
        seeds=(5, 6, 7, 8),
    )
    assert len(runs) == 4
    assert runs["q"].shape == (4, 10, 2)
    third = runs[2]
    assert len(third) == 3
    assert np.shares_memory(third["q"], q)
    assert (third.outcome, third.seed, third.settings["kp"], third.settings["law"]) == ("diverged", 7, 3.0, "pd")
    assert third.labels("q") == ("a", "b")
    assert [len(run) for run in runs] == [10, 10, 3, 10]
    assert runs[-1].seed == 8
    assert [run.seed for run in runs.select([3, 0])] == [8, 5]
    with pytest.raises(InputError, match="outcomes needs one entry per run"):
        Recordings(time, {"q": Signal(q)}, outcomes=("ok",))
    with pytest.raises(InputError, match=r"\(4, 10"):
        Recordings(time, {"q": Signal(q), "x": Signal(q[:3])})
