"""Round robin for the head: hot keys go to all workers in turn, others to the less loaded of two.

It is the load-oblivious baseline of Nasir et al. 2016, section III-B.

State: load, meta and sketch as in `head`.
"""

from __future__ import annotations

import numpy as np

from streamlb._jit import njit, record
from streamlb.groupings.base import weight_of
from streamlb.groupings.head import (
    HEAD,
    SPAN,
    HeadGrouping,
    count_message,
    is_hot,
    lacks_room,
    lacks_width,
    mark_hot,
    number_of,
    registers_of,
    send_tail,
    settings_of,
    source_at,
)
from streamlb.sketches.space_saving import home_of

# Each source's registers: HEAD, and the worker whose turn it is.
SOURCE = record([*HEAD, ("next", "i8")])


@njit(nogil=True, forceinline=True)
def _send(key, weight, hot, source):
    """Add a message to the worker of its key, which is hot or not, and return that worker."""
    if not hot:
        return send_tail(key, weight, source)
    load, own = source.load, source.own
    worker = own.next
    own.next = worker + 1 if worker + 1 < load.size else 0
    load[worker] += weight
    return worker


@njit(cache=True, nogil=True)
def _route(key, source, weight, load, meta, sketch):
    """Route one message; -1 asks for more room and another call."""
    settings = settings_of(meta)
    number = number_of(source, load, settings)
    one = source_at(number, registers_of(meta).view(SOURCE)[number], load, settings, sketch)
    if lacks_room(weight, one):
        return -1
    settings.messages += 1
    key = np.uint64(key)
    slot, count = count_message(key, weight, one, home_of(key, one.counters.table))
    return _send(key, weight, is_hot(max(slot, ~slot), count, one), one)


@njit(cache=True, nogil=True)
def _route_many(keys, weights, source, load, meta, sketch, out):
    """Route messages; True asks for more room and another call, which goes on from there."""
    # Sources share nothing, so each one's messages are routed together: its sketch stays in the
    # cache.
    settings = settings_of(meta)
    stride = load.shape[0] if source < 0 else 1
    first = number_of(source, load, settings)
    for turn in range(settings.turn, min(stride, keys.size)):
        number = (first + turn) % load.shape[0]
        one = source_at(number, registers_of(meta).view(SOURCE)[number], load, settings, sketch)
        start = max(turn, settings.next)
        if lacks_width(keys.size, weights, start, stride, one):
            settings.turn = turn
            return True
        # Counting and sending do not touch each other: two small loops are faster than one.
        for begin in range(start, keys.size, SPAN * stride):
            end = min(begin + SPAN * stride, keys.size)
            stop = mark_hot(keys, weights, begin, end, stride, one, out)
            for i in range(np.uint64(begin), np.uint64(stop), np.uint64(stride)):
                out[i] = _send(keys[i], weight_of(weights, i), out[i] != 0, one)
            if stop < end:
                settings.turn, settings.next = turn, stop
                return True
        settings.next = 0
    settings.turn = 0
    settings.messages += keys.size
    return False


class RoundRobinHead(HeadGrouping):
    """Send hot keys round robin to all workers, other keys to the less loaded of their two (RR).

    The load-oblivious counterpart of `WChoices`, with the same memory: the head is balanced, the
    tail apart from it.

    Parameters
    ----------
    workers : int
        Number of workers.
    sources : int, default 1
        Number of sources, each with its own loads and sketch.
    theta : float, optional
        The share from which a key is hot, in (0, 1); 1 / (5 workers) by default.
    capacity : int, optional
        Counters in each source's sketch: at least 1 / theta; by default twice that, and no fewer
        than 1000.
    guard : bool, default True
        Call a key hot only when it was surely seen often enough, and at least 50 times; False as
        printed in the paper.
    candidates : {"distinct", "independent"}
        Whether the two workers of a key that is not hot always differ, or are hashed apart, as in
        the paper.
    ties : {"rotate", "first"}
        Where the sources begin their round: each at a worker of its own, or all at worker 0.
    seed : int, numpy.random.SeedSequence or None, default 0
        The seed of the hash functions and of where the sources begin.

    Examples
    --------
    >>> from streamlb import RoundRobinHead
    >>> grouping = RoundRobinHead(5)
    >>> workers = grouping.route_many(["a"] * 1000)  # 49 go to two workers, the rest round robin
    >>> len(set(workers[:49].tolist())), len(set(workers[49:].tolist()))
    (2, 5)
    """

    __slots__ = ()
    _Source = SOURCE
    _route = staticmethod(_route)
    _route_many = staticmethod(_route_many)
