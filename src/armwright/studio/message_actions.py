# SPDX-License-Identifier: Apache-2.0
"""Messages of pages: a checked message in, an action, an answer out; viewers may only look."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.errors import ArmwrightError, InputError
from armwright.schema.checks import Check, read_message
from armwright.studio import orders, views

if TYPE_CHECKING:
    from armwright.studio.hub import Client
    from armwright.studio.studio_state import Studio

Handler = Callable[..., Awaitable[dict[str, Any] | None]]


class MessageAction(NamedTuple):
    """The fields of a message, what to do with them, and whether those who only look may ask for it."""

    shape: Check[dict[str, Any]]
    do: Handler
    viewers: bool


def actions() -> dict[str, MessageAction]:
    """Return everything that can be asked for, by name."""
    table = {name: MessageAction(shape, do, True) for part in LOOK for name, (shape, do) in part.items()}
    return table | {name: MessageAction(shape, do, False) for part in CHANGE for name, (shape, do) in part.items()}


LOOK = (views.VIEWS, orders.VIEWS, views.LIBRARY_VIEWS)
CHANGE = (orders.ORDERS, orders.EXPLORE_ORDERS, views.ORDERS, orders.PROGRAM_ORDERS)
ACTIONS = actions()
SHAPES = {name: action.shape for name, action in ACTIONS.items()}


async def answer(studio: Studio, client: Client, raw: str) -> None:
    """Do what one message asks for, and answer it; report whatever is wrong with it, and do nothing else."""
    ident = 0
    try:
        name, ident, fields = read_message(raw, SHAPES)
        action = ACTIONS[name]
        if not (client.owner or action.viewers):
            raise InputError(f"{name}: this page may only look; open the address with the owner's token to do that")
        result = await action.do(studio, client, **fields)
    except (ArmwrightError, np.linalg.LinAlgError) as error:
        client.tell({"re": ident, "error": str(error)})
        return
    if ident:
        client.tell({"re": ident, "ok": result or {}})
