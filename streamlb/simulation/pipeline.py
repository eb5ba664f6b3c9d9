"""A placed topology run slot by slot: cores, buffers, links, gating by steps, stalls (paper 002, section V).

A slot lasts as long as one task needs for one stream part. Tuples are counted, not carried: each queue holds how many
there are and the sum of their birth slots, and what leaves takes its share of that sum, so that mean latency is exact
for queues served in random order. State: queue int64[tasks, 3] of (waiting, on their way here, held for sending),
pending int64[pairs, 2] of (tuples held by a sender for a receiver, slot of the next attempt), flight int64[delays,
tasks] of tuples by slot of arrival, and births of the same shapes. Space at the receiver is reserved when tuples
leave, so a buffer never overflows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import njit
from streamlb.hashing import mix
from streamlb.placement.pipeline import PipelineSchedule
from streamlb.placement.placement import Placement
from streamlb.rng import random_unit

_WAITING, _COMING, _HELD = 0, 1, 2
_HELD_TUPLES, _RETRY = 0, 1
_SENDER, _RECEIVER, _STAGE, _DELAY, _FROM, _TO = range(6)
_NODE, _IS_SPOUT, _FIRST_RANGE, _END_RANGE = 0, 1, 2, 3
_SINK, _LATENCY, _MEMORY, _PRESENT = 0, 1, 2, 3
# totals: tuples that entered, were refused, resent, crossed or stayed; slots stalled, last slot with a move; and so on
_ENTERED, _REFUSED, _RESENT, _CROSSED, _STAYED, _STALLED, _MOVED, _PEAK, _CREATED, _CONSUMED, _STEPS = range(11)
_FREE, _STEPPED, _CONSERVING = 0, 1, 2
_GATES = {"none": _FREE, "steps": _STEPPED, "work-conserving": _CONSERVING}
# settings: see `_settings`
_PART, _CORES, _BUFFER, _WINDOW, _BANDWIDTH, _RESEND, _GATE, _STALLS = range(8)


@njit(cache=True, nogil=True)
def _arrive(now, queue, births, flight, flight_births):
    """Put what arrives in this slot into the buffers; its space was reserved when it left."""
    row = now % flight.shape[0]
    for task in range(queue.shape[0]):
        n = flight[row, task]
        if n > 0:
            queue[task, _WAITING] += n
            queue[task, _COMING] -= n
            births[task] += flight_births[row, task]
            flight[row, task] = 0
            flight_births[row, task] = 0.0


@njit(cache=True, nogil=True)
def _admit(now, load, seed, tasks, settings, queue, births, totals):
    """Let a part come in at each spout task with probability `load`; a full buffer refuses what does not fit."""
    part = settings[_PART]
    for task in range(tasks.shape[0]):
        if tasks[task, _IS_SPOUT] == 1:
            draw = random_unit(seed, np.uint64(now * tasks.shape[0] + task))
            if draw < load:
                n = min(part, settings[_BUFFER] - queue[task, _WAITING])
                queue[task, _WAITING] += n
                births[task] += n * float(now)
                totals[_ENTERED] += n
                totals[_REFUSED] += part - n


@njit(cache=True, nogil=True)
def _emit(task, n, age, tasks, ranges, turns, queue, pending, pending_births):
    """Deal n tuples of mean birth `age` to the tasks of every receiving component in turn (shuffle grouping)."""
    for r in range(tasks[task, _FIRST_RANGE], tasks[task, _END_RANGE]):
        first, width = ranges[r], ranges[r + 1] - ranges[r]
        each = n // width
        extra = n - each * width
        i = turns[r]  # who takes the next odd tuple
        for k in range(width):
            share = each + (1 if k < extra else 0)
            if share > 0:
                pending[first + i, _HELD_TUPLES] += share
                pending_births[first + i] += age * share
            i += 1
            if i == width:
                i = 0
            if k + 1 == extra:
                turns[r] = i
        queue[task, _HELD] += n


@njit(cache=True, nogil=True)
def _process(now, by_node, tasks, ranges, settings, turns, queue, births, pending, pending_births, done, totals, seen):
    """Give each node's cores to its runnable tasks in turn; a task handles at most a part. Return the tuples handled."""
    handled = 0
    nodes = by_node.shape[0]
    for node in range(nodes):
        count = by_node[node, 0]
        if count == 0:
            continue
        cores = settings[_CORES]
        start = now % count
        for k in range(count):
            at = start + k
            if at >= count:
                at -= count
            task = by_node[node, 1 + at]
            waiting = queue[task, _WAITING]
            if waiting == 0 or queue[task, _HELD] >= settings[_WINDOW]:
                continue
            n = min(waiting, settings[_PART])
            born = births[task] * n / waiting
            queue[task, _WAITING] -= n
            births[task] -= born
            done[task] += n
            handled += n
            totals[_CONSUMED] += n
            outputs = tasks[task, _END_RANGE] - tasks[task, _FIRST_RANGE]
            if outputs == 0:
                seen[_SINK] += n
                seen[_LATENCY] += n * (now + 1.0) - born
            else:
                totals[_CREATED] += n * outputs
                _emit(task, n, born / n, tasks, ranges, turns, queue, pending, pending_births)
            cores -= 1
            if cores == 0:
                break
    return handled


