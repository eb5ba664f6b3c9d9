"""What the claims of Nasir et al. 2017 share: the readings, streams, schemes by the paper's names.

The pairing of section IV-B, first come, first served, is what "CG" means first. That of section
V-A2, which is our default, is a reading beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...claim import Reading
from ...figures import COLOURS
from ...judging import Estimate, Sample, geometric_mean

_READINGS = (
    Reading(
        "printed",
        "to the letter",
        "Section IV-B pairs busy with idle workers by two first-come-first-served queues. Section VI-A judges workers "
        "by their utilisation, in time slots on the order of minutes (IV-B): here of one minute.",
        {"control": "printed"},
    ),
    Reading(
        "lru",
        "given to the least recently busy",
        "Section V-A2 gives to workers that are not overloaded, or else to those that were so least recently. Our "
        "default.",
        {"control": "lru"},
    ),
    Reading(
        "long",
        "time slots of a quarter of an hour",
        "Section IV-B leaves the length of a time slot to the administrator, from minutes to an hour.",
        {"control": "long"},
    ),
    Reading(
        "queue",
        "monitored by queue length",
        "Section VI-A suggests the queue over its capacity as utilisation where the cluster is real.",
        {"control": "queue"},
    ),
    Reading(
        "steady",
        "to the letter, start-up left out",
        "Section VI-B lets the cluster settle before it measures; of the simulations it does not say so.",
        {"control": "printed", "late": True},
    ),
    Reading(
        "still",
        "without signals",
        "Figures 5, 6 and 9 give the workers no capacity (capacities come in after figure 6), and without one there "
        "is nothing to signal.",
        {"signals": False},
    ),
    Reading(
        "bins",
        "virtual workers as CH's bins",
        "The caption of figure 6 gives each worker 10 virtual workers and names CH beside PoRC: both may send to "
        "virtual workers.",
        {"signals": False, "ring": "CH on virtual workers"},
    ),
    Reading(
        "met",
        "keys that occur",
        "Equation 2 sums over the keys; only those that occur take memory.",
        {"bound": "eq2"},
    ),
    Reading(
        "cited",
        "bounded as in the work cited",
        "Lemma 5.1 cites the bound of partial key grouping, which is O(m/n): a share of the mean load.",
        {"share": True},
    ),
    Reading("latency", "3.44 is latency", "The abstract, the introduction and the conclusion say latency.", {}),
    Reading("throughput", "3.44 is throughput", "Section VI-B, which describes the measurement, says throughput.", {}),
)
READINGS = {reading.name: reading for reading in _READINGS}
CONTROLS: dict[str, dict[str, Any]] = {
    "printed": {"policy": "fcfs"},
    "lru": {"policy": "lru"},
    "long": {"policy": "fcfs", "minutes": 15},
    "queue": {"policy": "fcfs", "monitor": "queue"},
}

SCHEMES = ("KG", "PKG", "PoTC", "PoRC", "CH", "SG")
STAND_IN = (
    "A Zipf stream with the number of keys and messages of the Wikipedia log and its share of the top key stands in "
    "for the log (a twentieth of both in the quick profile). It tests order and shape, not values."
)
MINUTE = 22_000_000 / 1440  # messages of the log in a minute
LATE = 0.5  # of a run: what comes before is start-up


def logs(sample: Sample, least: float = 1e-9) -> Sample:
    """Return the logarithms of a load, a queue or a share with a long tail."""
    return sample.map(lambda values: np.log(np.maximum(values, least)))


def times(above: Sample, below: Sample) -> Estimate:
    """Return how many times as large one is as the other: the geometric mean over seeds."""
    return geometric_mean(above / below, least=1e-9)


def by_profile(profile: str, quick: Any, paper: Any) -> Any:
    """Return what belongs to the profile."""
    return quick if profile == "quick" else paper


def option(reading: str, name: str, default: Any = None) -> Any:
    """Return an option of a reading; a claim with one reading only has the default."""
    return READINGS[reading].options.get(name, default) if reading else default


def wikipedia(profile: str):
    """Return the stand-in for the Wikipedia log, in the size that belongs to the profile."""
    import streamlb

    return streamlb.wikipedia(by_profile(profile, 0.05, 1.0))


def slots_of(messages: int, minutes: float = 1.0) -> int:
    """Return how many time slots so many messages take, at the rate of the Wikipedia log."""
    return max(4, round(messages / MINUTE / minutes))


def consistent(workers: int, virtual: int, control: str, *, sources: int = 1, epsilon: float = 0.01, seed: int = 0):
    """Return CG with the pairing of one of the `CONTROLS`."""
    from streamlb import ConsistentGrouping

    policy = CONTROLS[control]["policy"]
    return ConsistentGrouping(workers, sources, virtual=virtual, epsilon=epsilon, policy=policy, seed=seed)


def grouping_of(scheme: str, workers: int, *, sources: int = 1, seed: int = 0, points: int = 1) -> Any:
    """Return the grouping that the paper calls by this name, with ε = .01."""
    import streamlb as slb

    if scheme == "CG":
        return consistent(workers, 10, "printed", sources=sources, seed=seed)
    if scheme == "CH on virtual workers":
        return slb.ConsistentGrouping(workers, sources, virtual=10, inner="ch", policy="fcfs", seed=seed)
    if scheme == "CH":
        return slb.BoundedLoadHashing(workers, sources, epsilon=0.01, points=points, seed=seed)
    plain: dict[str, Any] = {
        "KG": slb.KeyGrouping,
        "PKG": slb.PartialKeyGrouping,
        "PoTC": slb.PowerOfTwoChoices,
        "PoRC": slb.PowerOfRandomChoices,
        "SG": slb.ShuffleGrouping,
    }
    return plain[scheme](workers, sources, seed=seed)


def colour_of(scheme: str) -> str:
    """Return a scheme's colour, the same in every figure."""
    names = ("CG", "KG", "SG", "PKG", "PoTC", "PoRC", "CH")
    return COLOURS[names.index(scheme)] if scheme in names else COLOURS[-1]


