"""Power of random choices, bounded ring and consistent grouping: twins, bounds, bad input."""

import itertools
import struct
import zlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import consistent as naive
from naive.ratios import fraction_of
from streamlb.analysis import random_choices_imbalance_bound, random_choices_memory_bound

from streamlb import (
    BoundedLoadHashing,
    ConsistentGrouping,
    KeyFootprint,
    PowerOfRandomChoices,
    Zipf,
    movement,
)

keys_strategy = st.lists(st.one_of(st.integers(0, 5), st.integers(0, 2**64 - 1)), max_size=150)
weight_strategy = st.one_of(st.integers(0, 5), st.integers(2**40, 2**50))
weights_strategy = st.one_of(st.none(), st.lists(weight_strategy, min_size=150, max_size=150))
epsilons = st.sampled_from([0.001, 0.01, 0.1, 0.25, 1 / 3, 0.123456789012, 3.0, 1e9])


def as_array(keys):
    return np.array(keys, np.uint64)


def owners(grouping, source=0):
    """Return who holds each virtual worker by a source's map.

    This is the principal worker of a key whose first virtual worker it is.
    """
    virtual = int(grouping.shares[source].sum())
    keys = {naive.candidate(key, grouping.seed, 0, virtual): key for key in range(40 * virtual)}
    return grouping.principal([keys[v] for v in range(virtual)], source).tolist()


@given(
    keys=keys_strategy,
    weights=weights_strategy,
    workers=st.integers(1, 30),
    sources=st.integers(1, 3),
    epsilon=epsilons,
    probes=st.sampled_from([None, 8, 11]),
    seed=st.integers(0, 9),
)
def test_random_choices_match_naive(keys, weights, workers, sources, epsilon, probes, seed):
    weights = None if weights is None else weights[: len(keys)]
    ref, ref_loads, ref_mean, ref_most = naive.random_choices(keys, workers, sources, epsilon, probes, seed, weights)
    grouping = PowerOfRandomChoices(workers, sources, epsilon=epsilon, max_probes=probes, seed=seed)
    comp = grouping.route_many(as_array(keys), weights)
    assert ref == comp.tolist()
    assert ref_loads == grouping.source_loads.tolist()
    assert grouping.probes == pytest.approx((ref_mean, ref_most))


@given(
    keys=keys_strategy,
    weights=weights_strategy,
    workers=st.integers(1, 30),
    sources=st.integers(1, 3),
    epsilon=epsilons,
    points=st.integers(1, 4),
    seed=st.integers(0, 9),
)
def test_bounded_hash_matches_naive(keys, weights, workers, sources, epsilon, points, seed):
    weights = None if weights is None else weights[: len(keys)]
    ref, ref_loads, ref_mean, ref_most = naive.bounded_hash(keys, workers, sources, epsilon, points, seed, weights)
    grouping = BoundedLoadHashing(workers, sources, epsilon=epsilon, points=points, seed=seed)
    comp = grouping.route_many(as_array(keys), weights)
    assert ref == comp.tolist()
    assert ref_loads == grouping.source_loads.tolist()
    assert grouping.probes == pytest.approx((ref_mean, ref_most))


BUILDERS = {
    "random choices": lambda **k: PowerOfRandomChoices(20, epsilon=0.05, **k),
    "bounded hash": lambda **k: BoundedLoadHashing(20, epsilon=0.05, points=2, **k),
    **{
        f"consistent {inner}": lambda inner=inner, **k: ConsistentGrouping(5, virtual=4, inner=inner, **k)
        for inner in ("porc", "kg", "pkg", "potc", "sg", "ch")
    },
}


@pytest.mark.parametrize("name", BUILDERS)
def test_a_source_of_its_own_choice(name):
    keys = Zipf(50, 1.2).draw(60, seed=3)
    one, turns = BUILDERS[name](sources=3), BUILDERS[name](sources=3)
    for source in range(3):
        one.route_many(keys[source::3], source=source)
    turns.route_many(keys)
    if name != "consistent potc":  # its draws follow the order of messages
        assert one.source_loads.tolist() == turns.source_loads.tolist()
    assert one.source_loads.sum(axis=1).tolist() == [20, 20, 20]


