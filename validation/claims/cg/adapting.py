"""How CG settles and adapts: numbers of virtual workers, and workers that change.

Nasir et al. 2017, section VI-B, figures 10 and 11.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from streamlb.analysis import granularity

from ...claim import Claim, Experiment, claims_into
from ...figures import COLOURS
from ...judging import Finding, Runs, Sample, all_of, at_most, between, finding, greater, less, mean
from .capacity import (
    READ,
    SEEDS,
    SIMULATED,
    WORKERS,
    column_of,
    of_scheme,
    scheme_label,
    series_figure,
    simulate,
    simulated,
    summary,
    with_controls,
)
from .readings import CONTROLS, MINUTE, consistent, grouping_of, of_first_seed, option, times

VIRTUAL = (5, 10, 20, 50, 100, 1000)
PHASES = ((3, 5), (5, 4), (2, 10))  # y of the workers are z times faster
CHANGES = (6 / 22, 12 / 22)  # after these shares of all messages
CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="CG", kind="c", setup=SIMULATED)


def _logged(sample: Sample) -> Sample:
    """Return the logarithm of a queue plus one message, or of a latency plus a minute."""
    return sample.map(np.log1p)


def _grid_virtual(profile):
    return [{"virtual": v, "control": control, "profile": profile} for control in CONTROLS for v in VIRTUAL]


def _virtual(virtual: int, control: str, profile: str, seed: int) -> dict[str, Any]:
    from streamlb import fast_and_slow

    return simulated("CG", control, profile, seed, fast_and_slow(WORKERS, 3, 5), virtual)


MANY = Experiment("cg_virtual", _grid_virtual, _virtual, cost=lambda row: 100 + row["virtual"], seeds=SEEDS)
SHOWN = {"queue": "queues", "latency": "latencies", "spread": "utilisations"}  # figure 10's panels


def _figure_virtual(runs, profile):
    own = of_first_seed(runs[runs["control"] == "printed"])
    return series_figure(
        own,
        "Virtual workers for each worker, {y=3, z=5}",
        lambda run, i: (f"{run['virtual']}", COLOURS[i % len(COLOURS)]),
    )


def _by_virtual(runs: Runs, name: str) -> dict[int, Sample]:
    """Return a mean difference by the number of virtual workers; queues as logarithms."""
    own = runs.where(control=option(runs.reading, "control"))
    samples = {v: part[column_of(runs, f"mean_{name}")] for v, part in own.by("virtual")}
    return samples if name == "spread" else {v: _logged(sample) for v, sample in samples.items()}


def _short_day(runs: Runs) -> str:
    """Return what the second half of a short day cannot show."""
    if runs.profile != "quick":
        return ""
    return (
        " Four hours are too short for the queues of the start-up to drain with 20 virtual workers and more: without "
        "the start-up these numbers mean something in the paper profile only."
    )


def _means_text(runs: Runs, name: str) -> str:
    own = runs.where(control=option(runs.reading, "control"))
    spec = ".3f" if name == "spread" else ",.2f" if name == "latency" else ",.0f"
    return f"mean difference of {SHOWN[name]}: " + ", ".join(
        f"{mean(part[column_of(runs, f'mean_{name}')]).point:{spec}} ({v})" for v, part in own.by("virtual")
    )


@claim(
    "CG-F10",
    where="Fig. 10",
    statement="3 of 10 workers 5 times faster, with 5, 10, 20, 50, 100 or 1,000 virtual workers each: 100 give the best results.",
    claimed="100 best",
    criterion=(
        "shape: with 100 the mean differences of queue (as logarithm), latency and utilisation are all below those with "
        "each other number"
    ),
    amended="One claim for the four statements of figure 10, of our pairing and by queues alone, the cold start "
    "included: now CG-F10 and CG-F10a to c, and without the start-up as a reading.",
    experiment=MANY,
    readings=READ,
    figure=_figure_virtual,
)
def _judge_best(runs: Runs) -> Finding:
    series = {name: _by_virtual(runs, name) for name in SHOWN}
    fits = [v for v in VIRTUAL if granularity([5] * 3 + [1] * 7, v).feasible]
    return finding(
        "; ".join(_means_text(runs, name) for name in ("queue", "spread")),
        shape=all_of(
            less(own[100], own[v], f"{name} of 100 below {v}")
            for name, own in series.items()
            for v in VIRTUAL
            if v != 100
        ),
        note="A signal moves one virtual worker, so that the time to settle grows with their number: fewer are faster. "
        "What fewer cannot do is come to rest: whole numbers within [.75, .85] exist for "
        f"{', '.join(map(str, fits))} of these.{_short_day(runs)}",
    )


@claim(
    "CG-F10a",
    where="Fig. 10",
    statement="3 of 10 workers 5 times faster: 5 virtual workers each do not give the desired results.",
    claimed="5 bad",
    criterion="shape: with 5 the mean differences of queue and of utilisation are above those with 10, 20, 50 and 100",
    experiment=MANY,
    readings=READ,
    figure=_figure_virtual,
)
def _judge_five(runs: Runs) -> Finding:
    series = {name: _by_virtual(runs, name) for name in ("queue", "spread")}
    return finding(
        "; ".join(_means_text(runs, name) for name in series),
        shape=all_of(
            greater(own[5], own[v], f"{name} of 5 above {v}") for name, own in series.items() for v in (10, 20, 50, 100)
        ),
        note=_short_day(runs).strip(),
    )


@claim(
    "CG-F10b",
    where="Fig. 10",
    statement="3 of 10 workers 5 times faster: 10 and 20 virtual workers each perform alike.",
    claimed="10 like 20",
    criterion="value: the mean differences of queue and of utilisation with 10 are within a factor 2 of those with 20",
    experiment=MANY,
    readings=READ,
    figure=_figure_virtual,
)
def _judge_ten_twenty(runs: Runs) -> Finding:
    own = runs.where(control=option(runs.reading, "control"))
    ratios = {}
    for name in ("queue", "spread"):
        ten, twenty = (own.where(virtual=v)[column_of(runs, f"mean_{name}")] for v in (10, 20))
        ratios[name] = times(ten, twenty)
    return finding(
        "10 over 20: " + ", ".join(f"{e:.2f} ({SHOWN[name]})" for name, e in ratios.items()),
        value=all_of(between(e, 0.5, 2.0, f"{name} of 10 over 20") for name, e in ratios.items()),
        note=_short_day(runs).strip(),
    )


@claim(
    "CG-F10c",
    where="Fig. 10",
    statement="3 of 10 workers 5 times faster: with 1,000 virtual workers each the system takes longer to converge.",
    claimed="1,000 slow",
    criterion=(
        "shape: the minute from which on no worker is above its capacity, over half an hour, is later with 1,000 than "
        "with 10, 20, 50 and 100"
    ),
    experiment=MANY,
    readings=("printed", "lru", "long", "queue"),
    figure=_figure_virtual,
)
def _judge_thousand(runs: Runs) -> Finding:
    own = runs.where(control=option(runs.reading, "control"))
    settled = {v: part["settled"] for v, part in own.by("virtual")}
    return finding(
        "settled after " + ", ".join(f"{mean(s).point:,.0f} ({v})" for v, s in settled.items()) + " minutes",
        shape=all_of(greater(settled[1000], settled[v], f"later than {v}") for v in (10, 20, 50, 100)),
    )


def _changing(scheme: str, control: str | None, messages: int, seed: int) -> dict[str, Any]:
    """Simulate the whole day: four hours are too short for the phases."""
    from streamlb import fast_and_slow, wikipedia

    if scheme == "CG":
        assert control is not None
        grouping = consistent(WORKERS, 100, control, seed=seed)
    else:
        grouping = grouping_of(scheme, WORKERS, seed=seed)
    first, *later = [fast_and_slow(WORKERS, y, z) for y, z in PHASES]
    changes = [(int(share * messages), capacities) for share, capacities in zip(CHANGES, later)]
    result = simulate(wikipedia(0.25), messages, grouping, first, seed, control, changes=changes)
    slots = result.queue.shape[0]
    ends = [int(share * slots) - 1 for share in CHANGES] + [slots - 1]
    minutes = CONTROLS.get(control or "", {}).get("minutes", 1)
    return {
        **summary(result, minutes),
        **{f"end_{i}": float(result.queue[slot].max()) for i, slot in enumerate(ends, 1)},
    }


CHANGING = Experiment(
    "cg_changing",
    lambda profile: [
        {"scheme": row["scheme"], "control": row["control"], "messages": round(1440 * MINUTE)}
        for row in with_controls(profile, "KG", "SG")
    ],
    _changing,
    seeds=SEEDS,
)


def _figure_changing(runs, profile):
    return series_figure(
        of_first_seed(runs), "Capacities change twice: {3,5}, {5,4}, {2,10}", scheme_label, marks=CHANGES
    )


@claim(
    "CG-F11",
    where="Fig. 11",
    statement=(
        "Capacities change from {3,5} to {5,4} after 6M of 22M messages and to {2,10} after 12M; 100 virtual "
        "workers: CG adapts very efficiently."
    ),
    claimed="adapts very efficiently",
    criterion="shape: CG's longest queue is back below 1% of SG's at the end of each of the three phases",
    amended="CG was our pairing; one seed.",
    setup=SIMULATED + " Here it is the whole day in both profiles: four hours are too short for the phases.",
    experiment=CHANGING,
    readings=("printed", "lru", "long", "queue"),
    figure=_figure_changing,
)
def _judge_changing(runs: Runs) -> Finding:
    cg, sg = of_scheme(runs, "CG"), of_scheme(runs, "SG")
    parts = {i: times(cg[f"end_{i}"], sg[f"end_{i}"]) for i in (1, 2, 3)}
    return finding(
        "longest queue at the end of each phase over SG's: " + ", ".join(f"{e:.2%}" for e in parts.values()),
        shape=all_of(at_most(e, 0.01, f"end of phase {i}") for i, e in parts.items()),
        note=f"Greatest difference of queues on the way: CG {mean(cg['max_queue']).point:,.0f}, SG "
        f"{mean(sg['max_queue']).point:,.0f}, KG {mean(of_scheme(runs, 'KG')['max_queue']).point:,.0f}. A worker moves one "
        "virtual worker in a slot, so each change takes hours; proportional signals do it in minutes (OWN-CG-PROP).",
    )
