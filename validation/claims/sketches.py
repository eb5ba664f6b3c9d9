"""The sketches' claims: Count-Min, its shapes, and the cells of the two cost matrices (POSG III-A, IV-B; LAS 4)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from streamlb.analysis import count_min_failure, count_min_shape

from ..claim import Claim, Experiment, Verdict
from ._sketch_figures import figure_cell_range, figure_over_count, figure_worst_case

MESSAGES, ITEMS, EPSILON, DELTA = 32_768, 4_096, 0.05, 0.1  # POSG's defaults
EXPONENTS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
EXCESSES = (0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1)


def _stream(exponent: float, seed: int) -> np.ndarray:
    from streamlb import Uniform, Zipf

    stream = Uniform(ITEMS) if exponent == 0 else Zipf(ITEMS, exponent)
    return stream.draw(MESSAGES, seed)


def seeds(profile: str, quick: int, paper: int) -> range:
    """Return the seeds of a profile: as many as are given for it."""
    return range(quick if profile == "quick" else paper)


# --- Count-Min -----------------------------------------------------------------------------------------------------------------


def _over_counts(exponent: float, seed: int) -> dict[str, Any]:
    """Count a stream and compare every item's estimate with the truth."""
    from streamlb import CountMin

    keys = _stream(exponent, seed)
    sketch = CountMin(EPSILON, DELTA, seed=seed + 1_000_000)
    sketch.update(keys)
    truth = np.bincount(keys.astype(np.int64), minlength=ITEMS)
    excess = sketch.estimate(np.arange(ITEMS)) - truth
    others = MESSAGES - truth
    return {
        "under": int((excess < 0).sum()),
        "tail": [float((excess >= x * others).mean()) for x in EXCESSES],
        "hottest": bool(excess[0] >= EPSILON * others[0]),
    }


OVER_COUNTS = Experiment(
    "count_min",
    lambda profile: [{"exponent": z, "seed": s} for z in EXPONENTS for s in seeds(profile, 40, 400)],
    _over_counts,
)


def _judge_over_counts(runs, profile) -> Verdict:
    at = EXCESSES.index(EPSILON)
    failing = runs.assign(share=[tail[at] for tail in runs["tail"]]).groupby("exponent")["share"].mean()
    hottest = runs.groupby("exponent")["hottest"].mean()
    under = int(runs["under"].sum())
    bound = count_min_failure(EPSILON, *count_min_shape(EPSILON, DELTA))
    holds = under == 0 and failing.max() <= DELTA and hottest.max() <= DELTA
    return Verdict.when(
        holds,
        f"{under} estimates too low; at most {failing.max():.2g} of estimates over by ε(m − f), {hottest.max():.2g} for the top item",
        f"Mean over {runs['seed'].nunique()} draws of stream and hash functions for each exponent. With four rows of 55 columns "
        f"Markov's inequality gives {bound:.4f}, well under δ = {DELTA}: ⌈log₂ 1/δ⌉ rows are more than the ⌈ln 1/δ⌉ that are needed.",
    )


# --- shapes ----------------------------------------------------------------------------------------------------------------------


def _shape(epsilon: float, delta: float) -> dict[str, Any]:
    rows, up = count_min_shape(epsilon, delta)
    down = count_min_shape(epsilon, delta, rounding="floor")[1]
    return {
        "rows": rows,
        "up": up,
        "down": down,
        "failure": count_min_failure(epsilon, rows, up),
        "rows_ln": math.ceil(math.log(1 / delta)),
    }


SHAPES = Experiment(
    "sketch_shapes",
    lambda profile: [{"epsilon": e, "delta": d} for e, d in ((0.7, 0.25), (0.05, 0.1), (1.0, 0.1), (0.001, 0.1))],
    _shape,
)


def _shape_of(runs, epsilon: float) -> dict[str, int]:
    row = runs[runs["epsilon"] == epsilon].iloc[0]
    return {name: int(row[name]) for name in ("rows", "up", "down", "rows_ln")}


