# SPDX-License-Identifier: Apache-2.0
"""Several hosts on one machine: network namespaces joined by a bridge, with certificates. Traffic stays inside."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import pytest


@dataclass
class Hosts:
    """Hosts 0, 1, 2, … at 10.213.77.(k + 1), each a namespace with one cable to a switch in a namespace of its own."""

    count: int
    name: str = field(default_factory=lambda: f"aw{uuid.uuid4().hex[:6]}")

    def __enter__(self):
        _ip("netns", "add", self.name)
        try:
            self._inside(self.name, "link", "add", "switch", "type", "bridge")
            self._inside(self.name, "link", "set", "switch", "up")
            for k in range(self.count):
                host, cable = f"{self.name}-{k}", f"cable{k}"
                _ip("netns", "add", host)
                self._inside(self.name, "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", host)
                self._inside(self.name, "link", "set", cable, "master", "switch", "up")
                self._inside(host, "addr", "add", f"{self.address(k)}/24", "dev", "eth0")
                self._inside(host, "link", "set", "eth0", "up")
                self._inside(host, "link", "set", "lo", "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in (*(f"{self.name}-{k}" for k in range(self.count)), self.name):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    def address(self, k):
        return f"10.213.77.{k + 1}"

    def start(self, k, *words, **options):
        """Start a command on host k, as the leader of a group of processes."""
        line = ["ip", "netns", "exec", f"{self.name}-{k}", *map(str, words)]
        return subprocess.Popen(line, start_new_session=True, encoding="utf-8", **options)

    def cable(self, k, state):
        """Pull or plug the cable of host k: "down" or "up"."""
        self._inside(self.name, "link", "set", f"cable{k}", state)

    def listening(self, k):
        """Addresses on which programs of host k listen, without ports."""
        found = subprocess.run(
            ["ip", "netns", "exec", f"{self.name}-{k}", "ss", "-Htln"],
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        return {line.split()[3].rsplit(":", 1)[0] for line in found.stdout.splitlines()}

    @staticmethod
    def _inside(name, *words):
        _ip("-n", name, *words)


def _ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


def why_no_hosts():
    """Return why this machine cannot make network namespaces, nothing if it can."""
    missing = [name for name in ("ip", "ss", "openssl") if shutil.which(name) is None]
    if missing:
        return f"no command {missing[0]}"
    if os.geteuid() != 0:
        return "network namespaces need root"
    try:
        with Hosts(1):
            return ""
    except subprocess.CalledProcessError as error:
        return f"network namespaces are not allowed here: {error.stderr.decode().strip()}"


def skip_without_hosts():
    """Skip the calling module, saying why."""
    if reason := why_no_hosts():
        pytest.skip(f"several hosts: {reason}", allow_module_level=True)


def certificates(folder: Path) -> tuple[Path, Path, Path]:
    """Make an authority and one certificate signed by it: PEM files (authority, certificate, key)."""
    ca, ca_key, cert, key, request = (folder / n for n in ("ca.pem", "ca.key", "host.pem", "host.key", "host.csr"))
    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    _openssl("req", "-x509", *new_key, "-keyout", ca_key, "-out", ca, "-subj", "/CN=lab", "-days", 2)
    _openssl("req", *new_key, "-keyout", key, "-out", request, "-subj", "/CN=host")
    _openssl("x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-out", cert, "-days", 2)
    return ca, cert, key


def _openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)