@njit(cache=True, nogil=True)
def _must_stall(tasks, settings, queue):
    """Say whether a bolt still has parts that it could handle; one whose own window is full is left out."""
    for task in range(tasks.shape[0]):
        if tasks[task, _IS_SPOUT] == 0 and queue[task, _WAITING] > 0 and queue[task, _HELD] < settings[_WINDOW]:
            return True
    return False


@njit(cache=True, nogil=True)
def _send(
    now, step, schedule, pairs, settings, budget, targets, queue, pending, pending_births, flight, flight_births, totals
):
    """Send in this slot what gate, links and buffers allow. Return the tuples that left.

    Phase 0 sends by the step: a part from each node to the step's target. Phase 1 sends everything, or,
    work-conserving, to whoever would be idle when it arrives.
    """
    gate, part = settings[_GATE], settings[_PART]
    count, moved = pairs.shape[0], 0
    for stage in range(targets.shape[0]):
        for node in range(targets.shape[1]):
            targets[stage, node] = schedule[(step - stage) % schedule.shape[0], node] if step >= stage else -1
    now_row = now % flight.shape[0]
    start = np.int64(mix(np.uint64(now)) >> np.uint64(33)) % count  # no pair is first in line for ever
    budget[:] = settings[_BANDWIDTH]
    for phase in range(1 if gate == _FREE else 0, 1 if gate == _STEPPED else 2):
        for k in range(count):
            p = start + k
            if p >= count:
                p -= count
            held = pending[p, _HELD_TUPLES]
            if held == 0 or pending[p, _RETRY] > now:
                continue
            sender, receiver, a, b = pairs[p, _SENDER], pairs[p, _RECEIVER], pairs[p, _FROM], pairs[p, _TO]
            if phase == 0 and targets[pairs[p, _STAGE], a] != b:
                continue
            n = held
            if gate != _FREE and n > part:
                n = part
            if a != b:
                n = min(n, budget[0, a], budget[1, b])
            there = queue[receiver, _WAITING] + queue[receiver, _COMING]
            if (
                gate == _CONSERVING
            ):  # what the receiver can handle by the time it arrives, a part more from the step's sender
                n = min(n, part * (pairs[p, _DELAY] + 1 - phase) - there)
            if n <= 0:
                continue
            space = settings[_BUFFER] - there
            if n > space:
                totals[_RESENT] += n - space
                pending[p, _RETRY] = now + settings[_RESEND]
                n = space
                if n <= 0:
                    continue
            born = pending_births[p] if n == held else pending_births[p] * n / held
            pending[p, _HELD_TUPLES] -= n
            pending_births[p] -= born
            queue[sender, _HELD] -= n
            queue[receiver, _COMING] += n
            row = now_row + pairs[p, _DELAY]
            if row >= flight.shape[0]:
                row -= flight.shape[0]
            flight[row, receiver] += n
            flight_births[row, receiver] += born
            moved += n
            if a != b:
                budget[0, a] -= n
                budget[1, b] -= n
                totals[_CROSSED] += n
            else:
                totals[_STAYED] += n
    return moved


