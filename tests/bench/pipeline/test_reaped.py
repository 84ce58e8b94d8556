"""The processor time of a command includes that of descendants which survive their parent."""

from __future__ import annotations

import json
import subprocess
import sys

_BURNS = "import time\nwhile time.process_time() < 0.3: pass"
_LEAVES_AN_ORPHAN = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {_BURNS!r}])"


def test_orphans_are_waited_for_and_counted() -> None:
    command = [sys.executable, "-m", "bench.pipeline.reaped", sys.executable, "-c", _LEAVES_AN_ORPHAN]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout)["cpu_s"] >= 0.3


def test_the_exit_code_is_that_of_the_command() -> None:
    command = [sys.executable, "-m", "bench.pipeline.reaped", sys.executable, "-c", "raise SystemExit(3)"]
    assert subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 3
