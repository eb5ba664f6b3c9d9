"""What the simulators of shedders take with every policy, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from streamlb import _check
from streamlb._options import checked
from streamlb.keys import keys_of
from streamlb.simulation.tuples import TupleOptions


@dataclass(frozen=True, eq=False, kw_only=True)
class ArrivalOptions(TupleOptions):
    """The tuples that come to a shedder, and when they come."""

    underprovisioning: Any = 0.25
    arrivals: Any = None

    def __post_init__(self):
        super().__post_init__()
        under = _check.real("underprovisioning", self.underprovisioning, high=1.0, high_open=True)
        checked(self, underprovisioning=under)
        given = self.arrivals is not None
        checked(self, arrivals=_check.rising("arrivals", self.arrivals, self.keys.size) if given else self._evenly())

    @property
    def instances(self) -> int:
        """How many instances execute the tuples."""
        return 1

    def _evenly(self) -> np.ndarray:
        mean = float(self.costs.mean()) if self.costs.size else 0.0
        return np.arange(self.costs.size) * (mean * (1.0 - self.underprovisioning) / self.instances)


@dataclass(frozen=True, eq=False, kw_only=True)
class SheddingRunOptions(ArrivalOptions):
    """Hold what `simulate_shedding` takes with every policy, and check it."""

    policy: Any = "load_aware"
    seed: Any = 0

    def __post_init__(self):
        super().__post_init__()
        checked(self, seed=_check.seed_value(self.seed))


@dataclass(frozen=True)
class NoOptions:
    """What a policy without options takes."""


@dataclass(frozen=True, eq=False)
class WarmupOptions:
    """What a shedder that learns may be given: keys and costs of executions of before."""

    warmup: Any = None

    def __post_init__(self):
        if self.warmup is not None:
            keys, costs = _check.pairs("warmup", [self.warmup], "keys and costs")[0]
            keys = keys_of("warmup", keys)
            checked(self, warmup=(keys, _check.real_array("warmup's costs", costs, keys.size)))
