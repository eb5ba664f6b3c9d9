"""The sketches: equal to their twins, mergeable, and within their guarantees.

The contract that all sketches keep is checked in `testing/test_own_balancers.py`.
"""

import json
import struct
import tracemalloc
import zlib
from collections import Counter
from fractions import Fraction

import datasketches
import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlb import CostSketch, CountMin, SpaceSaving, Zipf, execution_times

keys_lists = st.lists(st.integers(0, 12), max_size=80)
words = st.integers(0, 2**64 - 1)


@given(st.lists(st.tuples(words, st.integers(0, 5)), max_size=30), words, st.integers(0, 2**40))
def test_count_min_matches_naive(messages, other, seed):
    ref, comp = naive.CountMin(0.3, 0.2, seed), CountMin(0.3, 0.2, seed)
    for key, weight in messages:
        ref.update(key, weight)
    comp.update([key for key, _ in messages], [weight for _, weight in messages])
    assert comp.counts.tolist() == ref.counts
    asked = [key for key, _ in messages] + [other]
    assert comp.estimate(asked).tolist() == [ref.estimate(key) for key in asked]


@given(st.lists(st.tuples(words, st.floats(0, 1e6)), max_size=30), words, st.integers(0, 2**40))
def test_cost_sketch_matches_naive(messages, other, seed):
    ref, comp = naive.CostSketch(0.3, 0.2, seed), CostSketch(0.3, 0.2, seed)
    for key, cost in messages:
        ref.update(key, cost)
    comp.update([key for key, _ in messages], np.array([cost for _, cost in messages], float))
    assert comp.frequency.tolist() == ref.count.counts
    assert comp.cost.tolist() == ref.cost
    asked = [key for key, _ in messages] + [other]
    assert comp.estimate(asked, unseen="zero").tolist() == [ref.estimate(key, 0.0) for key in asked]
    assert comp.estimate(asked).tolist() == [ref.estimate(key, comp.mean) for key in asked]


@given(keys_lists, st.integers(1, 9))
def test_space_saving_matches_naive(keys, capacity):
    ref, comp = naive.SpaceSaving(capacity), SpaceSaving(capacity)
    for key in keys:
        ref.update(key)
    comp.update(keys)
    for threshold in (1e-9, 0.2, 1.0):
        assert comp.heavy_hitters(threshold).tolist() == ref.heavy_hitters(threshold)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 9)), max_size=60), st.integers(1, 6))
def test_space_saving_guarantees_hold_for_any_weighted_stream(messages, capacity):
    sketch, true = SpaceSaving(capacity), Counter()
    sketch.update([key for key, _ in messages], [weight for _, weight in messages])
    for key, weight in messages:
        true[key] += weight
    check_space_saving(sketch, true)


def check_space_saving(sketch, true):
    """Every guarantee, against true counts."""
    total = sum(true.values())
    assert sketch.total == total
    present = {key: (count, error) for key, count, error in sketch.heavy_hitters(1e-12).tolist()}
    assert len(present) <= sketch.capacity
    for key, (count, error) in present.items():
        assert count - error <= true[key] <= count
    for key, count in true.items():
        assert count <= sketch.estimate(key)
        assert count - sketch.estimate(key) >= -total / sketch.capacity
        if count * sketch.capacity > total:
            assert key in present


@given(keys_lists, keys_lists, st.integers(1, 6))
def test_space_saving_merge_keeps_the_guarantees(one, two, capacity):
    a, b = SpaceSaving(capacity), SpaceSaving(capacity)
    a.update(one)
    b.update(two)
    a.merge(b)
    check_space_saving(a, Counter(one) + Counter(two))
    a.update(two)  # and it goes on working
    check_space_saving(a, Counter(one) + Counter(two) + Counter(two))


def sketches():
    return [CountMin(0.1, 0.1, seed=3), CostSketch(0.1, 0.1, seed=3), SpaceSaving(17)]


def feed(sketch, keys):
    if isinstance(sketch, CostSketch):
        sketch.update(keys, keys.astype(float) % 7 if isinstance(keys, np.ndarray) else float(keys % 7))
    else:
        sketch.update(keys)


