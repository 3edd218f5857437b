# SPDX-License-Identifier: Apache-2.0
"""Try exported C where it is meant to run: compilers, a Cortex-M7 and an A53 in qemu, callgrind, cppcheck's MISRA list.

    make trial-embedded
    python tools/trial_embedded.py --ticks 100000 --folder trial

A UR5 under computed torque with momentum observer and two-speed detector, and the same with its arm, run for many ticks
on exact waves. Every bit of every output goes into a digest, which must be that of the strict loop. What is not
installed is told and left out; the exit code is 1 if something that was tried is wrong.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np

import armwright as aw
from armwright.contact.detectors import two_speed_detector
from armwright.contact.observers import momentum_observer
from armwright.control import computed_torque

HERE = Path(__file__).parent / "embedded"
WARNINGS = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wdouble-promotion", "-Wfloat-conversion"]
WARNINGS += ["-Werror"]
Q0 = np.array([0.0, -1.2, 1.4, -0.3, 0.5, 0.2])
BANDS = np.tile([[2.0], [0.5], [0.1], [0.05], [1.0]], (1, 6))
PARTS = ["ur5", computed_torque(400.0, 40.0), momentum_observer(30.0), two_speed_detector(BANDS, BANDS)]
M7 = ["-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-d16", "-mfloat-abi=hard"]
LIMITS = {"text": 20_000, "stack": 1_024, "instructions": 4_000}
MISRA = {
    "2.5": "the macro with the period is for whoever calls the step; the file itself has no use for it",
    "12.1": "products stand before sums as in algebra; more parentheses would hide the equations",
    "21.15": "bits of a number become a whole number by memcpy, the one way that C defines",
}
"""Why the exported files break a rule; a rule that is missing here fails the trial."""


class Trial:
    """What was tried, and what was wrong."""

    def __init__(self, folder: Path, ticks: int) -> None:
        """Begin."""
        self.folder, self.ticks, self.wrong = folder, ticks, 0

    def say(self, what: str, value: object, good: bool = True) -> None:
        """Tell a figure."""
        self.wrong += not good
        print(f"{'    ' if good else 'BAD '}{what:<58} {value}", flush=True)

    def missing(self, what: str, program: str) -> bool:
        """Return whether a program is not installed, and tell that."""
        if shutil.which(program):
            return False
        print(f"skip {what}: {program} is not installed", flush=True)
        return True


def run(words: list[object], folder: Path | None = None, seconds: float = 3600.0) -> str:
    """Run a program; return what it says."""
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True, timeout=seconds)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def waves(program) -> list[tuple[float, float, int, int]]:
    """Start, size, step and phase of the wave of every input."""
    rows = []
    for port in program.inputs:
        for k, start in enumerate(np.ravel(port.start)):
            size = {"q": 0.3, "q_ref": 0.3, "qd": 0.8, "qd_ref": 0.8}.get(port.name, 0.5)
            order = port.name.startswith("qd")  # speeds are a quarter of a wave ahead
            rows.append((float(start), size, 7 + 2 * k, 4096 * (1 + order) + 97 * ("ref" in port.name)))
    return rows


def inputs_of(program, rows, ticks: int) -> dict[str, np.ndarray]:
    """The same waves as in long_run.c."""
    tick = np.arange(ticks)
    columns = []
    for start, size, step, phase in rows:
        at = (tick * step + phase) % 16384
        w = np.where(at < 8192, at - 4096, 12288 - at)
        columns.append(start + size * (w / 4096.0))
    table, made, first = np.array(columns).T, {}, 0
    for port in program.inputs:
        made[port.name] = table[:, first : first + port.size].reshape(ticks, *port.shape)
        first += port.size
    return made


def digest(program, outputs: dict[str, np.ndarray]) -> str:
    """The digest of outputs (T, …), as long_run.c makes it."""
    ticks = len(next(iter(outputs.values())))
    table = np.hstack([outputs[port.name].reshape(ticks, -1) for port in program.outputs])
    value = 1469598103934665603
    for bits in np.ascontiguousarray(table).view(np.uint64).ravel().tolist():
        value = ((value ^ bits) * 1099511628211) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def written(trial: Trial, kind: str, real: str):
    """Export, and write what long_run.c needs; return artefact, folder and defines."""
    folder = trial.folder / f"{kind}_{real}"
    made = aw.export(PARTS, kind, to="c", rate=500.0, q0=Q0, name="ur5", float32=real == "float")
    made.write(folder)
    rows = waves(made.program)
    suffix = "f" if real == "float" else ""
    text = [
        f"typedef struct {{ {real} start; {real} size; long step; long phase; }} wave;",
        "static const wave waves[] = {",
    ]
    text += [f"    {{ {start!r}{suffix}, {size!r}{suffix}, {step}, {phase} }}," for start, size, step, phase in rows]
    (folder / "waves.h").write_text("\n".join([*text, "};", ""]), encoding="utf-8")
    for name in ("long_run.c", "m7_start.c", "m7.ld"):
        shutil.copy(HERE / name, folder)
    outputs = sum(port.size for port in made.program.outputs)
    defines = ["-DNAME=ur5", '-DHEADER="ur5.h"', f"-DREAL={real}", f"-DINPUTS={len(rows)}", f"-DOUTPUTS={outputs}"]
    defines += [f"-DTICKS={trial.ticks}", "-ffp-contract=off"]  # the waves round alike, too
    return made, folder, defines, rows


def found(text: str) -> str:
    """The digest that a run printed."""
    match = re.search(r"digest (\w+)", text)
    assert match, text
    return match[1]


def desktop(trial: Trial, kind: str, strict: str, folder: Path, defines: list[str]) -> None:
    """Run with gcc and clang at every level."""
    for cc in ("gcc", "clang"):
        if trial.missing(f"{kind} with {cc}", cc):
            continue
        for level in ("-O0", "-O1", "-O2", "-O3"):
            target = folder / f"run_{cc}{level}"
            run([cc, *WARNINGS, level, "-c", "ur5.c", "-o", f"{target}.o"], folder)
            run([cc, level, "-std=c99", *defines, "long_run.c", f"{target}.o", "-lm", "-o", target], folder)
            same = found(run([target], folder)) == strict
            trial.say(f"{kind}, {cc} {level}: {trial.ticks} ticks, every bit the strict loop's", same, same)


def sizes(trial: Trial, what: str, cc: str, size: str, flags: list[str], folder: Path) -> None:
    """Text and stack of the controller."""
    run([cc, *WARNINGS, *flags, "-O2", "-fstack-usage", "-c", "ur5.c", "-o", "size.o"], folder)
    text = int(run([size, "size.o"], folder).split()[6])
    stack = sum(int(line.split("\t")[1]) for line in (folder / "size.su").read_text(encoding="utf-8").splitlines())
    trial.say(f"{what}: text [bytes]", text, text <= LIMITS["text"])
    trial.say(f"{what}: stack of all functions together [bytes]", stack, stack <= LIMITS["stack"])


def callgrind(trial: Trial, folder: Path) -> None:
    """Instructions of a tick on this processor."""
    if trial.missing("instructions", "valgrind"):
        return
    ticks = 1000
    words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=ur5_step"]
    said = run([*words, folder / "run_gcc-O2", ticks], folder)
    count = int(re.search(r"Collected : (\d+)", said)[1]) / ticks
    trial.say("controller, gcc -O2: instructions a tick (callgrind)", f"{count:.0f}", count <= LIMITS["instructions"])


def cortex_m7(trial: Trial, real: str, expected: str, folder: Path, defines: list[str]) -> None:
    """Run on a Cortex-M7 in qemu."""
    cc, machine = "arm-none-eabi-gcc", "qemu-system-arm"
    if trial.missing(f"Cortex-M7, {real}", cc) or trial.missing(f"Cortex-M7, {real}", machine):
        return
    sizes(trial, f"Cortex-M7, {real}", cc, "arm-none-eabi-size", M7, folder)
    link = ["--specs=rdimon.specs", "-T", "m7.ld", "-lm"]
    run([cc, *M7, "-O2", "-DTIMER", *defines, "m7_start.c", "long_run.c", "ur5.c", *link, "-o", "m7.elf"], folder)
    words = [machine, "-M", "mps2-an500", "-nographic", "-semihosting", "-icount", "shift=0", "-kernel", "m7.elf"]
    said = run(words, folder)
    same = found(said) == expected
    trial.say(
        f"Cortex-M7, {real}: {trial.ticks} ticks, every bit {'the strict loop' if real == 'double' else 'x86'}'s",
        same,
        same,
    )
    count = float(re.search(r"instructions a tick (\d+)", said)[1])
    trial.say(f"Cortex-M7, {real}: instructions a tick (qemu -icount)", f"{count:.0f}", count <= LIMITS["instructions"])


def cortex_a53(trial: Trial, strict: str, folder: Path, defines: list[str]) -> None:
    """Run on an A53 in qemu."""
    cc, machine = "aarch64-linux-gnu-gcc", "qemu-aarch64"
    if trial.missing("Cortex-A53", cc) or trial.missing("Cortex-A53", machine):
        return
    for level in ("-O0", "-O2", "-O3"):
        target = folder / f"run_a53{level}"
        run([cc, *WARNINGS, "-mcpu=cortex-a53", level, "-c", "ur5.c", "-o", "a53.o"], folder)
        run([cc, "-static", level, *defines, "long_run.c", "a53.o", "-lm", "-o", target], folder)
        same = found(run([machine, "-cpu", "cortex-a53", target], folder)) == strict
        trial.say(f"Cortex-A53, {level}: {trial.ticks} ticks, every bit the strict loop's", same, same)


def single(trial: Trial, strict: dict[str, np.ndarray]) -> None:
    """Single precision beside double, and on the M7."""
    made, folder, defines, _ = written(trial, "controller", "float")
    run(["gcc", *WARNINGS, "-O2", "-c", "ur5.c", "-o", "single.o"], folder)
    run(["gcc", "-O2", "-std=c99", *defines, "long_run.c", "single.o", "-lm", "-o", "single"], folder)
    expected = found(run([folder / "single", trial.ticks, "rows.bin"], folder))
    table = np.fromfile(folder / "rows.bin", dtype=np.float32).reshape(trial.ticks, -1)
    where = made.program.columns(made.program.outputs)
    for name in ("tau", "tau_ext"):
        peak = np.abs(strict[name]).max()
        error = np.abs(table[:, where[name]] - strict[name]).max()
        share = error / peak
        trial.say(f"float: largest error of {name}, share of its peak {peak:.3g}", f"{share:.1e}", share < 1e-4)
    on, exact = table[:, where["alarm"]][:, 0] >= 0.0, strict["alarm"] >= 0.0
    off, times = int((on != exact).sum()), int((exact[1:] & ~exact[:-1]).sum())
    trial.say(f"float: ticks on which the alarm differs; it begins {times} times", off, off == 0 and times > 0)
    cortex_m7(trial, "float", expected, folder, defines)


def misra(trial: Trial, folder: Path) -> None:
    """The rules that cppcheck finds broken, each with its reason."""
    if trial.missing("MISRA", "cppcheck"):
        return
    addon = [
        "--addon=misra",
        "--std=c99",
        "--quiet",
        "--template={id} {file}:{line}",
        "--suppress=missingIncludeSystem",
    ]
    done = subprocess.run(["cppcheck", *addon, "ur5.c"], cwd=folder, capture_output=True, text=True)
    rules = Counter(re.findall(r"misra-c2012-(\d+\.\d+)", done.stderr))
    for rule, count in sorted(rules.items(), key=lambda item: [int(x) for x in item[0].split(".")]):
        trial.say(f"MISRA C:2012 rule {rule}, {count} places", MISRA.get(rule, "NO REASON"), rule in MISRA)
    others = [line for line in done.stderr.splitlines() if "misra" not in line]
    trial.say("cppcheck without MISRA: findings", len(others), not others)


def main() -> int:
    """Run all of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ticks", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, default=Path("out/embedded"))
    asked = parser.parse_args()
    trial = Trial(asked.folder.resolve(), asked.ticks)
    strict: dict[str, np.ndarray] = {}
    for kind in ("controller", "tick"):
        made, folder, defines, rows = written(trial, kind, "double")
        given = inputs_of(made.program, rows, trial.ticks)
        outputs = made.program.run(given)
        plain = made.program.run(given, strict=False)
        expected = digest(made.program, {port.name: outputs[port.name] for port in made.program.outputs})
        if kind == "controller":
            strict = outputs
            off = max(
                float(np.abs(outputs[p.name] - plain[p.name]).max() / max(1.0, np.abs(outputs[p.name]).max()))
                for p in made.program.outputs
            )
            trial.say("controller: default loop beside the strict one, of an output's peak", f"{off:.1e}", off <= 1e-12)
        desktop(trial, kind, expected, folder, defines)
        if kind == "controller":
            sizes(trial, "x86-64, gcc -O2", "gcc", "size", [], folder)
            callgrind(trial, folder)
            cortex_m7(trial, "double", expected, folder, defines)
            cortex_a53(trial, expected, folder, defines)
            misra(trial, folder)
    single(trial, strict)
    print(f"{trial.wrong} of what was tried is wrong" if trial.wrong else "all of what was tried is right")
    return min(trial.wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
