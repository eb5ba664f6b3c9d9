"""Figures of the sketches' claims. Each function gives the `figure(runs, profile)` of a claim."""

from __future__ import annotations

import numpy as np
from streamlb.analysis import expected_cost_estimate

from ..figures import BAND, OURS, PAPER, SECOND, new_figure


def figure_over_count(excesses, epsilon, delta):
    """Draw how often an estimate is over by a given share of the other messages."""

    def figure(runs, profile):
        fig, axes = new_figure(
            "How far Count-Min over-counts",
            "excess over the true frequency, as a share of the other messages",
            "share of estimates with at least this excess",
        )
        shades = np.linspace(0.25, 1.0, runs["exponent"].nunique())
        for shade, (exponent, own) in zip(shades, runs.groupby("exponent")):
            tail = np.array(own["tail"].tolist()).mean(axis=0)
            name = "uniform" if exponent == 0 else f"Zipf {exponent:g}"
            axes.plot(excesses, np.where(tail > 0, tail, np.nan), color=OURS, alpha=shade, marker="o", ms=3, label=name)
        axes.plot([epsilon], [delta], "*", color=PAPER, ms=14, label=f"allowed: δ = {delta:g} at ε = {epsilon:g}")
        axes.set(xscale="log", yscale="log", ylim=(None, 2))
        fig.legend(fontsize=8, loc="outside lower center", ncol=4)
        return fig

    return figure


def figure_cell_range(low, high, ratio):
    """Draw the range of a cell's ratio, which the papers write W/C and W/F, by exponent."""

    def figure(runs, profile):
        own = runs[runs["high"] == high].groupby("exponent").agg({"least": "min", "greatest": "max"})
        fig, axes = new_figure(
            f"The ratio {ratio} stays within the execution times",
            "exponent of the stream (0: uniform)",
            f"{ratio} of a cell (ms)",
        )
        axes.vlines(
            own.index, own["least"], own["greatest"], color=OURS, lw=6, label="least to greatest cell, all seeds"
        )
        for value, name in ((low, "least and greatest execution time"), (high, None)):
            axes.axhline(value, color=PAPER, ls="--", label=name)
        fig.legend(fontsize=9, loc="outside lower center", ncol=2)
        return fig

    return figure


def figure_worst_case():
    """Draw the mean absolute error of an estimate by exponent, over messages and over items."""

    def figure(runs, profile):
        own = runs[runs["high"] == 64.0].groupby("exponent")
        fig, axes = new_figure(
            "Where estimates are worst",
            "exponent of the stream (0: uniform)",
            "mean absolute error of an estimate (ms)",
        )
        for column, colour, name in (
            ("error_message", OURS, "over messages"),
            ("error_item", SECOND, "over items that occur"),
        ):
            mean, error = own[column].mean(), own[column].sem()
            axes.errorbar(mean.index, mean, yerror(error), color=colour, marker="o", ms=4, capsize=3, label=name)
        axes.axvline(0, color=PAPER, ls="--", label="the paper: worst here")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=9)
        return fig

    return figure


def yerror(error):
    """Return two standard errors, none where there is a single run."""
    return 2 * error.fillna(0.0)


def figure_expectation(costs, columns):
    """Draw E[W/C] against an item's own cost, beside what the sketch gives."""

    def figure(runs, profile):
        expected = expected_cost_estimate(costs, columns).reshape(64, 64)[:, 0]
        simulated = np.array(runs["mean_by_cost"].tolist())
        error = simulated.std(axis=0, ddof=1) / np.sqrt(len(simulated)) if len(simulated) > 1 else np.zeros(64)
        own = np.arange(1, 65)
        fig, axes = new_figure(
            f"The expected estimate hardly knows the item (n = {costs.size:,}, c = {columns})",
            "the item's own execution time (ms)",
            "expected estimate E[W/C] (ms)",
        )
        axes.fill_between(own, 32.08, 32.92, color=BAND, label="the paper: [32.08, 32.92]")
        axes.errorbar(
            own, simulated.mean(axis=0), 2 * error, fmt="o", ms=3, lw=0.8, color=SECOND, label="simulated, two s.e."
        )
        axes.plot(own, expected, color=OURS, lw=2, label="Theorem 4.3")
        axes.legend(fontsize=9)
        return fig

    return figure


def figure_least_ratio(bins, level):
    """Draw the distribution of W/C in one row, and of the least of ten."""

    def figure(runs, profile):
        centres = (np.array(bins[1:]) + np.array(bins[:-1])) / 2
        fig, axes = new_figure("W/C is far from the level of the bound", "W/C (ms)", "share of items")
        for column, colour, name in (
            ("row_histogram", OURS, "one row"),
            ("least_histogram", SECOND, "least of ten rows"),
        ):
            counts = np.array(runs[column].tolist()).sum(axis=0)
            share = counts / counts.sum()
            axes.step(centres, np.where(share > 0, share, np.nan), where="mid", color=colour, label=name)
        axes.axvline(level, color=PAPER, ls="--", label="48 ms: the paper allows .024 beyond")
        axes.set_yscale("log")
        fig.legend(fontsize=9, loc="outside lower center", ncol=3)
        return fig

    return figure


def figure_tail_rows():
    """Draw the exact chances against Markov's bound, for the least ratio and for the row of least F."""

    def figure(runs, profile):
        fig, axes = new_figure(
            "Markov's bound covers the least ratio, not the row that is read",
            "bound (E[W/F]/x)^r",
            "exact probability of x or more",
        )
        axes.plot([1e-6, 1], [1e-6, 1], color=PAPER, ls="--", label="equal to the bound")
        floor = 1e-6
        for column, colour, mark, name in (
            ("scheduler", SECOND, "s", "row of least F"),
            ("least", OURS, "o", "least ratio of the rows"),
        ):
            axes.plot(runs["bound"], np.maximum(runs[column], floor), mark, color=colour, ms=4, alpha=0.7, label=name)
        axes.set(xscale="log", yscale="log", xlim=(floor, 1.5), ylim=(0.7 * floor, 1.5))
        fig.legend(fontsize=9, loc="outside lower center", ncol=3)
        return fig

    return figure
