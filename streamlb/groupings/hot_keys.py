"""What D-Choices knows of hot keys: its layout, its size, and all that changes it, which is rare.

A message comes here only where its key turns hot, needs a longer list of workers or takes the
counter of a key that was hot, and where d is due to be solved for again: see `prepare`. All other
messages only read what is here, in `d_choices`.

State: hot int64: a record LISTS, then for each source records RECORD[room] of its hot counters,
order int32[room], the hot counters with the largest first, and history CHANGE[512]; then, for all
sources together, entries ENTRY[room], an index of keys whose workers are listed, stamps
int32[workers] and shares float64[room], both scratch, and workers[room], the lists themselves, in
16 bits for each worker where that is enough and else in 32. A key's list does not depend on the
source, so that all sources share it.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from streamlb._jit import njit, record
from streamlb.groupings.head import is_hot, second_choice
from streamlb.groupings.solve_d import fewest_choices
from streamlb.hashing import candidate, first_candidate, key_hash, mix
from streamlb.sketches.space_saving import count_at, find_slot

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
RECORD = np.dtype(
    (
        np.record,
        {
            "low": ("i8", 0),
            "slot": ("i4", 8),  # the counter's slot + 1; 0: no record
            "ready": ("i4", 12),  # 0: not in `order`; else the d that it is ready for, or 1
            "entry": ("i4", 16),  # the place of its list's entry + 1; 0: it has none
            "d": ("i4", 20),  # the d with which it was last used, 0 before
            "at": ("i4", 24),  # the place in the list of the worker that it took last
            "rest": ("i4", 28),  # how many places from `at` on may still have the load `low`
            "both": ("i8", 8),  # `slot` and `ready` as one number: slot + 2**32 ready
        },
    )
)
# A key's list of workers, found by the key's hash; length 0: no entry.
ENTRY = record([("key", "u8"), ("place", "i8"), ("length", "i8")])
# The weight that a source had sent when d changed, and what it became.
CHANGE = record([("sent", "i8"), ("d", "i8")])

# What a kernel knows of hot keys: LISTS, the three parts of one source, and the four parts that all
# share. `short` and `workers` are the lists as uint16 and as int32, only one of which they are.
Hot = namedtuple("Hot", ["lists", "records", "order", "history", "entries", "stamps", "shares", "short", "workers"])

HISTORY = 512
SHORT = 2**16  # up to so many workers are listed in 16 bits each
FIRST_RECORDS = 256
FIRST_ENTRIES = 64
HEADER, _RECORD, _ENTRY, _CHANGE = (dtype.itemsize // 8 for dtype in (LISTS, RECORD, ENTRY, CHANGE))


@njit(nogil=True, inline="always")
def hot_of(hot, number, shape, records, entries):
    """Return what is known of a source's hot keys; `shape` is that of load."""
    half = records // 2
    block = records * _RECORD + half + HISTORY * _CHANGE
    at = HEADER + number * block
    order = at + records * _RECORD
    shared = HEADER + shape[0] * block
    stamps = shared + entries * _ENTRY
    shares = stamps + (shape[1] + 1) // 2
    return Hot(
        hot[:HEADER].view(LISTS)[0],
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
    return hot[:HEADER].view(LISTS)[0]


@njit(cache=True, nogil=True)
def reenter(held, records):
    """Enter records that are in use into an empty part; their lists are gone."""
    for i in range(held.size):
        place = find_slot(np.int64(held[i].slot) - 1, records)
        records[place] = held[i]
        records[place].entry = 0
        records[place].ready = min(1, records[place].ready)


@njit(cache=True, nogil=True, forceinline=False)
def _forget(place, own, hot):
    """Take out a record, moving later ones back so that no search breaks."""
    records, order = hot.records, hot.order
    slot = np.int64(records[place].slot) - 1
    if records[place].ready != 0:
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
    records[hole].slot = records[hole].ready = 0


@njit(cache=True, nogil=True)
def _note(choices, own, history):
    """Write down that d has changed; when the room is used up, every second entry goes."""
    if own.changes == HISTORY:
        for i in range(HISTORY // 2):
            history[i] = history[2 * i]
        own.changes = HISTORY // 2
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
            hot.records[find_slot(slot, hot.records)].ready = 0
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
    record.ready = 1
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
        if workers <= SHORT:
            out = hot.short[entry.place : lists.filled]
            list_candidates(h, distinct, workers, lists.stamp, hot.stamps, out)
        else:
            long = hot.workers[entry.place : lists.filled]
            list_candidates(h, distinct, workers, lists.stamp, hot.stamps, long)
        if lists.filled + workers > lists.room or 2 * (lists.known + 1) > hot.entries.size:
            source.settings.full = 1
    record.entry = at + np.uint64(1)


@njit(nogil=True, forceinline=False)
def prepare(key, slot, source, hot):
    """Do what a message that has been counted changes beside; return its slot, or -1: not hot.

    It may have taken the counter of a key that was hot, d may be due to be solved for again, and
    its key may be hot for the first time, or for the first time with this d.
    """
    own, records = source.own, hot.records
    if slot < 0:
        slot = ~slot
        place = find_slot(slot, records)
        if records[place].slot != 0:
            _forget(place, own, hot)
    if own.sketch.total >= own.solve:
        _solve(source, hot)
    if not is_hot(slot, count_at(slot, source.counters), source):
        return np.int64(-1)
    place = find_slot(slot, records)
    if records[place].ready == 0:
        _enlist(slot, place, source, hot)
    record, d = records[place], own.choices
    if d < source.load.size and record.ready != d:
        if record.entry == 0 or hot.entries[np.uint32(record.entry - 1)].length < d:
            _list_workers(key, place, source, hot)
        if record.d != d:
            if record.d == 0:
                record.at = own.start
            if record.at >= d:
                record.at %= d
            record.d, record.rest, record.low = d, 0, -1
    record.ready = d
    return slot


def room_for(records: int, least: int) -> int:
    """Return the room for so many records of a source and one more: a quarter stays free."""
    while 4 * (records + 1) > 3 * least:
        least *= 2
    return least


def block_size(records: int) -> int:
    """Return how many words of `hot` belong to each source, see `hot_of`."""
    return records * _RECORD + records // 2 + HISTORY * _CHANGE


def hot_size(shape: tuple[int, int], records: int, entries: int, room: int) -> int:
    """Return how many words `hot` takes; `shape` is that of load."""
    sources, workers = shape
    lists = room // (4 if workers <= SHORT else 2)
    return HEADER + sources * block_size(records) + entries * _ENTRY + (workers + 1) // 2 + records + lists


def list_room(workers: int) -> int:
    """Return the room for so many listed workers, which fills whole words of `hot`."""
    return (workers + 3) // 4 * 4
