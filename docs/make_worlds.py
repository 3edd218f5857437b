# SPDX-License-Identifier: Apache-2.0
"""Put the outcomes over random worlds into the documentation: ``python docs/make_worlds.py FOLDER "COMMAND"``.

FOLDER is what ``armwright run worlds --out FOLDER`` wrote, COMMAND how. Tables and picture of howto/explore.md are
replaced; figures are never typed by hand.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
BEGIN, END = "<!-- worlds: begin -->", "<!-- worlds: end -->"
FIGURES = (
    ("contacts", 1.0),
    ("impulse_ns", 1.0),
    ("largest_force_n", 1.0),
    ("largest_force_n_p95", 1.0),
    ("tool_path_m", 1.0),
    ("arrival_s", 1.0),
    ("median_delay_s", 1e3),
)


def _rounded(value: float) -> str:
    """Two digits that count, without an exponent."""
    return f"{float(f'{value:.2g}'):g}"


def markdown(document: dict[str, Any], command: str) -> str:
    """Return the two tables."""
    summaries = document["summaries"]
    lines = [
        "```sh",
        command,
        "```",
        "",
        "| variant | solvable: reached | narrow: reached / declared | unsolvable: declared | wrong | false alarms |",
        "|---|---|---|---|---|---|",
    ]
    for s in summaries:
        t = s["table"]
        right = t["solvable"]["reached"], t["narrow"]["reached"], t["narrow"]["declared unreachable"]
        declared = t["unsolvable"]["declared unreachable"]
        lines.append(
            f"| {s['label']} | {right[0]} of {sum(t['solvable'].values())} | {right[1]} / {right[2]} | "
            f"{declared} of {sum(t['unsolvable'].values())} | {s['runs'] - sum(right) - declared} | "
            f"{s['false_alarms']} |"
        )
    lines += [
        "",
        f"Medians over the {len(document['worlds_that_all_crossed'])} worlds that every variant crossed:",
        "",
        "| variant | contacts | impulse [N s] | largest force [N] | its 95 % | path [m] | time [s] | delay [ms] |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for s in summaries:
        cells = " | ".join("–" if s[name] is None else _rounded(scale * s[name]) for name, scale in FIGURES)
        lines.append(f"| {s['label']} | {cells} |")
    return "\n".join([*lines, "", "![random worlds: outcomes and spreads](../img/worlds.png)"])


if __name__ == "__main__":
    folder, command = Path(sys.argv[1]), sys.argv[2]
    page = DOCS / "howto" / "explore.md"
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    table = markdown(json.loads((folder / "runs.json").read_text(encoding="utf-8")), command)
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    shutil.copy(folder / "worlds.png", DOCS / "img" / "worlds.png")
