"""The load shedder's side of the protocol (paper 003, listing 3.2): goal, estimate of the backlog, state machine.

One float64 array `s` holds the parameters and the counters (slots below), so that a live call passes few arrays.
Times are relative to the first tuple's. CLOCK is when the operator will have executed everything kept so far, by the
estimates. The estimate of a wait is CLOCK less the time elapsed.

What was kept since a point in time acts on the clock as x -> max(x + A, M): A is the cost added since, M what the
clock would be had the operator been idle at some tuple since. The pair (A, M) since the last request (and since each
mark, for reports) thus tells exactly what the clock should be once the operator says what it was. Other arrays: ring
float64[span], the last waits of a windowed goal; pending float64[power of two], when the tuples that are still with
the operator were kept; marks float64[marks, 2], the pairs of reports.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import njit
from streamlb.learning.learner import BUSY, estimate_cost, find_columns, learn_execution, mean_cost, start_anew

NOP, SEND, RUN = 0.0, 1.0, 2.0
PHASES = ("NOP", "SEND", "RUN")
AVERAGE, WINDOWED, BOUND, PERCENTILE, LISTING, OWN = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0
GOALS = ("average", "windowed", "bound", "percentile")
KEEP, DROP, KEEP_AND_ASK, FULL, BACKWARDS = 0, 1, 2, 3, 4  # what an offer gives; the last two change nothing

# Parameters.
THRESHOLD, GROWTH, GOAL, SHARE, CLAMP, EXACT, EARLY, BUSY_CLOCK, TIMEOUT, REPORTS = range(10)
WINDOW, TOLERANCE, PRINTED, UNSEEN_MEAN = range(10, 14)
# The shedder's state.
PHASE, ACTIVE, ORIGIN, LAST, CLOCK, ASSIGNED, UNSEEN = range(14, 21)
EPOCH, WAITING, ASKED, PATIENCE, BELIEVED, SINCE_A, SINCE_M = range(21, 28)
OFFERED, KEPT, TOTAL, COUNT, OVER, MATRICES, REPLIES, REPORTED, BASE, KNOWN, AGAIN = range(28, 39)
# The operator's state, where it lives in the same process.
DONE, OPERATOR_CLOCK = 39, 40
SLOTS = 41

MARKS = 4096  # reports that may be on their way: a backlog of MARKS * reports tuples


@njit(cache=True, nogil=True, forceinline=True)
def expected_wait(now, s):
    """Return the estimated queuing time of a tuple that comes now."""
    wait = s[CLOCK] - (now - s[ORIGIN])
    return 0.0 if wait < 0.0 and s[CLAMP] != 0.0 else wait


@njit(cache=True, nogil=True, forceinline=True)
def violates(wait, s, ring):
    """Say whether the goal would be missed by keeping a tuple with this wait."""
    goal, threshold, count = s[GOAL], s[THRESHOLD], s[COUNT]
    if goal == AVERAGE:
        return s[TOTAL] + wait > threshold * (count + 1.0)
    if goal == BOUND:
        return wait > threshold
    if goal == PERCENTILE:
        return wait > threshold and s[OVER] + 1.0 > (1.0 - s[SHARE]) * (count + 1.0)
    if goal == WINDOWED:
        span = ring.size
        if count < span:
            return s[TOTAL] + wait > threshold * (count + 1.0)
        return s[TOTAL] - ring[int(count) % span] + wait > threshold * span
    return count > 0.0 and s[TOTAL] > threshold * count  # the listing, which looks before it adds


@njit(cache=True, nogil=True, forceinline=True)
def count_wait(wait, s, ring):
    """Add a kept tuple's wait to what the goal remembers."""
    if s[GOAL] == WINDOWED:
        at = int(s[COUNT]) % ring.size
        s[TOTAL] += wait - (ring[at] if s[COUNT] >= ring.size else 0.0)
        ring[at] = wait
        if at == ring.size - 1:  # a running sum drifts: sum again once a round
            total = 0.0
            for i in range(ring.size):
                total += ring[i]
            s[TOTAL] = total
    else:
        s[TOTAL] += wait
    s[COUNT] += 1.0
    if wait > s[THRESHOLD]:
        s[OVER] += 1.0


