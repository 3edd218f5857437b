# SPDX-License-Identifier: Apache-2.0
"""``armwright doctor``: what is installed here, what a missing part would give, and whether compiled code is right."""

from __future__ import annotations

import os
import platform
import re
import time
import warnings
from collections.abc import Iterable
from importlib import metadata
from typing import Any, NamedTuple

import typer

from armwright import __version__
from armwright.cli.option_words import Json
from armwright.cli.output import NEGATIVE, say, say_json, table

GIVES = {
    "plot": "pictures, .gif films and the pictures of reports",
    "film": ".mp4 films, where no ffmpeg program is on the PATH",
    "symbolic": "equations as SymPy expressions",
    "log": "recordings as .mcap and .parquet",
    "plan": "OMPL's planners beside ours, on coal's collision tests",
    "time": "trajectories timed by ruckig and TOPP-RA",
    "studio": "armwright studio: the page in the browser",
    "mesh": "capsules and masses from mesh files",
    "xacro": "robot files as .xacro",
    "table": "recordings and campaigns as pandas tables",
    "scale": "campaigns on dask, queries by DuckDB",
    "foxglove": "a virtual controller live in Foxglove, `lab serve --foxglove`",
    "rerun": "runs as .rrd files for the Rerun viewer",
    "jax": "kernels as JAX functions; exported JAX code can be run",
    "torch": "kernels as PyTorch functions",
    "learn": "Gymnasium's environments of arms, armwright.envs",
    "export": "FMUs with binaries for other machines than this one",
    "check": "Pinocchio and MuJoCo beside ours, in checks and benchmarks",
}
"""What each extra of the package is good for, in words."""
OURS = ("ARMWRIGHT_BACKEND", "ARMWRIGHT_THREADS", "ARMWRIGHT_CACHE_DIR")
AGREEMENT = 1e-10  # relative, between compiled code and the same source on floats
COMPARED_CONFIGURATIONS = 32  # configurations compared: batches, remainders and single calls are all entered
CORE = ("numpy", "scipy", "llvmlite", "typer", "rich", "defusedxml")


class Part(NamedTuple):
    """An extra: its packages with the version found, or None."""

    extra: str
    packages: dict[str, str | None]

    @property
    def whole(self) -> bool:
        """Whether all its packages are there."""
        return all(version is not None for version in self.packages.values())


def doctor(json: Json = False) -> None:
    """Say what is installed, what a missing part would give, and whether compiled code is right (exit 1: it is not)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine, trial = _machine(), _trial()
    remarks = list(dict.fromkeys(str(warning.message) for warning in caught))
    parts = list(installed_parts())
    if json:
        say_json(
            {
                "version": __version__,
                "machine": machine,
                "packages": {name: _version(name) for name in CORE},
                "trial": trial,
                "remarks": remarks,
                "extras": {
                    part.extra: {"installed": part.whole, "gives": GIVES[part.extra], "packages": part.packages}
                    for part in parts
                },
            }
        )
    else:
        _print(machine, trial, parts, remarks)
    if not trial["agrees"]:
        raise typer.Exit(NEGATIVE)


def installed_parts() -> Iterable[Part]:
    """Return the extras that a user may want, from the metadata of the package, with what of them is installed."""
    wanted: dict[str, list[str]] = {extra: [] for extra in GIVES}
    for requirement in metadata.requires("armwright") or ():
        name, extra = re.match(r"[\w.-]+", requirement), re.search(r"extra\s*==\s*['\"]([\w-]+)", requirement)
        if name and extra and extra[1] in wanted:
            wanted[extra[1]].append(name[0])
    return [Part(extra, {name: _version(name) for name in names}) for extra, names in wanted.items()]


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _machine() -> dict[str, Any]:
    """Describe interpreter, processor, compiler and cache."""
    from armwright.graph import cache, jit
    from armwright.graph.kernel import backend
    from armwright.graph.thread_pool import threads

    compiled = backend() == "llvm"
    host = jit.host() if compiled else None
    directory = cache.usable_directory()
    files = [file for file in directory.iterdir() if not file.name.startswith(".")] if directory else []
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": host.cpu if host else platform.machine(),
        "lanes": host.width if host else 1,
        "fma": host.fma if host else None,
        "cores": os.cpu_count(),
        "threads": threads(),
        "backend": "LLVM" if compiled else "NumPy tape",
        "cache": str(directory) if directory else None,
        "cache_files": len(files),
        "cache_bytes": sum(file.stat().st_size for file in files),
        "environment": {name: os.environ[name] for name in OURS if name in os.environ},
    }


def _trial() -> dict[str, Any]:
    """Compare compiled inverse dynamics of a UR5 with its source on floats; time the first call."""
    import numpy as np

    from armwright.dynamics.newton_euler import rnea
    from armwright.robot.kernels import kernel
    from armwright.robot.load import load

    robot = load("ur5")
    q, qd, qdd = np.random.default_rng(0).uniform(-1.0, 1.0, (3, COMPARED_CONFIGURATIONS + 1, len(robot.joints)))
    began = time.perf_counter()
    compiled = kernel(robot, rnea)
    tau = np.array([*compiled(q[:-1], qd[:-1], qdd[:-1]), compiled(q[-1], qd[-1], qdd[-1])])
    seconds = time.perf_counter() - began
    plain = np.array([rnea(robot, *row) for row in zip(q, qd, qdd, strict=True)])
    difference = float(np.abs(tau - plain).max() / np.abs(plain).max())
    return {"first_call_seconds": seconds, "difference": difference, "agrees": difference <= AGREEMENT}


def _print(machine: dict[str, Any], trial: dict[str, Any], parts: list[Part], remarks: list[str]) -> None:
    lanes = f"{machine['lanes']} lanes" + (", fused multiply-add" if machine["fma"] else "")
    where = machine["cache"] or "none: every process compiles anew"
    rows = [
        ["Armwright", __version__],
        ["Python", f"{machine['python']}, {machine['system']}"],
        ["processor", f"{machine['processor']}, {machine['cores']} cores, {machine['threads']} threads for batches"],
        ["kernels", f"{machine['backend']}, {lanes}"],
        ["cache", f"{where} ({machine['cache_files']} files, {machine['cache_bytes'] / 1e6:.1f} MB)"],
        *([name, value] for name, value in machine["environment"].items()),
        *([name, _version(name) or "missing"] for name in CORE),
        [
            "trial",
            f"inverse dynamics of a UR5, compiled against its source on floats: {trial['difference']:.1e} relative, "
            f"{'right' if trial['agrees'] else 'WRONG'}; first call {trial['first_call_seconds']:.2f} s",
        ],
    ]
    table("This installation", ["", ""], rows, left=2)
    table(
        "Optional parts",
        ["extra", "installed", "gives"],
        [[part.extra, _found(part), GIVES[part.extra]] for part in parts],
        left=3,
    )
    missing = ",".join(part.extra for part in parts if not part.whole)
    if missing:
        say(f"pip install 'armwright[{missing}]' brings what is missing")
    say("armwright --install-completion completes commands with the tab key")
    for remark in remarks:
        say(remark, lead="remark: ")


def _found(part: Part) -> str:
    lacking = [name for name, version in part.packages.items() if version is None]
    if not lacking:
        return "yes"
    return "no" if len(lacking) == len(part.packages) else f"no {', '.join(lacking)}"
