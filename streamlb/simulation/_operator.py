"""The kernels of `operator`: what each policy does with a stretch of tuples; their naive twins are in tests/naive/posg.py.

An instance's future depends on nothing but the tuples it was given, in order, so all that a tuple will cause there
(when it completes, what the instance learns, what it replies) is computed when the tuple is assigned, and messages
wait for their due time in a small post box: no event queue. State: free float64[k], when each instance has done all
it was given; the arrays of `learner` and `protocol`; for the box, due float64[slots] (infinite: free), notes
float64[slots, 3], tags int64[slots, 4], and one pair of matrices a slot.
"""

from __future__ import annotations

import numpy as np

from streamlb._jit import njit
from streamlb.learning.learner import (
    BUSY,
    add_execution,
    copy_pair,
    end_of_window,
    find_columns,
    learn_execution,
    start_anew,
    take_snapshot,
    worth_sending,
)
from streamlb.scheduling.protocol import (
    ASKED,
    ASSIGNED,
    BUSY_CLOCK,
    CARRIES,
    CLOCK,
    EVENT,
    LAST,
    ON_CHANGE,
    PHASE,
    PRINTED,
    ROUND_ROBIN,
    SENT_TO,
    WINDOW,
    accept_matrices,
    accept_reply,
    charge,
    choose_instance,
)

