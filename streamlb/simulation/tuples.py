"""The tuples that the simulators of operators take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streamlb import _check
from streamlb._options import checked
from streamlb.keys import key_array


@dataclass(frozen=True, eq=False, kw_only=True)
class TupleOptions:
    """The keys of tuples and what each costs to execute, checked."""

    keys: Any
    costs: Any

    def __post_init__(self):
        keys = key_array(self.keys)
        checked(self, keys=keys, costs=_check.real_array("costs", self.costs, keys.size))
