# SPDX-License-Identifier: Apache-2.0
"""KRL's BAS, inline forms, waits and outputs: what says how the arm moves, and what does not move it.

BAS and the functions behind WITH do what the maker's own BAS.SRC does: #VEL_PTP, #ACC_PTP and #ACC_CP in percent (the
latter of DEF_ACC_CP), #VEL_CP in m/s, #TOOL and #BASE by number from TOOL_DATA and BASE_DATA of ``$config.dat`` (0 is
the null frame), #INITMOV the defaults there with tool 1 and base 0, #PTP_PARAMS and #CP_PARAMS from PDAT_ACT, LDAT_ACT
and FDAT_ACT.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from armwright.programs.interpreter.interpreter_scope import Cell
from armwright.programs.interpreter.program_values import (
    RecordValue,
    Unknown,
    Value,
    ValueTrouble,
    is_number,
    number_of,
)
from armwright.programs.interpreter.reading_notes import Obstacle
from armwright.programs.languages.krl_values import NULL, KrlValues
from armwright.programs.languages.krl_words import TO_LINE_END
from armwright.programs.program import Duration, Stop, Tangent
from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Argument, Node
from armwright.syntax.scanner import Token

AXIS_NUMBERS = range(1, 7)
TABLES = ("tool_data", "base_data", "load_data")
QUIET = frozenset(TO_LINE_END) | frozenset(
    [
        "pulse",
        "ir_stopm",
        "msgnotify",
        "msgquit",
        "msginfo",
        "msgdialog",
        "msglooff",
        "set_krlmsg",
        "set_krldlg",
        "set_krldlganswer",
        "exists_krlmsg",
        "clear_krlmsg",
        "strclear",
        "stradd",
        "strcopy",
        "strtostring",
        "swrite",
        "sread",
        "strdecllen",
        "strcomp",
        "strfind",
        "strlen",
        "inverse",
        "forward",
        "get_msgbuffer",
        "is_key_pressed",
        "err_clear",
        "err_raise",
        "rob_stop",
        "rob_stop_release",
        "reset_cd_params",
        "set_cd_params",
        "set_torque_limits",
        "reset_torque_limits",
        "cclose",
        "copen",
        "cread",
        "dread",
        "eki_init",
        "eki_open",
        "eki_close",
        "eki_clear",
        "eki_clearlock",
        "eki_lock",
        "eki_unlock",
        "eki_send",
        "eki_setbool",
        "eki_setint",
        "eki_setreal",
        "eki_setframe",
        "eki_setstring",
        "eki_checkbuffer",
        "eki_check",
        "cast_to",
        "rsi_create",
        "rsi_delete",
        "rsi_off",
        "rsi_getpublicpar",
        "tm_sub",
        "rsi_reset",
        "st_ethernet",
        "st_axiscorr",
        "st_pathcorr",
        "st_newlink",
        "st_setparam",
        "st_getparam",
        "st_off",
        "st_reset",
        "delay_brake",
        "sys_load",
        "p00",
        "krlmsg",
        "collmon_off",
        "collmon_on",
        "use_cm_pro_values",
        "message",
        "log_msg",
    ]
)
"""Instructions and routines of the controller that move nothing. What is not here and in no file may move the arm."""
TECHNOLOGY = {
    "h50": "a gripper",
    "user_grp": "a gripper",
    "grpg_setstate": "a gripper",
    "grpg_setstateandcheck": "a gripper",
    "userspot": "a spot welding gun",
}
"""Routines of the maker's gripper and spot packages: outputs, and inputs that are waited for; no axis of the arm."""
OUTSIDE_CONTROL = frozenset(("rsi_on", "rsi_movecorr", "st_movesens", "forcecontrol", "move_emi")) | frozenset(
    ("st_on", "st_on1", "st_skipsens")
)
INLINE = frozenset(
    [
        "svel_joint",
        "sacc_joint",
        "svel_cp",
        "sacc_cp",
        "sapo",
        "sapo_ptp",
        "stool",
        "stool2",
        "sload",
        "sbase",
        "sipo_mode",
        "sori_typ",
        "scirc_typ",
        "sjerk",
        "sgear_jerk",
        "scirc_m",
        "use_cm_pro_values",
        "s_exax_ign",
        "s_exax_ign2",
    ]
)


