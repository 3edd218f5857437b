# SPDX-License-Identifier: Apache-2.0
"""Machine code from IR text: the only file that calls LLVM."""

from __future__ import annotations

import ctypes
from types import ModuleType
from typing import NamedTuple, cast

from armwright.errors import CompileError
from armwright.graph.thread_pool import LOCK, once


class Host(NamedTuple):
    """The machine that code is generated for; part of every cache key."""

    cpu: str
    features: str
    llvm: str
    width: int
    fma: bool


@once
def binding() -> ModuleType | None:
    """Return llvmlite's binding, initialised, or None where it is not installed."""
    try:
        import llvmlite.binding as llvm
    except ImportError:
        return None
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return cast("ModuleType", llvm)


@once
def host() -> Host:
    """Describe this machine: lanes are 8 with AVX-512, 4 with AVX2, else 2."""
    import llvmlite

    llvm = _required()
    features = llvm.get_host_cpu_features()
    width = 8 if features.get("avx512f") and features.get("avx512dq") else 4 if features.get("avx2") else 2
    arm = llvm.get_process_triple().startswith(("aarch64", "arm64"))
    return Host(
        llvm.get_host_cpu_name(), features.flatten(), llvmlite.__version__, width, bool(features.get("fma")) or arm
    )


def _required() -> ModuleType:
    llvm = binding()
    if llvm is None:
        raise CompileError("llvmlite is not installed; kernels run on the NumPy tape instead")
    return llvm


class _Machine:
    """The engine of the process: every kernel is an object file added to it, and its code lives as long as it does."""

    def __init__(self) -> None:
        llvm = _required()
        target = llvm.Target.from_default_triple()
        h = host()
        self.target_machine = target.create_target_machine(
            cpu=h.cpu, features=h.features, opt=2, codemodel="jitdefault", jit=True
        )
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self.target_machine)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.engine))  # nor is it freed at exit: threads may be in it
        self.loaded: dict[str, int] = {}


@once
def _machine() -> _Machine:
    return _Machine()


def compile_object(ir: str) -> bytes:
    """Translate a module into an object file for this machine."""
    with LOCK:
        llvm, machine = _required(), _machine()
        try:
            with llvm.parse_assembly(ir) as module:
                return bytes(machine.target_machine.emit_object(module))
        except RuntimeError as error:
            raise CompileError(f"LLVM refused the generated code: {error}") from error


@once
def _header() -> bytes:
    """Return how every object file for this machine begins: format, word size, byte order, kind and processor."""
    code = compile_object("")
    return code[: {b"\x7fELF": 20, b"\xcf\xfa\xed\xfe": 16}.get(code[:4], 2)]  # ELF, Mach-O, COFF


def is_object(code: bytes, name: str) -> bool:
    """Return whether bytes look like an object file for this machine with a function `name`; LLVM crashes on others."""
    return code.startswith(_header()) and name.encode() in code


def loaded(name: str) -> int | None:
    """Return the address of a function that `load_function` has loaded before."""
    return _machine().loaded.get(name)


def load_function(code: bytes, name: str) -> int:
    """Load an object file and return the address of function `name`; the same name is loaded once."""
    with LOCK:
        llvm, machine = _required(), _machine()
        if name not in machine.loaded:
            machine.engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            machine.engine.finalize_object()
            address = machine.engine.get_function_address(name)
            if not address:
                raise CompileError(f"function {name} is missing in its object file")
            machine.loaded[name] = address
        return machine.loaded[name]
