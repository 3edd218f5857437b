# SPDX-License-Identifier: Apache-2.0
"""Names of `armwright.choices` as help texts list them."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from armwright.choices import Choices


def names_of(
    table: Choices, remarks: Mapping[str, str] | None = None, *, titles: bool = False, last: str = " or "
) -> str:
    """Return the names of a table as a list in words, plug-ins included where this very command is asked for help.

    Args:
        table: the choice.
        remarks: what stands in brackets behind some of the names.
        titles: labels in place of names.
        last: between the last two.
    """
    wanted = {"-h", "--help"} & set(sys.argv)  # reading what other packages add takes longer than all the help texts
    said = remarks or {}
    words = [
        (table.title(name) if titles else name) + (f" ({said[name]})" if name in said else "")
        for name in (table.all_names() if wanted else table)
    ]
    return last.join(filter(None, (", ".join(words[:-1]), words[-1])))
