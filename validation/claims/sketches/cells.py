"""The cells of the two matrices: the range of their ratio, and where estimates are worst.

The claims are those of Rivetti et al. 2015, section IV-B, which writes the ratio W/C, and of
Rivetti et al. 2016, section 4, which writes it W/F.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import OURS, PAPER, SECOND, new_figure
from ...judging import Finding, Runs, finding, mean, monotone, never
from ..posg.readings import ITEMS, MESSAGES
from .readings import DELTA, EPSILON, EXPONENTS, SETUP, draw

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, setup=SETUP + " 64 execution times from 1 to 64 ms.")


def _cells(exponent: float, low: float, high: float, seed: int) -> dict[str, Any]:
    """Fill the two matrices from a stream: the range of the ratio over its cells, and the errors.

    Empty cells have no ratio and are left out.
    """
    from streamlb import CostSketch, execution_times

    keys = draw(exponent, seed)
    times = execution_times(ITEMS, values=64, low=low, high=high, seed=seed)
    sketch = CostSketch(EPSILON, DELTA, seed=seed + 1_000_000)
    sketch.update(keys, times[keys])
    filled = sketch.frequency > 0
    ratio = sketch.cost[filled] / sketch.frequency[filled]
    # This is what summing that many rounded costs can lose.
    slack = sketch.frequency[filled] * 2.0**-52 * high
    outside = (ratio < low - slack) | (ratio > high + slack)
    error = np.abs(sketch.estimate(np.arange(ITEMS)) - times)
    seen = np.bincount(keys.astype(np.int64), minlength=ITEMS)
    return {
        "cells": int(filled.sum()),
        "outside": int(outside.sum()),
        "least": float(ratio.min()),
        "greatest": float(ratio.max()),
        "error_message": float(error @ seen / MESSAGES),
        "error_item": float(error[seen > 0].mean()),
    }


def _cell_grid(profile: str) -> list[dict[str, Any]]:
    return [{"exponent": z, "low": low, "high": high} for low, high in ((1.0, 64.0), (0.1, 6.4)) for z in EXPONENTS]


CELLS = Experiment("cost_cells", _cell_grid, _cells, seeds=Seeds(quick=(20, 90), paper=(100, 340)))

# --- the range of the ratio, for the execution times of either paper -----------------------------


def _figure_range(low: float, high: float, ratio: str):
    def figure(runs, profile):
        own = runs[runs["high"] == high].groupby("exponent").agg({"least": "min", "greatest": "max"})
        drawn, axes = new_figure(
            f"The ratio {ratio} stays within the execution times",
            "exponent of the stream (0: uniform)",
            f"{ratio} of a cell (ms)",
        )
        axes.vlines(
            own.index, own["least"], own["greatest"], color=OURS, lw=6, label="least to greatest cell, all seeds"
        )
        for value, name in ((low, "least and greatest execution time"), (high, None)):
            axes.axhline(value, color=PAPER, ls="--", label=name)
        drawn.legend(fontsize=9, loc="outside lower center", ncol=2)
        return drawn

    return figure


def _judged_range(runs: Runs, high: float) -> Finding:
    own = runs.where(high=high).frame
    outside, cells = int(own["outside"].sum()), int(own["cells"].sum())
    return finding(
        f"{outside} of {cells:,} cells outside; ratios from {own['least'].min():.3g} to {own['greatest'].max():.3g} ms",
        value=never(outside, of=cells, label="cells outside"),
        note="W/C is a weighted mean of the costs of the items in the cell. Rounding of the sums is allowed for, "
        "nothing else.",
    )


@claim(
    "POSG-B1",
    paper="POSG",
    kind="a",
    where="section IV-B",
    statement="The ratio W/C of a cell lies between the least and the greatest execution time.",
    claimed="1 ≤ W/C ≤ 64 ms",
    criterion="never violated on a cell that is not empty",
    experiment=CELLS,
    figure=_figure_range(1.0, 64.0, "W/C"),
)
def _judge_range(runs: Runs) -> Finding:
    return _judged_range(runs, 64.0)


@claim(
    "LAS-EQ2",
    paper="LAS",
    kind="a",
    where="section 4, equation 2",
    statement="The ratio W/F of a cell lies between the least and the greatest execution time.",
    claimed="0.1 ≤ W/F ≤ 6.4 ms",
    criterion="never violated on a cell that is not empty",
    experiment=CELLS,
    figure=_figure_range(0.1, 6.4, "W/F"),
    setup=SETUP + " 64 execution times from 0.1 to 6.4 ms.",
)
def _judge_equation_2(runs: Runs) -> Finding:
    return _judged_range(runs, 6.4)


# --- the worst case ------------------------------------------------------------------------------


def _figure_worst_case(runs, profile):
    own = runs[runs["high"] == 64.0].groupby("exponent")
    figure, axes = new_figure(
        "Where estimates are worst",
        "exponent of the stream (0: uniform)",
        "mean absolute error of an estimate (ms)",
    )
    for column, colour, name in (
        ("error_message", OURS, "over messages"),
        ("error_item", SECOND, "over items that occur"),
    ):
        mean, error = own[column].mean(), own[column].sem().fillna(0.0)
        axes.errorbar(mean.index, mean, 2 * error, color=colour, marker="o", ms=4, capsize=3, label=name)
    axes.axvline(0, color=PAPER, ls="--", label="the paper: worst here")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=9)
    return figure


def _worst_when_equal(column: str, note: str):
    """Return a judge that wants an error to fall from uniform streams to the most skewed ones."""

    def judge(runs: Runs) -> Finding:
        series = {z: own[column] for z, own in runs.where(high=64.0).by("exponent")}
        means = {z: mean(sample) for z, sample in series.items()}
        return finding(
            "mean error " + ", ".join(f"{found:.3g}" for found in means.values()) + " ms from uniform to Zipf-3",
            shape=monotone(series, rising=False, label="mean error"),
            note=note,
        )

    return judge


WORST: dict[str, Any] = {"paper": "POSG", "kind": "b", "where": "section IV-B", "experiment": CELLS}

claim(
    "POSG-WC",
    statement="Streams in which all items are equally frequent are the worst for the estimates of messages.",
    claimed="equal frequencies are worst",
    criterion="the mean absolute error of a message falls at every step of the exponent",
    figure=_figure_worst_case,
    **WORST,
)(_worst_when_equal("error_message", "The error of a message is what a scheduler pays. POSG-WC-w is of items."))
claim(
    "POSG-WC-w",
    statement="Streams in which all items are equally frequent are the worst for the estimates of items.",
    claimed="equal frequencies are worst",
    criterion="the mean absolute error of an item that occurs falls at every step of the exponent",
    amended="Stood in the note of POSG-WC: the sentence says neither messages nor items.",
    **WORST,
)(
    _worst_when_equal(
        "error_item", "An item counts once, however often it occurs: most items of a skewed stream are rare."
    )
)
