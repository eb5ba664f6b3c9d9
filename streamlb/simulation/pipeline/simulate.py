"""A placed topology, run slot by slot: cores, buffers, links, gating by steps, and stalls.

The experiment is that of Tantalaki et al. 2020, section V. A slot lasts as long as one task needs
for one stream part. Tuples are counted, not carried, and what leaves a queue takes its share of the
births in it, so that mean latency is exact for queues served in random order. Space at the receiver
is reserved when tuples leave, so a buffer never overflows. The kernels are in `kernels`.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from streamlb import _check
from streamlb._options import bind, checked, shows, signature_of
from streamlb.placement.pipeline import PipelineSchedule
from streamlb.placement.placement import Placement
from streamlb.simulation.pipeline.kernels import (
    BIN,
    FLIGHT,
    GATES,
    LINK,
    NODE,
    PAIR,
    PENDING,
    QUEUE,
    SETTINGS,
    STREAM,
    TASK,
    TOTALS,
    Network,
    State,
    run,
)

_MOST_FLIGHTS = 2**26  # what arrives at each task in each slot to come is kept
_UNLIMITED = 2**40  # tuples in a slot; more than any buffer sends


@dataclass(frozen=True, eq=False)
class PipelineOptions:
    """Hold the arguments of `simulate_pipeline`, which documents them, and check them."""

    placement: Any
    _: KW_ONLY
    schedule: Any = None
    gate: str = "none"
    stalls: bool = True
    slots: int = 2000
    load: float = 0.5
    part: int = 64
    cores: int = 4
    buffer: int = 4096
    window: int | None = None
    bandwidth: int | None = None
    distance_cost: float = 0.0
    resend: int = 4
    bins: int = 20
    seed: Any = 0

    def __post_init__(self):
        placement, schedule, most = self.placement, self.schedule, 2**31 - 1
        if isinstance(placement, PipelineSchedule):
            schedule = placement.schedule if schedule is None else schedule
            placement = placement.placement
        if not isinstance(placement, Placement):
            raise TypeError(f"placement must be a Placement or a PipelineSchedule, got {type(placement).__name__}")
        part = _check.integer("part", self.part, 1, most)
        buffer = _check.integer("buffer", self.buffer, part, most)
        checked(
            self,
            placement=placement,
            gate=_check.choice("gate", self.gate, tuple(GATES)),
            stalls=_check.flag("stalls", self.stalls),
            slots=_check.integer("slots", self.slots, 1, most),
            load=_check.real("load", self.load, 0.0, 1.0),
            part=part,
            cores=_check.integer("cores", self.cores, 1, most),
            buffer=buffer,
            window=buffer if self.window is None else _check.integer("window", self.window, 1, _check.MOST),
            bandwidth=None if self.bandwidth is None else _check.integer("bandwidth", self.bandwidth, 1, _check.MOST),
            distance_cost=_check.real("distance_cost", self.distance_cost, 0.0),
            resend=_check.integer("resend", self.resend, 1, most),
            bins=_check.integer("bins", self.bins, 1, most),
            seed=_check.seed_value(self.seed),
        )
        checked(self, schedule=_checked_schedule(schedule, placement.nodes, self.gate))
        far = float(np.ptp(placement.task_node)) if placement.task_node.size else 0.0
        if self.distance_cost * far * placement.task_node.size > _MOST_FLIGHTS:
            raise ValueError(
                f"distance_cost must be such that tasks times slots on the way are at most {_MOST_FLIGHTS}, got {self.distance_cost!r}"
            )

    def record(self, drain: int) -> np.ndarray:
        """Return the options in the form in which the kernels take them: SETTINGS[1]."""
        settings = np.zeros(1, SETTINGS)
        for name in ("slots", "part", "cores", "buffer", "window", "resend", "stalls", "load", "seed"):
            settings[name] = getattr(self, name)
        settings["bandwidth"] = _UNLIMITED if self.bandwidth is None else self.bandwidth
        settings["gate"] = GATES[self.gate]
        settings["drain"] = drain
        return settings


@dataclass(frozen=True)
class PipelineResult:
    """What a run of `simulate_pipeline` measured, with times in slots and memory in tuples.

    Parameters
    ----------
    delivered : int
        Tuples handled by the sinks while the spouts were open.
    throughput : float
        Tuples handled by the sinks in a slot, while the spouts were open.
    latency : float
        Mean slots from entry at a spout to the end of handling at a sink; NaN when nothing arrived.
    tuple_slots : float
        Tuples anywhere in the cluster at the end of a slot, summed over all slots. Little's law
        ties it to the latency.
    peak_tuples : int
        The most tuples waiting in buffers and held by senders at the end of a slot.
    peak_memory, mean_memory : float
        Tuples waiting in buffers and held by senders, as a share of all buffers and windows: the
        largest over the run, and the mean over bins of the largest in each.
    node_load : float64[nodes]
        Tuples handled by the tasks of each node, including those of the drain.
    task_load : int64[tasks]
        The same for each task.
    entered, refused, resent, crossed, stayed : int
        Tuples let in, refused by full spouts, sent in vain, sent between nodes, and handed over
        within a node.
    stalled, steps, slots : int
        Slots without sending because of a stall, steps of the schedule that were gone through, and
        slots in all.
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
        """The mean distance of a node's load from the mean load, as a share of the mean."""
        mean = self.node_load.mean()
        return float(np.abs(self.node_load - mean).mean() / mean) if mean else 0.0

    @property
    def inter_node_share(self) -> float:
        """The share of the tuples that crossed between nodes."""
        total = self.crossed + self.stayed
        return self.crossed / total if total else 0.0


