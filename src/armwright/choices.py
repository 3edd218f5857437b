# SPDX-License-Identifier: Apache-2.0
"""Everything that is chosen by name: one table per choice, which feeds code, command line, studio, docs and refusals.

A table maps a name to a place (``module:object``) that is imported when the name is first used: this file is read at
every start and imports nothing of what it lists. Other packages add names by entry points, one group per table::

    [project.entry-points."armwright.laws"]
    my_law = "my_package.laws:my_law"

Entry points are looked up only where a name is not in the table, and where all names are asked for. What comes with
Armwright goes first; a plug-in that cannot be loaded is named in the refusal and does no harm to the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from armwright.errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

Refuse = Callable[[str], Exception]
"""From the valid names, as text, to the error to be raised."""


@dataclass(frozen=True, slots=True)
class ChoiceEntry:
    """One choice.

    Attributes:
        help: one line for people.
        place: ``module:object`` or ``module`` of what stands behind the name; empty where the name is all there is.
        document: which of the five documents it is from, with the section; empty for none of them.
        title: for labels; the name where empty.
    """

    help: str
    place: str = ""
    document: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class PlugIn:
    """A choice that another package adds: the package with its version, and the entry point."""

    package: str
    point: EntryPoint

    def load(self, noun: str) -> Any:
        """Import it.

        Raises:
            InputError: naming the plug-in, its package and what is wrong with it.
        """
        try:
            return self.point.load()
        except Exception as error:  # somebody else's code may do anything
            raise InputError(
                f"{noun} {self.point.name!r}: the plug-in {self.point.value} of {self.package} cannot be loaded: "
                f"{type(error).__name__}: {error}"
            ) from error


def _package_of(distribution: Distribution) -> str:
    """Return name and version."""
    name = str(distribution.metadata["Name"] or "a package without a name")
    try:
        return f"{name} {distribution.version}"
    except Exception:  # noqa: BLE001 - damaged metadata; the name alone is enough
        return name


class Choices(Mapping[str, Any]):
    """The names of one choice, in the order in which they are listed, and what stands behind them.

    As a mapping it has what comes with Armwright: ``LAWS["pd"]``, ``for name in LAWS``. `knows`, `find`, `all_names`
    and `listed` have the plug-ins, too.
    """

    def __init__(self, noun: str, entries: Mapping[str, ChoiceEntry], group: str = "") -> None:
        """Make a table; `noun` is for refusals, `group` that of the entry points, empty if nothing can be added."""
        self.noun, self.entries, self.group = noun, dict(entries), group
        self._objects: dict[str, Any] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """What comes with Armwright."""
        return tuple(self.entries)

    @property
    def help(self) -> dict[str, str]:
        """One line for every name, plug-ins included."""
        own = {name: entry.help for name, entry in self.entries.items()}
        return own | {name: f"plug-in of {plug_in.package}" for name, plug_in in self.plug_ins()[0].items()}

    def __getitem__(self, name: str) -> Any:
        """Import what stands behind a name of Armwright's own; the name itself where nothing does."""
        if name not in self._objects:
            module, _, attribute = self.entries[name].place.partition(":")
            found = import_module(module) if module else name
            self._objects[name] = getattr(found, attribute) if attribute else found
        return self._objects[name]

    def __contains__(self, name: object) -> bool:
        """Whether Armwright itself has the name; nothing is imported."""
        return name in self.entries

    def __iter__(self) -> Iterator[str]:
        """Go through Armwright's own names."""
        return iter(self.entries)

    def __len__(self) -> int:
        """Count Armwright's own names."""
        return len(self.entries)

    def __repr__(self) -> str:
        """Return noun and names."""
        return f"Choices({self.noun!r}: {', '.join(self.entries)})"

    def title(self, name: str) -> str:
        """Return the label of a name; the name itself where it has none."""
        return (self.entries[name].title if name in self.entries else "") or name

    def some(self, *names: str) -> tuple[str, ...]:
        """Return a choice among Armwright's own names, in another order; a name that is not in the table is a fault."""
        missing = [name for name in names if name not in self.entries]
        if missing:
            raise KeyError(f"{self.noun}: {missing[0]!r} is not one of {', '.join(self.entries)}")
        return names

    def plug_ins(self) -> tuple[dict[str, PlugIn], list[str]]:
        """Return what other packages add, by name, and a sentence per package whose entry points cannot be read."""
        if not self.group:
            return {}, []
        from importlib.metadata import distributions  # slow to import, and seldom needed

        found: dict[str, PlugIn] = {}
        unreadable = []
        for distribution in distributions():  # reading what a package is called takes far longer than its entry points
            try:
                points = distribution.entry_points.select(group=self.group)
                package = _package_of(distribution) if points else ""
            except Exception as error:  # noqa: BLE001 - a damaged package must not break the others
                said = f"{type(error).__name__}: {error}"
                unreadable.append(f"the plug-ins of {_package_of(distribution)} cannot be read: {said}")
                continue
            added = {point.name: PlugIn(package, point) for point in points}
            found = {**added, **found}  # the first on the path wins, as with imports
        return {name: found[name] for name in sorted(found) if name not in self.entries}, sorted(unreadable)

    def all_names(self) -> tuple[str, ...]:
        """Armwright's own names, then those of the plug-ins."""
        return (*self.entries, *self.plug_ins()[0])

    def listed(self) -> str:
        """All names for a refusal, with what is wrong with packages whose plug-ins cannot be read."""
        return self._listed(*self.plug_ins())

    def _listed(self, found: Mapping[str, PlugIn], unreadable: list[str]) -> str:
        names = ", ".join([*self.entries, *found])
        return f"{names} ({'; '.join(unreadable)})" if unreadable else names

    def knows(self, name: object) -> bool:
        """Whether there is such a choice, plug-ins included; nothing is imported."""
        return isinstance(name, str) and (name in self.entries or name in self.plug_ins()[0])

    def check(self, name: object, refuse: Refuse | None = None) -> None:
        """Refuse a name that does not exist; `refuse` makes the error from the names that do."""
        self._plug_in(name, refuse)

    def find(self, name: str, refuse: Refuse | None = None) -> Any:
        """Return what stands behind a name, plug-ins included; arguments as in `check`."""
        plug_in = self._plug_in(name, refuse)
        return self[name] if plug_in is None else plug_in.load(self.noun)

    def _plug_in(self, name: object, refuse: Refuse | None) -> PlugIn | None:
        """Return the plug-in behind a name, None for one of Armwright's own."""
        if isinstance(name, str) and name in self.entries:
            return None
        found, unreadable = self.plug_ins()
        if isinstance(name, str) and name in found:
            return found[name]
        valid = self._listed(found, unreadable)
        raise refuse(valid) if refuse else InputError(f"{self.noun} must be one of {valid}; got {name!r:.60}")


