"""POSG by load, execution times, instances and precision (Rivetti et al. 2015, figures 5 to 9).

Each run is one stream under every reading and every control, with one parameter changed.
"""

from __future__ import annotations

import itertools

from ...claim import Claim, claims_into
from ...judging import (
    Finding,
    Runs,
    Sample,
    all_of,
    at_least,
    at_most,
    between,
    close_to,
    finding,
    flat,
    less,
    mean,
    monotone,
    never,
    peak,
    printed,
    ratio,
    reported,
    spread_ratio,
)
from .plots import level_figure, sweep_figure
from .readings import ALL, SETUP, faster, gain, gains, others_note, sweep

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="POSG", kind="b", setup=SETUP, readings=ALL)

# --- figure 5: throughput ------------------------------------------------------------------------

PERCENT = tuple(range(95, 116))
THROUGHPUT = sweep("throughput", "over", tuple(percent / 100 for percent in PERCENT))


def _at(runs: Runs, low: int, high: int) -> Runs:
    """Return the runs with this percentage of provisioning, from `low` to `high`."""
    percent = (runs.frame["over"] * 100).round()
    return runs.where((percent >= low) & (percent <= high))


@claim(
    "POSG-F5a",
    where="figure 5",
    statement="In an undersized system, 95 to 98%, POSG has a small advantage.",
    claimed="small",
    criterion="shape: mean S_L from 95 to 98% below that from 100 to 109%; value: below 1.05",
    experiment=THROUGHPUT,
)
def _judge_under(runs: Runs) -> Finding:
    under = _at(runs, 95, 98)
    return finding(
        f"mean S_L {mean(gain(under)):.3f} from 95 to 98%, {gain(_at(runs, 100, 109)).values.mean():.2f} from 100 to 109%",
        shape=less(gain(under), gain(_at(runs, 100, 109)), "less than from 100 to 109%"),
        value=at_most(gain(under), 1.05, "S_L from 95 to 98%"),
        note=others_note(under),
    )


@claim(
    "POSG-F5b",
    where="figure 5",
    statement="In a correctly sized system, 100 to 109%, POSG has a noticeable speed-up.",
    claimed="at least 1.15 on average",
    criterion="shape: faster than round robin; value: mean S_L at least 1.15 − .03",
    amended="> 1.1; looser than what is printed",
    experiment=THROUGHPUT,
)
def _judge_right(runs: Runs) -> Finding:
    right = _at(runs, 100, 109)
    return finding(
        f"mean S_L {mean(gain(right)):.3f} from 100 to 109%",
        shape=faster(right, "100 to 109%"),
        value=at_least(gain(right), printed("1.15", neutral=1.0), "S_L from 100 to 109%"),
        note=others_note(right),
    )


def _figure_5(runs, profile):
    shown = runs.assign(percent=runs["over"] * 100)
    title, label = "Figure 5: speed-up by over-provisioning", "over-provisioning (%)"
    return sweep_figure(shown, "percent", title, label, claimed=(1.26, "paper's peak: 1.26 at 102%"))


@claim(
    "POSG-F5c",
    where="figure 5",
    statement="The speed-up peaks a little above 100%.",
    claimed="1.26 at 102%",
    criterion="shape: some point from 101 to 105% is above every point outside; value: S_L at 102% is 1.26 ± .052",
    amended="peak in 101 to 105%; its height was not judged",
    experiment=THROUGHPUT,
    figure=_figure_5,
)
def _judge_peak(runs: Runs) -> Finding:
    series = {round(over * 100): own for over, own in gains(runs, "over").items()}
    top = max(series, key=lambda percent: series[percent].values.mean())
    return finding(
        f"S_L {mean(series[102]):.3f} at 102%; the largest is {series[top].values.mean():.2f} at {top}%",
        shape=peak(series, lambda percent: 101 <= percent <= 105, "S_L"),
        value=close_to(series[102], printed("1.26", neutral=1.0), "S_L at 102%"),
        note=others_note(_at(runs, 102, 102)),
    )


@claim(
    "POSG-F5d",
    where="figure 5",
    statement="Even a largely oversized system gains.",
    claimed="1.07 at 115%",
    criterion="shape: faster than round robin at 115%, by less than at 102%; value: mean S_L 1.07 ± .014",
    amended="1.0 < S_L < peak; the printed number was not judged",
    experiment=THROUGHPUT,
)
def _judge_oversized(runs: Runs) -> Finding:
    over = _at(runs, 115, 115)
    return finding(
        f"mean S_L {mean(gain(over)):.3f} at 115%, {gain(_at(runs, 102, 102)).values.mean():.2f} at 102%",
        shape=all_of(faster(over, "115%"), less(gain(over), gain(_at(runs, 102, 102)), "less than at 102%")),
        value=close_to(gain(over), printed("1.07", neutral=1.0), "S_L at 115%"),
        note=others_note(over),
    )


