# SPDX-License-Identifier: Apache-2.0
"""The calibration of an ATI Net F/T, read from its page ``netftapi2.xml``: counts per unit, units, serial number."""

from __future__ import annotations

import http.client
from collections.abc import Mapping

from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException

from armwright.lab.wire import netft

MOST_PAGE = 1 << 16
FORCE_UNITS = {"N": 1.0, "kN": 1e3, "lbf": 4.4482216152605, "klbf": 4448.2216152605, "kgf": 9.80665, "gf": 9.80665e-3}
TORQUE_UNITS = {
    "N-m": 1.0,
    "Nm": 1.0,
    "N-mm": 1e-3,
    "kN-m": 1e3,
    "kgf-cm": 9.80665e-2,
    "lbf-in": 0.1129848290276167,
    "lbf-ft": 1.3558179483314004,
}
ASSUMED = {
    "calibration": "assumed",
    "counts_per_force": str(netft.COUNTS_PER_FORCE),
    "counts_per_torque": str(netft.COUNTS_PER_TORQUE),
    "force_unit": "N",
    "torque_unit": "N-m",
}
"""What most of these sensors have; said where the page cannot be read."""
_TAGS = {
    "cfgcpf": "counts_per_force",
    "cfgcpt": "counts_per_torque",
    "scfgfu": "force_unit",
    "scfgtu": "torque_unit",
    "setserial": "serial",
    "prodname": "product",
}


def read_calibration(host: str, port: int, timeout: float) -> dict[str, str]:
    """Facts of the sensor at an address, its page among them; those of `ASSUMED`, with the reason, if it has none."""
    connection = http.client.HTTPConnection(host, port, timeout=timeout)
    try:
        connection.request("GET", "/netftapi2.xml")
        answer = connection.getresponse()
        page = answer.read(MOST_PAGE + 1)
        if answer.status != 200 or len(page) > MOST_PAGE:
            return {**ASSUMED, "reason": f"its page answers {answer.status} with {len(page)} bytes"}
        return calibration_of(page)
    except (OSError, http.client.HTTPException) as error:
        return {**ASSUMED, "reason": f"its page cannot be read: {error}"}
    finally:
        connection.close()


def calibration_of(page: bytes) -> dict[str, str]:
    """Facts of a page; those of `ASSUMED`, with the reason, if it does not tell them."""
    try:
        text = page.decode("utf-8")
        tree = ElementTree.fromstring(text)
    except (UnicodeDecodeError, ElementTree.ParseError, DefusedXmlException, ValueError) as error:
        return {**ASSUMED, "reason": f"its page is no XML: {error}"}
    said = {_TAGS[node.tag]: (node.text or "").strip() for node in tree.iter() if node.tag in _TAGS}
    try:
        scales({**ASSUMED, **said})
    except ValueError as error:
        return {**ASSUMED, "reason": f"its page does not tell counts and units: {error}"}
    if not {"counts_per_force", "counts_per_torque"} <= set(said):
        return {**ASSUMED, "reason": "its page has no cfgcpf and cfgcpt"}
    return {**ASSUMED, **said, "calibration": "page", "netftapi2.xml": text}


def scales(facts: Mapping[str, str]) -> tuple[float, float]:
    """Counts per newton and per newton metre.

    Raises:
        ValueError: a unit that is not known, or counts that are not above zero.
    """
    out = []
    for what, units in (("force", FORCE_UNITS), ("torque", TORQUE_UNITS)):
        unit, counts = facts.get(f"{what}_unit", ASSUMED[f"{what}_unit"]), float(facts[f"counts_per_{what}"])
        if unit not in units or not 0.0 < counts < 1e12:
            raise ValueError(f"{counts:g} counts per {unit!r:.20}; known: {', '.join(units)}")
        out.append(counts / units[unit])
    return out[0], out[1]
