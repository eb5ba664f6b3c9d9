"""What the claims of consistent grouping share: streams, groupings by their names in the paper, routing with its cost, figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..figures import COLOURS, PAPER, new_figure

SCHEMES = ("KG", "PKG", "PoTC", "PoRC", "CH", "SG")
STAND_IN = (
    "The Wikipedia log is not public: a Zipf stream with its number of keys and messages and its share of the top key "
    "(a quarter of both in the quick profile) stands in. It tests order and shape, not values."
)


def wikipedia(profile: str):
    """Return the stand-in of a profile's size."""
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


def routed(stream, grouping, messages: int, seed: int) -> dict[str, Any]:
    """Send a stream through a grouping: imbalance over the mean load, (key, worker) pairs over messages, pairs, probes."""
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


def step_imbalance(workers: np.ndarray, n: int) -> np.ndarray:
    """Return the imbalance in messages, largest less mean load, after every message."""
    order = np.argsort(workers, kind="stable")
    sorted_workers = workers[order]
    first = np.searchsorted(sorted_workers, np.arange(n))
    rank = np.arange(workers.size) - first[sorted_workers] + 1
    load = np.empty(workers.size, np.int64)
    load[order] = rank
    return np.maximum.accumulate(load) - np.arange(1, workers.size + 1) / n


def thin(series: np.ndarray, points: int = 120) -> list[float]:
    """Return a series by at most so many points, each the largest of its stretch: peaks stay."""
    edges = np.unique(np.linspace(0, series.size, min(points, series.size) + 1).astype(int))
    return [float(part.max()) for part in np.split(series, edges[1:-1])]


def panels(title: str, names, x_label: str, y_labels, *, width: float = 3.2, height: float = 3.0):
    """Return a figure with one panel a name and row of labels, and its axes as an array [rows, names]."""
    from matplotlib.figure import Figure

    rows = len(y_labels)
    figure = Figure(figsize=(width * len(names), height * rows + 0.4), layout="constrained")
    axes = figure.subplots(rows, len(names), squeeze=False)
    figure.suptitle(title, fontsize=11)
    for row, y_label in enumerate(y_labels):
        for column, name in enumerate(names):
            ax = axes[row, column]
            ax.grid(True, color="0.88", lw=0.6)
            ax.set_axisbelow(True)
            ax.spines[["top", "right"]].set_visible(False)
            if row == 0:
                ax.set_title(name, fontsize=10)
            if row == rows - 1:
                ax.set_xlabel(x_label)
            if column == 0:
                ax.set_ylabel(y_label)
    return figure, axes


def colour_of(scheme: str) -> str:
    """Return a scheme's colour, the same in every figure."""
    names = ("CG", "KG", "SG", "PKG", "PoTC", "PoRC", "CH")
    return COLOURS[names.index(scheme)] if scheme in names else COLOURS[-1]


def bars(title: str, x_label: str, y_label: str, names, values, errors=None, paper=None, paper_label: str = ""):
    """Return a bar chart with the paper's value as a dashed line."""
    figure, axes = new_figure(title, x_label, y_label)
    axes.bar(range(len(names)), values, yerr=errors, color=COLOURS[0], capsize=3, label="measured")
    axes.set_xticks(range(len(names)), names)
    if paper is not None:
        axes.axhline(paper, color=PAPER, ls="--", label=paper_label)
    axes.legend(fontsize=8)
    return figure
