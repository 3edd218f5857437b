# SPDX-License-Identifier: Apache-2.0
"""SQL questions to the rows of a campaign: one SELECT, which reads those rows and nothing else.

DuckDB parses the question first. Anything but one SELECT is refused, and so are table functions (``read_csv``,
``enable_logging``): they read files, change settings or take addresses of memory. Of those that only make rows,
`ROW_MAKERS` are accepted. The connection itself is closed as well: no files, no extensions, no variables of this
program, no change of settings.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

from armwright.campaigns.kind import Kind
from armwright.campaigns.store import open_store
from armwright.campaigns.summary import dataset_of, rows_are_sound
from armwright.errors import ArmwrightError, InputError
from armwright.packages import need

ROW_MAKERS = frozenset({"generate_series", "json_each", "json_tree", "range", "repeat", "unnest"})
CLOSED = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,  # a table's name must not find a variable of this program
    "temp_directory": "",  # nothing is written, not even what does not fit into memory
}
EXPECTED = "one SELECT is expected, such as 'select count(*) from rows'"


def ask(folder: str | Path, sql: str, *, kind: Kind | None = None) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return names and rows of an SQL query to the view ``rows``; `kind` as in `open_store`.

    Raises:
        InputError: the text is not one SELECT, DuckDB refuses it, or Python has no such value (a year beyond 9999).

    Example:
        >>> ask("out/campaign", "select status, count(*) from rows group by status")
    """
    duckdb, store = need("duckdb", "scale", "campaign query"), open_store(folder, kind=kind)
    rows = dataset_of(store)
    with duckdb.connect(":memory:", config=CLOSED) as base:
        try:
            sql.encode()  # half of a surrogate pair is no text
            _check(duckdb, base, sql)
            base.register("rows", rows)
            base.execute("set enable_external_access = false")  # a query can neither read nor write other files
            base.execute("set lock_configuration = true")
            with rows_are_sound(store):
                answer = base.execute(sql)
                return [column[0] for column in answer.description], answer.fetchall()
        except ArmwrightError:
            raise
        except (duckdb.Error, ValueError, OverflowError) as error:
            raise InputError(f"query: {_said(error)}") from None


def _said(error: Exception) -> str:
    if "pytz" in str(error):  # DuckDB wants that package for Python's sake; its own text needs none
        return "a time with a zone has no plain value; cast it to text, such as now()::varchar"
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _check(duckdb: ModuleType, base: Any, sql: str) -> None:
    """Raise `InputError` for anything but one SELECT of rows, and DuckDB's own errors for what it cannot parse."""
    kinds = [statement.type for statement in base.extract_statements(sql)]
    if len(kinds) != 1:
        raise InputError(f"query: {len(kinds)} statements; {EXPECTED}")
    if kinds[0] != duckdb.StatementType.SELECT:
        raise InputError(f"query: {kinds[0].name} is refused; {EXPECTED}")
    tree = json.loads(base.execute("select json_serialize_sql(?::varchar)", [sql]).fetchall()[0][0])
    if tree["error"]:
        raise InputError(f"query: {tree['error_message']}; {EXPECTED}")
    for name in _table_functions(tree):
        if name not in ROW_MAKERS:
            raise InputError(f"query: table function {name!r:.60} is refused; valid: {', '.join(sorted(ROW_MAKERS))}")


def _table_functions(tree: object) -> Iterator[str]:
    """Yield the names of all functions that stand where a table can."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if node.get("type") == "TABLE_FUNCTION":
                yield str(node["function"].get("function_name", "")).lower()
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def json_value(value: object) -> object:
    """Return a value of an answer as JSON has it.

    Numbers, texts, truth values and missing values stay as they are. Decimals are texts with all their digits, dates
    and times texts of ISO 8601, intervals seconds (a month counts 30 days), blobs texts in hexadecimal, structs and
    maps objects, lists lists; anything else is its text. Where JSON is printed, NaN and infinities become null.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, date | time):  # a datetime is a date, too
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Mapping):
        return {_key(key): json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    return str(value)


def _key(key: object) -> str:
    found = json_value(key)
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)


def json_rows(names: list[str], rows: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Return an answer as objects by column, or raise `InputError` if two columns have the same name."""
    twice = [name for k, name in enumerate(names) if name in names[:k]]
    if twice:
        raise InputError(f"query: two columns are called {twice[0]!r:.60}; name them apart with AS")
    return [dict(zip(names, map(json_value, row), strict=True)) for row in rows]


def cell(value: object) -> object:
    """Return a value of an answer for a table: as `json_value`, with lists and objects as one text."""
    found = json_value(value)
    return json.dumps(found, ensure_ascii=False) if isinstance(found, dict | list) else found
