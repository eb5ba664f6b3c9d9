"""Claims of load-aware shedding that need no queue: its state machines, its costs, its theorem (paper 003, sections 3 and 4)."""

from __future__ import annotations

from typing import Any

import numpy as np
from streamlb.analysis import (
    SheddingInstance,
    cost_error_share,
    counterexamples,
    greedy_gap,
    greedy_shedding,
    needless_drops,
    optimal_shedding,
    running_averages,
    waits,
)

from ..claim import Claim, Experiment, Verdict
from ..figures import OURS, PAPER, SECOND, new_figure
from ._las import ITEMS, MESSAGES, THRESHOLD, WINDOW, listed, stream_of, warm_shedder

# --- the state machines -----------------------------------------------------------------------------------------------------


def _operator_rule(tolerance: float, drift: float) -> dict[str, Any]:
    """Feed an operator two windows whose costs differ by `drift`; say what it does at each."""
    from streamlb.learning.learner import CostLearner

    window = 8
    learner = CostLearner(window=window, tolerance=tolerance, seed=1)
    told, phases = [], []
    for number in range(3 * window):
        cost = 10.0 if number < window else 10.0 * (1 + 2 * drift)  # W/F then moves by `drift`
        told.append(bool(learner.learn(7, cost)))
        if (number + 1) % window == 0:
            phases.append(learner.phase)
            if told[-1]:
                learner.take()
                break
    return {"error": learner.error, "sent_at": told.index(True) + 1 if True in told else 0, "phases": phases}


def _operator_grid(profile: str) -> list[dict[str, Any]]:
    return [{"tolerance": 0.05, "drift": drift} for drift in (0.0, 0.02, 0.049, 0.051, 0.2)]


def _judge_operator(runs, profile):
    stable = runs["drift"] <= runs["tolerance"]
    at_once = runs["sent_at"] == 16
    first = all(phases[0] == "STABILIZING" for phases in runs["phases"])
    holds = bool((stable == at_once).all() and (abs(runs["error"] - runs["drift"])[at_once] < 1e-9).all() and first)
    return Verdict.when(
        holds,
        f"sent after the second window in {int(at_once.sum())} of {len(runs)} cases: those with error <= .05",
        "The relative error runs over the cells that were not empty at the snapshot; the listing tests before it adds "
        "the tuple, the implementation after.",
    )


def _check_rule(check: str, seed: int) -> dict[str, Any]:
    """Run a shedder with either reading of Check on a load it must shed; how its average behaves."""
    from streamlb import execution_times, simulate_shedding

    stream, times = stream_of(1.0), execution_times(ITEMS, 64, 0.1, 6.4, seed=seed)
    keys = stream.draw(8_192, seed)
    shedder = warm_shedder(THRESHOLD, stream, times, seed, check=check)
    result = simulate_shedding(keys, times[keys.astype(np.int64)], shedder, underprovisioning=0.25)
    last_kept = int(np.flatnonzero(~result.dropped)[-1])
    own = shedder._s  # the average that the shedder itself keeps
    from streamlb.shedding import core

    return {
        "own_average": float(own[core.TOTAL] / max(1.0, own[core.COUNT])),
        "last_kept": last_kept / keys.size,
        "dropped": result.dropped_ratio,
    }


def _check_grid(profile: str) -> list[dict[str, Any]]:
    return [{"check": check, "seed": seed} for check in ("text", "listing") for seed in range(5)]


def _judge_check(runs, profile):
    text, listing = (runs[runs["check"] == check] for check in ("text", "listing"))
    works = bool((text["own_average"] <= THRESHOLD * (1 + 1e-9)).all() and (text["last_kept"] > 0.99).all())
    stuck = bool((listing["dropped"] > 0.9).all())
    return Verdict.when(
        works,
        f"text: dropped {listed(text['dropped'], '{:.0%}')}; listing: dropped {listed(listing['dropped'], '{:.0%}')}",
        "As in the text, (Q + q)/(l + 1) > tau. The listing divides by zero at first and, once its average is above tau, "
        "never changes it again: " + ("it then drops every tuple." if stuck else "here it did not get stuck."),
    )


