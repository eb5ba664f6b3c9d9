"""From the choice of claims to the report: what `streamlb validate` does."""

from __future__ import annotations

import difflib
import fnmatch
import os
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from .claim import PROFILES, Claim
from .claims import all_claims
from .engine import CLAIMS_MODULE, Failure, Outcome, run_on_spark
from .grid import Grid, Run, experiments_of
from .judging import Decision
from .results import Results
from .sequential import Course, Courses
from .verdicts import PAPERS, Failed, Judged, JudgeError, decide_reading, failed_judge, judge, write_verdicts

if TYPE_CHECKING:
    import pandas as pd


class UsageError(ValueError):
    """What was asked for cannot be done: a claim is unknown, say, or a folder cannot be written."""


@dataclass(frozen=True)
class Validation:
    """A finished validation: the judged claims, and how they came about.

    `undrawn` says of the claims whose figure failed what the error was.
    """

    judged: list[Judged]
    folder: Path
    profile: str
    master: str
    runs: int
    reused: int
    seconds: float
    undrawn: dict[str, str] = field(default_factory=dict)

    @property
    def failures(self) -> list[tuple[str, str]]:
        """The claims of which something failed, and what: a measure, a judge or a figure."""
        return [
            (item.claim.id, text)
            for item in self.judged
            for text in [*item.failures, *filter(None, [self.undrawn.get(item.claim.id)])]
        ]

    @property
    def report(self) -> Path:
        """The report's file."""
        return self.folder / "report.html"


def select_claims(patterns: str | None, claims: list[Claim] | None = None) -> list[Claim]:
    """Return the claims that a comma-separated list of ids and patterns names, paper by paper.

    None stands for all of them.

    Raises
    ------
    UsageError
        When an id or a pattern fits no claim; the message gives the closest ids.

    Examples
    --------
    >>> from streamlb.validation.validate import select_claims
    >>> [claim.id for claim in select_claims("POSG-CM*")]
    ['POSG-CM1', 'POSG-CM2']
    """
    claims = all_claims() if claims is None else claims
    ids = [claim.id for claim in claims]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise ValueError(f"two claims have the id {twice[0]}")
    wanted = set(ids) if patterns is None else _matching(patterns, ids)
    chosen = [claim for claim in claims if claim.id in wanted]
    return sorted(chosen, key=lambda claim: PAPERS.index(claim.paper) if claim.paper in PAPERS else len(PAPERS))


def _matching(patterns: str, ids: list[str]) -> set[str]:
    wanted: set[str] = set()
    for pattern in filter(None, map(str.strip, patterns.split(","))):
        found = [name for name in ids if fnmatch.fnmatchcase(name.upper(), pattern.upper())]
        if not found:
            close = difflib.get_close_matches(pattern.upper(), ids, n=3, cutoff=0.5)
            hint = f"; did you mean {', '.join(close)}?" if close else f"; ids look like {', '.join(ids[:3])}"
            raise UsageError(f"unknown claim {pattern!r}{hint}")
        wanted.update(found)
    if not wanted:
        raise UsageError(f"claims must name at least one claim, got {patterns!r}")
    return wanted


def output_folder(path: str | Path) -> Path:
    """Return the output folder, made if need be.

    Raises
    ------
    UsageError
        When nothing can be written there.
    """
    folder = Path(path)
    try:
        for name in ("results", "figures"):
            (folder / name).mkdir(parents=True, exist_ok=True)
            probe = folder / name / f".probe-{uuid.uuid4().hex}"
            probe.touch()
            probe.unlink()
    except OSError as error:
        raise UsageError(f"cannot write to the output folder {os.fspath(path)!r}: {error.strerror or error}") from error
    return folder


def validate(
    claims: str | None = None,
    *,
    profile: str = "quick",
    master: str = "local[*]",
    out: str | Path = "validation-report",
    resume: bool = False,
    first_seed: int = 0,
    module: str = CLAIMS_MODULE,
    say: Callable[[str], None] | None = None,
) -> Validation:
    """Measure claims on Spark, judge them, and write verdicts, runs, figures and the report.

    Parameters
    ----------
    claims : str, optional
        Ids and patterns, comma-separated: ``'POSG-*,DC-F10'``. All claims if None.
    profile : str
        ``quick`` or ``paper``.
    master : str
        Spark's master.
    out : path
        The output folder.
    resume : bool
        Reuse the runs that `out` holds already.
    first_seed : int
        Is added to every seed: 1,000,000, say, for a validation that has no run in common with
        another.
    module : str
        The module whose ``all_claims()`` gives the claims, importable by workers too.
    say : callable, optional
        Is called with a line of text at each step; a progress bar is then shown as well.

    Returns
    -------
    Validation
        The judged claims, and where the report is. A claim whose measure or judge fails is
        undecided and says so, and the others are judged; `failures` lists what failed.
    """
    from .report import write_report

    begun = time.perf_counter()
    if profile not in PROFILES:
        raise UsageError(f"profile must be one of {', '.join(PROFILES)}, got {profile!r}")
    _check_master(master)
    chosen = select_claims(claims, _claims_of(module))
    folder = output_folder(out)
    grids = {name: Grid(experiment, profile, first_seed) for name, experiment in experiments_of(chosen).items()}
    say = say or _silent
    results = Results(folder / "results", resume=resume, say=say)
    say(f"{_count(len(chosen), 'claim')}, {_count(len(grids), 'experiment')}")
    work = _Work(chosen, grids, results)
    missing = work.courses.start(results.known())
    if missing:
        _measure(missing, work, master, module, say)
    results.finish(grids.values())
    judged = [work.judge(course) for course in work.courses.courses]
    write_verdicts(judged, folder)
    seconds = time.perf_counter() - begun
    runs = {run.key for course in work.courses.courses for run in course.runs} - {*work.failures}
    done = Validation(judged, folder, profile, master, len(runs), len(runs) - work.measured, seconds)
    say("drawing figures and writing the report")
    undrawn = write_report(done, progress=say is not _silent)
    # Figures take their time too.
    return replace(done, seconds=time.perf_counter() - begun, undrawn=undrawn)


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def _check_master(master: str) -> None:
    """Refuse a master that Spark does not know, before anything is compiled or written."""
    from streamlb.spark.session import check_master

    try:
        check_master(master)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _silent(line: str) -> None:
    pass


