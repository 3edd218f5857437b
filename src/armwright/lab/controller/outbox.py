# SPDX-License-Identifier: Apache-2.0
"""`Outbox`: what the controller has to tell the clients of its primary interface, in order, until the tick sends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armwright.lab.controller.controller_messages import LabelMessage, TextMessage

if TYPE_CHECKING:
    from armwright.lab.controller.controller_messages import ControllerMessage

MOST_TEXTS = 100  # texts and labels a tick: a program may talk in a loop
MOST_RECORDS = 400  # a tick, all kinds together: 64 threads with a fault each, and room


class Outbox:
    """Records of one tick. Those beyond the limits are counted instead of kept.

    Attributes:
        lost: records so far that were not kept.
    """

    def __init__(self) -> None:
        self._records: list[ControllerMessage] = []
        self._texts = self.lost = 0

    def put(self, record: ControllerMessage) -> None:
        """Add a record at the end."""
        talk = isinstance(record, TextMessage | LabelMessage)
        if len(self._records) >= MOST_RECORDS or (talk and self._texts >= MOST_TEXTS):
            self.lost += 1
            return
        self._texts += talk
        self._records.append(record)

    def take(self) -> list[ControllerMessage]:
        """Return all records and forget them."""
        if not self._records:
            return []
        out, self._records, self._texts = self._records, [], 0
        return out
