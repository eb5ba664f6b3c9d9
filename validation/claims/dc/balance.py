"""Imbalance on synthetic keys, and the limits of two choices.

Nasir et al. 2016, sections I and III-A (when two workers for each key suffice) and section V
(figure 10: every scheme over skew, number of workers and number of keys).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from streamlb.analysis import partial_key_imbalance_lower_bound, zipf_shares

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import panels, paper_line, positive
from ...judging import Finding, Runs, Sample, all_of, at_least, at_most, between, finding, mean, never, ratio, reported
from .readings import (
    BOUND,
    FIFTH,
    READINGS,
    SCHEME_COLOURS,
    SETUP,
    SKEWS,
    SOURCES,
    build,
    by_profile,
    column,
    final_and_mean,
    hash_seed,
    label,
    route,
    stream_size,
    times,
    zipf,
)

SCHEMES = (
    *("pkg", "dc_printed", "wc_printed", "rr_printed"),
    *("dc_default", "wc_default", "rr_default"),
)
DRAWN = ("pkg", "dc_printed", "wc_printed", "rr_printed", "dc_default")
CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="DC", kind="b")


def _balance(z: float, n: int, keys: int, m: int, seed: int) -> dict[str, Any]:
    """Route one Zipf stream by every scheme: the imbalance at the end and its mean over time."""
    groupings = {name: build(name, n, SOURCES, hash_seed(seed)) for name in SCHEMES}
    return final_and_mean(route(zipf(keys, z), m, groupings, seed)["history"])


def _balance_grid(profile: str) -> list[dict[str, Any]]:
    if profile == "quick":
        cells = [(10_000, z, n) for z in (1.4, 2.0) for n in (10, 50, 100)] + [(10_000, 0.8, n) for n in (10, 100)]
        cells += [(100_000, z, n) for z in (1.4, 2.0) for n in (50, 100)]
    else:
        skews = {10_000: SKEWS, 100_000: (0.8, 1.4, 2.0), 1_000_000: (0.8, 1.4, 2.0)}
        cells = [(k, z, n) for k in skews for z in skews[k] for n in (5, 10, 20, 50, 100)]
    return [{"z": z, "n": n, "keys": k, "m": stream_size(profile)} for k, z, n in cells]


BALANCE = Experiment(
    "dc_balance",
    _balance_grid,
    _balance,
    lambda row: row["m"] * (1 + row["keys"] / 1e6),
    Seeds(quick=(8, 60), paper=(5, 15)),
)


def _hard(frame, least: float = 0.01) -> np.ndarray:
    """Return where the hottest key is plainly too much for two workers: p₁ > 2/n + .01."""
    shares = {cell: zipf_shares(*cell)[0] for cell in set(zip(frame["keys"], frame["z"]))}
    return np.array([shares[k, z] > 2 / n + least for k, z, n in zip(frame["keys"], frame["z"], frame["n"])])


def _above_bound(runs: Runs) -> tuple[Sample, int]:
    """Return by how much PKG's imbalance is above the bound where p₁ > 2/n, and how many runs."""
    frame = runs.frame
    bound = [
        partial_key_imbalance_lower_bound(float(zipf_shares(k, z)[0]), n)
        for k, z, n in zip(frame["keys"], frame["z"], frame["n"])
    ]
    hard = runs.where(np.array(bound) > 0)
    return hard.sample(hard.frame["pkg"] - np.array(bound)[np.array(bound) > 0], "PKG above the bound"), len(hard)


@claim(
    "DC-I3",
    where="I",
    statement="PKG requires that the most frequent key has at most what two workers can take, p₁ ≤ 2/n.",
    claimed="p₁ ≤ 2/n",
    criterion="reported: two workers share the key's messages, so that beyond 2/n one has more than 1/n by construction",
    amended="I ≥ p₁/2 − 1/n in every run: no run can break it.",
    experiment=BALANCE,
    setup=SETUP,
)
def _judge_requirement(runs: Runs) -> Finding:
    easy = runs.where(~_hard(runs.frame, 0.0))
    hard = runs.where(_hard(runs.frame, 0.0))
    return reported(
        f"PKG's imbalance where p₁ > 2/n: {mean(hard['pkg']):.2e}; where it is not: {mean(easy['pkg']):.1e}",
        "That p₁ ≤ 2/n suffices is not said, and hashes that coincide show it: a key with one worker has p₁ there.",
    )


