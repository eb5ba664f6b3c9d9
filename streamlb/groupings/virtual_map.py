"""Who owns which virtual worker, and how signals of busy and idle workers move them (paper 004, sections IV-B and V-A).

Every source keeps its own map and its own book, and applies the signals in the order in which they reach it.

State: owner int64[sources, virtual workers]; book int64[sources, workers, 8], for each worker the virtual workers it
holds, what it wants (> 0 while it waits idle, < 0 while it waits busy), when it joined that queue, when it was last
busy, when it last received a virtual worker, the slot of its last signal, the slot in which it was last busy, and
whether it is still there; meta int64[3 + 2 sources], messages, seed, slot, then each source's clock (signals applied)
and its moves.
"""

from __future__ import annotations

import numpy as np

from streamlb._jit import njit

HELD, WANT, QUEUED, BUSY_AT, GOT_AT, SIGNALLED, BUSY_SLOT, ALIVE = range(8)  # places in a row of the book
SLOT, CLOCK = 2, 3  # places in meta; the moves follow the clocks
FCFS, LRU = 0, 1


def fresh_book(sources: int, workers: int, virtual: int) -> np.ndarray:
    """Return the book of workers that hold `virtual` each and have signalled nothing."""
    book = np.zeros((sources, workers, 8), np.int64)
    book[:, :, HELD] = virtual
    book[:, :, (SIGNALLED, BUSY_SLOT)] = -1
    book[:, :, ALIVE] = 1
    return book


@njit(cache=True, nogil=True)
def move_one(giver, taker, s, owner, book, meta):
    """Hand the giver's first virtual worker to the taker."""
    for v in range(owner.shape[1]):
        if owner[s, v] == giver:
            owner[s, v] = taker
            break
    book[s, giver, HELD] -= 1
    book[s, taker, HELD] += 1
    book[s, taker, GOT_AT] = meta[CLOCK + s]
    meta[CLOCK + owner.shape[0] + s] += 1


@njit(cache=True, nogil=True)
def _first_in_queue(sign, s, book):
    """Return who has waited longest as idle (sign 1) or busy (sign -1), or -1."""
    first = np.int64(-1)
    for w in range(book.shape[1]):
        if sign * book[s, w, WANT] > 0 and (first < 0 or book[s, w, QUEUED] < book[s, first, QUEUED]):
            first = w
    return first


@njit(cache=True, nogil=True)
def _pair_queues(s, owner, book, meta):
    """Move virtual workers from the first in the busy queue to the first in the idle one while both have someone."""
    moves = 0
    while True:
        busy, idle = _first_in_queue(np.int64(-1), s, book), _first_in_queue(np.int64(1), s, book)
        if busy < 0 or idle < 0:
            return moves
        if book[s, busy, HELD] == 1:  # its last one stays: it leaves the queue with what it has
            book[s, busy, WANT] = 0
            continue
        move_one(busy, idle, s, owner, book, meta)
        book[s, busy, WANT] += 1
        book[s, idle, WANT] -= 1
        moves += 1


@njit(cache=True, nogil=True)
def _goes_before(a, b, s, book):
    """Whether worker a should receive before b: idle first, by time of signal; then the least recently busy, then served."""
    idle_a, idle_b = book[s, a, WANT] > 0, book[s, b, WANT] > 0
    if idle_a != idle_b:
        return idle_a
    if idle_a:
        return book[s, a, QUEUED] < book[s, b, QUEUED]
    if book[s, a, BUSY_AT] != book[s, b, BUSY_AT]:
        return book[s, a, BUSY_AT] < book[s, b, BUSY_AT]
    return book[s, a, GOT_AT] < book[s, b, GOT_AT]


@njit(cache=True, nogil=True)
def _taker(giver, slot, s, book):
    """Return who receives next from a busy worker, or -1: nobody who is known to be busy in this very slot."""
    best = np.int64(-1)
    for w in range(book.shape[1]):
        fit = w != giver and book[s, w, ALIVE] == 1 and book[s, w, BUSY_SLOT] != slot
        if fit and (best < 0 or _goes_before(w, best, s, book)):
            best = w
    return best


@njit(cache=True, nogil=True)
def apply_signal(worker, sign, strength, s, slot, policy, owner, book, meta):
    """Let source s act on a worker's signal, busy (sign -1) or idle (sign 1); return the virtual workers it moved.

    `strength` is the share of the virtual workers it holds that the worker wants to lose or gain; at least one is
    meant. A second signal of a worker in one slot is ignored.
    """
    row = book[s, worker]
    if row[SIGNALLED] == slot:
        return 0
    row[SIGNALLED] = slot
    meta[CLOCK + s] += 1
    amount = max(1, np.int64(strength * row[HELD]))
    if sign * row[WANT] <= 0:  # joins this queue, and leaves the other if it was there
        row[QUEUED] = meta[CLOCK + s]
    row[WANT] = sign * amount
    if sign < 0:
        row[BUSY_AT] = meta[CLOCK + s]
        row[BUSY_SLOT] = slot
    if policy == FCFS:
        return _pair_queues(s, owner, book, meta)
    moves = 0
    if sign < 0:
        row[WANT] = 0
        while moves < amount and row[HELD] > 1:
            taker = _taker(worker, slot, s, book)
            if taker < 0:
                break
            move_one(worker, taker, s, owner, book, meta)
            book[s, taker, WANT] = max(0, book[s, taker, WANT] - 1)
            moves += 1
    return moves


@njit(cache=True, nogil=True)
def share_out(worker, amount, giving, s, owner, book, meta, part):
    """Move `amount` virtual workers between one worker and the others, in proportion to what each of those holds.

    The worker gives when `giving`, else it receives; whoever gives without being removed keeps one. `part`
    int64[workers] is scratch: what each of the others has received (or given) so far.
    """
    part[:] = 0
    sign = 1 if giving else -1
    for _ in range(amount):
        best, best_held = np.int64(-1), np.int64(0)
        for w in range(part.size):
            held = book[s, w, HELD] - sign * part[w]  # before the first move
            fit = w != worker and book[s, w, ALIVE] == 1 and (giving or book[s, w, HELD] > 1)
            if fit and (best < 0 or (part[w] + 1) * best_held < (part[best] + 1) * held):
                best, best_held = w, held
        if best < 0:
            break
        part[best] += 1
        if giving:
            move_one(worker, best, s, owner, book, meta)
        else:
            move_one(best, worker, s, owner, book, meta)