def test_one_signature_a_kernel():
    from streamlb.groupings import bounded_hash, consistent, random_choices, virtual_map

    for name, sources in itertools.product(BUILDERS, (1, 2)):
        grouping = BUILDERS[name](sources=sources)
        grouping.route("a")
        grouping.route_many([1, 2], weights=[1, 2], source=0)
        if isinstance(grouping, ConsistentGrouping):
            grouping.signal(0, "busy", strength=0.5)
            grouping.observe([1.0] * 5)
            grouping.remove_worker(grouping.add_worker())
    for module in (random_choices, bounded_hash, consistent, virtual_map):
        for value in vars(module).values():
            if hasattr(value, "signatures") and value.py_func.__module__ == module.__name__:
                assert len(value.signatures) <= 1, value


@pytest.mark.bound
@pytest.mark.parametrize("make", [PowerOfRandomChoices, BoundedLoadHashing])
@given(
    epsilon=st.sampled_from([0.01, 0.1, 0.25, 1e-3, 1 / 3]),
    workers=st.integers(1, 50),
    sources=st.sampled_from([1, 4]),
    exponent=st.sampled_from([0.5, 2.0, None]),
    seed=st.integers(0, 9),
)
def test_imbalance_stays_below_its_bound_at_every_message(make, epsilon, workers, sources, exponent, seed):
    """Certain and exact, so no false alarms. An exponent of None sends one key all the time."""
    keys = np.zeros(1500, np.uint64) if exponent is None else Zipf(100, exponent).draw(1500, seed=seed)
    routed = make(workers, sources, epsilon=epsilon, seed=seed).route_many(keys).tolist()
    written = fraction_of(epsilon)
    loads = [0] * workers
    for m, worker in enumerate(routed, 1):
        loads[worker] += 1
        # Of all workers only this one has come nearer to the bound.
        assert loads[worker] - Fraction(m, workers) < random_choices_imbalance_bound(m, workers, written, sources)


@pytest.mark.bound
@pytest.mark.parametrize("make", [PowerOfRandomChoices, BoundedLoadHashing])
@pytest.mark.parametrize(("workers", "epsilon", "messages"), [(20, 0.01, 10_000), (10, 0.1, 100), (3, 0.4, 15)])
def test_a_worker_with_a_load_of_the_limit_is_full(make, workers, epsilon, messages):
    """The limit is a whole number here, and in floats a little more than that."""
    limit = (1 + fraction_of(epsilon)) * messages / workers
    assert limit.denominator == 1
    for seed in range(20):
        grouping = make(workers, epsilon=epsilon, seed=seed)
        grouping.route_many([7] * messages)
        assert grouping.loads.max() <= limit


def test_the_printed_bound_fails_at_the_first_message():
    grouping = PowerOfRandomChoices(10, epsilon=0.01)
    grouping.route("a")
    assert grouping.loads.max() - 0.1 > 0.01 / 10


@pytest.mark.bound
def test_memory_is_at_least_its_bound():
    """Certain."""
    for seed, exponent in enumerate((0.5, 1.0, 1.5, 2.0)):
        stream = Zipf(500, exponent)
        keys = stream.draw(20_000, seed=seed)
        workers = PowerOfRandomChoices(50, epsilon=0.05, seed=seed).route_many(keys)
        footprint = KeyFootprint(500, 50)
        footprint.add(keys, workers)
        assert footprint.pairs >= random_choices_memory_bound(np.bincount(keys.astype(int)), 50, 0.05)


def test_probing_is_bounded_and_the_message_is_not_lost():
    grouping = PowerOfRandomChoices(1000, epsilon=0.001, max_probes=8)
    grouping.route_many(["hot"] * 5000)
    assert grouping.probes.maximum == 8
    assert grouping.loads.sum() == 5000
    assert grouping.loads.max() <= 6


