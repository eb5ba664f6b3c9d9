"""The groupings of Nasir et al. 2016 against their naive twins.

The contract that all groupings keep is checked in `testing/test_own_balancers.py`.
"""

import inspect
import tracemalloc

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamlb
from streamlb import DChoices, Zipf
from streamlb.groupings import d_choices
from streamlb.groupings import solve_d as solver

PLAIN = {
    "KeyGrouping": naive.NaiveKey,
    "ShuffleGrouping": naive.NaiveShuffle,
    "PartialKeyGrouping": naive.NaivePartialKey,
    "PowerOfTwoChoices": naive.NaiveTwoRandom,
}
HEAD = {"DChoices": "d", "WChoices": "all", "RoundRobinHead": "turn"}
ALL = [*PLAIN, *HEAD]

seeds = st.integers(0, 2**64 - 1)
wide_keys = st.lists(st.integers(0, 2**64 - 1), max_size=60)


@st.composite
def head_cases(draw):
    """Parameters so small that keys turn hot, cool down and lose their counters soon."""
    workers = draw(st.integers(1, 12))
    theta = draw(st.sampled_from([0.05, 0.1, 0.3]))
    return {
        "workers": workers,
        "sources": draw(st.integers(1, 3)),
        "theta": theta,
        "capacity": draw(st.sampled_from([None, int(np.ceil(1 / theta)), 40])),
        "guard": draw(st.booleans()),
        "seed": draw(seeds),
        "distinct": draw(st.booleans()),
        "rotate": draw(st.booleans()),
        "epsilon": draw(st.sampled_from([1e-4, 1e-2])),
        "choices": draw(st.sampled_from([None, None, 2, 3, 50])),
        "switch": draw(st.booleans()),
    }


def build(name, case):
    """The twin and the grouping of one case."""
    options = dict(case)
    own = {name: options.pop(name) for name in ("epsilon", "choices", "switch")}
    own["switch"] |= not options["distinct"] or own["choices"] is not None  # else it is refused
    own = own if name == "DChoices" else {}
    ref = naive.NaiveChoices(HEAD[name], **options, **own)
    options["candidates"] = "distinct" if options.pop("distinct") else "independent"
    options["ties"] = "rotate" if options.pop("rotate") else "first"
    return ref, getattr(streamlb, name)(**options, **own)


