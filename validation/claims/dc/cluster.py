"""Throughput and latency on a Storm cluster, here a simulated one.

Nasir et al. 2016, abstract and section V (figures 13 and 14, question Q4).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from streamlb.analysis import memory_cost, zipf_shares

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import panels, paper_line
from ...judging import (
    Estimate,
    Finding,
    Runs,
    Sample,
    all_of,
    at_least,
    at_most,
    close_to,
    exact,
    finding,
    less,
    mean,
    printed,
)
from .readings import READINGS, SCHEME_COLOURS, build, by_profile, column, hash_seed, label, times, zipf

SCHEMES = ("kg", "pkg", "sg", "dc_printed", "wc_printed", "dc_default", "wc_default")
SKEWS = (1.4, 1.7, 2.0)
SOURCES, WORKERS, SERVICE, NETWORK, IN_FLIGHT = 48, 80, 1.0, 0.5, 100
READ = ("printed", "default")
SETUP = (
    "Storm on nine machines in the paper; here a closed loop of 48 sources with at most 100 messages in flight "
    "each, 80 workers, 1 ms service, .5 ms network."
)
LACKS = (
    "The model lacks links and cores that several workers share, queues with an end, and aggregation, and it is "
    "saturated: only workers and the messages in flight are a limit. What the paper's cluster was limited by is not "
    "in the text, and no map of such regimes is drawn yet."
)
CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="DC", kind="c", setup=SETUP)


def _cluster(z: float, m: int, seed: int) -> dict[str, Any]:
    """Run every scheme on the simulated cluster: throughput, latencies and (key, worker) pairs.

    Measured is the steady part: what is sent after half of the messages, until the last is sent.
    """
    from streamlb import replication, simulate_cluster

    results: dict[str, Any] = {}
    for name in SCHEMES:
        run = simulate_cluster(
            zipf(10_000, z),
            build(name, WORKERS, SOURCES, hash_seed(seed)),
            messages=m,
            service_time=SERVICE,
            network=NETWORK,
            in_flight=IN_FLIGHT,
            seed=seed,
        )
        begin, end = float(run.sent[m // 2]), float(run.sent.max())
        steady = run.sent >= begin
        latency, workers = run.latency[steady], run.workers[steady]
        counts = np.bincount(workers, minlength=WORKERS)
        of_workers = np.bincount(workers, latency, minlength=WORKERS)[counts > 0] / counts[counts > 0]
        results |= {
            f"{name}.throughput": float(((run.done > begin) & (run.done <= end)).sum() / (end - begin)),
            f"{name}.worker_max": float(of_workers.max()),
            f"{name}.p99": float(np.percentile(latency, 99)),
            f"{name}.pairs": replication(run.keys, run.workers),
        }
        percentiles = np.percentile(of_workers, (50, 95, 99)).tolist()
        results |= {f"{name}.worker_{key}": value for key, value in zip(("p50", "p95", "p99"), percentiles)}
    return results


CLUSTER = Experiment(
    "dc_cluster",
    lambda profile: [{"z": z, "m": by_profile(profile, 200_000, 2_000_000)} for z in SKEWS],
    _cluster,
    seeds=Seeds(quick=(8, 24), paper=(8, 24)),
)


def _samples(runs: Runs, what: str) -> dict[str, Sample]:
    """Return what every scheme shows, with `dc` and `wc` as of the reading."""
    names = {"kg": "kg", "pkg": "pkg", "sg": "sg", "dc": column("dc", runs.reading), "wc": column("wc", runs.reading)}
    return {scheme: runs[f"{name}.{what}"] for scheme, name in names.items()}


def _tail(runs: Runs) -> str:
    """Return the column of the 99th percentile under a reading."""
    return "p99" if READINGS[runs.reading].options.get("percentiles") == "messages" else "worker_p99"


def _figure_throughput(runs, profile):
    figure, (all_axes,) = panels(
        "Throughput, 48 sources, 80 workers, 1 ms",
        [f"z = {z:g}" for z in SKEWS],
        "grouping",
        ["messages / ms"],
        share_y=True,
        log_y=True,
    )
    for axes, z in zip(all_axes, SKEWS):
        means = runs[runs["z"] == z].mean(numeric_only=True)
        for i, name in enumerate(SCHEMES):
            colour = SCHEME_COLOURS.get(name, SCHEME_COLOURS[name.partition("_")[0]])
            axes.bar(i, means[f"{name}.throughput"], 0.8, color=colour)
        paper_line(axes, 2.3 * means["kg.throughput"], "the paper: 2.3 × KG")
        axes.set_xticks(range(len(SCHEMES)), [_tick(name) for name in SCHEMES], fontsize=7)
    all_axes[0].set_ylim(top=200)  # room for the legend
    all_axes[0].legend(fontsize=7, loc="upper left")
    return figure


def _tick(name: str) -> str:
    return label(name).replace(", ", "\n").replace("our defaults", "ours")


def _best(runs: Runs, of: str) -> tuple[float, Estimate]:
    """Return the skew at which D-C's throughput is most over another's, and how many times."""
    found = {}
    for z, own in runs.by("z"):
        samples = _samples(own, "throughput")
        found[z] = times(samples["dc"], samples[of])
    best = max(found, key=lambda z: found[z].point)
    return best, found[best]


def _order(runs: Runs, what: str, lower: str, higher: str, text: str):
    """Return the aspect that one scheme is below another at every skew."""
    return all_of(
        less(_samples(own, what)[lower], _samples(own, what)[higher], f"{text}, z = {z:g}") for z, own in runs.by("z")
    )


@claim(
    "DC-F13",
    where="Figure 13",
    statement="D-C and W-C match SG's throughput; KG is below PKG, and PKG below SG.",
    claimed="as SG",
    criterion="shape: KG below PKG below SG at every skew, D-C and W-C at least .95 of SG's throughput",
    amended='One criterion with 1.5 and 2.3, one seed, "at least" for best cases.',
    experiment=CLUSTER,
    readings=READ,
    figure=_figure_throughput,
)
def _judge_throughput(runs: Runs) -> Finding:
    shares: dict[str, Estimate] = {}
    for z, own in runs.by("z"):
        samples = _samples(own, "throughput")
        shares |= {f"{name}, z = {z:g}": times(samples[s], samples["sg"]) for name, s in (("D-C", "dc"), ("W-C", "wc"))}
    least = min(shares, key=lambda name: shares[name].point)
    return finding(
        f"D-C and W-C reach {shares[least]:.3f} of SG's throughput or more ({least})",
        shape=all_of(
            _order(runs, "throughput", "kg", "pkg", "KG below PKG"),
            _order(runs, "throughput", "pkg", "sg", "PKG below SG"),
            (at_least(share, 0.95, f"throughput over SG's, {name}") for name, share in shares.items()),
        ),
        note=LACKS,
    )


def _times(runs: Runs, of: str, text: str) -> Finding:
    """Judge how many times D-C's throughput is that of another scheme, at best."""
    z, best = _best(runs, of)
    return finding(
        f"at best {best:.2f} times {of.upper()}'s throughput, at z = {z:g}",
        shape=_order(runs, "throughput", of, "dc", f"{of.upper()} below D-C"),
        value=at_most(best, printed(text, neutral=1.0), f"throughput over {of.upper()}'s"),
        note="The hottest key's worker alone limits KG to 1/p₁ and PKG to 2/p₁ messages a ms, all 80 workers together "
        "D-C to 80. " + LACKS,
    )


