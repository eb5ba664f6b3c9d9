"""One operator behind a shedder, simulated tuple by tuple (Rivetti et al. 2016, section 5).

Tuples come at `arrivals`; what the shedder keeps is executed in order, each for its cost. The
operator's messages reach the shedder at the end of the execution that caused them. The kernels run
the shedder's own step (`streamlb.shedding`), so a simulated shedder and a live one fed with the
same tuples are in the same state. `waits` float64[m] is the result: each tuple's queuing time, -1
if it was dropped.
"""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar, NamedTuple

import numpy as np

from streamlb import _check
from streamlb._jit import njit
from streamlb.keys import key_array
from streamlb.shedding.baselines import (
    WATCHER,
    FullKnowledge,
    RandomShedder,
    StrawMan,
    offer_known,
    offer_random,
)
from streamlb.shedding.clock import CLOCK, DROP, offer_learnt, shedding_of
from streamlb.shedding.local import LoadAwareShedder, execute, operator_of
from streamlb.shedding.shedder import Shedder
from streamlb.streams import Zipf, execution_times

# A stream: keys uint64, costs and arrivals float64, all [m].
Tuples = namedtuple("Tuples", "keys costs arrivals")

DROPPED = -1.0


@njit(cache=True, nogil=True)
def _simulate_learnt(tuples, waits, registers, F, W, family, room):
    """Run a load-aware shedder; return the first tuple at which it watched its goal, m if none."""
    keys, costs, arrivals = tuples.keys, tuples.costs, tuples.arrivals
    shedding, operator = shedding_of(registers, F, W, family, room), operator_of(registers, F, W)
    own = shedding.own[0]
    m = keys.size
    free = 0.0
    first = m
    done = 0  # the oldest tuple that may be with the operator
    finish = np.inf  # when it leaves, if it was kept
    for i in range(m + 1):
        now = arrivals[i] if i < m else np.inf  # once all have come, the operator executes what it has
        while done < i and finish <= now:
            if waits[done] != DROPPED:
                execute(np.int64(keys[done]), costs[done], finish - own.clock.origin, shedding, operator)
            done += 1
            finish = -np.inf if done == i or waits[done] == DROPPED else arrivals[done] + waits[done] + costs[done]
        if i == m:
            break
        if first == m and own.exchange.active == 1:
            first = i
        if offer_learnt(np.int64(keys[i]), now, -1, 1, shedding) == DROP:
            waits[i] = DROPPED
        else:
            start = max(free, now)
            waits[i] = start - now
            free = start + costs[i]
        if done == i:
            finish = -np.inf if waits[i] == DROPPED else free
    return first


@njit(cache=True, nogil=True)
def _simulate_known(tuples, waits, fixed, registers, ring):
    """Run a shedder that takes every tuple to cost `fixed` or, where that is NaN, its true cost."""
    costs, arrivals = tuples.costs, tuples.arrivals
    own = registers.view(WATCHER)[0]
    free = 0.0
    for i in range(costs.size):
        now = arrivals[i]
        cost = fixed if fixed == fixed else costs[i]
        if offer_known(now, cost, -1, own, ring) == DROP:
            waits[i] = DROPPED
        else:
            start = max(free, now)
            waits[i] = start - now
            free = start + costs[i]


@njit(cache=True, nogil=True)
def _simulate_random(tuples, waits, share, seed, registers):
    """Run a shedder that drops a share at random."""
    costs, arrivals, clock = tuples.costs, tuples.arrivals, registers.view(CLOCK)[0]
    free = 0.0
    for i in range(costs.size):
        if offer_random(arrivals[i], share, seed, clock) == DROP:
            waits[i] = DROPPED
        else:
            start = max(free, arrivals[i])
            waits[i] = start - arrivals[i]
            free = start + costs[i]


@dataclass(frozen=True)
class _Asked:
    """What a call of `simulate_shedding` says of a named policy."""

    threshold: Any
    underprovisioning: float
    seed: Any
    mean_cost: Any
    safety: Any
    options: dict[str, Any]

    @property
    def raised_by(self) -> Any:
        """The share by which the baselines raise their estimates."""
        return 0.0 if self.safety is None else self.safety


