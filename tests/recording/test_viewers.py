# SPDX-License-Identifier: Apache-2.0
"""Recordings in the viewers that people have: Foxglove's own messages and schemas, Rerun's own reader."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError
from armwright.kinematics.forward import fk_all
from armwright.recording import RecordingWriter, Signal
from armwright.recording.formats import foxglove_messages
from armwright.recording.viewers.scene_parts import arm_parts, frame_poses, world_parts
from armwright.spatial.quaternions import rotation_from_xyzw
from armwright.world import Box, Capsule, Cylinder, HalfSpace, Mesh, Sphere

TETRAHEDRON = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2))
WORLD = (
    Sphere(name="ball", centre=(0.5, 0, 0.5), radius=0.1),
    Box(name="box", centre=(0.5, 0.5, 0.1), size=(0.1, 0.2, 0.3)),
    Cylinder(name="pole", centre=(0.4, 0, 0), radius=0.05),  # without an end
    Capsule(name="lamp", start=(0, 0.5, 1), end=(0, 0.7, 1), radius=0.05),
    HalfSpace(name="floor", point=(0, 0, -0.1)),
    Mesh(name="stone", vertices=((1, 0, 0), (1.1, 0, 0), (1, 0.1, 0), (1, 0, 0.1)), triangles=TETRAHEDRON),
)


def sdk(name):
    """Return a message type of Foxglove's SDK."""
    reason = "foxglove-schemas-protobuf (extra [lab-clients]) is not installed"
    return getattr(pytest.importorskip(f"foxglove_schemas_protobuf.{name}_pb2", reason=reason), name)


@pytest.fixture(scope="module")
def run():
    return aw.simulate(aw.load("ur5"), duration=0.2)


def read_topics(path):
    reader = pytest.importorskip("mcap.reader", reason="armwright[log] is not installed")
    found: dict = {}
    with open(path, "rb") as file:
        for _, channel, message in reader.make_reader(file, validate_crcs=True).iter_messages():
            found.setdefault(channel.topic, []).append((message.log_time, message.data))
    return found


def test_fields_are_numbered_as_in_the_sdk():
    for name, fields in foxglove_messages._MESSAGES.items():
        theirs = {f.name: f for f in sdk(name).DESCRIPTOR.fields}
        for field, number, kind, many in fields:
            assert theirs[field].number == number, (name, field)
            assert many == getattr(theirs[field], "is_repeated", many)  # older protobuf says it otherwise
            if isinstance(kind, int):
                assert theirs[field].type == kind
            else:
                assert theirs[field].message_type.full_name == (kind[1:] if kind[0] == "." else f"foxglove.{kind}")


def test_frames_of_a_file_are_those_of_the_arm(run, tmp_path):
    topics = read_topics(run.save(tmp_path / "run.mcap", WORLD))
    transforms = sdk("FrameTransforms")
    assert len(topics["/tf"]) == 21  # a hundred a second
    for stamp, data in topics["/tf"]:
        said = transforms.FromString(data).transforms
        k = round(stamp * 1e-6)
        expected = fk_all(run.robot, run["q"][k])
        assert [t.child_frame_id for t in said] == [body.name for body in run.robot.bodies]
        for t, T in zip(said, expected, strict=True):
            assert t.parent_frame_id == "base"
            assert t.timestamp.seconds * 10**9 + t.timestamp.nanos == stamp
            assert np.allclose([t.translation.x, t.translation.y, t.translation.z], T[:3, 3], atol=1e-12)
            turn = [t.rotation.x, t.rotation.y, t.rotation.z, t.rotation.w]
            assert np.allclose(rotation_from_xyzw(np.array(turn)), T[:3, :3], atol=1e-12)


def test_the_scene_of_a_file_has_every_link_and_every_shape(run, tmp_path):
    topics = read_topics(run.save(tmp_path / "run.mcap", WORLD))
    ((_, data),) = topics["/scene"]
    entities = {e.id: e for e in sdk("SceneUpdate").FromString(data).entities}
    assert {e.frame_id for e in entities.values()} == {"base", *(part.frame for part in arm_parts(run.robot))}
    assert {shape.name for shape in WORLD} <= set(entities)
    assert all(e.frame_locked for e in entities.values())
    box = entities["box"].cubes[0]
    assert (box.size.x, box.size.y, box.size.z, box.pose.position.y) == (0.1, 0.2, 0.3, 0.5)
    assert np.isclose(entities["lamp"].cylinders[0].size.z, 0.2)
    assert len(entities["lamp"].spheres) == 2
    assert len(entities["stone"].triangles[0].points) == 12


def test_a_recording_written_while_it_happens_has_the_scene_too(run, tmp_path):
    path = tmp_path / "live.mcap"
    with RecordingWriter(path, {"q": Signal(np.empty((0, 6)), "rad")}, robot=run.robot, world=WORLD) as writer:
        writer.append(run.time[:50], {"q": run["q"][:50]})
        writer.append([0.06, 0.07], {"q": np.full((2, 6), np.nan)})  # not known: no frames are made of it
    topics = read_topics(path)
    assert len(topics["/tf"]) == 5
    assert len(topics["/scene"]) == 1
    assert np.array_equal(aw.Recording.load(path)["q"][:50], run["q"][:50])


def test_solids_stand_where_their_shapes_do():
    for part in world_parts(WORLD):
        assert np.allclose(part.pose[:3, :3] @ part.pose[:3, :3].T, np.eye(3), atol=1e-12)
        assert np.isfinite(part.size).all()
    (floor,) = world_parts([HalfSpace(name="floor", point=(0, 0, -0.1), normal=(0, 0, 1))])
    assert np.isclose(floor.pose[2, 3] + 0.5 * floor.size[2], -0.1)  # its upper face is the surface
    gantry = aw.Robot.from_screws([[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]], np.eye(4))
    assert [part.kind for part in arm_parts(gantry)] == ["ball"]
    assert frame_poses(gantry, [[0.1, 0.2]]).shape == (1, 2, 7)


def test_rerun_reads_what_is_written_for_it(run, tmp_path):
    chunk = pytest.importorskip("rerun.chunk", reason="rerun-sdk (extra [rerun]) is not installed")
    with pytest.raises(InputError, match=r"valid: \.rrd"):
        run.to_rerun(tmp_path / "run.mcap")
    path = run.to_rerun(tmp_path / "run.rrd", WORLD)
    rows: dict = {}
    for part in chunk.RrdReader(path).stream():
        rows[str(part.entity_path)] = rows.get(str(part.entity_path), 0) + part.num_rows
    for body in run.robot.bodies:
        assert rows[f"/arm/{body.name}"] == len(run)
    for name in run:
        assert rows[f"/signals/{name}"] == len(run) + 1  # and the series' names
    assert sum(entity.startswith("/world/") for entity in rows) == len(world_parts(WORLD))
    # it reads our MCAP, too
    topics = {str(part.entity_path) for part in chunk.McapReader(run.save(tmp_path / "run.mcap", WORLD)).stream()}
    assert {"/tf", "/scene", "/joint_states", "/recording"} <= topics


def test_signals_without_an_arm_are_written_for_rerun(tmp_path):
    pytest.importorskip("rerun", reason="rerun-sdk (extra [rerun]) is not installed")
    importlib.import_module("rerun")
    log = aw.Recording(np.arange(3.0), {"x": Signal(np.zeros((3, 2)), "m")})
    assert log.to_rerun(tmp_path / "log.rrd").stat().st_size > 0
