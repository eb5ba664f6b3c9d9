"""Load-aware shedding on tweets, with a stand-in for the data (Rivetti et al. 2016, figure 7)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import COLOURS, PAPER, new_figure
from ...judging import Runs, all_of, at_least, at_most, between, finding, greater, mean, printed, ratio
from .mentions import TWEETS, draw
from .readings import (
    BASE_LINE,
    EPSILON,
    KNOWLEDGE,
    LAS,
    OF_TWEETS,
    READINGS,
    REPORTS,
    STRAW_MAN,
    papers_shedders,
    read,
)

SETUP = (
    "A stand-in for the tweets: 500,000 that mention about 35,000 entities, of which the first has 6.5% of the "
    "mentions; an entity costs 25, 5 or 1 ms, a tweet the sum, in 110 values from 1 to 152 ms, 36% at 1 ms, mean 9.7 "
    "ms. The key is the first entity of a tweet, unless the reading says otherwise. It tests order and shape, not "
    "values. LAS starts from NOP, and the waits are those of a queue: what the paper's cluster adds is not in them."
)
CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="LAS", kind="c", where="figure 7", setup=SETUP, readings=OF_TWEETS)

THRESHOLD, DOTS = 32.0, 50
CONTROLS: dict[str, tuple[str, dict[str, Any]]] = {
    "Straw-Man + factor": ("straw_man", {"safety": EPSILON}),
    "LAS + reports": ("load_aware", {"reports": REPORTS}),
}


# What figure 7 has a line for.
LINES = {
    **{f"default: {name}": name for name in (LAS, STRAW_MAN, KNOWLEDGE)},
    **{name: name for name in CONTROLS},
    **{f"{reading}: {LAS}": f"{LAS}, key: {reading}" for reading in ("field", "profile")},
}


def _tweets(tweets: int, seed: int) -> dict[str, Any]:
    """Run the shedders on the stand-in for the tweets, at exactly the operator's capacity.

    Under every reading: a column is named by reading, shedder and what it holds; a control has no
    reading.
    """
    from streamlb import simulate_shedding

    came = draw(tweets, seed)
    keys = {"entity": came.entity, "field": came.field, "profile": came.costs.astype(np.uint64)}
    out: dict[str, Any] = {
        "values": int(np.unique(came.costs).size),
        "most": float(came.costs.max()),
        "mean_cost": float(came.costs.mean()),
        "at_1_ms": float((came.costs == 1).mean()),
        "top": float(np.unique(came.entity, return_counts=True)[1].max() / tweets),
    }
    shedders: dict[str, tuple[str, dict[str, Any], str]] = {
        f"{reading}: {name}": (*shedder, READINGS[reading].options.get("key", "entity"))
        for reading in OF_TWEETS
        for name, shedder in papers_shedders(reading).items()
        if name != BASE_LINE
    }
    shedders |= {name: (*shedder, "entity") for name, shedder in CONTROLS.items()}
    known: dict[str, Any] = {}
    for name, (policy, options, key) in shedders.items():
        # The others do not look at keys.
        run = f"{policy} {options} {key if policy == 'load_aware' else ''}"
        if run not in known:
            result = simulate_shedding(keys[key], came.costs, policy, THRESHOLD, 0.0, seed, **options)
            series = np.nan_to_num(result.windows(tweets // DOTS)["completion"]).tolist()
            known[run] = result.average_completion, result.dropped_ratio, series
        out[f"{name}: completion"], out[f"{name}: drop"], series = known[run]
        if name in LINES:
            out[f"{name}: series"] = series
    return out


RUNS = Experiment(
    "las_tweets",
    lambda profile: [{"tweets": TWEETS}],
    _tweets,
    seeds=Seeds(quick=(12, 90), paper=(40, 200)),
)


def _figure_tweets(frame, profile):
    figure, axes = new_figure(
        "Completion latency on the stand-in for tweets (figure 7)",
        "tuple",
        "average completion latency (ms)",
        size=(7.2, 4.2),
    )
    for number, (name, label) in enumerate(LINES.items()):
        series = np.array(frame[f"{name}: series"].tolist()).mean(axis=0)
        at = (np.arange(series.size) + 1) * int(frame["tweets"].iloc[0]) // series.size
        axes.plot(at, series, "-", color=COLOURS[number], label=label)
    axes.axhline(THRESHOLD + 9.7, color=PAPER, ls="--", label="τ + mean cost")
    axes.set_yscale("log")
    axes.legend(fontsize=8, loc="center right")
    return figure


def _stream(runs: Runs) -> str:
    frame = runs.frame
    return (
        f"Streams: {frame['values'].mean():.0f} cost values up to {frame['most'].max():.0f} ms, mean "
        f"{frame['mean_cost'].mean():.2f} ms, {frame['at_1_ms'].mean():.1%} at 1 ms, the first entity first in "
        f"{frame['top'].mean():.1%}."
    )


def _controls(runs: Runs, what: str, form: str) -> str:
    """Return the controls' numbers in a sentence."""
    return " Controls: " + ", ".join(f"{name} {mean(runs[f'{name}: {what}']):{form}}" for name in CONTROLS) + "."