# --- theorems 3.1 to 3.3 ----------------------------------------------------------------------------------------------------


def _cost_of_a_tuple(delta: float, epsilon: float) -> dict[str, Any]:
    """Count the cells that one execution touches, and those a shedder and an operator hold."""
    from streamlb import LoadAwareShedder

    shedder = LoadAwareShedder(THRESHOLD, epsilon=epsilon, delta=delta)
    shedder.offer(12345, 0.0)
    shedder.complete(12345, 1.0)
    _, rows, columns = shedder.F.shape
    return {
        "touched": int((shedder.F[0] != 0).sum() + (shedder.W[0] != 0).sum()),
        "rows": rows,
        "columns": columns,
        "cells": int(shedder.F[0].size + shedder.W[0].size),
    }


def _cost_grid(profile: str) -> list[dict[str, Any]]:
    deltas, epsilons = (0.5, 0.25, 0.1, 0.01, 0.001), (0.9, 0.5, 0.05, 0.01, 0.001)
    return [{"delta": delta, "epsilon": epsilon} for delta in deltas for epsilon in epsilons]


def _judge_time(runs, profile):
    touched = runs.groupby("rows")["touched"].unique()
    holds = all(list(cells) == [2 * rows] for rows, cells in touched.items())
    return Verdict.when(
        holds,
        f"an execution touches exactly 2r cells, r = {listed(runs['rows'], '{:.0f}')}, whatever the columns",
        "r = ceil(log2(1/delta)). The stability check reads all cells once in N tuples: c r/N cells a tuple on top.",
    )


def _judge_space(runs, profile):
    expected = 2 * np.ceil(np.log2(1 / runs["delta"])) * np.ceil(np.e / runs["epsilon"])
    holds = bool((runs["cells"] == expected).all())
    return Verdict.when(
        holds,
        f"2rc counters on either side, {listed(runs['cells'], '{:.0f}')} over the grid",
        "The operator also holds a snapshot of rc numbers; the bound's order is the same.",
    )


def _messages(exponent: float, seed: int, epsilon: float) -> dict[str, Any]:
    """Count the messages of a run from NOP at the paper's load."""
    from streamlb import LoadAwareShedder, execution_times, simulate_shedding

    times = execution_times(ITEMS, 64, 0.1, 6.4, seed=seed)
    keys = stream_of(exponent).draw(4 * MESSAGES, seed)
    shedder = LoadAwareShedder(THRESHOLD, epsilon=epsilon, seed=seed)
    simulate_shedding(keys, times[keys.astype(np.int64)], shedder)
    return {
        "executed": shedder.kept,
        "offered": shedder.offered,
        "matrices": shedder.matrices,
        "requests": shedder.epoch,
        "replies": shedder.replies,
    }


def _messages_grid(profile: str) -> list[dict[str, Any]]:
    seeds = 3 if profile == "quick" else 50
    return [
        {"exponent": exponent, "seed": seed, "epsilon": epsilon}
        for exponent in (0.0, 1.0, 2.0)
        for epsilon in (0.05, 0.5)
        for seed in range(seeds)
    ]


def _judge_messages(runs, profile):
    matrices = runs["matrices"] / (runs["offered"] / (2 * WINDOW))
    fits = (runs["matrices"] <= runs["executed"] / (2 * WINDOW)) & (runs["replies"] <= runs["requests"])
    holds = bool(fits.all() and (runs["requests"] <= runs["matrices"] + 1).all())
    return Verdict.when(
        holds,
        f"matrices {listed(matrices, '{:.2f}')} of m/2N; requests at most one a pair of matrices",
        "A pair takes at least two windows of executions: one for the snapshot, one for the check.",
    )


# --- theorem 4.1 ------------------------------------------------------------------------------------------------------------


