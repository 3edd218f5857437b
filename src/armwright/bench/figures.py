# SPDX-License-Identifier: Apache-2.0
"""Put measured figures into the documentation.

python -m armwright.bench.figures out/bench.json README.md docs/speed.md

Each file has two marker lines; what stands between them is replaced. Figures are never typed by hand.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PEERS = {"pin": "Pinocchio", "mujoco": "MuJoCo", "casadi": "CasADi", "rtb": "Robotics Toolbox"}
ROWS = (
    ("inverse dynamics, batch", "rnea/batch"),
    ("forward dynamics, batch", "fd/batch"),
    ("mass matrix, batch", "mass/batch"),
    ("pose and Jacobian, batch", "fkj/batch"),
    ("inverse dynamics, one call, new array", "rnea/single"),
    ("forward dynamics, one call, new array", "fd/single"),
    ("inverse dynamics, one call, buffer given", "rnea/single_out"),
    ("forward dynamics, one call, buffer given", "fd/single_out"),
    ("derivatives of inverse dynamics, one call", "drnea/single"),
    ("derivatives of forward dynamics, one call", "dfd/single"),
    ("inverse dynamics, 30 joints, batch", "n30/rnea/batch"),
    ("forward dynamics, 30 joints, batch", "n30/fd/batch"),
    ("inverse dynamics, 50 joints, batch", "n50/rnea/batch"),
    ("forward dynamics, 50 joints, batch", "n50/fd/batch"),
)


def markdown(result: dict[str, Any]) -> str:
    """Return the tables of one measurement."""
    peers = [peer for peer in PEERS if peer in result["peers"]]
    titles = [f"{PEERS[peer]} {result['peers'][peer]}" for peer in peers]
    lines = [
        f"| UR5, one thread | Armwright | {' | '.join(titles)} |",
        f"|---|---|{'---|' * len(peers)}",
    ]
    for title, name in ROWS:
        entries = result["cases"].get(name, {})
        if "armwright" in entries:
            cells = [cell(entries, peer) for peer in peers]
            lines.append(f"| {title} | **{nanoseconds(entries['armwright']['best'])}** | {' | '.join(cells)} |")
    if len(lines) == 2:  # only the loop was measured
        lines = []
    if result.get("loop"):
        lines += ["", "| the loop, UR5 unless said, one thread | measured | promised |", "|---|---|---|"]
        lines += [
            f"| {row['line']} | **{figure(row['figure'])}** {row['unit']} | {row['target']} |" for row in result["loop"]
        ]
    process, machine = result["process"], result["machine"]
    start, cold, warm = (process[name]["best"] for name in ("import", "first_call_cold", "first_call_warm"))
    lines += [
        "",
        f"`import armwright` {start:.2f} s. First call, whole process: {cold:.2f} s with an empty cache, {warm:.2f} s "
        "with a filled one.",
    ]
    if "memory_growth_bytes" in process:
        growth, over = process["memory_growth_bytes"], process["batch_overhead"]
        lines.append(
            f"Memory: {growth['bytes'] / 1024:.0f} KiB more after {growth['calls']:,} calls; "
            f"a batch of {over['items']:,} takes {100 * over['fraction']:.1f} % more than its arrays."
        )
    lines.append(
        f"Measured on {machine['cpu']}, Python {machine['python']}, {machine['date'][:10]}; best of {result['rounds']} "
        "interleaved rounds; × says how many times longer the peer takes."
    )
    return "\n".join(lines)


def nanoseconds(seconds: float) -> str:
    """Write a time with the unit that suits it."""
    return f"{seconds * 1e9:.3g} ns" if seconds < 1e-6 else f"{seconds * 1e6:.3g} µs"


def figure(value: float) -> str:
    """Write a figure with three digits, or whole where it has more."""
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.3g}"


def cell(entries: dict[str, Any], peer: str) -> str:
    """One peer's time and how many times ours it is."""
    if peer not in entries:
        return "–"
    return f"{nanoseconds(entries[peer]['best'])} ({entries[peer]['best'] / entries['armwright']['best']:.3g} ×)"


def insert(path: Path, text: str, mark: str = "figures") -> None:
    """Replace what stands between the markers of a file."""
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    content = path.read_text(encoding="utf-8")
    head, found, rest = content.partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"{path}: the lines {begin!r} and {end!r} are missing")
    path.write_text(f"{head}{begin}\n{text}\n{end}{tail}", encoding="utf-8")


if __name__ == "__main__":
    source, *targets = sys.argv[1:]
    for target in targets:
        insert(Path(target), markdown(json.loads(Path(source).read_text(encoding="utf-8"))))
