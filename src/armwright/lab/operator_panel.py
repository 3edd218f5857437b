# SPDX-License-Identifier: Apache-2.0
"""`OperatorPanel`: what an operator has set at the panel of a UR, and the dashboard may look at and change.

The role of the user and the operational mode are kept and told; nothing else depends on them. Reports are counted and
the log is kept in memory: nothing that a client asks for is written to a disk.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from armwright.lab.controller.controller_messages import PopupMessage

if TYPE_CHECKING:
    from armwright.lab.controller.controller import Controller
    from armwright.lab.program_store import ProgramStore

ROLES = ("PROGRAMMER", "OPERATOR", "NONE", "LOCKED", "RESTRICTED")
NO_MODE = "NONE"
OPERATIONAL_MODES = ("MANUAL", "AUTOMATIC")
REPORTS = ("", "controller", "software", "system")
MOST_LOG = 1000  # entries


class OperatorPanel:
    """The panel.

    Attributes:
        c: the controller. store: its programs. role: one of `ROLES`. mode: one of `OPERATIONAL_MODES`, or `NO_MODE`.
        reports: made so far. log: what clients added to it.
    """

    def __init__(self, controller: Controller, store: ProgramStore) -> None:
        self.c, self.store = controller, store
        self.role, self.mode, self.reports = ROLES[0], NO_MODE, 0
        self.log: deque[str] = deque(maxlen=MOST_LOG)

    def add_to_log(self, text: str) -> None:
        """Keep an entry."""
        self.log.append(f"{self.c.time:.3f} {text}")

    def show_popup(self, text: str) -> None:
        """Show a window; clients of the primary port are told."""
        self.c.say(PopupMessage(0, "", text))

    def close_popup(self) -> None:
        """Close the window that is shown; a program that waits for its end goes on."""
        close = getattr(self.c.program, "close_popup", None)
        if close is not None:
            close()

    def set_role(self, text: str) -> bool:
        """Set the role of the user; False if there is no such one."""
        role = text.strip().upper()
        if role not in ROLES:
            return False
        self.role = role
        return True

    def set_mode(self, text: str) -> bool:
        """Set the operational mode; False if there is no such one."""
        mode = text.strip().upper()
        if mode not in OPERATIONAL_MODES:
            return False
        self.mode = mode
        return True

    def report(self) -> int:
        """Count a report; return its number."""
        self.reports += 1
        self.add_to_log(f"report {self.reports}: {self.c.state.value}, safety {self.c.safety.name}")
        return self.reports
