"""Topologies, allocation matrices, refinement and comparators.

They stand against their twins, the closed form and the examples that the paper prints.
"""

import json
import math
import os
import pickle
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import placement as naive
from strategies import topologies
from streamlb.analysis import (
    allocation_period,
    best_relabelling,
    birkhoff_bound,
    birkhoff_steps,
    inter_node_share_bound,
    latin_matrix,
    pipeline_moves,
    relabelling_shares,
    weighted_schedule,
)

from streamlb import Placement, Topology, even_schedule, pipeline_schedule, resource_aware_schedule
from streamlb.placement import matrices, refine
from streamlb.placement.examples import PAPER_NODES, paper_topology
from streamlb.placement.pipeline import parts_received, pipeline_occupancy
from streamlb.placement.show import draw_pipeline, draw_schedule, draw_step


def steps_of(t, n):
    init = matrices.initial(t, n)
    comp = matrices.component_ids(init, t)
    trn = matrices.transpose_rows(comp)
    moved = matrices.move_blocks(trn)
    return init, comp, trn, moved, matrices.rotate_blocks(moved)


# --- topology


@pytest.mark.parametrize(
    ("components", "edges", "error", "message"),
    [
        ({}, [], ValueError, "empty"),
        ({"a": 0}, [], ValueError, "tasks of component 'a' must be at least 1, got 0"),
        ({"a": 1.5}, [], TypeError, "tasks of component 'a' must be an integer, got 1.5"),
        ({"a": True}, [], TypeError, "integer"),
        ({"a": 1}, [("a", "b")], ValueError, "unknown component 'b'"),
        ({"a": 1}, [("a", "a")], ValueError, "cycle, got a -> a"),
        (
            {"s": 1, "a": 1, "b": 1},
            [("s", "a"), ("a", "b"), ("b", "a")],
            ValueError,
            "cycle, got (a -> b -> a|b -> a -> b)",
        ),
        ({"a": 1, "b": 1}, [("a", "b"), ("a", "b")], ValueError, "distinct"),
        ({"a": 1, "b": 1}, ["ab"], ValueError, "pairs"),
        ({"a": 1, "b": 1}, [5], ValueError, "pairs"),
        ({"a": 1, "b": 1}, None, TypeError, "pairs"),
        ({"a": 1, "b": 1}, [(["a"], "b")], ValueError, "unknown component"),
        ({3: 1}, [], TypeError, "names"),
        ([("a", 1)], [], TypeError, "mapping"),
    ],
)
def test_bad_topologies_are_named(components, edges, error, message):
    with pytest.raises(error, match=message):
        Topology(components, edges)


def test_spouts_must_reach_everything_and_receive_nothing():
    with pytest.raises(ValueError, match="reachable from a spout, got 'b'"):
        Topology({"a": 1, "b": 1, "c": 1}, [("a", "c"), ("b", "c")], spouts=["a"])
    with pytest.raises(ValueError, match="no incoming stream, got 'c'"):
        Topology({"a": 1, "c": 1}, [("a", "c")], spouts=["c"])
    with pytest.raises(ValueError, match="components of the topology, got 'z'"):
        Topology({"a": 1}, [], spouts=["z"])


def test_task_names_are_checked():
    with pytest.raises(ValueError, match="a name for each of the 2 tasks of 'a', got 1"):
        Topology({"a": 2}, [], task_names={"a": "X"})
    with pytest.raises(ValueError, match="got 'b'"):
        Topology({"a": 2}, [], task_names={"b": "XY"})


@given(topologies())
def test_networkx_agrees_on_depth_and_survives_the_round_trip(topology):
    graph = nx.DiGraph()
    for name, count in zip(topology.names, topology.counts.tolist()):
        graph.add_node(name, tasks=count)
    graph.add_edges_from((topology.names[a], topology.names[b]) for a, b in topology.edges)
    back = Topology.from_networkx(graph)
    assert back.names == topology.names
    assert (back.counts == topology.counts).all()
    assert set(map(tuple, back.edges.tolist())) == set(map(tuple, topology.edges.tolist()))
    ref = {name: 0 for name in graph}
    for name in nx.topological_sort(graph):
        ref[name] = max((ref[p] + 1 for p in graph.predecessors(name)), default=0)
    assert dict(zip(topology.names, topology.depth.tolist())) == ref


def test_undirected_graphs_are_refused():
    with pytest.raises(TypeError, match="directed"):
        Topology.from_networkx(nx.Graph([("a", "b")]))
    with pytest.raises(TypeError, match="directed"):
        Topology.from_networkx("graph")


