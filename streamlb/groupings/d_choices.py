"""D-Choices: hot keys go to the least loaded of d workers, others to the less loaded of two.

d is as small as it may be for the load to be balanced (Nasir et al. 2016, sections III and IV-A;
see `solve_d`).

A message passes four files: `base` checks it, `_step` here decides, `head` knows what is hot and
sends the tail, and `sketches.space_saving` counts. What they call beside are functions of numbers
without any state, in `hashing`, `ratios` and `solve_d`.

State: load, meta and sketch as in `head`; hot int64, what is known of hot keys: a record LISTS,
then for each source records RECORD[room] of its hot counters, order int32[room], the hot counters
with the largest first, and history CHANGE[512]; then, for all sources together, entries
ENTRY[room], an index of keys whose workers are listed, stamps int32[workers] and shares
float64[room], both scratch, and workers[room], the lists themselves, in 16 bits for each worker
where that is enough and else in 32. A key's list does not depend on the source, so that all sources
share it.
"""

from __future__ import annotations

from collections import namedtuple
from dataclasses import KW_ONLY, dataclass

import numpy as np

from streamlb import _check
from streamlb._jit import njit, record
from streamlb._options import checked, takes
from streamlb.groupings.base import MAX_WORKERS, weight_of
from streamlb.groupings.head import (
    CURSOR,
    HEAD,
    HeadGrouping,
    HeadOptions,
    count_message,
    cursor_of,
    is_hot,
    keep_cursor,
    lacks_room,
    lacks_width,
    least_load,
    number_of,
    registers_of,
    second_choice,
    send_tail,
    settings_of,
    source_at,
    to_least,
    write_homes,
)
from streamlb.groupings.solve_d import fewest_choices
from streamlb.hashing import BLOCK, candidate, first_candidate, hash_one, key_hash, mix
from streamlb.sketches.space_saving import count_at, find_slot, home_of

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
# What all sources share.
LISTS = record(
    [
        ("epsilon", "f8"),
        ("fixed", "i8"),  # a d that was given; 0: solved for; -1: the same without the switch
        ("records", "i8"),  # the room for records of each source, a power of two
        ("entries", "i8"),  # the room for entries, a power of two
        ("room", "i8"),  # the room for listed workers, a multiple of four
        ("known", "i8"),  # how many keys have a list
        ("filled", "i8"),  # how much of the room for listed workers is used
        ("stamp", "i8"),  # the last one given
    ]
)
# A counter whose key is hot or was, since it got the counter. Records are found by `find_slot`.
RECORD = record(
    [
        ("low", "i8"),
        ("slot", "i4"),  # the counter's slot + 1; 0: no record
        ("listed", "i4"),  # 1: in `order`
        ("entry", "i4"),  # the place of its list's entry + 1; 0: it has none
        ("d", "i4"),  # the d with which it was last used, 0 before
        ("at", "i4"),  # the place in the list of the worker that it took last
        ("rest", "i4"),  # how many places from `at` on may still have the load `low`
    ]
)
# A key's list of workers, found by the key's hash; length 0: no entry.
ENTRY = record([("key", "u8"), ("place", "i8"), ("length", "i8")])
# The weight that a source had sent when d changed, and what it became.
CHANGE = record([("sent", "i8"), ("d", "i8")])

# What a kernel knows of hot keys: LISTS, the three parts of one source, and the four parts that all
# share. `short` and `workers` are the lists as uint16 and as int32, only one of which they are.
Hot = namedtuple("Hot", ["lists", "records", "order", "history", "entries", "stamps", "shares", "short", "workers"])