def _claims_of(module: str) -> list[Claim]:
    import importlib

    return all_claims() if module == CLAIMS_MODULE else importlib.import_module(module).all_claims()


class _Work:
    """The claims' courses and their results, between Spark and the judges."""

    def __init__(self, claims: list[Claim], grids: dict[str, Grid], results: Results):
        self.results = results
        self.measured = 0
        self.failures: dict[tuple[str, str], Failure] = {}
        self.courses = Courses(claims, grids, self._decide)
        self._frame_key: tuple[str, tuple[int, ...]] | None = None

    def take(self, outcomes: list[Outcome], failures: list[Failure]) -> list[Run]:
        """Write outcomes down, judge what they complete, and return the runs to measure next.

        A run that failed is over too: the claims that wait for it are given up.
        """
        self.results.keep(outcomes)
        self.measured += len(outcomes)
        self.failures.update((failure.key, failure) for failure in failures)
        return self.courses.take([*(done.key for done in outcomes), *(failed.key for failed in failures)])

    def _decide(self, course: Course, reading: str | None = None) -> Decision:
        failures = [self.failures[run.key] for run in course.runs if run.key in self.failures]
        if failures:
            more = f" ({len(failures)} runs failed)" if len(failures) > 1 else ""
            return Failed(f"{failures[0]}{more}", failures[0].traceback)
        claim = course.claim
        reading = claim.readings[0] if reading is None else reading
        try:
            return decide_reading(claim, self._frame(course), reading, course.grid.profile)
        except JudgeError as error:
            return failed_judge(error)

    def _runs(self, course: Course) -> list[Run]:
        return [run for run in course.runs if run.key not in self.failures]

    def _frame(self, course: Course) -> pd.DataFrame:
        """Return the runs of a course; claims that share an experiment often ask for the same."""
        key = (course.grid.experiment.name, tuple(course.counts))
        if key != self._frame_key:
            self._last = self.results.frame(self._runs(course))
            self._frame_key = key
        return self._last

    def judge(self, course: Course) -> Judged:
        """Judge a claim under all of its readings, now that its course has ended."""
        assert course.ended
        assert course.decision is not None
        default, *others = course.claim.readings
        known = {default: course.decision, **{reading: self._decide(course, reading) for reading in others}}
        seconds = self.results.seconds(self._runs(course))
        return judge(course.claim, self._frame(course), course.grid.profile, seconds, known=known)


def _measure(missing: list[Run], work: _Work, master: str, module: str, say: Callable[[str], None]) -> None:
    from streamlb.spark.session import spark_session

    _warm_up()
    say(f"starting Spark on {master}")
    extra = () if module == CLAIMS_MODULE else (os.path.dirname(os.path.abspath(str(sys.modules[module].__file__))),)
    with (
        spark_session(master, app_name="streamlb validate", python_path=extra) as spark,
        _progress_bar(work.courses, shown=say is not _silent) as progress,
    ):
        run_on_spark(spark, missing, work.take, module=module, progress=progress)


def _warm_up() -> None:
    """Compile the kernels here, before many processes would do so at once."""
    try:
        from streamlb.warm import warmup
    except ImportError:
        return
    warmup()


@contextmanager
def _progress_bar(courses: Courses, shown: bool) -> Iterator[Callable[[float, float, int], None]]:
    """Give a function of (seconds done, seconds left, runs done) that moves a bar on stderr."""
    from tqdm import tqdm

    every = 0.5 if sys.stderr.isatty() else 20.0  # a log file gets a line now and then
    begun = time.perf_counter()
    with tqdm(
        total=1.0,
        disable=not shown,
        bar_format="{percentage:3.0f}%|{bar}| {desc}",
        file=sys.stderr,
        mininterval=every,
        miniters=0,
    ) as bar:

        def progress(done: float, left: float, runs: int) -> None:
            share, words = progress_text(courses, done, left, runs, time.perf_counter() - begun)
            bar.set_description_str(words, refresh=False)
            bar.n = max(bar.n, share)  # rows that come later must not move it back
            bar.update(0)

        yield progress


def progress_text(courses: Courses, done: float, left: float, runs: int, gone: float) -> tuple[float, str]:
    """Return the share of the work that is done, and a line that says how it stands.

    To the rows that are known come those that undecided claims will ask for, as many for each as
    there have been so far.
    """
    from tqdm import tqdm

    left *= 1.0 + courses.growth
    share = min(1.0, done / (done + left)) if done + left > 0 else 0.0
    remaining = tqdm.format_interval(gone * left / done) if done > 0 else "?"
    open_claims = f", {courses.undecided} undecided" if courses.undecided else ""
    return share, (
        f"{courses.decided}/{len(courses)} claims decided{open_claims}; {runs:,} runs "
        f"[{tqdm.format_interval(gone)} gone, {remaining} left]"
    )
