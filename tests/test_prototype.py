"""The prototype between real processes: every tuple comes back, and nothing is left running."""

import multiprocessing
import threading

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
        assert result["first_run"] is not None
    elif policy == "round_robin":
        assert result["assignment"].tolist() == [0, 1] * 60


def test_a_dead_worker_is_noticed_and_the_others_are_ended():
    workers = prototype.Workers(2, {"window": 8})
    with workers:
        workers.processes[0].terminate()
        workers.processes[0].join()
        with pytest.raises(RuntimeError, match="worker 0"):
            workers.check()
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
    assert (
        prototype.main(
            ["--figure", "12", "--tuples", "40", "--instances", "2", "--scale", "0.05", "--window", "4", "--quiet"]
        )
        == 0
    )
    lines = capsys.readouterr().out.strip().splitlines()
    assert len(lines) == 3