@given(
    signals=st.lists(
        st.tuples(
            st.integers(0, 4), st.sampled_from(["busy", "idle"]), st.sampled_from([0.0, 0.3, 1.0]), st.booleans()
        ),
        max_size=60,
    ),
    policy=st.sampled_from(["fcfs", "lru"]),
    virtual=st.integers(1, 5),
)
def test_signals_match_naive(signals, policy, virtual):
    ref = naive.Pairing(5, virtual, policy)
    grouping = ConsistentGrouping(5, virtual=virtual, policy=policy)
    slot = 0
    for worker, word, strength, next_slot in signals:
        assert ref.signal(worker, word, slot, strength) == grouping.signal(worker, word, strength=strength)
        assert ref.owner == owners(grouping)
        if next_slot:
            slot += 1
            grouping.next_slot()
    assert grouping.shares[0].tolist() == [ref.held(w) for w in range(5)]
    assert grouping.shares[0].min() >= 1
    assert grouping.shares[0].sum() == 5 * virtual


@given(
    levels=st.lists(
        st.lists(st.sampled_from([0.0, 0.5, 0.74, 0.76, 0.8, 0.84, 0.86, 1.2, 3.0]), min_size=4, max_size=4),
        max_size=8,
    ),
    policy=st.sampled_from(["fcfs", "lru"]),
    hysteresis=st.sampled_from([0.0, 0.03, 0.09]),
    proportional=st.booleans(),
    early=st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["busy", "idle"])), max_size=4),
)
def test_observing_matches_naive(levels, policy, hysteresis, proportional, early):
    """Two sources, of which the first has heard some signals that the second has not."""
    options = {"policy": policy, "hysteresis": hysteresis, "proportional": proportional}
    grouping, ref = ConsistentGrouping(4, 2, **options), [naive.Pairing(4, 10, policy) for _ in range(2)]
    for worker, word in early:
        assert ref[0].signal(worker, word, 0) == grouping.signal(worker, word, source=0)
    words = [None] * 4
    for slot, utilisation in enumerate(levels, 1):
        grouping.next_slot()
        words = naive.signal_words(utilisation, words, 0.75, 0.85, hysteresis)
        strengths = naive.signal_strengths(utilisation, 0.8, proportional)
        assert naive.observe(ref, words, strengths, slot) == grouping.observe(utilisation)
        assert [one.owner for one in ref] == [owners(grouping, 0), owners(grouping, 1)]


@pytest.mark.parametrize("policy", ["fcfs", "lru"])
def test_observing_many_workers_matches_naive(policy):
    rng = np.random.default_rng(8)
    grouping, ref = ConsistentGrouping(60, policy=policy, proportional=True), naive.Pairing(60, 10, policy)
    words = [None] * 60
    for slot in range(12):
        utilisation = rng.uniform(0.5, 1.1, 60).tolist()
        words = naive.signal_words(utilisation, words, 0.75, 0.85, 0.0)
        strengths = naive.signal_strengths(utilisation, 0.8, True)
        assert naive.observe([ref], words, strengths, slot) == grouping.observe(utilisation)
        assert ref.owner == owners(grouping)


@pytest.mark.parametrize("policy", ["fcfs", "lru"])
def test_a_worker_that_collects_nearly_all_gives_them_back_in_order(policy):
    grouping, ref = ConsistentGrouping(40, policy=policy, proportional=True), naive.Pairing(40, 10, policy)
    most = 0
    for slot in range(12):
        # One takes from all others for a while, then they take from it.
        worker, collects = (17, 4)[slot // 6], slot % 6 < 4
        utilisation = [0.1 if (w == worker) == collects else 3.0 for w in range(40)]
        words = naive.signal_words(utilisation, [None] * 40, 0.75, 0.85, 0.0)
        strengths = naive.signal_strengths(utilisation, 0.8, True)
        assert naive.observe([ref], words, strengths, slot) == grouping.observe(utilisation)
        assert ref.owner == owners(grouping)
        most = max(most, int(grouping.shares.max()))
    assert most > 20


@given(
    data=st.data(),
    signals=st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["busy", "idle"])), max_size=12),
    policy=st.sampled_from(["fcfs", "lru"]),
)
def test_late_and_reordered_signals_lose_no_message(data, signals, policy):
    """Every source hears the signals in an order of its own; each message goes to one worker."""
    keys = Zipf(30, 1.0).draw(240, seed=1)
    grouping = ConsistentGrouping(4, sources=3, virtual=3, policy=policy)
    orders = [data.draw(st.permutations(signals)) for _ in range(3)]
    got = np.zeros(4, np.int64)
    for step in range(12):
        workers = grouping.route_many(keys[20 * step : 20 * step + 20])
        got += np.bincount(workers, minlength=4)
        for source, order in enumerate(orders):
            if step < len(order):
                grouping.signal(*order[step], source=source)
        grouping.next_slot()
        assert grouping.loads.tolist() == got.tolist()
        assert (grouping.shares.sum(axis=1) == 12).all()
        assert (grouping.shares >= 1).all()
    assert got.sum() == 240


