# SPDX-License-Identifier: Apache-2.0
"""Who may come in, by which door, with how much: everything that the studio refuses."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the studio needs armwright[studio]")
pytest.importorskip("uvicorn", reason="the studio needs armwright[studio]")
pytest.importorskip("websockets", reason="the studio needs armwright[studio]")

from websockets.exceptions import ConnectionClosed, InvalidStatus

from armwright.dynamics.equations import equations
from armwright.errors import InputError
from armwright.recording import Recording, Signal
from armwright.schema.checks import MOST_BYTES
from armwright.studio.server import ACTIONS
from armwright.studio.server import UPLOAD_KINDS as KINDS
from armwright.studio.start_studio import bind, hosts_of, is_loopback
from support.patience import PATIENCE
from support.studio import Page, request, running_studio, upload

ORDERS = sorted(name for name, action in ACTIONS.items() if not action.viewers)
OWN = {
    "robot": {"name": "planar3"},
    "own": {"tip": "tool0"},
    "pull": {"body": 1, "point": [0, 0, 0], "target": [1, 1, 0], "stiffness": 500},
    "release": {},
    "goal": {"q": [1.0, 1.0]},
    "motion": {"kind": "sway"},
    "speed": {"value": 0.5},
    "step": {"ticks": 1},
    "tune": {"frequency": 5, "damping": 1},
    "plant": {"payload": 1.0},
    "law": {"law": "free", "knows": True},
    "reset": {},
    "record": {"on": True},
    "remove": {"number": 1},
    "cancel": {"job": 1},
    "explore": {"reactions": ["stop"], "observers": [], "duration": 5, "world": "pillars"},
    "program": {"source": 1},
    "sample": {"name": "ur5_pick.script"},
    "sample_recording": {"name": "fall"},
    "reproduce": {"document": "003"},
}
"""A valid example of every order."""


@pytest.fixture(scope="module")
def running():
    with running_studio() as studio:
        yield studio


@pytest.fixture
def page(running):
    page = Page(running)
    yield page
    page.close()


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1:1", "", "127.0.0.1:{port}.evil.example"]
)
def test_foreign_host_is_refused(running, host):
    port = running.base.rsplit(":", 1)[1].rstrip("/")
    status, _, body = request(running, "GET", "/", {"Host": host.format(port=port)})
    assert status in (400, 403)
    assert b"<html" not in body


def test_own_names_are_served_with_a_strict_policy(running):
    port = running.base.rsplit(":", 1)[1].rstrip("/")
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        status, headers, body = request(running, "GET", "/", {"Host": host})
        assert status == 200 and b"<html" in body
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
        assert not any(name.lower() == "set-cookie" for name in headers)


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:1", "https://127.0.0.1:{port}", "null"])
def test_socket_from_another_origin_is_refused(running, origin):
    port = running.base.rsplit(":", 1)[1].rstrip("/")
    with pytest.raises(InvalidStatus) as caught:
        Page(running, origin=origin.format(port=port))
    assert caught.value.response.status_code == 403


def test_socket_without_origin_or_with_foreign_host_is_refused(running):
    from websockets.sync.client import connect

    address = running.base.replace("http", "ws") + "socket"
    with pytest.raises(InvalidStatus):
        connect(address).__enter__()
    with pytest.raises(InvalidStatus):
        connect(address, origin=running.base.rstrip("/"), additional_headers={"Host": "evil.example"}).__enter__()


@pytest.mark.parametrize("token", ["", "wrong", "x" * 200])
def test_wrong_token_is_shown_out(running, token):
    with pytest.raises(ConnectionClosed) as caught:
        Page(running, token)
    assert caught.value.rcvd is not None and caught.value.rcvd.code == 4401


def test_a_page_that_was_too_late_is_told_so_and_may_come_again(running, monkeypatch):
    """The page connects again after any end but 4401, so a busy machine costs it a second."""
    from websockets.sync.client import connect

    own = running.base.rstrip("/")
    monkeypatch.setattr("armwright.studio.server.TOKEN_PATIENCE", 0.01)
    socket = connect(own.replace("http", "ws") + "/socket", origin=own)
    with socket, pytest.raises(ConnectionClosed) as caught:
        socket.recv(timeout=PATIENCE)
    assert caught.value.rcvd is not None and caught.value.rcvd.code == 4408
    monkeypatch.undo()
    Page(running).close()


def test_first_message_must_be_the_token(running):
    from websockets.sync.client import connect

    own = running.base.rstrip("/")
    for first in ('{"do": "look", "id": 1, "q": [0, 0]}', "[]", '{"do": "hello"}', "\0"):
        with connect(own.replace("http", "ws") + "/socket", origin=own) as socket:
            socket.send(first)
            with pytest.raises(ConnectionClosed):
                socket.recv(timeout=PATIENCE)


@pytest.mark.parametrize(
    "path",
    [
        "/../server.py",
        "/..%2f..%2fpyproject.toml",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/shared/../../recording.py",
        "//etc/passwd",
        "/shared/vendor/..%5c..",
        "/index.html/",
        "/document/../../x",
        "/document/none",
    ],
)
def test_no_path_leaves_the_page(running, path):
    status, _, body = request(running, "GET", path)
    assert status == 404 and body in (b"not here", b"Not Found")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        '{"do": 7}',
        '{"do": "open"}',
        '{"do": "look"}',
        '{"do": "look", "q": "no"}',
        '{"do": "look", "q": [NaN, 0]}',
        '{"do": "look", "q": [Infinity, 0]}',
        '{"do": "look", "q": [1e999, 0]}',
        '{"do": "look", "q": [1e9, 0]}',
        '{"do": "look", "q": [true, 0]}',
        '{"do": "look", "q": []}',
        '{"do": "look", "q": [0, 0], "and": 1}',
        '{"do": "look", "id": -1, "q": [0, 0]}',
        '{"do": "look", "q": ' + "[" * 20_000 + "}",
        '{"do": "pull", "body": 1.5, "point": [0,0,0], "target": [0,0,0], "stiffness": 5}',
        '{"do": "pull", "body": 99, "point": [0,0,0], "target": [0,0,0], "stiffness": 5}',
        '{"do": "goal", "q": [0, 0, 0]}',
        '{"do": "robot", "name": "../../etc/passwd"}',
        '{"do": "robot", "name": "/etc/robot.urdf"}',
        '{"do": "plant", "payload": -1}',
        b"\x00\xff bytes",
    ],
    ids=range(24),
)
def test_malformed_messages_are_answered_and_change_nothing(running, page, text):
    before = running.studio.live_state()
    answer = page.raw(text)
    assert answer["error"]
    assert running.studio.live_state() == before
    assert page.ask("look", q=[0.1, 0.2])["ok"]["q"] == [0.1, 0.2]  # the line is still there


@pytest.mark.parametrize(
    "wrong",
    [
        {"do": "look", "q": "no"},
        {"do": "look"},
        {"do": "look", "q": [0, 0], "and": 1},
        {"do": "look", "q": [float("nan"), 0]},
        {"do": "look", "q": [0, 0, 0]},
        {"do": "open"},
        {"do": 7},
        {"say": "hello"},
        {"do": "record", "on": "yes"},
        {"do": "remove", "number": 12345},
        {"do": "robot", "name": "\0" * 9_000},
        {"do": "\0" * 9_000},
        {"\0" * 9_000: 1, "do": "look"},
        {"do": "look", "q": ["\0" * 9_000]},
    ],
    ids=range(14),
)
def test_what_is_wrong_is_answered_with_the_number_of_the_request_and_briefly(page, wrong):
    page.socket.send(json.dumps(wrong | {"id": 4711}))
    message = page.hear()
    assert message["re"] == 4711 and message["error"] and len(message["error"]) < 1000
    assert "\0" not in message["error"]


@pytest.mark.parametrize("ident", [-1, 2**53 + 1, 1.5, True, "1", None, [1]])
def test_a_request_whose_number_is_none_is_answered_with_zero(page, ident):
    page.socket.send(json.dumps({"do": "look", "q": [0, 0], "id": ident}))
    message = page.hear()
    assert message["re"] == 0 and "id" in message["error"]


@pytest.mark.parametrize("raw", ["\0" * (MOST_BYTES - 1), '{"do": "look", "id": 1, "q": [' + "\0" * 60_000])
def test_a_message_of_nothing_but_nuls_is_refused_briefly(page, raw):
    assert page.raw(raw)["error"] == "message: not valid JSON"
    assert page.ask("look", q=[0.1, 0.2])["ok"]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_megabyte_of_nuls_as_a_file_is_refused_briefly(running, kind):
    for suffix in KINDS[kind][0]:
        if suffix == ".meta":
            continue
        status, said = upload(running, kind, f"file{suffix}", bytes(999_999))
        assert status == 200 and 0 < len(said["error"]) < 1000 and "\0" not in said["error"], suffix
        assert f"file{suffix}" in said["error"] and "/tmp" not in said["error"]


def test_a_megabyte_of_nuls_as_a_message_ends_the_line_and_nothing_else(running, page):
    loud = Page(running)
    with pytest.raises(ConnectionClosed) as caught:
        loud.raw("\0" * (1 << 20))
    assert caught.value.rcvd is not None and caught.value.rcvd.code == 1009 and len(caught.value.rcvd.reason) < 124
    assert page.ask("look", q=[0.1, 0.2])["ok"]


def test_a_defect_in_an_order_ends_neither_the_page_nor_the_studio(page, monkeypatch):
    def broken(robot, q):
        raise KeyError("nobody thought of that")

    monkeypatch.setattr("armwright.studio.views.look", broken)
    assert "a defect of this program: KeyError" in page.ask("look", q=[0.1, 0.2])["error"]
    monkeypatch.undo()
    assert page.ask("look", q=[0.1, 0.2])["ok"]


def test_oversized_message_ends_the_line(running):
    page = Page(running)
    with pytest.raises(ConnectionClosed) as caught:
        page.raw(json.dumps({"do": "look", "q": [0.0] * MOST_BYTES}))
    assert caught.value.rcvd is not None and caught.value.rcvd.code == 1009


def test_every_order_has_an_example():
    assert set(OWN) == set(ORDERS)


@pytest.mark.parametrize("name", ORDERS)
def test_viewers_change_nothing(running, name):
    viewer = Page(running, running.studio.view_token)
    try:
        assert viewer.greeting["ok"]["role"] == "viewer"
        before = running.studio.live_state(), running.studio.robot.name, running.studio.arm.plant.body
        assert "may only look" in viewer.ask(name, **OWN[name])["error"]
        assert (running.studio.live_state(), running.studio.robot.name, running.studio.arm.plant.body) == before
        assert viewer.ask("look", q=[0.1, 0.2])["ok"]
    finally:
        viewer.close()


def test_uploads_need_the_owners_token_and_the_page_itself(running):
    sheet = running.studio.robot.to_sheet().encode()
    for wrong in (
        {"Authorization": "Bearer wrong"},
        {"Authorization": ""},
        {"Authorization": f"Bearer {running.studio.view_token}"},
        {"Authorization": f"Basic {running.studio.token}"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
    ):
        status, said = upload(running, "robot", "arm.toml", sheet, **wrong)
        assert status == 403 and said["error"]


@pytest.mark.parametrize("name", ["../arm.toml", "..%2Farm.toml", "/etc/arm.toml", "arm.exe", "", ".toml", "a\\b.toml"])
def test_upload_names_are_names(running, name):
    status, said = upload(running, "robot", name, b"x")
    assert status == 400 and "name must be" in said["error"]


def test_upload_bombs_are_refused(running):
    most = KINDS["robot"][1]
    status, said = upload(running, "robot", "arm.urdf", b" " * (most + 1))
    assert status == 413 and "MiB" in said["error"]
    status, said = upload(running, "robot", "arm.urdf", b"x", Content_Encoding="gzip")
    assert status == 400 and "compressed" in said["error"]
    laughs = "".join(f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, 10))
    text = f'<!DOCTYPE r [<!ENTITY l0 "ha">{laughs}]><robot name="r"><link name="&l9;"/></robot>'
    status, said = upload(running, "robot", "arm.urdf", text.encode())
    assert "arm.urdf" in said["error"]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("time.npy", bytes(80 << 20))
    status, said = upload(running, "recording", "run.npz", packed.getvalue())
    assert "run.npz" in said["error"]
    assert running.studio.robot.name == "planar2"


def test_upload_without_a_length_is_counted(running):
    pieces = (b" " * (1 << 16) for _ in range((KINDS["robot"][1] >> 16) + 2))
    try:
        status, said = upload(running, "robot", "arm.urdf", pieces)
    except (BrokenPipeError, ConnectionResetError):
        return  # refused before all of it was sent
    assert status == 413 and "MiB" in said["error"]


def test_broken_description_is_located_and_the_arm_stays(running):
    text = '<robot name="r">\n<link name="a"/>\n<joint name="j" type="spinning"/>\n</robot>'
    status, said = upload(running, "robot", "broken.urdf", text.encode())
    assert status == 200 and said["error"].startswith("broken.urdf:3:")
    assert "/tmp" not in said["error"] and running.studio.robot.name == "planar2"


def test_every_kind_of_description_is_opened(running):
    robot = running.studio.robot
    for name, text in (("arm.urdf", robot.to_urdf()), ("arm.xml", robot.to_mjcf()), ("arm.toml", robot.to_sheet())):
        assert upload(running, "robot", name, text.encode()) == (200, {"robot": running.studio.robot.name}), name
        assert running.studio.robot.n == robot.n
    assert running.studio.robot.name == "planar2"


def test_taken_port_is_an_error_not_another_port():
    with bind("127.0.0.1", 0) as door, pytest.raises(InputError, match=r"taken.*--port 0"):
        bind("127.0.0.1", door.getsockname()[1])


def test_addresses():
    assert is_loopback("127.0.0.1") and is_loopback("localhost") and is_loopback("::1")
    assert not is_loopback("192.168.1.5") and not is_loopback("studio.example")
    assert hosts_of("192.168.1.5", 8000) == {"192.168.1.5:8000"}
    with pytest.raises(InputError, match="one address"):
        hosts_of("0.0.0.0", 8000)


def test_tokens_are_long_and_two(running):
    studio = running.studio
    assert len(studio.token) >= 32 and len(studio.view_token) >= 32 and studio.token != studio.view_token
    assert studio.role(studio.token) == "owner" and studio.role(studio.view_token) == "viewer"
    assert studio.role("") is None and studio.role("é") is None


def test_stalled_page_is_skipped_and_nobody_waits(running):
    from armwright.studio.hub import FRAMES_UNDER_WAY

    pages = [Page(running) for _ in range(10)]
    try:
        for one in pages:
            assert one.ask("watch", live=True)["ok"]
        stalled, others = pages[0], pages[1:]
        ticks = running.studio.arm.ticks
        drawn = dict.fromkeys(range(len(others)), 0)
        while min(drawn.values()) < 4 * FRAMES_UNDER_WAY:
            for k, one in enumerate(others):
                had = len(one.frames)
                one.hear()
                if len(one.frames) > had:
                    drawn[k] += 1
                    one.socket.send(json.dumps({"do": "drew", "count": len(one.frames)}))
        clients = running.studio.hub.clients
        outstanding = sorted(client.sent - client.drawn for client in clients)
        assert len(clients) == 10 and outstanding[-1] == FRAMES_UNDER_WAY  # the stalled one gets no more
        assert running.studio.arm.ticks > ticks
        last = np.frombuffer(others[0].frames[-1], "<f4")
        assert np.isfinite(last).all() and last[0] > 0.0
        assert stalled.ask("look", q=[0.0, 0.1])["ok"]  # still a guest
    finally:
        for one in pages:
            one.close()


def test_recordings_of_all_formats_can_be_sent(running, tmp_path):
    time = np.linspace(0.0, 1.0, 11)
    recording = Recording(time, {"q": Signal(np.outer(time, [1.0, 2.0]), "rad")}, running.studio.robot)
    for suffix in ("mcap", "parquet", "npz", "csv"):
        if suffix in ("mcap", "parquet"):
            pytest.importorskip({"mcap": "mcap", "parquet": "pyarrow"}[suffix], reason="needs armwright[log]")
        file = recording.save(tmp_path / f"run.{suffix}")
        if suffix == "csv":
            status, said = upload(running, "recording", "run.csv", file.read_bytes())
            assert "run.csv.meta" in said["error"]  # it needs its description
            described = (tmp_path / "run.csv.meta").read_bytes()
            assert upload(running, "recording", "run.csv.meta", described) == (200, {})
        status, said = upload(running, "recording", file.name, file.read_bytes())
        assert status == 200
        np.testing.assert_array_equal(running.studio.shelf.recording(said["number"])["q"], recording["q"])


def test_programs_of_all_languages_can_be_sent():
    from armwright.programs.languages import LANGUAGES

    assert set(KINDS["program"][0]) == {suffix for language in LANGUAGES for suffix in language.suffixes}


def test_exports_are_the_librarys_own(running, page):
    said = page.ask("export", to="c", what="mass_matrix")["ok"]
    assert said["file"].endswith(".c") and said["text"] == equations(running.studio.robot, "mass_matrix").source("c")
    assert page.ask("export", to="sheet")["ok"]["text"] == running.studio.robot.to_sheet()
    for to in ("latex", "numpy", "matlab"):
        assert page.ask("export", to=to, what="jacobian")["ok"]["text"]
