"""The command line, as users see it."""

import os
import shutil
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from streamlb.validation import validate as validation
from streamlb.validation.claims import all_claims
from streamlb.validation.engine import RunError, to_json
from streamlb.validation.judging import Decision
from streamlb.validation.validate import UsageError, Validation, output_folder, select_claims
from streamlb.validation.verdicts import Failed, Judged

import streamlb
from streamlb import cli

ROOT = Path(streamlb.__file__).parent.parent


def run(*arguments, cwd=ROOT, **environment):
    return subprocess.run(
        [sys.executable, "-m", "streamlb", *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_patterns_choose_claims():
    assert [claim.id for claim in select_claims("POSG-CM*,LAS-F1")] == ["POSG-CM1", "POSG-CM2", "LAS-F1"]
    assert [claim.id for claim in select_claims(" posg-f1 ")] == ["POSG-F1"]
    everything = select_claims(None)
    assert {claim.id for claim in everything} == {claim.id for claim in all_claims()}
    papers = [claim.paper for claim in everything]
    assert papers == sorted(papers, key=["POSG", "LAS", "DC", "CG", "PIPE", "OWN"].index)


@pytest.mark.parametrize(
    ("patterns", "words"), [("POSG-CM9", "did you mean POSG-CM"), ("zzz", "ids look like"), (" , ", "at least one")]
)
def test_an_unknown_claim_exits_with_2(capsys, patterns, words):
    with pytest.raises(UsageError, match=words):
        select_claims(patterns)
    assert cli.main(["validate", "--claims", patterns]) == 2
    assert_one_line(capsys, words)


def assert_one_line(capsys, words):
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("streamlb: ")
    assert captured.err.count("\n") == 1
    assert words in captured.err


@pytest.mark.parametrize("kind", ["below a file", "a file", "no permission"])
def test_an_unwritable_folder_exits_with_2(capsys, monkeypatch, tmp_path, kind):
    target = tmp_path / "out"
    if kind == "no permission":

        def refuse(self, *args, **kwargs):  # the tests may run as root, whom no permission stops
            raise PermissionError(13, "Permission denied", str(self))

        monkeypatch.setattr(Path, "mkdir", refuse)
    else:
        target.write_text("a file")
        target = target / "below" if kind == "below a file" else target
    assert cli.main(["validate", "--claims", "POSG-F1", "--out", str(target)]) == 2
    assert_one_line(capsys, f"cannot write to the output folder {str(target)!r}")


@pytest.mark.parametrize(
    ("master", "words"), [("spark://127.0.0.1:1", "does not answer"), ("lokal[2]", "master must be local")]
)
def test_a_bad_master_exits_with_2(capsys, tmp_path, master, words):
    out = tmp_path / "out"
    assert cli.main(["validate", "--claims", "POSG-F1", "--out", str(out), "--master", master]) == 2
    assert_one_line(capsys, words)
    assert not out.exists()


def test_a_job_that_spark_gives_up_exits_with_1(capsys, monkeypatch):
    def fail(*args, **kwargs):
        raise RunError("Spark gave up on a job: no space left")

    monkeypatch.setattr(validation, "validate", fail)
    assert cli.main(["validate", "--claims", "POSG-F1"]) == 1
    assert "no space left" in capsys.readouterr().err


SHOW = ("--show", "--claim", "POSG-F9c")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--claim", "POSG-F9c"), "--claim goes with --show"),
        (("--seed", "0"), "--seed goes with --show"),
        (("--show",), "--show needs --claim"),
        (("--show", "--claim", "POSG-F9c", "--claims", "POSG-F9c"), "--show needs --claim with the id of one claim"),
        (("--show", "--claim", "POSG-*"), "--claim must be the id of one claim"),
        (("--show", "--claim", "POSG-F9c", "--setting", "99"), "setting must be 0 to "),
        (("--strict",), "--strict needs --baseline"),
        (("--baseline", "no-such-file"), "the baseline 'no-such-file' is not there"),
        (("--first-seed", "-1"), "--first-seed must be 0 to 4611686018427387904, got -1"),
        (("--first-seed", str(2**63)), f"--first-seed must be 0 to 4611686018427387904, got {2**63}"),
        ((*SHOW, "--seed", "-1"), "--seed must be 0 to 4611686018427387904, got -1"),
        ((*SHOW, "--seed", str(10**23)), f"--seed must be 0 to 4611686018427387904, got {10**23}"),
        ((*SHOW, "--first-seed", "0"), "--first-seed does not go with --show"),
        ((*SHOW, "--baseline", "x"), "--baseline does not go with --show"),
        ((*SHOW, "--strict"), "--strict does not go with --show"),
        ((*SHOW, "--resume"), "--resume does not go with --show"),
        ((*SHOW, "--out", "x"), "--out does not go with --show"),
        ((*SHOW, "--master", "local[*]"), "--master does not go with --show"),
    ],
)
def test_options_that_do_not_fit_exit_with_2(capsys, arguments, words):
    assert cli.main(["validate", *arguments]) == 2
    assert_one_line(capsys, words)


