# SPDX-License-Identifier: Apache-2.0
"""RTDE, port 30004: recipes, framing, and the server's side of one connection (protocols 1 and 2).

See Universal Robots, "Real-Time Data Exchange guide"; the fields are in `rtde_fields`. A packet is big-endian uint16
size (header included), uint8 type, payload. Nothing is streamed before the start has been answered: clients read
exactly one packet after each request.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from armwright.errors import ArmwrightError
from armwright.lab.wire.rtde_fields import INPUTS, OUTPUTS, kinds_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SIZES: dict[str, tuple[str, int]] = {
    "BOOL": ("?", 1),
    "UINT8": ("B", 1),
    "UINT32": ("I", 1),
    "UINT64": ("Q", 1),
    "INT32": ("i", 1),
    "DOUBLE": ("d", 1),
    "VECTOR3D": ("d", 3),
    "VECTOR6D": ("d", 6),
    "VECTOR6INT32": ("i", 6),
    "VECTOR6UINT32": ("I", 6),
}
"""Type → struct code of one number, and their count."""


@dataclass(frozen=True)
class Recipe:
    """Fields in the order of a data packet; packs and unpacks their values."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]

    @cached_property
    def codes(self) -> struct.Struct:
        """Return the struct of all numbers in a row, big-endian."""
        return struct.Struct(">" + "".join(SIZES[kind][0] * SIZES[kind][1] for kind in self.kinds))

    @cached_property
    def _counts(self) -> tuple[int, ...]:
        return tuple(SIZES[kind][1] for kind in self.kinds)

    @cached_property
    def _vectors(self) -> tuple[int, ...]:
        """Places of the vectors, from the last to the first."""
        return tuple(k for k in reversed(range(len(self.kinds))) if self._counts[k] > 1)

    def pack(self, values: Mapping[str, Any]) -> bytes:
        """Return the bytes of the values: numbers, or sequences of them for vectors."""
        flat = list(map(values.__getitem__, self.names))
        for k in self._vectors:
            flat[k : k + 1] = flat[k]
        return self.codes.pack(*flat)

    def unpack(self, payload: bytes) -> dict[str, Any]:
        """Return values by name; vectors are tuples."""
        numbers, out, at = self.codes.unpack(payload), {}, 0
        for name, count in zip(self.names, self._counts, strict=True):
            out[name] = numbers[at] if count == 1 else numbers[at : at + count]
            at += count
        return out


def recipe_of(names: Sequence[str], known: Mapping[str, str]) -> tuple[Recipe | None, tuple[str, ...]]:
    """Return the recipe, or None if a name is not known, and every name's type or NOT_FOUND."""
    kinds = tuple(known.get(name, "NOT_FOUND") for name in names)
    return (None if "NOT_FOUND" in kinds or not names else Recipe(tuple(names), kinds)), kinds


PORT = 30004
HEADER = struct.Struct(">HB")
PROTOCOL, CONTROLLER, OUTPUT, INPUT, START, PAUSE, DATA, TEXT = (ord(c) for c in "VvOISPUM")
MOST_RECIPES = 64
MOST_FIELD_NAMES = 512
MOST_STREAMED_FIELDS = 2048  # of all recipes of all clients together: 0.3 ms of work a publication
MOST_ASKED_BYTES = 1 << 14  # of a client's packet: 512 names


class BrokenStreamError(Exception):
    """The other side sends something that is no packet; the connection has to end."""


def packet(kind: int, payload: bytes = b"") -> bytes:
    """Frame a payload."""
    return HEADER.pack(len(payload) + 3, kind) + payload


def packets(buffer: bytearray) -> Iterator[tuple[int, bytes]]:
    """Take whole packets from the front of a buffer.

    Raises:
        BrokenStreamError: a size that cannot be.
    """
    while (found := first_packet(buffer)) is not None:
        yield found


def first_packet(buffer: bytearray, most: int = 0xFFFF) -> tuple[int, bytes] | None:
    """Take the first packet off a buffer, as kind and payload; None if it is not whole yet.

    Args:
        buffer: what has arrived.
        most: bytes that it may have.

    Raises:
        BrokenStreamError: a size that cannot be.
    """
    if len(buffer) < HEADER.size:
        return None
    size, kind = HEADER.unpack_from(buffer)
    if not HEADER.size <= size <= most:
        raise BrokenStreamError(f"a packet of {size} bytes")
    if len(buffer) < size:
        return None
    payload = bytes(buffer[HEADER.size : size])
    del buffer[:size]
    return kind, payload


def text_message(version: int, text: str, level: int) -> bytes:
    """Return a message to the client; level 0 exception … 3 info."""
    body, source = text.encode()[:255], b"RTDE"
    if version == 1:
        return packet(TEXT, bytes([level]) + body)
    return packet(TEXT, bytes([len(body)]) + body + bytes([len(source)]) + source + bytes([level]))


def message_of(payload: bytes) -> tuple[str, int]:
    """Return text and level of a text message of protocol 2; a level of 3 if it is cut."""
    end = 1 + (payload[0] if payload else 0)
    level_at = end + 1 + (payload[end] if len(payload) > end else 0)
    return payload[1:end].decode(errors="replace"), payload[level_at] if len(payload) > level_at else 3


