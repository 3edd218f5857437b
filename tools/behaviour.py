# SPDX-License-Identifier: Apache-2.0
"""Record what the program does, and compare two records: for changes that must not change behaviour.

    python tools/behaviour.py record before.json            # with the old sources on the path
    python tools/behaviour.py record after.json             # with the new ones
    python tools/behaviour.py compare before.json after.json

A record holds digests: of what commands print and write, of traced kernels, of help texts, of public names, of what
readers say to mutated files. Times are blanked. Numbers depend on the machine, so records of two machines differ.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
COMMAND = [sys.executable, "-m", "armwright.cli"]
BLANKED = {
    "took",
    "seconds_taken",
    "wall",
    "version",
    "versions",
    "made",
    "elapsed",
    "duration_s",
    "time",
    "cpu",
    "host",
    "started",
    "out",
    "report",
    "folder",
    "file",
    "path",
    "page",
    "files",
    "written",
    "address",
    "real_time",
    "realtime",
    "times",
    "milliseconds",
    "took_s",
    "planning_s",
    "ns",
}
TIMES = re.compile(r"\d[\d.,]*(e[-+]?\d+)?(?=\s?(ns|µs|ms|s|min|h|×|kHz|Hz)\b)|\d{4}-\d\d-\d\d[T ][\d:.+Z]*")
ARMS = {"irb140": "irb140", "lola15dd": "rl15", "ur5": "ur5"}  # first word of a program's name → its robot
COMMANDS = {
    "robots": "robots --json",
    "show-ur5": "show ur5 --json",
    "show-irb140": "show irb140 --json",
    "check-ur5": "check ur5 --json",
    "compare": "compare ur5 --samples 5 --json",
    "count": "count ur5 --json",
    "count-docs": "count irb140 --documents --json",
    "export-c": "export ur5 --to c --what M",
    "export-latex": "export planar:RR --to latex --what M",
    "export-urdf": "export ur5 --to urdf",
    "export-mjcf": "export ur5 --to mjcf",
    "export-sheet": "export irb140 --to sheet",
    "simulate-ct": "simulate ur5 --duration 1 --seed 3 --json",
    "simulate-noise": "simulate ur5 --law pd_gravity --duration 0.5 --noise 1e-4,1e-3 --seed 3 --json",
    "collision-grid": "run collision --seed 1 --json",
    "collision-arm": "run collision --world bench --planner rrt-connect --seed 1 --json",
    "detection": "run detection --count 40 --seed 5 --jobs 1 --load none --json",
    "worlds": "run worlds --count 2 --seed 5 --jobs 1 --json",
    "excite": "excite ur5 --duration 5 --harmonics 2 --starts 1 --iterations 5 --seed 1 --json",
    **{f"reproduce-{number}": f"reproduce {number} --json" for number in ("000", "001", "002", "003", "004")},
    "report": "simulate ur5 --duration 0.2 --seed 3 --report run.html --json",
    "lab-example": "lab example made",
}
KINDS = {  # settings of small campaigns, one per kind
    "detection": 'robot = "ur5"',
    "isolation": 'robot = "ur5"',
    "montecarlo": 'robot = "ur5"',
    "worlds": 'robot = "ur5"',
}
FORMS = {"programs": ("mod", "irl", "ngc", "script", "src")}


def digest(text: str | bytes) -> str:
    """Return a short digest of a text."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()[:16]


def without_times(value: Any) -> Any:
    """Return parsed JSON without fields that hold times, places and versions, and with times in texts blanked."""
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if k.lower() not in BLANKED}
        return {k: without_times(v) for k, v in kept.items() if "second" not in k.lower() and "time" not in k.lower()}
    if isinstance(value, list):
        return [without_times(each) for each in value]
    return TIMES.sub("#", value) if isinstance(value, str) else value


