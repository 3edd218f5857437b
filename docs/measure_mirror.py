# SPDX-License-Identifier: Apache-2.0
"""How old the arm in the mirror is: ``python docs/measure_mirror.py MODEL [seconds] [browser|pictures]``.

A virtual controller whose arm moves, ``armwright studio --wire`` beside it, and a page that is only a socket, each a
process of its own; with the word browser, a page in the system's Chromium, too, and with pictures what it looks like.
An RTDE client of this process dates every stamp: the quickest way of any sample is taken for none. Ages are from then
to the frame's arrival at a page, and to the picture drawn of it.

MODEL is what ``armwright identify --wire`` wrote. Needs armwright[studio] and the extra ``browser``.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright
from websockets.sync.client import connect

from armwright.lab.virtual_controller import VirtualController
from armwright.live.wire_ear import WireEar
from armwright.statistics import quantile

FLAGS = ("--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-first-run", "--no-sandbox")
SCRIPT = """def sway():
  while True:
    movej([0.5, -1.2, 1.6, -1.9, -1.2, 0.3], a=0.8, v=0.5)
    movej([-0.4, -1.6, 1.9, -1.6, -1.6, -0.3], a=0.8, v=0.5)
  end
end
"""
DRAWN = """() => {
  const found = globalThis.__ages = [], app = __studio;
  let done = null;
  app.onFrame = () => {
    const { last } = app.tab;
    if (!last || last === done) return;
    done = last;
    found.push([last.t, (performance.timeOrigin + performance.now()) / 1000]);
  };
}"""


class Dated(threading.Thread):
    """A listener that knows when stamps were made, on this process's monotonic clock."""

    def __init__(self, host: str) -> None:
        super().__init__(daemon=True)
        self._ear, self.offset, self.over = WireEar(host), np.inf, False
        self._ear.connect_robot()
        self.start()

    def run(self) -> None:
        """Listen."""
        while not self.over:
            for sample in self._ear.heard(0.1):
                self.offset = min(self.offset, sample.arrived - sample.stamp)
        self._ear.close()


def studio(host: str, model: str) -> tuple[subprocess.Popen[str], str]:
    """Start the command; return the process and its address."""
    words = [sys.executable, "-m", "armwright.cli", "studio", "--wire", host, "--model", model, "--port", "0", "--json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())["address"]


class Page:
    """A page that is only a socket."""

    def __init__(self, address: str) -> None:
        base, token = address.rstrip("/").split("/#")
        place: Any = {"origin": base, "compression": None, "ping_interval": None}
        self._socket = connect(base.replace("http", "ws") + "/socket", **place).__enter__()
        self.state: dict[str, Any] = {}
        self._frames = 0
        self.say("hello", token=token)
        self.say("watch", live=True)

    def say(self, what: str, **fields: Any) -> None:
        """Send a message."""
        self._socket.send(json.dumps({"do": what, "id": 1, **fields}))

    def hear(self) -> tuple[float, float] | None:
        """Return time in the newest frame, and when it came; None for a text."""
        data = self._socket.recv(timeout=10)
        now = time.monotonic()
        if isinstance(data, bytes):
            self._frames += 1
            if self._frames % 4 == 0:
                self.say("drew", count=self._frames)
            return struct.unpack("<f", data[:4])[0], now
        said = json.loads(data)
        self.state = said.get("live") or said.get("ok", {}).get("live") or self.state
        return None


def cpu(process: subprocess.Popen[str]) -> float:
    """Seconds of processor time so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def told(ages: np.ndarray) -> str:
    """Return quantiles in milliseconds, p99 with its 95 % interval."""
    high = quantile(ages, 0.99)
    return (
        f"median {1e3 * quantile(ages, 0.5).value:.1f} ms, p99 {1e3 * high.value:.1f} "
        f"({1e3 * high.low:.1f} to {1e3 * high.high:.1f}), most {1e3 * ages.max():.1f}, {len(ages)} frames"
    )


def measured(model: str, seconds: float, *, e_series: bool, browser: bool, pictures: bool) -> None:
    """Measure one controller and print."""
    with VirtualController(e_series=e_series, current_noise=0.15, seed=29) as robot:
        with socket.create_connection((robot.host, 30002)) as script:
            script.sendall(SCRIPT.encode())
            time.sleep(0.3)
        process, address = studio(robot.host, model)
        try:
            dated, page = Dated(robot.host), Page(address)
            while page.hear() is None or page.state.get("began") is None:
                pass
            began, ages, used = page.state["began"], [], cpu(process)
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                if (frame := page.hear()) is not None:
                    ages.append(frame[1] - (began + frame[0] + dated.offset))
            share = (cpu(process) - used) / seconds
            rate = "500 Hz" if e_series else "125 Hz"
            say(f"{rate}: frame at a page: {told(np.array(ages))}; {100 * share:.0f} % of a core")
            say(f"load average {os.getloadavg()[0]:.0f}")
            if browser:
                in_chromium(robot, address, dated, began, seconds, rate if pictures else "")
            page = Page(address)
            while "sent" not in page.state:
                page.hear()
            say(f"{rate}: {page.state['sent']} bytes sent to the controller in {page.state['connections']} connections")
            dated.over = True
        finally:
            process.send_signal(2)
            process.wait(20)


def in_chromium(
    robot: VirtualController, address: str, dated: Dated, began: float, seconds: float, pictures: str
) -> None:
    """Measure what is drawn, and take pictures, moving and stale, wide and narrow."""
    with sync_playwright() as play:
        found = shutil.which("chromium")
        browser = play.chromium.launch(executable_path=found, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(address)
        until(page, "globalThis.__studio?.tab?.last")
        page.evaluate(DRAWN)
        time.sleep(seconds)
        drawn = np.array(page.evaluate("__ages"))
        clocks = time.time() - time.monotonic()
        ages = drawn[:, 1] - (began + drawn[:, 0] + dated.offset + clocks)
        say(f"drawn by Chromium without a graphics card: {told(ages)}; {len(ages) / seconds:.0f} pictures a second")
        if pictures:
            robot.push([0.0, 35.0, -20.0], 3.0)
            time.sleep(1.5)
            picture(page, f"mirror-{pictures[:3]}-moving-1280.png")
            page.set_viewport_size({"width": 390, "height": 844})
            page.reload()
            until(page, "globalThis.__studio?.tab?.last")
            robot.push([0.0, 35.0, -20.0], 4.0)
            time.sleep(2.0)
            picture(page, f"mirror-{pictures[:3]}-moving-390.png")
            robot.stall(6.0)
            time.sleep(3.5)
            picture(page, f"mirror-{pictures[:3]}-stale-390.png")
            page.set_viewport_size({"width": 1280, "height": 800})
            time.sleep(1.0)
            picture(page, f"mirror-{pictures[:3]}-stale-1280.png")
            until(page, "__studio.tab.age < 0.5")
        browser.close()


def picture(page: Any, name: str) -> None:
    """Keep the whole page."""
    page.screenshot(path=name, full_page=True)
    say(name)


def until(page: Any, expression: str) -> None:
    """Wait until something is true on the page."""
    while not page.evaluate(expression):
        time.sleep(0.02)


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    """Measure both kinds of controllers."""
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60.0
    for e_series in (False, True):
        word = sys.argv[3] if len(sys.argv) > 3 else ""
        browser = word in ("browser", "pictures")
        measured(sys.argv[1], seconds, e_series=e_series, browser=browser, pictures=word == "pictures")


if __name__ == "__main__":
    main()
