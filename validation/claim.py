"""What a claim is: data, and the functions that measure and judge it.

An `Experiment` is a grid of parameter rows and a pure function of one row; a `Claim` reads the
runs of one experiment and says whether what a paper states is so. Several claims may share an
experiment, which then runs once.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from .judging import Finding, Runs

    Judge = Callable[[Runs], Finding] | Callable[[pd.DataFrame, str], "Verdict"]

REPRODUCED = "reproduced"
DIFFERS = "differs"
NOT_APPLICABLE = "not applicable"

PROFILES = ("quick", "paper")
GROWTH = 1.5  # from one look to the next


@dataclass(frozen=True)
class Verdict:
    """The outcome of a claim: the verdict, what was measured in a few words, and why it is so."""

    verdict: str
    measured: str
    note: str = ""

    def __post_init__(self):
        if self.verdict not in (REPRODUCED, DIFFERS, NOT_APPLICABLE):
            raise ValueError(f"verdict must be reproduced, differs or not applicable, got {self.verdict!r}")

    @classmethod
    def when(cls, holds: bool, measured: str, note: str = "") -> Verdict:
        """Reproduced when `holds`, else differs."""
        return cls(REPRODUCED if holds else DIFFERS, measured, note)


@dataclass(frozen=True)
class Seeds:
    """How many independent seeds a setting gets: at the first look, and at most.

    An undecided claim gets half as many again at each further look, until the budget is spent. The
    error is spent over the looks in proportion to their seeds, so that an early look decides only
    what is plain.

    Parameters
    ----------
    quick, paper : (int, int)
        The seeds of the first look and the budget, under each profile.
    start : int
        The number of the first seed.

    Examples
    --------
    >>> from streamlb.validation.claim import Seeds
    >>> seeds = Seeds(quick=(10, 40), paper=(10, 200))
    >>> seeds.looks("quick")
    [10, 15, 23, 35, 40]
    >>> round(sum(seeds.shares("quick")), 9)
    1.0
    """

    quick: tuple[int, int]
    paper: tuple[int, int]
    start: int = 0

    def __post_init__(self):
        for profile in PROFILES:
            first, most = getattr(self, profile)
            if not 2 <= first <= most:
                raise ValueError(f"{profile} must be two numbers with 2 <= first <= most, got {(first, most)}")

    def looks(self, profile: str) -> list[int]:
        """Return the numbers of seeds at which claims are judged."""
        size, most = getattr(self, profile)
        looks = [size]
        while size < most:
            size = min(most, math.ceil(size * GROWTH))
            looks.append(size)
        return looks

    def shares(self, profile: str) -> list[float]:
        """Return the share of the error that each look may spend."""
        looks = self.looks(profile)
        return [size / sum(looks) for size in looks]

    def level(self, profile: str, alpha: float) -> Callable[[int], float]:
        """Return the chance of an error that a check with so many seeds may spend.

        A number of seeds between two looks counts as the lower one. As each state of a check's data
        has one level, whenever it is judged, the levels of all that can be judged add up to alpha.

        Examples
        --------
        >>> from streamlb.validation.claim import Seeds
        >>> level = Seeds(quick=(10, 20), paper=(10, 99)).level("quick", alpha=0.45)
        >>> [round(level(n), 9) for n in (5, 10, 14, 15, 20)]
        [0.1, 0.1, 0.1, 0.15, 0.2]
        """
        looks, shares = self.looks(profile), self.shares(profile)
        return lambda count: alpha * shares[max(0, bisect_right(looks, count) - 1)]


@dataclass(frozen=True)
class Reading:
    """One way to read a paper where its text leaves something open or contradicts itself.

    A paper declares its readings in one place, ``READINGS`` in its `readings` module, by name.

    Parameters
    ----------
    name : str
        How claims and runs refer to it.
    title : str
        What it is, in a few plain words.
    allowed_by : str
        The sentence of the paper that allows it, in our words, with its section.
    options : mapping
        How what is measured is set up under it.
    """

    name: str
    title: str
    allowed_by: str
    options: Mapping[str, Any] = field(default_factory=dict)


def _one_each(row: dict[str, Any]) -> float:
    return 1.0


@dataclass(frozen=True)
class Experiment:
    """A grid of runs, and how one of them is measured.

    Parameters
    ----------
    name : str
        A name that no other experiment has; its Parquet file of results has the same name.
    grid : callable
        ``grid(profile)`` gives a list of dicts of JSON values, one dict for each setting: the
        keyword arguments of `measure`, without the seed if there are `seeds`.
    measure : callable
        ``measure(**row)`` gives a dict of JSON values (numbers, strings, short lists). It must be a
        pure function of the row.
    cost : callable, optional
        ``cost(row)`` gives the relative time of a run, so that the longest can start first.
    seeds : Seeds, optional
        How many seeds each setting gets; `measure` is then given ``seed`` beside the setting. None
        where nothing is drawn: every setting is then one run.
    """

    name: str
    grid: Callable[[str], list[dict[str, Any]]]
    measure: Callable[..., dict[str, Any]]
    cost: Callable[[dict[str, Any]], float] = _one_each
    seeds: Seeds | None = None


@dataclass(frozen=True)
class Claim:
    """One statement of a paper, and how it is judged.

    Parameters
    ----------
    id : str
        How the claim is cited, such as ``POSG-T4.3``.
    paper : str
        ``POSG``, ``LAS``, ``DC``, ``CG``, ``PIPE`` or ``OWN``.
    kind : str
        ``a`` for exact or analytic claims, ``b`` for statistical ones, ``c`` where the paper had a
        cluster or private data, which are simulated here. Several are joined by a slash: ``a/b``.
    where : str
        The section, figure or theorem of the paper.
    statement : str
        What is claimed, in our words, with the set-up.
    claimed : str
        The paper's value, in a few words.
    criterion : str
        What makes the shape, the value or both hold, stated before it is measured.
    experiment : Experiment
        Where its runs come from.
    judge : callable
        ``judge(runs)`` gives a `Finding` of `streamlb.validation.judging`; `runs` is a `Runs`.
    figure : callable, optional
        ``figure(runs, profile)`` gives a matplotlib Figure with a title, axes with units, and the
        paper's value beside ours.
    setup : str, optional
        What the report should say about stand-ins or simulation.
    readings : tuple of str, optional
        The readings of the paper under which it is judged; the first makes the headline verdict.
        Where the runs have a column `reading`, a judge sees only the rows of its own reading.
    amended : str, optional
        The criterion before its result was seen, and why it was changed.
    """

    id: str
    paper: str
    kind: str
    where: str
    statement: str
    claimed: str
    criterion: str
    experiment: Experiment
    judge: Judge
    figure: Callable[[pd.DataFrame, str], Figure] | None = None
    setup: str = ""
    readings: tuple[str, ...] = ("",)
    amended: str = ""


def claims_into(claims: list[Claim], **shared: Any) -> Callable[..., Callable[[Judge], Judge]]:
    """Return the decorator with which a module declares its claims, each above its judge.

    Parameters
    ----------
    claims : list of Claim
        Where the claims go, in the order of their judges: the module's `CLAIMS`.
    **shared
        Fields of `Claim` that they have in common, such as `paper`; a claim may give its own
        instead.

    Examples
    --------
    >>> from streamlb.validation.claim import Experiment, claims_into
    >>> from streamlb.validation.judging import finding, never
    >>> CLAIMS = []
    >>> claim = claims_into(CLAIMS, paper="DC", kind="a")
    >>> one = Experiment("one", lambda profile: [{"x": 1}], lambda x: {"y": x + 1})
    >>> @claim(
    ...     "DC-0",
    ...     where="section 0",
    ...     statement="y is x + 1.",
    ...     claimed="2",
    ...     criterion="y = 2",
    ...     experiment=one,
    ... )
    ... def y_is_two(runs):
    ...     wrong = (runs.frame.y != 2).sum()
    ...     return finding(f"y = {runs.frame.y[0]}", value=never(wrong, len(runs)))
    >>> CLAIMS[0].id, CLAIMS[0].judge is y_is_two
    ('DC-0', True)
    """

    def claim(id: str, **fields: Any) -> Callable[[Judge], Judge]:
        def declare(judge: Judge) -> Judge:
            claims.append(Claim(id=id, judge=judge, **{**shared, **fields}))
            return judge

        return declare

    return claim