_REPLY, _MATRICES = 0, 1
RECEIVED = 10


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

    Round robin until each has reported; then the clock last reported plus the mean cost for every tuple it does not
    cover. known float64[4, k]: last reported clock, tuples it covers, mean cost, tuples sent; done float64[2, k]:
    tuples executed, busy time; queue float64[k, capacity, 4]: reports on their way (due, clock, tuples covered,
    busy), first int64[2, k]: the oldest and their number. Returns the tuples handled: fewer than all when a queue is
    full.
    """
    k = free.size
    capacity = queue.shape[1]
    for t in range(costs.size):
        now = arrivals[t]
        best, fewest = 0, 0
        least = np.inf
        silent = 0
        for i in range(k):
            while first[1, i] > 0 and queue[i, first[0, i], 0] <= now:
                at = first[0, i]
                known[0, i] = queue[i, at, 1]
                known[1, i] = queue[i, at, 2]
                known[2, i] = queue[i, at, 3] / queue[i, at, 2]
                first[0, i] = (first[0, i] + 1) % capacity
                first[1, i] -= 1
            silent += known[1, i] == 0.0
            if known[3, i] < known[3, fewest]:
                fewest = i
            level = known[0, i] + (known[3, i] - known[1, i]) * known[2, i]
            if level < least:
                least = level
                best = i
        if silent > 0:
            best = fewest
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
def _free_slot(due):
    for slot in range(due.size):
        if due[slot] == np.inf:
            return slot
    return -1


@njit(cache=True, nogil=True)
def _free_slots(due):
    count = 0
    for slot in range(due.size):
        count += due[slot] == np.inf
    return count


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
def _run_quietly(
    first, coming, keys, arrivals, costs, speeds, delay, family, at, free, lF, lW, counts, values, F, W, clocks, marks, regs,
    out, chosen,
):  # fmt: skip
    """Handle tuples until a message is due or one is to be posted (EVENT: by instance LAST); return the next tuple's number.

    What is rare stays outside: inlined here it would slow every tuple threefold.
    """
    columns, window = F.shape[2], regs[WINDOW]
    phase = regs[PHASE]
    regs[EVENT] = 0
    for t in range(first, costs.size):
        now = arrivals[t]
        if coming <= now:
            return t
        find_columns(np.int64(keys[t]), family, columns, at)
        i = choose_instance(now, clocks, marks, regs)
        marks[SENT_TO, i] += 1
        if regs[PHASE] != ROUND_ROBIN:
            charge(at, i, now, F, W, clocks, regs)
        cost = costs[t] * speeds[i]
        finish = max(free[i], now + delay) + cost
        free[i] = finish
        out[t] = finish - now
        if chosen.size > 0:
            chosen[t] = i
        ends = add_execution(at, cost, i, lF, lW, counts, values, window)
        if ends or regs[CARRIES] == 1 or regs[PHASE] != phase:
            regs[LAST] = i
            regs[EVENT] = 2 if ends else 1
            return t + 1
    return costs.size


@njit(cache=True, nogil=True)
def _post(kind, i, number, when, due, tags):
    """Put a message into the box and return its slot."""
    slot = _free_slot(due)
    due[slot] = when
    tags[slot, 0] = kind
    tags[slot, 1] = i
    tags[slot, 3] = number
    return slot


@njit(cache=True, nogil=True)
def _note(t, what, log):
    log[0, 0] += 1
    log[log[0, 0], 0] = t
    log[log[0, 0], 1] = what


@njit(cache=True, nogil=True)
def _note_phase(t, log, regs):
    if regs[PHASE] != log[0, 1]:
        log[0, 1] = regs[PHASE]
        _note(t, regs[PHASE], log)


@njit(cache=True, nogil=True)
def run_posg(
    keys, arrivals, costs, speeds, delay, control, tolerance, offset, family, at, free,
    lF, lW, snapshot, counts, values, sent, F, W, clocks, marks, regs,
    due, notes, tags, boxF, boxW, log, out, chosen,
):  # fmt: skip
    """Run the protocol over the tuples. Returns the tuples handled: fewer than all when the box or the log is full.

    log int64[entries, 2]: the tuple, and the scheduler's new phase or RECEIVED + the instance whose matrices came;
    entry 0 holds their number and the last phase.
    """
    t = np.int64(0)
    while t < costs.size:
        slot = _next_slot(due, tags)
        while slot >= 0 and due[slot] <= arrivals[t]:
            _deliver(slot, due, notes, tags, boxF, boxW, F, W, clocks, marks, regs)
            if tags[slot, 0] == _MATRICES:
                _note(offset + t, RECEIVED + tags[slot, 1], log)
            slot = _next_slot(due, tags)
        if _free_slots(due) < 2 or log[0, 0] + due.size + 3 > log.shape[0]:
            return t
        _note_phase(offset + t, log, regs)
        coming = due[slot] if slot >= 0 else np.inf
        t = _run_quietly(
            t, coming, keys, arrivals, costs, speeds, delay, family, at, free, lF, lW, counts, values, F, W, clocks, marks, regs,
            out, chosen,
        )  # fmt: skip
        if regs[EVENT] == 0:
            continue
        i = regs[LAST]
        _note_phase(offset + t - 1, log, regs)
        if regs[CARRIES] == 1:
            slot = _post(np.int64(_REPLY), i, 2 * (offset + t), free[i] + control, due, tags)
            tags[slot, 2] = marks[ASKED, i]
            notes[slot, 0] = values[i, BUSY] if regs[BUSY_CLOCK] == 1 else free[i]
            notes[slot, 1] = clocks[CLOCK, i]
            notes[slot, 2] = clocks[ASSIGNED, i]
        if regs[EVENT] == 2 and end_of_window(i, lF, lW, snapshot, counts, values, tolerance, regs[PRINTED] == 1):
            if regs[ON_CHANGE] == 0 or worth_sending(i, lF, lW, sent, tolerance):
                slot = _post(np.int64(_MATRICES), i, 2 * (offset + t) + 1, free[i] + control, due, tags)
                copy_pair(i, lF, lW, slot, boxF, boxW)
            start_anew(i, lF, lW, counts)
    return costs.size


@njit(cache=True, nogil=True)
def train(
    keys, costs, speeds, tolerance, family, at, lF, lW, snapshot, counts, values, sent, F, W, clocks, marks, regs
):
    """Let the instances learn from the tuples round robin, outside of time, until each has sent its matrices once.

    The scheduler gets what was sent or, from an instance that never was stable, what it has in the end; the learners
    start anew.
    """
    k = counts.shape[0]
    window, printed = regs[WINDOW], regs[PRINTED] == 1
    missing = k
    for t in range(keys.size):
        i = t % k
        if counts[i, 3] > 0:
            continue
        find_columns(np.int64(keys[t]), family, F.shape[2], at)
        if learn_execution(at, costs[t] * speeds[i], i, lF, lW, snapshot, counts, values, window, tolerance, printed):
            take_snapshot(i, lF, lW, sent)
            accept_matrices(i, i, lF, lW, F, W, clocks, marks, regs)
            start_anew(i, lF, lW, counts)
            missing -= 1
            if missing == 0:
                break
    for i in range(k):
        if counts[i, 3] == 0:
            take_snapshot(i, lF, lW, sent)
            accept_matrices(i, i, lF, lW, F, W, clocks, marks, regs)
            start_anew(i, lF, lW, counts)
        values[i, BUSY] = 0.0
        counts[i, 3] = 0
