"""What the three groupings share that treat hot keys apart: sketches, the test, the tail.

A source counts its keys in a SpaceSaving sketch. A key is hot, part of the head, while its count is
at least theta times all that the source has sent (Nasir et al. 2016, section III-A); all other
keys, the tail, choose between two workers as in partial key grouping.

State: load int64[sources, workers]; meta int64: SETTINGS, then for each source a record whose
fields begin with HEAD; sketch int64[sources, words], in each row one source's sketch. Rows start
with room for few counters and grow, up to `capacity` counters, as a source sees more keys. Counts
take 32 bits, and what has more lies apart.

A kernel that lacks room returns before it touches the message in question (`_route` gives -1,
`_route_many` True); `_make_room` then makes the arrays larger, and the same call goes on where it
stopped.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from streamlb import _check
from streamlb._jit import njit, record
from streamlb._options import takes
from streamlb.groupings.base import SHARED, Grouping, send_to_lesser, weight_of
from streamlb.groupings.head_options import HeadOptions
from streamlb.groupings.sketch_rows import enter_high, high_limit, high_size, move_sketch, row_size, sketch_of
from streamlb.hashing import BLOCK, Family, derive, family_of, first_candidate, key_hash, second_candidate
from streamlb.ratios import ceil_share, fraction_of, terms_of
from streamlb.sketches.space_saving import (
    REGISTERS,
    Counters,
    error_at,
    home_of,
    offer,
    table_size,
)

# What all sources share; SHARED is the beginning of it.
SETTINGS = record(
    [
        *SHARED.descr,
        ("add", "u8"),  # the hash family of the seed, see `hashing.Family`
        ("times", "u8"),
        ("over", "i8"),  # theta is over / under, exactly
        ("under", "i8"),
        ("theta", "f8"),
        ("floor", "i8"),  # a key seen less often is never hot
        ("guard", "i8"),  # -1 (all bits): what a count may have inherited does not count; or 0
        ("distinct", "i8"),  # 1: the workers of a key are all different
        ("capacity", "i8"),  # the most counters of a sketch
        ("room", "i8"),  # the counters for which a row of `sketch` has room now
        ("table", "i8"),  # the size of a sketch's index
        ("high", "i8"),  # the records of a sketch for counts of 2**32 or more
        ("limit", "i8"),  # these are enough while a source has sent less
        ("full", "i8"),  # 1: the next message may need more room
        # What a source will have sent when it needs more of these records, or 0.
        ("overflow", "i8"),
        # Where an interrupted batch goes on: at which source, counted from its first one, and with
        # which message.
        ("turn", "i8"),
        ("next", "i8"),
    ]
)
# The first registers of each source: those of its sketch, the count from which a key is hot, and
# the largest total for which that count is right.
HEAD = [("sketch", REGISTERS), ("share", "i8"), ("until", "i8")]
# The registers of a source that finds its least loaded worker, see `to_least`.
CURSOR = [
    ("rotate", "i8"),  # 1: of equally loaded workers the next in turn, not the first
    ("least", "i8"),
    ("next", "i8"),
    ("end", "i8"),
    ("wrap", "i8"),
]
_SOURCES = SETTINGS.itemsize // 8  # where in meta the sources' registers begin

# One source inside a kernel: its load, SETTINGS, the hash family, its registers `own`, its sketch.
Source = namedtuple("Source", ["load", "settings", "family", "own", "counters"])

# A cursor over the workers that have the least load, see `to_least`.
Cursor = namedtuple("Cursor", ["next", "end", "wrap", "least"])

# How many messages of a source are counted before they are sent; what lies between stays in the
# cache.
SPAN = 8 * BLOCK
_GUARD = 50  # with the guard a key is not called hot before it was seen this often
_FIRST_ROOM = 1024  # counters of a sketch that has seen nothing, if its capacity is larger


@njit(nogil=True, inline="always")
def settings_of(meta):
    """Return the record SETTINGS in meta, a view."""
    return meta[:_SOURCES].view(SETTINGS)[0]


@njit(nogil=True, inline="always")
def number_of(source, load, settings):
    """Return the source of the next message, as `source_of` does."""
    return source if source >= 0 else settings.messages % load.shape[0]


@njit(nogil=True, inline="always")
def source_at(number, own, load, settings, sketch):
    """Return a source, given its number and its registers."""
    counters = sketch_of(sketch[number], settings.room, settings.table, settings.high, own.sketch)
    return Source(load[number], settings, Family(settings.add, settings.times), own, counters)


@njit(nogil=True, inline="always")
def registers_of(meta):
    """Return the part of meta that holds the sources' registers, a view."""
    return meta[_SOURCES:]


