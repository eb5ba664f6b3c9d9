"""What follows from the distribution of keys alone (Nasir et al. 2016, sections I, III-A and IV).

The head, the number of choices and the estimated memory, computed from the Zipf shares (figures 3
to 6); nothing is routed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from streamlb.analysis import head_size, memory_cost, min_choices, zipf_shares

from ...claim import Claim, Experiment, Verdict, claims_into
from ...figures import COLOURS, OURS, SECOND, new_figure, paper_line
from .readings import EPSILON, SKEWS, by_profile

MESSAGES = 10_000_000
WORKERS = (5, 10, 50, 100)
CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="DC", kind="a")


def _head_by_formula(keys: int, z: float, theta: float) -> int:
    """Return the size of the head in closed form.

    The k-th key is hot while k**-z >= theta * sum, that is, while k <= (theta * sum)**(-1/z).
    """
    total = math.fsum(k**-z for k in range(1, keys + 1))
    if theta * total > 1:
        return 0
    size = min(keys, int((theta * total) ** (-1 / z)) + 2)
    while size > 0 and size**-z < theta * total:
        size -= 1
    return size


def _distribution(z: float, n: int, keys: int) -> dict[str, Any]:
    """Compute the head, the number of choices and the memory of each scheme."""
    p = zipf_shares(keys, z)
    low, high = 0.2 / n, 2 / n
    d = min_choices(p, n, low, EPSILON)
    memory = {s: memory_cost(p, MESSAGES, n, s, d=d if s == "D-C" else None) for s in ("PKG", "SG", "D-C", "W-C")}
    return {
        "p1": float(p[0]),
        "head": head_size(p, low),
        "head_high": head_size(p, high),
        "head_formula": _head_by_formula(keys, z, low),
        "head_high_formula": _head_by_formula(keys, z, high),
        "d": d,
        "d_ends": min_choices(p, n, low, EPSILON, prefixes="ends"),
        "d_distinct": min_choices(p, n, low, EPSILON, candidates="distinct"),
        "start": max(2, math.ceil(p[0] * n)),
        "dc_over_pkg": memory["D-C"] / memory["PKG"] - 1,
        "wc_over_pkg": memory["W-C"] / memory["PKG"] - 1,
        "dc_under_sg": 1 - memory["D-C"] / memory["SG"],
        "wc_under_sg": 1 - memory["W-C"] / memory["SG"],
    }


def _distribution_grid(profile: str) -> list[dict[str, Any]]:
    keys = by_profile(profile, (10_000,), (10_000, 100_000, 1_000_000))
    return [{"z": z, "n": n, "keys": k} for k in keys for z in SKEWS for n in WORKERS]


DISTRIBUTION = Experiment("dc_distribution", _distribution_grid, _distribution, lambda row: row["keys"])


def _small(runs):
    """Return the runs of the paper's key space in figures 3 to 6."""
    return runs[runs["keys"] == 10_000]


def _top_share(runs) -> float:
    """Return the share of the most frequent key under z = 2."""
    own = _small(runs)
    return float(own[own["z"] == 2.0]["p1"].iloc[0])


@claim(
    "DC-I1",
    where="I",
    statement="Under Zipf with z = 2 the most frequent key has nearly 60% of all messages.",
    claimed="nearly 60%",
    criterion=".58 ≤ p₁ ≤ .62",
    experiment=DISTRIBUTION,
)
def _judge_p1(runs, profile) -> Verdict:
    p1 = _top_share(runs)
    return Verdict.when(0.58 <= p1 <= 0.62, f"p₁ = {p1:.4f}", "1/ζ(2) = 0.6079 in the limit of many keys.")


@claim(
    "DC-I2",
    where="I",
    statement="With z = 2, PKG cannot balance more than three workers.",
    claimed="n > 3",
    criterion="p₁ > 2/n exactly for n ≥ 4",
    experiment=DISTRIBUTION,
)
def _judge_three_workers(runs, profile) -> Verdict:
    p1 = _top_share(runs)
    beyond = [n for n in range(1, 101) if p1 > 2 / n]
    return Verdict.when(
        beyond == list(range(4, 101)),
        f"p₁ > 2/n from n = {min(beyond)} on (2/p₁ = {2 / p1:.2f})",
        "Checked for n up to 100.",
    )


@claim(
    "DC-T2",
    where="III-A",
    statement="The head has at most 5n keys, reached by 5n equal keys.",
    claimed="5n",
    criterion="|H| ≤ 1/θ in every setting",
    experiment=DISTRIBUTION,
)
def _judge_head_limit(runs, profile) -> Verdict:
    worst = (runs["head"] / (5 * runs["n"])).max()
    uniform = [head_size(np.full(5 * n, 1 / (5 * n)), 1 / (5 * n)) == 5 * n for n in WORKERS]
    return Verdict.when(
        bool(worst <= 1 and all(uniform)),
        f"|H| = 5n for 5n equal keys; at most {worst:.2f} of 5n for Zipf keys",
        "|H| θ ≤ 1 in any distribution, since the shares sum to 1.",
    )