@njit(cache=True, nogil=True)
def _run(
    slots,
    drain,
    load,
    seed,
    schedule,
    tasks,
    by_node,
    pairs,
    ranges,
    settings,
    turns,
    queue,
    births,
    pending,
    pending_births,
    flight,
    flight_births,
    done,
    totals,
    bins,
    budget,
    targets,
):
    """Run `slots` slots with the spouts open, then up to `drain` more with them closed. Return the slots run.

    Ends early when nothing has moved for longer than any wait lasts, which is a deadlock if tuples are left.
    """
    patience = 4 * (schedule.shape[0] + flight.shape[0] + settings[_RESEND]) + 64
    capacity = float((settings[_BUFFER] + settings[_WINDOW]) * tasks.shape[0])
    step, now = np.int64(0), np.int64(0)  # a plain 0 would be a type of its own to the functions called
    while now < slots + drain:
        row = bins[min(now * (bins.shape[0] - 1) // max(slots, 1), bins.shape[0] - 1)]
        _arrive(now, queue, births, flight, flight_births)
        if now < slots:
            _admit(now, load, seed, tasks, settings, queue, births, totals)
        moved = _process(
            now, by_node, tasks, ranges, settings, turns, queue, births, pending, pending_births, done, totals, row
        )
        if settings[_GATE] == _STEPPED and settings[_STALLS] == 1 and _must_stall(tasks, settings, queue):
            totals[_STALLED] += 1
        else:
            if pairs.shape[0] > 0:
                moved += _send(
                    now,
                    step,
                    schedule,
                    pairs,
                    settings,
                    budget,
                    targets,
                    queue,
                    pending,
                    pending_births,
                    flight,
                    flight_births,
                    totals,
                )
            step += 1
        waiting, held, coming = 0, 0, 0
        for task in range(tasks.shape[0]):
            waiting += queue[task, _WAITING]
            held += queue[task, _HELD]
            coming += queue[task, _COMING]
        row[_PRESENT] += waiting + held + coming
        if now < slots:
            row[_MEMORY] = max(row[_MEMORY], (waiting + held) / capacity)
            totals[_PEAK] = max(totals[_PEAK], waiting + held)
        if moved > 0 or coming > 0:
            totals[_MOVED] = now
        now += 1
        if now > slots and waiting + held + coming == 0:
            break
        if now - totals[_MOVED] > patience and waiting + held + coming > 0:
            break
    totals[_STEPS] = step
    return now


@dataclass(frozen=True)
class PipelineResult:
    """What a run of `simulate_pipeline` measured; times in slots, memory in tuples.

    Parameters
    ----------
    delivered : int
        Tuples handled by the sinks while the spouts were open.
    throughput : float
        Tuples handled by the sinks a slot, while the spouts were open.
    latency : float
        Mean slots from entry at a spout to the end of handling at a sink; NaN when nothing arrived.
    tuple_slots : float
        Tuples anywhere in the cluster at the end of a slot, summed over all slots (Little's law ties it to latency).
    peak_tuples : int
        The most tuples waiting in buffers and held by senders at the end of a slot.
    peak_memory, mean_memory : float
        Tuples waiting in buffers and held by senders, as a share of all buffers and windows: the largest, and the
        mean of the largest of each bin.
    node_load : float64[nodes]
        Tuples handled by the tasks of each node, drain included.
    task_load : int64[tasks]
        The same for each task.
    entered, refused, resent, crossed, stayed : int
        Tuples let in, refused by full spouts, sent in vain, sent between nodes, and handed over within one.
    stalled, steps, slots : int
        Slots without sending because of a stall, steps of the schedule gone through, slots in all.
    series : dict of str to float64[bins]
        `throughput`, `latency` and `memory` over time.
    """

    delivered: int
    throughput: float
    latency: float
    tuple_slots: float
    peak_tuples: int
    peak_memory: float
    mean_memory: float
    node_load: np.ndarray
    task_load: np.ndarray
    entered: int
    refused: int
    resent: int
    crossed: int
    stayed: int
    stalled: int
    steps: int
    slots: int
    series: dict[str, np.ndarray]

    @property
    def load_deviation(self) -> float:
        """Mean distance of a node's load from the mean load, relative to it."""
        mean = self.node_load.mean()
        return float(np.abs(self.node_load - mean).mean() / mean) if mean else 0.0

    @property
    def inter_node_share(self) -> float:
        """Share of the tuples that crossed between nodes."""
        total = self.crossed + self.stayed
        return self.crossed / total if total else 0.0


def simulate_pipeline(
    placement: Placement | PipelineSchedule,
    *,
    gate: str = "none",
    schedule: np.ndarray | None = None,
    stalls: bool = True,
    slots: int = 2000,
    load: float = 0.5,
    part: int = 64,
    cores: int = 4,
    buffer: int = 4096,
    window: int | None = None,
    bandwidth: int | None = None,
    distance_cost: float = 0.0,
    resend: int = 4,
    bins: int = 20,
    seed: int | None = 0,
) -> PipelineResult:
    """Run a placed topology slot by slot and measure latency, memory, load by node and throughput at the sinks.

    Parameters
    ----------
    placement : Placement or PipelineSchedule
        Where the tasks run; a PipelineSchedule also brings the schedule for `gate`.
    gate : {"none", "steps", "work-conserving"}
        When a node may send: always (Storm), only to the node of the current step (the paper), or to that one first
        and then to every task that would be idle when the tuples arrive. The last never sends a task more than it can
        handle by then and one part.
    schedule : int64[steps, nodes], optional
        Step by node: to whom it sends. Needed for a gate with a plain Placement.
    stalls : bool
        With gate "steps": whether steps pause until all that has been received is handled.
    slots : int
        Slots with the spouts open; then they close and the run goes on until all is drained.
    load : float
        Chance that a part comes in at a spout task in a slot; 1 is saturation.
    part : int
        Tuples of a stream part: what a task handles in a slot, and what a pair may send in its step.
    cores : int
        Tasks of a node that can work in one slot.
    buffer : int
        Tuples that a task's input buffer holds.
    window : int, optional
        Tuples that a task may hold for sending before it stops working; `buffer` by default.
    bandwidth : int, optional
        Tuples that a node can send, and receive, over its link in a slot; unlimited by default.
    distance_cost : float
        Slots a tuple takes for each unit of distance between nodes i and j, which is abs(i - j).
    resend : int
        Slots until a tuple refused by a full buffer is sent again.
    bins : int
        Points of the series over time.
    seed : int, numpy.random.SeedSequence or None
        The arrivals.

    Raises
    ------
    RuntimeError
        When tuples were lost or made, or when tuples were left that could not move: both are errors of the simulator,
        checked in every run.

    Examples
    --------
    >>> from streamlb import Topology, even_schedule, simulate_pipeline
    >>> t = Topology({"s": 1, "b": 1}, [("s", "b")])
    >>> r = simulate_pipeline(even_schedule(t, nodes=1), slots=100, load=1.0)
    >>> r.latency, r.entered == 100 * 64
    (2.0, True)
    """
    if isinstance(placement, PipelineSchedule):
        schedule = placement.schedule if schedule is None else schedule
        placement = placement.placement
    if not isinstance(placement, Placement):
        raise TypeError(f"placement must be a Placement or a PipelineSchedule, got {type(placement).__name__}")
    gate = _check.choice("gate", gate, tuple(_GATES))
    steps = _checked_schedule(schedule, placement.nodes, gate)
    slots = _check.integer("slots", slots, 1)
    bins = _check.integer("bins", bins, 1)
    load = _check.real("load", load, 0.0, 1.0)
    distance_cost = _check.real("distance_cost", distance_cost, 0.0)
    settings = _settings(gate, stalls, part, cores, buffer, window, bandwidth, resend)
    tasks, by_node, pairs, ranges = _layout(placement, distance_cost)
    if gate == "steps":
        _check_joined(steps, pairs)
    count = len(tasks)
    delays, stages = int(pairs[:, _DELAY].max(initial=1)) + 1, int(pairs[:, _STAGE].max(initial=-1)) + 1
    queue, births = np.zeros((count, 3), np.int64), np.zeros(count)
    pending, pending_births = np.zeros((len(pairs), 2), np.int64), np.zeros(len(pairs))
    flight, flight_births = np.zeros((delays, count), np.int64), np.zeros((delays, count))
    done, totals, rows = np.zeros(count, np.int64), np.zeros(11, np.int64), np.zeros((bins + 1, 4))
    # Each stage empties at least one part of each pair in every cycle of steps, stalls and resends included.
    cycles = int(settings[_BUFFER] * 2 // settings[_PART] + 4) * (len(placement.topology.names) + 1)
    drain = cycles * (len(steps) + delays + int(settings[_RESEND])) * 64 + 10_000
    ran = _run(
        slots,
        drain,
        load,
        np.uint64(_check.seed_value(seed)),
        steps,
        tasks,
        by_node,
        pairs,
        ranges,
        settings,
        np.zeros(max(len(ranges) - 1, 1), np.int64),
        queue,
        births,
        pending,
        pending_births,
        flight,
        flight_births,
        done,
        totals,
        rows,
        np.zeros((2, placement.nodes), np.int64),
        np.zeros((0 if gate == "none" else stages, placement.nodes), np.int64),
    )
    _check_conserved(queue, pending, flight, totals)
    return _result(placement, ran, slots, settings, done, totals, rows)


def _settings(gate, stalls, part, cores, buffer, window, bandwidth, resend) -> np.ndarray:
    part = _check.integer("part", part, 1)
    buffer = _check.integer("buffer", buffer, part)
    window = buffer if window is None else _check.integer("window", window, 1)
    wide = 2**40 if bandwidth is None else _check.integer("bandwidth", bandwidth, 1)
    return np.array(
        [
            part,
            _check.integer("cores", cores, 1),
            buffer,
            window,
            wide,
            _check.integer("resend", resend, 1),
            _GATES[gate],
            int(bool(stalls)),
        ],
        np.int64,
    )


def _checked_schedule(schedule: Any, nodes: int, gate: str) -> np.ndarray:
    if schedule is None:
        if gate != "none":
            raise ValueError(f"schedule must be given for gate {gate!r}: a plain Placement has none")
        return np.zeros((1, nodes), np.int64)
    steps = np.ascontiguousarray(schedule, np.int64)
    if steps.ndim != 2 or steps.shape[1] != nodes or not len(steps):
        raise ValueError(f"schedule must be steps by {nodes} nodes, got shape {steps.shape}")
    bad = np.flatnonzero((np.sort(steps, axis=1) != np.arange(nodes)).any(axis=1))
    if bad.size:
        raise ValueError(
            f"schedule must be a permutation of the nodes in every step, got {steps[bad[0]].tolist()} in step {bad[0]}"
        )
    return steps


def _check_joined(steps: np.ndarray, pairs: np.ndarray) -> None:
    """Raise unless the steps join every two nodes whose tasks talk; without that, tuples would wait for ever."""
    joined = np.zeros((steps.shape[1], steps.shape[1]), bool)
    joined[np.broadcast_to(np.arange(steps.shape[1]), steps.shape), steps] = True
    apart = np.flatnonzero(~joined[pairs[:, _FROM], pairs[:, _TO]])
    if apart.size:
        a, b = pairs[apart[0], [_FROM, _TO]].tolist()
        raise ValueError(
            f"schedule must join every two nodes whose tasks talk, got no step in which node {a} sends to node {b}"
        )


def _layout(placement: Placement, distance_cost: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the tasks, each node's tasks, the pairs that talk, and where each sender's pairs of a component begin."""
    topology, node = placement.topology, placement.task_node
    tasks = np.zeros((topology.tasks, 4), np.int64)
    tasks[:, _NODE] = node
    component = topology.task_component
    tasks[:, _IS_SPOUT] = np.isin(component, topology.spouts)
    pairs, ranges, total = [], [0], 0
    for task in range(topology.tasks):
        tasks[task, _FIRST_RANGE] = len(ranges) - 1
        for e in np.flatnonzero(topology.edges[:, 0] == component[task]):
            v = topology.edges[e, 1]
            receivers = np.arange(topology.offsets[v], topology.offsets[v + 1])
            far = np.abs(node[receivers] - node[task])
            block = np.empty((receivers.size, 6), np.int64)
            block[:, _SENDER], block[:, _RECEIVER], block[:, _STAGE] = task, receivers, topology.stages[e]
            block[:, _FROM], block[:, _TO] = node[task], node[receivers]
            block[:, _DELAY] = 1 + np.ceil(distance_cost * far - 1e-9).astype(np.int64)
            pairs.append(block)
            total += receivers.size
            ranges.append(total)
        tasks[task, _END_RANGE] = len(ranges) - 1
    most = int(np.bincount(node, minlength=placement.nodes).max())
    by_node = np.zeros((placement.nodes, most + 1), np.int64)
    for j in range(placement.nodes):
        own = np.flatnonzero(node == j)
        by_node[j, 0] = own.size
        by_node[j, 1 : 1 + own.size] = own
    every = np.concatenate(pairs) if pairs else np.zeros((0, 6), np.int64)
    return tasks, by_node, every, np.array(ranges, np.int64)


def _check_conserved(queue: np.ndarray, pending: np.ndarray, flight: np.ndarray, totals: np.ndarray) -> None:
    """Raise unless every tuple is accounted for and none is left: conservation and liveness."""
    left = int(queue[:, _WAITING].sum() + queue[:, _HELD].sum() + queue[:, _COMING].sum())
    made, used = int(totals[_ENTERED] + totals[_CREATED]), int(totals[_CONSUMED])
    if made != used + left:
        raise RuntimeError(
            f"the simulator lost tuples: {made} entered or were emitted, {used} were handled and {left} are left"
        )
    if queue[:, _HELD].sum() != pending[:, _HELD_TUPLES].sum() or queue[:, _COMING].sum() != flight.sum():
        raise RuntimeError("the simulator's counts disagree: held or coming tuples do not match their queues")
    if left:
        raise RuntimeError(
            f"the simulator stands still: {left} tuples are left and none has moved since slot {totals[_MOVED]}"
        )


def _result(placement, ran, slots, settings, done, totals, rows) -> PipelineResult:
    body = rows[:-1]  # the last row gathers the drain
    edges = np.ceil(np.arange(len(body) + 1) * slots / len(body))
    width = np.diff(edges)
    delivered = int(body[:, _SINK].sum())
    all_delivered = rows[:, _SINK].sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        series = {
            "throughput": body[:, _SINK] / np.maximum(width, 1),
            "latency": body[:, _LATENCY] / body[:, _SINK],
            "memory": body[:, _MEMORY].copy(),
        }
        latency = float(rows[:, _LATENCY].sum() / all_delivered) if all_delivered else math.nan
    return PipelineResult(
        delivered=delivered,
        throughput=delivered / slots,
        latency=latency,
        tuple_slots=float(rows[:, _PRESENT].sum()),
        peak_tuples=int(totals[_PEAK]),
        peak_memory=float(totals[_PEAK] / ((settings[_BUFFER] + settings[_WINDOW]) * done.size)),
        mean_memory=float(body[:, _MEMORY].mean()),
        node_load=np.bincount(placement.task_node, weights=done, minlength=placement.nodes),
        task_load=done,
        entered=int(totals[_ENTERED]),
        refused=int(totals[_REFUSED]),
        resent=int(totals[_RESENT]),
        crossed=int(totals[_CROSSED]),
        stayed=int(totals[_STAYED]),
        stalled=int(totals[_STALLED]),
        steps=int(totals[_STEPS]),
        slots=int(ran),
        series=series,
    )