def of_first_seed(frame):
    """Return the rows of the first seed, for figures that show one run."""
    return frame[frame["seed"] == frame["seed"].min()]


def routed(stream, grouping, messages: int, seed: int, signals: bool = False) -> dict[str, Any]:
    """Send a stream through a grouping and count.

    With `signals` the workers, which are equal and run at 80%, tell a `ConsistentGrouping` when
    they are busy or idle, once a minute.

    Return the imbalance over the mean load, the (key, worker) pairs and the same over messages
    (`memory`), and the mean and the greatest number of hash probes for a message.
    """
    from streamlb import KeyFootprint, simulate_capacity

    footprint = KeyFootprint(stream.keys, grouping.workers)
    if signals:
        even, slots = np.ones(grouping.workers), slots_of(messages)
        run = simulate_capacity(stream, grouping, even, slots=slots, messages=messages, seed=seed, keep_workers=True)
        assert run.workers is not None
        start = 0
        for keys in stream.chunks(messages, seed):
            footprint.add(keys, run.workers[start : start + keys.size])
            start += keys.size
    else:
        for keys in stream.chunks(messages, seed):
            footprint.add(keys, grouping.route_many(keys))
    loads = grouping.loads
    out = {
        "imbalance": float((loads.max() - loads.mean()) / loads.mean()),
        "memory": footprint.pairs / messages,
        "pairs": footprint.pairs,
        "probes": 0.0,
        "most_probes": 0,
    }
    if hasattr(grouping, "probes"):
        out["probes"], out["most_probes"] = float(grouping.probes.mean), int(grouping.probes.maximum)
    return out


def loads_before(workers: np.ndarray, n: int) -> np.ndarray:
    """Return, for every message, how many earlier ones went to its worker."""
    order = np.argsort(workers, kind="stable")
    in_order = workers[order]
    first = np.searchsorted(in_order, np.arange(n))
    before = np.empty(workers.size, np.int64)
    before[order] = np.arange(workers.size) - first[in_order]
    return before


def step_imbalance(workers: np.ndarray, n: int) -> np.ndarray:
    """Return the imbalance in messages, the largest less the mean load, after every message."""
    return np.maximum.accumulate(loads_before(workers, n) + 1) - np.arange(1, workers.size + 1) / n


def thin(series: np.ndarray, points: int = 120) -> list[float]:
    """Return a series by at most so many points, each the largest of its stretch: peaks stay."""
    edges = np.unique(np.linspace(0, series.size, min(points, series.size) + 1).astype(int))
    return [float(part.max()) for part in np.split(series, edges[1:-1])]
