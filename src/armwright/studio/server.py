# SPDX-License-Identifier: Apache-2.0
"""The server of the page: who may connect, to what, and how much they may send.

* **Host** must be this server's own: another name that resolves to this machine (DNS rebinding) is refused.
* **Origin** of sockets and uploads must be this very page: another site, or another port of this machine, is refused.
* The **token** stands in the address's fragment, which browsers never send. The page's script sends it as the first
  message of the socket and in a header of uploads; there is no cookie that another page could use.
* Files are looked up in a table that was made at the start: a path is never built from a request.
* **Uploads** have a kind with its suffixes and its size; they are read as untrusted files; only an arm's archive
  is unpacked (`armwright.studio.own_arm`). The
  body is counted while it comes in, whatever it says about its own length, and a compressed body is refused. The
  description of a CSV recording (``.csv.meta``) comes before the file that it describes, and waits for it.

Messages of the socket go through `answer`: a checked message in, an action, an answer out; viewers may only look.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import numpy as np
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from armwright.errors import ArmwrightError, InputError
from armwright.recording.replay.replay_page import policy, style
from armwright.schema.checks import MOST_BYTES, Check, number, one_of, read_message, record, refuser, text
from armwright.studio import orders, views
from armwright.studio.hub import Client, finite
from armwright.studio.long_work import open_world
from armwright.studio.opened_log import opened
from armwright.studio.shelf import ShelfItem
from armwright.studio.work_threads import beside

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


MOST_IDENT = 2**53  # largest whole number that a page counts to exactly
MOST_SAID = 4000  # characters of an answer that says what is wrong
LOOK = (views.VIEWS, orders.VIEWS, views.LIBRARY_VIEWS)
CHANGE = (orders.ORDERS, orders.EXPLORE_ORDERS, views.ORDERS, orders.PROGRAM_ORDERS)
ACTIONS = actions()
SHAPES = {name: action.shape for name, action in ACTIONS.items()}


def number_of(raw: str) -> int:
    """Return the number of a request, whatever else is wrong with it: its answer must find back. 0 if it has none."""
    try:
        value = json.loads(raw) if len(raw) <= MOST_BYTES else None
    except (ValueError, RecursionError):
        return 0
    ident = value.get("id") if isinstance(value, dict) else None
    return ident if isinstance(ident, int) and not isinstance(ident, bool) and 0 <= ident <= MOST_IDENT else 0


def shortened(text: str) -> str:
    """Return a message that a page can show: its beginning, where it is long, without control characters."""
    plain = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text[:MOST_SAID])
    return plain if len(text) <= MOST_SAID else f"{plain} …"


async def answer(studio: Studio, client: Client, raw: str) -> None:
    """Do what one message asks for, and answer it; report whatever is wrong with it, and do nothing else."""
    ident = number_of(raw)
    try:
        name, _, fields = read_message(raw, SHAPES)
        action = ACTIONS[name]
        if not (client.owner or action.viewers):
            raise InputError(f"{name}: this page may only look; open the address with the owner's token to do that")
        result = await action.do(studio, client, **fields)
    except (ArmwrightError, np.linalg.LinAlgError) as error:
        client.tell({"re": ident, "error": shortened(str(error))})
        return
    except Exception as error:  # noqa: BLE001 - a defect in one order ends neither the page nor the studio
        client.tell({"re": ident, "error": f"a defect of this program: {error!r:.200}"})
        return
    if ident:
        client.tell({"re": ident, "ok": result or {}})


PROGRAMS = (
    ".irl",
    ".script",
    ".urscript",
    ".mod",
    ".modx",
    ".prg",
    ".sys",
    ".sysx",
    ".src",
    ".krl",
    ".sub",
    ".nc",
    ".ngc",
    ".gcode",
    ".gco",
    ".cnc",
    ".tap",
)
UPLOAD_KINDS: dict[str, tuple[tuple[str, ...], int]] = {
    "robot": ((".urdf", ".xml", ".toml", ".zip"), 64 << 20),
    "recording": ((".mcap", ".parquet", ".csv", ".txt", ".tsv", ".dat", ".npz", ".meta"), 64 << 20),
    "program": (PROGRAMS, 1 << 20),
    "world": ((".toml",), 1 << 20),
}
"""What can be sent: suffixes and the largest size [bytes]."""
LARGEST = "upload: too large"
LOG_WORDS = record(
    {}, {"rate": number(1e-3, 1e6), "angles": one_of(("radians", "degrees")), "effort": one_of(("current", "torque"))}
)
NAME = re.compile(r"[\w][\w .+()-]{0,99}")


def file_name(raw: str, suffixes: tuple[str, ...]) -> str:
    """Return the name of a file without any folder, with one of these suffixes; refuse anything else."""
    name = unquote(raw)
    if not NAME.fullmatch(name) or Path(name).name != name or Path(name).suffix.lower() not in suffixes:
        raise InputError(
            f"upload: the name must be letters, digits, blanks and . _ - + ( ) with one of {', '.join(suffixes)}; "
            f"got {name!r:.60}"
        )
    return name


async def body_of(request: Request, most: int) -> bytes:
    """Return the body, counted while it comes in."""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise InputError("upload: send it as it is, not compressed")
    kept = bytearray()
    async for piece in request.stream():
        kept += piece
        if len(kept) > most:
            raise InputError(f"{LARGEST}: at most {most >> 20} MiB of this kind")
    if not kept:
        raise InputError("upload: the file is empty")
    return bytes(kept)


async def take(studio: Studio, request: Request) -> dict[str, Any]:
    """Read an upload and open what it holds; what is wrong with its content is an answer, ``{"error": …}``.

    Raises:
        InputError: what was sent is no such file at all: its kind, name, size or encoding.
    """
    kind = request.path_params["kind"]
    if kind not in UPLOAD_KINDS:
        raise InputError(f"upload: unknown kind {kind!r:.40}; valid: {', '.join(UPLOAD_KINDS)}")
    suffixes, most = UPLOAD_KINDS[kind]
    name = file_name(request.headers.get("x-file-name", ""), suffixes)
    content = await body_of(request, most)
    if name.endswith(".meta"):
        studio.shelf.lay_beside(name, content)
        return {}
    with TemporaryDirectory(dir=studio.shelf.folder) as folder:
        file = Path(folder) / name
        file.write_bytes(content)
        described = studio.shelf.beside(f"{name}.meta")
        if described is not None:
            (Path(folder) / f"{name}.meta").write_bytes(described)
        try:
            words = log_words(request.headers.get("x-log", "{}")) if kind == "recording" else {}
            return await _open(studio, kind, file, words)
        except ArmwrightError as error:
            named = str(error).replace(f"{folder}{os.sep}", "")  # the user's name of the file, not ours
            return {"error": shortened(named)}


def log_words(raw: str) -> dict[str, Any]:
    """Return what the user says about a log of another program, checked: rate [Hz], angles, effort."""
    try:
        said = json.loads(raw[:MOST_SAID])
    except (ValueError, RecursionError):
        raise InputError("x-log: not valid JSON") from None
    return LOG_WORDS(said, refuser("x-log"))


async def _open(studio: Studio, kind: str, file: Path, words: dict[str, Any]) -> dict[str, Any]:
    if kind == "robot":
        return {"robot": (await studio.open_arm(file.name, file.read_bytes())).name}
    if kind == "recording":
        recording, account = await beside(partial(opened, **words), file, studio.robot)
        note = f"{recording.duration:.1f} s, {len(recording)} rows" + (", a log" if account else "")
        item = ShelfItem("recording", file.name, recording, note, {"account": account} if account else {})
        return {"number": studio.shelf.add(item), "account": account}
    if kind == "program":
        from armwright.programs.program_reader import read_program

        program = await beside(read_program, file)
        note = f"{len(program.moves)} moves"
        return {
            "number": studio.shelf.add(ShelfItem("program text", file.name, file.read_bytes(), note)),
            "moves": len(program.moves),
        }
    return await studio.jobs.run(f"open {file.name}", open_world, {"file": str(file)}, OPEN_WORLD_SECONDS)


OPEN_WORLD_SECONDS = 60.0  # [s] that reading a world may take
MOST_PAGES = 32
TOKEN_PATIENCE = 5.0  # [s] within which a page has to send its token
WRONG_TOKEN, TOO_LATE, TOO_MANY = 4401, 4408, 4429
"""Why a line is closed. A page that was too late, on a busy machine, tries again; one with a wrong token does not."""
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self' {socket}; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
DOCUMENT_CSP = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; "
    "img-src data: blob:; frame-ancestors 'self'"
)
"""Policy of documents other than replays: they reach neither the studio's page nor anything else."""


