# SPDX-License-Identifier: Apache-2.0
"""Normals from counters: the published block function, any cut gives the same bits, and they are normal."""

from __future__ import annotations

import ctypes
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy import stats

from armwright.errors import InputError
from armwright.graph import jit
from armwright.graph import normals as noise
from armwright.graph.emit import llvm_normals as llvm_noise
from armwright.graph.emit.llvm_math import LaneWriter
from armwright.graph.thread_pool import set_threads, threads
from armwright.robot.load import load
from armwright.simulation import JointSensors, Loop

ONES = 2**64 - 1
# counter, key, words: Threefry-2x64 with 20 rounds in the file kat_vectors of Random123
KNOWN = (
    ((0, 0), (0, 0), (0xC2B6E3A8C2C69865, 0x6F81ED42F350084D)),
    ((ONES, ONES), (ONES, ONES), (0xE02CB7C4D95D277A, 0xD06633D0893B8B68)),
    (
        (0x243F6A8885A308D3, 0x13198A2E03707344),
        (0xA4093822299F31D0, 0x082EFA98EC4E6C89),
        (0x263C7D30BB0F0AF1, 0x56BE8361D3311526),
    ),
)
_made = iter(range(1000))


def compiled(build, width, inputs, outputs, *, fma=None):
    """A function of vectors of words: `build` turns loaded registers into registers to be stored."""
    w = LaneWriter(width, fma=jit.host().fma if fma is None else fma)
    given = [w.emit(f"load {w.integer}, ptr {w.offset('%x', k * width)}, align 8") for k in range(inputs)]
    for k, (kind, value) in enumerate(build(w, given)):
        w.line(f"store {kind} {value}, ptr {w.offset('%y', k * width)}, align 8")
    name = f"test_noise_{next(_made)}"
    text = "\n".join([f"define void @{name}(ptr %x, ptr %y) {{", *w.lines, "  ret void", "}", *sorted(w.declarations)])
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(
        jit.load_function(jit.compile_object(text), name)
    )

    def call(x):
        y = np.empty((outputs, width), dtype=np.uint64)
        function(np.ascontiguousarray(x).ctypes.data, y.ctypes.data)
        return y

    return call


def in_ulps(got, expected):
    return np.abs(got - expected) / np.spacing(np.abs(expected))


def test_known_answers_of_the_numpy_block_function():
    for counter, key, words in KNOWN:
        assert tuple(int(word) for word in noise.threefry(counter, key)) == words


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_known_answers_of_the_compiled_block_function(width):
    def block(w, x):
        return [(w.integer, word) for word in llvm_noise.threefry(w, (x[0], x[1]), (x[2], x[3]))]

    call = compiled(block, width, 4, 2)
    for counter, key, words in KNOWN:
        x = np.repeat(np.array([*counter, *key], dtype=np.uint64)[:, None], width, axis=1)
        assert [[int(v) for v in row] for row in call(x)] == [[word] * width for word in words]


@pytest.mark.parametrize("fma", [True, False])
def test_logarithm_is_good_to_an_ulp(fma):
    if fma and not jit.host().fma:
        pytest.skip("this machine does not fuse")

    def logarithm(w, x):
        return [(w.type, llvm_noise.minus_two_log(w, w.emit(f"bitcast {w.integer} {x[0]} to {w.type}")))]

    call = compiled(logarithm, 4, 1, 1, fma=fma)
    rng = np.random.default_rng(0)
    spread = [rng.uniform(0.0, 1.0, 800), 2.0 ** rng.uniform(-53, 0, 800), 1.0 - 2.0 ** rng.uniform(-53, -1, 800)]
    x = np.concatenate(
        [*spread, [1.0, 2.0**-52, 2.0**-53, 0.5, np.sqrt(0.5), np.nextafter(np.sqrt(0.5), 0), 0.75, 0.25]]
    )
    got = np.concatenate([call(part.view(np.uint64)).view(np.float64)[0] for part in x.reshape(-1, 4)])
    with localcontext(prec=40):
        exact = [-2 * Decimal(float(value)).ln() for value in x]
        error = [float(abs(Decimal(float(g)) - e)) for g, e in zip(got, exact, strict=True)]
    assert (np.array(error) / np.spacing(np.abs([float(e) for e in exact]))).max() < 1.0
    assert got[list(x).index(1.0)] == 0.0


