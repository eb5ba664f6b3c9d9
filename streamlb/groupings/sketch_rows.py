"""The sketches of sources, each in its row of an array: their layout, and the rows' growth.

Rows are all of one size: room for so many counters, whose counts take 32 bits, for an index and for
HIGH records, which hold what counts have beyond 32 bits.
"""

from __future__ import annotations

import numpy as np

from streamlb._jit import njit
from streamlb.sketches.space_saving import HIGH, Counters, find_slot, index_keys, table_size

_HIGH = HIGH.itemsize // 8
_FIRST_HIGH = 256  # records for counts of 2**32 or more, once there may be any


@njit(nogil=True, inline="always")
def sketch_of(row, room, table, high, registers):
    """Return a source's sketch: views of its row, and its REGISTERS record."""
    half = (room + 1) // 2
    keys = row[:room].view(np.uint64)
    counts = row[room : room + half].view(np.uint32)
    errors = row[room + half : room + 2 * half].view(np.uint32)
    end = room + 2 * half + table // 2
    index = row[room + 2 * half : end].view(np.int32)
    return Counters(keys, counts, errors, row[end : end + high * _HIGH].view(HIGH), index, registers)


def row_size(room: int, high: int) -> int:
    """Return how many words one source takes in `sketch`."""
    return room + 2 * ((room + 1) // 2) + table_size(room) // 2 + high * _HIGH


def high_size(total: int, capacity: int) -> int:
    """Return how many HIGH records a sketch needs when its source has sent so much.

    A sketch's counts add up to the total, so that no more than total / 2**32 of them can be large.
    """
    size = 0
    while total >= high_limit(size, capacity):
        size = max(2 * size, _FIRST_HIGH)
    return size


def high_limit(high: int, capacity: int) -> int:
    """Return below which total so many HIGH records are enough, half of them left free."""
    return 2**63 - 1 if high >= 2 * capacity else (high // 2 + 1) << 32


def move_sketch(old: Counters, new: Counters) -> None:
    """Copy a sketch into an empty one with more room."""
    used = int(old.own["used"])
    new.keys[:used], new.counts[:used], new.errors[:used] = old.keys[:used], old.counts[:used], old.errors[:used]
    new.table[:] = -1
    index_keys(new.keys, new.table, used)
    enter_high(old.high, new.high)


def enter_high(held: np.ndarray, high: np.ndarray) -> None:
    """Enter HIGH records into an empty part, in the order of their slots."""
    for one in np.sort(held[held["slot"] != 0], order="slot"):
        high[find_slot.py_func(int(one["slot"]) - 1, high)] = one
