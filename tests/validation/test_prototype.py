"""The prototype between real processes: every tuple comes back, and nothing is left running."""

import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from streamlb.validation import prototype


@pytest.mark.parametrize("policy", prototype.POLICIES)
def test_every_tuple_comes_back(policy):
    keys = np.arange(120, dtype=np.uint64) % 3
    seconds = np.repeat(np.array([0.001, 0.002, 0.004])[keys.astype(int)][:, None], 2, axis=1)
    result = prototype.run(keys, seconds, 0.002, policy, progress=False, window=16, tolerance=10.0)
    assert (result["completion"] >= seconds[:, 0]).all()  # a sleep is never shorter than asked
    assert np.bincount(result["assignment"], minlength=2).min() > 0
    assert not multiprocessing.active_children()
    assert "prototype results" not in [thread.name for thread in threading.enumerate()]
    if policy == "posg":
        assert result["messages"]["matrices"] >= 2
        # When it first ran depends on the wall clock.
        assert result["phases"][0] == (0, "ROUND_ROBIN")
    elif policy == "round_robin":
        assert result["assignment"].tolist() == [0, 1] * 60


def test_a_dead_worker_is_noticed_and_the_others_are_ended():
    workers = prototype.Workers(2, {"window": 8})
    with workers:
        workers.processes[0].terminate()
        workers.processes[0].join()
        with pytest.raises(RuntimeError, match="worker 0"):
            workers.check()
        with pytest.raises(RuntimeError, match="worker 0"):
            workers.send(0, (0, 1, 0.0, None))
    assert not multiprocessing.active_children()


def test_streams_of_the_figures():
    keys, seconds, interval = prototype.figure_11(1000, 0.5, 3)
    assert seconds.shape == (1000, 5)
    costs = seconds[:, 2]  # the instance of speed 1
    np.testing.assert_allclose(seconds[499] / costs[499], [1.05, 1.025, 1.0, 0.975, 0.95])
    np.testing.assert_allclose(seconds[500] / costs[500], [0.90, 0.95, 1.0, 1.05, 1.10])
    assert interval == pytest.approx(costs.mean() / 5)
    keys, seconds, _ = prototype.figure_12(1000, 1.0, 3, 4)
    assert keys.size == 1000
    assert set(np.unique(seconds)) <= {0.025, 0.005, 0.001}


def test_command_line(capsys):
    small = ["--tuples", "40", "--scale", ".05", "--window", "2", "--tolerance", "100", "--deadline", "1e-6", "--quiet"]
    assert prototype.main(["--figure", "12", "--instances", "2", *small]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["policy"] for row in rows] == list(prototype.POLICIES)
    assert rows[0]["speed_up"] == 1.0
    for row in rows:
        assert row["time_outs"] == 40
        assert row["mean_ms"] == pytest.approx((row["first_half_ms"] + row["second_half_ms"]) / 2, abs=0.02)
        # The speed-up is one of rounded numbers.
        assert row["speed_up"] == pytest.approx(rows[0]["mean_ms"] / row["mean_ms"], abs=0.1)
    # When it first ran depends on the wall clock.
    assert {"first_run", "matrices", "replies", "bytes"} <= set(rows[1])


def test_when_all_matrices_are_fresh():
    result = {
        "completion": np.ones(10), "mean": 1.0, "first_run": 3, "messages": dict.fromkeys(("matrices", "replies", "bytes"), 1),
        "received": [(4, 0), (5, 1), (6, 0), (8, 1), (9, 1)],
    }  # fmt: skip
    # Instance 1 refreshes at 5, instance 0 at 6.
    assert prototype._row(11, 2, "posg", result, 1.0, 5.0)["refreshed"] == 6
    assert prototype._row(11, 3, "posg", result, 1.0, 5.0)["refreshed"] is None


@pytest.mark.parametrize("wrong", [["--tuples", "0"], ["--scale", "nan"], ["--window", "0"], ["--deadline", "-1"]])
def test_bad_arguments(wrong, capsys):
    with pytest.raises(SystemExit):
        prototype.main(wrong)
    assert wrong[0] in capsys.readouterr().err


_DISPATCHER = """
import time
from streamlb.validation import prototype
if __name__ == "__main__":
    with prototype.Workers(2, {"window": 8}) as workers:
        print(*(process.pid for process in workers.processes), flush=True)
        time.sleep(60)
"""


def _runs(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_workers_end_when_the_dispatcher_is_killed(tmp_path):
    script = tmp_path / "dispatcher.py"
    script.write_text(_DISPATCHER)
    root = str(Path(prototype.__file__).resolve().parents[1])
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": root},
    ) as dispatcher:
        workers = [int(pid) for pid in dispatcher.stdout.readline().split()]
        dispatcher.kill()
    assert len(workers) == 2
    patience = time.monotonic() + 20
    while any(map(_runs, workers)) and time.monotonic() < patience:
        time.sleep(0.05)
    assert not any(map(_runs, workers))
