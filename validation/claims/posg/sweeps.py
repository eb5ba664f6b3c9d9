"""POSG by load, execution times, instances and precision (Rivetti et al. 2015, figures 5 to 9).

Each run is one stream under every reading and every control, with one parameter changed.
"""

from __future__ import annotations

from ...claim import Claim, Verdict, claims_into
from .plots import level_figure, sweep_figure
from .readings import SETUP, mean_and_error, readings_note, speed_up, sweep

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="POSG", kind="b", setup=SETUP)

# --- figure 5: throughput ------------------------------------------------------------------------

THROUGHPUT = sweep("throughput", "over", tuple(percent / 100 for percent in range(95, 116)))


def _by_load(runs, name: str = "default"):
    """Return the mean speed-up for each percentage of provisioning."""
    return speed_up(runs, name).groupby((runs["over"] * 100).round()).mean()


@claim(
    "POSG-F5a",
    where="figure 5",
    statement="Small advantage in an undersized system, 95 to 98%.",
    claimed="small",
    criterion="S_L < 1.05",
    experiment=THROUGHPUT,
)
def _judge_under(runs, profile) -> Verdict:
    gain = _by_load(runs).loc[95:98]
    measured = f"S_L {gain.min():.3f} to {gain.max():.3f} at 95 to 98%"
    return Verdict.when(bool((gain < 1.05).all()), measured, readings_note(runs[runs["over"] < 0.985]))


@claim(
    "POSG-F5b",
    where="figure 5",
    statement="Average speed-up from 100 to 109%.",
    claimed="at least 1.15",
    criterion="> 1.1",
    experiment=THROUGHPUT,
)
def _judge_right(runs, profile) -> Verdict:
    part = runs[(runs["over"] > 0.995) & (runs["over"] < 1.095)]
    return Verdict.when(
        speed_up(part).mean() > 1.1,
        f"mean S_L {mean_and_error(speed_up(part))} from 100 to 109%",
        readings_note(part),
    )


def _figure_5(runs, profile):
    shown = runs.assign(percent=runs["over"] * 100)
    title, label = "Figure 5: speed-up by over-provisioning", "over-provisioning (%)"
    return sweep_figure(shown, "percent", title, label, claimed=(1.26, "paper's peak: 1.26 at 102%"))


@claim(
    "POSG-F5c",
    where="figure 5",
    statement="Peak of the speed-up.",
    claimed="1.26 at 102%",
    criterion="peak in 101 to 105%",
    experiment=THROUGHPUT,
    figure=_figure_5,
)
def _judge_peak(runs, profile) -> Verdict:
    gain, warm = _by_load(runs), _by_load(runs, "default_warm")
    return Verdict.when(
        101 <= gain.idxmax() <= 105,
        f"peak {gain.max():.2f} at {gain.idxmax():.0f}%",
        f"Without the start-up {warm.max():.2f} at {warm.idxmax():.0f}%.",
    )


@claim(
    "POSG-F5d",
    where="figure 5",
    statement="Speed-up of a largely oversized system.",
    claimed="1.07 at 115%",
    criterion="1.0 < S_L < peak",
    experiment=THROUGHPUT,
)
def _judge_oversized(runs, profile) -> Verdict:
    gain = _by_load(runs)
    at = gain.loc[115]
    return Verdict.when(1.0 < at < gain.max(), f"S_L {at:.3f} at 115%", readings_note(runs[runs["over"] > 1.145]))


# --- figures 6 and 7: execution times ------------------------------------------------------------

MAXIMUM = sweep("longest_time", "high", (8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0))


def _figure_6(runs, profile):
    title = "Figure 6: speed-up by the longest execution time"
    return sweep_figure(runs, "high", title, "w_max (ms)", claimed=(1.19, "paper: 1.19"), log=True)


@claim(
    "POSG-F6",
    where="figure 6",
    statement="The speed-up hardly depends on the longest execution time.",
    claimed="1.19, nearly flat",
    criterion="flat within 5%",
    experiment=MAXIMUM,
    figure=_figure_6,
)
def _judge_flat(runs, profile) -> Verdict:
    gain = speed_up(runs).groupby(runs["high"]).mean()
    spread = gain.max() / gain.min() - 1
    return Verdict.when(
        spread <= 0.05,
        f"S_L {gain.min():.3f} to {gain.max():.3f} for w_max from 8 to 512 ms, a spread of {spread:.1%}",
        "The criterion is flatness; the level is 1.19 in the paper. " + readings_note(runs),
    )


NUMBER = sweep("number_of_times", "values", (2, 4, 8, 16, 32, 64))


def _figure_7(runs, profile):
    return level_figure(
        runs, "values", "Figure 7: average completion time by number of times", "execution time values w_n"
    )


@claim(
    "POSG-F7a",
    where="figure 7",
    statement="Average completion time and its variance fall with the number of execution times, flat from 16.",
    claimed="flat from 16",
    criterion="monotone, less than 10% past 16",
    experiment=NUMBER,
    figure=_figure_7,
)
def _judge_settles(runs, profile) -> Verdict:
    grouped = runs.groupby("values")["default"]
    mean, spread = grouped.mean(), grouped.std()
    rises = mean.diff().dropna()
    rises = rises[rises > 0]
    past = abs(mean.loc[64] / mean.loc[16] - 1)
    where = ", ".join(f"{n} values by {rise:.0f} ms" for n, rise in rises.items())
    return Verdict.when(
        rises.empty and past < 0.1 and spread.loc[64] < spread.loc[2],
        f"mean {mean.loc[2]:.0f} ms at 2 values, {mean.loc[16]:.0f} at 16, {mean.loc[64]:.0f} at 64 "
        f"({past:.1%} past 16)",
        f"Standard deviation over the streams {spread.loc[2]:.0f} ms at 2 values, {spread.loc[64]:.0f} at 64. "
        + ("The mean never rises." if rises.empty else f"The mean rises at {where}."),
    )


