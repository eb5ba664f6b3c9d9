"""What a claim is: data, and the functions that measure and judge it.

An `Experiment` is a grid of parameter rows and a pure function of one row; a `Claim` reads the
runs of one experiment and says whether what a paper states is so. Several claims may share an
experiment, which then runs once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    Judge = Callable[[pd.DataFrame, str], "Verdict"]

REPRODUCED = "reproduced"
DIFFERS = "differs"
NOT_APPLICABLE = "not applicable"

PROFILES = ("quick", "paper")


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
        ``grid(profile)`` gives a list of dicts of JSON values, one dict for each run: the keyword
        arguments of `measure`.
    measure : callable
        ``measure(**row)`` gives a dict of JSON values (numbers, strings, short lists). It must be a
        pure function of the row.
    cost : callable, optional
        ``cost(row)`` gives the relative time of a run, so that the longest can start first.
    """

    name: str
    grid: Callable[[str], list[dict[str, Any]]]
    measure: Callable[..., dict[str, Any]]
    cost: Callable[[dict[str, Any]], float] = _one_each


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
        What makes the verdict `reproduced`.
    experiment : Experiment
        Where its runs come from.
    judge : callable
        ``judge(runs, profile)`` gives a `Verdict`; `runs` is a pandas frame with one row for each
        run, and with its parameters and results as columns.
    figure : callable, optional
        ``figure(runs, profile)`` gives a matplotlib Figure with a title, axes with units, and the
        paper's value beside ours.
    setup : str, optional
        What the report should say about stand-ins or simulation.
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
    >>> from streamlb.validation.claim import Experiment, Verdict, claims_into
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
    ... def y_is_two(runs, profile):
    ...     return Verdict.when(bool((runs.y == 2).all()), f"y = {runs.y[0]}")
    >>> CLAIMS[0].id, CLAIMS[0].judge is y_is_two
    ('DC-0', True)
    """

    def claim(id: str, **fields: Any) -> Callable[[Judge], Judge]:
        def declare(judge: Judge) -> Judge:
            claims.append(Claim(id=id, judge=judge, **{**shared, **fields}))
            return judge

        return declare

    return claim
