"""POSG by the skew of the stream: other execution times, and figure 4.

The claims are those of Rivetti et al. 2015, section V. Each run is one stream under every reading
and every control.
"""

from __future__ import annotations

from typing import Any

from ...claim import Claim, Experiment, claims_into
from ...figures import COLOURS, new_figure
from ...judging import (
    Finding,
    Runs,
    all_of,
    at_least,
    at_most,
    close_to,
    finding,
    greater,
    less,
    mean,
    printed,
    reported,
)
from .plots import legend_beside, level_figure, mean_line, speed_up, sweep_figure
from .readings import ALL, NAMES, SETUP, STREAMS, compare, faster, gain, gains, logs, others_note, sweep

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="POSG", kind="b", setup=SETUP, readings=ALL)

EXPONENTS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
LIGHT = (0.0, 0.5)
LABELS = {0.0: "uniform"} | {z: f"Zipf-{z:g}" for z in EXPONENTS[1:]}

# --- other execution times -----------------------------------------------------------------------

OTHER_TIMES = {  # spacing of the values, association of values to items
    "as in the figures": ("linear", "equal"),
    "geometric steps": ("geometric", "equal"),
    "geometric association": ("linear", "geometric"),
    "binomial association": ("linear", "binomial"),
}


def _measure_times(seed: int, exponent: float, times: str) -> dict[str, Any]:
    spacing, association = OTHER_TIMES[times]
    options: dict[str, Any] = {"spacing": spacing} if association == "equal" else {}
    return compare(seed, exponent, association=association, **options)


SPACINGS = Experiment(
    "posg_spacings",
    lambda profile: [{"exponent": z, "times": times} for z in EXPONENTS for times in OTHER_TIMES],
    _measure_times,
    seeds=STREAMS,
)
TIMES_SETUP = (
    "Three changes from the streams of the figures, one at a time: values at geometric steps from 1 to 64 ms; each "
    "item's value drawn by a geometric distribution (mean a quarter of the values, short times the most frequent), or "
    "by a binomial one (chance 1/2), instead of each value going to as many items. The paper names the distributions "
    "and gives no parameters. "
)


def _figure_other_times(runs, profile):
    figure, axes = new_figure(
        "Speed-up with other execution times",
        "Zipf exponent (0: uniform)",
        "speed-up over round robin, S_L",
        size=(7.2, 4.2),
    )
    for colour, times in zip(COLOURS, OTHER_TIMES):
        part = runs[runs["times"] == times]
        for name, style in (("default", "-"), ("warm", ":")):
            label = times if name == "default" else f"{times}, start-up left out"
            mean_line(axes, speed_up(part, name).groupby(part["exponent"]), color=colour, ls=style, label=label)
    axes.axhline(1.0, color="0.5", lw=0.8)
    legend_beside(axes)
    return figure


@claim(
    "POSG-S1",
    where="section V-A",
    statement="Times at geometric steps and associations by geometric and binomial distributions make no "
    "unpredictable difference.",
    claimed="the same sign of the gain",
    criterion="as in figure 4, POSG is faster than round robin (mean logarithm of S_L above 0) at each of seven skews "
    "with the times of the figures and with each of the three others; equal to round robin is not faster",
    amended="same sign of the gain, where no loss beyond two standard errors was enough: a POSG that never left round "
    "robin agreed with everything",
    experiment=SPACINGS,
    figure=_figure_other_times,
    setup=TIMES_SETUP + SETUP,
)
def _judge_other_times(runs: Runs) -> Finding:
    cases = {(times, z): part for (times, z), part in runs.by("times", "exponent")}
    text = "; ".join(
        f"{times} " + ", ".join(f"{gain(cases[times, z]).values.mean():.2f}" for z in EXPONENTS)
        for times in OTHER_TIMES
        if (times, 0.0) in cases
    )
    equal = sum(bool((gain(part).values == 1).all()) for part in cases.values())
    return finding(
        f"mean S_L for uniform, Zipf-.5, ... Zipf-3: {text}",
        shape=all_of(faster(part, f"{times}, {LABELS[z]}") for (times, z), part in cases.items()),
        note=f"In {equal} of {len(cases)} cases POSG equals round robin on every stream: no pair of matrices was "
        "stable before the end.",
    )


