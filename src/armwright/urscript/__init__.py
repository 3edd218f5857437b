# SPDX-License-Identifier: Apache-2.0
"""URScript before anything runs: words and tree, name binding, the one table of functions.

Two things stand on it: `programs` reads a program as far as its text tells, the `lab` runs it.
"""

from armwright.urscript.script_module import ScriptModule
from armwright.urscript.urscript_builtins import BUILTINS, Builtin
from armwright.urscript.urscript_names import bind_names
from armwright.urscript.urscript_parser import UrscriptParser, parse_urscript

__all__ = ["BUILTINS", "Builtin", "ScriptModule", "UrscriptParser", "bind_names", "parse_urscript"]
