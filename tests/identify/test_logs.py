# SPDX-License-Identifier: Apache-2.0
"""Logs: what is sound is kept, what is not is counted and placed, and every format gives the same numbers."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from armwright.errors import InputError
from armwright.identify import Columns, Log, read_log
from armwright.identify.current_log import in_order
from armwright.identify.filtered_log import derivative, even_samples, low_pass
from armwright.recording.recording import Recording
from armwright.recording.signals import Signal
from support.simulated_logs import motion


def table(rows=400, n=6):
    t, q, qd, _ = motion(n, (rows - 1) / 100.0)
    i = np.sin(np.arange(rows))[:, None] * np.ones(n)
    return np.concatenate([t[:, None], q, qd, i, 0.5 * i, 5.0 * i], axis=1)


def text_of(rows):
    return "".join(",".join(f"{x:.6f}" for x in row) + "\n" for row in rows)


def lines_of(tmp_path, lines):
    path = tmp_path / "log.csv"
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_the_ur10e_layout_is_known_without_being_named(tmp_path):
    data = table()
    path = lines_of(tmp_path, [text_of(data)])
    log = read_log(path)
    assert len(log) == 400 and log.n == 6 and not log.dropped
    np.testing.assert_allclose(log.target_torque, data[:, 25:31], atol=1e-6)


def test_broken_rows_are_dropped_with_their_place_and_the_rest_is_kept(tmp_path):
    data = table()
    lines = text_of(data).splitlines(keepends=True)
    lines[10] = "not,a,row\n"
    lines[20] = lines[20].replace(lines[20].split(",")[3], "nan", 1)
    lines[30] = lines[30].replace(lines[30].split(",")[5], "4.x7", 1)
    lines[40] = lines[39]
    lines[50] = "999.0" + lines[50][lines[50].index(",") :]
    wild = lines[60].split(",")
    wild[2] = "3.0"
    lines[60] = ",".join(wild)
    lines[-1] = lines[-1][:40]
    log = read_log(lines_of(tmp_path, lines))
    reasons = {d.first: d.reason for d in log.dropped}
    assert set(reasons) == {f"line {k}" for k in (11, 21, 31, 41, 51, 61, 400)}
    assert len(log) == 400 - 7
    assert "columns" in reasons["line 11"] and "not a number" in reasons["line 21"]
    assert "once more" in reasons["line 41"] and "out of order" in reasons["line 51"]
    assert "jump" in reasons["line 61"] and "cut short" in reasons["line 400"]
    assert (np.diff(log.t) > 0.0).all()


@pytest.mark.parametrize("bad", [["log started\n"], ["a, b, c\n", "\n", "0.1,0.2\n"], ["cut"]])
@pytest.mark.parametrize("header", [False, True])
def test_bad_lines_before_the_first_row_cost_only_themselves(tmp_path, bad, header):
    lines = text_of(table()).splitlines(keepends=True)
    if bad == ["cut"]:
        bad = [lines[0][:47] + "\n"]
    names = [f"{s}_{j}" for s in ("q", "qd", "current", "target_current", "target_torque") for j in range(6)]
    head = [",".join(["t", *names]) + "\n"] if header else []
    path = lines_of(tmp_path, bad + head + lines)
    log = read_log(path)
    assert len(log) == 400
    assert [d.first for d in log.dropped] == [f"line {k + 1}" for k, line in enumerate(bad) if line.strip()]
    assert all("columns instead of 31" in d.reason for d in log.dropped)
    # a byte-order mark is no part of the first name
    path.write_bytes(b"\xef\xbb\xbf" + "".join(head + lines).encode())
    assert len(read_log(path)) == 400 and not read_log(path).dropped


def test_rows_without_a_stamp_or_off_the_path_at_the_ends_are_dropped(tmp_path):
    data = table()
    data[:, 0] += 800.0
    zeros = np.zeros((2, data.shape[1]))
    zeros[1, 0] = 0.01
    data[0, 2] += 2.0
    data[-2:, 4] -= 1.0
    log = read_log(lines_of(tmp_path, [text_of(np.concatenate([zeros, data]))]))
    assert [(d.count, d.first) for d in log.dropped] == [(2, "line 1"), (1, "line 3"), (2, "line 401")]
    assert len(log) == 397 and log.t[0] > 800.0


def test_a_header_of_our_names_and_a_mapping_with_units_read_the_same(tmp_path):
    data = table(n=2)[:, :7]
    head = "t,q_0,q_1,qd_0,qd_1,current_0,current_1\n"
    own = read_log(lines_of(tmp_path, [head, text_of(data)]))
    other = data.copy()
    other[:, 0] *= 1e3
    other[:, 1:5] *= 180.0 / np.pi
    columns = Columns(
        "ms", ("a", "b"), ("c", "d"), (5, 6), units={"time": 1e-3, "q": np.pi / 180.0, "qd": np.pi / 180.0}
    )
    mapped = read_log(lines_of(tmp_path, ["ms,a,b,c,d,e,f\n", text_of(other)]), columns)
    for part in ("t", "q", "qd", "current"):
        np.testing.assert_allclose(getattr(mapped, part), getattr(own, part), atol=2e-6)


def test_recordings_come_back_from_every_format(tmp_path):
    t, q, qd, _ = motion(3, 3.0)
    signals = {"q": Signal(q, "rad"), "qd": Signal(qd, "rad/s"), "current": Signal(2.0 * q, "A")}
    recording = Recording(t, signals)
    names = ["run.npz", "run.csv"]
    for module, name in (("mcap", "run.mcap"), ("pyarrow", "run.parquet")):
        try:
            __import__(module)
            names.append(name)
        except ImportError:
            pass
    for name in names:
        recording.save(tmp_path / name)
        log = read_log(tmp_path / name)
        assert np.array_equal(log.q, q) and np.array_equal(log.current, 2.0 * q), name
    assert np.array_equal(read_log(recording).qd, qd)


def test_a_plain_parquet_table_is_read_by_its_names(tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="the extra [log] is not installed")
    from pyarrow import parquet

    data = table(n=2)[:, :7]
    names = ["time", "q_1", "q_2", "qd_1", "qd_2", "current_1", "current_2"]
    parquet.write_table(arrow.table(dict(zip(names, data.T, strict=True))), tmp_path / "log.parquet")
    np.testing.assert_array_equal(read_log(tmp_path / "log.parquet").current, data[:, 5:7])


def cdr(names, *parts):
    out = bytearray(b"\x00\x01\x00\x00" + struct.pack("<iI", 5, 0))

    def pad(size):
        out.extend(bytes(-(len(out) - 4) % size))

    def text(value):
        pad(4)
        out.extend(struct.pack("<I", len(value) + 1) + value.encode() + b"\0")

    text("")
    pad(4)
    out.extend(struct.pack("<I", len(names)))
    for name in names:
        text(name)
    for part in parts:
        pad(4)
        out.extend(struct.pack("<I", len(part)))
        pad(8)
        out.extend(struct.pack(f"<{len(part)}d", *part))
    return bytes(out)


@pytest.mark.parametrize("encoding", ["cdr", "json"])
def test_joint_states_of_other_programs(tmp_path, encoding):
    writer = pytest.importorskip("mcap.writer", reason="the extra [log] is not installed")
    t, q, qd, _ = motion(3, 2.0)
    names = ["elbow", "a", "wrist"]
    path = tmp_path / "bag.mcap"
    with path.open("wb") as file:
        out = writer.Writer(file)
        out.start()
        kind = "ros2msg" if encoding == "cdr" else "jsonschema"
        schema = out.register_schema("sensor_msgs/msg/JointState", kind, b"{}")
        channel = out.register_channel("/joint_states", encoding, schema)
        for k in range(len(t)):
            parts = (q[k].tolist(), qd[k].tolist(), (3.0 * q[k]).tolist())
            told = dict(zip(("name", "position", "velocity", "effort"), (names, *parts), strict=True))
            data = cdr(names, *parts) if encoding == "cdr" else json.dumps(told).encode()
            if k == 7:
                data = data[: len(data) // 2]
            out.add_message(channel, round(t[k] * 1e9), data, round(t[k] * 1e9))
        out.finish()
    log = read_log(path)
    assert [d.first for d in log.dropped] == ["message 8"]
    keep = np.arange(len(t)) != 7
    np.testing.assert_array_equal(log.q, q[keep])
    np.testing.assert_allclose(log.current, 3.0 * q[keep])


def test_the_longest_rising_part_survives_one_wild_stamp():
    time = np.arange(50.0)
    for wild, value in ((20, -3.0), (20, 1e9), (0, 30.5), (49, 2.5)):
        broken = time.copy()
        broken[wild] = value
        expected = np.arange(50) != wild
        assert np.array_equal(in_order(broken), expected)


def test_pauses_cut_a_log_and_short_pieces_are_said():
    t, q, qd, _ = motion(2, 10.0)
    keep = (np.arange(len(t)) < 500) | (np.arange(len(t)) > 540)
    keep &= (np.arange(len(t)) < 580) | (np.arange(len(t)) > 600)
    log = Log(t[keep], q[keep], qd[keep], q[keep])
    prepared = even_samples(log)
    assert len(prepared.pieces) == 2 and len(prepared.left_out) == 1
    assert "Hz" in prepared.kept


def test_filtering_without_phase_neither_delays_nor_changes_slow_motion():
    t = np.arange(1000) / 100.0
    slow = np.sin(2.0 * np.pi * 0.5 * t)[:, None]
    fast = np.sin(2.0 * np.pi * 25.0 * t)[:, None]
    smooth = low_pass(100.0, 8.0).without_phase(slow + fast)
    np.testing.assert_allclose(smooth[100:-100], slow[100:-100], atol=1e-4)


def test_the_causal_filter_delays_by_what_it_says_and_pieces_do_not_matter():
    f = low_pass(200.0, 2.0)
    ramp = (np.arange(2000) / 200.0)[:, None]
    whole = f.stream(1).push(ramp)
    assert abs((ramp[-1] - whole[-1])[0] - f.delay) < 0.02 * f.delay
    stream = f.stream(1)
    pieces = np.concatenate([stream.push(part) for part in np.array_split(ramp, 37)])
    assert np.array_equal(pieces, whole)


def test_derivatives_are_of_high_order():
    t = np.arange(200) / 100.0
    q = np.sin(2.0 * np.pi * 5.0 * t)[:, None]
    exact = 2.0 * np.pi * 5.0 * np.cos(2.0 * np.pi * 5.0 * t)[:, None]
    np.testing.assert_allclose(derivative(q, 0.01)[4:-4], exact[4:-4], atol=1e-4 * 31.4)


@pytest.mark.parametrize(
    "spoil, said",
    [
        (lambda a: np.concatenate([a[:, :1], np.degrees(a[:, 1:13]), a[:, 13:]], axis=1), "degrees"),
        (lambda a: np.concatenate([a[:, :13], 1e4 * a[:, 13:]], axis=1), "milliamperes"),
        (lambda a: np.concatenate([1e3 * a[:, :1], a[:, 1:13] * 0.0, a[:, 13:]], axis=1), "milliseconds"),
    ],
)
def test_wrong_units_are_suspected_and_said(tmp_path, spoil, said):
    log = read_log(lines_of(tmp_path, [text_of(spoil(table()))]))
    with pytest.raises(InputError, match=said):
        even_samples(log)


def test_shuffled_time_and_files_without_rows_are_refused(tmp_path):
    data = table()
    with pytest.raises(InputError, match="order of time"):
        read_log(lines_of(tmp_path, [text_of(data[::-1])]))
    with pytest.raises(InputError, match="no rows"):
        read_log(lines_of(tmp_path, ["\n\n"]))
    with pytest.raises(InputError, match="Columns"):
        read_log(lines_of(tmp_path, ["1,2,3\n4,5,6\n"]))
    with pytest.raises(InputError, match="rise"):
        Log([0.0, 2.0, 1.0], np.zeros((3, 1)), np.zeros((3, 1)), np.zeros((3, 1)))
    with pytest.raises(InputError, match="longer log"):
        even_samples(Log(np.arange(50) * 0.01, np.zeros((50, 1)), np.zeros((50, 1)), np.zeros((50, 1))))