# --- figure 4: frequency distributions -----------------------------------------------------------

DISTRIBUTIONS = sweep("distributions", "exponent", EXPONENTS)


def _figure_4_gain(runs, profile):
    return sweep_figure(
        runs, "exponent", "Speed-up by skew", "Zipf exponent (0: uniform)", claimed=(1.25, "paper at Zipf-1: 1.25")
    )


@claim(
    "POSG-F4a",
    where="figure 4",
    statement="On uniform and Zipf-.5 streams POSG's gain over round robin is limited.",
    claimed="6% on average",
    criterion="shape: faster than round robin on both; value: mean S_L over both 1.06 ± .012",
    amended="S_L in [1.0, 1.1]; wider than what is printed",
    experiment=DISTRIBUTIONS,
    figure=_figure_4_gain,
)
def _judge_light(runs: Runs) -> Finding:
    light = runs.where(exponent=LIGHT)
    own = gain(light)
    return finding(
        f"mean S_L {mean(own):.3f}; by exponent "
        + ", ".join(f"{z:g}: {one.values.mean():.2f}" for z, one in gains(light, "exponent").items()),
        shape=all_of(faster(part, LABELS[z]) for z, part in light.by("exponent")),
        value=close_to(own, printed("1.06", neutral=1.0), "S_L on uniform and Zipf-.5"),
        note=others_note(light),
    )


def _figure_4(runs, profile):
    return level_figure(runs, "exponent", "Figure 4: average completion time", "frequency distribution", LABELS, 400)


@claim(
    "POSG-F4b",
    where="figure 4",
    statement="On Zipf-1 streams POSG has a sizeable gain over round robin.",
    claimed="25%",
    criterion="shape: faster than round robin; value: mean S_L 1.25 ± .05",
    amended="S_L > 1.1; looser than what is printed",
    experiment=DISTRIBUTIONS,
    figure=_figure_4,
)
def _judge_zipf_1(runs: Runs) -> Finding:
    one = runs.where(exponent=1.0)
    return finding(
        f"mean S_L {mean(gain(one)):.3f}",
        shape=faster(one, "Zipf-1"),
        value=close_to(gain(one), printed("1.25", neutral=1.0), "S_L at Zipf-1"),
        note=others_note(one),
    )


@claim(
    "POSG-F4h",
    where="figure 4",
    statement="From Zipf-1 on the gain is much larger than on uniform and Zipf-.5 streams.",
    claimed="much more sizeable",
    criterion="shape: mean S_L at each exponent from 1 on is above the mean of the two lighter streams",
    experiment=DISTRIBUTIONS,
)
def _judge_sizeable(runs: Runs) -> Finding:
    light, skewed = gain(runs.where(exponent=LIGHT)), gains(runs.where(runs.frame["exponent"] >= 1), "exponent")
    shown = ", ".join(f"{z:g}: {mean(own):.2f}" for z, own in skewed.items())
    return finding(
        f"mean S_L {mean(light):.2f} on the lighter streams; by exponent {shown}",
        shape=all_of(greater(own, light, f"{LABELS[z]} above the lighter streams") for z, own in skewed.items()),
    )


@claim(
    "POSG-F4c",
    where="figure 4",
    statement="On Zipf-1.5 the slowest stream under POSG is faster than the fastest under round robin.",
    claimed="true",
    criterion="numbers only: extremes over streams depend on how many there are",
    experiment=DISTRIBUTIONS,
)
def _judge_separation(runs: Runs) -> Finding:
    part = runs.where(exponent=1.5)
    posg, plain = part[runs.reading], part["round_robin"]
    beaten = float((posg.values < plain.values.min()).mean())
    return reported(
        f"Zipf-1.5: slowest of POSG {posg.values.max():.0f} ms, fastest of round robin {plain.values.min():.0f} ms",
        f"{beaten:.0%} of {len(posg)} streams under POSG are faster than the fastest under round robin. Round robin's "
        f"own means go from {plain.values.min():.0f} to {plain.values.max():.0f} ms.",
    )


