# SPDX-License-Identifier: Apache-2.0
"""Checks of values from outside: what is good passes, what is not is told with its place and what would be valid."""

from __future__ import annotations

import json

import pytest

from armwright.errors import DescriptionError, InputError
from armwright.schema.checks import (
    anything,
    by_kind,
    flag,
    listed,
    made,
    named,
    number,
    numbers,
    one_of,
    read_message,
    record,
    refuser,
    text,
    whole,
)
from armwright.schema.toml_text import read_tree

SHAPE = by_kind(
    {
        "ball": (record({"kind": text(), "radius": number(0.0, 1.0)}), lambda radius: ("ball", radius)),
        "box": (record({"kind": text(), "size": numbers(-1.0, 1.0, count=3)}), lambda size: ("box", size)),
    }
)
WORLD = record(
    {"name": text(8)},
    {
        "count": whole(1, 9),
        "runs": whole(2),
        "solid": flag,
        "law": one_of(lambda: ("pd", "pid")),
        "rows": listed(numbers(0.0, 5.0, count=2), 3),
        "tags": listed(text(), least=1),
        "free": numbers(-9.0, 9.0),
        "shapes": named(SHAPE),
        "half": made(whole(0, 10), lambda n: n // 2 if n % 2 == 0 else _odd(n), "even"),
        "rest": anything,
    },
)
GOOD = {
    "name": "bench",
    "count": 3,
    "runs": 10**30,
    "solid": True,
    "law": "pd",
    "rows": [[1, 2.5], [0, 5]],
    "tags": ["x", ""],
    "free": [0.5],
    "shapes": {"a": {"kind": "ball", "radius": 1}, "b": {"kind": "box", "size": [0, 0, -1]}},
    "half": 8,
    "rest": {"any": [1, {}]},
}


def _odd(n):
    raise InputError(f"must be even, got {n}")


def test_good_values_come_out_as_the_program_uses_them():
    found = WORLD(GOOD, refuser("world"))
    assert found["rows"] == ((1.0, 2.5), (0.0, 5.0)) and found["half"] == 4 and found["free"] == (0.5,)
    assert found["shapes"] == {"a": ("ball", 1.0), "b": ("box", (0.0, 0.0, -1.0))} and found["rest"] is GOOD["rest"]
    assert list(WORLD({"name": "x"}, refuser(""))) == ["name"]  # what is absent stays absent: defaults stand elsewhere


WRONG = [
    ("name", 7, "name", "must be a text of 1 to 8 printable characters, got 7"),
    ("name", "", "name", "printable"),
    ("name", "a\nb", "name", "printable"),
    ("name", "ninechars", "name", "1 to 8"),
    ("count", 0, "count", "must be a whole number from 1 to 9, got 0"),
    ("count", 2.0, "count", "whole"),
    ("count", True, "count", "whole"),
    ("runs", 1, "runs", "must be a whole number ≥ 2, got 1"),
    ("solid", 1, "solid", "must be true or false, got 1"),
    ("law", "pdd", "law", "must be one of pd, pid, got 'pdd'"),
    ("law", [], "law", "must be one of pd, pid, got []"),
    ("rows", 1, "rows", "must be a list of 0 to 3 items, got 1"),
    ("rows", [[1, 2]] * 4, "rows", "0 to 3"),
    ("rows", [[1, 2], [1]], "rows", "entry 2: must be a list of 2 numbers from 0 to 5, got [1]"),
    ("rows", [[1, False]], "rows", "entry 1: must be a list of 2 numbers"),
    ("tags", [], "tags", "must be a list of at least 1"),
    ("free", [], "free", "must be a list of 1 to 64 numbers up to ±9, got []"),
    ("free", [float("nan")], "free", "1 to 64"),
    ("free", [10**400], "free", "1 to 64"),
    ("free", [0.0] * 65, "free", "1 to 64"),
    ("shapes", 3, "shapes", "must be a table with names, got 3"),
    ("shapes", {"a": {}}, "shapes.a", "missing key 'kind'"),
    ("shapes", {"a": {"kind": "cone"}}, "shapes.a.kind", "must be one of ball, box, got 'cone'"),
    ("shapes", {"a": {"kind": "ball"}}, "shapes.a", "missing key 'radius'"),
    ("shapes", {"a": {"kind": "ball", "radius": 1.5}}, "shapes.a.radius", "must be a number from 0 to 1, got 1.5"),
    ("half", 3, "half", "must be even, got 3"),
]


@pytest.mark.parametrize("key, value, place, said", WRONG, ids=lambda x: f"{x}"[:24])
def test_what_is_wrong_is_told_with_its_key(key, value, place, said):
    with pytest.raises(InputError) as caught:
        WORLD(GOOD | {key: value}, refuser("world"))
    assert str(caught.value).startswith(f"world: {place}: ") and said in str(caught.value)


def test_unknown_and_missing_keys_are_told_with_the_valid_ones():
    with pytest.raises(InputError, match=r"^world: unknown key 'nmae'; valid keys here: name, count, runs, solid"):
        WORLD({"nmae": "x"}, refuser("world"))
    with pytest.raises(InputError, match=r"^world: shapes.a: unknown key 'r'; valid keys here: kind, radius$"):
        WORLD(GOOD | {"shapes": {"a": {"kind": "ball", "r": 1}}}, refuser("world"))
    pairs = record({"pairs": listed(record({"a": flag}, {"b": record({})}))})
    for item, said in (({"c": 1}, "unknown key 'c'"), ({}, "missing key 'a'"), ({"a": 1}, "a: must be true or false")):
        with pytest.raises(InputError, match=f"^pairs: entry 2: {said}"):
            pairs({"pairs": [{"a": True}, item]}, refuser(""))
    with pytest.raises(InputError, match=r"^pairs: entry 1: b: unknown key 'c'; valid keys here: none$"):
        pairs({"pairs": [{"a": True, "b": {"c": 1}}]}, refuser(""))
    with pytest.raises(InputError, match=r"^world: missing key 'name'$"):
        WORLD({}, refuser("world"))
    with pytest.raises(InputError, match="must be a table with the keys name"):
        WORLD([], refuser("world"))


def test_the_same_check_of_a_file_tells_file_line_and_key():
    content = 'name = "bench"\n[shapes.a]\nkind = "ball"\nradius = 2\n'
    tree = read_tree(content, "w.toml", lambda name: ("", ""))
    with pytest.raises(DescriptionError, match=r"^w.toml:4: shapes.a.radius: must be a number from 0 to 1, got 2"):
        WORLD(tree, tree.refuse)
    good = read_tree(content.replace("2", "0.5"), "w.toml", lambda name: ("", ""))
    assert WORLD(good, good.refuse)["shapes"] == {"a": ("ball", 0.5)}


def test_messages_are_read_or_refused_with_what_they_ask_for():
    shapes = {"look": record({"q": numbers(-1.0, 1.0)}), "list": record({})}
    assert read_message('{"do": "look", "id": 4, "q": [0, 1]}', shapes) == ("look", 4, {"q": (0.0, 1.0)})
    assert read_message('{"do": "list"}', shapes) == ("list", 0, {})
    for wrong, said in (
        ({"do": "open"}, "message: unknown 'open'; valid: look, list"),
        ({"do": "look"}, "look: missing key 'q'"),
        ({"do": "look", "q": [2]}, "look: q: must be a list of 1 to 64 numbers up to ±1, got [2]"),
        ({"do": "list", "q": 1}, "list: unknown key 'q'; valid keys here: none"),
        ({"do": "list", "id": -1}, "list: id: must be a whole number from 0 to"),
        ({"do": "look", "q": [float("nan")]}, "message: NaN is not a number that can be worked with"),
    ):
        with pytest.raises(InputError) as caught:
            read_message(json.dumps(wrong), shapes)
        assert str(caught.value).startswith(said)
    for raw in ("", "{", "7", '{"q": 1}', '{"do": "look", "q": [1e999]}', "[" * 20_000, " " * 70_000):
        with pytest.raises(InputError, match=r"^message: "):
            read_message(raw, shapes)
