# SPDX-License-Identifier: Apache-2.0
"""Error messages that no test of their room provokes: ``python tests/support/error_sites.py robot world …``.

Runs the tests of each room (``tests/<room>``) with coverage and prints every ``raise …Error(`` in
``src/armwright/<room>`` that was not reached.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def raise_sites(path: Path) -> list[tuple[int, str]]:
    """Return line and text of every statement that raises an error by name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        (node.lineno, ast.unparse(node.exc)[:150])
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and "Error" in ast.unparse(node.exc.func)
    ]


def reached(room: str) -> dict[str, set[int]]:
    """Run the room's tests; return the lines that were executed, by file."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "coverage.json"
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", f"tests/{room}", f"--cov=src/armwright/{room}"]
        subprocess.run([*command, f"--cov-report=json:{out}"], cwd=ROOT, check=False, stdout=sys.stderr)
        files = json.loads(out.read_text(encoding="utf-8"))["files"]
    return {name: set(entry["executed_lines"]) for name, entry in files.items()}


def main(rooms: list[str]) -> None:
    """Print the sites of all rooms."""
    for room in rooms:
        lines = reached(room)
        sites = [
            (path.relative_to(ROOT), line, text)
            for path in sorted((ROOT / "src" / "armwright" / room).rglob("*.py"))
            for line, text in raise_sites(path)
        ]
        missed = [site for site in sites if site[1] not in lines.get(str(site[0]), set())]
        print(f"{room}: {len(missed)} of {len(sites)} errors are provoked by no test of the room")
        for path, line, text in missed:
            print(f"  {path}:{line}: {text}")


if __name__ == "__main__":
    main(sys.argv[1:])
