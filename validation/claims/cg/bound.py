"""The power of random choices (PoRC) and its bound, after every message.

Nasir et al. 2017, algorithm 1 and section V-A, with lemmas 5.1 and 5.2 on two choices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from streamlb.analysis import lemma_hypotheses, random_choices_imbalance_bound, random_choices_imbalance_printed

from ...claim import Claim, Experiment, Verdict, claims_into
from ...figures import COLOURS, OURS, PAPER, SECOND, new_figure
from .readings import loads_before, step_imbalance, thin

GROWTH = (1, 4, 16, 64, 256)  # lengths of the stream for the lemmas, in squares of the bins

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


def _steps(workers: int, epsilon: float, exponent: float, sources: int, messages: int, seed: int) -> dict[str, Any]:
    """Follow the imbalance message by message, and check that every worker chosen had room."""
    from streamlb import PowerOfRandomChoices, Zipf

    grouping = PowerOfRandomChoices(workers, sources, epsilon=epsilon, seed=seed)
    chosen = grouping.route_many(Zipf(100_000, exponent).draw(messages, seed))
    excess = step_imbalance(chosen, workers)
    m = np.arange(1, messages + 1)
    printed = random_choices_imbalance_printed(1, workers, epsilon) * m
    corrected = printed + sources
    full = 0
    for s in range(sources):
        mine = chosen[s::sources]
        limit = (1 + epsilon) * np.arange(1, mine.size + 1) / workers
        full += int((loads_before(mine, workers) >= limit + 1e-9).sum())
    return {
        "chosen_full": full,
        "beyond_printed": float((excess > printed + 1e-9).mean()),
        "last_beyond": int(m[excess > printed + 1e-9].max(initial=0)),
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
    criterion="no message goes to a worker at or above (1 + ε) m/n, m counting the message; probes within their limit",
    experiment=STEPS,
)
def _judge_algorithm(runs, profile):
    own = runs[runs["sources"] == 1]
    full = int(own["chosen_full"].sum())
    return Verdict.when(
        full == 0 and bool((own["most_probes"] <= own["probe_limit"]).all()),
        f"{full} messages to a full worker; at most {int(own['most_probes'].max()):,} probes",
        "m counts the current message. As printed the first message meets a capacity of 0 and no load is below it: "
        "it never ends. Ours ends always, for the least loaded worker is below the mean.",
    )


def _figure_bound(runs, profile):
    own = runs[(runs["workers"] == 10) & (runs["epsilon"] == 0.01) & (runs["exponent"] == 2.0) & (runs["seed"] == 0)]
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
    criterion="after every message of every run",
    experiment=STEPS,
    figure=_figure_bound,
)
def _judge_printed_bound(runs, profile):
    own = runs[runs["sources"] == 1]
    return Verdict.when(
        bool((own["beyond_printed"] == 0).all()),
        f"broken in {(own['beyond_printed'] > 0).mean():.0%} of runs, at {own['beyond_printed'].mean():.1%} of "
        f"messages, last at message {int(own['last_beyond'].max()):,}",
        "The first message alone makes an imbalance of 1 − 1/n > ε/n. A worker that is let in just below the limit "
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
def _judge_corrected_bound(runs, profile):
    broken = int(runs["beyond_corrected"].sum())
    parts = runs.groupby("sources")["largest_part"].max()
    return Verdict.when(
        broken == 0,
        f"{broken} messages beyond; at most " + ", ".join(f"{p:.3f} of it ({s} sources)" for s, p in parts.items()),
        "Proved in the documentation; checked after every message.",
    )


def _grid_lemmas(profile):
    return [
        {"scheme": scheme, "bins": bins, "seed": seed}
        for scheme in ("PKG", "PoTC")
        for bins in (20, 100)
        for seed in range(10 if profile == "quick" else 100)
    ]


def _lemma(scheme: str, bins: int, seed: int) -> dict[str, Any]:
    """Return the imbalance in messages as the stream grows, with no key above 1/(5 bins)."""
    from streamlb import PartialKeyGrouping, PowerOfTwoChoices, Zipf

    stream = Zipf(100_000, 0.5)
    grouping: Any = (PartialKeyGrouping if scheme == "PKG" else PowerOfTwoChoices)(bins, seed=seed)
    at, out = 0, []
    for factor in GROWTH:
        grouping.route_many(stream.draw(factor * bins**2 - at, seed, at))
        at = factor * bins**2
        out.append(float(grouping.loads.max() - grouping.loads.mean()))
    hypotheses = lemma_hypotheses(float(stream.pmf[0]), bins**2, bins)
    return {
        "excess": out,
        "light": hypotheses.light_keys,
        "enough": hypotheses.enough_messages,
        "scale": hypotheses.scale,
    }


LEMMAS = Experiment("cg_lemmas", _grid_lemmas, _lemma, cost=lambda row: row["bins"] ** 2)


def _growth(runs, scheme):
    """Return the imbalance by number of bins: rows are seeds, columns lengths of the stream."""
    own = runs[runs["scheme"] == scheme]
    return {bins: np.array(part["excess"].tolist()) for bins, part in own.groupby("bins")}


def _figure_lemmas(runs, profile):
    fig, axes = new_figure(
        "Two choices: imbalance does not grow with the stream", "messages (squares of the bins)", "imbalance (messages)"
    )
    for scheme, colour in (("PKG", SECOND), ("PoTC", OURS)):
        for (bins, c), style in zip(_growth(runs, scheme).items(), ("-", "--")):
            error = 2 * c.std(axis=0, ddof=1) / np.sqrt(len(c))
            axes.errorbar(
                GROWTH,
                c.mean(axis=0),
                error,
                color=colour,
                ls=style,
                marker="o",
                ms=3,
                capsize=2,
                label=f"{scheme}, {bins} bins",
            )
    for (bins, scale), style in zip(runs.groupby("bins")["scale"].first().items(), ("-", "--")):
        axes.axhline(scale, color=PAPER, ls=style, lw=1, label=f"ln ln n / ln 2, n = {bins}")
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=7)
    return fig


@claim(
    "CG-L5.1",
    kind="b",
    where="Lemma 5.1",
    statement="PKG with p1 ≤ 1/(5 bins) and m ≥ bins²: the imbalance is O(ln ln n / ln d).",
    claimed="flat in m",
    criterion="the mean imbalance at most doubles from m = n² to 256 n²",
    experiment=LEMMAS,
    figure=_figure_lemmas,
)
def _judge_lemma_1(runs, profile):
    own = runs[runs["scheme"] == "PKG"]
    if not (own["light"].all() and own["enough"].all()):
        return Verdict(
            "not applicable", "a hypothesis fails", "p1 must be at most 1/(5 bins) and m at least bins squared."
        )
    curves = _growth(runs, "PKG")
    flat = {bins: c.mean(axis=0)[-1] / c.mean(axis=0)[0] for bins, c in curves.items()}
    parts = []
    for bins, c in curves.items():
        error = c[:, -1].std(ddof=1) / np.sqrt(len(c))
        parts.append(f"{c[:, 0].mean():.2f} to {c[:, -1].mean():.2f} ± {error:.2f} ({bins} bins)")
    return Verdict.when(
        max(flat.values()) <= 2,
        "imbalance from m = n² to 256 n²: " + ", ".join(parts),
        "Flat: at most doubled while messages grow 256 times. The hypotheses are checked against the bins, that is "
        f"n α virtual workers: p1 = {1 / 631.0:.4f} or less (z = .5). With 10 virtual workers for each worker they "
        "are ten times harder to meet than with the n of the text.",
    )


@claim(
    "CG-L5.2",
    kind="b",
    where="Lemma 5.2",
    statement="PoTC: the imbalance is O(ln ln n / ln d).",
    claimed="ln ln n / ln 2 + O(1)",
    criterion="at most ln ln n / ln 2 + 4 messages in every run",
    experiment=LEMMAS,
)
def _judge_lemma_2(runs, profile):
    curves = _growth(runs, "PoTC")
    scale = runs[runs["scheme"] == "PoTC"].groupby("bins")["scale"].first()
    margin = {bins: c.max() - scale[bins] for bins, c in curves.items()}
    return Verdict.when(
        max(margin.values()) <= 4,
        "largest imbalance "
        + ", ".join(f"{c.max():.2f} = ln ln n/ln 2 + {margin[b]:.2f} ({b} bins)" for b, c in curves.items()),
        "In messages, over all seeds and lengths; the O(1) is read as 4.",
    )
