"""Compile what a user will need, once: later processes read the kernels from the cache.

`warmup` calls every public kernel on a few messages. It is what a driver does before it starts
Spark, so that workers find compiled kernels and never compile the same one at the same time.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import time
from collections.abc import Callable


def _keys() -> None:
    import numpy as np

    from streamlb.hashing import hash_one
    from streamlb.keys import key_array, key_int
    from streamlb.ratios import ceil_share, reaches

    key_array(["a", "b"])
    key_int("a")
    hash_one(np.uint64(1), np.uint64(0))
    reaches(1, 2, 1, 2, 0.5)
    ceil_share(2, 1, 2, 0.5)


def _streams() -> None:
    from streamlb.rng import uniforms
    from streamlb.streams import Drifting, Uniform, Zipf, execution_times

    Zipf(10, 1.0).draw(8, 1)
    Drifting(Uniform(10), [4]).draw(8, 1)
    execution_times(10)
    uniforms(1, 2)


def _sketches() -> None:
    from streamlb.sketches.cost_sketch import CostSketch
    from streamlb.sketches.count_min import CountMin
    from streamlb.sketches.space_saving import SpaceSaving

    counts = CountMin()
    counts.update([1, 2])
    counts.estimate([1])
    costs = CostSketch()
    costs.update([1, 2], [1.0, 2.0])
    costs.estimate([1])
    heavy = SpaceSaving(2)
    heavy.update([1, 2, 3])
    heavy.merge(heavy)


def _groupings() -> None:
    from streamlb.groupings.d_choices import DChoices
    from streamlb.groupings.key import KeyGrouping
    from streamlb.groupings.partial_key import PartialKeyGrouping
    from streamlb.groupings.power_of_two import PowerOfTwoChoices
    from streamlb.groupings.round_robin_head import RoundRobinHead
    from streamlb.groupings.shuffle import ShuffleGrouping
    from streamlb.groupings.w_choices import WChoices

    every = (KeyGrouping, ShuffleGrouping, PartialKeyGrouping, PowerOfTwoChoices, DChoices, WChoices, RoundRobinHead)
    for grouping in every:
        one = grouping(4)
        one.route(1)
        one.route_many([1, 2])
    # These are so many hot keys that they need more room.
    DChoices(9, theta=0.001, guard=False).route_many(range(300))


def _unequal_workers() -> None:
    from streamlb.footprint import KeyFootprint
    from streamlb.groupings.bounded_hash import BoundedLoadHashing
    from streamlb.groupings.consistent import ConsistentGrouping
    from streamlb.groupings.random_choices import PowerOfRandomChoices
    from streamlb.simulation.capacity import simulate_capacity

    consistent = ConsistentGrouping(4)
    for grouping in (PowerOfRandomChoices(4), BoundedLoadHashing(4), consistent):
        grouping.route(1)
        grouping.route_many([1, 2])
    consistent.signal(0, "busy")
    consistent.observe([0.8, 0.8, 0.8, 0.8])
    consistent.principal([1])
    consistent.remove_worker(consistent.add_worker())
    simulate_capacity([1, 2], ConsistentGrouping(2), [1, 1], slots=2)
    KeyFootprint(4, 2).add([1], [1])


def _metrics() -> None:
    from streamlb.metrics import replication

    replication([1, 2], [0, 1])


def _cluster() -> None:
    from streamlb.groupings.key import KeyGrouping
    from streamlb.simulation.cluster import simulate_cluster

    simulate_cluster([1, 2], KeyGrouping(2), in_flight=1)


def _placement() -> None:
    from streamlb.placement.pipeline import pipeline_schedule
    from streamlb.placement.topology import Topology
    from streamlb.simulation.pipeline import simulate_pipeline

    schedule = pipeline_schedule(Topology({"a": 1, "b": 1}, [("a", "b")]), 2, "optimised")
    simulate_pipeline(schedule, slots=2)


def _scheduling() -> None:
    from streamlb.scheduling.greedy import greedy_schedule
    from streamlb.scheduling.posg import POSG, POSGInstance, POSGScheduler
    from streamlb.simulation.operator import POLICIES, simulate_operator

    for machines in (2, 100):
        greedy_schedule([1.0, 2.0], machines)
    whole, half, instance = POSG(1, window=1), POSGScheduler(1, window=1), POSGInstance(0, window=1)
    whole.submit_many([1, 2])
    for _ in range(4):
        whole.complete(whole.submit(1), 1, 1.0)
        for message in instance.complete(1, 1.0, half.submit(1)[1]):
            half.receive(message)
    whole.estimate(0, 1)
    instance.learner.estimate(1)
    whole.leave(whole.join())
    for name, policy in POLICIES.items():
        options = {"warmup": False} if "warmup" in policy.takes.parameters else {}
        simulate_operator([1, 2, 3, 4], [1.0, 2.0, 3.0, 4.0], 2, name, **options)


def _shedding() -> None:
    from streamlb.shedding.baselines import RandomShedder, StrawMan
    from streamlb.shedding.local import LoadAwareShedder
    from streamlb.shedding.remote import RemoteOperator, RemoteShedder
    from streamlb.simulation.shedding import POLICIES, simulate_shedding

    for policy in POLICIES:
        simulate_shedding([1, 2, 3, 4], [1.0, 2.0, 3.0, 4.0], policy)
    whole = LoadAwareShedder(1.0, window=1, reports=1)
    whole.train([1, 1], [1.0, 1.0])
    half, operator = RemoteShedder(1.0, window=1, reports=1), RemoteOperator(window=1, reports=1)
    for now in range(4):
        if not whole.offer(1, float(now)):
            whole.complete(1, 1.0)
        if not half.offer(1, float(now)):
            for message in operator.complete(1, 1.0, now + 1.0, half.request):
                half.receive(message)
    whole.estimate(1)
    whole.expected_wait(9.0)
    StrawMan(1.0, 1.0).offer(1, 0.0)
    RandomShedder(0.5).offer(1, 0.0)


# What is compiled, by name, in this order; each call is quick once its kernels are cached.
STEPS: list[tuple[str, Callable[[], None]]] = [
    ("keys", _keys),
    ("streams", _streams),
    ("sketches", _sketches),
    ("groupings", _groupings),
    ("unequal workers", _unequal_workers),
    ("metrics", _metrics),
    ("cluster", _cluster),
    ("placement", _placement),
    ("scheduling", _scheduling),
    ("shedding", _shedding),
]


@contextlib.contextmanager
def _rare_collections():
    """Let Python look for garbage less often: compiling makes many objects, and little of it."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _mark() -> None:
    """Leave a note in the cache that all is there, for `streamlb info`."""
    from streamlb._jit import warm_mark

    with contextlib.suppress(OSError):  # nowhere to write: nothing was kept either
        open(warm_mark(), "w").close()


def warmup(progress: bool = True) -> float:
    """Compile every kernel that is not in the cache yet.

    Parameters
    ----------
    progress : bool
        Show on stderr what is being compiled, in one line that changes (a file gets its end only).

    Returns
    -------
    float
        The seconds it took: a few tenths from a warm cache.
    """
    start = time.perf_counter()
    live = progress and sys.stderr.isatty()  # a log file gets the last line only
    with _rare_collections():
        for number, (name, step) in enumerate(STEPS, 1):
            if live:
                sys.stderr.write(f"\rstreamlb: preparing kernels {number}/{len(STEPS)}: {name:<20}")
                sys.stderr.flush()
            step()
    _mark()
    seconds = time.perf_counter() - start
    if progress:
        line = f"streamlb: kernels ready in {seconds:.1f} s"
        sys.stderr.write(f"\r{line:<60}\n" if live else f"{line}\n")
    return seconds
