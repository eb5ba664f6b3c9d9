"""Count-Min: how far it over-counts, and how many rows and columns it takes.

The claims are those of Rivetti et al. 2015, sections III-A and V-A, and of figure 1 of both papers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from streamlb.analysis import count_min_failure, count_min_shape

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import OURS, PAPER, new_figure
from ...judging import Aspect, Finding, Runs, all_of, at_most, between, exact, finding, mean, never, proportion
from ..posg.readings import ITEMS, MESSAGES
from .readings import DELTA, EPSILON, EXPONENTS, NAMES, READINGS, SETUP, draw

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
        "failing": float((excess >= EPSILON * others).mean()),
        "tail": [float((excess >= x * others).mean()) for x in EXCESSES],
        "hottest": bool(excess[0] >= EPSILON * others[0]),
    }


OVER_COUNTS = Experiment(
    "count_min",
    lambda profile: [{"exponent": z} for z in EXPONENTS],
    _over_counts,
    seeds=Seeds(quick=(120, 270), paper=(400, 900)),
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
    criterion="shape: no estimate too low; value: for every exponent the share of items over by that much is at most δ "
    "on average over streams and hash functions, and so is the chance for the most frequent item",
    experiment=OVER_COUNTS,
    figure=_figure_over_counts,
    setup=SETUP,
)
def _judge_over_counts(runs: Runs) -> Finding:
    under, estimates = int(runs.frame["under"].sum()), len(runs) * ITEMS
    of_items = {z: mean(own["failing"]) for z, own in runs.by("exponent")}
    hottest = {z: proportion(own["hottest"]) for z, own in runs.by("exponent")}
    worst, top = (max(found, key=lambda z: found[z].point) for found in (of_items, hottest))
    bound = count_min_failure(EPSILON, *count_min_shape(EPSILON, DELTA))
    return finding(
        f"{under} of {estimates:,} estimates too low; over by ε(m − f) are {of_items[worst]:.2g} of the items at "
        f"exponent {worst:g}, and the most frequent item in {hottest[top]:.2g} of the draws at {top:g}",
        shape=never(under, of=estimates, label="estimates too low"),
        value=all_of(
            *(at_most(share, DELTA, f"items, exponent {z:g}") for z, share in of_items.items()),
            *(at_most(share, DELTA, f"top item, exponent {z:g}") for z, share in hottest.items()),
        ),
        note=f"The largest of each over the exponents. With four rows of 55 columns Markov's inequality gives "
        f"{bound:.4f}, well under δ = {DELTA}: ⌈log₂ 1/δ⌉ rows are more than the ⌈ln 1/δ⌉ that are needed.",
    )


# --- shapes --------------------------------------------------------------------------------------


def _shape(epsilon: float, delta: float, reading: str) -> dict[str, Any]:
    rows, columns = count_min_shape(epsilon, delta, **READINGS[reading].options)
    return {
        "rows": rows,
        "columns": columns,
        "off": abs(columns - math.e / epsilon),
        "failure": count_min_failure(epsilon, rows, columns),
        "rows_ln": math.ceil(math.log(1 / delta)),
    }


SIZES = ((0.7, 0.25), (0.05, 0.1), (1.0, 0.1), (0.001, 0.1))
SHAPES = Experiment(
    "sketch_shapes",
    lambda profile: [{"epsilon": e, "delta": d, "reading": reading} for e, d in SIZES for reading in NAMES],
    _shape,
)


def _shape_of(runs: Runs, epsilon: float) -> dict[str, int]:
    row = runs.where(epsilon=epsilon).frame.iloc[0]
    return {name: int(row[name]) for name in ("rows", "columns", "rows_ln")}


def _equal(count: int, wanted: int, label: str) -> Aspect:
    return between(exact(count), wanted, wanted, label)


@claim(
    "POSG-CM2",
    where="section III-A",
    statement="A sketch for (ε, δ) has r = log(1/δ) rows and c = e/ε columns.",
    claimed="r = log 1/δ, c = e/ε",
    criterion="value: rows = ⌈log₂ 1/δ⌉ are the printed 2 and 4, columns within 1 of e/ε; shape: the guarantee holds for "
    "each size",
    amended="Took the columns of either rounding; now each is judged by itself, as a reading.",
    experiment=SHAPES,
    readings=NAMES,
)
def _judge_shape_formula(runs: Runs) -> Finding:
    small, large = _shape_of(runs, 0.7), _shape_of(runs, 0.05)
    broken = int((runs.frame["failure"] > runs.frame["delta"]).sum())
    return finding(
        f"rows {small['rows']} and {large['rows']} for δ = .25 and .1; columns {small['columns']} for ε = .70, "
        f"{large['columns']} for ε = .05; the guarantee fails for {broken} of {len(runs)} sizes",
        shape=never(broken, of=len(runs), label="sizes without the guarantee"),
        value=all_of(
            _equal(small["rows"], 2, "rows for δ = .25"),
            _equal(large["rows"], 4, "rows for δ = .1"),
            at_most(exact(runs.frame["off"].max()), 1, "columns off e/ε"),
        ),
        note=f"The logarithm is to base 2 (base e would give {large['rows_ln']} rows for δ = .1). Columns are rounded "
        "up in figure 1 and in section IV-B (55), down in V-A (54); rounding up is the default here.",
    )


FIGURE_1: dict[str, Any] = {
    "where": "figure 1",
    "statement": "δ = .25 and ε = .70 give 2 rows and 4 columns.",
    "claimed": "2, 4",
    "criterion": "equality",
    "experiment": SHAPES,
}


@claim("LAS-F1", paper="LAS", **FIGURE_1)
@claim("POSG-F1", readings=NAMES, **FIGURE_1)
def _judge_figure_1(runs: Runs) -> Finding:
    row = _shape_of(runs.where(reading=runs.reading or NAMES[0]), 0.7)
    return finding(
        f"{row['rows']} rows, {row['columns']} columns",
        value=all_of(_equal(row["rows"], 2, "rows"), _equal(row["columns"], 4, "columns")),
    )


@claim(
    "POSG-P1",
    where="section V-A",
    statement="ε = .05 gives 54 columns.",
    claimed="54",
    criterion="equality",
    amended="Held if either rounding gave it; now each is judged by itself, as a reading.",
    experiment=SHAPES,
    readings=NAMES,
)
def _judge_54_columns(runs: Runs) -> Finding:
    row = _shape_of(runs, 0.05)
    return finding(
        f"{row['columns']} columns",
        value=_equal(row["columns"], 54, "columns for ε = .05"),
        note="e/.05 = 54.37: 54 is rounded down, unlike figure 1 and the 55 of section IV-B.",
    )


@claim(
    "POSG-F9c",
    where="figure 9, text",
    statement="ε = 1.0 gives a single column.",
    claimed="1",
    criterion="equality",
    amended="One claim with POSG-F9c-w, and either rounding would do.",
    experiment=SHAPES,
    readings=NAMES,
)
def _judge_single_column(runs: Runs) -> Finding:
    row = _shape_of(runs, 1.0)
    return finding(
        f"{row['columns']} columns",
        value=_equal(row["columns"], 1, "columns for ε = 1"),
        note="e/1 = 2.72 gives 2 or 3 columns, never one.",
    )


@claim(
    "POSG-F9c-w",
    where="figure 9, text",
    statement="ε = .001 gives 2,781 columns.",
    claimed="2,781",
    criterion="equality",
    experiment=SHAPES,
    readings=NAMES,
)
def _judge_most_columns(runs: Runs) -> Finding:
    row = _shape_of(runs, 0.001)
    return finding(
        f"{row['columns']:,} columns",
        value=_equal(row["columns"], 2781, "columns for ε = .001"),
        note="e/.001 = 2718.28, so that 2781 looks like 2718 with two digits exchanged.",
    )
