"""The slotted simulation against its twin, its invariants, and bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import consistent as naive

from streamlb import (
    ConsistentGrouping,
    KeyGrouping,
    PowerOfRandomChoices,
    ShuffleGrouping,
    Zipf,
    diurnal,
    fast_and_slow,
    simulate_capacity,
)


@given(
    workers=st.integers(1, 5),
    slots=st.integers(1, 12),
    change=st.one_of(st.none(), st.integers(0, 199)),
    wave=st.booleans(),
    data=st.data(),
)
def test_queues_match_naive(workers, slots, change, wave, data):
    keys = Zipf(20, 1.0).draw(200, seed=workers)
    capacity = st.lists(st.floats(0.5, 40.0), min_size=workers, max_size=workers)
    capacities, later = data.draw(capacity), data.draw(capacity)
    changes = [] if change is None else [(change, later)]
    arrivals = diurnal(slots) if wave else None
    result = simulate_capacity(
        keys,
        KeyGrouping(workers),
        capacities,
        slots=slots,
        utilisation=None,
        changes=changes,
        arrivals=arrivals,
        keep_workers=True,
    )
    assert result.workers.tolist() == KeyGrouping(workers).route_many(keys).tolist()
    queue, utilisation, latency = naive.slot_queues(
        result.workers.tolist(), result.messages.tolist(), capacities, changes
    )
    assert result.queue.tolist() == queue
    # rounding only: a few hundred sums of numbers up to 400
    np.testing.assert_allclose(result.utilisation, utilisation, rtol=1e-12)
    np.testing.assert_allclose(result.latency, latency, atol=1e-9, rtol=1e-9)
    assert result.messages[-1] == 200


@given(
    policy=st.sampled_from(["fcfs", "lru"]),
    sources=st.integers(1, 4),
    piggyback=st.booleans(),
    delay=st.integers(0, 3),
    monitor=st.sampled_from(["utilisation", "backlog", "queue"]),
    proportional=st.booleans(),
    seed=st.integers(0, 5),
)
def test_no_message_is_lost_or_served_twice(policy, sources, piggyback, delay, monitor, proportional, seed):
    grouping = ConsistentGrouping(4, sources, virtual=5, policy=policy, proportional=proportional, seed=seed)
    keys = Zipf(50, 1.0).draw(3000, seed=seed)
    result = simulate_capacity(
        keys,
        grouping,
        fast_and_slow(4, 1, 4),
        slots=30,
        piggyback=piggyback,
        delay=delay,
        monitor=monitor,
        keep_workers=True,
    )
    assert np.bincount(result.workers, minlength=4).tolist() == grouping.loads.tolist()
    assert grouping.loads.sum() == grouping.messages == 3000
    assert (grouping.shares.sum(axis=1) == 20).all()
    assert (grouping.shares >= 1).all()
    assert (result.shares.sum(axis=1) == 20).all()
    assert result.moves.sum() <= grouping.moves


@given(
    policy=st.sampled_from(["fcfs", "lru"]),
    sources=st.integers(1, 3),
    delay=st.integers(0, 2),
    proportional=st.booleans(),
    hysteresis=st.sampled_from([0.0, 0.04]),
    capacities=st.lists(st.integers(5, 40), min_size=3, max_size=3),
    full=st.sampled_from([None, 1, 10, 100]),
)
def test_piggybacked_signals_match_naive(policy, sources, delay, proportional, hysteresis, capacities, full):
    keys = Zipf(30, 1.0).draw(600, seed=7)
    options = {"virtual": 4, "policy": policy, "proportional": proportional, "hysteresis": hysteresis}
    grouping = ConsistentGrouping(3, sources, **options)
    monitor = {"monitor": "utilisation"} if full is None else {"monitor": "queue", "queue_capacity": full}
    result = simulate_capacity(
        keys, grouping, capacities, slots=12, utilisation=None, delay=delay, keep_workers=True, **monitor
    )
    bins = PowerOfRandomChoices(12, sources).route_many(keys).tolist()
    ref = naive.slot_simulation(bins, result.messages.tolist(), capacities, sources, **options, delay=delay, full=full)
    assert result.workers.tolist() == ref


def test_one_source_without_piggybacking_is_routing_and_observing():
    """A user who routes a slot's messages and then reports utilisations does the same live."""
    keys = Zipf(100, 1.2).draw(4000, seed=1)
    capacities = np.array([40.0, 10.0, 10.0, 20.0]) * 1.25
    options = {"virtual": 10, "proportional": True, "hysteresis": 0.02}
    simulated, live = ConsistentGrouping(4, **options), ConsistentGrouping(4, **options)
    result = simulate_capacity(
        keys, simulated, capacities, slots=50, utilisation=None, piggyback=False, keep_workers=True
    )
    workers = []
    for part in keys.reshape(50, 80):
        workers.append(live.route_many(part))
        live.observe(np.bincount(workers[-1], minlength=4) / capacities)
    assert result.workers.tolist() == np.concatenate(workers).tolist()
    assert result.shares[-1].tolist() == live.shares[0].tolist()
    assert result.moves.sum() == live.moves > 0
    assert simulated.state() == live.state()


