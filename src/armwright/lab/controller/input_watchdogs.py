# SPDX-License-Identifier: Apache-2.0
"""`InputWatchdogs`: what happens when a client's inputs stop coming (rtde_set_watchdog).

Every packet counts in which the input comes, whether its value is new or not. A program's end removes them all.
"""

from __future__ import annotations

from collections.abc import Iterable

from armwright.errors import InputError

WATCHDOG_ACTIONS = ("ignore", "pause", "stop")
MOST_WATCHDOG_RATE = 500.0  # [1/s]: nobody hears more often


class InputWatchdogs:
    """Inputs that must come often enough, each with its period [s], its action and when it came last [s]."""

    def __init__(self) -> None:
        self._watched: dict[str, tuple[float, str, float]] = {}

    def watch(self, name: str, frequency: float, action: str, now: float) -> None:
        """Watch an input from now on [s]; a frequency of 0 [1/s] or the action "ignore" ends that.

        Raises:
            InputError: a frequency or an action that there is not.
        """
        if action not in WATCHDOG_ACTIONS:
            raise InputError(f"watchdog: action must be one of {', '.join(WATCHDOG_ACTIONS)}, got {action!r}")
        if not 0.0 <= frequency <= MOST_WATCHDOG_RATE:
            raise InputError(f"watchdog: 0 to {MOST_WATCHDOG_RATE:g} updates a second, got {frequency}")
        self._watched.pop(name, None)
        if frequency > 0.0 and action != "ignore":
            self._watched[name] = (1.0 / frequency, action, now)

    def heard(self, names: Iterable[str], now: float) -> None:
        """Take note of inputs that have come."""
        if not self._watched:
            return
        for name in names:
            if name in self._watched:
                period, action, _ = self._watched[name]
                self._watched[name] = (period, action, now)

    def overdue(self, now: float) -> tuple[str, str] | None:
        """Return input and action of the first that is overdue, and forget it; None if all are heard."""
        for name, (period, action, last) in self._watched.items():
            if now - last > period:
                del self._watched[name]
                return name, action
        return None

    def clear(self) -> None:
        """Forget all."""
        self._watched.clear()
