"""The cluster simulation against its naive twin, queueing formulas, and Ciw."""

import math

import ciw
import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlb import DChoices, KeyGrouping, PartialKeyGrouping, ShuffleGrouping, Zipf, simulate_cluster


@given(
    m=st.integers(0, 120),
    n=st.integers(1, 5),
    sources=st.integers(1, 4),
    network=st.sampled_from([0.0, 0.5, 3.0]),
    in_flight=st.sampled_from([None, 1, 3, 50]),
    rate=st.sampled_from([None, 0.5, 4.0]),
    slots=st.integers(1, 3),
    service=st.sampled_from(["constant", "exponential"]),
    arrivals=st.sampled_from(["constant", "poisson"]),
    seed=st.integers(0, 50),
)
def test_matches_naive(m, n, sources, network, in_flight, rate, slots, service, arrivals, seed):
    if in_flight is None and rate is None:
        rate = 1.0
    options = dict(messages=m, service=service, slots=slots, network=network, arrivals=arrivals, seed=seed)

    def run(**loop):
        return simulate_cluster(Zipf(20, 1.0), PartialKeyGrouping(n, sources, seed=seed), **options, **loop)

    comp = run(in_flight=in_flight, rate=rate)
    # Without a limit on messages in flight, each is sent as soon as it is ready.
    ready = None if rate is None else run(rate=rate).sent.tolist()
    workers = PartialKeyGrouping(n, sources, seed=seed).route_many(comp.keys).tolist()
    sent, done = naive.naive_cluster(workers, comp.service.tolist(), n, sources, network, in_flight, ready, slots)
    assert comp.workers.tolist() == workers
    assert comp.sent.tolist() == sent
    assert comp.done.tolist() == done


def test_constant_arrivals_are_evenly_spaced():
    result = simulate_cluster([1] * 7, KeyGrouping(2, 3), rate=4.0, arrivals="constant")
    assert result.sent.tolist() == [i / 4 for i in range(7)]