@claim(
    "DC-P1",
    where="III-A",
    statement="If p₁ > 2/n, PKG's expected imbalance is at least (p₁/2 − 1/n) m messages.",
    claimed="(p₁/2 − 1/n) m",
    criterion="reported: it holds by construction, since a key's messages are on two workers",
    amended="Measured I ≥ bound − 10⁻³: no run can break it.",
    experiment=BALANCE,
    setup=SETUP,
)
def _judge_lower_bound(runs: Runs) -> Finding:
    above, cases = _above_bound(runs)
    return reported(
        f"PKG's imbalance is above p₁/2 − 1/n by {mean(above):.1e} on average, {cases} runs with p₁ > 2/n",
        "Imbalance as a share of messages; in messages the bound is m times that, as printed. Far above it where "
        "the hottest key's two hashes coincide.",
    )


def _figure_balance(runs, profile):
    workers = sorted(runs["n"].unique())
    own = runs[runs["keys"] == 10_000]
    figure, (all_axes,) = panels(
        f"Imbalance by skew, 10,000 keys, m = {own['m'].iloc[0]:,}, mean and standard error of "
        f"{own['seed'].nunique()} seeds",
        [f"n = {n}" for n in workers],
        "skew z",
        ["imbalance I(m)"],
        share_y=True,
        log_y=True,
    )
    for axes, n in zip(all_axes, workers):
        curves = own[own["n"] == n].groupby("z")[list(DRAWN)]
        means, errors = curves.mean(), curves.sem().fillna(0)
        for name in DRAWN:
            axes.errorbar(
                means.index,
                positive(means[name]),
                yerr=errors[name],
                marker="o",
                ms=2,
                elinewidth=0.8,
                color=SCHEME_COLOURS[name.removesuffix("_printed")],
                label=label(name),
            )
        paper_line(axes, BOUND, "s ε")
    all_axes[0].legend(fontsize=7)
    return figure


@claim(
    "DC-F10",
    where="Figure 10",
    statement="W-C is best and flat; D-C and RR are far below PKG at high skew and scale.",
    claimed="as stated",
    criterion=(
        "shape: where p₁ > 2/n + .01, PKG's imbalance is at least 10 times D-C's and RR's in every setting, and D-C's and "
        "RR's over all of them at least 1.2 times W-C's. Value: W-C < 10⁻⁵ in every run"
    ),
    amended="D-C and RR below PKG/10 on three seeds; now geometric means over seeds with intervals, and that W-C is "
    "best is judged.",
    experiment=BALANCE,
    readings=("printed", "averaged", "default"),
    figure=_figure_balance,
    setup=SETUP,
)
def _judge_balance(runs: Runs) -> Finding:
    dc, wc, rr = (column(scheme, runs.reading) for scheme in ("dc", "wc", "rr"))
    pkg = "pkg_mean" if READINGS[runs.reading].options.get("averaged") else "pkg"
    hard = runs.where(_hard(runs.frame))
    gains = {
        f"{name}, z = {z:g}, n = {n}, {keys:,} keys": times(own[pkg], own[scheme])
        for (z, n, keys), own in hard.by("z", "n", "keys")
        for name, scheme in (("D-C", dc), ("RR", rr))
    }
    least = min(gains, key=lambda name: gains[name].point)
    best = {name: times(hard[scheme], hard[wc]) for name, scheme in (("D-C", dc), ("RR", rr))}
    over = int((runs.frame[wc] >= 1e-5).sum())
    return finding(
        f"PKG at least {gains[least]:.3g} times above ({least}); D-C {best['D-C']:.3g} and RR {best['RR']:.3g} times above "
        f"W-C; W-C at most {runs.frame[wc].max():.1e}, 10⁻⁵ or more in {over} of {len(runs)} runs",
        shape=all_of(
            (at_least(gain, 10.0, f"PKG over {name}") for name, gain in gains.items()),
            (at_least(gain, FIFTH, f"{name} over W-C") for name, gain in best.items()),
        ),
        value=never(over, len(runs)),
        note=f"Means there: D-C {mean(hard[dc]):.1e}, RR {mean(hard[rr]):.1e}, W-C {mean(hard[wc]):.1e}, PKG "
        f"{mean(hard[pkg]):.1e}.",
    )


