"""A Java program of another project in a process of its own, with its output in a file."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Self
from xml.etree import ElementTree

from tests.system.provision import HERE
from tests.waiting import until

_END_S = 120.0
_START_S = 180.0


class JavaProgram:
    """Ends with its block, by SIGKILL if it must. `log` is appended to."""

    def __init__(self, arguments: Sequence[str], log: Path) -> None:
        self._log = log
        self._begin = log.stat().st_size if log.exists() else 0
        with log.open("ab") as output:
            self._process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def output(self) -> str:
        """What this process has printed so far."""
        with self._log.open("rb") as log:
            log.seek(self._begin)
            return log.read().decode(errors="replace")

    def wait_for(self, words: str, count: int = 1) -> None:
        """Returns when the words stand so often in the output; AssertionError if the program ends before."""
        until(lambda: self._has(words, count), f"{words!r} in {self._log}", _START_S)

    def _has(self, words: str, count: int) -> bool:
        assert self.runs, f"the program ended: {self.output()[-2_000:]}"
        return self.output().count(words) >= count

    def kill(self) -> None:
        """SIGKILL; nothing if the program has ended."""
        if self.runs:
            self._process.send_signal(signal.SIGKILL)
        self._process.communicate()

    def close(self) -> None:
        """Closes standard input; the program must end by itself, without an error."""
        assert self.runs, f"the program ended: {self.output()[-2_000:]}"
        try:
            self._process.communicate(timeout=_END_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the program did not end: {self.output()[-2_000:]}") from None
        assert self._process.returncode == 0, self.output()[-2_000:]


def pinned_version(project: str, artifact: str) -> str:
    """The version of an artifact in `java/<project>/pom.xml`."""
    space = {"m": "http://maven.apache.org/POM/4.0.0"}
    for dependency in ElementTree.parse(HERE / "java" / project / "pom.xml").iterfind(".//m:dependency", space):
        if dependency.findtext("m:artifactId", None, space) == artifact:
            return str(dependency.findtext("m:version", None, space))
    raise LookupError(f"{artifact} is not in java/{project}/pom.xml")