@pytest.mark.parametrize("schedule", [pipeline_schedule, even_schedule, resource_aware_schedule])
def test_only_a_topology_is_scheduled(schedule):
    with pytest.raises(TypeError, match="topology must be a Topology, got dict"):
        schedule({"a": 1}, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]", "YAML mapping"),
        ("spouts: [{parallelism: 2}]", "with an id"),
        ("spouts: [{id: a}, {id: a}]", "'a' twice"),
        ("spouts: [{id: a}]\nstreams: [{from: a}]", "from and to"),
        ("spouts: [{id: a, parallelism: 0}]", "at least 1"),
        ("bolts: [{id: b}]", "reachable from a spout, got 'b'"),
        ("", "YAML mapping"),
        ("a: [", "text must be YAML"),
        ("spouts: 5", "spouts must be a list, got 5"),
        ("spouts: [{id: a}]\nstreams: {from: a, to: b}", "streams must be a list"),
    ],
)
def test_bad_yaml_is_named(text, message):
    with pytest.raises(ValueError, match=message):
        Topology.from_yaml(text)


def test_rates_follow_copies():
    diamond = paper_topology("diamond")
    # Both middle bolts get a copy, the sink gets both.
    assert diamond.rates.tolist() == [10, 10, 10, 20]
    assert diamond.sinks == (3,)
    assert diamond.limited(4).counts.tolist() == [4, 4, 4, 4]


# --- allocation


@given(st.integers(1, 30), st.integers(1, 30))
def test_allocation_matches_naive(t, n):
    for ref, comp in zip(naive.pipeline_steps(t, n), steps_of(t, n)):
        assert comp.tolist() == ref


@pytest.mark.bound
def test_steps_equal_the_closed_form_and_are_latin():
    """This is exact, so there is no chance of a false alarm."""
    for t in range(1, 41):
        for n in range(1, 41):
            inter = steps_of(t, n)[-1]
            square = matrices.square(inter)
            whole = latin_matrix(t, n, max(t, n))
            assert (inter == whole[:t]).all()
            assert (square == whole[:n]).all()
            assert (np.sort(square, axis=0) == np.arange(n)[:, None]).all()
            assert (np.sort(square, axis=1) == np.arange(n)).all()


