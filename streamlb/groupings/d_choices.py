"""D-Choices: hot keys go to the least loaded of d workers, others to the less loaded of two.

d is as small as it may be for the load to be balanced (Nasir et al. 2016, sections III and IV-A;
see `solve_d`).

A message passes four files: `base` checks it, the kernels here decide, `head` knows what is hot and
sends the tail, and `sketches.space_saving` counts. What a message seldom does, when its key turns
hot for instance, is in `hot_keys`. What they call beside are functions of numbers without any
state, in `hashing`, `ratios` and `solve_d`.

State: load, meta and sketch as in `head`; hot as in `hot_keys`.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from streamlb import _check
from streamlb._jit import likely, njit, record
from streamlb._options import checked, takes
from streamlb.groupings.base import MAX_WORKERS, weight_of
from streamlb.groupings.head import (
    CURSOR,
    HEAD,
    SPAN,
    HeadGrouping,
    count_key,
    count_message,
    cursor_of,
    home_in,
    is_hot,
    keep_cursor,
    lacks_room,
    lacks_width,
    least_load,
    number_of,
    registers_of,
    send_tail,
    send_to_all,
    settings_of,
    share_at,
    source_at,
    write_homes,
)
from streamlb.groupings.head_options import HeadOptions
from streamlb.groupings.hot_keys import (
    FIRST_ENTRIES,
    FIRST_RECORDS,
    HEADER,
    SHORT,
    Hot,
    block_size,
    hot_of,
    hot_size,
    list_candidates,
    list_room,
    lists_of,
    prepare,
    reenter,
    room_for,
)
from streamlb.hashing import hash_one
from streamlb.sketches.space_saving import error_at, find_slot, home_of

_FEW = 16  # of so few workers the least is found without the least load of all

# Each source's registers.
SOURCE = record(
    [
        *HEAD,
        *CURSOR,
        ("choices", "i8"),  # d
        ("solve", "i8"),  # the total at which d is solved for again
        ("floor", "i8"),  # the least load of all workers
        ("above", "i8"),  # a worker before which all others are above it
        ("start", "i8"),  # where a hot key's turn begins
        ("records", "i8"),  # how many records are in use
        ("hot", "i8"),  # how many keys are hot: the length of `order`
        ("changes", "i8"),  # how many entries of `history` are in use
    ]
)


@njit(cache=True, nogil=True, forceinline=True)
def _floor_of(load, own):
    """Return the least load of all workers.

    Loads only grow, so a cursor (`above`) passes each worker once for each least load (`floor`).
    """
    level, at = own.floor, own.above
    while True:
        while at < load.size and load[np.uint64(at)] != level:
            at += 1
        if at < load.size:
            break
        level, at = least_load(load), 0
    own.floor, own.above = level, at
    return level


@njit(nogil=True, forceinline=True)  # compiled for lists of either width, so not cached itself
def _least_candidate(record, load, floor, candidates, rotate):
    """Return the least loaded candidate; of several the first, or in turn the next.

    As in `to_least`: a cursor (`at`) over the candidates that stand at the least load (`low`),
    `rest` of them not yet passed. No candidate is below the least load of all workers, so the
    search begins there.
    """
    d = candidates.size
    level, at, left = record.low, np.int64(record.at), np.int64(record.rest)
    if level < floor:
        level, left = floor, d
        if rotate == 0:
            at = 0
    while True:
        while left > 0 and load[np.uint32(candidates[np.uint64(at)])] != level:
            left -= 1
            at += 1
            if at == d:
                at = 0
        if left > 0:
            break
        level = load[np.uint32(candidates[0])]
        for i in range(1, d):
            level = min(level, load[np.uint32(candidates[i])])
        at = np.int64(record.at) if rotate != 0 else 0
        left = d
    record.low, record.at, record.rest = level, at, left
    return np.int64(candidates[np.uint64(at)])


@njit(nogil=True, forceinline=True)
def _is_ready(slot, source, hot):
    """Return whether there is nothing to prepare before a hot key is sent."""
    return hot.records[find_slot(slot, hot.records)].ready == source.own.choices


@njit(nogil=True, forceinline=True)
def _send(key, slot, weight, source, hot):
    """Add a message to a worker of its key: a hot key's slot, whose list is made, or -1."""
    if slot < 0:
        return send_tail(key, weight, source)
    load, own = source.load, source.own
    record = hot.records[find_slot(slot, hot.records)]
    floor = _floor_of(load, own) if own.choices > _FEW else record.low
    begin = hot.entries[np.uint32(record.entry - 1)].place
    end = begin + own.choices
    if load.size <= SHORT:
        worker = _least_candidate(record, load, floor, hot.short[begin:end], own.rotate)
    else:
        worker = _least_candidate(record, load, floor, hot.workers[begin:end], own.rotate)
    load[np.uint64(worker)] += weight
    return worker


