# SPDX-License-Identifier: Apache-2.0
"""Compiled code on disk: used again, repaired, and run only if this user put it there under that name."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from armwright.errors import ArmwrightWarning
from armwright.graph import cache, compile_function
from support.patience import PATIENCE

SCRIPT = """
import sys, warnings, numpy as np
from armwright.graph import compile_function
warnings.simplefilter("always")
k = compile_function(lambda q: np.cos(q) * 3.0 + q, {"q": (2,)}, name="probe")
print(repr(k(np.array([0.5, 1.0])).tolist()), repr(k(np.ones((9, 2)))[0].tolist()))
"""
ANSWER = f"{(np.cos([0.5, 1.0]) * 3 + [0.5, 1.0]).tolist()!r}"


def run_script(cache, **environment):
    env = {**os.environ, "ARMWRIGHT_CACHE_DIR": str(cache), **environment}
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    )


def test_cache_is_reused_repaired_and_never_trusted_blindly(tmp_path):
    cache = tmp_path / "cache"
    first = [run_script(cache) for _ in range(2)]  # two processes compile at once
    for process in first:
        out, err = process.communicate(timeout=PATIENCE)
        assert out.startswith(ANSWER), err
    files = sorted(cache.iterdir())
    assert files and not any(f.name.startswith(".new-") for f in files)
    if os.name == "posix":
        assert all(path.stat().st_mode & 0o077 == 0 for path in (cache, *files))
    code = max(files, key=lambda f: f.stat().st_size).read_bytes()
    sizes = [f.stat().st_size for f in files]
    for damaged in (b"", b"garbage", code[:-7], code[:60] + b"\0" * 400):
        for file in files:
            file.write_bytes(damaged)
        out, err = run_script(cache).communicate(timeout=PATIENCE)
        assert out.startswith(ANSWER), err
        assert [f.stat().st_size for f in files] == sizes
    before = [f.read_bytes() for f in files]
    out, err = run_script(cache).communicate(timeout=PATIENCE)
    assert out.startswith(ANSWER), err
    assert [f.read_bytes() for f in files] == before  # used as it is, not written again


def test_an_unusable_cache_costs_speed_not_answers(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("not a directory", encoding="utf-8")
    out, err = run_script(blocker / "cache").communicate(timeout=PATIENCE)
    assert out.startswith(ANSWER)
    assert "not cached" in err and "ARMWRIGHT_CACHE_DIR" in err
    if os.name == "posix":
        shared = tmp_path / "shared"
        shared.mkdir()
        shared.chmod(0o777)
        out, err = run_script(shared).communicate(timeout=PATIENCE)
        assert out.startswith(ANSWER)
        assert "other users" in err and not list(shared.iterdir())


def test_a_full_disk_costs_speed_not_answers(monkeypatch, tmp_path):
    monkeypatch.setenv("ARMWRIGHT_CACHE_DIR", str(tmp_path))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    k = compile_function(lambda q: np.sin(q) + 17.125, {"q": (2,)}, name="full_disk")
    with pytest.warns(UserWarning, match="No space left"):
        np.testing.assert_allclose(k([0.0, 0.0]), 17.125)
    assert not list(tmp_path.iterdir())


posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes are POSIX's")


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """An empty cache of this test's own."""
    place = tmp_path / "cache"
    monkeypatch.setenv("ARMWRIGHT_CACHE_DIR", str(place))
    monkeypatch.setattr(cache, "_told", set())
    cache.store("kept", b"code")
    assert cache.load("kept") == b"code"
    return place


def test_a_file_counts_only_under_its_own_name_and_as_it_was_written(directory):
    data = (directory / "kept").read_bytes()
    (directory / "other").write_bytes(data)
    (directory / "other").chmod(0o600)
    assert cache.load("other") is None
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 1
        (directory / "kept").write_bytes(changed)
        assert cache.load("kept") is None
    (directory / "kept").write_bytes(data)
    assert cache.load("kept") == b"code"


def test_a_file_made_without_the_secret_does_not_count(directory, tmp_path, monkeypatch):
    data = (directory / "kept").read_bytes()
    for body in (b"code", b"planted"):  # what anybody can compute
        for text in (body, b"kept" + body):
            for magic in (cache.MAGIC, b"armwright-1\n"):
                (directory / "kept").write_bytes(magic + hashlib.blake2b(text, digest_size=32).digest() + body)
                assert cache.load("kept") is None
    monkeypatch.setenv("ARMWRIGHT_CACHE_DIR", str(tmp_path / "of somebody else"))
    cache.store("kept", b"code")
    (tmp_path / "of somebody else" / "kept").replace(directory / "kept")
    monkeypatch.setenv("ARMWRIGHT_CACHE_DIR", str(directory))
    assert cache.load("kept") is None
    (directory / "kept").write_bytes(data)
    assert cache.load("kept") == b"code"