def test_chunks_do_not_show(monkeypatch):
    from streamlb.simulation import capacity

    results = []
    for chunk in (1 << 18, 64, 7):
        monkeypatch.setattr(capacity, "_CHUNK", chunk)
        grouping = ConsistentGrouping(5, 2, virtual=8)
        results.append(simulate_capacity(Zipf(100, 1.0), grouping, [3, 1, 1, 1, 1], messages=2000, slots=40, seed=3))
    for other in results[1:]:
        assert (other.queue == results[0].queue).all()
        assert (other.shares == results[0].shares).all()


def test_shuffle_on_equal_workers_runs_at_the_utilisation_asked_for():
    result = simulate_capacity(Zipf(100, 1.0), ShuffleGrouping(10), np.ones(10), messages=10_000, slots=100)
    assert result.utilisation == pytest.approx(0.8)
    assert result.queue.max() == 0.0
    assert result.imbalance.max() == pytest.approx(0.0)
    # one at a time, never waiting: the latency is the service time
    assert result.latency == pytest.approx(10 * 0.8 / 100)


def test_signals_bring_every_worker_below_its_capacity():
    capacities = fast_and_slow(10, 3, 5)
    stream = Zipf(1000, 0.8)
    shuffle = simulate_capacity(stream, ShuffleGrouping(10), capacities, messages=200_000, slots=200)
    consistent = simulate_capacity(stream, ConsistentGrouping(10, virtual=20), capacities, messages=200_000, slots=200)
    assert shuffle.utilisation[100:].mean(axis=0).max() > 1.5
    assert consistent.utilisation[100:].mean(axis=0).max() < 0.95
    assert consistent.queue[-1].max() < 0.01 * shuffle.queue[-1].max()


def test_diurnal_load_keeps_its_mean():
    waves = diurnal(24, 0.4)
    assert waves.mean() == pytest.approx(1.0)
    assert (waves.min(), waves.max()) == pytest.approx((0.6, 1.4))
    result = simulate_capacity(Zipf(100, 1.0), ShuffleGrouping(2), [1, 1], messages=24_000, slots=24, arrivals=waves)
    assert np.diff(result.messages, prepend=0) == pytest.approx(1000 * waves, abs=1)


def test_grouping_goes_on_from_its_state():
    keys = Zipf(100, 1.0).draw(2000, seed=3)
    grouping = PowerOfRandomChoices(5)
    grouping.route_many(keys)
    simulate_capacity(keys, grouping, np.ones(5), slots=10)
    assert grouping.messages == 4000


@pytest.mark.parametrize(
    ("changed", "error", "match"),
    [
        ({"capacities": [1, 0, 1]}, ValueError, "capacities must be more than 0"),
        ({"capacities": [1, -2, 1]}, ValueError, "capacities"),
        ({"capacities": [1, float("nan"), 1]}, ValueError, "capacities"),
        ({"capacities": [1, 1]}, ValueError, "each of the 3 workers"),
        ({"changes": [(5, [1, 1])]}, ValueError, "changes"),
        ({"changes": [(-1, [1, 1, 1])]}, ValueError, "changes"),
        ({"slots": 0}, ValueError, "slots"),
        ({"utilisation": 0}, ValueError, "utilisation"),
        ({"arrivals": [1.0]}, ValueError, "arrivals"),
        ({"monitor": "guess"}, ValueError, "monitor"),
        ({"queue_capacity": 0}, ValueError, "queue_capacity"),
        ({"delay": -1}, ValueError, "delay"),
        ({"messages": 100}, ValueError, "messages"),
        ({"grouping": "cg"}, TypeError, "grouping"),
        ({"stream": Zipf(5, 1.0)}, ValueError, "messages"),
    ],
)
def test_bad_input_changes_nothing(changed, error, match):
    grouping = ConsistentGrouping(3)
    before = grouping.state()
    arguments = {"stream": [1, 2, 3], "grouping": grouping, "capacities": [1, 1, 1], "slots": 3, **changed}
    with pytest.raises(error, match=match):
        simulate_capacity(**arguments)
    assert grouping.state() == before


def test_a_misspelt_option_names_the_function():
    with pytest.raises(TypeError, match=r"simulate_capacity: .*'slot'.*it takes stream, grouping, capacities, slots"):
        simulate_capacity([1], KeyGrouping(2), [1, 1], slot=3)
    with pytest.raises(TypeError, match=r"simulate_capacity: .*'capacities'"):
        simulate_capacity([1], KeyGrouping(2))


def test_bad_shapes_of_a_cluster():
    with pytest.raises(ValueError, match="fast"):
        fast_and_slow(3, 4, 2)
    with pytest.raises(ValueError, match="times"):
        fast_and_slow(3, 1, 0)
    with pytest.raises(ValueError, match="depth"):
        diurnal(10, 1.0)