def test_sources_that_hear_the_same_agree():
    grouping = ConsistentGrouping(4, sources=3)
    for worker, word in [(0, "busy"), (1, "idle"), (2, "busy"), (3, "idle"), (0, "idle")]:
        for source in (2, 0, 1):
            grouping.signal(worker, word, source=source)
        grouping.next_slot()
    assert owners(grouping, 0) == owners(grouping, 1) == owners(grouping, 2)


def test_at_most_one_signal_a_worker_a_slot():
    grouping = ConsistentGrouping(3, virtual=5)
    assert grouping.signal(0, "busy") == 1
    assert grouping.signal(0, "busy") == 0
    assert grouping.signal(0, "idle") == 0
    grouping.next_slot()
    assert grouping.signal(0, "busy") == 1
    timed = ConsistentGrouping(3, virtual=5, slot=10)
    assert (timed.signal(0, "busy"), timed.signal(0, "busy")) == (1, 0)
    timed.route_many(range(10))
    assert timed.signal(0, "busy") == 1


def test_moves_concern_later_messages_only():
    keys = Zipf(100, 1.0).draw(500, seed=2)
    moved, still = ConsistentGrouping(4), ConsistentGrouping(4)
    before = moved.route_many(keys)
    assert before.tolist() == still.route_many(keys).tolist()
    loads = moved.loads
    moved.signal(1, "idle")
    moved.signal(0, "busy")
    assert moved.loads.tolist() == loads.tolist()
    after, unmoved = moved.route_many(keys), still.route_many(keys)
    assert set(zip(unmoved[after != unmoved], after[after != unmoved])) == {(0, 1)}


def test_fcfs_waits_for_an_idle_worker_and_lru_does_not():
    assert ConsistentGrouping(3, policy="fcfs").signal(0, "busy") == 0
    assert ConsistentGrouping(3, policy="lru").signal(0, "busy") == 1


def test_a_proportional_signal_moves_more():
    plain, strong = ConsistentGrouping(4, virtual=20), ConsistentGrouping(4, virtual=20, proportional=True)
    assert plain.observe([1.6, 0.8, 0.8, 0.4]) == 1
    assert strong.observe([1.6, 0.8, 0.8, 0.4]) == 10


def test_added_and_removed_workers_move_few_keys():
    keys = np.arange(20_000)
    grouping = ConsistentGrouping(10, sources=2, virtual=20)
    before = grouping.principal(keys)
    new = grouping.add_worker()
    added = grouping.principal(keys)
    assert new == 10
    assert set(added[before != added].tolist()) == {10}
    # 18 of 200 virtual workers; 5 standard deviations of a binomial
    assert abs(movement(before, added) / keys.size - 18 / 200) < 5 * np.sqrt(0.09 * 0.91 / keys.size)
    grouping.remove_worker(3)
    removed = grouping.principal(keys)
    assert set(added[removed != added].tolist()) == {3}
    assert 3 not in grouping.route_many(keys)
    assert grouping.active.tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9, 10]
    other = ConsistentGrouping.from_state(grouping.state())
    assert other.route_many(keys).tolist() == grouping.route_many(keys).tolist()
    assert grouping.loads.sum() == 2 * keys.size
    grouping.reset()
    assert grouping.workers == 10


