"""The look of the figures: one size, one set of colours, labels on every axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    axes.grid(True, color="0.85", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes
