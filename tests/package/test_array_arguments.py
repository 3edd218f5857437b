# SPDX-License-Identifier: Apache-2.0
"""Arrays that cannot be taken at their word: masked ones, results that have no place, batches beyond any memory."""

from __future__ import annotations

import re
import sys
import warnings

import numpy as np
import pytest

import armwright as aw
from support.calls import CALLS, UR5, Q

ROWS = 10**12  # more than any memory holds, of one number each
PAIR = aw.compile(lambda q: (q + 1.0, q * 2.0), shapes={"q": 3}, name="pair")
ONE = aw.compile(lambda q: q * 2.0, shapes={"q": 3}, name="one")


def array_calls():
    for name, (function, good) in CALLS.items():
        for label, value in good.items():
            try:
                array = np.asarray(value)
            except ValueError:
                continue
            if array.dtype.kind in "iuf" and array.ndim and array.size:
                yield pytest.param(function, good, label, id=f"{name}-{label}")


def masked(value, *hidden):
    array = np.ma.array(np.asarray(value), mask=np.zeros(np.shape(value), dtype=bool))
    for k in hidden:
        array.mask.flat[k] = True
    return array


@pytest.mark.parametrize(("function", "good", "label"), array_calls())
def test_elements_behind_a_mask_are_refused_and_not_computed_with(function, good, label):
    with pytest.raises(aw.InputError, match="elements have no value"):
        function(**{**good, label: masked(good[label], 0)})


@pytest.mark.parametrize(("function", "good", "label"), array_calls())
def test_a_mask_that_hides_nothing_is_as_good_as_none(function, good, label):
    function(**{**good, label: masked(good[label])})


def test_masked_elements_are_counted_with_the_argument_that_has_them():
    message = r"inverse_dynamics: qd: 2 masked of 6 elements have no value; fill or drop them"
    with pytest.raises(aw.InputError, match=message):
        aw.inverse_dynamics(UR5, Q, masked(Q, 1, 4), Q)


@pytest.mark.parametrize("rows", [[masked(Q), masked(Q, 2)], [[Q, masked(Q, 5)]], (np.ma.masked, *Q[1:])])
def test_a_mask_in_a_list_is_found(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's own, of a masked element that becomes NaN
        with pytest.raises(aw.InputError, match="masked elements have no value"):
            aw.fk(UR5, rows)


@pytest.mark.parametrize(
    "call",
    [
        lambda array: aw.Recording(array, {}),
        lambda array: aw.recording.Signal(array),
        lambda array: aw.motion.hold([0.0], 1.0).evaluate(array),
        lambda array: aw.Trajectory(array, np.zeros((1, 1, 1))),
        lambda array: aw.robot.CurrentMap([1.0, 2.0], array),
    ],
)
def test_data_with_a_mask_is_refused(call):
    call(masked([0.0, 1.0]))
    with pytest.raises(aw.InputError, match="elements have no value"):
        call(masked([0.0, 1.0], 1))


@pytest.mark.parametrize(
    "out",
    [3, 2.5, None.__class__, "ab", {}, [], [1, 2], np.zeros(2), np.zeros((3, 3)), np.ma.zeros((2, 3)), (np.zeros(3),)],
    ids=repr,
)
def test_results_are_written_into_two_arrays_or_refused(out):
    with pytest.raises(aw.InputError, match=r"pair: out .*must"):
        PAIR(np.ones(3), out=out)


@pytest.mark.parametrize(
    "out",
    [3, "abc", [0.0, 0.0, 0.0], np.zeros(4), np.zeros(3, dtype=np.float32), np.ma.zeros(3), (np.zeros(3),) * 2],
    ids=repr,
)
def test_a_result_is_written_into_an_array_or_refused(out):
    with pytest.raises(aw.InputError, match=r"one: out .*must"):
        ONE(np.ones(3), out=out)
    if isinstance(out, np.ndarray):
        with pytest.raises(aw.InputError, match=r"one: out .*must"):
            ONE(np.ones(3), out)


def test_results_with_a_mask_do_not_take_the_quick_way():
    with pytest.raises(aw.InputError, match=r"one: out for one must be a float64 array .*got MaskedArray"):
        ONE(np.ones(3), np.ma.array(np.zeros(3), mask=[True, False, False]))


def batch_calls():
    for name, (function, good) in CALLS.items():
        if name.startswith("aw.") and "q" in good and function is not aw.singularity:  # which takes one configuration
            yield pytest.param(function, good, "q", id=name)
    yield pytest.param(*CALLS["aw.ik"], "T", id="aw.ik")


@pytest.mark.parametrize(("function", "good", "label"), batch_calls())
def test_a_batch_beyond_the_memory_is_told_with_what_was_asked_for(function, good, label):
    one = np.asarray(good[label])
    batch = np.broadcast_to(one, (ROWS, *one.shape))
    with pytest.raises(aw.InputError, match=rf"not enough memory .*[TP]iB .*{ROWS}.*; split the batch"):
        function(**{**good, label: batch})


def test_a_batch_beyond_all_addresses_is_told_in_the_same_way():
    rows = 10**17  # of 6 numbers each there could be, of 16 not
    shape = re.escape(str((rows, 4, 4)))
    with pytest.raises(aw.InputError, match=rf"fk: not enough memory \(.* TiB .*{shape}\); split the batch"):
        aw.fk(UR5, np.broadcast_to(Q, (rows, 6)))


def test_a_name_that_two_modules_use_blames_nobody():
    import armwright.dynamics.methods  # noqa: F401 - its `Method` is a class, that of `ik` a choice of texts

    for name in ("armwright.dynamics.methods", "armwright.kinematics.inverse"):
        sys.modules[name] = sys.modules.pop(name)  # as if imported in this order, which other tests decide
    with pytest.raises(aw.InputError, match="ik: not enough memory"):
        aw.ik(UR5, np.broadcast_to(np.eye(4), (ROWS, 4, 4)), method="auto")
