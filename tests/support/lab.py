# SPDX-License-Identifier: Apache-2.0
"""The lab as its own process, on a loopback address that no other test uses, and clients as processes of theirs."""

import contextlib
import importlib.util
import itertools
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import textwrap

import pytest

from armwright.lab.stand import PORTS as USUAL_PORTS
from armwright.lab.wire import rtde
from support.patience import PATIENCE, until

_counter = itertools.count(1)
PORTS = dict.fromkeys(USUAL_PORTS, 0)
"""Ports that are free."""


def address():
    """A loopback address of this process and call; other systems than Linux have but one."""
    if sys.platform != "linux":
        pytest.skip("loopback addresses beyond 127.0.0.1 need Linux")
    pid = os.getpid()
    return f"127.{16 + (pid >> 8) % 200}.{pid % 256}.{next(_counter) % 250 + 2}"


@contextlib.contextmanager
def served(*options, host=None):
    """``armwright lab serve`` under way; gives what it said when it was ready."""
    host = host or address()
    command = [sys.executable, "-m", "armwright.cli", "lab", "serve", "--json", "--host", host, *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    try:
        line = process.stdout.readline()
        if not line.startswith('{"ready"'):
            raise RuntimeError(f"the lab did not start: {process.communicate()[1]}")
        yield json.loads(line)["ready"]
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors


def client(code, host, needs, timeout=PATIENCE):
    """Run a client's program in a process of its own; what it prints as JSON. Skips where the client is missing."""
    if importlib.util.find_spec(needs) is None:
        pytest.skip(f"{needs} is not installed (pip install armwright[lab-clients])")
    command = [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code), host]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    try:
        out, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)  # it says in which line it is
        out, errors = process.communicate()
        errors = f"no end within {timeout:g} s\n{out}\n{errors}"
    assert process.returncode == 0, errors
    return json.loads(out.strip().splitlines()[-1])


def wait_for(condition, what):
    """Until it holds; the lab works in other threads, and machines are busy."""
    until(condition, what)


def dial(stand, port):
    return socket.create_connection((stand.host, stand.ports[port]), timeout=PATIENCE)


def ask(stand, line):
    with dial(stand, "dashboard") as sock, sock.makefile("rw", newline="\n") as file:
        assert "Dashboard" in file.readline()
        file.write(line + "\n")
        file.flush()
        return file.readline().strip()


def exactly(sock, size):
    data = b""
    while len(data) < size:
        part = sock.recv(size - len(data))
        assert part, "the lab hung up"
        data += part
    return data


def read_packet(sock):
    size, kind = rtde.HEADER.unpack(exactly(sock, 3))
    return kind, exactly(sock, size - 3)


def call(sock, kind, payload=b""):
    sock.sendall(rtde.packet(kind, payload))
    answer, body = read_packet(sock)
    assert answer == kind
    return body


def read_stream(sock, count):
    return [struct.unpack(">I94d", exactly(sock, 756)) for _ in range(count)]


def run_for(c, seconds):
    for _ in range(round(seconds * 500)):
        c.tick()
