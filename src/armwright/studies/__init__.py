# SPDX-License-Identifier: Apache-2.0
"""Documents made executable: every printed number compared with ours, with a verdict that is computed.

To add a document, write one module or package that holds ``STUDY``, and name it in `study.MODULES`:

    from armwright.studies.study import Claim, Formula, Item, Numbers, Study
    STUDY = Study("002", "IRB 140 by exponentials", "authors, title, year", items=(
        Item("5.18", "holding torque u_des", Numbers("-158.83", "N m"), as_published=f, correct=g, reason="why"),
        Item("5.3", "M is positive definite", Claim("M > 0"), as_published=h, correct=k, reason="…", faults=("…",)),
    ))

`f`, `g`, … take nothing and return a number, an array, a truth value or a word. `faults` name what is wrong, the same
words for the same fault, so that it is counted once; `rule` says what we chose where the print leaves it open. Items
may add `notes` (a function returning lines of text) and `pictures` (`Picture(caption, function returning a Figure)`).
Verdicts follow from the printed digits; ``armwright reproduce 002 --record`` puts them on record.
"""

from __future__ import annotations
