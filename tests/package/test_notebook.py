# SPDX-License-Identifier: Apache-2.0
"""The notebook runs from top to bottom.

Its code cells are executed in order in one namespace, with matplotlib drawing into memory: what a kernel would do,
without Jupyter among the test's dependencies. Cells use plain Python only; a magic command would not compile here.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from support.places import ROOT

NOTEBOOK = ROOT / "docs" / "notebooks" / "rob315.ipynb"


@pytest.fixture
def cells():
    return json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]


def source(cell):
    return "".join(cell["source"])


def test_every_cell_runs(cells, capsys):
    plt = pytest.importorskip("matplotlib.pyplot", reason="the notebook draws")
    plt.switch_backend("Agg")
    names: dict = {"__name__": "__main__"}
    for index, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            exec(compile(source(cell), f"<{NOTEBOOK.name}, cell {index}>", "exec"), names)
    plt.close("all")
    said = capsys.readouterr().out
    # what the reader is told to see: the report's values, and the loop's refusal
    assert "exact:   0.4114 s" in said
    assert "cannot be stable" in said
    assert names["tracked"].position_error.max() < 5e-5
    assert names["tracked"].within_limits
    assert names["off"]["J of the path of Q9"] > 0.15
    assert names["off"]["J of the path itself"] < 5e-6
    printed = [0.023, 0.023, 0.010, 0.036, 0.0068, 0.0095]
    assert np.allclose(np.abs(names["run"]["error"]).max(axis=0), printed, atol=5e-4)


def test_it_is_stored_without_outputs(cells):
    for cell in cells:
        assert cell["cell_type"] in {"code", "markdown"}
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
    assert len({cell["id"] for cell in cells}) == len(cells)


FORCE = ROOT / "docs" / "notebooks" / "force.ipynb"


def test_from_a_log_to_a_force(capsys):
    plt = pytest.importorskip("matplotlib.pyplot", reason="the notebook draws")
    plt.switch_backend("Agg")
    cells = json.loads(FORCE.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") for cell in cells)
    names: dict = {"__name__": "__main__"}
    for index, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            exec(compile(source(cell), f"<{FORCE.name}, cell {index}>", "exec"), names)
    plt.close("all")
    assert len(names["felt"].contacts) == 2
    assert names["peak"] == pytest.approx(40.0, abs=6.0)
    assert "undetermined" in capsys.readouterr().out
