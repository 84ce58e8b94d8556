"""The processor time and memory of a process, read from /proc."""

from __future__ import annotations

import os
from pathlib import Path


def cpu_seconds(pid: int) -> float:
    """Processor time of all threads, to the nanosecond (the clock ticks of `stat` are too coarse for a round)."""
    total = 0
    for task in os.scandir(f"/proc/{pid}/task"):
        try:
            total += int(Path(task.path, "schedstat").read_text().split()[0])
        except FileNotFoundError:
            continue  # a thread that has just ended
    return total / 1e9


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
