# SPDX-License-Identifier: Apache-2.0
"""Reading a sheet: TOML in, `Robot` out, every number with its source, every defect with file, line and rule.

The format by example::

    name = "pendulum"
    [sources]
    book = "A. Author, Textbook, 2001"
    [geometry]
    kind = "dh"                                   # or mdh, screws, frames
    source = "book table 1"                       # applies to every number of this table
    columns = ["theta", "d", "a", "alpha"]
    units = ["deg", "mm", "mm", "deg"]
    rows = [[0, 0, 425, 0]]
    [joints]
    velocity = { value = 180, unit = "deg/s", source = "book p. 3" }
    [bodies.link]
    source = "book table 2"
    mass = { value = 3.7, unit = "kg" }
    com = { value = [-212.5, 0, 0], unit = "mm" }
    [bodies.link.inertia]
    kind = "cylinder"                             # mass defaults to the body's
    axis = "x"
    radius = { value = 43, unit = "mm" }
    height = { value = 425, unit = "mm" }

Further sections: ``[actuators]``, ``[base]`` and ``[tool]`` with a ``pose``, ``gravity``, ``rated_payload``;
``[provenance]``, how far the numbers can be trusted (`armwright.robot.provenance`); ``[frames.camera]`` with the
``body`` that carries it (default: the last) and its ``pose`` in that link's frame; ``[measured]``, what somebody
measured at the drives (`sheet_joints`); ``extends = "other"`` inherits everything from another sheet, in the same
folder or in the catalogue, and overrides what is written. Without ``[bodies]``, or with bodies that all say nothing of
mass, the arm has kinematics alone.
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import numpy as np

from armwright.errors import DescriptionError, InputError, NotSupportedError, tell_user
from armwright.files import read_regular
from armwright.robot.check import indefinite_mass, physics_findings
from armwright.robot.model import EARTH_GRAVITY, Robot
from armwright.robot.parts import Body, Frame
from armwright.robot.provenance import read_provenance
from armwright.robot.self_check import require_agreement
from armwright.robot.sheet.sheet_bodies import BODY_KEYS, ROOT, all_mass_properties, tables
from armwright.robot.sheet.sheet_joints import (
    chain_rows,
    direction,
    kind_of,
    pose,
    read_actuators,
    read_joints,
    read_measured,
)
from armwright.robot.tables.dh import from_dh, from_mdh
from armwright.robot.tables.joint_screws import from_screws
from armwright.schema.quantities import NO_ROBOTS_NUMBER, is_of_a_robot, scalar, take, vector
from armwright.schema.toml_text import MAX_BYTES, Source, Table, read_tree

CATALOGUE = "armwright.catalogue"


def catalogue_names() -> list[str]:
    """Return the names of all sheets that come with the package, sorted."""
    return sorted(entry.name[:-5] for entry in resources.files(CATALOGUE).iterdir() if entry.name.endswith(".toml"))


def nearest(name: str) -> str:
    """Return the end of a message about an unknown name: the three nearest that there are, and where all are listed."""
    close = difflib.get_close_matches(name.lower()[:60], catalogue_names(), n=3, cutoff=0.0)
    return f"nearest: {', '.join(close)}; see armwright robots"


def catalogue_text(name: str) -> tuple[str, str]:
    """Return (text, file name for messages) of a catalogue sheet."""
    return (resources.files(CATALOGUE) / f"{name}.toml").read_text(encoding="utf-8"), f"catalogue/{name}.toml"


def file_text(path: Path) -> str:
    """Read a sheet; missing, oversize and non-UTF-8 files, pipes and devices are `DescriptionError`."""
    try:
        return read_regular(path, MAX_BYTES).decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise DescriptionError(f"not UTF-8 text: {error}", where=str(path), rule="encoding") from None
    except (OSError, ValueError) as error:
        rule = "size" if getattr(error, "errno", None) == errno.EFBIG else "file"
        reason = getattr(error, "strerror", None) or error
        raise DescriptionError(f"cannot read: {reason}", where=str(path), rule=rule) from None


def finder(directory: Path | None, skip: str = "") -> Callable[[str], tuple[str, str]]:
    """Return the function that resolves ``extends``: a sheet in `directory` first, then the catalogue.

    `skip` is the file that asks: one's own ``ur5.toml`` may extend the catalogue's ``ur5``.
    """

    def find(name: str) -> tuple[str, str]:
        stem = name.removesuffix(".toml")
        if not stem or "/" in stem or "\\" in stem or stem.startswith(".") or "\0" in stem:
            raise DescriptionError("extends names a sheet in the same directory or in the catalogue, not a path")
        own = f"{stem}.toml" == skip and stem in catalogue_names()
        if directory is not None and not own and (directory / f"{stem}.toml").exists():
            path = directory / f"{stem}.toml"
            return file_text(path), str(path)
        if stem.lower() in catalogue_names():
            return catalogue_text(stem.lower())
        raise DescriptionError(f"no such sheet beside this one or in the catalogue; {nearest(stem)}")

    return find


Implausible = Literal["refuse", "warn"]
SECTIONS = (
    "name",
    "title",
    "notes",
    "extends",
    "sources",
    "geometry",
    "joints",
    "bodies",
    "actuators",
    "measured",
    "base",
    "tool",
    "frames",
    "gravity",
    "rated_payload",
    "provenance",
)
_FRAME_KEYS = ("parent", "joint", "joint_pose", "axis", "link_pose", "ratio", "offset")


def read_sheet(path: str | Path, *, implausible: Implausible = "refuse") -> Robot:
    """Read a sheet from a file.

    Args:
        path: a TOML file.
        implausible: what to do with a body that no matter can form (indefinite tensor, triangle inequality, absurd
            radius of gyration) or an arm whose mass matrix is singular: "refuse", or "warn" and load as written. An
            arm whose mass matrix is indefinite stays refused.

    Returns:
        The robot; `Robot.sources` maps dotted paths ("bodies.upper_arm.mass") to citations.

    Raises:
        DescriptionError: with file, line, dotted path and rule.
    """
    file = Path(path)
    return robot_from_text(file_text(file), str(file), finder(file.parent, skip=file.name), implausible=implausible)


def robot_from_text(
    content: str,
    file: str = "sheet",
    find: Callable[[str], tuple[str, str]] | None = None,
    *,
    implausible: Implausible = "refuse",
) -> Robot:
    """Read a sheet from its text; `find` resolves ``extends`` (default: the catalogue)."""
    if implausible not in ("refuse", "warn"):
        raise InputError(f'implausible: expected "refuse" or "warn", got {implausible!r}')
    find = find or finder(None)
    tree = read_tree(content, file, find)
    tree.only(*SECTIONS)
    try:
        robot = _build(tree)
        robot = replace(robot, frames=_named_frames(tree, robot)) if tree.table("frames") else robot
        robot = _trusted(tree, robot)
        measured = read_measured(tree, robot, find)
        robot = replace(robot, measured=measured) if measured is not None else robot
    except InputError as error:
        raise DescriptionError(str(error), where=file, rule="robot") from None
    _check_magnitudes(tree, robot)
    broken = [finding for finding in physics_findings(robot) if finding.severity == "error"]
    if broken:
        first = broken[0]
        others = "".join(f"; {other.place}: {other.reason}" for other in broken[1:])
        if implausible == "refuse":
            advice = '. Load it as written with implausible="warn"'
            raise DescriptionError(first.reason + others + advice, where=tree.where(first.place), rule=first.rule)
        if wrong := indefinite_mass(robot):
            message = f"{first.reason}{others}; {wrong}, so that it has no dynamics, and no option loads it"
            raise DescriptionError(message, where=tree.where(first.place), rule="M indefinite")
        tell_user(f"{tree.where(first.place)}: {first.reason}{others}")
    require_agreement(robot, file)
    return robot


def _trusted(tree: Table, robot: Robot) -> Robot:
    """Return the arm with its rated payload and with how far its numbers can be trusted."""
    known, rated = read_provenance(tree, robot.sources), take(tree, "rated_payload")
    if rated is None:
        return replace(robot, provenance=known) if known else robot
    if rated.source is not None:
        robot.sources["rated_payload"] = rated.source
    return replace(robot, provenance=known, rated_payload=scalar(rated, ("mass",), minimum=0.0))


def _check_magnitudes(tree: Table, robot: Robot) -> None:
    """Refuse what becomes of numbers within bounds where they are multiplied (cylinders) or added (places)."""
    poses = {"base.pose": robot.T_base_root, "tool.pose": robot.T_tip_tool}
    poses |= {f"frames.{frame.name}.pose": frame.T_parent_frame for frame in robot.frames}
    for body in robot.bodies:
        poses |= {f"bodies.{body.name}.{key}": getattr(body, key) for key in ("mass", "com", "inertia")}
        poses[f"bodies.{body.name}.joint_pose"] = body.T_parent_joint
        poses[f"bodies.{body.name}.link_pose"] = body.T_joint_link
    for place, numbers in poses.items():
        strange = next((x for x in np.ravel(numbers).tolist() if not is_of_a_robot(x)), None)
        if strange is not None:
            message = f"a number here becomes {strange:g}, which {NO_ROBOTS_NUMBER}"
            raise DescriptionError(message, where=tree.where(place), rule="magnitude")


def _build(tree: Table) -> Robot:
    name = tree.text_of("name")
    sources: dict[str, Source] = {}
    kind, geometry = kind_of(tree)
    bodies = tables(tree)
    common: dict[str, Any] = {"notes": tree.text_of("notes", ""), "sources": sources}
    tree.text_of("title", "")
    base = tree.table("base")
    if base is not None:
        base.only("pose")
        T_base_root = pose(base, "pose", sources)
        if T_base_root is not None:
            common["T_base_root"] = T_base_root
    gravity = take(tree, "gravity")
    common["gravity"] = vector(gravity, 3, ("acceleration",)) if gravity else np.array(EARTH_GRAVITY)
    if gravity is not None and gravity.source is not None:
        sources["gravity"] = gravity.source
    if kind == "frames":
        return _frames(name, tree, bodies, common)
    rows = chain_rows(kind, geometry, sources)
    n = len(rows)
    bodies = bodies or {name: Table({}, tree.text, f"bodies.{name}") for name in (f"link_{i + 1}" for i in range(n))}
    if len(bodies) != n:
        raise tree.refuse(f"{n} rows of geometry need {n} bodies in chain order, got {len(bodies)}", "length", "bodies")
    joints = read_joints(tree, n, sources)
    for body in bodies.values():
        body.only(*BODY_KEYS)
    properties = all_mass_properties(bodies, sources)
    common |= {
        "name": name,
        "kinds": [joint.kind for joint in joints],
        "joint_names": [joint.name for joint in joints],
        "body_names": list(bodies),
        "masses": [p.mass for p in properties],
        "coms": [p.com for p in properties],
        "inertias": [p.inertia for p in properties],
        "limits": [joint.limits for joint in joints],
        "friction": [joint.friction for joint in joints],
        "actuators": read_actuators(tree, n, sources),
    }
    T_tool = _tool(tree, list(bodies), len(bodies) - 1, sources)[1]
    if kind == "screws":
        home = pose(geometry, "home", sources)
        if home is None:
            raise geometry.refuse("screws need the tool's home pose: home = { value = …, unit = … }", "required key")
        for section in ("tool", "base"):
            if tree.table(section) is not None:
                raise tree.refuse(
                    f"screws and their home pose are given in the base frame; no [{section}] with them",
                    "screws",
                    section,
                )
        kinds = common.pop("kinds")
        try:
            robot = from_screws(rows, home, **common)
        except (InputError, NotSupportedError) as error:
            raise geometry.refuse(str(error), "screws", "rows") from None
        if [joint.kind for joint in robot.joints] != kinds:
            raise tree.refuse("kinds must agree with the screws: a prismatic one has w = 0", "kind", "joints.kinds")
        return robot
    return (from_dh if kind == "dh" else from_mdh)(rows, tool=T_tool, **common)


def _tool(tree: Table, names: list[str], last: int, sources: dict[str, Source]) -> tuple[int, Any]:
    """Return the index of the body that carries the tool and the tool's pose in its link frame."""
    tool = tree.table("tool")
    if tool is None:
        return last, np.eye(4)
    return _place(tool, names, last, sources)


