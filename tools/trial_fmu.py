# SPDX-License-Identifier: Apache-2.0
"""Try FMUs of a UR5 with its controller: in importers of others, and their binaries where they can be emulated.

    make trial-embedded
    python tools/trial_fmu.py --folder trial

Zig (extra `export`) compiles for Linux, Windows and macOS; the binaries are loaded and run here, under qemu and under
Wine, and every bit of 500 positions must be the strict loop's. macOS is linked only. fmpy, libcosim and ecos are asked
where they are installed. What is not installed is told and left out.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from trial_embedded import HERE, PARTS, Q0, Trial, digest, found, run

import armwright as aw
from armwright.simulation.artefact.fmu_binaries import TARGETS

GOAL = Q0 + 0.25
RUNNERS = {
    "linux-x86_64": [],
    "linux-aarch64": ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"],
    "windows-x86_64": ["wine"],
}


def made(version: str, binaries: str, folder: Path):
    """Export the controller with its arm; return artefact and file."""
    options = {"to": "fmu", "rate": 500.0, "q0": Q0, "name": "ur5", "fmi": version, "binaries_for": binaries}
    artefact = aw.export(PARTS, "tick", **options)
    return artefact, artefact.write(folder / f"{version}-{binaries.partition(',')[0]}")[0]


def twin(artefact, ticks: int) -> dict[str, np.ndarray]:
    """What the strict loop does."""
    return artefact.program.run({"q_ref": np.tile(GOAL, (ticks, 1))})


def machines(trial: Trial) -> None:
    """Link for every machine, run where it can be."""
    if find_spec("ziglang") is None:
        print("skip binaries for other machines: ziglang is not installed", flush=True)
        return
    artefact, file = made("3.0", "all", trial.folder)
    folder = trial.folder / "open"
    with zipfile.ZipFile(file) as archive:
        archive.extractall(folder)
    header = (folder / "sources" / "model.h").read_text(encoding="utf-8")
    guid = header.partition('MODEL_TOKEN "')[2].partition('"')[0]
    import xml.etree.ElementTree as ET

    variables = ET.parse(folder / "modelDescription.xml").getroot().find("ModelVariables")
    place = {v.get("name"): v.get("valueReference") for v in variables}
    q = twin(artefact, 500)["q"]
    port = next(port for port in artefact.program.outputs if port.name == "q")
    expected = digest(_Only(port), {"q": q})
    for target, about in TARGETS.items():
        library = folder / "binaries" / about.folder3 / f"ur5{about.suffix}"
        trial.say(f"FMI 3.0, {target}: linked [bytes]", library.stat().st_size)
        if target not in RUNNERS:
            continue
        if RUNNERS[target] and trial.missing(f"{target}, to run", RUNNERS[target][0]):
            continue
        program = folder / f"load_{target}{'.exe' if about.suffix == '.dll' else ''}"
        words = [sys.executable, "-m", "ziglang", "cc", "-target", about.zig, "-O1", HERE / "load_fmu.c", "-o", program]
        run([*words, *([] if about.suffix == ".dll" else ["-ldl"])])
        given = [guid, place["q_ref"], place["q"], len(GOAL)]
        done = subprocess.run(
            [str(w) for w in (*RUNNERS[target], program, library, *given)], capture_output=True, text=True
        )
        same = "digest" in done.stdout and found(done.stdout) == expected
        trial.say(f"FMI 3.0, {target}: 500 ticks, every bit the strict loop's", same or done.stdout + done.stderr, same)


class _Only:
    """A program with one output."""

    def __init__(self, port) -> None:
        self.outputs = (port,)


def judged(trial: Trial, who: str, rows: np.ndarray, artefact) -> None:
    """Compare q and tau (T, 12) with the strict loop."""
    expected = twin(artefact, len(rows))
    equal = int((rows == np.hstack([expected["q"], expected["tau"]])).all(axis=1).sum())
    trial.say(f"{who}: rows of q and tau equal to the last bit", f"{equal} of {len(rows)}", equal == len(rows))


NAMES = [f"{name}[{k}]" for name in ("q", "tau") for k in range(1, 7)]


def in_fmpy(trial: Trial) -> None:
    """Validate, and simulate both ways."""
    if find_spec("fmpy") is None:
        print("skip fmpy: not installed", flush=True)
        return
    from fmpy import simulate_fmu
    from fmpy.validation import validate_fmu

    for version in ("2.0", "3.0"):
        artefact, file = made(version, "local", trial.folder)
        problems = validate_fmu(str(file))
        trial.say(f"fmpy, FMI {version}: problems", problems, problems == [])
        goal = (
            dict(zip([f"q_ref[{k}]" for k in range(1, 7)], GOAL, strict=True)) if version == "2.0" else {"q_ref": GOAL}
        )
        options = {"start_values": goal, "stop_time": 0.4, "output_interval": 0.002}
        wanted = NAMES if version == "2.0" else ["q", "tau"]
        rows = simulate_fmu(str(file), fmi_type="CoSimulation", step_size=0.002, output=wanted, **options)
        table = np.array([np.hstack([row[name] for name in wanted]) for row in rows])[1:]
        judged(trial, f"fmpy, FMI {version}, co-simulation", table, artefact)
        rows = simulate_fmu(
            str(file), fmi_type="ModelExchange", solver="CVode", relative_tolerance=1e-10, output=wanted, **options
        )
        at = np.searchsorted(rows["time"], np.arange(1, len(table) + 1) * 0.002 - 1e-9)
        q = np.array([np.hstack([row[name] for name in wanted])[:6] for row in rows])[at]
        off = float(np.abs(q - twin(artefact, len(table))["q"]).max())
        trial.say(f"fmpy, FMI {version}, model exchange by CVODE: from RK4 [rad]", f"{off:.1e}", off < 1e-5)


def in_libcosim(trial: Trial) -> None:
    """The Open Simulation Platform's co-simulation library; FMI 2.0."""
    if find_spec("libcosimpy") is None:
        print("skip libcosim: libcosimpy is not installed", flush=True)
        return
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimObserver import CosimObserver
    from libcosimpy.CosimSlave import CosimLocalSlave

    artefact, file = made("2.0", "local", trial.folder)
    execution = CosimExecution.from_step_size(2_000_000)
    unit = execution.add_local_slave(CosimLocalSlave(str(file), "arm"))
    place = {v.name.decode(): v.reference for v in execution.slave_variables(unit)}
    for k, value in enumerate(GOAL):
        execution.real_initial_value(unit, place[f"q_ref[{k + 1}]"], float(value))
    observer = CosimObserver.create_last_value()
    execution.add_observer(observer)
    rows = []
    for _ in range(200):
        execution.step()
        rows.append(observer.last_real_values(unit, [place[name] for name in NAMES]))
    judged(trial, "libcosim, FMI 2.0", np.array(rows), artefact)