class _Policy:
    """A policy that has a name: how its shedder is made, and how such a shedder runs compiled."""

    kind: ClassVar[type]
    takes: ClassVar[tuple[str, ...]] = ("goal", "span", "share")  # further options, beside those of every policy

    def make(self, asked: _Asked, costs: np.ndarray) -> Shedder:
        """Return the shedder that the name stands for."""
        raise NotImplementedError

    def compiled(self, shedder: Any) -> bool:
        """Say whether this shedder can run compiled: a goal of the user's own cannot."""
        return shedder._own_goal is None

    def run(self, shedder: Any, tuples: Tuples, waits: np.ndarray) -> int:
        """Run a shedder of this kind; return the first tuple at which it watched its goal."""
        raise NotImplementedError


class _LoadAware(_Policy):
    kind = LoadAwareShedder
    takes = tuple(
        name for name in signature(LoadAwareShedder).parameters if name not in ("threshold", "seed", "safety")
    )

    def make(self, asked, costs):
        return LoadAwareShedder(asked.threshold, seed=asked.seed, safety=asked.safety, **asked.options)

    def compiled(self, shedder):
        return super().compiled(shedder) and shedder.outstanding == 0

    def run(self, shedder, tuples, waits):
        return _simulate_learnt(tuples, waits, *shedder._arrays())


class _FullKnowledge(_Policy):
    kind = FullKnowledge

    def make(self, asked, costs):
        return FullKnowledge(asked.threshold, safety=asked.raised_by, **asked.options)

    def run(self, shedder, tuples, waits):
        _simulate_known(tuples, waits, float("nan"), shedder._registers, shedder._ring)
        return 0


class _StrawMan(_Policy):
    kind = StrawMan

    def make(self, asked, costs):
        mean = float(costs.mean()) if costs.size else 0.0
        mean = mean if asked.mean_cost is None else asked.mean_cost
        return StrawMan(asked.threshold, mean, safety=asked.raised_by, **asked.options)

    def compiled(self, shedder):
        return super().compiled(shedder) and shedder.options.mean_cost is not None  # else it learns as it goes

    def run(self, shedder, tuples, waits):
        _simulate_known(tuples, waits, shedder.mean_cost, shedder._registers, shedder._ring)
        return 0


class _Random(_Policy):
    kind = RandomShedder
    takes = ()

    def make(self, asked, costs):
        return RandomShedder(max(0.0, asked.underprovisioning), asked.seed, safety=asked.raised_by)

    def compiled(self, shedder):
        return True

    def run(self, shedder, tuples, waits):
        _simulate_random(tuples, waits, shedder.share, np.uint64(shedder.seed), shedder._registers)
        return 0


class _Nothing(_Random):
    """The policy that drops nothing."""

    def make(self, asked, costs):
        return RandomShedder(0.0, asked.seed)


POLICIES: dict[str, _Policy] = {
    "load_aware": _LoadAware(),
    "straw_man": _StrawMan(),
    "full_knowledge": _FullKnowledge(),
    "random": _Random(),
    "none": _Nothing(),
}


def _run_live(shedder: Any, tuples: Tuples, waits: np.ndarray) -> int:
    """Run any object with `offer` and `complete`, one call after the other."""
    knows = isinstance(shedder, FullKnowledge)
    free, done, first = 0.0, 0, waits.size
    kept: list[tuple[int, float, float]] = []

    def complete(until: float) -> None:
        nonlocal done
        while done < len(kept) and kept[done][2] <= until:
            shedder.complete(*kept[done])
            done += 1

    for i, (key, cost, now) in enumerate(zip(*(column.tolist() for column in tuples))):
        complete(now)
        if first == waits.size and getattr(shedder, "active", True):
            first = i
        if shedder.offer(key, now, cost) if knows else shedder.offer(key, now):
            waits[i] = DROPPED
        else:
            start = max(free, now)
            waits[i] = start - now
            free = start + cost
            kept.append((key, cost, now + (start - now) + cost))
    complete(np.inf)
    return first