def test_direction_covers_the_circle_evenly():
    def build(w, x):
        return [(w.type, part) for part in llvm_noise.direction(w, x[0])]

    call = compiled(build, 8, 1, 2)
    # the 32 low bits at even steps: an even grid of angles, each of the eight octants as often as another
    words = (np.arange(4096, dtype=np.uint64) << np.uint64(20)) + np.uint64(1 << 19) + np.uint64(0xABC << 32)
    xy = np.concatenate([call(part).view(np.float64) for part in words.reshape(-1, 8)], axis=1)
    assert np.abs(np.hypot(*xy) - 1.0).max() < 3e-16
    angles = np.sort(np.arctan2(xy[1], xy[0]))
    assert np.abs(np.diff(angles) - 2.0 * np.pi / 4096).max() < 1e-14


def test_any_cut_gives_the_same_bits():
    seeds, width = [5, 6, 2**64 - 1, 0, 1000], 12
    whole = noise.normals(seeds, 0, 300, width)
    for first, ticks in ((0, 1), (1, 1), (1, 2), (2, 7), (3, 8), (17, 100), (0, 299), (299, 1), (150, 0)):
        assert (noise.normals(seeds, first, ticks, width) == whole[:, first : first + ticks]).all()
    for lane, seed in enumerate(seeds):
        assert (noise.normals([seed], 40, 60, width)[0] == whole[lane, 40:100]).all()
    for fewer in (1, 3, 4, 7, 11):  # components do not depend on how many there are
        assert (noise.normals(seeds, 0, 50, fewer) == whole[:, :50, :fewer]).all()
    before = threads()
    try:
        set_threads(3)
        assert (noise.normals(seeds, 0, 300, width) == whole).all()
    finally:
        set_threads(before)


