"""The kernel cache and the import.

No result is stale after an edit or wrong after a race, each kernel has one signature, and importing
streamlb is light.
"""

import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import pytest

import streamlb
from streamlb import _jit, warm

ROOT = pathlib.Path(streamlb.__file__).parent.parent

# Touches keys, streams and sketches, and prints numbers that any wrong kernel would change.
PROBE = """
import json, sys
import numpy as np
import streamlb
from streamlb import CostSketch, CountMin, SpaceSaving, Zipf, execution_times, key_array
keys = Zipf(500, 1.1).draw(3000, 5)
costs = execution_times(500, seed=2)[keys.astype(int)]
counts, paid, heavy = CountMin(seed=3), CostSketch(seed=3), SpaceSaving(20)
counts.update(keys); paid.update(keys, costs); heavy.update(keys)
print(json.dumps([int(keys.sum()), counts.estimate(np.arange(50)).tolist(), paid.estimate(np.arange(50)).tolist(),
                  heavy.heavy_hitters(0.01).tolist(), key_array(["a", "bc"]).tolist()]))
"""


def run(code, cache, path=ROOT, **environment):
    """Start a process on a kernel cache of its own."""
    env = {**os.environ, "PYTHONPATH": str(path), "NUMBA_CACHE_DIR": str(cache), **environment}
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=path
    )


def answer(process):
    out, error = process.communicate(timeout=600)
    assert process.returncode == 0, error
    return json.loads(out)


