"""What a process pays before its first answer."""

import os
import subprocess
import sys
import tempfile

FIRST_CALL = "import streamlb; streamlb.CostSketch().update([1, 2], [1.0, 2.0])"


def run(code, cache=None):
    env = dict(os.environ, **({"NUMBA_CACHE_DIR": cache} if cache else {}))
    subprocess.run([sys.executable, "-c", code], check=True, env=env)


class Start:
    """Whole processes: compare with `time_numpy`, which does nothing but import numpy."""

    timeout = 300
    number, repeat, warmup_time = 1, 5, 0

    def setup(self):
        run(FIRST_CALL)

    def time_numpy(self):
        run("import numpy")

    def time_import(self):
        run("import streamlb")

    def time_first_call_warm(self):
        run(FIRST_CALL)

    def time_first_call_cold(self):
        with tempfile.TemporaryDirectory() as cache:
            run(FIRST_CALL, cache)
