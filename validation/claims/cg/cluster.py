"""A cluster of 24 workers: throughput at saturation and memory, on the stand-in for Twitter.

Nasir et al. 2017, abstract and section VI-B, question Q3 with figures 12 and 13.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from streamlb.analysis import saturated_throughput

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import COLOURS, PAPER, new_figure, paper_line
from ...judging import (
    Estimate,
    Finding,
    Runs,
    all_of,
    at_most,
    close_to,
    finding,
    greater,
    less,
    mean,
    not_applicable,
    printed,
    ratio,
)
from .readings import CONTROLS, LATE, MINUTE, by_profile, colour_of, consistent, grouping_of, option, times

WORKERS, SOURCES = 24, 8
OTHERS = ("KG", "PKG", "SG")
SCHEMES = (*OTHERS, "CG")
DELAYS = (0.1, 0.2, 0.5, 1.0)  # milliseconds that a worker takes for a message
SLOW = (0, 1)  # the workers at 30% of a CPU
READ = ("printed", "lru", "queue")
# A slot gives each worker as many messages as a minute of the Wikipedia log does ten workers.
SLOT = WORKERS * MINUTE / 10
LACKS = (
    "The model has no network, no sources that block, no aggregation and no latency: at saturation each worker takes a "
    "fixed share, and the fullest sets the pace."
)
SIMULATED = (
    "No Storm cluster: a worker serves a message in the added delay, and the system runs as fast as its fullest "
    "worker lets it (saturation), from the shares of messages that each grouping gives in the second half of the "
    "stream. Zipf stands in for the tweets (500,000 keys and 2.5M messages in the quick profile, 31M keys and 60M "
    "messages in the other); time slots of 1,528 messages a worker for CG's signals, at 80% load."
)
CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="CG", kind="c", setup=SIMULATED)


def twitter(profile: str):
    """Return the stand-in for the tweets, in the size that belongs to the profile."""
    import streamlb

    return streamlb.twitter(*by_profile(profile, (500_000, 2_500_000), (31_000_000, 60_000_000)))


def _grid(profile):
    rows: list[dict[str, Any]] = [{"scheme": scheme, "control": None} for scheme in OTHERS]
    rows += [{"scheme": "CG", "control": option(reading, "control")} for reading in READ]
    return [{**row, "slow": slow, "profile": profile} for row in rows for slow in (False, True)]


def _cluster(scheme: str, control: str | None, slow: bool, profile: str, seed: int) -> dict[str, Any]:
    """Simulate at 80% load, so that signals settle, and return the throughput at saturation.

    The shares of messages in the second half are taken as those of the saturated system. Memory is
    counted on equal workers.
    """
    from streamlb import KeyFootprint, simulate_capacity

    stream = twitter(profile)
    capacities = np.ones(WORKERS)
    if slow:
        capacities[list(SLOW)] = 0.3
    if control is None:
        grouping, monitor = grouping_of(scheme, WORKERS, sources=SOURCES, seed=seed), "utilisation"
    else:
        grouping = consistent(WORKERS, 10, control, sources=SOURCES, seed=seed)
        monitor = CONTROLS[control].get("monitor", "utilisation")
    slots = max(4, round(stream.messages / SLOT))
    result = simulate_capacity(stream, grouping, capacities, slots=slots, monitor=monitor, seed=seed, keep_workers=True)
    assert result.workers is not None
    late = np.bincount(result.workers[int(LATE * stream.messages) :], minlength=WORKERS)
    shares = late / late.sum()
    pairs = 0
    if not slow:
        footprint, start = KeyFootprint(stream.keys, WORKERS), 0
        for keys in stream.chunks(stream.messages, seed):
            footprint.add(keys, result.workers[start : start + keys.size])
            start += keys.size
        pairs = footprint.pairs
    return {
        "throughput": saturated_throughput(shares, capacities),
        "largest_share": float(shares.max()),
        "pairs": pairs,
    }


CLUSTER = Experiment("cg_cluster", _grid, _cluster, seeds=Seeds(quick=(10, 120), paper=(5, 30)))


def _by_scheme(runs: Runs, slow: bool, column: str):
    """Return a column by scheme; CG's is that under the reading, or to the letter."""
    control = option(runs.reading, "control", "printed")
    own = runs.where(runs.frame["control"].isna() | (runs.frame["control"] == control))
    return {scheme: part[column] for scheme, part in own.where(slow=slow).by("scheme")}


def _throughputs(runs: Runs, slow: bool):
    """Return the throughput of each scheme, in messages in the time that one takes to serve."""
    return _by_scheme(runs, slow, "throughput")


def _rates_text(rates, best: str) -> str:
    return (
        "messages in the time that one takes to serve: "
        + ", ".join(f"{scheme} {mean(rates[scheme]):.1f}" for scheme in SCHEMES)
        + f" ({best} at best)"
    )


