"""Our own claims on load-aware shedding: its safety factor, reports, and a windowed goal.

A report is a message of 45 bytes every 16 executions. What stands beside it is an operator that is
asked every 16 kept tuples (`resync`), a question and an answer each, and one whose matrices have a
single column.
"""

from __future__ import annotations

from typing import Any

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import COLOURS, PAPER, new_figure
from ...judging import Runs, all_of, at_most, between, finding, less, mean, ratio
from . import phases, steady
from .phases import drop_in, shares, wait_in, waits
from .readings import (
    EPSILON,
    FRESH,
    KNOWLEDGE,
    LAS,
    REPORTS,
    STRAW_MAN,
    THRESHOLD,
    by,
    listed,
    means,
    papers_shedders,
    run_steady,
)

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="OWN", kind="b", claimed="not in the paper")

REPORTED, ASKED, ONE_COLUMN = "LAS + reports", "LAS + questions", "one column + reports"
SHEDDERS: dict[str, tuple[str, dict[str, Any]]] = {
    LAS: ("load_aware", {}),
    "LAS, no factor": ("load_aware", {"safety": 0.0}),
    REPORTED: ("load_aware", {"reports": REPORTS}),
    ASKED: ("load_aware", {"resync": REPORTS}),
    ONE_COLUMN: ("load_aware", {"reports": REPORTS, "columns": 1}),
    "LAS, listing": papers_shedders("listing")[LAS],
    STRAW_MAN: ("straw_man", {}),
    "Straw-Man + factor": ("straw_man", {"safety": EPSILON}),
    KNOWLEDGE: ("full_knowledge", {}),
    "Full Knowledge + factor": ("full_knowledge", {"safety": EPSILON}),
}
_LAST = {"goal": "windowed", "span": phases.JUMP}
THROUGH_PHASES = {name: SHEDDERS[name] for name in (LAS, REPORTED, ASKED, ONE_COLUMN, KNOWLEDGE)} | {
    "LAS, windowed": ("load_aware", dict(_LAST)),
    "LAS + reports, windowed": ("load_aware", {"reports": REPORTS, **_LAST}),
}

# --- a steady load: the factor and the reports ---------------------------------------------------


def _levels(underprovisioning: float, orders: int, seed: int) -> dict[str, Any]:
    return run_steady(SHEDDERS, 1.0, underprovisioning, seed, orders)


LEVELS = Experiment(
    "las_own_levels",
    lambda profile: [
        {"underprovisioning": level, "orders": steady.orders(profile)} for level in (0.1, 0.25, 0.5, 0.75)
    ],
    _levels,
    lambda row: row["orders"],
    Seeds(quick=(24, 274), paper=(100, 500), start=FRESH),
)


def _figure_levels(frame, profile):
    figure, axes = new_figure(
        "What the factor does, and what reports do",
        "dropped ratio less under-provisioning",
        "average queuing latency (ms)",
        size=(7.2, 4.4),
    )
    names = [LAS, "LAS, no factor", REPORTED, ASKED, ONE_COLUMN, STRAW_MAN, "Straw-Man + factor", KNOWLEDGE]
    for number, name in enumerate(names):
        drop, wait = (means(frame, steady.UNDER, f"{name}: {what}") for what in ("drop", "wait"))
        axes.plot(drop - drop.index, wait, "o-", ms=4, color=COLOURS[number], label=name)
    axes.axhline(THRESHOLD, color=PAPER, ls="--", label="τ = 6.4 ms")
    axes.set_yscale("log")
    axes.legend(fontsize=7, ncol=2)
    return figure


def _by_level(runs: Runs) -> list[tuple[str, Runs]]:
    return [(f"at {level:.0%}", part) for level, part in runs.by(steady.UNDER)]


def _waits_by_level(runs: Runs, *names: str) -> str:
    return "; ".join(f"{name} {by(runs, steady.UNDER, f'{name}: wait', '{:.2f}')}" for name in names)