def page_files() -> dict[str, tuple[bytes, str]]:
    """Return everything that a browser may fetch: address → (content, type)."""
    found: dict[str, tuple[bytes, str]] = {}
    places = (
        ("/", resources.files("armwright.studio") / "page"),
        ("/shared/", resources.files("armwright.recording.replay") / "page"),
    )
    for prefix, folder in places:
        waiting = [(prefix, folder)]
        while waiting:
            at, here = waiting.pop()
            for entry in here.iterdir():
                if entry.is_dir():
                    waiting.append((f"{at}{entry.name}/", entry))
                elif "." + entry.name.rsplit(".", 1)[-1] in KINDS:
                    kind = KINDS["." + entry.name.rsplit(".", 1)[-1]]
                    found[at + entry.name] = (entry.read_bytes(), f"{kind}; charset=utf-8")
    found["/"] = found["/index.html"]
    return found


class Guard:
    """Checks Host and Origin before anything else sees a request, and adds the headers of every answer."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self.app, self.hosts = app, hosts
        self.origins = frozenset(f"http://{host}" for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may come in."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        given: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            given.setdefault(name.lower(), []).append(value)
        hosts, origins = given.get(b"host", []), given.get(b"origin", [])
        host = hosts[0].decode("latin-1").lower() if len(hosts) == 1 else ""
        needs_origin = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")
        if host not in self.hosts:
            reason = "this server does not answer to that host name"
        elif needs_origin and [origin.decode("latin-1") for origin in origins] != [f"http://{host}"]:
            reason = "only the studio's own page may do that"
        else:
            reason = ""
        if reason and scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": reason})  # before accept: answered by 403
        elif reason:
            await Response(reason, 403, media_type="text/plain")(scope, receive, send)
        else:
            await self.app(scope, receive, self._with_headers(send, host) if scope["type"] == "http" else send)

    def _with_headers(self, send: Send, host: str) -> Send:
        headers = {
            "content-security-policy": CSP.format(socket=f"ws://{host}"),
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "cache-control": "no-cache",
        }

        async def wrapped(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                extra = [(k.encode(), v.encode()) for k, v in headers.items() if k.encode() not in present]
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        return wrapped


def make_app(studio: Studio, hosts: frozenset[str]) -> ASGIApp:
    """Return the whole server as one application."""
    files = page_files()
    replays = f"{policy(style())}; frame-ancestors 'self'"  # no script except the package's own

    async def static(request: Request) -> Response:
        found = files.get(request.url.path)
        if found is None:
            return Response("not here", 404, media_type="text/plain")
        return Response(found[0], media_type=found[1])

    async def document(request: Request) -> Response:
        found = studio.shelf.page(request.path_params["ticket"])
        if found is None:
            return Response("not here", 404, media_type="text/plain")
        page, own = found
        headers = {"content-security-policy": replays if own else DOCUMENT_CSP}
        return Response(page, media_type="text/html", headers=headers)

    async def upload(request: Request) -> Response:
        role = _role(studio, request)
        if role != "owner":
            wrong = "this page may only look" if role else "upload: needs the token of the page's address"
            return JSONResponse({"error": wrong}, 403)
        try:
            return JSONResponse(finite(await take(studio, request)))
        except ArmwrightError as error:
            return JSONResponse({"error": shortened(str(error))}, 413 if str(error).startswith(LARGEST) else 400)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        studio.hub.loop = asyncio.get_running_loop()
        judging = asyncio.create_task(studio.keep_judging())
        yield
        judging.cancel()
        studio.hub.loop = None
        await beside(studio.close)

    async def socket(connection: WebSocket) -> None:
        await serve_page(studio, connection)

    routes = [
        WebSocketRoute("/socket", socket),
        Route("/upload/{kind}", upload, methods=["POST"]),
        Route("/document/{ticket}", document),
        Route("/{rest:path}", static, methods=["GET"]),
    ]
    return Guard(Starlette(routes=routes, lifespan=lifespan), hosts)


def _role(studio: Studio, request: Request) -> str | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return studio.role(token) if scheme == "Bearer" else None


async def serve_page(studio: Studio, connection: WebSocket) -> None:
    """Serve one page: its token first, then its messages one after another until it leaves."""
    await connection.accept()
    try:
        async with asyncio.timeout(TOKEN_PATIENCE):
            raw = await connection.receive_text()
        _, ident, fields = read_message(raw, {"hello": record({"token": text(200)})})
        role = studio.role(fields["token"])
    except TimeoutError:
        await _turn_away(connection, TOO_LATE, "no token came in time")
        return
    except (InputError, WebSocketDisconnect, KeyError):
        ident, role = 0, None
    if role is None:
        await _turn_away(connection, WRONG_TOKEN, "wrong or missing token")
        return
    if len(studio.hub.clients) >= MOST_PAGES:
        await _turn_away(connection, TOO_MANY, "too many pages are open")
        return
    client = Client(connection, role == "owner")
    client.tell({"re": ident, "ok": studio.greeting(role)})
    studio.hub.add(client)
    tasks = [asyncio.create_task(_first_to_end(client.send_all())), asyncio.create_task(_listen(studio, client))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        studio.hub.remove(client)
        if client.pulls:
            studio.arm.order(studio.arm.let_go)
        with contextlib.suppress(RuntimeError, WebSocketDisconnect):
            await connection.close(1000)


async def _turn_away(connection: WebSocket, code: int, reason: str) -> None:
    with contextlib.suppress(RuntimeError, WebSocketDisconnect):
        await connection.close(code, reason)


async def _first_to_end(work: Awaitable[None]) -> None:
    with contextlib.suppress(RuntimeError, WebSocketDisconnect):  # the page is gone
        await work


async def _listen(studio: Studio, client: Client) -> None:
    listen: Callable[[], Awaitable[str]] = client.socket.receive_text
    while True:
        try:
            raw = await listen()
        except (WebSocketDisconnect, RuntimeError):
            return
        except KeyError:  # bytes, where only texts are expected
            client.tell({"re": 0, "error": "message: must be text"})
            continue
        await answer(studio, client, raw)
