"""How a shedder knows the operator's backlog: its clock, and what it asks and hears.

This is the shedder's side of Rivetti et al. 2016, listing 3.2. The clock says when the operator
will have executed everything kept so far, by the estimates. A tuple that comes now is expected to
wait for that time less the time now. All times in the state count from the first tuple's.

What was kept since some point in time acts on the clock as x -> max(x + added, idle), a `SHIFT`:
`added` is the cost added since, and `idle` what the clock would be had the operator been idle at
some tuple since. Once the operator says what its clock was at that point, the shift since then
gives exactly what the shedder's clock should be now. The shedder keeps one shift since its last
request and, where the operator reports, one for each stretch of `reports` tuples (a mark).

As printed, a request goes out with each pair of matrices, whether or not the last is answered, and
every reply's difference is added; otherwise a request waits for the reply to the last.

State of a shedder that learns from its operator: one `SHEDDER` record; the `ring` of its goal;
`marks`, SHIFT[MARKS] where the operator reports; `requests`, REQUEST[REQUESTS] where several may be
on their way; the matrices that it received; the hash functions and room for a key's columns.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from streamlb._jit import njit, record
from streamlb.learning.learner import Cells, estimate_cost, find_columns, mean_cost
from streamlb.shedding.rules import GOAL, count_wait, violates

# The estimate of when the operator will be done. The first two are settings.
CLOCK = record(
    [
        ("clamp", "i8"),  # 1: the clock runs on while the operator is idle
        ("growth", "f8"),  # every cost is multiplied by this: 1 and the safety share
        ("offered", "i8"),  # tuples so far
        ("kept", "i8"),
        ("origin", "f8"),  # the time of the first tuple, from which the other times count
        ("last", "f8"),  # the time of the last tuple, as it was given
        ("busy_until", "f8"),  # when the operator will have executed all that was kept
    ]
)
# What the tuples kept since some point in time do to the clock: x -> max(x + added, idle).
SHIFT = record([("added", "f8"), ("idle", "f8")])
# How shedder and operator talk: all settings.
PROTOCOL = record(
    [
        ("exact", "i8"),  # 1: a reply sets the clock by the shift since, 0: by the difference
        ("reports", "i8"),  # executions between two reports, 0 for none
        ("marks", "i8"),  # how many marks there are, 0 without reports
        ("timeout", "i8"),  # kept tuples after which a request is made again, 0 for never
        ("early", "i8"),  # 1: the goal is watched from the first matrices on, 0: the first reply
        ("busy_clock", "i8"),  # 1: the operator's clock sums execution times, 0: it is the time
        # 1: a tuple that the matrices do not know costs the mean, 0: nothing.
        ("unseen_mean", "i8"),
        ("resync", "i8"),  # kept tuples after which the operator is asked again, 0 for never
        # How many may be on their way at once: 0 for one, whose reply is waited for.
        ("requests", "i8"),
    ]
)
# A request on its way, where there may be several: the number, among the kept, of the tuple that
# carries it, and the clock when it was made.
REQUEST = record([("asked", "i8"), ("believed", "f8")])
# Where they stand with each other.
EXCHANGE = record(
    [
        ("phase", "i8"),  # NOP, SEND or RUN
        ("active", "i8"),  # 1: the goal is watched
        ("epoch", "i8"),  # requests made
        ("waiting", "i8"),  # 1: the last request is not answered
        ("answered", "i8"),  # the last request that is, where there may be several on their way
        ("asked", "i8"),  # the number, among the kept, of the tuple that carried it
        ("patience", "i8"),  # how many tuples may be kept before it is made again
        ("believed", "f8"),  # the clock when it was made
        ("since", SHIFT),  # what was kept since
        ("again", "i8"),  # 1: another request is due once it is answered
        ("matrices", "i8"),  # pairs of matrices received
        ("replies", "i8"),  # replies received
        ("unseen", "f8"),  # the cost of a tuple that the matrices do not know
        ("assigned", "f8"),  # the cost of all that was kept
        # Tuples kept before the operator's present life, which reports do not count.
        ("base", "i8"),
        ("known", "i8"),  # tuples of its present life that were kept before the first matrices
        ("reported", "i8"),  # executions at the last report
    ]
)
SHEDDER = record([("clock", CLOCK), ("goal", GOAL), ("protocol", PROTOCOL), ("exchange", EXCHANGE)])

# What a step of the shedder works on: its SHEDDER record (an array of one), ring, marks and the
# requests on their way; the matrices; the hash functions and uint64[rows] for the columns of a key.
Shedding = namedtuple("Shedding", "own ring marks requests cells family at")

PHASES = ("NOP", "SEND", "RUN")
NOP, SEND, RUN = range(3)
# What an offer gives. The last two have changed nothing.
KEEP, DROP, KEEP_AND_ASK, FULL, BACKWARDS = range(5)
MARKS = 4096  # reports that may be on their way: a backlog of MARKS * reports tuples
REQUESTS = 256  # requests that may be on their way, where there may be several


def words(dtype: np.dtype) -> int:
    """Return how many int64 a record takes."""
    return dtype.itemsize // 8


_SHEDDER = words(SHEDDER)


@njit(nogil=True, inline="always")
def own_of(registers):
    """Return the SHEDDER record, with which the registers of a shedder begin."""
    return registers[:_SHEDDER].view(SHEDDER)[0]


@njit(nogil=True, inline="always")
def shedding_of(registers, F, W, family, room):
    """Return what a step works on, from the flat arrays at the door.

    `registers` int64 begins with the SHEDDER record and ends with the room for a key's columns;
    `room` float64 begins with the ring, the marks and the requests.
    """
    own = registers[:_SHEDDER].view(SHEDDER)
    span, marks = own[0].goal.span, own[0].goal.span + 2 * own[0].protocol.marks
    requests = room[marks : marks + 2 * own[0].protocol.requests].view(REQUEST)
    at = registers[registers.size - family.shape[0] :].view(np.uint64)
    return Shedding(own, room[:span], room[span:marks].view(SHIFT), requests, Cells(F, W), family, at)


@njit(cache=True, nogil=True, forceinline=True)
def see_time(now, clock):
    """Take note of a tuple's time; False when time went backwards, and nothing changed."""
    if clock.offered == 0:
        clock.origin = now
    elif now < clock.last:
        return False
    clock.last = now
    clock.offered += 1
    return True


