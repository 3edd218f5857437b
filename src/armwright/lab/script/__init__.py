# SPDX-License-Identifier: Apache-2.0
"""URScript that runs: a tree becomes Python's syntax tree, a code object, and one generator per thread.

`script_compiler` makes the code, `script_machine` runs the threads of a program frame by frame, `script_host` receives
texts, starts programs and replaces them. The functions of the language are in one file per theme; `script_library`
has them all by name. Nothing that is received ever becomes Python text, and no name of Python can be reached by it.
"""
