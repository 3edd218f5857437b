# SPDX-License-Identifier: Apache-2.0
"""The report of an experiment: one HTML page with its pictures inside, and the same as JSON."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.lab.experiment.acceptance import Criterion, row
from armwright.lab.experiment.evaluate import Evaluated
from armwright.lab.experiment.pictures import current_picture, png, wrench_picture
from armwright.lab.experiment.wrenches import COMPONENTS
from armwright.recording.pictures.report import escaped, html_table, write_html

if TYPE_CHECKING:
    from armwright.lab.experiment.file import Experiment

WORDS = {True: "met", False: "NOT MET", None: "not judged"}


def sentence(criteria: Sequence[Criterion]) -> str:
    """The verdict in a sentence."""
    met, failed, unknown = (sum(c.passed is value for c in criteria) for value in (True, False, None))
    return f"{met} of 004's demands met, {failed} not met, {unknown} not judged."


def write_report(experiment: Experiment, done: Evaluated, path: Path, seconds: float | None) -> Path:
    """Write the page; seconds: what the whole took, None if some of it had been recorded before."""
    lead = sentence(done.criteria)
    if seconds is not None:
        lead += f" From starting the devices to this page: {seconds:.0f} s."
    body = [f"<h1>{escaped(experiment.title)}</h1>", f'<p class="lead">{escaped(lead)}</p>']
    body.append("<h2>What 004 demands</h2>" + _acceptance(done.criteria))
    body.append(f"<p>{escaped(_devices(experiment))}</p>")
    free = [done.data[run.name].log for run in experiment.runs if not run.contact]
    body.append("<h2>E5: currents and torques</h2>")
    body.append(_picture(current_picture(free, done.robot, done.currents), _CURRENTS))
    body.append(_currents(done))
    for found in done.compared:
        body.append(f"<h2>E6: {escaped(found.run)}</h2>")
        body.append(_picture(wrench_picture(found, experiment.threshold), _WRENCH))
        heads = ("mean | largest error", *COMPONENTS)
        rows = [
            (
                name,
                *(f"{a:.2f} | {b:.1f}" for a, b in zip(found.mean_error(name), found.largest_error(name), strict=True)),
            )
            for name in found.estimates
        ]
        body.append(html_table(heads, rows))
    body.append("<h2>E7: the stand</h2>" + _stand(done))
    return write_html(path, experiment.title, ["<style>td,th{text-align:left}</style>", *body])


_CURRENTS = (
    "Torque over motor current, moving rows of the runs without contact. Above: the rigid body alone. Below: with "
    "friction, and the line τ = k i + b by regressing the current; dotted where k is undetermined."
)
_WRENCH = (
    "Wrench on the arm at the flange, base axes, sensor and estimates behind the same low-pass of 8 Hz without delay. "
    "Tool weight and bias are taken off the sensor. Where the arm rests, stiction hides part of a push."
)


def _acceptance(criteria: Sequence[Criterion]) -> str:
    rows = [(c.experiment, c.what, c.limit, c.found, WORDS[c.passed]) for c in criteria]
    table = html_table(("", "demand", "limit", "found", ""), rows)
    for word, colour in (("NOT MET", "#b2182b"), ("met", "#1a7f37")):
        table = table.replace(f"<td>{word}</td>", f'<td style="color:{colour};font-weight:600">{word}</td>')
    return table


def _devices(experiment: Experiment) -> str:
    if experiment.virtual is None:
        return "Real devices: what is true of them is not known, so that gains and clocks are not judged."
    v = experiment.virtual
    return (
        f"Virtual devices with known truth, seed {v.seed}, {v.pace:g} times as fast as real ones; currents with "
        f"{v.current_noise:g} A of noise. Inertias, rotors and friction law of the plant are those of the description "
        "and 004: a real arm has others, and friction that drifts."
    )


def _currents(done: Evaluated) -> str:
    found, truth = done.currents, next(iter(done.data.values())).facts.get("truth")
    heads = ["joint", "k [N m/A]", "deviation", "b [N m]", "ν_c [N m]", "ν_v [N m s/rad]"]
    heads += ["true k", "true b", "true ν_c = ν_v"] if truth else []
    rows = []
    for j, joint in enumerate(done.robot.joints):
        known = f"{found.k[j]:.2f}" if found.determined[j] else "undetermined"
        cells = [joint.name, known, f"{100 * found.share[j]:.0f} %"]
        cells += [f"{x[j]:.2f}" for x in (found.b, found.coulomb, found.viscous)]
        cells += [f"{truth[key][j]:.2f}" for key in ("k", "b", "coulomb")] if truth else []
        rows.append(cells)
    used = f"Where k is undetermined, that of the nearest joint is used for wrenches: {row(found.usable())} N m/A."
    return f"{html_table(heads, rows)}<p>{escaped(used)}</p>"


def _stand(done: Evaluated) -> str:
    rows: list[tuple[Any, ...]] = []
    for name, data in done.data.items():
        for topic, counted in data.devices.items():
            clock = done.clocks[name].get(topic)
            told = ""
            if clock is not None and clock.alignment is not None:
                a = clock.alignment
                told = (
                    f"{a.offset:.4f} ± {a.offset_interval:.4f} s, drift {1e6 * a.drift:.0f} "
                    f"± {1e6 * a.drift_interval:.0f} ppm, jitter {1e3 * a.jitter:.1f} ms"
                )
            elif clock is not None:
                told = clock.said
            rows.append((name, topic, counted["received"], counted["lost"], counted["connections"], told))
    table = html_table(("run", "device", "received", "lost", "connections", "its clock on the robot's"), rows)
    weight = ""
    if done.weight is not None:
        centre = row(1e3 * np.asarray(done.weight.centre), 1)
        weight = (
            f"Weighed by the sensor: {done.weight.mass:.3f} kg at {centre} mm; bias {row(done.weight.bias)} N, N m."
        )
    return f"{table}<p>{escaped(weight)}</p>"


def _picture(figure: Any, caption: str) -> str:
    data = base64.b64encode(png(figure)).decode()
    text = escaped(caption)
    return f'<figure><img alt="{text}" src="data:image/png;base64,{data}"><figcaption>{text}</figcaption></figure>'
