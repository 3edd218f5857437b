# SPDX-License-Identifier: Apache-2.0
"""Pages of the reference, one per room, from the names a room makes public: ``python docs/make_reference.py``.

A page names every object by the file it is written in, because several functions share the name of their file. What the
objects do is read from their docstrings when the site is built.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "reference"
ROOMS = [
    "spatial",
    "graph",
    "kinematics",
    "dynamics",
    "motion",
    "control",
    "world",
    "contact",
    "planning",
    "recording",
    "simulation",
    "detection",
    "exploration",
    "envs",
    "programs",
    "identify",
    "lab",
    "campaigns",
]
MORE = {
    "robot": (
        "load.load load.robots model.Robot parts.Joint parts.Body parts.Frame parts.Limits parts.Friction "
        "parts.Actuators parts.CurrentMap parts.Measured measured.as_measured measured.drives_of "
        "urdf.urdf_read.read_urdf mjcf.mjcf_read.read_mjcf "
        "tables.dh.from_dh tables.dh.from_mdh tables.dh.to_dh tables.dh.to_mdh tables.joint_screws.from_screws "
        "tables.joint_screws.to_screws tables.serial_chain.ChainParts check.check kernels.compile "
        "symbolic.SymbolicRobot symbolic.symbolic_chain symbolic.planar symbolic.symbols"
    ),
    "errors": (
        "ArmwrightError InputError DescriptionError NotSupportedError TraceError CompileError SimulationError "
        "ProgramError ArmwrightWarning"
    ),
    "campaigns": "compare_explorations.compare_explorations summary.summary_of",
    "schema": "toml_text.Source",
    "graph": "kernel.Kernel purity.pure",
}
"""Room → further names: what a room without ``__all__`` offers, and what ``armwright`` takes from deeper files."""
HEAD = """# {title}

::: armwright.{room}
    options:
        members: false
        show_root_heading: false
        show_root_toc_entry: false
"""


def names(room: str) -> list[str]:
    """Return the full names of a room's classes and functions, each with the file it is written in; classes first."""
    module = importlib.import_module(f"armwright.{room}")
    found = {}
    if room in ROOMS:
        objects = [getattr(module, name) for name in sorted(module.__all__) if name not in constants(room)]
        found = {value.__name__: f"{value.__module__}.{value.__name__}" for value in objects}
    found.update({path.split(".")[-1]: f"{module.__name__}.{path}" for path in MORE.get(room, "").split()})
    return list(found.values())


def constants(room: str) -> list[str]:
    """Return the names of public values that are neither class nor function: numbers, tables."""
    module = importlib.import_module(f"armwright.{room}")
    public = sorted(module.__all__) if room in ROOMS else []
    return [name for name in public if not hasattr(getattr(module, name), "__qualname__")]


def page(room: str) -> str:
    """Return a room's page."""
    text = HEAD.format(title=room.capitalize(), room=room)
    if constants(room):
        text += f"\nConstants and tables: {', '.join(f'`{name}`' for name in constants(room))}.\n"
    others = [f"`{n}` is `{v.__name__}`" for n, v in _aliases(room)]
    text += f"\n{'; '.join(others)}.\n" if others else ""
    return text + "".join(f"\n::: {name}\n" for name in names(room))


def _aliases(room: str) -> list[tuple[str, Any]]:
    module = importlib.import_module(f"armwright.{room}")
    pairs = [(name, getattr(module, name)) for name in (sorted(module.__all__) if room in ROOMS else [])]
    return [(name, value) for name, value in pairs if getattr(value, "__name__", name) != name]


if __name__ == "__main__":
    for room in {*ROOMS, *MORE}:
        (FOLDER / f"{room}.md").write_text(page(room), encoding="utf-8")