# --- figures 6 and 7: execution times ------------------------------------------------------------

LONGEST = (8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)
MAXIMUM = sweep("longest_time", "high", LONGEST)


def _levels(runs: Runs, parameter: str, name: str = "") -> dict[float, Sample]:
    """Return the mean completion times by the values of a parameter."""
    return {value: part[name or runs.reading] for value, part in runs.by(parameter)}


def _range(series: dict[float, Sample], spec: str) -> str:
    """Return the means from the first point to the last."""
    return ", ".join(f"{at:g}: {sample.values.mean():{spec}}" for at, sample in series.items())


def _figure_6(runs, profile):
    title = "Figure 6: speed-up by the longest execution time"
    return sweep_figure(runs, "high", title, "w_max (ms)", claimed=(1.19, "paper: 1.19"), log=True)


@claim(
    "POSG-F6",
    where="figure 6",
    statement="The speed-up hardly depends on the longest execution time.",
    claimed="1.19, nearly flat",
    criterion="shape: S_L at each w_max within 5% of their mean; value: mean S_L 1.19 ± .038",
    amended="flat within 5%, from the least to the greatest; the level was not judged",
    experiment=MAXIMUM,
    figure=_figure_6,
)
def _judge_flat(runs: Runs) -> Finding:
    series = gains(runs, "high")
    return finding(
        f"mean S_L {mean(gain(runs)):.3f}; by w_max in ms {_range(series, '.2f')}",
        shape=flat(series, 0.05, "S_L"),
        value=close_to(gain(runs), printed("1.19", neutral=1.0), "S_L over all w_max"),
        note=others_note(runs),
    )


def _figure_6_level(runs, profile):
    return level_figure(runs, "high", "Figure 6: average completion time", "w_max (ms)")


@claim(
    "POSG-F6L",
    where="figure 6",
    statement="The average completion time grows with the longest execution time.",
    claimed="grows",
    criterion="shape: POSG's and round robin's mean completion time grow at every step from 8 to 512 ms",
    experiment=MAXIMUM,
    figure=_figure_6_level,
)
def _judge_grows(runs: Runs) -> Finding:
    posg, plain = _levels(runs, "high"), _levels(runs, "high", "round_robin")
    return finding(
        f"POSG's mean in ms by w_max: {_range(posg, '.0f')}",
        shape=all_of(monotone(posg, rising=True, label="POSG"), monotone(plain, rising=True, label="round robin")),
        note=f"Round robin: {_range(plain, '.0f')}.",
    )


NUMBER = sweep("number_of_times", "values", (2, 4, 8, 16, 32, 64))


def _figure_7(runs, profile):
    return level_figure(
        runs, "values", "Figure 7: average completion time by number of times", "execution time values w_n"
    )


@claim(
    "POSG-F7a",
    where="figure 7",
    statement="The average completion time falls with the number of execution times, with slight changes from 16.",
    claimed="falls, flat from 16",
    criterion="shape: the mean falls at every step from 2 to 16 values, and at 32 and 64 is within 10% of that at 16",
    amended="monotone, less than 10% past 16; mean and variance in one claim",
    experiment=NUMBER,
    figure=_figure_7,
)
def _judge_settles(runs: Runs) -> Finding:
    series = _levels(runs, "values")
    falling = {n: sample for n, sample in series.items() if n <= 16}
    past = {n: ratio(series[n], series[16]) for n in (32, 64)}
    return finding(
        f"mean in ms by number of values: {_range(series, '.0f')}; at 64 over at 16 {past[64]:.3f}",
        shape=all_of(
            monotone(falling, rising=False, label="mean"),
            (between(change, 0.9, 1.1, f"{n} values over 16") for n, change in past.items()),
        ),
    )


@claim(
    "POSG-F7a-v",
    where="figure 7",
    statement="The variance of the average completion time over the streams falls with the number of execution times.",
    claimed="falls",
    criterion="shape: the standard deviation over the streams is larger at 2 values than at 16 and than at 64",
    experiment=NUMBER,
)
def _judge_spread_falls(runs: Runs) -> Finding:
    series = _levels(runs, "values")
    falls = {n: spread_ratio(series[2], series[n]) for n in (16, 64)}
    deviations = ", ".join(f"{n}: {sample.values.std(ddof=1):.0f}" for n, sample in series.items())
    return finding(
        f"standard deviation in ms by number of values: {deviations}; at 2 over at 64 {falls[64]:.2f}",
        shape=all_of(at_least(fall, 1.0, f"2 values over {n}") for n, fall in falls.items()),
    )


