"""POSG as a stream unfolds, and on the paper's prototype, which is simulated with a network.

The claims are those of figures 10 and 11 of Rivetti et al. 2015 (sections V-B and V-C).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import COLOURS, PAPER, new_figure
from ...judging import (
    Aspect,
    Finding,
    Runs,
    all_of,
    any_of,
    at_most,
    close_to,
    finding,
    greater,
    less,
    mean,
    median,
    printed,
    share_of,
)
from .plots import legend_beside
from .readings import (
    INSTANCES,
    ITEMS,
    NAMES,
    PROTOTYPE_SETUP,
    READINGS,
    STARTING,
    TIME_OUT,
    WINDOW,
    draw,
    logs,
)

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="POSG", kind="b", readings=STARTING)

LENGTH, CHANGE, BLOCK, CYCLE = 150_000, 75_000, 2_000, 2 * WINDOW * INSTANCES
# By what each instance multiplies execution times, before the change and after it.
BEFORE, AFTER = (1.05, 1.025, 1.0, 0.975, 0.95), (0.90, 0.95, 1.0, 1.05, 1.10)
PARTS = {"before": (20_000, 75_000), "during": (75_000, 85_000), "after": (95_000, 150_000)}
LEAVES = {"figure 10": "10,690", "figure 11": "20,978"}
UPDATED = {"figure 10": "84,912", "figure 11": "82,311"}
TIMED_OUT = "1,600"


def _change(reading: str, seed: int, over: float = 1.0, network: float = 0.0) -> dict[str, Any]:
    """Run one stream through the change of speeds.

    The result has when greedy scheduling begins (in WAIT_ALL) and when POSG runs, when the matrices
    learnt since the change have come, the mean completion time and the mean standard deviation
    within a block, in the blocks after POSG left round robin and before the change (`left`, all
    blocks if it never left), and the mean completion time of each block.
    """
    from streamlb import simulate_operator

    keys, costs = draw(1.0, seed, LENGTH)
    set_up: dict[str, Any] = {
        "speeds": BEFORE, "changes": [(CHANGE, AFTER)], "deadline": TIME_OUT, "latency": network,
        "control_latency": network, "overprovisioning": over, "keep": True,
    }  # fmt: skip
    options = READINGS[reading].options
    results = {
        "posg": simulate_operator(keys, costs, INSTANCES, "posg", seed=seed, **set_up, **options),
        "rr": simulate_operator(keys, costs, INSTANCES, "round_robin", **set_up),
        "fk": simulate_operator(keys, costs, INSTANCES, "full_knowledge", **set_up),
    }
    posg = results["posg"]
    greedy = next((t for t, phase in posg.phases if phase == "WAIT_ALL"), LENGTH)
    fresh: dict[int, int] = {}
    for t, instance in posg.received:
        if t >= CHANGE:
            fresh.setdefault(instance, t)
    stays = {name: result.completion.reshape(-1, BLOCK) for name, result in results.items()}
    left = slice(-(-greedy // BLOCK) if greedy < CHANGE - BLOCK else 0, CHANGE // BLOCK)
    out: dict[str, Any] = {
        "leaves": greedy,
        "runs": posg.first_run if posg.first_run is not None else LENGTH,
        "updated": max(fresh.values()) if len(fresh) == INSTANCES else LENGTH,
        "late": results["rr"].late,
        "late_posg": posg.late,
    }
    for name, blocks in stays.items():
        for part, (low, high) in PARTS.items():
            out[f"{name}_{part}"] = float(blocks[low // BLOCK : high // BLOCK].mean())
        out[f"{name}_left"] = float(blocks[left].mean())
        out[f"{name}_spread"] = float(blocks[left].std(axis=1).mean())
        out[f"{name}_series"] = [round(float(value), 1) for value in blocks.mean(axis=1)]
    return out


def _series_figure(title: str, figure_number: str):
    """Return the figure of completion times over the stream, with the marks of the paper."""

    def figure(runs, profile):
        drawn, axes = new_figure(
            title, "tuples read (thousands)", "mean completion time of 2,000 tuples (ms)", size=(7.2, 4.0)
        )
        x = np.arange(BLOCK, LENGTH + 1, BLOCK) / 1000
        first = runs[runs["seed"] == runs["seed"].min()]
        if "over" in first:
            first = first[(first["over"] == 1.0) & (first["network"] == first["network"].min())]
        for reading, colour in zip(STARTING, COLOURS):
            series = first[first["reading"] == reading].iloc[0]["posg_series"]
            axes.plot(x, series, lw=1.2, color=colour, label=NAMES[reading])
        axes.plot(x, first.iloc[0]["rr_series"], lw=1.2, color=COLOURS[5], label="round robin")
        axes.plot(x, first.iloc[0]["fk_series"], lw=1.0, color=COLOURS[6], label="full knowledge")
        for text, style in ((LEAVES[figure_number], "--"), (UPDATED[figure_number], ":")):
            axes.axvline(printed(text).number / 1000, color=PAPER, ls=style, lw=1.2, label=f"paper: {text}")
        axes.axvline(CHANGE / 1000, color="0.4", lw=0.8)
        axes.set_yscale("log")
        legend_beside(axes)
        return drawn

    return figure


def _improves(runs: Runs, label: str = "") -> Aspect:
    """Return the aspect that after POSG left round robin both mean and spread are below it."""
    return all_of(
        less(logs(runs, "posg_left"), logs(runs, "rr_left"), f"completion time {label}".strip()),
        less(logs(runs, "posg_spread"), logs(runs, "rr_spread"), f"standard deviation {label}".strip()),
    )


def _within_a_cycle(runs: Runs, label: str = "") -> Aspect:
    """Return the check that all instances have sent again a cycle after the change, mostly."""
    return at_most(median(runs["updated"]), CHANGE + CYCLE, f"tuple, at most a cycle after the change {label}".strip())


# --- figure 10: a change of the instances' speeds ------------------------------------------------

SERIES = Experiment(
    "posg_time_series",
    lambda profile: [{"reading": reading} for reading in STARTING],
    _change,
    seeds=Seeds(quick=(20, 60), paper=(100, 300)),
)


@claim(
    "POSG-F10a",
    where="figure 10",
    statement="POSG is round robin up to a tuple, from which on it schedules greedily and completes tuples sooner.",
    claimed="at tuple 10,690",
    criterion="shape: the mean completion time from there to the change is below round robin's; value: the median "
    "tuple at which greedy scheduling begins (the state WAIT_ALL) is 10,690 ± 2,138",
    amended="entry to RUN in (2Nk, 1.1 · 2Nk) for those runs that are stable at the first look; greedy scheduling "
    "begins before RUN, and the runs had been chosen by their result",
    experiment=SERIES,
)
def _judge_leaves(runs: Runs) -> Finding:
    leaves = median(runs["leaves"])
    never_left = int((runs.frame["leaves"] >= CHANGE).sum())
    return finding(
        f"leaves round robin at tuple {leaves:,.0f} (median) and runs from {median(runs['runs']).point:,.0f} on",
        shape=less(logs(runs, "posg_left"), logs(runs, "rr_left"), "completion time after round robin"),
        value=close_to(leaves, printed(LEAVES["figure 10"]), "tuple"),
        note=f"{never_left} of {len(runs)} runs were still in round robin at the change. The earliest tuple possible "
        f"is 2Nk = {CYCLE:,}.",
    )


@claim(
    "POSG-F10b",
    where="figure 10",
    statement="After the change of speeds at tuple 75,000 the scheduler receives updated matrices.",
    claimed="at tuple 84,912",
    criterion="shape: the median tuple before which all five instances have sent again is at most a cycle of 2Nk "
    "tuples after the change; value: it is 84,912 ± 1,982",
    amended="all k refreshed within one cycle in most runs; the printed number was not judged",
    experiment=SERIES,
)
def _judge_updated(runs: Runs) -> Finding:
    updated = median(runs["updated"])
    in_time = int((runs.frame["updated"] <= CHANGE + CYCLE).sum())
    return finding(
        f"all five instances have sent again by tuple {updated:,.0f} (median); within a cycle in {in_time} of "
        f"{len(runs)} runs",
        shape=_within_a_cycle(runs),
        value=close_to(updated, printed(UPDATED["figure 10"], neutral=CHANGE), "tuple"),
        note="A pair that was begun before the change mixes both speeds.",
    )


@claim(
    "POSG-F10c",
    where="figure 10",
    statement="Completion times degrade after the change, then recover.",
    claimed="shape",
    criterion="shape: POSG's mean completion time in 75,000 to 85,000 is above that in 20,000 to 75,000 and above that "
    "from 95,000 on",
    experiment=SERIES,
    figure=_series_figure("Figure 10: completion time as the stream unfolds", "figure 10"),
)
def _judge_recovers(runs: Runs) -> Finding:
    posg, plain = (", ".join(f"{runs[f'{who}_{part}'].values.mean():.0f}" for part in PARTS) for who in ("posg", "rr"))
    return finding(
        f"mean completion in ms before the change, in 75,000 to 85,000 and from 95,000 on: {posg}",
        shape=all_of(
            greater(logs(runs, "posg_during"), logs(runs, "posg_before"), "worse after the change"),
            less(logs(runs, "posg_after"), logs(runs, "posg_during"), "better again from 95,000"),
        ),
        note=f"Round robin in the same parts: {plain}. Its slow instances fall ever further behind.",
    )


@claim(
    "POSG-F10d",
    where="figure 10",
    statement="From where POSG leaves round robin, completion time and its variance are smaller.",
    claimed="shape",
    criterion="shape: from the first whole block of 2,000 tuples after it to the change, the mean and the standard "
    "deviation within a block are both below round robin's",
    experiment=SERIES,
)
def _judge_variance(runs: Runs) -> Finding:
    return finding(_variances(runs), shape=_improves(runs))


def _variances(runs: Runs) -> str:
    """Return the means and standard deviations of POSG and of round robin."""
    shown = {
        who: f"{runs[f'{who}_left'].values.mean():.0f} ± {runs[f'{who}_spread'].values.mean():.0f} ms"
        for who in ("posg", "rr")
    }
    return f"within blocks POSG has {shown['posg']} on average, round robin {shown['rr']}"


# --- figure 11: the same on the prototype --------------------------------------------------------

# What the text leaves open of the cluster: the load that its machines make of 100%, its network.
LOADS, NETWORKS = (0.98, 1.0, 1.02), (1.0, 10.0)
PROTOTYPE = Experiment(
    "posg_prototype",
    lambda profile: [
        {"reading": reading, "over": over, "network": network}
        for reading in STARTING
        for over in LOADS
        for network in NETWORKS
    ],
    _change,
    seeds=Seeds(quick=(20, 60), paper=(60, 200)),
)
prototype = claims_into(
    CLAIMS,
    paper="POSG",
    kind="c",
    where="figure 11",
    experiment=PROTOTYPE,
    readings=STARTING,
    setup=f"{ITEMS:,} items, Zipf-1, time-outs after 30 s. Open in the text, and run side by side: provisioning of "
    f"98, 100 and 102%, and 1 or 10 ms of network each way. {PROTOTYPE_SETUP}",
)


def _regimes(runs: Runs) -> dict[str, Runs]:
    """Return the runs by what the text leaves open."""
    return {f"{over:.0%}, {network:g} ms": part for (over, network), part in runs.by("over", "network")}


def _agreeing(regimes: dict[str, Runs]) -> str:
    """Return in which regimes which of the figure's numbers agree, by their estimates."""
    fits: dict[str, list[str]] = {}
    for name, part in regimes.items():
        checks = (_at_leaving(part), _at_updating(part), _at_time_outs(part))
        numbers = (LEAVES["figure 11"], UPDATED["figure 11"], TIMED_OUT)
        fits[name] = [n for n, check in zip(numbers, checks) if check.low <= check.estimate.point <= check.high]
    best = max(fits, key=lambda name: len(fits[name]))
    whole = [name for name, numbers in fits.items() if len(numbers) == 3]
    if whole:
        return f"All three numbers of the figure agree in {len(whole)} of {len(fits)} regimes: {'; '.join(whole)}."
    return (
        f"In none of {len(fits)} regimes all three numbers of the figure agree; most do at {best}: "
        f"{' and '.join(fits[best]) or 'none'}."
    )


