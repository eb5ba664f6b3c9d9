"""From aspects to a verdict: what a judge returns, and the words that follow from it."""

from __future__ import annotations

from dataclasses import dataclass

from .aspects import FAILS, HOLDS, UNDECIDED, Aspect, Ruling
from .estimates import ALPHA, Level

REPRODUCED = "reproduced"
IN_SHAPE = "in shape"
DIFFERS = "differs"
NOT_APPLICABLE = "not applicable"
REPORTED = "reported"
VERDICTS = (REPRODUCED, IN_SHAPE, DIFFERS, UNDECIDED, NOT_APPLICABLE, REPORTED)
ABSENT = ""  # an aspect that the paper does not state


@dataclass(frozen=True)
class Finding:
    """What a judge has found: the aspects, what was measured in a few words, and why it is so.

    Make one with `finding`, `reported` or `not_applicable`.
    """

    measured: str
    shape: Aspect | None = None
    value: Aspect | None = None
    note: str = ""
    without: str = ""  # REPORTED or NOT_APPLICABLE: why there is no aspect

    def __post_init__(self):
        if not self.measured.strip():
            raise ValueError("measured must say what was measured, got an empty text")


def finding(measured: str, *, shape: Aspect | None = None, value: Aspect | None = None, note: str = "") -> Finding:
    """Return what a judge has found about the shape, the value, or both.

    Parameters
    ----------
    measured : str
        What was measured, in a few words made from the runs.
    shape, value : Aspect, optional
        What the paper states; at least one of them.
    note : str
        Why it is so, and what else the reader should know.
    """
    if shape is None and value is None:
        raise ValueError("a finding needs a shape, a value or both; what has neither is `reported`")
    return Finding(measured, shape, value, note)


def reported(measured: str, note: str = "") -> Finding:
    """Return numbers without a verdict: the paper gives nothing to hold against them."""
    return Finding(measured, note=note, without=REPORTED)


def not_applicable(measured: str, note: str) -> Finding:
    """Return that the claim cannot be judged, with the reason in `note`."""
    if not note.strip():
        raise ValueError("note must say why the claim is not applicable, got an empty text")
    return Finding(measured, note=note, without=NOT_APPLICABLE)


@dataclass(frozen=True)
class Decision:
    """A finding, decided: the words, the estimate on which they hang, and what is still open.

    `shape` and `value` are "holds", "fails", "undecided" or "" where the paper states none.
    `estimate`, `low` and `high` belong to the check on which the verdict hangs: that of the value,
    or of the shape where it fails or no value is stated; `label` says which, and `region` where it
    must lie. `of_value` are the same three numbers for the value. `cells` are the settings that
    need more seeds, and None stands for all. `checks` is how many checks with noise share the
    error.
    """

    verdict: str
    shape: str
    value: str
    measured: str
    note: str
    label: str = ""
    estimate: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    cells: frozenset[int] | None = frozenset()
    region: tuple[float, float] = (float("-inf"), float("inf"))
    checks: int = 0
    of_value: tuple[float, float, float] | None = None

    @property
    def decided(self) -> bool:
        """Whether the verdict has a word."""
        return self.verdict != UNDECIDED

    @property
    def settled(self) -> bool:
        """Whether every aspect has a word too, so that more seeds would change nothing."""
        return UNDECIDED not in (self.verdict, self.shape, self.value)


def decide(found: Finding, alpha: float | Level = ALPHA) -> Decision:
    """Return the verdict that follows from a finding.

    Parameters
    ----------
    found : Finding
        From the judge.
    alpha : float or callable
        The chance of a wrong word, or the function that gives it for an estimate over so many
        seeds. It is shared by all checks with noise of both aspects.
    """
    if found.without:
        return Decision(found.without, ABSENT, ABSENT, found.measured, found.note)
    aspects = [aspect for aspect in (found.shape, found.value) if aspect is not None]
    checks = sum(aspect.statistical for aspect in aspects)
    each = _shared(alpha, max(1, checks))
    shape = found.shape.rule(each) if found.shape is not None else None
    value = found.value.rule(each) if found.value is not None else None
    verdict = verdict_of(shape.word if shape else ABSENT, value.word if value else ABSENT)
    crucial = shape if value is None or (shape is not None and shape.word == FAILS) else value
    assert crucial is not None
    return Decision(
        verdict,
        shape.word if shape else ABSENT,
        value.word if value else ABSENT,
        found.measured,
        found.note,
        crucial.label,
        crucial.estimate,
        crucial.low,
        crucial.high,
        _open_cells([ruling for ruling in (shape, value) if ruling is not None]),
        crucial.region,
        checks,
        (value.estimate, value.low, value.high) if value is not None else None,
    )


def _shared(alpha: float | Level, checks: int) -> float | Level:
    return (lambda seeds: alpha(seeds) / checks) if callable(alpha) else alpha / checks


def verdict_of(shape: str, value: str) -> str:
    """Return the verdict that two words make; "" is an aspect that is not stated.

    Examples
    --------
    >>> from streamlb.validation.judging.findings import verdict_of
    >>> verdict_of("holds", "fails"), verdict_of("", "fails"), verdict_of("fails", "undecided")
    ('in shape', 'differs', 'differs')
    """
    words = {shape, value} - {ABSENT}
    if not words or not words <= {HOLDS, FAILS, UNDECIDED}:
        raise ValueError(f"a verdict needs words on a shape or a value, got {shape!r} and {value!r}")
    if shape == FAILS:
        return DIFFERS
    if UNDECIDED in words:
        return UNDECIDED
    if value == FAILS:
        return IN_SHAPE if shape == HOLDS else DIFFERS
    return REPRODUCED


def _open_cells(rulings: list[Ruling]) -> frozenset[int] | None:
    """Return the settings of all undecided checks; None if one of them may need any."""
    undecided = [ruling for ruling in rulings if ruling.word == UNDECIDED]
    if any(ruling.everywhere for ruling in undecided):
        return None
    return frozenset().union(*(ruling.cells for ruling in undecided))
