"""POSG's exact claims: an example, the instances' rule, greedy scheduling.

They are those of sections II, III-B and IV-A of Rivetti et al. 2015.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from streamlb.analysis import (
    completion_times,
    greedy_makespan,
    greedy_ratio,
    makespan_lower_bound,
    optimal_makespan,
    tight_costs,
)

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import OURS, PAPER, SECOND, new_figure
from ...judging import Finding, Runs, all_of, between, exact, finding, never

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="POSG", kind="a")

# --- the example of section II -------------------------------------------------------------------


def _example(policy: str) -> dict[str, Any]:
    from streamlb import simulate_operator

    arrivals, costs = [0.0, 1.0, 2.0], [10.0, 1.0, 10.0]
    result = simulate_operator([0, 1, 0], costs, 2, policy, arrivals=arrivals, keep=True)
    exact = sum(completion_times(arrivals, costs, result.assignment.tolist(), 2))
    return {"simulated": float(result.completion.sum()), "exact": str(exact), "assignment": result.assignment.tolist()}


EXAMPLE = Experiment(
    "posg_example", lambda profile: [{"policy": p} for p in ("round_robin", "full_knowledge", "least_work")], _example
)


def _judge_sum(runs: Runs, policy: str, seconds: int) -> Finding:
    """Judge one printed sum: the simulator's, and that of the exact queue."""
    row = runs.where(policy=policy).frame.iloc[0]
    wrong = int(Fraction(row["exact"]) != Fraction(row["simulated"]))
    assignment = ", ".join(str(i + 1) for i in row["assignment"])
    return finding(
        f"{row['simulated']:g} s, tuples on instances {assignment}; the exact queue gives {float(Fraction(row['exact'])):g} s",
        value=all_of(
            between(exact(row["simulated"]), seconds, seconds, "sum of completion times"),
            never(wrong, 1, "simulator and exact queue differ"),
        ),
    )


SET_UP = "Tuples a, b, a one second apart, of 10, 1 and 10 s, on two instances: "


@claim(
    "POSG-EX1",
    where="section II",
    statement=SET_UP + "the summed completion times of round robin.",
    claimed="29 s",
    criterion="value: equality, in the simulator and in the exact queue",
    experiment=EXAMPLE,
)
def _judge_round_robin(runs: Runs) -> Finding:
    return _judge_sum(runs, "round_robin", 29)


@claim(
    "POSG-EX1-v",
    where="section II",
    statement=SET_UP + "those of a better schedule, which greedy scheduling finds.",
    claimed="21 s",
    criterion="value: equality, in the simulator and in the exact queue",
    experiment=EXAMPLE,
)
def _judge_better(runs: Runs) -> Finding:
    return _judge_sum(runs, "full_knowledge", 21)


# --- equation 1: when an instance sends ----------------------------------------------------------

# Costs of one key in windows of 2, so that W/F is the mean so far, and after which executions the
# instance must send. After the first window the mean is 10.
STREAMS = {
    "equal": ([10.0, 10.0, 10.0, 10.0], [0, 0, 0, 1]),
    "at_tolerance": ([10.0, 10.0, 11.0, 11.0], [0, 0, 0, 1]),
    "beyond": ([10.0, 10.0, 11.0, 11.5], [0, 0, 0, 0]),
    "later": ([10.0, 10.0, 30.0, 30.0, 20.0, 20.0], [0, 0, 0, 0, 0, 1]),
}


def _stability(case: str) -> dict[str, Any]:
    """Feed an instance hand-made executions and see after which of them it sends."""
    from streamlb.learning.learner import CostLearner

    if case == "matrices":
        return {"found": [_relative_error("nonempty"), _relative_error("printed")], "expected": [1 / 6, 10 / 6]}
    costs, expected = STREAMS[case]
    learner = CostLearner(window=2, tolerance=0.05)
    sends = []
    for cost in costs:
        sends.append(learner.learn(1, cost))
        if sends[-1]:
            learner.take()
    return {"found": [float(s) for s in sends], "expected": [float(e) for e in expected]}


def _relative_error(stability: str) -> float:
    """Return η where W/F is 2, 4 and empty at the snapshot, and 3, 4 and 9 at the next look."""
    from streamlb.learning.learner import CostLearner

    learner = CostLearner(window=2, delta=0.5, columns=3, stability=stability)
    first, second, third = _keys_of_the_columns(learner)
    learner.reset()
    for key, cost in ((first, 2.0), (second, 4.0), (first, 4.0), (third, 9.0)):
        learner.learn(key, cost)
    return learner.error


def _keys_of_the_columns(learner) -> list[int]:
    """Return a key for each column of a learner with one row, by looking where executions land."""
    keys: dict[int, int] = {}
    for key in range(1000):
        learner.learn(key, 1.0)
        frequencies, _ = learner.take()
        keys.setdefault(int(frequencies.argmax()), key)
    return list(keys.values())


STABILITY = Experiment("posg_stability", lambda profile: [{"case": c} for c in ("matrices", *STREAMS)], _stability)