@njit(cache=True, nogil=True, forceinline=True)
def add_cost(cost, now, s, marks):
    """Move the clock by a kept tuple, and the pairs since the last request and the last mark."""
    cost *= s[GROWTH]
    elapsed = now - s[ORIGIN]
    if s[CLAMP] != 0.0:
        s[CLOCK] = max(s[CLOCK], elapsed)
        s[SINCE_M] = max(s[SINCE_M], elapsed) + cost
    s[CLOCK] += cost
    s[SINCE_A] += cost
    s[ASSIGNED] += cost
    every = s[REPORTS]
    if every > 0.0:
        kept = s[KEPT] - s[BASE]
        at = int(kept // every) % marks.shape[0]
        if kept % every == 0.0:
            marks[at, 0] = 0.0
            marks[at, 1] = -np.inf
        marks[at, 0] += cost
        marks[at, 1] = max(marks[at, 1], elapsed) + cost if s[CLAMP] != 0.0 else -np.inf
    s[KEPT] += 1.0


@njit(cache=True, nogil=True, forceinline=True)
def see_time(now, s):
    """Take note of a tuple's time; False when the clock went backwards, and nothing changed."""
    if s[OFFERED] == 0.0:
        s[ORIGIN] = now
    elif now < s[LAST]:
        return False
    s[LAST] = now
    s[OFFERED] += 1.0
    return True


@njit(cache=True, nogil=True)
def ask(s):
    """Begin an epoch: the tuple just kept carries the request."""
    if s[WAITING] == 0.0:
        s[PATIENCE] = s[TIMEOUT]
    s[EPOCH] += 1.0
    s[WAITING] = 1.0
    s[ASKED] = s[KEPT]
    s[BELIEVED] = s[CLOCK]
    s[SINCE_A] = 0.0
    s[SINCE_M] = -np.inf
    s[PHASE] = RUN


@njit(cache=True, nogil=True)
def settle(clock, s):
    """Correct the clock by a reply: the operator's clock after the tuple that carried the last request."""
    if s[EXACT] != 0.0:
        s[CLOCK] = max(clock + s[SINCE_A], s[SINCE_M]) if s[CLAMP] != 0.0 else clock + s[SINCE_A]
    else:
        s[CLOCK] += clock - s[BELIEVED]
    s[WAITING] = 0.0
    s[REPLIES] += 1.0
    s[ACTIVE] = 1.0
    if s[AGAIN] != 0.0:
        s[AGAIN] = 0.0
        s[PHASE] = SEND


@njit(cache=True, nogil=True)
def settle_report(completed, clock, s, marks):
    """Correct the clock by a report: the operator's clock after `completed` tuples; False when it tells nothing new."""
    every = s[REPORTS]
    kept = s[KEPT] - s[BASE]
    if every == 0.0 or completed % every != 0.0 or completed <= s[REPORTED] or completed > kept:
        return False
    if s[PHASE] == NOP or completed < s[KNOWN]:  # tuples kept before the first matrices have no estimates
        return False
    first = int(completed // every)
    last = int((kept - 1.0) // every)
    if last - first >= marks.shape[0]:
        return False
    for mark in range(first, last + 1):
        at = mark % marks.shape[0]
        clock = max(clock + marks[at, 0], marks[at, 1])
    s[CLOCK] = clock
    s[REPORTED] = completed
    s[ACTIVE] = 1.0
    return True


@njit(cache=True, nogil=True)
def take_matrices(i, s, F, W):
    """Begin to use the matrices that were just copied to instance i."""
    s[UNSEEN] = mean_cost(i, F, W) if s[UNSEEN_MEAN] != 0.0 else 0.0
    s[MATRICES] += 1.0
    if s[PHASE] == NOP:
        s[KNOWN] = s[KEPT] - s[BASE]
    if s[WAITING] != 0.0:
        s[AGAIN] = 1.0  # a request is on its way: a new epoch now would void its reply, behind a long queue for ever
    else:
        s[PHASE] = SEND
    if s[EARLY] != 0.0:
        s[ACTIVE] = 1.0


@njit(cache=True, nogil=True)
def hand_over(s, F, W, counts):
    """Give the operator's matrices (instance 0) to the shedder (instance 1) and start anew."""
    for row in range(F.shape[1]):
        for column in range(F.shape[2]):
            F[1, row, column] = F[0, row, column]
            W[1, row, column] = W[0, row, column]
    start_anew(0, F, W, counts)
    take_matrices(1, s, F, W)


@njit(cache=True, nogil=True, forceinline=True)
def _verdict(now, forced, s, ring):
    """Drop or not: by the goal, or as the user's own goal said (`forced` 0 or 1, else -1)."""
    if s[ACTIVE] == 0.0:
        return False
    wait = expected_wait(now, s)
    if forced == 1 or (forced < 0 and violates(wait, s, ring)):
        return True
    count_wait(wait, s, ring)
    return False


@njit(cache=True, nogil=True, forceinline=True)
def offer_known(now, cost, forced, s, ring, marks):
    """Drop or keep a tuple of known cost: the baselines' step."""
    if not see_time(now, s):
        return BACKWARDS
    if _verdict(now, forced, s, ring):
        return DROP
    add_cost(cost, now, s, marks)
    return KEEP


@njit(cache=True, nogil=True, forceinline=True)
def offer_learnt(key, now, forced, s, i, F, W, family, at, ring, marks):
    """Drop or keep a tuple by what the matrices of instance i say of its cost."""
    if not see_time(now, s):
        return BACKWARDS
    if s[PHASE] == NOP:
        add_cost(0.0, now, s, marks)
        return KEEP
    if _verdict(now, forced, s, ring):
        return DROP
    find_columns(key, family, F.shape[2], at)
    add_cost(estimate_cost(at, i, F, W, s[UNSEEN]), now, s, marks)
    if s[PHASE] == RUN and s[WAITING] != 0.0 and s[TIMEOUT] > 0.0 and s[KEPT] - s[ASKED] > s[PATIENCE]:
        s[PATIENCE] *= 2.0  # lost, or waiting behind a long queue: the next one gets twice the time
        s[PHASE] = SEND
    if s[PHASE] == SEND:
        ask(s)
        return KEEP_AND_ASK
    return KEEP


@njit(cache=True, nogil=True)
def offer_local(key, now, forced, s, F, W, family, at, ring, marks, pending):
    """`offer_learnt` with the operator in the same process: also remember when the tuple was kept."""
    waiting = s[KEPT] - s[DONE]
    if waiting >= pending.size:
        return FULL
    kept = int(s[KEPT])
    answer = offer_learnt(key, now, forced, s, 1, F, W, family, at, ring, marks)
    if answer in (KEEP, KEEP_AND_ASK):
        pending[kept & (pending.size - 1)] = now
    return answer


@njit(cache=True, nogil=True, forceinline=True)
def execute(key, cost, wall, s, F, W, family, at, marks, snapshot, counts, values):
    """Execute the next kept tuple, done at `wall`: learn its cost and pass on what the operator would send."""
    s[OPERATOR_CLOCK] = wall
    s[DONE] += 1.0
    find_columns(key, family, F.shape[2], at)
    window, printed = int(s[WINDOW]), s[PRINTED] != 0.0
    stable = learn_execution(at, cost, 0, F, W, snapshot, counts, values, window, s[TOLERANCE], printed)
    clock = values[0, BUSY] if s[BUSY_CLOCK] != 0.0 else wall
    if s[WAITING] != 0.0 and s[DONE] == s[ASKED]:
        settle(clock, s)
    if s[REPORTS] > 0.0 and s[DONE] % s[REPORTS] == 0.0:
        settle_report(s[DONE], clock, s, marks)
    if stable:
        hand_over(s, F, W, counts)


@njit(cache=True, nogil=True)
def complete_local(key, cost, now, s, F, W, family, at, marks, pending, snapshot, counts, values):
    """Execute the oldest kept tuple, done `now` or (NaN) as soon as it could be; False when none is kept."""
    if s[DONE] >= s[KEPT]:
        return False
    wall = now - s[ORIGIN]
    if wall != wall:
        arrived = pending[int(s[DONE]) & (pending.size - 1)] - s[ORIGIN]
        wall = max(s[OPERATOR_CLOCK], arrived) + cost
    execute(key, cost, wall, s, F, W, family, at, marks, snapshot, counts, values)
    return True


def goal_slots(threshold: Any, goal: Any, span: Any, share: Any, check: str) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return (s, ring, the user's own goal or None) for a goal's checked parameters; the rest of `s` is as at the start."""
    s = np.zeros(SLOTS)
    s[THRESHOLD] = _check.real("threshold", threshold, 0.0, low_open=True)
    s[SHARE] = _check.real("share", share, 0.0, 1.0, low_open=True, high_open=True)
    span = _check.integer("span", span, 1)
    _check.choice("check", check, ("text", "listing"))
    own = goal if callable(goal) else None
    if own is None:
        _check.choice("goal", goal, GOALS)
        s[GOAL] = GOALS.index(goal)
    else:
        s[GOAL] = OWN
    if check == "listing":
        if goal != "average":
            raise ValueError(f"check must be 'text' for the goal {goal!r}: the listing is of the average only")
        s[GOAL] = LISTING
    s[CLAMP] = 1.0
    s[SINCE_M] = -np.inf
    return s, np.zeros(span if goal == "windowed" else 1), own