class KrlSettings(KrlValues):
    """The controller's state and what changes it."""

    def begin(self) -> None:
        """Begin as after a cold start."""
        for number in AXIS_NUMBERS:
            self.system[f"$vel_axis[{number}]"] = self.system[f"$acc_axis[{number}]"] = 100.0
        self.acc_share: float | None = None  # of what the arm can do, where BAS says percent and no file says of what
        self.goes_on = False  # a CONTINUE stands before the next statement

    def machine(self) -> Value:
        """Return the state that moves depend on."""
        return dict(self.system), self.acc_share, self.last, dict(self.aliases)

    def set_machine(self, state: Value) -> None:
        """Set what `machine` returned."""
        system, self.acc_share, self.last, self.aliases = state
        self.system = dict(system)

    # --- frames by number ---------------------------------------------------------------------------------------------

    def numbered(self, table: str, number: Value, at: Token) -> Value:
        """Return a frame or load of ``$config.dat`` by its number; 0 is the null frame."""
        if isinstance(number, Unknown):
            return number
        count = int(number_of(number))
        if count <= 0:
            return RecordValue("frame", dict(NULL)) if table != "load_data" else RecordValue("load", {"m": -1.0})
        key = f"{table}[{count}]"
        if key in self.system:
            return self.system[key]
        cell = self.cell(Token("name", table.upper(), table, at.line, at.column))
        found: Value = None if cell is None else cell.value
        if isinstance(found, list) and count <= len(found):
            found = found[count - 1]
        if isinstance(found, RecordValue):
            return found
        if table != "load_data" and self.options.assume_frames:
            self.notes.assume(at.line, f"{key.upper()} is not known: the null frame is taken", "--config or --define")
            return RecordValue("frame", dict(NULL))
        name = key.upper()
        return Unknown(f"{name} is in $config.dat, which is not among the files; --config or --assume-frames", (name,))

    def _index(self, node: tree.Index) -> Value:
        name = node.base.at
        if (
            isinstance(node.base, tree.Name)
            and name.key in TABLES
            and len(node.indices) == 1
            and self.cell(name) is None
        ):
            return self.numbered(name.key, self.value(node.indices[0]), name)
        return super()._index(node)

    def set_tool(self, number: Value, at: Token) -> None:
        """Take a tool by number, with its load."""
        self.system["$tool"] = self.numbered("tool_data", number, at)
        load = self.numbered("load_data", number, at)
        self.system["$load"] = RecordValue("load", {"m": -1.0}) if isinstance(load, Unknown) else load
        self.after_setting("$tool", at)

    def set_base(self, number: Value, at: Token) -> None:
        """Take a base by number."""
        self.system["$base"] = self.numbered("base_data", number, at)
        self.after_setting("$base", at)

    def default(self, name: str, at: Token) -> Value:
        """Return a default of ``$config.dat``; None if no file has it."""
        cell = self.cell(Token("name", name, name, at.line, at.column))
        value = None if cell is None else cell.value
        return value if is_number(value) else None

    # --- BAS and inline forms -----------------------------------------------------------------------------------------

    def bas(self, at: Token, placed: list[Argument]) -> None:
        """Do what BAS does."""
        what = self.value(placed[0].value) if placed else ""
        value = self.value(placed[1].value) if len(placed) > 1 else 0
        if isinstance(what, Unknown) or not isinstance(what, str):
            self.notes.obstacle("which part of BAS this is, is not known", at, "#PTP_PARAMS, #VEL_CP, …")
        if what == "#initmov":
            self.init_motion(at)
        elif what in ("#vel_ptp", "#acc_ptp"):
            self.axis_share(f"${what[1:4]}_axis", value, at)
        elif what == "#vel_cp":
            self.system["$vel.cp"] = value
        elif what == "#acc_cp":
            self.path_acceleration(value, at)
        elif what == "#tool":
            self.set_tool(value, at)
        elif what == "#base":
            self.set_base(value, at)
        elif what in ("#frames", "#ptp_params", "#cp_params", "#ptp_dat", "#cp_dat"):
            self.inline_form(what, value, at)
        elif what == "#ex_base":
            self.notes.obstacle("bases that an external axis moves are not followed", at, "#BASE")
        elif what not in ("#out_sync", "#out_async", "#group", "#acc_glue"):
            self.notes.obstacle("unknown part of BAS", placed[0].at, "#VEL_PTP, #ACC_PTP, #VEL_CP, #ACC_CP, #INITMOV")

    def init_motion(self, at: Token) -> None:
        """Take the defaults of ``$config.dat``; what no file has stays open."""
        self.axis_share("$vel_axis", 100.0, at)
        self.axis_share("$acc_axis", 100.0, at)
        speed = self.default("def_vel_cp", at)
        name = "DEF_VEL_CP"
        options = "--config FILE, --config factory or --define"
        said = Unknown(f"{name} is in $config.dat, which is not among the files; {options}", (name,))
        self.system["$vel.cp"] = said if speed is None else float(speed)
        self.path_acceleration(100.0, at)
        for key, default in (
            ("$vel.ori1", "def_vel_ori1"),
            ("$apo.cptp", "def_apo_cptp"),
            ("$apo.cdis", "def_apo_cdis"),
            ("$apo.cvel", "def_apo_cvel"),
            ("$apo.cori", "def_apo_cori"),
        ):
            found = self.default(default, at)
            if found is not None:
                self.system[key] = float(found)
        self.system["$ori_type"] = "#var"
        self.set_base(0, at)
        self.set_tool(1, at)

    def axis_share(self, name: str, percent: Value, at: Token) -> None:
        """Set the share of all axes [%]."""
        if not isinstance(percent, Unknown):
            percent = min(float(number_of(percent, "percent")), 100.0)
            most = self.default("def_vel_ptp", at) if name == "$vel_axis" else None
            percent = percent if most is None else percent * float(most) / 100.0
        for number in AXIS_NUMBERS:
            self.system[f"{name}[{number}]"] = percent

    def path_acceleration(self, percent: Value, at: Token) -> None:
        """Set the acceleration of the tool as percent of DEF_ACC_CP, or of what the arm can do if no file says it."""
        most = self.default("def_acc_cp", at)
        self.acc_share = None
        if isinstance(percent, Unknown):
            self.system["$acc.cp"] = percent
        elif most is not None:
            self.system["$acc.cp"] = float(most) * min(float(number_of(percent)), 100.0) / 100.0
        else:
            self.system.pop("$acc.cp", None)
            self.acc_share = min(float(number_of(percent)), 100.0) / 100.0

    def active(self, name: str, part: str, at: Token) -> Value:
        """Return a part of the data that an inline form has made active; None if it has none."""
        cell = self.scopes.shared.get(name)
        return cell.value.parts.get(part) if cell is not None and isinstance(cell.value, RecordValue) else None

    def inline_form(self, what: str, value: Value, at: Token) -> None:
        """Take over what an inline form says: frames, and data of the move."""
        if what in ("#frames", "#ptp_params", "#cp_params"):
            tool, base = (self.active("fdat_act", part, at) for part in ("tool_no", "base_no"))
            name = "FDAT_ACT"
            missing: Value = Unknown(f"{name} is not known: the data of this move are in none of the files", (name,))
            if self.options.assume_frames and (tool is None or base is None):
                said = f"{name} is not known, as the data of this move are in none of the files: tool 0 and base 0"
                self.notes.assume(at.line, f"{said} are taken", "--config or --define")
                missing = 0
            self.set_tool(missing if tool is None else tool, at)
            self.set_base(missing if base is None else base, at)
            self.system["$ipo_mode"] = self.active("fdat_act", "ipo_frame", at) or "#base"
        if what.startswith("#ptp"):
            acc, blend = (self.active("pdat_act", part, at) for part in ("acc", "apo_dist"))
            speed = value if what == "#ptp_params" else self.active("pdat_act", "vel", at)
            if acc is not None:
                self.axis_share("$acc_axis", acc, at)
            if blend is not None:
                mode = self.active("pdat_act", "apo_mode", at)
                if mode != "#cdis" and is_number(blend):
                    blend = min(blend, 100)  # as the maker's own BAS.SRC does
                self.system["$apo.cdis" if mode == "#cdis" else "$apo.cptp"] = blend
            if speed is not None:
                self.axis_share("$vel_axis", speed, at)
        elif what.startswith("#cp"):
            acc, blend = (self.active("ldat_act", part, at) for part in ("acc", "apo_dist"))
            speed = value if what == "#cp_params" else self.active("ldat_act", "vel", at)
            if acc is not None:
                self.path_acceleration(acc, at)
            if blend is not None:
                self.system["$apo.cdis"] = blend
            for key, part in (("$ori_type", "ori_typ"), ("$circ_type", "circ_typ")):
                said = self.active("ldat_act", part, at)
                self.system[key] = said if isinstance(said, str) else self.system[key]
            if speed is not None:
                self.system["$vel.cp"] = speed

    def motion_function(self, key: str, values: list[Value], node: tree.FunctionCall) -> Value:
        """Return what the functions of inline forms give."""
        if key not in INLINE:
            return NotImplemented
        first: Value = values[0] if values else Unknown(f"{node.at.text} is empty")
        if key == "svel_joint":
            self.axis_share("$vel_axis", first, node.at)
            return self.system["$vel_axis[1]"]
        if key == "sacc_joint":
            self.axis_share("$acc_axis", self.of(first, "acc"), node.at)
            return self.system["$acc_axis[1]"]
        if key == "svel_cp":
            return RecordValue("cp", {"cp": first})
        if key == "sacc_cp":
            self.path_acceleration(self.of(first, "acc"), node.at)
            return RecordValue("cp", {"cp": self.system["$acc.cp"]} if "$acc.cp" in self.system else {})
        if key in ("sapo", "sapo_ptp"):
            size, mode = self.of(first, "apo_dist"), self.of(first, "apo_mode")
            return RecordValue("cont", {"cptp" if key == "sapo_ptp" and mode != "#cdis" else "cdis": size})
        if key in ("stool", "stool2"):
            return self.numbered("tool_data", self.of(first, "tool_no") if key == "stool2" else first, node.at)
        if key == "sload":
            load = self.numbered("load_data", first, node.at)
            return RecordValue("load", {"m": -1.0}) if isinstance(load, Unknown) else load
        if key == "sbase":
            return self.numbered("base_data", first, node.at)
        part = {"sori_typ": "ori_typ", "scirc_typ": "circ_typ"}.get(key)
        if part is not None:
            said = self.of(first, part)
            return said if isinstance(said, str) else {"ori_typ": "#var", "circ_typ": "#base"}[part]
        return first if key == "sipo_mode" else 0

    def of(self, value: Value, part: str) -> Value:
        """Return a part of a record that may be missing."""
        if isinstance(value, RecordValue):
            return value.parts.get(part, Unknown(f"{part.upper()} has no value", (part.upper(),)))
        return value

    # --- waiting ------------------------------------------------------------------------------------------------------

    def wait(self, at: Token, argument: Argument) -> None:
        """``WAIT SEC s``, or ``WAIT FOR test``, which is taken for met."""
        if argument.name == "for":
            self.halted(at)
            value = self.value(argument.value)
            if isinstance(value, Unknown):
                names = ", ".join(value.names) or value.reason
                self.notes.wait_of(self.options, at, value.names, f"WAIT FOR {names}")
                self.met(argument.value, True)
            return
        value = self.value(argument.value)
        if isinstance(value, Unknown):
            self.notes.assume(at.line, f"how long this waits is not known ({value.reason}): 0 s", "--define")
            return
        seconds = max(0.0, float(number_of(value, "seconds")))
        made = self.notes.draft.cursor.located(at, Duration, seconds)
        self.notes.draft.add(at, kind="wait", target=None, speed=made, blend=Stop())

    def met(self, node: Node, wanted: bool) -> None:
        """Give the inputs of a condition the values with which it holds."""
        if isinstance(node, tree.Unary) and node.sign == "not":
            self.met(node.operand, not wanted)
        elif isinstance(node, tree.Binary) and node.sign == "and" and wanted:
            self.met(node.left, True)
            self.met(node.right, True)
        elif isinstance(node, tree.Binary) and node.sign == "==" and isinstance(node.right, tree.Literal):
            if isinstance(node.right.value, bool):
                self.met(node.left, node.right.value == wanted)
        elif isinstance(node, tree.Index | tree.Name):
            key = self.key_of(node)
            cell = self.cell(node.at) if isinstance(node, tree.Name) and key is None else None
            if key is not None:
                self.system[key] = wanted
            elif isinstance(cell, Cell) and cell.changer and node.at.key not in self.inputs:
                cell.value = wanted

    def halted(self, at: Token) -> None:
        """Let the arm come to rest at the last target: waiting ends the rounding of its corner."""
        moves = self.notes.draft.moves
        if moves and moves[-1].kind != "wait" and not isinstance(moves[-1].blend, Stop | Tangent):
            moves[-1] = replace(moves[-1], blend=Stop())
            self.notes.note(at.line, f"{at.text} ends the rounding before it: the arm stops there", once=True)

    def after_setting(self, base: str, at: Token) -> None:
        """End the rounding before an output that no CONTINUE precedes."""
        if base in ("$out", "$anout") and not self.goes_on:
            self.halted(at)

    def technology(self, at: Token, arguments: tuple[Argument, ...]) -> None:
        """Leave out a gripper or a gun; it ends the rounding before it unless it is told to work on the way."""
        first: Node | None = arguments[0].value if arguments else None
        on_the_way = isinstance(first, tree.Name) and "apo" in first.at.key
        if not (on_the_way or self.goes_on):
            self.halted(at)
        said = f"{at.text} works {TECHNOLOGY[at.key]}, moves no axis of the arm and is left out, with its time"
        self.notes.note(at.line, said, once=True)

    def forget(
        self, arguments: tuple[Argument, ...], why: str, kinds: Collection[str] | None = ("int", "real", "bool", "char")
    ) -> None:
        """Take the variables that a skipped routine may have set for not known: numbers, or all of them."""
        for argument in arguments:
            node: Node = argument.value
            if not isinstance(node, tree.Name | tree.Index | tree.Member) or self.key_of(node) is not None:
                continue
            try:
                place = self.argument_place(node)
                if place is not None and (kinds is None or place.kind in kinds):
                    self.store(place, Unknown(f"{argument.at.text} comes from {why}", (argument.at.text,)), argument.at)
            except (ValueTrouble, Obstacle):
                continue
