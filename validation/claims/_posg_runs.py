"""What POSG's claims share: the paper's streams, the readings that are run side by side, and the look of their figures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..figures import COLOURS, PAPER, new_figure

if TYPE_CHECKING:
    import pandas as pd

MESSAGES, ITEMS, INSTANCES, WINDOW = 32_768, 4_096, 5, 1_024

# The paper's letter: C is the sum of execution times, no resynchronisation in RUN, all cells in the relative error, unseen items at
# 0, columns rounded down. `default` is what streamlb does unless told otherwise, `loose` the same with a tolerance of .1.
LETTER: dict[str, Any] = {
    "clock": "busy",
    "resync": False,
    "stability": "printed",
    "unseen": "zero",
    "rounding": "floor",
}
READINGS: dict[str, dict[str, Any]] = {"letter": LETTER, "default": {}, "loose": {"tolerance": 0.1}}
CONTROLS: dict[str, tuple[str, dict[str, Any]]] = {
    "full_knowledge": ("full_knowledge", {}),
    "least_work": ("least_work", {}),
    "one_column": ("one_column", {}),
    "feedback": ("feedback", {"every": 100}),
}
NAMES = {
    "round_robin": "round robin",
    "letter": "POSG, as printed",
    "default": "POSG, our reading",
    "loose": "POSG, our reading, μ = .1",
    "letter_warm": "as printed, start-up excluded",
    "default_warm": "our reading, start-up excluded",
    "loose_warm": "our reading, μ = .1, start-up excluded",
    "full_knowledge": "full knowledge",
    "least_work": "least true backlog",
    "one_column": "one column (no content)",
    "feedback": "feedback every 100",
}
SETUP = (
    "Every stream is run under the paper's letter (C the sum of execution times, no resynchronisation, all cells in η, unseen items at 0, "
    "54 columns), our reading (the defaults), our reading with μ = .1, each with and without the round-robin start-up, and the "
    "controls. Verdicts are on our reading with the start-up, unless the claim says otherwise."
)


def seeds(profile: str, quick: int = 20, paper: int = 100) -> range:
    """Return the seeds of a profile; the paper has 100 streams."""
    return range(quick if profile == "quick" else paper)


def association_shares(association: str, values: int = 64) -> np.ndarray:
    """Return the chance of each execution time, shortest first, where items draw theirs by a distribution.

    The paper names the distributions and not their parameters: here binomial with chance 1/2, and geometric with mean
    values/4, cut off at the last value.
    """
    if association == "binomial":
        return np.array([math.comb(values - 1, j) / 2 ** (values - 1) for j in range(values)])
    shares = (1 - 4 / values) ** np.arange(values)
    return shares / shares.sum()


def times_of_items(association: str, seed: int, **times: Any) -> np.ndarray:
    """Return an execution time for each item: each value for as many items, or (1 to 64 ms) drawn by a distribution."""
    from streamlb import execution_times
    from streamlb.rng import uniforms

    if association == "equal":
        return execution_times(ITEMS, seed=seed, **times)
    bounds = np.cumsum(association_shares(association))
    drawn = np.searchsorted(bounds, uniforms(seed, ITEMS, 0), side="right")
    return 1.0 + np.minimum(drawn, bounds.size - 1)  # the last sum may lie a rounding below 1


def draw(
    exponent: float, seed: int, messages: int = MESSAGES, association: str = "equal", **times: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return the keys and costs of one of the paper's streams: its own draw and its own association of times to items."""
    from streamlb import Uniform, Zipf

    stream = Uniform(ITEMS) if exponent == 0 else Zipf(ITEMS, exponent)
    keys = stream.draw(messages, seed)
    return keys, times_of_items(association, seed + 1_000_000, **times)[keys.astype(np.int64)]


