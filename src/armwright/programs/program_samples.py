# SPDX-License-Identifier: Apache-2.0
"""Programs to begin with: those of ``examples/programs``, which an installed package carries as well."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from armwright.errors import InputError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


class Sample(NamedTuple):
    """A program to begin with: the arm that it was written for, and what it does."""

    robot: str
    title: str


SAMPLES: dict[str, Sample] = {
    "ur5_pick.script": Sample("ur5", "pick and place of three parts, URScript"),
    "ur5_weld.script": Sample("ur5", "a weld along a plate, URScript"),
    "irb140_pick.mod": Sample("irb140", "pick and place of three parts, RAPID"),
    "irb140_weld.mod": Sample("irb140", "a weld along a plate, RAPID"),
    "lola15dd.irl": Sample("rl15", "the path of document 001, L-IRL"),
    "lola15dd.src": Sample("rl15", "the path of document 001, KRL"),
}


def sample_bytes(name: str) -> bytes:
    """Return what stands in a sample's file.

    Raises:
        InputError: there is no such sample.
    """
    if name not in SAMPLES:
        raise InputError(f"sample: {name!r:.60} is unknown; there are {', '.join(SAMPLES)}")
    return (_folder() / name).read_bytes()


def _folder() -> Traversable:
    """Return the folder of the package's samples; in a checkout, which has none, that of the examples."""
    installed = resources.files("armwright.programs") / "samples"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "examples" / "programs"
