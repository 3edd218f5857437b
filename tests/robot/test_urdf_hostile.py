# SPDX-License-Identifier: Apache-2.0
"""Hostile and damaged files: refused at once, with file and line; generated ones never crash, hang or give NaN."""

from __future__ import annotations

import os
import random
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from armwright.errors import ArmwrightError, ArmwrightWarning, DescriptionError
from armwright.robot.model import Robot
from armwright.robot.urdf.urdf_read import read_urdf
from armwright.schema.xml_text import MAX_BYTES, MAX_ELEMENTS, parse_xml
from support.patience import PATIENCE
from support.places import DATA
from support.texts import texts

ARM = (DATA / "arm.urdf").read_text(encoding="utf-8")

LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">\n' for i in range(1, 12))
HOSTILE = {
    "billion laughs": (
        f'<!DOCTYPE robot [\n<!ENTITY l0 "ha">\n{LAUGHS}]>\n<robot name="&l11;"/>',
        1,
        "no-dtd-no-entities",
    ),
    "external entity": (
        '<?xml version="1.0"?>\n<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n'
        '<robot name="r"><link name="&x;"/></robot>',
        2,
        "no-dtd-no-entities",
    ),
    "external dtd": ('<!DOCTYPE robot SYSTEM "http://example.org/x.dtd">\n<robot name="r"/>', 1, "no-dtd-no-entities"),
    "undefined entity": ('<robot name="r">\n<link name="&x;"/></robot>', 2, "well-formed"),
    "depth bomb": ('<robot name="r">\n' + "<a>" * 100_000, 2, "depth"),
    "elements": ('<robot name="r">\n' + "<a/>" * (MAX_ELEMENTS + 1) + "</robot>", 2, "element-count"),
    "truncated": (ARM[: len(ARM) // 2], ARM[: len(ARM) // 2].count("\n") + 1, "well-formed"),
    "two documents": ('<robot name="r"/>\n<robot name="s"/>', 2, "well-formed"),
    "crossed tags": ('<robot name="r">\n<link name="a">\n</robot></link>', 3, "well-formed"),
    "endless digits": (
        '<robot name="r">\n<link name="a"><inertial>\n<mass value="' + "9" * 10**6 + 'x"/></inertial></link></robot>',
        3,
        "decimal-number",
    ),
    "names with control characters": (
        '<robot name="r">\n<link name="a&#10;b&#x9b;31m"/><link name="c"/></robot>',
        2,
        "orphan-link",
    ),
    "attribute twice": ('<robot name="r">\n<link name="a" name="b"/></robot>', 2, "well-formed"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_document_is_refused_at_once(name: str, tmp_path: Path) -> None:
    text, line, rule = HOSTILE[name]
    file = tmp_path / "bad.urdf"
    file.write_text(text, encoding="utf-8")
    start = time.process_time()
    with pytest.raises(DescriptionError) as caught:
        read_urdf(file)
    assert time.process_time() - start < PATIENCE
    assert caught.value.rule == rule
    assert caught.value.where.startswith(f"{file}:{line}")
    assert len(str(caught.value)) < 1000
    assert str(caught.value).isprintable()


BINARY = {
    "empty": (b"", 1, "well-formed"),
    "blank": (b" \n\n ", 1, "well-formed"),
    "latin-1": ('<robot name="r">\n<link name="Mèche"/></robot>'.encode("latin-1"), 2, "utf-8"),
    "utf-16": (ARM.encode("utf-16"), 1, "utf-8"),
    "png": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), 1, "utf-8"),
    "zeros": (bytes(4096), 1, "well-formed"),
    "null inside": (b'<robot name="r">\n<link name="a\0"/></robot>', 2, "well-formed"),
}


@pytest.mark.parametrize("name", BINARY)
def test_damaged_bytes_are_refused_with_their_line(name: str, tmp_path: Path) -> None:
    content, line, rule = BINARY[name]
    file = tmp_path / "bad.urdf"
    file.write_bytes(content)
    with pytest.raises(DescriptionError) as caught:
        read_urdf(file)
    assert (caught.value.rule, caught.value.where) == (rule, f"{file}:{line}")


def test_what_is_not_a_small_regular_file_is_refused(tmp_path: Path) -> None:
    large = tmp_path / "large.urdf"
    with large.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    pipe = tmp_path / "pipe.urdf"
    if hasattr(os, "mkfifo"):  # elsewhere the path simply does not exist, which is refused by the same rule
        os.mkfifo(pipe)
    for path, rule in (
        (large, "size"),
        (pipe, "readable-file"),
        (tmp_path, "readable-file"),
        (tmp_path / "none.urdf", "readable-file"),
        ("a\0b.urdf", "readable-file"),
        ("x" * 5000, "readable-file"),
    ):
        with pytest.raises(DescriptionError) as caught:
            read_urdf(path)
        assert caught.value.rule == rule
        assert len(str(caught.value)) < 500


def test_byte_order_mark_and_windows_lines_are_fine() -> None:
    content = b"\xef\xbb\xbf" + ARM.replace("\n", "\r\n").encode()
    assert read_urdf(content).n == 3
    with pytest.raises(DescriptionError, match=r"<text>:8: "):
        read_urdf(content.replace(b'"3.5"', b'"nan"'))


def test_link_count_is_capped_and_the_work_grows_with_the_links() -> None:
    def chain(count: int) -> str:
        body = (
            '<inertial><origin xyz="0.1 0 0"/><mass value="1"/>'
            '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>'
        )
        links = "".join(f'<link name="l{i}">{body}</link>' for i in range(count))
        joints = "".join(
            f'<joint name="j{i}" type="continuous"><parent link="l{i}"/><child link="l{i + 1}"/>'
            f'<origin xyz="0.2 0 0"/><axis xyz="0 {i % 2} {1 - i % 2}"/></joint>'
            for i in range(count - 1)
        )
        return f'<robot name="r">{links}{joints}</robot>'

    def calls(count: int) -> int:
        """Functions that Python calls to read a chain: the work, whatever else the machine does."""
        made = 0

        def count_one(frame: object, event: str, argument: object) -> None:
            nonlocal made
            made += event in ("call", "c_call")

        text = chain(count)
        before = sys.getprofile()
        sys.setprofile(count_one)
        try:
            assert read_urdf(text).n == count - 1
        finally:
            sys.setprofile(before)
        return made

    calls(3)  # what is imported and made once
    assert calls(400) < 6 * calls(80)
    assert read_urdf(chain(1000)).n == 999
    with pytest.raises(DescriptionError, match="more than 1000 links"):
        read_urdf(chain(1001))


def test_lines_of_elements_are_those_of_the_file() -> None:
    root = parse_xml(ARM, "arm.urdf")
    lines = ARM.splitlines()
    for node in root.descendants():
        assert f"<{node.tag}" in lines[node.line - 1]


TOKENS = [
    "nan",
    "-inf",
    "inf",
    "1e308",
    "-1e308",
    "1e-320",
    "0",
    "-0",
    "-1",
    "1",
    "0.5",
    "1e5",
    "1,5",
    "",
    " ",
    "x",
    "0 0 0",
    "1 2 3",
    "1 2 3 4",
    "nan nan nan",
    "1e300 0 0",
    "base",
    "upper",
    "fore",
    "grip",
    "elbow",
    "fixed",
    "revolute",
    "prismatic",
    "continuous",
    "floating",
    "١",
    "0x10",
    "1_0",
    "../..",
    "http://a/b",
    "\u2028",
    "9" * 400,
]


def _mutate(text: str, rng: random.Random) -> str:
    """Change a few attributes, drop, repeat or move a few lines."""
    lines = text.splitlines()
    for _ in range(rng.randint(1, 4)):
        i = rng.randrange(len(lines))
        kind = rng.randrange(5)
        if kind <= 2:
            parts = lines[i].split('"')
            if len(parts) >= 3:
                parts[rng.randrange(1, len(parts), 2) if len(parts) > 3 else 1] = rng.choice(TOKENS)
                lines[i] = '"'.join(parts)
        elif kind == 3:
            del lines[i]
        else:
            lines.insert(rng.randrange(len(lines)), lines[i])
    return "\n".join(lines)


def _outcome(text: str | bytes) -> Robot | None:
    """Read it: a robot whose numbers are all finite, or one of our errors; neither takes for ever."""
    start, refusal, robot = time.process_time(), "", None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ArmwrightWarning)
            robot = read_urdf(text, implausible="warn")
    except ArmwrightError as error:
        refusal = str(error)
    assert time.process_time() - start < PATIENCE
    if robot is None:
        assert 0 < len(refusal) < 2000
        return None
    for body in robot.bodies:
        for values in (body.T_parent_joint, body.axis, body.com, body.inertia, body.mass, body.ratio, body.offset):
            assert np.isfinite(values).all()
    tree = robot.tree
    for values in (tree.R0, tree.p0, tree.m, tree.h, tree.J, tree.offset, tree.viscous, tree.coulomb, tree.T_tip_tool):
        assert np.isfinite(values).all()
    return robot


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(st.randoms(use_true_random=False))
def test_mutated_descriptions_load_finite_or_are_refused(rng: random.Random) -> None:
    _outcome(_mutate(ARM, rng))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.data())
