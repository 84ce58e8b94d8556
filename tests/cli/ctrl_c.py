"""Child processes that are ended by Ctrl-C."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys


def enable_ctrl_c() -> None:
    """Enables Ctrl-C in a child before it starts: a test run in the background of a shell ignores Ctrl-C, and its
    children would too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def watched_until_ctrl_c(arguments: list[str], word: str) -> int:
    """The exit code of a live view that is ended by Ctrl-C after it has shown `word` twice: it refreshes on its own."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "from signalbox.cli.main import run; run()", *arguments],
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "COLUMNS": "160", "TERM": "xterm"},
        preexec_fn=enable_ctrl_c,
    )
    os.close(theirs)
    seen = b""
    while seen.count(word.encode()) < 2:
        seen += os.read(ours, 65_536)
    process.send_signal(signal.SIGINT)
    code = process.wait(20)
    os.close(ours)
    return code