def _at(room: str, module: str, name: str, text: str, document: str = "", title: str = "") -> ChoiceEntry:
    """Return an entry of a function or class in one of Armwright's own modules."""
    return ChoiceEntry(text, f"armwright.{room}.{module}:{name}", document, title)


LAWS = Choices(
    "law",
    {
        "zero": _at("control", "simple_laws", "zero", "no torque"),
        "damping": _at("control", "simple_laws", "damping", "viscous damping of the joints", "000 section 3.3.1"),
        "constant": _at(
            "control", "simple_laws", "constant", "the same torque at every instant: open loop", "002 eq. 5.18"
        ),
        "pd": _at("control", "pd", "pd", "proportional and derivative, each joint by itself", "002 eq. 5.19"),
        "pid": _at("control", "pid", "pid", "PD with an integral that does not wind up", "002 section 2.10"),
        "pd_gravity": _at(
            "control", "pd_gravity", "pd_gravity", "PD with gravity compensation", "003 eq. 20", "PD + gravity"
        ),
        "computed_torque": _at(
            "control",
            "computed_torque",
            "computed_torque",
            "inverse dynamics in joint space",
            "000 eq. 4.1, 4.4",
            "computed torque",
        ),
        "task_space": _at("control", "task_space", "task_space", "inverse dynamics in task space", "004 eq. 2.77"),
        "feedforward": _at("control", "simple_laws", "feedforward", "the reference's own torque, with PD"),
        "impedance": _at("control", "impedance", "impedance", "the tool as a spring and a damper"),
        "admittance": _at("control", "admittance", "admittance", "follows and exerts forces", "000 section 8.1"),
        "lyapunov_redesign": _at(
            "control",
            "lyapunov_redesign",
            "lyapunov_redesign",
            "computed torque, robust against a bounded model error",
            "002 assignment 4",
        ),
        "sliding_mode": _at(
            "control", "sliding_mode", "sliding_mode", "sliding mode with a boundary layer", "002 assignment 4"
        ),
        "adaptive": _at("control", "adaptive", "adaptive", "Slotine and Li: learns the inertia as it goes"),
    },
    "armwright.laws",
)
"""Function of gains → `Law`; one that begins with an argument ``robot`` is given the controller's arm as well."""