@dataclass(frozen=True, eq=False)
class SheddingResult:
    """What a simulated shedder did with a stream.

    Parameters
    ----------
    waits : float64[m]
        Each tuple's queuing time; -1 if it was dropped.
    costs, arrivals : float64[m]
        The stream.
    active_from : int
        The first tuple at which the shedder watched its goal; m if it never did.
    matrices, replies : int
        Pairs of matrices and replies that the shedder received.
    assignment : int32[m] or None
        The instance of each tuple, -1 for the dropped, where there are several
        (`simulate_shed_operator`).
    """

    waits: np.ndarray
    costs: np.ndarray
    arrivals: np.ndarray
    active_from: int = 0
    matrices: int = 0
    replies: int = 0
    assignment: np.ndarray | None = None

    @property
    def dropped(self) -> np.ndarray:
        """Which tuples were dropped, bool[m]."""
        return self.waits == DROPPED

    @property
    def dropped_ratio(self) -> float:
        """The share of dropped tuples, 0 of an empty stream."""
        return float(self.dropped.mean()) if self.waits.size else 0.0

    @property
    def average_wait(self) -> float:
        """The mean queuing time of the kept tuples, 0 if there are none."""
        kept = self.waits[~self.dropped]
        return float(kept.mean()) if kept.size else 0.0

    @property
    def average_completion(self) -> float:
        """The mean time from arrival to the end of execution of the kept tuples, 0 if none."""
        kept = ~self.dropped
        return float((self.waits[kept] + self.costs[kept]).mean()) if kept.any() else 0.0

    def quantile(self, share: Any) -> float:
        """Return the queuing time that this share of the kept tuples does not exceed."""
        kept = self.waits[~self.dropped]
        share = _check.real("share", share, 0.0, 1.0)
        return float(np.quantile(kept, share)) if kept.size else 0.0

    def running_average(self) -> np.ndarray:
        """Return Q(j) for each kept tuple j, in order: the mean wait of all kept up to it."""
        kept = self.waits[~self.dropped]
        return np.cumsum(kept) / np.arange(1, kept.size + 1)

    def shedding_ratio(self, baseline: SheddingResult) -> float:
        """Return how many more tuples were dropped than by a baseline, as a share of its drops."""
        theirs = int(baseline.dropped.sum())
        if theirs == 0:
            raise ValueError("baseline must have dropped something, got no drops")
        return (int(self.dropped.sum()) - theirs) / theirs

    def between(self, start: int, stop: int | None = None) -> SheddingResult:
        """Return the result of tuples start .. stop-1 alone, such as those after a warm-up."""
        part = slice(start, stop)
        return SheddingResult(self.waits[part], self.costs[part], self.arrivals[part])

    def windows(self, size: Any = 4000) -> dict[str, np.ndarray]:
        """Return means over jumping windows of `size` tuples.

        Returns
        -------
        dict of arrays
            ``end`` (index after each window's last tuple), ``wait``, ``completion`` (means over
            kept tuples, NaN if there are none) and ``dropped_ratio``.
        """
        size = _check.integer("size", size, 1)
        starts = np.arange(0, self.waits.size, size)
        kept = (~self.dropped).astype(np.float64)
        if starts.size == 0:
            empty = np.empty(0)
            return {"end": np.empty(0, np.int64), "wait": empty, "completion": empty, "dropped_ratio": empty}
        count = np.add.reduceat(kept, starts)
        length = np.diff(np.append(starts, self.waits.size))
        some = np.where(count > 0, count, np.nan)
        return {
            "end": starts + length,
            "wait": np.add.reduceat(np.where(kept > 0, self.waits, 0.0), starts) / some,
            "completion": np.add.reduceat(np.where(kept > 0, self.waits + self.costs, 0.0), starts) / some,
            "dropped_ratio": 1.0 - count / length,
        }

    def __repr__(self) -> str:
        return (
            f"<SheddingResult {self.waits.size} tuples: dropped {self.dropped_ratio:.1%}, average wait "
            f"{self.average_wait:.4g}, average completion {self.average_completion:.4g}>"
        )


