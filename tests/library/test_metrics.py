"""Imbalance, replication and the split into head and tail, against the obvious computation."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlb import ReplicationCounter, checkpoint_imbalance, head_tail_load, imbalance, replication

pairs = st.lists(st.tuples(st.sampled_from([0, 1, 2, 7, 2**63, 2**64 - 1]), st.integers(0, 2**31 - 1)), max_size=80)


@given(pairs, st.integers(0, 80))
def test_replication_is_the_size_of_the_set(messages, cut):
    keys = np.array([key for key, _ in messages], np.uint64)
    workers = np.array([worker for _, worker in messages], np.int64)
    counter = ReplicationCounter()
    counter.update(keys[:cut], workers[:cut])
    counter.update(keys[cut:], workers[cut:])
    assert counter.pairs == replication(keys, workers) == naive.naive_pairs(keys.tolist(), workers.tolist())


def test_replication_grows_its_table():
    rng = np.random.default_rng(1)
    keys, workers = rng.integers(0, 500, 50_000), rng.integers(0, 100, 50_000)
    assert replication(keys, workers) == naive.naive_pairs(keys.tolist(), workers.tolist())


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=30))
def test_imbalance_is_greatest_minus_mean(loads):
    total = sum(loads)
    ref = (max(loads) - total / len(loads)) / total if total else 0.0
    assert imbalance(loads) == pytest.approx(ref, abs=1e-15)


@given(st.lists(st.integers(0, 4), min_size=7, max_size=60))
def test_checkpoints_are_prefixes(workers):
    comp = checkpoint_imbalance(workers, 5, checkpoints=7)
    ends = [i * len(workers) // 7 for i in range(1, 8)]
    assert comp == pytest.approx([imbalance([workers[:end].count(w) for w in range(5)]) for end in ends], abs=1e-15)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=50))
def test_head_and_tail_add_up(messages):
    head, tail = head_tail_load([k for k, _ in messages], [w for _, w in messages], [0, 5], 4)
    assert head.tolist() == [sum(k in (0, 5) and w == worker for k, w in messages) for worker in range(4)]
    assert tail.tolist() == [sum(k not in (0, 5) and w == worker for k, w in messages) for worker in range(4)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: imbalance([]), "loads must have an entry"),
        (lambda: imbalance([1, -1]), "loads must be finite and at least 0"),
        (lambda: replication([1, 2], [0]), "workers must be one for each of the 2 keys"),
        (lambda: replication([1], [-1]), "workers must be in"),
        (lambda: replication([1], [0.5]), "workers must be whole numbers"),
        (lambda: checkpoint_imbalance([0, 1], 2, checkpoints=3), "at least 3 messages"),
        (lambda: checkpoint_imbalance([0, 2], 2, checkpoints=1), "whole numbers in \\[0, 1\\]"),
        (lambda: head_tail_load([1], [2], [1], 2), "workers must be in \\[0, 1\\]"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
