"""A cluster in small: sources route keyed messages over a network to workers with queues (paper 001, section V, Q4).

Closed loop: a source has at most `in_flight` messages that were not acknowledged, as Storm's max.spout.pending. Open loop:
messages come at a rate. Queues are first come, first served, and every message takes the same time over the network, so a
message's service can be placed as soon as it is sent: the only events are "a source may send" and "an acknowledgement is back".

State of the kernel: heap_time float64[size] and heap_code int64[2, size], a binary heap of events (their order of entry breaks
ties; the code is 2 * source for a send, 2 * source + 1 for an acknowledgement); free float64[workers, slots], when each slot is
free again; sources int64[3, sources], each one's next message, messages in flight, and whether it waits for one to come back.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import njit
from streamlb.groupings.base import Grouping
from streamlb.keys import key_array
from streamlb.rng import uniforms
from streamlb.streams import Stream


@njit(cache=True, nogil=True)
def _before(a, b, heap_time, heap_code):
    return heap_time[a] < heap_time[b] or (heap_time[a] == heap_time[b] and heap_code[0, a] < heap_code[0, b])


@njit(cache=True, nogil=True)
def _swap(a, b, heap_time, heap_code):
    heap_time[a], heap_time[b] = heap_time[b], heap_time[a]
    heap_code[0, a], heap_code[0, b] = heap_code[0, b], heap_code[0, a]
    heap_code[1, a], heap_code[1, b] = heap_code[1, b], heap_code[1, a]


@njit(cache=True, nogil=True)
def _push(time, order, code, count, heap_time, heap_code):
    """Enter an event into a heap of `count` events."""
    at = count
    heap_time[at], heap_code[0, at], heap_code[1, at] = time, order, code
    while at > 0 and _before(at, (at - 1) // 2, heap_time, heap_code):
        _swap(at, (at - 1) // 2, heap_time, heap_code)
        at = (at - 1) // 2


@njit(cache=True, nogil=True)
def _pop(count, heap_time, heap_code):
    """Take the first of `count` events out, to the place just behind the others."""
    _swap(0, count - 1, heap_time, heap_code)
    at = 0
    while True:
        child = 2 * at + 1
        if child >= count - 1:
            break
        if child + 1 < count - 1 and _before(child + 1, child, heap_time, heap_code):
            child += 1
        if not _before(child, at, heap_time, heap_code):
            break
        _swap(child, at, heap_time, heap_code)
        at = child


@njit(cache=True, nogil=True)
def _simulate(workers, service, ready, network, limit, heap_time, heap_code, free, sources, sent, done):
    """Send every message; message i is of source i mod sources, and not ready before ready[i] (an empty array: always)."""
    count = sources.shape[1]  # of sources: a first send each
    m = workers.size
    events, order = 0, 0
    for source in range(min(count, m)):
        sources[0, source] = source
        _push(ready[source] if ready.size > 0 else 0.0, order, 2 * source, events, heap_time, heap_code)
        events += 1
        order += 1
    while events > 0:
        _pop(events, heap_time, heap_code)
        events -= 1
        now, source, back = heap_time[events], heap_code[1, events] // 2, heap_code[1, events] % 2
        if back == 1:
            sources[1, source] -= 1
            if sources[2, source] == 0:
                continue
            sources[2, source] = 0
        else:
            i = sources[0, source]
            slots = free[workers[i]]
            slot = 0
            for other in range(1, slots.size):
                if slots[other] < slots[slot]:
                    slot = other
            sent[i] = now
            done[i] = max(now + network, slots[slot]) + service[i]
            slots[slot] = done[i]
            sources[0, source] += count
            sources[1, source] += 1
            if limit > 0:
                _push(done[i] + network, order, 2 * source + 1, events, heap_time, heap_code)
                events += 1
                order += 1
        following = sources[0, source]
        if following >= m:
            continue
        if limit > 0 and sources[1, source] >= limit:
            sources[2, source] = 1
        else:
            time = max(now, ready[following]) if ready.size > 0 else now
            _push(time, order, 2 * source, events, heap_time, heap_code)
            events += 1
            order += 1


@dataclass(frozen=True)
class ClusterResult:
    """What a simulated cluster did: times in the unit of the service times, every array a message or a worker an entry.

    Parameters
    ----------
    keys : uint64[m]
        The messages' keys.
    workers : int32[m]
        Their workers.
    sent : float64[m]
        When each was sent.
    done : float64[m]
        When each was processed.
    service : float64[m]
        How long that took.
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
        """From sent to done, of each message."""
        return self.done - self.sent

    @property
    def loads(self) -> np.ndarray:
        """Messages of each worker."""
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
            Which, in percent.
        over : {"messages", "workers"}
            Of the messages' latencies, or of the workers' means.
        """
        _check.choice("over", over, ("messages", "workers"))
        values = self.latency if over == "messages" else self.worker_latency[self.loads > 0]
        return np.percentile(values, q)

    def summary(self) -> dict[str, float]:
        """Return throughput and latencies as plain numbers: mean, p50, p95, p99 over messages, greatest and mean worker's."""
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


