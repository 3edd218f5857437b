# SPDX-License-Identifier: Apache-2.0
"""What the rows of ``isolation`` come to: how often the link was right, places were right, and certainty was earned."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from armwright.campaigns.statistics import share

WAYS, KNOWN = ("first", "second"), ("link", "located")
BINS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
FAR = 0.03  # [m] a place that is farther from the contact is wrong


def summary(table: Any) -> dict[str, list[dict[str, Any]]]:
    """Return plain rows with exact 95 % intervals.

    ``links``: right links among *distinct*, *loaded*, *claimed* and all pushes. ``places``: located ones that are
    wrong, by plant. ``certainty``: right places by the certainty that was claimed.
    """
    rows = table.to_pylist()
    links, places, certainty = [], [], []
    for way in WAYS:
        right = np.array([row[f"{way}_body"] == row["body"] for row in rows])
        sets = {name: np.array([bool(row[f"{way}_{name}"]) for row in rows]) for name in ("distinct", "loaded")}
        sets["claimed"] = np.array([row[f"{way}_outcome"] in KNOWN for row in rows])
        sets["all"] = np.ones(len(rows), dtype=bool)
        for name, chosen in sets.items():
            links.append({"way": way, "pushes": name, **_counted(right[chosen])})
        for plant in dict.fromkeys(row["plant"] for row in rows):
            these = [row for row in rows if row["plant"] == plant]
            off = [row[f"{way}_off"] > FAR for row in these if row[f"{way}_outcome"] == "located"]
            places.append({"way": way, "plant": plant, "pushes": len(these), **_counted(np.array(off, dtype=bool))})
        said = np.array([[row[f"{way}_certainty"], row[f"{way}_off"]] for row in rows], dtype=np.float64)
        said = said[np.isfinite(said[:, 0])]
        for low, high in pairwise(BINS):
            part = said[(said[:, 0] >= low) & ((said[:, 0] < high) | (high == 1.0))]
            claimed = float(part[:, 0].mean()) if len(part) else None
            row = {"way": way, "from": low, "to": high, "claimed": claimed}
            certainty.append({**row, **_counted(part[:, 1] <= FAR)})
    return {"links": links, "places": places, "certainty": certainty}


def _counted(hits: Any) -> dict[str, Any]:
    count, total = int(np.sum(hits)), len(hits)
    return {"count": count, "of": total, **share(count, total)._asdict()}
