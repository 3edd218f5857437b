# SPDX-License-Identifier: Apache-2.0
"""The words of the command line: each option has one name, one syntax and one parser, whichever command takes it.

The first half holds the options as `Annotated` types (a function where help or limits differ from command to command),
the second half what their texts mean: configurations, references, gains, payloads, addresses. `names_of` lists the
names of a table of `armwright.choices` for a help text.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from armwright.choices import LANGUAGES, Choices
from armwright.cli.failures import fail
from armwright.cli.old_spellings import say_renamed
from armwright.errors import InputError
from armwright.files import read_regular

if TYPE_CHECKING:
    from typer.models import OptionInfo

    from armwright.motion import Trajectory
    from armwright.robot.model import Robot
    from armwright.types import Array


def names_of(
    table: Choices, remarks: Mapping[str, str] | None = None, *, titles: bool = False, last: str = " or "
) -> str:
    """Return the names of a table as a list in words, plug-ins included where this very command is asked for help.

    Args:
        table: the choice.
        remarks: what stands in brackets behind some of the names.
        titles: labels in place of names.
        last: between the last two.
    """
    wanted = {"-h", "--help"} & set(sys.argv)  # reading what other packages add takes longer than all the help texts
    said = remarks or {}
    words = [
        (table.title(name) if titles else name) + (f" ({said[name]})" if name in said else "")
        for name in (table.all_names() if wanted else table)
    ]
    return last.join(filter(None, (", ".join(words[:-1]), words[-1])))


WHICH = "Catalogue name, or path of a URDF, MJCF, xacro or TOML sheet."
JOINTS = "A,B,…[deg]"
CELL = "U,V[,W]c"
LOAD = "KG[@X,Y,Z]"
RANGE = "LEAST,LARGEST"

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Open = Annotated[bool, typer.Option("--open", help="Show the page in a browser.")]
RobotName = Annotated[str, typer.Argument(metavar="ROBOT", help=WHICH)]
Implausible = Annotated[
    str,
    typer.Option(
        metavar="refuse|warn", help="Bodies that no matter can form: refuse the arm, or warn and take it as written."
    ),
]
Base = Annotated[
    str | None, typer.Option(metavar="LINK", help="URDF, MJCF: the link to stand on; the root by default.")
]
Tip = Annotated[
    str | None,
    typer.Option(
        metavar="LINK", help="URDF, MJCF: the link that carries the tool; joints beside the chain are locked."
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="NUMBER", min=0, help="Of everything random.")]
Film = Annotated[bool, typer.Option("--film/--no-film", help="Add a film to the report (takes longest).")]
Jobs = Annotated[
    int | None, typer.Option(metavar="NUMBER", min=1, max=256, help="Processes; one a processor by default.")
]
Host = Annotated[
    str,
    typer.Option(metavar="HOST", help="Address to listen on; anything but 127.x.y.z opens it to a network."),
]
LanguageName = Annotated[
    str | None,
    typer.Option(
        "--language",
        metavar="LANGUAGE",
        help=f"Of a robot program: {names_of(LANGUAGES)}; by the file's suffix or look if omitted.",
    ),
]
ProgramFile = Annotated[
    Path, typer.Argument(metavar="FILE", help=f"Robot program: {names_of(LANGUAGES, titles=True)}.")
]


def robot_option(more: str = "") -> OptionInfo:
    """Return ``--robot``: always an arm, by name or file."""
    return typer.Option("--robot", metavar="ROBOT", help=f"{WHICH} {more}".rstrip())


def world_option(help: str) -> OptionInfo:  # noqa: A002 (typer's word)
    """Return ``--world``: shapes by the name of a world or by file."""
    return typer.Option("--world", metavar="WORLD", help=f"{help} A name, or a .toml file.")


def duration_option(help: str, *, least: float | None = None, most: float | None = None) -> OptionInfo:  # noqa: A002
    """Return ``--duration`` in seconds, between two limits."""
    return typer.Option("--duration", metavar="SECONDS", min=least, max=most, help=help)


def out_option(metavar: str, help: str) -> OptionInfo:  # noqa: A002
    """Return ``--out``, ``-o``: what a command writes; `metavar` says FILE.ext or FOLDER."""
    return typer.Option("--out", "-o", metavar=metavar, help=help)


def report_option(metavar: str, help: str) -> OptionInfo:  # noqa: A002
    """Return ``--report``: the page (FILE.html) or text (FILE.md) that a command writes about its results."""
    return typer.Option("--report", metavar=metavar, help=help)


def joints_option(name: str, help: str, *others: str) -> OptionInfo:  # noqa: A002
    """Return an option for joint coordinates; `others` are metavars of other meanings that it accepts."""
    return typer.Option(name, metavar="|".join([*others, JOINTS]), help=f"{help} Radians (metres), or deg.")


def payload_option(help: str, *others: str) -> OptionInfo:  # noqa: A002
    """Return ``--payload``: a mass [kg] at the origin of the tool frame (the flange), or at a place [m] in it."""
    where = "Kilograms, at X,Y,Z metres in the tool frame (its origin if omitted)."
    return typer.Option("--payload", metavar="|".join([LOAD, *others]), help=f"{help} {where}")


def rotors_option() -> OptionInfo:
    """Return ``--rotors``: inertia of the motors as their joints feel it, in place of the sheet's."""
    return typer.Option(
        "--rotors", metavar="INERTIA", help="At the joint [kg m²], one or one per joint; or sheet, none."
    )