def simulate_cluster(
    stream: Any,
    grouping: Grouping,
    *,
    messages: int | None = None,
    service_time: Any = 1.0,
    service: str = "constant",
    slots: int = 1,
    network: float = 0.5,
    in_flight: int | None = None,
    rate: float | None = None,
    arrivals: str = "poisson",
    seed: Any = 0,
) -> ClusterResult:
    """Route a stream with a grouping and follow every message through network, queue and worker.

    Parameters
    ----------
    stream : Stream or array_like
        The keys, in order; message i comes from source i mod grouping.sources.
    grouping : Grouping
        Who decides; it goes on from the state it has and keeps the new one.
    messages : int, optional
        How many to draw from a `Stream` without a length of its own.
    service_time : float or array_like, default 1.0
        The mean time a message takes at a worker, or one for each key 0, 1, ....
    service : {"constant", "exponential"}
        Whether it always takes that time or an exponential one.
    slots : int, default 1
        Messages that a worker processes at once.
    network : float, default 0.5
        Time from source to worker, and back for the acknowledgement.
    in_flight : int, optional
        Closed loop: messages a source may have under way. None: no limit.
    rate : float, optional
        Open loop, or a cap on a closed one: messages per unit of time, over all sources. None: as fast as `in_flight` lets.
    arrivals : {"poisson", "constant"}
        Whether messages become ready at random or at equal distances.
    seed : int, numpy.random.SeedSequence or None, default 0
        Of the stream, the service times and the arrivals.

    Returns
    -------
    ClusterResult

    Examples
    --------
    >>> from streamlb import ShuffleGrouping, Zipf, simulate_cluster
    >>> result = simulate_cluster(Zipf(100, 1.0), ShuffleGrouping(4, 2), messages=4000, in_flight=50)
    >>> round(result.throughput, 1)  # four workers, one message a unit of time each
    4.0
    """
    if not isinstance(grouping, Grouping):
        raise TypeError(f"grouping must be one of streamlb's groupings, got {type(grouping).__name__}")
    _check.choice("service", service, ("constant", "exponential"))
    _check.choice("arrivals", arrivals, ("poisson", "constant"))
    slots = _check.integer("slots", slots, 1)
    network = _check.real("network", network, 0)
    limit = 0 if in_flight is None else _check.integer("in_flight", in_flight, 1)
    rate = None if rate is None else _check.real("rate", rate, 0, low_open=True)
    if rate is None and in_flight is None:
        raise ValueError("rate or in_flight must be given: with neither, every message is sent at time 0")
    value = _check.seed_value(seed)
    keys = stream.draw(messages, value) if isinstance(stream, Stream) else key_array(stream)
    times = _service_times(keys, service_time, service, value + 1)
    ready = np.empty(0) if rate is None else _ready_times(keys.size, rate, grouping.sources, arrivals, value + 2)

    sources = grouping.sources
    size = sources * (limit + 2)
    sent, done = np.empty(keys.size), np.empty(keys.size)
    workers = grouping.route_many(keys)
    _simulate(
        workers,
        times,
        ready,
        network,
        limit,
        np.empty(size),
        np.empty((2, size), np.int64),
        np.zeros((grouping.workers, slots)),
        np.zeros((3, sources), np.int64),
        sent,
        done,
    )
    return ClusterResult(keys, workers, sent, done, times, grouping.workers, slots)


def _service_times(keys: np.ndarray, service_time: Any, service: str, seed: int) -> np.ndarray:
    if np.ndim(service_time) == 0:
        times = np.full(keys.size, _check.real("service_time", service_time, 0, low_open=True))
    else:
        by_key = _check.real_array("service_time", service_time)
        if keys.size and keys.max() >= by_key.size:
            raise ValueError(f"service_time must have an entry for each key up to {keys.max()}, got {by_key.size}")
        times = by_key[keys.astype(np.int64)]
    return times * _exponential(keys.size, seed) if service == "exponential" else times


def _ready_times(m: int, rate: float, sources: int, arrivals: str, seed: int) -> np.ndarray:
    """Return when each message is ready: each source's at rate / sources, the sources' first ones spread over one gap."""
    if arrivals == "constant":
        return np.arange(m) / rate
    gaps = np.zeros(-(-m // sources) * sources)
    gaps[:m] = _exponential(m, seed) * sources / rate
    return np.ascontiguousarray(gaps.reshape(-1, sources).cumsum(axis=0).ravel()[:m])


def _exponential(m: int, seed: int) -> np.ndarray:
    return -np.log1p(-uniforms(seed & 0xFFFFFFFFFFFFFFFF, m))
