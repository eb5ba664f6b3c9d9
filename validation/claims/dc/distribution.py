"""What follows from the distribution of keys alone (Nasir et al. 2016, sections I, III-A and IV).

The head, the number of choices and the estimated memory, computed from the Zipf shares (figures 3
to 6); nothing is routed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from streamlb.analysis import choices_feasible, head_size, memory_cost, min_choices, zipf_shares

from ...claim import Claim, Experiment, claims_into
from ...figures import COLOURS, OURS, SECOND, new_figure, paper_line
from ...judging import Finding, Runs, all_of, at_least, at_most, between, exact, finding, never, printed
from .readings import EPSILON, READINGS, SKEWS, by_profile

MESSAGES = 10_000_000
WORKERS = (5, 10, 50, 100)
COUNTS = ("drawn", "expected")
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
    size = head_size(p, low)
    head = p[: max(1, size)]  # the condition needs no more of the tail than its sum
    d = min_choices(head, n, low, EPSILON)
    start = max(2, math.ceil(p[0] * n))
    result = {
        "p1": float(p[0]),
        "head": size,
        "head_high": head_size(p, high),
        "head_formula": _head_by_formula(keys, z, low),
        "head_high_formula": _head_by_formula(keys, z, high),
        "d": d,
        "d_ends": min_choices(head, n, low, EPSILON, prefixes="ends"),
        "d_distinct": min_choices(head, n, low, EPSILON, candidates="distinct"),
        "start": start,
        "skipped": sum(choices_feasible(head, n, lesser, low, EPSILON) for lesser in range(2, start)) if size else 0,
    }
    for counts in COUNTS:
        memory = {
            scheme: memory_cost(p, MESSAGES, n, scheme, d=d if scheme == "D-C" else None, counts=counts)
            for scheme in ("PKG", "SG", "D-C", "W-C")
        }
        for scheme, name in (("D-C", "dc"), ("W-C", "wc")):
            result[f"{name}_over_pkg_{counts}"] = memory[scheme] / memory["PKG"] - 1
            result[f"{name}_under_sg_{counts}"] = 1 - memory[scheme] / memory["SG"]
    return result


def _distribution_grid(profile: str) -> list[dict[str, Any]]:
    keys = by_profile(profile, (10_000,), (10_000, 100_000, 1_000_000))
    return [{"z": z, "n": n, "keys": k} for k in keys for z in SKEWS for n in WORKERS]


DISTRIBUTION = Experiment("dc_distribution", _distribution_grid, _distribution, lambda row: row["keys"] * row["n"])


def _small(runs):
    """Return the runs of the paper's key space in figures 3 to 6."""
    return runs[runs["keys"] == 10_000]


def _top_share(runs: Runs) -> float:
    """Return the share of the most frequent key under z = 2."""
    return float(runs.where(keys=10_000, z=2.0).frame["p1"].iloc[0])


@claim(
    "DC-I1",
    where="I",
    statement="Under Zipf with z = 2 the most frequent key has nearly 60% of all messages.",
    claimed="nearly 60%",
    criterion="value: .58 ≤ p₁ ≤ .62",
    experiment=DISTRIBUTION,
)
def _judge_p1(runs: Runs) -> Finding:
    p1 = _top_share(runs)
    return finding(
        f"p₁ = {p1:.4f}", value=between(exact(p1), 0.58, 0.62), note="1/ζ(2) = 0.6079 in the limit of many keys."
    )


@claim(
    "DC-I2",
    where="I",
    statement="With z = 2, PKG cannot balance more than three workers.",
    claimed="n > 3",
    criterion="value: p₁ > 2/n exactly for n ≥ 4, n up to 100",
    experiment=DISTRIBUTION,
)
def _judge_three_workers(runs: Runs) -> Finding:
    p1 = _top_share(runs)
    beyond = {n for n in range(1, 101) if p1 > 2 / n}
    return finding(
        f"p₁ > 2/n from n = {min(beyond, default=101)} on (2/p₁ = {2 / p1:.2f})",
        value=never(len(beyond ^ set(range(4, 101))), 100),
    )