@njit(cache=True, nogil=True, forceinline=True)
def expected_wait(now, clock):
    """Return the estimated queuing time of a tuple that comes now."""
    wait = clock.busy_until - (now - clock.origin)
    return 0.0 if wait < 0.0 and clock.clamp == 1 else wait


@njit(cache=True, nogil=True, forceinline=True)
def verdict(now, forced, clock, goal, ring):
    """Drop or not: by the goal, or as the user's own goal said (`forced` 0 or 1, else -1)."""
    wait = expected_wait(now, clock)
    if forced == 1 or (forced < 0 and violates(wait, goal, ring)):
        return True
    count_wait(wait, goal, ring)
    return False


@njit(cache=True, nogil=True, forceinline=True)
def add_cost(cost, now, clock):
    """Move the clock by a kept tuple, whose cost is already raised by the safety share."""
    if clock.clamp == 1:
        clock.busy_until = max(clock.busy_until, now - clock.origin)
    clock.busy_until += cost
    clock.kept += 1


@njit(cache=True, nogil=True, forceinline=True)
def _begin(shift):
    """Start a shift from here."""
    shift.added = 0.0
    shift.idle = -np.inf


@njit(cache=True, nogil=True, forceinline=True)
def _extend(shift, cost, elapsed, clamp):
    """Add a kept tuple that came at `elapsed` to a shift."""
    shift.added += cost
    if clamp == 1:
        shift.idle = max(shift.idle, elapsed) + cost


@njit(cache=True, nogil=True, forceinline=True)
def keep(cost, now, shedding):
    """Keep a tuple of this estimated cost: move the clock and the shifts since request and mark."""
    own = shedding.own[0]
    clock, exchange = own.clock, own.exchange
    cost *= clock.growth
    elapsed = now - clock.origin
    _extend(exchange.since, cost, elapsed, clock.clamp)
    exchange.assigned += cost
    every = own.protocol.reports
    if every > 0:
        kept = clock.kept - exchange.base
        stretch = kept // every
        mark = shedding.marks[stretch % shedding.marks.size]
        if kept == stretch * every:
            _begin(mark)
        _extend(mark, cost, elapsed, clock.clamp)
    add_cost(cost, now, clock)


