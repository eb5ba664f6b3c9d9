"""What the claims of Nasir et al. 2017 share: streams, schemes by the paper's names, routing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...figures import COLOURS

SCHEMES = ("KG", "PKG", "PoTC", "PoRC", "CH", "SG")
STAND_IN = (
    "The Wikipedia log is not public: a Zipf stream with its number of keys and messages and its share of the top "
    "key (a quarter of both in the quick profile) stands in. It tests order and shape, not values."
)


def wikipedia(profile: str):
    """Return the stand-in for the Wikipedia log, in the size that belongs to the profile."""
    import streamlb

    return streamlb.wikipedia(0.25 if profile == "quick" else 1.0)


def grouping_of(
    scheme: str, workers: int, *, sources: int = 1, epsilon: float = 0.01, seed: int = 0, points: int = 1
) -> Any:
    """Return the grouping that the paper calls by this name."""
    import streamlb as slb

    if scheme == "PoRC":
        return slb.PowerOfRandomChoices(workers, sources, epsilon=epsilon, seed=seed)
    if scheme == "CH":
        return slb.BoundedLoadHashing(workers, sources, epsilon=epsilon, points=points, seed=seed)
    if scheme == "CG":
        return slb.ConsistentGrouping(workers, sources, virtual=10, epsilon=epsilon, seed=seed)
    plain = {
        "KG": slb.KeyGrouping,
        "PKG": slb.PartialKeyGrouping,
        "PoTC": slb.PowerOfTwoChoices,
        "SG": slb.ShuffleGrouping,
    }
    return plain[scheme](workers, sources, seed=seed)


def colour_of(scheme: str) -> str:
    """Return a scheme's colour, the same in every figure."""
    names = ("CG", "KG", "SG", "PKG", "PoTC", "PoRC", "CH")
    return COLOURS[names.index(scheme)] if scheme in names else COLOURS[-1]


def routed(stream, grouping, messages: int, seed: int) -> dict[str, Any]:
    """Send a stream through a grouping and count.

    Return the imbalance over the mean load, the (key, worker) pairs and the same over messages
    (`memory`), and the mean and the greatest number of hash probes for a message.
    """
    from streamlb import KeyFootprint

    footprint = KeyFootprint(stream.keys, grouping.workers)
    for keys in stream.chunks(messages, seed):
        footprint.add(keys, grouping.route_many(keys))
    loads = grouping.loads
    out = {
        "imbalance": float((loads.max() - loads.mean()) / loads.mean()),
        "memory": footprint.pairs / messages,
        "pairs": footprint.pairs,
    }
    if hasattr(grouping, "probes"):
        out["probes"], out["most_probes"] = float(grouping.probes.mean), int(grouping.probes.maximum)
    else:
        out["probes"], out["most_probes"] = 0.0, 0
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