def _headline(frame):
    """Return the rows that figures show: CG to the letter."""
    return frame[frame["control"].isna() | (frame["control"] == "printed")]


@claim(
    "CG-A1",
    where="abstract, VIII",
    statement="CG is 3.44 times better than KG in latency.",
    claimed="3.44 (latency; throughput in VI)",
    criterion=(
        "value: 3.44 within a fifth of the effect (2.95 to 3.93). Latency cannot be had from the shares of messages; "
        "read as throughput, as in section VI, it is that of two slow workers (CG-F13)"
    ),
    amended="The throughput ratio within 2.5 to 4.5, printed as latency too.",
    experiment=CLUSTER,
    readings=("latency", "throughput"),
)
def _judge_abstract(runs: Runs) -> Finding:
    rates = _throughputs(runs, True)
    gain = times(rates["CG"], rates["KG"])
    note = (
        "The paper contradicts itself: 3.44 is latency in the abstract, the introduction and the conclusion, and "
        "throughput in section VI, where latency is 2."
    )
    if runs.reading == "latency":
        return not_applicable(f"latency is not simulated; throughput {gain:.2f} times KG's", note)
    return finding(
        f"throughput {gain:.2f} times KG's", value=close_to(gain, printed("3.44", neutral=1.0)), note=f"{note} {LACKS}"
    )


def _figure_memory(runs, profile):
    runs = _headline(runs)
    pairs = runs[~runs["slow"]].groupby("scheme")["pairs"].mean()[list(SCHEMES)]
    fig, axes = new_figure("Memory over KG's", "grouping", "memory over KG's")
    x = np.arange(len(SCHEMES))
    axes.bar(x - 0.2, pairs / pairs["KG"], 0.4, color=COLOURS[0], label="(key, worker) pairs, measured")
    axes.bar(x + 0.2, np.array([7, 8.5, 14, 8.5]) / 7, 0.4, color=PAPER, label="paper: memory of the cluster")
    axes.set_xticks(x, SCHEMES)
    axes.legend(fontsize=8)
    return fig


def _memory(runs: Runs):
    """Return the pairs of each scheme, and the text that says them over KG's."""
    pairs = _by_scheme(runs, False, "pairs")
    text = "pairs over KG's: " + ", ".join(f"{s} {ratio(pairs[s], pairs['KG']):.2f}" for s in SCHEMES)
    return pairs, text


def _excess(pairs, scheme: str) -> Estimate:
    """Return what a scheme needs above KG over what PKG needs above KG."""
    above, below = pairs[scheme] - pairs["KG"], pairs["PKG"] - pairs["KG"]
    if below.values.mean() > 0:
        return ratio(above, below)
    # Anything may be.
    return Estimate(0.0, lambda alpha: (-np.inf, np.inf), len(below), above.cells | below.cells)


MEMORY_NOTE = (
    "The paper's percentages are of the whole cluster's memory, of which keys are a part that the text does not give. "
    "What is held against them are ratios of differences to KG, in which that part cancels."
)


@claim(
    "CG-M",
    where="VI-B, Q3",
    statement="Memory on 24 equal workers with 8 sources: least for KG, most for SG, PKG and CG alike between them.",
    claimed="7%, 8.5%, 14%, 8.5% of the cluster's memory (KG, PKG, SG, CG)",
    criterion=(
        "shape: pairs of PKG and CG above KG's and below SG's. Value: what CG needs above KG is what PKG needs above KG "
        "(8.5 - 7 points both), within a fifth"
    ),
    amended="PKG's pairs within 10% of CG's, for slots of 145 messages a worker.",
    experiment=CLUSTER,
    readings=READ,
    figure=_figure_memory,
)
def _judge_memory(runs: Runs) -> Finding:
    pairs, text = _memory(runs)
    more = _excess(pairs, "CG")
    return finding(
        f"{text}; CG's excess over PKG's {more:.2f} (paper 1)",
        shape=all_of(
            part
            for scheme in ("PKG", "CG")
            for part in (
                greater(pairs[scheme], pairs["KG"], f"{scheme} above KG"),
                less(pairs[scheme], pairs["SG"], f"{scheme} below SG"),
            )
        ),
        value=close_to(more, printed("1.0"), "CG's excess over PKG's"),
        note=MEMORY_NOTE,
    )


@claim(
    "CG-Ms",
    where="VI-B, Q3",
    statement="24 equal workers: SG takes 14% of the cluster's memory where PKG takes 8.5% and KG 7%.",
    claimed="(14 - 7)/(8.5 - 7) = 4.67",
    criterion="value: what SG needs above KG is 4.67 times what PKG needs above KG, within a fifth",
    experiment=CLUSTER,
    figure=_figure_memory,
)
def _judge_shuffled_memory(runs: Runs) -> Finding:
    pairs, text = _memory(runs)
    more = _excess(pairs, "SG")
    return finding(
        f"SG's excess over PKG's {more:.2f}; {text}",
        value=close_to(more, printed("4.67"), "SG's excess over PKG's"),
        note=MEMORY_NOTE,
    )


