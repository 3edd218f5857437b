# SPDX-License-Identifier: Apache-2.0
"""``modelDescription.xml`` of an FMU, FMI 2.0 and 3.0, and the ``buildDescription.xml`` of 3.0.

In FMI 3.0 a variable is an array; in 2.0 its elements are variables of their own, called ``q[1]``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

from armwright.simulation.artefact.fmu_variables import UNITS, starts, unit_name

if TYPE_CHECKING:
    from armwright.simulation.artefact.fmu_variables import FmuModel, FmuVariable

CAUSALITY = {
    "input": "input",
    "reference": "input",
    "parameter": "parameter",
    "start": "output",
    "result": "output",
    "rate": "local",
}
SETTABLE = ("input", "reference", "parameter", "start")


def model_description(model: FmuModel, version: str, guid: str, sources: Sequence[str]) -> str:
    """Return the XML of a version.

    Args:
        model: what it describes.
        version: "2.0" or "3.0".
        guid: token of the sources.
        sources: names of the C files.
    """
    return (_description3 if version == "3.0" else _description2)(model, guid, sources)


def build_description(model: FmuModel, sources: Sequence[str]) -> str:
    """Return how the sources of an FMU 3.0 are compiled."""
    name = quoteattr(model.program.name)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<fmiBuildDescription fmiVersion="3.0">',
        f"  <BuildConfiguration modelIdentifier={name}>",
        '    <SourceFileSet language="C99">',
        *(f"      <SourceFile name={quoteattr(file)}/>" for file in sources),
        "    </SourceFileSet>",
        '    <Library name="m" external="true"/>',
        "  </BuildConfiguration>",
        "</fmiBuildDescription>",
        "",
    ]
    return "\n".join(lines)


@dataclass(frozen=True)
class _XmlPart:
    """An element of XML: name, attributes, and what is in it."""

    name: str
    attributes: Mapping[str, Any]
    inner: Sequence[_XmlPart] = ()

    def lines(self, depth: int = 0) -> Iterator[str]:
        words = "".join(f" {k}={quoteattr(_clean(str(v)))}" for k, v in self.attributes.items() if v is not None)
        indent = "  " * depth
        if not self.inner:
            yield f"{indent}<{self.name}{words}/>"
            return
        yield f"{indent}<{self.name}{words}>"
        for element in self.inner:
            yield from element.lines(depth + 1)
        yield f"{indent}</{self.name}>"


def _clean(text: str) -> str:
    """Leave out what XML cannot hold."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _text(root: _XmlPart) -> str:
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', *root.lines(), ""])


def _told(model: FmuModel) -> str:
    program = model.program
    return f"{program.robot}: {'; '.join(program.parts)}; a tick takes {program.period!r} s"


def _units(model: FmuModel) -> _XmlPart:
    used = dict.fromkeys(["s", *(v.port.unit for v in model.variables)])
    found = [(unit_name(unit), UNITS[unit]) for unit in used if unit in UNITS]
    return _XmlPart("UnitDefinitions", {}, [_XmlPart("Unit", {"name": n}, [_XmlPart("BaseUnit", b)]) for n, b in found])


def _common(v: FmuVariable) -> dict[str, Any]:
    """Attributes that both versions have."""
    initial = {"start": "exact", "parameter": "exact", "result": "calculated", "rate": "calculated"}.get(v.role)
    variability = "tunable" if v.role == "parameter" else "continuous" if v.continuous else "discrete"
    return {"causality": CAUSALITY[v.role], "variability": variability, "initial": initial}


def _meaning(v: FmuVariable, k: int | None = None) -> str:
    labels = v.port.labels if k is None else v.port.labels[k : k + 1]
    unit = v.port.unit if v.port.unit and not v.unit else ""
    words = [v.port.meaning, f"[{unit}]" if unit else "", f"({', '.join(labels)})" if labels else ""]
    return " ".join(word for word in words if word)


def _experiment(model: FmuModel) -> _XmlPart:
    return _XmlPart(
        "DefaultExperiment", {"startTime": "0.0", "stopTime": "1.0", "stepSize": repr(model.program.period)}
    )


