# SPDX-License-Identifier: Apache-2.0
"""``lab functions``: what it lists is what programs may call."""

import json

import pytest

from armwright.cli import main
from armwright.lab.script.function_listing import list_functions
from armwright.lab.script.script_compiler import compile_script
from armwright.lab.script.script_faults import ScriptError


def test_what_is_listed_may_be_called_so():
    for row in list_functions():
        if not row["runs"] or not row["parameters"]:
            continue
        name, count = row["name"], len(row["parameters"])
        needed = [p for p in row["parameters"] if p not in row["defaults"]]
        version = tuple(map(int, (row["since"] or "5.4").split(".")))
        compile_script(f"{name}({', '.join(f'{p} = 0' for p in row['parameters'])})\n", version)
        compile_script(f"{name}({', '.join('0' for _ in needed)})\n", version)
        with pytest.raises(ScriptError, match="takes"):
            compile_script(f"{name}({', '.join(['0'] * (count + 1))})\n", version)
        if needed:
            with pytest.raises(ScriptError, match=f"lacks '{needed[-1]}'"):
                compile_script(f"{name}({', '.join('0' for _ in needed[1:])})\n", version)


def test_a_function_is_not_there_before_its_software():
    rows = [row for row in list_functions() if row["since"] and row["runs"] and row["parameters"] is not None]
    assert len(rows) > 5
    for row in rows:
        major, minor = map(int, row["since"].split("."))
        with pytest.raises(ScriptError, match="compile_error_name_not_found"):
            compile_script(f"{row['name']}()\n", (major, minor - 1))


def test_the_command_lists_one_or_all(capsys):
    assert main(["lab", "functions", "movej", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["call"] == "movej(q, a=1.4, v=1.05, t=0, r=0)" and row["runs"] and row["does"] == "move"
    assert main(["lab", "functions"]) == 0
    told = capsys.readouterr().out
    assert all(row["name"] in told for row in list_functions())
    assert main(["lab", "functions", "movj"]) == 2
    assert "did you mean 'movej'?" in capsys.readouterr().err
