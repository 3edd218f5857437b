# SPDX-License-Identifier: Apache-2.0
"""Questions to the rows: one SELECT that reads them and nothing else; every answer has a defined JSON."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armwright.campaigns import CampaignPlan, StoreError, run_campaign
from armwright.campaigns.campaign_query import ask, cell, json_rows, json_value
from armwright.cli.app import run as command
from armwright.cli.output import as_json
from armwright.errors import InputError
from support.campaign_kinds import JUDGED
from support.patience import PATIENCE
from support.plugged_kinds import plugged_kinds  # noqa: F401 - a fixture of all tests here

pytest.importorskip("pyarrow", reason="campaigns need pyarrow (extra 'scale')")
pytest.importorskip("duckdb", reason="needs duckdb (extra 'scale')")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return run_campaign(
        CampaignPlan("judged", 40, 3, chunk=10), tmp_path_factory.mktemp("asked") / "c", engine="serial"
    ).folder


def test_questions_are_answered(folder):
    assert ask(folder, "select count(*) as n, min(item), max(item) from rows") == (
        ["n", "min(item)", "max(item)"],
        [(40, 0, 39)],
    )
    for sql in ("from rows", "with a as (from rows) select * from a", "table rows", "(select * from rows);"):
        assert len(ask(folder, sql)[1]) == 40
    assert ask(folder, "select sum(range * item) from rows, range(3) where item < 2")[1] == [(3,)]
    assert [row[0] for row in ask(folder, "describe rows")[1]] == ["item", "status", "message", *_columns()]


def _columns():
    return list(JUDGED.schema)


REFUSED = [
    "",
    ";",
    "-- nothing",
    "select 1; select 2",
    "nonsense",
    "select 1 from",
    "\ud800",
    "call enable_logging(storage='file')",
    "select * from enable_logging(storage='file')",
    "with a as (from enable_logging(storage='file')) from a",
    "select (select count(*) from enable_logging())",
    "select * from rows where item in (select 1 from force_checkpoint())",
    "copy rows to '{place}/out.csv'",
    "export database '{place}/out'",
    "attach '{place}/out.db'",
    "create table a as select 1",
    "insert into rows values (1)",
    "install httpfs",
    "load httpfs",
    "set threads = 1",
    "set enable_external_access = true",
    "pragma enable_profiling",
    "explain analyze select 1",
    "vacuum",
    "prepare a as select 1",
    "select $1",
    "from read_csv('{place}/secret.csv')",
    "from read_text('{place}/secret.csv')",
    "from read_blob('{place}/secret.csv')",
    "from '{place}/secret.csv'",
    "from glob('{place}/*')",
    "from sniff_csv('{place}/secret.csv')",
    "from query('from rows')",
    "from QUERY_TABLE('rows')",
    "from arrow_scan(1, 2, 3)",
    "from pandas_scan(1)",
    "from duckdb_secrets()",
    "from store",
    "from folder",
    "select error('said so')",
    "select 'x'::int",
    "select " + "(" * 5000 + "1" + ")" * 5000,
]


@pytest.mark.parametrize("sql", REFUSED, ids=lambda sql: ascii(sql[:40]))
def test_what_is_not_one_select_of_the_rows_is_refused(sql, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.csv").write_text("a\n1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"^query: (?!query)"):
        ask(folder, sql.format(place=tmp_path) if "{place}" in sql else sql)
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]


@pytest.mark.parametrize("sql", ["", "call enable_logging(storage='file')", "from enable_logging(storage='file')"])
@pytest.mark.parametrize("json_too", [False, True])
def test_the_command_ends_with_a_word_and_not_with_a_crash(sql, json_too, folder, tmp_path):
    """In a process of its own: DuckDB's logging to a file once aborted it."""
    line = [sys.executable, "-m", "armwright.cli", "campaign", "query", str(folder), sql, *["--json"][: int(json_too)]]
    run = subprocess.run(line, capture_output=True, encoding="utf-8", cwd=tmp_path, timeout=PATIENCE, env=os.environ)
    assert run.returncode == 2, run
    assert "SELECT is expected" in run.stderr or "table function" in run.stderr
    assert "Traceback" not in run.stderr
    assert list(tmp_path.iterdir()) == []


