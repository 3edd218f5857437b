# SPDX-License-Identifier: Apache-2.0
"""A section of the report that only some runs have: asked for by an option of the command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class ReportPart(NamedTuple):
    """A section that is asked for by an option: sentences, and a table whose first column names moves."""

    title: str
    words: tuple[str, ...]
    heads: tuple[str, ...] = ()
    rows: Sequence[Sequence[str]] = ()
