"""Whole numbers that no kernel holds, or no memory, are refused by the name of their argument."""

import numpy as np
import pytest

import streamlb as lb

HUGE = 2**70
TOPOLOGY = lb.Topology({"s": 2, "b": 2}, [("s", "b")])


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("seed", lambda: lb.KeyGrouping(4, seed=HUGE)),
        ("seed", lambda: lb.KeyGrouping(4, seed=2**64)),
        ("seed", lambda: lb.KeyGrouping(4, seed=-(2**63) - 1)),
        ("window", lambda: lb.RemoteShedder(window=HUGE)),
        ("span", lambda: lb.LoadAwareShedder(span=HUGE)),
        ("window", lambda: lb.LoadAwareShedder(window=HUGE)),
        ("messages", lambda: lb.Zipf(10, 1.0, messages=HUGE)),
        ("messages", lambda: lb.Uniform(10, messages=HUGE)),
        ("messages", lambda: lb.tweets(messages=HUGE)),
        ("returning", lambda: lb.Drifting(lb.Uniform(10), [5], returning=HUGE)),
        ("workers", lambda: lb.even_schedule(TOPOLOGY, 4, workers=HUGE)),
        ("nodes", lambda: lb.even_schedule(TOPOLOGY, HUGE)),
        ("slots", lambda: lb.even_schedule(TOPOLOGY, 4, slots=2**60)),
        ("nodes", lambda: lb.pipeline_schedule(TOPOLOGY, 2**60)),
        ("nodes", lambda: lb.resource_aware_schedule(TOPOLOGY, 2**60)),
        ("window", lambda: lb.POSG(2, window=HUGE)),
        ("window", lambda: lb.POSGScheduler(2, window=HUGE)),
        ("window", lambda: lb.POSGInstance(instance=0, window=HUGE)),
        ("resync", lambda: lb.POSG(2, resync=HUGE)),
        ("timeout", lambda: lb.POSG(2, timeout=HUGE)),
        ("window", lambda: lb.RemoteOperator(window=HUGE)),
        ("slot", lambda: lb.ConsistentGrouping(4, slot=2**63)),
        ("n", lambda: lb.head_tail_load([1], [0], [1], n=HUGE)),
        ("keys", lambda: lb.KeyFootprint(2**60, 4)),
        ("workers", lambda: lb.KeyFootprint(4, 2**60)),
        ("keys", lambda: lb.execution_times(2**60)),
        ("values", lambda: lb.execution_times(10, values=2**60)),
        ("slots", lambda: lb.diurnal(2**60)),
        ("workers", lambda: lb.fast_and_slow(2**60, 1, 2.0)),
        ("messages", lambda: lb.seven_phases(messages=2**60)),
        ("workers", lambda: lb.PartialCounts(HUGE)),
        ("weights", lambda: lb.KeyGrouping(4).route_many([1, 2], [1, HUGE])),
        ("weights", lambda: lb.KeyGrouping(4).route_many([1, 2], [1, -HUGE])),
        (
            "distance_cost",
            lambda: lb.simulate_pipeline(lb.pipeline_schedule(TOPOLOGY, 4), slots=20, distance_cost=1e19),
        ),
        ("distance_cost", lambda: lb.simulate_pipeline(lb.pipeline_schedule(TOPOLOGY, 4), slots=20, distance_cost=1e9)),
    ],
)
def test_a_number_too_large_is_refused_by_name(name, call):
    with pytest.raises(ValueError, match=rf"^{name}\S* must be .*, got "):
        call()


def test_seeds_of_64_bits_are_taken():
    assert lb.KeyGrouping(4, seed=2**64 - 1).seed == lb.KeyGrouping(4, seed=-1).seed == 2**64 - 1
    assert lb.KeyGrouping(4, seed=np.int64(-5)).seed == 2**64 - 5


def test_other_arguments_are_named():
    with pytest.raises(TypeError, match=r"^points must be a sequence of whole numbers, got 5"):
        lb.Drifting(lb.Uniform(10), 5)
    with pytest.raises(TypeError, match=r"^hot must hold keys"):
        lb.head_tail_load([1], [0], 5, 1)
    for scale in (5e-324, 1e308):
        for stream in (lb.cashtags, lb.wikipedia):
            with pytest.raises(ValueError, match=r"^scale must be in "):
                stream(scale)


def test_flags_are_flags():
    with pytest.raises(TypeError, match=r"^add_tasks must be True or False, got 'x'"):
        lb.pipeline_schedule(TOPOLOGY, 2, add_tasks="x")
