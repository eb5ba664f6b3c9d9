"""Kernels of the slotted pipeline simulator: one for each part of a slot, and the loop over slots.

Tuples are counted, not carried. Wherever tuples wait, a record holds how many there are (`tuples`,
`waiting`) and the sum of the slots in which they were born (`births`). What leaves takes its share
of that sum.

What does not change during a run is a `Network`, and what does change is a `State`. The fields of
their records are below.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from streamlb._jit import njit, record
from streamlb.hashing import mix
from streamlb.rng import random_unit

# How a run goes. `load` is the chance that a part comes in at a spout task in a slot, `stalls` is 1
# when the steps pause for bolts that are behind, and `drain` is the most slots that a run goes on
# for once the spouts are closed.
SETTINGS = record(
    [
        ("slots", "i8"),
        ("drain", "i8"),
        ("part", "i8"),
        ("cores", "i8"),
        ("buffer", "i8"),
        ("window", "i8"),
        ("bandwidth", "i8"),
        ("resend", "i8"),
        ("gate", "i8"),
        ("stalls", "i8"),
        ("load", "f8"),
        ("seed", "u8"),
    ]
)
# A task: whether it is a spout's (1) or a bolt's (0), and its output streams, [first_stream,
# end_stream).
TASK = record([("is_spout", "i8"), ("first_stream", "i8"), ("end_stream", "i8")])
# What one task sends to one component: pairs [first_pair, first_pair + width), and the place within
# them of the pair that takes the next odd tuple.
STREAM = record([("first_pair", "i8"), ("width", "i8"), ("next_odd", "i8")])
# Two tasks that talk, their nodes, the stage of their stream, and how many slots a tuple takes from
# one to the other.
PAIR = record(
    [
        ("sender", "i8"),
        ("receiver", "i8"),
        ("from_node", "i8"),
        ("to_node", "i8"),
        ("stage", "i8"),
        ("delay", "i8"),
    ]
)
# A node: where its tasks begin in `Network.node_tasks`, and how many there are.
NODE = record([("first", "i8"), ("count", "i8")])

# What a task has: tuples waiting in its buffer and the sum of their births, tuples on their way to
# it, tuples that it holds for sending, and all that it has handled.
QUEUE = record([("waiting", "i8"), ("births", "f8"), ("coming", "i8"), ("held", "i8"), ("handled", "i8")])
# What a pair's sender holds for its receiver, and the slot from which it may try to send again.
PENDING = record([("tuples", "i8"), ("births", "f8"), ("retry", "i8")])
# Tuples on their way to one task that arrive in one slot.
FLIGHT = record([("tuples", "i8"), ("births", "f8")])
# What a node's link can still send and receive in this slot.
LINK = record([("send", "i8"), ("receive", "i8")])

# Counts over a whole run. `created` are tuples that tasks emitted, `consumed` are tuples that tasks
# handled, `moved` is the last slot in which anything moved, and `peak` the most tuples in buffers
# and windows at once.
TOTALS = record(
    [
        ("entered", "i8"),
        ("refused", "i8"),
        ("resent", "i8"),
        ("crossed", "i8"),
        ("stayed", "i8"),
        ("stalled", "i8"),
        ("created", "i8"),
        ("consumed", "i8"),
        ("peak", "i8"),
        ("steps", "i8"),
        ("moved", "i8"),
    ]
)
# One point of the series over time: tuples handled by sinks, the sum of their latencies, the
# largest share of the memory in use, and the tuples anywhere in the cluster summed over the slots
# of the bin.
BIN = record([("delivered", "i8"), ("latency", "f8"), ("memory", "f8"), ("present", "f8")])

# tasks TASK[tasks], streams STREAM[streams], pairs PAIR[pairs] sorted by sender and stream, nodes
# NODE[nodes], node_tasks int64[tasks] sorted by node, schedule int64[steps, nodes].
Network = namedtuple("Network", ["tasks", "streams", "pairs", "nodes", "node_tasks", "schedule"])
# queues QUEUE[tasks], pending PENDING[pairs], flight FLIGHT[delays, tasks] by slot of arrival,
# links LINK[nodes], targets int64[stages, nodes]: to whom each node sends in this slot at each
# stage (no rows without a gate).
State = namedtuple("State", ["queues", "pending", "flight", "links", "targets"])

FREE, STEPPED, CONSERVING = 0, 1, 2
GATES = {"none": FREE, "steps": STEPPED, "work-conserving": CONSERVING}


@njit(cache=True, nogil=True)
def _arrive(now, queues, flight):
    """Put what arrives in this slot into the buffers; its space was reserved when it left."""
    row = now % flight.shape[0]
    for task in range(queues.size):
        arriving = flight[row, task]
        if arriving.tuples > 0:
            queue = queues[task]
            queue.waiting += arriving.tuples
            queue.coming -= arriving.tuples
            queue.births += arriving.births
            arriving.tuples = 0
            arriving.births = 0.0


@njit(cache=True, nogil=True)
def _admit(now, settings, tasks, queues, totals):
    """Let a part come in at each spout task with probability `load`.

    A full buffer refuses what does not fit.
    """
    part = settings.part
    for task in range(tasks.size):
        if tasks[task].is_spout == 1:
            draw = random_unit(settings.seed, np.uint64(now * tasks.size + task))
            if draw < settings.load:
                queue = queues[task]
                n = min(part, settings.buffer - queue.waiting)
                queue.waiting += n
                queue.births += n * float(now)
                totals.entered += n
                totals.refused += part - n


@njit(cache=True, nogil=True)
def _emit(task, n, age, streams, pending):
    """Deal n tuples of mean birth `age` to the tasks of every receiving component in turn.

    This is shuffle grouping.
    """
    for s in range(task.first_stream, task.end_stream):
        stream = streams[s]
        first, width = stream.first_pair, stream.width
        each = n // width
        extra = n - each * width
        i = stream.next_odd
        for k in range(width):
            share = each + (1 if k < extra else 0)
            if share > 0:
                held = pending[first + i]
                held.tuples += share
                held.births += age * share
            i += 1
            if i == width:
                i = 0
            if k + 1 == extra:
                stream.next_odd = i


@njit(cache=True, nogil=True)
def _process(now, settings, network, state, totals, seen):
    """Give each node's cores to its runnable tasks in turn; a task handles at most a part.

    Return how many tuples were handled. What the sinks handled is added to the bin `seen`.
    """
    handled = 0
    for node in network.nodes:
        count = node.count
        if count == 0:
            continue
        cores = settings.cores
        start = now % count
        for k in range(count):
            at = start + k
            if at >= count:
                at -= count
            number = network.node_tasks[node.first + at]
            queue = state.queues[number]
            waiting = queue.waiting
            if waiting == 0 or queue.held >= settings.window:
                continue
            n = min(waiting, settings.part)
            born = queue.births * n / waiting
            queue.waiting -= n
            queue.births -= born
            queue.handled += n
            handled += n
            task = network.tasks[number]
            outputs = task.end_stream - task.first_stream
            if outputs == 0:
                seen.delivered += n
                seen.latency += n * (now + 1.0) - born
            else:
                queue.held += n * outputs
                totals.created += n * outputs
                _emit(task, n, born / n, network.streams, state.pending)
            cores -= 1
            if cores == 0:
                break
    totals.consumed += handled
    return handled


@njit(cache=True, nogil=True)
def _must_stall(window, tasks, queues):
    """Say whether a bolt still has parts that it could handle.

    A bolt whose own window is full could not.
    """
    for task in range(tasks.size):  # noqa: SIM110
        if tasks[task].is_spout == 0 and queues[task].waiting > 0 and queues[task].held < window:
            return True
    return False


@njit(cache=True, nogil=True)
def _prepare(step, bandwidth, schedule, links, targets):
    """Look up to whom each node sends at each stage in this step, and open the links.

    A node that sends to nobody yet has -1.
    """
    for stage in range(targets.shape[0]):
        for node in range(targets.shape[1]):
            targets[stage, node] = schedule[(step - stage) % schedule.shape[0], node] if step >= stage else -1
    for link in links:
        link.send = bandwidth
        link.receive = bandwidth


@njit(cache=True, nogil=True)
def _send(now, settings, network, state, totals):
    """Send in this slot what gate, links and buffers allow; return how many tuples left.

    Phase 0 sends by the step: a part from each node to the target of the step. Phase 1 sends
    everything. With the work-conserving gate it sends only to tasks that would be idle when the
    tuples arrive.
    """
    pairs, queues, pending, flight = network.pairs, state.queues, state.pending, state.flight
    gate, part, buffer = settings.gate, settings.part, settings.buffer
    count, moved = pairs.size, 0
    now_row = now % flight.shape[0]
    # The start moves, so that no pair is always the first in line.
    start = np.int64(mix(np.uint64(now)) >> np.uint64(33)) % count
    for phase in range(1 if gate == FREE else 0, 1 if gate == STEPPED else 2):
        for k in range(count):
            p = start + k
            if p >= count:
                p -= count
            here = pending[p]
            held = here.tuples
            if held == 0 or here.retry > now:
                continue
            pair = pairs[p]
            a, b = pair.from_node, pair.to_node
            if phase == 0 and state.targets[pair.stage, a] != b:
                continue
            n = held
            if gate != FREE and n > part:
                n = part
            if a != b:
                n = min(n, state.links[a].send, state.links[b].receive)
            receiver = queues[pair.receiver]
            there = receiver.waiting + receiver.coming
            # Take what the receiver can handle by then, and a part more from the step's sender.
            if gate == CONSERVING:
                n = min(n, part * (pair.delay + 1 - phase) - there)
            if n <= 0:
                continue
            space = buffer - there
            if n > space:
                totals.resent += n - space
                here.retry = now + settings.resend
                n = space
                if n <= 0:
                    continue
            born = here.births if n == held else here.births * n / held
            here.tuples -= n
            here.births -= born
            queues[pair.sender].held -= n
            receiver.coming += n
            row = now_row + pair.delay
            if row >= flight.shape[0]:
                row -= flight.shape[0]
            coming = flight[row, pair.receiver]
            coming.tuples += n
            coming.births += born
            moved += n
            if a != b:
                state.links[a].send -= n
                state.links[b].receive -= n
                totals.crossed += n
            else:
                totals.stayed += n
    return moved


@njit(cache=True, nogil=True)
def run(settings, network, state, totals, bins):
    """Run the slots with the spouts open, then up to `drain` more with them closed.

    Return how many slots were run. The run ends early when nothing has moved for longer than any
    wait lasts, which is a deadlock if tuples are left. `settings` SETTINGS[1] and `totals`
    TOTALS[1] hold one record each. The last of `bins`, which is BIN[], gathers the drain.
    """
    settings, totals = settings[0], totals[0]
    tasks, queues, schedule = network.tasks, state.queues, network.schedule
    slots, last = settings.slots, bins.size - 1
    patience = 4 * (schedule.shape[0] + state.flight.shape[0] + settings.resend) + 64
    capacity = float((settings.buffer + settings.window) * tasks.size)
    step, now = 0, 0
    while now < slots + settings.drain:
        seen = bins[min(now * last // slots, last)]
        _arrive(now, queues, state.flight)
        if now < slots:
            _admit(now, settings, tasks, queues, totals)
        moved = _process(now, settings, network, state, totals, seen)
        if settings.gate == STEPPED and settings.stalls == 1 and _must_stall(settings.window, tasks, queues):
            totals.stalled += 1
        else:
            if network.pairs.size > 0:
                _prepare(step, settings.bandwidth, schedule, state.links, state.targets)
                moved += _send(now, settings, network, state, totals)
            step += 1
        waiting, held, coming = 0, 0, 0
        for queue in queues:
            waiting += queue.waiting
            held += queue.held
            coming += queue.coming
        seen.present += waiting + held + coming
        if now < slots:
            seen.memory = max(seen.memory, (waiting + held) / capacity)
            totals.peak = max(totals.peak, waiting + held)
        if moved > 0 or coming > 0:
            totals.moved = now
        now += 1
        if now > slots and waiting + held + coming == 0:
            break
        if now - totals.moved > patience and waiting + held + coming > 0:
            break
    totals.steps = step
    return now
