"""Numba's `njit`, with a cache that cannot be stale and half of the compile time.

Numba checks a cached kernel against the file it stands in, not against the files whose kernels it
calls: editing `hashing.py` leaves every kernel that inlined it answering as before. Here each
file's cache folder is named by a digest of that file and of every streamlb file it imports, so an
edit anywhere below a kernel means another, empty folder. Importing `njit` from here registers that
rule; it touches no function outside streamlb.

A kernel that is called from Python is a door. A kernel that is called by another kernel is a part
of it: it becomes machine code as a piece of its callers and not on its own, without a wrapper for
Python, without a place in the cache. Nobody has to say which is which: a kernel called both ways is
compiled both ways. Parts are inlined, unless they say `forceinline=False`; that way the code of a
kernel does not depend on which kernel happened to be compiled first.

The defaults suit kernels which allocate and raise nothing: no reference counting (`_nrt=False`:
counting the arrays at each call of a `_step` cost SpaceSaving six sevenths of its speed) and
NumPy's rules for division (no test for zero). A kernel that must allocate says `_nrt=True`.
"""

from __future__ import annotations

import functools
import glob
import hashlib
import os
import re

import numba
import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core.caching import CacheImpl, FunctionCache, _CacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder, Flags
from numba.core.cpu import CPUContext
from numba.core.imputils import impl_ret_borrowed
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes
from numba.extending import intrinsic

__all__ = ["cache_root", "likely", "njit", "record"]

_package = os.path.dirname(os.path.abspath(__file__))
_imports = re.compile(r"^from (streamlb[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)


def njit(**options):
    """Return `numba.njit` with these options over the defaults of streamlb's kernels."""
    cache = options.pop("cache", False)
    options = {"error_model": "numpy", "_nrt": False, **options}

    def kernel(function):
        door = numba.njit(pipeline_class=_DoorCompiler, no_cfunc_wrapper=True, **options)(function)
        if not isinstance(door, CPUDispatcher):
            door.py_func = door
            return door  # NUMBA_DISABLE_JIT: the function itself
        if options.get("inline") != "always":
            part = _Part(function, options)
            door.part = part
            door.get_call_template, door.get_overload = part.get_call_template, part.get_overload
        if cache:
            door._cache = _LateCache(function)
        return door

    return kernel


def record(fields: list) -> np.dtype:
    """Return the dtype of a record with these fields, which are attributes of its entries.

    In compiled kernels they are that with any structured dtype, in plain Python only with this one.
    """
    return np.dtype((np.record, fields))


@intrinsic
def likely(typing_context, condition):
    """Return a condition, telling LLVM that it mostly holds, and what code to keep apart."""

    def lower(context, builder, signature, args):
        bit = ir.IntType(1)
        expect = builder.module.declare_intrinsic("llvm.expect", [bit], ir.FunctionType(bit, [bit, bit]))
        return builder.call(expect, [args[0], bit(1)])

    return types.boolean(types.boolean), lower


if getattr(config, "DISABLE_JIT", 0):  # kernels are plain functions, and so is what they call
    likely = bool  # type: ignore[assignment]


class _Part(CPUDispatcher):
    """A kernel as other kernels see it: code that LLVM compiles as a piece of theirs."""

    def __init__(self, function, options):
        options = {"nopython": True, "boundscheck": None, "forceinline": True, **options}
        options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        super().__init__(function, targetoptions=options, pipeline_class=_PartCompiler)

    def get_call_template(self, args, kws):
        """Let a call with a literal (`_step(0, ...)`) use the signature of its type."""
        kws = {name: types.unliteral(kind) for name, kind in kws.items()}
        return super().get_call_template(tuple(types.unliteral(kind) for kind in args), kws)

    def add_overload(self, cres):
        """Register the code under a key of its own: there is no function that Python could call."""
        cres = cres._replace(entry_point=object())
        self.targetctx.insert_user_function(cres.entry_point, cres.fndesc, [cres.library])
        self.overloads[tuple(cres.signature.args)] = cres


class _PartLibrary(JITCodeLibrary):
    """The code of a part: it is optimised, and becomes machine code, in the doors that use it."""

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True


_inherited: dict[tuple[str, ...], Flags] = {}  # the copies that _Flags has given out


class _Flags(Flags):
    """A kernel's flags, whose copy is what Numba's own functions inherit and are told apart by.

    That copy is one object for all kernels alike in what matters there, so that such a function is
    compiled once for all of them, and found by its identity.
    """

    def copy(self):
        flags = Flags()
        for name in ("nrt", "error_model", "fastmath", "boundscheck", "release_gil", "enable_pyobject"):
            if self.is_set(name):
                setattr(flags, name, getattr(self, name))
        return _inherited.setdefault(tuple(map(str, flags.values().items())), flags)


class _Context(CPUContext):
    """Numba's target, where a flat array becomes records by a change of type and no more.

    Numba's own `view` compiles a test for each pair of types, 50 ms apiece, of what always holds
    here, and keeps the path to an error in every kernel.
    """

    def get_function(self, fn, sig, _firstcall=True):
        """Return what generates the code of a call."""
        if isinstance(fn, types.BoundFunction) and fn.get_impl_key(sig) == "array.view":
            found, wanted = fn.this, sig.return_type
            if found.ndim == 1 and found.layout == wanted.layout == "C":
                return functools.partial(self._view, found, wanted)
        return super().get_function(fn, sig, _firstcall)

    def _view(self, found, wanted, builder, args, _loc=None):
        # Imported here, because reading a cached kernel needs none of it.
        from numba.np.arrayobj import populate_array

        array = self.make_array(found)(self, builder, args[0])
        view = self.make_array(wanted)(self, builder)
        before, after = (self.get_constant(types.intp, self._itemsize(kind.dtype)) for kind in (found, wanted))
        count = builder.udiv(builder.mul(array.nitems, before), after)
        populate_array(
            view,
            data=builder.bitcast(array.data, view.data.type),
            shape=[count],
            strides=[after],
            itemsize=after,
            meminfo=array.meminfo,
            parent=array.parent,
        )
        return impl_ret_borrowed(self, builder, wanted, view._getvalue())

    def _itemsize(self, kind):
        return self.get_abi_sizeof(self.get_data_type(kind))


class _DoorCompiler(Compiler):
    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        super().__init__(typingctx, targetctx, library, args, return_type, _Flags(flags), locals)
        self.state.targetctx.__class__ = _Context  # a copy of Numba's, made for this kernel

    def define_pipelines(self):
        """Return Numba's passes, without those for arrays that a kernel makes where it makes none.

        They look for comprehensions and whole-array expressions, a tenth of the compile time.
        """
        plan = DefaultPassBuilder.define_nopython_pipeline(self.state)
        if not self.state.flags.nrt:
            plan.passes = [step for step in plan.passes if step[0] not in (InlineClosureLikes, NopythonRewrites)]
            plan.finalize()
        return [plan]


class _PartCompiler(_DoorCompiler):
    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        flags.no_compile = True
        library = _PartLibrary(targetctx.codegen(), "part")
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)


