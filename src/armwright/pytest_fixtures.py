# SPDX-License-Identifier: Apache-2.0
"""The fixture that Armwright offers to the tests of other projects; pytest finds it by the entry point ``pytest11``.

Nothing else of Armwright is imported before a test asks for it. ``-p no:armwright`` leaves it out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from armwright.lab import VirtualController


@pytest.fixture
def virtual_controller() -> Iterator[Callable[..., VirtualController]]:
    """Start virtual UR controllers: called with the arguments of ``armwright.lab.VirtualController``.

    Returns one that runs; it is closed when the test has ended.
    """
    with contextlib.ExitStack() as running:

        def started(*robot: str, **options: object) -> VirtualController:
            from armwright.lab import VirtualController

            return running.enter_context(VirtualController(*robot, **options))  # type: ignore[arg-type]

        yield started