def test_show_prints_runs_and_judgement(capsys):
    assert cli.main(["validate", "--show", "--claim", "POSG-F9c", "--setting", "2"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("POSG-F9c: ")
    assert "epsilon" in text


@pytest.mark.parametrize("part", ["judge", "measure"])
def test_show_exits_with_1_when_the_judge_or_the_measure_fails(capsys, monkeypatch, part):
    def broken(*args, **kwargs):
        raise KeyError("broken")

    claim = select_claims("POSG-CM1")[0]
    if part == "judge":
        claim = replace(claim, judge=lambda runs: broken())
    else:
        claim = replace(claim, experiment=replace(claim.experiment, measure=broken))
    monkeypatch.setattr(validation, "select_claims", lambda patterns: [claim])
    assert cli.main(["validate", "--show", "--claim", "POSG-CM1"]) == 1
    last = capsys.readouterr().err
    assert last.startswith(f"streamlb: the {part} of POSG-CM1 failed ")
    assert last.count("\n") == 1


def test_claims_that_could_not_be_judged_are_named_at_the_end_with_exit_code_1(capsys, monkeypatch, tmp_path):
    def validate(claims, **options):
        claim = select_claims("POSG-F9c")[0]
        judged = [Judged(claim, {claim.readings[0]: Failed("the judge failed: KeyError", "")}, pd.DataFrame(), 0.0)]
        return Validation(judged, tmp_path, "quick", "local", 1, 0, 1.0, {"POSG-F9c": "the figure failed"})

    monkeypatch.setattr(validation, "validate", validate)
    assert cli.main(["validate", "--claims", "POSG-F9c"]) == 1
    shown = capsys.readouterr()
    assert "report.html" in shown.out
    assert shown.err.splitlines() == [
        "streamlb: what failed:",
        "  POSG-F9c: the judge failed: KeyError",
        "  POSG-F9c: the figure failed",
    ]


def test_strict_exits_with_3_when_something_changed(capsys, monkeypatch, tmp_path):
    """The baseline may be the file that the new table replaces."""
    rows = {"claim": ["POSG-F9c", "DC-I1"], "verdict": ["differs", "reproduced"]}
    pd.DataFrame(rows).to_csv(tmp_path / "verdicts.csv", index=False)

    given = []

    def validate(claims, **options):
        pd.DataFrame().to_csv(tmp_path / "verdicts.csv")
        claim = select_claims("POSG-F9c")[0]
        runs = pd.DataFrame({"seed": [1]})
        judged = [Judged(claim, {claim.readings[0]: Decision(given[-1], "", "", "m", "")}, runs, 0.0)]
        return Validation(judged, tmp_path, "quick", "local", 1, 0, 1.0)

    monkeypatch.setattr(validation, "validate", validate)
    arguments = ["validate", "--claims", "POSG-F9c", "--baseline", str(tmp_path / "verdicts.csv")]
    for verdict, strict, code, words in (
        ("differs", True, 0, "nothing has changed"),
        ("undecided", False, 0, "POSG-F9c: verdict differs -> undecided"),
        ("undecided", True, 3, "1 changed"),
    ):
        given.append(verdict)
        pd.DataFrame(rows).to_csv(tmp_path / "verdicts.csv", index=False)
        assert cli.main([*arguments, *(["--strict"] if strict else [])]) == code
        assert words in capsys.readouterr().out


def test_an_interrupted_run_exits_with_130(capsys, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(validation, "validate", interrupt)
    assert cli.main(["validate", "--claims", "POSG-F1"]) == 130
    assert "--resume" in capsys.readouterr().err


def test_output_folder_leaves_no_trace_of_its_probe(tmp_path):
    folder = output_folder(tmp_path / "a" / "b")
    assert sorted(path.name for path in folder.rglob("*")) == ["figures", "results"]
    assert stat.S_ISDIR(folder.stat().st_mode)


def test_info(capsys, monkeypatch):
    assert cli.main(["info"]) == 0
    text = capsys.readouterr().out
    for word in ("streamlb", "numba", "pyspark", "java", "cache", "kernels"):
        assert f"\n{word} " in f"\n{text}"
    from streamlb import _jit

    assert _jit.cache_root() in text


def test_cache_state_tells_warm_from_cold(monkeypatch, tmp_path):
    from numba import config

    from streamlb import KeyGrouping, _jit, warm

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    _jit.cache_folder.cache_clear()
    try:
        assert cli.info()["kernels"].startswith("cold: ")
        folder = Path(_jit.cache_folder(sys.modules[KeyGrouping.__module__].__file__))
        folder.mkdir(parents=True)
        (folder / "kernel.nbi").touch()
        assert cli.info()["kernels"].startswith("partly warm: ")
        monkeypatch.setattr(warm, "STEPS", [])
        warm.warmup(progress=False)
        assert cli.info()["kernels"] == "warm"
    finally:
        _jit.cache_folder.cache_clear()


def test_every_claim_is_complete():
    """Every claim has what the report needs, and grids that are JSON in both profiles."""
    claims = all_claims()
    ids = [claim.id for claim in claims]
    assert len(ids) == len(set(ids))
    for claim in claims:
        assert claim.id.startswith(claim.paper + "-")
        assert {*claim.kind.replace("+", "/").split("/")} <= {"a", "b", "c"}
        assert all((claim.where, claim.statement, claim.claimed, claim.criterion))
    for experiment in {claim.experiment.name: claim.experiment for claim in claims}.values():
        quick = experiment.grid("quick")
        assert quick
        assert all(isinstance(row, dict) and to_json(row) for row in quick)
        assert min(experiment.cost(row) for row in quick) >= 0


@pytest.mark.spark
def test_validate_from_a_bare_checkout_in_a_folder_with_a_space(tmp_path):
    """Run the real command on a copy of the sources that is not installed.

    The workers import that copy, and nothing else is written.
    """
    checkout = tmp_path / "a checkout"
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("streamlb", "analysis", "validation"):
        shutil.copytree(ROOT / name, checkout / name, ignore=ignore)
    shutil.copy(ROOT / "setup.cfg", checkout)
    package = checkout / "validation" / "claims" / "pipe"
    init = package / "__init__.py"
    init.write_text(init.read_text() + "\nMODULES += ('where',)\n")
    (package / "where.py").write_text(
        "from ...claim import Claim, Experiment, Verdict\n"
        "import streamlb\n"
        "WHERE = Experiment('where', lambda p: [{'seed': 1}], lambda seed: {'file': streamlb.__file__})\n"
        "CLAIMS = [Claim('OWN-WHERE', 'OWN', 'a', 'here', 's', 'c', 'k', WHERE, "
        "lambda runs, p: Verdict.when(True, runs['file'][0]))]\n"
    )
    arguments = ("validate", "--claims", "OWN-WHERE,LAS-MK,POSG-F9c", "--out", "the report", "--master", "local[2]")
    done = run(*arguments, cwd=checkout, PYTHONDONTWRITEBYTECODE="1")
    assert done.returncode == 0, done.stderr
    assert str((checkout / "the report" / "report.html").resolve()) in done.stdout
    assert ["all", "2"] in [line.split()[:2] for line in done.stdout.splitlines()]

    out = checkout / "the report"
    verdicts = pd.read_csv(out / "verdicts.csv").set_index("claim")
    assert verdicts["verdict"].to_dict() == {"POSG-F9c": "differs", "LAS-MK": "reproduced", "OWN-WHERE": "reproduced"}
    assert verdicts["measured"]["OWN-WHERE"] == str(checkout / "streamlb" / "__init__.py")
    assert sorted(path.name for path in out.iterdir()) == [
        "figures",
        "readings.csv",
        "readings.parquet",
        "report.html",
        "results",
        "verdicts.csv",
        "verdicts.parquet",
    ]
    assert sorted(path.name for path in (out / "results").iterdir()) == [
        "cost_tail_rows.parquet",
        "sketch_shapes.parquet",
        "where.parquet",
    ]
    assert sorted(path.name for path in (out / "figures").iterdir()) == ["LAS-MK.png", "LAS-MK.svg"]

    before = {name: (out / "results" / f"{name}.parquet").read_bytes() for name in ("where", "cost_tail_rows")}
    again = run(*arguments, "--resume", cwd=checkout, PYTHONDONTWRITEBYTECODE="1")
    assert again.returncode == 0, again.stderr
    assert "starting Spark" not in again.stderr  # all was there
    assert before == {name: (out / "results" / f"{name}.parquet").read_bytes() for name in before}
    assert sorted(path.name for path in checkout.iterdir()) == [
        "analysis",
        "setup.cfg",
        "streamlb",
        "the report",
        "validation",
    ]