@claim(
    "OWN-LAS-FACTOR",
    where="control to figure 4",
    statement="Most of what LAS gains over Straw-Man comes from raising estimates by 5%, not from knowing the tuples.",
    criterion="Straw-Man with the factor closes more than half of the gap at every load",
    experiment=LEVELS,
    figure=_figure_levels,
    setup=steady.SETUP,
)
def _judge_factor(runs: Runs):
    levels = _by_level(runs)
    closed = [
        ratio(
            part[f"{STRAW_MAN}: wait"] - part["Straw-Man + factor: wait"],
            part[f"{STRAW_MAN}: wait"] - part[f"{LAS}: wait"],
        )
        for _, part in levels
        if part[f"{STRAW_MAN}: wait"].values.mean() > part[f"{LAS}: wait"].values.mean()
    ]
    return finding(
        f"of the gap between Straw-Man and LAS the factor alone closes "
        f"{listed((share.point for share in closed), '{:.0%}') if closed else 'nothing: there is none'}",
        shape=all_of(
            less(
                part["Straw-Man + factor: wait"],
                0.5 * (part[f"{STRAW_MAN}: wait"] + part[f"{LAS}: wait"]),
                f"Straw-Man + factor below the middle {at}, ms",
            )
            for at, part in levels
        ),
        note=f"Mean waits by load: {_waits_by_level(runs, STRAW_MAN, 'Straw-Man + factor', 'LAS, no factor', LAS)} ms. "
        "Fresh associations and orders.",
    )


@claim(
    "OWN-LAS-REPORTS",
    where="extension of section 3",
    statement="When the operator reports its clock every 16 executions, LAS waits less and drops fewer tuples than when "
    "it is asked with new matrices only.",
    criterion="lower mean wait and fewer drops at every load",
    experiment=LEVELS,
    figure=_figure_levels,
    setup=steady.SETUP,
    amended="The default was called 'as printed'; the listing to the letter now stands beside it.",
)
def _judge_reports(runs: Runs):
    levels = _by_level(runs)
    return finding(
        f"waits by load: {_waits_by_level(runs, REPORTED, LAS)} ms; drops fewer by {_fewer(runs, LAS)}",
        shape=all_of(
            less(part[f"{REPORTED}: {what}"], part[f"{LAS}: {what}"], f"{what}, below LAS {at}")
            for at, part in levels
            for what in ("wait", "drop")
        ),
        note="The listing to the letter drops "
        f"{listed((part['LAS, listing: drop'].values.mean() for _, part in levels), '{:.0%}')}. Fresh associations and "
        "orders.",
    )


@claim(
    "OWN-LAS-QUESTIONS",
    where="control to OWN-LAS-REPORTS",
    statement="Under a steady load an operator that is asked every 16 kept tuples does as well as one that reports every "
    "16 executions: it is how often the clock is set right that matters.",
    criterion="mean waits within .1 ms and drops within .001 of each other at every load",
    experiment=LEVELS,
    figure=_figure_levels,
    setup=steady.SETUP,
)
def _judge_questions(runs: Runs):
    return finding(
        f"waits by load: {_waits_by_level(runs, REPORTED, ASKED)} ms; reports drop fewer by {_fewer(runs, ASKED)}",
        shape=all_of(_as_well(runs, ASKED, 0.1, 0.001)),
        note="A question and its answer are two messages, a report is one. Fresh associations and orders.",
    )


@claim(
    "OWN-LAS-COLUMN",
    where="control to OWN-LAS-REPORTS",
    statement="With reports every 16 executions the tables add little at Zipf 1: a single column, which is the mean cost "
    "alone, does nearly as well.",
    criterion="with one column mean waits within 1 ms and drops within .01 of those with 55 columns, at every load",
    experiment=LEVELS,
    figure=_figure_levels,
    setup=steady.SETUP,
)
def _judge_column(runs: Runs):
    return finding(
        f"waits by load: {_waits_by_level(runs, REPORTED, ONE_COLUMN)} ms; with 55 columns drops are fewer by "
        f"{_fewer(runs, ONE_COLUMN)}",
        shape=all_of(_as_well(runs, ONE_COLUMN, 1.0, 0.01)),
        note="Fresh associations and orders.",
    )


def _as_well(runs: Runs, other: str, wait: float, drop: float):
    """Return the checks that a shedder waits and drops as the one with reports, within these."""
    for at, part in _by_level(runs):
        for what, within in (("wait", wait), ("drop", drop)):
            gap = part[f"{other}: {what}"] - part[f"{REPORTED}: {what}"]
            yield between(gap, -within, within, f"{what}, {other} less reports {at}")


def _fewer(runs: Runs, than: str) -> str:
    gaps = (part[f"{than}: drop"] - part[f"{REPORTED}: drop"] for _, part in _by_level(runs))
    return listed((gap.values.mean() for gap in gaps), "{:+.4f}")


# --- the seven phases: reports and a windowed goal -----------------------------------------------