# The kernels below take registers of more than one type, so they are compiled into their callers
# and not cached.
@njit(nogil=True, forceinline=False)
def share_at(total, settings):
    """Return from which count a key is hot at this total, and up to which total that holds."""
    share = ceil_share(total, settings.over, settings.under, settings.theta)
    # The share stays the same until theta * total passes it. A part in 2**40 less than what the
    # float says is safe.
    spare = share / settings.theta * (1.0 - 2.0**-40) - total
    return max(share, settings.floor), total + max(0, np.int64(spare))


@njit(nogil=True, forceinline=True)
def lacks_room(weight, source):
    """Return whether there may be no room for one more message of this weight."""
    settings = source.settings
    total = source.own.sketch.total + weight
    if total >= settings.limit:
        settings.overflow = total
    return settings.full + settings.overflow != 0


@njit(nogil=True, forceinline=False)
def lacks_width(size, weights, first, stride, source):
    """Return whether these messages of a source, a stride apart, may make too many counts large."""
    total, limit = source.own.sketch.total, source.settings.limit
    if weights.size == 0:
        total += (size - first + stride - 1) // stride
    else:
        for i in range(first, size, stride):
            total += weights[i]
            if total >= limit:
                break
    if total >= limit:
        source.settings.overflow = total
    return total >= limit


@njit(cache=True, nogil=True)
def write_homes(keys, stride, table, out):
    """Write each key's home in a sketch's index, which the vector units do, if the stride is 1."""
    if stride == 1:
        for i in range(np.uint64(keys.size)):
            out[i] = home_of(keys[i], table)


@njit(nogil=True, forceinline=True)
def home_in(homes, i, key, stride, table):
    """Return message i's home, which `write_homes` has written if the stride is 1."""
    return np.uint64(np.uint32(homes[i])) if stride == 1 else home_of(key, table)


@njit(nogil=True, forceinline=True)
def count_key(key, home, weight, source):
    """Count a message, but not in the total; ask for room where it took the last free counter."""
    settings, counters = source.settings, source.counters
    slot, count = offer(key, home, weight, counters)
    if slot < 0 and counters.own.used == settings.room and settings.room < settings.capacity:
        settings.full = 1
    return slot, count


@njit(nogil=True, forceinline=True)
def count_message(key, weight, source, home):
    """Count a message in its source's sketch; return what `offer` does."""
    own = source.own
    own.sketch.total += weight
    if own.sketch.total > own.until:
        own.share, own.until = share_at(own.sketch.total, source.settings)
    return count_key(key, home, weight, source)


@njit(nogil=True, forceinline=True)
def is_hot(slot, count, source):
    """Return whether a key is hot now: its count, with the guard less its possible error, tells."""
    return count - (error_at(slot, source.counters) & source.settings.guard) >= source.own.share