class _Cache(FunctionCache):
    """Numba's cache, which reads a kernel without first loading all that Numba can compile.

    That would take as long as `import numba` does, and longer where scipy is installed.
    """

    def load_overload(self, sig, target_context):
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


class _LateCache:
    """The cache of a door, opened when the door is first used, as most doors never are."""

    def __init__(self, function):
        self._function = function

    def __getattr__(self, name):
        self._opened = self.__dict__.get("_opened") or _Cache(self._function)
        return getattr(self._opened, name)


def cache_root() -> str:
    """Return the folder of all compiled kernels, in NUMBA_CACHE_DIR or the user's cache folder."""
    chosen = getattr(config, "CACHE_DIR", "")
    if chosen:
        return os.path.join(chosen, "streamlb")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "streamlb")


def _module_file(name: str) -> str | None:
    """Return the path of a module of streamlb, its __init__ for a package, or None without one."""
    stem = os.path.join(_package, *name.split(".")[1:])
    for path in (stem + ".py", os.path.join(stem, "__init__.py")):
        if os.path.isfile(path):
            return path
    return None


@functools.cache
def _sources(path: str) -> frozenset[str]:
    """Return the file and every streamlb file it imports, directly or not."""
    found, todo = {path}, [path]
    while todo:
        with open(todo.pop(), encoding="utf-8") as file:
            text = file.read()
        for module, names in _imports.findall(text):
            candidates = [module, *(f"{module}.{name}" for name in re.findall(r"\w+", names))]
            for other in filter(None, map(_module_file, candidates)):
                if other not in found:
                    found.add(other)
                    todo.append(other)
    return frozenset(found)


@functools.cache
def cache_folder(path: str) -> str:
    """Return the cache folder of a file's kernels, named by a digest of what they are made from."""
    digest = hashlib.sha256()
    for source in sorted(_sources(path)):
        with open(source, "rb") as file:
            digest.update(os.path.relpath(source, _package).encode() + b"\0" + file.read() + b"\0")
    name = os.path.relpath(path, _package).removesuffix(".py").replace(os.sep, ".")
    return os.path.join(cache_root(), f"{name}-{digest.hexdigest()[:16]}")


def warm_mark() -> str:
    """Return the file whose presence says that all kernels, as they are now, are in the cache."""
    digest = hashlib.sha256()
    for path in sorted(glob.glob(os.path.join(_package, "**", "*.py"), recursive=True)):
        digest.update(cache_folder(path).encode())
    return os.path.join(cache_root(), f"warm-{digest.hexdigest()[:16]}")


class _DigestLocator(_CacheLocator):
    """Where Numba keeps a kernel of streamlb."""

    def __init__(self, path: str, line: int):
        self._path = path
        self._line = line

    def get_cache_path(self):
        return cache_folder(self._path)

    def get_source_stamp(self):
        return os.path.basename(cache_folder(self._path))

    def get_disambiguator(self):
        return str(self._line)

    @classmethod
    def from_function(cls, py_func, py_file):
        path = os.path.abspath(py_file)
        if not path.startswith(_package + os.sep):
            return None
        locator = cls(path, py_func.__code__.co_firstlineno)
        try:
            locator.ensure_cache_path()
        except OSError:
            return None  # nowhere to write: Numba's own rules apply
        return locator


if not any(locator.__name__ == "_DigestLocator" for locator in CacheImpl._locator_classes):
    CacheImpl._locator_classes.insert(0, _DigestLocator)
