# SPDX-License-Identifier: Apache-2.0
"""An artefact as a functional mock-up unit, ``<name>.fmu``: FMI 3.0 or 2.0, co-simulation and model exchange.

Co-simulation runs the ticks that are due, floor(t/period + a little), with what the inputs are; all results are those
of the strict loop. Model exchange hands out the arm's differential equation, and runs law and monitors at events, one
a tick. The reference starts where the arm is. Gains, payload and friction are tunable parameters.
"""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any

from armwright.errors import InputError
from armwright.simulation.artefact.fmu_binaries import binaries
from armwright.simulation.artefact.fmu_description import build_description, model_description
from armwright.simulation.artefact.fmu_source import FIXED, sources
from armwright.simulation.artefact.fmu_variables import fmu_model
from armwright.simulation.artefact.form import Form, Written
from armwright.simulation.artefact.tunable_loop import TUNABLE

if TYPE_CHECKING:
    from armwright.graph.tick_program import TickProgram
    from armwright.simulation.artefact.form import Origin

NO_DATE = (1980, 1, 1, 0, 0, 0)
"""Of the files in the archive: the same model is the same file."""


def fmu_files(program: TickProgram, *, origin: Origin, fmi: str = "3.0", binaries_for: str = "local") -> Written:
    """Return the FMU of a program.

    Args:
        program: what is computed.
        origin: the loop that it was made of.
        fmi: version, "3.0" or "2.0".
        binaries_for: kinds of machines, see `fmu_binaries.binaries`.
    """
    if fmi not in FIXED:
        raise InputError(f"fmi must be one of {', '.join(FIXED)}, got {fmi!r}")
    model = fmu_model(program, origin.loop, origin.posture, origin.reference)
    texts = sources(model, fmi)
    compiled = sorted(name for name in texts if name.endswith(".c"))
    guid = next(line.split('"')[1] for line in texts["model.h"].splitlines() if "MODEL_TOKEN" in line)
    files: dict[str, bytes] = {"modelDescription.xml": model_description(model, fmi, guid, compiled).encode()}
    files |= binaries(program.name, texts, fmi, binaries_for)
    files |= {f"sources/{name}": text.encode() for name, text in sorted(texts.items())}
    if fmi == "3.0":
        files["sources/buildDescription.xml"] = build_description(model, compiled).encode()
    figures: dict[str, Any] = {
        "binaries": float(sum(name.startswith("binaries/") for name in files)),
        "model exchange": float(model.exchange),
    }
    return {f"{program.name}.fmu": _zipped(files)}, figures


def _zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, NO_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if name.startswith("binaries/") else 0o644) << 16
            archive.writestr(entry, content)
    return buffer.getvalue()


FMU_FORM = Form(fmu_files, ("fmi", "binaries_for"), TUNABLE, of_loop=True)