def _at_leaving(part: Runs, name: str = "") -> Any:
    return close_to(median(part["leaves"]), printed(LEAVES["figure 11"]), f"tuple {name}".strip())


def _at_updating(part: Runs, name: str = "") -> Any:
    return close_to(median(part["updated"]), printed(UPDATED["figure 11"], neutral=CHANGE), f"tuple {name}".strip())


def _at_time_outs(part: Runs, name: str = "") -> Any:
    return close_to(part["late"], printed(TIMED_OUT), f"time-outs {name}".strip())


@prototype(
    "POSG-F11",
    statement="On the prototype POSG leaves round robin and completes tuples sooner.",
    claimed="at tuple 20,978",
    criterion="shape: the mean completion time from there to the change is below round robin's in most regimes; value: "
    "the median tuple at which greedy scheduling begins is 20,978 ± 4,196 in some regime",
    amended="entry to RUN within 10%, matrices within a cycle and some time-outs, all in one; greedy scheduling begins "
    "before RUN",
    figure=_series_figure("Figure 11: the prototype, simulated at 100% and with 1 ms of network", "figure 11"),
)
def _judge_prototype(runs: Runs) -> Finding:
    regimes = _regimes(runs)
    shown = "; ".join(f"{name} {median(part['leaves']).point:,.0f}" for name, part in regimes.items())
    return finding(
        f"leaves round robin at tuple (median by regime): {shown}",
        shape=share_of(
            0.51, (less(logs(part, "posg_left"), logs(part, "rr_left"), name) for name, part in regimes.items())
        ),
        value=any_of(_at_leaving(part, f"at {name}") for name, part in regimes.items()),
        note=_agreeing(regimes),
    )


