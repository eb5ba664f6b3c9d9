"""Memory and balance of the nodes against Storm's default.

Tantalaki et al. 2020, abstract and section V, figures 10 to 13.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...claim import Claim, claims_into
from ...figures import BAND, new_figure, panels
from ...judging import Finding, Runs, reported
from .readings import NAMES
from .sweep import (
    GATING,
    LABELS,
    NO_REGIMES,
    NOT_DECIDED,
    SCHEDULER_COLOURS,
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


def _figure_memory(topology: str, ours: float, default: float | None):
    """Return a figure: one cell over time on the left, the most of every cell on the right."""

    def figure(runs: pd.DataFrame, profile: str) -> Figure:
        mine = cells(drawn(runs), topology)
        row = typical(mine)
        titles = ["load .3, 1 ms for each tuple, parts of 64", "largest memory of each cell"]
        figure, ((left, right),) = panels(
            f"{topology} topology: memory", titles, "", ["memory used (% of buffers)"], size=(5, 3.8)
        )
        for name in ("pipeline", "even", "placed", "gated"):
            values = np.asarray(row[f"{name}_memory_over_time"], float) * 100
            left.plot(times(row, values), values, label=LABELS[name], color=SCHEDULER_COLOURS[name])
            largest = np.sort(mine[f"{name}_memory"] * 100)
            right.plot(largest, label=LABELS[name], color=SCHEDULER_COLOURS[name])
        for name, value in (("pipeline", ours), ("even", default)):
            if value is not None:
                said = f"the paper, {'default' if name == 'even' else name}: {value:.0f}%"
                right.axhline(value, color=SCHEDULER_COLOURS[name], ls="--", label=said)
        left.set_xlabel("time (slots)")
        right.set_xlabel("cells of the sweep, sorted")
        for axes in (left, right):
            axes.legend(fontsize=8)
        return figure

    return figure


def _memory(topology: str, ours: tuple[float, float], default: tuple[float, float]):
    """Return a judge that shows the most memory of the method and of the default."""

    def judge(runs: Runs) -> Finding:
        mine = cells(runs.frame, topology)
        a, b = mine["pipeline_memory"] * 100, mine["even_memory"] * 100
        inside = int((a.between(*ours) & b.between(*default)).sum())
        return reported(
            f"pipeline {a.min():.0f}..{a.max():.0f}% (mean {a.mean():.0f}), default {b.min():.0f}..{b.max():.0f}% "
            f"(mean {b.mean():.0f}); {inside} of {len(mine)} runs within {ours[0]:.0f}..{ours[1]:.0f}% and "
            f"{default[0]:.0f}..{default[1]:.0f}%",
            f"{NO_REGIMES} Tuples held back at a sender are memory too: gating moves the queue from the receiver's "
            "buffer to the sender. Input buffers and senders' windows count, with 4,096 tuples each. Its placement "
            f"without gating uses {mine['placed_memory'].mean():.0%} on average, its gating on Storm's placement "
            f"{mine['gated_memory'].mean():.0%}. {GATING} " + limits(topology, runs.reading),
        )

    return judge


claim(
    "PIPE-F10",
    where="Fig. 10",
    statement="random topology: most memory used, default and method",
    claimed="70% against 26%",
    amended=amended("60..80% against 20..32%"),
    experiment=SIMULATION,
    figure=_figure_memory("random", 26, 70),
)(_memory("random", (20, 32), (60, 80)))
claim(
    "PIPE-F11",
    where="Fig. 11",
    statement="linear topology: most memory used by the method, the default below its 70%",
    claimed="7%",
    amended=amended("4..10% and default below 70%"),
    experiment=SIMULATION,
    figure=_figure_memory("linear", 7, None),
)(_memory("linear", (4, 10), (0, 70)))


@claim(
    "PIPE-A1",
    where="Abstract",
    statement="the method needs 45% less memory than the default",
    claimed="-45%",
    amended=amended("-36..-54%"),
    experiment=SIMULATION,
)
def _judge_a1(runs: Runs) -> Finding:
    change = np.concatenate([gain(cells(runs.frame, topology), "memory") for topology in ("random", "linear")])
    return reported(
        f"memory {np.median(change):+.0f}% in the median run, less than the default in {int((change < 0).sum())} "
        f"of {change.size} runs",
        f"{NO_REGIMES} See PIPE-F10: what the receivers do not buffer the senders hold.",
    )


def _figure_balance(topology: str):
    """Return a figure of the work of each node under the method and under Storm's default."""

    def figure(runs: pd.DataFrame, profile: str) -> Figure:
        mine = cells(drawn(runs), topology, tuple_kb=1)
        figure, axes = new_figure(
            f"{topology}: work by node, 1 KB tuples", "node", "tuples handled / mean of the nodes", size=(6.5, 4)
        )
        for k, name in enumerate(("pipeline", "even")):
            loads = np.mean([np.asarray(row) / np.mean(row) for row in mine[f"{name}_by_node"]], axis=0)
            places = np.arange(len(loads)) + 0.4 * k - 0.2
            axes.bar(places, loads, width=0.4, label=LABELS[name], color=SCHEDULER_COLOURS[name])
        axes.axhspan(0.93, 1.07, color=BAND, zorder=0, label="the paper: 7% deviation")
        axes.legend()
        return figure

    return figure


def _balance(topology: str, why: str):
    """Return a judge that shows the mean deviation of the nodes' loads."""

    def judge(runs: Runs) -> Finding:
        mine = cells(runs.frame, topology, tuple_kb=1)
        deviation, default = mine["pipeline_deviation"] * 100, mine["even_deviation"] * 100
        loads = np.mean([np.asarray(row) / np.sum(row) for row in mine["pipeline_by_node"]], axis=0)
        heavy = ", ".join(f"N{j}" for j in np.argsort(-loads, kind="stable")[:3])
        return reported(
            f"mean deviation {deviation.mean():.0f}% (default {default.mean():.0f}%); most loaded nodes {heavy}; "
            f"{int((loads == 0).sum())} nodes without work",
            f"{NO_REGIMES} {why}",
        )

    return judge


claim(
    "PIPE-F12",
    where="Fig. 12",
    statement="random topology, 1 KB tuples: load of the nodes, N3 to N5 more",
    claimed="7% mean deviation",
    amended=amended("at most 10%"),
    experiment=SIMULATION,
    figure=_figure_balance("random"),
)(_balance("random", "The placement fixes the load: nodes 6 to 8 hold one task each, node 5 five."))
claim(
    "PIPE-F13",
    where="Fig. 13",
    statement="linear topology, 1 KB tuples: the nodes are balanced (the text says nine, the set-up eight)",
    claimed="balanced",
    amended=amended("mean deviation at most 10%"),
    experiment=SIMULATION,
    figure=_figure_balance("linear"),
)(_balance("linear", "The placement fixes the load, whatever is simulated."))
