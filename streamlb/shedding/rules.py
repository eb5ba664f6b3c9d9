"""What a shedder aims at, and the options of shedders (Rivetti et al. 2016, sections 2 and 3.2).

A goal says whether keeping a tuple with a given wait would miss it (`violates`), and remembers the
waits of the tuples that were kept (`count_wait`). State: one `GOAL` record and, for the goal
"windowed" alone, `ring` float64[span], the last waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import njit, record
from streamlb._options import checked
from streamlb.learning.learner import LearnerOptions

# What a shedder aims at (the first four, settings), and what it remembers of the tuples it kept.
GOAL = record(
    [
        ("kind", "i8"),  # AVERAGE, WINDOWED, BOUND, PERCENTILE, LISTING, SUM or OWN
        ("threshold", "f8"),  # the bound on the wait
        ("share", "f8"),  # of the tuples that must wait no longer, for PERCENTILE
        ("span", "i8"),  # places in the ring: the tuples averaged over for WINDOWED, otherwise 0
        ("count", "i8"),  # tuples kept while the goal was watched
        ("over", "i8"),  # how many of them waited longer than the threshold, for PERCENTILE
        ("total", "f8"),  # the sum of their waits, for WINDOWED of those in the ring
    ]
)
GOALS = ("average", "windowed", "bound", "percentile")
AVERAGE, WINDOWED, BOUND, PERCENTILE = range(4)  # kinds of goals, in the order of their names
LISTING, SUM, OWN = 4, 5, 6  # other readings of the average, and a goal of the user's own
CHECKS = {"text": AVERAGE, "sum": SUM, "listing": LISTING}  # what the average is tested with


@njit(cache=True, nogil=True, forceinline=True)
def violates(wait, goal, ring):
    """Say whether the goal would be missed by keeping a tuple with this wait."""
    kind, threshold, count = goal.kind, goal.threshold, goal.count
    if kind == AVERAGE or (kind == WINDOWED and count < ring.size):
        return goal.total + wait > threshold * (count + 1.0)
    if kind == WINDOWED:
        return goal.total - ring[count % ring.size] + wait > threshold * ring.size
    if kind == LISTING:  # it looks before it adds
        return count > 0 and goal.total > threshold * count
    if kind == SUM:  # it adds the wait itself to the average so far
        kept = max(count, 1)
        return goal.total + wait * kept > threshold * kept
    late = wait > threshold
    return late and (kind == BOUND or goal.over + 1.0 > (1.0 - goal.share) * (count + 1.0))


@njit(cache=True, nogil=True, forceinline=True)
def count_wait(wait, goal, ring):
    """Add a kept tuple's wait to what the goal remembers."""
    if goal.kind == WINDOWED:
        at = goal.count % ring.size
        goal.total += wait - (ring[at] if goal.count >= ring.size else 0.0)
        ring[at] = wait
        if at == ring.size - 1:  # a running sum drifts, so the waits are summed again once a round
            total = 0.0
            for i in range(ring.size):
                total += ring[i]
            goal.total = total
    else:
        goal.total += wait
        if goal.kind == PERCENTILE and wait > goal.threshold:
            goal.over += 1
    goal.count += 1


@dataclass(frozen=True)
class GoalOptions:
    """What a shedder aims at, and by how much it raises its estimates."""

    threshold: Any = 6.4
    safety: Any = 0.0
    goal: Any = "average"
    span: Any = 1024
    share: Any = 0.95
    check: str = "text"

    def __post_init__(self):
        checked(
            self,
            threshold=_check.real("threshold", self.threshold, 0.0, low_open=True),
            safety=_check.real("safety", self.safety, 0.0),
            goal=self.goal if callable(self.goal) else _check.choice("goal", self.goal, GOALS),
            span=_check.integer("span", self.span, 1),
            share=_check.real("share", self.share, 0.0, 1.0, low_open=True, high_open=True),
            check=_check.choice("check", self.check, tuple(CHECKS)),
        )
        if self.check != "text" and self.goal != "average":
            raise ValueError(f"check must be 'text' for the goal {self.goal!r}: the others are of the average only")

    @property
    def own_goal(self) -> Any:
        """The user's own goal, or None."""
        return self.goal if callable(self.goal) else None

    def kind(self) -> int:
        """Return the kind of the goal, as the kernels know it."""
        if callable(self.goal):
            return OWN
        return CHECKS[self.check] if self.goal == "average" else GOALS.index(self.goal)

    def goal_record(self) -> np.ndarray:
        """Return the GOAL record at the start."""
        record = np.zeros(1, GOAL)
        record["kind"] = self.kind()
        record["threshold"], record["share"] = self.threshold, self.share
        record["span"] = self.span if self.goal == "windowed" else 0
        return record


@dataclass(frozen=True)
class ReportOptions:
    """What the operator tells of its clock; shedder and operator must have the same."""

    reports: Any = 0
    clock: str = "wall"

    def __post_init__(self):
        checked(
            self,
            reports=_check.integer("reports", self.reports, 0, _check.MOST),
            clock=_check.choice("clock", self.clock, ("wall", "busy")),
        )


@dataclass(frozen=True)
class ShedderOptions(LearnerOptions, GoalOptions, ReportOptions):
    """All options of load-aware shedding; `LoadAwareShedder` says what each is for."""

    safety: Any = None
    timeout: Any = None
    clamp: bool = True
    sync: str = "exact"
    start: str = "reply"
    unseen: str = "mean"
    resync: Any = 0
    look: str = "after"

    def __post_init__(self):
        LearnerOptions.__post_init__(self)
        checked(self, safety=self.epsilon if self.safety is None else self.safety)
        GoalOptions.__post_init__(self)
        ReportOptions.__post_init__(self)
        timeout = min(16 * self.window, _check.MOST) if self.timeout is None else self.timeout
        checked(
            self,
            timeout=_check.integer("timeout", timeout, 0, _check.MOST),
            clamp=_check.flag("clamp", self.clamp),
            sync=_check.choice("sync", self.sync, ("exact", "difference")),
            start=_check.choice("start", self.start, ("reply", "matrices")),
            unseen=_check.choice("unseen", self.unseen, ("mean", "zero")),
            resync=_check.integer("resync", self.resync, 0, _check.MOST),
            look=_check.choice("look", self.look, ("after", "before")),
        )


# The options of `LoadAwareShedder` that differ from its defaults in the paper, at their printed
# values.
PRINTED: dict[str, Any] = {
    "timeout": 0,
    "clamp": False,
    "sync": "difference",
    "check": "listing",
    "start": "matrices",
    "clock": "busy",
    "unseen": "zero",
    "stability": "printed",
    "rounding": "floor",
    "look": "before",
}
