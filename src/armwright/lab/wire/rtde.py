# SPDX-License-Identifier: Apache-2.0
"""RTDE, port 30004: framing, and the server's side of one connection (protocol versions 1 and 2).

A packet is big-endian uint16 size (header included), uint8 type, payload. Nothing is streamed before the start has been
answered: clients read exactly one packet after each request.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from armwright.lab.wire.rtde_fields import INPUTS, Recipe, outputs_of, recipe_of

if TYPE_CHECKING:
    from collections.abc import Mapping

PORT = 30004
HEADER = struct.Struct(">HB")
PROTOCOL, CONTROLLER, OUTPUT, INPUT, START, PAUSE, DATA, TEXT = (ord(c) for c in "VvOISPUM")
MOST_RECIPES = 64
MOST_NAMES = 512


class BrokenStreamError(Exception):
    """The other side sends what is no packet; the connection has to end."""


def packet(kind: int, payload: bytes = b"") -> bytes:
    """Frame a payload."""
    return HEADER.pack(len(payload) + 3, kind) + payload


def packets(buffer: bytearray) -> Iterator[tuple[int, bytes]]:
    """Take whole packets from the front of a buffer.

    Raises:
        BrokenStreamError: a size that cannot be.
    """
    while len(buffer) >= 3:
        size, kind = HEADER.unpack_from(buffer)
        if size < 3:
            raise BrokenStreamError(f"a packet of {size} bytes")
        if len(buffer) < size:
            return
        payload = bytes(buffer[3:size])
        del buffer[:size]
        yield kind, payload


def text_message(version: int, text: str, level: int) -> bytes:
    """A message to the client; level 0 exception … 3 info."""
    body, source = text.encode()[:255], b"RTDE"
    if version == 1:
        return packet(TEXT, bytes([level]) + body)
    return packet(TEXT, bytes([len(body)]) + body + bytes([len(source)]) + source + bytes([level]))


class Host(Protocol):
    """What a connection needs of the controller behind it."""

    version: tuple[int, int, int, int]
    rate: float
    e_series: bool

    def claim(self, names: tuple[str, ...], owner: object) -> bool:
        """Take inputs for one owner; False if another has one of them."""

    def release(self, owner: object) -> None:
        """Give all inputs of an owner back."""

    def write_inputs(self, values: Mapping[str, Any]) -> None:
        """Inputs have arrived."""


class RtdeConnection:
    """One client's recipes and whether it is streaming."""

    def __init__(self, host: Host) -> None:
        self.host, self.buffer = host, bytearray()
        self.protocol, self.streaming = 1, False
        self.outputs: dict[int, tuple[Recipe, int]] = {}
        self.inputs: dict[int, Recipe] = {}
        self.known = outputs_of(host.e_series)

    def receive(self, data: bytes) -> bytes:
        """Take bytes from the client, return the answers."""
        self.buffer += data
        return b"".join(self._answer(kind, payload) for kind, payload in packets(self.buffer))

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
            self._take(payload)
            return b""
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
        recipe, kinds = recipe_of(_names(payload), INPUTS)
        if recipe is None or len(self.inputs) >= MOST_RECIPES:
            return packet(INPUT, b"\0" + ",".join(kinds).encode())
        if not self.host.claim(recipe.names, self):
            return packet(INPUT, b"\0" + ",".join(["IN_USE"] * len(kinds)).encode())
        number = len(self.inputs) + 1
        self.inputs[number] = recipe
        return packet(INPUT, bytes([number]) + ",".join(kinds).encode())

    def _take(self, payload: bytes) -> None:
        recipe = self.inputs.get(payload[0]) if payload else None
        if recipe is not None and len(payload) == 1 + recipe.codes.size:
            self.host.write_inputs(recipe.unpack(payload[1:]))

    def data(self, count: int, values: Mapping[str, Any]) -> bytes:
        """Packets for publication number `count`; empty if none is due."""
        if not self.streaming:
            return b""
        out = []
        for number, (recipe, every) in self.outputs.items():
            if count % every == 0:
                head = b"" if self.protocol == 1 else bytes([number])
                out.append(packet(DATA, head + recipe.pack(values)))
        return b"".join(out)

    def closed(self) -> None:
        """The client has gone: its inputs are free again."""
        self.streaming = False
        self.host.release(self)


def _names(payload: bytes) -> list[str]:
    """Comma-joined names; ur_rtde ends its list with a comma."""
    text = payload.decode("ascii", errors="replace")
    return [name.strip() for name in text.split(",")[:MOST_NAMES] if name.strip()]
