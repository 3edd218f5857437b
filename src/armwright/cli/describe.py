# SPDX-License-Identifier: Apache-2.0
"""``armwright robots``, ``show`` and ``check``: what an arm (or a program) is, and whether an arm can exist."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.choices import LANGUAGES
from armwright.cli.failures import fail
from armwright.cli.option_groups import ArmReading, grouped
from armwright.cli.option_words import WHICH, Implausible, Json, LanguageName, RobotName, names_of
from armwright.cli.output import NEGATIVE, number, say, say_json, table
from armwright.cli.python_words import as_options
from armwright.errors import DescriptionError, InputError

if TYPE_CHECKING:
    from armwright.robot.check import Finding
    from armwright.robot.model import Robot

ONLY_READ = (
    "inertia-positive",
    "axis-unit-length",
    "limit-unused",
    "limit-missing",
    "decimal-number",
    "path-inside-root",
)
"""Rules of a file that its arm no longer shows once it is loaded."""
NOTHING_READ = ("name", "file", "readable-file")
"""Rules whose breach says that the name or path is wrong, not the arm."""
DRAWING_DPI = 160  # pixels per inch
ARM_SUFFIXES = (".urdf", ".xml", ".xacro", ".toml")


@dataclass(frozen=True)
class CheckReading(ArmReading):
    """How the file of an arm under judgement is to be read: findings are wanted, not a refusal."""

    implausible: Implausible = "warn"


def robots(json: Json = False) -> None:
    """List the arms of the catalogue."""
    from armwright.robot.load import robots as entries

    listing = [entry._asdict() for entry in entries()]
    if json:
        say_json(listing)
    else:
        table(
            "Catalogue",
            ["robot", "title", "main source", "joints"],
            [[row["name"], row["title"], shortened(row["source"]), row["n"]] for row in listing],
            left=3,
        )


@grouped
def show(
    *,
    robot: Annotated[
        str,
        typer.Argument(metavar="ROBOT|FILE|FOLDER", help=f"{WHICH} Or a program: {names_of(LANGUAGES, titles=True)}."),
    ],
    draw: Annotated[
        Path | None,
        typer.Option(
            "--draw", metavar="FILE.png", help="Draw the arm: frames, joint axes, centres of mass, manipulability."
        ),
    ] = None,
    meshes: Annotated[
        Path | None,
        typer.Option(
            "--meshes", metavar="FOLDER", help="With --draw: draw the meshes of a URDF; packages lie in this folder."
        ),
    ] = None,
    language: LanguageName = None,
    reading: ArmReading,
    json: Json = False,
) -> None:
    """Show an arm's sheet (joints, bodies, motors, and where each number comes from), or a program's moves."""
    if language is not None or is_program(robot):
        from armwright.cli.program_command import print_or_json

        if draw is not None or meshes is not None:
            fail(f"--draw and --meshes are for arms, and {robot} is a robot program")
        print_or_json(Path(robot), language, json)
        return
    arm = reading.load(robot)
    if draw is not None and meshes is not None:
        draw_meshes(arm, robot, meshes, draw)
    elif draw is not None:
        draw_arm(arm, draw)
    if json:
        say_json(description(arm))
    else:
        print_sheet(arm)


def is_program(name: str) -> bool:
    """Whether a word names a robot program: by the suffix of its language, or a file that no arm can come from.

    A folder is one if it has files of a program; an arm of the catalogue whose name a folder bears stays an arm.
    """
    if Path(name).is_dir():
        from armwright.programs.interpreter.program_folder import is_project
        from armwright.robot.load import robots as entries

        return is_project(Path(name)) and all(name.lower() != entry.name.lower() for entry in entries())
    suffix = Path(name).suffix.lower()
    if suffix in ("", *ARM_SUFFIXES):
        return False
    from armwright.programs.languages import LANGUAGES

    return any(suffix in language.suffixes for language in LANGUAGES) or Path(name).is_file()


def draw_meshes(arm: Robot, file: str, packages: Path, path: Path) -> None:
    """Draw what the URDF `file` shows of the arm."""
    from armwright.recording.pictures.arm_drawing import draw_shapes
    from armwright.recording.pictures.style import save_figure
    from armwright.world import link_shapes

    if not file.lower().endswith((".urdf", ".xml")):
        raise InputError("show: --meshes draws those of a URDF file")
    figure = draw_shapes(arm, arm.neutral(), link_shapes(arm, file, "visual", package_roots=[packages]))
    save_figure(figure, path, DRAWING_DPI)


def draw_arm(arm: Robot, path: Path) -> None:
    """Draw the arm at q = 0 and in a bent configuration, with everything its sheet says about it."""
    import numpy as np

    from armwright.kinematics import manipulability
    from armwright.recording.pictures.style import save_figure
    from armwright.studies.study_pictures import Ball, arm_figure

    bent = np.clip(0.6 * (-1.0) ** np.arange(arm.n), arm.lower, arm.upper)
    ellipsoid = manipulability(arm, bent)
    scale = 0.25 * float(np.linalg.norm(arm.T_tip_tool[:3, 3]) + 1.0) / max(float(ellipsoid.half_lengths.max()), 1e-9)
    balls = {"bent, with manipulability": Ball(ellipsoid.axes, scale * ellipsoid.half_lengths)}
    figure = arm_figure(arm, [("q = 0", np.zeros(arm.n)), (next(iter(balls)), bent)], axes=True, coms=True, balls=balls)
    save_figure(figure, path, DRAWING_DPI)


@grouped
def check(
    *,
    robot: RobotName,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as a negative verdict, too.")] = False,
    reading: CheckReading,
    json: Json = False,
) -> None:
    """Judge whether an arm is physically plausible. Exit code 1 if it is not.

    With --implausible refuse, the finding is the loader's refusal, which knows file and line.
    """
    from armwright.robot.check import Finding
    from armwright.robot.check import check as judge

    name = robot
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            arm = reading.load(robot)
        findings = judge(arm) + [found for warning in told for found in remarks(str(warning.message))]
        name, findings = arm.name, sorted(findings, key=lambda f: ("error", "warning", "info").index(f.severity))
    except DescriptionError as error:
        if error.rule in NOTHING_READ:
            raise
        findings = [Finding("error", error.where, str(error), error.rule)]
    counts = {kind: sum(f.severity == kind for f in findings) for kind in ("error", "warning", "info")}
    negative = counts["error"] > 0 or (strict and counts["warning"] > 0)
    if json:
        listing = [{"severity": f.severity, "place": f.place, "reason": f.reason, "rule": f.rule} for f in findings]
        say_json({"robot": name, "plausible": not negative, "counts": counts, "findings": listing})
    else:
        if findings:
            table(
                name,
                ["severity", "place", "reason", "rule"],
                [[f.severity, f.place, f.reason, f.rule] for f in findings],
                left=4,
            )
        verdict = "not plausible" if negative else "plausible"
        words = (("error", "error"), ("warning", "warning"), ("info", "remark"))
        said = ", ".join(f"{counts[kind]} {word}{'s' * (counts[kind] != 1)}" for kind, word in words)
        say(f"{name}: {verdict} ({said})")
    if negative:
        raise typer.Exit(NEGATIVE)


def remarks(text: str) -> list[Finding]:
    """A warning of the loader as a finding, unless it is about what the check of the loaded arm judges itself."""
    from armwright.robot.check import Finding

    found = re.fullmatch(r"(?P<place>.+?:\d+): (?P<reason>.+) \[(?P<rule>[\w-]+)\]", text)
    if found is None or found["rule"] not in ONLY_READ:
        return []
    return [Finding("warning", found["place"], found["reason"], found["rule"])]


def description(robot: Robot) -> dict[str, Any]:
    """Everything about an arm, ready for JSON."""
    a = robot.actuators
    return {
        "name": robot.name,
        "n": robot.n,
        "notes": robot.notes,
        "gravity": robot.gravity,
        "joints": [
            {
                "name": j.name,
                "kind": j.kind,
                "lower": j.limits.lower,
                "upper": j.limits.upper,
                "velocity": j.limits.velocity,
                "effort": j.limits.effort,
                "viscous": j.friction.viscous,
                "coulomb": j.friction.coulomb,
            }
            for j in robot.joints
        ],
        "frames": [
            {
                "name": f.name,
                "on": robot.bodies[f.parent].name if f.parent >= 0 else None,
                "T_parent_frame": f.T_parent_frame,
            }
            for f in robot.frames
        ],
        "bodies": [
            {
                "name": b.name,
                "parent": robot.bodies[b.parent].name if b.parent >= 0 else None,
                "mass": b.mass,
                "com": b.com,
                "inertia": b.inertia,
                "T_parent_joint": b.T_parent_joint,
                "axis": b.axis,
                "T_joint_link": b.T_joint_link,
            }
            for b in robot.bodies
        ],
        "actuators": {
            name: getattr(a, name)
            for name in (
                "gear",
                "rotor_inertia",
                "viscous",
                "load_friction",
                "torque_limit",
                "speed_limit",
                "current_limit",
                "torque_constant",
                "continuous_torque",
                "thermal_time",
                "curve_speed",
                "curve_torque",
            )
        },
        **({"measured": drives} if (drives := measured_drives(robot)) else {}),
        "rated_payload": robot.rated_payload,
        "provenance": {name: {"class": p.kind, "width": p.width} for name, p in robot.provenance.items()},
        "capsules": capsules_of(robot),
        "sources": {
            path: {"document": s.document, "place": s.place, "note": s.note} for path, s in robot.sources.items()
        },
    }


def measured_drives(robot: Robot) -> dict[str, Any]:
    """What was measured at the drives, joint by joint, and who measured it; empty if nobody did."""
    drives = robot.measured
    if drives is None:
        return {}
    friction = {key: [getattr(part, key) for part in drives.friction] for key in ("viscous", "coulomb", "dead_zone")}
    current = {"torque_constant": drives.current.k, "torque_offset": drives.current.b}
    return {**friction, **current, "rotor_inertia": drives.rotors, "source": drives.source}


def capsules_of(robot: Robot) -> dict[str, Any] | None:
    """What touches, in link frames, and how far it reaches beyond the tool frame [m]; None for arms without extent."""
    from armwright.world.arm_capsules import beyond_tool, link_capsules

    try:
        parts = link_capsules(robot)
    except InputError:
        return None
    listing = [{"link": p.link, "start": p.start, "end": p.end, "radius": p.radius} for p in parts]
    return {"links": listing, "beyond_tool": beyond_tool(robot, parts)}


def print_sheet(robot: Robot) -> None:
    """Print an arm's joints, bodies and sources as tables."""
    from armwright.robot.inertia_needed import has_inertia
    from armwright.robot.provenance import provenance_words

    known = has_inertia(robot)
    weight = f"{sum(b.mass for b in robot.bodies):.3g} kg moving" if known else "no inertia"
    say(
        f": {robot.n} joints, {weight}, gravity ({', '.join(number(float(x)) for x in robot.gravity)}) m/s²",
        lead=robot.name,
    )
    for line in robot.notes.splitlines():
        say(as_options(line))
    table(
        "Joints (SI, radians)",
        ["joint", "kind", "lower", "upper", "speed", "effort", "viscous", "Coulomb"],
        [
            [
                j.name,
                j.kind,
                j.limits.lower,
                j.limits.upper,
                j.limits.velocity,
                j.limits.effort,
                j.friction.viscous,
                j.friction.coulomb,
            ]
            for j in robot.joints
        ],
        left=2,
    )
    if robot.rated_payload is not None:
        say(f"Rated payload: {robot.rated_payload:g} kg")
    if robot.provenance:
        say(f"How far to trust it (widths are judgement): {'; '.join(provenance_words(robot.provenance))}")
    if robot.frames:
        say(f"Frames: {', '.join(frame.name for frame in robot.frames)}")
    documents = list(dict.fromkeys(source.document for source in robot.sources.values()))

    def cite(path: str) -> str:
        source = robot.sources.get(path)
        return f"[{documents.index(source.document) + 1}] {source.place}" if source else "–"

    rows = []
    for body in robot.bodies:
        com = "(" + ", ".join(f"{x:.4g}" for x in body.com) + ")"
        moments = "(" + ", ".join(f"{body.inertia[k, k]:.4g}" for k in range(3)) + ")"
        place = f"bodies.{body.name}"
        rows.append([body.name, cite(f"{place}.mass"), cite(f"{place}.inertia"), body.mass, com, moments])
    if known:
        table(
            "Bodies (centre of mass, and inertia about it, in link axes)",
            ["body", "source of mass", "source of inertia", "mass [kg]", "com [m]", "Ixx, Iyy, Izz [kg m²]"],
            rows,
            left=3,
        )
    else:
        say(f"Bodies: {', '.join(body.name for body in robot.bodies)}")
    rotor = robot.actuators.rotor_inertia
    if rotor.any():
        a = robot.actuators
        table(
            "Motors",
            ["motor of", "gear", "rotor [kg m²]", "torque [N m]", "speed [rad/s]"],
            [
                [j.name, float(a.gear[i, i]), float(rotor[i]), float(a.torque_limit[i]), float(a.speed_limit[i])]
                for i, j in enumerate(robot.joints)
            ],
        )
    drives = measured_drives(robot)
    if drives:
        source = drives.pop("source")
        table(
            "Measured at the drives, joint side (kept apart: not in the arm's equations)",
            ["joint", "viscous", "Coulomb", "dead zone", "k [N m/A]", "b [N m]", "rotor [kg m²]"],
            [[j.name, *(float(x[i]) for x in drives.values())] for i, j in enumerate(robot.joints)],
        )
        say(f"Measured: {source}")
        say()
    shape = capsules_of(robot)
    if shape is not None:
        say(
            f"Touched as {len(shape['links'])} capsules along the links; the last one's round end reaches "
            f"{1e3 * shape['beyond_tool']:.0f} mm beyond the tool frame"
        )
        say()
    notes = [
        [path, cite(path), source.note]
        for path, source in robot.sources.items()
        if source.note and robot.sources.get(path.rpartition(".")[0]) != source
    ]
    if notes:
        table("Corrected or estimated", ["number", "source", "note"], notes, left=3)
    for index, document in enumerate(documents):
        say(f"[{index + 1}] {document}")


def shortened(text: str, width: int = 70) -> str:
    """Return the first of several documents, cut to what a table can hold."""
    first = text.split("; ")[0]
    return first if len(first) <= width else first[: width - 1] + "…"