@pytest.mark.parametrize("number", range(3), ids=["CountMin", "CostSketch", "SpaceSaving"])
def test_equal_sketches_hold_the_same(number):
    sketch, other = sketches()[number], sketches()[number]
    keys = Zipf(1000, 1.1).draw(800, 6)
    feed(sketch, keys)
    assert sketch != other
    feed(other, keys)
    assert sketch == other
    assert sketch != "a sketch"


def test_count_min_merge_is_exact():
    keys, costs = Zipf(500, 1.0).draw(1000, 3), execution_times(500)
    for kind in (CountMin, CostSketch):
        whole, left, right = kind(seed=4), kind(seed=4), kind(seed=4)
        for sketch, part in ((whole, keys), (left, keys[:400]), (right, keys[400:])):
            sketch.update(part) if kind is CountMin else sketch.update(part, costs[part.astype(int)])
        left.merge(right)
        assert left == whole  # whole-number costs: sums of floats are exact


@pytest.mark.parametrize("exponent", [0.0, 0.8, 1.4, 2.0])
@pytest.mark.bound
def test_against_datasketches(exponent):
    """Beside an independent library: both keep every key over m/capacity, within their bounds."""
    keys = Zipf(5_000, exponent).draw(100_000, 11)
    true = Counter(keys.tolist())
    ours = SpaceSaving(256)
    ours.update(keys)
    theirs = datasketches.frequent_items_sketch(9)
    for key in keys.tolist():
        theirs.update(str(key))
    heavy = {key for key, count in true.items() if count > max(keys.size / 256, theirs.epsilon * keys.size)}
    found = {key for key, _, _ in ours.heavy_hitters(1 / 256).tolist()}
    reported = {
        int(row[0]) for row in theirs.get_frequent_items(datasketches.frequent_items_error_type.NO_FALSE_NEGATIVES)
    }
    assert heavy <= found
    assert heavy <= reported
    for key in heavy:
        assert ours.estimate(key) - ours.error(key) <= true[key] <= ours.estimate(key)
        assert theirs.get_lower_bound(str(key)) <= true[key] <= theirs.get_upper_bound(str(key))

    counts, other = CountMin(0.01, 0.01, seed=2), datasketches.count_min_sketch(7, 272)
    counts.update(keys)
    for key in keys.tolist():
        other.update(key)
    exceeded = 0
    for key, count in true.items():
        assert count <= counts.estimate(key)
        assert count <= other.get_estimate(key)
        exceeded += counts.estimate(key) - count > counts.error_bound()
    # At most delta of the keys in expectation; with 7 rows e**-7 of them: five times delta is
    # beyond any doubt.
    assert exceeded <= 0.05 * len(true)


@pytest.mark.bound
def test_count_min_guarantee_over_hash_draws():
    """P(error >= epsilon (m - f)) <= delta: 2,000 hash draws for four keys of a skewed stream.

    If the probability were delta exactly, the share of failures would pass delta + 5 standard
    errors (.0335) with chance 3e-7.
    """
    keys = Zipf(200, 0.5).draw(2_000, 1)
    true, epsilon, delta, draws = Counter(keys.tolist()), 0.2, 0.3, 2_000
    asked = np.array([0, 3, 50, 199])
    failures = np.zeros(asked.size)
    for seed in range(draws):
        sketch = CountMin(epsilon, delta, seed)
        sketch.update(keys)
        error = sketch.estimate(asked) - [true[key] for key in asked.tolist()]
        assert (error >= 0).all()
        failures += error >= epsilon * (keys.size - np.array([true[key] for key in asked.tolist()]))
    assert (failures / draws <= delta + 5 * np.sqrt(delta * (1 - delta) / draws)).all()


def test_cost_estimates_lie_between_least_and_greatest():
    keys, costs = Zipf(300, 0.7).draw(5_000, 2), execution_times(300, low=2.0, high=9.0)
    sketch = CostSketch(0.5, 0.5, seed=1)
    sketch.update(keys, costs[keys.astype(int)])
    used = sketch.frequency > 0
    ratio = sketch.cost[used] / sketch.frequency[used]
    assert ratio.min() >= 2.0 - 1e-12
    assert ratio.max() <= 9.0 + 1e-12


def place_of(state, name):
    """Return where an array of a state lies: its type, number of entries, and first byte."""
    (length,) = struct.unpack("<I", state[4:8])
    at = 8 + length
    for one, dtype, shape in json.loads(state[8:at])["arrays"]:
        size = int(np.prod(shape))
        if one == name:
            return dtype, size, at
        at += size * np.dtype(dtype).itemsize
    raise KeyError(name)


