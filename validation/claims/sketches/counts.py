"""Count-Min: how far it over-counts, and how many rows and columns it takes.

The claims are those of Rivetti et al. 2015, sections III-A and V-A, and of figure 1 of both papers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from streamlb.analysis import count_min_failure, count_min_shape

from ...claim import Claim, Experiment, Verdict, claims_into
from ...figures import OURS, PAPER, new_figure
from ..posg.readings import ITEMS, MESSAGES, seeds
from .readings import DELTA, EPSILON, EXPONENTS, SETUP, draw

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="POSG", kind="a")

# --- over-counts ---------------------------------------------------------------------------------

EXCESSES = (0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1)


def _over_counts(exponent: float, seed: int) -> dict[str, Any]:
    """Count a stream and compare every item's estimate with the truth."""
    from streamlb import CountMin

    keys = draw(exponent, seed)
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


def _figure_over_counts(runs, profile):
    figure, axes = new_figure(
        "How far Count-Min over-counts",
        "excess over the true frequency, as a share of the other messages",
        "share of estimates with at least this excess",
    )
    shades = np.linspace(0.25, 1.0, runs["exponent"].nunique())
    for shade, (exponent, own) in zip(shades, runs.groupby("exponent")):
        tail = np.array(own["tail"].tolist()).mean(axis=0)
        name = "uniform" if exponent == 0 else f"Zipf {exponent:g}"
        axes.plot(EXCESSES, np.where(tail > 0, tail, np.nan), color=OURS, alpha=shade, marker="o", ms=3, label=name)
    axes.plot([EPSILON], [DELTA], "*", color=PAPER, ms=14, label=f"allowed: δ = {DELTA:g} at ε = {EPSILON:g}")
    axes.set(xscale="log", yscale="log", ylim=(None, 2))
    figure.legend(fontsize=8, loc="outside lower center", ncol=4)
    return figure


@claim(
    "POSG-CM1",
    kind="a/b",
    where="section III-A",
    statement="A Count-Min estimate is never below the true frequency f, and is over it by ε(m − f) or more with "
    "probability at most δ.",
    claimed="holds; δ = .1",
    criterion="no estimate too low; mean frequency of the error at most δ for every exponent, and for the most "
    "frequent item",
    experiment=OVER_COUNTS,
    figure=_figure_over_counts,
    setup=SETUP,
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
        f"{under} estimates too low; at most {failing.max():.2g} of estimates over by ε(m − f), "
        f"{hottest.max():.2g} for the top item",
        f"Mean over {runs['seed'].nunique()} draws of stream and hash functions for each exponent. With four rows of "
        f"55 columns Markov's inequality gives {bound:.4f}, well under δ = {DELTA}: ⌈log₂ 1/δ⌉ rows are more than the "
        "⌈ln 1/δ⌉ that are needed.",
    )


# --- shapes --------------------------------------------------------------------------------------


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


@claim(
    "POSG-CM2",
    where="section III-A",
    statement="A sketch for (ε, δ) has r = log(1/δ) rows and c = e/ε columns.",
    claimed="r = log 1/δ, c = e/ε",
    criterion="rows = ⌈log₂ 1/δ⌉ fits every printed number of rows; columns are e/ε rounded up or down; the guarantee "
    "holds",
    experiment=SHAPES,
)
def _judge_shape_formula(runs, profile) -> Verdict:
    small, large = _shape_of(runs, 0.7), _shape_of(runs, 0.05)
    rows = (small["rows"], large["rows"])
    holds = rows == (2, 4) and small["up"] == 4 and (large["down"], large["up"]) == (54, 55)
    return Verdict.when(
        holds and bool((runs["failure"] <= runs["delta"]).all()),
        f"rows {rows[0]} and {rows[1]} for δ = .25 and .1; columns {small['up']} for ε = .70, "
        f"{large['down']} or {large['up']} for ε = .05",
        f"The logarithm is to base 2 (base e would give {large['rows_ln']} rows for δ = .1). Columns are rounded up in "
        "figure 1 and in section IV-B (55), down in V-A (54): both are available, rounding up is the default.",
    )


FIGURE_1: dict[str, Any] = {
    "where": "figure 1",
    "statement": "δ = .25 and ε = .70 give 2 rows and 4 columns.",
    "claimed": "2, 4",
    "criterion": "equality",
    "experiment": SHAPES,
}


@claim("LAS-F1", paper="LAS", **FIGURE_1)
@claim("POSG-F1", **FIGURE_1)
def _judge_figure_1(runs, profile) -> Verdict:
    row = _shape_of(runs, 0.7)
    return Verdict.when((row["rows"], row["up"]) == (2, 4), f"{row['rows']} rows, {row['up']} columns")


@claim(
    "POSG-P1",
    where="section V-A",
    statement="ε = .05 gives 54 columns.",
    claimed="54",
    criterion="equality with e/ε rounded up or down; the report says which",
    experiment=SHAPES,
)
def _judge_54_columns(runs, profile) -> Verdict:
    row = _shape_of(runs, 0.05)
    return Verdict.when(
        54 in (row["up"], row["down"]),
        f"{row['down']} rounded down, {row['up']} rounded up",
        "e/.05 = 54.37, so 54 is rounded down, unlike figure 1 and the 55 of section IV-B. The default here is rounded "
        "up.",
    )


@claim(
    "POSG-F9c",
    where="figure 9, text",
    statement="ε = 1.0 gives a single column, ε = .001 gives 2,781.",
    claimed="1 and 2,781",
    criterion="equality with e/ε rounded up or down",
    experiment=SHAPES,
)
def _judge_extreme_columns(runs, profile) -> Verdict:
    wide, narrow = _shape_of(runs, 0.001), _shape_of(runs, 1.0)
    return Verdict.when(
        1 in (narrow["up"], narrow["down"]) and 2781 in (wide["up"], wide["down"]),
        f"{narrow['down']} or {narrow['up']} columns for ε = 1, {wide['down']} or {wide['up']} for ε = .001",
        "e/1 = 2.72 gives 2 or 3 columns, never one; e/.001 = 2718.28, so that 2781 looks like 2718 with two digits "
        "exchanged.",
    )
