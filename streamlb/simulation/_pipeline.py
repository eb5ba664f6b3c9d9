"""Kernels of the slotted pipeline simulator: one function for each part of a slot, and the loop over slots.

State: queue int64[tasks, 3] of (waiting, on their way here, held for sending), pending int64[pairs, 2] of (tuples held by a
sender for a receiver, slot of the next attempt), flight int64[delays, tasks] of tuples by slot of arrival, and births of the
same shapes: the sum of the birth slots of the tuples counted there. The constants below name the columns.
"""

from __future__ import annotations

import numpy as np

from streamlb._jit import njit
from streamlb.hashing import mix
from streamlb.rng import random_unit

WAITING, COMING, HELD = 0, 1, 2
HELD_TUPLES, RETRY = 0, 1
SENDER, RECEIVER, STAGE, DELAY, FROM, TO = range(6)
NODE, IS_SPOUT, FIRST_RANGE, END_RANGE = 0, 1, 2, 3
SINK, LATENCY, MEMORY, PRESENT = 0, 1, 2, 3
# totals: tuples that entered, were refused, resent, crossed or stayed; slots stalled, last slot with a move; and so on
ENTERED, REFUSED, RESENT, CROSSED, STAYED, STALLED, MOVED, PEAK, CREATED, CONSUMED, STEPS = range(11)
FREE, STEPPED, CONSERVING = 0, 1, 2
GATES = {"none": FREE, "steps": STEPPED, "work-conserving": CONSERVING}
# settings: see `_settings`
PART, CORES, BUFFER, WINDOW, BANDWIDTH, RESEND, GATE, STALLS = range(8)


@njit(cache=True, nogil=True)
def _arrive(now, queue, births, flight, flight_births):
    """Put what arrives in this slot into the buffers; its space was reserved when it left."""
    row = now % flight.shape[0]
    for task in range(queue.shape[0]):
        n = flight[row, task]
        if n > 0:
            queue[task, WAITING] += n
            queue[task, COMING] -= n
            births[task] += flight_births[row, task]
            flight[row, task] = 0
            flight_births[row, task] = 0.0


@njit(cache=True, nogil=True)
def _admit(now, load, seed, tasks, settings, queue, births, totals):
    """Let a part come in at each spout task with probability `load`; a full buffer refuses what does not fit."""
    part = settings[PART]
    for task in range(tasks.shape[0]):
        if tasks[task, IS_SPOUT] == 1:
            draw = random_unit(seed, np.uint64(now * tasks.shape[0] + task))
            if draw < load:
                n = min(part, settings[BUFFER] - queue[task, WAITING])
                queue[task, WAITING] += n
                births[task] += n * float(now)
                totals[ENTERED] += n
                totals[REFUSED] += part - n


@njit(cache=True, nogil=True)
def _emit(task, n, age, tasks, ranges, turns, queue, pending, pending_births):
    """Deal n tuples of mean birth `age` to the tasks of every receiving component in turn (shuffle grouping)."""
    for r in range(tasks[task, FIRST_RANGE], tasks[task, END_RANGE]):
        first, width = ranges[r], ranges[r + 1] - ranges[r]
        each = n // width
        extra = n - each * width
        i = turns[r]  # who takes the next odd tuple
        for k in range(width):
            share = each + (1 if k < extra else 0)
            if share > 0:
                pending[first + i, HELD_TUPLES] += share
                pending_births[first + i] += age * share
            i += 1
            if i == width:
                i = 0
            if k + 1 == extra:
                turns[r] = i
        queue[task, HELD] += n


@njit(cache=True, nogil=True)
def _process(now, by_node, tasks, ranges, settings, turns, queue, births, pending, pending_births, done, totals, seen):
    """Give each node's cores to its runnable tasks in turn; a task handles at most a part. Return the tuples handled."""
    handled = 0
    nodes = by_node.shape[0]
    for node in range(nodes):
        count = by_node[node, 0]
        if count == 0:
            continue
        cores = settings[CORES]
        start = now % count
        for k in range(count):
            at = start + k
            if at >= count:
                at -= count
            task = by_node[node, 1 + at]
            waiting = queue[task, WAITING]
            if waiting == 0 or queue[task, HELD] >= settings[WINDOW]:
                continue
            n = min(waiting, settings[PART])
            born = births[task] * n / waiting
            queue[task, WAITING] -= n
            births[task] -= born
            done[task] += n
            handled += n
            totals[CONSUMED] += n
            outputs = tasks[task, END_RANGE] - tasks[task, FIRST_RANGE]
            if outputs == 0:
                seen[SINK] += n
                seen[LATENCY] += n * (now + 1.0) - born
            else:
                totals[CREATED] += n * outputs
                _emit(task, n, born / n, tasks, ranges, turns, queue, pending, pending_births)
            cores -= 1
            if cores == 0:
                break
    return handled


@njit(cache=True, nogil=True)
def _must_stall(tasks, settings, queue):
    """Say whether a bolt still has parts that it could handle; one whose own window is full is left out."""
    for task in range(tasks.shape[0]):
        if tasks[task, IS_SPOUT] == 0 and queue[task, WAITING] > 0 and queue[task, HELD] < settings[WINDOW]:
            return True
    return False


