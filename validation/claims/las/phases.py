"""Load-aware shedding under a changing load: the seven phases of figure 6 (Rivetti et al. 2016).

A run keeps sums and counts over windows of 4,000 tuples, so that means of any phase follow from it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...claim import Claim, Experiment, Verdict, claims_into
from ...figures import COLOURS, PAPER, panels
from .readings import FROM_NOP, REPORTS, SPAN

THRESHOLD, PHASE, JUMP = 64.0, 20_000, SPAN
WINDOWS = 7 * PHASE // JUMP
PAPERS_THREE = ("LAS", "Full Knowledge", "Straw-Man")
SETUP = (
    "A stream of 7 x 20,000 tuples; rates are relative to the mean cost of phase A, the swap of phase D lasts until G "
    "restores A."
)
CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="LAS", kind="b", setup=SETUP)


def phases(seed: int, swapped: str = "DEF") -> dict[str, Any]:
    """Run every shedder through the seven phases: waits and kept tuples of each window."""
    from streamlb import seven_phases, simulate_shedding

    load = seven_phases(seed, messages=PHASE, swapped=swapped)
    out: dict[str, Any] = {}
    for name, (policy, options) in FROM_NOP.items():
        mean = {"mean_cost": load.mean_cost} if policy == "straw_man" else {}
        result = simulate_shedding(
            load.keys, load.costs, policy, THRESHOLD, seed=seed, arrivals=load.arrivals, **options, **mean
        )
        windows = result.windows(JUMP)
        # A window without kept tuples has no mean: its sum and count are 0.
        kept = (1 - windows["dropped_ratio"]) * JUMP
        out[f"{name}: sum"] = np.where(kept > 0, windows["wait"] * kept, 0.0).tolist()
        out[f"{name}: kept"] = kept.round().tolist()
    return out


def _phase_grid(profile: str) -> list[dict[str, Any]]:
    return [{"seed": seed} for seed in range(8 if profile == "quick" else 100)]


PHASES = Experiment("las_phases", _phase_grid, phases)


def _matrix(runs, name: str, what: str) -> np.ndarray:
    """Return a shedder's numbers, with a row for each run and a column for each window."""
    return np.array(runs[f"{name}: {what}"].tolist(), float)


