# SPDX-License-Identifier: Apache-2.0
"""Functions that grippers' packages add to URScript: they work fingers or cups, and move no axis of the arm.

Names are those of Robotiq's package. Its functions that search or follow with the arm (``rq_linear_search`` and their
like) are not among them: those move it.
"""

from __future__ import annotations

import re

GRIPPER = re.compile(
    r"rq_(?:activate|auto_release|close|current_pos|get_(?:fault|pos|status|var)|go_to|grip|is_gripper|is_motion|is_obj|"
    r"mm_|move(?!_?[jlpc]\b)|obj|open|print|release|reset|set_(?:force|gripper|max|mode|pos|sid|speed|vacuum|var)|"
    r"status|stop|vacuum|wait)\w*"
)


def works_a_gripper(key: str) -> bool:
    """Return whether a function is a gripper's."""
    return GRIPPER.fullmatch(key) is not None