@claim(
    "POSG-F7b",
    where="figure 7",
    statement="Gain over round robin over all numbers of execution times.",
    claimed="19%",
    criterion="> 5%",
    experiment=NUMBER,
)
def _judge_values_gain(runs, profile) -> Verdict:
    gain = speed_up(runs)
    return Verdict.when(gain.mean() > 1.05, f"S_L {mean_and_error(gain)} over 2 to 64 values", readings_note(runs))


# --- figure 8: instances -------------------------------------------------------------------------

SCALE = sweep("instances", "k", tuple(range(1, 11)))


@claim(
    "POSG-F8a",
    where="figure 8",
    statement="With one instance the speed-up is 1.",
    claimed="1",
    criterion="exactly 1",
    experiment=SCALE,
)
def _judge_one_instance(runs, profile) -> Verdict:
    one = runs[runs["k"] == 1]
    equal = (one["default"] == one["round_robin"]) & (one["printed"] == one["round_robin"])
    return Verdict.when(bool(equal.all()), f"equal to the last bit in {int(equal.sum())} of {len(one)} runs")


def _growth(runs, low: int, high: int):
    """Return how much the speed-up grows with the instances, with and without the start-up."""
    gain = speed_up(runs).groupby(runs["k"]).mean()
    warm = speed_up(runs, "default_warm").groupby(runs["k"]).mean()
    return gain.loc[high] / gain.loc[low] - 1, warm.loc[high] / warm.loc[low] - 1


def _figure_8(runs, profile):
    return sweep_figure(runs, "k", "Figure 8: speed-up by instances", "instances k")


@claim(
    "POSG-F8b",
    where="figure 8",
    statement="Growth of the speed-up from 2 to 3 instances.",
    claimed="+4%",
    criterion="report only",
    experiment=SCALE,
    figure=_figure_8,
)
def _judge_two_three(runs, profile) -> Verdict:
    cold, warm = _growth(runs, 2, 3)
    measured = f"{cold:+.1%} from 2 to 3 instances ({warm:+.1%} without the start-up)"
    return Verdict.when(cold > 0, measured, readings_note(runs[runs["k"] > 1]))


@claim(
    "POSG-F8c",
    where="figure 8",
    statement="Growth from 9 to 10 instances: saturating upward.",
    claimed="+1%",
    criterion="report only",
    experiment=SCALE,
)
def _judge_nine_ten(runs, profile) -> Verdict:
    cold, warm = _growth(runs, 9, 10)
    first, _ = _growth(runs, 2, 3)
    return Verdict.when(
        0 < cold < first,
        f"{cold:+.1%} from 9 to 10 instances ({warm:+.1%} without the start-up)",
        "The start-up takes 2N executions of every instance, a longer part of the same stream the more instances there "
        "are: at k = 10 POSG runs for the last third of 32,768 tuples at most, which hides what more instances bring.",
    )


# --- figure 9: precision -------------------------------------------------------------------------

PRECISION = sweep("precision", "epsilon", (0.001, 0.003, 0.005, 0.01, 0.03, 0.05, 0.07, 0.09, 0.1, 0.3, 0.5, 1.0))


def _figure_9(runs, profile):
    return sweep_figure(runs, "epsilon", "Figure 9: speed-up by precision", "ε", log=True)


@claim(
    "POSG-F9a",
    where="figure 9",
    statement="Ten times less ε raises the speed-up.",
    claimed="+30%",
    criterion="S_L increases as ε falls",
    experiment=PRECISION,
    figure=_figure_9,
)
def _judge_precision(runs, profile) -> Verdict:
    gain = speed_up(runs).groupby(runs["epsilon"]).mean()
    warm = speed_up(runs, "default_warm").groupby(runs["epsilon"]).mean()
    steps = [
        (gain.loc[low] / gain.loc[high], warm.loc[low] / warm.loc[high])
        for low, high in ((0.1, 1.0), (0.01, 0.1), (0.001, 0.01))
    ]
    cold_steps, warm_steps = (", ".join(f"{ratio - 1:+.0%}" for ratio in ratios) for ratios in zip(*steps))
    return Verdict.when(
        all(cold > 1 for cold, _ in steps),
        f"S_L for ten times less ε: {cold_steps} (1 to .1, .1 to .01, .01 to .001)",
        f"Without the start-up {warm_steps}. Finer matrices hold fewer executions in each cell and take longer to be "
        "stable; unseen items are estimated by the mean.",
    )


@claim(
    "POSG-F9b",
    where="figure 9",
    statement="For ε ≤ .09 the least speed-up is above 1.",
    claimed="true",
    criterion="report only",
    experiment=PRECISION,
)
def _judge_never_loses(runs, profile) -> Verdict:
    part = runs[runs["epsilon"] <= 0.09]
    least, printed, warm = (speed_up(part, name).min() for name in ("default", "printed", "default_warm"))
    note = f"Exactly as printed in the paper {printed:.3f}; without the start-up {warm:.3f}."
    return Verdict.when(least > 1, f"least S_L {least:.3f} for ε ≤ .09", note)
