"""Commands that print until they are ended."""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Callable

from tests.waiting import until


def first_line(arguments: list[str], cause: Callable[[], object]) -> str:
    """The first line of a command that starts at the end of a topic. `cause` makes something to print; it is repeated,
    because the command needs a moment to reach the end."""
    command = [sys.executable, "-c", "from signalbox.cli.main import run; run()", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        output = process.stdout
        assert output is not None
        try:
            poll = select.poll()
            poll.register(output, select.POLLIN)

            def printed() -> bool:
                cause()
                return bool(poll.poll(200))

            until(printed)
            return output.readline()
        finally:
            process.kill()
