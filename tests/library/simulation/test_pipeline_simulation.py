"""The slotted simulator against its naive twin, Little's law, and the bound on gated bolts."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import placement as naive
from strategies import topologies
from streamlb.analysis import busy_fraction_bound

from streamlb import Topology, even_schedule, pipeline_schedule, resource_aware_schedule, simulate_pipeline
from streamlb.placement.examples import PAPER_NODES, paper_topology

LINE = Topology({"s": 2, "b": 2}, [("s", "b")])


@settings(max_examples=60)
@given(
    topology=topologies(4, 3),
    extra=st.integers(0, 2),
    gate=st.sampled_from(["none", "steps", "work-conserving"]),
    stalls=st.booleans(),
    load=st.sampled_from([0.2, 0.7, 1.0]),
    part=st.integers(1, 6),
    cores=st.integers(1, 3),
    room=st.integers(1, 4),
    window=st.integers(1, 30),
    bandwidth=st.integers(1, 12),
    distance=st.sampled_from([0.0, 0.3, 1.0]),
    resend=st.integers(1, 4),
    seed=st.integers(0, 9),
)
def test_matches_naive(
    topology, extra, gate, stalls, load, part, cores, room, window, bandwidth, distance, resend, seed
):
    nodes = len(topology.names) + extra
    s = pipeline_schedule(topology, nodes)
    options = dict(
        gate=gate, stalls=stalls, slots=25, load=load, part=part, cores=cores, buffer=room * part, window=window,
        bandwidth=bandwidth, distance_cost=distance, resend=resend, seed=seed,
    )  # fmt: skip
    ref = naive.simulate_pipeline(
        s.placement.task_node.tolist(),
        topology.task_component.tolist(),
        topology.edges.tolist(),
        topology.stages.tolist(),
        topology.spouts,
        s.schedule.tolist(),
        **options,
    )
    comp = simulate_pipeline(s, bins=25, **options)  # one bin for each slot
    for name in ("entered", "refused", "resent", "crossed", "stayed", "stalled", "slots", "steps", "delivered"):
        assert getattr(comp, name) == ref[name], name
    assert comp.task_load.tolist() == ref["done"]
    assert comp.peak_tuples == ref["peak"]
    # Over a whole run latencies only depend on when tuples go; slot by slot also on which ones.
    delay_of = np.nan_to_num(comp.series["latency"]) * comp.series["throughput"]
    assert delay_of == pytest.approx(np.array(ref["delay_of"]), rel=1e-9, abs=1e-9)
    if ref["sink"]:
        assert comp.latency == pytest.approx(ref["latency"] / ref["sink"], rel=1e-9)
    else:
        assert math.isnan(comp.latency)


def test_a_line_of_one_takes_a_slot_a_hop():
    line = Topology({"a": 1, "b": 1, "c": 1}, [("a", "b"), ("b", "c")])
    r = simulate_pipeline(even_schedule(line, 3), load=1.0, slots=50, part=8)
    assert r.latency == 3.0
    assert r.throughput == 8 * 48 / 50  # the first part reaches the sink in the third slot
    far = simulate_pipeline(even_schedule(line, 3), load=1.0, slots=50, part=8, distance_cost=2.0)
    assert far.latency == 3.0 + 2 * 2.0


@pytest.mark.bound
@pytest.mark.parametrize("gate", ["none", "steps", "work-conserving"])
@pytest.mark.parametrize("load", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("case", ["linear", "linear5"])
def test_latency_obeys_littles_law(case, load, gate):
    """Over a run that starts and ends empty the law is an identity.

    Only sums of floats round, which 1e-9 covers.

    A tuple that enters in slot a and leaves at the end of slot b is counted at the end of slots
    a..b-1: its latency less one.
    """
    s = pipeline_schedule(paper_topology(case), PAPER_NODES[case])
    r = simulate_pipeline(s, gate=gate, load=load, slots=300, part=16, bandwidth=20, distance_cost=0.3, buffer=64)
    assert r.tuple_slots == pytest.approx((r.latency - 1) * r.entered, rel=1e-9)


@pytest.mark.parametrize("case", list(PAPER_NODES))
def test_each_receiving_component_gets_a_copy(case):
    topology = paper_topology(case)
    r = simulate_pipeline(pipeline_schedule(topology, PAPER_NODES[case]), gate="steps", load=0.1, slots=300, part=16)
    handled = np.add.reduceat(r.task_load, topology.offsets[:-1])
    assert handled.tolist() == (r.entered * topology.rates / topology.rates[0]).tolist()


@pytest.mark.bound
@pytest.mark.parametrize("case", list(PAPER_NODES))
@pytest.mark.parametrize("stalls", [True, False])
@pytest.mark.parametrize("slots", [1, 8, 60, 1500])
def test_a_gated_bolt_is_never_busier_than_its_bound(case, stalls, slots):
    """This is exact: in N steps a bolt gets at most a part from each upstream task.

    Runs as short as a few cycles leave no room for a bound that is off by one. Stalls count as the
    run had them: how many there are depends on what is sent.
    """
    topology, nodes = paper_topology(case), PAPER_NODES[case]
    part = 32
    r = simulate_pipeline(
        pipeline_schedule(topology, nodes), gate="steps", stalls=stalls, load=1.0, slots=slots, part=part
    )
    cycles = -(-r.steps // nodes)
    for task, component in enumerate(topology.task_component.tolist()):
        senders = topology.edges[topology.edges[:, 1] == component, 0]
        if senders.size:
            upstream = int(topology.counts[senders].sum())
            assert r.task_load[task] <= part * upstream * cycles
            # The slots of whole cycles, with the stalls of the run.
            longest = cycles * nodes + r.stalled
            busy = Fraction(int(r.task_load[task]), part * longest)
            assert busy <= busy_fraction_bound(upstream, nodes, Fraction(r.stalled, cycles))


@pytest.mark.parametrize("case", list(PAPER_NODES))
@pytest.mark.parametrize("gate", ["none", "steps", "work-conserving"])
def test_small_windows_and_buffers_never_stand_still(case, gate):
    # Every run checks conservation and liveness itself and raises where they fail.
    s = pipeline_schedule(paper_topology(case), PAPER_NODES[case])
    r = simulate_pipeline(s, gate=gate, load=1.0, slots=400, part=8, buffer=8, window=1, bandwidth=4, distance_cost=0.5)
    assert r.delivered > 0


def test_seed_and_settings_matter():
    s = even_schedule(LINE, 2)
    runs = [simulate_pipeline(s, load=0.3, slots=300, seed=seed) for seed in (1, 1, 2)]
    assert runs[0].entered == runs[1].entered
    assert runs[0].latency == runs[1].latency
    assert runs[0].entered != runs[2].entered
    # Chance: a share of 600 Bernoulli draws at .3; six standard deviations, 1e-8 for a false alarm.
    assert abs(runs[0].entered / 64 / 600 - 0.3) < 6 * math.sqrt(0.3 * 0.7 / 600)


def test_work_conserving_keeps_buffers_small():
    s = pipeline_schedule(paper_topology("diamond"), 8)
    free = simulate_pipeline(s, load=1.0, slots=500)
    kept = simulate_pipeline(s, gate="work-conserving", load=1.0, slots=500, window=256)
    assert kept.peak_tuples < free.peak_tuples


def test_results_add_up():
    s = resource_aware_schedule(paper_topology("random"), 9)
    r = simulate_pipeline(s, load=0.4, slots=200, bins=7)
    assert r.node_load.sum() == r.task_load.sum()
    assert r.crossed + r.stayed == r.task_load[6:].sum()  # every bolt's tuple was sent once
    assert len(r.series["throughput"]) == 7
    width = np.diff(np.ceil(np.arange(8) * 200 / 7))
    assert (r.series["throughput"] * width).sum() == pytest.approx(r.delivered)
    assert 0 <= r.mean_memory <= r.peak_memory <= 1.5
    assert r.inter_node_share == pytest.approx(s.inter_node_share(), abs=0.05)
    assert r.load_deviation > 1  # three of nine nodes do the work


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (dict(gate="steps"), ValueError, "schedule must be given"),
        (dict(gate="open"), ValueError, "gate must be one of"),
        (
            dict(gate="steps", schedule=[[0, 0]]),
            ValueError,
            r"permutation of the nodes in every step, got \[0, 0\] in step 0",
        ),
        (dict(gate="steps", schedule=[[0, 1]]), ValueError, "no step in which node 0 sends to node 1"),
        (dict(schedule=[0, 1]), ValueError, "steps by 2 nodes"),
        (dict(load=1.5), ValueError, "load must be in"),
        (dict(part=0), ValueError, "part must be in"),
        (dict(buffer=10), ValueError, r"buffer must be in \[64, "),
        (dict(slots=0), ValueError, "slots"),
        (dict(bandwidth=0.5), TypeError, "bandwidth must be an integer"),
        (dict(distance_cost=-1.0), ValueError, "distance_cost"),
        (dict(resend=0), ValueError, "resend"),
        (dict(bins=0), ValueError, "bins"),
    ],
)
def test_bad_options_are_named(options, error, message):
    with pytest.raises(error, match=message):
        simulate_pipeline(even_schedule(LINE, 2), **options)


def test_placement_must_be_one():
    with pytest.raises(TypeError, match="Placement"):
        simulate_pipeline(LINE)
