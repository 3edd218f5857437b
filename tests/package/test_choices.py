# SPDX-License-Identifier: Apache-2.0
"""One table per choice: it feeds code, help texts, studio, docs and refusals, and other packages add to it."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import distributions
from typing import get_args

import pytest

import armwright as aw
from armwright import choices
from armwright.choices import TABLES, ChoiceEntry, Choices
from armwright.cli import main
from armwright.cli.option_words import names_of
from armwright.errors import InputError
from support.places import ROOT

NAMED = [(table, name) for table in TABLES.values() for name in table]


@pytest.mark.parametrize("title", TABLES)
def test_every_name_leads_to_something(title):
    table = TABLES[title]
    assert len(set(table.names)) == len(table.names) == len(table) > 1
    for name in table:
        found, entry = table.find(name), table.entries[name]
        assert found is table[name]
        assert (found == name) == (not entry.place)
        assert entry.help and "\n" not in entry.help


def test_groups_and_nouns_are_told_apart():
    groups = [table.group for table in TABLES.values() if table.group]
    assert len(set(groups)) == len(groups)
    assert all(re.fullmatch(r"armwright\.[a-z_]+", group) for group in groups)
    assert len({table.noun for table in TABLES.values()}) == len(TABLES)


def test_rooms_use_the_tables_under_their_public_names():
    from armwright import control, planning, simulation
    from armwright.campaigns import kind
    from armwright.programs.languages import LANGUAGES

    assert control.LAWS is choices.LAWS
    assert planning.GRID_PLANNERS is choices.GRID_PLANNERS
    assert planning.JOINT_PLANNERS is choices.JOINT_PLANNERS
    assert simulation.INTEGRATORS is choices.INTEGRATORS
    assert simulation.FRICTIONS is choices.FRICTIONS
    assert kind.KINDS is choices.KINDS
    assert tuple(language.name for language in LANGUAGES) == choices.LANGUAGES.names
    assert {name: found.name for name, found in choices.INTEGRATORS.items()} == {n: n for n in choices.INTEGRATORS}
    assert {name: found.name for name, found in choices.KINDS.items()} == {n: n for n in choices.KINDS}


def test_tables_import_nothing_that_they_list():
    code = "import sys, armwright.choices; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    ).stdout.split()
    ours = {name for name in loaded if name.startswith("armwright")}
    assert ours == {"armwright", "armwright.choices", "armwright.errors"}
    assert "numpy" not in loaded and "importlib.metadata" not in loaded


def listed_in(text: str) -> list[str]:
    """Names of a list in words: "a (remark), b or c" → a, b, c."""
    plain = re.sub(r"\([^)]*\)", "", text)
    return [word.strip() for word in re.split(r",| or ", plain)]


HELP = {  # command, option, table; what stands around the list
    ("simulate", "--law"): (choices.LAWS, r"Control law: (.*)\."),
    ("simulate", "--integrator"): (choices.INTEGRATORS, r"(.*)\."),
    ("simulate", "--friction-model"): (choices.FRICTIONS, r"In place of the arm's own: (.*)\."),
    ("simulate", "--out"): (choices.FORMATS, r"Recording: (.*)\."),
    ("run collision", "--observer"): (choices.OBSERVERS, r"(.*)\."),
    ("run collision", "--detector"): (choices.DETECTORS, r"(.*); the observer's own by default\."),
    ("run collision", "--planner"): (choices.GRID_PLANNERS, r"On maps: (.*)\. In joint space.*"),
    ("run collision", "--planner "): (choices.JOINT_PLANNERS, r".*with the whole arm: (.*)\."),
    ("run collision", "--reaction"): (choices.REACTIONS, r"To a contact: (.*)\."),
    ("run program", "--language"): (choices.LANGUAGES, r"Of a robot program: (.*); by the file's suffix.*"),
    ("run program", "--csv"): (choices.FORMATS, r"The cycles: (.*)\."),
    ("show-program", "--language"): (choices.LANGUAGES, r"Of a robot program: (.*); by the file's suffix.*"),
    ("campaign run", "--engine"): (choices.ENGINES, r"(.*)\."),
    ("campaign resume", "--engine"): (choices.ENGINES, r"(.*)\."),
    ("lab serve", "--ft-sensor"): (choices.FORCE_SENSORS, r"What it presents itself as: (.*)\."),
}


@pytest.mark.parametrize("place", HELP, ids=" ".join)
def test_help_texts_list_the_tables(place):
    import typer

    from armwright.cli.app import app

    command = typer.main.get_command(app)
    for word in place[0].split():
        command = command.commands[word]
    option = next(each for each in command.params if place[1].strip() in each.opts)
    table, frame = HELP[place]
    words = [word.replace("back-off", "back off") for word in listed_in(re.fullmatch(frame, option.help)[1])]
    assert words == list(table.names)


def test_programs_are_listed_by_their_titles(capsys):
    assert main(["run", "program", "--help"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"Robot program: {names_of(choices.LANGUAGES, titles=True)}." in out
    assert names_of(choices.LANGUAGES, titles=True) == "L-IRL, URScript, RAPID, KRL or G-code"


def ordered(**words):
    """Read an order of the studio's page."""
    from armwright.schema.checks import read_message
    from armwright.studio.orders import EXPLORE_ORDERS

    order = {"do": "explore", "observers": [], "reactions": [], "duration": 5.0, **words}
    return read_message(json.dumps(order), {"explore": EXPLORE_ORDERS["explore"][0]})[2]