def _judge_shape_formula(runs, profile) -> Verdict:
    small, large = _shape_of(runs, 0.7), _shape_of(runs, 0.05)
    rows = (small["rows"], large["rows"])
    holds = rows == (2, 4) and small["up"] == 4 and (large["down"], large["up"]) == (54, 55)
    return Verdict.when(
        holds and bool((runs["failure"] <= runs["delta"]).all()),
        f"rows {rows[0]} and {rows[1]} for δ = .25 and .1; columns {small['up']} for ε = .70, {large['down']} or {large['up']} for ε = .05",
        f"The logarithm is to base 2 (base e would give {large['rows_ln']} rows for δ = .1). Columns are rounded up in Figure 1 and "
        "in IV-B (55), down in V-A (54): both are available, rounding up is the default.",
    )


def _judge_figure_1(runs, profile) -> Verdict:
    row = _shape_of(runs, 0.7)
    return Verdict.when((row["rows"], row["up"]) == (2, 4), f"{row['rows']} rows, {row['up']} columns")


def _judge_54_columns(runs, profile) -> Verdict:
    row = _shape_of(runs, 0.05)
    return Verdict.when(
        54 in (row["up"], row["down"]),
        f"{row['down']} rounded down, {row['up']} rounded up",
        "e/.05 = 54.37, so 54 is rounded down, unlike Figure 1 and the 55 of section IV-B. The default here is rounded up.",
    )


def _judge_extreme_columns(runs, profile) -> Verdict:
    wide, narrow = _shape_of(runs, 0.001), _shape_of(runs, 1.0)
    return Verdict.when(
        1 in (narrow["up"], narrow["down"]) and 2781 in (wide["up"], wide["down"]),
        f"{narrow['down']} or {narrow['up']} columns for ε = 1, {wide['down']} or {wide['up']} for ε = .001",
        "e/1 = 2.72 gives 2 or 3 columns, never one; e/.001 = 2718.28, so that 2781 looks like 2718 with two digits exchanged.",
    )


# --- cells -------------------------------------------------------------------------------------------------------


def _cells(exponent: float, low: float, high: float, seed: int) -> dict[str, Any]:
    """Fill the two matrices from a stream and give the range of W/C over the cells that are not empty."""
    from streamlb import CostSketch, execution_times

    keys = _stream(exponent, seed)
    times = execution_times(ITEMS, values=64, low=low, high=high, seed=seed)
    sketch = CostSketch(EPSILON, DELTA, seed=seed + 1_000_000)
    sketch.update(keys, times[keys])
    filled = sketch.frequency > 0
    ratio = sketch.cost[filled] / sketch.frequency[filled]
    slack = sketch.frequency[filled] * 2.0**-52 * high  # what summing that many rounded costs can lose
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
    scales = ((1.0, 64.0), (0.1, 6.4))
    return [
        {"exponent": z, "low": low, "high": high, "seed": s}
        for low, high in scales
        for z in EXPONENTS
        for s in seeds(profile, 20, 100)
    ]


CELLS = Experiment("cost_cells", _cell_grid, _cells)


def _judge_cell_range(high: float):
    def judge(runs, profile) -> Verdict:
        own = runs[runs["high"] == high]
        outside, cells = int(own["outside"].sum()), int(own["cells"].sum())
        return Verdict.when(
            outside == 0,
            f"{outside} of {cells:,} cells outside; ratios from {own['least'].min():.3g} to {own['greatest'].max():.3g} ms",
            "W/C is a weighted mean of the costs of the items in the cell. Rounding of the sums is allowed for, nothing else.",
        )

    return judge


def _judge_worst_case(runs, profile) -> Verdict:
    own = runs[runs["high"] == 64.0]
    means = own.groupby("exponent")["error_message"].mean()
    items = own.groupby("exponent")["error_item"].mean()
    falls = bool((means.diff().dropna() < 0).all())
    return Verdict.when(
        falls,
        "mean error of a message " + ", ".join(f"{value:.3g}" for value in means) + " ms from uniform to Zipf-3",
        f"The error of a message, which is what a scheduler pays; means over {own['seed'].nunique()} seeds. Averaged over the items that "
        f"occur instead: {', '.join(f'{value:.3g}' for value in items)} ms.",
    )


