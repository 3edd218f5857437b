# SPDX-License-Identifier: Apache-2.0
"""The kinds of `support.campaign_kinds` as plug-ins of an installed package, for this process and those it starts."""

from __future__ import annotations

import os
import sys

import pytest

from support.places import TESTS

KINDS = {"faulty": "KIND", "judged": "JUDGED", "misses": "MISSES"}


def plug_in(folder):
    """Write the metadata of a package that adds the kinds; return what PYTHONPATH has to hold."""
    made = folder / "campaign_kinds_of_tests-1.0.dist-info"
    made.mkdir()
    (made / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: campaign-kinds-of-tests\nVersion: 1.0\n", encoding="utf-8"
    )
    lines = [f"{name} = support.campaign_kinds:{value}" for name, value in KINDS.items()]
    (made / "entry_points.txt").write_text("\n".join(["[armwright.kinds]", *lines, ""]), encoding="utf-8")
    return [str(folder), str(TESTS)]


@pytest.fixture(scope="module", autouse=True)
def plugged_kinds(tmp_path_factory):
    """Have the kinds found by name wherever this fixture is imported."""
    with pytest.MonkeyPatch.context() as patch:
        paths = plug_in(tmp_path_factory.mktemp("plugged"))
        patch.setattr(sys, "path", [*paths, *sys.path])
        before = filter(None, [os.environ.get("PYTHONPATH")])
        patch.setenv("PYTHONPATH", os.pathsep.join([*paths, *before]))
        yield