def _through_phases(swapped: str, seed: int) -> dict[str, Any]:
    return phases.run_phases(THROUGH_PHASES, seed, swapped=swapped)


PHASES = Experiment(
    "las_own_phases",
    lambda profile: [{"swapped": swapped} for swapped in ("DEF", "D")],
    _through_phases,
    seeds=Seeds(quick=(20, 102), paper=(50, 250), start=FRESH),
)


def _figure_phases(frame, profile):
    names = [KNOWLEDGE, LAS, ASKED, REPORTED, ONE_COLUMN, "LAS, windowed", "LAS + reports, windowed"]
    return phases.draw(frame, names, "Reports, questions and a windowed goal in the seven phases")


@claim(
    "OWN-LAS-F",
    where="extension of section 3",
    statement="Reports every 16 executions cut the waits of phase F to a tenth or less of what they are when the operator "
    "is asked with new matrices only, and to less than half of what they are with as many questions.",
    criterion="the mean wait in F is at most a tenth of that of LAS, and at most half of that with questions",
    experiment=PHASES,
    figure=_figure_phases,
    setup=phases.SETUP,
    amended="The default was called 'as printed' and was all that reports were compared with; that every run must be "
    "better by itself is dropped.",
)
def _judge_doubled(runs: Runs):
    told = wait_in(runs, REPORTED, "F")
    plain, asked = (ratio(told, wait_in(runs, name, "F")) for name in (LAS, ASKED))
    return finding(
        f"mean waits in F: {waits(runs, 'F', (REPORTED, LAS, ASKED))} ms; with reports {plain:.3f} of LAS, {asked:.3f} "
        "of questions",
        shape=all_of(at_most(plain, 0.1, "reports over LAS"), at_most(asked, 0.5, "reports over questions")),
        note=f"One column with reports: {waits(runs, 'F', (ONE_COLUMN,))} ms. Drops in F: "
        f"{shares(runs, 'F', (REPORTED, LAS, ASKED, ONE_COLUMN, KNOWLEDGE))}. Fresh seeds, with the swap of phase D to "
        "last for D or to F.",
    )


@claim(
    "OWN-LAS-G",
    where="extension of section 3",
    statement="With reports every 16 executions phase G drops at most a quarter of what is dropped when the operator is "
    "asked with new matrices only, within tau.",
    criterion="drops at most a quarter; mean wait at most tau",
    experiment=PHASES,
    figure=_figure_phases,
    setup=phases.SETUP,
    amended="The default was called 'as printed'; as many questions now stand beside it.",
)
def _judge_restored(runs: Runs):
    told = drop_in(runs, REPORTED, "G")
    return finding(
        f"dropped in G: {shares(runs, 'G', (REPORTED, LAS))}; waits {waits(runs, 'G', (REPORTED, LAS))} ms",
        shape=all_of(
            at_most(wait_in(runs, REPORTED, "G"), phases.THRESHOLD, "reports, wait in G, ms"),
            less(4 * told, drop_in(runs, LAS, "G"), "four times with reports, below LAS"),
        ),
        note=f"As many questions drop {mean(drop_in(runs, ASKED, 'G')):.3f}, one column with reports "
        f"{mean(drop_in(runs, ONE_COLUMN, 'G')):.3f}, Full Knowledge {mean(drop_in(runs, KNOWLEDGE, 'G')):.3f}.",
    )


@claim(
    "OWN-LAS-WINDOW",
    where="extension of section 2",
    statement="An average over the last 4,000 kept tuples limits the waits of phase F better than the average over "
    "all.",
    criterion="lower mean wait in F, with and without reports",
    experiment=PHASES,
    figure=_figure_phases,
    setup=phases.SETUP,
)
def _judge_window(runs: Runs):
    pairs = {"LAS + reports, windowed": REPORTED, "LAS, windowed": LAS}
    return finding(
        f"mean waits in F: {waits(runs, 'F', [name for pair in pairs.items() for name in pair])} ms",
        shape=all_of(
            less(wait_in(runs, last, "F"), wait_in(runs, whole, "F"), f"{last}, wait in F, ms")
            for last, whole in pairs.items()
        ),
        note="An average over all tuples lets a quiet hour pay for a bad one: after the idle phase E it allows waits far "
        f"above tau. Drops in F: {shares(runs, 'F', [*pairs])}, {shares(runs, 'F', [*pairs.values()])}; in G: "
        f"{shares(runs, 'G', [*pairs])}.",
    )
