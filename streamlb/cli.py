"""The command line: `streamlb validate`, `streamlb info`, `streamlb warmup`.

Each command has one function that adds its parser and one that runs it and returns the exit code: 0
when it is done, 1 when something failed, 2 when what was asked for cannot be done (one line on
stderr says why), 130 when it was interrupted.
"""

from __future__ import annotations

import argparse
import glob
import os
import platform
import sys
from collections.abc import Sequence

from streamlb._version import __version__

MOST_SEED = 2**62  # seeds are 64-bit integers with a sign, and `--first-seed` is added to every one


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command of `streamlb`.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; those of the process if None.

    Returns
    -------
    int
        The exit code.

    Examples
    --------
    >>> from streamlb.cli import main
    >>> main(["validate", "--claims", "POSG-XX"])
    2
    """
    arguments = _parser().parse_args(argv)
    try:
        return arguments.run(arguments)
    except KeyboardInterrupt:
        return _fail(
            "interrupted; `--resume` goes on from here" if arguments.command == "validate" else "interrupted", 130
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="streamlb", description="Stream load balancing: who gets the next message, which to drop, where tasks run."
    )
    parser.add_argument("--version", action="version", version=f"streamlb {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in (_add_validate, _add_info, _add_warmup):
        add(commands)
    return parser


def _fail(message: str, code: int) -> int:
    print(f"streamlb: {message}", file=sys.stderr)
    return code


def _add_validate(commands) -> None:
    parser = commands.add_parser(
        "validate",
        help="measure the papers' claims on Spark and write a report",
        description="Measure the claims of the five papers on Spark, judge each, and write a report with figures.",
        epilog="Exit codes: 0 everything was measured and judged, whatever the verdicts; 1 a measurement or a judge "
        "failed; 2 what was asked for cannot be done; 3 with --strict, a verdict differs from the baseline; 130 "
        "interrupted.",
    )
    parser.add_argument(
        "--profile", choices=("quick", "paper"), default="quick", help="quick: minutes; paper: the papers' own sizes"
    )
    parser.add_argument(
        "--claims", metavar="LIST", help="ids and patterns, comma-separated, such as 'POSG-*,DC-F10' (default: all)"
    )
    parser.add_argument(
        "--master", metavar="URL", help="Spark's master: local[N], spark://host:port, ... (default: local[*])"
    )
    parser.add_argument("--out", metavar="DIR", help="output folder (default: validation-report)")
    parser.add_argument("--resume", action="store_true", help="reuse the runs that DIR holds already")
    parser.add_argument(
        "--first-seed", type=int, metavar="N", help="add N to every seed, for a second, disjoint validation"
    )
    parser.add_argument(
        "--baseline", metavar="FILE", help="an earlier verdicts.parquet or .csv: print the claims whose words changed"
    )
    parser.add_argument("--strict", action="store_true", help="exit with 3 if anything differs from the baseline")
    one = parser.add_argument_group("one seed of one claim, measured here without Spark and printed")
    one.add_argument("--show", action="store_true", help="print the runs of --claim and what its judge makes of them")
    one.add_argument("--claim", metavar="ID", help="the claim to show")
    one.add_argument("--seed", type=int, metavar="S", help="the seed of the runs (default: the first one)")
    one.add_argument("--setting", type=int, metavar="K", help="one setting of its grid, from 0 (default: all of them)")
    parser.set_defaults(run=_validate)


def _usage_error(arguments: argparse.Namespace) -> str:
    """Return what is wrong with the options together; nothing if they fit."""
    for option in ("claim", "seed", "setting"):
        if getattr(arguments, option) is not None and not arguments.show:
            return f"--{option} goes with --show; `--claims` chooses what is validated"
    if arguments.show and (arguments.claim is None or arguments.claims is not None):
        return "--show needs --claim with the id of one claim"
    for option in ("master", "out", "resume", "first_seed", "baseline", "strict"):
        given = getattr(arguments, option)
        if arguments.show and given is not None and given is not False:
            return f"--{option.replace('_', '-')} does not go with --show, which measures one seed here"
    if arguments.strict and arguments.baseline is None:
        return "--strict needs --baseline with an earlier table of verdicts"
    for option in ("first_seed", "seed"):
        seed = getattr(arguments, option)
        if seed is not None and not 0 <= seed <= MOST_SEED:
            return f"--{option.replace('_', '-')} must be 0 to {MOST_SEED}, got {seed}"
    return ""


def _validate(arguments: argparse.Namespace) -> int:
    wrong = _usage_error(arguments)
    if wrong:
        return _fail(wrong, 2)
    try:
        from streamlb.spark.session import SparkUnavailableError
        from streamlb.validation.baseline import Baseline, BaselineError
        from streamlb.validation.engine import RunError
        from streamlb.validation.validate import UsageError, select_claims, validate
    except ImportError as error:
        return _fail(f"validation needs more packages ({error}): run `pip install 'streamlb[all]'`", 2)
    try:
        if arguments.show:
            return _show(arguments)
        # This comes before pyspark is asked for, so that a wrong id is told at once.
        select_claims(arguments.claims)
        # The new table may take the place of the old one, which is therefore read first.
        before = Baseline(arguments.baseline) if arguments.baseline is not None else None
        done = validate(
            arguments.claims,
            profile=arguments.profile,
            master="local[*]" if arguments.master is None else arguments.master,
            out="validation-report" if arguments.out is None else arguments.out,
            resume=arguments.resume,
            first_seed=arguments.first_seed or 0,
            say=_say,
        )
    except (UsageError, BaselineError, SparkUnavailableError) as error:
        return _fail(str(error), 2)
    except RunError as error:
        return _fail(f"{error}\nWhat was measured until then is kept: `--resume` goes on from here.", 1)
    print(_verdict_summary(done.judged))
    claims = f"{len(done.judged)} claim{'' if len(done.judged) == 1 else 's'}"
    print(f"\n{claims} in {done.seconds:.0f} s. Report: {done.report.resolve()}")
    found = before.changes(done.judged, arguments.claims) if before is not None else []
    if before is not None:
        print(f"\nCompared with {arguments.baseline}: {f'{len(found)} changed' if found else 'nothing has changed'}")
    for change in found:
        print(f"  {change}")
    if done.failures:
        return _fail("\n  ".join(["what failed:", *(f"{claim}: {text}" for claim, text in done.failures)]), 1)
    return 3 if found and arguments.strict else 0


def _show(arguments: argparse.Namespace) -> int:
    from streamlb.validation.show import MeasureError, NothingToShowError, show
    from streamlb.validation.validate import UsageError, select_claims
    from streamlb.validation.verdicts import JudgeError

    claims = select_claims(arguments.claim)
    if len(claims) != 1:
        raise UsageError(f"--claim must be the id of one claim, got {arguments.claim!r}, which are {len(claims)}")
    try:
        for line in show(claims[0], arguments.seed, arguments.setting, arguments.profile):
            print(line, flush=True)
    except NothingToShowError as error:
        raise UsageError(str(error)) from error
    except (MeasureError, JudgeError) as error:
        return _fail(str(error), 1)
    except BrokenPipeError:
        # Whoever reads has seen enough; nothing more may be written, not even at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _verdict_summary(judged: list) -> str:
    """Return a table of the verdicts by paper, as text."""
    from streamlb.validation.verdicts import VERDICTS, count_verdicts

    lines = [f"{'paper':<8}" + "".join(f"{verdict:>16}" for verdict in VERDICTS)]
    for paper, counts in count_verdicts(judged).items():
        lines.append(f"{paper:<8}" + "".join(f"{counts[verdict]:>16}" for verdict in VERDICTS))
    return "\n".join(lines)


def _add_info(commands) -> None:
    parser = commands.add_parser("info", help="show versions, the Java found, the kernel cache and whether it is warm")
    parser.set_defaults(run=_info)


def _info(arguments: argparse.Namespace) -> int:
    for name, value in info().items():
        print(f"{name:<12} {value}")
    return 0


def info() -> dict[str, str]:
    """Return versions, the Java that Spark would use, the cache folder, and whether it is warm.

    Examples
    --------
    >>> from streamlb.cli import info
    >>> sorted(info())[:3]
    ['cache', 'java', 'kernels']
    """
    from streamlb._jit import cache_root

    facts = {"streamlb": __version__, "python": f"{platform.python_version()} ({sys.executable})"}
    facts.update(versions("numpy", "numba", "scipy", "pandas", "pyarrow", "pyspark"))
    facts["java"] = _java_found()
    facts["cache"] = cache_root()
    facts["kernels"] = _cache_state()
    return facts


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of installed packages, without importing them.

    Examples
    --------
    >>> from streamlb.cli import versions
    >>> versions("no-such-package")
    {'no-such-package': 'not installed'}
    """
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _java_found() -> str:
    from streamlb.spark.session import SparkUnavailableError, find_java

    try:
        java = find_java()
    except SparkUnavailableError as error:
        return f"none: {error}"
    return f"{java.version} from {java.source} ({java.home})"


def _cache_state() -> str:
    """Say whether the kernels of the sources as they are have been compiled."""
    from streamlb._jit import cache_folder, warm_mark

    if os.path.exists(warm_mark()):
        return "warm"
    package = os.path.dirname(os.path.abspath(__file__))
    files = glob.glob(os.path.join(package, "**", "*.py"), recursive=True)
    some = any(glob.glob(os.path.join(glob.escape(cache_folder(path)), "*.nbi")) for path in files)
    return f"{'partly warm' if some else 'cold'}: `streamlb warmup` compiles the kernels"


def _add_warmup(commands) -> None:
    parser = commands.add_parser("warmup", help="compile the kernels now, so that first calls are quick")
    parser.set_defaults(run=_warmup)


def _warmup(arguments: argparse.Namespace) -> int:
    from streamlb.warm import warmup

    warmup()
    print(_cache_state())
    return 0
