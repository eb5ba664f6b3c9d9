"""The options of the groupings that treat hot keys apart."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

from streamlb import _check
from streamlb._options import checked
from streamlb.groupings.base import GroupingOptions
from streamlb.ratios import fraction_of

_MOST_COUNTERS = 2**28


@dataclass(frozen=True)
class HeadOptions(GroupingOptions):
    """Hold the options of a grouping that treats hot keys apart, and check them."""

    _: KW_ONLY
    theta: float | None = None
    capacity: int | None = None
    guard: bool = True
    candidates: str = "distinct"
    ties: str = "rotate"

    def __post_init__(self) -> None:
        super().__post_init__()
        theta = 0.2 / self.workers if self.theta is None else _theta(self.theta)
        least = math.ceil(1 / fraction_of(theta))
        checked(
            self,
            theta=theta,
            capacity=max(1000, 2 * least) if self.capacity is None else _capacity(self.capacity, least, theta),
            guard=_check.flag("guard", self.guard),
            candidates=_check.choice("candidates", self.candidates, ("distinct", "independent")),
            ties=_check.choice("ties", self.ties, ("rotate", "first")),
        )


def _theta(theta: Any) -> float:
    theta = _check.real("theta", theta, 0, 1, low_open=True, high_open=True)
    if theta < 2 / _MOST_COUNTERS:
        raise ValueError(f"theta must be at least 2**-27, for a sketch of 2/theta counters to fit, got {theta!r}")
    return theta


def _capacity(capacity: Any, least: int, theta: float) -> int:
    capacity = _check.integer("capacity", capacity, 1, _MOST_COUNTERS)
    if capacity < least:
        raise ValueError(f"capacity must be at least {least} (1/theta) for theta={theta:g}, got {capacity}")
    return capacity
