# SPDX-License-Identifier: Apache-2.0
"""Calls by parameter names: how laws, monitors, events, forces and traced algorithms are called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.types import Symbolic


def call_by_name(function: Callable[..., Symbolic], values: Mapping[str, Any], what: str | None = None) -> Symbolic:
    """Call `function` with those of `values` that its signature names (positional-only parameters included).

    Args:
        function: the function.
        values: by parameter name; more than the function wants, or fewer where it has defaults.
        what: the function in a message, such as "law 'pd'": a parameter without a value is then an `InputError`
            instead of Python's own complaint.
    """
    positional, keywords = [], {}
    for label, parameter in inspect.signature(function).parameters.items():
        if label in values:
            if parameter.kind is parameter.POSITIONAL_ONLY:
                positional.append(values[label])
            else:
                keywords[label] = values[label]
        elif what is not None and parameter.default is parameter.empty and not is_open_ended(parameter):
            raise InputError(f"{what} needs {label}, which was not given")
    return function(*positional, **keywords)


def is_open_ended(parameter: inspect.Parameter) -> bool:
    """Return whether a parameter is *args or **kwargs, which get nothing."""
    return parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
