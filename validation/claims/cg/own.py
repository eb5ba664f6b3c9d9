"""Our own claims beside Nasir et al. 2017.

They are about what each option brings over the printed policy, late signals, and exact aggregates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...claim import Claim, Experiment, Verdict, claims_into
from ...figures import COLOURS, panels, positive
from .capacity import WORKERS, changing, simulate
from .readings import STAND_IN, thin

# The printed policy pairs workers first come, first served, by binary signals, without hysteresis.
POLICIES: dict[str, dict[str, Any]] = {
    "printed": {"policy": "fcfs"},
    "lru": {"policy": "lru"},
    "hysteresis": {"policy": "fcfs", "hysteresis": 0.05},
    "proportional": {"policy": "fcfs", "proportional": True},
    "all three": {"policy": "lru", "hysteresis": 0.05, "proportional": True},
}
SCENARIOS = ("changing", "diurnal")
SETUP = (
    STAND_IN + " 'Changing' is Fig. 11's scenario. 'Diurnal': 3 of 10 workers 5 times faster, load swinging 15% around "
    "80% of all capacity over the day, so that at noon every worker is busy and at night every one idle. 100 "
    "virtual workers for each worker, one source, piggybacked signals."
)
CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="OWN", kind="b")


def _grid(profile):
    return [
        {"option": option, "scenario": scenario, "profile": profile, "seed": seed}
        for option in POLICIES
        for scenario in SCENARIOS
        for seed in range(3 if profile == "quick" else 5)
    ]


def _run(option: str, scenario: str, profile: str, seed: int) -> dict[str, Any]:
    """Simulate one policy in one scenario, and sum up its longest queue."""
    from streamlb import ConsistentGrouping, diurnal, fast_and_slow

    grouping = ConsistentGrouping(WORKERS, virtual=100, seed=seed, **POLICIES[option])
    if scenario == "changing":
        first, changes = changing(profile)
        result = simulate(profile, grouping, first, seed, changes=changes)
    else:
        result = simulate(profile, grouping, fast_and_slow(WORKERS, 3, 5), seed, arrivals=diurnal(1440, 0.15))
    top = result.queue.max(axis=1)
    return {
        "mean_queue": float(top.mean()),
        "max_queue": float(top.max()),
        "moves": int(result.moves.sum()),
        "imbalance": float(result.imbalance.mean()),
        "queue": thin(top),
    }


OPTIONS = Experiment("own_cg_options", _grid, _run)


def _figure_options(runs, profile):
    fig, axes = panels(
        "Options of consistent grouping",
        list(SCENARIOS),
        "hour of the day",
        ["longest queue (messages)"],
        size=(5, 3),
        log_y=True,
    )
    for ax, scenario in zip(axes[0], SCENARIOS):
        for option, colour in zip(POLICIES, COLOURS):
            run = runs[(runs["scenario"] == scenario) & (runs["option"] == option) & (runs["seed"] == 0)].iloc[0]
            ax.plot(
                np.linspace(0, 24, len(run["queue"])), positive(run["queue"], 0.5), color=colour, lw=1.2, label=option
            )
    axes[0, 0].legend(fontsize=8)
    return fig


def _beats_printed(option):
    """Return the judge of one option against the printed policy."""

    def judge(runs, profile):
        mean = runs.pivot_table(index="scenario", columns="option", values="mean_queue")
        error = runs.pivot_table(index="scenario", columns="option", values="mean_queue", aggfunc="sem")
        moves = runs.pivot_table(index="scenario", columns="option", values="moves")
        better = mean[option] + 2 * error[option] < mean["printed"] - 2 * error["printed"]
        return Verdict.when(
            bool(better.all()),
            "; ".join(
                f"{s}: {mean[option][s]:,.0f} ± {error[option][s]:,.0f} against {mean['printed'][s]:,.0f} ± "
                f"{error['printed'][s]:,.0f}"
                for s in SCENARIOS
            )
            + " (mean of the longest queue)",
            "Moves of virtual workers: "
            + "; ".join(f"{s}: {moves[option][s]:,.0f} against {moves['printed'][s]:,.0f}" for s in SCENARIOS)
            + ".",
        )

    return judge


def _declare(name, what, option):
    """Declare the claim that an option shortens queues."""
    claim(
        f"OWN-CG-{name}",
        where="options of ConsistentGrouping",
        statement=(
            f"{what}, against the printed policy, on changing capacities and under diurnal load: queues are shorter "
            "on average."
        ),
        claimed="ours",
        criterion=(
            "the mean over slots of the longest queue is below the printed policy's by more than two standard "
            "errors of both, in both scenarios"
        ),
        experiment=OPTIONS,
        figure=_figure_options,
        setup=SETUP,
    )(_beats_printed(option))


_declare("LRU", "Giving to the least recently busy when no one is idle (policy='lru')", "lru")
_declare("HYS", "Hysteresis: a busy worker signals until it is in the middle of the band", "hysteresis")
_declare("PROP", "Proportional moves: a signal asks for as many virtual workers as it takes", "proportional")
_declare("ALL", "All three together", "all three")


def _grid_late(profile):
    return [{"sources": s, "delay": d, "profile": profile, "seed": 0} for s in (1, 10, 50, 100) for d in (0, 2, 10)]


def _late(sources: int, delay: int, profile: str, seed: int) -> dict[str, Any]:
    """Simulate sources that hear the signals so many slots late."""
    from streamlb import ConsistentGrouping, fast_and_slow

    grouping = ConsistentGrouping(WORKERS, sources, virtual=20, seed=seed)
    result = simulate(profile, grouping, fast_and_slow(WORKERS, 3, 5), seed, delay=delay)
    top = result.queue.max(axis=1)
    return {
        "lost": int(result.messages[-1] - grouping.loads.sum()),
        "mean_queue": float(top.mean()),
        "max_queue": float(top.max()),
        "end_queue": float(top[-1]),
        "spread": float(np.ptp(grouping.shares, axis=0).max()),
        "overload": float(result.utilisation[720:].mean(axis=0).max()),
    }


LATE = Experiment("own_cg_late", _grid_late, _late, cost=lambda row: row["sources"])


@claim(
    "OWN-CG-LATE",
    where="eventual consistency",
    statement=(
        "1 to 100 sources that hear signals with their acknowledgements, up to 10 slots late: no message is lost "
        "and no worker stays overloaded."
    ),
    claimed="ours",
    criterion="every message served once; each worker's mean utilisation in the second half below 1",
    experiment=LATE,
    setup=STAND_IN + " {y=3, z=5}, 20 virtual workers for each worker.",
)
def _judge_late(runs, profile):
    table = runs.pivot_table(index="delay", columns="sources", values="mean_queue")
    lost = int(runs["lost"].sum())
    stable = bool((runs["overload"] < 1).all())
    return Verdict.when(
        lost == 0 and stable,
        f"{lost} messages lost; no worker above {runs['overload'].max():.2f} of its capacity in the second half; "
        "mean of the longest queue "
        + ", ".join(f"{table[s][10]:,.0f} ({s})" for s in table.columns)
        + " with 10 slots' delay",
        f"Without delay: {', '.join(f'{table[s][0]:,.0f} ({s})' for s in table.columns)}. Maps of different sources "
        f"end up to {int(runs['spread'].max())} virtual workers apart.",
    )


def _aggregate(inner: str, seed: int) -> dict[str, Any]:
    """Count (feature, class) pairs at the workers while virtual workers move about.

    The sums, and the naive Bayes classifier made from them, are compared with counts in one place.
    """
    from streamlb import ConsistentGrouping, PartialCounts, Zipf

    rng = np.random.default_rng(seed)
    features, classes = Zipf(200, 1.2).draw(20_000, seed), rng.integers(0, 2, 20_000).astype(np.uint64)
    keys = features * np.uint64(2) + classes
    grouping, parts = ConsistentGrouping(5, 3, virtual=6, inner=inner, seed=seed), PartialCounts(5)
    for part in np.split(keys, 40):
        parts.add(part, grouping.route_many(part))
        grouping.observe(rng.uniform(0.5, 1.2, 5))
        if rng.random() < 0.3:
            parts.collect()
    merged, exact = parts.collect(), dict(zip(*(a.tolist() for a in np.unique(keys, return_counts=True))))
    priors = np.bincount(classes.astype(int))

    def log_odds(counts):
        share = [[(counts.get(2 * f + c, 0) + 1) / (int(priors[c]) + 2) for c in (0, 1)] for f in range(200)]
        return [float(np.log(a / b)) for a, b in share]

    return {"equal": merged == exact, "same_classifier": log_odds(merged) == log_odds(exact), "moves": grouping.moves}


AGGREGATE = Experiment(
    "own_cg_aggregate",
    lambda profile: [{"inner": i, "seed": s} for i in ("porc", "kg", "pkg", "potc", "sg", "ch") for s in range(2)],
    _aggregate,
)


@claim(
    "OWN-CG-AGG",
    kind="a",
    where="IV-D, III (example)",
    statement=(
        "Partial counts of split keys, collected now and then, sum to the exact counts; the naive Bayes classifier "
        "over them is the unsplit one."
    ),
    claimed="ours",
    criterion="equality in every run",
    experiment=AGGREGATE,
)
def _judge_aggregate(runs, profile):
    return Verdict.when(
        bool(runs["equal"].all() and runs["same_classifier"].all()),
        f"equal in {int((runs['equal'] & runs['same_classifier']).sum())} of {len(runs)} runs, with "
        f"{int(runs['moves'].min())} or more moves each",
        "A naive Bayes classifier over routed feature counts, the paper's running example: every weight is the "
        "unsplit one's, bit for bit.",
    )