WRENCH = "[MOVES:]FX,FY,FZ[,NX,NY,NZ][@tool]"


def wrench_option(help: str) -> OptionInfo:  # noqa: A002
    """Return ``--wrench``: force [N] and moment [N m] of the world on the tool, in moves such as 5 or 2-10."""
    how = "Newtons and newton metres on the tool point, base axes, with @tool those of the tool; MOVES: 5, or 2-10."
    return typer.Option("--wrench", metavar=WRENCH, help=f"{help} {how}")


def address_option(name: str, help: str) -> OptionInfo:  # noqa: A002
    """Return an option for the address of a device."""
    return typer.Option(name, metavar="HOST[:PORT]", help=help)


def load_options(implausible: str, base: str | None, tip: str | None) -> dict[str, Any]:
    """Return how `load` is to read an arm, without what it would do anyway."""
    given = {"implausible": None if implausible == "refuse" else implausible, "base": base, "tip": tip}
    return {name: value for name, value in given.items() if value is not None}


def load_arm(robot: str, implausible: str, base: str | None, tip: str | None) -> Robot:
    """Load the arm that the options name."""
    from armwright.robot.load import load

    return load(robot, **load_options(implausible, base, tip))


FORMS = "'hold', a configuration '0,1,0,…', 'quintic:q0->q1:T', 'cubic:q0->q1:T', or a .toml or .json file of waypoints"
UNITS = {"deg": np.pi / 180.0, "rad": 1.0}
MAX_BYTES = 16 * 2**20  # of a file of waypoints


def configuration(text: str, robot: Robot, what: str) -> Array:
    """Read 'a,b,c' as joint values (n,): radians (metres), or degrees with the suffix ``deg``.

    The unit is written once, after the last number, for all of them, or after every number. Degrees are meant for
    revolute joints; prismatic ones are always in metres.
    """
    words = [word.strip() for word in text.split(",")]
    if len(words) != robot.n:
        raise InputError(f"{what} {text!r}: expected {robot.n} numbers separated by commas, got {len(words)}")
    units = [next((unit for unit in UNITS if word.endswith(unit)), "") for word in words]
    if any(units[:-1]) and not all(units):
        raise InputError(f"{what} {text!r}: write the unit after the last number, or after every one")
    turning = [joint.kind == "revolute" for joint in robot.joints]
    values = []
    for word, unit, turns in zip(words, units, turning, strict=True):
        scale = UNITS[unit or units[-1] or "rad"] if turns else 1.0
        values.append(scale * _number(word.removesuffix(unit), f"{what} {text!r}"))
    return np.array(values)


