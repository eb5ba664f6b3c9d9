"""The guide's examples run as they are pasted."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import streamlb
from streamlb.testing import CheckError, grouping_checks

ROOT = Path(streamlb.__file__).parent.parent
GUIDE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
PASTED, SAMPLES = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)


def test_the_pasted_file_passes_under_pytest(tmp_path):
    (tmp_path / "test_least_used.py").write_text(PASTED, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-W", "error", "-p", "no:cacheprovider", "test_least_used.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"\b15 passed, 7 skipped", run.stdout), run.stdout
    assert "route takes no weight" in run.stdout


def test_the_failure_that_is_shown_is_what_it_says():
    names: dict = {}
    exec(PASTED.replace("keys = [key_int(key) for key in keys]", "keys = list(keys)"), names)
    with pytest.raises(CheckError) as error:
        dict(grouping_checks(names["LeastUsed"]))["bad_keys"]()
    (shown,) = re.findall(r"```text\n(.*?)```", GUIDE, re.DOTALL)
    assert " ".join(shown.split()) == str(error.value)


def test_the_samples_are_as_said():
    exec(SAMPLES, {})


def test_every_check_is_in_the_table():
    from streamlb.testing.groupings import GroupingContract
    from streamlb.testing.schedulers import SchedulerContract
    from streamlb.testing.sketches import SketchContract

    for contract in (GroupingContract, SchedulerContract, SketchContract):
        for name in (*contract.CHECKS, *contract.PROMISES):
            assert f"`{name}`" in GUIDE
