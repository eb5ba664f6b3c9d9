"""The rules of load-aware shedding and what they cost: Rivetti et al. 2016, section 3."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...claim import Claim, Experiment, Verdict, claims_into
from .readings import MESSAGES, THRESHOLD, WINDOW, listed, stream_of, times_of_items, warm_shedder

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="LAS", kind="a")

# --- the operator's state machine ----------------------------------------------------------------


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


OPERATOR = Experiment(
    "las_operator_rule",
    lambda profile: [{"tolerance": 0.05, "drift": drift} for drift in (0.0, 0.02, 0.049, 0.051, 0.2)],
    _operator_rule,
)


@claim(
    "LAS-L1",
    where="listing 3.1, figure 2",
    statement="The operator snapshots after N tuples, and after N more sends its matrices if their relative error is "
    "at most mu.",
    claimed="rule",
    criterion="sent at the second check exactly when the error is at most mu",
    experiment=OPERATOR,
)
def _judge_operator(runs, profile) -> Verdict:
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


# --- the shedder's rule --------------------------------------------------------------------------


class _Watched:
    """A shedder that notes the waits it expected for the tuples it kept, once it is active."""

    def __init__(self, shedder):
        self.shedder, self.expected = shedder, []

    def offer(self, key: int, now: float) -> bool:
        wait, watched = self.shedder.expected_wait(now), self.shedder.active
        drop = self.shedder.offer(key, now)
        if watched and not drop:
            self.expected.append(wait)
        return drop

    def complete(self, key: int, elapsed: float, now: float) -> None:
        self.shedder.complete(key, elapsed, now)


def _check_rule(check: str, seed: int) -> dict[str, Any]:
    """Run a shedder with either reading of Check on a load it must shed.

    The result says how its own average behaves, and how long it goes on keeping tuples.
    """
    from streamlb import simulate_shedding

    stream, times = stream_of(1.0), times_of_items(seed)
    keys = stream.draw(8_192, seed)
    watched = _Watched(warm_shedder(THRESHOLD, stream, times, seed, check=check))
    result = simulate_shedding(keys, times[keys.astype(np.int64)], watched, underprovisioning=0.25)
    return {
        "own_average": sum(watched.expected) / max(1, len(watched.expected)),
        "last_kept": int(np.flatnonzero(~result.dropped)[-1]) / keys.size,
        "dropped": result.dropped_ratio,
    }


def _check_grid(profile: str) -> list[dict[str, Any]]:
    return [{"check": check, "seed": seed} for check in ("text", "listing") for seed in range(5)]


CHECK = Experiment("las_check_rule", _check_grid, _check_rule)


@claim(
    "LAS-L2",
    where="listing 3.2, Check",
    statement="A tuple is dropped when the average queuing latency with it would pass tau.",
    claimed="rule",
    criterion="the text's version keeps the shedder's own average at most tau and goes on keeping tuples",
    experiment=CHECK,
)
def _judge_check(runs, profile) -> Verdict:
    text, listing = (runs[runs["check"] == check] for check in ("text", "listing"))
    works = bool((text["own_average"] <= THRESHOLD * (1 + 1e-9)).all() and (text["last_kept"] > 0.99).all())
    stuck = bool((listing["dropped"] > 0.9).all())
    return Verdict.when(
        works,
        f"text: dropped {listed(text['dropped'], '{:.0%}')}; listing: dropped {listed(listing['dropped'], '{:.0%}')}",
        "As in the text, (Q + q)/(l + 1) > tau. The listing divides by zero at first and, once its average is above "
        "tau, never changes it again: " + ("it then drops every tuple." if stuck else "here it did not get stuck."),
    )


# --- theorems 3.1 to 3.3 -------------------------------------------------------------------------


def _cost_of_a_tuple(delta: float, epsilon: float) -> dict[str, Any]:
    """Count the cells that one execution touches, and those of the operator's matrices."""
    from streamlb.learning.learner import CostLearner

    learner = CostLearner(epsilon=epsilon, delta=delta)
    learner.learn(12345, 1.0)
    F, W = learner.take()
    rows, columns = F.shape
    return {
        "touched": int((F != 0).sum() + (W != 0).sum()),
        "rows": rows,
        "columns": columns,
        "cells": int(F.size + W.size),
    }


def _cost_grid(profile: str) -> list[dict[str, Any]]:
    deltas, epsilons = (0.5, 0.25, 0.1, 0.01, 0.001), (0.9, 0.5, 0.05, 0.01, 0.001)
    return [{"delta": delta, "epsilon": epsilon} for delta in deltas for epsilon in epsilons]


COSTS = Experiment("las_costs", _cost_grid, _cost_of_a_tuple)


@claim(
    "LAS-T3.1",
    where="theorem 3.1",
    statement="Time for each tuple is O(log 1/delta) on either side.",
    claimed="O(log 1/delta)",
    criterion="cells touched are linear in the rows and independent of the columns",
    experiment=COSTS,
)
def _judge_time(runs, profile) -> Verdict:
    touched = runs.groupby("rows")["touched"].unique()
    holds = all(list(cells) == [2 * rows] for rows, cells in touched.items())
    return Verdict.when(
        holds,
        f"an execution touches exactly 2r cells, r = {listed(runs['rows'], '{:.0f}')}, whatever the columns",
        "r = ceil(log2(1/delta)). The stability check reads all cells once in N tuples: c r/N cells for each tuple on "
        "top.",
    )


@claim(
    "LAS-T3.2",
    where="theorem 3.2",
    statement="Space is O(1/eps log 1/delta (log m + log n)) bits.",
    claimed="O(1/eps log 1/delta) counters",
    criterion="2rc counters on each side",
    experiment=COSTS,
)
def _judge_space(runs, profile) -> Verdict:
    expected = 2 * np.ceil(np.log2(1 / runs["delta"])) * np.ceil(np.e / runs["epsilon"])
    holds = bool((runs["cells"] == expected).all())
    return Verdict.when(
        holds,
        f"2rc counters on either side, {listed(runs['cells'], '{:.0f}')} over the grid",
        "The operator also holds a snapshot of rc numbers; the bound's order is the same.",
    )


def _messages(exponent: float, seed: int, epsilon: float) -> dict[str, Any]:
    """Count the messages of a run from NOP at the paper's load."""
    from streamlb import LoadAwareShedder, simulate_shedding

    times = times_of_items(seed)
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


MESSAGE_COUNT = Experiment("las_messages", _messages_grid, _messages)


@claim(
    "LAS-T3.3",
    where="theorem 3.3",
    statement="Communication is O(m/N) messages.",
    claimed="O(m/N)",
    criterion="matrices at most m/2N, requests at most one for each pair of matrices",
    experiment=MESSAGE_COUNT,
)
def _judge_messages(runs, profile) -> Verdict:
    matrices = runs["matrices"] / (runs["offered"] / (2 * WINDOW))
    fits = (runs["matrices"] <= runs["executed"] / (2 * WINDOW)) & (runs["replies"] <= runs["requests"])
    holds = bool(fits.all() and (runs["requests"] <= runs["matrices"] + 1).all())
    return Verdict.when(
        holds,
        f"matrices {listed(matrices, '{:.2f}')} of m/2N; requests at most one a pair of matrices",
        "A pair takes at least two windows of executions: one for the snapshot, one for the check.",
    )
