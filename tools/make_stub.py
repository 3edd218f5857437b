# SPDX-License-Identifier: Apache-2.0
"""Write ``__init__.pyi`` from the table of public names in ``armwright/__init__.py``: ``python tools/make_stub.py``.

Names are loaded when first used, so type checkers cannot see them; the stub tells them what each one is.
"""

from __future__ import annotations

from pathlib import Path

import armwright

TARGET = Path(__file__).resolve().parents[1] / "src" / "armwright" / "__init__.pyi"
HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""Types of the public names. Made by tools/make_stub.py from the table in ``__init__.py``; do not edit."""

'''


def _as_isort(pair: tuple[str, str]) -> tuple[str, int, str]:
    """Sort key of the linter: by module, then constants, classes, functions."""
    module, name = pair
    return module, 0 if name.isupper() else 1 if name[0].isupper() else 2, name


def stub() -> str:
    """Return the text of the stub: every room, then every name from the room it lives in."""
    pairs = [("armwright", room) for room in armwright._ROOMS]
    pairs += [(module, name) for module, names in armwright._HOMES.items() for name in names.split()]
    lines = [f"from {module} import {name} as {name}" for module, name in sorted(pairs, key=_as_isort)]
    return HEAD + "\n".join(lines) + "\n\n__version__: str\n"


if __name__ == "__main__":
    TARGET.write_text(stub(), encoding="utf-8")
