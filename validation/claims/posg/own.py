"""Our own claims on POSG: what the same budget of messages can do, and when content pays."""

from __future__ import annotations

from typing import Any

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import COLOURS, PAPER, new_figure
from ...judging import Finding, Runs, all_of, at_most, finding, greater, mean
from .plots import legend_beside, mean_line
from .readings import INSTANCES, PRINTED, draw, logs

# Seeds from FRESH on were never looked at while the variant was chosen.
LENGTH, FRESH = 150_000, 7_000_000
EXPONENTS = (0.0, 0.5, 1.0, 1.5, 2.0)
LOADS = (1.0, 1.05)
ECONOMICAL: dict[str, Any] = {
    "tolerance": 0.2, "resend": "changed", "synchronise": "staggered", "idle": "clamp", "ties": "least_recent",
    "resync": 8192,
}  # fmt: skip
# What the economical variant has to beat is the printed protocol at any of these settings.
PRINTED_SETTINGS = {
    f"printed_{window}_{tolerance:g}": PRINTED | {"window": window, "tolerance": tolerance}
    for window in (512, 1024, 2048)
    for tolerance in (0.05, 0.1, 0.2)
}
AS_PRINTED = "printed_1024_0.05"
# One change at a time, from the economical variant towards the printed protocol.
UNDONE = {
    "no idle time": ECONOMICAL | {"idle": "ignore", "ties": "first"},
    "barrier": ECONOMICAL | {"synchronise": "barrier"},
    "always sent": ECONOMICAL | {"resend": "always"},
    "printed tolerance": ECONOMICAL | {"tolerance": 0.05},
}
VARIANTS: dict[str, dict[str, Any]] = {**PRINTED_SETTINGS, "reading": {}, "economical": ECONOMICAL, **UNDONE}

CLAIMS: list[Claim] = []
claim = claims_into(
    CLAIMS,
    paper="OWN",
    kind="b",
    where="POSG",
    setup=f"{LENGTH:,} tuples, five instances, seeds that were not used to choose the variant.",
)