@given(
    virtual=st.integers(2, 6),
    policy=st.sampled_from(["fcfs", "lru"]),
    events=st.lists(st.tuples(st.sampled_from(["busy", "idle", "add", "remove"]), st.integers(0, 7)), max_size=20),
)
def test_workers_that_come_and_go_match_naive(virtual, policy, events):
    ref, grouping = naive.Pairing(4, virtual, policy), ConsistentGrouping(4, virtual=virtual, policy=policy)
    for slot, (event, worker) in enumerate(events):
        if event == "add" and len(ref.alive) < 4 * virtual:
            ref.add_worker(grouping.add_worker())
        elif event == "remove" and worker in ref.alive and len(ref.alive) > 1:
            ref.remove_worker(worker)
            grouping.remove_worker(worker)
        elif event in ("busy", "idle") and worker in ref.alive:
            assert ref.signal(worker, event, slot) == grouping.signal(worker, event)
        grouping.next_slot()
        assert ref.owner == owners(grouping)
        assert sorted(ref.alive) == grouping.active.tolist()
    keys = [3, 2**64 - 1, 17]
    bins = [naive.candidate(key, 0, 0, 4 * virtual) for key in keys]
    assert [ref.owner[v] for v in bins] == grouping.principal(np.array(keys, np.uint64)).tolist()


@pytest.mark.parametrize("policy", ["fcfs", "lru"])
def test_text_keys_reach_present_workers_only(policy):
    rng = np.random.default_rng(3)
    grouping = ConsistentGrouping(4, 2, virtual=3, policy=policy)
    for i in range(200):
        here, chance = grouping.active, rng.random()
        if chance < 0.15 and here.size < 10:
            grouping.add_worker()
        elif chance < 0.3 and here.size > 1:
            grouping.remove_worker(int(rng.choice(here)))
        else:
            grouping.signal(int(rng.choice(here)), ("busy", "idle")[i % 2], strength=0.5)
            grouping.next_slot()
        workers = grouping.route_many([f"user-{i}-{j}" for j in range(10)])
        assert np.isin(workers, grouping.active).all()
        assert (grouping.shares[:, grouping.active] >= 1).all()
        assert grouping.shares.sum() == 2 * 12
    assert grouping.loads.sum() == 2000


def test_fcfs_serves_those_who_waited_in_order():
    grouping = ConsistentGrouping(3, virtual=4, policy="fcfs")
    # Nobody is idle: they wait.
    assert grouping.signal(1, "busy") == grouping.signal(0, "busy") == 0
    assert grouping.signal(2, "idle") == 1
    assert grouping.shares[0].tolist() == [4, 3, 5]
    grouping.next_slot()
    assert grouping.signal(2, "idle") == 1
    assert grouping.shares[0].tolist() == [3, 3, 6]
    grouping.next_slot()
    assert grouping.signal(2, "idle") == 0  # both were served


def test_inner_is_read_in_either_case():
    assert ConsistentGrouping(3, inner="PoRC").state() == ConsistentGrouping(3, inner="porc").state()


def test_signals_after_a_removal_skip_the_removed():
    for policy in ("fcfs", "lru"):
        grouping = ConsistentGrouping(3, virtual=4, policy=policy)
        grouping.signal(2, "idle")
        grouping.remove_worker(2)
        grouping.signal(0, "busy")
        assert grouping.shares[0, 2] == 0
        grouping.next_slot()
        grouping.observe([1.0, 0.1, 0.0])
        assert grouping.shares[0, 2] == 0


def test_footprint_and_movement():
    rng = np.random.default_rng(5)
    keys, workers = rng.integers(0, 50, 3000), rng.integers(0, 130, 3000)
    footprint = KeyFootprint(50, 130)
    footprint.add(keys[:1000], workers[:1000])
    footprint.add(keys[1000:], workers[1000:])
    pairs = set(zip(keys.tolist(), workers.tolist()))
    assert footprint.pairs == len(pairs)
    assert footprint.per_key.tolist() == [sum(k == key for k, _ in pairs) for key in range(50)]
    for bad in ([50], [0]), ([0], [130]), ([0], [-1]), ([0, 1], [0]):
        with pytest.raises(ValueError, match="must be"):
            footprint.add(*bad)
    with pytest.raises(TypeError, match="whole numbers"):
        footprint.add([0], [0.7])
    assert footprint.pairs == len(pairs)
    with pytest.raises(ValueError, match="as many"):
        movement([1, 2], [1])


