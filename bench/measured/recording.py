"""Records the rows that a bench has just measured: as a file of bench/history, with this machine and this commit."""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from bench.measured.run_file import HISTORY, Machine, Run, RunRow, write_run

_HASH_CHARACTERS = 10


def command_line(program: str) -> argparse.ArgumentParser:
    """The arguments that all benches have."""
    parser = argparse.ArgumentParser(prog=program)
    parser.add_argument("--quick", action="store_true", help="short rounds: for trying out, not for valid results")
    parser.add_argument("--save", action="store_true", help=f"add the run to {HISTORY}")
    return parser


def parse(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The parsed arguments; a run with few or short measurements cannot be saved."""
    parsed = parser.parse_args()
    if parsed.save and any(getattr(parsed, name, False) for name in ("quick", "only", "base")):
        parser.error("--save needs a complete run: not --quick, --only or --base")
    return parsed


def save(target: str, rows: Iterable[RunRow], folder: Path = HISTORY) -> Path:
    """Writes the file; returns its path."""
    commit = _git("rev-parse", f"--short={_HASH_CHARACTERS}", "HEAD") or None
    changed = _git("status", "--porcelain", "--untracked-files=no")
    now = time.localtime()
    run = Run(
        target=target,
        date=time.strftime("%Y-%m-%d", now),
        time=time.strftime("%H:%M", now),
        commit=commit,
        complete=True,
        machine=this_machine(),
        note="With changes that were not committed." if changed else None,
        rows=tuple(rows),
    )
    while (folder / run.file_name).exists():
        run = replace(run, number=run.number + 1)
    return write_run(run, folder)


def this_machine() -> Machine:
    """Cores that this process may use, processor, memory, Python, operating system."""
    processor = None
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            processor = line.partition(":")[2].strip()
            break
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Machine(
        cores=len(os.sched_getaffinity(0)),
        processor=processor,
        memory_gb=round(memory_bytes / 1e9, 1),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        system=f"{platform.system()} {platform.release()}",
    )


def _git(*arguments: str) -> str:
    """The output of git; empty outside a repository."""
    done = subprocess.run(["git", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""
