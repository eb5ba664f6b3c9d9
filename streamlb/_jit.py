"""Numba's `njit`, with a cache that cannot be stale.

Numba checks a cached kernel against the file it stands in, not against the files whose kernels it calls: editing `hashing.py`
leaves every kernel that inlined it answering as before. Here each file's cache folder is named by a digest of that file and of
every streamlb file it imports, so an edit anywhere below a kernel means another, empty folder. Importing `njit` from here
registers that rule; it touches no function outside streamlb.

It also sets two defaults that suit kernels which allocate and raise nothing: no reference counting (`_nrt=False`: counting the arrays
at each call of a `_step` cost SpaceSaving six sevenths of its speed) and NumPy's rules for division (no test for zero).
A kernel that must allocate says `_nrt=True`.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re

import numba
from numba import config, types
from numba.core.caching import CacheImpl, _CacheLocator

__all__ = ["cache_root", "njit"]

_package = os.path.dirname(os.path.abspath(__file__))
_imports = re.compile(r"^from (streamlb[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)


def njit(**options):
    """Return `numba.njit` with these options over the defaults of streamlb's kernels."""
    decorate = numba.njit(**{"error_model": "numpy", "_nrt": False, **options})

    def kernel(function):
        dispatcher = decorate(function)
        if options.get("inline") != "always":
            _forget_literals(dispatcher)
        return dispatcher

    return kernel


def _forget_literals(dispatcher):
    """Let a call with a literal (`_step(0, ...)`) from another kernel use the signature of its type, not add one of its own.

    Two signatures of one cached kernel are what processes that start together on an empty cache can confuse.
    """
    plain = dispatcher.get_call_template

    def get_call_template(args, kws):
        kws = {name: types.unliteral(kind) for name, kind in kws.items()}
        return plain(tuple(types.unliteral(kind) for kind in args), kws)

    dispatcher.get_call_template = get_call_template


def cache_root() -> str:
    """Return the folder below which compiled kernels are kept: NUMBA_CACHE_DIR, or the user's cache folder."""
    chosen = getattr(config, "CACHE_DIR", "")
    if chosen:
        return os.path.join(chosen, "streamlb")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "streamlb")


def _module_file(name: str) -> str | None:
    """Return the path of a module of streamlb (a package's is its __init__), or None where there is none."""
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
    """Return the cache folder of a file's kernels, named by the digest of all they are compiled from."""
    digest = hashlib.sha256()
    for source in sorted(_sources(path)):
        with open(source, "rb") as file:
            digest.update(os.path.relpath(source, _package).encode() + b"\0" + file.read() + b"\0")
    name = os.path.relpath(path, _package).removesuffix(".py").replace(os.sep, ".")
    return os.path.join(cache_root(), f"{name}-{digest.hexdigest()[:16]}")


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