def _figure_head(runs, profile):
    own = _small(runs)
    figure, axes = new_figure("Keys in the head, Zipf, 10,000 keys", "skew z", "keys in the head")
    for n, colour in ((50, OURS), (100, SECOND)):
        curve = own[own["n"] == n].sort_values("z")
        axes.plot(curve["z"], curve["head"], color=colour, marker="o", ms=3, label=f"n = {n}, θ = 1/5n")
        axes.plot(curve["z"], curve["head_high"], color=colour, ls="--", marker="s", ms=3, label=f"n = {n}, θ = 2/n")
    axes.legend(fontsize=8)
    return figure


@claim(
    "DC-F3",
    where="Figure 3",
    statement="The number of keys in the head is small; it rises with the skew, then falls.",
    claimed="a curve (values lost)",
    criterion="exact integers from the pmf; every curve rises, then falls",
    experiment=DISTRIBUTION,
    figure=_figure_head,
)
def _judge_head_curve(runs, profile) -> Verdict:
    own = _small(runs)[_small(runs)["n"].isin([50, 100])]
    exact = bool((own["head"] == own["head_formula"]).all() and (own["head_high"] == own["head_high_formula"]).all())
    shapes = []
    for _, curve in own.sort_values("z").groupby("n"):
        for column in ("head", "head_high"):
            values = curve[column].to_numpy()
            peak = values.argmax()
            shapes.append(bool((np.diff(values[: peak + 1]) >= 0).all() and (np.diff(values[peak:]) <= 0).all()))
    return Verdict.when(
        exact and all(shapes),
        f"at most {own['head'].max()} keys for θ = 1/5n, {own['head_high'].max()} for θ = 2/n; every curve rises, "
        "then falls",
        "Counted from the pmf and by the closed form: the same integers.",
    )


def _cells(rows) -> str:
    """Name the first few settings in which an inner prefix asks for more choices."""
    return ", ".join(f"z = {r.z:g}, n = {r.n} (d {r.d_ends} → {r.d})" for r in rows.head(4).itertuples()) + (
        " ..." if len(rows) > 4 else ""
    )


@claim(
    "DC-C1",
    where="IV-A",
    statement="The tight constraints are those of the first key and of the whole head.",
    claimed="h = 1 and h = |H|",
    criterion="the same d from these two as from all prefixes",
    experiment=DISTRIBUTION,
)
def _judge_ends(runs, profile) -> Verdict:
    differing = runs[runs["d"] != runs["d_ends"]]
    return Verdict.when(
        differing.empty,
        f"{len(runs) - len(differing)} of {len(runs)} settings have the same d from h = 1 and h = |H| as from all "
        "prefixes",
        ""
        if differing.empty
        else "An inner prefix binds for " + _cells(differing) + "; here all prefixes are checked.",
    )


@claim(
    "DC-C2",
    where="IV-A",
    statement="The search for d starts at p₁n; d ≥ n means W-Choices.",
    claimed="rule",
    criterion="max(2, ⌈p₁n⌉) ≤ d ≤ n",
    experiment=DISTRIBUTION,
)
def _judge_start(runs, profile) -> Verdict:
    headed = runs[runs["head"] > 0]
    holds = bool((headed["d"] >= np.minimum(headed["start"], headed["n"])).all() and (runs["d"] <= runs["n"]).all())
    return Verdict.when(
        holds,
        f"d between max(2, ⌈p₁n⌉) and n in all {len(headed)} settings with a head; "
        f"{(headed['d'] == headed['n']).sum()} reach n",
        "Where no d below n meets the condition, d = n stands for W-Choices.",
    )


def _figure_fraction(runs, profile):
    own = _small(runs)
    figure, axes = new_figure("Share of the workers that D-Choices gives a hot key", "skew z", "d / n")
    for n, colour in zip(WORKERS, COLOURS):
        curve = own[own["n"] == n].sort_values("z")
        axes.plot(curve["z"], curve["d"] / n, color=colour, marker="o", ms=3, label=f"n = {n}")
        axes.plot(curve["z"], curve["d_distinct"] / n, color=colour, ls=":", label=f"n = {n}, distinct workers")
    paper_line(axes, 1.0, "all workers")
    axes.legend(fontsize=7, ncol=2)
    return figure


@claim(
    "DC-F4",
    where="Figure 4",
    statement="With 50 and 100 workers d is always below n.",
    claimed="d < n",
    criterion="d < n for every skew",
    experiment=DISTRIBUTION,
    figure=_figure_fraction,
)
def _judge_fraction(runs, profile) -> Verdict:
    own = _small(runs)
    large = own[own["n"] >= 50]
    return Verdict.when(
        bool((large["d"] < large["n"]).all()),
        f"largest d: {own[own['n'] == 50]['d'].max()} of 50, {own[own['n'] == 100]['d'].max()} of 100",
        "With 5 and 10 workers d = n is reached from z = "
        f"{own[(own['d'] == own['n']) & (own['n'] <= 10)]['z'].min():g} on.",
    )