def run_command(words: str, folder: str) -> dict[str, Any]:
    """Run a command in a folder; return exit code, digest of its output and of the files that it wrote."""
    environment = dict(os.environ, COLUMNS="120", NO_COLOR="1", TERM="dumb")
    started = time.time()
    done = subprocess.run(
        [*COMMAND, *words.split()], capture_output=True, text=True, cwd=folder, timeout=900, env=environment
    )
    try:
        text = json.dumps(without_times(json.loads(done.stdout)), sort_keys=True, indent=0)
    except ValueError:
        text = done.stdout
    text = text.replace(folder, "<folder>").replace(str(ROOT), "<root>")
    files = {}
    for path in sorted(Path(folder).rglob("*")):
        if path.suffix in (".html", ".md", ".txt", ".json", ".csv", ".py"):
            files[path.name] = digest(TIMES.sub("#", path.read_text(encoding="utf-8")).replace(folder, ""))
    kept = text if done.returncode == 0 else done.stderr.replace(folder, "<folder>").replace(str(ROOT), "<root>") + text
    return {
        "code": done.returncode,
        "digest": digest(kept),
        "files": files,
        "took": round(time.time() - started, 1),
        "text": kept[:200_000],
    }


def help_texts() -> dict[str, Any]:
    """Return the help of every command, as printed 120 columns wide."""
    from typer.main import get_command

    from armwright.cli.app import app

    os.environ["COLUMNS"] = "120"
    root = get_command(app)
    found: dict[str, Any] = {}

    def collect(command: Any, words: list[str]) -> None:
        found[" ".join(words)] = [f"{p.opts} {getattr(p, 'help', '')} {p.required}" for p in command.params]
        for name in getattr(command, "commands", {}):
            collect(command.commands[name], [*words, name])

    collect(root, [])
    return {f"help {name}": {"digest": digest(repr(rows)), "text": "\n".join(rows)} for name, rows in found.items()}


def kernels() -> dict[str, Any]:
    """Return the digests of the traced programs of every formulation on four arms."""
    import armwright as aw

    found = {}
    arms = {name: aw.load(name) for name in ("ur5", "irb140", "fr3")} | {"planar3": aw.planar("RRR")}
    for arm_name, arm in arms.items():
        for method, entry in aw.METHODS.items():
            for kind in ("inverse", "forward", "mass"):
                function = getattr(entry, kind, None)
                if function is None:
                    continue
                try:
                    traced = aw.compile(function, arm, **entry.options).program.digest
                except Exception as error:  # noqa: BLE001 - a refusal is behaviour too
                    traced = f"{type(error).__name__}: {error}"
                found[f"kernel {arm_name} {method} {kind}"] = {"digest": digest(str(traced))}
    return found


def public_names() -> dict[str, Any]:
    """Return what the package and its rooms export, and which packages importing loads."""
    import armwright as aw

    found = {"names armwright": {"text": " ".join(dir(aw))}}
    for room in sorted(path.parent.name for path in Path(aw.__file__).parent.glob("*/__init__.py")):
        module = importlib.import_module(f"armwright.{room}")
        found[f"names {room}"] = {"text": " ".join(sorted(getattr(module, "__all__", ())))}
    steps = {
        "import": "import armwright",
        "load": "import armwright as a; a.load('ur5')",
        "fk": "import armwright as a; a.fk(a.load('ur5'), [0]*6)",
    }
    for name, code in steps.items():
        script = f"{code}\nimport sys\nprint(' '.join(sorted({{m.split('.')[0] for m in sys.modules}})))"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        loaded = [word for word in done.stdout.split() if not word.startswith("_")]
        found[f"loaded by {name}"] = {"text": " ".join(loaded) + done.stderr}
    return {key: {"digest": digest(value["text"]), **value} for key, value in found.items()}


def _first(*places: str) -> Any:
    """Return the first of several ``module:name`` that exists: a file may have moved between two records."""
    for place in places:
        module, _, name = place.partition(":")
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            continue
    raise ImportError(places)


