"""Partial counts add up, however keys were split.

The naive Bayes classifier of Nasir et al. 2017 is exactly the one without splitting.
"""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlb import ConsistentGrouping, PartialCounts
from streamlb.keys import key_array


@given(
    keys=st.lists(st.integers(0, 20), max_size=200),
    workers=st.integers(1, 6),
    data=st.data(),
)
def test_collected_counts_are_exact_at_any_time(keys, workers, data):
    where = data.draw(st.lists(st.integers(0, workers - 1), min_size=len(keys), max_size=len(keys)))
    cut = data.draw(st.integers(0, len(keys)))
    counts, collected_before = PartialCounts(workers), {}
    for part, at in ((keys[:cut], where[:cut]), (keys[cut:], where[cut:])):
        counts.add(np.array(part, np.uint64), np.array(at, np.int64))
        collected = counts.collect()
        assert sum(collected.values()) == sum(collected_before.values()) + len(part)
        collected_before = collected
    assert collected == Counter(keys)
    assert all(counts.at(worker) == {} for worker in range(workers))


def naive_bayes(counts, priors, features, classes):
    """Return P(class) times the product of P(feature | class), as exact fractions.

    One is added to every count.
    """
    total = sum(priors.values())
    return {
        c: Fraction(priors[c], total)
        * np.prod([Fraction(counts.get((f, c), 0) + 1, priors[c] + 2) for f in features], initial=Fraction(1))
        for c in classes
    }


def test_routed_naive_bayes_equals_the_unsplit_one():
    """Every posterior is equal to that of the counts without splitting.

    Feature counts are routed by feature, moved by signals, and collected now and then.
    """
    rng = np.random.default_rng(8)
    classes, words = ("spam", "ham"), [f"word-{i}" for i in range(30)]
    documents = [(classes[rng.integers(2)], [words[i] for i in set(rng.zipf(1.5, 8) % 30)]) for _ in range(400)]
    exact, priors = Counter(), Counter()
    grouping, parts = ConsistentGrouping(4, sources=2, virtual=5, epsilon=0.05), PartialCounts(4)
    names = {}
    for i, (label, features) in enumerate(documents):
        priors[label] += 1
        pairs = [f"{feature}|{label}" for feature in features]
        exact.update((feature, label) for feature in features)
        names.update(zip(key_array(pairs).tolist(), [(feature, label) for feature in features]))
        parts.add(pairs, grouping.route_many(pairs))
        if i % 20 == 19:
            grouping.observe(rng.uniform(0.5, 1.2, 4))
        if i % 90 == 89:
            parts.collect()
    merged = {names[key]: count for key, count in parts.collect().items()}
    assert merged == exact
    assert grouping.moves > 0
    for _, features in documents[:50]:
        assert naive_bayes(merged, priors, features, classes) == naive_bayes(exact, priors, features, classes)


def test_split_keys_really_are_split():
    grouping, parts = ConsistentGrouping(4, virtual=5), PartialCounts(4)
    parts.add(["hot"] * 100, grouping.route_many(["hot"] * 100))
    assert sum(bool(parts.at(worker)) for worker in range(4)) > 1
    assert list(parts.collect().values()) == [100]


def test_weights_count():
    parts = PartialCounts(2)
    parts.add([1, 1], [0, 1], weights=[5, 7])
    assert parts.collect() == {1: 12}


@pytest.mark.parametrize("workers", [[0], [0, 2], [0, -1], [0.0, 1.0]])
def test_bad_workers_change_nothing(workers):
    parts = PartialCounts(2)
    with pytest.raises(ValueError, match="workers"):
        parts.add([1, 2], workers)
    assert parts.collect() == {}
