"""Starts, kills and reads driver processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


class Driver:
    """One driver process in a process group of its own, its output in a file. `instead`: of a run of the table,
    `replay` or `backfill` (`driver.py`)."""

    def __init__(
        self,
        log: Path,
        options: dict[str, Any],
        kill_at: dict[str, Any] | None = None,
        environment: dict[str, str] | None = None,
        instead: dict[str, Any] | None = None,
    ) -> None:
        self._log = log
        asked = {"options": options, "kill_at": kill_at, **(instead or {})}
        command = [sys.executable, "-m", "tests.system.pipeline.driver", json.dumps(asked)]
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )

    def output(self) -> str:
        """Its output so far."""
        return self._log.read_text()

    def kill(self) -> None:
        """SIGKILL to the driver and its JVM."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)

    def wait(self, timeout_seconds: float = 150) -> int:
        """Its exit status; kills it after the timeout."""
        try:
            return self.process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("the driver did not end: " + self.output()[-3000:]) from None

    def result(self) -> dict[str, Any]:
        """The result of a successful run."""
        assert self.wait() == 0, self.output()[-3000:]
        content: dict[str, Any] = json.loads(self.output().strip().splitlines()[-1])
        return content
