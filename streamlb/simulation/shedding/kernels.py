"""The kernels of one operator behind a shedder (Rivetti et al. 2016, section 5).

They run the shedder's own step (`streamlb.shedding`), so a simulated shedder and a live one fed
with the same tuples are in the same state. `waits` float64[m] is the result: each tuple's queuing
time, -1 if it was dropped.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from streamlb._jit import njit
from streamlb.shedding.baselines import WATCHER, offer_known, offer_random
from streamlb.shedding.clock import CLOCK, DROP, offer_learnt, shedding_of
from streamlb.shedding.local import execute, operator_of

# A stream: keys uint64, costs and arrivals float64, all [m].
Tuples = namedtuple("Tuples", "keys costs arrivals")

DROPPED = -1.0


@njit(cache=True, nogil=True)
def simulate_learnt(tuples, waits, registers, F, W, family, room):
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
        # Once all have come, the operator executes what it has.
        now = arrivals[i] if i < m else np.inf
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
def simulate_known(tuples, waits, fixed, registers, ring):
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
def simulate_random(tuples, waits, share, seed, registers):
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
