# SPDX-License-Identifier: Apache-2.0
"""Figures and pictures of the studio, measured in the system's Chromium: ``python docs/make_studio.py [--pictures]``.

Prints what docs/howto/studio.md states. Needs armwright[studio] and the extra ``browser``.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from websockets.sync.client import connect

HERE = Path(__file__).parent
REPEATS, SPAN = 3, 4.0
OPTIONS = (
    "--disable-gpu",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--no-first-run",
)
LATENCY = """() => {
  const app = __studio, found = globalThis.__latency = [];
  let done = null;
  app.onFrame = (now) => {
    const { pulled, last } = app.tabs.live;
    if (!pulled || !last || pulled === done) return;
    if (pulled.target.some((x, i) => Math.abs(x - last.target[i]) > 1e-6)) return;
    done = pulled;
    found.push(performance.now() - pulled.asked);
  };
}"""


def start(robot: str = "ur5") -> tuple[subprocess.Popen[str], dict[str, str]]:
    """Start the command on a free port; return the process and its addresses."""
    words = [sys.executable, "-m", "armwright.cli", "studio", robot, "--port", "0", "--share", "--json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    said = ""
    while not said.rstrip().endswith("}"):
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise SystemExit("the studio did not start")
        said += line
    return process, json.loads(said)


def stop(process: subprocess.Popen[str]) -> None:
    """End it as Ctrl-C does."""
    process.send_signal(2)
    assert process.wait(20) == 0, "Ctrl-C must end it cleanly"


def cpu(process: subprocess.Popen[str]) -> float:
    """Seconds of processor time so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def until(page: Any, expression: str) -> Any:
    """Wait until something is true on the page."""
    while not (value := page.evaluate(expression)):
        time.sleep(0.005)
    return value


def opened(browser: Any, address: str, **options: Any) -> Any:
    """A page with the arm on it."""
    page = browser.new_page(viewport={"width": 1440, "height": 900}, **options)
    page.goto(address)
    until(page, "globalThis.__studio?.ready && __studio.tabs.robot.seen")
    return page


def live(page: Any) -> None:
    """Go to the live arm."""
    page.click("#tabs >> text=Live")
    until(page, "__studio.tab.last")


def first_arm(browser: Any) -> float:
    """Seconds from the command to the posed arm, the cache warm and the browser open."""
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        process, at = start()
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(at["address"], wait_until="commit")
        until(page, "globalThis.__studio?.scene?.stats.frames > 0")
        times.append(time.perf_counter() - began)
        page.close()
        stop(process)
    return statistics.median(times)


def frames(page: Any, process: subprocess.Popen[str]) -> dict[str, float]:
    """Frames drawn a second, and the server's share of a core, over some seconds."""
    drawn, used, began = page.evaluate("__studio.scene.stats.frames"), cpu(process), time.perf_counter()
    time.sleep(SPAN)
    span = time.perf_counter() - began
    return {
        "drawn_per_s": (page.evaluate("__studio.scene.stats.frames") - drawn) / span,
        "server_core_share": (cpu(process) - used) / span,
    }


def latency(page: Any) -> list[float]:
    """Milliseconds from the pointer's event to the picture of a frame that has followed it."""
    at = page.evaluate(
        "(() => { const T = __studio.scene.poses.tool; return __studio.scene.project([T[3], T[7], T[11]]); })()"
    )
    page.evaluate(LATENCY)
    page.mouse.move(*at)
    page.mouse.down()
    for k in range(120):
        page.mouse.move(at[0] + 40 * (k % 20) / 20, at[1] - 30 * (k % 20) / 20)
        time.sleep(0.03)
    page.mouse.up()
    found = sorted(page.evaluate("__latency"))
    page.evaluate("__studio.onFrame = null")
    return found