def test_the_studio_lists_the_tables():
    from armwright.exploration.explore_options import Reaction
    from armwright.studio import orders, pulled_arm

    for key, table in (("observers", choices.OBSERVERS), ("reactions", choices.REACTIONS)):
        assert list(ordered(**{key: list(table.names)})[key]) == list(table.names)
        with pytest.raises(InputError) as refused:
            ordered(**{key: ["nothing"]})
        assert ", ".join(table.names) in str(refused.value)
    with ThreadPoolExecutor(1) as pool:  # a browser's driver may have a loop running in this thread
        page = pool.submit(lambda: asyncio.run(orders.list_worlds(None, None))).result()  # neither is asked
    assert page["observers"] == list(choices.OBSERVERS.all_names())
    assert page["reactions"] == list(choices.REACTIONS)
    assert pulled_arm.LAWS[:2] == ("computed torque", "PD + gravity")
    assert set(get_args(Reaction)) == set(choices.REACTIONS)


def test_studies_choose_among_the_tables():
    from armwright.detection import detection_settings
    from armwright.detection.detection_presets import preset

    assert set(detection_settings.OBSERVERS) < set(choices.OBSERVERS)
    assert tuple(preset("torque").observers()) == detection_settings.OBSERVERS
    assert choices.STUDY_DETECTORS.names == detection_settings.DETECTORS
    with pytest.raises(KeyError, match="'moment' is not one of closed-loop"):
        choices.OBSERVERS.some("moment")


DOCS = {  # page, where its list begins, the table
    ("docs/howto/explore.md", "| `Sensing(observer)` |"): choices.OBSERVERS,
    ("docs/howto/explore.md", "| `Sensing(detector)` |"): choices.DETECTORS,
    ("docs/howto/explore.md", "| `reaction` |"): choices.REACTIONS,
    ("docs/howto/campaigns.md", "| kind | an item is | rows say |"): choices.KINDS,
    ("docs/loop.md", "| name | order | for |"): choices.INTEGRATORS,
}


@pytest.mark.parametrize("place", DOCS, ids=" ".join)
def test_pages_list_the_tables(place):
    text = (ROOT / place[0]).read_text(encoding="utf-8").partition(place[1])[2]
    lines = text.partition("\n\n")[0].splitlines()
    cells = lines[:1] if lines[0] else [line.split("|")[1] for line in lines[2:]]
    found = set(re.findall(r"`([a-z0-9 -]+)`", "\n".join(cells)))
    assert found == set(DOCS[place])


def test_the_page_on_planners_has_all_of_them():
    text = (ROOT / "docs/howto/explore.md").read_text(encoding="utf-8").partition("| `planner` |")[2].splitlines()[0]
    assert set(re.findall(r"`([a-z-]+)`", text)) == {*choices.GRID_PLANNERS, *choices.JOINT_PLANNERS}