@njit(nogil=True, forceinline=False)
def _send_marked(keys, weights, begin, end, stride, source, hot, out):
    """Send messages, a stride apart, and write their workers over what `_mark` has written."""
    own = source.own
    if own.choices >= source.load.size:
        cursor = cursor_of(own)
        for i in range(np.uint64(begin), np.uint64(end), np.uint64(stride)):
            out[i], cursor = send_to_all(keys[i], weight_of(weights, i), out[i] >= 0, source, cursor)
        keep_cursor(own, cursor)
    else:
        for i in range(np.uint64(begin), np.uint64(end), np.uint64(stride)):
            out[i] = _send(keys[i], np.int64(out[i]), weight_of(weights, i), source, hot)


@njit(nogil=True, forceinline=False)
def _mark(keys, weights, begin, end, stride, source, hot, out):
    """Count messages, a stride apart, and write the slots of those of hot keys, else -1.

    Return the first message that needs `prepare`, and the first that is not counted. They are the
    same where none needs it: all are counted, or there is no room for more.
    """
    settings, own, counters, records = source.settings, source.own, source.counters, hot.records
    if settings.full != 0:
        return begin, begin
    # What every message reads or changes stays in registers.
    total, share, until, guard, choices = own.sketch.total, own.share, own.until, settings.guard, own.choices
    mask = np.uint64(records.size - 1)
    wanted, solve = (choices << np.int64(32)) + 1, own.solve
    ready = stop = end
    for i in range(np.uint64(begin), np.uint64(end), np.uint64(stride)):
        weight = weight_of(weights, i)
        total += weight
        if total > until:
            share, until = share_at(total, settings)
        found, count = count_key(keys[i], home_in(out, i, keys[i], stride, counters.table), weight, source)
        slot = max(found, ~found)
        # Whether a key is hot is hard to foresee: no branch depends on it alone.
        now = np.int64(count - (error_at(slot, counters) & guard) >= share)
        out[i] = slot | (now - 1)
        # Nor on its record, which is mostly in the first place that `find_slot` tries.
        other = records[np.uint64(slot) & mask].both ^ (wanted + slot)
        if likely((total < solve) & (found >= 0) & ((other & -now) == 0)):
            continue
        if (
            total >= solve
            or (now != 0 and not _is_ready(slot, source, hot))
            or (found < 0 and records[find_slot(slot, records)].slot != 0)
        ):
            out[i] = found
            ready, stop = np.int64(i), np.int64(i) + stride
            break
        if settings.full != 0:
            ready = stop = np.int64(i) + stride
            break
    own.sketch.total, own.share, own.until = total, share, until
    return ready, stop


