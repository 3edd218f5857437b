# SPDX-License-Identifier: Apache-2.0
"""How long a list may be: the length that it began with before software 5.15, from then on what it was made for."""

import pytest

from support.scripts import run

FIXED, GROWING = ("3.15.8", "5.11.6", "5.14.6"), ("5.15.0", "5.25.1")


def went(body, software):
    return run(f"def f():\n{body}end\n", software=software, e_series=not software.startswith("3."))


@pytest.mark.parametrize("software", FIXED)
@pytest.mark.parametrize("kind", ["l", "global"])
def test_before_5_15_a_variable_keeps_the_length_of_its_list(software, kind):
    begin = "  global l = [1, 2]\n" if kind == "global" else "  l = [1, 2]\n"
    ran = went(begin + "  l = [3, 4]\n  l = l + [1, 1]\n  textmsg(l)\n  l = [1, 2, 3]\n  textmsg(0)\n", software)
    assert ran.texts == ["[4, 5]"]
    assert ran.faults == [(6, 3, "a list of 3 items in place of 2: before 5.15 a list keeps its length")]


@pytest.mark.parametrize("software", FIXED)
def test_before_5_15_a_shorter_list_leaves_the_room_that_there_was(software):
    ran = went("  l = [1, 2, 3]\n  l = [4]\n  l = 2 * l\n  l = [5, 6, 7]\n  textmsg(l)\n  l = [0, 0, 0, 0]\n", software)
    assert ran.texts == ["[5, 6, 7]"] and [found[:2] for found in ran.faults] == [(7, 3)]
    rows = went("  l = [[1], [2]]\n  l = [[3]]\n  l = [[4], [5]]\n  textmsg(l)\n  l = [[1], [2], [3]]\n", software)
    assert rows.texts == ["[[4], [5]]"] and [found[:2] for found in rows.faults] == [(6, 3)]


@pytest.mark.parametrize("software", FIXED)
def test_before_5_15_what_has_no_length_yet_may_get_one(software):
    ran = went(
        "  l = []\n  l = [1, 2]\n  m = 1\n  m = [1, 2, 3]\n  n = [1]\n  n = 5\n  n = [1, 2]\n  textmsg(l)\n", software
    )
    assert ran.texts == ["[1, 2]"] and not ran.faults


@pytest.mark.parametrize("software", FIXED)
def test_before_5_15_every_call_and_every_local_has_lists_of_its_own(software):
    function = "  def g(a):\n    b = a\n    b = a\n    return b\n  end\n"
    ran = went(function + "  x = g([1])\n  y = g([1, 2])\n  textmsg(y)\n", software)
    assert ran.texts == ["[1, 2]"] and not ran.faults


@pytest.mark.parametrize("software", FIXED)
@pytest.mark.parametrize(
    "call, name", [("l.append(2)", "append"), ("l.pop()", "pop"), ("x = make_list(1, 0)", "make_list")]
)
def test_before_5_15_lists_have_no_methods(software, call, name):
    ran = went(f"  l = [1]\n  {call}\n", software)
    assert [found[2] for found in ran.faults] == [f"compile_error_name_not_found:{name}:"]


@pytest.mark.parametrize("software", GROWING)
def test_from_5_15_a_variable_takes_longer_lists(software):
    ran = went("  l = [1, 2]\n  l = [1, 2, 3]\n  l.append(4)\n  textmsg(l)\n  textmsg(l.pop())\n", software)
    assert ran.texts == ["[1, 2, 3, 4]", "4"] and not ran.faults


@pytest.mark.parametrize("software", GROWING)
@pytest.mark.parametrize("grow", ["l.append({0})", "l.insert(0, {0})", "l.extend([{0}])"])
@pytest.mark.parametrize("value", ["7", "[7, 8]"])
def test_from_5_15_a_list_grows_up_to_its_capacity(software, grow, value):
    step = "  " + grow.format(value) + "\n"
    body = f"  l = make_list(1, {value}, 3)\n" + 2 * step + "  textmsg(l.length(), l.excess_capacity())\n" + step
    ran = went(body, software)
    assert ran.texts == ["30"]
    assert ran.faults == [(6, 5, "out of memory: this list has room for 3 items")]


@pytest.mark.parametrize("software", GROWING)
def test_from_5_15_a_copy_has_the_capacity_of_its_list(software):
    ran = went(
        "  l = make_list(2, 1, 3)\n  m = l\n  m.append(5)\n  textmsg(m.capacity(), l)\n  m.append(6)\n", software
    )
    assert ran.texts == ["3[1, 1]"] and [found[:2] for found in ran.faults] == [(6, 5)]


@pytest.mark.parametrize(
    "use, said", [("2 * l", "[2, 2]"), ("l / 2", "[0.5, 0.5]"), ("-l", "[-1, -1]"), ("l + [1, 2]", "[2, 3]")]
)
def test_a_list_with_a_capacity_computes_as_any_other(use, said):
    ran = went(
        f"  l = make_list(2, 1, 5)\n  textmsg({use})\n  textmsg(norm(l) > 1.4, [[1, 2], [3, 4]] * l)\n", "5.25.1"
    )
    assert ran.texts == [said, "True[3, 7]"] and not ran.faults


def test_a_capacity_holds_the_length_that_it_is_made_with():
    assert "with a capacity of 2" in went("  l = make_list(3, 0, 2)\n", "5.25.1").faults[0][2]