@pytest.mark.bound
@given(st.integers(1, 14), st.integers(1, 14))
def test_period_is_the_least_common_multiple(t, n):
    """This is exact: tasks share node and class where they are a multiple of the period apart."""
    short = t // math.gcd(t, n)
    tasks = [(x, x % n, (x // n) % short) for x in range(t * n)]
    for x, node, cls in tasks:
        for y, other, other_cls in tasks:
            assert ((node, cls) == (other, other_cls)) == ((x - y) % allocation_period(t, n) == 0)


@given(st.integers(1, 20), st.integers(1, 20))
def test_moves_are_those_of_the_matrices(t, n):
    moves = pipeline_moves(t, n)
    assert moves["rows"] == int((matrices.row_targets(t, n) != np.arange(t)).sum())
    targets = matrices.block_targets(t, n)
    assert moves["blocks"] == int((targets != np.arange(len(targets))[:, None]).sum())


# --- refinement


@given(topologies(8, 8), st.integers(0, 6))
def test_refinement_matches_naive(topology, extra):
    nodes = len(topology.names) + extra
    inter = steps_of(topology.widest, nodes)[-1]
    ref = naive.refinement(inter.tolist(), topology.edges.tolist())
    assert refine.restated_swaps(inter, topology.edges) == ref
    ref = naive.refined_to_the_letter(inter.tolist(), set(map(tuple, topology.edges.tolist())))
    assert pipeline_schedule(topology, nodes, "printed").final.tolist() == ref


@settings(max_examples=150)
@given(st.data(), st.integers(2, 6), st.integers(1, 3), st.integers(2, 4))
def test_refinement_of_large_blocks_matches_naive(data, block, t, n):
    # With blocks of several IDs and many streams, exchanges compete for IDs, and the limit of half
    # a block is reached.
    t, n = block * t, block * n
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] != pair[1])
    edges = data.draw(st.lists(pairs, min_size=n, max_size=4 * n, unique=True))
    inter = steps_of(t, n)[-1]
    ref = naive.refinement(inter.tolist(), edges)
    assert refine.restated_swaps(inter, np.array(edges, np.int64)) == ref
    ref = naive.refined_to_the_letter(inter.tolist(), set(edges))
    swaps = refine.printed_swaps(inter, np.array(edges, np.int64))
    assert refine.swapped_labels(swaps, n)[inter].tolist() == ref


def test_the_two_readings_of_algorithm_2_part_where_exchanges_compete():
    # Half of a block of three is one exchange. To the letter the count of block 0 still stands when
    # block 1 begins, and 2 -> 4 only sets it back; as restated each block has a count of its own.
    inter = steps_of(6, 9)[-1]
    assert refine.block_members(inter).tolist() == [[0, 3, 6], [2, 5, 8], [1, 4, 7]]
    edges = np.array([[0, 1], [2, 4]])
    assert refine.printed_swaps(inter, edges) == [(6, 1)]
    assert refine.restated_swaps(inter, edges) == [(6, 1), (8, 4)]
    # 0 -> 2 uses up block 0. To the letter 0 -> 1 sets the count back, so that 2, which has just
    # moved, serves as a sender of block 1.
    edges = np.array([[0, 1], [0, 2], [2, 4]])
    assert refine.printed_swaps(inter, edges) == [(6, 2), (8, 4)]
    assert refine.restated_swaps(inter, edges) == [(6, 2)]


def test_to_the_letter_an_id_may_move_twice():
    # 0 -> 1 and 0 -> 2 both exchange 9, the first entry of R-, because k begins afresh for each two
    # blocks: 9 goes to the place of 1 and then to that of 2, and 1 and 2 go where 9 was.
    inter = steps_of(4, 12)[-1]
    assert refine.block_members(inter)[:2].tolist() == [[0, 3, 6, 9], [1, 4, 7, 10]]
    edges = np.array([[0, 1], [0, 2]])
    assert refine.restated_swaps(inter, edges) == [(9, 1), (6, 2)]
    swaps = refine.printed_swaps(inter, edges)
    assert swaps == [(9, 1), (9, 2)]
    assert refine.swapped_labels(swaps, 12)[[9, 1, 2]].tolist() == [1, 2, 9]


@given(st.integers(1, 40), st.integers(1, 40))
def test_added_tasks_are_the_fewest_with_a_common_divisor(t, n):
    assert matrices.common_tasks(t, n) == naive.tasks_with_a_common_divisor(t, n)


@given(topologies(5, 6), st.integers(0, 6))
def test_added_tasks_are_dummies(topology, extra):
    nodes = len(topology.names) + extra
    s = pipeline_schedule(topology, nodes, add_tasks=True)
    t = matrices.common_tasks(topology.widest, nodes)
    assert s.final.shape == (t, nodes)
    assert s.placement.task_node.tolist() == naive.task_nodes(s.final.tolist(), topology.counts.tolist())
    assert (np.sort(s.schedule, axis=0) == np.arange(nodes)[:, None]).all()
    assert sorted(name for row in s.named for name in row if name) == sorted(topology.task_names)
    if math.gcd(topology.widest, nodes) > 1:
        assert (s.final == pipeline_schedule(topology, nodes).final).all()


def test_added_tasks_give_the_refinement_something_to_exchange():
    topology = Topology({"a": 5, "b": 5, "c": 5}, [("a", "b"), ("b", "c")])
    plain, added = (pipeline_schedule(topology, 9, add_tasks=add) for add in (False, True))
    assert (plain.labels == np.arange(9)).all()
    assert (added.labels != np.arange(9)).any()


def test_refinement_does_nothing_where_the_gcd_is_one():
    topology = Topology({"a": 5, "b": 5, "c": 5}, [("a", "b"), ("b", "c")])
    s = pipeline_schedule(topology, 7)
    assert (s.final == s.intermediate).all()


@settings(max_examples=120)
@given(topologies(6, 6), st.integers(0, 4), st.integers(0, 9))
def test_climb_matches_naive(topology, extra, seed):
    nodes = len(topology.names) + extra
    column = refine.columns_of(steps_of(topology.widest, nodes)[-1])
    rng = np.random.default_rng(seed)
    start, order = rng.permutation(nodes)[: len(topology.names)], rng.permutation(nodes)
    rates, counts, edges = topology.rates, topology.counts, topology.edges
    lists = [list(map(tuple, edges.tolist())), rates.tolist()]
    ref = naive.climb(column.tolist(), counts.tolist(), *lists, start.tolist(), order.tolist(), 5, 0.7)
    slot = refine.climb(refine.relabelling_problem(column, counts, edges, rates, 0.7), start, order, 5)
    assert slot.tolist() == ref
    value = naive.relabelling_objective(column.tolist(), counts.tolist(), *lists, ref, 0.7)
    assert refine.objective(column, counts, edges, rates, slot, 0.7) == pytest.approx(value, abs=1e-12)


@given(topologies(6, 8), st.integers(0, 6), st.integers(0, 3))
def test_optimised_is_never_worse_than_algorithm_2(topology, extra, seed):
    nodes = len(topology.names) + extra

    def value(s):
        loads = s.placement.node_loads()
        return s.placement.inter_node_share() + nodes * (loads**2).sum() - 1

    optimised = pipeline_schedule(topology, nodes, "optimised", seed=seed)
    for how in ("restated", "printed", None):
        assert value(optimised) <= value(pipeline_schedule(topology, nodes, how)) + 1e-9
    assert (optimised.final == pipeline_schedule(topology, nodes, "optimised", seed=seed).final).all()


@pytest.mark.bound
@pytest.mark.parametrize("load_factor", [0, 1])
@pytest.mark.parametrize("case", ["random", "linear"])
def test_optimised_reaches_the_exact_optimum_of_the_examples(case, load_factor):
    """The optimum is found by trying every relabelling in exact arithmetic.

    The search is deterministic for its seed, so there is no chance of a false alarm.
    """
    topology, nodes = paper_topology(case), PAPER_NODES[case]
    counts, edges = topology.counts.tolist(), list(map(tuple, topology.edges.tolist()))
    best, _ = best_relabelling(topology.widest, nodes, counts, edges, load_factor)
    s = pipeline_schedule(topology, nodes, "optimised", load_factor=float(load_factor))
    places = tuple(np.argsort(s.labels)[: len(counts)].tolist())
    share, loads = relabelling_shares(topology.widest, nodes, counts, edges, places)
    assert share + load_factor * (nodes * sum(x * x for x in loads) - 1) == best
    assert float(share) == pytest.approx(s.placement.inter_node_share(), abs=1e-12)
    assert list(map(float, loads)) == pytest.approx(s.placement.node_loads().tolist(), abs=1e-12)


@pytest.mark.bound
@given(topologies(5, 9), st.integers(0, 8))
def test_no_relabelling_beats_the_inter_node_bound(topology, extra):
    """The bound on every stream is exact; 1e-12 covers rounding, so there is no false alarm."""
    nodes = len(topology.names) + extra
    for how in (None, "restated", "printed", "optimised"):
        share = pipeline_schedule(topology, nodes, how).placement.inter_node_share()
        edges, rates = topology.edges, topology.rates
        if len(edges):
            low = [inter_node_share_bound(int(topology.counts[a]), int(topology.counts[b]), nodes) for a, b in edges]
            least = sum(rates[a] * float(x) for (a, _), x in zip(edges, low)) / rates[edges[:, 0]].sum()
            assert share >= least - 1e-12


# --- schedule


@given(topologies(), st.integers(0, 6), st.sampled_from([None, "restated", "printed", "optimised"]))
def test_schedule_matches_naive(topology, extra, how):
    nodes = len(topology.names) + extra
    s = pipeline_schedule(topology, nodes, how)
    assert s.period == math.lcm(topology.widest, nodes)
    assert (np.sort(s.schedule, axis=0) == np.arange(nodes)[:, None]).all()
    assert (s.schedule[: topology.widest] == s.final[:nodes]).all()
    assert s.placement.task_node.tolist() == naive.task_nodes(s.final.tolist(), topology.counts.tolist())
    ref = naive.most_parts(
        s.schedule.tolist(),
        s.placement.task_node.tolist(),
        topology.task_component.tolist(),
        topology.edges.tolist(),
        topology.stages.tolist(),
        len(s.stalls),
    )
    assert s.stalls.tolist() == [max(x - 1, 0) for x in ref]
    names = [name for row in s.named for name in row if name]
    assert sorted(names) == sorted(topology.task_names)


def test_every_two_talking_tasks_are_joined_once_a_period():
    for case, nodes in PAPER_NODES.items():
        s = pipeline_schedule(paper_topology(case), nodes)
        joined = [
            p for stage in range(s.occupancy.shape[1]) for step in range(nodes) for p in s.communications(step, stage)
        ]
        wanted = sum(int(s.topology.counts[a] * s.topology.counts[b]) for a, b in s.topology.edges)
        assert len(joined) == len(set(joined)) == wanted


def test_pipeline_fills_then_turns():
    assert pipeline_occupancy(4, 3).tolist() == [[0, -1, -1], [1, 0, -1], [2, 1, 0], [3, 2, 1], [0, 3, 2], [1, 0, 3]]


def test_parts_of_several_stages_add_up_at_one_task():
    # a -> b -> c and a -> c: with every task on one node c receives from both stages in one slot
    topology = Topology({"a": 1, "b": 1, "c": 1}, [("a", "b"), ("b", "c"), ("a", "c")])
    assert parts_received(topology, np.zeros(3, np.int64), np.zeros((1, 1), np.int64), 3).tolist() == [1, 2, 2]


def test_more_components_than_nodes_are_refused():
    with pytest.raises(ValueError, match="at least the number of components, 5, got 4"):
        pipeline_schedule(paper_topology("random"), 4)
    with pytest.raises(ValueError, match="refine must be"):
        pipeline_schedule(paper_topology("random"), 9, "best")
    with pytest.raises(TypeError, match="nodes must be an integer"):
        pipeline_schedule(paper_topology("random"), 9.0)


def test_json_holds_everything():
    s = pipeline_schedule(paper_topology("linear"), 8)
    data = json.loads(s.to_json())
    assert data["schedule"] == s.schedule.tolist()
    assert data["tasks"]["L"] == 0
    assert data["period"] == 8
    assert Topology(data["topology"]["components"], data["topology"]["edges"]).to_dict() == s.topology.to_dict()
    assert json.loads(even_schedule(s.topology, 8).to_json())["scheduler"] == "even"


def test_pictures_show_what_is_there():
    s = pipeline_schedule(paper_topology("random"), 9)
    bars = draw_pipeline(s).axes[0].containers
    assert len(bars) == (s.occupancy >= 0).sum()
    shown = {text.get_text() for text in draw_step(s, 0).axes[0].texts}
    assert set(s.topology.task_names) <= shown
    image = draw_schedule(s).axes[0].images[0].get_array()
    assert (np.asarray(image) == s.schedule).all()


def test_placements_are_checked_and_travel():
    line = Topology({"s": 2, "b": 1}, [("s", "b")])
    with pytest.raises(ValueError, match="each of the 3 tasks"):
        Placement(line, 2, np.zeros(2), "mine")
    with pytest.raises(ValueError, match=r"in \[0, 1\], got 0 to 2"):
        Placement(line, 2, np.array([0, 1, 2]), "mine")
    s = pickle.loads(pickle.dumps(pipeline_schedule(line, 3)))
    assert s.topology == line
    assert hash(s.topology) == hash(line)
    assert s.topology != Topology({"s": 2, "b": 2}, [("s", "b")])
    assert s.table() == pipeline_schedule(line, 3).table()


_KERNELS = """
import numpy as np
from streamlb import Topology, pipeline_schedule, simulate_pipeline
from streamlb.placement import pipeline, refine
from streamlb.placement.examples import paper_topology
from streamlb.simulation.pipeline import kernels as simulation

for topology in (paper_topology("random"), Topology({"a": 1}, []), paper_topology("linear5")):
    s = pipeline_schedule(topology, 9, "optimised", load_factor=1, seed=np.random.SeedSequence(7))
    for gate in ("none", "steps", "work-conserving"):
        simulate_pipeline(s, gate=gate, slots=5, load=0.5, bandwidth=3, distance_cost=0.5, window=4)
        simulate_pipeline(s.placement, schedule=s.schedule.tolist(), gate=gate, slots=np.int32(5), load=1)
for module in (pipeline, refine, simulation):
    for kernel in vars(module).values():
        if hasattr(kernel, "signatures"):
            print(kernel.__name__, max(len(kernel.signatures), len(kernel.part.signatures)))
"""


def test_one_signature_for_each_kernel(tmp_path):
    # The cache is empty, because a kernel read from the cache does not show the signatures of those
    # that it calls.
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    out = subprocess.run([sys.executable, "-c", _KERNELS], env=env, capture_output=True, text=True, check=True).stdout
    counts = dict(line.split() for line in out.splitlines())
    assert {"_most_parts", "_climb", "_local", "run", "_send", "_process"} <= counts.keys()
    assert set(counts.values()) == {"1"}


# --- comparators


@given(topologies(6, 9), st.integers(1, 9), st.integers(1, 4), st.integers(1, 40))
def test_even_schedule_is_storms_round_robin(topology, nodes, slots, workers):
    comp = even_schedule(topology, nodes, slots=slots, workers=workers).task_node.tolist()
    # The slots, interleaved by node.
    free = [(slot, node) for slot in range(slots) for node in range(nodes)][:workers]
    assert comp == [free[i % len(free)][1] for i in range(topology.tasks)]


def test_even_schedule_by_name_numbers_tasks_as_storm_does():
    topology = Topology({"z": 2, "a": 2}, [("z", "a")])
    assert even_schedule(topology, 4, order="name").task_node.tolist() == [2, 3, 0, 1]


def test_resource_aware_packs_the_nearest_node():
    line = Topology({"s": 2, "b": 2}, [("s", "b")])
    one = resource_aware_schedule(line, 4)
    assert set(one.task_node.tolist()) == {0}  # four tasks of 128 MB fit on a node of 1 GB
    two = resource_aware_schedule(line, 4, memory=512.0)
    # Components take turns with one task each, and a node has room for two.
    assert two.task_node.tolist() == [0, 1, 0, 1]
    racks = resource_aware_schedule(line, 4, memory=512.0, node_memory=512.0, racks=[0, 1, 1, 1])
    # The larger rack is filled first, then the other one.
    assert sorted(racks.task_node[[0, 2, 1]].tolist()) == [1, 2, 3]
    assert racks.task_node[3] == 0


def test_resource_aware_goes_breadth_first_over_children_and_parents():
    topology = Topology(
        {"s1": 1, "s2": 1, "b": 2, "d": 1, "e": 1, "c": 1},
        [("s1", "b"), ("s2", "b"), ("s2", "c"), ("b", "d"), ("d", "e")],
    )
    # A node has room for one task, so that the nodes fill in the order of the tasks.
    placement = resource_aware_schedule(topology, 7, memory=512.0, node_memory=512.0)
    order = [topology.task_names[task] for task in np.argsort(placement.task_node)]
    assert order == ["s1[0]", "b[0]", "d[0]", "s2[0]", "e[0]", "c[0]", "b[1]"]


def test_resource_aware_limits():
    line = Topology({"s": 2, "b": 2}, [("s", "b")])
    with pytest.raises(ValueError, match=r"no node has cpu 10 and memory 600 left for b\[0\]"):
        resource_aware_schedule(line, 1, memory=600.0)
    with pytest.raises(ValueError, match="cpu 300"):
        resource_aware_schedule(line, 1, cpu=300.0)
    assert resource_aware_schedule(line, 1, cpu=300.0, cpu_limit="soft").task_node.tolist() == [0, 0, 0, 0]
    with pytest.raises(ValueError, match="none for 'b'"):
        resource_aware_schedule(line, 1, cpu={"s": 1.0})
    with pytest.raises(ValueError, match="each of the 2 nodes"):
        resource_aware_schedule(line, 2, racks=[0])
    with pytest.raises(ValueError, match="one integer for each"):
        resource_aware_schedule(line, 2, racks=[0.5, 1])


# --- weighted steps


@pytest.mark.bound
@given(st.integers(2, 6), st.integers(0, 99))
def test_weighted_steps_carry_the_demand_in_the_birkhoff_bound(n, seed):
    """This is exact up to the rounding of the demand.

    Rounding adds at most n * largest entry / resolution to each row and column.
    """
    rng = np.random.default_rng(seed)
    demand = rng.random((n, n)) * (rng.random((n, n)) < 0.6)
    demand[0, 0] += 0.1
    steps = birkhoff_steps(demand)
    carried = np.zeros((n, n))
    for weight, step in steps:
        assert sorted(step.tolist()) == list(range(n))
        carried[np.arange(n), step] += weight
    slack = n * demand.max() * 2e-6
    assert (carried >= demand - slack).all()
    assert sum(weight for weight, _ in steps) == pytest.approx(birkhoff_bound(demand), abs=slack)
    rows = weighted_schedule(demand, 4 * n)
    seen = {(j, int(r)) for row in rows for j, r in enumerate(row)}
    assert {(int(a), int(b)) for a, b in np.argwhere(demand > 0)} <= seen


def test_demand_is_what_crosses():
    p = even_schedule(paper_topology("random"), 9)
    assert p.demand().sum() == pytest.approx(1.0)
    assert 1 - np.trace(p.demand()) == pytest.approx(p.inter_node_share())
    assert ((p.step_demand() > 0) == (p.demand() > 0)).all()
