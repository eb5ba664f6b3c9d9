"""streamlb: who gets the next message, which messages to drop, and where the tasks run.

Public names load on first use: ``import streamlb`` itself imports numpy at most. The names are
listed in ``__init__.pyi``, which the type checker reads, too. `streamlb.analysis` holds the theory
and `streamlb.validation` the checked claims.
"""

import importlib
import os
import re

from streamlb._version import __version__

_here = os.path.dirname(os.path.abspath(__file__))
_root = os.path.dirname(_here)
if os.path.isfile(os.path.join(_root, "setup.cfg")) and os.path.isdir(os.path.join(_root, "validation")):
    # In a checkout (one whose root is the working folder, say), analysis/ and validation/ lie
    # beside this folder and not in it.
    __path__.append(_root)


def _public_names() -> dict[str, str]:
    """Return the module of each public name, read from the lines of the stub."""
    with open(os.path.join(_here, "__init__.pyi"), encoding="utf-8") as stub:
        return {
            name: module for module, name in re.findall(r"^from (\S+) import (\w+) as \2$", stub.read(), re.MULTILINE)
        }


_modules = _public_names()
__all__ = ["__version__", *sorted(_modules)]


def __getattr__(name: str):
    if name in _modules:
        value = getattr(importlib.import_module(_modules[name]), name)
        globals()[name] = value
        return value
    if name in ("analysis", "keys", "metrics", "spark", "streams", "testing", "validation"):
        return importlib.import_module(f"streamlb.{name}")
    raise AttributeError(f"module 'streamlb' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_modules})
