# SPDX-License-Identifier: Apache-2.0
"""The part of KUKA's ``$config.dat`` that integrators rarely change: defaults of speeds, accelerations and corners.

Tools, bases, loads and home positions are not in it: they are of one robot. The values are those that all of seven
controllers had whose ``$config.dat`` is public (KRC2 and KRC4; the number after DEF_ACC_CP rounded).
"""

from __future__ import annotations

from typing import Final

FACTORY: Final = "factory"
"""What a user says in place of the path of a ``$config.dat``."""

FACTORY_CONFIG: Final = """DEFDAT $CONFIG PUBLIC
INT DEF_VEL_PTP=100
INT DEF_ACC_PTP=50
REAL DEF_VEL_CP=2.0
REAL DEF_VEL_ORI1=200.0
REAL DEF_VEL_ORI2=200.0
REAL DEF_ACC_CP=2.3
REAL DEF_ACC_ORI1=100.0
REAL DEF_ACC_ORI2=100.0
INT DEF_APO_CPTP=50
REAL DEF_APO_CDIS=3.0
INT DEF_APO_CVEL=100
REAL DEF_APO_CORI=5.0
INT DEF_ADVANCE=3
DECL CIRC_TYPE DEF_CIRC_TYP=#BASE
DECL PDAT PDEFAULT={VEL 100.0,ACC 100.0,APO_DIST 100.0}
DECL LDAT LDEFAULT={VEL 2.0,ACC 100.0,APO_DIST 100.0,APO_FAC 50.0}
ENDDAT
"""
"""In KRL: percent, m/s, m/s², °/s, °/s², mm, °."""