def _mutated(text: str, draw: random.Random) -> str:
    """Return a text with one to three random changes: cut, doubled, swapped, other characters, other numbers."""
    for _ in range(draw.randint(1, 3)):
        lines = text.splitlines()
        at, way = draw.randrange(max(len(lines), 1)), draw.randrange(7)
        if not lines:
            return text
        if way == 0:
            del lines[at]
        elif way == 1:
            lines.insert(at, lines[at])
        elif way == 2:
            lines[at] = lines[at][: draw.randrange(len(lines[at]) + 1)]
        elif way == 3:
            numbers = list(re.finditer(r"-?\d+\.?\d*", lines[at]))
            if numbers:
                spot = draw.choice(numbers)
                new = draw.choice(["nan", "-1", "1e400", "0", "x", '"a"', "[]", "99999"])
                lines[at] = lines[at][: spot.start()] + new + lines[at][spot.end() :]
        elif way == 4:
            words = re.findall(r"\w+", lines[at])
            if words:
                lines[at] = lines[at].replace(draw.choice(words), draw.choice(["frob", "", "7", "mass"]), 1)
        elif way == 5:
            spot = draw.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:spot] + draw.choice('<>"[]{}()=,;\0é') + lines[at][spot:]
        else:
            lines = lines[: at + 1]
        text = "\n".join(lines) + "\n"
    return text


