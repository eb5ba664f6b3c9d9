"""Six schemes on Zipf streams: imbalance, memory and hash probes (Nasir et al. 2017, figure 4)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ...claim import Claim, Experiment, Verdict, claims_into
from ...figures import PAPER, new_figure, panels, positive
from .readings import SCHEMES, colour_of, grouping_of, routed

BINS = (10, 100, 1000)
CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="CG", kind="b")


def _grid_zipf(profile):
    exponents = (0.5, 1.0, 1.5, 2.0) if profile == "quick" else tuple(round(0.2 * i, 1) for i in range(1, 11))
    messages = 1_000_000 if profile == "quick" else 10_000_000
    return [
        {"scheme": scheme, "bins": bins, "exponent": z, "messages": messages, "seed": seed}
        for scheme in SCHEMES
        for bins in BINS
        for z in exponents
        for seed in range(2)
    ]


def _zipf(scheme: str, bins: int, exponent: float, messages: int, seed: int) -> dict[str, Any]:
    """Route one Zipf stream by one scheme."""
    from streamlb import Zipf

    return routed(Zipf(100_000, exponent), grouping_of(scheme, bins, seed=seed), messages, seed)


ZIPF = Experiment(
    "cg_zipf", _grid_zipf, _zipf, cost=lambda row: row["messages"] * (3 if row["scheme"] in ("CH", "PoRC") else 1)
)


def _means(runs, column):
    """Return the means over seeds: a row for each (bins, exponent), a column for each scheme."""
    return runs.pivot_table(index=["bins", "exponent"], columns="scheme", values=column, aggfunc="mean")


def _figure_zipf(column, title, y_label, paper=()):
    """Return a figure of one column by skew, with `paper`'s (bins, value) as stars at z = 2."""

    def figure(runs, profile):
        table = _means(runs, column)
        fig, axes = panels(title, [f"{n} virtual workers" for n in BINS], "skew z", [y_label], log_y=True)
        for ax, n in zip(axes[0], BINS):
            for scheme in SCHEMES:
                own = table.loc[n, scheme]
                ax.plot(own.index, positive(own, 1e-7), marker="o", ms=3, color=colour_of(scheme), label=scheme)
            for bins, value in paper:
                if bins == n:
                    ax.plot([2.0], [value], "*", color=PAPER, ms=12, label="paper's axis: KG")
        axes[0, -1].legend(fontsize=7)
        return fig

    return figure


@claim(
    "CG-F4i",
    where="Fig. 4, top",
    statement=(
        "Zipf streams of 100,000 keys on 10, 100 and 1,000 virtual workers, ε = .01: KG and PKG become unbalanced "
        "as skew and virtual workers grow, the others do not."
    ),
    claimed="axes 1e-3..1e1, 1e-2..1e2, 1e-1..1e3",
    criterion=(
        "KG and PKG grow with skew and virtual workers and are ten times the others from z = 1.5; KG at z = 2 "
        "within a factor 2 of 5, 60, 600"
    ),
    experiment=ZIPF,
    figure=_figure_zipf(
        "imbalance", "Imbalance over the mean load", "imbalance / mean", ((10, 5), (100, 60), (1000, 600))
    ),
)
def _judge_zipf_imbalance(runs, profile):
    table = _means(runs, "imbalance")
    top = table.xs(2.0, level="exponent")
    good = table[["PoTC", "PoRC", "CH", "SG"]].max().max()
    skewed = table[table.index.get_level_values("exponent") >= 1.5]
    grows = all(
        top[s].is_monotonic_increasing and table.loc[n, s].iloc[-1] > 10 * max(table.loc[n, s].iloc[0], 1e-3)
        for s in ("KG", "PKG")
        for n in (100, 1000)
    )
    worse = skewed[["KG", "PKG"]].min(axis=1) > 10 * skewed[["PoTC", "PoRC", "CH", "SG"]].max(axis=1)
    near = all(0.5 < top["KG"][n] / value < 2 for n, value in ((10, 5), (100, 60), (1000, 600)))
    return Verdict.when(
        grows and bool(worse.all()) and near,
        "KG at z = 2: " + ", ".join(f"{top['KG'][n]:.3g} ({n})" for n in BINS) + f"; the other four at most {good:.2g}",
        "Imbalance over the mean load: with this normalisation the values fit the printed axes. The largest value "
        "of the four others is PoTC's, SG's or the ε of PoRC and CH plus one message over the mean load.",
    )