@claim(
    "LAS-F7a",
    statement="On tweets LAS completes tuples extremely close to Full Knowledge, and Straw-Man takes at least ten times "
    "as long.",
    claimed="LAS as FK, SM at least 10 times",
    criterion="shape: the mean completion time of LAS within a factor of 1.5 of that of Full Knowledge, and Straw-Man's "
    "above LAS's; value: Straw-Man at least 10 times LAS, less a fifth of that effect",
    experiment=RUNS,
    figure=_figure_tweets,
    amended="Two stand-ins dealt a cost to each of 35,000 keys; a tweet now mentions entities, and the key is a "
    "reading.",
)
def _judge_tweets(runs):
    runs = read(runs)
    time = {name: runs[f"{name}: completion"] for name in (LAS, STRAW_MAN, KNOWLEDGE)}
    near, far = ratio(time[LAS], time[KNOWLEDGE]), ratio(time[STRAW_MAN], time[LAS])
    return finding(
        ", ".join(f"{name} {mean(one):.0f}" for name, one in time.items())
        + f" ms; LAS {near:.2f} times Full Knowledge, Straw-Man {far:.1f} times LAS",
        shape=all_of(
            between(near, 1 / 1.5, 1.5, "LAS over Full Knowledge"),
            greater(time[STRAW_MAN], time[LAS], "Straw-Man less LAS, ms"),
        ),
        value=at_least(far, printed("10", neutral=1.0), "Straw-Man over LAS"),
        note=_stream(runs) + _controls(runs, "completion", ".0f"),
    )


@claim(
    "LAS-F7b",
    statement="On tweets LAS and Full Knowledge drop 5% to 10% of the stream.",
    claimed="5% to 10%",
    criterion="the mean share dropped by each within [.045, .105], half a unit of the last printed digit around it",
    experiment=RUNS,
    figure=_figure_tweets,
    amended="Straw-Man's drops were judged with it; they are LAS-F7b-v.",
)
def _judge_tweet_drops(runs):
    runs = read(runs)
    return finding(
        ", ".join(f"{name} {mean(runs[f'{name}: drop']):.2%}" for name in (LAS, KNOWLEDGE)),
        value=all_of(between(runs[f"{name}: drop"], 0.045, 0.105, f"{name}, dropped") for name in (LAS, KNOWLEDGE)),
        note=_stream(runs) + _controls(runs, "drop", ".2%"),
    )


@claim(
    "LAS-F7b-v",
    statement="On tweets Straw-Man drops nothing.",
    claimed="0",
    criterion="the mean share dropped below half a percent, half a unit of the last printed digit",
    experiment=RUNS,
    figure=_figure_tweets,
    amended="Was judged with LAS-F7b.",
)
def _judge_straw_man(runs):
    runs = read(runs)
    share = runs[f"{STRAW_MAN}: drop"]
    return finding(f"{STRAW_MAN} {mean(share):.3%}", value=at_most(share, 0.005, "Straw-Man, dropped"))