def _correctness(tuples: int, seed: int) -> dict[str, Any]:
    """Run the greedy shedder on random integer streams, in exact arithmetic, and the kernel on the same."""
    from streamlb import simulate_shedding

    rng = np.random.default_rng([tuples, seed])
    worst, passed, same = 0.0, 0, True
    for _ in range(50):
        arrivals = np.cumsum(rng.integers(0, 5, tuples))
        costs = rng.integers(1, 10, tuples)
        threshold = int(rng.integers(1, 20))
        kept = greedy_shedding(arrivals.tolist(), costs.tolist(), threshold)
        averages = running_averages(waits(arrivals.tolist(), costs.tolist(), kept))
        worst = max(worst, float(max(averages) / threshold))
        passed += any(average > threshold for average in averages)
        kernel = simulate_shedding(
            np.arange(tuples), costs.astype(float), "full_knowledge", threshold, arrivals=arrivals.astype(float)
        )
        same = same and np.flatnonzero(~kernel.dropped).tolist() == kept
    return {"worst": worst, "passed": passed, "same": same}


def _correctness_grid(profile: str) -> list[dict[str, Any]]:
    seeds = 4 if profile == "quick" else 200
    return [{"tuples": tuples, "seed": seed} for tuples in (10, 100, 400) for seed in range(seeds)]


def _judge_correctness(runs, profile):
    broken = int(runs["passed"].sum())
    return Verdict.when(
        broken == 0 and bool(runs["same"].all()),
        f"{broken} of {50 * len(runs)} streams pass the threshold; greatest Q(j)/tau {runs['worst'].max():.4f}",
        "In exact arithmetic. The compiled Full Knowledge shedder keeps the same tuples"
        + (" on every stream." if runs["same"].all() else " on some streams only."),
    )


def _optimality(tuples: int, largest: int, equal_costs: bool, even_arrivals: bool, goal: str) -> dict[str, Any]:
    """Try every small stream: how many of them the greedy shedder does not solve, and the smallest such."""
    found = list(counterexamples(tuples, largest, goal, equal_costs, even_arrivals))
    gaps = (largest + 1) ** (1 if even_arrivals else tuples - 1)
    streams = gaps * largest ** (1 if equal_costs else tuples - 1) * largest
    instance = found[0] if found else None
    return {
        "streams": streams,
        "failed": len(found),
        "smallest": "" if instance is None else _described(instance, goal),
    }


def _described(instance: SheddingInstance, goal: str) -> str:
    kept, best = greedy_shedding(*instance, goal), optimal_shedding(*instance, goal)
    arrivals, costs, threshold = instance
    return f"arrivals {arrivals}, costs {costs}, tau {threshold}: keeps {len(kept)}, optimum {len(best)}"


def _optimality_grid(profile: str) -> list[dict[str, Any]]:
    sizes = ((2, 6), (3, 4), (4, 2)) if profile == "quick" else ((2, 9), (3, 6), (4, 4), (5, 3))
    rows: list[dict[str, Any]] = [
        {"tuples": n, "largest": top, "equal_costs": False, "even_arrivals": False, "goal": goal}
        for n, top in sizes
        for goal in ("average", "bound")
    ]
    equal = ((3, 6), (4, 5), (5, 4)) if profile == "quick" else ((3, 9), (4, 7), (5, 6), (6, 4), (7, 3))
    rows += [
        {"tuples": n, "largest": top, "equal_costs": True, "even_arrivals": even, "goal": goal}
        for n, top in equal
        for even in (False, True)
        for goal in ("average", "bound")
    ]
    return rows


def _judge_optimality(runs, profile):
    average = runs[runs["goal"] == "average"]
    failed = int(average["failed"].sum())
    smallest = next((text for text in average.sort_values("tuples")["smallest"] if text), "none")
    steady = average[average["even_arrivals"] & (average["failed"] > 0)].sort_values("tuples")
    even = steady["smallest"].iloc[0] if len(steady) else "none"
    gap = greedy_gap(20)
    return Verdict.when(
        failed == 0,
        f"{failed} of {int(average['streams'].sum())} small streams: greedy keeps fewer than the optimum",
        f"Smallest: {smallest}. With equal costs and even arrivals: {even}. The gap has no bound: a stream of "
        f"which greedy "
        f"keeps {len(greedy_shedding(*gap))} and the optimum {len(optimal_shedding(*gap))}. No online shedder is "
        f"optimal on every "
        "stream, since one long tuple must be kept if it is the last and dropped if short ones follow.",
    )