def _variants(exponent: float, over: float, seed: int) -> dict[str, Any]:
    """Return the mean completion time of each variant on one stream, its messages and bytes.

    Feedback reports as often as it can with no more messages than the economical variant has sent.
    """
    from streamlb import simulate_operator

    keys, costs = draw(exponent, seed, LENGTH)
    out: dict[str, Any] = {"round_robin": simulate_operator(keys, costs, INSTANCES, "round_robin", over).mean}
    for name, options in VARIANTS.items():
        result = simulate_operator(keys, costs, INSTANCES, "posg", over, seed, **options)
        counted, out[name] = result.messages, result.mean
        out[f"{name} messages"] = sum(
            counted[kind] for kind in ("matrices", "replies", "ignored", "matrices_under_way", "replies_under_way")
        )
        out[f"{name} bytes"] = counted["bytes"]
    every = -(-LENGTH // max(1, out["economical messages"]))
    fed = simulate_operator(keys, costs, INSTANCES, "feedback", over, every=every)
    return {**out, "feedback": fed.mean, "feedback messages": fed.messages["reports"]}


BUDGET = Experiment(
    "posg_budget",
    lambda profile: [{"exponent": z, "over": over} for z in EXPONENTS for over in LOADS],
    _variants,
    seeds=Seeds(quick=(12, 36), paper=(100, 200), start=FRESH),
)


def _faster(a: str, b: str, runs: Runs, label: str = "") -> Any:
    """Return the check that variant `a` is faster than `b`, by the mean logarithm of times."""
    return greater(logs(runs, b), logs(runs, a), label)


def _cells(runs: Runs) -> dict[str, Runs]:
    return {f"exponent {z:g}, {over:.0%}": part for (z, over), part in runs.by("exponent", "over")}


def _times_faster(runs: Runs, a: str, b: str) -> Any:
    """Return how many times `a` is faster than `b`, for each seed."""
    return runs.sample(runs.frame[b] / runs.frame[a])


def _figure_budget(runs, profile):
    figure, axes = new_figure(
        "The same budget, other protocols (100%)",
        "Zipf exponent (0: uniform)",
        "speed-up over round robin, S_L",
        size=(7.2, 4.0),
    )
    part = runs[runs["over"] == 1.0]
    titles = {"economical": "economical", AS_PRINTED: "as printed", "reading": "our reading", "feedback": "feedback"}
    for colour, (name, title) in zip(COLOURS, titles.items()):
        gains = (part["round_robin"] / part[name]).groupby(part["exponent"])
        label = f"{title}: {part[f'{name} messages'].mean():.0f} messages"
        mean_line(axes, gains, color=PAPER if name == AS_PRINTED else colour, label=label)
    legend_beside(axes)
    return figure


@claim(
    "OWN-POSG-1",
    statement="Matrices sent only when changed, idle-aware clocks and instances asked one by one beat POSG to the "
    "letter at its best setting, with no more messages and no more bytes than at the printed one.",
    claimed="faster in every cell",
    criterion="shape: for every skew and load faster than POSG to the letter at each of nine settings (N of 512, 1,024 "
    "and 2,048; μ of .05, .1 and .2), whatever these send; value: messages and bytes at most those of the printed "
    "setting, for every skew and load",
    amended="faster than the printed setting alone, by two standard errors",
    experiment=BUDGET,
    figure=_figure_budget,
)
def _judge_budget(runs: Runs) -> Finding:
    cells = _cells(runs)
    best = {
        name: max(PRINTED_SETTINGS, key=lambda setting: (logs(part, "round_robin") - logs(part, setting)).values.mean())
        for name, part in cells.items()
    }
    over_best = {name: _times_faster(part, "economical", best[name]).values.mean() for name, part in cells.items()}
    least, most = min(over_best, key=over_best.__getitem__), max(over_best, key=over_best.__getitem__)
    sent = {
        kind: (mean(runs[f"economical {kind}"]), mean(runs[f"{AS_PRINTED} {kind}"])) for kind in ("messages", "bytes")
    }
    undone = ", ".join(f"{name} {_times_faster(runs, name, 'round_robin').values.mean():.2f}" for name in UNDONE)
    return finding(
        f"faster than the best of nine settings by {over_best[least]:.2f} ({least}) to {over_best[most]:.2f} ({most}); "
        f"messages {sent['messages'][0]:.0f} against {sent['messages'][1]:.0f}, bytes {sent['bytes'][0]:,.0f} against "
        f"{sent['bytes'][1]:,.0f}",
        shape=all_of(
            _faster("economical", setting, part, f"than {setting.replace('_', ' ')} at {name}")
            for name, part in cells.items()
            for setting in PRINTED_SETTINGS
        ),
        value=all_of(
            at_most(part[f"economical {kind}"] - part[f"{AS_PRINTED} {kind}"], 0.0, f"{kind} more at {name}")
            for name, part in cells.items()
            for kind in ("messages", "bytes")
        ),
        note=f"Mean S_L over round robin {_times_faster(runs, 'economical', 'round_robin').values.mean():.2f}; with one "
        f"thing undone at a time: {undone}.",
    )


@claim(
    "OWN-POSG-2",
    statement="With as many messages, the sketch beats feedback of clocks once the stream is skewed.",
    claimed="from Zipf-1.5 up",
    criterion="shape: at 100 and 105%, for each exponent from 1.5 up, the economical variant is faster than feedback "
    "that reports as often as its number of messages allows",
    amended="higher mean S_L at 100% than feedback every 1,600 completions, which did not know who idles",
    experiment=BUDGET,
)
def _judge_content(runs: Runs) -> Finding:
    skewed = _cells(runs.where(runs.frame["exponent"] >= 1.5))
    shown = "; ".join(
        f"{name} {_times_faster(part, 'economical', 'round_robin').values.mean():.2f} and "
        f"{_times_faster(part, 'feedback', 'round_robin').values.mean():.2f}"
        for name, part in _cells(runs).items()
    )
    return finding(
        f"S_L of the economical variant and of feedback: {shown}",
        shape=all_of(_faster("economical", "feedback", part, name) for name, part in skewed.items()),
        note=f"{runs['economical messages'].values.mean():.0f} and {runs['feedback messages'].values.mean():.0f} "
        "messages on average; those of feedback are a few bytes each. On streams of little skew most keys share their "
        "cells, so that the sketch knows little more than the mean.",
    )


@claim(
    "OWN-POSG-3",
    statement="The settled points (wall clock, resynchronisation, non-empty cells, mean for unseen items) beat the "
    "algorithm to the letter.",
    claimed="faster",
    criterion="shape: faster than the printed setting to the letter at 100 and at 105%, over all skews",
    amended="mean ratio above 1 by two standard errors over both loads together",
    experiment=BUDGET,
)
def _judge_settled(runs: Runs) -> Finding:
    loads = dict(runs.by("over"))
    shown = ", ".join(
        f"{mean(_times_faster(part, 'reading', AS_PRINTED)):.2f} at {over:.0%}" for over, part in loads.items()
    )
    loses = ", ".join(
        f"{(part.frame[AS_PRINTED] > part.frame['round_robin']).mean():.0%} of the streams at {over:.0%}"
        for over, part in loads.items()
    )
    return finding(
        f"our reading is faster than the letter by {shown}",
        shape=all_of(_faster("reading", AS_PRINTED, part, f"{over:.0%}") for over, part in loads.items()),
        note=f"To the letter it is slower than round robin in {loses}: a sum of execution times does not see that an "
        "instance idled.",
    )
