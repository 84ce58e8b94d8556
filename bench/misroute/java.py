"""The Java client of a drill: `MisrouteClient.java`, compiled against the jars of Apache Kafka 4.4.0."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

from tests.system.provision import command

from bench.kafka.apache import libraries

_SOURCE = Path(__file__).parent / "MisrouteClient.java"


def java_command() -> list[str]:
    """The program with its class path; compiled once per content of the source."""
    folder = Path("build/bench") / f"misroute-client-{hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:12]}"
    jars = f"{libraries().resolve()}/*"
    if not (folder / "complete").exists():
        subprocess.run([command("javac"), "-cp", jars, "-d", str(folder), str(_SOURCE)], check=True, timeout=300)
        (folder / "complete").touch()
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    return [command("java"), "-Xmx256m", quiet, "-cp", f"{folder.resolve()}{os.pathsep}{jars}", "MisrouteClient"]
