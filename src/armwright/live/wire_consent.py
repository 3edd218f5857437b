# SPDX-License-Identifier: Apache-2.0
"""Consent of a person before an arm on the wire moves: sentences, each confirmed by itself, kept in recordings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from armwright.errors import InputError
from armwright.live.wire_checks import is_loopback

BY_OPTION = "--yes"  # who confirmed, where no person did: only towards a virtual controller


class Consent(NamedTuple):
    """A sentence, when it was confirmed (UTC, ISO 8601), and by whom."""

    sentence: str
    at: str
    by: str


def consents(
    host: str, sentences: Sequence[str], ask: Callable[[str], bool] | None, by: str = "a person at the terminal"
) -> tuple[Consent, ...]:
    """Ask for every sentence; return them confirmed.

    Args:
        host: the controller's address.
        sentences: to be confirmed, one by one.
        ask: shows a sentence and returns whether it was confirmed; None for nobody, allowed for 127.x.y.z only.
        by: who is asked.

    Raises:
        InputError: one was not confirmed, or nobody is asked about an arm that may be a real one.
    """
    if ask is None and not is_loopback(host):
        raise InputError(
            f"{host}: --yes confirms for virtual controllers only, at 127.x.y.z; a person confirms for an arm"
        )
    out = []
    for sentence in sentences:
        if ask is not None and not ask(sentence):
            raise InputError(f"not confirmed, nothing was moved: {sentence}")
        now = datetime.now(UTC).isoformat(timespec="seconds")
        out.append(Consent(sentence, now, BY_OPTION if ask is None else by))
    return tuple(out)
