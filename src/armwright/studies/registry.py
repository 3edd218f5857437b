# SPDX-License-Identifier: Apache-2.0
"""Which documents are executable: one module or package each, imported when asked for."""

from __future__ import annotations

import importlib
import importlib.util

from armwright.errors import InputError
from armwright.studies.item import Study

MODULES = {"003": "rob315", "002": "irb140", "000": "collision", "001": "erfd", "004": "force"}
"""Document number → module of this package that holds ``STUDY``. Modules that are not there are not offered."""


def available() -> tuple[str, ...]:
    """Numbers of the documents that can be run."""
    return tuple(name for name, module in MODULES.items() if importlib.util.find_spec(f"{__package__}.{module}"))


def load_study(name: str) -> Study:
    """Return a study by its document number."""
    if name not in available():
        raise InputError(f"no study {name!r}; there are {', '.join(available())} (and 'all')")
    study = importlib.import_module(f"{__package__}.{MODULES[name]}").STUDY
    if not isinstance(study, Study) or study.id != name:
        raise InputError(f"studies.{MODULES[name]}: STUDY must be a Study with id {name!r}")
    return study
