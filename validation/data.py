"""Recorded data in place of the stand-ins for the papers' data sets.

The environment variable STREAMLB_DATA names them: ``WP=/data/pages.txt;CT=/data/tags.parquet#tag``
is a file with a key in each line for the page views, and the column `tag` of a Parquet file for the
cashtags. The path stands in the rows of the experiments, so that runs on recorded data are never
mistaken for runs on a stand-in; workers read the file themselves.
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamlb import Trace

VARIABLE = "STREAMLB_DATA"
NAMES = ("WP", "TW", "CT")


def recorded(name: str) -> str:
    """Return what STREAMLB_DATA gives for a data set, or an empty text.

    Examples
    --------
    >>> import os
    >>> from streamlb.validation.data import recorded
    >>> os.environ["STREAMLB_DATA"] = "CT=/data/tags.parquet#tag"
    >>> recorded("CT"), recorded("WP")
    ('/data/tags.parquet#tag', '')
    >>> del os.environ["STREAMLB_DATA"]
    """
    known: dict[str, str] = {}
    for part in filter(None, map(str.strip, os.environ.get(VARIABLE, "").split(";"))):
        key, found, path = part.partition("=")
        if not found or not path or key not in NAMES:
            raise ValueError(f"{VARIABLE} must be NAME=PATH with a NAME of {', '.join(NAMES)}, got {part!r}")
        known[key] = path
    return known.get(name, "")


@functools.lru_cache(maxsize=1)
def trace_of(source: str) -> Trace:
    """Return the recorded stream of a path, or of ``path#column``; a process keeps the last one."""
    from streamlb import Trace

    path, _, column = source.partition("#")
    return Trace(path, column or None)