def test_any_numbers_load_finite_or_are_refused(data: st.DataObject) -> None:
    def numbers(count: int) -> str:
        one = st.one_of(st.floats(), st.floats(-2, 2), st.integers(-3, 3))
        return " ".join(repr(data.draw(one)) for _ in range(count))

    moments = " ".join(f'{name}="{numbers(1)}"' for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    _outcome(
        f'<robot name="r"><link name="a"/><link name="b"><inertial><origin xyz="{numbers(3)}" rpy="{numbers(3)}"/>'
        f'<mass value="{numbers(1)}"/><inertia {moments}/></inertial></link>'
        f'<joint name="j" type="revolute"><parent link="a"/><child link="b"/><origin xyz="{numbers(3)}"/>'
        f'<axis xyz="{numbers(3)}"/><limit lower="{numbers(1)}" upper="{numbers(1)}" effort="{numbers(1)}" '
        f'velocity="{numbers(1)}"/></joint></robot>'
    )


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.integers(0, len(ARM)), st.binary(max_size=8), st.integers(0, 40))
def test_damaged_bytes_never_crash(at: int, noise: bytes, cut: int) -> None:
    content = ARM.encode()
    _outcome(content[:at] + noise + content[at + cut :])


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.one_of(st.binary(max_size=200), texts(200).map(lambda text: "<" + text)))
def test_noise_never_crashes(content: bytes | str) -> None:
    assert _outcome(content) is None
