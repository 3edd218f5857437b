# SPDX-License-Identifier: Apache-2.0
"""A printed model under the loupe: which of its errors make the inertia matrix of the IRB 140 impossible?

Switch errors of the listing on and off and watch M. Try other combinations in `CASES`.
"""

from __future__ import annotations

import numpy as np

import armwright as aw
from armwright.studies.doc002_irb140.as_published import MASS_ERRORS, mass_as_published
from armwright.studies.doc002_irb140.setting import postures

CASES = [(), *((name,) for name in MASS_ERRORS), ("skew", "M'"), MASS_ERRORS]

q = postures()  # 300 random postures
M = aw.mass_matrix(aw.load("irb140"), q)
for errors in CASES:
    wrong = mass_as_published(q, frozenset(errors))
    error = np.median(np.linalg.norm(wrong - M, axis=(1, 2)) / np.linalg.norm(M, axis=(1, 2)))
    impossible = int((np.linalg.eigvalsh(wrong)[:, 0] <= 0.0).sum())
    print(
        f"{' + '.join(errors) or 'none':34} median error of M {error:9.2e}   indefinite at {impossible:3d} of "
        "300 postures"
    )
