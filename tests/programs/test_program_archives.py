# SPDX-License-Identifier: Apache-2.0
"""Archives of programs: damage anywhere is an error of ours that names the file, or does not matter."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

from armwright.errors import ProgramError
from armwright.programs import read_program

MODULE = """MODULE Work
  CONST jointtarget home := [[0,0,0,0,30,0],[9E9,9E9,9E9,9E9,9E9,9E9]];
  PROC main()
    MoveAbsJ home, v100, fine, tool0;
  ENDPROC
ENDMODULE
"""


@pytest.fixture
def archive(tmp_path):
    file = tmp_path / "cell.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("RAPID/TASK1/PROGMOD/Work.mod", MODULE)
    return file


def test_an_archive_is_read_as_its_program(archive):
    assert len(read_program(archive).moves) == 1


def test_every_damaged_byte_is_told_or_harmless(archive):
    whole = archive.read_bytes()
    rng = np.random.default_rng(27)
    told = []
    for k in range(len(whole)):
        archive.write_bytes(whole[:k] + bytes([whole[k] ^ int(rng.integers(1, 256))]) + whole[k + 1 :])
        try:
            program = read_program(archive)
        except ProgramError as error:
            told.append(str(error))
        else:
            assert len(program.moves) == 1
    assert len(told) > 0.5 * len(whole) and all("cell.zip" in text for text in told)
    for k in range(0, len(whole), 7):
        archive.write_bytes(whole[:k])
        with pytest.raises(ProgramError, match=r"cell\.zip"):
            read_program(archive)


def test_a_cell_of_krl_is_run_from_the_program_that_no_other_calls(tmp_path):
    point = "PTP {A1 %d, A2 -90, A3 90, A4 0, A5 30, A6 0}"
    (tmp_path / "R1" / "System").mkdir(parents=True)
    (tmp_path / "R1" / "cell.src").write_text(f"DEF CELL()\n{point % 1}\nPART()\nEND\n", encoding="utf-8")
    (tmp_path / "R1" / "part.src").write_text(f"DEF PART()\n; CELL() calls it\n{point % 2}\nEND\n", encoding="utf-8")
    (tmp_path / "R1" / "part.dat").write_text("DEFDAT PART\nENDDAT\n", encoding="utf-8")
    (tmp_path / "R1" / "System" / "sps.sub").write_text("DEF SPS()\nLOOP\nENDLOOP\nEND\n", encoding="utf-8")
    program = read_program(tmp_path)
    assert [round(np.degrees(move.target.q[0])) for move in program.moves] == [1, 2]
    (tmp_path / "R1" / "other.src").write_text(f"DEF OTHER()\n{point % 3}\nEND\n", encoding="utf-8")
    with pytest.raises(
        ProgramError, match=r"that no other file calls; valid here: one of \S*cell\.src, \S*other\.src, or --entry"
    ):
        read_program(tmp_path)
    assert len(read_program(tmp_path, entry="OTHER").moves) == 1
