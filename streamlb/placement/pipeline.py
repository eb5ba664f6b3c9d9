"""Pipeline-based linear scheduling: where tasks run, and which node sends to which in each step.

The method is that of Tantalaki et al. 2020. The steps of the allocation are in `matrices`, the
refinement is in `refine`. A schedule is an N x N Latin square: in step p node j sends to
schedule[p, j]. In slot k stage l runs step (k - l) mod N. The kernel here counts the parts that
each task receives in a slot.
"""

from __future__ import annotations

import json
import math
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import njit, record
from streamlb.placement import matrices, refine
from streamlb.placement.placement import Placement
from streamlb.placement.topology import Topology, checked_topology

_MOST_NODES = 2**14  # several matrices have this number squared

# A stream between two components, and its stage.
STREAM = record([("sender", "i8"), ("receiver", "i8"), ("stage", "i8")])

# Where tasks run. node int64[tasks]; offsets int64[n + 1], where each component's tasks begin;
# sorted int64[tasks], the tasks by component and node; first int64[n, N + 1], where those of a
# component on each node begin in `sorted`.
Tasks = namedtuple("Tasks", ["node", "offsets", "sorted", "first"])


@njit(cache=True, nogil=True)
def _most_parts(schedule, streams, tasks, received, most):
    """Set most[k] to the most parts that one task receives in slot k, from an empty pipeline on.

    `schedule` is int64[N, N] and `streams` STREAM[e]. `received` int64[tasks] is all zeros before
    and after.
    """
    for k in range(most.size):
        top = 0
        for sign in (1, -1):  # count, then take back: cheaper than clearing every task
            for stream in streams:
                if k < stream.stage:
                    continue
                step = (k - stream.stage) % schedule.shape[0]
                first = tasks.first[stream.receiver]
                for a in range(tasks.offsets[stream.sender], tasks.offsets[stream.sender + 1]):
                    target = schedule[step, tasks.node[a]]
                    for i in range(first[target], first[target + 1]):
                        task = tasks.sorted[i]
                        received[task] += sign
                        if sign > 0 and received[task] > top:
                            top = received[task]
        most[k] = top


@dataclass(frozen=True, eq=False)
class PipelineSchedule:
    """Hold every matrix of the method, the placement and the pipeline.

    `pipeline_schedule` makes it.

    Parameters
    ----------
    topology : Topology
        What is placed.
    nodes : int
        Nodes of the cluster (N in the paper).
    initial, components, transposed, blocks, intermediate, final : int64[t, N]
        M_init, M'_init, M'_trn of Eq. 6, M'_trn of Eq. 10, M'_inter, and M'_fin after the
        refinement; t is the tasks of the widest component and what was added.
    labels : int64[N]
        The refinement: what is ID v in M'_inter is labels[v] in M'_fin.
    schedule : int64[N, N]
        To which node each node sends, by step and node.
    period : int
        The period of the allocation, LCM(t, N), in tasks.
    placement : Placement
        The node of each task.
    occupancy : int64[slots, stages]
        The step that each stage runs in each slot, or -1 while the pipeline fills. One full period
        follows after that.
    stalls : int64[slots]
        How many extra slots the pipeline waits after each slot: one less than the most parts that
        one task received.
    """

    topology: Topology
    nodes: int
    initial: np.ndarray
    components: np.ndarray
    transposed: np.ndarray
    blocks: np.ndarray
    intermediate: np.ndarray
    labels: np.ndarray
    final: np.ndarray
    schedule: np.ndarray
    period: int
    placement: Placement
    occupancy: np.ndarray
    stalls: np.ndarray

    @property
    def named(self) -> np.ndarray:
        """M'_fin with the names of tasks, and an empty string for a dummy: object[t, N]."""
        topology, out = self.topology, np.full(self.final.shape, "", dtype=object)
        column = np.argsort(self.final, axis=1)
        for v, count in enumerate(topology.counts.tolist()):
            for q in range(count):
                out[q, column[q, v]] = topology.task_names[topology.offsets[v] + q]
        return out

    @property
    def stall_slots(self) -> int:
        """Slots lost to stalls in one full period of N steps."""
        return int(self.stalls[-self.nodes :].sum())

    def communications(self, step: int, stage: int) -> list[tuple[str, str]]:
        """Return the pairs of tasks (sender, receiver) that talk when a stage runs a step."""
        step = _check.integer("step", step, 0, self.nodes - 1)
        topology, node = self.topology, self.placement.task_node
        pairs = []
        for (u, v), at in zip(topology.edges.tolist(), topology.stages.tolist()):
            if at == stage:
                for a in range(topology.offsets[u], topology.offsets[u + 1]):
                    for b in range(topology.offsets[v], topology.offsets[v + 1]):
                        if self.schedule[step, node[a]] == node[b]:
                            pairs.append((a, b))
        return [(topology.task_names[a], topology.task_names[b]) for a, b in sorted(pairs)]

    def table(self) -> str:
        """Return the placement as text, with one line for each node."""
        return self.placement.table()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        names = ["initial", "components", "transposed", "blocks", "intermediate", "labels", "final", "schedule"]
        return {
            **self.placement.to_dict(),
            "period": self.period,
            **{name: getattr(self, name).tolist() for name in [*names, "occupancy", "stalls"]},
            "named": self.named.tolist(),
        }

    def to_json(self) -> str:
        """Return everything as JSON text."""
        return json.dumps(self.to_dict())


