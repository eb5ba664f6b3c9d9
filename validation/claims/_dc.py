"""What the claims of paper 001 share: schemes by the paper's letters, streams routed by several schemes at once, plots."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..figures import COLOURS, PAPER

PRINTED = {"candidates": "independent", "ties": "first"}  # hot keys' workers hashed one by one, the first of equals
EPSILON, SOURCES = 1e-4, 5
SKEWS = [round(0.1 * i, 1) for i in range(1, 21)]
QUICK_SKEWS = [0.4, 0.8, 1.2, 1.4, 1.7, 2.0]
LETTERS = {"kg": "KG", "sg": "SG", "pkg": "PKG", "dc": "D-C as printed", "wc": "W-C", "rr": "RR", "own": "D-C distinct"}
LETTERS["bare"] = "D-C no guard"
SCHEME_COLOURS = dict(zip(("pkg", "dc", "wc", "rr", "own", "kg", "sg", "bare"), COLOURS))
_PIECE = 65_536


def by_profile(profile: str, quick: Any, paper: Any) -> Any:
    """Return what belongs to the profile."""
    return quick if profile == "quick" else paper


def build(scheme: str, n: int, sources: int, seed: int, **options: Any) -> Any:
    """Return the grouping of a scheme.

    `dc`, `wc` and `rr` are as printed but for the guard of the head test, `bare` is D-C without it, `own` D-C with our defaults.
    """
    import streamlb

    plain = {"kg": "KeyGrouping", "sg": "ShuffleGrouping", "pkg": "PartialKeyGrouping"}
    if scheme in plain:
        return getattr(streamlb, plain[scheme])(n, sources, seed=seed)
    if scheme == "own":
        return streamlb.DChoices(n, sources, seed=seed, **options)
    if scheme == "bare":
        options["guard"] = False
    name = {"dc": "DChoices", "bare": "DChoices", "wc": "WChoices", "rr": "RoundRobinHead"}[scheme]
    return getattr(streamlb, name)(n, sources, seed=seed, **{**PRINTED, **options})


def hash_seed(seed: int) -> int:
    """Return the seed of the hash functions that goes with a stream's: no two runs share either."""
    return 1_000_003 * (seed + 1)


def route(stream: Any, m: int, groupings: dict[str, Any], seed: int, checkpoints: int = 100) -> dict[str, Any]:
    """Route one stream through several groupings, drawing it once.

    Return each one's imbalance at the checkpoints, over all messages so far and over those since the checkpoint before.
    """
    from streamlb import imbalance

    history: dict[str, list[float]] = {name: [] for name in groupings}
    windows: dict[str, list[float]] = {name: [] for name in groupings}
    before = {name: 0 for name in groupings}
    hottest = start = 0
    for i in range(1, checkpoints + 1):
        end = m * i // checkpoints
        while start < end:
            keys = stream.draw(min(_PIECE, end - start), seed, start)
            hottest += int((keys == 0).sum())
            for grouping in groupings.values():
                grouping.route_many(keys)
            start += keys.size
        for name, grouping in groupings.items():
            loads = grouping.loads
            history[name].append(imbalance(loads))
            windows[name].append(imbalance(loads - before[name]))
            before[name] = loads
    return {"p1": hottest / m, "history": history, "windows": windows}


def zipf(keys: int, exponent: float) -> Any:
    """Return the Zipf stream, its table made once a process."""
    from streamlb import Zipf

    if (keys, exponent) not in _streams:
        _streams.clear()  # one at a time: a table of a million keys takes 8 MB
        _streams[keys, exponent] = Zipf(keys, exponent)
    return _streams[keys, exponent]


_streams: dict[tuple[int, float], Any] = {}


def panels(titles: list[str], title: str, x_label: str, y_label: str, *, log: bool = True):
    """Return a figure with a row of axes that share the y axis, one for each title."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.6 * len(titles) + 1, 3.4), layout="constrained")
    figure.suptitle(title, fontsize=11)
    all_axes = figure.subplots(1, len(titles), sharey=True, squeeze=False)[0]
    for axes, name in zip(all_axes, titles):
        axes.set_title(name, fontsize=9)
        axes.set_xlabel(x_label)
        axes.grid(True, color="0.85", lw=0.6)
        if log:
            axes.set_yscale("log")
    all_axes[0].set_ylabel(y_label)
    return figure, all_axes


def mark(axes, value: float, text: str) -> None:
    """Draw the paper's value as a dashed line."""
    axes.axhline(value, color=PAPER, ls="--", lw=1, label=text)


def positive(values: Any) -> np.ndarray:
    """Return values for a logarithmic axis, zeros raised to the least that can be seen."""
    return np.maximum(np.asarray(values, float), 1e-8)