class Listener:
    """A page that is only a socket."""

    def __init__(self, at: dict[str, str]) -> None:
        base, token = at["view"].rstrip("/").split("/#")
        self.socket = connect(base.replace("http", "ws") + "/socket", origin=base, compression=None).__enter__()
        self.count = self.bytes = 0
        self.times: list[float] = []
        self.say("hello", token=token)
        self.say("watch", live=True)

    def say(self, what: str, **fields: Any) -> None:
        """Send a message."""
        self.socket.send(json.dumps({"do": what, **fields}))

    def hear(self) -> None:
        """Take one message."""
        data = self.socket.recv(timeout=20)
        self.bytes += len(data)
        if isinstance(data, bytes):
            self.count += 1
            self.times.append(struct.unpack("<f", data[:4])[0])
            if self.count % 4 == 0:
                self.say("drew", count=self.count)


def many(at: dict[str, str], clients: int) -> dict[str, float]:
    """Simulated over real time and bytes a second of clients; if there are several, one of them never reads."""
    stalled = Listener(at) if clients > 1 else None
    listeners = [Listener(at) for _ in range(clients - (stalled is not None))]
    for one in listeners:
        one.hear()
        one.bytes = 0
    began = time.perf_counter()
    while time.perf_counter() - began < SPAN:
        for one in listeners:
            one.hear()
    span = time.perf_counter() - began
    rates = [(one.times[-1] - one.times[0]) / span for one in listeners]
    out = {"simulated_over_real": min(rates), "frames_per_s": min(one.count for one in listeners) / span}
    out["bytes_per_s"] = max(one.bytes for one in listeners) / span
    for one in [*listeners, *([stalled] if stalled else [])]:
        one.socket.close()
    return out


def pictures(browser: Any, at: dict[str, str], folder: Path) -> None:
    """What the how-to shows."""
    page = opened(browser, at["address"])
    page.click("text=Find all branches")
    until(page, "__studio.tab.branches.length")
    time.sleep(1.0)
    page.screenshot(path=folder / "studio_robot.png")
    live(page)
    page.evaluate("__studio.tab.pullBy(2, [0.02, 0.12, -0.08])")
    until(page, "__studio.tab.felt?.point")
    time.sleep(2.0)
    page.screenshot(path=folder / "studio_live.png")
    page.evaluate("__studio.ask('release')")
    page.click("#theme")
    page.click("#tabs >> text=Explore")
    until(page, "document.querySelector('#explore')")
    page.check("#left >> text=slide")
    page.click("#explore")
    until(page, "__studio.frames.replays.length")
    page.evaluate("__studio.frames.replays[0].seek(24)")
    time.sleep(2.0)
    page.screenshot(path=folder / "studio_explore.png")
    page.click("#theme")
    page.click("#tabs >> text=Programs")
    page.set_input_files("#program-file", HERE.parent / "examples" / "programs" / "ur5_weld.script")
    until(page, "__studio.tab.result && __studio.frames.replays.length")
    page.evaluate("__studio.frames.replays[0].seek(15)")
    time.sleep(2.0)
    page.screenshot(path=folder / "studio_program.png")
    page.close()


def main() -> None:
    """Measure, or draw."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=[*OPTIONS, *root])
        if "--pictures" in sys.argv:
            process, at = start()
            pictures(browser, at, HERE / "img")
            stop(process)
            return
        found: dict[str, Any] = {"load": os.getloadavg()[0], "first_arm_s": first_arm(browser)}
        process, at = start()
        page = opened(browser, at["address"])
        live(page)
        time.sleep(1.0)
        found["idle"] = frames(page, process)
        page.evaluate("__studio.tab.pullBy(2, [0, 0.1, -0.1])")
        found["pulling"] = frames(page, process)
        page.evaluate("__studio.ask('release')")
        delays = latency(page)
        found["pointer_to_picture_ms"] = {
            "n": len(delays),
            "p50": delays[len(delays) // 2],
            "p95": delays[int(0.95 * len(delays))],
        }
        page.close()
        found["one_client"] = many(at, 1)
        found["ten_clients_one_stalled"] = many(at, 10)
        stop(process)
        browser.close()
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
