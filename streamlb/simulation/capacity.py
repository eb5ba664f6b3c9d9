"""Workers of unequal and changing capacity behind a grouping, in time slots.

From Nasir et al. 2017, section VI. Messages arrive evenly within a slot; each worker serves its own
first in, first out, one in 1 / capacity slots. At the end of a slot each worker compares what it
was given with its capacity; where the grouping is a `ConsistentGrouping` it signals busy or idle,
and a source hears the signal with its next acknowledgement, that is when it next sends to that
worker.

State beside the grouping's: service SERVICE[workers], and mail SIGNAL[sources, workers], the
signals that each source has yet to hear.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import njit, record
from streamlb._options import bind, checked, shows, signature_of
from streamlb.groupings.base import SHARED, Grouping, shared_of, source_of
from streamlb.groupings.consistent import ConsistentGrouping, send
from streamlb.groupings.virtual_map import (
    FCFS,
    apply_signal,
    fresh_maps,
    map_of,
    source_records,
    virtual_of,
    worker_records,
)
from streamlb.keys import keys_of

# A worker: when it will be free, how long it takes for a message, and of the messages that arrived
# in the current slot the sum and the maximum of their latencies and their number.
SERVICE = record([("free", "f8"), ("time", "f8"), ("latency", "f8"), ("worst", "f8"), ("count", "i8")])
# What a worker says (IDLE, BUSY, or 0 for nothing) and how strongly, as `apply_signal` takes them.
SIGNAL = record([("sign", "i8"), ("strength", "f8")])
# Messages in a row: when the first one arrives, the time from one to the next, and the grouping's
# slot.
ARRIVALS = record([("time", "f8"), ("gap", "f8"), ("slot", "i8")])

_CHUNK = 1 << 18


@njit(cache=True, nogil=True)
def _serve(arrivals, bins, load, meta, owners, book, mail, service):
    """Serve messages as `arrivals` says; the virtual workers in `bins` become workers.

    The records of `arrivals`, `mail` and `service` come as words of 64 bits: flat arrays are
    quicker to hand over.
    """
    first, mail, service = arrivals.view(ARRIVALS)[0], mail.view(SIGNAL), service.view(SERVICE)
    time, gap, slot = first.time, first.gap, first.slot
    virtual, s = virtual_of(owners), source_of(-1, load, meta)
    shared_of(meta).messages += bins.size
    for i in range(bins.size):
        worker = send(np.uint32(bins[i]), 1, s, load, virtual)
        bins[i] = worker
        now = time + gap * i
        own = service[worker]
        free = own.free
        done = (free if free > now else now) + own.time
        own.free = done
        latency = done - now
        own.latency += latency
        own.worst = max(own.worst, latency)
        own.count += 1
        heard = mail[s, worker]
        if heard.sign != 0:
            apply_signal(np.int64(worker), heard.sign, heard.strength, slot, map_of(s, owners, book))
            heard.sign = 0
        s += 1
        if s == load.shape[0]:
            s = 0


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
        Virtual workers of each worker at the end of each slot, by source 0's map (ones where there
        are none).
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
    """Return relative capacities of a cluster whose first `fast` workers are `times` faster.

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
    workers = _check.integer("workers", workers, 1, _check.LENGTH)
    fast = _check.integer("fast", fast, 0, workers)
    times = _check.real("times", times, 0, low_open=True)
    return np.where(np.arange(workers) < fast, times, 1.0)