@claim(
    "CG-F4m",
    where="Fig. 4, bottom",
    statement=(
        "The same runs: memory, in (key, virtual worker) pairs, rises from KG over PKG, PoRC and CH to PoTC and SG."
    ),
    claimed="KG < PKG < PoRC < CH < PoTC ≈ SG",
    criterion="the order in every cell; PoTC within 10% of SG",
    experiment=ZIPF,
    figure=_figure_zipf("memory", "Memory: (key, virtual worker) pairs over messages", "pairs / message"),
    setup="CH is a ring with one point for each virtual worker.",
)
def _judge_zipf_memory(runs, profile):
    table = _means(runs, "pairs")
    order = ("KG", "PKG", "PoRC", "CH")
    steps = {f"{a} < {b}": (table[a] < table[b]).mean() for a, b in pairwise(order)}
    steps["CH < PoTC"] = (table["CH"] < table["PoTC"]).mean()
    alike = (table["PoTC"] / table["SG"] - 1).abs()
    steps["PoTC ≈ SG"] = (alike <= 0.1).mean()
    flat = table[table.index.get_level_values("exponent") < 1]
    return Verdict.when(
        all(share == 1 for share in steps.values()),
        "holds in " + ", ".join(f"{share:.0%} of cells ({name})" for name, share in steps.items()),
        "Cells are virtual workers × exponents. Where skew is low PoRC spreads keys less than PKG does (PoRC/PKG "
        f"is {float((flat['PoRC'] / flat['PKG']).min()):.2f} at the least below z = 1): a light key leaves its "
        "first worker only when that is full, while PKG always alternates between two. PoTC and SG differ by at "
        f"most {alike.max():.1%}.",
    )


def _figure_probes(runs, profile):
    table = runs[runs["scheme"].isin(("PoRC", "CH"))].pivot_table(
        index="exponent", columns=["scheme", "bins"], values="probes", aggfunc="mean"
    )
    fig, axes = new_figure(
        "Hash probes of PoRC and CH, ε = .01 (not in the paper)", "skew z", "mean probes of a message"
    )
    for (scheme, bins), style in zip(table.columns, ("-", "--", ":") * 2):
        axes.plot(table.index, table[scheme, bins], style, color=colour_of(scheme), label=f"{scheme}, {bins}")
    axes.set_yscale("log")
    axes.legend(fontsize=8)
    return fig


@claim(
    "CG-F4p",
    where="not in the paper",
    statement="The same runs: how many hashes PoRC takes for a message.",
    claimed="not given",
    criterion="report only (probing ends within its limit of 8 probes for each virtual worker)",
    experiment=ZIPF,
    figure=_figure_probes,
)
def _judge_probes(runs, profile):
    own = runs[runs["scheme"] == "PoRC"].groupby(["bins", "exponent"])[["probes", "most_probes"]].max()
    worst = own["probes"].idxmax()
    limit = {n: max(64, 8 * n) for n in BINS}
    inside = all(row["most_probes"] <= limit[bins] for (bins, _), row in own.iterrows())
    return Verdict.when(
        inside,
        f"mean up to {own['probes'].max():.0f} ({worst[0]} virtual workers, z = {worst[1]:g}), most "
        f"{int(own['most_probes'].max()):,}",
        "The paper counts no probes. A hot key finds its first workers full and walks on: at 1,000 virtual workers "
        "hundreds of hashes for each of its messages. Remembering how far a key's sequence is full makes that "
        "cheap; the count is the algorithm's own.",
    )