@posix
def test_links_pipes_and_what_others_may_write_do_not_count(directory, tmp_path):
    kept, data = directory / "kept", (directory / "kept").read_bytes()
    for mode, answer in ((0o620, None), (0o602, None), (0o644, b"code"), (0o600, b"code")):
        kept.chmod(mode)
        assert cache.load("kept") == answer
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(data)
    elsewhere.chmod(0o600)
    kept.unlink()
    kept.symlink_to(elsewhere)
    assert cache.load("kept") is None
    kept.unlink()
    os.mkfifo(kept, 0o600)
    assert cache.load("kept") is None
    kept.unlink()
    kept.mkdir()
    assert cache.load("kept") is None
    kept.rmdir()
    cache.store("kept", b"code")
    assert cache.load("kept") == b"code"
    (directory / cache.SECRET_NAME).chmod(0o644)  # others may have read it: what it vouches for is void
    assert cache.load("kept") is None
    cache.store("kept", b"code")
    assert (directory / cache.SECRET_NAME).stat().st_mode & 0o077 == 0
    assert cache.load("kept") == b"code"


@posix
def test_files_and_directories_of_other_users_do_not_count(directory, monkeypatch):
    if os.geteuid() == 0:
        for file in (directory / "kept", directory / cache.SECRET_NAME):
            os.chown(file, 12345, -1)
            assert cache.load("kept") is None
            os.chown(file, 0, -1)
            assert cache.load("kept") == b"code"
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)  # the same, seen by another user
    with pytest.warns(ArmwrightWarning, match="other users"):
        assert cache.load("kept") is None


PLACES = """
import os, sys
import numpy as np
from armwright.graph import cache, compile_function
for a in range(2):
    compile_function(lambda q, a: np.cos(q) * 3.0 + a, {"q": (2,)}, constants={"a": a})(np.ones(2))
print(cache.cache_directory())
"""


def place_of(folder, **variables):
    """Compile in `folder` under an environment; return the cache's place, the warnings, and what lies in the folder."""
    env = {name: value for name, value in os.environ.items() if name not in ("ARMWRIGHT_CACHE_DIR", "XDG_CACHE_HOME")}
    env = {**env, "HOME": str(folder.parent / "home"), "PYTHONWARNINGS": "always", **variables}
    done = subprocess.run(
        [sys.executable, "-c", PLACES],
        env={k: v for k, v in env.items() if v is not None},
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=True,
    )
    return done.stdout.strip(), done.stderr, list(folder.iterdir())


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="XDG_CACHE_HOME is used on Linux and the BSDs alone")
@pytest.mark.parametrize("given", ["", "here", "./.cache", "~/.cache"])
def test_a_relative_path_is_never_the_cache(tmp_path, given):
    folder = tmp_path / "checkout"
    folder.mkdir()
    home = str(tmp_path / "home" / ".cache" / "armwright")
    assert place_of(folder, XDG_CACHE_HOME=given)[::2] == (home, [])
    place, told, left = place_of(folder, ARMWRIGHT_CACHE_DIR=given)
    assert (place, left) == (home, [])
    assert told.count("ARMWRIGHT_CACHE_DIR") == (1 if given else 0), told
    assert os.listdir(home)
    assert place_of(folder, XDG_CACHE_HOME=str(tmp_path / "xdg"))[0] == str(tmp_path / "xdg" / "armwright")


@posix
def test_without_a_home_there_is_no_cache_and_it_is_said_once(tmp_path, monkeypatch):
    folder = tmp_path / "checkout"
    folder.mkdir()
    place, told, left = place_of(folder, HOME="not/absolute")
    assert (place, left) == ("None", []) and told.count("not cached") == 1, told
    monkeypatch.delenv("ARMWRIGHT_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(cache, "_told", set())
    monkeypatch.setattr("pwd.getpwuid", lambda uid: (_ for _ in ()).throw(KeyError(uid)))  # a container's nameless user
    assert cache.cache_directory() is None
    with pytest.warns(ArmwrightWarning, match="no home directory") as told:
        assert cache.load("anything") is None
        cache.store("anything", b"code")
    assert len(told) == 1


GARBAGE = """
import numpy as np
from armwright.graph import cache, compile_function, jit
load, bodies = cache.load, [b"", b"garbage" * 100, bytes(1000), b"\\x7fELF" + bytes(600), jit.compile_object("")]
for a, body in enumerate(bodies):
    cache.load = lambda key: body  # as if this user's own Armwright had stored it
    k = compile_function(lambda q, a: np.cos(q) * 3.0 + a, {"q": (2,)}, constants={"a": a})
    assert np.allclose(k(np.ones(2)), np.cos(1.0) * 3.0 + a)
print("alive")
"""


def test_a_stored_body_that_is_no_object_file_is_compiled_anew():
    done = subprocess.run(
        [sys.executable, "-c", GARBAGE], capture_output=True, encoding="utf-8", timeout=PATIENCE, check=False
    )
    assert done.stdout == "alive\n", (done.returncode, done.stderr)
