# SPDX-License-Identifier: Apache-2.0
"""`evaluate`: from recordings to tool weight, current map, model, clocks, wrenches and judgement, each on disk."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.files import replacing, write_file
from armwright.identify.drive_gains import FittedDrives, Known, fit_current_map
from armwright.identify.external_torque import learn_bands, with_bands
from armwright.identify.fit_report import markdown
from armwright.identify.identified import Identified
from armwright.identify.model_file import save_model
from armwright.identify.model_fit import fit
from armwright.lab.experiment.acceptance import (
    FORCES,
    Criterion,
    judge_currents,
    judge_motion,
    judge_second_path,
    judge_stand,
    judge_torques,
    judge_wrenches,
)
from armwright.lab.experiment.aligned_table import aligned, write_aligned
from armwright.lab.experiment.chapter_facts import gains_facts, motion_facts, torque_facts
from armwright.lab.experiment.compare_wrenches import COMPONENTS, Compared, Detected, compare, detect
from armwright.lab.experiment.experiment_runs import Tell, remade
from armwright.lab.experiment.model_torques import ModelTorques, gains_verdict, model_torques
from armwright.lab.experiment.motion_check import MotionCheck, check_motion
from armwright.lab.experiment.run_data import (
    Data,
    SensorClock,
    Weight,
    force_clock,
    motion_clock,
    read_run,
    weigh,
    weight_clock,
)
from armwright.lab.lab_export import export
from armwright.lab.packets import read_packets
from armwright.robot.measured import ASSUMED_ROTORS
from armwright.robot.model import Robot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from armwright.lab.experiment.experiment_file import Experiment
    from armwright.types import Array

ROTOR_DOUBT = 0.5
"""Relative deviation of a rotor inertia that is assumed."""


@dataclass(frozen=True, eq=False)
class Evaluated:
    """Results of an experiment's recordings; None where there was no force sensor.

    Torques of `models` are those of runs without contact; `motions` of all runs with an inertial unit.
    """

    data: dict[str, Data]
    robot: Robot
    weight: Weight | None
    currents: FittedDrives
    model: Identified
    clocks: dict[str, dict[str, SensorClock]]
    compared: list[Compared]
    detected: list[Detected]
    models: list[ModelTorques]
    motions: list[MotionCheck]
    criteria: list[Criterion]


def evaluate(experiment: Experiment, folder: Path, tell: Tell) -> Evaluated:
    """Evaluate the recordings in a folder; every step leaves its results there.

    Raises:
        InputError: a recording does not allow it; the message says which.
    """
    data, records = {}, {}
    for run in experiment.runs:
        file = folder / f"{run.name}.mcap"
        with remade():
            recorded = read_packets(file)
        data[run.name] = read_run(recorded, file, run.name)
        records[run.name] = recorded
        export(recorded, folder / "tables" / run.name, "parquet")
    free = [data[run.name] for run in experiment.runs if not run.contact]
    robot, assumed = _described(experiment.robot)
    weight = _weighed(free, robot)
    if weight is not None:
        robot = weight.carried_by(robot)
        tell(f"the sensor carries {weight.mass:.3f} kg at {_row(1e3 * weight.centre, 0)} mm")
    logs = [one.log for one in free]
    currents = fit_current_map(logs, robot, rotor_doubt=ROTOR_DOUBT if assumed else 0.0)
    model = fit(logs, robot, gains=Known(currents.usable()))
    model = with_bands(model, learn_bands(model, logs))
    save_model(model, folder / "model.json")
    write_file(folder / "identified.md", markdown(model))
    tell(f"identified: k {_row(currents.k, 2)} N m/A, undetermined: {_undetermined(currents, robot)}")
    clocks = {run.name: _clocks(data[run.name], run.contact, model) for run in experiment.runs}
    write_json(folder / "clocks.json", {run: {t: clock_facts(c) for t, c in of.items()} for run, of in clocks.items()})
    for name, recorded in records.items():
        table = aligned(recorded, clocks=clocks[name], name=f"{name}.mcap")
        write_aligned(table, folder / "tables" / name, "parquet")
    compared, detected = [], []
    for run in experiment.runs:
        one = data[run.name]
        if run.contact and one.ft is not None and weight is not None:
            compared.append(compare(one, clocks[run.name]["/ft"].t, weight, model))
            detected.append(detect(compared[-1], experiment.threshold, experiment.least_push))
            _write_wrenches(compared[-1], folder / f"wrenches-{run.name}.csv")
            tell(f"{run.name}: mean error of the force {_row(compared[-1].mean_error('with friction')[:3], 1)} N")
    models = [model_torques(one, experiment.models, robot, weight) for one in free]
    known = [found for found in models if found is not None]
    for found in known:
        tell(f"{found.run}: gains of the controller: {gains_verdict(found.gains)}")
    motions = [check_motion(data[name], of["/imu"].t, robot) for name, of in clocks.items() if "/imu" in of]
    done = Evaluated(data, robot, weight, currents, model, clocks, compared, detected, known, motions, [])
    done.criteria.extend(_judged(experiment, done))
    return done


def _described(robot: Robot) -> tuple[Robot, bool]:
    """Return the description, and whether its rotors had to be assumed."""
    if np.any(robot.actuators.rotor_inertia):
        return robot, False
    return robot.with_rotors(ASSUMED_ROTORS), True


def _weighed(free: list[Data], robot: Robot) -> Weight | None:
    for data in free:
        if data.ft is not None:
            return weigh(data, weight_clock(data, robot).t, robot)
    return None


def _clocks(data: Data, contact: bool, model: Identified) -> dict[str, SensorClock]:
    out = {}
    if data.ft is not None:
        out["/ft"] = force_clock(data, model) if contact else weight_clock(data, model.robot)
    if data.imu is not None:
        out["/imu"] = motion_clock(data, model.robot)
    return out


def _judged(experiment: Experiment, done: Evaluated) -> list[Criterion]:
    truth = next(iter(done.data.values())).facts.get("truth")
    out = [judge_torques(found, truth is not None) for found in done.models]
    out += [judge_motion(found) for found in done.motions]
    out += judge_currents(done.currents, truth)
    for found, seen in zip(done.compared, done.detected, strict=True):
        out += judge_wrenches(found, seen, experiment.threshold, experiment.least_push)
    if done.compared:
        names = {found.run for found in done.compared}
        out.append(judge_second_path([(run.name, str(run.moves)) for run in experiment.runs if run.name in names]))
    else:
        why = "no force sensor, or no run with contact"
        out.append(Criterion(FORCES, "wrench against the sensor", "–", "–", why, None))
    rate = experiment.virtual.ft if experiment.virtual is not None else 0.0
    for name, data in done.data.items():
        out += judge_stand(data, done.clocks[name], rate)
    return sorted(out, key=lambda criterion: criterion.section)


def clock_facts(clock: SensorClock) -> dict[str, Any]:
    """Return a clock as plain data."""
    return {"said": clock.said, "alignment": None if clock.alignment is None else clock.alignment._asdict()}


def facts_of(done: Evaluated) -> dict[str, Any]:
    """Return everything that was found, as plain data."""
    weight = done.weight
    return {
        "criteria": [asdict(c) for c in done.criteria],
        "weight": None
        if weight is None
        else {"bias": weight.bias.tolist(), "mass": weight.mass, "centre": weight.centre.tolist()},
        "currents": {name: np.asarray(value).tolist() for name, value in asdict(done.currents).items()},
        "truth": next(iter(done.data.values())).facts.get("truth"),
        "clocks": {run: {topic: clock_facts(c) for topic, c in of.items()} for run, of in done.clocks.items()},
        "wrenches": {
            found.run: {
                name: {"mean": found.mean_error(name).tolist(), "largest": found.largest_error(name).tolist()}
                for name in found.estimates
            }
            for found in done.compared
        },
        "detected": {found.run: asdict(seen) for found, seen in zip(done.compared, done.detected, strict=True)},
        "models": {found.run: torque_facts(found) for found in done.models},
        "gains": {found.run: gains_facts(found.gains) for found in done.models},
        "accelerometer": {found.run: motion_facts(found) for found in done.motions},
        "devices": {name: data.devices for name, data in done.data.items()},
    }


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write plain data."""
    write_file(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _write_wrenches(found: Compared, path: Path) -> None:
    head, columns = ["t", "judged"], [found.t, found.judged.astype(float)]
    for name, values in {"sensor": found.sensor, **found.estimates}.items():
        head += [f"{name.replace(' ', '_')}_{part}" for part in COMPONENTS]
        columns += list(values.T)
    rows = np.stack(columns, axis=1)
    with replacing(path) as draft:
        np.savetxt(draft, rows, delimiter=",", header=",".join(head), comments="", fmt="%.9g")


def _row(values: Array, digits: int) -> str:
    return " ".join(f"{x:.{digits}f}" for x in values)


def _undetermined(currents: FittedDrives, robot: Robot) -> str:
    names = [joint.name for joint, known in zip(robot.joints, currents.determined, strict=True) if not known]
    return ", ".join(names) or "none"
