# SPDX-License-Identifier: Apache-2.0
"""What a user says about inputs, with which of them the program asked for."""

from __future__ import annotations

from collections.abc import Mapping

from armwright.programs.interpreter.program_values import Value


class ToldInputs(dict[str, Value]):
    """Values of inputs by name; a list is used up reading by reading. `unasked` are names that nothing looked for."""

    def __init__(self, told: Mapping[str, Value], *, lower: bool = True) -> None:
        """Take over what is told; names without capitals where the language knows none."""
        self._names = {name.strip().lower() if lower else name: name for name in told}
        self._asked: set[str] = set()
        values = ((key, told[name]) for key, name in self._names.items())
        super().__init__({key: list(v) if isinstance(v, list | tuple) else v for key, v in values})

    def __contains__(self, key: object) -> bool:
        """Say whether an input is told, and remember that it was asked for."""
        self._asked.add(str(key))
        return super().__contains__(key)

    def get(self, key: str, default: Value = None) -> Value:
        """Return what is told about an input."""
        self._asked.add(key)
        return super().get(key, default)

    def pop(self, key: str, default: Value = None) -> Value:
        """Forget an input: what is waited for has its value from there on."""
        self._asked.add(key)
        return super().pop(key, default)

    def left(self) -> int:
        """Return how many readings are told that have not been used up."""
        return sum(len(value) for value in self.values() if isinstance(value, list))

    def unasked(self) -> tuple[str, ...]:
        """Return the names, as the user wrote them, that the program never asked for."""
        return tuple(name for key, name in self._names.items() if key not in self._asked)
