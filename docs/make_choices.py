# SPDX-License-Identifier: Apache-2.0
"""The page of everything that is chosen by name, from the tables themselves: ``python docs/make_choices.py``."""

from __future__ import annotations

from pathlib import Path

from armwright.choices import TABLES, Choices

PAGE = Path(__file__).resolve().parent / "howto" / "choices.md"
MARK = "<!-- tables: python docs/make_choices.py -->\n"


def rows(title: str, table: Choices) -> str:
    """One table as Markdown."""
    group = f"Entry points: `{table.group}`." if table.group else "Nothing can be added."
    lines = [f"### {title}", "", group, "", "| name | | document |", "|---|---|---|"]
    lines += [f"| `{name}` | {entry.help} | {entry.document} |" for name, entry in table.entries.items()]
    return "\n".join(lines)


def page(text: str) -> str:
    """Return the page with its tables made again; what stands above the mark is written by hand."""
    head = text.partition(MARK)[0]
    return head + MARK + "\n" + "\n\n".join(rows(title, table) for title, table in TABLES.items()) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
