# SPDX-License-Identifier: Apache-2.0
"""Put what campaigns cost into their page.

python -m armwright.bench.campaign_figures out/campaigns.json docs/howto/campaigns.md
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from armwright.bench.figures import figure, insert

MARK = "costs"


def markdown(result: dict[str, Any]) -> str:
    """Return the tables of one measurement."""
    found, machine = result["campaigns"], result["machine"]
    lines = ["| | measured | at most |", "|---|---|---|"]
    for row in result["campaign_lines"]:
        bound = row["target"].removeprefix("≤ ") + ("" if row["met"] in (True, None) else " (**missed**)")
        lines.append(f"| {row['line']} | {figure(row['figure'])} {row['unit']} | {bound} |")
    heads = ("items", "engine", "CPU per item [ms]", "÷ serial", "worker [MB]", "coordinator [MB]", "files [MB]")
    lines += ["", f"| {' | '.join(heads)} |", "|---|---|" + "---:|" * 5]
    serial = {(row["what"], row["items"]): row["cpu"] for row in found["growth"] if row["engine"] == "serial"}
    for row in found["growth"]:
        ratio = row["cpu"] / serial[row["what"], row["items"]]
        worker = "" if row["engine"] == "serial" else f"{row['worker']:.0f}"
        cells = (f"{1e3 * row['cpu'] / row['items']:.3g}", f"{ratio:.3f}", worker, f"{row['coordinator']:.0f}")
        lines.append(f"| {row['items']:,} {row['what']} | {row['engine']} | {' | '.join(cells)} | {row['files']:.3g} |")
    memory = "; ".join(f"{row['runs']:,} runs {row['worker']:.0f} MB" for row in found["learning"])
    lines += ["", f"Memory of the process in which thresholds are learned: {memory}."] if memory else []
    cores = f"{machine['cores']} cores, {found['workers']} workers"
    lines.append(f"Measured on {machine['cpu']}, {cores}, Python {machine['python']}, {machine['date'][:10]}.")
    return "\n".join(lines)


if __name__ == "__main__":
    source, *targets = sys.argv[1:]
    for target in targets:
        insert(Path(target), markdown(json.loads(Path(source).read_text(encoding="utf-8"))), MARK)