def _judge_corrected(runs, profile):
    equal = runs[(runs["goal"] == "bound") & runs["equal_costs"]]
    broken = int(equal["failed"].sum())
    needless = _needless(2_000 if profile == "quick" else 20_000)
    return Verdict.when(
        broken == 0 and needless == 0,
        f"needless drops {needless}; bound with equal costs: {broken} of {int(equal['streams'].sum())} streams "
        f"not optimal",
        "The second part is a theorem: by induction the j-th tuple that greedy keeps is no later in the stream, "
        "and ends no "
        "later, than the j-th of any other choice. For the average it fails even with equal costs.",
    )


def _needless(streams: int) -> int:
    """Count tuples that the greedy shedder dropped and could have kept at that moment, over random streams."""
    rng = np.random.default_rng(41)
    count = 0
    for _ in range(streams):
        arrivals = tuple(np.cumsum(rng.integers(0, 4, 8)).tolist())
        instance = SheddingInstance(arrivals, tuple(rng.integers(1, 8, 8).tolist()), int(rng.integers(1, 10)))
        for goal in ("average", "bound"):
            count += len(needless_drops(instance, greedy_shedding(*instance, goal), goal))
    return count


def _figure_optimality(runs, profile):
    figure, axes = new_figure(
        "Greedy shedding is not optimal", "tuples in the stream", "share of small streams not solved optimally"
    )
    kinds = (
        ("average", False, False, OURS, "average, any costs"),
        ("average", True, True, SECOND, "average, equal costs, even arrivals"),
        ("bound", True, False, "0.4", "bound on each wait, equal costs"),
    )
    for goal, equal, even, colour, label in kinds:
        own = runs[(runs["goal"] == goal) & (runs["equal_costs"] == equal) & (runs["even_arrivals"] == even)]
        axes.plot(own["tuples"], own["failed"] / own["streams"], "o-", color=colour, label=label)
    axes.axhline(0, color=PAPER, ls="--", label="the paper: none (theorem 4.1)")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(fontsize=8)
    return figure


# --- (epsilon, delta) ---------------------------------------------------------------------------------------------------------


def _approximation(exponent: float, seed: int) -> dict[str, Any]:
    """Learn a stream and compare each item's estimate with its cost."""
    from streamlb import CostSketch, execution_times

    times = execution_times(ITEMS, 64, 0.1, 6.4, seed=seed)
    keys = stream_of(exponent).draw(MESSAGES, seed)
    sketch = CostSketch(0.05, 0.1, seed=seed)
    sketch.update(keys, times[keys.astype(np.int64)])
    off = np.abs(sketch.estimate(np.arange(ITEMS)) - times) > 0.05 * times
    seen = np.unique(keys).astype(np.int64)
    return {
        "items": float(off[seen].mean()),
        "messages": float(off[keys.astype(np.int64)].mean()),
        "expected": cost_error_share(times, sketch.columns, 0.05) if exponent == 0 else None,
    }


