"""The power of random choices (PoRC) and its bound, after every message.

Nasir et al. 2017, algorithm 1 and section V-A, with lemmas 5.1 and 5.2 on two choices.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from streamlb.analysis import lemma_hypotheses, random_choices_imbalance_bound, random_choices_imbalance_printed

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import COLOURS, PAPER, new_figure
from ...judging import Finding, Runs, all_of, at_most, finding, mean, never, not_applicable, ratio
from .readings import loads_before, of_first_seed, option, step_imbalance, thin

GROWTH = (1, 4, 16, 64, 256)  # lengths of the stream for the lemmas, in squares of the bins
WALKED = 400  # messages whose whole hash sequence is followed

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="CG", kind="a")


def _grid_steps(profile):
    messages, seeds = (50_000, 3) if profile == "quick" else (1_000_000, 10)
    return [
        {"workers": n, "epsilon": e, "exponent": z, "sources": s, "messages": messages, "seed": seed}
        for n in (10, 100)
        for e in (0.01, 0.1)
        for z in (0.5, 1.0, 2.0)
        for s in (1, 10)
        for seed in range(seeds)
    ]


def _sequence(key, workers: int, seed: int) -> list[int]:
    """Return the workers in the order in which a key's hash sequence first names them.

    A key alone with hardly any room goes from one worker to the next; the last one is left over.
    """
    from streamlb import PowerOfRandomChoices

    alone = PowerOfRandomChoices(workers, epsilon=1e-9, max_probes=64 * workers, seed=seed)
    order = alone.route_many(np.full(workers - 1, key, np.uint64)).tolist()
    return [*order, *set(range(workers)).difference(order)]


def _not_first(keys, chosen, workers: int, epsilon: float, seed: int) -> int:
    """Count the messages of one source that had room earlier in their hash sequence."""
    sequences = {key: _sequence(key, workers, seed) for key in set(keys.tolist())}
    room, loads, missed = 1 + Fraction(str(epsilon)), [0] * workers, 0
    for m, (key, worker) in enumerate(zip(keys.tolist(), chosen), 1):
        first = next(w for w in sequences[key] if loads[w] < room * m / workers)
        missed += first != worker
        loads[worker] += 1
    return missed


def _steps(workers: int, epsilon: float, exponent: float, sources: int, messages: int, seed: int) -> dict[str, Any]:
    """Follow the imbalance message by message, and check that every worker chosen had room."""
    from streamlb import PowerOfRandomChoices, Zipf

    grouping = PowerOfRandomChoices(workers, sources, epsilon=epsilon, seed=seed)
    keys = Zipf(100_000, exponent).draw(messages, seed)
    chosen = grouping.route_many(keys)
    excess = step_imbalance(chosen, workers)
    m = np.arange(1, messages + 1)
    printed = random_choices_imbalance_printed(1, workers, epsilon) * m
    corrected = printed + sources
    full = 0
    for s in range(sources):
        mine = chosen[s::sources]
        limit = (1 + epsilon) * np.arange(1, mine.size + 1) / workers
        full += int((loads_before(mine, workers) >= limit + 1e-9).sum())
    beyond = excess > printed + 1e-9
    return {
        "chosen_full": full,
        "not_first": _not_first(
            keys[::sources][:WALKED], chosen[::sources][:WALKED].tolist(), workers, epsilon, grouping.seed
        ),
        "beyond_printed": int(beyond.sum()),
        "last_beyond": int(m[beyond].max(initial=0)),
        "beyond_corrected": int((excess >= corrected + 1e-9).sum()),
        "largest_part": float((excess / corrected).max()),
        "most_probes": int(grouping.probes.maximum),
        "probe_limit": grouping.max_probes,
        "curve": thin(excess, 60),
        "final_bound": float(random_choices_imbalance_bound(messages, workers, epsilon, sources)),
    }


STEPS = Experiment("cg_steps", _grid_steps, _steps)


@claim(
    "CG-Alg1",
    where="Algorithm 1",
    statement="PoRC ends, and gives the first virtual worker with spare capacity.",
    claimed="rule",
    criterion=(
        "no message of one source goes to a worker at or above (1 + ε) m/n, m counting the message; none of the first "
        f"{WALKED} of a run passes a worker with room in its hash sequence; no search reaches the limit of probes"
    ),
    amended="Did not look at whether the worker is the first one with room.",
    experiment=STEPS,
)
def _judge_algorithm(runs: Runs) -> Finding:
    own = runs.where(sources=1).frame
    full, passed, messages = int(own["chosen_full"].sum()), int(own["not_first"].sum()), int(own["messages"].sum())
    cut = int((own["most_probes"] >= own["probe_limit"]).sum())
    return finding(
        f"{full} of {messages:,} messages to a full worker, {passed} of {WALKED * len(own):,} past one with room; at "
        f"most {int(own['most_probes'].max()):,} probes",
        shape=all_of(never(full, messages), never(passed, WALKED * len(own)), never(cut, len(own))),
        note="m counts the current message. As printed the first message meets a capacity of 0 and no load is below it: "
        "it never ends. Ours ends always, for the least loaded worker is below the mean.",
    )


def _figure_bound(runs, profile):
    own = of_first_seed(runs[(runs["workers"] == 10) & (runs["epsilon"] == 0.01) & (runs["exponent"] == 2.0)])
    fig, axes = new_figure(
        "PoRC's imbalance and its bounds (10 workers, ε = .01, z = 2)", "messages", "imbalance (messages)"
    )
    for (_, run), colour in zip(own.iterrows(), COLOURS):
        x = np.linspace(0, run["messages"], len(run["curve"]))
        axes.plot(x, run["curve"], color=colour, label=f"measured, {run['sources']} source(s)")
        axes.plot(
            [0, run["messages"]],
            [run["sources"], run["final_bound"]],
            color=colour,
            ls=":",
            label=f"ε m/n + {run['sources']}",
        )
    end = int(own["messages"].iloc[0])
    axes.plot(
        [0, end], [0, random_choices_imbalance_printed(end, 10, 0.01)], color=PAPER, ls="--", label="as printed: ε m/n"
    )
    axes.set_xlim(0, end / 10)
    axes.set_ylim(0, 2.2 * own["sources"].max())
    axes.legend(fontsize=8)
    return fig


@claim(
    "CG-B",
    where="V-A",
    statement="PoRC: I(m) ≤ ε m/n after every message, as printed.",
    claimed="ε m/n",
    criterion="after every message of every run of one source",
    experiment=STEPS,
    figure=_figure_bound,
)
def _judge_printed_bound(runs: Runs) -> Finding:
    own = runs.where(sources=1).frame
    beyond, messages = int(own["beyond_printed"].sum()), int(own["messages"].sum())
    return finding(
        f"broken after {beyond / messages:.1%} of messages, in {(own['beyond_printed'] > 0).mean():.0%} of runs, last "
        f"at message {int(own['last_beyond'].max()):,}",
        value=never(beyond, messages),
        note="The first message alone makes an imbalance of 1 − 1/n > ε/n. A worker that is let in just below the limit "
        "ends one message above it: the bound lacks + 1.",
    )


@claim(
    "CG-Bc",
    where="V-A, corrected",
    statement="PoRC: I(m) < ε m/n + 1 after every message, + s for s sources.",
    claimed="ε m/n + s",
    criterion="after every message of every run",
    experiment=STEPS,
    figure=_figure_bound,
)
def _judge_corrected_bound(runs: Runs) -> Finding:
    broken, messages = int(runs.frame["beyond_corrected"].sum()), int(runs.frame["messages"].sum())
    parts = runs.frame.groupby("sources")["largest_part"].max()
    return finding(
        f"{broken} of {messages:,} messages beyond; at most "
        + ", ".join(f"{p:.3f} of it ({s} sources)" for s, p in parts.items()),
        value=never(broken, messages),
        note="Proved in the documentation; checked after every message.",
    )


KEYS = {"fewest": "5n equal keys", "light": "100,000 keys at z = .5"}


def _grid_lemmas(profile):
    return [
        {"scheme": scheme, "bins": bins, "keys": keys}
        for scheme in ("PKG", "PoTC")
        for bins in (20, 100)
        for keys in KEYS
    ]


def _lemma(scheme: str, bins: int, keys: str, seed: int) -> dict[str, Any]:
    """Return the imbalance in messages as the stream grows, with no key above 1/(5 bins)."""
    from streamlb import PartialKeyGrouping, PowerOfTwoChoices, Uniform, Zipf

    stream: Any = Uniform(5 * bins) if keys == "fewest" else Zipf(100_000, 0.5)
    p1 = Fraction(1, 5 * bins) if keys == "fewest" else float(stream.pmf[0])
    grouping: Any = (PartialKeyGrouping if scheme == "PKG" else PowerOfTwoChoices)(bins, seed=seed)
    at, out = 0, []
    for factor in GROWTH:
        grouping.route_many(stream.draw(factor * bins**2 - at, seed, at))
        at = factor * bins**2
        out.append(float(grouping.loads.max() - grouping.loads.mean()))
    hypotheses = lemma_hypotheses(p1, bins**2, bins)
    return {
        "excess": out,
        "first": out[0],
        "last": out[-1],
        "greatest": max(out),
        "allowed": bool(hypotheses.light_keys and hypotheses.enough_messages),
        "scale": hypotheses.scale,
    }


LEMMAS = Experiment(
    "cg_lemmas", _grid_lemmas, _lemma, cost=lambda row: row["bins"] ** 2, seeds=Seeds((20, 60), (100, 300))
)


def _figure_lemmas(runs, profile):
    fig, axes = new_figure(
        "Two choices, as the stream grows", "messages (squares of the bins)", "imbalance (messages)", size=(6.4, 4.4)
    )
    for (scheme, keys), colour in zip((("PKG", "fewest"), ("PKG", "light"), ("PoTC", "light")), COLOURS):
        for bins, style in ((20, "-"), (100, "--")):
            own = runs[(runs["scheme"] == scheme) & (runs["keys"] == keys) & (runs["bins"] == bins)]
            curves = np.array(own["excess"].tolist())
            axes.plot(
                GROWTH,
                curves.mean(axis=0),
                color=colour,
                ls=style,
                marker="o",
                ms=3,
                label=f"{scheme}, {bins} bins, {KEYS[keys]}",
            )
    for (bins, scale), style in zip(runs.groupby("bins")["scale"].first().items(), ("-", "--")):
        axes.axhline(scale, color=PAPER, ls=style, lw=1, label=f"ln ln n / ln 2, n = {bins}")
    axes.set(xscale="log", yscale="log")
    axes.legend(fontsize=7)
    return fig


def _growth(runs: Runs, share: bool):
    """Return by bins and keys how much the mean gap grows with 256 times the messages."""
    longer = GROWTH[-1] / GROWTH[0]
    return {
        (bins, keys): ratio(own["last"] / longer if share else own["last"], own["first"])
        for (bins, keys), own in runs.by("bins", "keys")
    }


@claim(
    "CG-L5.1",
    kind="b",
    where="Lemma 5.1",
    statement="PKG with p1 ≤ 1/(5 bins) and m ≥ bins²: the imbalance is O(ln ln n / ln d).",
    claimed="flat in m",
    criterion=(
        "shape: the mean imbalance at most doubles from m = n² to 256 n², for 5n equal keys, which the hypothesis just "
        "allows, and for light ones. To the letter it is counted in messages, as in the work cited as a share of the "
        "mean load"
    ),
    amended="For light keys alone (z = .5), well inside the hypothesis.",
    experiment=LEMMAS,
    readings=("printed", "cited"),
    figure=_figure_lemmas,
)
def _judge_lemma_1(runs: Runs) -> Finding:
    own = runs.where(scheme="PKG")
    share = option(runs.reading, "share", False)
    growth = _growth(own, share)
    measured = f"growth{' as a share of the mean load' if share else ''}: " + ", ".join(
        f"{estimate:.2f} times for {KEYS[keys]} on {bins} bins" for (bins, keys), estimate in growth.items()
    )
    if not own.frame["allowed"].all():
        return not_applicable(measured, "p1 must be at most 1/(5 bins) and m at least bins squared.")
    return finding(
        measured,
        shape=all_of(at_most(g, 2.0, f"growth for {KEYS[keys]}, {bins} bins") for (bins, keys), g in growth.items()),
        note="With 5n keys each bin is one of the two of ten keys on average, and some bins of so few that they cannot "
        "be filled: their messages are a fixed share of all, and the imbalance grows with m. The constant 1/5 is thus "
        "enough only for a bound that is itself a share of m/n, as in the theorem that is cited. n is the number of "
        "bins, that is of virtual workers, ten times as many as workers in most figures.",
    )


@claim(
    "CG-L5.2",
    kind="b",
    where="Lemma 5.2",
    statement="PoTC: the imbalance is O(ln ln n / ln d).",
    claimed="ln ln n / ln 2 + O(1)",
    criterion=(
        "shape: the mean imbalance at most doubles from m = n² to 256 n². Value: at most ln ln n / ln 2 + 4 messages "
        "in every run, the O(1) being read as 4"
    ),
    experiment=LEMMAS,
    figure=_figure_lemmas,
)
def _judge_lemma_2(runs: Runs) -> Finding:
    own = runs.where(scheme="PoTC")
    growth, beyond = _growth(own, False), int((own.frame["greatest"] > own.frame["scale"] + 4).sum())
    means = {bins: (mean(part["greatest"]), part.frame["scale"].iloc[0]) for bins, part in own.by("bins")}
    return finding(
        "greatest imbalance of a run "
        + ", ".join(f"{e:.2f} = ln ln n/ln 2 + {e.point - scale:.2f} ({n} bins)" for n, (e, scale) in means.items())
        + f"; above ln ln n/ln 2 + 4 in {beyond} of {len(own)} runs; grows at most "
        f"{max(g.point for g in growth.values()):.2f} times",
        shape=all_of(at_most(g, 2.0, f"growth for {KEYS[keys]}, {bins} bins") for (bins, keys), g in growth.items()),
        value=never(beyond, len(own)),
        note="In messages. PoTC hashes messages, not keys, so that the keys do not matter.",
    )