@claim(
    "DC-F13p",
    where="Figure 13, text",
    statement="In the best case D-C and W-C have 1.5 times PKG's throughput.",
    claimed="1.5",
    criterion="shape: above PKG at every skew. Value: the greatest ratio is up to 1.5, from above",
    amended="D-C/PKG ≥ 1.5 at z = 2: the text says best case.",
    experiment=CLUSTER,
    readings=READ,
)
def _judge_over_pkg(runs: Runs) -> Finding:
    return _times(runs, "pkg", "1.5")


@claim(
    "DC-F13k",
    where="Figure 13, text",
    statement="In the best case D-C and W-C have 2.3 times KG's throughput.",
    claimed="2.3",
    criterion="shape: above KG at every skew. Value: the greatest ratio is up to 2.3, from above",
    amended="D-C/KG ≥ 2.3 at z = 2: the text says best case.",
    experiment=CLUSTER,
    readings=READ,
)
def _judge_over_kg(runs: Runs) -> Finding:
    return _times(runs, "kg", "2.3")


def _figure_latency(runs, profile):
    figure, (all_axes,) = panels(
        "Latency", [f"z = {z:g}" for z in SKEWS], "grouping", ["latency (ms)"], share_y=True, log_y=True
    )
    marks = {
        "worker_max": "greatest worker's mean",
        "worker_p50": "p50 over workers",
        "worker_p95": "p95 over workers",
        "worker_p99": "p99 over workers",
        "p99": "p99 over messages",
    }
    for axes, z in zip(all_axes, SKEWS):
        means = runs[runs["z"] == z].mean(numeric_only=True)
        for (what, text), shape in zip(marks.items(), "_osDx"):
            values = [means[f"{name}.{what}"] for name in SCHEMES]
            size, width = (12, 2) if shape == "_" else (4, 1)
            axes.plot(range(len(SCHEMES)), values, shape, ms=size, mew=width, label=text)
        axes.set_xticks(range(len(SCHEMES)), [_tick(name) for name in SCHEMES], fontsize=7)
        paper_line(axes, 0.5 * means["kg.worker_max"], "the paper: PKG half of KG")
    all_axes[-1].legend(fontsize=6, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


@claim(
    "DC-F14",
    where="Figure 14",
    statement="At the highest skew PKG has about half of KG's latency (maximum of the workers' averages).",
    claimed="50%",
    criterion="shape: PKG below KG at every skew. Value: 50% at z = 2",
    amended="One criterion with three other numbers.",
    experiment=CLUSTER,
    figure=_figure_latency,
)
def _judge_latency(runs: Runs) -> Finding:
    top = _samples(runs.where(z=2.0), "worker_max")
    half = times(top["pkg"], top["kg"])
    return finding(
        f"PKG has {half:.2f} of KG's latency at z = 2",
        shape=_order(runs, "worker_max", "pkg", "kg", "PKG below KG"),
        value=close_to(half, printed("50%"), "latency over KG's"),
        note="In a closed loop nearly all 4,800 messages in flight wait at the hottest key's one or two workers, so "
        "that latencies compare as 1 to 2. " + LACKS,
    )


@claim(
    "DC-F14s",
    where="Figure 14, text",
    statement="SG's latency is up to 3 times smaller than PKG's.",
    claimed="3",
    criterion="shape: SG below PKG at every skew. Value: the greatest ratio is up to 3, from above",
    amended="PKG/SG ≥ 3: the text says up to.",
    experiment=CLUSTER,
)
def _judge_shuffle_latency(runs: Runs) -> Finding:
    found = {}
    for z, own in runs.by("z"):
        samples = _samples(own, "worker_max")
        found[z] = times(samples["pkg"], samples["sg"])
    best = max(found, key=lambda z: found[z].point)
    return finding(
        f"PKG's latency is at most {found[best]:.1f} times SG's, at z = {best:g}",
        shape=_order(runs, "worker_max", "sg", "pkg", "SG below PKG"),
        value=at_most(found[best], printed("3", neutral=1.0), "latency over SG's"),
        note=LACKS,
    )


def _cut(runs: Runs, of: str, value) -> Finding:
    """Judge by how much D-C cuts the 99th percentile of another scheme, at best."""
    what, found = _tail(runs), {}
    for z, own in runs.by("z"):
        samples = _samples(own, what)
        found[z] = mean((samples[of] - samples["dc"]) / samples[of])
    best = max(found, key=lambda z: found[z].point)
    return finding(
        f"p99 at best {found[best]:.1%} below {of.upper()}'s, at z = {best:g}",
        shape=_order(runs, what, "dc", of, f"D-C below {of.upper()}"),
        value=value(found[best], f"cut of {of.upper()}'s p99"),
        note=LACKS,
    )


LATENCY = ("printed", "messages", "default")


@claim(
    "DC-F14p",
    where="Figure 14, text",
    statement="In the best case D-C and W-C reduce PKG's 99th percentile by 60%.",
    claimed="60%",
    criterion="shape: below PKG at every skew. Value: the greatest cut is up to 60%, from above",
    amended="At least 60% at z = 2: the text says best case.",
    experiment=CLUSTER,
    readings=LATENCY,
)
def _judge_tail_pkg(runs: Runs) -> Finding:
    return _cut(runs, "pkg", lambda cut, text: at_most(cut, printed("60%"), text))


@claim(
    "DC-F14k",
    where="Figure 14, text",
    statement="In the best case D-C and W-C reduce KG's latency by over 75%.",
    claimed="over 75%",
    criterion="shape: below KG at every skew. Value: the greatest cut of p99 is at least 75%, from below",
    amended="At z = 2; the text says best case.",
    experiment=CLUSTER,
    readings=LATENCY,
)
def _judge_tail_kg(runs: Runs) -> Finding:
    return _cut(runs, "kg", lambda cut, text: at_least(cut, 0.75, text))


def _gain(runs: Runs, of: str, text: str) -> Finding:
    """Judge the gain in throughput over another scheme: up to +150% is 2.5 times, or 1.5 times."""
    z, best = _best(runs, of)
    neutral = READINGS[runs.reading].options.get("neutral", 1.0)
    said = printed(text)
    claimed = printed(f"{said.number + neutral:.1f}", neutral=1.0)
    return finding(
        f"at best {best:.2f} times {of.upper()}'s throughput, at z = {z:g}; {text} means {claimed.number:g} times",
        shape=_order(runs, "throughput", of, "dc", f"{of.upper()} below D-C"),
        value=at_most(best, claimed, f"throughput over {of.upper()}'s"),
        note=LACKS,
    )


@claim(
    "DC-A1",
    where="abstract, I, VII",
    statement="D-C and W-C improve throughput by up to 150% over PKG.",
    claimed="150%",
    criterion=(
        "shape: D-C above PKG at every skew. Value: the greatest gain is up to 150%, from above: 2.5 times to the "
        "letter, 1.5 times as in section V"
    ),
    amended="Within 25% of 1.5 times, in one criterion with three other numbers.",
    experiment=CLUSTER,
    readings=("printed", "ratios"),
)
def _judge_abstract(runs: Runs) -> Finding:
    return _gain(runs, "pkg", "150%")


@claim(
    "DC-A1k",
    where="abstract, I, VII",
    statement="D-C and W-C improve throughput by 230% over KG.",
    claimed="230%",
    criterion=(
        "shape: D-C above KG at every skew. Value: the greatest gain is up to 230%, from above: 3.3 times to the letter, "
        "2.3 times as in section V"
    ),
    amended="Within 25% of 2.3 times, in one criterion with three other numbers.",
    experiment=CLUSTER,
    readings=("printed", "ratios"),
)
def _judge_abstract_kg(runs: Runs) -> Finding:
    return _gain(runs, "kg", "230%")


@claim(
    "DC-A1l",
    where="abstract, I, VII",
    statement="D-C and W-C improve latency by up to 60% over PKG.",
    claimed="60%",
    criterion="shape: p99 below PKG's at every skew. Value: the greatest cut is up to 60%, from above",
    amended="At least this cut, in one criterion with three other numbers.",
    experiment=CLUSTER,
    readings=LATENCY,
)
def _judge_abstract_latency_pkg(runs: Runs) -> Finding:
    return _cut(runs, "pkg", lambda cut, text: at_most(cut, printed("60%"), text))


@claim(
    "DC-A1m",
    where="abstract, I, VII",
    statement="D-C and W-C improve latency by up to 75% over KG.",
    claimed="75%",
    criterion="shape: p99 below KG's at every skew. Value: the greatest cut is up to 75%, from above",
    amended="At least this cut, in one criterion with three other numbers.",
    experiment=CLUSTER,
    readings=LATENCY,
)
def _judge_abstract_latency_kg(runs: Runs) -> Finding:
    return _cut(runs, "kg", lambda cut, text: at_most(cut, printed("75%"), text))


@claim(
    "DC-Q4",
    where="V, end",
    statement="D-C and W-C reach SG's throughput and latency at a fraction of its memory.",
    claimed="as SG, a fraction",
    criterion=(
        "shape: throughput at least .95 of SG's, latency (maximum of the workers' averages) at most 1.2 times SG's, at "
        "every skew. Value: at least 79.5% less memory, by the estimate of figure 6 for 80 workers"
    ),
    amended="Throughput alone; latency is part of the sentence. A fifth more is allowed, as no number is given.",
    experiment=CLUSTER,
    readings=READ,
)
def _judge_fraction(runs: Runs) -> Finding:
    speed, delay, pairs = {}, {}, {}
    for z, own in runs.by("z"):
        tables = [_samples(own, what) for what in ("throughput", "worker_max", "pairs")]
        for name, scheme in (("D-C", "dc"), ("W-C", "wc")):
            at = f"{name}, z = {z:g}"
            speed[at], delay[at], pairs[at] = (times(table[scheme], table["sg"]) for table in tables)
    slowest, latest = min(speed, key=lambda k: speed[k].point), max(delay, key=lambda k: delay[k].point)
    saved = min(
        1
        - memory_cost(zipf_shares(10_000, z), 10**7, WORKERS, s)
        / memory_cost(zipf_shares(10_000, z), 10**7, WORKERS, "SG")
        for z in SKEWS
        for s in ("D-C", "W-C")
    )
    return finding(
        f"throughput {speed[slowest]:.3f} of SG's or more ({slowest}), latency up to {delay[latest]:.2f} times SG's "
        f"({latest}); {1 - max(p.point for p in pairs.values()):.0%} fewer pairs counted, {saved:.1%} by the estimate",
        shape=all_of(
            (at_least(share, 0.95, f"throughput over SG's, {name}") for name, share in speed.items()),
            (at_most(times, 1.2, f"latency over SG's, {name}") for name, times in delay.items()),
        ),
        value=at_least(exact(saved), 0.795, "less memory than SG"),
        note="Queues that built up while no key was known to be hot hardly drain in a saturated closed loop. " + LACKS,
    )