def array_of(state, name):
    return np.frombuffer(state, *place_of(state, name))


def with_array(state, name, values):
    """Return a state with another array and the checksum that belongs to it."""
    dtype, _, at = place_of(state, name)
    values = np.asarray(values, dtype).tobytes()
    body = state[:at] + values + state[at + len(values) : -4]
    return body + struct.pack("<I", zlib.crc32(body))


def test_space_saving_is_amortised_constant_on_the_worst_streams():
    """Count the scans for a new level: at most total/capacity, each after a rise of the least.

    The streams are those that move the least counter most often: all distinct, round robin over
    capacity + 1, and blocks.
    """
    capacity, m = 64, 20_000
    worst = [np.arange(m), np.arange(m) % (capacity + 1), np.arange(m) // 3 % (2 * capacity)]
    for stream in worst:
        sketch, scans, level = SpaceSaving(capacity), 0, -1
        for key in stream.tolist():
            sketch.update(key)
            _, now, _, _ = array_of(sketch.state(), "registers")
            scans += now != level
            level = now
        assert scans <= m / capacity + 1


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: CountMin(epsilon=0), ValueError, r"epsilon must be in \(0, 1\], got 0"),
        (lambda: CountMin(epsilon=1.01), ValueError, "epsilon must be"),
        (lambda: CountMin(delta=-1), ValueError, "delta must be"),
        (lambda: CountMin(delta="x"), TypeError, "delta must be a real number"),
        (lambda: CountMin(epsilon=5e-324), ValueError, "epsilon must be at least 1e-09"),
        (lambda: CountMin(rounding="up"), ValueError, "rounding must be one of"),
        (lambda: CostSketch(epsilon=float("nan")), ValueError, "epsilon must be"),
        (lambda: SpaceSaving(0), ValueError, "capacity must be in"),
        (lambda: SpaceSaving(1.0), TypeError, "capacity must be an integer"),
        (lambda: CountMin().merge(CountMin(seed=1)), ValueError, "same seed to be merged: 0 here, 1 there"),
        (lambda: CountMin().merge(CountMin(epsilon=0.2)), ValueError, "same epsilon"),
        (lambda: CountMin().merge(CostSketch()), TypeError, "other must be a CountMin"),
        (lambda: SpaceSaving(3).merge(SpaceSaving(4)), ValueError, "same capacity"),
        (lambda: SpaceSaving(3).heavy_hitters(0), ValueError, "threshold must be"),
    ],
)
def test_bad_parameters(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize(
    ("keys", "costs", "error", "text"),
    [
        ([1, 2], [1.0], ValueError, "costs must have as many entries as the keys, 2, got 1"),
        ([1, 2], [1.0, -1.0], ValueError, "costs must be finite and at least 0, got -1.0 at position 1"),
        ([1, 2], [float("nan"), 1.0], ValueError, "at position 0"),
        ([1, 2], [1.0, float("inf")], ValueError, "at position 1"),
        ([1, 2], ["a", "b"], TypeError, "costs must be real numbers"),
        ([1, 2], [[1.0, 2.0]], ValueError, "one dimension"),
        ([1, 2], [[1.0], [2.0, 3.0]], ValueError, "costs must have one dimension"),
        ("\ud800", 1.0, ValueError, "key must be valid unicode"),
        ([1.5, 2], [1.0, 2.0], TypeError, "keys must be .* position 0"),
    ],
)
def test_bad_updates_change_nothing(keys, costs, error, text):
    sketch = CostSketch(seed=1)
    sketch.update([5], [1.0])
    before = sketch.state()
    with pytest.raises(error, match=text):
        sketch.update(keys, costs)
    assert sketch.state() == before


@pytest.mark.parametrize("weights", [[1, 2**62], [[1], [1, 2]]])
@pytest.mark.parametrize("kind", [CountMin, lambda: SpaceSaving(3)])
def test_bad_weights_change_nothing(kind, weights):
    sketch = kind()
    before = sketch.state()
    with pytest.raises((ValueError, TypeError), match=r"weights must (be|have)"):
        sketch.update([1, 2], weights)
    assert sketch.state() == before


@pytest.mark.parametrize("sketch", sketches(), ids=lambda s: type(s).__name__)
def test_altered_states_are_refused(sketch):
    feed(sketch, np.arange(40))
    good, kind = sketch.state(), type(sketch)
    other = next(s for s in sketches() if type(s) is not kind)
    rng = np.random.default_rng(1)
    for cut in (0, 3, 11, len(good) // 2, len(good) - 1):
        with pytest.raises(ValueError, match="state must be"):
            kind.from_state(good[:cut])
    for at in rng.integers(0, len(good), 40):
        altered = bytearray(good)
        altered[at] ^= 1 << rng.integers(8)
        with pytest.raises(ValueError, match="state must be"):
            kind.from_state(bytes(altered))
    with pytest.raises(ValueError, match=f"state must be of class {kind.__name__}, got one of {type(other).__name__}"):
        kind.from_state(other.state())
    with pytest.raises(TypeError, match="state must be bytes"):
        kind.from_state("text")


@pytest.mark.parametrize("entries", [[0, 7], [0, -2], [0, 0], [0, -1]])
def test_a_state_whose_index_does_not_fit_its_counters_is_refused(entries):
    """Such an index, with a right checksum, would send a kernel outside its arrays."""
    sketch = SpaceSaving(2)
    sketch.update([5, 6])
    table = array_of(sketch.state(), "table").copy()
    assert SpaceSaving.from_state(with_array(sketch.state(), "table", table)) == sketch
    table[table >= 0] = entries
    with pytest.raises(ValueError, match="its index does not name each counter"):
        SpaceSaving.from_state(with_array(sketch.state(), "table", table))


def test_the_least_delta_has_its_rows():
    assert CountMin(delta=5e-324).rows == 1074


def test_costs_whose_sum_is_too_large_for_a_float_are_no_error():
    sketch = CostSketch(seed=1)
    sketch.update([1, 2], [1.5e308, 1.5e308])
    assert sketch.messages == 2


def test_extreme_keys_and_read_only_arrays():
    keys = np.array([0, 2**64 - 1, 2**63], np.uint64)
    keys.flags.writeable = False
    costs = np.ones(3)
    costs.flags.writeable = False
    for sketch in sketches():
        sketch.update(keys, costs) if isinstance(sketch, CostSketch) else sketch.update(keys)
        sketch.update(2**64 - 1, *([1.0] if isinstance(sketch, CostSketch) else []))
        assert sketch.estimate(2**64 - 1) == sketch.estimate(-1) == (1.0 if isinstance(sketch, CostSketch) else 2)


def test_cost_of_whole_numbers_is_exact():
    """The sums of whole costs in a cell are exact, so an estimate is a ratio of integers."""
    keys, costs = Zipf(50, 1.0).draw(3_000, 1), execution_times(50)
    sketch = CostSketch(0.2, 0.4, seed=5)
    sketch.update(keys, costs[keys.astype(int)])
    family = naive.sketch_family(sketch.rows, 5)
    for key in range(50):
        cells = []
        for function in family:
            column = naive.sketch_column(key, function, sketch.columns)
            inside = [k for k in keys.tolist() if naive.sketch_column(k, function, sketch.columns) == column]
            cells.append((len(inside), Fraction(sum(int(costs[k]) for k in inside), max(1, len(inside)))))
        least = min(count for count, _ in cells)
        assert sketch.estimate(key) == float(next(ratio for count, ratio in cells if count == least))


def test_update_allocates_nothing_that_grows_with_the_messages():
    """A million keys and costs: what NumPy and Python allocate on the way stays below 64 kB."""
    keys, sketch = np.arange(1_000_000, dtype=np.uint64), CostSketch()
    costs = np.ones(keys.size)
    sketch.update(keys[:8], costs[:8])
    tracemalloc.start()
    sketch.update(keys, costs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64_000


def test_heavy_hitters_has_keys_that_reach_the_threshold_exactly():
    """0.07 * 700 is above 49 in floats, and 0.2 / 7 is not 1 / 35."""
    for threshold, count, total in ((0.07, 49, 700), (0.2 / 7, 3, 105), (1 / 35, 3, 105)):
        sketch = SpaceSaving(10)
        sketch.update([0, 1], [count, total - count])
        assert sorted(sketch.heavy_hitters(threshold)["key"].tolist()) == [0, 1]
