"""The instance side of POSG and LAS: matrices, snapshots, stability, and their messages."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import scheduling as naive

from streamlb import _state
from streamlb.learning.learner import Cells, CostLearner, relative_error
from streamlb.learning.messages import Hello, Matrices, MessageError, Reply, Report, Request, decode, encode, size_of

executions = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 8).map(float)), max_size=150)


@given(
    executions=executions,
    window=st.integers(1, 12),
    tolerance=st.sampled_from([0.0, 0.1, 0.5]),
    stability=st.sampled_from(["nonempty", "printed"]),
    seed=st.integers(0, 3),
)
def test_learner_matches_naive(executions, window, tolerance, stability, seed):
    ref = naive.Learner(window, tolerance, 2, 6, seed, stability)
    comp = CostLearner(window, tolerance, epsilon=0.5, delta=0.25, seed=seed, stability=stability)
    assert comp.F.shape == (1, 2, 6)
    for key, cost in executions:
        pair = ref.learn(key, cost)
        assert comp.learn(key, cost) == (pair is not None)
        if pair is not None:
            F, W = comp.take()
            assert {cell: F[cell] for cell in ref.cells if F[cell]} == pair[0]
            assert {cell: W[cell] for cell in ref.cells if F[cell]} == pair[1]
    assert {cell: comp.F[0][cell] for cell in ref.cells if comp.F[0][cell]} == ref.F
    if ref.errors:
        assert comp.error == pytest.approx(ref.errors[-1])


def test_relative_error_by_hand():
    """Old snapshot 2, 4, empty; now 3, 4, 9: 1/6 over the old cells, 10/6 over all."""
    cells = Cells(np.array([[[1, 2, 1]]]), np.array([[[3.0, 8.0, 9.0]]]))
    snapshot = np.array([[[2.0, 4.0, -1.0]]])
    assert relative_error(0, cells, snapshot, False) == 1 / 6
    assert relative_error(0, cells, snapshot, True) == 10 / 6


def test_zero_costs_never_divide_by_zero():
    learner = CostLearner(window=2, tolerance=0.0)
    assert [learner.learn(1, 0.0) for _ in range(4)] == [False, False, False, True]
    learner.take()
    costs = [0.0, 0.0, 5.0, 0.0]
    assert [learner.learn(1, cost) for cost in costs] == [False] * 4
    assert learner.error == np.inf


def test_estimate_reads_the_row_of_least_count():
    learner = CostLearner(window=100)
    for key in range(30):
        learner.learn(key, float(key))
    columns = {key: naive.sketch_columns(key, 4, 55, 0) for key in range(40)}
    for key in range(40):
        cells = [(learner.F[0, row, at], row, learner.W[0, row, at]) for row, at in enumerate(columns[key])]
        count, _, total = min(cells)
        assert learner.estimate(key, unseen=-3.0) == (total / count if count else -3.0)


@given(executions=executions, cut=st.integers(0, 150))
def test_state_goes_on_where_it_was(executions, cut):
    whole = CostLearner(window=7, tolerance=0.3)
    part = CostLearner(window=7, tolerance=0.3)
    for at, (key, cost) in enumerate(executions):
        if at == cut:
            part = CostLearner.from_state(part.state())
        ready = [learner.learn(key, cost) for learner in (whole, part)]
        assert ready[0] == ready[1]
        if ready[0]:
            whole.take(), part.take()
    assert whole.state() == part.state()


def test_reset_is_as_new():
    learner = CostLearner(window=3)
    for key in range(8):
        learner.learn(key, 1.0)
    learner.reset()
    assert learner.state() == CostLearner(window=3).state()


def test_options_by_place_and_by_name():
    learner = CostLearner(8, 0.1, 0.5, 0.25, 3, "printed", "floor", 9)
    assert (learner.window, learner.seed, learner.stability, learner.columns) == (8, 3, "printed", 9)
    with pytest.raises(TypeError, match=r"CostLearner: .*'windw'; it takes window, tolerance"):
        CostLearner(windw=8)


def test_state_of_an_older_version_is_refused():
    with pytest.raises(ValueError, match="version 2 of CostLearner, got version 1"):
        CostLearner.from_state(_state.pack("CostLearner", 1, {}, {}))


@pytest.mark.parametrize(
    ("argument", "value", "error"),
    [
        ("window", 0, ValueError),
        ("window", 1.5, TypeError),
        ("tolerance", -0.1, ValueError),
        ("tolerance", float("nan"), ValueError),
        ("epsilon", 0.0, ValueError),
        ("delta", 1.0, ValueError),
        ("stability", "loose", ValueError),
        ("rounding", "nearest", ValueError),
    ],
)
def test_bad_parameters(argument, value, error):
    with pytest.raises(error, match=argument):
        CostLearner(**{argument: value})


@pytest.mark.parametrize("cost", [-1.0, float("nan"), float("inf")])
def test_bad_cost_changes_nothing(cost):
    learner = CostLearner()
    before = learner.state()
    with pytest.raises(ValueError, match="cost"):
        learner.learn(1, cost)
    assert learner.state() == before


# What lies beyond is rejected, see test_posg_losses.py.
real = st.floats(-1e150, 1e150, exclude_min=True, exclude_max=True)
instance, incarnation, count = st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1)
plain_messages = st.one_of(
    st.builds(Hello, instance, incarnation),
    st.builds(Request, instance, count, real, real),
    st.builds(Reply, instance, incarnation, count, real, real, real),
    st.builds(Report, instance, incarnation, count, real, real),
)


@given(message=plain_messages)
def test_plain_messages_travel(message):
    data = encode(message)
    assert decode(data) == message
    assert len(data) == size_of(type(message))


def matrices(rows=2, columns=3):
    F = np.arange(rows * columns).reshape(rows, columns)
    return Matrices(4, 9, 1, 77, F, F * 2.5)


def test_matrices_travel():
    sent = matrices()
    data = encode(sent)
    got = decode(data)
    assert (got.instance, got.incarnation, got.sequence, got.seed) == (4, 9, 1, 77)
    assert np.array_equal(got.F, sent.F)
    assert np.array_equal(got.W, sent.W)
    assert (got.F.dtype, got.W.dtype) == (np.int64, np.float64)
    assert got.F.flags.c_contiguous
    assert got.F.flags.writeable
    assert len(data) == size_of(Matrices, 2, 3)


@given(at=st.integers(0, 10**6), flip=st.integers(1, 255), message=plain_messages)
def test_any_altered_byte_is_noticed(at, flip, message):
    data = bytearray(encode(message))
    data[at % len(data)] ^= flip
    with pytest.raises(MessageError):
        decode(data)


@given(length=st.integers(0, 200))
def test_truncated_matrices_are_noticed(length):
    data = encode(matrices())
    with pytest.raises(MessageError):
        decode(data[: min(length, len(data) - 1)])


def resealed(data, at, value):
    """The message with one byte changed and a checksum to match."""
    body = data[:at] + bytes([value]) + data[at + 1 : -4]
    return body + zlib.crc32(body).to_bytes(4, "little")


def test_sealed_nonsense_is_refused():
    data = encode(matrices())
    with pytest.raises(MessageError, match="version 9"):
        decode(resealed(data, 3, 9))
    with pytest.raises(MessageError, match="kind 200"):
        decode(resealed(data, 4, 200))
    with pytest.raises(MessageError, match="matrices of 3 x 3"):
        decode(resealed(data, 5 + 28, 3))
    bad = matrices()
    bad.W[0, 0] = np.nan
    with pytest.raises(MessageError, match="finite"):
        decode(encode(bad))
    with pytest.raises(MessageError, match="finite"):
        decode(encode(Request(1, 1, float("inf"), 0.0)))
    with pytest.raises(MessageError, match="not negative"):
        decode(encode(Hello(-1, 1)))
    with pytest.raises(TypeError, match="bytes"):
        decode("text")
