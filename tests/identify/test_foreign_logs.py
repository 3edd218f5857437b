# SPDX-License-Identifier: Apache-2.0
"""Logs of other programs: every dialect gives the numbers that were written, or a question, never other numbers."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError
from armwright.identify import Columns, explain_log, read_log, read_mapping
from armwright.identify.foreign_logs.column_mapping import mapping_text
from support.simulated_logs import motion

N, RATE = 6, 125.0
T, Q, QD, _ = motion(N, 8.0, rate=RATE)
CURRENT = np.sin(3.0 * T)[:, None] * np.arange(1.0, N + 1.0) + 0.2 * Q
UR_NAMES = (
    "shoulder_pan_joint",
    "shoulder_lift_joint",
    "elbow_joint",
    "wrist_1_joint",
    "wrist_2_joint",
    "wrist_3_joint",
)
BY_ALPHABET = [2, 1, 0, 3, 4, 5]
DEG = 180.0 / np.pi


def names(*patterns, first=0):
    """Return names; a pattern with {} stands for all joints."""
    return [p.format(k) for p in patterns for k in (range(first, first + N) if "{}" in p else (0,))]


def written(path, head, columns, mark=",", decimal=".", comment=""):
    """Write a header and columns (T, k); every number with all its digits."""
    rows = np.concatenate([np.reshape(c, (len(T), -1)) for c in columns], axis=1)
    lines = [] if head is None else [comment + mark.join(head)]
    lines += [mark.join(repr(float(x)).replace(".", decimal) for x in row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def check(log, kind="A", speeds=1e-9):
    np.testing.assert_allclose(log.t - log.t[0], T[: len(log)], atol=1e-6)
    np.testing.assert_allclose(log.q, Q, atol=1e-9)
    np.testing.assert_allclose(log.current, CURRENT, atol=1e-9)
    np.testing.assert_allclose(log.qd, QD, atol=speeds)
    assert log.kind == {"A": "current", "N m": "torque"}[kind] and "rows at 125 Hz" in log.account


PLAIN = names("t", "q{}", "qd{}", "i{}")
RTDE = names("timestamp", "actual_q_{}", "actual_qd_{}", "actual_current_{}", "target_q_{}")
FRANKA = names("time", "success_rate", "state.q[{}]", "state.q_d[{}]", "state.dq[{}]", "state.tau_J[{}]")
FRANKA += names("state.tau_ext_hat_filtered[{}]")
ROSTOPIC = names("%time", "field.header.seq", "field.header.stamp", "field.position{}", "field.velocity{}")
ROSTOPIC += names("field.effort{}")
DEGREES = names("time_s", "q_{}_deg", "dq_{}_deg", "tau_{}", first=1)
BRACKETS = names("time [us]", "q{} [rad]", "qd{} [rad/s]", "current{} [mA]")
CROWD = names("t", "q_d{}", "actual_q_{}", "target_qd_{}", "actual_TCP_pose_{}", "actual_qd_{}", "tau_ext_{}")
CROWD += names("actual_current_{}")
NS = 1.6e18 + 1e9 * np.round(T, 3)
ONES, ROWS = np.ones_like(T), np.arange(len(T))
TURNED = QD * [1, -1, 1, 1, -1, 1]
CASES = {  # header, columns, separator, decimal mark, comment; what the user says; what the motors' columns hold
    "semicolons with decimal comma": (
        (names("t", "q_{}", "qd_{}", "current_{}"), [T, Q, QD, CURRENT], ";", ","),
        {},
        "A",
    ),
    "spaces with decimal comma": ((names("t", "q_{}", "qd_{}", "current_{}"), [T, Q, QD, CURRENT], " ", ","), {}, "A"),
    "tabs": ((names("Time", "q{}", "dq{}", "tau{}", first=1), [T, Q, QD, CURRENT], "\t"), {}, "N m"),
    "UR's record.py": ((RTDE, [T + 4156.2, Q, QD, CURRENT, Q + 0.1], " "), {}, "A"),
    "libfranka": ((FRANKA, [1e3 * T, ONES, Q, Q + 0.2, QD, CURRENT, 0.1 * CURRENT], ", "), {}, "N m"),
    "rostopic -p": ((ROSTOPIC, [NS, ROWS, NS, Q, QD, CURRENT]), {"effort": "torque"}, "N m"),
    "tau_ and dq_, degrees said": ((DEGREES, [T, DEG * Q, DEG * QD, CURRENT], ";"), {}, "N m"),
    "degrees not said, speeds in rad/s": ((PLAIN, [T, DEG * Q, QD, CURRENT]), {}, "A"),
    "speeds in deg/s, positions in rad": ((PLAIN, [T, Q, DEG * QD, CURRENT]), {}, "A"),
    "degrees as the user says": ((PLAIN, [T, DEG * Q, DEG * QD, CURRENT]), {"angles": "degrees"}, "A"),
    "milliseconds": ((PLAIN, [1e3 * T, Q, QD, CURRENT]), {}, "A"),
    "units in brackets": ((BRACKETS, [1e6 * T, Q, QD, 1e3 * CURRENT]), {}, "A"),
    "a header behind #": ((PLAIN, [T, Q, QD, CURRENT], " ", ".", "# "), {}, "A"),
    "turned speeds of two joints": ((PLAIN, [T, Q, TURNED, CURRENT]), {}, "A"),
    "D_Theta": (
        (names("ID", "Time", "Theta_{}", "D_Theta_{}", "Torque_{}"), [ROWS, T, Q, QD, CURRENT], ", "),
        {},
        "N m",
    ),
    "no time, told by speeds": ((PLAIN[1:], [Q, QD, CURRENT]), {}, "A"),
    "no time, --rate": ((PLAIN[1:], [Q, QD, CURRENT]), {"rate": 125.0}, "A"),
    "targets and Cartesian beside": ((CROWD, [T, Q + 1, Q, QD + 1, Q, QD, CURRENT, CURRENT]), {}, "A"),
}


@pytest.mark.parametrize("case", CASES)
def test_every_dialect_gives_the_numbers_that_were_written(tmp_path, case):
    (head, columns, *how), said, kind = CASES[case]
    check(read_log(written(tmp_path / "log.csv", head, columns, *how), **said), kind)


def test_joint_states_of_a_bag_come_in_the_order_of_the_arm(tmp_path):
    head = ["secs", "nsecs"]
    head += [f"{UR_NAMES[j]}_{part}" for part in ("position", "velocity", "effort") for j in BY_ALPHABET]
    seconds = np.floor(T)
    columns = [
        1.6e9 + seconds,
        np.round(1e9 * (T - seconds)),
        Q[:, BY_ALPHABET],
        QD[:, BY_ALPHABET],
        CURRENT[:, BY_ALPHABET],
    ]
    path = written(tmp_path / "bag.csv", head, columns)
    check(read_log(path, robot=aw.load("ur5"), effort="current"))
    check(read_log(path, effort="current"))  # everybody's arm: its names are known


def test_names_of_joints_may_stand_in_columns_of_words(tmp_path):
    parts = names("field.name{}", "field.position{}", "field.velocity{}", "field.effort{}")
    lines = [",".join(["%time", *parts])]
    for k in range(len(T)):
        numbers = [repr(float(x)) for values in (Q, QD, CURRENT) for x in values[k, BY_ALPHABET]]
        lines.append(",".join([repr(1e9 * T[k]), *(UR_NAMES[j] for j in BY_ALPHABET), *numbers]))
    path = tmp_path / "joint_states.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    check(read_log(path, robot=aw.load("ur5"), effort="current"))


def test_lists_in_cells_are_taken_apart(tmp_path):
    lines = ["stamp,position,velocity,effort"]
    for k in range(len(T)):
        cells = ('"[' + ", ".join(repr(float(x)) for x in row[k]) + ']"' for row in (Q, QD, CURRENT))
        lines.append(",".join([repr(float(T[k])), *cells]))
    path = tmp_path / "bag.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    check(read_log(path, effort="torque"), "N m")


def test_speeds_are_made_from_positions_and_the_filter_is_said(tmp_path):
    path = written(tmp_path / "log.csv", names("t", "q{}", "tau{}"), [T, Q, CURRENT])
    log = read_log(path)
    inner = slice(60, -60)
    np.testing.assert_allclose(log.qd[inner], QD[inner], atol=2e-4 * np.abs(QD).max())
    assert "speeds made from positions (Butterworth, fourth order, 25 Hz" in log.account


def test_tables_side_by_side_are_one_log(tmp_path):
    written(tmp_path / "arm_position.csv", names("t", "Joint_{}", first=1), [T, Q])
    written(tmp_path / "arm_velocity.csv", names("t", "Joint_{}", first=1), [T, QD])
    written(tmp_path / "arm_current.csv", names("t", "Joint_{}", first=1), [T, CURRENT])
    paths = [tmp_path / f"arm_{part}.csv" for part in ("position", "velocity", "current")]
    check(read_log(paths))
    written(tmp_path / "arm_velocity.csv", names("t", "Joint_{}", first=1), [T + 0.1, QD])
    with pytest.raises(InputError, match="not of one log"):
        read_log(paths)


GEAR = np.diag([32.0, 32.0, 45.0, -48.0, 45.0, 32.0])
GEAR[5, 4] = 32.0
MAP = """
[time]
rate = 125
[position]
columns = ["m1", "m2", "m3", "m4", "m5", "m6"]
side = "motor"
[torque]
columns = ["c1", "c2", "c3", "c4", "c5", "c6"]
side = "motor"
scale = [1, 1, 1, 1, 1, -1]
[gear]
matrix = {matrix}
offset = [0, -1.5707963267948966, 1.5707963267948966, 0, 0, 0]
"""


def test_motor_angles_behind_a_coupled_wrist_by_a_mapping_file(tmp_path):
    offset = np.array([0.0, -np.pi / 2, np.pi / 2, 0.0, 0.0, 0.0])
    motor, torque = (Q - offset) @ GEAR.T, np.linalg.solve(GEAR.T, CURRENT.T).T
    path = written(tmp_path / "tx.csv", names("m{}", "c{}", first=1), [motor, torque * [1, 1, 1, 1, 1, -1]])
    (tmp_path / "map.toml").write_text(MAP.format(matrix=GEAR.tolist()), encoding="utf-8")
    log = read_log(path, tmp_path / "map.toml")
    np.testing.assert_allclose(log.q, Q, atol=1e-9)
    np.testing.assert_allclose(log.current, CURRENT, atol=1e-9)
    # power is the same on both sides of the gears
    rates = np.gradient(motor, T, axis=0)
    np.testing.assert_allclose(
        (rates * torque).sum(axis=1), (np.gradient(Q, T, axis=0) * CURRENT).sum(axis=1), atol=1e-9
    )


SIDES = names("t", "left_q{}", "right_q{}", "left_tau{}", "right_tau{}")
SEVEN = [*names("t", "q{}"), "q6", *names("i{}"), "i6"]
WORDS = ("base", "elbow", "hand", "lower", "shoulder", "upper")
WORDED = ["t", *(f"pos_{word}" for word in WORDS), *(f"tau_{word}" for word in WORDS)]
WITHOUT = names("t", "q{}", "i{}")
OUTSIDE = names("t", "q{}", "tau_ext_{}")
MEANT = names("t", "target_q_{}", "actual_current_{}")
QUESTIONS = {
    "degrees or motors": (WITHOUT, [T, 40.0 * Q, CURRENT], {}, r"--angles degrees\), or radians of the motors"),
    "no time, no speeds": (WITHOUT[1:], [Q, CURRENT], {}, "--rate HZ"),
    "no names": (None, [T, Q, QD, CURRENT], {}, "--columns FILE"),
    "no currents": (names("t", "q{}", "qd{}"), [T, Q, QD], {}, "currents or torques"),
    "commanded only": (MEANT, [T, Q, CURRENT], {}, "positions"),
    "an external torque only": (OUTSIDE, [T, Q, CURRENT], {}, "currents or torques"),
    "two arms": (SIDES, [T, Q, Q, CURRENT, CURRENT], {}, "may both be the positions"),
    "another factor": (PLAIN, [T, Q, 7.0 * QD, CURRENT], {}, "times as fast"),
    "stamps of whole seconds": (PLAIN, [np.floor(T), Q, QD, CURRENT], {}, "--rate HZ"),
    "seven joints for six": (SEVEN, [T, Q, T, CURRENT, T], {"robot": "ur5"}, "the arm has 6 joints"),
    "a name too few": (names("t", "q{}", "qd{}", "i{}")[:-1], [T, Q, QD, CURRENT], {}, "19 columns without names"),
    "alphabet or arm": (WORDED, [T, Q, CURRENT], {}, "alphabet"),
}


@pytest.mark.parametrize("case", QUESTIONS)
def test_what_cannot_be_decided_is_asked(tmp_path, case):
    head, columns, said, question = QUESTIONS[case]
    said = {key: aw.load(value) if key == "robot" else value for key, value in said.items()}
    with pytest.raises(InputError, match=question):
        read_log(written(tmp_path / "log.csv", head, columns), **said)


@pytest.mark.parametrize("case", CASES)
def test_an_explained_mapping_reads_the_same(tmp_path, case):
    (head, columns, *how), said, kind = CASES[case]
    path = written(tmp_path / "log.csv", head, columns, *how)
    text = explain_log(path, rate=said.get("rate"))
    if "angles" in said or "effort" in said:
        assert "# open: " in text or "[effort]" in text
        return
    (tmp_path / "map.toml").write_text(text, encoding="utf-8")
    check(read_log(path, tmp_path / "map.toml"), kind)


def test_a_mapping_is_written_as_it_is_read(tmp_path):
    columns = Columns(
        "t",
        ("a", "b"),
        (),
        (4, 5),
        kind="torque",
        units={"time": 1e-3, "q": np.pi / 180.0, "current": 0.5},
        scale={"current": (1.0, -2.0)},
        offset=(0.0, 1.5),
        gear=[[2.0, 0.0], [1.0, 3.0]],
        motor_side=("q",),
    )
    (tmp_path / "map.toml").write_text(mapping_text(columns, "x.csv"), encoding="utf-8")
    again = read_mapping(tmp_path / "map.toml")
    signals = {"q": np.arange(6.0).reshape(3, 2), "current": np.arange(6.0).reshape(3, 2) - 2.0}
    for label, value in columns.applied(signals).items():
        np.testing.assert_allclose(again.applied(signals)[label], value, rtol=1e-12)
    assert again.kind == "torque" and again.time == "t" and tuple(again.current) == (4, 5)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('[position]\ncolumns = ["a"]\nunit = "furlong"\n[current]\ncolumns = ["b"]\n', "furlong"),
        ('[position]\ncolumns = ["a"]\n', "torque"),
        ('[positions]\ncolumns = ["a"]\n', "positions"),
        ('[position]\ncolumns = ["a"]\nside = "left"\n[current]\ncolumns = ["b"]\n', "side"),
        ('[position]\ncolumns = ["a"]\nside = "motor"\n[current]\ncolumns = ["b"]\n', "gear"),
        ('[position]\ncolumns = ["a"]\n[current]\ncolumns = ["b", "c"]\n', "current names 2"),
        ("no toml", "TOML"),
    ],
)
def test_a_wrong_mapping_says_what_is_wrong(tmp_path, wrong, said):
    (tmp_path / "map.toml").write_text(wrong, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        read_mapping(tmp_path / "map.toml")


def test_a_resting_arm_in_the_known_layout_is_read_and_another_table_of_31_columns_is_not(tmp_path):
    noise = np.random.default_rng(3).normal(size=(len(T), 30))
    rest = 1e-4 * noise + np.where(np.arange(30) < 6, 1.0, 0.0)
    assert read_log(written(tmp_path / "rest.csv", None, [T, rest])).n == 6
    with pytest.raises(InputError, match="31 columns without names"):
        read_log(written(tmp_path / "other.csv", None, [T, Q, 3.0 * QD, noise[:, :18]]))