@shows(signature_of(PipelineOptions))
def simulate_pipeline(*args: Any, **kwargs: Any) -> PipelineResult:
    """Run a placed topology slot by slot and measure latency, memory, load and throughput.

    Parameters
    ----------
    placement : Placement or PipelineSchedule
        Where the tasks run. A PipelineSchedule also brings the schedule for `gate`.
    schedule : int64[steps, nodes], optional
        To which node each node sends, by step and node. A gate needs it where there is only a
        Placement.
    gate : {"none", "steps", "work-conserving"}
        When a node may send: always (Storm); only to the node of the current step (the paper); or
        to that one first and then to every task that would be idle when the tuples arrive. The last
        never sends a task more than it can handle by then and one part besides.
    stalls : bool
        With gate "steps": whether steps pause until everything that was received is handled.
    slots : int
        Slots with the spouts open. After them the spouts close, and the run goes on until all is
        drained.
    load : float
        The chance that a part comes in at a spout task in a slot; 1 is saturation.
    part : int
        Tuples of a stream part, which is what a task handles in a slot and what a pair may send in
        its step.
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
        The seed of the arrivals.

    Raises
    ------
    RuntimeError
        When tuples were lost or made, or when tuples were left that could not move. Both would be
        errors of the simulator, and every run checks for them.

    Examples
    --------
    >>> from streamlb import Topology, even_schedule, simulate_pipeline
    >>> t = Topology({"s": 1, "b": 1}, [("s", "b")])
    >>> r = simulate_pipeline(even_schedule(t, nodes=1), slots=100, load=1.0)
    >>> r.latency, r.entered == 100 * 64
    (2.0, True)
    """
    chosen: PipelineOptions = bind("simulate_pipeline", PipelineOptions, args, kwargs)
    placement, steps = chosen.placement, chosen.schedule
    network = _network(placement, chosen.distance_cost, steps)
    if chosen.gate == "steps":
        _check_joined(steps, network.pairs)
    state = _empty_state(network, chosen.gate)
    totals, bins = np.zeros(1, TOTALS), np.zeros(chosen.bins + 1, BIN)
    # In every cycle of steps, with its stalls and resends, each pair sends at least one part.
    cycles = (chosen.buffer * 2 // chosen.part + 4) * (len(placement.topology.names) + 1)
    drain = cycles * (len(steps) + len(state.flight) + chosen.resend) * 64 + 10_000
    ran = run(chosen.record(min(drain, _check.MOST)), network, state, totals, bins)
    _check_conserved(state, totals[0])
    return _result(chosen, state.queues["handled"].copy(), totals[0], bins, ran)


def _empty_state(network: Network, gate: str) -> State:
    delays = int(network.pairs["delay"].max(initial=1)) + 1
    stages = 0 if gate == "none" else int(network.pairs["stage"].max(initial=-1)) + 1
    return State(
        queues=np.zeros(network.tasks.size, QUEUE),
        pending=np.zeros(network.pairs.size, PENDING),
        flight=np.zeros((delays, network.tasks.size), FLIGHT),
        links=np.zeros(network.nodes.size, LINK),
        targets=np.zeros((stages, network.nodes.size), np.int64),
    )


def _checked_schedule(schedule: Any, nodes: int, gate: str) -> np.ndarray:
    if schedule is None:
        if gate != "none":
            raise ValueError(f"schedule must be given for gate {gate!r}: a plain Placement has none")
        return np.zeros((1, nodes), np.int64)
    try:
        given = np.asarray(schedule)
    except ValueError:
        raise ValueError(f"schedule must be steps by {nodes} nodes, got lists of unequal lengths") from None
    if given.dtype.kind not in "iu" and given.size:
        raise TypeError(f"schedule must be whole numbers, got an array of {given.dtype}")
    steps = np.ascontiguousarray(given, np.int64)
    if steps.ndim != 2 or steps.shape[1] != nodes or not len(steps):
        raise ValueError(f"schedule must be steps by {nodes} nodes, got shape {steps.shape}")
    bad = np.flatnonzero((np.sort(steps, axis=1) != np.arange(nodes)).any(axis=1))
    if bad.size:
        raise ValueError(
            f"schedule must be a permutation of the nodes in every step, got {steps[bad[0]].tolist()} in step {bad[0]}"
        )
    # To Numba a read-only array is another type.
    return steps if steps.flags.writeable else steps.copy()


def _check_joined(steps: np.ndarray, pairs: np.ndarray) -> None:
    """Raise unless the steps join every two nodes whose tasks talk to each other.

    Without that, tuples would wait for ever.
    """
    joined = np.zeros((steps.shape[1], steps.shape[1]), bool)
    joined[np.broadcast_to(np.arange(steps.shape[1]), steps.shape), steps] = True
    apart = np.flatnonzero(~joined[pairs["from_node"], pairs["to_node"]])
    if apart.size:
        pair = pairs[apart[0]]
        raise ValueError(
            "schedule must join every two nodes whose tasks talk, "
            f"got no step in which node {pair['from_node']} sends to node {pair['to_node']}"
        )


def _network(placement: Placement, distance_cost: float, schedule: np.ndarray) -> Network:
    """Return the tasks, who talks to whom, and where everything runs."""
    topology, node = placement.topology, placement.task_node
    component = topology.task_component
    tasks = np.zeros(topology.tasks, TASK)
    tasks["is_spout"] = np.isin(component, topology.spouts)
    blocks, total = [np.zeros(0, PAIR)], 0
    streams: list[tuple[int, ...]] = []
    for task in range(topology.tasks):
        tasks[task]["first_stream"] = len(streams)
        for e in np.flatnonzero(topology.edges[:, 0] == component[task]):
            v = topology.edges[e, 1]
            receivers = np.arange(topology.offsets[v], topology.offsets[v + 1])
            block = np.zeros(receivers.size, PAIR)
            block["sender"], block["receiver"], block["stage"] = task, receivers, topology.stages[e]
            block["from_node"], block["to_node"] = node[task], node[receivers]
            far = np.abs(node[receivers] - node[task])
            block["delay"] = 1 + np.ceil(distance_cost * far - 1e-9).astype(np.int64)
            blocks.append(block)
            streams.append((total, receivers.size, 0))
            total += receivers.size
        tasks[task]["end_stream"] = len(streams)
    nodes = np.zeros(placement.nodes, NODE)
    nodes["count"] = np.bincount(node, minlength=placement.nodes)
    nodes["first"] = np.cumsum(nodes["count"]) - nodes["count"]
    return Network(
        tasks=tasks,
        streams=np.array(streams, STREAM),
        pairs=np.concatenate(blocks),
        nodes=nodes,
        node_tasks=np.argsort(node, kind="stable"),
        schedule=schedule,
    )


def _check_conserved(state: State, totals: np.void) -> None:
    """Raise unless every tuple is accounted for (conservation) and none is left (liveness)."""
    queues = state.queues
    held, coming = int(queues["held"].sum()), int(queues["coming"].sum())
    left = int(queues["waiting"].sum()) + held + coming
    made, used = int(totals["entered"] + totals["created"]), int(totals["consumed"])
    if made != used + left:
        raise RuntimeError(
            f"the simulator lost tuples: {made} entered or were emitted, {used} were handled and {left} are left"
        )
    if held != state.pending["tuples"].sum() or coming != state.flight["tuples"].sum():
        raise RuntimeError("the simulator's counts disagree: held or coming tuples do not match their queues")
    if left:
        raise RuntimeError(
            f"the simulator stands still: {left} tuples are left and none has moved since slot {totals['moved']}"
        )


def _result(options: PipelineOptions, done: np.ndarray, totals: np.void, bins: np.ndarray, ran: int) -> PipelineResult:
    placement = options.placement
    body = bins[:-1]  # the last one gathers the drain
    edges = np.ceil(np.arange(len(body) + 1) * options.slots / len(body))
    delivered, everything = int(body["delivered"].sum()), int(bins["delivered"].sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        series = {
            "throughput": body["delivered"] / np.maximum(np.diff(edges), 1),
            "latency": body["latency"] / body["delivered"],
            "memory": body["memory"].copy(),
        }
    counted = ("entered", "refused", "resent", "crossed", "stayed", "stalled", "steps")
    return PipelineResult(
        delivered=delivered,
        throughput=delivered / options.slots,
        latency=float(bins["latency"].sum() / everything) if everything else math.nan,
        tuple_slots=float(bins["present"].sum()),
        peak_tuples=int(totals["peak"]),
        peak_memory=float(totals["peak"] / ((options.buffer + (options.window or 0)) * done.size)),
        mean_memory=float(body["memory"].mean()),
        node_load=np.bincount(placement.task_node, weights=done, minlength=placement.nodes),
        task_load=done,
        slots=int(ran),
        series=series,
        **{name: int(totals[name]) for name in counted},
    )
