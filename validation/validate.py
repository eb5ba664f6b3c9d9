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
from dataclasses import dataclass, replace
from pathlib import Path

from .claim import PROFILES, Claim
from .claims import all_claims
from .engine import CLAIMS_MODULE, Run, expand, experiments_of, run_on_spark
from .results import Results
from .verdicts import PAPERS, Judged, judge, write_verdicts


class UsageError(ValueError):
    """What was asked for cannot be done: a claim is unknown, say, or a folder cannot be written."""


@dataclass(frozen=True)
class Validation:
    """A finished validation: the judged claims, and how they came about."""

    judged: list[Judged]
    folder: Path
    profile: str
    master: str
    runs: int
    reused: int
    seconds: float

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
    module : str
        The module whose ``all_claims()`` gives the claims, importable by workers too.
    say : callable, optional
        Is called with a line of text at each step; a progress bar is then shown as well.

    Returns
    -------
    Validation
        The judged claims, and where the report is.
    """
    from .report import write_report

    begun = time.perf_counter()
    if profile not in PROFILES:
        raise UsageError(f"profile must be one of {', '.join(PROFILES)}, got {profile!r}")
    _check_master(master)
    chosen = select_claims(claims, _claims_of(module))
    folder = output_folder(out)
    experiments = experiments_of(chosen)
    runs = expand(experiments.values(), profile)
    results = Results(folder / "results", resume=resume)
    missing = results.missing(runs)
    say = say or _silent
    say(
        f"{_count(len(chosen), 'claim')}, {_count(len(experiments), 'experiment')}, {_count(len(runs), 'run')}, "
        f"{len(runs) - len(missing):,} of them reused"
    )
    if missing:
        _measure(missing, results, master, module, say)
    results.finish(runs)
    judged = []
    for claim in chosen:
        own = [run for run in runs if run.experiment == claim.experiment.name]
        judged.append(judge(claim, results.frame(own), profile, results.seconds(own)))
    write_verdicts(judged, folder)
    seconds = time.perf_counter() - begun
    done = Validation(judged, folder, profile, master, len(runs), len(runs) - len(missing), seconds)
    say("drawing figures and writing the report")
    write_report(done, progress=say is not _silent)
    return replace(done, seconds=time.perf_counter() - begun)  # figures take their time too


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


def _measure(missing: list[Run], results: Results, master: str, module: str, say: Callable[[str], None]) -> None:
    from streamlb.spark.session import spark_session

    _warm_up()
    say(f"starting Spark on {master}")
    extra = () if module == CLAIMS_MODULE else (os.path.dirname(os.path.abspath(str(sys.modules[module].__file__))),)
    with (
        spark_session(master, app_name="streamlb validate", python_path=extra) as spark,
        _progress_bar(len(missing), shown=say is not _silent) as progress,
    ):
        run_on_spark(spark, missing, results.keep, module=module, progress=progress)


def _warm_up() -> None:
    """Compile the kernels here, before many processes would do so at once."""
    try:
        from streamlb.warm import warmup
    except ImportError:
        return
    warmup()


@contextmanager
def _progress_bar(runs: int, shown: bool) -> Iterator[Callable[[float, int], None]]:
    """Give a function of (share of the work, runs done) that moves a progress bar on stderr."""
    from tqdm import tqdm

    layout = "{percentage:3.0f}%|{bar}| {desc} [{elapsed} gone, {remaining} left]"
    every = 0.5 if sys.stderr.isatty() else 20.0  # a log file gets a line now and then
    with tqdm(
        total=1.0,
        disable=not shown,
        bar_format=layout,
        desc=f"0/{runs} runs",
        file=sys.stderr,
        mininterval=every,
        miniters=0,
    ) as bar:

        def progress(share: float, done: int) -> None:
            bar.set_description_str(f"{done}/{runs} runs", refresh=False)
            bar.n = min(1.0, share)
            bar.update(0)

        yield progress
