# SPDX-License-Identifier: Apache-2.0
"""Commands with few parameters and many options: groups of options are dataclasses, an arm comes loaded.

typer reads a command's signature. `grouped` writes one for it in which every parameter of a dataclass type stands as
its fields, and puts the dataclass together again before the command is called. `arm_command` does the same for
the parameter ``arm``, which stands as ROBOT, ``--implausible``, ``--base`` and ``--tip``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from armwright.cli.option_words import Base, Implausible, RobotName, Tip, load_arm, load_options

if TYPE_CHECKING:
    from armwright.robot.model import Robot

Command = Callable[..., None]
UNREAD = {"Robot": object, "NamedArm": object}
"""What commands name only for the type checker: importing it would slow every command down."""


@dataclass(frozen=True)
class ArmReading:
    """How the file of an arm is to be read."""

    implausible: Implausible = "refuse"
    base: Base = None
    tip: Tip = None

    def options(self) -> dict[str, Any]:
        """Return what `load` is told beyond the name, without what it would do anyway."""
        return load_options(self.implausible, self.base, self.tip)

    def load(self, robot: str) -> Robot:
        """Load an arm by name or file."""
        return load_arm(robot, self.implausible, self.base, self.tip)


@dataclass(frozen=True)
class NamedArm:
    """How an arm was named on the command line: the word in ROBOT's place."""

    word: str


def grouped(command: Command) -> Command:
    """Give a command the flat signature that typer reads; see the module's first lines."""
    groups: dict[str, tuple[type, list[str]]] = {}
    flat: list[inspect.Parameter] = []
    for parameter in _parameters(command):
        kind = parameter.annotation
        if isinstance(kind, type) and is_dataclass(kind):
            members = group_parameters(kind)
            groups[parameter.name] = (kind, [member.name for member in members])
            flat += members
        else:
            flat.append(parameter)

    def call(**words: Any) -> None:
        for name, (group, members) in groups.items():
            words[name] = group(**{member: words.pop(member) for member in members})
        command(**words)

    return _with_signature(command, call, flat)


def arm_command(
    robot: Any = RobotName,
    default: Any = inspect.Parameter.empty,
    instead: Callable[[dict[str, Any]], Robot | None] | None = None,
) -> Callable[[Command], Command]:
    """Return a decorator that hands a command its ``arm``, loaded from the words of the command line.

    The command's other parameters may be groups (`grouped`). One called ``named`` is told how the arm
    was named (`NamedArm`), one called ``implausible`` that option, too.

    Args:
        robot: the word that names the arm: an argument, or the option ``--robot``.
        default: of that word; it has to be given if omitted.
        instead: is asked first, with all words of the command, which it may change; the arm that it returns, if any, is
            taken in place of the named one.
    """

    def decorate(command: Command) -> Command:
        inner = grouped(command)
        name = inspect.Parameter("robot", inspect.Parameter.KEYWORD_ONLY, annotation=robot, default=default)
        reading = group_parameters(ArmReading)
        flat: list[inspect.Parameter] = []
        wanted = inspect.signature(inner).parameters
        for parameter in wanted.values():
            if parameter.name in ("implausible", "named"):
                continue
            flat += reading if parameter.name == "json" else []  # --json stands last in every help
            flat.append(name if parameter.name == "arm" else parameter)

        def call(**words: Any) -> None:
            how = ArmReading(**{member.name: words.pop(member.name) for member in reading})
            other = None if instead is None else instead(words)
            word = words.pop("robot")
            known = {"implausible": how.implausible, "named": NamedArm(word)}
            told = {key: value for key, value in known.items() if key in wanted}
            inner(arm=how.load(word) if other is None else other, **told, **words)

        return _with_signature(command, call, flat)

    return decorate


def group_parameters(group: type) -> list[inspect.Parameter]:
    """Return one keyword parameter per field of a dataclass, with the field's type and default."""
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=hints[field.name],
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
        )
        for field in fields(group)
    ]


def _parameters(command: Command) -> list[inspect.Parameter]:
    hints = get_type_hints(command, localns=UNREAD, include_extras=True)
    return [
        parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in inspect.signature(command).parameters.values()
    ]


def _with_signature(command: Command, call: Command, parameters: list[inspect.Parameter]) -> Command:
    made: Any = functools.wraps(command)(call)
    made.__signature__ = inspect.Signature(parameters)
    made.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return made
