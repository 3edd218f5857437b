# SPDX-License-Identifier: Apache-2.0
"""What the library advises in Python's words, in those of the command line: ``tip=…`` becomes ``--tip LINK``."""

from __future__ import annotations

import re

_SPELLED = (
    (r'implausible="warn"', "--implausible warn"),
    (r"\btip=…(?!\))", "--tip LINK"),
    (r"\bwith base=$", "with --base LINK"),
    (r"the law acting continuously \(continuous=True\)", "the law acting continuously (--continuous)"),
    (r'the stiff integrator "(\w+)"', r"the stiff integrator (--integrator \1)"),
    (r"more substeps \((\d+)\)", r"more substeps (--substeps \1)"),
    (r"\brate=([\d.e+]+)(?=[,; ])", r"--rate \1"),
    (r"robot\.with_rotors\(([\d.]+)\)", r"--rotors \1"),
)


def as_options(text: str) -> str:
    """Return a message of the library's with the options that do on the command line what it advises."""
    for said, spelled in _SPELLED:
        text = re.sub(said, spelled, text)
    return text
