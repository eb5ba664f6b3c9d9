"""Workers of unequal and changing capacity behind a grouping, in time slots (paper 004, section VI).

Messages arrive evenly within a slot; each worker serves its own first in, first out, one in 1 / capacity slots. At
the end of a slot each worker compares what it was given with its capacity; where the grouping is a
`ConsistentGrouping` it signals busy or idle, and a source hears the signal with its next acknowledgement, that is
when it next sends to that worker.

State beside the grouping's: work float64[workers, 5], when each worker will be free, its time for a message, and for
the current slot the sum and the maximum of latencies and the number of messages; pending float64[sources, workers],
what a source has yet to hear: the signal's sign times its strength, or 0.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import njit
from streamlb.groupings.base import Grouping
from streamlb.groupings.consistent import _POLICY, ConsistentGrouping
from streamlb.groupings.virtual_map import HELD, apply_signal, fresh_book
from streamlb.keys import key_array

_FREE, _SERVICE, _LATENCY, _WORST, _COUNT = range(5)  # places in a row of work
_CHUNK = 1 << 18
_FAINT = 1e-300  # stands for a strength of 0 where 0 means no signal


@njit(cache=True, nogil=True)
def _serve(bins, first, time, gap, slot, policy, load, meta, owner, book, pending, work):
    """Serve messages that arrive every `gap` from `time` on; the first comes from source `first`. Bins become workers."""
    sources = owner.shape[0]
    s = first
    for i in range(bins.size):
        w = owner[s, bins[i]]
        now = time + gap * i
        free = work[w, _FREE]
        done = (free if free > now else now) + work[w, _SERVICE]
        work[w, _FREE] = done
        latency = done - now
        work[w, _LATENCY] += latency
        work[w, _WORST] = max(work[w, _WORST], latency)
        work[w, _COUNT] += 1.0
        load[s, w] += 1
        bins[i] = w
        heard = pending[s, w]
        if heard != 0.0:
            pending[s, w] = 0.0
            sign = 1 if heard > 0.0 else -1
            apply_signal(w, sign, abs(heard), s, slot, policy, owner, book, meta)
        s += 1
        if s == sources:
            s = 0
    meta[0] += bins.size


@dataclass(frozen=True)
class CapacityResult:
    """What each worker went through, slot by slot. Times are in slots.

    Parameters
    ----------
    messages : int64[slots]
        Messages that had arrived by the end of each slot.
    queue : float64[slots, workers]
        Messages waiting at the end of each slot, without the one in service.
    utilisation : float64[slots, workers]
        Messages given to a worker over its capacity.
    latency : float64[slots, workers]
        Mean time from arrival to finish of the messages that arrived in the slot; 0 where none did.
    worst_latency : float64[slots, workers]
        The longest of them.
    shares : int64[slots, workers]
        Virtual workers of each worker at the end of each slot, by source 0's map (ones where there are none).
    moves : int64[slots]
        Virtual workers moved, over all sources.
    workers : int32[m] or None
        The worker of each message, when asked for.
    """

    messages: np.ndarray
    queue: np.ndarray
    utilisation: np.ndarray
    latency: np.ndarray
    worst_latency: np.ndarray
    shares: np.ndarray
    moves: np.ndarray
    workers: np.ndarray | None = None

    @property
    def queue_gap(self) -> np.ndarray:
        """Longest less shortest queue at the end of each slot."""
        return np.ptp(self.queue, axis=1)

    @property
    def latency_gap(self) -> np.ndarray:
        """Highest less lowest mean latency in each slot."""
        return np.ptp(self.latency, axis=1)

    @property
    def imbalance(self) -> np.ndarray:
        """Highest less mean utilisation in each slot."""
        return self.utilisation.max(axis=1) - self.utilisation.mean(axis=1)


def fast_and_slow(workers: int, fast: int, times: float) -> np.ndarray:
    """Return relative capacities of a cluster in which the first `fast` workers are `times` faster than the others.

    Parameters
    ----------
    workers, fast : int
        How many there are, and how many of them are fast.
    times : float
        How much faster these are.

    Examples
    --------
    >>> from streamlb import fast_and_slow
    >>> fast_and_slow(4, 1, 5).tolist()
    [5.0, 1.0, 1.0, 1.0]
    """
    workers = _check.integer("workers", workers, 1)
    fast = _check.integer("fast", fast, 0, workers)
    times = _check.real("times", times, 0, low_open=True)
    return np.where(np.arange(workers) < fast, times, 1.0)


def diurnal(slots: int, depth: float = 0.5) -> np.ndarray:
    """Return relative arrival rates of a day: one wave over the slots, the night `depth` below the mean and the day as much above.

    Parameters
    ----------
    slots : int
        Slots in the day.
    depth : float, default 0.5
        Half the swing, as a part of the mean, in [0, 1).

    Examples
    --------
    >>> from streamlb import diurnal
    >>> diurnal(4, 0.5).round(6).tolist()
    [0.5, 1.0, 1.5, 1.0]
    """
    slots = _check.integer("slots", slots, 1)
    depth = _check.real("depth", depth, 0, 1, high_open=True)
    return 1.0 - depth * np.cos(2.0 * np.pi * np.arange(slots) / slots)


def simulate_capacity(
    stream: Any,
    grouping: Grouping,
    capacities: Any,
    *,
    slots: int = 1440,
    utilisation: float | None = 0.8,
    changes: Sequence[tuple[int, Any]] = (),
    arrivals: Any = None,
    piggyback: bool = True,
    delay: int = 0,
    monitor: str = "utilisation",
    messages: int | None = None,
    seed: Any = 0,
    keep_workers: bool = False,
) -> CapacityResult:
    """Send a stream through a grouping to workers of given capacities and say how long their queues get.

    Parameters
    ----------
    stream : Stream or array_like of keys
        What arrives.
    grouping : Grouping
        Who sends it; it is used as it is and goes on from its state. A `ConsistentGrouping` hears signals, others do
        not.
    capacities : array_like of float
        Of each worker, more than 0: relative if `utilisation` is given, else in messages a slot.
    slots : int, default 1440
        Time slots over which the messages are spread: minutes of a day.
    utilisation : float or None, default 0.8
        Messages over the capacity of all workers together, over the whole run.
    changes : sequence of (int, array_like), optional
        From the message of that number on, the capacities are these.
    arrivals : array_like of float, optional
        Relative rate in each slot; even by default. See `diurnal`.
    piggyback : bool, default True
        A source hears a worker's signal when it next sends to it; else all sources hear it at the end of the slot.
    delay : int, default 0
        Slots by which signals come later still.
    monitor : {"utilisation", "backlog"}, default "utilisation"
        What a worker judges itself by: what it was given over its capacity, as in the paper, or what it was given and
        what was waiting at the slot's start.
    messages : int, optional
        How many of the stream's messages; all by default.
    seed : int or SeedSequence, default 0
        Of the draw from the stream.
    keep_workers : bool, default False
        Keep each message's worker in the result.

    Returns
    -------
    CapacityResult
        Queue, utilisation, latency and virtual workers of each worker in each slot.

    Examples
    --------
    >>> from streamlb import ConsistentGrouping, ShuffleGrouping, Zipf, fast_and_slow, simulate_capacity
    >>> stream, capacities = Zipf(1000, 1.0), fast_and_slow(10, 3, 5)
    >>> shuffled = simulate_capacity(stream, ShuffleGrouping(10), capacities, messages=100_000, slots=200)
    >>> consistent = simulate_capacity(stream, ConsistentGrouping(10, virtual=20), capacities, messages=100_000, slots=200)
    >>> bool(consistent.queue[-1].max() < shuffled.queue[-1].max() / 10)
    True
    """
    run = _Run(stream, grouping, capacities, slots, utilisation, changes, arrivals, messages, seed)
    _check.choice("monitor", monitor, ("utilisation", "backlog"))
    delay = _check.integer("delay", delay, 0)
    return run.result(bool(piggyback), delay, monitor == "backlog", keep_workers)


class _Run:
    """One simulation: checked arguments, then a loop over slots."""

    def __init__(self, stream, grouping, capacities, slots, utilisation, changes, arrivals, messages, seed):
        if not isinstance(grouping, Grouping):
            raise TypeError(f"grouping must be a grouping of streamlb, got {type(grouping).__name__}")
        self.slots = _check.integer("slots", slots, 1)
        self._take_stream(stream, messages, seed)
        self.grouping = grouping
        self.workers = grouping.workers
        self.ends = self._slot_ends(arrivals)
        total = None
        if utilisation is not None:
            total = self.messages / self.slots / _check.real("utilisation", utilisation, 0, low_open=True)
        self.capacity = self._rates("capacities", capacities, total)
        self.changes = []
        for at, values in changes:
            at = _check.integer("changes", at, 0)
            self.changes.append((at, self._rates("changes", values, total)))
        self.changes.sort(key=lambda change: change[0])

    def _take_stream(self, stream, messages, seed):
        if hasattr(stream, "draw"):
            count = stream.messages if messages is None else messages
            if count is None:
                raise ValueError("messages must be given for a stream without an end, got None")
            self.messages = _check.integer("messages", count, 1)
            self.draw = lambda start, stop: stream.draw(stop - start, seed, start)
        else:
            keys = key_array(stream)
            if not keys.size:
                raise ValueError("stream must have at least one message, got none")
            self.messages = _check.integer("messages", keys.size if messages is None else messages, 1, keys.size)
            self.draw = lambda start, stop: keys[start:stop]

    def _slot_ends(self, arrivals):
        if arrivals is None:
            rates = np.ones(self.slots)
        else:
            rates = _check.real_array("arrivals", arrivals)
            if rates.size != self.slots or rates.sum() <= 0:
                raise ValueError(
                    f"arrivals must be a rate for each of {self.slots} slots, not all 0, got {rates.size} of them"
                )
        return np.rint(np.cumsum(rates) / rates.sum() * self.messages).astype(np.int64)

    def _rates(self, name, values, total):
        rates = _check.real_array(name, values)
        if rates.size != self.workers:
            raise ValueError(f"{name} must be one for each of the {self.workers} workers, got {rates.size}")
        if rates.min() <= 0:
            at = int(np.argmin(rates))
            raise ValueError(f"{name} must be more than 0, got {rates[at]:g} for worker {at}")
        return rates if total is None else rates * (total / rates.sum())

    def result(self, piggyback: bool, delay: int, backlog: bool, keep_workers: bool) -> CapacityResult:
        """Run all slots."""
        g, n = self.grouping, self.workers
        self.signals = isinstance(g, ConsistentGrouping)
        if self.signals:
            load, meta, owner, book, _ = g._state
        else:  # a map of everyone to himself, which hears nothing
            load, meta = np.zeros((1, n), np.int64), np.zeros(5, np.int64)
            owner, book = np.arange(n, dtype=np.int64)[None, :].copy(), fresh_book(1, n, 1)
        self.state = load, meta, owner, book, np.zeros(load.shape)
        self.work = np.zeros((n, 5))
        self.work[:, _SERVICE] = 1.0 / self.capacity
        waiting: deque[tuple[np.ndarray, np.ndarray]] = deque()
        columns = {name: np.zeros((self.slots, n)) for name in ("queue", "utilisation", "latency", "worst_latency")}
        shares, moves = np.zeros((self.slots, n), np.int64), np.zeros(self.slots, np.int64)
        kept: list[np.ndarray] = []
        chunk, chunk_start, start = np.empty(0, np.int32), 0, 0
        moved = g.moves if self.signals else 0
        for slot, end in enumerate(self.ends.tolist()):
            if end > chunk_start + chunk.size:
                # What is left of the last chunk, then whole new ones, at least up to the end of the slot.
                rest = chunk[start - chunk_start :]
                drawn = chunk_start + chunk.size
                stop = min(self.messages, max(end, drawn + _CHUNK))
                chunk = np.concatenate([rest, self._bins(drawn, stop)])
                chunk_start = start
            before = np.maximum(0.0, self.work[:, _FREE] - slot) * self.capacity
            self._serve_slot(slot, start, chunk[start - chunk_start : end - chunk_start])
            work = self.work
            count = work[:, _COUNT]
            columns["utilisation"][slot] = count / self.capacity
            # Whole messages behind the one in service; the small number takes up rounding.
            left = (work[:, _FREE] - (slot + 1)) * self.capacity
            columns["queue"][slot] = np.maximum(0.0, np.ceil(left - 1e-6) - 1.0)
            columns["latency"][slot] = work[:, _LATENCY] / np.maximum(1.0, count)
            columns["worst_latency"][slot] = work[:, _WORST]
            if keep_workers:
                kept.append(chunk[start - chunk_start : end - chunk_start].copy())
            if self.signals:
                self._signal((count + before if backlog else count) / self.capacity, waiting, piggyback, delay)
                moves[slot], moved = g.moves - moved, g.moves
            shares[slot] = book[0, :, HELD]
            work[:, _LATENCY:] = 0.0
            start = end
        workers = np.concatenate(kept) if keep_workers else None
        return CapacityResult(self.ends, shares=shares, moves=moves, workers=workers, **columns)

    def _bins(self, start, stop):
        """Return the virtual workers (or the workers, where there are none) of some messages."""
        inner = self.grouping._inner if self.signals else self.grouping
        return inner.route_many(self.draw(start, stop))

    def _serve_slot(self, slot, start, bins):
        """Serve one slot's messages, in parts where capacities change between them."""
        load, meta, owner, book, pending = self.state
        policy = _POLICY[self.grouping.policy] if self.signals else 0
        word_slot = self.grouping._slot_now() if self.signals else 0
        gap = 1.0 / max(1, bins.size)
        done = 0
        while True:
            changes = self.changes and self.changes[0][0] < start + bins.size
            upto = max(done, self.changes[0][0] - start) if changes else bins.size
            first = int(meta[0]) % load.shape[0]
            part = bins[done:upto]
            _serve(
                part,
                first,
                slot + gap * (done + 0.5),
                gap,
                word_slot,
                policy,
                load,
                meta,
                owner,
                book,
                pending,
                self.work,
            )
            done = upto
            if not changes:
                return
            self._change(slot + gap * done, self.changes.pop(0)[1])

    def _change(self, now, capacity):
        """Give the workers other capacities: what waits takes as much longer or shorter."""
        left = np.maximum(0.0, self.work[:, _FREE] - now)
        self.work[:, _FREE] = now + left * self.capacity / capacity
        self.work[:, _SERVICE] = 1.0 / capacity
        self.capacity = capacity

    def _signal(self, utilisation, waiting, piggyback, delay):
        """End a slot of the grouping: post the signals that are due to the sources."""
        g, pending = self.grouping, self.state[4]
        waiting.append(g._words(utilisation))
        if len(waiting) <= delay:
            g.next_slot()
            return
        signs, strengths = waiting.popleft()
        if not piggyback:
            g._hear(signs, strengths)
        g.next_slot()
        if piggyback:
            # A newer word takes the place of one that a source has not heard yet.
            said = signs != 0
            pending[:, said] = (signs * np.maximum(strengths, _FAINT))[said]
