# SPDX-License-Identifier: Apache-2.0
"""The pictures and the times of docs/gallery.md, from the code on the page itself: ``python docs/make_gallery.py``.

Each piece runs twice in a process of its own; the second time counts, since the first one compiles.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PIECE = re.compile(r"(## [^\n]+\n.*?```python\n)(.*?)(```\n)(?:\n!\[[^\n]*\n\n\*[^\n]*\*\n)?", re.S)
TIMED = """
import os, time
import matplotlib
matplotlib.use("Agg")
code = compile(open("piece.py", encoding="utf-8").read(), "piece.py", "exec")
for _ in range(2):
    begin = time.process_time()
    exec(code, {"__name__": "piece"})
    took = time.process_time() - begin
print(f"took {took:.2f}")
"""


def picture_of(code: str) -> tuple[str, str]:
    """Run a piece; put its picture into docs/img; return the picture's name and the seconds of processor time."""
    (name,) = re.findall(r'"(gallery_\w+\.png)"', code)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(DOCS.parent / "examples")
        (Path(folder) / "piece.py").write_text(code, encoding="utf-8")
        command = [sys.executable, "-c", TIMED]
        run = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)
        if run.returncode:
            raise SystemExit(f"{name}:\n{run.stderr}")
        shutil.copyfile(Path(folder) / name, DOCS / "img" / name)
    return name, run.stdout.split("took ")[-1].strip()


def made(piece: re.Match[str]) -> str:
    """Return a piece of the page with its picture and its time."""
    head, code, end = piece.groups()
    title = head.splitlines()[0].removeprefix("## ")
    name, seconds = picture_of(code)
    sys.stderr.write(f"{name}: {seconds} s\n")
    return f"{head}{code}{end}\n![{title}](img/{name})\n\n*{seconds} s of processor time, pictures included.*\n"


if __name__ == "__main__":
    page = DOCS / "gallery.md"
    page.write_text(PIECE.sub(made, page.read_text(encoding="utf-8")), encoding="utf-8")
