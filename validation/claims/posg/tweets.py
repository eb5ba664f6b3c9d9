"""POSG on tweets, with a stand-in for the private data (Rivetti et al. 2015, V-C, figure 12)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import COLOURS, PAPER, new_figure
from ...judging import (
    Finding,
    Runs,
    Sample,
    all_of,
    any_of,
    close_to,
    finding,
    less,
    mean,
    never,
    printed,
    reported,
    share_of,
)
from .plots import legend_beside, mean_line, speed_up
from .readings import ALL, NAMES, NETWORK, PROTOTYPE_SETUP, READINGS, STARTING, TIME_OUT, WINDOW, faster, gain

ENTITIES, LENGTH = 35_000, 500_000
SHOWN = tuple(name for name in ALL if name != "printed_warm")  # the start-up is a small part here
# What the text leaves open: the load, and how many entities are media, politicians and others.
LOADS = (1.0, 1.05)
CLASSES = {"thirds": (1 / 3, 1 / 3), "few media": (0.1, 0.3)}
SETUP = (
    "A stand-in for the private tweets: Zipf over 35,000 entities with the printed share of the first, which is a "
    "politician. Open in the text, and run side by side: provisioning of 100 and 105%; a third of the entities in each "
    "class, or a tenth media and three tenths politicians. "
)
CLAIMS: list[Claim] = []


def _tweets(k: int, over: float, classes: str, seed: int, length: int = LENGTH) -> dict[str, Any]:
    """Run the stand-in: Zipf entities in three classes, media 25, politicians 5, others 1 ms."""
    from streamlb import simulate_operator, tweets
    from streamlb.rng import uniforms

    keys = tweets().draw(length, seed)
    media, politicians = CLASSES[classes]
    drawn = uniforms(seed + 1_000_000, ENTITIES, 0)
    times = np.select([drawn < media, drawn < media + politicians], [25.0, 5.0], 1.0)
    times[0] = 5.0
    costs = times[keys.astype(np.int64)]
    set_up: dict[str, Any] = {
        "latency": NETWORK, "control_latency": NETWORK, "deadline": TIME_OUT, "overprovisioning": over,
    }  # fmt: skip
    plain = simulate_operator(keys, costs, k, "round_robin", **set_up)
    out = {"round_robin": plain.mean, "late": plain.late}
    for name in SHOWN:
        reading = READINGS[name]
        result = simulate_operator(keys, costs, k, "posg", seed=seed, **set_up, **reading.options)
        out[name] = result.mean
        counted = result.messages
        out[f"{name}_messages"] = sum(
            counted[kind] for kind in ("matrices", "replies", "ignored", "matrices_under_way", "replies_under_way")
        )
    out["full_knowledge"] = simulate_operator(keys, costs, k, "full_knowledge", **set_up).mean
    return out


TWEETS = Experiment(
    "posg_tweets",
    lambda profile: [
        {"k": k, "over": over, "classes": classes} for k in range(1, 11) for over in LOADS for classes in CLASSES
    ],
    _tweets,
    lambda row: 4.0,
    seeds=Seeds(quick=(10, 15), paper=(30, 100)),
)
claim = claims_into(
    CLAIMS,
    paper="POSG",
    kind="c",
    where="figure 12",
    setup=SETUP + PROTOTYPE_SETUP,
    experiment=TWEETS,
    readings=SHOWN,
)


def _regimes(runs: Runs) -> dict[str, Runs]:
    """Return the runs by what the text leaves open."""
    return {f"{over:.0%}, {classes}": part for (over, classes), part in runs.by("over", "classes")}


def _mean_gain(part: Runs) -> Sample:
    return gain(part.where(k=tuple(range(2, 11))))


def _agreeing(regimes: dict[str, Runs]) -> str:
    """Return in which regimes both numbers of the figure agree, by their estimates."""
    both = [
        name
        for name, part in regimes.items()
        if all(check.low <= check.estimate.point <= check.high for check in (_overall(part), _at_ten(part)))
    ]
    return f"Both 1.37 and 16% agree in {len(both)} of {len(regimes)} regimes" + (
        f": {'; '.join(both)}." if both else "."
    )


def _overall(part: Runs, name: str = "") -> Any:
    return close_to(_mean_gain(part), printed("1.37", neutral=1.0), f"mean S_L {name}".strip())


def _at_ten(part: Runs, name: str = "") -> Any:
    return close_to(gain(part.where(k=10)), printed("1.16", neutral=1.0), f"S_L at k = 10 {name}".strip())


def _figure_12(runs, profile):
    figure, axes = new_figure(
        "Figure 12: tweets (stand-in, 100%, classes in thirds)",
        "instances k",
        "average completion time (ms)",
        size=(7.2, 4.0),
    )
    shown = runs[(runs["over"] == 1.0) & (runs["classes"] == "thirds")]
    for colour, name in zip(COLOURS, ("round_robin", "default", "printed", "first_look", "warm", "full_knowledge")):
        mean_line(axes, shown.groupby("k")[name], color=colour, label=NAMES[name])
    own = speed_up(shown[shown["k"] > 1], "default").mean()
    axes.plot([], [], color=PAPER, label=f"paper: mean S_L 1.37; ours {own:.2f}")
    axes.set_yscale("log")
    legend_beside(axes)
    return figure


@claim(
    "POSG-F12a",
    statement="Tweets of three classes (25, 5, 1 ms): POSG is faster than round robin for every k from 2.",
    claimed="mean S_L 1.37",
    criterion="shape: faster for every k from 2 to 10, in most regimes; value: mean S_L over k 1.37 ± .074 in some "
    "regime",
    amended="faster for every k from 2 on average; the printed number was not judged, and quick runs had a fifth of "
    "the tuples",
    figure=_figure_12,
)
def _judge_tweets(runs: Runs) -> Finding:
    regimes = _regimes(runs)
    shown = []
    for name, part in regimes.items():
        by_k = {k: gain(one).values.mean() for k, one in part.by("k") if k > 1}
        lowest = min(by_k, key=by_k.__getitem__)
        shown.append(f"{name} {mean(_mean_gain(part)):.2f}, least {by_k[lowest]:.2f} at k = {lowest}")
    return finding(
        f"mean S_L over k = 2 to 10 by regime: {'; '.join(shown)}",
        shape=share_of(
            0.51,
            (
                all_of(faster(one, f"k = {k}, {name}") for k, one in part.by("k") if k > 1)
                for name, part in regimes.items()
            ),
        ),
        value=any_of(_overall(part, f"at {name}") for name, part in regimes.items()),
        note=_agreeing(regimes),
    )


@claim(
    "POSG-F12b",
    statement="The gap to round robin gets smaller with more instances; with ten POSG still gains.",
    claimed="16%",
    criterion="shape: faster at k = 10, by less than at k = 2, in most regimes; value: S_L 1.16 ± .032 at k = 10 in some "
    "regime",
    amended="> 0; the printed number was not judged, nor that the gap gets smaller",
)
def _judge_ten(runs: Runs) -> Finding:
    regimes = _regimes(runs)
    shown = "; ".join(
        f"{name} {mean(gain(part.where(k=10))):.2f}, and {gain(part.where(k=2)).values.mean():.2f} at k = 2"
        for name, part in regimes.items()
    )
    return finding(
        f"S_L at k = 10 by regime: {shown}",
        shape=share_of(
            0.51,
            (
                all_of(
                    faster(part.where(k=10), f"k = 10, {name}"),
                    less(gain(part.where(k=10)), gain(part.where(k=2)), f"less than at k = 2, {name}"),
                )
                for name, part in regimes.items()
            ),
        ),
        value=any_of(_at_ten(part, f"at {name}") for name, part in regimes.items()),
        note=_agreeing(regimes),
    )


@claim(
    "POSG-F12c",
    statement="Round robin gets slower from 1 to 2 and from 6 to 7 instances; 221 time-outs at k = 2.",
    claimed="k = 2, 7; 221",
    criterion="numbers only",
    readings=("default",),
)
def _judge_shape_rr(runs: Runs) -> Finding:
    shown = []
    for name, part in _regimes(runs).items():
        level = {k: one["round_robin"].values.mean() for k, one in part.by("k")}
        rises = ", ".join(str(k) for k in level if k > 1 and level[k] > level[k - 1])
        late = part.where(k=2)["late"].values.mean()
        shown.append(f"{name}: rises at k = {rises or 'none'}, {late:.0f} time-outs at k = 2")
    return reported(
        "; ".join(shown),
        "With arrivals at k times the rate of one instance nothing singles out k = 2 and 7: in the paper they are "
        "effects of the cluster.",
    )


@claim(
    "POSG-F12d",
    statement="Few messages: 916 for 500,000 tuples, at a number of instances that is not given.",
    claimed="916",
    criterion="shape: at most (k + 1) m / 2N in every run; value: on average 916 ± 183 for some k and regime",
    amended="at most (k + 1) m / 2N; the printed number was not judged, and quick runs had a fifth of the tuples",
    readings=STARTING,
)
def _judge_few_messages(runs: Runs) -> Finding:
    column = f"{runs.reading}_messages"
    bound = (runs.frame["k"] + 1) * LENGTH / (2 * WINDOW)
    beyond = int((runs.frame[column] > bound).sum())
    by_k = {k: part[column].values.mean() for k, part in runs.by("k")}
    nearest = min(by_k, key=lambda k: abs(by_k[k] - 916))
    return finding(
        f"in {beyond} of {len(runs)} runs beyond the bound; on average {by_k[nearest]:.0f} messages at k = {nearest}, "
        f"{by_k[5]:.0f} at k = 5",
        shape=never(beyond, len(runs), "runs beyond (k + 1) m / 2N"),
        value=any_of(
            close_to(part[column], printed("916"), f"messages at k = {k}, {over:.0%}, {classes}")
            for (k, over, classes), part in runs.by("k", "over", "classes")
        ),
        note="Our reading asks all instances again every N·k tuples, which the bound of the text does not count: k "
        "messages more each time.",
    )
