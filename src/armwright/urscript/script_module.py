# SPDX-License-Identifier: Apache-2.0
"""What a text of URScript holds beyond what programs of all languages do."""

from __future__ import annotations

from dataclasses import dataclass, field

from armwright.syntax.program_tree import Block, Module, Node


@dataclass
class ScriptModule(Module):
    """A file of URScript: its top-level statements, defaults of parameters, own names of functions."""

    top: Block = ()
    outer: list[str] = field(default_factory=list)  # functions that are not inside others
    defaults: dict[str, dict[str, Node]] = field(default_factory=dict)
    bound: dict[str, set[str]] = field(default_factory=dict)
