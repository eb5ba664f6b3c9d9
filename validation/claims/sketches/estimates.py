"""The estimate of a cost: its expectation, a numerical example, and Markov's bound over rows.

The claims are those of Rivetti et al. 2015, section IV-B, and of Rivetti et al. 2016, section 4.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from streamlb.analysis import (
    collision_probability,
    cost_tail_bound,
    expected_cost_estimate,
    expected_cost_estimate_exact,
    theorem_4_3,
)

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import BAND, OURS, PAPER, SECOND, new_figure
from ...judging import Finding, Runs, all_of, at_most, between, exact, finding, mean, never, proportion
from ..posg.readings import ITEMS
from .readings import EPSILON

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="POSG", kind="a")

# --- the expectation, over every hash function ---------------------------------------------------


def _enumerate(n: int, columns: int, costs_drawn: int) -> dict[str, Any]:
    """Check theorem 4.3 and the probabilities behind it, in rationals.

    They are averaged over every one of the columns**n hash functions.
    """
    rng = np.random.default_rng(costs_drawn)
    costs = [Fraction(int(cost)) for cost in rng.integers(1, 65, n)]
    functions = list(itertools.product(range(columns), repeat=n))
    total = Fraction(0)
    events: dict[tuple[int, ...], int] = {}
    for columns_of in functions:
        mates = tuple(u for u in range(n) if columns_of[u] == columns_of[0])
        total += sum((costs[u] for u in mates), Fraction(0)) / len(mates)
        events[mates] = events.get(mates, 0) + 1
    mean = total / len(functions)
    formula = theorem_4_3(costs[0], sum(costs, Fraction(0)), n, Fraction(columns))
    general = expected_cost_estimate_exact([7] * n, costs, columns, 0)
    chances = [collision_probability(i, n, columns) for i in range(n)]
    return {
        "functions": len(functions),
        "mean": str(mean),
        "formula": str(formula),
        "equal": mean == formula == general,
        "events_equal": all(
            Fraction(count, len(functions)) == chances[len(mates) - 1] for mates, count in events.items()
        ),
        "events": len(events),
        "sum_is_one": sum(math.comb(n - 1, i) * chance for i, chance in enumerate(chances)) == 1,
    }


def _enumeration_grid(profile: str) -> list[dict[str, Any]]:
    limit = 5_000 if profile == "quick" else 300_000
    sizes = [(n, c) for n in range(2, 10) for c in range(2, 8) if c**n <= limit]
    return [{"n": n, "columns": c, "costs_drawn": s} for n, c in sizes for s in (0, 1)]


ENUMERATION = Experiment(
    "cost_enumeration", _enumeration_grid, _enumerate, cost=lambda row: row["columns"] ** row["n"] / 1e4
)


@claim(
    "POSG-B2",
    where="section IV-B",
    statement="Exactly the i items of a set A share the cell of item v with probability (1/c)^i (1 − 1/c)^(n−1−i).",
    claimed="(1/c)^i (1 − 1/c)^(n−1−i)",
    criterion="equality for every event, in rationals, over every hash function; the probabilities sum to 1",
    experiment=ENUMERATION,
)
def _judge_events(runs: Runs) -> Finding:
    right = int((runs.frame["events_equal"] & runs.frame["sum_is_one"]).sum())
    return finding(
        f"{right} of {len(runs)} cases: every event has the stated probability, and they sum to 1",
        value=never(len(runs) - right, of=len(runs)),
        note=f"{int(runs.frame['events'].sum()):,} events B(v, i, A) counted over all hash functions.",
    )


@claim(
    "LAS-E",
    paper="LAS",
    where="section 4",
    statement="With equal frequencies the expected estimate of a cost is that of theorem 4.3 of Rivetti et al. 2015.",
    claimed="the formula of POSG-T4.3",
    criterion="equality, in rationals, with the mean over every hash function",
    experiment=ENUMERATION,
)
@claim(
    "POSG-T4.3",
    where="theorem 4.3",
    statement="With equal frequencies and independent hashes E[W/C] = (S − w)/(n−1) − c(S − nw)/(n(n−1)) · "
    "(1 − (1 − 1/c)ⁿ).",
    claimed="the formula",
    criterion="equality, in rationals, with the mean over every hash function",
    experiment=ENUMERATION,
)
def _judge_theorem(runs: Runs) -> Finding:
    frame, right = runs.frame, int(runs.frame["equal"].sum())
    return finding(
        f"{right} of {len(runs)} cases equal, over {int(frame['functions'].sum()):,} hash functions",
        value=never(len(runs) - right, of=len(runs)),
        note=f"n = {frame['n'].min()} to {frame['n'].max()}, c = {frame['columns'].min()} to {frame['columns'].max()}, "
        "random whole costs, as rationals; the sum over subsets with any frequencies agrees. Proved for every n with "
        "SymPy in the tests. It supposes fully independent hashes: a 2-universal family does not give them.",
    )


# --- the numerical example -----------------------------------------------------------------------

COSTS = np.repeat(np.arange(1.0, 65.0), 64)
ROWS, COLUMNS, LEVEL = 10, 55, 48.0
BINS = tuple(np.arange(24.0, 49.0, 0.5).tolist())


def _example(seed: int) -> dict[str, Any]:
    """Put each of 4,096 items once into ten sketches of one row: W/C of each, and the least."""
    from streamlb import CostSketch

    keys = np.arange(ITEMS)
    ratios = np.empty((ROWS, ITEMS))
    for row in range(ROWS):
        sketch = CostSketch(EPSILON, 0.5, seed=seed * ROWS + row)
        sketch.update(keys, COSTS)
        ratios[row] = sketch.estimate(keys)
    least = ratios.min(axis=0)
    by_cost = ratios.mean(axis=0).reshape(64, 64).mean(axis=1)
    expected = expected_cost_estimate(COSTS, COLUMNS)
    markov = Fraction(33, 64) / Fraction(3, 4)
    return {
        "shape": [int(sketch.rows), int(sketch.columns)],
        "least_expected": float(expected.min()),
        "greatest_expected": float(expected.max()),
        "markov_row": str(markov),
        "markov_all": str(markov**ROWS),
        "over_row": int((ratios >= LEVEL).sum()),
        "over_least": int((least >= LEVEL).sum()),
        "any_over_least": bool((least >= LEVEL).any()),
        "row_histogram": np.histogram(ratios, BINS)[0].tolist(),
        "least_histogram": np.histogram(least, BINS)[0].tolist(),
        "mean_by_cost": by_cost.tolist(),
        "cheapest": float(by_cost[0]),
        "dearest": float(by_cost[-1]),
    }


EXAMPLE = Experiment("cost_example", lambda profile: [{}], _example, seeds=Seeds(quick=(450, 450), paper=(1000, 1000)))


def _figure_expectation(runs, profile):
    expected = expected_cost_estimate(COSTS, COLUMNS).reshape(64, 64)[:, 0]
    simulated = np.array(runs["mean_by_cost"].tolist())
    error = simulated.std(axis=0, ddof=1) / np.sqrt(len(simulated)) if len(simulated) > 1 else np.zeros(64)
    own = np.arange(1, 65)
    figure, axes = new_figure(
        f"The expected estimate hardly knows the item (n = {COSTS.size:,}, c = {COLUMNS})",
        "the item's own execution time (ms)",
        "expected estimate E[W/C] (ms)",
    )
    axes.fill_between(own, 32.08, 32.92, color=BAND, label="the paper: [32.08, 32.92]")
    axes.errorbar(
        own, simulated.mean(axis=0), 2 * error, fmt="o", ms=3, lw=0.8, color=SECOND, label="simulated, two s.e."
    )
    axes.plot(own, expected, color=OURS, lw=2, label="theorem 4.3")
    axes.legend(fontsize=9)
    return figure


@claim(
    "POSG-N1",
    where="section IV-B, example",
    statement="With c = 55, n = 4,096 and costs 1 to 64, each of 64 items, E[W/C] lies in [32.08, 32.92].",
    claimed="[32.08, 32.92]",
    criterion="the formula gives both ends to two decimals",
    experiment=EXAMPLE,
    figure=_figure_expectation,
)
def _judge_example_range(runs: Runs) -> Finding:
    low, high = (float(runs.frame[f"{end}_expected"].iloc[0]) for end in ("least", "greatest"))
    return finding(
        f"[{low:.2f}, {high:.2f}]",
        value=all_of(
            between(exact(low), 32.075, 32.085, "least expectation"),
            between(exact(high), 32.915, 32.925, "greatest expectation"),
        ),
        note=f"Simulated with the sketch's own hash functions, costs 1 and 64 give {mean(runs['cheapest']):.2f} and "
        f"{mean(runs['dearest']):.2f} on average over {len(runs)} draws.",
    )


@claim(
    "POSG-N2",
    where="section IV-B, example",
    statement="Markov's inequality over ten rows at 48 ms (a = 3/4) gives (11/16)¹⁰, at most .024.",
    claimed="(11/16)¹⁰ ≤ .024",
    criterion="33/(64 a) = 11/16 in rationals, and its tenth power at most .024",
    experiment=EXAMPLE,
)
def _judge_example_bound(runs: Runs) -> Finding:
    ratio, value = (Fraction(runs.frame[name].iloc[0]) for name in ("markov_row", "markov_all"))
    return finding(
        f"({ratio})¹⁰ = {float(value):.5f}",
        value=all_of(
            never(int(ratio != Fraction(11, 16)), of=1, label="not 11/16"), at_most(exact(value), 0.024, "bound")
        ),
        note="33/(64 · 3/4) is 11/16 exactly; 33 is the greatest expectation, 32.92, rounded up.",
    )


def _figure_least_ratio(runs, profile):
    centres = (np.array(BINS[1:]) + np.array(BINS[:-1])) / 2
    figure, axes = new_figure("W/C is far from the level of the bound", "W/C (ms)", "share of items")
    for column, colour, name in (
        ("row_histogram", OURS, "one row"),
        ("least_histogram", SECOND, "least of ten rows"),
    ):
        counts = np.array(runs[column].tolist()).sum(axis=0)
        share = counts / counts.sum()
        axes.step(centres, np.where(share > 0, share, np.nan), where="mid", color=colour, label=name)
    axes.axvline(LEVEL, color=PAPER, ls="--", label="48 ms: the paper allows .024 beyond")
    axes.set_yscale("log")
    figure.legend(fontsize=9, loc="outside lower center", ncol=3)
    return figure


@claim(
    "POSG-N3",
    kind="b",
    where="section IV-B, example",
    statement="In the same example the least W/C of ten rows is 48 ms or more with probability at most .024.",
    claimed="≤ .024",
    criterion="the chance that any of the 4,096 items is there, which is larger, is at most .024",
    amended="The share of items was at most .024; it was zero in every draw, which has no interval.",
    experiment=EXAMPLE,
    figure=_figure_least_ratio,
    setup="Every item once, ten rows of 55 columns from the sketch's own 2-universal family.",
)
def _judge_example_tail(runs: Runs) -> Finding:
    over, tried = int(runs.frame["over_least"].sum()), len(runs) * ITEMS
    of_draws = proportion(runs["any_over_least"])
    bound = float(cost_tail_bound(COSTS, COLUMNS, ROWS, LEVEL).max())
    row_share = mean(runs["over_row"]) if runs.frame["over_row"].any() else exact(0)
    misshapen = sum(list(shape) != [1, COLUMNS] for shape in runs.frame["shape"])
    return finding(
        f"{over} of {tried:,} items, in {of_draws:.2%} of {len(runs)} draws",
        value=all_of(
            at_most(of_draws, 0.024, "share of draws"),
            never(misshapen, of=len(runs), label="sketches of another shape"),
        ),
        note=f"In a single row {row_share:.2g} of 40,960 ratios are there. Markov's bound ({bound:.4f} with the exact "
        "expectations) is far from tight: W/C is a mean over some 75 items, so that it hardly leaves 32.5 by more than "
        "a few milliseconds.",
    )


# --- Markov's bound over rows --------------------------------------------------------------------


def _tail_rows(n: int, columns: int, rows: int, cost: int, other: int) -> dict[str, Any]:
    """Return the exact chances that ratios reach the item's own cost.

    They are those of the least ratio, and of the ratio of the row of least C, for one item of cost
    `cost` among n - 1 of cost `other`, equally frequent, in rationals. The outcome of a row is the
    number i of colliding items: C = i + 1 and W/C follows.
    """
    share = Fraction(1, columns)
    chance = [math.comb(n - 1, i) * collision_probability(i, n, columns) for i in range(n)]
    ratio = [Fraction(cost + i * other, i + 1) for i in range(n)]
    level = Fraction(cost)
    reach = sum((p for p, r in zip(chance, ratio) if r >= level), Fraction(0))
    least_count = Fraction(0)
    # The row of least C has i colliding items: all rows have i or more, not all more than i.
    for i in range(n):
        at_least, more = sum(chance[i:], Fraction(0)), sum(chance[i + 1 :], Fraction(0))
        least_count += (at_least**rows - more**rows) * (ratio[i] >= level)
    mean = theorem_4_3(Fraction(cost), Fraction(cost + (n - 1) * other), n, 1 / share)
    bound = (mean / level) ** rows
    return {
        "least": float(reach**rows),
        "scheduler": float(least_count),
        "bound": float(bound),
        "least_holds": reach**rows <= bound,
        "scheduler_holds": least_count <= bound,
    }


def _tail_grid(profile: str) -> list[dict[str, Any]]:
    sizes = (2, 3, 5, 10, 20) if profile == "quick" else (2, 3, 5, 10, 20, 50, 100)
    return [
        {"n": n, "columns": c, "rows": r, "cost": 64, "other": other}
        for n in sizes
        for c in (2, 4, 10, 55)
        for r in (1, 2, 4, 10)
        for other in (1, 32)
    ]


TAIL_ROWS = Experiment("cost_tail_rows", _tail_grid, _tail_rows)


def _figure_tail_rows(runs, profile):
    figure, axes = new_figure(
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
    figure.legend(fontsize=9, loc="outside lower center", ncol=3)
    return figure


@claim(
    "LAS-MK",
    paper="LAS",
    where="section 4",
    statement="The least W/F of r independent rows is x or more with probability at most (E[W/F]/x)^r.",
    claimed="Markov's bound to the power r",
    criterion="holds in every case, in rationals, for the least ratio of the rows",
    amended="Also asked that it fails for the row of least F, which the paper does not say; that is shown beside it.",
    experiment=TAIL_ROWS,
    figure=_figure_tail_rows,
)
def _judge_tail_rows(runs: Runs) -> Finding:
    frame = runs.frame
    least, scheduler = int(frame["least_holds"].sum()), int(frame["scheduler_holds"].sum())
    worst = frame.iloc[int((frame["scheduler"] - frame["bound"]).to_numpy().argmax())]
    return finding(
        f"holds in {least} of {len(runs)} cases for the least ratio, in {scheduler} for the row of least F",
        value=never(len(runs) - least, of=len(runs)),
        note="The bound is about the least ratio of the rows, and so it is proved. The shedder, like the scheduler of "
        f"POSG, reads the row where F is least: with n = {worst['n']}, c = {worst['columns']}, r = {worst['rows']} "
        f"that reaches the item's own cost with probability {worst['scheduler']:.3f}, the bound is "
        f"{worst['bound']:.3f}. For an estimate that is good news: it is the right cost.",
    )