@claim(
    "DC-T2",
    where="III-A",
    statement="The head has at most 5n keys, reached by 5n equal keys.",
    claimed="5n",
    criterion="value: |H| ≤ 5n in every setting, and |H| = 5n for 5n equal keys",
    experiment=DISTRIBUTION,
)
def _judge_head_limit(runs: Runs) -> Finding:
    share = runs.frame["head"] / (5 * runs.frame["n"])
    uniform = [head_size(np.full(5 * n, 1 / (5 * n)), 1 / (5 * n)) != 5 * n for n in WORKERS]
    return finding(
        f"|H| = 5n for 5n equal keys in {len(uniform) - sum(uniform)} of {len(uniform)} cases; at most "
        f"{share.max():.2f} of 5n for Zipf keys",
        value=never(int((share > 1).sum()) + sum(uniform), len(runs) + len(uniform)),
        note="|H| θ ≤ 1 in any distribution, since the shares sum to 1: what is counted are rounding and the code.",
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
    criterion=(
        "shape: the curves of n = 50 and 100 and both thresholds rise, then fall; counted from the pmf and by the "
        "closed form the integers are the same"
    ),
    experiment=DISTRIBUTION,
    figure=_figure_head,
)
def _judge_head_curve(runs: Runs) -> Finding:
    own = runs.where(keys=10_000, n=[50, 100]).frame
    differing = int(((own["head"] != own["head_formula"]) | (own["head_high"] != own["head_high_formula"])).sum())
    bent = 0
    for _, curve in own.sort_values("z").groupby("n"):
        for column in ("head", "head_high"):
            steps, top = np.diff(curve[column]), int(curve[column].to_numpy().argmax())
            bent += bool((steps[:top] < 0).any() or (steps[top:] > 0).any() or top in (0, steps.size))
    return finding(
        f"at most {own['head'].max()} keys for θ = 1/5n, {own['head_high'].max()} for θ = 2/n; {4 - bent} of 4 curves "
        f"rise, then fall; the closed form gives the same integer in {len(own) - differing} of {len(own)} settings",
        shape=all_of(never(bent, 4, "curves that do not rise, then fall"), never(differing, len(own))),
    )


@claim(
    "DC-C1",
    where="IV-A",
    statement="The tight constraints are those of the first key and of the whole head.",
    claimed="h = 1 and h = |H|",
    criterion="shape: the same d from these two as from all prefixes, in every setting",
    experiment=DISTRIBUTION,
)
def _judge_ends(runs: Runs) -> Finding:
    frame = runs.frame
    differing = frame[frame["d"] != frame["d_ends"]]
    cells = ", ".join(f"z = {r.z:g}, n = {r.n} (d {r.d_ends} → {r.d})" for r in differing.head(4).itertuples())
    return finding(
        f"{len(frame) - len(differing)} of {len(frame)} settings have the same d from h = 1 and h = |H| as from all "
        "prefixes",
        shape=never(len(differing), len(frame)),
        note=f"An inner prefix binds for {cells}{' ...' if len(differing) > 4 else ''}." if len(differing) else "",
    )


@claim(
    "DC-C2",
    where="IV-A",
    statement="d need not be searched below p₁n, and d ≥ n means W-Choices.",
    claimed="rule",
    criterion="value: no d from 2 to ⌈p₁n⌉ − 1 meets the condition in any setting",
    amended="max(2, ⌈p₁n⌉) ≤ d ≤ n, which holds by construction: now the search is made from 2.",
    experiment=DISTRIBUTION,
)
def _judge_start(runs: Runs) -> Finding:
    headed = runs.where(runs.frame["head"] > 0).frame
    tried = int((headed["start"] - 2).sum())
    return finding(
        f"{headed['skipped'].sum()} of {tried} values of d below p₁n meet the condition, in {len(headed)} settings "
        f"with a head; {(headed['d'] == headed['n']).sum()} settings reach d = n",
        value=never(headed["skipped"].sum(), tried),
        note="Where no d below n meets the condition, d = n stands for W-Choices.",
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
    criterion="shape: d < n for every skew up to 2 at n = 50 and 100",
    experiment=DISTRIBUTION,
    figure=_figure_fraction,
)
def _judge_fraction(runs: Runs) -> Finding:
    own = runs.where(keys=10_000).frame
    large, little = own[own["n"] >= 50], own[own["n"] <= 10]
    full = little[little["d"] >= little["n"]]["z"]
    top = large[large["z"] == large["z"].max()]
    return finding(
        f"largest d: {own[own['n'] == 50]['d'].max()} of 50, {own[own['n'] == 100]['d'].max()} of 100",
        shape=never(int((large["d"] >= large["n"]).sum()), len(large)),
        note="At 10 workers or fewer d = n "
        + (f"is reached from z = {full.min():g} on. " if len(full) else "is not reached. ")
        + f"At z = {top['z'].max():g} the printed d is on an edge: a little more skew and no d below n meets the "
        "condition, so that hot keys get all workers. Distinct workers then jump: from "
        + ", ".join(f"{r.d_distinct} of {r.n}" for r in top.itertuples())
        + " to all (OWN-DC-EDGE).",
    )


def _figure_memory(columns, title, y_label, value, text):
    """Return a figure of two columns in percent, with the paper's value as a line."""

    def figure(runs, profile):
        own = _small(runs)
        fig, axes = new_figure(title, "skew z", y_label)
        for n, colour in ((50, OURS), (100, SECOND)):
            curve = own[own["n"] == n].sort_values("z")
            for column, style, name in zip(columns, ("-", "--"), ("D-C", "W-C")):
                axes.plot(
                    curve["z"],
                    100 * curve[f"{column}_drawn"],
                    color=colour,
                    ls=style,
                    marker="o",
                    ms=3,
                    label=f"{name}, n = {n}",
                )
                axes.plot(curve["z"], 100 * curve[f"{column}_expected"], color=colour, ls=":", lw=1)
        axes.plot([], [], color="grey", ls=":", lw=1, label="of expected counts")
        paper_line(axes, value, text)
        axes.legend(fontsize=8)
        return fig

    return figure


