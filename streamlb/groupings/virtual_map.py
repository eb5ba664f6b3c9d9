"""Who holds which virtual worker, and how the signals of busy and idle workers move them.

From Nasir et al. 2017, sections IV-B and V-A. Every source has a map of its own and applies the
signals in the order in which they reach it. Who gives and who receives next is found at the start
of a chain and not by a search, so a signal takes as long with ten thousand workers as with ten.

State: owners int64[sources, virtual workers], a record VIRTUAL each; and book, one row for each
source: the record SOURCE, a record WORKER for each worker, and the links of two chains.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from streamlb._jit import njit, record

# A virtual worker: the worker that holds it, and the next one in that worker's list (END behind the
# last one).
VIRTUAL = record([("owner", "u4"), ("next", "i4")])
# What a source knows beside its map: how many workers there are, removed ones included, which
# policy it follows, the signals it has applied, the virtual workers it has moved, and (LRU only)
# the last in the chain of those that were never busy.
SOURCE = record([("workers", "i8"), ("policy", "i8"), ("clock", "i8"), ("moves", "i8"), ("last_fresh", "i8")])
# A worker in a source's map: how many virtual workers it holds (0 once it is removed: all others
# keep one), and the starts of its two lists of them: those in order of their numbers, and those
# that it has received since it last gave one, the latest first. Then how many it waits for (above 0
# while it is idle) or waits to give (below 0 while it is busy), the clock when it last received
# one, and the time slots in which it last signalled and was last busy (-1 for never).
WORKER = record(
    [
        ("held", "i4"),
        ("first", "i4"),
        ("received", "i4"),
        ("wants", "i4"),
        ("got_at", "i8"),
        ("signalled", "i8"),
        ("busy_slot", "i8"),
    ]
)
# A worker's neighbours in a chain. The last link of a chain, number END, belongs to no worker: it
# joins the chain's end to its start.
LINK = record([("before", "i4"), ("after", "i4")])
# One source's map, made of views: source SOURCE, virtual VIRTUAL[virtual workers], workers
# WORKER[workers], and the chains LINK[workers + 1]. `idle` is the queue of those that wait for
# virtual workers, first come, first served. `busy` is for FCFS the queue of those that wait to give
# some, and for LRU all workers that are there in the order in which they receive when nobody is
# idle: those that were never busy, by the time at which they last received one and by number, and
# then the least recently busy.
Map = namedtuple("Map", ["source", "virtual", "workers", "idle", "busy"])

END = -1
FCFS, LRU = 0, 1
POLICIES = {"fcfs": FCFS, "lru": LRU}
IDLE, BUSY = 1, -1  # what a signal says
_SOURCE_WORDS, _WORKER_WORDS = SOURCE.itemsize // 8, WORKER.itemsize // 8


def book_words(workers: int) -> int:
    """Return the length of a row of the book."""
    return _SOURCE_WORDS + _WORKER_WORDS * workers + 2 * (workers + 1)


def fresh_maps(sources: int, workers: int, virtual: int, policy: int) -> tuple[np.ndarray, np.ndarray]:
    """Return owners and book of workers that hold `virtual` each and have signalled nothing."""
    # Virtual worker v starts at worker v mod n, so that neighbours on a ring belong to different
    # workers.
    number = np.arange(workers * virtual)
    owners = np.empty((sources, number.size), VIRTUAL)
    owners["owner"] = number % workers
    owners["next"] = np.where(number + workers < number.size, number + workers, END)
    book = np.full((sources, book_words(workers)), END, np.int64)
    source, worker, (_, busy) = source_records(book), worker_records(book, workers), _chains(book, workers)
    source["workers"], source["policy"] = workers, policy
    source["clock"] = source["moves"] = 0
    worker["held"], worker["first"] = virtual, np.arange(workers)
    worker["wants"] = worker["got_at"] = 0
    if policy == LRU:
        everyone = np.arange(workers + 1)
        # END for worker 0, and the last worker for the link at the end.
        busy["before"] = everyone - 1
        busy["after"] = np.append(everyone[1:-1], [END, 0])
        source["last_fresh"] = workers - 1
    return owners.view(np.int64), book


def source_records(book: np.ndarray) -> np.ndarray:
    """Return the book's records SOURCE[sources], a view."""
    return book[:, :_SOURCE_WORDS].view(SOURCE)[:, 0]


def worker_records(book: np.ndarray, workers: int) -> np.ndarray:
    """Return the book's records WORKER[sources, workers], a view."""
    return book[:, _SOURCE_WORDS : _SOURCE_WORDS + _WORKER_WORDS * workers].view(WORKER)