def _number(word: str, what: str) -> float:
    try:
        value = float(word)
    except ValueError:
        raise InputError(f"{what}: {word.strip()!r} is not a number") from None
    if not np.isfinite(value):
        raise InputError(f"{what}: {word.strip()!r} is not finite")
    return value


def numbers(text: str, what: str) -> list[float]:
    """Read finite numbers with commas between them; `what` begins the refusal."""
    return [_number(word, what) for word in text.split(",")]


def reference(text: str, robot: Robot) -> Trajectory | Array | None:
    """Read a reference: None for 'hold', a configuration (n,), or a `Trajectory`."""
    from armwright.motion import cubic, quintic

    if text.strip() == "hold":
        return None
    kind, colon, rest = text.partition(":")
    makers = {"quintic": quintic, "cubic": cubic}
    if colon and kind in makers:
        ends, colon, length = rest.rpartition(":")
        start, arrow, goal = ends.partition("->")
        if not (colon and arrow):
            raise InputError(f"--reference {text!r}: expected '{kind}:q0->q1:T', with T in seconds")
        duration = _number(length.strip().removesuffix("s"), f"--reference {text!r}")
        return makers[kind](
            configuration(start, robot, "--reference"), configuration(goal, robot, "--reference"), duration
        )
    path = Path(text)
    if path.suffix.lower() in (".toml", ".json"):
        return waypoints(path, robot)
    if "," not in text and robot.n != 1:
        raise InputError(f"--reference {text!r}: expected {FORMS}")
    return configuration(text, robot, "--reference")


