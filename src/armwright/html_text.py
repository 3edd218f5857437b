# SPDX-License-Identifier: Apache-2.0
"""HTML that notebooks show for the library's objects: a line and a small table, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

MOST_ROWS = 12
"""Rows of a table before the rest is only counted: an arm of seven joints and a recording's usual signals fit."""


def html_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return HTML of a line and a table under it; rows beyond `MOST_ROWS` are only counted."""
    cells = [[escape(str(cell)) for cell in row] for row in rows]
    more = len(cells) - MOST_ROWS
    lines = [_row("th", [escape(name) for name in columns]), *(_row("td", row) for row in cells[:MOST_ROWS])]
    if more > 0:
        lines.append(f'<tr><td colspan="{len(columns)}">… {more} more</td></tr>')
    return f"<div>{escape(title)}<table>{''.join(lines)}</table></div>"


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{cell}</{tag}>' for cell in cells)}</tr>"
