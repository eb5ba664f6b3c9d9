"""One operator behind a shedder, simulated tuple by tuple (Rivetti et al. 2016, section 5).

Tuples come at `arrivals`; what the shedder keeps is executed in order, each for its cost. The
operator's messages reach the shedder at the end of the execution that caused them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamlb._options import bind_policy, joined, shows, signature_of
from streamlb.shedding.baselines import FullKnowledge
from streamlb.shedding.local import LoadAwareShedder
from streamlb.shedding.shedder import Shedder
from streamlb.simulation.shedding.kernels import DROPPED, Tuples
from streamlb.simulation.shedding.options import SheddingRunOptions
from streamlb.simulation.shedding.policies import POLICIES, policy_of
from streamlb.simulation.shedding.result import SheddingResult

_SIGNATURE = joined(
    "keys costs policy threshold underprovisioning seed",
    signature_of(SheddingRunOptions),
    *(policy.takes for policy in POLICIES.values()),
)


@shows(_SIGNATURE)
def simulate_shedding(*args: Any, **kwargs: Any) -> SheddingResult:
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
        Of "load_aware", "straw_man" and "full_knowledge": the goal's bound on the queuing time.
    underprovisioning : float
        Tuples come evenly, mean(costs) * (1 - underprovisioning) apart; below 1, negative for a
        load below capacity. The share that "random" drops.
    seed : int, SeedSequence or None
        Of the hash functions or the random drops.
    arrivals : array-like of float, optional
        When each tuple comes, instead of evenly: not decreasing, not negative. Phases are streams
        and arrivals one after the other.
    warmup : tuple of (keys, costs), optional
        Of "load_aware" or a `LoadAwareShedder`: executions to learn from before the stream comes,
        see `LoadAwareShedder.train`. Without it the shedder starts in NOP.
    mean_cost : float, optional
        Of "straw_man": what it takes every tuple to cost; the stream's mean when None.
    safety : float, optional
        Of every name but "none": share by which estimates are raised. None: epsilon for
        "load_aware", 0 for the others, as in the paper.
    goal, span, share, check
        Of "load_aware", "straw_man" and "full_knowledge": as for `LoadAwareShedder`.
    window, tolerance, epsilon, delta, stability, rounding, columns, reports, clock, timeout, clamp
        Of "load_aware": as for `LoadAwareShedder`.
    sync, start, unseen, resync, look
        Of "load_aware": as for `LoadAwareShedder`.

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
    name = "simulate_shedding"
    options, policy, given = bind_policy(name, _SIGNATURE, SheddingRunOptions, policy_of, args, kwargs)
    if "safety" in given and given["safety"] is None:  # each shedder's own default
        del given["safety"]
    shedder = policy.make(options, given)
    tuples = Tuples(options.keys, options.costs, options.arrivals)
    waits = np.zeros(options.keys.size)
    first = _run(shedder, tuples, waits)
    learnt = isinstance(shedder, LoadAwareShedder)
    told = (shedder.matrices, shedder.replies) if learnt else (0, 0)
    return SheddingResult(waits, options.costs, options.arrivals, first, *told)


def _run(shedder: Any, tuples: Tuples, waits: np.ndarray) -> int:
    """Run a shedder, compiled if it can be; return the first tuple at which it watched its goal."""
    start = tuples.arrivals[0] if waits.size else np.inf
    if isinstance(shedder, Shedder) and shedder.offered and start < shedder.last:
        raise ValueError(f"arrivals must not start before the shedder's last tuple, got {start!r}")
    for policy in POLICIES.values():
        if type(shedder) is policy.kind and policy.compiled(shedder):
            return policy.run(shedder, tuples, waits)
    return _run_live(shedder, tuples, waits)


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