def test_the_page_of_choices_is_made_from_the_tables(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import make_choices

    text = make_choices.PAGE.read_text(encoding="utf-8")
    assert text == make_choices.page(text), "run python docs/make_choices.py"
    groups = re.findall(r"^\| `(armwright\.\w+)` \|", text, re.M)
    assert groups == [table.group for table in TABLES.values() if table.group]
    sys.modules.pop("make_choices")


def test_the_page_of_script_functions_is_made_from_their_table(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import make_urscript

    text = make_urscript.PAGE.read_text(encoding="utf-8")
    assert text == make_urscript.page(text), "run python docs/make_urscript.py"
    sys.modules.pop("make_urscript")


REFUSALS = {
    "law": (choices.LAWS, lambda: main(["simulate", "planar2", "--law", "nothing"])),
    "observer": (choices.OBSERVERS, lambda: aw.explore("ur5", "A", sensing=sensing(observer="nothing"))),
    "detector": (choices.DETECTORS, lambda: aw.explore("ur5", "A", sensing=sensing(detector="nothing"))),
    "planner on a map": (choices.GRID_PLANNERS, lambda: aw.explore("ur5", "A", planner="nothing")),
    "planner in joint space": (choices.JOINT_PLANNERS, lambda: aw.explore("ur5", "A", planner="nothing")),
    "planner": (choices.GRID_PLANNERS, lambda: planner("nothing")),
    "reaction": (choices.REACTIONS, lambda: aw.explore("ur5", "A", reaction="nothing")),
    "language": (choices.LANGUAGES, lambda: aw.read_program("x\n", language="nothing")),
    "integrator": (choices.INTEGRATORS, lambda: aw.simulate(aw.load("planar2"), integrator="nothing", duration=0.1)),
    "format": (choices.FORMATS, lambda: aw.Recording.load("run.nothing")),
    "kind": (choices.KINDS, lambda: find_kind("nothing")),
}


def sensing(**words):
    from armwright.exploration import Sensing

    return Sensing(**words)


def planner(name):
    from armwright.planning import planner

    return planner(name)


def find_kind(name):
    from armwright.campaigns.kind import find_kind

    return find_kind(name)


@pytest.mark.parametrize("choice", REFUSALS)
def test_refusals_list_the_table_in_its_order(choice, capsys):
    table, call = REFUSALS[choice]
    try:
        assert call() == 2
        said = capsys.readouterr().err
    except InputError as error:
        said = str(error)
    assert "nothing" in said
    assert ", ".join(table.names) in " ".join(said.split())


# ------------------------------------------------------------------------------------------------ plug-ins

LAW = '''
from armwright.contact.observers import momentum_observer
from armwright.control import pd

def soft_pd(kp, kd):
    """PD at half the stiffness."""
    return pd(0.5 * kp, kd)

def with_arm(robot, kp, kd):
    """A law that wants to know the arm."""
    assert robot.n == 2
    return pd(kp, kd)

def quick(options):
    return momentum_observer(options.rate / 5.0)
'''
POINTS = """
[armwright.laws]
soft_pd = their_arms:soft_pd
with_arm = their_arms:with_arm
pd = their_arms:soft_pd
missing = their_arms:nothing
damaged = their_arms.no_module:law

[armwright.observers]
quick = their_arms:quick
"""


def install(folder, name: str, points: bytes | str) -> None:
    """Put a package into a folder as an installer would."""
    made = folder / f"{name}-2.5.dist-info"
    made.mkdir()
    (made / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.5\n", encoding="utf-8")
    (made / "entry_points.txt").write_bytes(points if isinstance(points, bytes) else points.encode())


@pytest.fixture
def plug_ins(tmp_path, monkeypatch):
    (tmp_path / "their_arms.py").write_text(LAW, encoding="utf-8")
    install(tmp_path, "their-arms", POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("their_arms", None)


def test_a_law_of_another_package(plug_ins, capsys):
    command = ["simulate", "planar2", "--duration", "0.05", "--json"]
    assert main([*command, "--law", "soft_pd", "--gain", "kp=8", "--gain", "kd=2"]) == 0
    assert json.loads(capsys.readouterr().out)["gains"]["kp"] == 4.0
    assert main([*command, "--law", "with_arm"]) == 0
    capsys.readouterr()
    assert main(["simulate", "planar2", "--law", "nothing"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "sliding_mode, adaptive, damaged, missing, soft_pd, with_arm" in said


def test_an_observer_of_another_package(plug_ins, capsys):
    command = ["run", "collision", "--world", "A", "--duration", "0.3", "--detector", "norm", "--json"]
    main([*command, "--observer", "quick"])
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert settings["observer"] == "momentum"
    assert main([*command, "--observer", "nothing"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"observer must be one of {', '.join(choices.OBSERVERS)}, quick, or monitors" in said


def test_help_and_studio_list_what_other_packages_add(plug_ins, monkeypatch):
    assert choices.LAWS.help["soft_pd"] == "plug-in of their-arms 2.5"
    assert choices.LAWS.help["pd"] == choices.LAWS.entries["pd"].help
    assert "quick" not in names_of(choices.OBSERVERS)
    monkeypatch.setattr(sys, "argv", ["armwright", "run", "collision", "--help"])
    assert names_of(choices.OBSERVERS).endswith("scaled-error or quick")
    assert list(ordered(observers=["quick"])["observers"]) == ["quick"]


def test_what_comes_with_armwright_cannot_be_replaced(plug_ins):
    from armwright.control import pd

    assert choices.LAWS.find("pd") is pd
    assert choices.LAWS.all_names().count("pd") == 1


def test_a_broken_plug_in_is_named_and_leaves_the_others_alone(plug_ins):
    install(plug_ins, "torn-arms", b"[armwright.laws]\nthis is no entry point\n\xff\xfe")
    for name, reason in (("missing", "AttributeError"), ("damaged", "ModuleNotFoundError")):
        with pytest.raises(InputError, match=f"law '{name}': the plug-in their_arms.* of their-arms 2.5 .*{reason}"):
            choices.LAWS.find(name)
    assert choices.LAWS.find("soft_pd")(2.0, 1.0).gains["kp"] == 1.0
    with pytest.raises(InputError, match=r"adaptive, .*soft_pd.*the plug-ins of torn-arms.* cannot be read"):
        choices.LAWS.find("nothing")


def test_names_that_exist_ask_nobody(monkeypatch):
    import importlib.metadata

    def asked():
        raise AssertionError("installed packages were asked")

    monkeypatch.setattr(importlib.metadata, "distributions", asked)
    for table, name in NAMED:
        assert table.knows(name) and name in table
        table.check(name)
        table.find(name)
    assert not choices.REACTIONS.knows("nothing")  # nothing can be added there
    with pytest.raises(AssertionError, match="were asked"):
        choices.LAWS.knows("nothing")


def test_packages_that_add_nothing_are_not_asked_what_they_are_called(plug_ins, monkeypatch):
    """Name and version of every installed package take seconds to read, and `--help` lists a dozen tables."""
    asked = []

    def watched(kind):
        read = kind.read_text

        def seen(self, name):
            asked.append((self._path.name, name))
            return read(self, name)

        return seen

    for kind in {type(found) for found in distributions()}:  # another package may have put finders of its own in place
        monkeypatch.setattr(kind, "read_text", watched(kind))
    assert choices.LAWS.help["soft_pd"] == "plug-in of their-arms 2.5"
    assert {folder for folder, name in asked if name == "METADATA"} <= {"their-arms-2.5.dist-info"}
    assert len({folder for folder, name in asked if name == "entry_points.txt"}) > 1


@pytest.mark.parametrize("name", [None, 3, "", "PD", ["pd"]])
def test_other_things_are_no_names(name):
    table = Choices("colour", {"red": ChoiceEntry("like blood"), "blue": ChoiceEntry("like the sky", title="Blue")})
    assert not table.knows(name)
    with pytest.raises(InputError, match="colour must be one of red, blue; got"):
        table.find(name)
    assert (table.title("red"), table.title("blue"), table.find("red")) == ("red", "Blue", "red")
