# SPDX-License-Identifier: Apache-2.0
"""Binaries of an FMU: by the C compiler of this machine, or for other machines by Zig's, which pip installs.

Nothing is installed or fetched here: without a compiler an FMU has its sources only, which many importers compile.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from armwright.errors import InputError, NotSupportedError
from armwright.graph.emit.c_tick import FLAGS

COMPILERS = ("cc", "gcc", "clang")


class Target(NamedTuple):
    """A kind of machine.

    Attributes:
        zig: what Zig calls it.
        folder2, folder3: of its binaries in an FMU 2.0 and 3.0.
        suffix: of its shared libraries.
    """

    zig: str
    folder2: str
    folder3: str
    suffix: str


TARGETS = {
    "linux-x86_64": Target("x86_64-linux-gnu.2.17", "linux64", "x86_64-linux", ".so"),
    "linux-aarch64": Target("aarch64-linux-gnu.2.17", "aarch64-linux", "aarch64-linux", ".so"),
    "windows-x86_64": Target("x86_64-windows-gnu", "win64", "x86_64-windows", ".dll"),
    "macos-x86_64": Target("x86_64-macos", "darwin64", "x86_64-darwin", ".dylib"),
    "macos-aarch64": Target("aarch64-macos", "aarch64-darwin", "aarch64-darwin", ".dylib"),
}
WORDS = ("local", "none", "all")
"""For this machine, if it has a compiler; for none; for all of `TARGETS`."""


def binaries(name: str, sources: Mapping[str, str], version: str, wanted: str) -> dict[str, bytes]:
    """Compile sources; return shared libraries by their path in an FMU.

    Args:
        name: of the libraries.
        sources: C files by name.
        version: "2.0" or "3.0".
        wanted: of `WORDS`, or names of `TARGETS` with commas.
    """
    if wanted == "none":
        return {}
    if wanted == "local":
        here = local_target()
        compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
        if here is None or compiler is None:
            return {}
        targets, commands = [here], {here: [compiler]}
    else:
        targets = list(TARGETS) if wanted == "all" else wanted.split(",")
        strange = [target for target in targets if target not in TARGETS]
        if strange:
            raise InputError(f"binaries must be {', '.join(WORDS)}, or of {', '.join(TARGETS)}; got {strange[0]!r}")
        if find_spec("ziglang") is None:
            raise NotSupportedError(f"binaries for {wanted} need ziglang: pip install 'armwright[export]'")
        commands = {t: [sys.executable, "-m", "ziglang", "cc", "-target", TARGETS[t].zig] for t in targets}
    made = {}
    with tempfile.TemporaryDirectory() as folder:
        for file, text in sources.items():
            (Path(folder) / file).write_text(text, encoding="utf-8")
        for target in targets:
            about = TARGETS[target]
            place = about.folder3 if version == "3.0" else about.folder2
            library = Path(folder) / f"{name}-{target}{about.suffix}"
            _compile([*commands[target], "-shared"], about, folder, library)
            made[f"binaries/{place}/{name}{about.suffix}"] = library.read_bytes()
    return made


def _compile(command: list[str], target: Target, folder: str, library: Path) -> None:
    files = sorted(path.name for path in Path(folder).glob("*.c"))
    words = [*command, *FLAGS.split(), "-fvisibility=hidden", *([] if target.suffix == ".dll" else ["-fPIC"])]
    words += [*files, "-o", str(library), *([] if target.suffix == ".dll" else ["-lm"])]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not library.exists():
        said = (done.stderr or done.stdout).strip().splitlines()[:3]
        raise NotSupportedError(f"{' '.join(command)} could not compile the FMU: {'; '.join(said)}")


def local_target() -> str | None:
    """Return this kind of machine, if an FMU can have a binary for it."""
    system = {"linux": "linux", "win32": "windows", "darwin": "macos"}.get(sys.platform)
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    name = f"{system}-{machine}"
    return name if name in TARGETS else None
