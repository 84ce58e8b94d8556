"""The processor time and memory of a process."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

_CHILDREN_USER = 13  # of /proc/<pid>/stat, counted from the field behind the name; the next one is the system time
_CPU_CLOCK = 2  # CPUCLOCK_SCHED of Linux: with the process id, what clock_getcpuclockid() returns


def cpu_seconds(pid: int) -> float:
    """Processor time of all threads so far, also of those that have ended (a JVM ends idle compiler threads), to the
    nanosecond. ProcessLookupError: there is no such process."""
    try:
        return time.clock_gettime(~pid << 3 | _CPU_CLOCK)
    except OSError as error:
        raise ProcessLookupError(f"process {pid} does not exist") from error


def cpu_seconds_with_children(pid: int) -> float:
    """The same with its child processes: those that run, and those that have ended and were waited for, which the
    kernel counts in ticks of 10 ms."""
    total = cpu_seconds(pid)
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    total += (int(fields[_CHILDREN_USER]) + int(fields[_CHILDREN_USER + 1])) / os.sysconf("SC_CLK_TCK")
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            with suppress(ProcessLookupError):
                total += cpu_seconds(int(child))
    return total


def resident_mib(pid: int) -> float:
    """Resident memory."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} has no memory of its own")


def own_mib(pid: int) -> float:
    """Memory that no other process has (unique set size): what one more process costs."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def work_folder() -> Path:
    """The folder for the logs of both sides: in memory if it has 4 GiB free, so that the disk has no influence."""
    shared = Path("/dev/shm")
    if shared.is_dir():
        file_system = os.statvfs(shared)
        if file_system.f_bavail * file_system.f_frsize > 4 * 2**30:
            return shared / f"signalbox-bench-{os.getpid()}"
    return Path("build/bench") / f"data-{os.getpid()}"
