"""W-Choices: hot keys go to the least loaded of all workers, others to the less loaded of two.

It is the variant of Nasir et al. 2016, section III-B, that spends the most memory on hot keys.

State: load, meta and sketch as in `head`.
"""

from __future__ import annotations

import numpy as np

from streamlb._jit import njit, record
from streamlb.groupings.base import weight_of
from streamlb.groupings.head import (
    CURSOR,
    HEAD,
    SPAN,
    HeadGrouping,
    count_message,
    cursor_of,
    is_hot,
    keep_cursor,
    lacks_room,
    lacks_width,
    mark_hot,
    number_of,
    registers_of,
    send_to_all,
    settings_of,
    source_at,
)
from streamlb.sketches.space_saving import home_of

SOURCE = record([*HEAD, *CURSOR])  # each source's registers


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
    worker, cursor = send_to_all(key, weight, is_hot(max(slot, ~slot), count, one), one, cursor_of(one.own))
    keep_cursor(one.own, cursor)
    return worker


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
        span = stride * max(1, SPAN // stride)
        for begin in range(start, keys.size, span):
            end = min(begin + span, keys.size)
            stop = mark_hot(keys, weights, begin, end, stride, one, out)
            cursor = cursor_of(one.own)
            for i in range(np.uint64(begin), np.uint64(stop), np.uint64(stride)):
                out[i], cursor = send_to_all(keys[i], weight_of(weights, i), out[i] != 0, one, cursor)
            keep_cursor(one.own, cursor)
            if stop < end:
                settings.turn, settings.next = turn, stop
                return True
        settings.next = 0
    settings.turn = 0
    settings.messages += keys.size
    return False


class WChoices(HeadGrouping):
    """Send hot keys to the least loaded worker, others to the less loaded of two (W-Choices).

    No grouping that keeps keys together balances better, but a hot key's state ends up on every
    worker.

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
        Which of equally loaded workers a hot key takes: the next in its source's turn, or the
        first.
    seed : int, numpy.random.SeedSequence or None, default 0
        The seed of the hash functions and of the sources' turns.

    Examples
    --------
    >>> from streamlb import WChoices, Zipf
    >>> grouping = WChoices(50)
    >>> workers = grouping.route_many(Zipf(10_000, 1.4).draw(100_000, seed=1))
    >>> int(grouping.loads.max() - grouping.loads.min()) <= 2
    True
    >>> keys, shares = grouping.head()
    >>> int(keys[0])
    0
    """

    __slots__ = ()
    _Source = SOURCE
    _route = staticmethod(_route)
    _route_many = staticmethod(_route_many)

    def _fresh(self) -> tuple[np.ndarray, ...]:
        load, meta, sketch = super()._fresh()
        self._records(meta)[1]["rotate"] = self.ties == "rotate"
        return load, meta, sketch