@njit(nogil=True, forceinline=False)
def mark_hot(keys, weights, begin, end, stride, source, out):
    """Count messages, a stride apart, and write 1 for those of hot keys, else 0.

    Return where it stopped for want of room, or `end`.
    """
    settings, own = source.settings, source.own
    if settings.full != 0:
        return begin
    write_homes(keys[begin:end], stride, source.counters.table, out[begin:end])
    # What every message reads or changes stays in registers.
    total, share, until, guard = own.sketch.total, own.share, own.until, settings.guard
    stop = end
    for i in range(np.uint64(begin), np.uint64(end), np.uint64(stride)):
        weight = weight_of(weights, i)
        total += weight
        if total > until:
            share, until = share_at(total, settings)
        slot, count = count_key(keys[i], home_in(out, i, keys[i], stride, source.counters.table), weight, source)
        out[i] = count - (error_at(max(slot, ~slot), source.counters) & guard) >= share
        if slot < 0 and settings.full != 0:
            stop = min(np.int64(i) + stride, end)
            break
    own.sketch.total, own.share, own.until = total, share, until
    return stop


@njit(cache=True, nogil=True, forceinline=True)
def second_choice(h, first, n):
    """Return the second of a key's two distinct workers: one of the n - 1 others than the first."""
    second = first + 1 + second_candidate(h, n - 1)
    return second - n if second >= n else second


@njit(nogil=True, forceinline=True)
def send_tail(key, weight, source):
    """Add a message to the less loaded of its key's two workers and return that worker."""
    load = source.load
    h, n = key_hash(key, source.family), load.size
    first = first_candidate(h, n)
    second = second_choice(h, first, n) if source.settings.distinct != 0 else second_candidate(h, n)
    return send_to_lesser(first, second, weight, load)


@njit(cache=True, nogil=True, forceinline=False)
def least_load(load):
    """Return the least load of all workers."""
    least = load[0]
    for worker in range(np.uint64(load.size)):
        least = min(least, load[worker])
    return least


@njit(nogil=True, forceinline=True)
def cursor_of(own):
    """Return the cursor in a source's registers."""
    return Cursor(own.next, own.end, own.wrap, own.least)


@njit(nogil=True, forceinline=True)
def keep_cursor(own, cursor):
    """Write a cursor into a source's registers."""
    own.next, own.end, own.wrap, own.least = cursor


@njit(cache=True, nogil=True, forceinline=True)
def to_least(load, rotate, cursor):
    """Move a cursor to the least loaded worker; of several to the first, or in turn to the next.

    Loads only grow, so no worker comes back to the least load once it has left it. The cursor walks
    over the workers that stand at that load, first up to `end`, then over the workers before
    `wrap`, and only then are all loads read again.
    """
    at, end, wrap, level = cursor
    while True:
        while at < end:
            if load[np.uint64(at)] == level:
                return Cursor(at, end, wrap, level)
            at += 1
        if wrap > 0:
            at, end, wrap = 0, wrap, 0
        else:
            at = cursor.next if rotate != 0 else 0
            end, wrap, level = load.size, at, least_load(load)


@njit(nogil=True, forceinline=True)
def send_to_all(key, weight, hot, source, cursor):
    """Add a message of a key that may go to any worker if hot; return worker and cursor."""
    if not hot:
        return send_tail(key, weight, source), cursor
    cursor = to_least(source.load, source.own.rotate, cursor)
    source.load[np.uint64(cursor.next)] = cursor.least + weight
    return cursor.next, cursor