def _counted(runs: Runs):
    """Return the settings of figures 5 and 6 and the kind of counts of the reading."""
    return runs.where(keys=10_000, n=[50, 100]).frame, READINGS[runs.reading].options.get("counts", "drawn")


MEMORY_READINGS = ("printed", "expected")
COUNTS_NOTE = (
    "Counts f of a stream of m = 10⁷, each key on min(f, choices) workers, D-C with the d of the distribution: drawn "
    "(the mean over streams), or expected."
)


@claim(
    "DC-F5",
    where="Figure 5",
    statement="D-C and W-C need at most 30% more memory than PKG; D-C less at moderate skew, the same at high skew.",
    claimed="30%",
    criterion=(
        "shape: D-C below W-C for z = .8 to 1.4; the two within 2% of PKG's memory at z = 2. Value: at most 30% over "
        "PKG at every skew, n = 50 and 100"
    ),
    experiment=DISTRIBUTION,
    readings=MEMORY_READINGS,
    figure=_figure_memory(
        ("dc_over_pkg", "wc_over_pkg"), "Memory over PKG (estimate)", "more than PKG (%)", 30, "the paper: at most 30%"
    ),
)
def _judge_memory_pkg(runs: Runs) -> Finding:
    own, counts = _counted(runs)
    dc, wc = own[f"dc_over_pkg_{counts}"], own[f"wc_over_pkg_{counts}"]
    worst = max(dc.max(), wc.max())
    moderate = (own["z"] >= 0.8) & (own["z"] <= 1.4)
    apart = float((wc - dc)[own["z"] == 2.0].max())
    return finding(
        f"at most {worst:.1%} over PKG; D-C below W-C in {int((dc < wc)[moderate].sum())} of {int(moderate.sum())} "
        f"settings of moderate skew; at z = 2 the two are {apart:.1%} of PKG apart",
        shape=all_of(never(int((dc >= wc)[moderate].sum()), int(moderate.sum())), at_most(exact(apart), 0.02)),
        value=at_most(exact(worst), 0.30, "over PKG"),
        note=COUNTS_NOTE,
    )


@claim(
    "DC-F5w",
    where="Figure 5, text",
    statement="For 100 workers W-C needs up to 25% more memory than PKG; a bump where the head is largest.",
    claimed="25%",
    criterion="shape: the first peak of W-C's curve at n = 100 lies at z = .7 to 1.3. Value: up to 25%, from above",
    amended="One criterion with 30%: 25 ± 1%. The text says up to; the two numbers are judged by themselves.",
    experiment=DISTRIBUTION,
    readings=MEMORY_READINGS,
)
def _judge_bump(runs: Runs) -> Finding:
    own, counts = _counted(runs)
    curve = own[own["n"] == 100].sort_values("z")
    values = curve[f"wc_over_pkg_{counts}"].to_numpy()
    top = _first_peak(values)
    at = float(curve["z"].iloc[top])
    return finding(
        f"W-C at n = 100: a peak of {values[top]:.1%} at z = {at:g}, at most {values.max():.1%}, {values[-1]:.1%} at "
        f"z = {curve['z'].max():g}",
        shape=between(exact(at), 0.7, 1.3, "where the first peak lies"),
        value=at_most(exact(values.max()), printed("25%"), "over PKG"),
        note=COUNTS_NOTE + " Towards z = 2 the curve rises again, because PKG itself needs less there: many keys "
        "occur less than twice.",
    )


def _first_peak(values: np.ndarray) -> int:
    """Return after which place a curve falls for the first time; its last if it never does."""
    falls = np.flatnonzero(np.diff(values) < -1e-9)
    return int(falls[0]) if falls.size else values.size - 1


@claim(
    "DC-F6",
    where="Figure 6",
    statement="D-C and W-C need at least 80% less memory than SG.",
    claimed="80%",
    criterion="value: at least 79.5% less (rounding) at every skew, n = 50 and 100",
    experiment=DISTRIBUTION,
    readings=MEMORY_READINGS,
    figure=_figure_memory(
        ("dc_under_sg", "wc_under_sg"),
        "Memory saved against SG (estimate)",
        "less than SG (%)",
        80,
        "the paper: at least 80%",
    ),
)
def _judge_memory_sg(runs: Runs) -> Finding:
    own, counts = _counted(runs)
    least = own[[f"dc_under_sg_{counts}", f"wc_under_sg_{counts}"]].min().min()
    at = own.loc[own[f"wc_under_sg_{counts}"].idxmin()]
    return finding(
        f"at least {least:.1%} less than SG (worst at n = {at.n:g}, z = {at.z:g})",
        value=at_least(exact(least), 0.795, "less than SG"),
        note=COUNTS_NOTE + " The least saving is where few keys occur often enough to reach every worker under SG.",
    )
