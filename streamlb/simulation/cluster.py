"""A small cluster: sources send keyed messages over a network to workers with queues.

This is the experiment of Nasir et al. 2016, section V, question Q4. In a closed loop a source has
at most `in_flight` messages that were not yet acknowledged, like Storm's max.spout.pending. In an
open loop messages come at a rate. Queues are first come, first served, and every message takes the
same time over the network, so a message's service can be placed as soon as it is sent: the only
events are "a source may send" and "an acknowledgement is back".
"""

from __future__ import annotations

from collections import namedtuple
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import njit, record
from streamlb._options import bind, checked, shows, signature_of
from streamlb.groupings.base import Grouping
from streamlb.keys import keys_of
from streamlb.rng import uniforms
from streamlb.streams import Stream

# An event: when it happens, how many events were entered before it (which breaks ties), its source,
# and whether it is an acknowledgement that is back (1) or a message that may be sent (0).
EVENT = record([("time", "f8"), ("order", "i8"), ("source", "i8"), ("is_back", "i8")])
# How many events the heap holds, and how many were ever entered.
COUNTS = record([("held", "i8"), ("entered", "i8")])
# A source: the number of its next message, its messages in flight, and whether it waits (1) for one
# of them to come back before it may send again.
SOURCE = record([("next", "i8"), ("in_flight", "i8"), ("waits", "i8")])

# events EVENT[size], a binary heap with the earliest event first; counts COUNTS[1].
Heap = namedtuple("Heap", ["events", "counts"])
# worker int32[m], service float64[m] and ready float64[m] are given; ready is empty where messages
# are always ready. sent float64[m] and done float64[m] are filled in.
Messages = namedtuple("Messages", ["worker", "service", "ready", "sent", "done"])


