# SPDX-License-Identifier: Apache-2.0
"""What `armwright lab serve` prints while it serves: what the screen of a teach pendant would show."""

from armwright.cli.lab_serve import MOST_NEWS, OperatorNews
from armwright.lab.controller.controller_states import ControllerEvent
from support.scripts import controller, run_text, went


def lines(news, capsys):
    news.tell()
    return [line.partition(" s  ")[2] for line in capsys.readouterr().err.splitlines()]


def test_faults_stops_and_texts_are_told_once(capsys):
    c = controller()
    news = OperatorNews(c)
    run_text(c, "def wrong():\n  x = 1\n  nosuch(x)\nend\n")
    assert lines(news, capsys) == ["program, line 3, column 3: compile_error_name_not_found:nosuch:"]
    run_text(c, 'def prog():\n  textmsg("n is ", 3)\n  popup("look \x1b[2J here")\n  a = [1]\n  b = a[2]\nend\n')
    went(c, 10)
    assert lines(news, capsys) == [
        "program prog: started",
        "textmsg: n is 3",
        r"popup: look \x1b[2J here",
        "program, line 5, column 7: index_error: no item 2 of 1",
        "program prog: stopped",
    ]
    c.why = "a hand"
    c.handle(ControllerEvent.COLLISION)
    assert lines(news, capsys) == ["protective stop: a hand"] and lines(news, capsys) == []


def test_a_flood_is_cut_and_counted(capsys):
    c = controller()
    news = OperatorNews(c)
    run_text(c, "def prog():\n  k = 0\n  while k < 500:\n    textmsg(k)\n    k = k + 1\n  end\nend\n")
    went(c, 50)
    told = lines(news, capsys)
    assert len(told) == MOST_NEWS + 1 and told[-1] == "program prog: stopped"
    assert told[0] == f"… and {c.noted - MOST_NEWS} lines before this one" and c.noted > 100