def _part(letter: str) -> slice:
    number = "ABCDEFG".index(letter)
    return slice(number * PHASE // JUMP, (number + 1) * PHASE // JUMP)


def wait_in(runs, name: str, letter: str) -> np.ndarray:
    """Return the mean wait of the kept tuples of a phase, run by run; NaN where none was kept."""
    kept = _matrix(runs, name, "kept")[:, _part(letter)].sum(axis=1)
    total = _matrix(runs, name, "sum")[:, _part(letter)].sum(axis=1)
    return np.divide(total, kept, out=np.full(kept.size, np.nan), where=kept > 0)


def drop_in(runs, name: str, letter: str) -> np.ndarray:
    """Return the share of a phase's tuples that were dropped, run by run."""
    return 1 - _matrix(runs, name, "kept")[:, _part(letter)].sum(axis=1) / PHASE


def last_wait(runs, name: str, letter: str) -> float:
    """Return the mean wait in the last window of a phase that kept anything, over the runs."""
    kept, total = _matrix(runs, name, "kept")[:, _part(letter)], _matrix(runs, name, "sum")[:, _part(letter)]
    last = [np.flatnonzero(row)[-1] if row.any() else -1 for row in kept]
    return float(np.mean([total[i, j] / kept[i, j] for i, j in enumerate(last) if j >= 0]))


def _drops(runs, letter: str, names=PAPERS_THREE) -> str:
    return ", ".join(f"{name} {drop_in(runs, name, letter).mean():.3f}" for name in names)


def waits(runs, letter: str, names=PAPERS_THREE) -> str:
    """Return the mean waits of shedders in a phase, in words."""
    return ", ".join(f"{name} {np.nanmean(wait_in(runs, name, letter)):.0f}" for name in names)


def _near(runs, letter: str) -> bool:
    """Say whether LAS drops what Full Knowledge does, to .05 (what a factor of 1.05 asks for)."""
    return abs(drop_in(runs, "LAS", letter).mean() - drop_in(runs, "Full Knowledge", letter).mean()) <= 0.05


def draw(runs, names, title):
    """Draw the average wait above and the dropped ratio below, window by window."""
    labels = ("average queuing latency (ms)", "dropped ratio")
    figure, all_axes = panels("", [title], "tuple (a dot: 4,000 tuples)", labels, size=(8.0, 3.0))
    upper, lower = all_axes[:, 0]
    ends = np.arange(1, WINDOWS + 1) * JUMP
    for number, name in enumerate(names):
        kept, total = _matrix(runs, name, "kept"), _matrix(runs, name, "sum")
        some = kept.sum(axis=0)
        mean = np.divide(total.sum(axis=0), some, out=np.full(WINDOWS, np.nan), where=some > 0)
        upper.plot(ends, np.maximum(mean, 0.1), "o-", ms=3, color=COLOURS[number], label=name)
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


def _figure_series(runs, profile):
    return draw(runs, ["Full Knowledge", "LAS", "Straw-Man", "LAS + reports"], "The seven phases (figure 6)")


def _judged(runs, letter: str, holds: bool, words: str = "") -> Verdict:
    """Return the verdict on a phase: LAS drops what Full Knowledge does, and `holds`."""
    controls = waits(runs, letter, ("Straw-Man + factor", "LAS, no factor", "Full Knowledge + factor", "LAS + reports"))
    return Verdict.when(
        bool(_near(runs, letter) and holds),
        f"drops: {_drops(runs, letter)}; waits: {waits(runs, letter)} ms",
        f"{words} Controls, waits: {controls} ms.",
    )


@claim(
    "LAS-F6A",
    where="figure 6, phase A",
    statement="At 0% under-provisioning LAS approaches Full Knowledge while Straw-Man's queue grows.",
    claimed="LAS near Full Knowledge",
    criterion="LAS drops as Full Knowledge, to .05; Straw-Man waits more than twice as long at the end of the phase",
    experiment=PHASES,
    figure=_figure_series,
)
def _judge_a(runs, profile) -> Verdict:
    return _judged(runs, "A", last_wait(runs, "Straw-Man", "A") > 2 * last_wait(runs, "LAS", "A"))


@claim(
    "LAS-F6B",
    where="figure 6, phase B",
    statement="At 50% under-provisioning all three shed what is needed.",
    claimed="LAS near Full Knowledge",
    criterion="LAS drops as Full Knowledge, to .05; all three drop more than 45%",
    experiment=PHASES,
    figure=_figure_series,
)
def _judge_b(runs, profile) -> Verdict:
    return _judged(runs, "B", all(drop_in(runs, name, "B").mean() > 0.45 for name in PAPERS_THREE))


@claim(
    "LAS-F6C",
    where="figure 6, phase C",
    statement="Back at 0% the shedders are where they were in A.",
    claimed="LAS near Full Knowledge",
    criterion="LAS drops as Full Knowledge, to .05, and both as in A, to .05",
    experiment=PHASES,
    figure=_figure_series,
)
def _judge_c(runs, profile) -> Verdict:
    moved = (drop_in(runs, name, "C").mean() - drop_in(runs, name, "A").mean() for name in ("LAS", "Full Knowledge"))
    return _judged(runs, "C", all(abs(by) <= 0.05 for by in moved))


@claim(
    "LAS-F6D",
    where="figure 6, phase D",
    statement="When the most frequent tuple becomes a dear one, LAS and Full Knowledge drop more; Straw-Man drops as "
    "before and its queue diverges.",
    claimed="LAS near Full Knowledge",
    criterion="LAS as Full Knowledge to .05, both more than in C; Straw-Man as in C and above 10 tau at the end",
    experiment=PHASES,
    figure=_figure_series,
)
def _judge_d(runs, profile) -> Verdict:
    more = all(drop_in(runs, name, "D").mean() > drop_in(runs, name, "C").mean() for name in ("LAS", "Full Knowledge"))
    same = abs(drop_in(runs, "Straw-Man", "D").mean() - drop_in(runs, "Straw-Man", "C").mean()) <= 0.02
    return _judged(runs, "D", more and same and last_wait(runs, "Straw-Man", "D") > 10 * THRESHOLD)


@claim(
    "LAS-F6E",
    where="figure 6, phase E",
    statement="At 50% over-provisioning nobody drops.",
    claimed="LAS near Full Knowledge",
    criterion="LAS drops as Full Knowledge, to .05; all three drop at most 1%",
    experiment=PHASES,
    figure=_figure_series,
)
def _judge_e(runs, profile) -> Verdict:
    idle = all(drop_in(runs, name, "E").mean() <= 0.01 for name in PAPERS_THREE)
    return _judged(runs, "E", idle, "Straw-Man still works off its queue of phase D, unknown to it.")


@claim(
    "LAS-F6F",
    where="figure 6, phase F",
    statement="When every cost doubles LAS is bad at first and converges quickly to tau.",
    claimed="converges quickly",
    criterion="report only; read as within 2 tau in the last window of F",
    experiment=PHASES,
    figure=_figure_series,
)
def _judge_doubled(runs, profile) -> Verdict:
    last = last_wait(runs, "LAS", "F")
    kept = _matrix(runs, "LAS", "kept")[:, _part("F")].mean(axis=0)
    total = _matrix(runs, "LAS", "sum")[:, _part("F")].mean(axis=0)
    return Verdict.when(
        last <= 2 * THRESHOLD,
        f"LAS, windows of F: {', '.join('none kept' if k == 0 else f'{t / k:.0f}' for t, k in zip(total, kept))} "
        "ms (tau 64)",
        "Report only; quickly is read as: back within 2 tau by the end of the phase. Matrices need at least 2,048 "
        "executions at twice the cost, the reply then waits behind the queue of that time, and only then does the "
        f"shedder learn of it. With reports every {REPORTS} executions: "
        f"{last_wait(runs, 'LAS + reports', 'F'):.0f} ms in the last window, and with the average over the last {JUMP} "
        f"kept tuples {last_wait(runs, 'LAS + reports, windowed', 'F'):.0f} ms; Full Knowledge "
        f"{last_wait(runs, 'Full Knowledge', 'F'):.0f}, Straw-Man {last_wait(runs, 'Straw-Man', 'F'):.0f} ms.",
    )


@claim(
    "LAS-F6G",
    where="figure 6, phase G",
    statement="Restoring the costs has little effect on LAS; Straw-Man never recovers.",
    claimed="Straw-Man does not recover",
    criterion="Straw-Man above 10 tau at the end of G",
    experiment=PHASES,
    figure=_figure_series,
)
def _judge_restored(runs, profile) -> Verdict:
    man = last_wait(runs, "Straw-Man", "G")
    return Verdict.when(
        man > 10 * THRESHOLD,
        f"Straw-Man {man:.0f} ms at the end of G, having dropped {drop_in(runs, 'Straw-Man', 'G').mean():.3f}",
        f"Judged on Straw-Man. Little effect on LAS is not so: it drops {drop_in(runs, 'LAS', 'G').mean():.3f} in G "
        f"(Full Knowledge {drop_in(runs, 'Full Knowledge', 'G').mean():.3f}), until it has paid for phase F and learnt "
        f"the old costs again; its mean wait is {np.nanmean(wait_in(runs, 'LAS', 'G')):.0f} ms.",
    )
