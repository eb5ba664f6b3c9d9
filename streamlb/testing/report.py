"""What a check is, what it raises, and the report of many."""

from __future__ import annotations

import unittest
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class CheckError(AssertionError):
    """Raised by a check that does not hold: which check, given what, expected what, got what."""


class SkippedCheck(unittest.SkipTest):
    """Raised by a check of something that the object does not offer; pytest shows it as skipped."""


class SkippedCheckWarning(UserWarning):
    """Names the checks that `check_grouping` and its kin left out, and why."""


class Check(NamedTuple):
    """One check: its name, and a function of no arguments which raises where it does not hold."""

    name: str
    run: Callable[[], None]


class Outcome(NamedTuple):
    """How one check went: "passed", or "skipped" with the reason in `note`."""

    name: str
    status: str
    note: str = ""


class Report(tuple[Outcome, ...]):
    """The outcomes of all checks, in order; prints as a table."""

    __slots__ = ()

    @property
    def passed(self) -> list[str]:
        """The names of the checks that hold."""
        return [name for name, status, _ in self if status == "passed"]

    @property
    def skipped(self) -> dict[str, str]:
        """Why each check that was left out was left out."""
        return {name: note for name, status, note in self if status == "skipped"}

    def __str__(self) -> str:
        return "\n".join(f"{name:<24} {status}{': ' if note else ''}{note}" for name, status, note in self)

    __repr__ = __str__


def run_all(subject: str, checks: Iterable[Check], skip: Any) -> Report:
    """Run checks, all of them, then raise one `CheckError` with what every failing one says."""
    checks = list(checks)
    left_out = wanted_skips(skip, [check.name for check in checks])
    outcomes, failures, missing = [], [], []
    for name, run in checks:
        if name in left_out:
            outcomes.append(Outcome(name, "skipped", "the caller said so"))
            continue
        try:
            run()
        except SkippedCheck as reason:
            outcomes.append(Outcome(name, "skipped", str(reason)))
            missing.append(f"{name} ({reason})")
        except CheckError as error:
            failures.append(error)
        else:
            outcomes.append(Outcome(name, "passed"))
    if failures:
        count = f"{subject} fails {len(failures)} of {len(checks)} checks.\n\n" if len(failures) > 1 else ""
        raise CheckError(count + "\n\n".join(map(str, failures))) from failures[0]
    if missing:
        warnings.warn(f"{subject}: not checked: {'; '.join(missing)}", SkippedCheckWarning, stacklevel=3)
    return Report(outcomes)


def wanted_skips(skip: Any, names: list[str]) -> set[str]:
    """Return the checks to leave out; a name that no check has is an error."""
    if isinstance(skip, str):
        raise TypeError(f"skip must be several names of checks, got the single text {skip!r}")
    wanted = set(skip)
    unknown = sorted(wanted - set(names))
    if unknown:
        raise ValueError(f"skip must hold names of checks, {', '.join(names)}; got {', '.join(map(repr, unknown))}")
    return wanted