@pytest.mark.parametrize("width", [2, 14])
@pytest.mark.parametrize("side", [1, 2, 4, 8])
def test_groups_of_lanes_get_the_same_bits(side, width):
    source = noise.NormalSource(range(100, 109), width)
    for first, ticks in ((0, 16), (5, 9), (2, 1), (3, 1)):
        table = source.table(first, ticks)
        fill = source.filler(first, ticks, side)
        for group in range(-(-9 // side)):
            out = np.full((ticks, width, side), np.nan)
            fill(group, out.ctypes.data)
            lanes = np.minimum(np.arange(side) + group * side, 8)
            assert (out.transpose(2, 0, 1) == table[lanes]).all()


def test_the_width_of_the_machine_does_not_matter():
    results = []
    for side, width in ((1, 1), (1, 2), (1, 4), (1, 8), (1, 16), (1, 32)):
        name = f"test_noise_width_{width}"
        text = llvm_noise.noise_ir(name, side=side, width=width, fma=jit.host().fma, register=jit.host().width)
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 4, ctypes.c_void_p)(
            jit.load_function(jit.compile_object(text), name)
        )
        out, key = np.full(2 * 5 * 14 + 64, np.nan), np.array([77], dtype=np.uint64)
        function(key.ctypes.data, 9, 1, 7, 5 * 7, out.ctypes.data)
        assert np.isnan(out[2 * 5 * 14 :]).all()  # nothing is written beyond the last number
        results.append(out[: 2 * 5 * 14])
    assert np.isfinite(results[0]).all()
    assert all((other == results[0]).all() for other in results[1:])


@pytest.mark.filterwarnings("ignore:kernels run on the NumPy tape")
def test_numpy_gives_the_same_numbers(monkeypatch):
    seeds = [3, 2**63, 12345]
    ours = noise.normals(seeds, 7, 5000, 6)
    source = noise.NormalSource(seeds, 6)
    group, again = np.empty((2, 6, 4)), np.empty((2, 6, 4))
    source.filler(7, 2, 4)(0, group.ctypes.data)
    monkeypatch.setenv("ARMWRIGHT_BACKEND", "numpy")
    plain = noise.normals(seeds, 7, 5000, 6)
    assert in_ulps(ours, plain).max() <= 4.0  # log, sine, root and product: a rounding or two each
    assert (in_ulps(ours, plain) <= 1.0).mean() > 0.95
    source.filler(7, 2, 4)(0, again.ctypes.data)
    assert in_ulps(group, again).max() <= 4.0


def test_a_million_numbers_are_normal():
    z = noise.normals([2024], 0, 100_000, 10)[0].ravel()
    N = z.size
    assert abs(z.mean()) < 4.0 / np.sqrt(N)
    assert abs((z**2).mean() - 1.0) < 4.0 * np.sqrt(2.0 / N)
    assert abs((z**3).mean()) < 4.0 * np.sqrt(15.0 / N)
    assert abs((z**4).mean() - 3.0) < 4.0 * np.sqrt(96.0 / N)
    assert stats.kstest(z, "norm").pvalue > 0.01
    # Anderson and Darling with known mean and deviation: 3.857 is the one-percent point
    x, k = np.sort(z), np.arange(1, N + 1)
    A2 = -N - ((2 * k - 1) * (stats.norm.logcdf(x) + stats.norm.logsf(x[::-1]))).mean()
    assert A2 < 3.857


def test_tails_are_there():
    z = np.abs(noise.normals([1, 2, 3, 4], 0, 400_000, 12)).ravel()
    for edge in (3.0, 4.0, 4.5, 5.0):
        expected = z.size * 2.0 * stats.norm.sf(edge)
        assert abs((z > edge).sum() - expected) < 4.0 * np.sqrt(expected)
    assert 5.0 < z.max() < 6.5


def test_nothing_is_correlated():
    seeds = [0, 1, 2, 3, 2**32, 2**32 + 1, 2**63, 2**64 - 1]
    z = noise.normals(seeds, 0, 50_000, 8)
    N = z.shape[1]
    for kind in (lambda v: v, np.abs):  # values, and sizes: a shared radius would show there
        v = kind(z) - kind(z).mean(axis=1, keepdims=True)
        v = v / v.std(axis=1, keepdims=True)
        flat = v.transpose(0, 2, 1).reshape(-1, N)  # components of all seeds
        assert np.abs(flat @ flat.T / N - np.eye(len(flat))).max() < 5.0 / np.sqrt(N)
        for lag in (1, 2, 3, 64):
            late, early = flat[:, lag:], flat[:, :-lag]
            assert np.abs(late @ early.T / N).max() < 5.0 / np.sqrt(N)
    other = noise.normals(seeds, 0, 50_000, 8, stream=1)
    assert abs((other * z).mean()) < 4.0 / np.sqrt(z.size)


def test_one_bit_of_seed_or_tick_changes_half_of_the_bits():
    key, counter = (1234, noise.STREAM), (4321, 2)
    base = np.array(noise.threefry(counter, key))
    for bit in range(64):
        for flipped in (
            noise.threefry(counter, (key[0] ^ 1 << bit, key[1])),
            noise.threefry((counter[0] ^ 1 << bit, counter[1]), key),
        ):
            assert 32 < int(np.bitwise_count(base ^ np.array(flipped)).sum()) < 96  # of 128, 5.7 deviations


def test_row_by_row_is_the_table():
    source = noise.NormalSource([9, 10], 6)
    table = source.table(0, 700).copy()
    for tick in (0, 1, 255, 256, 257, 699, 3):
        assert (source.row(tick) == table[0, tick]).all()


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, True, "7"])
def test_seeds_that_are_none(seed):
    with pytest.raises(InputError, match="whole numbers from 0 to 2\\^64 - 1"):
        noise.normals([seed], 0, 1, 2)


def test_bad_arguments():
    with pytest.raises(InputError, match="first must be"):
        noise.normals([0], -1, 1, 2)
    with pytest.raises(InputError, match="width must be"):
        noise.normals([0], 0, 1, 0)
    with pytest.raises(InputError, match="shape"):
        noise.normals([0], 0, 4, 2, np.empty((1, 4, 3)))
    with pytest.raises(InputError, match="at least one seed"):
        noise.normals([], 0, 4, 2)


def test_a_tick_that_an_event_cut_short_is_followed_by_new_noise():
    robot, sensors = load("planar2"), JointSensors(position_noise=1e-3, velocity_noise=1e-3)
    event = {"below": lambda q: 0.2 - q[0]}
    session = Loop.of(robot, sensors=sensors, events=event).session([0.3, -0.4], seed=11)
    assert session.run(1.0) == "below"
    stopped = session.tick
    session.run(0.05)
    recording = session.recording()
    true = np.concatenate([recording["q"], recording["qd"]], axis=1)
    z = ((recording["measured"] - true) / 1e-3)[: stopped + 40]
    drawn = noise.normals([11], 0, stopped + 40, 4)[0]
    assert np.abs(z - drawn).max() < 1e-9
    assert stopped > 2