@njit(cache=True, nogil=True)
def _send(
    now, step, schedule, pairs, settings, budget, targets, queue, pending, pending_births, flight, flight_births, totals
):
    """Send in this slot what gate, links and buffers allow. Return the tuples that left.

    Phase 0 sends by the step: a part from each node to the step's target. Phase 1 sends everything, or,
    work-conserving, to whoever would be idle when it arrives.
    """
    gate, part = settings[GATE], settings[PART]
    count, moved = pairs.shape[0], 0
    for stage in range(targets.shape[0]):
        for node in range(targets.shape[1]):
            targets[stage, node] = schedule[(step - stage) % schedule.shape[0], node] if step >= stage else -1
    now_row = now % flight.shape[0]
    start = np.int64(mix(np.uint64(now)) >> np.uint64(33)) % count  # no pair is first in line for ever
    budget[:] = settings[BANDWIDTH]
    for phase in range(1 if gate == FREE else 0, 1 if gate == STEPPED else 2):
        for k in range(count):
            p = start + k
            if p >= count:
                p -= count
            held = pending[p, HELD_TUPLES]
            if held == 0 or pending[p, RETRY] > now:
                continue
            sender, receiver, a, b = pairs[p, SENDER], pairs[p, RECEIVER], pairs[p, FROM], pairs[p, TO]
            if phase == 0 and targets[pairs[p, STAGE], a] != b:
                continue
            n = held
            if gate != FREE and n > part:
                n = part
            if a != b:
                n = min(n, budget[0, a], budget[1, b])
            there = queue[receiver, WAITING] + queue[receiver, COMING]
            if (
                gate == CONSERVING
            ):  # what the receiver can handle by the time it arrives, a part more from the step's sender
                n = min(n, part * (pairs[p, DELAY] + 1 - phase) - there)
            if n <= 0:
                continue
            space = settings[BUFFER] - there
            if n > space:
                totals[RESENT] += n - space
                pending[p, RETRY] = now + settings[RESEND]
                n = space
                if n <= 0:
                    continue
            born = pending_births[p] if n == held else pending_births[p] * n / held
            pending[p, HELD_TUPLES] -= n
            pending_births[p] -= born
            queue[sender, HELD] -= n
            queue[receiver, COMING] += n
            row = now_row + pairs[p, DELAY]
            if row >= flight.shape[0]:
                row -= flight.shape[0]
            flight[row, receiver] += n
            flight_births[row, receiver] += born
            moved += n
            if a != b:
                budget[0, a] -= n
                budget[1, b] -= n
                totals[CROSSED] += n
            else:
                totals[STAYED] += n
    return moved


@njit(cache=True, nogil=True)
def run(
    slots,
    drain,
    load,
    seed,
    schedule,
    tasks,
    by_node,
    pairs,
    ranges,
    settings,
    turns,
    queue,
    births,
    pending,
    pending_births,
    flight,
    flight_births,
    done,
    totals,
    bins,
    budget,
    targets,
):
    """Run `slots` slots with the spouts open, then up to `drain` more with them closed. Return the slots run.

    Ends early when nothing has moved for longer than any wait lasts, which is a deadlock if tuples are left.
    """
    patience = 4 * (schedule.shape[0] + flight.shape[0] + settings[RESEND]) + 64
    capacity = float((settings[BUFFER] + settings[WINDOW]) * tasks.shape[0])
    step, now = np.int64(0), np.int64(0)  # a plain 0 would be a type of its own to the functions called
    while now < slots + drain:
        row = bins[min(now * (bins.shape[0] - 1) // max(slots, 1), bins.shape[0] - 1)]
        _arrive(now, queue, births, flight, flight_births)
        if now < slots:
            _admit(now, load, seed, tasks, settings, queue, births, totals)
        moved = _process(
            now, by_node, tasks, ranges, settings, turns, queue, births, pending, pending_births, done, totals, row
        )
        if settings[GATE] == STEPPED and settings[STALLS] == 1 and _must_stall(tasks, settings, queue):
            totals[STALLED] += 1
        else:
            if pairs.shape[0] > 0:
                moved += _send(
                    now,
                    step,
                    schedule,
                    pairs,
                    settings,
                    budget,
                    targets,
                    queue,
                    pending,
                    pending_births,
                    flight,
                    flight_births,
                    totals,
                )
            step += 1
        waiting, held, coming = 0, 0, 0
        for task in range(tasks.shape[0]):
            waiting += queue[task, WAITING]
            held += queue[task, HELD]
            coming += queue[task, COMING]
        row[PRESENT] += waiting + held + coming
        if now < slots:
            row[MEMORY] = max(row[MEMORY], (waiting + held) / capacity)
            totals[PEAK] = max(totals[PEAK], waiting + held)
        if moved > 0 or coming > 0:
            totals[MOVED] = now
        now += 1
        if now > slots and waiting + held + coming == 0:
            break
        if now - totals[MOVED] > patience and waiting + held + coming > 0:
            break
    totals[STEPS] = step
    return now
