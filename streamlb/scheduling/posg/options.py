"""The options of POSG, listed and checked once: for `POSG`, its two halves and the simulator.

`POSGOptions` is what a scheduler takes, `InstanceOptions` what one remote instance takes. What both
have in common, and must agree on, is in `SharedOptions`. The meaning of each option is documented
in `streamlb.POSG`. `SETTINGS` is what the kernels read of them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import record
from streamlb._options import checked
from streamlb.learning.learner import LearnerOptions

# What a scheduler and an instance take by position; everything else is given by name.
SCHEDULER_ORDER = "instances window tolerance epsilon delta seed"
INSTANCE_ORDER = "instance window tolerance epsilon delta seed stability rounding clock incarnation resend columns"

CLOCKS = ("wall", "busy")
IDLE = ("ignore", "clamp")
TIES = ("first", "least_recent")
UNSEEN = ("mean", "zero")
SYNCHRONISE = ("barrier", "staggered")
RESEND = ("always", "changed")
NEVER = np.iinfo(np.int64).max

# How many instances there are and the shape of their matrices; tuples between two synchronisations
# in RUN (0: none are asked for) and tuples for which a reply is awaited (NEVER: for ever). The
# others are 1 where an option has its second value: ties are broken by least recent use, clocks
# behind the present count as the present, unseen keys cost nothing, instances are asked one at a
# time, instances report busy time, and matrices are sent only when they changed.
SETTINGS = record(
    [
        ("instances", "i8"),
        ("rows", "i8"),
        ("columns", "i8"),
        ("resync", "i8"),
        ("timeout", "i8"),
        ("least_recent", "i8"),
        ("clamp", "i8"),
        ("unseen_zero", "i8"),
        ("staggered", "i8"),
        ("busy", "i8"),
        ("changed", "i8"),
    ]
)


@dataclass(frozen=True)
class SharedOptions(LearnerOptions):
    """What a scheduler and its instances must agree on."""

    clock: str = "wall"
    resend: str = "always"

    def __post_init__(self):
        super().__post_init__()
        _check.choice("clock", self.clock, CLOCKS)
        _check.choice("resend", self.resend, RESEND)


@dataclass(frozen=True)
class POSGOptions(SharedOptions):
    """The options of `POSG` and `POSGScheduler`, checked, those filled in that depend on others."""

    instances: Any = field(kw_only=True)
    idle: str = "ignore"
    ties: str = "first"
    unseen: str = "mean"
    synchronise: str = "barrier"
    resync: Any = True
    timeout: Any = None

    def __post_init__(self):
        checked(self, instances=_check.integer("instances", self.instances, 1, 2**31 - 1))
        super().__post_init__()
        _check.choice("idle", self.idle, IDLE)
        if self.clock == "busy" and self.idle == "clamp":
            raise ValueError("idle must be 'ignore' with clock='busy': a sum of execution times knows no present time")
        _check.choice("ties", self.ties, TIES)
        _check.choice("unseen", self.unseen, UNSEEN)
        _check.choice("synchronise", self.synchronise, SYNCHRONISE)
        checked(
            self,
            resync=self._period("resync", self.resync),
            timeout=self._period("timeout", True if self.timeout is None else self.timeout),
        )
        if self.synchronise == "staggered" and not self.resync:
            raise ValueError("resync must be a number of tuples with synchronise='staggered', got False")

    def _period(self, name: str, value: Any) -> Any:
        """Return a number of tuples: window * instances for True; or False, for False or None."""
        if value is True:
            return self.window * self.instances
        return False if value is None or value is False else _check.integer(name, value, 1)

    def settings(self) -> np.ndarray:
        """Return the options as the kernels take them: SETTINGS[1]."""
        settings = np.zeros(1, SETTINGS)
        for name in ("instances", "rows", "columns", "resync"):
            settings[name] = getattr(self, name)
        settings["timeout"] = self.timeout or NEVER
        settings["least_recent"] = self.ties == "least_recent"
        settings["clamp"] = self.idle == "clamp"
        settings["unseen_zero"] = self.unseen == "zero"
        settings["staggered"] = self.synchronise == "staggered"
        settings["busy"] = self.clock == "busy"
        settings["changed"] = self.resend == "changed"
        return settings


@dataclass(frozen=True)
class InstanceOptions(SharedOptions):
    """The options of `POSGInstance`, checked; its default incarnation is the time in ns."""

    instance: Any = field(kw_only=True)
    incarnation: Any = None

    def __post_init__(self):
        checked(self, instance=_check.integer("instance", self.instance, 0, 2**20 - 1))
        super().__post_init__()
        given = self.incarnation
        checked(
            self,
            incarnation=time.time_ns() if given is None else _check.integer("incarnation", given, 1, 2**63 - 1),
        )