def _figure_equal(runs, profile):
    own = _headline(runs)
    mean_of = own[~own["slow"]].groupby("scheme")["throughput"].mean()
    fig, axes = new_figure("Throughput at saturation, 24 equal workers", "delay a message (ms)", "messages a second")
    for scheme in SCHEMES:
        rates = [1000 * mean_of[scheme] / d for d in DELAYS]
        axes.plot(DELAYS, rates, marker="o", color=colour_of(scheme), label=scheme)
    axes.plot(
        DELAYS,
        [24_000 / d for d in DELAYS],
        color=PAPER,
        ls="--",
        label="all workers full (PKG, SG and CG in the paper)",
    )
    axes.set(xscale="log", yscale="log")
    axes.legend(fontsize=8)
    return fig


@claim(
    "CG-F12",
    where="Fig. 12",
    statement="24 equal workers, 8 sources, .1 to 1 ms a message: PKG, SG and CG are above KG in throughput.",
    claimed="PKG, SG, CG > KG",
    criterion="shape: the throughput at saturation of each is above KG's",
    experiment=CLUSTER,
    readings=READ,
    figure=_figure_equal,
)
def _judge_equal(runs: Runs) -> Finding:
    rates = _throughputs(runs, False)
    return finding(
        _rates_text(rates, "24"),
        shape=all_of(greater(rates[scheme], rates["KG"], f"{scheme} above KG") for scheme in ("PKG", "SG", "CG")),
        note=f"The order is the same for every delay: at saturation throughput is this number over the delay. {LACKS}",
    )


def _figure_slow(runs, profile):
    own = _headline(runs)
    table = own[own["slow"]].pivot_table(index="seed", columns="scheme", values="throughput")[list(SCHEMES)]
    over = table.div(table["KG"].mean())
    fig, axes = new_figure("Two of 24 workers at 30%", "grouping", "throughput over KG's")
    axes.bar(SCHEMES, over.mean(), yerr=over.sem(), color=COLOURS[0], capsize=3, label="measured")
    paper_line(axes, 3.44, "paper: CG 3.44")
    axes.legend(fontsize=8)
    return fig


@claim(
    "CG-F13",
    where="Fig. 13",
    statement="Two of the 24 workers at 30% of their CPU: CG has the best throughput, up to 3.44 times KG's.",
    claimed="3.44",
    criterion=(
        "shape: CG's throughput at saturation is above KG's, PKG's and SG's. Value: 3.44 times KG's, within a fifth of "
        "the effect (2.95 to 3.93)"
    ),
    amended="CG over KG within 2.5 to 4.5, for slots of 145 messages a worker; a ratio of means, now a geometric mean.",
    experiment=CLUSTER,
    readings=READ,
    figure=_figure_slow,
)
def _judge_slow(runs: Runs) -> Finding:
    rates = _throughputs(runs, True)
    gain = times(rates["CG"], rates["KG"])
    return finding(
        f"throughput of CG over KG's {gain:.2f}; {_rates_text(rates, '22.6')}",
        shape=all_of(greater(rates["CG"], rates[scheme], f"CG above {scheme}") for scheme in OTHERS),
        value=close_to(gain, printed("3.44", neutral=1.0), "CG over KG"),
        note=LACKS,
    )


@claim(
    "CG-F13l",
    where="Fig. 13",
    statement="Two of the 24 workers at 30% of their CPU: CG's end-to-end latency is up to 2 times better than KG's.",
    claimed="2 (latency; 3.44 in the abstract)",
    criterion="latency cannot be had from the shares of messages: it needs a simulator of the whole topology",
    experiment=CLUSTER,
)
def _judge_slow_latency(runs: Runs) -> Finding:
    rates = _throughputs(runs, True)
    return not_applicable(
        f"latency is not simulated; throughput {times(rates['CG'], rates['KG']):.2f} times KG's", LACKS
    )


@claim(
    "CG-A1t",
    where="I",
    statement="CG improves throughput over KG by up to 2 times on real data.",
    claimed="up to 2 (3.44 in VI)",
    criterion="value: the throughput ratio is at most 2, within a fifth of the effect (2.2), on equal and on slow workers",
    experiment=CLUSTER,
    readings=READ,
)
def _judge_introduction(runs: Runs) -> Finding:
    gains = {}
    for slow, name in ((False, "equal workers"), (True, "two slow ones")):
        rates = _throughputs(runs, slow)
        gains[name] = times(rates["CG"], rates["KG"])
    return finding(
        "throughput over KG's: " + ", ".join(f"{gain:.2f} ({name})" for name, gain in gains.items()),
        value=all_of(at_most(gain, printed("2", neutral=1.0), f"on {name}") for name, gain in gains.items()),
        note="The introduction has 2 for throughput and 3.44 for latency, section VI the other way round.",
    )