def refusals(count: int = 300) -> dict[str, Any]:
    """Return what every reader says to `count` mutated files: class and text of the error, or that it was read."""
    import armwright as aw

    experiments = Path(aw.__file__).parent / "lab" / "experiment"
    read_experiment = _first(
        "armwright.lab.experiment.experiment_file:read_experiment", "armwright.lab.experiment.file:read_experiment"
    )
    to_urdf, to_mjcf = (_command_output(f"export ur5 --to {form}") for form in ("urdf", "mjcf"))
    sheets = Path(aw.__file__).parent / "catalogue"
    worlds = sorted(Path(aw.__file__).parent.rglob("*bench*.toml"))
    plan = (ROOT / "docs" / "campaigns" / "worlds-grid.toml").read_text(encoding="utf-8")
    stand = next(iter(sorted(experiments.rglob("*.toml"))), None)
    readers: dict[str, tuple[str, str, Any]] = {
        "urdf": (to_urdf, ".urdf", aw.load),
        "mjcf": (to_mjcf, ".xml", aw.load),
        "sheet": ((sheets / "irb140.toml").read_text(encoding="utf-8"), ".toml", aw.load),
        "plan": (plan, ".toml", aw.campaigns.read_plan),
    }
    if worlds:
        readers["world"] = (worlds[0].read_text(encoding="utf-8"), ".toml", aw.load_world)
    if stand:
        readers["experiment"] = (stand.read_text(encoding="utf-8"), ".toml", read_experiment)
    for path in sorted((ROOT / "examples" / "programs").glob("*")):
        readers[f"program {path.name}"] = (path.read_text(encoding="utf-8"), path.suffix, aw.read_program)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for path in experiments.rglob("*.txt"):  # what an experiment file names
            (Path(folder) / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
        for name, (text, suffix, read) in readers.items():
            draw, said = random.Random(f"behaviour {name}"), []
            for number in range(count):
                file = Path(folder) / f"case{number}{suffix}"
                file.write_text(_mutated(text, draw), encoding="utf-8")
                try:
                    read(file)
                    said.append("read")
                except Exception as error:  # noqa: BLE001 - which error it is, is what is recorded
                    said.append(f"{type(error).__name__}: {error}".replace(folder, ""))
                file.unlink()
            found[f"refusals {name}"] = {"digest": digest("\n".join(said)), "text": "\n".join(said)}
    return found


def _command_output(words: str) -> str:
    return subprocess.run([*COMMAND, *words.split()], capture_output=True, text=True, check=True).stdout


def campaigns() -> dict[str, Any]:
    """Run eight items of each small kind; return the digest of its rows as its own `verify` tells it."""
    found = {}
    for kind, settings in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            plan = Path(folder) / "plan.toml"
            plan.write_text(f'kind = "{kind}"\nitems = 8\nseed = 4\n[settings]\n{settings}\n', encoding="utf-8")
            ran = run_command("campaign run plan.toml --engine serial --out store --json", folder)
            checked = run_command("campaign verify store --json", folder)
            asked = run_command("campaign report store --json", folder)
            found[f"campaign {kind}"] = {
                "digest": digest(ran["text"] + checked["text"] + asked["text"]),
                "text": ran["text"] + checked["text"] + asked["text"],
            }
    return found


def programs() -> dict[str, Any]:
    """Every example program run on its robot, and written back in every language."""
    import armwright as aw

    found: dict[str, Any] = {}
    for path in sorted((ROOT / "examples" / "programs").glob("*")):
        robot = ARMS[path.name.split("_")[0].split(".")[0]]
        with tempfile.TemporaryDirectory() as folder:
            found[f"program {path.name}"] = run_command(f"run program {path} --robot {robot} --json", folder)
            for suffix in FORMS["programs"]:
                target = Path(folder) / f"again.{suffix}"
                try:
                    aw.write_program(aw.read_program(path), target)
                    text = target.read_text(encoding="utf-8")
                except Exception as error:  # noqa: BLE001
                    text = f"{type(error).__name__}: {error}".replace(folder, "")
                found[f"written {path.name} {suffix}"] = {"digest": digest(text), "text": text}
    return found


def lab_ticks(count: int = 200) -> dict[str, Any]:
    """Return what the virtual arm publishes over its first ticks."""
    import numpy as np

    import armwright as aw

    plant_of = _first("armwright.lab.lab_plant:LabPlant", "armwright.lab.lab_plant:Plant", "armwright.lab.plant:Plant")
    robot = aw.load("ur5")
    try:
        goal = np.array([0, -1.5, 1.2, -1.0, -1.5, 0.0])
        plant = plant_of(robot, q0=goal, current_noise=0.01, seed=3)
        seen = []
        for tick in range(count):
            plant.step(goal + 1e-4 * tick, np.full(6, 0.05), np.zeros(6))
            seen += [np.concatenate([np.ravel(each) for each in plant.look()]), plant.measured_current()]
        text = digest(b"".join(np.asarray(each, float).tobytes() for each in seen))
    except Exception as error:  # noqa: BLE001
        text = f"{type(error).__name__}: {error}"
    return {"lab ticks": {"digest": text}}


def record(target: str, only: str = "") -> None:
    """Write a record; `only` names parts, separated by commas."""
    parts = {
        "names": public_names,
        "help": help_texts,
        "kernels": kernels,
        "lab": lab_ticks,
        "refusals": refusals,
        "programs": programs,
        "campaigns": campaigns,
    }
    chosen = only.split(",") if only else [*parts, "commands"]
    found: dict[str, Any] = {}
    for name in chosen:
        if name == "commands":
            for label, words in COMMANDS.items():
                with tempfile.TemporaryDirectory() as folder:
                    found[label] = run_command(words, folder)
                print(label, found[label]["code"], found[label]["took"], flush=True)
        else:
            try:
                found |= parts[name]()
            except Exception as error:  # noqa: BLE001 - the other parts are recorded all the same
                found[name] = {"digest": f"{type(error).__name__}: {error}"}
            print(name, flush=True)
        Path(target).write_text(json.dumps(found, indent=1), encoding="utf-8")


def compare(before: str, after: str) -> int:
    """Print what differs between two records; return how many entries do."""
    a, b = (json.loads(Path(name).read_text(encoding="utf-8")) for name in (before, after))
    different = 0
    for key in sorted({*a, *b}):
        x, y = a.get(key, {}), b.get(key, {})
        if all(x.get(part) == y.get(part) for part in ("code", "digest", "files")):
            continue
        different += 1
        print("DIFFERS", key, x.get("code"), y.get("code"), x.get("files") if x.get("files") != y.get("files") else "")
        old, new = str(x.get("text", x.get("digest"))).splitlines(), str(y.get("text", y.get("digest"))).splitlines()
        lines = [f"   {o[:160]}\n → {n[:160]}" for o, n in zip(old, new, strict=False) if o != n]
        print("\n".join(lines[:3]), f"({len(lines)} lines differ, {len(old)} → {len(new)})")
    print(f"{different} of {len({*a, *b})} differ")
    return different


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"] and len(sys.argv) in (3, 4):
        record(*sys.argv[2:])
    elif sys.argv[1:2] == ["compare"] and len(sys.argv) == 4:
        sys.exit(min(compare(*sys.argv[2:]), 1))
    else:
        sys.exit(__doc__)