@claim(
    "POSG-F4d",
    where="figure 4",
    statement="On Zipf-2.5 POSG matches full knowledge.",
    claimed="true",
    criterion="value: POSG / full knowledge below 1.1 on average; the headline is without the start-up, in which POSG "
    "is round robin",
    experiment=DISTRIBUTIONS,
    readings=("warm", *(name for name in ALL if name != "warm")),
)
def _judge_matches_ideal(runs: Runs) -> Finding:
    part = runs.where(exponent=2.5)
    ratio = part.sample(part.frame[runs.reading] / part.frame["full_knowledge"])
    return finding(
        f"Zipf-2.5: POSG / full knowledge {mean(ratio):.3f}",
        value=at_most(ratio, 1.1, "POSG / full knowledge"),
        note=others_note(part),
    )


@claim(
    "POSG-F4e",
    where="figure 4",
    statement="Full knowledge is faster than POSG, and POSG faster than round robin, with all distributions.",
    claimed="always",
    criterion="shape: both orders of the mean logarithms at each of the seven distributions",
    amended="on means, from Zipf-1 up; the sentence speaks of all distributions",
    experiment=DISTRIBUTIONS,
)
def _judge_order(runs: Runs) -> Finding:
    parts = dict(runs.by("exponent"))
    orders = [
        check
        for z, part in parts.items()
        for check in (
            less(logs(part, "full_knowledge"), logs(part, runs.reading), f"full knowledge before POSG, {LABELS[z]}"),
            faster(part, f"POSG before round robin, {LABELS[z]}"),
        )
    ]
    shown = ", ".join(
        f"{LABELS[z]} {gain(part, 'full_knowledge').values.mean():.2f} and {gain(part).values.mean():.2f}"
        for z, part in parts.items()
    )
    return finding(f"mean S_L of full knowledge and of POSG: {shown}", shape=all_of(orders))


@claim(
    "POSG-F4f",
    where="figure 4",
    statement="Round robin's average completion time (the axis ends at 400 ms).",
    claimed="at most 400 ms",
    criterion="numbers only: the end of an axis is no statement",
    experiment=DISTRIBUTIONS,
    readings=("default",),
)
def _judge_level(runs: Runs) -> Finding:
    shown = ", ".join(f"{LABELS[z]} {part['round_robin'].values.mean():.0f}" for z, part in runs.by("exponent"))
    return reported(
        f"round robin's mean over the streams, ms: {shown}",
        "Constant arrivals at 100% provisioning. At exactly the load that the instances can bear the queue of round "
        "robin grows with the square root of time, so that its level depends on the length of the stream.",
    )


FIGURES = {"4": "1.25", "5, at least": "1.15", "5, peak": "1.26", "6": "1.19", "7": "1.19"}


@claim(
    "POSG-F4g",
    where="figures 4 to 7",
    statement="The point at which all parameters have their default values is in figures 4, 5, 6 and 7, so that one "
    "S_L agrees with what is printed of each.",
    claimed="1.25 (4); 1.15 to 1.26 (5); 1.19 (6, 7)",
    criterion="value: mean S_L at the default point in 1.25 ± .05, at least 1.15 − .03, at most 1.26 + .052 and in "
    "1.19 ± .038",
    experiment=DISTRIBUTIONS,
)
def _judge_one_point(runs: Runs) -> Finding:
    own = gain(runs.where(exponent=1.0))
    claimed = {figure: printed(text, neutral=1.0) for figure, text in FIGURES.items()}
    rules = {"5, at least": at_least, "5, peak": at_most}
    checks = {
        figure: rules.get(figure, close_to)(own, number, f"figure {figure}") for figure, number in claimed.items()
    }
    agree = [figure for figure, check in checks.items() if check.low <= own.values.mean() <= check.high]
    low, high = max(check.low for check in checks.values()), min(check.high for check in checks.values())
    return finding(
        f"mean S_L {mean(own):.3f} agrees with the print of {len(agree)} of {len(checks)}: "
        f"{'; '.join(agree) or 'none'}",
        value=all_of(checks.values()),
        note=f"25% and 19% of the same point differ by a quarter of the gain. With their tolerances all prints agree "
        f"only from {low:.2f} to {high:.2f}. By reading: "
        + ", ".join(f"{NAMES[name]} {gain(runs.where(exponent=1.0), name).values.mean():.2f}" for name in ALL)
        + ".",
    )
