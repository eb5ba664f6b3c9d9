"""The rules of load-aware shedding and what they cost: Rivetti et al. 2016, section 3."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...claim import Claim, Experiment, Seeds, claims_into
from ...judging import Runs, all_of, finding, never
from .readings import ITEMS, MESSAGES, READINGS, THRESHOLD, WINDOW, listed, stream_of, times_of_items, warm_shedder

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="LAS", kind="a")

OF_RULES = ("default", "listing")
OF_CHECKS = ("default", "sum", "listing")

# --- the operator's state machine ----------------------------------------------------------------

SPAN = 8  # the operator's window, N


def _operator_rule(reading: str, tolerance: float, drift: float) -> dict[str, Any]:
    """Feed an operator windows whose costs differ by `drift`; say when it sends, and what.

    `stable` is what the rule says of the second look, from the costs themselves: the matrices of a
    single key have one ratio, the mean of what was added by then.
    """
    from streamlb import LoadAwareShedder

    options = READINGS[reading].options.get("las", {})
    shedder = LoadAwareShedder(1e9, SPAN, tolerance, seed=1, **options)
    costs = [10.0 if number < SPAN else 10.0 * (1 + 2 * drift) for number in range(6 * SPAN)]
    late = 1 if options.get("look") == "before" else 0  # the listing looks before it adds the tuple
    first, second = (float(np.mean(costs[: n * SPAN - late])) for n in (1, 2))
    sent = told = 0
    for number, cost in enumerate(costs, 1):
        shedder.offer(7, float(number))
        shedder.complete(7, cost)
        if shedder.matrices:
            sent, told = number, int(shedder.F[1, 0].sum())
            break
    return {"stable": abs(second - first) / first <= tolerance, "sent": sent, "told": told, "late": late}


OPERATOR = Experiment(
    "las_operator_rule",
    lambda profile: [
        {"reading": reading, "tolerance": tolerance, "drift": drift}
        for reading in OF_RULES
        for tolerance in (0.02, 0.05)
        for drift in (0.0, 0.01, 0.019, 0.023, 0.04, 0.049, 0.056, 0.2, 1.0)
    ],
    _operator_rule,
)


@claim(
    "LAS-L1",
    where="listing 3.1, figure 2",
    statement="The operator snapshots after N tuples, and after N more sends its matrices if their relative error is "
    "at most mu.",
    claimed="rule",
    criterion="sent at the second look exactly when the error is at most mu, with all that was added by then; never "
    "violated",
    experiment=OPERATOR,
    readings=OF_RULES,
)
def _judge_operator(runs: Runs):
    frame = runs.frame
    second = frame["sent"] == 2 * SPAN
    wrong = (second != frame["stable"]) | (second & (frame["told"] != 2 * SPAN - frame["late"]))
    return finding(
        f"wrong in {int(wrong.sum())} of {len(frame)} cases; sent at the second look in {int(second.sum())}",
        shape=never(wrong.sum(), len(frame)),
        note="The relative error runs over the cells that were not empty at the snapshot, or over all as printed. The "
        "listing looks before it adds the tuple that ends a window.",
    )


# --- the shedder's rule --------------------------------------------------------------------------


def _check_rule(reading: str, seed: int) -> dict[str, Any]:
    """Run a shedder with a reading of Check on a load that it must shed.

    The result says how its own average behaves, and how long it goes on keeping tuples.
    """
    from streamlb import simulate_shedding

    stream, times = stream_of(1.0), times_of_items(seed)
    keys = stream.draw(8_192, seed)
    shedder = warm_shedder(THRESHOLD, stream, times, seed, **READINGS[reading].options.get("las", {}))
    result = simulate_shedding(keys, times[keys.astype(np.int64)], shedder, underprovisioning=0.25)
    return {
        "own_average": shedder.average_wait,
        "last_kept": int(np.flatnonzero(~result.dropped)[-1]) / keys.size,
        "dropped": result.dropped_ratio,
    }


CHECK = Experiment(
    "las_check_rule",
    lambda profile: [{"reading": reading} for reading in OF_CHECKS],
    _check_rule,
    seeds=Seeds(quick=(20, 20), paper=(200, 200)),
)


@claim(
    "LAS-L2",
    where="listing 3.2, Check",
    statement="A tuple is dropped when the average queuing latency with it would pass tau.",
    claimed="rule",
    criterion="the shedder's own average is at most tau, and it goes on keeping tuples; never violated",
    experiment=CHECK,
    readings=OF_CHECKS,
)
def _judge_check(runs: Runs):
    frame = runs.frame
    passed, stuck = frame["own_average"] > THRESHOLD * (1 + 1e-9), frame["last_kept"] < 0.99
    return finding(
        f"own average above tau in {int(passed.sum())}, no tuple kept at the end in {int(stuck.sum())} of "
        f"{len(frame)} runs; dropped {listed(frame['dropped'], '{:.0%}')}",
        shape=all_of(
            never(passed.sum(), len(frame), "runs whose own average passes tau"),
            never(stuck.sum(), len(frame), "runs that stop keeping tuples"),
        ),
        note=f"The greatest own average is {frame['own_average'].max():.3f} ms (tau 6.4). The listing divides by zero "
        "at first and tests the average before the tuple is in it: once above tau, nothing changes it again.",
    )


# --- theorems 3.1 to 3.3 -------------------------------------------------------------------------

DELTAS, EPSILONS = (0.5, 0.25, 0.1, 0.01, 0.001), (1.0, 0.5, 0.05, 0.01, 0.001)


def _cost_of_a_tuple(delta: float, epsilon: float) -> dict[str, Any]:
    """Count the cells that executions touch, over two windows of N executions of many keys.

    An execution touches the cells that it changes, on the arrays themselves. One that ends a window
    also reads every cell for the snapshot or the relative error.
    """
    from streamlb.learning.learner import CostLearner

    learner = CostLearner(WINDOW, epsilon=epsilon, delta=delta, tolerance=0.0)
    _, rows, columns = learner.F.shape
    ordinary: list[int] = []
    ending: list[int] = []
    for number in range(1, 2 * WINDOW + 1):
        ends = number % WINDOW == 0
        sampled = ends or number % 64 == 1  # comparing all cells takes long
        before = (learner.F.copy(), learner.W.copy()) if sampled else ()
        learner.learn(number, 1.0 + number)
        if sampled:
            changed = sum(int((old != new).sum()) for old, new in zip(before, (learner.F, learner.W)))
            (ending if ends else ordinary).append(changed + (rows * columns if ends else 0))
    return {
        "rows": rows,
        "columns": columns,
        "least": min(ordinary),
        "most": max(ordinary),
        "ending": max(ending),
        "average": (max(ordinary) * (WINDOW - 1) + max(ending)) / WINDOW,
    }


COSTS = Experiment(
    "las_costs",
    lambda profile: [{"delta": delta, "epsilon": epsilon} for delta in DELTAS for epsilon in EPSILONS],
    _cost_of_a_tuple,
)


@claim(
    "LAS-T3.1",
    where="theorem 3.1",
    statement="Time for each tuple is O(log 1/delta).",
    claimed="O(log 1/delta)",
    criterion="averaged over a window of N = 1,024 executions, at most 3r cells are touched for each, r = "
    "ceil(log2(1/delta)), wherever the c columns are at most N: never violated, for the operator",
    experiment=COSTS,
    amended="Only executions that end no window were counted. Those that do touch all cells: on average (this claim), "
    "and each by itself (LAS-T3.1-v).",
)
def _judge_time(runs: Runs):
    frame = runs.frame[runs.frame["columns"] <= WINDOW]
    wrong = frame["average"] > 3 * frame["rows"]
    share = runs.frame["average"] / runs.frame["rows"]
    return finding(
        f"{listed(share[frame.index], '{:.2f}')} r cells a tuple on average; more than 3r in {int(wrong.sum())} of "
        f"{len(frame)} settings",
        shape=never(wrong.sum(), len(frame)),
        note=f"An execution that ends no window touches {listed(frame['least'] / frame['rows'], '{:.0f}')} to "
        f"{listed(frame['most'] / frame['rows'], '{:.0f}')} r cells, whatever the columns. With more columns than N, "
        f"as for eps = .001, the average is up to {share.max():.2f} r: it grows as c/N.",
    )


@claim(
    "LAS-T3.1-v",
    where="theorem 3.1",
    statement="No single tuple takes longer than O(log 1/delta).",
    claimed="O(log 1/delta), each tuple",
    criterion="no execution touches more than 3r cells: never violated",
    experiment=COSTS,
    amended="Was not judged: executions that end a window were left out.",
)
def _judge_each(runs: Runs):
    frame = runs.frame
    wrong = frame["ending"] > 3 * frame["rows"]
    return finding(
        f"the dearest execution touches {listed(frame['ending'] / frame['rows'], '{:.0f}')} r cells; more than 3r in "
        f"{int(wrong.sum())} of {len(frame)} settings",
        shape=never(wrong.sum(), len(frame)),
        note="One execution in N looks at the stability of the matrices, and reads all rc cells for it.",
    )


def _space(delta: float, epsilon: float, executed: int, items: int) -> dict[str, Any]:
    """Measure what shedder and operator hold after so many executions of so many items."""
    from streamlb import LoadAwareShedder

    shedder = LoadAwareShedder(THRESHOLD, delta=delta, epsilon=epsilon, seed=1)
    for number in range(executed):
        key = number * 7_919 % items
        if not shedder.offer(key, 10.0 * number):
            shedder.complete(key, 1.0 + key % 7)
    return {"bits": 8 * len(shedder.state()), "executed": executed, "cells": int(shedder.F[0].size)}


SPACE = Experiment(
    "las_space",
    lambda profile: [
        {"delta": delta, "epsilon": epsilon, "executed": executed, "items": items}
        for delta in (0.5, 0.1, 0.001)
        for epsilon in (1.0, 0.05, 0.001)
        for executed, items in ((3_000, 10), (3_000, 3_000), (30_000, 30_000))
    ],
    _space,
)


@claim(
    "LAS-T3.2",
    where="theorem 3.2",
    statement="Space is O(1/eps log 1/delta (log m + log n)) bits.",
    claimed="O(1/eps log 1/delta (log m + log n))",
    criterion="what shedder and operator hold together is a constant and at most 8 numbers of 64 bits for each cell of "
    "a matrix, whatever the tuples and the items: never violated, in bytes of the saved state",
    experiment=SPACE,
    amended="A formula was checked against itself; now the state is measured.",
)
def _judge_space(runs: Runs):
    frame = runs.frame
    few = frame["cells"] == frame["cells"].min()
    # What holds the smallest matrices, nearly all of it fixed.
    fixed = float(frame["bits"][few].max())
    wrong = frame["bits"] > fixed + 8 * 64 * frame["cells"]
    spread = frame.groupby(["delta", "epsilon"])["bits"].agg(lambda bits: bits.max() - bits.min()).max()
    slope = (frame["bits"].max() - frame["bits"].min()) / (frame["cells"].max() - frame["cells"].min())
    return finding(
        f"{slope / 64:.2f} numbers of 64 bits for each cell, and {frame['bits'].min() / 8:.0f} bytes at the least; too "
        f"many in {int(wrong.sum())} of {len(frame)} cases",
        shape=never(wrong.sum(), len(frame)),
        note=f"Between 3,000 executions of 10 items and 30,000 of as many, the state differs by at most {spread / 8:.0f} "
        "bytes. A cell is held by shedder and operator in F and W, and in the operator's snapshot. 64 bits are enough "
        "for any m and n.",
    )


def _messages(reading: str, exponent: float, epsilon: float, seed: int) -> dict[str, Any]:
    """Count the messages of a run from NOP at the paper's load, and their bits as they are sent."""
    from streamlb import LoadAwareShedder, simulate_shedding
    from streamlb.learning.messages import Matrices, Reply, Request, encode

    times = times_of_items(seed)
    keys = stream_of(exponent).draw(4 * MESSAGES, seed)
    options = READINGS[reading].options.get("las", {})
    shedder = LoadAwareShedder(THRESHOLD, epsilon=epsilon, seed=seed, **options)
    simulate_shedding(keys, times[keys.astype(np.int64)], shedder)
    F, W = shedder.F[1], shedder.W[1]
    sizes = [
        8 * len(encode(message))
        for message in (Matrices(0, 1, 1, seed, F, W), Request(0, 1, 0.0, 0.0), Reply(0, 1, 1, 0.0, 0.0, 0.0))
    ]
    return {
        "executed": shedder.kept,
        "offered": shedder.offered,
        "matrices": shedder.matrices,
        "requests": shedder.epoch,
        "replies": shedder.replies,
        "cells": int(F.size),
        "bits": shedder.matrices * sizes[0] + shedder.epoch * sizes[1] + shedder.replies * sizes[2],
    }


