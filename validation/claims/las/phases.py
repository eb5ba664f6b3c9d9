"""Load-aware shedding under a changing load: the seven phases of figure 6 (Rivetti et al. 2016).

A run keeps, for each shedder, the mean wait of each phase and of its last window, the share that
was dropped, and the windows of 4,000 tuples themselves for the figure. Where nothing was kept, the
wait counts as 0: the share dropped then says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import COLOURS, PAPER, panels
from ...judging import Runs, all_of, at_least, at_most, between, finding, geometric_mean, greater, less, mean, reported
from .readings import KNOWLEDGE, LAS, OF_PHASES, PAPERS_FOUR, READINGS, STRAW_MAN, papers_shedders

THRESHOLD, PHASE, JUMP = 64.0, 20_000, 4_000
WINDOWS = 7 * PHASE // JUMP
PAPERS_THREE = PAPERS_FOUR[:3]
NEAR = 0.05  # between two shares dropped: what a factor of 1.05 asks for
SETUP = (
    "A stream of 7 x 20,000 tuples; rates are relative to the mean cost of phase A and the swap of phase D lasts until "
    "G restores A, unless the reading says otherwise. LAS starts from NOP."
)
CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="LAS", kind="b", setup=SETUP, readings=OF_PHASES)


def run_phases(shedders: dict[str, tuple[str, dict[str, Any]]], seed: int, **load: Any) -> dict[str, Any]:
    """Run shedders through the seven phases."""
    from streamlb import seven_phases, simulate_shedding

    stream = seven_phases(seed, messages=PHASE, **load)
    out: dict[str, Any] = {}
    for name, (policy, options) in shedders.items():
        mean_cost = {"mean_cost": stream.mean_cost} if policy == "straw_man" else {}
        result = simulate_shedding(
            stream.keys, stream.costs, policy, THRESHOLD, seed=seed, arrivals=stream.arrivals, **options, **mean_cost
        )
        windows = result.windows(JUMP)
        kept = np.rint((1 - windows["dropped_ratio"]) * JUMP)
        waits = np.where(kept > 0, windows["wait"], 0.0)
        for letter, part in zip("ABCDEFG", np.split(np.arange(WINDOWS), 7)):
            total = kept[part].sum()
            out[f"{name}: wait {letter}"] = float(waits[part] @ kept[part] / total) if total else 0.0
            out[f"{name}: drop {letter}"] = float(1 - total / PHASE)
        out[f"{name}: windows"] = waits.tolist()
        out[f"{name}: kept"] = kept.tolist()
    return out


def _phases(reading: str, seed: int) -> dict[str, Any]:
    shedders = papers_shedders(reading)
    return run_phases(
        {name: shedders[name] for name in PAPERS_THREE}, seed, **READINGS[reading].options.get("load", {})
    )


PHASES = Experiment(
    "las_phases",
    lambda profile: [{"reading": reading} for reading in OF_PHASES],
    _phases,
    seeds=Seeds(quick=(40, 203), paper=(100, 500)),
)


def wait_in(runs: Runs, name: str, letter: str):
    """Return the mean wait of the kept tuples of a phase, run by run."""
    return runs[f"{name}: wait {letter}"]


def drop_in(runs: Runs, name: str, letter: str):
    """Return the share of a phase's tuples that were dropped, run by run."""
    return runs[f"{name}: drop {letter}"]


