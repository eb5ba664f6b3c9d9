"""k operator instances behind a scheduler, each with a first-come-first-served queue (paper 000, section V-B).

An instance's future depends on nothing but the tuples it was given, in order, so all that a tuple will cause there (when it
completes, what the instance learns, what it replies) is computed when the tuple is assigned, and messages wait for their due time
in a small post box: no event queue. State: free float64[k], when each instance has done all it was given; the arrays of `learner` and
`protocol`; for the box, due float64[slots] (infinite: free), notes float64[slots, 3], tags int64[slots, 4], and one pair of matrices a slot.
"""

from __future__ import annotations

import numpy as np

from streamlb._jit import njit
from streamlb.scheduling.learner import BUSY, find_columns, learn_execution, start_anew
from streamlb.scheduling.protocol import (
    ASKED,
    ASSIGNED,
    BUSY_CLOCK,
    CARRIES,
    CLOCK,
    PHASE,
    PRINTED,
    ROUND_ROBIN,
    WINDOW,
    accept_matrices,
    accept_reply,
    charge,
    choose_instance,
)

_REPLY, _MATRICES = 0, 1


@njit(cache=True, nogil=True)
def run_round_robin(arrivals, costs, speeds, delay, turn, free, out, chosen):
    """Send the tuples in turn; return whose turn is next."""
    k = free.size
    i = turn
    for t in range(costs.size):
        start = arrivals[t] + delay
        if free[i] > start:
            start = free[i]
        finish = start + costs[t] * speeds[i]
        free[i] = finish
        out[t] = finish - arrivals[t]
        if chosen.size > 0:
            chosen[t] = i
        i += 1
        if i == k:
            i = 0
    return i


@njit(cache=True, nogil=True)
def run_full_knowledge(arrivals, costs, speeds, delay, backlog, free, load, out, chosen):
    """Send each tuple to the least cumulated time (or, with `backlog`, to who is free first), all times being known."""
    k = free.size
    for t in range(costs.size):
        best = 0
        if backlog:
            least = max(free[0], arrivals[t] + delay)
            for i in range(1, k):
                level = max(free[i], arrivals[t] + delay)
                if level < least:
                    least = level
                    best = i
        else:
            least = load[0]
            for i in range(1, k):
                if load[i] < least:
                    least = load[i]
                    best = i
        cost = costs[t] * speeds[best]
        load[best] += cost
        free[best] = max(free[best], arrivals[t] + delay) + cost
        out[t] = free[best] - arrivals[t]
        if chosen.size > 0:
            chosen[t] = best


@njit(cache=True, nogil=True)
def run_feedback(arrivals, costs, speeds, delay, control, every, first, free, known, done, queue, out, chosen):
    """Send each tuple to the least clock known, where instances report theirs every `every` completions.

    known float64[4, k]: last reported clock, tuples it covers, mean cost, tuples sent; done float64[2, k]: tuples executed, busy time;
    queue float64[k, capacity, 4]: reports on their way (due, clock, tuples covered, busy), first int64[2, k]: the oldest and their
    number. Returns the tuples handled: fewer than all when a queue is full.
    """
    k = free.size
    capacity = queue.shape[1]
    for t in range(costs.size):
        now = arrivals[t]
        best = 0
        least = np.inf
        for i in range(k):
            while first[1, i] > 0 and queue[i, first[0, i], 0] <= now:
                note = queue[i, first[0, i]]
                known[0, i] = note[1]
                known[1, i] = note[2]
                known[2, i] = note[3] / note[2]
                first[0, i] = (first[0, i] + 1) % capacity
                first[1, i] -= 1
            level = max(known[0, i], now) + (known[3, i] - known[1, i]) * known[2, i]
            if level < least:
                least = level
                best = i
        if first[1, best] == capacity:
            return t
        cost = costs[t] * speeds[best]
        free[best] = max(free[best], now + delay) + cost
        known[3, best] += 1.0
        done[0, best] += 1.0
        done[1, best] += cost
        out[t] = free[best] - now
        if chosen.size > 0:
            chosen[t] = best
        if done[0, best] % every == 0.0:
            at = (first[0, best] + first[1, best]) % capacity
            queue[best, at, 0] = free[best] + control
            queue[best, at, 1] = free[best]
            queue[best, at, 2] = done[0, best]
            queue[best, at, 3] = done[1, best]
            first[1, best] += 1
    return costs.size


@njit(cache=True, nogil=True)
def _first_due(due):
    best = 0
    for slot in range(1, due.size):
        if due[slot] < due[best]:
            best = slot
    return best


@njit(cache=True, nogil=True)
def _free_slot(due):
    for slot in range(due.size):
        if due[slot] == np.inf:
            return slot
    return -1