def _description3(model: FmuModel, guid: str, sources: Sequence[str]) -> str:
    del sources  # they stand in the build description
    p = model.program
    able = {"modelIdentifier": p.name, "canGetAndSetFMUState": "true", "canSerializeFMUState": "true"}
    kinds = [_XmlPart("CoSimulation", {**able, "canHandleVariableCommunicationStepSize": "true"})]
    if model.exchange:
        kinds.insert(0, _XmlPart("ModelExchange", {**able, "needsCompletedIntegratorStep": "false"}))
    clock = {"name": "time", "valueReference": 0, "causality": "independent", "variability": "continuous", "unit": "s"}
    variables = [_XmlPart("Float64", clock)]
    for v in model.variables:
        given = {"name": v.name, "valueReference": v.reference, "description": _meaning(v), **_common(v)}
        given["unit"] = v.unit or None
        if v.role in SETTABLE:
            given["start"] = " ".join(map(repr, starts(v.port)))
        given["derivative"] = v.state.reference if v.state else None
        sizes = [_XmlPart("Dimension", {"start": size}) for size in v.port.shape]
        variables.append(_XmlPart("Float64", given, sizes))

    def listed(word: str, roles: Sequence[str]) -> list[_XmlPart]:
        return [_XmlPart(word, {"valueReference": v.reference}) for v in model.variables if v.role in roles]

    structure = [
        *listed("Output", ("start", "result")),
        *listed("ContinuousStateDerivative", ("rate",)),
        *listed("InitialUnknown", ("result", "rate")),
    ]
    root = {
        "fmiVersion": "3.0",
        "modelName": p.name,
        "instantiationToken": guid,
        "description": _told(model),
        "generationTool": "Armwright",
        "variableNamingConvention": "structured",
    }
    inner = [*kinds, _units(model), _experiment(model)]
    inner += [_XmlPart("ModelVariables", {}, variables), _XmlPart("ModelStructure", {}, structure)]
    return _text(_XmlPart("fmiModelDescription", root, inner))


def _description2(model: FmuModel, guid: str, sources: Sequence[str]) -> str:
    p = model.program
    files = _XmlPart("SourceFiles", {}, [_XmlPart("File", {"name": name}) for name in sources])
    able = {"modelIdentifier": p.name, "canGetAndSetFMUstate": "true", "canSerializeFMUstate": "true"}
    kinds = [_XmlPart("CoSimulation", {**able, "canHandleVariableCommunicationStepSize": "true"}, [files])]
    if model.exchange:
        kinds.insert(0, _XmlPart("ModelExchange", {**able, "completedIntegratorStepNotNeeded": "true"}, [files]))
    scalars = list(_scalars(model))
    order = {(v.name, k): at for at, (v, k) in enumerate(scalars, start=1)}
    variables = []
    for v, k in scalars:
        kind: dict[str, Any] = {"unit": v.unit or None}
        if v.role in SETTABLE:
            kind["start"] = repr(starts(v.port)[k])
        kind["derivative"] = order[v.state.name, k] if v.state else None
        own = k if v.port.labels and v.port.size == len(v.port.labels) else None
        given = {"name": _scalar_name(v, k), "valueReference": v.reference + k, "description": _meaning(v, own)}
        variables.append(_XmlPart("ScalarVariable", {**given, **_common(v)}, [_XmlPart("Real", kind)]))

    def listed(word: str, roles: Sequence[str]) -> list[_XmlPart]:
        found = [_XmlPart("Unknown", {"index": order[v.name, k]}) for v, k in scalars if v.role in roles]
        return [_XmlPart(word, {}, found)] if found else []

    structure = [
        *listed("Outputs", ("start", "result")),
        *listed("Derivatives", ("rate",)),
        *listed("InitialUnknowns", ("result", "rate")),
    ]
    root = {
        "fmiVersion": "2.0",
        "modelName": p.name,
        "guid": guid,
        "description": _told(model),
        "generationTool": "Armwright",
        "variableNamingConvention": "structured",
        "numberOfEventIndicators": "0" if model.exchange else None,
    }
    inner = [*kinds, _units(model), _experiment(model)]
    inner += [_XmlPart("ModelVariables", {}, variables), _XmlPart("ModelStructure", {}, structure)]
    return _text(_XmlPart("fmiModelDescription", root, inner))


def _scalars(model: FmuModel) -> Iterator[tuple[FmuVariable, int]]:
    for v in model.variables:
        for k in range(v.port.size):
            yield v, k


def _scalar_name(v: FmuVariable, k: int) -> str:
    """Return the name of an element as Modelica writes it: q[1], Y[2,3], der(q[1])."""
    if not v.port.shape:
        return v.name
    places: list[int] = []
    for size in reversed(v.port.shape):
        k, at = divmod(k, size)
        places.insert(0, at + 1)
    index = f"[{','.join(map(str, places))}]"
    return f"der({v.state.name}{index})" if v.state else v.name + index
