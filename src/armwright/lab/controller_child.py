# SPDX-License-Identifier: Apache-2.0
"""The child's end of `VirtualController`: a fresh interpreter with a `Stand`, which does what its parent asks.

It reads one line of JSON, the settings, says that it is ready, and then answers one order a line. Nothing is unpickled.
It leaves when the parent is gone: that holds the other end of the input.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from armwright.errors import ArmwrightError, InputError
from armwright.lab.controller.controller import CONTROLLER_TICK
from armwright.lab.controller.controller_messages import COLLISION_FELT
from armwright.lab.controller.controller_states import ControllerEvent, after
from armwright.lab.hand import Hand, push
from armwright.lab.lab_clock import live_beside_clock, without_collections
from armwright.lab.stand import PORTS, Faults, Stand
from armwright.lab.touch_record import TouchRecord
from armwright.robot.load import load
from armwright.world import load_world
from armwright.world.world_file import world_from_text

OTHERWISE_GIVEN = frozenset({"self", "robot", "host", "ports", "world", "faults"})
"""Parameters of `Stand` that are told in their own way, or by a call of `VirtualController`."""
PROCESS_BITS = 22  # of the number of a process on Linux; 24 can be chosen in an address 127.x.y.z


def options() -> list[str]:
    """Return the names of what `Stand` takes besides robot, world, address and faults."""
    return [name for name in inspect.signature(Stand.__init__).parameters if name not in OTHERWISE_GIVEN]


def own_address(process: int) -> str:
    """Return a loopback address where UR's ports are free; no other process with another number is given the same.

    Raises:
        InputError: there is none.
    """
    if sys.platform != "linux":  # elsewhere 127.0.0.1 is the only one
        return "127.0.0.1"
    for attempt in range(1 << 24 - PROCESS_BITS):
        number = process | attempt << PROCESS_BITS
        address = f"127.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        if address not in ("127.0.0.0", "127.0.0.1", "127.255.255.255") and _is_free(address):
            return address
    raise InputError(
        f"virtual controller: the ports {', '.join(map(str, PORTS.values()))} are taken on every loopback address, "
        'perhaps by a program that listens on all of them; ports="free" takes others'
    )


def _is_free(address: str) -> bool:
    with contextlib.ExitStack() as kept:
        for port in PORTS.values():
            sock = kept.enter_context(socket.socket())
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                sock.bind((address, port))
            except OSError:
                return False
    return True


class ServedController:
    """A stand, a hand at its flange, a memory of what it touched, and the orders that the parent may give."""

    def __init__(self, settings: dict[str, Any]) -> None:
        """Make the stand; it runs when this returns."""
        wanted = settings["options"]
        unknown = sorted(set(wanted) - set(options()))
        if unknown:
            raise InputError(f"virtual controller: unknown option {unknown[0]!r}; valid: {', '.join(options())}")
        wanted = {name: np.array(value) if name == "q0" else value for name, value in wanted.items()}
        world = settings["world"]
        if isinstance(world, dict):
            world = world_from_text(world["text"], "the world that was given")
        elif world is not None:
            world = load_world(world)
        ports, host = settings["ports"], settings["host"]
        if ports == "free":
            ports = dict.fromkeys(PORTS, 0)
        if host is None:
            host = "127.0.0.1" if ports else own_address(os.getpid())
        self.stand = Stand(load(settings["robot"]), host=host, ports=ports, world=world, **wanted)
        plant = self.stand.controller.plant
        self._hand = Hand(plant)
        self._record = None if world is None else TouchRecord(plant.robot, world)
        if self._record is not None:
            self.stand.witnesses.append(self._remember)
        self.stand.start()

    def _remember(self) -> None:
        assert self._record is not None
        live = self.stand.controller.plant.live
        self._record.keep(self.stand.controller.ticks, live.q, live.qd)

    def ready(self) -> dict[str, Any]:
        """Return where clients find it."""
        return {"host": self.stand.host, "ports": self.stand.ports}

    def order(self, name: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Do one thing of `ORDERS`."""
        return ORDERS[name](self, **fields)

    def truth(self) -> dict[str, Any]:
        """Return the fields of `VirtualTruth`."""
        c = self.stand.controller
        with c.lock:
            live = c.plant.live
            q, qd = np.array(live.q), np.array(live.qd)
            out = {
                "time": c.time,
                "state": c.state.value,
                "safety": c.safety.name,
                "why": c.why,
                "q": q.tolist(),
                "qd": qd.tolist(),
                "target_q": np.asarray(c.reference.q).tolist(),
                "torque": np.array(live.tau).tolist(),
                "current": np.asarray(c.plant.map.current(np.asarray(live.tau))).tolist(),
                "pose": c.plant.pose_of(q).tolist(),
            }
        force = np.zeros(3) if self._record is None else self._record.force(q, qd)
        return {**out, "contact_force": force.tolist()}

    def contacts(self, since: float) -> dict[str, Any]:
        """Return what was touched from a controller time [s] on."""
        if self._record is None:
            return {"touches": []}
        with self.stand.controller.lock:
            kept = self._record.since(round(since / CONTROLLER_TICK))
        return {"touches": [touch._asdict() for touch in self._record.touches(*kept)]}

    def event(self, name: str, why: str) -> dict[str, Any]:
        """Have something happen to the controller; tell whether its state admits it."""
        c = self.stand.controller
        with c.lock:
            event = ControllerEvent[name]
            admitted = after(c.state, event) is not None
            if admitted and event is ControllerEvent.COLLISION:
                c.protective_stop(why, COLLISION_FELT)
            elif admitted:
                c.why = why
                c.handle(event)
        return {"admitted": admitted}

    def safety(self, inputs: dict[str, bool]) -> dict[str, Any]:
        """Change inputs of the safety system that last: fields of `SafetyInputs`."""
        c = self.stand.controller
        with c.lock:
            if inputs.get("emergency"):
                c.press_emergency_stop(system=inputs["system"])
            elif "emergency" in inputs:
                c.handle(ControllerEvent.EMERGENCY_OVER)
            if "guard_open" in inputs:
                c.handle(ControllerEvent.GUARD_OPEN if inputs["guard_open"] else ControllerEvent.GUARD_CLOSED)
            if "reduced" in inputs:
                c.reduce(inputs["reduced"])
        return {"admitted": True}

    def cut(self, ports: list[str]) -> dict[str, Any]:
        """Cut clients off, all or those of named ports; return how many."""
        unknown = sorted(set(ports) - set(self.stand.ports))
        if unknown:
            raise InputError(f"cut: no port {unknown[0]!r}; valid: {', '.join(self.stand.ports)}")
        with self.stand.controller.lock:
            count = len(self.stand.network.connections(*ports))
            self.stand.network.disconnect(*ports)
        return {"clients": count}

    def wire(self, faults: dict[str, Any]) -> dict[str, Any]:
        """Change the faults of what is sent."""
        Faults(**faults)  # the numbers are checked there
        with self.stand.controller.lock:
            if "stall" in faults:
                self.stand.clock.stall(faults["stall"])
            if "skip" in faults:
                self.stand.faults.skip = faults["skip"]
            if "segment" in faults:
                self.stand.faults.segment = faults["segment"]
        return {}

    def push(self, force: list[float], seconds: float) -> dict[str, Any]:
        """Push at the flange from the next tick on; return when it ends, controller time [s]."""
        with self.stand.controller.lock:
            if self._hand not in self.stand.sensors:  # not before: what sensors feel costs every tick
                self.stand.sensors.append(self._hand)
            begin = self.stand.controller.time + CONTROLLER_TICK
            self._hand.add(push(begin, seconds, *force))
        return {"end": begin + seconds}

    def carry(self, mass: float, centre: list[float]) -> dict[str, Any]:
        """Hang a load on the flange that nobody told the controller."""
        with self.stand.controller.lock:
            self.stand.controller.plant.carry(mass, np.array(centre))
        return {}