def mean_wait(slots, rate, service, m=400_000, runs=8):
    """Return the mean waits of independent runs of one worker, without the first tenth of each."""
    waits = []
    for seed in range(runs):
        result = simulate_cluster(
            np.zeros(m, np.uint64),
            KeyGrouping(1, 3),
            slots=slots,
            rate=rate,
            service=service,
            network=0.0,
            seed=seed,
        )
        by_time = np.argsort(result.sent)
        waits.append((result.latency - result.service)[by_time][m // 10 :].mean())
    return np.array(waits)


def erlang_c(k, load):
    """Return the chance to wait in M/M/k, where `load` is the arrival rate x the mean service."""
    top = load**k / math.factorial(k) * k / (k - load)
    return top / (sum(load**i / math.factorial(i) for i in range(k)) + top)


@pytest.mark.bound
@pytest.mark.parametrize(
    ("slots", "rate", "service", "expected"),
    [
        (1, 0.7, "exponential", 0.7 / 0.3),
        (1, 0.7, "constant", 0.7 / (2 * 0.3)),
        (3, 2.1, "exponential", erlang_c(3, 2.1) / (3 - 2.1)),
        (8, 6.0, "exponential", erlang_c(8, 6.0) / (8 - 6.0)),
    ],
    ids=["M/M/1", "M/D/1", "M/M/3", "M/M/8"],
)
def test_waits_of_queueing_theory(slots, rate, service, expected):
    """The mean wait is within 4.5 standard errors of that of theory.

    The standard error is that of 8 runs (Student's t, 7 degrees of freedom), so each case has a
    chance of 1 in 400 of a false alarm.
    """
    waits = mean_wait(slots, rate, service)
    assert abs(waits.mean() - expected) < 4.5 * waits.std(ddof=1) / math.sqrt(waits.size)
    assert waits.std(ddof=1) < 0.1 * expected  # the test has power: five per cent off would be seen


@pytest.mark.parametrize("slots", [1, 2])
def test_ciw_agrees_message_by_message(slots):
    """The same gaps and service times give the same times in Ciw's node, first come first served.

    They agree to nearly the last digit.
    """
    result = simulate_cluster(
        np.zeros(300, np.uint64),
        KeyGrouping(1),
        slots=slots,
        rate=0.9 * slots,
        service="exponential",
        network=0,
        seed=4,
    )
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Sequential([*np.diff(result.sent, prepend=0.0).tolist(), float("inf")])],
        service_distributions=[ciw.dists.Sequential(result.service.tolist())],
        number_of_servers=[slots],
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(300, method="Complete")
    records = sorted(simulation.get_all_records(), key=lambda record: record.arrival_date)[:300]
    assert [record.service_end_date for record in records] == pytest.approx(result.done.tolist(), rel=1e-9)


def test_closed_loop_keeps_its_limit_and_saturates():
    result = simulate_cluster(Zipf(50, 1.0), ShuffleGrouping(5, 3, seed=1), messages=6000, in_flight=20, network=0.25)
    for source in range(3):
        sent, back = np.sort(result.sent[source::3]), np.sort(result.done[source::3] + 0.25)
        flying = np.arange(1, sent.size + 1) - np.searchsorted(back, sent, side="right")
        assert flying.max() == 20
    assert result.throughput == pytest.approx(5.0, rel=0.02)
    # Little's law: in flight = throughput x (latency + the way back)
    assert result.throughput * (result.latency.mean() + 0.25) == pytest.approx(60, rel=0.03)
    assert result.utilisation.max() <= 1


def test_a_hot_key_is_the_bottleneck_of_key_grouping():
    """With a share p_1 of all messages on one worker the throughput is at most 1 / p_1.

    D-Choices is not bound by that.
    """
    stream = Zipf(1000, 2.0)
    kg = simulate_cluster(stream, KeyGrouping(20, 4), messages=40_000, in_flight=100)
    dc = simulate_cluster(stream, DChoices(20, 4), messages=40_000, in_flight=100)
    assert kg.throughput <= 1 / np.mean(kg.keys == 0)
    assert dc.throughput > 5 * kg.throughput


def test_service_by_key_and_summary():
    result = simulate_cluster([0, 1, 1], KeyGrouping(1), service_time=[5.0, 2.0], in_flight=1, network=0.5)
    assert result.latency.tolist() == [5.5, 2.5, 2.5]
    assert result.makespan == 5.5 + 0.5 + 2.5 + 0.5 + 2.5
    assert result.summary()["worker_max"] == pytest.approx(10.5 / 3)
    assert result.latency_percentiles(50, over="workers") == pytest.approx(3.5)
    assert simulate_cluster([], KeyGrouping(2), in_flight=1).throughput == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "rate or in_flight must be given"),
        ({"rate": 0}, "rate must be"),
        ({"in_flight": 0}, "in_flight must be"),
        ({"rate": 1, "slots": 0}, "slots must be"),
        ({"rate": 1, "network": -1}, "network must be"),
        ({"rate": 1, "service": "gamma"}, "service must be one of"),
        ({"rate": 1, "arrivals": "bursts"}, "arrivals must be one of"),
        ({"rate": 1, "service_time": [1.0]}, "service_time must have an entry for each key up to 1"),
        ({"rate": 1, "service_time": [1.0, float("nan")]}, "service_time must be finite"),
        ({"rate": 1, "service_time": 0}, "service_time must be"),
    ],
)
def test_bad_input(options, message):
    grouping = KeyGrouping(2)
    before = grouping.state()
    with pytest.raises((ValueError, TypeError), match=message):
        simulate_cluster([0, 1], grouping, **options)
    with pytest.raises(TypeError, match="grouping must be one of"):
        simulate_cluster([0, 1], "key", rate=1)
    with pytest.raises(TypeError, match=r"simulate_cluster: .*'in_fligt'; it takes .*in_flight"):
        simulate_cluster([0, 1], grouping, in_fligt=1)
    assert grouping.state() == before
