# SPDX-License-Identifier: Apache-2.0
"""A stand in Foxglove: a client of its protocol gets frames, shapes, joints and the modes of the controller."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

import armwright as aw
from armwright.errors import ArmwrightError
from armwright.kinematics.forward import fk_all
from armwright.lab.stand import PORTS, Stand
from support.patience import PATIENCE

DATA = 1  # opcode of a binary message


@pytest.fixture(scope="module")
def shown():
    pytest.importorskip("foxglove", reason="foxglove-sdk (extra [foxglove]) is not installed")
    from armwright.lab.foxglove_feed import FoxgloveFeed

    world = aw.load_world("bench")
    stand = Stand(aw.load("ur5"), ports=dict.fromkeys(PORTS, 0), fifo=False, world=world)
    feed = FoxgloveFeed(stand, world, port=0)
    stand.closers.append(feed.close)
    with stand:
        yield stand, feed


def listen(port, topics):
    """Subscribe as Foxglove does; return the first message of each topic."""
    client = pytest.importorskip("websockets.sync.client", reason="extra [studio] is not installed")
    found: dict = {}
    with client.connect(f"ws://127.0.0.1:{port}", subprotocols=["foxglove.sdk.v1"], open_timeout=PATIENCE) as wire:
        channels: dict = {}
        while set(topics) - set(found):
            message = wire.recv(PATIENCE)
            if isinstance(message, str):
                said = json.loads(message)
                if said["op"] == "advertise":
                    new = {c["id"]: c for c in said["channels"]}
                    channels |= new
                    wanted = [{"id": number, "channelId": number} for number in new]
                    wire.send(json.dumps({"op": "subscribe", "subscriptions": wanted}))
            elif message[0] == DATA:
                number, stamp = struct.unpack_from("<IQ", message, 1)
                found.setdefault(channels[number]["topic"], (channels[number]["schemaName"], stamp, message[13:]))
    return found


def test_a_viewer_sees_the_arm_as_it_stands(shown):
    stand, feed = shown
    messages = listen(feed.port, ("/tf", "/scene", "/joint_states", "/controller"))
    name, _, data = messages["/tf"]
    assert name == "foxglove.FrameTransforms"
    reason = "foxglove-schemas-protobuf (extra [lab-clients]) is not installed"
    said = pytest.importorskip("foxglove_schemas_protobuf.FrameTransforms_pb2", reason=reason)
    frames = said.FrameTransforms.FromString(data).transforms
    places = [[t.translation.x, t.translation.y, t.translation.z] for t in frames]
    q = stand.controller.plant.live.q
    assert np.allclose(places, fk_all(stand.controller.plant.robot, np.array(q))[:, :3, 3], atol=1e-3)  # it stands
    assert messages["/scene"][0] == "foxglove.SceneUpdate"
    assert b"pillar" in messages["/scene"][2]
    modes = json.loads(messages["/controller"][2])
    assert modes["robot_mode"] == 7
    assert len(modes["force"]) == 6


def test_a_port_that_is_taken_is_an_error(shown):
    from armwright.lab.foxglove_feed import FoxgloveFeed

    stand, feed = shown
    with pytest.raises(ArmwrightError, match=f"cannot listen on 127.0.0.1:{feed.port}"):
        FoxgloveFeed(stand, None, port=feed.port)