def diurnal(slots: int, depth: float = 0.5) -> np.ndarray:
    """Return relative arrival rates of a day: one wave over the slots.

    The night is `depth` below the mean and the day as much above.

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
    slots = _check.integer("slots", slots, 1, _check.LENGTH)
    depth = _check.real("depth", depth, 0, 1, high_open=True)
    return 1.0 - depth * np.cos(2.0 * np.pi * np.arange(slots) / slots)


@dataclass(frozen=True, eq=False)
class CapacityOptions:
    """Hold the arguments of `simulate_capacity`, which documents them, and check each by itself."""

    stream: Any
    grouping: Grouping
    capacities: Any
    _: KW_ONLY
    slots: int = 1440
    utilisation: float | None = 0.8
    changes: Any = ()
    arrivals: Any = None
    piggyback: bool = True
    delay: int = 0
    monitor: str = "utilisation"
    queue_capacity: int = 1024
    messages: int | None = None
    keep_workers: bool = False
    seed: Any = 0

    def __post_init__(self) -> None:
        if not isinstance(self.grouping, Grouping):
            raise TypeError(f"grouping must be a grouping of streamlb, got {type(self.grouping).__name__}")
        checked(
            self,
            slots=_check.integer("slots", self.slots, 1, 2**31 - 1),
            utilisation=None
            if self.utilisation is None
            else _check.real("utilisation", self.utilisation, 0, low_open=True),
            piggyback=_check.flag("piggyback", self.piggyback),
            delay=_check.integer("delay", self.delay, 0),
            monitor=_check.choice("monitor", self.monitor, ("utilisation", "backlog", "queue")),
            queue_capacity=_check.integer("queue_capacity", self.queue_capacity, 1),
            changes=_check.pairs("changes", self.changes, "a message's number and the capacities from there on"),
            seed=_check.seed_value(self.seed),
            keep_workers=_check.flag("keep_workers", self.keep_workers),
        )


@shows(signature_of(CapacityOptions))
def simulate_capacity(*args: Any, **kwargs: Any) -> CapacityResult:
    """Send a stream through a grouping to workers of given capacities, and watch their queues.

    Parameters
    ----------
    stream : Stream or array_like of keys
        What arrives.
    grouping : Grouping
        Who sends it; it is used as it is and goes on from its state. A `ConsistentGrouping` hears
        signals, others do not.
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
        A source hears a worker's signal when it next sends to it; else all sources hear it at the
        end of the slot.
    delay : int, default 0
        Slots by which signals come later still.
    monitor : {"utilisation", "backlog", "queue"}, default "utilisation"
        What a worker judges itself by: what it was given over its capacity, as in the paper's
        simulations; what it was given and what was waiting at the slot's start, over its capacity;
        or, as the paper suggests for real clusters, its queue at the slot's end over
        `queue_capacity`.
    queue_capacity : int, default 1024
        For "queue": the length at which a queue counts as full. Queues have no end all the same.
        The default is that of Storm 1.0.
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
    >>> from streamlb import ConsistentGrouping, ShuffleGrouping, Zipf
    >>> from streamlb import fast_and_slow, simulate_capacity
    >>> keys, capacities = Zipf(1000, 1.0).draw(100_000), fast_and_slow(10, 3, 5)
    >>> consistent = ConsistentGrouping(10, virtual=20)
    >>> shuffled = simulate_capacity(keys, ShuffleGrouping(10), capacities, slots=200)
    >>> balanced = simulate_capacity(keys, consistent, capacities, slots=200)
    >>> bool(balanced.queue[-1].max() < shuffled.queue[-1].max() / 10)
    True
    """
    return _Run(bind("simulate_capacity", CapacityOptions, args, kwargs)).result()


class _Run:
    """One simulation: what the arguments say together, then a loop over slots."""

    def __init__(self, options: CapacityOptions):
        self.options, self.slots, self.grouping = options, options.slots, options.grouping
        self.workers = self.grouping.workers
        self.messages, self.draw = _messages_of(options)
        self.ends = self._slot_ends(options.arrivals)
        total = None if options.utilisation is None else self.messages / self.slots / options.utilisation
        self.capacity = self._rates("capacities", options.capacities, total)
        self.changes = []
        for at, values in options.changes:
            at = _check.integer("changes", at, 0)
            self.changes.append((at, self._rates("changes", values, total)))
        self.changes.sort(key=lambda change: change[0])
        self.service = np.zeros(self.workers, SERVICE)
        self.service["time"] = 1.0 / self.capacity
        self.signals = isinstance(self.grouping, ConsistentGrouping)
        if isinstance(self.grouping, ConsistentGrouping):
            self.router, self.state = self.grouping._inner, self.grouping._state[:4]
        else:  # a map of every worker to itself, which hears nothing
            load, meta = np.zeros((1, self.workers), np.int64), np.zeros(SHARED.itemsize // 8, np.int64)
            self.router, self.state = self.grouping, (load, meta, *fresh_maps(1, self.workers, 1, FCFS))
        self.arrivals, self.mail = np.zeros(1, ARRIVALS), np.zeros(self.state[0].shape, SIGNAL)
        # All of this as the kernel takes it.
        self.words = [*self.state, self.mail.view(np.int64), self.service.view(np.int64)]
        # The signals that the delay holds back.
        self.waiting: deque[tuple[np.ndarray, np.ndarray]] = deque()

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

    def result(self) -> CapacityResult:
        """Run all slots."""
        n, service, book = self.workers, self.service, self.state[3]
        free, latency, worst, count = (service[name] for name in ("free", "latency", "worst", "count"))
        held, all_moves = worker_records(book, n)["held"][0], source_records(book)["moves"]
        columns = {name: np.zeros((self.slots, n)) for name in ("queue", "utilisation", "latency", "worst_latency")}
        shares, moves = np.zeros((self.slots, n), np.int64), np.zeros(self.slots, np.int64)
        kept: list[np.ndarray] = []
        chunk, chunk_start, start, moved = np.empty(0, np.int32), 0, 0, all_moves.sum()
        for slot, end in enumerate(self.ends.tolist()):
            if end > chunk_start + chunk.size:
                # What is left of the last chunk, then whole new ones, at least up to the end of the
                # slot.
                rest = chunk[start - chunk_start :]
                drawn = chunk_start + chunk.size
                stop = min(self.messages, max(end, drawn + _CHUNK))
                chunk = np.concatenate([rest, self.router.route_many(self.draw(drawn, stop))])
                chunk_start = start
            backlog = np.maximum(0.0, free - slot) * self.capacity
            bins = chunk[start - chunk_start : end - chunk_start]
            self._serve_slot(slot, start, bins)
            columns["utilisation"][slot] = count / self.capacity
            # Whole messages behind the one in service; the small number takes up rounding.
            left = (free - (slot + 1)) * self.capacity
            columns["queue"][slot] = np.maximum(0.0, np.ceil(left - 1e-6) - 1.0)
            columns["latency"][slot] = latency / np.maximum(1, count)
            columns["worst_latency"][slot] = worst
            if self.options.keep_workers:
                kept.append(bins.copy())
            if self.signals:
                self._signal(self._monitored(count, backlog, columns["queue"][slot]))
                moves[slot], moved = all_moves.sum() - moved, all_moves.sum()
            shares[slot] = held
            latency[:], worst[:], count[:] = 0.0, 0.0, 0
            start = end
        workers = np.concatenate(kept) if self.options.keep_workers else None
        return CapacityResult(self.ends, shares=shares, moves=moves, workers=workers, **columns)

    def _monitored(self, count, backlog, queue):
        """Return by what the workers judge themselves at the end of a slot."""
        if self.options.monitor == "queue":
            return queue / self.options.queue_capacity
        return (count + backlog if self.options.monitor == "backlog" else count) / self.capacity

    def _serve_slot(self, slot, start, bins):
        """Serve one slot's messages, in parts where capacities change between them."""
        arrivals, gap = self.arrivals.view(np.int64), 1.0 / max(1, bins.size)
        slot_of_signals = self.grouping._slot_now() if self.signals else 0
        done = 0
        while True:
            changes = self.changes and self.changes[0][0] < start + bins.size
            upto = max(done, self.changes[0][0] - start) if changes else bins.size
            self.arrivals[0] = (slot + gap * (done + 0.5), gap, slot_of_signals)
            _serve(arrivals, bins[done:upto], *self.words)
            done = upto
            if not changes:
                return
            self._change(slot + gap * done, self.changes.pop(0)[1])

    def _change(self, now, capacity):
        """Give the workers other capacities: what waits takes as much longer or shorter."""
        left = np.maximum(0.0, self.service["free"] - now)
        self.service["free"] = now + left * self.capacity / capacity
        self.service["time"] = 1.0 / capacity
        self.capacity = capacity

    def _signal(self, utilisation):
        """End a slot of the grouping: post the signals that are due to the sources."""
        g = self.grouping
        self.waiting.append(g._judge(utilisation))
        if len(self.waiting) <= self.options.delay:
            g.next_slot()
            return
        signs, strengths = self.waiting.popleft()
        if not self.options.piggyback:
            g._hear(signs, strengths)
        g.next_slot()
        if self.options.piggyback:
            # A newer signal takes the place of one that a source has not heard yet.
            said = signs != 0
            self.mail["sign"][:, said] = signs[said]
            self.mail["strength"][:, said] = strengths[said]


def _messages_of(options: CapacityOptions) -> tuple[int, Callable[[int, int], np.ndarray]]:
    """Return the number of messages, and what gives their keys from one number to another."""
    stream, messages = options.stream, options.messages
    if hasattr(stream, "draw"):
        count = stream.messages if messages is None else messages
        if count is None:
            raise ValueError("messages must be given for a stream without an end, got None")
        return _check.integer("messages", count, 1), lambda start, stop: stream.draw(stop - start, options.seed, start)
    keys = keys_of("stream", stream)
    if not keys.size:
        raise ValueError("stream must have at least one message, got none")
    count = _check.integer("messages", keys.size if messages is None else messages, 1, keys.size)
    return count, lambda start, stop: keys[start:stop]
