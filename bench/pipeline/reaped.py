"""`python -m bench.pipeline.reaped COMMAND...`: runs the command and adds the processor time of all that it started.

Spark's JVM, its Python workers and the daemon that forks them are descendants, some of which survive their parent. This
process adopts them, waits for each, and so has the processor time of all: `cpu_s`, as a JSON line behind the output.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys

_SET_CHILD_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of Linux


def run(command: list[str]) -> tuple[int, float]:
    """The exit code of the command, and the processor time of it and all its descendants in seconds."""
    if ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel does not let this process adopt orphans")
    process = subprocess.Popen(command)
    code = -1
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            break
        if pid == process.pid:
            code = process.returncode = os.waitstatus_to_exitcode(status)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return code, used.ru_utime + used.ru_stime


if __name__ == "__main__":
    exit_code, seconds = run(sys.argv[1:])
    print(json.dumps({"cpu_s": seconds}), flush=True)
    sys.exit(exit_code)
