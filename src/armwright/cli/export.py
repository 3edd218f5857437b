# SPDX-License-Identifier: Apache-2.0
"""``armwright export``: an arm's equations as code, the arm in another format, a controller, or a page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.choices import ARTEFACTS
from armwright.cli.export_loop import (
    ArtefactOptions,
    ChosenController,
    LoopExport,
    SimulatedArm,
    chosen_loop,
    write_loop,
)
from armwright.cli.export_page import PAGE, PageOptions, write_arm_page
from armwright.cli.failures import fail
from armwright.cli.option_groups import ArmReading, grouped
from armwright.cli.option_words import Json, RobotName, out_option
from armwright.cli.output import as_json, say_json, say_source, tell
from armwright.files import write_file

if TYPE_CHECKING:
    from armwright.robot.model import Robot

CODE = ("c", "numpy", "sympy", "latex", "matlab", "jax", "llvm")
FORMATS = ("urdf", "mjcf", "sheet", "dh", "mdh", "screws")
EQUATIONS = (
    "rnea",
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "coriolis_matrix",
    "gravity_torque",
    "bias",
    "energy",
    "regressor",
    "fk",
    "jacobian",
    "fk_jacobian",
)
LETTERS = ("M", "C", "g", "h", "tau", "Y", "T", "J")
ENDINGS = {"c": "c", "matlab": "m", "numpy": "py", "sympy": "py", "jax": "py", "latex": "tex", "llvm": "ll"}
PLANAR = "planar:"


@grouped
def export(
    *,
    robot: RobotName,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help=f"Code: {', '.join(CODE)}. Description: {', '.join(FORMATS)}. "
            f"A controller (--law) or an arm (--plant): {', '.join(ARTEFACTS)}. "
            f"{PAGE}: one HTML file in which the arm lives and can be pulled.",
        ),
    ],
    what: Annotated[
        list[str] | None,
        typer.Option("--what", help=f"Which equations: {', '.join(EQUATIONS)}; several with commas. rnea if omitted."),
    ] = None,
    out: Annotated[
        Path | None,
        out_option("FILE.ext|FOLDER", "File, or a folder for a file per function; standard output if omitted."),
    ] = None,
    page: PageOptions,
    loop: LoopExport,
    reading: ArmReading,
    json: Json = False,
) -> None:
    """Write an arm's equations as code, the arm in another format, a controller, or a page in which the arm lives.

    With --law: law, observer and detector with their memory, as files that run by themselves; --plant: the arm, too.
    planar:RR is the planar arm of the textbooks (R turns, P slides) with symbols m1, l1, lc1, I1, … and g as arguments.
    """
    valid = tuple(dict.fromkeys((*CODE, *FORMATS, *ARTEFACTS, PAGE)))
    if to not in valid:
        fail(f"--to {to}: choose from {', '.join(valid)}")
    if to == PAGE:
        write_page(robot, what, page, loop, reading, out, json)
        return
    if loop.is_asked:
        if to not in ARTEFACTS or what or robot.startswith(PLANAR):
            fail(f"--to {to}: a controller or an arm is written as {', '.join(ARTEFACTS)}, without --what or symbols")
        write_loop(chosen_loop(reading.load(robot), loop, page.world, page.q0), to, loop, out, json)
        return
    loop.refuse_all()
    if to not in (*CODE, *FORMATS):
        fail(f"--to {to}: say what, --law LAW or --plant")
    if page != PageOptions():
        fail(f"--world, --q0: go with --to {PAGE}, --law or --plant")
    wanted = [word for words in what or ["rnea"] for word in words.split(",") if word]
    if not wanted:
        fail(f"--what: choose from {', '.join((*EQUATIONS, *LETTERS))}")
    if strange := [word for word in wanted if word not in (*EQUATIONS, *LETTERS)]:
        fail(f"--what {strange[0]}: choose from {', '.join((*EQUATIONS, *LETTERS))}")
    if robot.startswith(PLANAR) and to in FORMATS:
        fail(f"--to {to}: {robot} has symbols, not numbers; choose from {', '.join(CODE)}")
    answer: dict[str, Any] = {"to": to}
    if to in FORMATS:
        arm = reading.load(robot)
        texts = {"": described(arm, to)}
        answer["robot"] = arm.name
    else:
        texts = code(robot, to, wanted, out, answer, lambda: reading.load(robot))
    folder = out if out is not None and "" not in texts else None
    for name, text in texts.items():
        place = out if folder is None else folder / name
        if place is not None:
            write_file(place, text)
            if not json:
                tell(f"wrote {place} ({len(text.splitlines())} lines)")
    if out is not None:
        answer |= {"file": str(out)} if folder is None else {"files": [str(folder / name) for name in texts]}
    else:
        answer["text"] = texts[""]
    if json:
        say_json(answer)
    elif out is None:
        say_source(texts[""])


def write_page(
    robot: str,
    what: list[str] | None,
    page: PageOptions,
    loop: LoopExport,
    reading: ArmReading,
    out: Path | None,
    json: bool,
) -> None:
    """Write a page: with a controller of the user's, or the usual one."""
    if robot.startswith(PLANAR) or what:
        fail(f"--to {PAGE}: an arm with numbers, without --what; {PLANAR}… has symbols")
    loop.refuse(ArtefactOptions, "a controller that is no page")
    loop.refuse(SimulatedArm, "--plant, which a page always has")
    arm = reading.load(robot)
    if loop.law is None:
        loop.refuse(ChosenController, "--law")
        write_arm_page(arm, None, (), page, out, json)
        return
    if loop.reference is not None:
        fail(f"--reference: the arm of a {PAGE} goes where it is pulled")
    chosen = chosen_loop(arm, loop, None, page.q0)
    write_arm_page(arm, chosen.law, chosen.loop.monitors, page, out, json, (loop.frequency, loop.rate))