OBSERVERS = Choices(
    "observer",
    {
        "closed-loop": _at("contact", "monitor_makers", "closed_loop", "tracking error times inertia", "000 eq. 5.8"),
        "momentum": _at("contact", "monitor_makers", "momentum", "generalised momentum, first-order lag"),
        "kalman": _at("contact", "monitor_makers", "kalman", "generalised momentum, steady Kalman gain"),
        "disturbance": _at("contact", "monitor_makers", "disturbance", "differentiated speed, first-order lag"),
        "scaled-error": _at("contact", "monitor_makers", "scaled_error", "tracking error times a constant", "000"),
    },
    "armwright.observers",
)
"""Function of `ObserverOptions` → monitor with the output ``tau_ext``."""

DETECTORS = Choices(
    "detector",
    {
        "norm": _at("contact", "monitor_makers", "norm", "the tool's force exceeds 12 N", "000 eq. 5.9"),
        "adaptive": _at("contact", "monitor_makers", "adaptive", "learned thresholds that follow speed and gravity"),
        "joints": _at("contact", "monitor_makers", "joints", "learned thresholds, one per joint"),
        "cusum": _at("contact", "monitor_makers", "cusum", "cumulated excess over what was learned"),
    },
    "armwright.detectors",
)
"""Function of the learned `ThresholdFit` → monitor; one without an argument needs nothing learned."""

STUDY_DETECTORS = Choices(
    "detector of a study",
    {
        "absolute": _at(
            "contact.detectors", "adaptive_threshold", "adaptive_detector", "thresholds that follow speed and gravity"
        ),
        "two-speed": _at("contact.detectors", "two_speed", "two_speed_detector", "changes, quick ones and slow ones"),
        "doubt": _at(
            "contact.doubt", "doubting_detector", "doubting_detector", "what load and friction do not explain"
        ),
    },
)
"""Their names are columns of result files, so that nothing can be added."""

ARTEFACTS = Choices(
    "form of an artefact",
    {
        "c": _at(
            "simulation.artefact", "c_artefact", "C_FORM", "C99: a header, a source, and a program that checks them"
        ),
        "fmu": _at("simulation.artefact", "fmu_artefact", "FMU_FORM", "a functional mock-up unit, FMI 3.0 or 2.0"),
        "numpy": _at("simulation.artefact", "numpy_artefact", "NUMPY_FORM", "a Python module that needs NumPy only"),
        "wasm": _at("simulation.artefact", "wasm_artefact", "WASM_FORM", "WebAssembly, and a module that opens it"),
    },
)
"""What a controller, or a controller with its arm, is exported as: a `Form`."""

