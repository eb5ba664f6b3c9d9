"""What the groupings with a bounded load share: who has room, and how many places are looked at.

A worker has room while its load is below (1 + epsilon) m / n, where m is all that the source has
sent, the current message included: otherwise the first message would never find a place (Nasir et
al. 2017, Algorithm 1). A load is a whole number, so this is the case exactly while the load is
below the limit rounded up, which is called the level here. The limit is compared for the epsilon
that the user wrote, without rounding errors (see `streamlb.ratios`).

A message of weight w counts as w messages, both in m and on its worker. Only the load before the
message is compared with the limit, so a heavy message may carry its worker above it.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from streamlb import _check
from streamlb._jit import njit, record
from streamlb._options import checked, takes
from streamlb.groupings.base import SHARED, Grouping, GroupingOptions, rest_of
from streamlb.ratios import ceil_share, fraction_of, terms_of

# What follows SHARED in meta. The limit is over / under of what a source has sent, and `share` is
# the float of that fraction. `max_probes` is where a search for room ends, `probes` counts the
# places that all messages have looked at, and `most` those of the message that looked at the most.
BOUNDED = record(
    [
        ("over", "i8"),
        ("under", "i8"),
        ("share", "f8"),
        ("max_probes", "i8"),
        ("probes", "i8"),
        ("most", "i8"),
    ]
)
_START, _WORDS = SHARED.itemsize // 8, BOUNDED.itemsize // 8


@njit(nogil=True, inline="always")
def bounded_of(meta):
    """Return the record BOUNDED of meta, a view."""
    return rest_of(meta)[:_WORDS].view(BOUNDED)[0]


@njit(nogil=True, inline="always")
def sent_of(meta):
    """Return what each source has sent, int64[sources], a view of the end of meta."""
    return rest_of(meta)[_WORDS:]


@njit(cache=True, nogil=True, forceinline=True)
def room_level(sent, over, under, share):
    """Return the load from which on a worker is full.

    It is never 0, for a message of no weight may be the first.
    """
    # What `ceil_share` does, faster. A float of the limit is off by less than 2**-51 of it, so a
    # 2**-50th less is below the limit. No whole number lies between the two while
    # sent * over < 2**49: a limit is a multiple of 1 / under, so the next whole number below one
    # that is not whole is at least that far away.
    if sent * float(over) < 2.0**49:
        return np.int64(math.ceil(sent * (share * (1.0 - 2.0**-50)))) if sent > 0 else np.int64(1)
    return ceil_share(sent, over, under, share)


class Probes(NamedTuple):
    """How many places a grouping looked at per message: the mean and the maximum."""

    mean: float
    maximum: int


@dataclass(frozen=True)
class BoundedOptions(GroupingOptions):
    """Hold the options of a grouping with a bounded load and check them."""

    _: KW_ONLY
    epsilon: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        checked(self, epsilon=_check.real("epsilon", self.epsilon, 0, low_open=True))

    @property
    def limit(self) -> Fraction:
        """The limit as a fraction of what a source has sent."""
        # No load is above what was sent, so all limits above that let everything in: 2 stands for
        # each of them.
        return min(Fraction(2), (1 + fraction_of(self.epsilon)) / self.workers)


@takes(BoundedOptions)
class BoundedGrouping(Grouping):
    """Base of the groupings that let no worker exceed 1 + epsilon times the mean load."""

    __slots__ = ()
    epsilon: float  # an option, as an attribute to read
    _version = 3  # 3: the limit is a fraction and no float

    def _bounded_meta(self, max_probes: int) -> np.ndarray:
        """Return the meta of a grouping that has routed nothing."""
        meta = self._fresh_meta(_START + _WORDS + self.sources)
        own = meta[_START : _START + _WORDS].view(BOUNDED)[0]
        own["over"], own["under"], own["share"] = terms_of(self.options.limit)
        own["max_probes"] = max_probes
        return meta

    @property
    def probes(self) -> Probes:
        """Places (workers or points of the ring) looked at per message so far: mean and maximum."""
        own = self._state[1][_START : _START + _WORDS].view(BOUNDED)[0]
        return Probes(int(own["probes"]) / max(1, self.messages), int(own["most"]))
