"""Prints each walk as it is recorded: the files that the page must name, and their functions in the order of calls."""

from __future__ import annotations

import sys

from tests.walks.comparison import REPEATS, counted_calls, files_of, recorded_files
from tests.walks.scenarios import running_scenarios
from tests.walks.table import WALKS


def main() -> None:
    with running_scenarios() as scenarios:
        for walk in WALKS:
            recordings = [scenarios.record(walk) for _ in range(REPEATS)]
            files = recorded_files(recordings)
            sys.stdout.write(f"{walk.heading}: {len(files)} files, {len(files_of(recordings[0]))} with all\n")
            for call in counted_calls(recordings[0]):
                sys.stdout.write(f"  {call}\n")


if __name__ == "__main__":
    main()