GRID_PLANNERS = Choices(
    "planner on a map",
    {
        "hopfield": _at("planning.grid", "hopfield", "Hopfield", "Hopfield network", "000"),
        "hopfield-sum": _at("planning.grid", "hopfield", "hopfield_sum", "the same, summing its neighbours", "000"),
        "dijkstra": _at("planning.grid", "grid_search", "Dijkstra", "shortest way"),
        "astar": _at("planning.grid", "grid_search", "AStar", "shortest way, drawn to the goal"),
    },
    "armwright.grid_planners",
)
"""Called without arguments → `GridPlanner`."""

JOINT_PLANNERS = Choices(
    "planner in joint space",
    {
        "rrt-connect": _at("planning.joint", "rrt_connect", "RRTConnect", "two random trees that meet"),
        "ompl": _at("planning.joint", "ompl_connect", "OMPLConnect", "the same by OMPL"),
        "ompl-rrt-connect": _at("planning.joint", "ompl_connect", "OMPLConnect", "another name of ompl"),
    },
    "armwright.joint_planners",
)
"""Called with ``seed`` → `JointPlanner`."""

REACTIONS = Choices(
    "reaction",
    {
        "back off": ChoiceEntry("back along the way that was driven", document="000"),
        "retract": ChoiceEntry("away along the force"),
        "slide": ChoiceEntry("along the surface"),
        "stop": ChoiceEntry("the run ends at the first contact"),
    },
)
"""To a contact. The run itself knows them: nothing can be added."""

LANGUAGES = Choices(
    "language",
    {
        "l-irl": _at("programs", "languages", "L_IRL", "the Lola Industrial Robot Language", "001", "L-IRL"),
        "urscript": _at("programs", "languages", "URSCRIPT", "Universal Robots", title="URScript"),
        "rapid": _at("programs", "languages", "RAPID", "ABB", title="RAPID"),
        "krl": _at("programs", "languages", "KRL", "KUKA", title="KRL"),
        "g-code": _at("programs", "languages", "G_CODE", "machine tools", title="G-code"),
    },
    "armwright.languages",
)
"""`Language` of robot programs."""

KINDS = Choices(
    "kind",
    {
        "bootstrap": _at("campaigns.kinds", "bootstrap_kind", "KIND", "an identification from logs drawn again"),
        "detection": _at("campaigns.kinds", "detection_kind", "KIND", "a run of an arm that is not as declared"),
        "isolation": _at("campaigns.kinds", "isolation_kind", "KIND", "a push on a known link"),
        "learning": _at("campaigns.kinds", "learning_kind", "KIND", "thresholds learned and judged"),
        "montecarlo": _at("campaigns.kinds", "montecarlo_kind", "KIND", "an unknown payload and friction"),
        "programs": _at("campaigns.kinds", "programs_kind", "KIND", "a robot program with another load and speed"),
        "worlds": _at("campaigns.kinds", "worlds_kind", "KIND", "a random world explored"),
    },
    "armwright.kinds",
)
"""`Kind` of campaigns: what one item is."""

ENGINES = Choices(
    "engine",
    {
        "serial": _at("campaigns", "campaign_run", "serial", "this process"),
        "processes": _at("campaigns.engines", "processes", "processes", "this machine"),
        "dask": _at("campaigns.engines", "dask_engine", "dask", "several hosts"),
    },
    "armwright.engines",
)
"""Function (store, chunks, workers, *, mixed) → iterator of `Chunk`, in any order."""

INTEGRATORS = Choices(
    "integrator",
    {
        "rk4": _at("simulation", "integrators", "RK4", "order 4: smooth loops that are not stiff"),
        "semi-implicit": _at("simulation", "integrators", "SEMI_IMPLICIT", "order 1: dry friction that sticks"),
        "dopri5": _at("simulation", "integrators", "DOPRI5", "order 5, adaptive: a given accuracy in few steps"),
        "rodas3": _at("simulation", "integrators", "RODAS3", "order 3, linearly implicit: stiff loops"),
        "rodas3-adaptive": _at("simulation", "integrators", "RODAS3_ADAPTIVE", "the same to a given accuracy"),
    },
    "armwright.integrators",
)
"""`Integrator` of `simulate`."""

