"""Our own claims on POSG: what the same budget of control messages can do, and when content pays (OWN-POSG-*)."""

from __future__ import annotations

from typing import Any

from ..claim import Claim, Experiment, Verdict
from ..figures import COLOURS, PAPER, new_figure
from ._posg_runs import LETTER, draw, mean_and_error

LENGTH, FRESH = 150_000, 5_000_000  # seeds from FRESH on were never looked at while the variant was chosen
EXPONENTS = (0.0, 0.5, 1.0, 1.5, 2.0)
ECONOMICAL: dict[str, Any] = {
    "tolerance": 0.2, "resend": "changed", "synchronise": "staggered", "idle": "clamp", "ties": "least_recent", "resync": 8192,
}  # fmt: skip
# One change at a time, from the variant towards the printed protocol.
VARIANTS: dict[str, dict[str, Any]] = {
    "printed": LETTER,
    "reading": {},
    "economical": ECONOMICAL,
    "no idle time": ECONOMICAL | {"idle": "ignore", "ties": "first"},
    "barrier": ECONOMICAL | {"synchronise": "barrier"},
    "always sent": ECONOMICAL | {"resend": "always"},
    "printed tolerance": ECONOMICAL | {"tolerance": 0.05},
}


def _variant(exponent: float, over: float, variant: str, seed: int) -> dict[str, Any]:
    from streamlb import simulate_operator

    keys, costs = draw(exponent, FRESH + seed, LENGTH)
    plain = simulate_operator(keys, costs, 5, "round_robin", over).mean
    if variant.startswith("feedback"):
        result = simulate_operator(keys, costs, 5, "feedback", over, every=int(variant.split()[1]))
        return {"gain": plain / result.mean, "messages": result.messages["reports"], "bytes": 0}
    result = simulate_operator(keys, costs, 5, "posg", over, seed, **VARIANTS[variant])
    counted = result.messages
    replies = counted["replies"] + counted["ignored"]
    return {"gain": plain / result.mean, "messages": counted["matrices"] + replies, "bytes": counted["bytes"]}


BUDGET = Experiment(
    "posg_budget",
    lambda profile: [
        {"exponent": z, "over": over, "variant": v, "seed": s}
        for z in EXPONENTS
        for over in (1.0, 1.05)
        for v in (*VARIANTS, "feedback 1600")
        for s in range(12 if profile == "quick" else 100)
    ],
    _variant,
    lambda row: 4.0,
)


def _table(runs):
    return runs.groupby(["exponent", "over", "variant"])[["gain", "messages", "bytes"]].mean().unstack("variant")


def _judge_budget(runs, profile) -> Verdict:
    table = _table(runs)
    messages, size = table["messages"], table["bytes"]
    within = (messages["economical"] <= messages["printed"]) & (size["economical"] <= size["printed"])
    paired = runs.pivot_table(index=["exponent", "over", "seed"], columns="variant", values="gain")
    ratio = (paired["economical"] / paired["printed"]).groupby(["exponent", "over"])
    better = ratio.mean() - 2 * ratio.sem() > 1
    gain, mean = table["gain"].mean(), {name: (messages[name].mean(), size[name].mean() / 1000) for name in VARIANTS}
    undone = ", ".join(f"{name} {gain[name]:.2f}" for name in list(VARIANTS)[3:])
    (few, small), (many, large) = mean["economical"], mean["printed"]
    return Verdict.when(
        bool(within.all() and better.all()),
        f"faster than printed POSG by {ratio.mean().min():.2f} to {ratio.mean().max():.2f} with {few:.0f} messages against {many:.0f} "
        f"and {small:.0f} kB against {large:.0f}",
        f"Within both budgets in {int(within.sum())} of {len(within)} cells (skew × load), better by two standard errors in "
        f"{int(better.sum())}. Mean S_L over round robin: printed {gain['printed']:.2f}, our reading {gain['reading']:.2f}, economical "
        f"{gain['economical']:.2f}; with one thing undone at a time: {undone}.",
    )


def _judge_content(runs, profile) -> Verdict:
    part = runs[runs["over"] == 1.0]
    gain = part.pivot_table(index="exponent", columns="variant", values="gain")
    number = part.pivot_table(index="exponent", columns="variant", values="messages")
    ahead = gain["economical"] > gain["feedback 1600"]
    pays = all(ahead[z] for z in EXPONENTS if z >= 1.5)
    shown = ", ".join(f"{z:g}: {gain['economical'][z]:.2f} and {gain['feedback 1600'][z]:.2f}" for z in EXPONENTS)
    return Verdict.when(
        pays,
        f"S_L of the economical variant and of plain feedback by exponent: {shown}",
        f"At 100% provisioning with {number['economical'].mean():.0f} and {number['feedback 1600'].mean():.0f} messages a stream. On "
        "streams of little skew most keys share their cells, so the sketch knows little more than the mean, and counting outstanding "
        "tuples does as well without matrices.",
    )


def _figure_budget(runs, profile):
    figure, axes = new_figure(
        "The same budget, other protocols",
        "Zipf exponent (0: uniform)",
        "speed-up over round robin, S_L",
        size=(7.2, 4.0),
    )
    part = runs[runs["over"] == 1.0]
    for colour, name in zip(COLOURS, ("economical", "printed", "reading", "feedback 1600")):
        group = part[part["variant"] == name].groupby("exponent")
        count = group["messages"].mean().mean()
        style = {"color": PAPER} if name == "printed" else {"color": colour}
        label = f"{name}: {count:.0f} messages"
        axes.errorbar(
            group["gain"].mean().index,
            group["gain"].mean(),
            group["gain"].sem(),
            marker="o",
            ms=3,
            capsize=2,
            label=label,
            **style,
        )
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _judge_letter(runs, profile) -> Verdict:
    paired = runs.pivot_table(index=["exponent", "over", "seed"], columns="variant", values="gain")
    ratio = paired["reading"] / paired["printed"]
    loses = (paired["printed"] < 1).groupby("over").mean()
    return Verdict.when(
        ratio.mean() - 2 * ratio.sem() > 1,
        f"our reading over the letter: {mean_and_error(ratio)}",
        f"The letter is slower than round robin in {loses.get(1.0, 0):.0%} of the streams at 100% and in {loses.get(1.05, 0):.0%} at 105%: "
        "a sum of execution times does not see that an instance idled.",
    )


def _claim(id, statement, claimed, criterion, judge, figure=None) -> Claim:
    setup = f"{LENGTH:,} tuples, five instances, seeds that were not used to choose the variant."
    return Claim(id, "OWN", "b", "POSG", statement, claimed, criterion, BUDGET, judge, figure, setup)


CLAIMS = [
    _claim("OWN-POSG-1", "Matrices sent only when changed, idle-aware clocks and instances asked one by one beat printed POSG with no "
           "more messages and no more bytes.", "faster in every cell", "messages and bytes at most the printed ones, and faster by two "
           "standard errors, for every skew and load", _judge_budget, _figure_budget),
    _claim("OWN-POSG-2", "With about as many messages, the sketch beats plain feedback once the stream is skewed.", "from Zipf-1.5 up",
           "higher mean S_L for every exponent from 1.5 up", _judge_content),
    _claim("OWN-POSG-3", "The settled points (wall clock, resynchronisation, non-empty cells, mean for unseen items) beat the letter.",
           "faster", "mean ratio above 1 by two standard errors", _judge_letter),
]  # fmt: skip
EXPERIMENTS = [BUDGET]
