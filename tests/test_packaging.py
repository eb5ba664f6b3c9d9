"""The wheel is complete and works from any folder, also from the root of the checkout."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

import streamlb

ROOT = pathlib.Path(streamlb.__file__).resolve().parent.parent

PROBE = """
import json, os
import streamlb, streamlb.analysis, streamlb.validation.claims
from streamlb.analysis import count_min_shape
streamlb.CountMin().update(["a", "b"])
print(json.dumps([os.path.dirname(streamlb.__file__), os.path.dirname(streamlb.analysis.__file__), count_min_shape(0.05, 0.1),
                  len(streamlb.validation.claims.all_claims()) > 10]))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Build the wheel and install it into a folder of its own."""
    folder = tmp_path_factory.mktemp("a wheel")
    source = folder / "source"  # a copy: the build leaves files behind
    keep = shutil.ignore_patterns("__pycache__", ".*", "build", "*.egg-info", "validation-report", "docs", "asv_bench")
    shutil.copytree(ROOT, source, ignore=keep)
    built = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder / "dist"), str(source)],
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = (folder / "dist").glob("*.whl")
    site = folder / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


def probe(folder, site):
    env = {**os.environ, "PYTHONPATH": str(site)}
    result = subprocess.run([sys.executable, "-c", PROBE], cwd=folder, env=env, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_nothing_is_missing_from_the_wheel(installed):
    for folder, inside in (
        ("streamlb", "streamlb"),
        ("analysis", "streamlb/analysis"),
        ("validation", "streamlb/validation"),
    ):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".pyi", ".html", ".typed"):
                assert (installed / inside / path.relative_to(ROOT / folder)).is_file(), path
    assert not (installed / "analysis").exists()
    assert not (installed / "validation").exists()


def test_the_wheel_works_from_any_folder(installed, tmp_path):
    package, theory, shape, claims = probe(tmp_path, installed)
    assert package == str(installed / "streamlb")
    assert theory == str(installed / "streamlb" / "analysis")
    assert shape == [4, 55]
    assert claims


def test_a_checkout_on_the_path_finds_its_own_folders(installed):
    """From the checkout's root, ``python -c`` finds the checkout first: it must be whole."""
    package, theory, shape, claims = probe(ROOT, installed)
    assert package == str(ROOT / "streamlb")
    assert theory == str(ROOT / "analysis")
    assert shape == [4, 55]
    assert claims
