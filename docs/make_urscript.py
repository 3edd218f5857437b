# SPDX-License-Identifier: Apache-2.0
"""The page of URScript's functions, from the table that checks and runs them: ``python docs/make_urscript.py``."""

from __future__ import annotations

from pathlib import Path

from armwright.lab.script.function_listing import list_functions
from armwright.urscript.urscript_builtins import TREATMENTS

PAGE = Path(__file__).resolve().parent / "howto" / "urscript.md"
MARK = "<!-- tables: python docs/make_urscript.py -->\n"


def page(text: str) -> str:
    """Return the page with its tables made again; what stands above the mark is written by hand."""
    found = list_functions()
    parts = [text.partition(MARK)[0] + MARK]
    for key, title in TREATMENTS.items():
        rows = [row for row in found if row["does"] == key and row["runs"]]
        if rows:
            parts += [f"\n## {key}: {title}\n", "| function | units | gives | since |", "|---|---|---|---|"]
            parts += [f"| `{row['call']}` | {row['units']} | {row['returns']} | {row['since']} |" for row in rows]
    rest = ", ".join(f"`{row['name']}`" for row in found if not row["runs"])
    parts += [f"\n## Known by name only\n\nThe controller refuses them where a program comes to them: {rest}.\n"]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