@njit(cache=True, nogil=True, forceinline=True)
def _push(time, source, is_back, heap):
    """Enter an event."""
    events, counts = heap.events, heap.counts[0]
    at = counts.held
    while at > 0 and time < events[(at - 1) // 2].time:  # the newest event comes last among equals
        events[at] = events[(at - 1) // 2]
        at = (at - 1) // 2
    event = events[at]
    event.time, event.order, event.source, event.is_back = time, counts.entered, source, is_back
    counts.held += 1
    counts.entered += 1


@njit(cache=True, nogil=True, forceinline=True)
def _pop(heap):
    """Take out the first event; return its time, its source and its `is_back`."""
    events, counts = heap.events, heap.counts[0]
    first = events[0]
    time, source, is_back = first.time, first.source, first.is_back
    counts.held -= 1
    size = counts.held
    last = events[size]
    last_time, last_order = last.time, last.order
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        child_time = events[child].time
        if child + 1 < size:
            other = events[child + 1]
            if other.time < child_time or (other.time == child_time and other.order < events[child].order):
                child += 1
                child_time = other.time
        if not (child_time < last_time or (child_time == last_time and events[child].order < last_order)):
            break
        events[at] = events[child]
        at = child
    events[at] = last
    return time, source, is_back


@njit(cache=True, nogil=True, forceinline=True)
def _serve(i, now, network, messages, free):
    """Send message i now, to the slot of its worker that is free first."""
    slots = free[messages.worker[i]]
    slot = 0
    for other in range(1, slots.size):
        if slots[other] < slots[slot]:
            slot = other
    messages.sent[i] = now
    messages.done[i] = max(now + network, slots[slot]) + messages.service[i]
    slots[slot] = messages.done[i]


@njit(cache=True, nogil=True)
def _simulate(messages, network, limit, heap, sources, free):
    """Send every message; message i is of source i mod sources.

    `limit` is the most messages a source may have in flight, 0 for no limit. `sources` is
    SOURCE[sources]; `free` is float64[workers, slots], when each slot of a worker is free again.
    """
    ready = messages.ready
    m = messages.worker.size
    for number in range(min(sources.size, m)):
        sources[number].next = number
        _push(ready[number] if ready.size > 0 else 0.0, number, 0, heap)
    while heap.counts[0].held > 0:
        now, number, is_back = _pop(heap)
        source = sources[number]
        if is_back == 1:
            source.in_flight -= 1
            if source.waits == 0:
                continue
            source.waits = 0
        else:
            i = source.next
            _serve(i, now, network, messages, free)
            source.next += sources.size
            source.in_flight += 1
            if limit > 0:
                _push(messages.done[i] + network, number, 1, heap)
        if source.next >= m:
            continue
        if limit > 0 and source.in_flight >= limit:
            source.waits = 1
        else:
            _push(max(now, ready[source.next]) if ready.size > 0 else now, number, 0, heap)


@dataclass(frozen=True, eq=False)
class ClusterOptions:
    """Hold the arguments of `simulate_cluster`, which documents them, and check them."""

    stream: Any
    grouping: Any
    _: KW_ONLY
    messages: int | None = None
    service_time: Any = 1.0
    service: str = "constant"
    slots: int = 1
    network: float = 0.5
    in_flight: int | None = None
    rate: float | None = None
    arrivals: str = "poisson"
    seed: Any = 0

    def __post_init__(self):
        if not isinstance(self.grouping, Grouping):
            raise TypeError(f"grouping must be one of streamlb's groupings, got {type(self.grouping).__name__}")
        messages = None if self.messages is None else _check.integer("messages", self.messages, 0, _check.MOST)
        if not isinstance(self.stream, Stream):
            checked(self, stream=keys_of("stream", self.stream))
            if messages is not None:
                raise ValueError(f"messages must be None where the keys themselves are given, got {messages}")
        elif messages is None and self.stream.messages is None:
            raise ValueError("messages must be given for a stream without an end, got None")
        if self.service_time is None or isinstance(self.service_time, (Real, str)):
            service_time = _check.real("service_time", self.service_time, 0, low_open=True)
        else:
            service_time = _check.real_array("service_time", self.service_time)
        checked(
            self,
            messages=messages,
            service_time=service_time,
            service=_check.choice("service", self.service, ("constant", "exponential")),
            slots=_check.integer("slots", self.slots, 1, 2**31 - 1),
            network=_check.real("network", self.network, 0),
            in_flight=None if self.in_flight is None else _check.integer("in_flight", self.in_flight, 1, 2**31 - 1),
            rate=None if self.rate is None else _check.real("rate", self.rate, 0, low_open=True),
            arrivals=_check.choice("arrivals", self.arrivals, ("poisson", "constant")),
            seed=_check.seed_value(self.seed),
        )
        if self.rate is None and self.in_flight is None:
            raise ValueError("rate or in_flight must be given: with neither, every message is sent at time 0")

    def keys(self) -> np.ndarray:
        """Return the keys of all messages."""
        return self.stream.draw(self.messages, self.seed) if isinstance(self.stream, Stream) else self.stream


@dataclass(frozen=True)
class ClusterResult:
    """What a simulated cluster did.

    Times are in the unit of the service times. Arrays have one entry for each message or each
    worker.

    Parameters
    ----------
    keys : uint64[m]
        The key of each message.
    workers : int32[m]
        The worker of each message.
    sent : float64[m]
        When each message was sent.
    done : float64[m]
        When each message had been processed.
    service : float64[m]
        How long its processing took.
    n : int
        Number of workers.
    slots : int
        Messages that a worker can process at once.
    """

    keys: np.ndarray
    workers: np.ndarray
    sent: np.ndarray
    done: np.ndarray
    service: np.ndarray
    n: int
    slots: int

    @property
    def makespan(self) -> float:
        """When the last message was done."""
        return float(self.done.max()) if self.done.size else 0.0

    @property
    def throughput(self) -> float:
        """Messages done per unit of time, over the whole run."""
        return self.done.size / self.makespan if self.done.size else 0.0

    @cached_property
    def latency(self) -> np.ndarray:
        """The time from sent to done, for each message."""
        return self.done - self.sent

    @property
    def loads(self) -> np.ndarray:
        """The number of messages of each worker."""
        return np.bincount(self.workers, minlength=self.n)

    @property
    def utilisation(self) -> np.ndarray:
        """The share of the run for which each worker's slots were busy."""
        busy = np.bincount(self.workers, self.service, minlength=self.n)
        return busy / (self.makespan * self.slots) if self.makespan else busy

    @property
    def worker_latency(self) -> np.ndarray:
        """The mean latency of each worker's messages; NaN where it had none."""
        with np.errstate(invalid="ignore"):
            return np.bincount(self.workers, self.latency, minlength=self.n) / self.loads

    def latency_percentiles(self, q: Any = (50, 95, 99), over: str = "messages") -> np.ndarray:
        """Return percentiles of the latency.

        Parameters
        ----------
        q : float or sequence of float, default (50, 95, 99)
            Which percentiles, in percent.
        over : {"messages", "workers"}
            Whether they are of the messages' latencies or of the workers' mean latencies.
        """
        _check.choice("over", over, ("messages", "workers"))
        values = self.latency if over == "messages" else self.worker_latency[self.loads > 0]
        return np.percentile(values, q)

    def summary(self) -> dict[str, float]:
        """Return throughput and latencies as plain numbers.

        `mean`, `p50`, `p95` and `p99` are over messages; `worker_max` and `worker_mean` are the
        greatest and the mean of the workers' mean latencies.
        """
        p50, p95, p99 = self.latency_percentiles().tolist()
        of_workers = self.worker_latency[self.loads > 0]
        return {
            "throughput": self.throughput,
            "mean": float(self.latency.mean()),
            "p50": p50,
            "p95": p95,
            "p99": p99,
            "worker_max": float(of_workers.max()),
            "worker_mean": float(of_workers.mean()),
        }


@shows(signature_of(ClusterOptions))
def simulate_cluster(*args: Any, **kwargs: Any) -> ClusterResult:
    """Route a stream with a grouping and follow every message through network, queue and worker.

    Parameters
    ----------
    stream : Stream or array_like
        The keys, in order; message i comes from source i mod grouping.sources.
    grouping : Grouping
        What routes the messages; it goes on from the state it has, and keeps the new one.
    messages : int, optional
        How many messages to draw from a `Stream`; needed where it has no length of its own.
    service_time : float or array_like, default 1.0
        The mean time that a message takes at a worker: one for all keys, or one for each of the
        keys 0, 1 and so on.
    service : {"constant", "exponential"}
        Whether a message takes exactly that time or a random, exponential one.
    slots : int, default 1
        How many messages a worker processes at once.
    network : float, default 0.5
        The time from source to worker, and that of the acknowledgement back.
    in_flight : int, optional
        Closes the loop: how many messages a source may have in flight. There is no limit by
        default.
    rate : float, optional
        Opens the loop, or caps a closed one: messages in a unit of time, over all sources. By
        default sources send as fast as `in_flight` lets them.
    arrivals : {"poisson", "constant"}
        Whether messages become ready at random or at equal distances.
    seed : int, numpy.random.SeedSequence or None, default 0
        The seed of the stream, the service times and the arrivals.

    Returns
    -------
    ClusterResult

    Examples
    --------
    >>> from streamlb import ShuffleGrouping, Zipf, simulate_cluster
    >>> grouping = ShuffleGrouping(4, 2)
    >>> result = simulate_cluster(Zipf(100, 1.0), grouping, messages=4000, in_flight=50)
    >>> round(result.throughput, 1)  # four workers, and each does one message in a unit of time
    4.0
    """
    chosen: ClusterOptions = bind("simulate_cluster", ClusterOptions, args, kwargs)
    grouping, keys = chosen.grouping, chosen.keys()
    service = _service_times(keys, chosen)
    ready = _ready_times(keys.size, grouping.sources, chosen)

    workers = grouping.route_many(keys)
    sent, done = np.empty(keys.size), np.empty(keys.size)
    limit = chosen.in_flight or 0
    # A source has at most one send and `limit` acknowledgements among the events.
    heap = Heap(np.empty(grouping.sources * (limit + 2), EVENT), np.zeros(1, COUNTS))
    sources, free = np.zeros(grouping.sources, SOURCE), np.zeros((grouping.workers, chosen.slots))
    _simulate(Messages(workers, service, ready, sent, done), chosen.network, limit, heap, sources, free)
    return ClusterResult(keys, workers, sent, done, service, grouping.workers, chosen.slots)


def _service_times(keys: np.ndarray, options: ClusterOptions) -> np.ndarray:
    by_key = options.service_time
    if np.ndim(by_key) == 0:
        times = np.full(keys.size, by_key)
    elif keys.size and keys.max() >= by_key.size:
        raise ValueError(f"service_time must have an entry for each key up to {keys.max()}, got {by_key.size}")
    else:
        times = by_key[keys.astype(np.int64)]
    return times * _exponential(keys.size, options.seed + 1) if options.service == "exponential" else times


def _ready_times(m: int, sources: int, options: ClusterOptions) -> np.ndarray:
    """Return when each message is ready: float64[m], or an empty array where there is no rate.

    The messages of each source come at rate / sources. At equal distances the sources take turns.
    """
    if options.rate is None:
        return np.empty(0)
    if options.arrivals == "constant":
        return np.arange(m) / options.rate
    gaps = np.zeros(-(-m // sources) * sources)
    gaps[:m] = _exponential(m, options.seed + 2) * sources / options.rate
    return np.ascontiguousarray(gaps.reshape(-1, sources).cumsum(axis=0).ravel()[:m])


def _exponential(m: int, seed: int) -> np.ndarray:
    return -np.log1p(-uniforms(seed & 0xFFFFFFFFFFFFFFFF, m))
