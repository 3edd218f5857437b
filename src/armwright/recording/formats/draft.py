# SPDX-License-Identifier: Apache-2.0
"""Where files are written before they take their names: a folder of one's own beside them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def draft_folder(target: Path) -> Iterator[Path]:
    """Make a folder beside `target` for the time being: new, of a name nobody can foresee, open to this user alone.

    So no other thread or process writes the same draft, and nobody can put a link in its place. It is on the target's
    file system, so that what was written there can take the target's name at once.
    """
    with tempfile.TemporaryDirectory(".draft", f".{target.name}.", target.parent, ignore_cleanup_errors=True) as folder:
        yield Path(folder)