def simulate_shedding(
    keys: Any,
    costs: Any,
    policy: Any = "load_aware",
    threshold: Any = 6.4,
    underprovisioning: Any = 0.25,
    seed: Any = 0,
    *,
    arrivals: Any = None,
    warmup: Any = None,
    mean_cost: Any = None,
    safety: Any = None,
    **options: Any,
) -> SheddingResult:
    """Simulate one operator behind a shedder.

    Parameters
    ----------
    keys : array-like
        The stream, see `streamlb.key_array`.
    costs : array-like of float
        The execution time of each tuple.
    policy : {"load_aware", "straw_man", "full_knowledge", "random", "none"} or a shedder
        The shedder. An object is used as it is, goes on from its state and keeps what it learns;
        any object with `offer` and `complete` will do, those of streamlb with a goal of streamlb's
        own run compiled. "none" drops nothing.
    threshold : float
        The goal's bound on the queuing time; not for "random" and "none".
    underprovisioning : float
        Tuples come evenly, mean(costs) * (1 - underprovisioning) apart; below 1, negative for a
        load below capacity. The share that "random" drops.
    seed : int, SeedSequence or None
        Of the hash functions or the random drops.
    arrivals : array-like of float, optional
        When each tuple comes, instead of evenly: not decreasing, not negative. Phases are streams
        and arrivals one after the other.
    warmup : tuple of (keys, costs), optional
        Executions to learn from before the stream comes, for "load_aware": see
        `LoadAwareShedder.train`. Without it the shedder starts in NOP.
    mean_cost : float, optional
        What "straw_man" takes every tuple to cost; the stream's mean when None.
    safety : float, optional
        Share by which estimates are raised. None: epsilon for "load_aware", 0 for the others, as in
        the paper.
    **options
        Further parameters of the shedder: `goal`, `span`, `share` and, for "load_aware", all of
        `LoadAwareShedder`.

    Returns
    -------
    SheddingResult

    Examples
    --------
    >>> from streamlb import Zipf, execution_times, simulate_shedding
    >>> keys = Zipf(4096, 1.0).draw(32_768, seed=1)
    >>> costs = execution_times(4096, 64, 0.1, 6.4, seed=1)[keys]
    >>> exact = simulate_shedding(keys, costs, "full_knowledge", 6.4, underprovisioning=0.25)
    >>> bool(exact.running_average().max() <= 6.4)
    True
    """
    keys = key_array(keys)
    costs = _check.real_array("costs", costs, keys.size)
    underprovisioning = _check.real("underprovisioning", underprovisioning, high=1.0, high_open=True)
    arrivals = check_arrivals(arrivals, costs, underprovisioning)
    if isinstance(policy, str):
        chosen = POLICIES[_check.choice("policy", policy, tuple(POLICIES))]
        _check_options(policy, chosen, options)
        asked = _Asked(threshold, underprovisioning, seed, mean_cost, safety, options)
        shedder: Any = chosen.make(asked, costs)
    else:
        shedder = policy
        if options or safety is not None or mean_cost is not None:
            raise TypeError("options must not be given with a shedder object: they are parameters of a named policy")
        if not (hasattr(policy, "offer") and hasattr(policy, "complete")):
            raise TypeError(f"policy must be a name or an object with offer and complete, got {policy!r}")
    if warmup is not None:
        if not isinstance(shedder, LoadAwareShedder):
            raise ValueError(
                "warmup must be None but for a load-aware shedder: the others learn nothing before they start"
            )
        shedder.train(*warmup)
    waits = np.zeros(keys.size)
    first = _run(shedder, Tuples(keys, costs, arrivals), waits)
    learnt = isinstance(shedder, LoadAwareShedder)
    told = (shedder.matrices, shedder.replies) if learnt else (0, 0)
    return SheddingResult(waits, costs, arrivals, first, *told)


def _check_options(name: str, policy: _Policy, options: dict[str, Any]) -> None:
    """Refuse options that a named policy does not take."""
    if options and not policy.takes:
        raise TypeError(
            f"simulate_shedding: the policy {name!r} takes no options, got {', '.join(options)}; leave them out"
        )
    for option in options:
        if option not in policy.takes:
            raise TypeError(
                f"simulate_shedding: got an unexpected keyword argument {option!r}; with the policy {name!r} it takes "
                f"{', '.join(policy.takes)}"
            )


