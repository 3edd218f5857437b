# SPDX-License-Identifier: Apache-2.0
"""The arm and the demonstration as 001 prints them: gears, speeds, inertias, targets (§4)."""

from __future__ import annotations

import numpy as np

from armwright.errors import ProgramError
from armwright.kinematics import ik
from armwright.programs.program_reader import read_program
from armwright.robot.load import load
from armwright.studies.doc001_erfd.demo import MOVES, PRINTED, point, pose, segments
from armwright.studies.doc001_erfd.setting import arm
from armwright.studies.study import Claim, Formula, Item, Numbers, Undetermined
from armwright.types import Array

RPM = np.array([3150, 2800, 3150, 3400, 3400, 3400])
SPEEDS = "3.05 3.46 3.08 2.66 1.62 6.67"


def gears() -> Array:
    """Return k4, k5, k6 from the teeth and stages of Table 4.4."""
    bevel, teeth = 24 / 14, 10 / 15
    return np.array([bevel * 78, bevel * 1.6 * 120 * teeth, 1.6 * 50 * teeth * 1])


def motor_speeds() -> Array:
    """Return the speed of each axis at its motor's own limit [rad/s]."""
    return np.asarray(RPM * (2.0 * np.pi / 60.0) / np.diag(arm().actuators.gear))


def plane_z(name: str) -> float:
    """Return z [mm] at which a target's x and y meet the plane of all targets that are printed without doubt."""
    sure = np.array([PRINTED[other][0] for other in PRINTED if other not in ("s6", "s9")])
    a, b, c = np.linalg.lstsq(np.column_stack([sure[:, :2], np.ones(len(sure))]), sure[:, 2], rcond=None)[0]
    x, y, _ = PRINTED[name][0]
    return float(a * x + b * y + c)


def listing(*, brace: bool) -> str:
    """Return targets and moves 2–10 of Fig. 8 as an L-IRL program, with or without the brace before move 2."""
    lines = ["program Lola15DD;", "var"]
    for name, ((x, y, z), angles) in PRINTED.items():
        place = f"({x}, {y}, {z})"
        target = f"position{place}" if angles is None else f"({place}, {angles})"
        lines.append(f"robtarg : {name} = robtarg({target});")
    lines += ["endvar", "seq", "{" if brace else ""]
    for via, target, speed, acceleration in MOVES:
        way = f"lin {target}" if via is None else f"circle {via}, {target}"
        lines.append(f"move {way} speed={speed} acc={acceleration};")
    return "\n".join([*lines, "endseq", ""])


def moves_read(*, brace: bool) -> int:
    """Return how many of the nine moves a reader finds, 0 if it finds the text to be no program."""
    try:
        return len(read_program(listing(brace=brace), "l-irl").moves)
    except ProgramError:
        return 0


def _gyration_notes() -> list[str]:
    out = []
    for body, other in zip(arm().bodies[1:5], load("rl15-origin").bodies[1:5], strict=True):
        radii = np.sqrt(np.diag(body.inertia) / body.mass)
        moments = ", ".join(f"{x:.3f}" for x in np.diag(other.inertia))
        out.append(
            f"{body.name}: radii of gyration {', '.join(f'{x:.2f}' for x in radii)} m; read about the frame's "
            f"origin its central moments would be {moments} kg m²"
        )
    return out


def _path_notes() -> list[str]:
    lengths = ", ".join(f"{1000 * path.length:.2f}" for path in segments())
    reach = [name for name in PRINTED if PRINTED[name][1] is not None and not ik(arm(), pose(name), method="closed").ok]
    shoulder = {name: float(np.hypot(np.hypot(*point(name)[:2]) - 0.2, point(name)[2])) for name in ("s6", "s10")}
    far = ", ".join(f"{name} {1000 * x:.1f}" for name, x in shoulder.items())
    return [
        f"lengths of moves 2–10: {lengths} mm, together {1000 * sum(path.length for path in segments()):.2f}",
        f"targets out of reach with the tool at (120, 120, 350) mm: {', '.join(reach) or 'none'}",
        f"from the shoulder: {far} mm, the wrist centre reaches 1432.98: targets are points of the tool",
    ]


def _listing_notes() -> list[str]:
    try:
        read_program(listing(brace=True), "l-irl")
    except ProgramError as error:
        return [f"our reader, with the brace: {error}"]
    return []


ITEMS: tuple[Item, ...] = (
    Item("4.4", "gears k4, k5, k6 from their stages", Numbers("133.714 219.429 53.333"), None, gears),
    Item(
        "4.2",
        "largest axis speeds are those of the motors over the gears",
        Numbers(SPEEDS, "rad/s"),
        None,
        motor_speeds,
        reason="axis 2 has 3.46 for 2.46; axes 1 and 3 are printed for 3500/min, their motors for 3150/min",
        faults=("axis speeds and motor speeds contradict each other",),
        notes=lambda: [f"axis {i + 1}: {x:.3f} rad/s" for i, x in enumerate(motor_speeds())],
    ),
    Item(
        "4.3",
        "inertias are about the centres of mass",
        Undetermined("about the centre of mass"),
        reason="for links 2–4 the radii of gyration are then far too large, about the frames' origins they are "
        "sensible; link 6 cannot be read so. The catalogue has both: rl15, rl15-origin",
        notes=_gyration_notes,
    ),
    Item(
        "8a",
        "z of target s6",
        Numbers("873.1763", "mm"),
        None,
        lambda: plane_z("s6"),
        reason="all other targets lie in one plane to 0.001 mm; s6 is 0.5 mm off as printed: 873.6763",
        faults=("Fig. 8: z of s6",),
        notes=_path_notes,
    ),
    Item(
        "8b",
        "z of target s9",
        Formula("890.2428 − 610", "mm"),
        lambda: 890.2428 - 610.0,
        lambda: plane_z("s9"),
        reason="without the subtraction it lies in the plane of the others, and the move is 173.21 mm long as the one "
        "before it",
        faults=("Fig. 8: z of s9",),
    ),
    Item(
        "8c",
        "moves 2–10 of the listing run",
        Claim("nine moves, as the text describes", 9),
        None,
        lambda: moves_read(brace=True),
        reason="a brace before move 2 opens a comment that never closes; without it all nine are read",
        faults=("Fig. 8: brace before move 2",),
        rule="by our reader of L-IRL: targets and moves as printed, words of orientation and blending left out",
        notes=lambda: [f"without the brace {moves_read(brace=False)} moves are read", *_listing_notes()],
    ),
    Item(
        "8d",
        "the program keeps its tool in one plane",
        Claim("plane path of Fig. 4"),
        lambda: all(abs(plane_z(name) - PRINTED[name][0][2]) < 0.01 for name in PRINTED),
        lambda: all(abs(plane_z(name) - 1000.0 * point(name)[2]) < 0.01 for name in PRINTED),
        reason="with s6 and s9 as printed it does not",
        rule="0.01 mm: the sure ones keep to 0.001",
    ),
)