def window(runs: Runs, name: str, letter: str, number: int = -1):
    """Return the mean wait in a window of a phase, run by run: the last one."""
    at = range(WINDOWS)["ABCDEFG".index(letter) * PHASE // JUMP :][: PHASE // JUMP][number]
    return runs.sample(np.array([windows[at] for windows in runs.frame[f"{name}: windows"]]), f"{name}, {letter}")


def shares(runs: Runs, letter: str, names=PAPERS_THREE) -> str:
    """Return what shedders drop in a phase, in words."""
    return ", ".join(f"{name} {mean(drop_in(runs, name, letter)):.3f}" for name in names)


def waits(runs: Runs, letter: str, names=PAPERS_THREE) -> str:
    """Return the mean waits of shedders in a phase, in words."""
    return ", ".join(f"{name} {mean(wait_in(runs, name, letter)):.0f}" for name in names)


def _near(runs: Runs, letter: str):
    """Return the check that LAS drops what Full Knowledge does."""
    gap = drop_in(runs, LAS, letter) - drop_in(runs, KNOWLEDGE, letter)
    return between(gap, -NEAR, NEAR, f"LAS less Full Knowledge, dropped in {letter}")


def _told(runs: Runs, letter: str) -> str:
    return f"drops: {shares(runs, letter)}; waits: {waits(runs, letter)} ms"


def _last(runs: Runs, letter: str) -> str:
    return ", ".join(f"{name} {mean(window(runs, name, letter)):.0f}" for name in PAPERS_THREE)


def _factor(a, b):
    """Return how many times a is b, as a geometric mean: waits have long tails.

    Waits below a tenth of a millisecond, such as those where nothing was kept, count as a tenth.
    """
    return geometric_mean(a.map(_not_zero) / b.map(_not_zero))


def _not_zero(waits):
    return np.maximum(waits, 0.1)


def draw(frame, names, title):
    """Draw the average wait above and the dropped ratio below, window by window."""
    labels = ("average queuing latency (ms)", "dropped ratio")
    figure, all_axes = panels("", [title], "tuple (a dot: 4,000 tuples)", labels, size=(8.0, 3.0))
    upper, lower = all_axes[:, 0]
    ends = np.arange(1, WINDOWS + 1) * JUMP
    for number, name in enumerate(names):
        kept = np.array(frame[f"{name}: kept"].tolist(), float)
        total = (np.array(frame[f"{name}: windows"].tolist(), float) * kept).sum(axis=0)
        some = kept.sum(axis=0)
        average = np.divide(total, some, out=np.full(WINDOWS, np.nan), where=some > 0)
        upper.plot(ends, np.maximum(average, 0.1), "o-", ms=3, color=COLOURS[number], label=name)
        lower.plot(ends, 1 - kept.mean(axis=0) / JUMP, "o-", ms=3, color=COLOURS[number])
    upper.axhline(THRESHOLD, color=PAPER, ls="--", label="τ = 64 ms")
    upper.set_yscale("log")
    upper.tick_params(labelbottom=False)  # the letters of the phases stand there
    for axis in (upper, lower):
        for start in range(1, 7):
            axis.axvline(start * PHASE, color="0.7", lw=0.8)
    for number, letter in enumerate("ABCDEFG"):
        upper.text((number + 0.5) * PHASE, 0.13, letter, ha="center", color="0.4")
    upper.legend(fontsize=7, ncol=2)
    return figure


def _figure_series(frame, profile):
    own = frame[frame["reading"] == "default"]
    return draw(own, [KNOWLEDGE, LAS, STRAW_MAN], "The seven phases (figure 6)")


@claim(
    "LAS-F6A",
    where="figure 6, phase A",
    statement="At 0% under-provisioning LAS quickly approaches Full Knowledge while Straw-Man's queue grows; both drop "
    "slightly more than Straw-Man.",
    claimed="LAS near Full Knowledge",
    criterion="LAS drops as Full Knowledge, to .05, and both more than Straw-Man, which waits at least twice as long "
    "as LAS in the last window of the phase (geometric mean of the runs)",
    experiment=PHASES,
    figure=_figure_series,
    amended="That both drop more than Straw-Man was not judged; it is part of the sentence.",
)
def _judge_a(runs):
    return finding(
        f"{_told(runs, 'A')}; last window: {_last(runs, 'A')} ms",
        shape=all_of(
            _near(runs, "A"),
            at_least(
                _factor(window(runs, STRAW_MAN, "A"), window(runs, LAS, "A")), 2.0, "last waits, Straw-Man over LAS"
            ),
            (
                greater(drop_in(runs, name, "A"), drop_in(runs, STRAW_MAN, "A"), f"{name} drops more than Straw-Man")
                for name in (LAS, KNOWLEDGE)
            ),
        ),
    )


@claim(
    "LAS-F6B",
    where="figure 6, phase B",
    statement="At 50% under-provisioning all three drop more, and their waits change slightly.",
    claimed="slight changes",
    criterion="LAS drops as Full Knowledge, to .05; all three drop more than in A; the wait of each is within a "
    "factor of two of its last window of A (geometric mean of the runs)",
    experiment=PHASES,
    figure=_figure_series,
    amended="Judged was that all three drop more than 45%; the slight changes of the waits, and more than in A, are "
    "the sentence.",
)
def _judge_b(runs):
    return finding(
        _told(runs, "B"),
        shape=all_of(
            _near(runs, "B"),
            (
                greater(drop_in(runs, name, "B"), drop_in(runs, name, "A"), f"{name} drops more in B than in A")
                for name in PAPERS_THREE
            ),
            (
                between(
                    _factor(wait_in(runs, name, "B"), window(runs, name, "A")), 0.5, 2.0, f"{name}, B over end of A"
                )
                for name in PAPERS_THREE
            ),
        ),
        note=f"Last window of A: {_last(runs, 'A')} ms.",
    )


@claim(
    "LAS-F6C",
    where="figure 6, phase C",
    statement="Back at 0% the system is where it was in A.",
    claimed="as in A",
    criterion="LAS drops as Full Knowledge, to .05, and each of the three as in A, to .05",
    experiment=PHASES,
    figure=_figure_series,
    amended="Straw-Man was left out; the sentence is about the system.",
)
def _judge_c(runs):
    return finding(
        _told(runs, "C"),
        shape=all_of(
            _near(runs, "C"),
            (
                between(drop_in(runs, name, "C") - drop_in(runs, name, "A"), -NEAR, NEAR, f"{name}, C less A")
                for name in PAPERS_THREE
            ),
        ),
        note=f"In A, drops: {shares(runs, 'A')}.",
    )


@claim(
    "LAS-F6D",
    where="figure 6, phase D",
    statement="When the most frequent tuple becomes a dear one, LAS and Full Knowledge drop more and keep close to the "
    "threshold; Straw-Man drops as before, and its performance deteriorates strongly.",
    claimed="close to 64 ms",
    criterion="shape: LAS drops as Full Knowledge to .05, both more than in C; Straw-Man as in C to .02, and above 10 "
    "tau in the last window; value: mean waits of LAS and Full Knowledge within [.5, 1.5] tau",
    experiment=PHASES,
    figure=_figure_series,
    amended="The waits of LAS and Full Knowledge were not judged; they are part of the sentence.",
)
def _judge_d(runs):
    both = (LAS, KNOWLEDGE)
    same = drop_in(runs, STRAW_MAN, "D") - drop_in(runs, STRAW_MAN, "C")
    return finding(
        f"{_told(runs, 'D')}; last window: {_last(runs, 'D')} ms",
        shape=all_of(
            _near(runs, "D"),
            (greater(drop_in(runs, name, "D"), drop_in(runs, name, "C"), f"{name} drops more in D") for name in both),
            between(same, -0.02, 0.02, "Straw-Man dropped, D less C"),
            at_least(window(runs, STRAW_MAN, "D"), 10 * THRESHOLD, "Straw-Man, last window of D, ms"),
        ),
        value=all_of(
            between(wait_in(runs, name, "D"), 0.5 * THRESHOLD, 1.5 * THRESHOLD, f"{name} in D, ms") for name in both
        ),
        note=f"In C, drops: {shares(runs, 'C')}.",
    )


@claim(
    "LAS-F6E",
    where="figure 6, phase E",
    statement="At 50% over-provisioning all three perform equally well, and nobody drops.",
    claimed="equally well",
    criterion="each drops at most 1%; in each window after the first, mean waits within tau/10 = 6.4 ms of each other",
    experiment=PHASES,
    figure=_figure_series,
    amended="The waits were not judged; they are half of the sentence.",
)
def _judge_e(runs):
    others = (LAS, STRAW_MAN)
    return finding(
        _told(runs, "E"),
        shape=all_of(
            (at_most(drop_in(runs, name, "E"), 0.01, f"{name} dropped in E") for name in PAPERS_THREE),
            (
                between(
                    window(runs, name, "E", number) - window(runs, KNOWLEDGE, "E", number),
                    -THRESHOLD / 10,
                    THRESHOLD / 10,
                    f"{name} less Full Knowledge, window {number + 1} of E, ms",
                )
                for name in others
                for number in range(1, PHASE // JUMP)
            ),
        ),
        note="Straw-Man works off its queue of phase D, of which it does not know. Its windows of E: "
        + ", ".join(f"{mean(window(runs, STRAW_MAN, 'E', number)):.0f}" for number in range(PHASE // JUMP))
        + " ms.",
    )


def _series(runs: Runs, name: str, letter: str) -> str:
    return ", ".join(f"{window(runs, name, letter, number).values.mean():.0f}" for number in range(PHASE // JUMP))


@claim(
    "LAS-F6F",
    where="figure 6, phase F",
    statement="When every cost doubles LAS is bad at first and converges quickly to tau.",
    claimed="converges quickly",
    criterion="report only",
    experiment=PHASES,
    figure=_figure_series,
    amended="Was judged as: within 2 tau in the last window. How quickly is quickly the text does not say; what it "
    "does say is LAS-F6F-v.",
)
def _judge_doubled(runs):
    return reported(
        f"LAS, windows of F: {_series(runs, LAS, 'F')} ms (tau 64); drops: {shares(runs, 'F')}",
        "Matrices need at least 2,048 executions at twice the cost, the reply then waits behind the queue of that "
        "time, and only then does the shedder learn of it. Full Knowledge, which knows the doubled costs: "
        f"{_series(runs, KNOWLEDGE, 'F')} ms.",
    )


@claim(
    "LAS-F6F-v",
    where="figure 6, phase F",
    statement="In phase F the waits of LAS come back to the threshold while those of Straw-Man diverge.",
    claimed="tau = 64 ms",
    criterion="shape: Straw-Man waits longer in the last window of F than in the first, and LAS in the last not as long "
    "as Straw-Man; value: LAS within 2 tau in the last window, with at most 99% of F dropped",
    experiment=PHASES,
    figure=_figure_series,
)
def _judge_converges(runs):
    return finding(
        f"last window of F: {_last(runs, 'F')} ms; LAS drops {mean(drop_in(runs, LAS, 'F')):.3f} of F",
        shape=all_of(
            greater(window(runs, STRAW_MAN, "F"), window(runs, STRAW_MAN, "F", 0), "Straw-Man, last less first, ms"),
            less(window(runs, LAS, "F"), window(runs, STRAW_MAN, "F"), "last windows, LAS below Straw-Man, ms"),
        ),
        value=all_of(
            at_most(window(runs, LAS, "F"), 2 * THRESHOLD, "LAS, last window of F, ms"),
            # Where nothing is kept there is no wait.
            at_most(drop_in(runs, LAS, "F"), 0.99, "LAS, dropped in F"),
        ),
        note=f"LAS: {_series(runs, LAS, 'F')}; Straw-Man: {_series(runs, STRAW_MAN, 'F')} ms.",
    )


@claim(
    "LAS-F6G",
    where="figure 6, phase G",
    statement="Restoring the costs has little effect on LAS; Straw-Man never recovers.",
    claimed="little effect; no recovery",
    criterion="LAS drops in G as Full Knowledge, to .05, and its wait is within a factor of two of its last window of "
    "F (geometric mean of the runs); Straw-Man is above 10 tau at the end of G",
    experiment=PHASES,
    figure=_figure_series,
    amended="LAS was not judged, and that it drops most of G was in the note; it is half of the sentence.",
)
def _judge_restored(runs):
    return finding(
        f"{_told(runs, 'G')}; last window: {_last(runs, 'G')} ms",
        shape=all_of(
            _near(runs, "G"),
            between(_factor(wait_in(runs, LAS, "G"), window(runs, LAS, "F")), 0.5, 2.0, "LAS, G over end of F"),
            at_least(window(runs, STRAW_MAN, "G"), 10 * THRESHOLD, "Straw-Man, last window of G, ms"),
        ),
        note=f"Last window of F: {_last(runs, 'F')} ms. LAS drops in G until it has paid for phase F and learnt the old "
        "costs again.",
    )