class ControllerHost(Protocol):
    """The controller behind a connection, as far as the connection needs it."""

    version: tuple[int, int, int, int]
    rate: float

    def claim(self, names: tuple[str, ...], owner: object) -> bool:
        """Take inputs for one owner; False if another has one of them."""

    def release(self, owner: object) -> None:
        """Give all inputs of an owner back."""

    def write_inputs(self, values: Mapping[str, Any]) -> None:
        """Write inputs that have arrived."""


class RtdeConnection:
    """One client's recipes and whether it is streaming.

    Attributes:
        answers: whether it writes inputs, and has not been given up. owes: whether data went out since its last ones.

    Args:
        host: behind it.
        streamed: returns how many fields all clients of this port have asked for; only its own, if it is left out.
    """

    def __init__(self, host: ControllerHost, streamed: Callable[[], int] | None = None) -> None:
        self.host, self._streamed = host, streamed or (lambda: self.fields)
        self.protocol, self.streaming = 1, False
        self.answers = self.owes = False
        self.outputs: dict[int, tuple[Recipe, int]] = {}
        self.inputs: dict[int, Recipe] = {}
        self.known, self.known_inputs = kinds_of(OUTPUTS, host.version), kinds_of(INPUTS, host.version)

    @property
    def fields(self) -> int:
        """Return how many fields its output recipes have."""
        return sum(len(recipe.names) for recipe, _ in self.outputs.values())

    def take(self, buffer: bytearray) -> bytes | None:
        """Return the answer to the client's first packet; None if it is not whole yet.

        Raises:
            BrokenStreamError: a size that cannot be.
        """
        found = first_packet(buffer, MOST_ASKED_BYTES)
        return None if found is None else self._answer(*found)

    def _answer(self, kind: int, payload: bytes) -> bytes:
        if kind == PROTOCOL and len(payload) == 2:
            version = int.from_bytes(payload, "big")
            if version in (1, 2):
                self.protocol = version
            return packet(kind, bytes([version in (1, 2)]))
        if kind == CONTROLLER:
            return packet(kind, struct.pack(">4I", *self.host.version))
        if kind == OUTPUT:
            return self._set_outputs(payload)
        if kind == INPUT:
            return self._set_inputs(payload)
        if kind in (START, PAUSE):
            self.streaming = kind == START and bool(self.outputs)
            return packet(kind, bytes([self.streaming or kind == PAUSE]))
        if kind == DATA:
            return self._take(payload)
        if kind == TEXT:
            return b""
        return text_message(self.protocol, f"request {kind} is not known", 1)

    def _set_outputs(self, payload: bytes) -> bytes:
        rate = self.host.rate
        if self.protocol == 2:
            if len(payload) < 8:
                return packet(OUTPUT, b"\0NOT_FOUND")
            wanted = struct.unpack_from(">d", payload)[0]
            payload = payload[8:]
            if 0.0 < wanted <= rate:
                rate = wanted
        recipe, kinds = recipe_of(_names(payload), self.known)
        types = ",".join(kinds).encode()
        every = max(1, round(self.host.rate / rate))
        if recipe is not None and self._streamed() + len(recipe.names) > MOST_STREAMED_FIELDS:
            recipe = None
        if self.protocol == 1:
            if recipe is not None:
                self.outputs = {0: (recipe, every)}
            return packet(OUTPUT, types)
        if recipe is None or len(self.outputs) >= MOST_RECIPES:
            return packet(OUTPUT, b"\0" + types)
        number = len(self.outputs) + 1 if self.streaming or self.outputs else 1
        self.outputs[number] = (recipe, every)
        return packet(OUTPUT, bytes([number]) + types)

    def _set_inputs(self, payload: bytes) -> bytes:
        recipe, kinds = recipe_of(_names(payload), self.known_inputs)
        if recipe is None or len(self.inputs) >= MOST_RECIPES:
            return packet(INPUT, b"\0" + ",".join(kinds).encode())
        if not self.host.claim(recipe.names, self):
            return packet(INPUT, b"\0" + ",".join(["IN_USE"] * len(kinds)).encode())
        number = len(self.inputs) + 1
        self.inputs[number] = recipe
        return packet(INPUT, bytes([number]) + ",".join(kinds).encode())

    def _take(self, payload: bytes) -> bytes:
        recipe = self.inputs.get(payload[0]) if payload else None
        if recipe is not None and len(payload) == 1 + recipe.codes.size:
            self.answers, self.owes = True, False
            try:
                self.host.write_inputs(recipe.unpack(payload[1:]))
            except ArmwrightError as error:
                return text_message(self.protocol, str(error), 1)
        return b""

    def data(self, count: int, values: Mapping[str, Any]) -> bytes:
        """Return packets for publication number `count`; empty if none is due."""
        if not self.streaming:
            return b""
        out = []
        for number, (recipe, every) in self.outputs.items():
            if count % every == 0:
                head = b"" if self.protocol == 1 else bytes([number])
                out.append(packet(DATA, head + recipe.pack(values)))
        self.owes = self.answers and bool(out)
        return b"".join(out)

    def closed(self) -> None:
        """Free the inputs of a client that has gone."""
        self.streaming = False
        self.host.release(self)


def _names(payload: bytes) -> list[str]:
    """Return comma-joined names as a list; ur_rtde ends its list with a comma."""
    text = payload.decode("ascii", errors="replace")
    return [name.strip() for name in text.split(",", MOST_FIELD_NAMES)[:MOST_FIELD_NAMES] if name.strip()]