MESSAGE_COUNT = Experiment(
    "las_messages",
    lambda profile: [
        {"reading": reading, "exponent": exponent, "epsilon": epsilon}
        for reading in OF_RULES
        for exponent in (0.0, 1.0, 2.0)
        for epsilon in (0.05, 0.5)
    ],
    _messages,
    seeds=Seeds(quick=(5, 5), paper=(50, 50)),
)


@claim(
    "LAS-T3.3",
    where="theorem 3.3",
    statement="Communication is O(m/N) messages.",
    claimed="O(m/N)",
    criterion="matrices at most m/2N, requests at most one more than matrices, replies at most as many as requests: "
    "never violated",
    experiment=MESSAGE_COUNT,
    readings=OF_RULES,
)
def _judge_messages(runs: Runs):
    frame = runs.frame
    pairs = frame["matrices"] / (frame["offered"] / (2 * WINDOW))
    wrong = (
        (frame["matrices"] > frame["executed"] / (2 * WINDOW))
        | (frame["requests"] > frame["matrices"] + 1)
        | (frame["replies"] > frame["requests"])
    )
    return finding(
        f"matrices {listed(pairs, '{:.2f}')} of m/2N, {int(frame['requests'].sum())} requests and "
        f"{int(frame['replies'].sum())} replies to {int(frame['matrices'].sum())} pairs; too many messages in "
        f"{int(wrong.sum())} of {len(frame)} runs",
        shape=never(wrong.sum(), len(frame)),
        note="A pair takes at least two windows of executions: one for the snapshot, one for the check.",
    )


@claim(
    "LAS-T3.3-v",
    where="theorem 3.3",
    statement="Communication is O(m/N (1/eps log 1/delta (log m + log n) + log m)) bits.",
    claimed="O(m/N (1/eps log 1/delta (log m + log n) + log m))",
    criterion="at most m/2N + 1 times (2 numbers of 64 bits for each of the rc cells, and 32 more for headers, request "
    "and reply): never violated, in bytes as they are sent",
    experiment=MESSAGE_COUNT,
    readings=OF_RULES,
)
def _judge_bits(runs: Runs):
    frame = runs.frame
    bound = (frame["offered"] / (2 * WINDOW) + 1) * 64 * (2 * frame["cells"] + 32)
    wrong = frame["bits"] > bound
    return finding(
        f"{listed(frame['bits'] / bound, '{:.2f}')} of the bound, {listed(frame['bits'] / frame['offered'], '{:.1f}')} "
        f"bits a tuple; above it in {int(wrong.sum())} of {len(frame)} runs",
        shape=never(wrong.sum(), len(frame)),
        note=f"{ITEMS:,} items, {4 * MESSAGES:,} tuples, N = {WINDOW:,}.",
    )