_HISTORY = 512
_SHORT = 2**16  # up to so many workers are listed in 16 bits each
_FIRST_RECORDS = 256
_FIRST_ENTRIES = 64
_HEADER, _RECORD, _ENTRY, _CHANGE = (dtype.itemsize // 8 for dtype in (LISTS, RECORD, ENTRY, CHANGE))


@njit(nogil=True, inline="always")
def hot_of(hot, number, shape, records, entries):
    """Return what is known of a source's hot keys; `shape` is that of load."""
    half = records // 2
    block = records * _RECORD + half + _HISTORY * _CHANGE
    at = _HEADER + number * block
    order = at + records * _RECORD
    shared = _HEADER + shape[0] * block
    stamps = shared + entries * _ENTRY
    shares = stamps + (shape[1] + 1) // 2
    return Hot(
        hot[:_HEADER].view(LISTS)[0],
        hot[at:order].view(RECORD),
        hot[order : order + half].view(np.int32),
        hot[order + half : at + block].view(CHANGE),
        hot[shared:stamps].view(ENTRY),
        hot[stamps:shares].view(np.int32),
        hot[shares : shares + records].view(np.float64),
        hot[shares + records :].view(np.uint16),
        hot[shares + records :].view(np.int32),
    )


@njit(nogil=True, inline="always")
def lists_of(hot):
    """Return the record LISTS, a view."""
    return hot[:_HEADER].view(LISTS)[0]


@njit(cache=True, nogil=True)
def _reenter(held, records):
    """Enter records that are in use into an empty part; their lists are gone."""
    for i in range(held.size):
        place = find_slot(np.int64(held[i].slot) - 1, records)
        records[place] = held[i]
        records[place].entry = 0


@njit(cache=True, nogil=True, forceinline=False)
def _forget(place, own, hot):
    """Take out a record, moving later ones back so that no search breaks."""
    records, order = hot.records, hot.order
    slot = np.int64(records[place].slot) - 1
    if records[place].listed != 0:
        at = 0
        while order[at] != slot:
            at += 1
        own.hot -= 1
        for i in range(at, own.hot):
            order[i] = order[i + 1]
    own.records -= 1
    mask = np.uint64(records.size - 1)
    hole = place
    while True:
        place = (place + np.uint64(1)) & mask
        if records[place].slot == 0:
            break
        # The record may fill the hole unless its first place lies behind the hole.
        if ((place - np.uint64(records[place].slot - 1)) & mask) >= ((place - hole) & mask):
            records[hole] = records[place]
            hole = place
    records[hole].slot = 0


@njit(cache=True, nogil=True)
def _note(choices, own, history):
    """Write down that d has changed; when the room is used up, every second entry goes."""
    if own.changes == _HISTORY:
        for i in range(_HISTORY // 2):
            history[i] = history[2 * i]
        own.changes = _HISTORY // 2
    history[own.changes].sent = own.sketch.total
    history[own.changes].d = choices
    own.changes += 1


@njit(cache=True, nogil=True, forceinline=False)
def _solve(source, hot):
    """Set d by the keys that are hot now, and drop from `order` those that are not any more."""
    own, counters, order, shares = source.own, source.counters, hot.order, hot.shares
    total, workers = own.sketch.total, source.load.size
    found = 0
    for i in range(own.hot):
        slot = np.int64(order[i])
        count = count_at(slot, counters)
        if not is_hot(slot, count, source):
            hot.records[find_slot(slot, hot.records)].listed = 0
            continue
        at = found  # insertion: the list stays in order but for a few neighbours
        while at > 0 and count_at(order[at - 1], counters) < count:
            order[at] = order[at - 1]
            at -= 1
        order[at] = slot
        found += 1
    own.hot = found
    for i in range(found):
        shares[i] = count_at(order[i], counters) / total
    if hot.lists.fixed > 0:
        choices = min(hot.lists.fixed, workers)
    else:
        distinct, switch = source.settings.distinct != 0, hot.lists.fixed == 0
        choices = fewest_choices(shares[:found], workers, hot.lists.epsilon, distinct, switch)
    if choices != own.choices:
        _note(choices, own, hot.history)
        own.choices = choices
    own.solve = total + 1 + total // 100


@njit(cache=True, nogil=True, forceinline=False)
def _enlist(slot, place, source, hot):
    """Put a counter whose key has become hot on the list of hot keys, and solve for d again."""
    own, record = source.own, hot.records[place]
    if record.slot == 0:
        record.slot = slot + 1
        record.entry, record.d, record.at, record.rest, record.low = 0, 0, 0, 0, -1
        own.records += 1
        if 4 * (own.records + 1) > 3 * hot.records.size:
            source.settings.full = 1
    record.listed = 1
    hot.order[own.hot] = slot
    own.hot += 1
    _solve(source, hot)


@njit(nogil=True)  # compiled for lists of either width, so not cached itself
def list_candidates(h, distinct, workers, stamp, stamps, out):
    """Write the first out.size workers of a key with hash `h`.

    Distinct ones are the family's in order, without those that came before; `stamps` are below
    `stamp` at first.
    """
    if not distinct:
        for i in range(out.size):
            out[i] = candidate(h, i, workers)
        return
    out[0] = first_candidate(h, workers)
    stamps[out[0]] = stamp
    if out.size > 1:
        out[1] = second_choice(h, np.int64(out[0]), workers)
        stamps[out[1]] = stamp
    found, draw = 2, 2
    while found < out.size:
        worker = candidate(h, draw, workers)
        draw += 1
        if stamps[worker] != stamp:
            stamps[worker] = stamp
            out[found] = worker
            found += 1


@njit(cache=True, nogil=True, forceinline=False)
def _list_workers(key, place, source, hot):
    """Find or make the list of a hot key's workers, at least d of them; there is room for it."""
    lists, record, choices, workers = hot.lists, hot.records[place], source.own.choices, source.load.size
    mask = np.uint64(hot.entries.size - 1)
    at = mix(key) & mask
    while hot.entries[at].length != 0 and hot.entries[at].key != key:
        at = (at + np.uint64(1)) & mask
    entry = hot.entries[at]
    if entry.length < choices:
        if entry.length == 0:
            entry.key = key
            lists.known += 1
        if lists.stamp == 2**31 - 1:
            hot.stamps[:] = 0
            lists.stamp = 0
        lists.stamp += 1
        entry.place = lists.filled
        entry.length = min(workers, max(8, choices + choices // 16))
        lists.filled += entry.length
        h, distinct = key_hash(key, source.family), source.settings.distinct != 0
        if workers <= _SHORT:
            out = hot.short[entry.place : lists.filled]
            list_candidates(h, distinct, workers, lists.stamp, hot.stamps, out)
        else:
            long = hot.workers[entry.place : lists.filled]
            list_candidates(h, distinct, workers, lists.stamp, hot.stamps, long)
        if lists.filled + workers > lists.room or 2 * (lists.known + 1) > hot.entries.size:
            source.settings.full = 1
    record.entry = at + np.uint64(1)


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
def _hot_worker(key, place, source, hot):
    """Return a hot key's worker."""
    load, own = source.load, source.own
    d = own.choices
    if d >= load.size:
        cursor = to_least(load, own.rotate, cursor_of(own))
        keep_cursor(own, cursor)
        return cursor.next
    record = hot.records[place]
    if record.entry == 0 or hot.entries[np.uint32(record.entry - 1)].length < d:
        _list_workers(key, place, source, hot)
    begin = hot.entries[np.uint32(record.entry - 1)].place
    if record.d != d:
        if record.d == 0:
            record.at = own.start
        if record.at >= d:
            record.at %= d
        record.d, record.rest, record.low = d, 0, -1
    floor = _floor_of(load, own)
    if load.size <= _SHORT:
        return _least_candidate(record, load, floor, hot.short[begin : begin + d], own.rotate)
    return _least_candidate(record, load, floor, hot.workers[begin : begin + d], own.rotate)


@njit(nogil=True, forceinline=True)
def _step(key, home, weight, source, hot):
    own = source.own
    slot, count = count_message(key, weight, source, home)
    if slot < 0:
        slot = ~slot
        place = find_slot(slot, hot.records)
        if hot.records[place].slot != 0:
            _forget(place, own, hot)
    if own.sketch.total >= own.solve:
        _solve(source, hot)
    if not is_hot(slot, count, source):
        return send_tail(key, weight, source)
    place = find_slot(slot, hot.records)
    if hot.records[place].slot == 0 or hot.records[place].listed == 0:
        _enlist(slot, place, source, hot)
    worker = _hot_worker(key, place, source, hot)
    source.load[np.uint64(worker)] += weight
    return worker


@njit(cache=True, nogil=True)
def _route(key, source, weight, load, meta, sketch, hot):
    """Route one message; -1 asks for more room and another call."""
    settings = settings_of(meta)
    number = number_of(source, load, settings)
    one = source_at(number, registers_of(meta).view(SOURCE)[number], load, settings, sketch)
    if lacks_room(weight, one):
        return -1
    settings.messages += 1
    lists = lists_of(hot)
    key = np.uint64(key)
    return _step(
        key,
        home_of(key, one.counters.table),
        weight,
        one,
        hot_of(hot, number, load.shape, lists.records, lists.entries),
    )


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
        table, span = one.counters.table, BLOCK * stride
        for begin in range(start, keys.size, span):
            end = min(begin + span, keys.size)
            write_homes(keys[begin:end], stride, table, out[begin:end])
            for i in range(np.uint64(begin), np.uint64(end), np.uint64(stride)):
                if settings.full != 0:
                    settings.turn, settings.next = turn, np.int64(i)
                    return True
                out[i] = _step(keys[i], np.uint64(np.uint32(out[i])), weight_of(weights, i), one, its)
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
        sizes = (_FIRST_RECORDS, _FIRST_ENTRIES, _list_room(2 * self.workers))
        hot = np.zeros(self._hot_size(*sizes), np.int64)
        self._note_hot(hot, *sizes)
        return load, meta, sketch, hot

    def _note_hot(self, hot: np.ndarray, records: int, entries: int, room: int) -> None:
        """Write the record LISTS of a `hot` without lists."""
        hot[:_HEADER] = 0
        lists = lists_of.py_func(hot)
        lists["epsilon"], lists["fixed"] = self.epsilon, self.choices or self.switch - 1
        lists["records"], lists["entries"], lists["room"] = records, entries, room

    def _hot_size(self, records: int, entries: int, room: int) -> int:
        """Return how many words `hot` takes."""
        lists = room // (4 if self.workers <= _SHORT else 2)
        shared = entries * _ENTRY + (self.workers + 1) // 2 + records + lists
        return _HEADER + self.sources * _block_size(records) + shared

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
        records = _room_for(int(own["records"].max()), before)
        filled, known = (int(lists_of.py_func(self._state[3])[name]) for name in ("filled", "known"))
        if filled + self.workers > room or 2 * (known + 1) > entries:
            wanted = self._count_listed()
            d = int(min(own["choices"].max(), self.workers - 1))
            need = wanted * min(self.workers, max(8, d + d // 16))
            room = max(room, _list_room(2 * self.workers + need + need // 8))
            while entries < 4 * wanted:
                entries *= 2
        elif records == before:
            return
        self._enlarge(3, (self._hot_size(records, entries, room),))
        self._spread_hot(self._state[3], before, self._state[3], (records, entries, room))

    def _spread_hot(self, old: np.ndarray, before: int, new: np.ndarray, sizes: tuple[int, int, int]) -> None:
        """Write what is known of hot keys, but for the lists, into an array with this room.

        It may be the same array, made larger, which has the room `before` for records: the sources
        move up beginning with the last.
        """
        _, own = self._records(self._state[1])
        records, entries, _ = sizes
        words = _block_size(before)
        for source in reversed(range(self.sources)):
            at = _HEADER + source * words
            alone = np.concatenate([np.zeros(_HEADER, np.int64), old[at : at + words]])
            was = hot_of.py_func(alone, 0, (1, 0), before, 0)
            now, hot = self._hot(new, source, records, entries), int(own["hot"][source])
            now.order[:hot], now.order[hot:], now.history[:] = was.order[:hot], 0, was.history
            now.records.fill(0)
            _reenter(np.sort(was.records[was.records["slot"] != 0], order="slot"), now.records)
        new[_HEADER + self.sources * _block_size(records) :] = 0
        self._note_hot(new, *sizes)

    def _settled(self) -> tuple[np.ndarray, ...]:
        # The lists are left out: in which order they were made depends on how messages were cut
        # into batches.
        load, meta, sketch, old = super()._settled()
        records = _room_for(int(self._records(meta)[1]["records"].max()), _FIRST_RECORDS)
        sizes = (records, _FIRST_ENTRIES, _list_room(2 * self.workers))
        hot = np.zeros(self._hot_size(*sizes), np.int64)
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
        if hot is not None and hot.dtype == np.int64 and hot.ndim == 1 and hot.size > _HEADER:
            lists = lists_of.py_func(hot)
            sizes = [int(lists[name]) for name in ("records", "entries", "room")]
            if min(sizes) > 0 and hot.size == self._hot_size(*sizes):
                self._state = (*self._state[:3], hot)
        super()._restore(arrays)


def _room_for(records: int, least: int) -> int:
    """Return the room for so many records of a source and one more: a quarter stays free."""
    while 4 * (records + 1) > 3 * least:
        least *= 2
    return least


def _block_size(records: int) -> int:
    """Return how many words of `hot` belong to each source, see `hot_of`."""
    return records * _RECORD + records // 2 + _HISTORY * _CHANGE


def _list_room(workers: int) -> int:
    """Return the room for so many listed workers, which fills whole words of `hot`."""
    return (workers + 3) // 4 * 4