@claim(
    "POSG-F7b",
    where="figure 7",
    statement="The gain over round robin is mostly unaffected by the number of execution times.",
    claimed="19% on average",
    criterion="shape: S_L at each number within 5% of their mean; value: mean S_L 1.19 ± .038",
    amended="> 5%; looser than what is printed, and evenness was not judged",
    experiment=NUMBER,
)
def _judge_values_gain(runs: Runs) -> Finding:
    series = gains(runs, "values")
    return finding(
        f"mean S_L {mean(gain(runs)):.3f}; by number of values {_range(series, '.2f')}",
        shape=flat(series, 0.05, "S_L"),
        value=close_to(gain(runs), printed("1.19", neutral=1.0), "S_L over all numbers"),
        note=others_note(runs),
    )


# --- figure 8: instances -------------------------------------------------------------------------

SCALE = sweep("instances", "k", tuple(range(1, 11)))


@claim(
    "POSG-F8a",
    where="figure 8",
    statement="With one instance the speed-up is 1.",
    claimed="1",
    criterion="value: equal to the last bit on every stream",
    experiment=SCALE,
)
def _judge_one_instance(runs: Runs) -> Finding:
    one = runs.where(k=1)
    other = int((gain(one).values != 1).sum())
    return finding(
        f"S_L differs from 1 on {other} of {len(one)} streams", value=never(other, len(one), "streams with another S_L")
    )


def _growth(runs: Runs, low: int, high: int) -> str:
    """Return by how much the speed-up grows with the instances."""
    grown = ratio(gain(runs.where(k=high)), gain(runs.where(k=low)))
    first, last = (100 * (end - 1) for end in grown.interval(1e-3))
    return f"{100 * (grown.point - 1):+.1f}% ({first:+.1f} to {last:+.1f}) from {low} to {high} instances"


def _figure_8(runs, profile):
    return sweep_figure(runs, "k", "Figure 8: speed-up by instances", "instances k")


@claim(
    "POSG-F8b",
    where="figure 8",
    statement="Growth of the speed-up from 2 to 3 instances.",
    claimed="+4%",
    criterion="numbers only",
    experiment=SCALE,
    figure=_figure_8,
)
def _judge_two_three(runs: Runs) -> Finding:
    return reported(_growth(runs, 2, 3), f"S_L by k: {_range(gains(runs, 'k'), '.2f')}.")


@claim(
    "POSG-F8c",
    where="figure 8",
    statement="Growth from 9 to 10 instances: saturating upward.",
    claimed="+1%",
    criterion="numbers only",
    experiment=SCALE,
)
def _judge_nine_ten(runs: Runs) -> Finding:
    return reported(
        _growth(runs, 9, 10),
        "The start-up takes 2N executions of every instance, a longer part of the same stream the more instances there "
        "are: at k = 10 POSG runs for the last third of 32,768 tuples at most, which hides what more instances bring.",
    )


# --- figure 9: precision -------------------------------------------------------------------------

PRECISION = sweep("precision", "epsilon", (0.001, 0.003, 0.005, 0.01, 0.03, 0.05, 0.07, 0.09, 0.1, 0.3, 0.5, 1.0))
TENS = (1.0, 0.1, 0.01, 0.001)


def _figure_9(runs, profile):
    return sweep_figure(runs, "epsilon", "Figure 9: speed-up by precision", "ε", log=True)


@claim(
    "POSG-F9a",
    where="figure 9",
    statement="Ten times less ε raises the speed-up.",
    claimed="+30% on average",
    criterion="shape: S_L grows from ε = 1 to .1, .01 and .001; value: by 1.30 ± .06 each time, on average",
    amended="S_L increases as ε falls; the printed number was not judged",
    experiment=PRECISION,
    figure=_figure_9,
)
def _judge_precision(runs: Runs) -> Finding:
    series = {epsilon: gain(runs.where(epsilon=epsilon)) for epsilon in TENS}
    (first, *rest) = [series[low] / series[high] for high, low in itertools.pairwise(TENS)]
    growth = sum(rest, first) / (1 + len(rest))
    return finding(
        f"S_L grows by {mean(growth):.3f} for ten times less ε; S_L by ε {_range(series, '.2f')}",
        shape=monotone(series, rising=True, label="S_L"),
        value=close_to(growth, printed("1.30", neutral=1.0), "growth for ten times less ε"),
        note="Finer matrices hold fewer executions in each cell and take longer to be stable.",
    )


@claim(
    "POSG-F9b",
    where="figure 9",
    statement="For ε ≤ .09 the least speed-up is above 1.",
    claimed="true",
    criterion="numbers only: extremes over streams depend on how many there are",
    experiment=PRECISION,
)
def _judge_never_loses(runs: Runs) -> Finding:
    part = runs.where(runs.frame["epsilon"] <= 0.09)
    own = part.frame["round_robin"] / part.frame[runs.reading]
    return reported(
        f"least S_L {own.min():.3f} for ε ≤ .09; {(own > 1).mean():.0%} of {len(own)} runs are above 1",
        others_note(part),
    )