@claim(
    "DC-M3",
    where="IV-B",
    statement="D-C never needs more memory than W-C, and never less than PKG.",
    claimed="PKG ≤ D-C ≤ W-C",
    criterion="order of the estimates in every setting",
    experiment=DISTRIBUTION,
)
def _judge_memory_order(runs, profile) -> Verdict:
    holds = bool((runs["dc_over_pkg"] >= 0).all() and (runs["dc_over_pkg"] <= runs["wc_over_pkg"] + 1e-12).all())
    return Verdict.when(holds, f"PKG ≤ D-C ≤ W-C in all {len(runs)} settings", "2 ≤ d ≤ n, key by key.")


def _figure_memory(columns, title, y_label, value, text):
    """Return a figure of two columns in percent, with the paper's value as a line."""

    def figure(runs, profile):
        own = _small(runs)
        fig, axes = new_figure(title, "skew z", y_label)
        for n, colour in ((50, OURS), (100, SECOND)):
            curve = own[own["n"] == n].sort_values("z")
            for column, style, name in zip(columns, ("-", "--"), ("D-C", "W-C")):
                axes.plot(
                    curve["z"], 100 * curve[column], color=colour, ls=style, marker="o", ms=3, label=f"{name}, n = {n}"
                )
        paper_line(axes, value, text)
        axes.legend(fontsize=8)
        return fig

    return figure


def _first_peak(values: np.ndarray) -> float:
    """Return the value after which a curve falls for the first time; its last if it never does."""
    falls = np.flatnonzero(np.diff(values) < -1e-9)
    return float(values[falls[0]] if falls.size else values[-1])


@claim(
    "DC-F5",
    where="Figure 5",
    statement=(
        "D-C and W-C need at most 30% more memory than PKG, W-C at n = 100 up to 25%; D-C less than W-C at "
        "moderate skew, the same at high skew."
    ),
    claimed="30%; 25%",
    criterion="at most 30%; W-C at n = 100 up to 25 ± 1%; D-C below W-C for z = .8 to 1.4; within 2% at z = 2",
    experiment=DISTRIBUTION,
    figure=_figure_memory(
        ("dc_over_pkg", "wc_over_pkg"), "Memory over PKG (estimate)", "more than PKG (%)", 30, "the paper: at most 30%"
    ),
)
def _judge_memory_pkg(runs, profile) -> Verdict:
    own = _small(runs)[_small(runs)["n"] >= 50]
    worst = own[["dc_over_pkg", "wc_over_pkg"]].max().max()
    curve = own[own["n"] == 100].sort_values("z")["wc_over_pkg"].to_numpy()
    bump, most = _first_peak(curve), curve.max()
    moderate = own[(own["z"] >= 0.8) & (own["z"] <= 1.4)]
    less = bool((moderate["dc_over_pkg"] < moderate["wc_over_pkg"]).all())
    top = own[own["z"] == 2.0]
    close = float((top["wc_over_pkg"] - top["dc_over_pkg"]).max())
    return Verdict.when(
        bool(worst <= 0.30 and 0.24 <= most <= 0.26 and less and close < 0.02),
        f"at most {worst:.1%} over PKG; W-C at n = 100 up to {most:.1%}; at z = 2 the two are {close:.1%} of PKG apart",
        "Expected occurrences f = p m with m = 10⁷, each key on min(f, choices) workers. At the bump, where the "
        f"head is largest (z about 1), W-C at n = 100 needs {bump:.1%} more, the paper's number; but its curve "
        f"rises again, to {curve[-1]:.1%} at z = 2, because PKG itself needs less there: many keys occur less than "
        "twice.",
    )


@claim(
    "DC-F6",
    where="Figure 6",
    statement="D-C and W-C need at least 80% less memory than SG.",
    claimed="80%",
    criterion="at least 79.5% (rounding)",
    experiment=DISTRIBUTION,
    figure=_figure_memory(
        ("dc_under_sg", "wc_under_sg"),
        "Memory saved against SG (estimate)",
        "less than SG (%)",
        80,
        "the paper: at least 80%",
    ),
)
def _judge_memory_sg(runs, profile) -> Verdict:
    own = _small(runs)[_small(runs)["n"] >= 50]
    least = own[["dc_under_sg", "wc_under_sg"]].min().min()
    at = own.loc[own["wc_under_sg"].idxmin()]
    return Verdict.when(
        bool(least >= 0.795),
        f"at least {least:.1%} less than SG (worst at n = {at.n:g}, z = {at.z:g})",
        "The least saving is where few keys occur often enough to reach every worker under SG.",
    )
