# SPDX-License-Identifier: Apache-2.0
"""Files of a program: texts however they were saved, files beside the program, folders and archives.

Neighbours are looked at only when a name is missing, and only the one that declares it is used: a folder may hold
several programs with the same names.
"""

from __future__ import annotations

import re
from pathlib import Path

from armwright.errors import ProgramError
from armwright.files import read_regular
from armwright.programs.reading import ReadOptions

MAX_BYTES = 8_000_000
MOST_NEIGHBOURS = 400  # files of a folder that are looked at
MOST_FAR = 1500  # files of a controller that are


def decoded(content: bytes, file: str) -> tuple[str, bool]:
    """Return a text, and whether it had to be read as cp1252; CR, CRLF and ctrl-Z are taken care of."""
    western = False
    try:
        wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))  # as editors of Windows save "Unicode"
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        if b"\x00" in content:
            raise ProgramError("this is no text", file=file, valid="a text file") from None
        text, western = content.decode("cp1252", errors="replace"), True
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x1a", ""), western


CONTROLLER = "r1"  # folder of a KUKA controller whose files all know each other, however deep they lie
CONTROLLER_PARTS = ("program", "system", "mada")  # one of these is in it


class Neighbours:
    """Files in the folder of a program, by suffix; each is read when it is first needed.

    `far` are those of the controller on which the program is, in other folders.
    """

    def __init__(self, file: str, suffixes: tuple[str, ...], options: ReadOptions) -> None:
        """Look at the folder of `file`; texts without a file have no neighbours but those that the user names."""
        self.texts = {name: text for name, (text, _) in options.texts.items()}
        here, more = Path(file), (*options.more, *options.neighbours)
        folder = here.parent if file else None
        found = [] if folder is None or not folder.is_dir() else sorted(folder.iterdir())
        found = [p for p in (*more, *found) if p.suffix.lower() in suffixes and p != here][:MOST_NEIGHBOURS]
        self.paths = list(dict.fromkeys(found))
        self.controller = None if folder is None else controller_of(here)
        self.suffixes, self._far = suffixes, None if self.controller is not None else tuple[Path, ...]()

    @property
    def far(self) -> tuple[Path, ...]:
        """Return the files in other folders of the same controller."""
        if self._far is None:
            assert self.controller is not None
            near, found = {path.resolve() for path in self.paths}, []
            for path in sorted(self.controller.rglob("*")):
                if path.suffix.lower() in self.suffixes and path.resolve() not in near and path.is_file():
                    found.append(path)
            self._far = tuple(found[:MOST_FAR])
        return self._far

    def text(self, path: Path) -> str:
        """Return a neighbour's text; one that cannot be read has none."""
        key = str(path)
        if key not in self.texts:
            try:
                self.texts[key] = decoded(read_regular(path, MAX_BYTES), key)[0]
            except (OSError, ValueError):
                self.texts[key] = ""
        return self.texts[key]

    def with_match(self, pattern: re.Pattern[str], word: str = "", *, far: bool = False) -> list[Path]:
        """Return the neighbours, or those farther away, whose text matches."""
        low = word.lower()
        paths = self.far if far else self.paths
        return [p for p in paths if (t := self.text(p)) and (not low or low in t.lower()) and pattern.search(t)]


def controller_of(file: Path) -> Path | None:
    """Return the folder of the controller on which a file is; None if it is on none."""
    for folder in file.absolute().parents:
        if folder.name.lower() == CONTROLLER and any(i.name.lower() in CONTROLLER_PARTS for i in folder.iterdir()):
            return folder
    return None