@njit(cache=True, nogil=True)
def _next_slot(due, tags):
    """Return the message that is due first; of equals the one posted first. -1 when there is none."""
    best = -1
    for slot in range(due.size):
        if due[slot] == np.inf:
            continue
        if best < 0 or due[slot] < due[best] or (due[slot] == due[best] and tags[slot, 3] < tags[best, 3]):
            best = slot
    return best


@njit(cache=True, nogil=True)
def _deliver(slot, due, notes, tags, boxF, boxW, F, W, clocks, marks, regs):
    due[slot] = np.inf
    i = tags[slot, 1]
    if tags[slot, 0] == _MATRICES:
        accept_matrices(i, slot, boxF, boxW, F, W, clocks, marks, regs)
    else:
        accept_reply(i, tags[slot, 2], notes[slot, 0], notes[slot, 1], notes[slot, 2], clocks, marks, regs)


@njit(cache=True, nogil=True)
def run_posg(
    keys, arrivals, costs, speeds, delay, control, tolerance, offset, family, at, free,
    lF, lW, snapshot, counts, values, F, W, clocks, marks, regs,
    due, notes, tags, boxF, boxW, log, out, chosen,
):  # fmt: skip
    """Run the protocol over the tuples. Returns the tuples handled: fewer than all when the box or the log is full.

    log int64[entries, 2]: tuple and phase of each change of the scheduler's phase, entry 0 holding their number and the last phase.
    """
    columns = F.shape[2]
    window, printed, busy = regs[WINDOW], regs[PRINTED] == 1, regs[BUSY_CLOCK] == 1
    waiting = 0
    coming = np.inf
    for slot in range(due.size):
        if due[slot] < np.inf:
            waiting += 1
            coming = min(coming, due[slot])
    for t in range(costs.size):
        now = arrivals[t]
        if waiting + 2 > due.size or log[0, 0] + 8 > log.shape[0]:
            return t
        while coming <= now:
            slot = _next_slot(due, tags)
            _deliver(slot, due, notes, tags, boxF, boxW, F, W, clocks, marks, regs)
            waiting -= 1
            coming = due[_first_due(due)]
        find_columns(keys[t], family, columns, at)
        i = choose_instance(now, clocks, marks, regs)
        if regs[PHASE] != ROUND_ROBIN:
            charge(at, i, now, F, W, clocks, regs)
        if regs[PHASE] != log[0, 1]:
            log[0, 0] += 1
            log[0, 1] = regs[PHASE]
            log[log[0, 0], 0] = offset + t
            log[log[0, 0], 1] = regs[PHASE]
        cost = costs[t] * speeds[i]
        finish = max(free[i], now + delay) + cost
        free[i] = finish
        out[t] = finish - now
        if chosen.size > 0:
            chosen[t] = i
        ready = learn_execution(at, cost, i, lF, lW, snapshot, counts, values, window, tolerance, printed)
        if regs[CARRIES] == 1:
            slot = _free_slot(due)
            due[slot] = finish + control
            tags[slot, 0] = _REPLY
            tags[slot, 1] = i
            tags[slot, 2] = marks[ASKED, i]
            tags[slot, 3] = 2 * (offset + t)
            notes[slot, 0] = values[i, BUSY] if busy else finish
            notes[slot, 1] = clocks[CLOCK, i]
            notes[slot, 2] = clocks[ASSIGNED, i]
            coming = min(coming, due[slot])
            waiting += 1
        if ready:
            slot = _free_slot(due)
            due[slot] = finish + control
            tags[slot, 0] = _MATRICES
            tags[slot, 1] = i
            tags[slot, 3] = 2 * (offset + t) + 1
            boxF[slot] = lF[i]
            boxW[slot] = lW[i]
            start_anew(i, lF, lW, counts)
            coming = min(coming, due[slot])
            waiting += 1
    return costs.size


@njit(cache=True, nogil=True)
def train(keys, costs, speeds, tolerance, family, at, lF, lW, snapshot, counts, values, F, W, clocks, marks, regs):
    """Let the instances learn from the tuples round robin, outside of time, until each has sent its matrices once.

    The scheduler gets what was sent or, from an instance that never was stable, what it has in the end; the learners start anew.
    """
    k = counts.shape[0]
    window, printed = regs[WINDOW], regs[PRINTED] == 1
    missing = k
    for t in range(keys.size):
        i = t % k
        if counts[i, 3] > 0:
            continue
        find_columns(keys[t], family, F.shape[2], at)
        if learn_execution(
            at, costs[t] * speeds[i], i, lF, lW, snapshot, counts, values, window, tolerance, printed
        ):
            accept_matrices(i, i, lF, lW, F, W, clocks, marks, regs)
            start_anew(i, lF, lW, counts)
            missing -= 1
            if missing == 0:
                break
    for i in range(k):
        if counts[i, 3] == 0:
            accept_matrices(i, i, lF, lW, F, W, clocks, marks, regs)
            start_anew(i, lF, lW, counts)
        values[i, BUSY] = 0.0
        counts[i, 3] = 0