def waypoints(path: Path, robot: Robot) -> Trajectory:
    """Read a file of waypoints as a quintic spline.

    Keys: ``waypoints`` (N rows of n), ``times`` (N instants from 0 [s], or one total duration), ``unit`` ("rad" by
    default, or "deg").
    """
    from armwright.motion import quintic_spline

    try:
        text = read_regular(path, MAX_BYTES).decode()
        table = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except (UnicodeDecodeError, json.JSONDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path}: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    if not isinstance(table, dict) or not {"waypoints", "times"} <= set(table):
        raise InputError(f"{path}: expected the keys waypoints (rows of {robot.n}) and times (instants, or a duration)")
    strange = sorted(set(table) - {"waypoints", "times", "unit"})
    if strange:
        raise InputError(f"{path}: unknown key {', '.join(strange)}; valid: waypoints, times, unit")
    unit = table.get("unit", "rad")
    if unit not in UNITS:
        raise InputError(f"{path}: unit must be 'rad' or 'deg', got {unit!r}")
    scale = np.array([UNITS[unit] if joint.kind == "revolute" else 1.0 for joint in robot.joints])
    try:
        rows = np.array(table["waypoints"], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: waypoints: expected rows of {robot.n} numbers ({error})") from error
    if rows.ndim != 2 or rows.shape[1] != robot.n:
        raise InputError(f"{path}: waypoints: expected rows of {robot.n} numbers, got shape {rows.shape}")
    try:
        return quintic_spline(rows * scale, table["times"])
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def gains(words: Sequence[str], option: str = "--gain") -> dict[str, Any]:
    """Read 'name=value' words of an option: a number, numbers separated by commas, true, false, or a word."""
    out: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        name, value = name.strip(), value.strip()
        if not (equals and name.isidentifier() and value):
            raise InputError(f"{option} {word!r}: expected name=value, such as kp=100 or kp=50,50,20")
        if name in out:
            raise InputError(f"{option} {name}: given twice")
        if value in ("true", "false"):
            out[name] = value == "true"
        elif value.replace("_", "").replace("-", "").isalpha():
            out[name] = value
        else:
            values = numbers(value, f"{option} {word!r}")
            out[name] = values[0] if len(values) == 1 else np.array(values)
    return out


def tool(text: str) -> Array:
    """Read 'x,y,z' [m] or 'x,y,z,A,B,C' with angles Rz(A) Ry(B) Rx(C) [deg] as a pose (4, 4)."""
    from armwright.spatial import pose, rotation_from_euler

    values = numbers(text, f"--tool {text!r}")
    if len(values) not in (3, 6):
        raise InputError(f"--tool {text!r}: expected x,y,z in metres, or x,y,z,A,B,C with angles in degrees")
    angles = np.radians([*values[3:], 0.0, 0.0, 0.0][:3])
    return np.asarray(pose(rotation_from_euler(angles, "zyx"), np.array(values[:3])))


def payload(text: str) -> tuple[float, list[float]]:
    """Read 'KG' or 'KG@X,Y,Z' as a mass [kg] and its centre [m] in the tool frame, the origin if omitted."""
    if "@" not in text and text.count(",") == 3:
        mass, _, place = text.partition(",")
        say_renamed(f"--payload {text}", f"--payload {mass}@{place}")
        text = f"{mass}@{place}"
    mass, at, place = text.partition("@")
    com = numbers(place, f"--payload {text!r}") if at else [0.0] * 3
    if len(com) != 3:
        raise InputError(f"--payload {text!r}: expected mass, or mass@x,y,z")
    return _number(mass, f"--payload {text!r}"), com


def wrench(text: str) -> tuple[list[float], str, int | None, int | None]:
    """Read '[MOVES:]fx,fy,fz[,nx,ny,nz][@tool]' as a wrench (6,), its axes, and its first and last move."""
    what = f"--wrench {text!r}"
    moves, colon, rest = text.rpartition(":")
    values, at, frame = rest.partition("@")
    first, _, last = moves.partition("-")
    stated = [word.strip() for word in (first, last or first)] if colon else []
    if not all(word.isdecimal() for word in stated) or (at and frame.strip() not in ("base", "tool")):
        raise InputError(f"{what}: expected {WRENCH}, such as 0,0,-80 or 2-10:100,100,-150@tool")
    found = numbers(values, what)
    if len(found) not in (3, 6):
        raise InputError(f"{what}: expected a force fx,fy,fz in N, or fx,fy,fz,nx,ny,nz with a moment in N m")
    begin, end = (int(word) for word in stated) if stated else (None, None)
    return [*found, 0.0, 0.0, 0.0][:6], frame.strip() or "base", begin, end


def measured_time(text: str) -> tuple[int, int, float, float]:
    """Read how long lines took: first and last line (0 for all), seconds, and half of the last digit written [s]."""
    lines, equals, seconds = (word.strip() for word in text.partition("="))
    first, dash, last = (word.strip() for word in lines.partition("-"))
    named = lines == "all" or (first.isdecimal() and (last.isdecimal() if dash else True))
    if not equals or not named or (lines != "all" and not 1 <= int(first) <= int(last or first)):
        raise InputError(f"--measured {text!r}: expected LINE=SECONDS, FIRST-LAST=SECONDS or all=SECONDS")
    value = _number(seconds, f"--measured {text!r}")
    if value <= 0.0:
        raise InputError(f"--measured {text!r}: expected seconds above 0")
    half = 0.5 * 10.0 ** -len(seconds.partition(".")[2])
    return (0, 0, value, half) if lines == "all" else (int(first), int(last or first), value, half)


def value_range(text: str, option: str) -> tuple[float, float]:
    """Read 'LEAST,LARGEST'."""
    try:
        low, high = (float(word) for word in text.split(","))
    except ValueError:
        fail(f"{option} {text}: expected two numbers, least,largest, such as 1,3")
    return low, high


def address(text: str, option: str) -> tuple[str, int | None]:
    """Read 'HOST' or 'HOST:PORT' as a host and a port, None if omitted; '[…]:PORT' for IPv6."""
    host, colon, port = text.rpartition(":")
    bare = not colon or (":" in host and not host.endswith("]"))  # a name, or an IPv6 address without a port
    if bare:
        return text.strip("[]"), None
    if not (host and port.isdigit() and 0 < int(port) < 65536):
        fail(f"{option} {text}: expected HOST or HOST:PORT, such as 192.168.1.10 or 192.168.1.10:30004")
    return host.strip("[]"), int(port)
