"""Children that are ended by Ctrl-C."""

from __future__ import annotations

import signal


def hear_ctrl_c() -> None:
    """For a child before it begins: a test run in the background of a shell ignores Ctrl-C, and so would the child."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
