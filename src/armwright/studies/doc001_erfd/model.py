# SPDX-License-Identifier: Apache-2.0
"""The arm and the demonstration as 001 prints them: gears, speeds, inertias, targets (Section 8, Fig. 8, App. A–E)."""

from __future__ import annotations

import numpy as np

from armwright.errors import ProgramError
from armwright.kinematics import ik
from armwright.motion.cartesian_path import CartesianPath, circle_via, line
from armwright.programs.program_reader import read_program
from armwright.robot.load import load
from armwright.studies.doc001_erfd.demo import CORRECTED, PRINTED, point, pose, segments
from armwright.studies.doc001_erfd.fig8_listing import listing, path_moves, program
from armwright.studies.doc001_erfd.setting import arm
from armwright.studies.study import Claim, Item, Numbers, Supposed, Undetermined
from armwright.types import Array

RPM = np.array([3150, 2800, 3150, 3400, 3400, 3400])
SPEEDS = "3.05 3.46 3.08 2.66 1.62 6.67"


def gears() -> Array:
    """Return k4, k5, k6 from the teeth and stages of Appendix D."""
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


def as_in_the_listing(name: str) -> Array:
    """Return a target's position [m] with z as Fig. 8 has it."""
    return np.array(PRINTED[name][0]) / 1000.0


def _s6_notes() -> list[str]:
    out = []
    for what, via in (("as in the figure", as_in_the_listing("s6")), ("in the plane", point("s6"))):
        arc = circle_via(pose("s5"), via, pose("s7"))
        said = f"radius {_radius('s5', via, 's7'):.2f} mm, {1000 * arc.length:.2f} mm long"
        out.append(f"arc s5–s6–s7, s6 {what}: {said}, corner at s5 {corner(segments()[2], arc):.2f}°")
    twin = 1000 * segments()[6].length
    out.append(f"arc s9–s10–s11: radius {_radius('s9', point('s10'), 's11'):.2f} mm, {twin:.2f} mm long")
    return [*out, *_path_notes()]


def corner(before: CartesianPath, after: CartesianPath) -> float:
    """Return the angle [deg] between the end of one path and the beginning of the next."""
    step = 1e-5  # of either length: the chord of an arc of 90° is 0.0005° off its tangent
    ends = before.at(np.array([1.0 - step, 1.0])).T, after.at(np.array([0.0, step])).T
    one, other = (T[1, :3, 3] - T[0, :3, 3] for T in ends)
    return float(np.rad2deg(np.arccos(np.clip(one @ other / np.linalg.norm(one) / np.linalg.norm(other), -1.0, 1.0))))


def _radius(first: str, via: Array, last: str) -> float:
    """Return the radius [mm] of the circle through three points."""
    a, b, c = point(first), via, point(last)
    sides = [np.linalg.norm(x) for x in (b - a, c - b, a - c)]
    return float(1000.0 * np.prod(sides) / (2.0 * np.linalg.norm(np.cross(b - a, c - a))))


def _s9_notes() -> list[str]:
    low = pose("s9")
    low[:3, 3] = as_in_the_listing("s9")
    before, after = pose("s8_a"), pose("s11")
    ways = [line(before, low), circle_via(low, point("s10"), after)]
    lost = [
        number
        for number, way in zip((7, 8), ways, strict=True)
        if not all(ik(arm(), T, method="closed", limits=False).ok for T in way.at(np.linspace(0.0, 1.0, 51)).T)
    ]
    lengths = ", ".join(f"{1000 * way.length:.0f}" for way in ways)
    reach = f"move {' and '.join(map(str, lost))} leaves the arm's reach" if lost else "the arm reaches both"
    return [
        f"with s9 610 mm lower moves 7 and 8 are {lengths} mm long and meet at a corner of {corner(*ways):.0f}°, which "
        f"c_speed passes without a stop; {reach}",
        "without the subtraction: "
        + ", ".join(f"{1000 * segments()[k].length:.2f}" for k in (5, 6))
        + f" mm, corner of {corner(*segments()[5:7]):.2f}°",
    ]


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
        read_program(listing("open"), "l-irl")
    except ProgramError as error:
        return [f"our reader, where the figure ends: {error}"]
    return []


def _count_notes() -> list[str]:
    kinds = [move.kind for move in program().moves]
    return [f"shown are {len(kinds)} moves, {kinds.count('joint')} of them PTP; the last line shown is 36"]


ITEMS: tuple[Item, ...] = (
    Item(
        "E.v",
        "largest axis speeds, against those of the motors over the gears",
        Numbers(SPEEDS, "rad/s"),
        None,
        motor_speeds,
        reason="the motor of axis 2 gives 2.46, perhaps a slip of one digit; axes 1 and 3 would need 3500/min of "
        "motors that have 3150 (Appendix E); axes 4–6 agree, the last one cut off",
        faults=("axis speeds and motor speeds contradict each other",),
        notes=lambda: [
            "gears of axes 4–6 from their stages: " + ", ".join(f"{k:.3f}" for k in gears()),
            *(f"axis {i + 1}: {x:.3f} rad/s" for i, x in enumerate(motor_speeds())),
        ],
    ),
    Item(
        "B.14",
        "inertias are about the centres of mass",
        Undetermined("about the centre of mass"),
        reason="for links 2–4 the radii of gyration are then far too large, about the frames' origins they are "
        "sensible; link 6 cannot be read so. The catalogue has both: rl15, rl15-origin",
        notes=_gyration_notes,
    ),
    Item(
        "8a",
        "z of target s6",
        Undetermined("873.1763", "mm"),
        reason=f"the other targets lie in one plane to 0.001 mm; s6 would with {CORRECTED['s6']}, one digit away, and "
        "its arc then is that of its twin. The document does not speak of a plane, Fig. 8 is a picture, and our text "
        "of it a transcription: whose digit it is cannot be told",
        notes=lambda: [f"the plane of the others passes at z = {plane_z('s6'):.4f} mm", *_s6_notes()],
    ),
    Item(
        "8b",
        "z of target s9",
        Undetermined("890.2428 − 610", "mm"),
        reason="an expression in a program is no misprint; it may have been tried. Without the subtraction the target "
        "lies in the plane of the others, and the next move begins without a corner. Which one was run is not said",
        notes=lambda: [f"the plane of the others passes at z = {plane_z('s9'):.4f} mm", *_s9_notes()],
    ),
    Item(
        "8c",
        "CP moves of the listing that run",
        Claim("“the next nine are CP”", 9),
        readings=(
            Supposed(
                "the brace before move 2 opens a comment, closed below the figure", lambda: path_moves("closed below")
            ),
            Supposed("the brace is no comment", lambda: path_moves("no comment")),
        ),
        reason="what a brace means in L-IRL is not said, nor that Fig. 8 shows the program of Section 8 as it was run",
        rule="by our reader of L-IRL, on the lines of the figure as they are",
        notes=_listing_notes,
    ),
    Item(
        "8e",
        "moves of the program",
        Undetermined("13: PTP, nine CP, three PTP"),
        reason="Fig. 8 shows twelve of them, and ends before endseq: the last PTP may stand below",
        notes=_count_notes,
    ),
)