FRICTIONS = Choices(
    "friction",
    {
        "none": _at("simulation", "friction_models", "Frictionless", "no friction at all"),
        "stribeck": _at("simulation", "friction_models", "Stribeck", "dry friction that falls with speed"),
        "karnopp": _at(
            "simulation", "karnopp_friction", "Karnopp", "holds joints in a zone of small speeds", "004 eq. 3.15"
        ),
        "lugre": _at("simulation", "bristle_friction", "LuGre", "bristles that bend before they slide"),
        "dahl": _at("simulation", "bristle_friction", "Dahl", "hysteresis of a gear, as identification finds it"),
    },
    "armwright.frictions",
)
"""Class or function of values → `FrictionModel` of `simulate`; `friction_of` fills in what the robot knows."""

FORMATS = Choices(
    "format",
    {
        ".mcap": ChoiceEntry("Foxglove, PlotJuggler", "armwright.recording.formats.mcap_write"),
        ".parquet": ChoiceEntry("pandas, DuckDB, MATLAB, PlotJuggler", "armwright.recording.formats.parquet_format"),
        ".csv": ChoiceEntry("everything, slowly", "armwright.recording.formats.csv_format"),
        ".npz": ChoiceEntry("NumPy", "armwright.recording.formats.npz_format"),
    },
    "armwright.formats",
)
"""Module with ``read``, ``write`` and, to be written piecewise, ``Sink``; the name is the suffix."""

FORCE_SENSORS = Choices(
    "force sensor",
    {
        "axia": _at("lab", "force_sensors", "AXIA", "no limits, 0.05 N of noise"),
        "gamma-si-32-2.5": _at("lab", "force_sensors", "GAMMA_32", "32 N, 100 N along z, 2.5 N m", "004 section 4.2"),
        "gamma-si-65-5": _at("lab", "force_sensors", "GAMMA_65", "65 N, 200 N along z, 5 N m", "004 section 4.2"),
        "gamma-si-130-10": _at("lab", "force_sensors", "GAMMA_130", "130 N, 400 N along z, 10 N m", "004 section 4.2"),
    },
)
"""`ForceSensor` of a virtual Net F/T. What a device is like is the lab's: nothing can be added."""

TRACKINGS = Choices(
    "tracking law",
    {
        "drive": ChoiceEntry("joints share a shortage of torque", "armwright.programs.motors.drive_law:DRIVE"),
        "axes": ChoiceEntry("every motor clipped by itself", "armwright.programs.motors.drive_law:AXES"),
        "algorithm-1": ChoiceEntry(
            "as printed: the planner's speed", "armwright.programs.motors.drive_law:ALGORITHM_1", "001 Algorithm 1"
        ),
    },
)
"""`TrackingLaw`: how drives follow a plan that asks more than they have. The verdict does not hang on it."""

TABLES = {
    "Control laws": LAWS,
    "Observers": OBSERVERS,
    "Detectors": DETECTORS,
    "Detectors of a study": STUDY_DETECTORS,
    "Forms of an artefact": ARTEFACTS,
    "Planners on a map": GRID_PLANNERS,
    "Planners in joint space": JOINT_PLANNERS,
    "Reactions to a contact": REACTIONS,
    "Languages of robot programs": LANGUAGES,
    "Kinds of campaigns": KINDS,
    "Engines of campaigns": ENGINES,
    "Integrators": INTEGRATORS,
    "Friction models": FRICTIONS,
    "Formats of recordings": FORMATS,
    "Virtual force sensors": FORCE_SENSORS,
    "Tracking laws of programs": TRACKINGS,
}
"""All tables by title, as the documentation shows them."""