@claim(
    "DC-F10k",
    where="Figure 10, text",
    statement="The number of keys does not influence the imbalance.",
    claimed="no influence",
    criterion=(
        "shape: from 10,000 to 100,000 keys PKG's imbalance changes less than twofold at z = 1.4 and 2, for n = 50 "
        "and 100 (paper profile: also 1,000,000 keys)"
    ),
    amended="One criterion with the order of schemes, over the schemes whose imbalance was above 10⁻⁵.",
    experiment=BALANCE,
    setup=SETUP,
)
def _judge_keys(runs: Runs) -> Finding:
    checks, shown = [], []
    steep = runs.where(z=(1.4, 2.0), n=(50, 100))
    for (z, n), own in steep.by("z", "n"):
        for keys in own.values_of("keys")[1:]:
            change = times(own.where(keys=keys)["pkg"], own.where(keys=10_000)["pkg"])
            shown.append(f"{change:.2f} (z = {z:g}, n = {n}, {keys:,} keys)")
            checks.append(between(change, 0.5, 2.0, f"PKG's imbalance over that of 10,000 keys, z = {z:g}, n = {n}"))
    other = [
        own.where(keys=keys)["dc_printed"].values.mean() / own.where(keys=10_000)["dc_printed"].values.mean()
        for _, own in steep.by("z", "n")
        for keys in own.values_of("keys")[1:]
    ]
    return finding(
        "PKG's imbalance over that of 10,000 keys: " + ", ".join(shown),
        shape=all_of(checks),
        note=f"D-C's changes by {min(other):.2f} to {max(other):.2f} times; its imbalance is decided by how a few hot "
        "keys are hashed, so that it varies much from seed to seed.",
    )


KINDS = {"5n": "5n equal keys", "10,000": "10,000 equal keys"}


def _bounded(n: int, kind: str, sizes: list[int], seed: int) -> dict[str, Any]:
    """Route equal keys by PKG: how far the greatest load is above the mean, at the sizes."""
    from streamlb import Uniform

    grouping = build("pkg", n, 1, hash_seed(seed))
    stream, gaps, start = Uniform(5 * n if kind == "5n" else 10_000), [], 0
    for size in sizes:
        grouping.route_many(stream.draw(size - start, seed, start))
        start = size
        gaps.append(float(grouping.loads.max() - size / n))
    return {"first": gaps[0], "last": gaps[-1], "share": n * gaps[-1] / sizes[-1]}


BOUNDED = Experiment(
    "dc_bounded",
    lambda profile: [
        {"n": n, "kind": kind, "sizes": by_profile(profile, [20_000, 500_000], [10**5, 10**7])}
        for n in (5, 10, 50, 100)
        for kind in KINDS
    ],
    _bounded,
    seeds=Seeds(quick=(60, 240), paper=(60, 240)),
)


@claim(
    "DC-P2",
    where="III-A",
    statement="If p₁ ≤ 1/5n, PKG's imbalance is bounded (with probability at least 1 − 1/5n).",
    claimed="bounded",
    criterion=(
        "shape: from the shortest to the longest stream the mean gap between greatest and mean load grows by no more "
        "than a fifth, for the 5n equal keys that the condition just allows and for 10,000. To the letter the gap is "
        "counted in messages; as in the theorem cited, as a share of the mean load, whose mean must also be below 1"
    ),
    amended="10,000 equal keys alone, far inside of the condition. The probability cannot be judged without the "
    "constant of the bound, which the text does not give.",
    experiment=BOUNDED,
    readings=("printed", "theorem"),
)
def _judge_bounded(runs: Runs) -> Finding:
    checks, shown = [], []
    share = READINGS[runs.reading].options.get("growth") == "share"
    longer = runs.frame["sizes"].iloc[0][-1] / runs.frame["sizes"].iloc[0][0]
    for kind, of_kind in runs.by("kind"):
        worst = -1.0
        for n, own in of_kind.by("n"):
            growth = ratio(own["last"] / longer if share else own["last"], own["first"])
            checks.append(at_most(growth, 1.2, f"growth of the gap, {KINDS[kind]}, n = {n}"))
            if share:
                checks.append(at_most(own["share"], 1.0, f"gap over the mean load, {KINDS[kind]}, n = {n}"))
            if growth.point > worst:
                worst, text = growth.point, f"{growth:.2f} times for {KINDS[kind]} (n = {n})"
        shown.append(text)
    top = max(own["share"].values.max() for _, own in runs.by("n", "kind"))
    return finding(
        f"with {longer:.0f} times the messages the gap grows by at most "
        + ", ".join(shown)
        + (" as a share of the mean load" if share else " in messages"),
        shape=all_of(checks),
        note=f"The greatest gap is {top:.2f} of the mean load, over {runs.frame['seed'].nunique()} seeds. With 5n keys "
        "each worker has about ten, and some so few that they cannot fill it: a small share of the messages, which "
        "grows with m. One source.",
    )
