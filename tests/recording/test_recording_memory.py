# SPDX-License-Identifier: Apache-2.0
"""Memory that recordings used is used again, but never while somebody looks into it."""

from __future__ import annotations

import gc

import numpy as np

import armwright as aw
from armwright.recording import writer as memory

SHAPE = (3, 50_000)


def address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def test_a_block_comes_back_when_its_last_view_is_gone() -> None:
    first = memory.empty(SHAPE)
    place, view = address(first), first[1:, ::7].T
    view[...] = 7.0
    del first
    gc.collect()
    second = memory.empty(SHAPE)
    assert address(second) != place  # the view still looks into the first
    second[...] = 1.0
    assert (view == 7.0).all()
    del view
    gc.collect()
    assert address(memory.empty(SHAPE)) == place


def test_little_is_kept_and_only_what_fits_is_given() -> None:
    blocks = [memory.empty((1_000_000,)) for _ in range(12)]
    del blocks
    gc.collect()
    assert sum(block.size for block in memory._blocks) <= memory.KEPT_NUMBERS
    small = memory.empty((memory.SMALL_BLOCK_NUMBERS,))
    assert small.shape == (memory.SMALL_BLOCK_NUMBERS,)
    assert (
        sum(block.size for block in memory._blocks) > memory.KEPT_NUMBERS - 2_000_000
    )  # none of the large ones was taken


def test_recordings_do_not_share_memory() -> None:
    robot, law = aw.load("ur5"), aw.control.computed_torque(100.0, 20.0)
    runs = []
    for k in range(6):
        q0 = np.full(6, 0.1 * k)
        runs.append((aw.simulate(robot, law, q0 + 0.2, 2.0, q0=q0), q0))
        if k % 2:
            runs.pop(0)
    for run, q0 in runs:
        assert np.array_equal(run["q"][0], q0)
        assert np.array_equal(run["error"], run["q_ref"] - run["q"])
        again = aw.simulate(robot, law, q0 + 0.2, 2.0, q0=q0)
        assert all(np.array_equal(run[name], again[name]) for name in run)
