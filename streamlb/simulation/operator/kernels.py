"""The kernels of `simulate_operator`: what each policy does with a stretch of tuples.

An instance's future depends on nothing but the tuples that it was given, in order. All that a tuple
will cause there (when it completes, what the instance learns, what it replies) is therefore
computed when the tuple is assigned, and messages wait in a small box until they are due: there is
no queue of events. The naive twins are in tests/naive/posg.py.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from streamlb._jit import njit, record
from streamlb.learning.learner import (
    add_execution,
    copy_pair,
    end_of_window,
    find_columns,
    learn_execution,
    start_anew,
    take_snapshot,
    worth_sending,
)
from streamlb.scheduling.posg.scheduler import (
    ROUND_ROBIN,
    RUN,
    accept_matrices,
    accept_reply,
    charge,
    choose_instance,
)

# Feedback, for each instance. The scheduler estimates when it will have done all that it was sent,
# and knows its mean cost, how many executions the report behind these covered (0: it never
# reported), the tuples sent there and the number of the last of them. The instance has executed
# tuples and was busy with them. Its reports on their way are a ring: where the oldest is, and how
# many there are.
REPORTER = record(
    [
        ("clock", "f8"),
        ("average", "f8"),
        ("covered", "i8"),
        ("sent", "i8"),
        ("used", "i8"),
        ("executed", "i8"),
        ("busy", "f8"),
        ("oldest", "i8"),
        ("waiting", "i8"),
    ]
)
# A report on its way: when it arrives, the clock, the tuples executed and the time they took.
REPORT = record([("due", "f8"), ("clock", "f8"), ("executed", "i8"), ("busy", "f8")])

# A message of POSG on its way, in a slot of the box: its rank among those that arrive together,
# whether it brings the slot's matrices (1) or is a reply (0), who sent it, and what a reply says.
MESSAGE = record(
    [
        ("rank", "i8"),
        ("brings_matrices", "i8"),
        ("instance", "i8"),
        ("epoch", "i8"),
        ("clock", "f8"),
        ("estimate", "f8"),
        ("assigned", "f8"),
    ]
)
# Where a run of POSG is: whether it stopped after a tuple that needs attention, the instance of
# that tuple, whether it ended a window there; the phase noted last, the notes taken, and how many
# tuples had been submitted when the scheduler first ran (-1: it did not yet).
PROGRESS = record(
    [
        ("stopped", "i8"),
        ("instance", "i8"),
        ("window_ended", "i8"),
        ("phase", "i8"),
        ("notes", "i8"),
        ("first_run", "i8"),
    ]
)
# A note: before which tuple the scheduler entered a phase, or received the matrices of an instance.
# The other of the two is -1.
NOTE = record([("tuple", "i8"), ("phase", "i8"), ("instance", "i8")])

# Tuples while no speed changes: the number of the first; keys uint64[m], arrivals and costs
# float64[m], speeds float64[k]; network times of a tuple and of a message; the completion times
# float64[m] and instances int32[m] to be written (int32[0]: nobody asks for them).
Stretch = namedtuple("Stretch", "first keys arrivals costs speeds delay control out chosen")
# The instances under POSG: when each has done all that it was given, float64[k]; `Learners`; W/F of
# the pairs sent last, float64[k, rows, columns]; LEARNING[1].
Instances = namedtuple("Instances", "free learners sent rules")
# Messages on their way: when each arrives, float64[slots] (infinite: the slot is free; apart,
# because it is searched); MESSAGE[slots]; and the matrices that they bring, Cells[slots].
Box = namedtuple("Box", "due messages cells")


@njit(cache=True, nogil=True, forceinline=True)
def _execute(t, i, now, stretch, free):
    """Let instance i execute tuple t after all it was given before; return what it costs there."""
    cost = stretch.costs[t] * stretch.speeds[i]
    finish = max(free[i], now + stretch.delay) + cost
    free[i] = finish
    stretch.out[t] = finish - now
    if stretch.chosen.size > 0:
        stretch.chosen[t] = i
    return cost


@njit(cache=True, nogil=True)
def run_round_robin(stretch, turn, free):
    """Send the tuples in turn; return whose turn is next."""
    i = turn
    for t in range(stretch.costs.size):
        _execute(t, i, stretch.arrivals[t], stretch, free)
        i += 1
        if i == free.size:
            i = 0
    return i


@njit(cache=True, nogil=True)
def run_full_knowledge(stretch, free, load):
    """Send each tuple to the least cumulated execution time, all times being known."""
    for t in range(stretch.costs.size):
        best = 0
        least = load[0]
        for i in range(1, load.size):
            if load[i] < least:
                least = load[i]
                best = i
        load[best] += _execute(t, best, stretch.arrivals[t], stretch, free)


@njit(cache=True, nogil=True)
def run_least_work(stretch, free):
    """Send each tuple to the instance that can begin with it first, all times being known."""
    for t in range(stretch.costs.size):
        now = stretch.arrivals[t]
        earliest = now + stretch.delay
        best = 0
        least = max(free[0], earliest)
        for i in range(1, free.size):
            start = max(free[i], earliest)
            if start < least:
                least = start
                best = i
        _execute(t, best, now, stretch, free)


@njit(cache=True, nogil=True)
def run_feedback(stretch, every, free, reporters, queue):
    """Send each tuple to the least clock known; instances report theirs every `every` completions.

    Round robin until each has reported; then the clock last reported plus the mean cost for every
    tuple that it does not cover. An instance that should be idle can begin with a tuple when it
    gets there, and not earlier: its clock counts as that. Of equals the one that was used the
    longest ago is taken. queue is REPORT[instances, capacity]. Returns the tuples handled: fewer
    than all when a queue is full.
    """
    capacity = queue.shape[1]
    for t in range(stretch.costs.size):
        now = stretch.arrivals[t]
        earliest = now + stretch.delay
        best, fewest = 0, 0
        least = np.inf
        silent = 0
        for i in range(reporters.size):
            own = reporters[i]
            while own.waiting > 0 and queue[i, own.oldest].due <= now:
                report = queue[i, own.oldest]
                own.covered = report.executed
                own.average = report.busy / report.executed
                own.clock = report.clock + (own.sent - own.covered) * own.average
                own.oldest = (own.oldest + 1) % capacity
                own.waiting -= 1
            silent += own.covered == 0
            if own.sent < reporters[fewest].sent:
                fewest = i
            level = max(own.clock, earliest)
            if level < least or (level == least and own.used < reporters[best].used):
                least = level
                best = i
        if silent > 0:
            best = fewest
        own = reporters[best]
        if own.waiting == capacity:
            return t
        own.busy += _execute(t, best, now, stretch, free)
        own.clock = max(own.clock, earliest) + own.average
        own.sent += 1
        own.used = stretch.first + t + 1
        own.executed += 1
        if own.executed % every == 0:
            report = queue[best, (own.oldest + own.waiting) % capacity]
            report.due = free[best] + stretch.control
            report.clock = free[best]
            report.executed = own.executed
            report.busy = own.busy
            own.waiting += 1
    return stretch.costs.size


@njit(cache=True, nogil=True)
def _free_slots(due):
    count = 0
    for slot in range(due.size):
        count += due[slot] == np.inf
    return count


@njit(cache=True, nogil=True)
def _next_slot(box):
    """Return the slot of the message that is due first, by rank among equals; -1 for none."""
    best = -1
    first = np.inf
    for slot in range(box.due.size):
        due = box.due[slot]
        if due < first or (due == first and due < np.inf and box.messages[slot].rank < box.messages[best].rank):
            first = due
            best = slot
    return best


@njit(cache=True, nogil=True)
def _post(i, due, rank, box):
    """Put a message of instance i into a free slot of the box and return the slot."""
    slot = 0
    while box.due[slot] != np.inf:
        slot += 1
    box.due[slot] = due
    message = box.messages[slot]
    message.rank = rank
    message.instance = i
    message.brings_matrices = 0
    return slot


@njit(cache=True, nogil=True)
def _note(t, phase, instance, notes, progress):
    note = notes[progress.notes]
    note.tuple = t
    note.phase = phase
    note.instance = instance
    progress.notes += 1


@njit(cache=True, nogil=True)
def _note_phase(t, own, notes, progress):
    if own.phase == RUN and progress.first_run < 0:
        progress.first_run = own.submitted
    if own.phase != progress.phase:
        progress.phase = own.phase
        _note(t, own.phase, -1, notes, progress)


@njit(cache=True, nogil=True)
def _deliver(slot, t, box, scheduler, notes, progress):
    """Hand a message over to the scheduler before tuple t."""
    message = box.messages[slot]
    box.due[slot] = np.inf
    i = message.instance
    if message.brings_matrices == 1:
        accept_matrices(i, slot, box.cells, scheduler)
        _note(t, -1, i, notes, progress)
    else:
        accept_reply(i, message.epoch, message.clock, message.estimate, message.assigned, scheduler)
        own = scheduler.own[0]
        # The next message may end it before a tuple comes.
        if own.phase == RUN and progress.first_run < 0:
            progress.first_run = own.submitted


@njit(cache=True, nogil=True)
def _run_quietly(first, coming, stretch, scheduler, instances, progress):
    """Handle tuples until one needs attention or comes after `coming`; return the next one.

    What is rare stays outside: inlined here it would slow every tuple threefold.
    """
    own, at, columns = scheduler.own[0], scheduler.at, scheduler.cells.F.shape[2]
    window = instances.rules[0].window
    phase = own.phase
    progress.stopped = 0
    for t in range(first, stretch.costs.size):
        now = stretch.arrivals[t]
        if coming <= now:
            return t
        find_columns(np.int64(stretch.keys[t]), scheduler.family, columns, at)
        i = choose_instance(now, scheduler)
        if own.phase != ROUND_ROBIN:
            charge(i, now, scheduler)
        cost = _execute(t, i, now, stretch, instances.free)
        ends = add_execution(at, cost, i, instances.learners, window)
        if ends or own.carries == 1 or own.phase != phase:
            progress.stopped = 1
            progress.instance = i
            progress.window_ended = ends
            return t + 1
    return stretch.costs.size


@njit(cache=True, nogil=True)
def _attend(t, stretch, scheduler, instances, box, progress):
    """Do what the tuple before number t caused: a reply, a look at stability, matrices to send."""
    i = progress.instance
    learners, rules, settings = instances.learners, instances.rules[0], scheduler.settings[0]
    due, rank = instances.free[i] + stretch.control, 2 * (stretch.first + t)
    if scheduler.own[0].carries == 1:
        message, instance = box.messages[_post(i, due, rank, box)], scheduler.instances[i]
        message.epoch = instance.asked
        message.clock = learners.own[i].busy if settings.busy == 1 else instances.free[i]
        message.estimate = instance.clock
        message.assigned = instance.assigned
    if progress.window_ended == 1 and end_of_window(i, learners, rules):
        if settings.changed == 0 or worth_sending(i, learners.cells, instances.sent, rules.tolerance):
            slot = _post(i, due, rank + 1, box)
            box.messages[slot].brings_matrices = 1
            copy_pair(i, learners.cells, slot, box.cells)
        start_anew(i, learners)


@njit(cache=True, nogil=True)
def run_posg(stretch, scheduler, instances, box, notes, progresses):
    """Run the protocol over the tuples; notes is NOTE[entries] and progresses PROGRESS[1].

    Returns the tuples handled: fewer than all when the box or the notes are full.
    """
    own, progress = scheduler.own[0], progresses[0]
    t = np.int64(0)
    while t < stretch.costs.size:
        slot = _next_slot(box)
        while slot >= 0 and box.due[slot] <= stretch.arrivals[t]:
            _deliver(slot, stretch.first + t, box, scheduler, notes, progress)
            slot = _next_slot(box)
        if _free_slots(box.due) < 2 or progress.notes + box.due.size + 3 > notes.size:
            return t
        _note_phase(stretch.first + t, own, notes, progress)
        coming = box.due[slot] if slot >= 0 else np.inf
        t = _run_quietly(t, coming, stretch, scheduler, instances, progress)
        if progress.stopped == 1:
            _note_phase(stretch.first + t - 1, own, notes, progress)
            _attend(t, stretch, scheduler, instances, box, progress)
    return stretch.costs.size


@njit(cache=True, nogil=True)
def _hand_over(i, scheduler, instances):
    """Give the scheduler what instance i has learnt; the instance starts anew."""
    learners = instances.learners
    take_snapshot(i, learners.cells, instances.sent)
    accept_matrices(i, i, learners.cells, scheduler)
    start_anew(i, learners)


@njit(cache=True, nogil=True)
def train(keys, costs, speeds, scheduler, instances):
    """Let the instances learn from the tuples, outside of time, until each has sent matrices once.

    The tuples go round robin. The scheduler gets what was sent or, from an instance that never was
    stable, what it has in the end; the learners start anew, and the scheduler counts these matrices
    as if nobody had sent them.
    """
    learners = instances.learners
    k = learners.own.size
    missing = k
    for t in range(keys.size):
        i = t % k
        if learners.own[i].sent > 0:
            continue
        find_columns(np.int64(keys[t]), scheduler.family, scheduler.cells.F.shape[2], scheduler.at)
        if learn_execution(scheduler.at, costs[t] * speeds[i], i, learners, instances.rules[0]):
            _hand_over(i, scheduler, instances)
            missing -= 1
            if missing == 0:
                break
    for i in range(k):
        if learners.own[i].sent == 0:
            _hand_over(i, scheduler, instances)
        learners.own[i].busy = 0.0
        learners.own[i].sent = 0
    scheduler.own[0].matrices = 0