def _chains(book: np.ndarray, workers: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the links of the idle and the busy chains, each LINK[sources, workers + 1], views."""
    links = book[:, _SOURCE_WORDS + _WORKER_WORDS * workers :].view(LINK)
    return links[:, : workers + 1], links[:, workers + 1 :]


def in_range(owners: np.ndarray, book: np.ndarray, workers: int) -> bool:
    """Return whether all workers and virtual workers that the maps name exist."""
    source, virtual = source_records(book), owners.view(VIRTUAL)
    numbers = [(virtual["owner"], 0, workers), (virtual["next"], END, owners.shape[1])]
    numbers += [(worker_records(book, workers)[start], END, owners.shape[1]) for start in ("first", "received")]
    numbers += [(chain[side], END, workers) for chain in _chains(book, workers) for side in ("before", "after")]
    numbers += [(source["last_fresh"], END, workers), (source["workers"], workers, workers + 1)]
    return all(low <= number.min() and number.max() < high for number, low, high in numbers)


def with_new_worker(book: np.ndarray, workers: int) -> np.ndarray:
    """Return the book with room for one worker more, which holds nothing yet: see `join`."""
    rest = _SOURCE_WORDS + _WORKER_WORDS * workers
    row = np.zeros(1, WORKER)
    row["first"] = row["received"] = row["signalled"] = row["busy_slot"] = END
    # Before the links at the end of the two chains, and behind the last worker.
    book = np.insert(book, [rest + workers, rest + 2 * workers + 1], END, axis=1)
    book = np.insert(book, [rest] * _WORKER_WORDS, row.view(np.int64), axis=1)
    source_records(book)["workers"] = workers + 1
    return book


@njit(nogil=True, inline="always")
def map_of(s, owners, book):
    """Return the map of source s."""
    row = book[s]
    source = row[:_SOURCE_WORDS].view(SOURCE)[0]
    n = source.workers
    rest = _SOURCE_WORDS + _WORKER_WORDS * n
    return Map(
        source,
        owners[s].view(VIRTUAL),
        row[_SOURCE_WORDS:rest].view(WORKER),
        row[rest : rest + n + 1].view(LINK),
        row[rest + n + 1 :].view(LINK),
    )


@njit(nogil=True, inline="always")
def virtual_of(owners):
    """Return the virtual workers of all sources, VIRTUAL[sources, virtual workers], a view."""
    return owners.view(VIRTUAL)


@njit(cache=True, nogil=True)
def _take_out(worker, chain):
    """Take a worker out of a chain."""
    before, after = chain[worker].before, chain[worker].after
    chain[before].after = after
    chain[after].before = before


@njit(cache=True, nogil=True)
def _put_before(worker, other, chain):
    """Put a worker into a chain, just before another one or, for END, behind everyone."""
    before = chain[other].before
    chain[worker].before = before
    chain[worker].after = other
    chain[before].after = worker
    chain[other].before = worker


@njit(cache=True, nogil=True)
def _leave_order(worker, its):
    """Take a worker out of the order of LRU."""
    if its.source.last_fresh == worker:
        its.source.last_fresh = its.busy[worker].before
    _take_out(worker, its.busy)


@njit(cache=True, nogil=True)
def _join_fresh(worker, its):
    """Put a worker that was never busy into the order of LRU, as one that received just now."""
    clock, last = its.source.clock, its.source.last_fresh
    its.workers[worker].got_at = clock
    spot = last
    while spot > worker and its.workers[spot].got_at == clock:
        spot = np.int64(its.busy[spot].before)
    _put_before(worker, np.int64(its.busy[spot].after), its.busy)
    if spot == last:
        its.source.last_fresh = worker


@njit(cache=True, nogil=True)
def _in_order(start, virtual):
    """Bring a list of virtual workers into the order of their numbers; return its start.

    This merges neighbouring parts of one, then of two, then of four ... until there is one part.
    """
    width = 1
    while True:
        left, start, end, merges = start, END, END, 0
        while left != END:
            merges += 1
            right, lefts, rights = left, 0, width
            while lefts < width and right != END:
                right = virtual[right].next
                lefts += 1
            while lefts > 0 or (rights > 0 and right != END):
                if lefts > 0 and (rights == 0 or right == END or left < right):
                    smallest, left = left, virtual[left].next
                    lefts -= 1
                else:
                    smallest, right = right, virtual[right].next
                    rights -= 1
                if end == END:
                    start = smallest
                else:
                    virtual[end].next = smallest
                end = smallest
            left = right
        virtual[end].next = END
        if merges == 1:
            return start
        width *= 2


@njit(cache=True, nogil=True, forceinline=False)
def _sort_in(worker, its):
    """Put the virtual workers that a worker has received in their places among its others."""
    virtual, row = its.virtual, its.workers[worker]
    after, before = row.first, np.int32(END)
    v = _in_order(row.received, virtual)
    row.received = END
    while v != END:
        while after != END and after < v:
            before, after = after, virtual[after].next
        if before == END:
            row.first = v
        else:
            virtual[before].next = v
        before, v = v, virtual[v].next
        virtual[before].next = after


@njit(cache=True, nogil=True)
def _hand_over(giver, taker, its):
    """Give the giver's first virtual worker by number to the taker.

    Only who gives needs the order, so the taker's is made when it gives in its turn: a worker that
    collects many never looks for the place of each.
    """
    virtual, workers, source = its.virtual, its.workers, its.source
    if workers[giver].received != END:
        _sort_in(giver, its)
    v = workers[giver].first
    workers[giver].first = virtual[v].next
    virtual[v].owner = taker
    virtual[v].next = workers[taker].received
    workers[taker].received = v
    workers[giver].held -= 1
    workers[taker].held += 1
    source.moves += 1
    if source.policy == LRU and workers[taker].busy_slot < 0 and workers[taker].got_at != source.clock:
        _leave_order(taker, its)
        _join_fresh(taker, its)


@njit(cache=True, nogil=True)
def _serve_idle(worker, its):
    """Let an idle worker wait for one virtual worker less; with none left it leaves the queue."""
    row = its.workers[worker]
    row.wants -= 1
    if row.wants == 0:
        _take_out(worker, its.idle)


@njit(cache=True, nogil=True)
def _pair_queues(its):
    """Move virtual workers from the first busy to the first idle worker while there are both."""
    moves = 0
    while True:
        busy, idle = np.int64(its.busy[END].after), np.int64(its.idle[END].after)
        if busy == END or idle == END:
            return moves
        giver = its.workers[busy]
        if giver.held == 1:  # its last one stays: it leaves the queue with what it has
            giver.wants = 0
        else:
            _hand_over(busy, idle, its)
            _serve_idle(idle, its)
            giver.wants += 1
            moves += 1
        if giver.wants == 0:
            _take_out(busy, its.busy)


@njit(cache=True, nogil=True)
def _give_away(worker, amount, slot, its):
    """Move virtual workers from a busy worker to idle ones or else to the least recently busy."""
    moves = 0
    while moves < amount and its.workers[worker].held > 1:
        taker = np.int64(its.idle[END].after)
        if taker != END:
            _hand_over(worker, taker, its)
            _serve_idle(taker, its)
        else:
            taker = np.int64(its.busy[END].after)
            if its.workers[taker].busy_slot == slot:  # and so is everyone behind it
                break
            _hand_over(worker, taker, its)
        moves += 1
    return moves


@njit(cache=True, nogil=True)
def apply_signal(worker, sign, strength, slot, its):
    """Let one source act on a worker's signal, IDLE or BUSY; return the virtual workers moved.

    `strength` is the share of the virtual workers it holds that the worker wants to lose or gain;
    at least one is meant. A second signal of a worker in one slot is ignored.
    """
    row, source = its.workers[worker], its.source
    if row.signalled == slot:
        return 0
    row.signalled = slot
    source.clock += 1
    amount = max(1, np.int64(strength * row.held))
    if sign == IDLE:
        if row.wants < 0:
            _take_out(worker, its.busy)
        if row.wants <= 0:
            _put_before(worker, END, its.idle)
        row.wants = amount
        return _pair_queues(its) if source.policy == FCFS else 0
    if row.wants > 0:
        _take_out(worker, its.idle)
    if source.policy == FCFS:
        if row.wants >= 0:
            _put_before(worker, END, its.busy)
        row.wants = -amount
        return _pair_queues(its)
    row.wants = 0
    row.busy_slot = slot
    _leave_order(worker, its)
    _put_before(worker, END, its.busy)
    return _give_away(worker, amount, slot, its)


@njit(cache=True, nogil=True)
def _share_out(worker, amount, giving, its, part):
    """Move virtual workers between one worker and the others, in proportion to what these hold.

    The worker gives when `giving`, else it receives, and then whoever gives keeps one. `part`
    int64[workers] is scratch: what each of the others has received (or given) so far.
    """
    part[:] = 0
    sign = 1 if giving else -1
    least = 0 if giving else 1
    for _ in range(amount):
        best, best_held = np.int64(-1), np.int64(0)
        for other in range(part.size):
            held = its.workers[other].held
            before = held - sign * part[other]  # what it held before the first move
            if other == worker or held <= least:
                continue
            if best < 0 or (part[other] + 1) * best_held < (part[best] + 1) * before:
                best, best_held = np.int64(other), before
        if best < 0:
            break
        part[best] += 1
        if giving:
            _hand_over(worker, best, its)
        else:
            _hand_over(best, worker, its)


@njit(cache=True, nogil=True)
def join(worker, amount, owners, book, part):
    """Let a new worker receive virtual workers from all others, in the maps of all sources."""
    for s in range(owners.shape[0]):
        its = map_of(s, owners, book)
        if its.source.policy == LRU:
            _join_fresh(worker, its)
        _share_out(worker, amount, False, its, part)


@njit(cache=True, nogil=True)
def leave(worker, owners, book, part):
    """Let a worker give all its virtual workers to the others, in the maps of all sources."""
    for s in range(owners.shape[0]):
        its = map_of(s, owners, book)
        row = its.workers[worker]
        if row.wants > 0:
            _take_out(worker, its.idle)
        if its.source.policy == LRU:
            _leave_order(worker, its)
        elif row.wants < 0:
            _take_out(worker, its.busy)
        row.wants = 0
        _share_out(worker, np.int64(row.held), True, its, part)