def compare(keys: np.ndarray, costs: np.ndarray, k: int, over: float, seed: int, **posg: Any) -> dict[str, float]:
    """Return the mean completion time of one stream under round robin, every reading and every control."""
    from streamlb import simulate_operator

    out = {"round_robin": simulate_operator(keys, costs, k, "round_robin", over).mean}
    for name, options in READINGS.items():
        for warmup in (True, False):
            result = simulate_operator(keys, costs, k, "posg", over, seed, warmup=warmup, **(options | posg))
            out[name if warmup else f"{name}_warm"] = result.mean
    for name, (policy, options) in CONTROLS.items():
        out[name] = simulate_operator(keys, costs, k, policy, over, seed, **options).mean
    return out


def speed_up(runs: pd.DataFrame, name: str = "default") -> pd.Series:
    """Return the paper's S_L of each run: round robin's mean completion time over that of `name`."""
    return runs["round_robin"] / runs[name]


def mean_and_error(values: pd.Series) -> str:
    """Return ``1.06 ± .01``: the mean and its standard error."""
    numbers = values.to_numpy(dtype=float)
    error = numbers.std(ddof=1) / len(numbers) ** 0.5 if len(numbers) > 1 else 0.0
    return f"{numbers.mean():.3f} ± {error:.3f}"


def readings_note(runs: pd.DataFrame) -> str:
    """Return the speed-ups of the other readings and of the controls, in one sentence."""
    names = ("letter", "loose", "default_warm", "loose_warm", "one_column", "feedback", "full_knowledge")
    return (
        "Mean speed-ups of the others: " + ", ".join(f"{NAMES[n]} {speed_up(runs, n).mean():.2f}" for n in names) + "."
    )


def sweep_figure(
    runs: pd.DataFrame,
    x: str,
    title: str,
    x_label: str,
    lines: tuple[str, ...] = ("default", "letter", "default_warm", "loose_warm", "one_column", "full_knowledge"),
    claimed: tuple[float, str] | None = None,
    log: bool = False,
):
    """Draw the mean speed-up with its standard error against one parameter, the paper's value as a line."""
    figure, axes = new_figure(title, x_label, "speed-up over round robin, S_L", size=(7.2, 4.2))
    for colour, name in zip(COLOURS, lines):
        grouped = speed_up(runs, name).groupby(runs[x])
        axes.errorbar(
            grouped.mean().index, grouped.mean(), grouped.sem().fillna(0.0), marker="o", ms=3, lw=1.2, capsize=2,
            color=colour, label=NAMES[name],
        )  # fmt: skip
    axes.axhline(1.0, color="0.5", lw=0.8)
    if claimed is not None:
        axes.axhline(claimed[0], color=PAPER, ls="--", lw=1.2, label=claimed[1])
    if log:
        axes.set_xscale("log")
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def level_figure(
    runs: pd.DataFrame, x: str, title: str, x_label: str, labels: dict[Any, str] | None = None, top: float | None = None
):
    """Draw the least, mean and greatest average completion time over the streams, a bar each, as in the paper."""
    figure, axes = new_figure(title, x_label, "average completion time (ms)", size=(7.2, 4.2))
    names = ("round_robin", "letter", "default", "loose_warm", "full_knowledge")
    points = sorted(runs[x].unique())
    width = 0.8 / len(names)
    for at, (colour, name) in enumerate(zip(COLOURS, names)):
        grouped = runs.groupby(x)[name]
        mean = grouped.mean().to_numpy()
        places = np.arange(len(points)) + (at - len(names) / 2 + 0.5) * width
        spread = [mean - grouped.min().to_numpy(), grouped.max().to_numpy() - mean]
        axes.bar(places, mean, width, yerr=spread, color=colour, label=NAMES[name], error_kw={"lw": 0.8, "capsize": 2})
    if top is not None:
        axes.axhline(top, color=PAPER, ls="--", lw=1.2, label=f"top of the paper's axis, {top:g} ms")
    axes.set_xticks(range(len(points)), [labels[p] if labels else f"{p:g}" for p in points])
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
