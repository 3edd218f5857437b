# SPDX-License-Identifier: Apache-2.0
"""Programs that are folders or archives: which file is the program, and which are its further files."""

from __future__ import annotations

import re
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path

from armwright.errors import ProgramError
from armwright.files import read_regular
from armwright.programs.interpreter.program_files import MAX_BYTES, MOST_NEIGHBOURS, decoded
from armwright.programs.reading import ReadOptions

RAPID_FILES = (".mod", ".modx", ".prg", ".sys", ".sysx")
KRL_FILES = (".src", ".dat", ".sub", ".krl")
SEVERAL = (*RAPID_FILES, *KRL_FILES)  # languages whose programs have several files, and whose files may be cp1252
FIRST = re.compile(r"(?im)^[ \t]*(?:GLOBAL[ \t]+)?DEF[ \t]+(\w+)[ \t]*\(")
NO_CALL = re.compile(r"(?im);.*$|^[ \t]*(?:EXT|(?:GLOBAL[ \t]+)?DEF)[ \t].*$")  # comments and declarations of KRL
MAIN = re.compile(r"(?im)^\s*(?:LOCAL\s+)?PROC\s+main\s*\(")


def main_file(path: Path, told: ReadOptions) -> tuple[Path, ReadOptions]:
    """Return the file of a folder or archive that is run, and options that name the others.

    That is the one with RAPID's ``main``, KRL's only one that no other calls, or the one with the routine that
    ``entry`` names; an error lists the candidates.
    """
    texts = _texts(path)
    if not texts:
        raise ProgramError(
            "this directory or archive has no RAPID or KRL file", file=str(path), valid=f"files {', '.join(SEVERAL)}"
        )
    wanted = f"a routine {told.entry}" if told.entry else "a routine main"
    if told.entry is not None:
        word = re.compile(rf"(?im)^\s*(?:(?:LOCAL|GLOBAL)\s+)?(?:PROC|DEF)\s+{re.escape(told.entry)}\s*\(")
        found = [name for name, (text, _) in texts.items() if word.search(text)]
    else:
        found = [name for name, (text, _) in texts.items() if MAIN.search(text)]
        if not found:
            found = _uncalled(texts)
            wanted = "a routine that no other file calls" if found else wanted
    if len(found) != 1:
        programs = [name for name in texts if not name.lower().endswith((".dat", ".sub"))]
        listed = ", ".join(found or programs or texts)[:400]
        message = f"which file is the program? {'Several files have' if found else 'No file has'} {wanted}"
        raise ProgramError(message, file=str(path), valid=f"one of {listed}, or --entry with a routine")
    main = Path(found[0])
    suffixes = RAPID_FILES if main.suffix.lower() in RAPID_FILES else KRL_FILES
    more = tuple(Path(name) for name in texts if name != found[0] and name.lower().endswith(suffixes))
    return main, replace(told, texts=texts, neighbours=more)


def is_project(folder: Path) -> bool:
    """Return whether a folder, or one in it, has files of a program."""
    return any(inner.suffix.lower() in SEVERAL and inner.is_file() for inner in folder.rglob("*"))


def _uncalled(texts: dict[str, tuple[str, bool]]) -> list[str]:
    """Return the KRL files whose first routine is called in no other file; the only one, whatever it has."""
    sources = [name for name in texts if name.lower().endswith((".src", ".krl"))]
    if len(sources) == 1:
        return sources
    calls = {name: NO_CALL.sub("", texts[name][0]) for name in sources}
    found = []
    for name in sources:
        first = FIRST.search(texts[name][0])
        word = re.compile(rf"(?i)\b{re.escape(first[1])}[ \t]*\(") if first else None
        if word and not any(word.search(text) for other, text in calls.items() if other != name):
            found.append(name)
    return found


def _texts(path: Path) -> dict[str, tuple[str, bool]]:
    found: dict[str, tuple[str, bool]] = {}
    if path.is_dir():
        for inner in sorted(path.rglob("*")):
            if inner.suffix.lower() in SEVERAL and inner.is_file() and len(found) < MOST_NEIGHBOURS:
                found[str(inner)] = decoded(read_regular(inner, MAX_BYTES), str(inner))
        return found
    total = 0
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                if Path(info.filename).suffix.lower() in SEVERAL and len(found) < MOST_NEIGHBOURS:
                    total += info.file_size
                    if total > MAX_BYTES:
                        valid = f"at most {MAX_BYTES} bytes"
                        raise ProgramError("the archive is too large", file=str(path), valid=valid)
                    with archive.open(info) as member:
                        found[f"{path}/{info.filename}"] = decoded(member.read(MAX_BYTES), info.filename)
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError) as error:
        raise ProgramError(f"cannot read: {error}", file=str(path), valid="a readable archive") from None
    return found