def code(
    robot: str, to: str, asked: list[str], out: Path | None, answer: dict[str, Any], load: Callable[[], Robot]
) -> dict[str, str]:
    """Write equations in the language `to`: text by file name, or one text by "" if `out` is not a folder."""
    from armwright.dynamics.equations import equations
    from armwright.robot.symbolic import planar

    arm = planar(robot.removeprefix(PLANAR)) if robot.startswith(PLANAR) else load()
    made = equations(arm, *asked)
    functions = made.functions()
    answer |= {"robot": arm.name, "what": ",".join(made.asked), "functions": [program.name for program in functions]}
    answer["operations"] = {word: f.counts._asdict() for word, f in zip(made.asked, functions, strict=True)}
    if len(functions) == 1:
        answer["operations"] = functions[0].counts._asdict()
    if out is not None and out.is_dir():
        each = [(program.name, equations(arm, word)) for program, word in zip(functions, made.asked, strict=True)]
        return {f"{name}.{ENDINGS[to]}": one.source(to, name=name) for name, one in each}
    stem = "" if out is None else "".join(c if c.isascii() and c.isalnum() else "_" for c in out.stem)
    fits = to == "matlab" and stem.isidentifier() and not stem.startswith("_")  # MATLAB calls functions by their files
    name = stem if fits else functions[0].name if len(functions) == 1 else made.name
    return {"": made.source(to, name=name)}


def described(robot: Robot, to: str) -> str:
    """Write the arm as URDF, MJCF or TOML sheet, or its DH/MDH/screw parameters as JSON."""
    result = getattr(robot, f"to_{to}")()
    return result if isinstance(result, str) else as_json(fields(result))


def fields(value: Any) -> Any:
    """Turn dataclasses and named tuples into dictionaries."""
    import dataclasses

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: fields(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "_asdict"):
        return {name: fields(item) for name, item in value._asdict().items()}
    if isinstance(value, dict):
        return {name: fields(item) for name, item in value.items()}
    return [fields(item) for item in value] if isinstance(value, list | tuple) else value