ORDERS: dict[str, Callable[..., dict[str, Any]]] = {
    name: getattr(ServedController, name)
    for name in ("truth", "contacts", "event", "safety", "cut", "wire", "push", "carry")
}
"""What a parent may ask for."""


def lines() -> Iterator[dict[str, Any]]:
    """Yield what the parent says, until it is gone."""
    while line := sys.stdin.buffer.readline():
        yield json.loads(line)


def main() -> None:
    """Serve a controller until the input ends; see the module."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints does not get between the answers
    with contextlib.suppress(ValueError, OSError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, which ends this process

    def say(message: dict[str, Any]) -> None:
        with contextlib.suppress(BrokenPipeError):
            answers.write(json.dumps(message).encode() + b"\n")
            answers.flush()

    said = lines()
    try:
        with without_collections():  # a start makes many objects that stay: looking through them takes a tenth of it
            served = ServedController(next(said))
        live_beside_clock(fifo=served.stand.clock.wants_fifo)
    except ArmwrightError as error:
        say({"error": str(error)})
        return
    try:
        say({"result": served.ready()})
        for request in said:
            try:
                say({"result": served.order(request["order"], request["fields"])})
            except ArmwrightError as error:
                say({"error": str(error)})
            except Exception as error:  # noqa: BLE001 - the parent is told; the controller goes on
                say({"error": f"a defect of this program: {error!r:.200}"})
            if not served.stand.clock.running:
                raise SystemExit(f"the controller's clock ended: {served.stand.clock.error!r}")
    finally:
        served.stand.close()


if __name__ == "__main__":
    main()