@claim(
    "POSG-E1",
    where="section III-B, equation 1",
    statement="An instance sends its matrices if and only if the relative error η is at most μ.",
    claimed="rule",
    criterion="value: hand-made matrices and streams give what is computed by hand",
    experiment=STABILITY,
)
def _judge_stability(runs: Runs) -> Finding:
    rows: list[Any] = list(runs.frame.itertuples())
    cases = {row.case: (list(row.found), list(row.expected)) for row in rows}
    wrong = [case for case, (found, expected) in cases.items() if found != expected]
    nonempty, letter = cases["matrices"][0]
    return finding(
        f"{len(cases) - len(wrong)} of {len(cases)} hand-made cases as computed by hand; for the same matrices η is "
        f"{nonempty:.3f} over the cells that were not empty at the snapshot and {letter:.3f} over all cells",
        value=never(len(wrong), len(cases), "cases that differ from the hand computation"),
        note="New items make the printed η large, which is why the first reading is the default."
        + (f" Different: {', '.join(wrong)}." if wrong else ""),
    )


# --- theorem 4.2: greedy scheduling --------------------------------------------------------------


def _adversarial(rng: np.random.Generator, k: int, n: int) -> list[int]:
    """Return small tasks that greedy spreads evenly, then large ones: nearly the worst case."""
    large = int(rng.integers(2, 30))
    small = [max(1, large // k + int(rng.integers(-1, 2))) for _ in range(min(n - 1, k * (k - 1)))]
    return [*small, *([large] * (n - len(small)))]


def _makespans(kind: str, k: int, seed: int, cases: int) -> dict[str, Any]:
    from streamlb import greedy_schedule

    rng = np.random.default_rng([seed, k, kind == "random"])
    worst, violations, wrong = Fraction(0), 0, 0
    for _ in range(cases):
        n = int(rng.integers(k + 1, 11))
        costs = _adversarial(rng, k, n) if kind == "adversarial" else rng.integers(1, 50, n).tolist()
        greedy = Fraction(greedy_schedule(costs, k)[1])
        optimum = optimal_makespan(costs, k)
        wrong += greedy != greedy_makespan(costs, k)
        violations += greedy > greedy_ratio(k) * optimum
        worst = max(worst, greedy / optimum)
    return {"worst": float(worst), "violations": violations, "wrong": wrong}


MAKESPANS = Experiment(
    "posg_makespans",
    lambda profile: [
        {"kind": kind, "k": k, "cases": 60} for kind in ("random", "adversarial") for k in (1, 2, 3, 4, 5)
    ],
    _makespans,
    seeds=Seeds(quick=(6, 6), paper=(60, 60)),
)


def _figure_makespans(runs, profile):
    figure, axes = new_figure(
        "Greedy scheduling against the exact optimum", "instances k", "makespan of greedy / optimum"
    )
    for colour, (kind, group) in zip((OURS, SECOND), runs.groupby("kind")):
        axes.plot(
            group["k"], group["worst"], "o", ms=4, alpha=0.5, color=colour, label=f"worst of a batch, {kind} costs"
        )
    ks = sorted(runs["k"].unique())
    axes.plot(ks, [float(greedy_ratio(int(k))) for k in ks], "--", color=PAPER, label="theorem 4.2: 2 − 1/k")
    axes.legend(fontsize=8)
    return figure


@claim(
    "POSG-T4.2",
    where="theorem 4.2",
    statement="On k identical instances greedy online scheduling takes at most 2 − 1/k times the optimum.",
    claimed="bound",
    criterion="value: no violation against the exact optimum, by branch and bound in rationals; the kernel's makespan is "
    "that of exact greedy scheduling",
    experiment=MAKESPANS,
    figure=_figure_makespans,
)
def _judge_makespans(runs: Runs) -> Finding:
    frame = runs.frame
    worst = ", ".join(
        f"k={k} {part.frame['worst'].max():.3f} of {float(greedy_ratio(k)):.3f}" for k, part in runs.by("k")
    )
    violations, wrong, cases = (int(frame[name].sum()) for name in ("violations", "wrong", "cases"))
    return finding(
        f"{violations} violations in {cases:,} schedules; largest ratios {worst}",
        value=all_of(
            never(violations, cases, "schedules beyond the bound"), never(wrong, cases, "makespans that differ")
        ),
    )


def _tight(k: int) -> dict[str, Any]:
    from streamlb import greedy_schedule

    costs = tight_costs(k)
    kernel = Fraction(greedy_schedule([int(c * k) for c in costs], k)[1]) / k
    # The small tasks fill k - 1 machines exactly: 1 can be reached, and the largest task needs it.
    small = (k * (k - 1)) / Fraction(k) == k - 1
    return {
        "greedy": str(greedy_makespan(costs, k)),
        "kernel": str(kernel),
        "optimum": str(makespan_lower_bound(costs, k)),
        "small": small,
    }


TIGHT = Experiment("posg_tight", lambda profile: [{"k": k} for k in range(1, 41)], _tight)


@claim(
    "POSG-T4.2t",
    where="section IV-A",
    statement="k(k−1) tuples of w/k, then one of w: greedy reaches its bound.",
    claimed="2 − 1/k exactly",
    criterion="value: equality in rationals for k from 1 to 40",
    experiment=TIGHT,
)
def _judge_tight(runs: Runs) -> Finding:
    rows: list[Any] = list(runs.frame.itertuples())
    ratios = [Fraction(row.greedy) / Fraction(row.optimum) for row in rows]
    wrong = sum(
        found != greedy_ratio(row.k) or row.kernel != row.greedy or not row.small for row, found in zip(rows, ratios)
    )
    return finding(
        f"the ratio is 2 − 1/k for {len(rows) - wrong} of {len(rows)} values of k; at k = {rows[-1].k} it is {ratios[-1]}",
        value=never(wrong, len(rows), "values of k with another ratio"),
    )