@njit(cache=True, nogil=True)
def ask(own, requests):
    """Begin an epoch: the tuple just kept carries the request.

    Return False when as many requests as may be are on their way; the next tuple then tries again.
    """
    exchange = own.exchange
    if requests.size > 0 and exchange.epoch - exchange.answered >= requests.size:
        return False
    if exchange.waiting == 0:
        exchange.patience = own.protocol.timeout
    exchange.epoch += 1
    exchange.waiting = 1
    exchange.asked = own.clock.kept
    exchange.believed = own.clock.busy_until
    _begin(exchange.since)
    exchange.phase = RUN
    if requests.size > 0:
        request = requests[exchange.epoch % requests.size]
        request.asked, request.believed = exchange.asked, exchange.believed
    return True


@njit(cache=True, nogil=True)
def settle(epoch, operator_clock, believed, own):
    """Correct the clock by a reply to the request of an epoch, made at the clock `believed`.

    The reply says what the operator's clock was after the tuple with the request.
    """
    clock, exchange = own.clock, own.exchange
    if own.protocol.exact == 1:
        clock.busy_until = max(operator_clock + exchange.since.added, exchange.since.idle)
    else:
        clock.busy_until += operator_clock - believed
    exchange.answered = epoch
    exchange.waiting = 1 if epoch < exchange.epoch else 0
    exchange.replies += 1
    exchange.active = 1
    if exchange.again == 1:
        exchange.again = 0
        exchange.phase = SEND


@njit(cache=True, nogil=True)
def settle_report(completed, operator_clock, own, marks):
    """Correct the clock by a report: what the operator's was after `completed` tuples.

    Return whether the report told anything new.
    """
    exchange, every = own.exchange, own.protocol.reports
    kept = own.clock.kept - exchange.base
    if every == 0 or completed <= exchange.reported or completed > kept or completed % every != 0:
        return False
    # Tuples kept before the first matrices have no estimates.
    if exchange.phase == NOP or completed < exchange.known:
        return False
    first, last = completed // every, (kept - 1) // every
    if last - first >= marks.size:
        return False
    for stretch in range(first, last + 1):
        mark = marks[stretch % marks.size]
        operator_clock = max(operator_clock + mark.added, mark.idle)
    own.clock.busy_until = operator_clock
    exchange.reported = completed
    exchange.active = 1
    return True


@njit(cache=True, nogil=True)
def take_matrices(i, cells, own):
    """Begin to use the matrices that were just copied to entry i."""
    exchange, protocol = own.exchange, own.protocol
    exchange.unseen = mean_cost(i, cells) if protocol.unseen_mean == 1 else 0.0
    exchange.matrices += 1
    if exchange.phase == NOP:
        exchange.known = own.clock.kept - exchange.base
    if exchange.waiting == 1 and protocol.requests == 0:
        # A new epoch now would void the reply that is due, behind a long queue for ever.
        exchange.again = 1
    else:
        exchange.phase = SEND
    if protocol.early == 1:
        exchange.active = 1


@njit(cache=True, nogil=True, forceinline=True)
def offer_learnt(key, now, forced, i, shedding):
    """Drop or keep a tuple by what entry i of the matrices says of its cost."""
    own = shedding.own[0]
    clock, exchange, timeout = own.clock, own.exchange, own.protocol.timeout
    if not see_time(now, clock):
        return BACKWARDS
    if exchange.phase == NOP:
        keep(0.0, now, shedding)
        return KEEP
    if exchange.active == 1 and verdict(now, forced, clock, own.goal, shedding.ring):
        return DROP
    find_columns(key, shedding.family, shedding.cells.F.shape[2], shedding.at)
    keep(estimate_cost(shedding.at, i, shedding.cells, exchange.unseen), now, shedding)
    overdue = timeout > 0 and clock.kept - exchange.asked > exchange.patience
    if exchange.phase == RUN and exchange.waiting == 1 and overdue:
        # It is lost, or waits behind a long queue: the next one gets twice the time.
        exchange.patience *= 2
        exchange.phase = SEND
    resync, free = own.protocol.resync, exchange.waiting == 0 or own.protocol.requests > 0
    if resync > 0 and exchange.phase == RUN and free and clock.kept - exchange.asked >= resync:
        exchange.phase = SEND
    if exchange.phase == SEND and ask(own, shedding.requests):
        return KEEP_AND_ASK
    return KEEP