def _approximation_grid(profile: str) -> list[dict[str, Any]]:
    seeds = 5 if profile == "quick" else 100
    return [
        {"exponent": exponent, "seed": seed}
        for exponent in (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
        for seed in range(seeds)
    ]


def _judge_approximation(runs, profile):
    share = runs.groupby("exponent")[["items", "messages"]].mean()
    expected = runs["expected"].dropna().astype(float).mean()
    return Verdict.when(
        bool((share["items"] <= 0.1).all()),
        f"share of items off by more than eps = .05: {listed(share['items'], '{:.2f}')} over the skews (delta = .1)",
        f"Of the messages: {listed(share['messages'], '{:.2f}')}. Uniform: {share['items'].loc[0.0]:.3f} measured, "
        f"{expected:.3f} by the exact expectation. Count-Min's guarantee is on counts, relative to the whole stream; it "
        "does not carry over to the quotient W/F. And theorem 4.1, on which the rest of the claim stands, is false.",
    )


def _figure_approximation(runs, profile):
    share = runs.groupby("exponent")[["items", "messages"]].mean()
    figure, axes = new_figure(
        "How many cost estimates are off by more than 5%", "exponent of the stream (0: uniform)", "share"
    )
    axes.plot(share.index, share["items"], "o-", color=OURS, label="of the items that occur")
    axes.plot(share.index, share["messages"], "s-", color=SECOND, label="of the messages")
    axes.axhline(0.1, color=PAPER, ls="--", label="the paper: δ = 0.1")
    axes.set_ylim(0, 1)
    axes.legend(fontsize=9)
    return figure


OPERATOR = Experiment("las_operator_rule", _operator_grid, _operator_rule)
CHECK = Experiment("las_check_rule", _check_grid, _check_rule)
COSTS = Experiment("las_costs", _cost_grid, _cost_of_a_tuple)
MESSAGE_COUNT = Experiment("las_messages", _messages_grid, _messages)
CORRECTNESS = Experiment("las_correctness", _correctness_grid, _correctness, lambda row: row["tuples"])
OPTIMALITY = Experiment(
    "las_optimality", _optimality_grid, _optimality, lambda row: float(row["largest"] ** row["tuples"])
)
APPROXIMATION = Experiment("las_approximation", _approximation_grid, _approximation)
EXPERIMENTS = [OPERATOR, CHECK, COSTS, MESSAGE_COUNT, CORRECTNESS, OPTIMALITY, APPROXIMATION]

CLAIMS = [
    Claim(
        "LAS-L1", "LAS", "a", "listing 3.1, figure 2",
        "The operator snapshots after N tuples, and after N more sends its matrices if their relative error is "
        "at most mu.",
        "rule", "sent at the second check exactly when the error is at most mu", OPERATOR, _judge_operator,
    ),
    Claim(
        "LAS-L2", "LAS", "a", "listing 3.2, Check",
        "A tuple is dropped when the average queuing latency with it would pass tau.",
        "rule", "the text's version keeps the shedder's own average at most tau and goes on keeping tuples", CHECK,
        _judge_check,
    ),
    Claim(
        "LAS-T3.1", "LAS", "a", "theorem 3.1", "Time a tuple is O(log 1/delta) on either side.", "O(log 1/delta)",
        "cells touched are linear in the rows and independent of the columns", COSTS, _judge_time,
    ),
    Claim(
        "LAS-T3.2", "LAS", "a", "theorem 3.2", "Space is O(1/eps log 1/delta (log m + log n)) bits.",
        "O(1/eps log 1/delta) counters", "2rc counters a side", COSTS, _judge_space,
    ),
    Claim(
        "LAS-T3.3", "LAS", "a", "theorem 3.3", "Communication is O(m/N) messages.", "O(m/N)",
        "matrices at most m/2N, requests at most one a pair of matrices", MESSAGE_COUNT, _judge_messages,
    ),
    Claim(
        "LAS-T4.1a", "LAS", "a", "theorem 4.1, correctness",
        "With full knowledge and no safety factor the average queuing latency never passes tau.", "Q(j) <= tau, always",
        "never violated, in exact arithmetic", CORRECTNESS, _judge_correctness,
    ),
    Claim(
        "LAS-T4.1b", "LAS", "a", "theorem 4.1, optimality",
        "With full knowledge the shedder drops as few tuples as the optimum, on every stream.", "d_LAS = d_OPT",
        "equality with the exact offline optimum on every small stream", OPTIMALITY, _judge_optimality,
        _figure_optimality,
    ),
    Claim(
        "LAS-T4.1c", "LAS", "a", "theorem 4.1, corrected",
        "The shedder never drops a tuple that it could keep at that moment; with a bound on each wait and equal costs it "
        "matches the offline optimum.",
        "not in the paper", "on every stream", OPTIMALITY, _judge_corrected, _figure_optimality,
    ),
    Claim(
        "LAS-ED", "LAS", "a", "section 4", "LAS (eps, delta)-approximates every cost and so is (eps, delta)-optimal.",
        "at most delta = .1 of the costs off by more than eps = .05", "report only; read as stated", APPROXIMATION,
        _judge_approximation, _figure_approximation,
    ),
]  # fmt: skip
