"""The real data sets (Nasir et al. 2016, table I, figures 1, 11 and 12).

Zipf streams stand in for them that have what table I says; recorded data may take their place (see
`streamlb.validation.data`).
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ...claim import Claim, Experiment, Seeds, claims_into
from ...data import recorded, trace_of
from ...figures import new_figure, panels, paper_line, positive
from ...judging import Finding, Runs, all_of, at_least, at_most, close_to, exact, finding, mean, printed
from .readings import (
    BOUND,
    FIFTH,
    SCHEME_COLOURS,
    SOURCES,
    build,
    by_profile,
    column,
    hash_seed,
    label,
    route,
    times,
    typical,
)

SCHEMES = ("pkg", "dc_printed", "wc_printed", "dc_default", "wc_default")
DRAWN = SCHEMES[:4]
WORKERS = (5, 10, 20, 50, 100)
LARGE = (50, 100)
READ = ("printed", "default")
# Messages and keys in millions, and the share of the top key.
TABLE_I = {"WP": ("22", "2.9", "9.32%"), "TW": ("1200", "31", "2.67%"), "CT": (".690", ".0029", "3.29%")}
SETUP = (
    "The data sets are private. Stand-ins: Zipf streams with the printed numbers of messages and keys and the printed "
    "top share, as drawn (quick: WP a twentieth, TW 200,000 keys and 10⁶ messages; paper: routed are the first 60 "
    "million of TW's 1.2 G messages). CT's top key leads in every second twentieth of the stream; in the others all "
    "ranks are dealt anew. They test order and shape, not values."
)
CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="DC", kind="c", setup=SETUP)


def _stream(trace: str, full: bool, data: str, seed: int) -> Any:
    """Return a data set's stream; `CT, no drift` has the distribution of its start throughout.

    Recorded data without drift are the same messages in random order.
    """
    from streamlb import Trace, cashtags, twitter, wikipedia

    if data:
        found = trace_of(data)
        return found if trace != "CT, no drift" else Trace(np.random.default_rng(seed).permutation(found.draw()))
    if trace == "WP":
        return wikipedia(1.0 if full else 0.05)
    if trace == "TW":
        return twitter() if full else twitter(200_000, 1_000_000)
    drifting = cashtags(seed=seed)
    return drifting if trace == "CT" else drifting.base


def _size(stream: Any) -> int:
    return min(stream.messages, 60_000_000)


def _table(trace: str, full: bool, data: str, seed: int) -> dict[str, Any]:
    """Draw a stream: its messages, the different keys, and the share of the most frequent one."""
    from streamlb import Trace

    stream = _stream(trace, full, data, seed)
    if isinstance(stream, Trace):
        return {"messages": stream.messages, "keys": stream.keys, "p1": float(stream.pmf[0])}
    seen, top, messages = np.zeros(stream.keys, bool), 0, 0
    for keys in stream.chunks(seed=seed, size=1 << 16):
        seen[keys] = True
        top += int((keys == 0).sum())
        messages += keys.size
    return {"messages": messages, "keys": int(seen.sum()), "p1": top / messages}


def _table_grid(profile: str) -> list[dict[str, Any]]:
    return [{"trace": t, "full": profile == "paper", "data": recorded(t)} for t in TABLE_I]


TABLE = Experiment(
    "dc_table",
    _table_grid,
    _table,
    lambda row: {"WP": 22, "TW": 1200 if row["full"] else 1}.get(row["trace"], 1),
    Seeds(quick=(6, 20), paper=(3, 6)),
)


@claim(
    "DC-TI",
    where="Table I",
    statement="Messages, keys and top share of the data sets.",
    claimed="22M, 2.9M, 9.32%; 1.2G, 31M, 2.67%; 690k, 2.9k, 3.29%",
    criterion=(
        "value: messages, different keys and share of key 0 of the streams that are routed agree with the table (quick: "
        "with the sizes that the set-up says)"
    ),
    amended="Top shares of the distributions, for CT of a stream without the drift.",
    experiment=TABLE,
)
def _judge_table(runs: Runs) -> Finding:
    checks, shown = [], []
    for trace, own in runs.by("trace"):
        messages, keys, p1 = TABLE_I[trace]
        scale = (
            {"WP": (0.05, 0.05), "TW": (1 / 1200, 0.2 / 31)}.get(trace, (1, 1)) if runs.profile == "quick" else (1, 1)
        )
        # How many messages a stream has is set, not drawn.
        found = {"messages": exact(own["messages"].values.mean()), "keys": mean(own["keys"]), "p1": mean(own["p1"])}
        checks += [
            close_to(found["messages"], printed(messages, scale=1e6 * scale[0]), f"{trace}'s messages"),
            close_to(found["keys"], printed(keys, scale=1e6 * scale[1]), f"{trace}'s keys"),
            close_to(found["p1"], printed(p1), f"{trace}'s top share"),
        ]
        shown.append(
            f"{trace} p₁ = {found['p1']:.2%}, {found['messages'].point:,.0f} messages, {found['keys'].point:,.0f} keys"
        )
    return finding("; ".join(shown), value=all_of(checks), note="Fitted to be so; recorded data need not be.")


def _trace(trace: str, n: int, full: bool, data: str, seed: int) -> dict[str, Any]:
    """Route a data set by every scheme: the imbalance at the end and at a hundred checkpoints."""
    stream = _stream(trace, full, data, seed)
    groupings = {name: build(name, n, SOURCES, hash_seed(seed)) for name in SCHEMES}
    out = route(stream, _size(stream), groupings, seed)
    result: dict[str, Any] = {}
    for name in SCHEMES:
        history, windows = np.array(out["history"][name]), np.array(out["windows"][name])
        result[name] = float(history[-1])
        result[f"{name}_early"], result[f"{name}_late"] = float(history[20:40].mean()), float(history[80:].mean())
        result[f"{name}_window"] = float(windows[20:].mean())
        if n == 50:
            result[f"{name}_history"] = windows.tolist() if trace.startswith("CT") else history.tolist()
    return result


def _grid(profile: str) -> list[dict[str, Any]]:
    workers = {
        "WP": WORKERS,
        "TW": by_profile(profile, LARGE, (5, 20, *LARGE)),
        "CT": by_profile(profile, LARGE, WORKERS),
    }
    cells = [(trace, n) for trace, own in {**workers, "CT, no drift": LARGE}.items() for n in own]
    return [{"trace": t, "n": n, "full": profile == "paper", "data": recorded(t[:2])} for t, n in cells]


TRACES = Experiment(
    "dc_traces",
    _grid,
    _trace,
    lambda row: {"WP": 22, "TW": 60}.get(row["trace"], 0.7) * (1 + row["n"] / 100) if row["full"] else 1 + row["n"],
    Seeds(quick=(8, 90), paper=(5, 12)),
)


def _draw(axes, runs, trace: str) -> None:
    """Draw the mean imbalance of the schemes by number of workers."""
    means = runs[runs["trace"] == trace].groupby("n")[list(DRAWN)].mean()
    for name in DRAWN:
        colour = SCHEME_COLOURS[name.removesuffix("_printed")]
        axes.plot(means.index, positive(means[name]), marker="o", ms=3, color=colour, label=label(name))
    paper_line(axes, BOUND, "s ε")
    axes.set_xscale("log")
    axes.set_xticks(means.index, [str(n) for n in means.index])
    axes.minorticks_off()


def _figure_wikipedia(runs, profile):
    figure, axes = new_figure("Imbalance on WP", "workers n", "imbalance I(m)")
    axes.set_yscale("log")
    _draw(axes, runs, "WP")
    axes.legend(fontsize=7)
    return figure


@claim(
    "DC-F1",
    where="Figure 1",
    statement="On WP, PKG is balanced at 5 and 10 workers; from 20 on its imbalance grows and gets close to 10%.",
    claimed="close to 10%",
    criterion=(
        "shape: PKG's imbalance is below 10⁻⁴ at 5 and 10 workers, and rises from 10 to 20 to 50 to 100. "
        "Value: 10% at 100 workers"
    ),
    amended="D-C and W-C in the same criterion, and 10% left out; means of two seeds, now geometric means.",
    experiment=TRACES,
    figure=_figure_wikipedia,
)
def _judge_wikipedia(runs: Runs) -> Finding:
    pkg = {n: own["pkg"] for n, own in runs.where(trace="WP").by("n")}
    return finding(
        "PKG " + ", ".join(f"{typical(sample):.1e} at n = {n}" for n, sample in pkg.items()),
        shape=all_of(
            (at_most(typical(pkg[n]), 1e-4, f"PKG at n = {n}") for n in (5, 10)),
            (
                at_least(times(pkg[b], pkg[a]), 1.0, f"PKG from n = {a} to {b}")
                for a, b in itertools.pairwise(WORKERS[1:])
            ),
        ),
        value=close_to(typical(pkg[100]), printed("10%"), "PKG at n = 100"),
        note="An imbalance close to 10% cannot come from p₁ = 9.32% alone: two workers for each key leave p₁/2 − 1/n = "
        "3.66% at n = 100, or p₁ − 1/n = 8.3% where the key's two hashes coincide.",
    )


@claim(
    "DC-F1d",
    where="Figure 1, text",
    statement="On WP, D-C and W-C have an imbalance smaller than .1% at every scale.",
    claimed="< .1%",
    criterion="value: the imbalance of D-C and of W-C, the geometric mean over seeds, is at most .1% for every n",
    amended="The largest mean of two seeds, in one criterion with PKG.",
    experiment=TRACES,
    readings=READ,
)
def _judge_wikipedia_ours(runs: Runs) -> Finding:
    cells = {
        f"{name}, n = {n}": own[column(scheme, runs.reading)]
        for n, own in runs.where(trace="WP").by("n")
        for name, scheme in (("D-C", "dc"), ("W-C", "wc"))
    }
    found = {name: typical(sample) for name, sample in cells.items()}
    worst = max(found, key=lambda name: found[name].point)
    top = max(cells, key=lambda name: cells[name].values.max())
    return finding(
        f"at most {found[worst]:.1e} ({worst}); the worst seed has {cells[top].values.max():.1e} ({top})",
        value=all_of(at_most(estimate, 1e-3, name) for name, estimate in found.items()),
    )


def _figure_order(runs, profile):
    figure, (all_axes,) = panels(
        "Imbalance by number of workers", ["WP", "TW", "CT"], "workers n", ["imbalance I(m)"], share_y=True, log_y=True
    )
    for axes, trace in zip(all_axes, ("WP", "TW", "CT")):
        _draw(axes, runs, trace)
    all_axes[0].legend(fontsize=7)
    return figure


@claim(
    "DC-F11",
    where="Figure 11",
    statement="PKG is worse at large scale; W-C ≤ D-C < PKG on WP, TW and CT.",
    claimed="order",
    criterion=(
        "shape: at n = 50 and 100, W-C's imbalance is at most 1.2 times D-C's, and PKG's at least 1.2 times D-C's, on each "
        "data set"
    ),
    amended="The order of means of one to four seeds, however small the difference.",
    experiment=TRACES,
    readings=READ,
    figure=_figure_order,
)
def _judge_order(runs: Runs) -> Finding:
    dc, wc = column("dc", runs.reading), column("wc", runs.reading)
    checks, shown = [], []
    for (trace, n), own in runs.where(trace=("WP", "TW", "CT"), n=LARGE).by("trace", "n"):
        gain = times(own["pkg"], own[dc])
        checks.append(at_most(times(own[wc], own[dc]), FIFTH, f"W-C over D-C, {trace}, n = {n}"))
        checks.append(at_least(gain, FIFTH, f"PKG over D-C, {trace}, n = {n}"))
        shown.append(f"{gain:.3g}, {times(own[dc], own[wc]).point:.2g} ({trace}, n = {n})")
    return finding(
        "PKG's imbalance over D-C's, and D-C's over W-C's: " + "; ".join(shown),
        shape=all_of(checks),
        note="Where the top share since the start is below 2/n, d is 2, and D-C as printed is PKG: TW and CT at n = 50.",
    )


def _figure_time(runs, profile):
    traces = ("WP", "TW", "CT", "CT, no drift")
    title = "Imbalance over time, n = 50 (WP, TW: so far; CT: by window)"
    figure, (all_axes,) = panels(title, list(traces), "share of the stream", ["imbalance"], share_y=True, log_y=True)
    for axes, trace in zip(all_axes, traces):
        own = runs[(runs["trace"] == trace) & (runs["n"] == 50)]
        for name in DRAWN:
            values = positive(np.mean(np.array(own[f"{name}_history"].tolist()), axis=0))
            colour = SCHEME_COLOURS[name.removesuffix("_printed")]
            axes.plot(np.linspace(0.01, 1, values.size), values, color=colour, label=label(name))
    all_axes[0].legend(fontsize=7)
    return figure


@claim(
    "DC-F12",
    where="Figure 12",
    statement="The imbalance of PKG, D-C and W-C stays relatively stable throughout the stream.",
    claimed="stable",
    criterion=(
        "shape: for WP, TW and CT, n = 50 and 100, and each scheme the mean imbalance so far in the last fifth of the "
        "stream is at most twice that in the second fifth (geometric mean over seeds)"
    ),
    amended="Largest over least within a factor of 3 after a fifth, n = 50, where a series below 10⁻⁴ counted as "
    "stable; a falling imbalance is no lack of stability, and every series is judged by its own size.",
    experiment=TRACES,
    readings=READ,
    figure=_figure_time,
)
def _judge_time(runs: Runs) -> Finding:
    names = ("pkg", column("dc", runs.reading), column("wc", runs.reading))
    growth = {
        f"{label(name).split(',')[0]}, {trace}, n = {n}": times(own[f"{name}_late"], own[f"{name}_early"])
        for (trace, n), own in runs.where(trace=("WP", "TW", "CT"), n=LARGE).by("trace", "n")
        for name in names
    }
    worst = max(growth, key=lambda name: growth[name].point)
    least = min(growth, key=lambda name: growth[name].point)
    return finding(
        f"from the second to the last fifth of the stream the imbalance so far changes by {growth[least].point:.2f} "
        f"({least}) to {growth[worst]:.2f} times ({worst})",
        shape=all_of(at_most(change, 2.0, f"growth, {name}") for name, change in growth.items()),
    )


@claim(
    "DC-F12d",
    where="Figure 12, text",
    statement="Drift makes CT harder to balance for all methods.",
    claimed="harder",
    criterion=(
        "shape: with drift the mean imbalance of windows of a hundredth of the stream is at least 1.2 times that "
        "without, for PKG, D-C and W-C at n = 50 and 100"
    ),
    amended="One criterion with stability, n = 50, means of four seeds, any difference.",
    experiment=TRACES,
    readings=READ,
)
def _judge_drift(runs: Runs) -> Finding:
    names = ("pkg", column("dc", runs.reading), column("wc", runs.reading))
    checks, shown = [], []
    for n in LARGE:
        drift, still = (runs.where(trace=trace, n=n) for trace in ("CT", "CT, no drift"))
        for name in names:
            a, b = drift[f"{name}_window"], still[f"{name}_window"]
            scheme = label(name).split(",")[0]
            checks.append(at_least(times(a, b), FIFTH, f"{scheme} with drift, n = {n}"))
            shown.append(f"{times(a, b):.2f} ({scheme}, n = {n})")
    return finding(
        "drift multiplies the imbalance of a window by " + ", ".join(shown),
        shape=all_of(checks),
        note="Without drift the ranks of the start hold throughout. After the first fifth of the stream.",
    )