@pytest.mark.parametrize("make", [PowerOfRandomChoices, BoundedLoadHashing, ConsistentGrouping])
@pytest.mark.parametrize("epsilon", [0, -0.1, float("nan"), float("inf")])
def test_bad_epsilon(make, epsilon):
    with pytest.raises(ValueError, match="epsilon"):
        make(10, epsilon=epsilon)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"virtual": 0}, ValueError),
        ({"virtual": 1.5}, TypeError),
        ({"virtual": 2**40}, ValueError),
        ({"inner": "rr"}, ValueError),
        ({"policy": "random"}, ValueError),
        ({"slot": 0}, ValueError),
        ({"idle": 0.9}, ValueError),
        ({"busy": 0.0}, ValueError),
        ({"hysteresis": 0.5}, ValueError),
        ({"proportional": 1}, TypeError),
        ({"workers": 0}, ValueError),
    ],
)
def test_bad_options(options, error):
    with pytest.raises(error, match=next(iter(options))):
        ConsistentGrouping(**{"workers": 10, **options})


def test_bad_options_of_the_bounded_groupings():
    with pytest.raises(ValueError, match="max_probes"):
        PowerOfRandomChoices(10, max_probes=7)
    with pytest.raises(ValueError, match="points"):
        BoundedLoadHashing(10, points=0)


def test_bad_calls_change_nothing():
    grouping = ConsistentGrouping(2, virtual=2, sources=2)
    grouping.route_many(range(10))
    grouping.remove_worker(grouping.add_worker())
    before = grouping.state()
    calls = [
        lambda: grouping.signal(3, "busy"),
        lambda: grouping.signal(2, "busy"),  # removed
        lambda: grouping.signal(-1, "busy"),
        lambda: grouping.signal(0, "tired"),
        lambda: grouping.signal(0, "busy", strength=2.0),
        lambda: grouping.signal(0, "busy", source=2),
        lambda: grouping.observe([0.5]),
        lambda: grouping.observe([0.5, float("nan"), 1.0]),
        lambda: grouping.remove_worker(2),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="must"):
            call()
        assert grouping.state() == before
    with pytest.raises(ValueError, match="one entry for each of 3 workers, got 1"):
        grouping.observe([0.5])
    assert grouping.state() == before
    grouping.remove_worker(0)
    before = grouping.state()
    with pytest.raises(ValueError, match="last"):
        grouping.remove_worker(1)
    assert grouping.state() == before
    full = ConsistentGrouping(2, virtual=1)
    with pytest.raises(ValueError, match="virtual"):
        full.add_worker()
    with pytest.raises(ValueError, match="principal"):
        ConsistentGrouping(2, inner="sg").principal([1])


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (PowerOfRandomChoices, {"epsilom": 0.1}),
        (BoundedLoadHashing, {"epsilom": 0.1}),
        (ConsistentGrouping, {"virtuals": 5}),
    ],
)
def test_a_misspelt_option_names_the_class(make, options):
    with pytest.raises(TypeError, match=f"{make.__name__}: .*{next(iter(options))}.*it takes workers, sources, "):
        make(10, **options)


def with_version(data, version):
    """Return a state as another version of streamlb would have written it."""
    start = data.index(b'"version": ') + len(b'"version": ')
    body = data[:start] + str(version).encode() + data[start + 1 : -4]
    return body + struct.pack("<I", zlib.crc32(body))


@pytest.mark.parametrize("make", [PowerOfRandomChoices, BoundedLoadHashing, ConsistentGrouping])
def test_a_state_of_an_older_version_is_refused(make):
    with pytest.raises(ValueError, match=r"version [34] of .*, got version 2"):
        make.from_state(with_version(make(5).state(), 2))


def test_altered_state_is_refused():
    data = ConsistentGrouping(3).state()
    with pytest.raises(ValueError, match="checksum"):
        ConsistentGrouping.from_state(data[:-5] + bytes([data[-5] ^ 1]) + data[-4:])
    with pytest.raises(ValueError, match="class"):
        PowerOfRandomChoices.from_state(data)