@prototype(
    "POSG-F11-v",
    statement="After the change of speeds at tuple 75,000 the scheduler receives updated matrices.",
    claimed="at tuple 82,311",
    criterion="as in figure 10; shape: the median tuple before which all five instances have sent again is at most a "
    "cycle of 2Nk tuples after the change in most regimes; value: it is 82,311 ± 1,462 in some regime",
)
def _judge_prototype_updated(runs: Runs) -> Finding:
    regimes = _regimes(runs)
    shown = "; ".join(f"{name} {median(part['updated']).point:,.0f}" for name, part in regimes.items())
    return finding(
        f"all five instances have sent again by tuple (median by regime): {shown}",
        shape=share_of(0.51, (_within_a_cycle(part, f"at {name}") for name, part in regimes.items())),
        value=any_of(_at_updating(part, f"at {name}") for name, part in regimes.items()),
        note=_agreeing(regimes),
    )


@prototype(
    "POSG-F11-w",
    statement="With Storm's shuffle grouping tuples time out.",
    claimed="1,600 time-outs",
    criterion="shape: more tuples time out under round robin than under POSG in most regimes; value: on average "
    "1,600 ± 320 under round robin in some regime",
)
def _judge_time_outs(runs: Runs) -> Finding:
    regimes = _regimes(runs)
    shown = "; ".join(
        f"{name} {mean(part['late']):,.0f} and {part['late_posg'].values.mean():,.0f}" for name, part in regimes.items()
    )
    return finding(
        f"time-outs of round robin and of POSG by regime: {shown}",
        shape=share_of(0.51, (greater(part["late"], part["late_posg"], name) for name, part in regimes.items())),
        value=any_of(_at_time_outs(part, f"at {name}") for name, part in regimes.items()),
        note="Round robin gives each instance as many tuples, so that the slow ones fall behind without end and their "
        "tuples time out. " + _agreeing(regimes),
    )


@prototype(
    "POSG-F11d",
    statement="From where POSG leaves round robin, completion time and its variance are smaller on the prototype too.",
    claimed="shape",
    criterion="shape: mean and standard deviation within blocks of 2,000 tuples are both below round robin's from there "
    "to the change, in most regimes",
)
def _judge_prototype_variance(runs: Runs) -> Finding:
    regimes = _regimes(runs)
    return finding(_variances(runs), shape=share_of(0.51, (_improves(part, name) for name, part in regimes.items())))