VALUES = [
    ("1.50", "1.50"),
    ("12345678901234567890.12345678901234567::decimal(38, 17)", "12345678901234567890.12345678901234567"),
    ("'\\x00\\xAA'::blob", "00aa"),
    ("'00000000-0000-0000-0000-00000000000a'::uuid", "00000000-0000-0000-0000-00000000000a"),
    ("date '2024-01-02'", "2024-01-02"),
    ("time '01:02:03.5'", "01:02:03.500000"),
    ("timestamp '2024-01-02 03:04:05.25'", "2024-01-02T03:04:05.250000"),
    ("interval '90 seconds'", 90.0),
    ("170141183460469231731687303715884105727::hugeint", 2**127 - 1),
    ("'nan'::double", None),
    ("'-inf'::double", None),
    ("null", None),
    ("true", True),
    ("'ä<b>'", "ä<b>"),
    ("chr(0) || chr(27)", "\x00\x1b"),
    ("[1.5, null]", ["1.5", None]),
    ("{'a': date '2024-01-02', 'b': [{'c': 'x'::blob}]}", {"a": "2024-01-02", "b": [{"c": "78"}]}),
    ("map {1: 0.5::double}", {"1": 0.5}),
    ("map {date '2024-01-02': 'x'}", {"2024-01-02": "x"}),
    ("'101'::bit", "101"),
    ("union_value(k := 1.5::decimal(3, 2))", "1.50"),
    ("'x'::enum('x', 'y')", "x"),
    ("date '290000-01-01'", "290000-01-01"),
]


@pytest.mark.parametrize("sql, value", VALUES)
def test_every_type_has_a_defined_json(sql, value, folder, capsys):
    assert command(["campaign", "query", str(folder), f"select {sql} as a", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"a": value}]
    assert command(["campaign", "query", str(folder), f"select {sql} as a"]) == 0


def test_a_time_with_a_zone_is_asked_for_as_text(folder):
    _, rows = ask(folder, "select (timestamptz '2024-01-02 03:04:05+00')::varchar")
    assert "2024-01-0" in rows[0][0]


def test_columns_of_one_name_are_told_apart(folder, capsys):
    assert command(["campaign", "query", str(folder), "select 1 as a, 2 as a", "--json"]) == 2
    assert "two columns are called 'a'" in capsys.readouterr().err


PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.decimals(),
    st.binary(),
    st.uuids(),
    st.dates(),
    st.times(),
    st.datetimes(timezones=st.sampled_from([None, UTC])),
    st.timedeltas(),
)
KEYS = st.one_of(st.text(), st.integers(), st.dates(), st.uuids(), st.booleans(), st.tuples(st.integers()))
NESTED = st.recursive(PLAIN, lambda part: st.lists(part) | st.tuples(part) | st.dictionaries(KEYS, part), max_leaves=12)


@given(NESTED)
def test_whatever_comes_back_can_be_written_and_read(value):
    text = as_json(json_rows(["a"], [(value,)]))
    json.loads(text)
    assert isinstance(cell(value), bool | int | float | str | None)


def test_exact_values_stay_exact():
    for value in (Decimal("0.1"), UUID(int=5), date(2024, 2, 29), time(1, 2), datetime(2024, 2, 29, tzinfo=UTC)):
        assert (
            type(value)(json_value(value)) == value
            if isinstance(value, Decimal | UUID)
            else (type(value).fromisoformat(json_value(value)) == value)
        )
    assert timedelta(seconds=json_value(timedelta(days=3, milliseconds=5))) == timedelta(days=3, milliseconds=5)
    assert bytes.fromhex(json_value(b"\x00\xff")) == b"\x00\xff"


def test_rows_that_are_damaged_foreign_or_pipes_are_named(folder, tmp_path):
    copy = tmp_path / "c"
    shutil.copytree(folder, copy)
    victim = copy / "rows" / "000000010-000000019.parquet"
    other = run_campaign(CampaignPlan("judged", 40, 4, chunk=10), tmp_path / "other", engine="serial")
    for content in (b"", b"PAR1", victim.read_bytes()[:-9], other.file(10, 20).read_bytes()):
        victim.write_bytes(content)
        with pytest.raises(StoreError, match=r"campaign verify"):
            ask(copy, "select count(*) from rows")
    victim.unlink()
    os.mkfifo(victim)
    with pytest.raises(StoreError, match="regular file"):
        ask(copy, "select count(*) from rows")