@njit(cache=True, nogil=True)
def _route(key, source, weight, load, meta, sketch, hot):
    """Route one message; -1 asks for more room and another call."""
    settings = settings_of(meta)
    number = number_of(source, load, settings)
    one = source_at(number, registers_of(meta).view(SOURCE)[number], load, settings, sketch)
    if lacks_room(weight, one):
        return -1
    settings.messages += 1
    lists, own = lists_of(hot), one.own
    its = hot_of(hot, number, load.shape, lists.records, lists.entries)
    key = np.uint64(key)
    slot, count = count_message(key, weight, one, home_of(key, one.counters.table))
    if slot < 0 or own.sketch.total >= own.solve:
        slot = prepare(key, slot, one, its)
    elif not is_hot(slot, count, one):
        slot = np.int64(-1)
    elif not _is_ready(slot, one, its):
        slot = prepare(key, slot, one, its)
    if own.choices < one.load.size:
        return _send(key, slot, weight, one, its)
    worker, cursor = send_to_all(key, weight, slot >= 0, one, cursor_of(own))
    keep_cursor(own, cursor)
    return worker


@njit(cache=True, nogil=True)
def _route_many(keys, weights, source, load, meta, sketch, hot, out):
    """Route messages; True asks for more room and another call, which goes on from there."""
    # Sources share only the lists, so each one's messages are routed together: its sketch stays in
    # the cache.
    settings, lists = settings_of(meta), lists_of(hot)
    stride = load.shape[0] if source < 0 else 1
    first = number_of(source, load, settings)
    for turn in range(settings.turn, min(stride, keys.size)):
        number = (first + turn) % load.shape[0]
        one = source_at(number, registers_of(meta).view(SOURCE)[number], load, settings, sketch)
        its = hot_of(hot, number, load.shape, lists.records, lists.entries)
        start = max(turn, settings.next)
        if lacks_width(keys.size, weights, start, stride, one):
            settings.turn = turn
            return True
        table, span = one.counters.table, stride * max(1, SPAN // stride)
        for begin in range(start, keys.size, span):
            end = min(begin + span, keys.size)
            write_homes(keys[begin:end], stride, table, out[begin:end])
            # Counting and sending do not touch each other, so two small loops do what one would,
            # faster, up to a message that changes what is known of hot keys.
            sent = counted = begin
            while sent < end:
                ready, counted = _mark(keys, weights, counted, end, stride, one, its, out)
                _send_marked(keys, weights, sent, min(ready, end), stride, one, its, out)
                sent = ready
                if ready < counted:
                    out[ready] = prepare(keys[ready], np.int64(out[ready]), one, its)
                elif settings.full != 0:
                    settings.turn, settings.next = turn, sent
                    return True
        settings.next = 0
    settings.turn = 0
    settings.messages += keys.size
    return False


def first_workers(key: int, seed: int, d: int, workers: int, *, distinct: bool = True) -> np.ndarray:
    """Return the first d workers of a key, int32[d]: all different, or d hashes.

    Examples
    --------
    >>> from streamlb.groupings.d_choices import first_workers
    >>> len(set(first_workers(17, 0, 20, 20).tolist()))
    20
    """
    out = np.empty(d, np.int32)
    h = np.uint64(hash_one(np.uint64(key), np.uint64(seed)))
    list_candidates(h, distinct, workers, 1, np.zeros(workers, np.int32), out)
    return out


@dataclass(frozen=True)
class DChoicesOptions(HeadOptions):
    """Hold the options of D-Choices and check them."""

    _: KW_ONLY
    epsilon: float = 1e-4
    choices: int | None = None
    switch: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.switch and (self.candidates != "distinct" or self.choices is not None):
            raise ValueError(
                "switch must be True unless candidates are distinct and choices is None, got False with "
                f"candidates={self.candidates!r} and choices={self.choices!r}"
            )
        checked(
            self,
            epsilon=_check.real("epsilon", self.epsilon, 0, low_open=True),
            choices=None if self.choices is None else _check.integer("choices", self.choices, 2, MAX_WORKERS),
            switch=_check.flag("switch", self.switch),
        )


@takes(DChoicesOptions)
class DChoices(HeadGrouping):
    """Send hot keys to the least loaded of d workers, others to the less loaded of two (D-Choices).

    d follows from the hot keys' shares: the fewest workers with which they can be balanced within
    epsilon. The balance is nearly that of `WChoices`, and less of each hot key's state is spread
    over the workers.

    Parameters
    ----------
    workers : int
        Number of workers.
    sources : int, default 1
        Number of sources, each with its own loads, sketch and d.
    theta : float, optional
        The share from which a key is hot, in (0, 1); 1 / (5 workers) by default.
    capacity : int, optional
        Counters in each source's sketch: at least 1 / theta; by default twice that, and no fewer
        than 1000.
    guard : bool, default True
        Call a key hot only when it was surely seen often enough, and at least 50 times; False as
        printed in the paper.
    candidates : {"distinct", "independent"}
        Whether a key's workers are all different, or hashed one by one as in the paper, so that
        some coincide.
    ties : {"rotate", "first"}
        Which of equally loaded workers a hot key takes: the next in its source's turn, or the
        first.
    epsilon : float, default 1e-4
        The imbalance, as a share of all messages, that d is solved for: a target, not a guarantee.
    choices : int, optional
        A fixed d, 2 or more, instead of solving for it; `workers` or more means all workers.
    switch : bool, default True
        Give a hot key all workers once the printed d reaches their number, as printed. False, for
        distinct workers only: solve on, so that d has no jump there. It saves memory where a few
        keys have most messages, and the balance is that of D-Choices rather than of W-Choices.
    seed : int, numpy.random.SeedSequence or None, default 0
        The seed of the hash functions and of the sources' turns.

    Examples
    --------
    >>> from streamlb import DChoices, Zipf
    >>> grouping = DChoices(50)
    >>> workers = grouping.route_many(Zipf(10_000, 1.4).draw(100_000, seed=1))
    >>> 17 < grouping.d < 50  # the hottest key has 35% of all messages: more than 17 workers' share
    True
    >>> keys, shares = grouping.head()
    >>> int(keys[0])
    0
    """

    __slots__ = ()
    epsilon: float  # options, as attributes to read
    choices: int | None
    switch: bool
    _arrays = ("load", "meta", "sketch", "hot")
    _Source = SOURCE
    _route = staticmethod(_route)
    _route_many = staticmethod(_route_many)

    def _fresh(self) -> tuple[np.ndarray, ...]:
        load, meta, sketch = super()._fresh()
        _, own = self._records(meta)
        own["rotate"], own["start"] = self.ties == "rotate", own["next"]
        own["choices"] = min(self.choices or 2, self.workers)
        sizes = (FIRST_RECORDS, FIRST_ENTRIES, list_room(2 * self.workers))
        hot = np.zeros(hot_size((self.sources, self.workers), *sizes), np.int64)
        self._note_hot(hot, *sizes)
        return load, meta, sketch, hot

    def _note_hot(self, hot: np.ndarray, records: int, entries: int, room: int) -> None:
        """Write the record LISTS of a `hot` without lists."""
        hot[:HEADER] = 0
        lists = lists_of.py_func(hot)
        lists["epsilon"], lists["fixed"] = self.epsilon, self.choices or self.switch - 1
        lists["records"], lists["entries"], lists["room"] = records, entries, room

    def _hot_sizes(self) -> tuple[int, int, int]:
        """Return the room for records, entries and listed workers."""
        lists = lists_of.py_func(self._state[3])
        return int(lists["records"]), int(lists["entries"]), int(lists["room"])

    def _hot(self, hot: np.ndarray, source: int, records: int, entries: int) -> Hot:
        """Return what is known of a source's hot keys."""
        return hot_of.py_func(hot, source, (self.sources, self.workers), records, entries)

    def _count_listed(self) -> int:
        """Return how many keys are in the order of one source at least."""
        _, own = self._records(self._state[1])
        records, entries, _ = self._hot_sizes()
        keys = []
        for source, hot in enumerate(own["hot"]):
            order = self._hot(self._state[3], source, records, entries).order[:hot]
            keys.append(self._sketch(source).keys[order])
        return np.unique(np.concatenate(keys)).size

    def _make_room(self) -> None:
        """Give the kernels room for sketches, records and lists; lists are made anew."""
        super()._make_room()
        _, own = self._records(self._state[1])
        before, entries, room = self._hot_sizes()
        records = room_for(int(own["records"].max()), before)
        filled, known = (int(lists_of.py_func(self._state[3])[name]) for name in ("filled", "known"))
        if filled + self.workers > room or 2 * (known + 1) > entries:
            wanted = self._count_listed()
            d = int(min(own["choices"].max(), self.workers - 1))
            need = wanted * min(self.workers, max(8, d + d // 16))
            room = max(room, list_room(2 * self.workers + need + need // 8))
            while entries < 4 * wanted:
                entries *= 2
        elif records == before:
            return
        self._enlarge(3, (hot_size((self.sources, self.workers), records, entries, room),))
        self._spread_hot(self._state[3], before, self._state[3], (records, entries, room))

    def _spread_hot(self, old: np.ndarray, before: int, new: np.ndarray, sizes: tuple[int, int, int]) -> None:
        """Write what is known of hot keys, but for the lists, into an array with this room.

        It may be the same array, made larger, which has the room `before` for records: the sources
        move up beginning with the last.
        """
        _, own = self._records(self._state[1])
        records, entries, _ = sizes
        words = block_size(before)
        for source in reversed(range(self.sources)):
            at = HEADER + source * words
            alone = np.concatenate([np.zeros(HEADER, np.int64), old[at : at + words]])
            was = hot_of.py_func(alone, 0, (1, 0), before, 0)
            now, hot = self._hot(new, source, records, entries), int(own["hot"][source])
            now.order[:hot], now.order[hot:], now.history[:] = was.order[:hot], 0, was.history
            now.records.fill(0)
            reenter(np.sort(was.records[was.records["slot"] != 0], order="slot"), now.records)
        new[HEADER + self.sources * block_size(records) :] = 0
        self._note_hot(new, *sizes)

    def _settled(self) -> tuple[np.ndarray, ...]:
        # The lists are left out: in which order they were made depends on how messages were cut
        # into batches.
        load, meta, sketch, old = super()._settled()
        records = room_for(int(self._records(meta)[1]["records"].max()), FIRST_RECORDS)
        sizes = (records, FIRST_ENTRIES, list_room(2 * self.workers))
        hot = np.zeros(hot_size((self.sources, self.workers), *sizes), np.int64)
        self._spread_hot(old, self._hot_sizes()[0], hot, sizes)
        return load, meta, sketch, hot

    @property
    def d_by_source(self) -> np.ndarray:
        """How many workers a hot key may have at each source: int64[sources]."""
        _, own = self._records(self._state[1])
        return own["choices"].copy()

    def d_history(self, source: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return when a source's d changed, by the weight it had sent, and what it became.

        Of more than 512 changes only every second older one is kept.

        Parameters
        ----------
        source : int, default 0
            The source asked.

        Returns
        -------
        sent : int64[c]
        d : int64[c]
        """
        source = _check.integer("source", source, 0, self.sources - 1)
        _, own = self._records(self._state[1])
        records, entries, _ = self._hot_sizes()
        hot = self._hot(self._state[3], source, records, entries)
        history = hot.history[: int(own["changes"][source])]
        return history["sent"].copy(), history["d"].copy()

    def _restore(self, arrays: dict[str, np.ndarray]) -> None:
        hot = arrays.get("hot")
        if hot is not None and hot.dtype == np.int64 and hot.ndim == 1 and hot.size > HEADER:
            lists = lists_of.py_func(hot)
            sizes = [int(lists[name]) for name in ("records", "entries", "room")]
            if min(sizes) > 0 and hot.size == hot_size((self.sources, self.workers), *sizes):
                self._state = (*self._state[:3], hot)
        super()._restore(arrays)
