"""The look of the figures: one set of colours, one style of axes, labels on every axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Told apart in grey and by colour-blind readers (Okabe and Ito's palette).
OURS = "#0072B2"
SECOND = "#E69F00"
THIRD = "#009E73"
FOURTH = "#CC79A7"
PAPER = "#D55E00"
BAND = "#F3D9C6"
COLOURS = (OURS, SECOND, THIRD, FOURTH, "#56B4E9", "#7F7F7F", "#B8860B", "#000000")


def new_figure(
    title: str, x_label: str, y_label: str, *, size: tuple[float, float] = (6.4, 3.8)
) -> tuple[Figure, Axes]:
    """Return a figure with one pair of axes, a title, and labels (with units) on both axes.

    Parameters
    ----------
    title, x_label, y_label : str
        What the figure shows, in the reader's words.
    size : tuple of float
        Width and height in inches.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    axes.title.set_fontsize(11)
    _style(axes)
    return figure, axes


def panels(
    title: str,
    names: Sequence[str],
    x_label: str,
    y_labels: Sequence[str],
    *,
    size: tuple[float, float] = (3.2, 3.0),
    share_y: bool = False,
    log_y: bool = False,
) -> tuple[Figure, Any]:
    """Return a figure with a column of axes for each name and a row of axes for each y label.

    Parameters
    ----------
    title : str
        What the whole figure shows.
    names : sequence of str
        What each column shows; written above it.
    x_label : str
        Written below each column.
    y_labels : sequence of str
        What each row shows; written to its left.
    size : tuple of float
        Width and height of one panel in inches.
    share_y : bool
        Whether the panels of a row have one y axis in common.
    log_y : bool
        Whether the y axes are logarithmic.

    Returns
    -------
    figure : Figure
    axes : array of Axes, shape (len(y_labels), len(names))
    """
    from matplotlib.figure import Figure

    width, height = size
    figure = Figure(figsize=(width * len(names), height * len(y_labels) + 0.4), layout="constrained")
    figure.suptitle(title, fontsize=11)
    all_axes = figure.subplots(len(y_labels), len(names), sharey="row" if share_y else False, squeeze=False)
    for row, y_label in zip(all_axes, y_labels):
        row[0].set_ylabel(y_label)
        for axes in row:
            _style(axes)
            if log_y:
                axes.set_yscale("log")
    for column, name in zip(all_axes.T, names):
        column[0].set_title(name, fontsize=10)
        column[-1].set_xlabel(x_label)
    return figure, all_axes


def paper_line(axes: Axes, value: float, text: str) -> None:
    """Draw the paper's value as a dashed line across the axes, with `text` for the legend."""
    axes.axhline(value, color=PAPER, ls="--", lw=1, label=text)


def positive(values: Any, least: float = 1e-8) -> np.ndarray:
    """Return values for a logarithmic axis: zeros and what else is below `least` become `least`."""
    return np.maximum(np.asarray(values, float), least)


def _style(axes: Axes) -> None:
    axes.grid(True, color="0.85", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
