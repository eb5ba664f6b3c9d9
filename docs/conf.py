"""Sphinx settings.

The API page is written from streamlb/__init__.pyi, so that it cannot miss a public name.
"""

import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ["PYTHONPATH"] = str(ROOT)  # the notebooks' kernels
# Notebooks are tested as documentation: they must not print how Spark or Numba were set up.
os.environ.setdefault("PYTHONWARNINGS", "ignore::DeprecationWarning")

import streamlb.analysis  # noqa: E402

import streamlb  # noqa: E402
import streamlb.testing  # noqa: E402

project = "streamlb"
author = "the streamlb developers"
copyright = "2026, the streamlb developers"
release = version = streamlb.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax", "sphinx.ext.viewcode"]
exclude_patterns = ["_build", "**.ipynb_checkpoints", "examples"]
html_theme = "furo"
html_title = "streamlb"
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
autodoc_member_order = "bysource"
autodoc_typehints = "none"
# Attributes of the same name in several classes (messages, keys) are no ambiguity to a reader.
suppress_warnings = ["ref.python"]
napoleon_google_docstring = False
napoleon_use_rtype = False


def _write_api() -> None:
    """Write api.md: a section for each comment of the stub, then the theory and the checks."""
    note = (
        "Everything here is importable from `streamlb`; the theory from `streamlb.analysis`, and the checks "
        "from `streamlb.testing`."
    )
    lines = ["# API", "", note, ""]
    stub = (ROOT / "streamlb" / "__init__.pyi").read_text()
    for line in stub[stub.index("from ") :].splitlines():  # without the comment at the top
        if line.startswith("# "):
            title = line[2:].rstrip(".")
            lines += [f"## {title[0].upper()}{title[1:]}", ""]
        elif found := re.match(r"from (\S+) import (\w+) as", line):
            lines += _entry(found[1], found[2])
    lines += ["## Theory", ""]
    for name in sorted(streamlb.analysis.__all__):
        lines += _entry(getattr(streamlb.analysis, name).__module__, name)
    lines += ["## Checks of one's own balancers", ""]
    for name in streamlb.testing.__all__:
        lines += _entry("streamlb.testing", name)
    target = ROOT / "docs" / "api.md"
    text = "\n".join(lines) + "\n"
    if not target.exists() or target.read_text() != text:
        target.write_text(text)


def _entry(module: str, name: str) -> list[str]:
    if name.startswith("__"):
        return []
    value = getattr(sys.modules.get(module) or __import__(module, fromlist=[name]), name)
    kind = "autoclass" if isinstance(value, type) else "autofunction" if callable(value) else "autodata"
    members = ["   :members:", "   :inherited-members: BaseException, dict, tuple, list"] if kind == "autoclass" else []
    return ["```{eval-rst}", f".. {kind}:: {module}.{name}", *members, "```", ""]


_write_api()