def in_ecos(trial: Trial) -> None:
    """Ecos, of NTNU; FMI 2.0: it knows no arrays of FMI 3.0."""
    if find_spec("ecospy") is None:
        print("skip ecos: ecospy is not installed", flush=True)
        return
    from ecospy.EcosSimulation import EcosSimulation
    from ecospy.EcosSimulationStructure import EcosSimulationStructure

    artefact, file = made("2.0", "local", trial.folder)
    with EcosSimulationStructure() as structure:
        structure.add_model("arm", str(file))
        goal = {f"arm::q_ref[{k + 1}]": float(value) for k, value in enumerate(GOAL)}
        structure.add_parameter_set("initial", goal)
        with EcosSimulation(structure=structure, step_size=0.002) as simulation:
            simulation.init(0, "initial")
            rows = []
            for _ in range(200):
                simulation.step()
                rows.append([simulation.get_real(f"arm::{name}") for name in NAMES])
    judged(trial, "ecos, FMI 2.0", np.array(rows), artefact)


def main() -> int:
    """Run all of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("out/fmu"))
    asked = parser.parse_args()
    shutil.rmtree(asked.folder, ignore_errors=True)
    trial = Trial(asked.folder.resolve(), 0)
    for part in (in_fmpy, in_libcosim, in_ecos, machines):
        part(trial)
    print(f"{trial.wrong} of what was tried is wrong" if trial.wrong else "all of what was tried is right")
    return min(trial.wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