def pipeline_schedule(
    topology: Topology,
    nodes: int,
    refine: str | None = "restated",
    *,
    add_tasks: bool = False,
    load_factor: float = 1.0,
    seed: int | None = 0,
) -> PipelineSchedule:
    """Place the tasks of a topology on nodes and schedule who sends to whom in each step.

    Parameters
    ----------
    topology : Topology
        What to place; it must not have more components than there are nodes.
    nodes : int
        Nodes of the cluster.
    refine : {"restated", "printed", "optimised", None}
        How components that talk to each other are brought together: by Algorithm 2 of the paper as
        we restate it, by Algorithm 2 to the letter, by a local search over relabellings that is
        never worse than the others in inter-node traffic plus load, or not at all. The printed
        examples come out of both readings of Algorithm 2; they part where exchanges compete.
    add_tasks : bool
        The paper's remedy where gcd(t, N) = 1 and blocks have a single entry, so that there is
        nothing to refine: dummies raise t to the next number with a common divisor.
    load_factor : float
        For "optimised": the weight of the loads' squared coefficient of variation beside the
        inter-node share.
    seed : int, numpy.random.SeedSequence or None
        Where the local search starts.

    Returns
    -------
    PipelineSchedule

    Notes
    -----
    The allocation takes time O(tN), which is that of writing its matrices. A task's node is the
    column in which its row of M'_fin holds its component: task q of a component stands in row q.

    References
    ----------
    Tantalaki, Souravlas, Roumeliotis, Katsavounis, "Pipeline-based linear scheduling of big data
    streams in the cloud", IEEE Access 8 (2020).

    Examples
    --------
    >>> from streamlb import Topology, pipeline_schedule
    >>> t = Topology({"spout": 2, "bolt": 2}, [("spout", "bolt")])
    >>> s = pipeline_schedule(t, nodes=4)
    >>> s.schedule.tolist()
    [[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]]
    >>> print(s.table())
    N0  spout[0] bolt[1]
    N1  spout[1] bolt[0]
    N2  -
    N3  -
    """
    checked_topology(topology)
    nodes = _check.integer("nodes", nodes, 1, _MOST_NODES)
    if refine is not None:
        refine = _check.choice("refine", refine, ("restated", "printed", "optimised"))
    add_tasks = _check.flag("add_tasks", add_tasks)
    load_factor = _check.real("load_factor", load_factor, 0.0)
    seed = _check.seed_value(seed)
    if len(topology.names) > nodes:
        raise ValueError(f"nodes must be at least the number of components, {len(topology.names)}, got {nodes}")
    t = matrices.common_tasks(topology.widest, nodes) if add_tasks else topology.widest
    initial = matrices.initial(t, nodes)
    components = matrices.component_ids(initial, t)
    transposed = matrices.transpose_rows(components)
    blocks = matrices.move_blocks(transposed)
    intermediate = matrices.rotate_blocks(blocks)
    labels = _labels(topology, intermediate, refine, load_factor, seed)
    final = labels[intermediate]
    schedule = labels[matrices.square(intermediate)]
    placement = Placement(topology, nodes, _task_nodes(topology, final), f"pipeline, refine={refine}")
    occupancy = pipeline_occupancy(nodes, int(topology.stages.max(initial=-1)) + 1)
    most = parts_received(topology, placement.task_node, schedule, len(occupancy))
    return PipelineSchedule(
        topology=topology,
        nodes=nodes,
        initial=initial,
        components=components,
        transposed=transposed,
        blocks=blocks,
        intermediate=intermediate,
        labels=labels,
        final=final,
        schedule=schedule,
        period=math.lcm(t, nodes),
        placement=placement,
        occupancy=occupancy,
        stalls=np.maximum(most - 1, 0),
    )