def changing_stream(seed, size, keys=40):
    """A skewed stream whose hot keys change at its middle, so that the head changes too."""
    drawn = Zipf(keys, 1.5).draw(size, seed=seed)
    drawn[size // 2 :] += np.uint64(keys // 2)
    return drawn


@pytest.mark.parametrize("name", PLAIN)
@given(keys=wide_keys, workers=st.integers(1, 40), sources=st.integers(1, 4), seed=seeds)
def test_plain_matches_naive(name, keys, workers, sources, seed):
    ref = PLAIN[name](workers, sources, seed)
    comp = getattr(streamlb, name)(workers, sources, seed=seed)
    assert [comp.route(key) for key in keys] == [ref.route(key) for key in keys]
    assert comp.source_loads.tolist() == ref.load


@pytest.mark.parametrize("name", HEAD)
@given(case=head_cases(), stream=st.integers(0, 99), scale=st.sampled_from([0, 1, 2**24, 2**40]))
def test_head_matches_naive(name, case, stream, scale):
    """Also with weights so large that counts need more than 32 bits, soon or from the start."""
    ref, comp = build(name, case)
    keys = changing_stream(stream, 500)
    weights = np.random.default_rng(stream).integers(0, 4, keys.size) * scale if scale else np.ones(500, np.int64)
    expected = [ref.route(int(key), None, int(weight)) for key, weight in zip(keys, weights)]
    assert comp.route_many(keys, weights).tolist() == expected
    assert comp.source_loads.tolist() == ref.load
    for source, view in enumerate(ref.views):
        hot = sorted(key for key in view.counts if ref.is_hot(view, key))
        assert sorted(comp.head(source)[0].tolist()) == hot
        if name == "DChoices":
            assert comp.d_by_source[source] == view.d
            sent, d = comp.d_history(source)
            assert list(zip(sent.tolist(), d.tolist())) == view.history


@pytest.mark.parametrize("name", ALL)
def test_repr_makes_the_same(name):
    grouping = getattr(streamlb, name)(9, 2, seed=11)
    fresh = grouping.state()
    grouping.route_many(changing_stream(3, 3000))
    assert eval(repr(grouping), vars(streamlb) | {name: type(grouping)}).state() == fresh


def test_lists_grow_and_travel():
    """Long lists for many hot keys; a restored grouping makes them anew and goes on alike."""
    keys = Zipf(10_000, 1.1).draw(60_000, seed=2)
    ref = DChoices(200, 3, seed=1, theta=0.001, guard=False).route_many(keys)
    grouping, parts = DChoices(200, 3, seed=1, theta=0.001, guard=False), []
    for part in np.array_split(keys, 7):
        parts.append(grouping.route_many(part))
        twin = DChoices.from_state(grouping.state())
        assert twin.state() == grouping.state()
        grouping = twin
    assert grouping.head()[0].size > 100
    assert np.concatenate(parts).tolist() == ref.tolist()


@pytest.mark.parametrize("name", HEAD)
def test_sketches_grow_with_the_keys(name):
    """More keys than a fresh sketch has room for, and at last more than its capacity."""
    ref = naive.NaiveChoices(HEAD[name], 5, 2, capacity=5000, theta=0.01, seed=3)
    comp = getattr(streamlb, name)(5, 2, capacity=5000, theta=0.01, seed=3)
    keys = np.concatenate([np.arange(10_000), np.zeros(200, int), np.arange(10_000, 10_300)])
    keys[::7] = 5
    assert comp.route_many(keys[:9000]).tolist() == [ref.route(int(key)) for key in keys[:9000]]
    assert [comp.route(int(key)) for key in keys[9000:]] == [ref.route(int(key)) for key in keys[9000:]]
    assert comp.source_loads.tolist() == ref.load


@pytest.mark.parametrize("name", HEAD)
def test_sources_with_heads_of_very_different_size(name):
    options = {"theta": 0.001, "guard": False, "seed": 4}
    ref = naive.NaiveChoices(HEAD[name], 30, 3, **options, choices=7 if name == "DChoices" else None)
    comp = getattr(streamlb, name)(30, 3, **options, **({"choices": 7} if name == "DChoices" else {}))
    rng = np.random.default_rng(1)
    for source, keys in ((0, 600), (1, 1), (2, 5), (0, 900), (1, 40)):
        drawn = rng.integers(0, keys, 700)
        assert comp.route_many(drawn, source=source).tolist() == [ref.route(int(key), source) for key in drawn]
    assert [comp.head(source)[0].size for source in (0, 1, 2)] == [
        sum(ref.is_hot(view, key) for key in view.counts) for view in ref.views
    ]


def test_head_test_is_exact_where_the_share_is_a_whole_number():
    """A key with exactly theta of all messages is hot, by the fraction and not by its float."""
    for workers, theta in ((7, None), (7, 0.2 / 7), (7, 1 / 35), (3, 0.1), (6, 1 / 30)):
        times = round(1 / (theta or 0.2 / workers))
        keys = np.arange(1, 100 * times + 1)
        keys[np.arange(100) * times] = 0  # a hundred times, the last of them before the end
        grouping = streamlb.WChoices(workers, theta=theta, capacity=40_000)
        grouping.route_many(keys)
        assert grouping.head()[0].tolist() == [0]
        grouping.route(1_000_000)
        assert grouping.head()[0].size == 0


@pytest.mark.parametrize("name", HEAD)
def test_many_counts_beyond_32_bits(name):
    """More large counts than there was room for at first, and in the end all of them."""
    ref = naive.NaiveChoices(HEAD[name], 5, 2, capacity=600, theta=0.01, seed=3)
    comp, parts = (getattr(streamlb, name)(5, 2, capacity=600, theta=0.01, seed=3) for _ in range(2))
    keys = np.random.default_rng(2).permutation(np.repeat(np.arange(700), 4))
    weights = np.where(np.arange(keys.size) < 500, 1, 2**33 + keys % 5)
    expected = [ref.route(int(key), None, int(weight)) for key, weight in zip(keys, weights)]
    assert comp.route_many(keys, weights).tolist() == expected
    assert [parts.route(int(key), None, int(weight)) for key, weight in zip(keys, weights)] == expected
    assert parts.state() == comp.state()
    assert comp.source_loads.tolist() == ref.load
    again = type(comp).from_state(comp.state())
    more = [ref.route(int(key)) for key in keys]
    assert again.route_many(keys).tolist() == more
    assert comp.route_many(keys).tolist() == more


def peak_of(call):
    """Return the most memory in bytes that a call held at once beyond what was there before."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_many_workers_and_sources_take_little_memory():
    """10,000 workers, 48 sources, all counters in use, hot keys: never more than 120 MB at once."""
    warm = DChoices(10, 2)
    warm.route_many(np.zeros(10, np.uint64))
    assert peak_of(lambda: DChoices(10_000, 48)) < 10e6
    keys = np.arange(48 * 110_000, dtype=np.uint64)
    keys[::3] %= np.uint64(20)
    out = 4 * keys.size

    def route():
        grouping = DChoices(10_000, 48)
        grouping.route_many(keys)
        assert grouping.head()[0].size == 20
        grouping.route(5, weight=2**33)  # counts of more than 32 bits take hardly any more
        assert grouping.route_many(keys[:10]).size == 10

    assert 90e6 < peak_of(route) - out < 120e6


def test_state_grows_by_a_copy_where_it_is_held():
    """An array that a call in another thread still uses is not moved from under it."""
    keys = np.arange(5000)
    ref, comp = (DChoices(9, 2, seed=1, capacity=5000) for _ in range(2))
    held = [array[...] for array in comp._state]  # what the other call holds
    shape = held[2].shape
    assert comp.route_many(keys).tolist() == ref.route_many(keys).tolist()
    assert comp.state() == ref.state()
    assert held[2].shape == shape != comp._state[2].shape


@pytest.mark.parametrize("name", ALL)
def test_one_signature_per_kernel(name):
    grouping = getattr(streamlb, name)(5, 2)
    grouping.route(2**64 - 1)
    grouping.route("a", 1)
    grouping.route(b"a", weight=np.int64(3))
    grouping.route(np.uint32(7), source=np.int8(1), weight=True)
    grouping.route_many([2**64 - 1, 0])
    grouping.route_many(["a", "b"], [1, 2], 1)
    grouping.route_many(np.arange(10)[::2], weights=np.arange(5.0))
    assert len(grouping._route.signatures) == 1
    assert len(grouping._route_many.signatures) == 1


@pytest.mark.parametrize("name", ALL)
def test_edges(name):
    grouping = getattr(streamlb, name)
    assert grouping(1).route_many([5] * 100).tolist() == [0] * 100
    assert grouping(3).route_many([]).tolist() == []
    wide = grouping(10_000, seed=3)
    workers = wide.route_many(np.full(300_000, 2**64 - 1, np.uint64))
    assert workers.min() >= 0
    assert workers.max() < 10_000
    assert wide.loads.sum() == 300_000
    assert grouping(7).route(2**64 - 1) == grouping(7).route(-1)


@pytest.mark.parametrize("name", HEAD)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"theta": 0}, "theta must be in \\(0, 1\\)"),
        ({"theta": 1.0}, "theta must be in \\(0, 1\\)"),
        ({"theta": float("nan")}, "theta must be"),
        ({"theta": 1e-12}, "theta must be at least 2\\*\\*-27"),
        ({"theta": 5e-324}, "theta must be at least 2\\*\\*-27"),
        ({"capacity": 24}, "capacity must be at least 25 .*theta=0.04, got 24"),
        ({"theta": 0.01, "capacity": 99}, "capacity must be at least 100"),
        ({"guard": 1}, "guard must be True or False"),
        ({"candidates": "both"}, "candidates must be one of 'distinct', 'independent'"),
        ({"ties": "last"}, "ties must be one of 'rotate', 'first'"),
    ],
)
def test_bad_options(name, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(streamlb, name)(5, **options)


@pytest.mark.parametrize("choices", [1, 0, 2.5])
def test_bad_choices(choices):
    with pytest.raises((ValueError, TypeError), match="choices must be"):
        DChoices(5, choices=choices)


@pytest.mark.parametrize("options", [{"candidates": "independent"}, {"choices": 3}])
def test_the_switch_belongs_to_distinct_workers_that_are_solved_for(options):
    with pytest.raises(ValueError, match="switch must be True unless candidates are distinct and choices is None"):
        DChoices(5, switch=False, **options)


@pytest.mark.parametrize("epsilon", [0, -1e-4, float("inf")])
def test_bad_epsilon(epsilon):
    with pytest.raises(ValueError, match="epsilon must be finite and more than 0"):
        DChoices(5, epsilon=epsilon)


@pytest.mark.parametrize("name", ALL)
def test_bad_states(name):
    grouping = getattr(streamlb, name)(5, 2)
    state = bytearray(grouping.state())
    other = "KeyGrouping" if name != "KeyGrouping" else "ShuffleGrouping"
    with pytest.raises(ValueError, match="must be of class"):
        getattr(streamlb, other).from_state(bytes(state))
    state[-10] ^= 1
    with pytest.raises(ValueError, match="checksum"):
        type(grouping).from_state(bytes(state))
    version = type("Later", (type(grouping),), {"__slots__": (), "__name__": name, "_version": 99})
    version.__name__ = name
    with pytest.raises(ValueError, match=f"version 99 of {name}, got version [0-9]+$"):
        version.from_state(grouping.state())


@given(
    raw=st.lists(st.floats(0.001, 1.0), min_size=1, max_size=15),
    head=st.floats(0.05, 1.0),
    n=st.integers(1, 60),
    epsilon=st.sampled_from([1e-5, 1e-4, 1e-2]),
    distinct=st.booleans(),
    switch=st.booleans(),
)
def test_fewest_choices_matches_naive(raw, head, n, epsilon, distinct, switch):
    shares = np.sort(np.array(raw) / sum(raw) * head)[::-1].copy()
    ref = naive.naive_fewest_choices(shares.tolist(), n, epsilon, distinct, switch)
    assert solver.fewest_choices(shares, n, epsilon, distinct, switch) == ref


def test_no_key_loses_its_first_two_workers_when_it_turns_hot():
    for distinct in (False, True):
        for key in range(50):
            workers = d_choices.first_workers(key, 9, 20, 20, distinct=distinct).tolist()
            ref = naive.NaiveChoices("d", 20, seed=9, distinct=distinct).workers_of(key, 20)
            assert workers == ref
            assert (len(set(ref)) == 20) is distinct


@pytest.mark.parametrize("workers", [2**16, 2**16 + 1, 200_000])
def test_lists_of_either_width(workers):
    """Up to 2**16 workers are listed in 16 bits; a hot key comes to all of its own either way."""
    for key in (3, 2**64 - 1):
        grouping = DChoices(workers, choices=300, theta=0.1, capacity=20, seed=2)
        routed = grouping.route_many(np.full(1000, key, np.uint64))
        expected = d_choices.first_workers(key, 2, 300, workers)
        assert expected.max() > 0.98 * workers
        assert set(routed.tolist()) == set(expected.tolist())
        again = DChoices.from_state(grouping.state())
        assert again.route_many([key] * 700).tolist() == grouping.route_many([key] * 700).tolist()


@pytest.mark.parametrize("name", ALL)
def test_options_show_in_the_signature_and_a_wrong_one_names_the_class(name):
    grouping = getattr(streamlb, name)
    parameters = inspect.signature(grouping).parameters
    assert list(parameters)[:2] == ["workers", "sources"]
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in list(parameters.values())[2:])
    assert all(f"{one}=" in repr(grouping(3)) for one in parameters)
    for wrong in ({"wrokers": 3}, {"workers": 3, "sead": 1}, {}):
        with pytest.raises(TypeError, match=rf"^{name}: .*it takes workers, sources, .*seed$"):
            grouping(**wrong)


def test_head_gathers_the_sources():
    grouping = DChoices(10, 3, seed=1)
    keys = Zipf(1000, 1.4).draw(30_000, seed=4)
    grouping.route_many(keys)
    hot, shares = grouping.head()
    union = set().union(*(grouping.head(source)[0].tolist() for source in range(3)))
    assert set(hot.tolist()) == union
    # With 1000 keys and 1000 counters every count is exact.
    assert shares == pytest.approx([np.mean(keys == key) for key in hot], abs=1e-15)
    assert (np.diff(shares) <= 0).all()


@pytest.mark.parametrize("name", HEAD)
def test_history_of_d(name):
    grouping = getattr(streamlb, name)(20, 2)
    grouping.route_many(Zipf(1000, 1.4).draw(20_000, seed=4))
    for source in range(2):
        sent, d = grouping.d_history(source)
        assert (np.diff(sent) >= 0).all()
        if name == "DChoices":
            assert d[-1] == grouping.d_by_source[source]
        else:
            assert d.size == 0  # all workers from the start
            assert grouping.d == 20
    with pytest.raises(ValueError, match="source must be in"):
        grouping.d_history(2)