@pytest.mark.slow
def test_eight_cold_processes_at_once_all_answer_right(tmp_path):
    """Eight processes compile on one empty cache together, and eight more read it back.

    This is done three times.
    """
    here = subprocess.run(
        [sys.executable, "-c", PROBE],
        env={**os.environ, "NUMBA_DISABLE_JIT": "0"},
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    ref = json.loads(here.stdout)
    for attempt in range(3):
        cache = tmp_path / str(attempt)
        for _ in ("cold", "warm"):
            processes = [run(PROBE, cache) for _ in range(8)]
            for process in processes:
                assert answer(process) == ref
        assert any(cache.rglob("*.nbi"))


def test_no_stale_result_survives_an_edit(tmp_path):
    """Edit a kernel that another file's kernel has inlined: the answers change, and change back."""
    copy = tmp_path / "a checkout"
    shutil.copytree(ROOT / "streamlb", copy / "streamlb", ignore=shutil.ignore_patterns("__pycache__"))
    code = textwrap.dedent("""
        import json, numpy as np
        from streamlb.hashing import derive
        from streamlb.sketches.space_saving import SpaceSaving
        from streamlb.sketches.count_min import CountMin
        sketch = CountMin(seed=1)
        sketch.update(np.arange(100))
        print(json.dumps([derive(1, 2).tolist(), sketch.counts.tolist()]))
    """)
    cache = tmp_path / "cache"
    hashing = copy / "streamlb" / "hashing.py"
    text = hashing.read_text()
    assert "0xBF58476D1CE4E5B9" in text
    before = answer(run(code, cache, copy))
    assert answer(run(code, cache, copy)) == before
    hashing.write_text(text.replace("0xBF58476D1CE4E5B9", "0xBF58476D1CE4E5B1"))
    edited = answer(run(code, cache, copy))
    fresh = answer(run(code, tmp_path / "empty", copy))
    assert edited == fresh
    assert edited[0] != before[0]
    assert edited[1] != before[1]
    hashing.write_text(text)
    assert answer(run(code, cache, copy)) == before


SIGNATURES = """
import importlib, json, pkgutil
import numpy as np
import streamlb
from numba.core.dispatcher import Dispatcher
from streamlb import warm
warm.warmup(progress=False)
keys = np.arange(20, dtype=np.int32)[::2]
keys.flags.writeable = False
costs = np.ones(10, np.float32)
costs.flags.writeable = False
sketch, counts, heavy = streamlb.CostSketch(), streamlb.CountMin(), streamlb.SpaceSaving(4)
sketch.update(keys, costs)
sketch.update(2**64 - 1, 3)
counts.update(keys, np.ones(10, np.uint8))
heavy.update(keys, [1] * 10)
found = {}
for info in pkgutil.walk_packages(list(streamlb.__path__)[:1], "streamlb."):
    if not info.name.endswith("__main__"):
        for name, value in vars(importlib.import_module(info.name)).items():
            if isinstance(value, Dispatcher) and value.__module__ == info.name and value._cache.cache_path is not None:
                found[f"{info.name}.{name}"] = [len(value.signatures), len(value.part.signatures)]
print(json.dumps(found))
"""


@pytest.mark.slow
def test_every_cached_kernel_has_one_signature(tmp_path):
    """Read-only, strided and odd inputs must not add a signature.

    Two signatures of one kernel are what Numba's cache can confuse. The cache is empty at first,
    because a kernel read from the cache does not show the signatures of those that it calls.
    """
    found = answer(run(SIGNATURES, tmp_path))
    assert len(found) > 20
    assert {name: counts for name, counts in found.items() if max(counts) > 1} == {}
    assert [name for name, counts in found.items() if not any(counts)] == [], "not compiled by warmup()"


def test_a_kernel_called_by_kernels_only_is_not_cached(tmp_path):
    """It is compiled into its callers, and its callers alone take room in the cache."""
    code = """
import json
from streamlb import KeyGrouping
from streamlb.hashing import key_hash
KeyGrouping(4).route(1)
print(json.dumps([len(key_hash.signatures), len(key_hash.part.signatures)]))
"""
    assert answer(run(code, tmp_path)) == [0, 1]
    assert [path.name.split("-")[0] for path in tmp_path.rglob("*.nbi")] == ["key._route"]


def test_kernels_run_without_the_compiler(tmp_path):
    """With NUMBA_DISABLE_JIT=1, for a debugger, kernels are plain functions."""
    code = """
import json
import numpy as np
import streamlb
found = [streamlb.KeyGrouping(7, seed=3).route_many([1, 2, 3, 2**63]).tolist()]
found += [grouping(7, seed=3).route_many([1, 2, 1] * 99).tolist() for grouping in (streamlb.WChoices, streamlb.DChoices)]
print(json.dumps(found))
"""
    quiet = f"import numpy as np; np.seterr(over='ignore'){code}"
    assert answer(run(quiet, tmp_path, NUMBA_DISABLE_JIT="1")) == answer(run(code, tmp_path))


def test_kernels_take_njit_from_the_one_place():
    """A kernel that imports Numba's own njit would be cached by Numba's own rule."""
    for path in (ROOT / "streamlb").rglob("*.py"):
        if path.name != "_jit.py":
            text = path.read_text()
            assert "from numba" not in text, path
            assert "import numba" not in text or path.name == "cli.py", path
            assert "from ." not in text, f"{path}: relative imports hide a kernel's sources from its cache"


def test_the_digest_covers_what_a_kernel_imports():
    sources = {os.path.basename(path) for path in _jit._sources(str(ROOT / "streamlb" / "sketches" / "cost_sketch.py"))}
    assert {"cost_sketch.py", "count_min.py", "hashing.py", "keys.py", "_jit.py"} <= sources
    assert "streams.py" not in sources


def test_import_is_light():
    """`import streamlb` loads neither numba nor anything heavier.

    Using a kernel loads no scipy, pandas or pyspark.
    """
    code = """
import json, sys
import streamlb
light = sorted(sys.modules)
streamlb.Zipf(10, 1.0).draw(5); streamlb.SpaceSaving(3).update([1])
print(json.dumps([light, sorted(sys.modules)]))
"""
    light, used = answer(run(code, os.environ.get("NUMBA_CACHE_DIR", "")))
    # Numba itself looks at scipy's version where there is one; nothing else of it is loaded.
    heavy = {
        "scipy.stats",
        "scipy.optimize",
        "scipy.special",
        "sympy",
        "pandas",
        "pyspark",
        "pyarrow",
        "matplotlib",
        "networkx",
    }
    assert heavy & set(used) == set()
    assert "numba" not in light


def test_every_public_name_loads():
    for name in streamlb.__all__:
        assert getattr(streamlb, name) is not None
    assert set(streamlb.__all__) <= set(dir(streamlb))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = streamlb.nothing


@pytest.mark.parametrize("terminal", [True, False])
def test_warmup_shows_its_steps_on_a_terminal_and_one_line_in_a_log(monkeypatch, terminal):
    class Stream(io.StringIO):
        def isatty(self):
            return terminal

    stream, done = Stream(), []
    monkeypatch.setattr(warm, "STEPS", [("one", lambda: done.append(1)), ("two", lambda: done.append(2))])
    monkeypatch.setattr(sys, "stderr", stream)
    assert warm.warmup() >= 0
    assert done == [1, 2]
    text = stream.getvalue()
    assert ("preparing kernels 2/2: two" in text) == ("\r" in text) == terminal
    assert text.count("\n") == 1
    assert "kernels ready in" in text
