"""Documents made executable: every printed number beside ours, with a verdict that is computed.

To add a document, write one module or package that holds ``STUDY``, and name it in `registry.MODULES`:

    from armwright.studies.item import Claim, Formula, Item, Numbers, Study
    STUDY = Study("002", "IRB 140 by exponentials", "authors, title, year", items=(
        Item("E3", "holding torque u_des", Numbers("-158.83", "N m"), as_published=f, correct=g, reason="why, if not"),
        Item("E4", "M is positive definite", Claim("M > 0"), as_published=h, correct=k, reason="…"),
    ))

`f`, `g`, … take nothing and return a number, an array, a truth or a word. Items may add `notes` (a function returning
lines of text) and `pictures` (`Picture(caption, function returning a matplotlib Figure)`). Verdicts follow from the
printed digits; ``armwright reproduce 002 --record`` puts them on record.
"""

from __future__ import annotations
