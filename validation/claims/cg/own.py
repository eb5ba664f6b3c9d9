"""Our own claims beside Nasir et al. 2017.

They are about what each option brings over the printed policy, late signals, and exact aggregates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import COLOURS, panels, positive
from ...judging import Finding, Runs, all_of, at_most, finding, geometric_mean, less, mean, never
from .capacity import SIMULATED, WORKERS, day, simulate
from .readings import LATE, of_first_seed, slots_of, thin, times

# The printed policy pairs workers first come, first served, by binary signals, without hysteresis.
# Fewer virtual workers make it quicker, more of them finer: it has the choice.
PRINTED = {f"printed, {v}": {"policy": "fcfs", "virtual": v} for v in (10, 20, 100)}
POLICIES: dict[str, dict[str, Any]] = {
    "lru": {"policy": "lru"},
    "hysteresis": {"policy": "fcfs", "hysteresis": 0.05},
    "proportional": {"policy": "fcfs", "proportional": True},
    "all three": {"policy": "lru", "hysteresis": 0.05, "proportional": True},
}
SCENARIOS = ("changing", "diurnal")
SETUP = (
    SIMULATED
    + " 'Changing': 3 of 10 workers 5 times faster, then 5 of them 4 times, then 2 of them 10 times, a third of "
    "the run each. 'Diurnal': 3 workers 5 times faster, load swinging 15% around 80% of all capacity, so that in the "
    "middle every worker is busy and at the ends every one idle. 100 virtual workers for each worker, one source."
)
FRESH = Seeds(quick=(5, 23), paper=(5, 20), start=1000)  # the options were developed on lower ones
CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="OWN", kind="b")


def _grid(profile):
    return [
        {"option": option, "scenario": scenario, "profile": profile}
        for option in (*PRINTED, *POLICIES)
        for scenario in SCENARIOS
    ]


def _run(option: str, scenario: str, profile: str, seed: int) -> dict[str, Any]:
    """Simulate one policy in one scenario, and sum up its longest queue."""
    from streamlb import ConsistentGrouping, diurnal, fast_and_slow

    stream, messages = day(profile)
    settings = {"virtual": 100, **{**PRINTED, **POLICIES}[option]}
    grouping = ConsistentGrouping(WORKERS, seed=seed, **settings)
    options: dict[str, Any] = {}
    if scenario == "changing":
        phases = zip((1, 2), ((5, 4), (2, 10)))
        options["changes"] = [(messages * i // 3, fast_and_slow(WORKERS, y, z)) for i, (y, z) in phases]
    else:
        options["arrivals"] = diurnal(slots_of(messages), 0.15)
    result = simulate(stream, messages, grouping, fast_and_slow(WORKERS, 3, 5), seed, **options)
    top = result.queue.max(axis=1)
    return {"mean_queue": float(top.mean()), "moves": int(result.moves.sum()), "queue": thin(top)}


OPTIONS = Experiment("own_cg_options", _grid, _run, seeds=FRESH)


def _figure_options(runs, profile):
    fig, axes = panels(
        "Options of consistent grouping",
        list(SCENARIOS),
        "part of the run",
        ["longest queue (messages)"],
        size=(5, 3.4),
        log_y=True,
    )
    own = of_first_seed(runs)
    for ax, scenario in zip(axes[0], SCENARIOS):
        for i, option in enumerate((*PRINTED, *POLICIES)):
            run = own[(own["scenario"] == scenario) & (own["option"] == option)].iloc[0]
            style, colour = ("--", "0.3") if option in PRINTED else ("-", COLOURS[i % len(COLOURS)])
            width = 0.6 + 0.3 * i if option in PRINTED else 1.2
            x = np.linspace(0, 1, len(run["queue"]))
            ax.plot(x, positive(run["queue"], 0.5), color=colour, ls=style, lw=width, label=option)
    axes[0, 0].legend(fontsize=7)
    return fig


def _beats_printed(option):
    """Return the judge of one option against the printed policy, whatever its virtual workers."""

    def judge(runs: Runs) -> Finding:
        checks, shown, moved = [], [], []
        for scenario in SCENARIOS:
            cells = {name: own for name, own in runs.where(scenario=scenario).by("option")}
            ours = cells[option]["mean_queue"]
            theirs = {name: cells[name]["mean_queue"] for name in PRINTED}
            checks += [
                less(ours.map(np.log1p), queue.map(np.log1p), f"{scenario}: below {name}")
                for name, queue in theirs.items()
            ]
            best = min(theirs, key=lambda name: mean(theirs[name]).point)
            shown.append(
                f"{scenario}: {mean(ours):,.0f}, {times(ours, theirs[best]):.2g} of the best printed one ({best})"
            )
            moved.append(f"{scenario}: {mean(cells[option]['moves']).point:,.0f}")
        return finding(
            "; ".join(shown) + " (mean of the longest queue)",
            shape=all_of(checks),
            note=f"Moves of virtual workers: {'; '.join(moved)}.",
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
            "shape: the mean over slots of the longest queue (as logarithm) is below the printed policy's with 10, 20 and "
            "100 virtual workers, in both scenarios"
        ),
        amended="Below the printed policy with 100 virtual workers by two standard errors: it is better with fewer.",
        experiment=OPTIONS,
        figure=_figure_options,
        setup=SETUP,
    )(_beats_printed(option))


_declare("LRU", "Giving to the least recently busy when no one is idle (policy='lru')", "lru")
_declare("HYS", "Hysteresis: a busy worker signals until it is in the middle of the band", "hysteresis")
_declare("PROP", "Proportional moves: a signal asks for as many virtual workers as it takes", "proportional")
_declare("ALL", "All three together", "all three")


HALF_HOUR = 30  # slots


def _late(sources: int, delay: int, profile: str, seed: int) -> dict[str, Any]:
    """Simulate sources that hear the signals so many slots late.

    `overload` is the greatest utilisation of a worker over half an hour, after the start-up.
    """
    from streamlb import ConsistentGrouping, fast_and_slow

    stream, messages = day(profile)
    grouping = ConsistentGrouping(WORKERS, sources, virtual=20, seed=seed)
    result = simulate(stream, messages, grouping, fast_and_slow(WORKERS, 3, 5), seed, delay=delay)
    late = result.utilisation[round(LATE * result.queue.shape[0]) :]
    sums = np.cumsum(np.vstack([np.zeros(WORKERS), late]), axis=0)
    return {
        "lost": int(result.messages[-1] - grouping.loads.sum()),
        "mean_queue": float(result.queue.max(axis=1).mean()),
        "apart": float(np.ptp(grouping.shares, axis=0).max()),
        "overload": float((sums[HALF_HOUR:] - sums[:-HALF_HOUR]).max() / HALF_HOUR),
        "average": float(late.mean(axis=0).max()),
    }


LATER = Experiment(
    "own_cg_late",
    lambda profile: [{"sources": s, "delay": d, "profile": profile} for s in (1, 10, 100) for d in (0, 10)],
    _late,
    cost=lambda row: row["sources"],
    seeds=FRESH,
)


@claim(
    "OWN-CG-LATE",
    where="eventual consistency",
    statement=(
        "1 to 100 sources that hear signals with their acknowledgements, up to 10 slots late: no message is lost "
        "and no worker stays overloaded."
    ),
    claimed="ours",
    criterion=(
        "value: every message is served once. Shape: in the second half no worker is given more than it can serve over "
        "any half hour, on average over seeds, for each number of sources and delay"
    ),
    amended="Each worker's mean utilisation over the whole second half below 1, in which swings cancel.",
    experiment=LATER,
    setup=SIMULATED + " {y=3, z=5}, 20 virtual workers for each worker, paired by the least recently busy.",
)
def _judge_late(runs: Runs) -> Finding:
    lost = int(runs.frame["lost"].abs().sum())
    cells = {cell: geometric_mean(own["overload"]) for cell, own in runs.by("sources", "delay")}
    return finding(
        f"{lost} messages lost; busiest half hour of a worker: "
        + ", ".join(f"{e:.2f} ({s} sources, {d} slots late)" for (s, d), e in cells.items()),
        shape=all_of(at_most(e, 1.0, f"{s} sources, {d} slots late") for (s, d), e in cells.items()),
        value=never(int((runs.frame["lost"] != 0).sum()), len(runs), "runs that lost messages"),
        note=f"Over the whole second half no worker is above {runs.frame['average'].max():.2f} of its capacity. Maps of "
        f"different sources end up to {int(runs.frame['apart'].max())} virtual workers apart.",
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
def _judge_aggregate(runs: Runs) -> Finding:
    frame = runs.frame
    wrong = int((~(frame["equal"].astype(bool) & frame["same_classifier"].astype(bool))).sum())
    return finding(
        f"different in {wrong} of {len(runs)} runs, with {int(frame['moves'].min())} or more moves each",
        value=never(wrong, len(runs)),
        note="A naive Bayes classifier over routed feature counts, the paper's running example: every weight is the "
        "unsplit one's, bit for bit.",
    )