EXPERIMENTS = [OVER_COUNTS, SHAPES, CELLS]

_SUPPOSES = "Streams of 32,768 messages over 4,096 items, uniform and Zipf .5 to 3; ε = .05, δ = .1."

CLAIMS = [
    Claim(
        "POSG-CM1",
        "POSG",
        "a/b",
        "Section III-A",
        "A Count-Min estimate is never below the true frequency f, and is over it by ε(m − f) or more with probability at most δ.",
        "holds; δ = .1",
        "no estimate too low; mean frequency of the error at most δ for every exponent, and for the most frequent item",
        OVER_COUNTS,
        _judge_over_counts,
        figure_over_count(EXCESSES, EPSILON, DELTA),
        _SUPPOSES,
    ),
    Claim(
        "POSG-CM2",
        "POSG",
        "a",
        "Section III-A",
        "A sketch for (ε, δ) has r = log(1/δ) rows and c = e/ε columns.",
        "r = log 1/δ, c = e/ε",
        "rows = ⌈log₂ 1/δ⌉ fits every printed number of rows; columns are e/ε rounded up or down; the guarantee holds",
        SHAPES,
        _judge_shape_formula,
    ),
    Claim(
        "POSG-F1",
        "POSG",
        "a",
        "Figure 1",
        "δ = .25 and ε = .70 give 2 rows and 4 columns.",
        "2, 4",
        "equality",
        SHAPES,
        _judge_figure_1,
    ),
    Claim(
        "POSG-P1",
        "POSG",
        "a",
        "Section V-A",
        "ε = .05 gives 54 columns.",
        "54",
        "equality with e/ε rounded up or down; the report says which",
        SHAPES,
        _judge_54_columns,
    ),
    Claim(
        "POSG-B1",
        "POSG",
        "a",
        "Section IV-B",
        "The ratio W/C of a cell lies between the least and the greatest execution time.",
        "1 ≤ W/C ≤ 64 ms",
        "never violated on a cell that is not empty",
        CELLS,
        _judge_cell_range(64.0),
        figure_cell_range(1.0, 64.0, "W/C"),
        _SUPPOSES + " 64 execution times from 1 to 64 ms.",
    ),
    Claim(
        "POSG-WC",
        "POSG",
        "b",
        "Section IV-B",
        "Streams in which all items are equally frequent are the worst for the estimates.",
        "equal frequencies are worst",
        "the mean absolute error of a message decreases with the exponent",
        CELLS,
        _judge_worst_case,
        figure_worst_case(),
        _SUPPOSES + " 64 execution times from 1 to 64 ms.",
    ),
    Claim(
        "POSG-F9c",
        "POSG",
        "a",
        "Figure 9, text",
        "ε = 1.0 gives a single column, ε = .001 gives 2,781.",
        "1 and 2,781",
        "equality with e/ε rounded up or down",
        SHAPES,
        _judge_extreme_columns,
    ),
    Claim(
        "LAS-F1",
        "LAS",
        "a",
        "Figure 1",
        "δ = .25 and ε = .70 give 2 rows and 4 columns.",
        "2, 4",
        "equality",
        SHAPES,
        _judge_figure_1,
    ),
    Claim(
        "LAS-EQ2",
        "LAS",
        "a",
        "Section 4, equation 2",
        "The ratio W/F of a cell lies between the least and the greatest execution time.",
        "0.1 ≤ W/F ≤ 6.4 ms",
        "never violated on a cell that is not empty",
        CELLS,
        _judge_cell_range(6.4),
        figure_cell_range(0.1, 6.4, "W/F"),
        _SUPPOSES + " 64 execution times from 0.1 to 6.4 ms.",
    ),
]
