# SPDX-License-Identifier: Apache-2.0
"""Texts of any characters, without the table of all characters that Hypothesis takes seconds to make."""

from __future__ import annotations

from hypothesis import strategies as st


def texts(most: int) -> st.SearchStrategy[str]:
    """Texts of at most so many characters: those of one byte, and any others."""
    narrow = st.binary(max_size=most).map(lambda data: data.decode("latin-1"))
    wide = st.binary(max_size=2 * most).map(lambda data: data.decode("utf-16-le", "ignore"))
    return narrow | wide