def _place(table: Table, names: list[str], last: int, sources: dict[str, Source]) -> tuple[int, Any]:
    """Carrier and pose of a ``[tool]`` or ``[frames.NAME]``."""
    table.only("pose", "body")
    carrier = table.text_of("body", names[last] if names else ROOT)
    if carrier != ROOT and carrier not in names:
        valid = f"{', '.join(names)} or {ROOT!r} (the root)"
        raise table.refuse(f"no body {carrier!r}; valid: {valid}", "reference", "body")
    T = pose(table, "pose", sources)
    return (names.index(carrier) if carrier in names else -1), np.eye(4) if T is None else T


def _named_frames(tree: Table, robot: Robot) -> tuple[Frame, ...]:
    section, names = tree.table("frames"), [body.name for body in robot.bodies]
    found = []
    for name in section.entries if section is not None else ():
        table = section.table(name) if section is not None else None
        if table is None:
            raise tree.refuse("a frame must be a table [frames.NAME]", "type", f"frames.{name}")
        found.append(Frame(name, *_place(table, names, len(names) - 1, robot.sources)))
    return tuple(found)


def _frames(name: str, tree: Table, bodies: dict[str, Table], common: dict[str, Any]) -> Robot:
    """Explicit form: every body says its parent, its joint and both constant poses."""
    sources = common["sources"]
    joints = read_joints(tree, None, sources)
    index = {joint.name: i for i, joint in enumerate(joints)}
    names, made = list(bodies), []
    for body in bodies.values():
        body.only(*BODY_KEYS, *_FRAME_KEYS)
    properties = all_mass_properties(bodies, sources)
    for i, ((label, body), p) in enumerate(zip(bodies.items(), properties, strict=True)):
        parent, joint = body.text_of("parent", names[i - 1] if i else ROOT), body.text_of("joint")
        if parent != ROOT and parent not in names[:i]:
            message = f"parent {parent!r} is neither {ROOT!r} (the root) nor a body above"
            raise body.refuse(message, "reference", "parent")
        if joint not in index:
            raise body.refuse(f"no joint {joint!r}; valid: {', '.join(index)}", "reference", "joint")
        ratio, offset = take(body, "ratio"), take(body, "offset")
        angle = joints[index[joint]].kind == "revolute"
        before, after = pose(body, "joint_pose", sources), pose(body, "link_pose", sources)
        made.append(
            Body(
                label,
                names.index(parent) if parent != ROOT else -1,
                index[joint],
                np.eye(4) if before is None else before,
                direction(body, "axis"),
                np.eye(4) if after is None else after,
                p.mass,
                p.com,
                p.inertia,
                scalar(ratio, ("number",)) if ratio else 1.0,
                scalar(offset, ("angle",) if angle else ("length",)) if offset else 0.0,
            )
        )
    tip, T_tool = _tool(tree, names, len(names) - 1, sources)
    actuators = read_actuators(tree, len(joints), sources)
    return Robot(name, joints, tuple(made), actuators, tip=tip, T_tip_tool=T_tool, **common)
