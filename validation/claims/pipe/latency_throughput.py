"""Latency and throughput against Storm's default and R-Storm.

Tantalaki et al. 2020, abstract and section V, figures 8, 9, 14, 15, 17 and 18.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...claim import Claim, claims_into
from ...figures import panels, paper_line
from ...judging import Finding, Runs, reported
from .readings import NAMES
from .sweep import (
    GATING,
    LABELS,
    NO_REGIMES,
    NOT_DECIDED,
    SCHEDULER_COLOURS,
    SCHEDULERS,
    SETUP,
    SIMULATION,
    amended,
    cells,
    drawn,
    gain,
    limits,
    times,
    typical,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="PIPE", kind="c", setup=SETUP, readings=NAMES, criterion=NOT_DECIDED)


def _parts(runs: pd.DataFrame, what: str) -> str:
    """Say what comes from placement and what from gating."""
    placed, gated = gain(runs, what, "placed").mean(), gain(runs, what, "gated").mean()
    return f"Against Storm's default, placement alone: {placed:+.0f}% on average; gating alone: {gated:+.0f}%."


def _kept_up(runs: pd.DataFrame, change: pd.Series, what: str) -> str:
    """Say how latency changed where the method carried as much as the default.

    Elsewhere its latency grows with the length of the run.
    """
    if what != "latency":
        return ""
    calm = change[runs["pipeline_throughput"] >= 0.98 * runs["even_throughput"]]
    return (
        f"In the {len(calm)} cells where it keeps up with the default: {calm.mean():+.0f}%."
        if len(calm)
        else "It never keeps up."
    )


def _changed(topology: str, what: str, low: float, high: float, theirs: str = "even", full: bool = True, why: str = ""):
    """Return a judge that shows a change in percent, and in how many cells it is in [low, high]."""

    def judge(runs: Runs) -> Finding:
        mine = cells(runs.frame, topology, full=full)
        change = gain(mine, what, theirs=theirs)
        inside = int(((change >= low) & (change <= high)).sum())
        return reported(
            f"{change.mean():+.0f}% on average, {change.median():+.0f}% in the median, {change.min():+.0f}% to "
            f"{change.max():+.0f}%; {inside} of {len(mine)} runs within {low:+.0f}..{high:+.0f}%",
            " ".join(
                [NO_REGIMES, _kept_up(mine, change, what), _parts(mine, what), why, limits(topology, runs.reading)]
            ),
        )

    return judge


def _figure_sweep(
    topology: str, what: str, column: str, unit: str, claimed: float, theirs: str = "even", full: bool = True
):
    """Return a figure: one cell over time on the left, the change in every cell on the right."""

    def figure(runs: pd.DataFrame, profile: str) -> Figure:
        mine = cells(drawn(runs), topology, full=full)
        row = typical(cells(drawn(runs), topology))
        titles = ["load .3, 1 ms for each tuple, parts of 64", f"change against {LABELS[theirs]}"]
        figure, ((left, right),) = panels(f"{topology} topology: {what}", titles, "", [""], size=(5, 3.8))
        for name in (n for n in SCHEDULERS if n != "rstorm" or theirs == n):
            values = np.array([np.nan if x is None else x for x in row[f"{name}_{column}"]], float)
            left.plot(times(row, values), values, label=LABELS[name], color=SCHEDULER_COLOURS[name])
        left.set(xlabel="time (slots)", ylabel=f"{what} ({unit})")
        if what == "latency":
            left.set_yscale("log")
        left.legend(fontsize=8)
        for name in ("pipeline", "placed", "gated"):
            change = np.sort(gain(mine, what, name, theirs))
            right.plot(change, label=LABELS[name], color=SCHEDULER_COLOURS[name])
        paper_line(right, claimed, f"the paper: {claimed:+.0f}%")
        right.axhline(0, color="0.7", lw=1)
        right.set(xlabel="cells of the sweep, sorted", ylabel=f"change of {what} (%)")
        if gain(mine, what, "pipeline", theirs).max() > 300:
            right.set_yscale("symlog", linthresh=100)
        right.legend(fontsize=8)
        return figure

    return figure


claim(
    "PIPE-F8",
    where="Fig. 8",
    statement="random topology on 9 nodes: less latency than Storm's default",
    claimed="-25% on average",
    amended=amended("-20..-30%"),
    experiment=SIMULATION,
    figure=_figure_sweep("random", "latency", "latency_over_time", "slots", -25),
)(_changed("random", "latency", -30, -20, why=GATING))
claim(
    "PIPE-F9",
    where="Fig. 9",
    statement="linear topology on 8 nodes: less latency than Storm's default",
    claimed="-40% on average",
    amended=amended("-32..-48%"),
    experiment=SIMULATION,
    figure=_figure_sweep("linear", "latency", "latency_over_time", "slots", -40),
)(_changed("linear", "latency", -48, -32, why=GATING))
claim(
    "PIPE-F14",
    where="Fig. 14",
    statement="random topology, 3 to 6 tasks, 20 minutes: more throughput than the default",
    claimed="+25% on average, +35% at most",
    amended=amended("+20..+30%"),
    experiment=SIMULATION,
    figure=_figure_sweep("random", "throughput", "over_time", "tuples / slot", 25, full=False),
)(_changed("random", "throughput", 20, 30, full=False, why=GATING))
claim(
    "PIPE-F15",
    where="Fig. 15",
    statement="linear topology, 2 to 4 tasks: more throughput than the default",
    claimed="+40% on average",
    amended=amended("+32..+48%"),
    experiment=SIMULATION,
    figure=_figure_sweep("linear", "throughput", "over_time", "tuples / slot", 40, full=False),
)(_changed("linear", "throughput", 32, 48, full=False, why=GATING))
claim(
    "PIPE-F17",
    where="Fig. 17",
    statement="diamond topology on 8 nodes: more throughput than R-Storm",
    claimed="about +35%",
    amended=amended("+28..+42%"),
    experiment=SIMULATION,
    figure=_figure_sweep("diamond", "throughput", "over_time", "tuples / slot", 35, theirs="rstorm"),
)(_changed("diamond", "throughput", 28, 42, theirs="rstorm", why=GATING))
claim(
    "PIPE-F18",
    where="Fig. 18",
    statement="line of five components on 8 nodes: more throughput than R-Storm",
    claimed="about +45%",
    amended=amended("+36..+54%"),
    experiment=SIMULATION,
    figure=_figure_sweep("linear5", "throughput", "over_time", "tuples / slot", 45, theirs="rstorm"),
)(
    _changed(
        "linear5",
        "throughput",
        36,
        54,
        theirs="rstorm",
        why=f"{GATING} The last bolt has one task, which caps every scheduler.",
    )
)


@claim(
    "PIPE-F17b",
    where="V.E",
    statement="R-Storm is ahead in the first seconds and is overtaken once the pipeline is full",
    claimed="crossover",
    amended=amended("R-Storm ahead in the first tenth and behind in the last half"),
    experiment=SIMULATION,
)
def _judge_crossover(runs: Runs) -> Finding:
    seen = total = ahead = 0
    for topology in ("diamond", "linear5"):
        for _, row in cells(runs.frame, topology).iterrows():
            ours, theirs = np.asarray(row["pipeline_over_time"]), np.asarray(row["rstorm_over_time"])
            first, half = max(len(ours) // 10, 1), len(ours) // 2
            early, late = theirs[:first].sum() > ours[:first].sum(), ours[half:].sum() > theirs[half:].sum()
            total += 1
            seen += bool(early and late)
            ahead += bool(early)
    return reported(
        f"R-Storm ahead at first in {ahead} of {total} runs, overtaken later in {seen}",
        f"{NO_REGIMES} {GATING} Diamond: {limits('diamond', runs.reading)} Line of five: "
        f"{limits('linear5', runs.reading)}",
    )


@claim(
    "PIPE-A2",
    where="Abstract",
    statement="25 to 40% more throughput than the default and 35 to 45% more than R-Storm",
    claimed="+25..40%, +35..45%",
    amended="Held when the old criteria of PIPE-F14, F15, F17 and F18 did.",
    experiment=SIMULATION,
)
def _judge_a2(runs: Runs) -> Finding:
    means = [
        f"{gain(cells(runs.frame, topology, full=theirs == 'rstorm'), 'throughput', theirs=theirs).mean():+.0f}% "
        f"({topology}, {LABELS[theirs]})"
        for topology, theirs in (("random", "even"), ("linear", "even"), ("diamond", "rstorm"), ("linear5", "rstorm"))
    ]
    return reported(f"throughput {', '.join(means)}", f"{NO_REGIMES} See PIPE-F14, F15, F17 and F18.")
