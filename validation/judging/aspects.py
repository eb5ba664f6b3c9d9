"""Aspects: what a sentence of a paper says, as estimates and the regions in which they must lie.

A check is one estimate and one region. It holds when the interval lies inside the region, fails
when it lies outside, and is undecided else. Checks combine: all of them, any of them, or a share
of them. Whatever is combined shares one error: each check's interval is as much wider as there are
checks, so that the word of the whole aspect is wrong no more often than alpha says.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .estimates import Estimate, Level, exact, mean
from .printed import Printed
from .samples import Sample

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"


@dataclass(frozen=True)
class Ruling:
    """The word on an aspect, and the check on which it hangs.

    `estimate`, `low` and `high` are of that check, `region` is where it must lie, `label` says what
    it is; `cells` are the settings of all checks that are still undecided.
    """

    word: str
    label: str
    estimate: float
    low: float
    high: float
    region: tuple[float, float]
    cells: frozenset[int] = frozenset()
    everywhere: bool = False  # an undecided check does not know its settings: all need more seeds


@dataclass(frozen=True)
class Check:
    """One estimate, and the closed region in which the claim says that it lies."""

    estimate: Estimate
    low: float = -math.inf
    high: float = math.inf
    label: str = ""

    def __post_init__(self):
        if not self.low <= self.high or (self.low, self.high) == (-math.inf, math.inf):
            raise ValueError(f"a region must go from a lower to a higher end, got {self.low} to {self.high}")

    @property
    def statistical(self) -> int:
        """How many checks with noise there are."""
        return int(self.estimate.statistical)

    def rule(self, alpha: float | Level) -> Ruling:
        """Return the word at this level, which may depend on the number of seeds."""
        low, high = self.estimate.interval(alpha(self.estimate.seeds) if callable(alpha) else alpha)
        if self.low <= low and high <= self.high:
            word = HOLDS
        elif high < self.low or low > self.high:
            word = FAILS
        else:
            word = UNDECIDED
        cells = self.estimate.cells if word == UNDECIDED else frozenset()
        return Ruling(
            word, self.label, self.estimate.point, low, high, (self.low, self.high),
            cells, word == UNDECIDED and not cells,
        )  # fmt: skip


@dataclass(frozen=True)
class Combined:
    """Several checks or aspects of which at least `needed` must hold."""

    parts: tuple[Any, ...]
    needed: int

    def __post_init__(self):
        if not self.parts:
            raise ValueError("an aspect needs at least one check: one that looks at nothing always holds")
        if not 1 <= self.needed <= len(self.parts):
            raise ValueError(f"needed must be 1 to {len(self.parts)}, got {self.needed}")

    @property
    def statistical(self) -> int:
        """How many checks with noise there are."""
        return sum(part.statistical for part in self.parts)

    def rule(self, alpha: float | Level) -> Ruling:
        """Return the word of the whole at this level, with the part on which it hangs."""
        rulings = [part.rule(alpha) for part in self.parts]
        words = [ruling.word for ruling in rulings]
        if words.count(HOLDS) >= self.needed:
            word = HOLDS
        elif len(words) - words.count(FAILS) < self.needed:
            word = FAILS
        else:
            word = UNDECIDED
        # The part on which it hangs: of those that speak for the word, the one that says it least
        # clearly where all must hold, and the one that says it most clearly where one is enough.
        speaking = [ruling for ruling in rulings if ruling.word == word] or rulings
        every = self.needed == len(self.parts)
        pick = min if (word == HOLDS) == every else max
        crucial = pick(speaking, key=_clearness)
        open_ones = [ruling for ruling in rulings if ruling.word == UNDECIDED] if word == UNDECIDED else []
        cells = frozenset().union(*(ruling.cells for ruling in open_ones))
        return Ruling(
            word, crucial.label, crucial.estimate, crucial.low, crucial.high, crucial.region,
            cells, any(ruling.everywhere for ruling in open_ones),
        )  # fmt: skip


Aspect = Check | Combined


def _clearness(ruling: Ruling) -> float:
    """Return how far the interval is from the nearer end of the region, in its own widths."""
    ends = [end for end in ruling.region if math.isfinite(end)]
    distance = min(abs(ruling.estimate - end) for end in ends)
    width = ruling.high - ruling.low
    if not math.isfinite(width):
        return 0.0
    return distance / width if width > 0 else math.inf


def _estimate(of: Sample | Estimate) -> Estimate:
    return mean(of) if isinstance(of, Sample) else of


def between(of: Sample | Estimate, low: float, high: float, label: str = "") -> Check:
    """Return the check that a mean or another estimate lies between two numbers."""
    return Check(_estimate(of), float(low), float(high), label)


def at_least(of: Sample | Estimate, low: float | Printed, label: str = "") -> Check:
    """Return the check that an estimate is no less than a number.

    "At least 15%" as printed is a value from below: its tolerance is allowed for.
    """
    return Check(_estimate(of), low.region[0] if isinstance(low, Printed) else float(low), math.inf, label)


def at_most(of: Sample | Estimate, high: float | Printed, label: str = "") -> Check:
    """Return the check that an estimate is no more than a number.

    "Up to 3 times" as printed is a value from above: its tolerance is allowed for.
    """
    return Check(_estimate(of), -math.inf, high.region[1] if isinstance(high, Printed) else float(high), label)


def close_to(of: Sample | Estimate, claimed: Printed, label: str = "") -> Check:
    """Return the check that an estimate agrees with a printed number within its tolerance."""
    return Check(_estimate(of), *claimed.region, label)


def less(a: Sample, b: Sample, label: str = "") -> Check:
    """Return the check that the mean of `a` lies below that of `b`, paired by seed.

    Equal is not less: two samples that are the same number for number are never in order.
    """
    difference = mean(b - a)
    return Check(difference, float(np.nextafter(0.0, 1.0)), math.inf, label)


def greater(a: Sample, b: Sample, label: str = "") -> Check:
    """Return the check that the mean of `a` lies above that of `b`, paired by seed."""
    return less(b, a, label)


def no_more(a: Sample, b: Sample, tolerance: float, label: str = "") -> Check:
    """Return the check that the mean of `a` is not above that of `b` by more than `tolerance`.

    The tolerance comes from the paper (a fifth of the printed effect, say) and is in the unit of
    the samples.
    """
    if not tolerance > 0:
        raise ValueError(f"tolerance must be above 0, got {tolerance}: without one, equal means are never decided")
    return Check(mean(b - a), -float(tolerance), math.inf, label)


def no_less(a: Sample, b: Sample, tolerance: float, label: str = "") -> Check:
    """Return the check that the mean of `a` is not below that of `b` by more than `tolerance`."""
    return no_more(b, a, tolerance, label)


def never(violations: Any, of: int, label: str = "") -> Check:
    """Return the check that something is violated in none of `of` cases.

    The count is exact: it says that these cases keep the rule. ValueError if there was no case.
    """
    count, cases = int(violations), int(of)
    if not 0 <= count <= cases or cases < 1:
        raise ValueError(f"violations must be 0 to the number of cases, and there must be one, got {count} of {cases}")
    return Check(exact(count), 0.0, 0.0, label or f"violations in {cases} cases")


def all_of(*parts: Aspect | Iterable[Aspect]) -> Combined:
    """Return the aspect that holds when every part holds."""
    flat_parts = _flatten(parts)
    return Combined(flat_parts, max(1, len(flat_parts)))


def any_of(*parts: Aspect | Iterable[Aspect]) -> Combined:
    """Return the aspect that holds when at least one part holds."""
    return Combined(_flatten(parts), 1)


def share_of(share: float, *parts: Aspect | Iterable[Aspect]) -> Combined:
    """Return the aspect that holds when at least this share of the parts hold."""
    if not 0 < share <= 1:
        raise ValueError(f"share must be above 0 and at most 1, got {share}")
    flat_parts = _flatten(parts)
    return Combined(flat_parts, max(1, math.ceil(share * len(flat_parts) - 1e-9)))


def _flatten(parts: Sequence[Any]) -> tuple[Any, ...]:
    found: list[Any] = []
    for part in parts:
        if isinstance(part, (Check, Combined)):
            found.append(part)
        else:
            found.extend(part)
    return tuple(found)


Series = Mapping[Any, Sample]


def _steps(series: Series) -> list[tuple[str, Sample, Sample]]:
    points = list(series.items())
    if len(points) < 2:
        raise ValueError(f"a series needs at least two points, got {len(points)}")
    return [(f"from {x} to {y}", a, b) for (x, a), (y, b) in itertools.pairwise(points)]


def monotone(series: Series, *, rising: bool, tolerance: float | None = None, label: str = "") -> Combined:
    """Return the aspect that a series goes up, or down, at every step.

    Parameters
    ----------
    series : mapping from a point to a Sample
        In the order of the points.
    rising : bool
        Which way.
    tolerance : float, optional
        Given, the series only must never go the other way by more than this; without it a step
        that is flat is no step, and the aspect fails or stays undecided there.
    label : str
        What the series is.
    """
    checks = []
    for step, a, b in _steps(series):
        low, high = (a, b) if rising else (b, a)
        name = f"{label} {step}".strip()
        checks.append(less(low, high, name) if tolerance is None else no_more(low, high, tolerance, name))
    return all_of(checks)


def flat(series: Series, within: float, label: str = "") -> Combined:
    """Return the aspect that every point of a series is within a share of the mean of all."""
    points = list(series.items())
    if len(points) < 2:
        raise ValueError(f"a series needs at least two points, got {len(points)}")
    centre = points[0][1]
    for _, sample in points[1:]:
        centre = centre + sample
    centre = centre / len(points)
    return all_of(
        all_of(
            Check(mean(sample - (1 - within) * centre), 0.0, math.inf, f"{label} at {x}, not too low".strip()),
            Check(mean((1 + within) * centre - sample), 0.0, math.inf, f"{label} at {x}, not too high".strip()),
        )
        for x, sample in points
    )


def peak(series: Series, where: Callable[[Any], bool], label: str = "") -> Combined:
    """Return the aspect that a series is greatest at one of the points that `where` allows.

    Some allowed point must lie above every point that is not allowed.
    """
    inside = {x: sample for x, sample in series.items() if where(x)}
    outside = {x: sample for x, sample in series.items() if not where(x)}
    if not inside or not outside:
        raise ValueError("a peak needs points inside and outside of where it may lie")
    return any_of(
        all_of(less(b, a, f"{label} at {x} above {y}".strip()) for y, b in outside.items()) for x, a in inside.items()
    )