def _labels(topology: Topology, intermediate: np.ndarray, how: str | None, load_factor: float, seed: int) -> np.ndarray:
    if how is None:
        return np.arange(intermediate.shape[1], dtype=np.int64)
    if how in refine.SWAPS:
        return refine.swapped_labels(refine.SWAPS[how](intermediate, topology.edges), intermediate.shape[1])
    return refine.optimised_labels(
        intermediate, topology.counts, topology.edges, topology.rates, load_factor=load_factor, seed=seed
    )


def _task_nodes(topology: Topology, final: np.ndarray) -> np.ndarray:
    """Return the node of each task: task q of component v is where row q of M'_fin holds v."""
    column = np.argsort(final, axis=1)
    return np.concatenate([column[:count, v] for v, count in enumerate(topology.counts.tolist())])


def pipeline_occupancy(steps: int, stages: int) -> np.ndarray:
    """Return the step that each stage runs in each slot (Algorithm 3).

    The result is int64[steps + stages - 1, stages], with -1 while the pipeline fills.

    Examples
    --------
    >>> from streamlb.placement.pipeline import pipeline_occupancy
    >>> pipeline_occupancy(3, 2).tolist()
    [[0, -1], [1, 0], [2, 1], [0, 2]]
    """
    slot, stage = np.ogrid[: steps + max(stages - 1, 0), :stages]
    return np.where(slot >= stage, (slot - stage) % steps, -1)


def parts_received(topology: Topology, task_node: np.ndarray, schedule: np.ndarray, slots: int) -> np.ndarray:
    """Return the most parts that one task receives in each slot: int64[slots].

    The pipeline stalls after a slot for one slot less than that.
    """
    nodes, component = schedule.shape[1], topology.task_component
    place = component * nodes + task_node
    counts = np.bincount(place, minlength=len(topology.names) * nodes).reshape(-1, nodes)
    first = np.concatenate([np.zeros((len(counts), 1), np.int64), np.cumsum(counts, axis=1)], axis=1)
    first += topology.offsets[:-1, None]
    tasks = Tasks(np.ascontiguousarray(task_node), topology.offsets, np.argsort(place, kind="stable"), first)
    streams = np.zeros(len(topology.edges), STREAM)
    streams["sender"], streams["receiver"] = topology.edges.T
    streams["stage"] = topology.stages
    most, received = np.zeros(slots, np.int64), np.zeros(topology.tasks, np.int64)
    _most_parts(np.ascontiguousarray(schedule, np.int64), streams, tasks, received, most)
    return most
