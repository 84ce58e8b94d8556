"""`python -m tests.system.ecosystem [name ...]`: runs all programs, or these; a row for each, then how many passed and
failed. The exit code is 1 if one failed."""

from __future__ import annotations

import shutil
import signal
import sys
from pathlib import Path

from signalbox.testing.process_cluster import ProcessCluster
from tests.system.ecosystem.program import run_programs
from tests.system.ecosystem.program_table import PROGRAMS
from tests.testing.fork_server import ForkServer

FOLDER = Path(__file__).parents[3] / "build" / "ecosystem"
"""Emptied first, kept afterwards."""


def main(names: list[str]) -> int:
    """Returns the exit code; 2 if there is no such program."""
    unknown = set(names) - {program.name for program in PROGRAMS}
    if unknown:
        _say(f"no program {', '.join(sorted(unknown))}; there are {', '.join(program.name for program in PROGRAMS)}")
        return 2
    # Brokers and programs are stopped on the way out; they would outlive this process.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    ProcessCluster.start_node = ForkServer().start
    shutil.rmtree(FOLDER, ignore_errors=True)
    chosen = [program for program in PROGRAMS if not names or program.name in names]
    return 1 if run_programs(chosen, FOLDER, _say) else 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
