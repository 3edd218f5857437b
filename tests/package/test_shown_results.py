# SPDX-License-Identifier: Apache-2.0
"""What a notebook shows of a result: the result itself, in one line as text and as a table, whatever the kernel is."""

from __future__ import annotations

import io

import numpy as np
import pytest

import armwright as aw
from armwright.campaigns import CampaignPlan, run_campaign
from armwright.campaigns.campaign_tables import heading, table_cells
from armwright.identify.feeling import FeltLog
from armwright.identify.felt_contacts import FoundContact, Ticks
from armwright.studies.run_study import run_study
from armwright.studies.study import load_study

TEXT = """def pick():
  movej([0.3, -1.2, 1.1, -1.4, -1.57, 0.2], a=1.2, v=0.8)
  movej([0.6, -1.1, 1.2, -1.5, -1.57, 0.1], a=1.2, v=0.8)
end
"""


def test_a_figure_is_a_picture_in_a_kernel_that_knows_nothing_of_matplotlib():
    image = pytest.importorskip("PIL.Image", reason="extra [plot] is not installed")
    robot = aw.load("planar2")
    drawn = aw.simulate(robot, duration=0.02).plot()._repr_png_()
    picture = image.open(io.BytesIO(drawn))
    assert picture.format == "PNG"
    assert np.ptp(np.asarray(picture.convert("L"))) > 100  # something is drawn on it


def test_a_program_and_its_run_show_their_moves(tmp_path):
    file = tmp_path / "pick.script"
    file.write_text(TEXT, encoding="utf-8")
    robot = aw.load("ur5")
    program, run = aw.read_program(file), aw.run_program(robot, file)
    assert repr(program) == "Program('pick', urscript, 2 moves)"
    assert repr(run).startswith("ProgramRun('ur5', 'pick': feasible, 2 moves, ")
    for page in (program._repr_html_(), run._repr_html_()):
        assert page.count("<td>movej([") == 2
    assert run.verdict.split(".")[0] in run._repr_html_()


def test_a_campaign_shows_its_results_with_units(tmp_path):
    pytest.importorskip("pyarrow", reason="extra [scale] is not installed")
    settings = {"duration": 0.05, "gains": {"kp": 100.0, "kd": 20.0}}
    plan = CampaignPlan("montecarlo", 4, seed=1, chunk=2, settings=settings)
    store = run_campaign(plan, tmp_path / "c", engine="serial")
    assert repr(store).endswith("montecarlo, 4 of 4 items)")
    page = store._repr_html_()
    assert "payload [kg]" in page
    assert "torque max [N m]" in page
    store.file(0, 2).write_bytes(b"damaged")
    assert "000000000-000000001.parquet" in store._repr_html_()  # said, not raised


def test_units_of_columns_come_from_the_kind_or_from_their_names():
    assert heading("delay_median_s", {}) == "delay median [s]"
    assert heading("payload", {"payload": "kg"}) == "payload [kg]"
    assert heading("contacts", {}) == "contacts"
    heads, cells = table_cells([{"column": "late", "values": 3}], {"late": "s"})
    assert heads == ["column", "values"]
    assert cells == [["late [s]", "3"]]


def test_a_study_and_a_felt_log_show_a_row_each():
    outcome = run_study(load_study("003"), only=["Q4a"])
    assert repr(outcome) == "StudyOutcome(003: 1 agrees)"
    assert "<td>Q4a</td>" in outcome._repr_html_()
    contact = FoundContact(1.5, 2.0, 1.7, "elbow", np.zeros(6), 1.4)
    ticks = Ticks(np.array([0.0, 2.0]), *(np.zeros((2, 6)) for _ in range(10)))
    felt = FeltLog(ticks, (contact,))
    assert repr(felt) == "FeltLog(1 contact in 2.0 s)"
    assert "<td>elbow</td>" in felt._repr_html_()
