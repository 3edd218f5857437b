# SPDX-License-Identifier: Apache-2.0
"""A form of an artefact: what files it consists of, and what may be asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from armwright.motion import Trajectory
    from armwright.simulation.control_loop import Loop
    from armwright.types import Array

Written = tuple[Mapping[str, bytes], Mapping[str, float]]
"""Files by path, and figures by name."""


@dataclass(frozen=True, eq=False)
class Origin:
    """What the program of an artefact was made of.

    Attributes:
        loop: with its numbers tunable.
        posture: (n,) at which it starts; None for zero.
        reference: a motion that it follows by itself.
    """

    loop: Loop
    posture: Array | None
    reference: Trajectory | None


@dataclass(frozen=True)
class Form:
    """One form.

    Attributes:
        write: function of (program, **options) → `Written`.
        options: names of the options that it takes.
        tune: what may be changed in it while it runs unless somebody says otherwise, of `TUNABLE`.
        of_loop: whether `write` takes ``origin``, an `Origin`, too.
    """

    write: Callable[..., Written]
    options: tuple[str, ...] = ()
    tune: tuple[str, ...] = ()
    of_loop: bool = False