def check_arrivals(arrivals: Any, costs: np.ndarray, underprovisioning: float, instances: int = 1) -> np.ndarray:
    """Return when tuples come: as given, or evenly for so many instances so under-provisioned."""
    if arrivals is None:
        gap = float(costs.mean()) * (1.0 - underprovisioning) / instances if costs.size else 0.0
        return np.arange(costs.size) * gap
    arrivals = _check.real_array("arrivals", arrivals, costs.size)
    falls = np.flatnonzero(np.diff(arrivals) < 0)
    if falls.size:
        raise ValueError(f"arrivals must not decrease, got {arrivals[falls[0] + 1]!r} at position {falls[0] + 1}")
    return arrivals


def _run(shedder: Any, tuples: Tuples, waits: np.ndarray) -> int:
    """Run a shedder, compiled if it can be; return the first tuple at which it watched its goal."""
    start = tuples.arrivals[0] if waits.size else np.inf
    if isinstance(shedder, Shedder) and shedder.offered and start < shedder.last:
        raise ValueError(f"arrivals must not start before the shedder's last tuple, got {start!r}")
    for policy in POLICIES.values():
        if type(shedder) is policy.kind and policy.compiled(shedder):
            return policy.run(shedder, tuples, waits)
    return _run_live(shedder, tuples, waits)


class SheddingLoad(NamedTuple):
    """A stream with its costs and arrivals, and where its phases start."""

    keys: np.ndarray
    costs: np.ndarray
    arrivals: np.ndarray
    starts: np.ndarray
    mean_cost: float


def seven_phases(
    seed: Any = 0, keys: Any = 4096, exponent: Any = 1.0, messages: Any = 20_000, swapped: str = "DEF"
) -> SheddingLoad:
    """Return the stream of a time series in seven phases, A to G, of changing rate, keys and costs.

    It is the one of Rivetti et al. 2016, figure 6.

    A: the load is what the operator can bear. B: twice that. C: as A. D: the most frequent key
    changes places with one of the greatest cost. E: two thirds of the load of A. F: the load of A,
    every cost doubled. G: as A. Rates are relative to the mean cost in phase A.

    Parameters
    ----------
    seed : int, SeedSequence or None
        Of the keys and of which key costs what.
    keys, exponent : int, float
        The Zipf distribution.
    messages : int
        Tuples a phase.
    swapped : str
        The phases in which the two keys have changed places: the text restores "phase A" only in G.

    Examples
    --------
    >>> from streamlb import seven_phases, simulate_shedding
    >>> load = seven_phases(seed=1, messages=2000)
    >>> given = {"arrivals": load.arrivals, "mean_cost": load.mean_cost}
    >>> result = simulate_shedding(load.keys, load.costs, "straw_man", threshold=64.0, **given)
    >>> dropped = result.windows(2000)["dropped_ratio"]
    >>> float(dropped[1].round(1))  # phase B comes at twice the rate
    0.5
    """
    if not set(swapped) <= set("ABCDEFG"):
        raise ValueError(f"swapped must name phases of A to G, got {swapped!r}")
    stream = Zipf(keys, exponent)
    messages = _check.integer("messages", messages, 1)
    value = _check.seed_value(seed)
    times = execution_times(keys, min(64, keys), 0.1, 6.4, seed=value)
    mean_cost = float(stream.pmf @ times)
    dear = int(np.flatnonzero(times[1:] == times.max())[0]) + 1 if (times[1:] == times.max()).any() else 0
    drawn = stream.draw(7 * messages, value)
    costs = np.empty(drawn.size)
    gaps = np.empty(drawn.size)
    for number, (name, gap, factor) in enumerate(zip("ABCDEFG", (1, 0.5, 1, 1, 1.5, 1, 1), (1, 1, 1, 1, 1, 2, 1))):
        part = slice(number * messages, (number + 1) * messages)
        if name in swapped:
            first, other = drawn[part] == 0, drawn[part] == dear
            drawn[part][first], drawn[part][other] = dear, 0
        costs[part] = factor * times[drawn[part]]
        gaps[part] = gap * mean_cost
    arrivals = np.concatenate([[0.0], np.cumsum(gaps[:-1])])
    return SheddingLoad(drawn, costs, arrivals, np.arange(7) * messages, mean_cost)
