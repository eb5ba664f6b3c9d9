"""What a process pays before its first answer."""

import os
import subprocess
import sys
import tempfile

FIRST_CALLS = {
    "CostSketch": "import streamlb; streamlb.CostSketch().update([1, 2], [1.0, 2.0])",
    "DChoices": "import streamlb; streamlb.DChoices(8).route('a')",
}
WARMUP = "from streamlb.warm import warmup; warmup(progress=False)"


def run(code, cache=None):
    env = dict(os.environ, **({"NUMBA_CACHE_DIR": cache} if cache else {}))
    subprocess.run([sys.executable, "-c", code], check=True, env=env)


class Start:
    """Whole processes: compare with `time_numba`, which does nothing but import numba."""

    timeout = 300
    number, repeat, warmup_time = 1, 5, 0

    def time_numpy(self):
        run("import numpy")

    def time_numba(self):
        run("import numba")

    def time_import(self):
        run("import streamlb")


class FirstCall:
    """From starting a process to its first answer, with kernels read from the cache or compiled."""

    params = [list(FIRST_CALLS)]
    param_names = ["call"]
    timeout = 300
    number, repeat, warmup_time = 1, 5, 0

    def setup(self, call):
        run(FIRST_CALLS[call])

    def time_warm(self, call):
        run(FIRST_CALLS[call])

    def time_cold(self, call):
        with tempfile.TemporaryDirectory() as cache:
            run(FIRST_CALLS[call], cache)


class Warmup:
    """Every kernel of the library: compiled into an empty cache, and read back."""

    timeout = 600
    number, repeat, rounds, warmup_time = 1, 1, 1, 0

    def setup_cache(self):
        return tempfile.mkdtemp()

    def time_cold(self, _):
        with tempfile.TemporaryDirectory() as cache:
            run(WARMUP, cache)

    def setup(self, cache):
        run(WARMUP, cache)

    def time_warm(self, cache):
        run(WARMUP, cache)
