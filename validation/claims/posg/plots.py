"""What the figures of the claims of Rivetti et al. 2015 share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...figures import COLOURS, PAPER, new_figure
from .readings import NAMES

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def legend_beside(axes: Any) -> None:
    """Put the legend to the right of the axes, where it covers no line."""
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))


def speed_up(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return S_L of each run: round robin's mean completion time over that of `name`."""
    return frame["round_robin"] / frame[name]


def mean_line(axes: Any, grouped: Any, **style: Any) -> None:
    """Draw the mean of each group with its standard error, against what the runs are grouped by."""
    mean, error = grouped.mean(), grouped.sem().fillna(0.0)
    axes.errorbar(mean.index, mean, error, marker="o", ms=3, lw=1.2, capsize=2, **style)


def sweep_figure(
    runs: pd.DataFrame,
    x: str,
    title: str,
    x_label: str,
    claimed: tuple[float, str] | None = None,
    log: bool = False,
) -> Figure:
    """Draw the mean speed-up with its standard error against one parameter.

    What the paper claims is a dashed line.
    """
    figure, axes = new_figure(title, x_label, "speed-up over round robin, S_L", size=(7.2, 4.2))
    lines = ("default", "printed", "first_look", "warm", "one_column", "feedback")
    for colour, name in zip(COLOURS, lines):
        mean_line(axes, speed_up(runs, name).groupby(runs[x]), color=colour, label=NAMES[name])
    axes.axhline(1.0, color="0.5", lw=0.8)
    if claimed is not None:
        axes.axhline(claimed[0], color=PAPER, ls="--", lw=1.2, label=claimed[1])
    if log:
        axes.set_xscale("log")
    legend_beside(axes)
    return figure


def level_figure(
    runs: pd.DataFrame, x: str, title: str, x_label: str, labels: dict[Any, str] | None = None, top: float | None = None
) -> Figure:
    """Draw the least, mean and greatest average completion time over the streams as bars."""
    figure, axes = new_figure(title, x_label, "average completion time (ms)", size=(7.2, 4.2))
    names = ("round_robin", "printed", "default", "warm", "full_knowledge")
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
    legend_beside(axes)
    return figure
