"""A placed topology run slot by slot: cores, buffers, links, gating by steps, stalls (paper 002, section V).

A slot lasts as long as one task needs for one stream part. Tuples are counted, not carried: each queue holds how many there
are and the sum of their birth slots, and what leaves takes its share of that sum, so that mean latency is exact for queues
served in random order. Space at the receiver is reserved when tuples leave, so a buffer never overflows. The kernels are in
`_pipeline`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamlb import _check
from streamlb.placement.pipeline import PipelineSchedule
from streamlb.placement.placement import Placement
from streamlb.simulation._pipeline import (
    BUFFER,
    COMING,
    CONSUMED,
    CREATED,
    CROSSED,
    DELAY,
    END_RANGE,
    ENTERED,
    FIRST_RANGE,
    FROM,
    GATES,
    HELD,
    HELD_TUPLES,
    IS_SPOUT,
    LATENCY,
    MEMORY,
    MOVED,
    NODE,
    PART,
    PEAK,
    PRESENT,
    RECEIVER,
    REFUSED,
    RESEND,
    RESENT,
    SENDER,
    SINK,
    STAGE,
    STALLED,
    STAYED,
    STEPS,
    TO,
    WAITING,
    WINDOW,
    run,
)


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
    gate = _check.choice("gate", gate, tuple(GATES))
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
    delays, stages = int(pairs[:, DELAY].max(initial=1)) + 1, int(pairs[:, STAGE].max(initial=-1)) + 1
    queue, births = np.zeros((count, 3), np.int64), np.zeros(count)
    pending, pending_births = np.zeros((len(pairs), 2), np.int64), np.zeros(len(pairs))
    flight, flight_births = np.zeros((delays, count), np.int64), np.zeros((delays, count))
    done, totals, rows = np.zeros(count, np.int64), np.zeros(11, np.int64), np.zeros((bins + 1, 4))
    # Each stage empties at least one part of each pair in every cycle of steps, stalls and resends included.
    cycles = int(settings[BUFFER] * 2 // settings[PART] + 4) * (len(placement.topology.names) + 1)
    drain = cycles * (len(steps) + delays + int(settings[RESEND])) * 64 + 10_000
    ran = run(
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
            GATES[gate],
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
    apart = np.flatnonzero(~joined[pairs[:, FROM], pairs[:, TO]])
    if apart.size:
        a, b = pairs[apart[0], [FROM, TO]].tolist()
        raise ValueError(
            f"schedule must join every two nodes whose tasks talk, got no step in which node {a} sends to node {b}"
        )


def _layout(placement: Placement, distance_cost: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the tasks, each node's tasks, the pairs that talk, and where each sender's pairs of a component begin."""
    topology, node = placement.topology, placement.task_node
    tasks = np.zeros((topology.tasks, 4), np.int64)
    tasks[:, NODE] = node
    component = topology.task_component
    tasks[:, IS_SPOUT] = np.isin(component, topology.spouts)
    pairs, ranges, total = [], [0], 0
    for task in range(topology.tasks):
        tasks[task, FIRST_RANGE] = len(ranges) - 1
        for e in np.flatnonzero(topology.edges[:, 0] == component[task]):
            v = topology.edges[e, 1]
            receivers = np.arange(topology.offsets[v], topology.offsets[v + 1])
            far = np.abs(node[receivers] - node[task])
            block = np.empty((receivers.size, 6), np.int64)
            block[:, SENDER], block[:, RECEIVER], block[:, STAGE] = task, receivers, topology.stages[e]
            block[:, FROM], block[:, TO] = node[task], node[receivers]
            block[:, DELAY] = 1 + np.ceil(distance_cost * far - 1e-9).astype(np.int64)
            pairs.append(block)
            total += receivers.size
            ranges.append(total)
        tasks[task, END_RANGE] = len(ranges) - 1
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
    left = int(queue[:, WAITING].sum() + queue[:, HELD].sum() + queue[:, COMING].sum())
    made, used = int(totals[ENTERED] + totals[CREATED]), int(totals[CONSUMED])
    if made != used + left:
        raise RuntimeError(
            f"the simulator lost tuples: {made} entered or were emitted, {used} were handled and {left} are left"
        )
    if queue[:, HELD].sum() != pending[:, HELD_TUPLES].sum() or queue[:, COMING].sum() != flight.sum():
        raise RuntimeError("the simulator's counts disagree: held or coming tuples do not match their queues")
    if left:
        raise RuntimeError(
            f"the simulator stands still: {left} tuples are left and none has moved since slot {totals[MOVED]}"
        )


def _result(placement, ran, slots, settings, done, totals, rows) -> PipelineResult:
    body = rows[:-1]  # the last row gathers the drain
    edges = np.ceil(np.arange(len(body) + 1) * slots / len(body))
    width = np.diff(edges)
    delivered = int(body[:, SINK].sum())
    all_delivered = rows[:, SINK].sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        series = {
            "throughput": body[:, SINK] / np.maximum(width, 1),
            "latency": body[:, LATENCY] / body[:, SINK],
            "memory": body[:, MEMORY].copy(),
        }
        latency = float(rows[:, LATENCY].sum() / all_delivered) if all_delivered else math.nan
    return PipelineResult(
        delivered=delivered,
        throughput=delivered / slots,
        latency=latency,
        tuple_slots=float(rows[:, PRESENT].sum()),
        peak_tuples=int(totals[PEAK]),
        peak_memory=float(totals[PEAK] / ((settings[BUFFER] + settings[WINDOW]) * done.size)),
        mean_memory=float(body[:, MEMORY].mean()),
        node_load=np.bincount(placement.task_node, weights=done, minlength=placement.nodes),
        task_load=done,
        entered=int(totals[ENTERED]),
        refused=int(totals[REFUSED]),
        resent=int(totals[RESENT]),
        crossed=int(totals[CROSSED]),
        stayed=int(totals[STAYED]),
        stalled=int(totals[STALLED]),
        steps=int(totals[STEPS]),
        slots=int(ran),
        series=series,
    )