@takes(HeadOptions)
class HeadGrouping(Grouping):
    """Base of the groupings that treat hot keys apart.

    Parameters
    ----------
    workers, sources, seed
        As for every grouping.
    theta : float, optional
        The share from which a key is hot, in (0, 1); 1 / (5 workers) by default.
    capacity : int, optional
        Counters in each source's sketch: at least 1 / theta; by default twice that, and no fewer
        than 1000.
    guard : bool, default True
        Call a key hot only when it was surely seen often enough, and at least 50 times. False: as
        printed in the paper, which takes every key for hot while few messages were seen.
    candidates : {"distinct", "independent"}
        Whether a key's workers are all different, or hashed one by one as in the paper, so that
        some coincide.
    ties : {"rotate", "first"}
        Which of equally loaded workers a hot key takes: the next in turn, each source in a turn of
        its own, or the first.
    """

    __slots__ = ()
    theta: float  # options, as attributes to read
    capacity: int
    guard: bool
    candidates: str
    ties: str
    # 2: seeds are spread before they meet a key. 3: sketches that grow, with counts of 32 bits.
    # 4: what counts have beyond 32 bits lies apart, and sources carry only what they use.
    _version = 4
    _arrays: tuple[str, ...] = ("load", "meta", "sketch")
    _Source: np.dtype  # the registers of each source, beginning with HEAD

    def _fresh(self) -> tuple[np.ndarray, ...]:
        meta = self._fresh_meta(_SOURCES + self._Source.itemsize // 8 * self.sources)
        settings, own = self._records(meta)
        settings["add"], settings["times"] = family_of(np.uint64(self.seed))
        settings["over"], settings["under"], settings["theta"] = terms_of(fraction_of(self.theta))
        settings["floor"] = _GUARD if self.guard else 1
        settings["guard"] = -self.guard
        settings["distinct"] = self.candidates == "distinct"
        settings["capacity"] = self.capacity
        own["sketch"]["level"], own["sketch"]["cursor"] = -1, self.capacity
        own["share"] = settings["floor"]
        own["next"] = self._starts()
        sketch = np.zeros((self.sources, self._note_sizes(settings, min(self.capacity, _FIRST_ROOM), 0)), np.int64)
        for source in range(self.sources):
            self._sketch_in(sketch[source], settings, own[source]).table[:] = -1
        return np.zeros((self.sources, self.workers), np.int64), meta, sketch

    def _starts(self) -> np.ndarray:
        """Return where each source's turn begins."""
        if self.ties == "first":
            return np.zeros(self.sources, np.int64)
        return (derive(self.seed, self.sources) % np.uint64(self.workers)).astype(np.int64)

    def _records(self, meta: np.ndarray) -> tuple[np.void, np.ndarray]:
        """Return the record SETTINGS and the sources' registers, views of meta."""
        return settings_of.py_func(meta), registers_of.py_func(meta).view(self._Source)

    def _note_sizes(self, settings: np.void, room: int, high: int) -> int:
        """Note in the settings the sizes of all sketches; return how many words each takes."""
        settings["room"], settings["table"] = room, table_size(room)
        settings["high"], settings["limit"] = high, high_limit(high, self.capacity)
        return row_size(room, high)

    def _sketch_in(self, row: np.ndarray, settings: np.void, own: np.void) -> Counters:
        """Return the sketch in a row, by the sizes in the settings and a source's registers."""
        return sketch_of.py_func(row, *(int(settings[name]) for name in ("room", "table", "high")), own["sketch"])

    def _sketch(self, source: int) -> Counters:
        """Return a source's sketch."""
        settings, own = self._records(self._state[1])
        return self._sketch_in(self._state[2][source], settings, own[source])

    def _make_room(self) -> None:
        """Give the kernels the room that they have asked for."""
        settings, own = self._records(self._state[1])
        room, high = int(settings["room"]), int(settings["high"])
        if own["sketch"]["used"].max() == room < self.capacity:
            room = 4 * room if 8 * room < self.capacity else self.capacity
        high = max(high, high_size(int(settings["overflow"]), self.capacity))
        if (room, high) != (settings["room"], settings["high"]):
            self._enlarge(2, (self.sources, row_size(room, high)))
            self._spread_sketches(room, high)
        settings["full"] = settings["overflow"] = 0

    def _spread_sketches(self, room: int, high: int) -> None:
        """Move each source's sketch to its row in the enlarged array, beginning with the last."""
        settings, own = self._records(self._state[1])
        words = row_size(int(settings["room"]), int(settings["high"]))
        rows = self._state[2].reshape(-1)
        for source in reversed(range(self.sources)):
            old = self._sketch_in(rows[source * words : (source + 1) * words].copy(), settings, own[source])
            row = self._state[2][source]
            row[:] = 0
            sizes = np.zeros(1, SETTINGS)[0]
            self._note_sizes(sizes, room, high)
            move_sketch(old, self._sketch_in(row, sizes, own[source]))
        self._note_sizes(settings, room, high)

    def _settled(self) -> tuple[np.ndarray, ...]:
        settings, _ = self._records(self._state[1])
        if settings["full"]:
            self._make_room()
        if settings["high"]:  # where these records lie depends on the order in which they came
            for source in range(self.sources):
                high = self._sketch(source).high
                held = high.copy()
                high[:] = 0
                enter_high(held, high)
        return self._state

    def _batch(self, keys: np.ndarray, weights: np.ndarray, source: int, out: np.ndarray) -> None:
        try:
            while self._route_many(keys, weights, source, *self._state, out):
                self._make_room()
        finally:  # as it is already, unless there was no memory for more room
            settings, _ = self._records(self._state[1])
            settings["turn"] = settings["next"] = 0

    def _restore(self, arrays: dict[str, np.ndarray]) -> None:
        meta = arrays.get("meta")
        if meta is not None and meta.dtype == np.int64 and meta.shape == self._state[1].shape:
            settings, _ = self._records(meta)
            room, high = int(settings["room"]), int(settings["high"])
            sizes = np.zeros(1, SETTINGS)[0]
            if 0 < room <= self.capacity and high == high_size(high_limit(high, self.capacity) - 1, self.capacity):
                row = self._note_sizes(sizes, room, high)
                if all(settings[name] == sizes[name] for name in ("table", "limit")):
                    shape = np.broadcast_to(np.int64(0), (self.sources, row))  # takes no memory
                    self._state = (*self._state[:2], shape, *self._state[3:])
        super()._restore(arrays)

    @property
    def d(self) -> int:
        """How many workers a hot key may have at present; the most over all sources."""
        return int(self.d_by_source.max())

    @property
    def d_by_source(self) -> np.ndarray:
        """How many workers a hot key may have at each source: int64[sources]."""
        return np.full(self.sources, self.workers)

    def d_history(self, source: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return when a source's d changed and what it became: never, unless d is solved for.

        Parameters
        ----------
        source : int, default 0
            The source asked.

        Returns
        -------
        sent : int64[c]
        d : int64[c]
        """
        _check.integer("source", source, 0, self.sources - 1)
        return np.empty(0, np.int64), np.empty(0, np.int64)

    def head(self, source: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the hot keys and their estimated shares, largest first.

        Parameters
        ----------
        source : int, optional
            The source asked; by default all of them: every key hot at one source at least, and its
            share of what all sources have counted.

        Returns
        -------
        keys : uint64[h]
        shares : float64[h]
        """
        wanted = range(self.sources) if source is None else [_check.integer("source", source, 0, self.sources - 1)]
        parts = [self._counters(one) for one in wanted]
        total = sum(part[3] for part in parts)
        hot = np.unique(np.concatenate([keys[hot] for keys, _, hot, _ in parts]))
        counts = np.zeros(hot.size, np.int64)
        for keys, count, _, _ in parts:
            place = np.searchsorted(hot, keys)
            found = (place < hot.size) & (hot[np.minimum(place, hot.size - 1)] == keys) if hot.size else place < 0
            np.add.at(counts, place[found], count[found])
        order = np.lexsort((hot, -counts))
        return hot[order], counts[order] / max(total, 1)

    def _counters(self, source: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        """Return a source's keys, their counts, which are hot, and the weight of all messages."""
        settings, _ = self._records(self._state[1])
        sketch = self._sketch(source)
        used, total = int(sketch.own["used"]), int(sketch.own["total"])
        counts, errors = sketch.counts[:used].astype(np.int64), sketch.errors[:used].astype(np.int64)
        high = sketch.high[sketch.high["slot"] != 0]
        counts[high["slot"] - 1] += high["count"].astype(np.int64) << 32
        errors[high["slot"] - 1] += high["error"].astype(np.int64) << 32
        share = ceil_share(total, int(settings["over"]), int(settings["under"]), float(settings["theta"]))
        hot = counts - errors * self.guard >= max(share, int(settings["floor"]))
        return sketch.keys[:used], counts, hot, total
