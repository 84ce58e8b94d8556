"""`python -m bench [--quick] [--only TEXT]`: every row of the table, build/bench.json, exit code 1 when one fails.

`--quick` takes two short rounds instead of five: for trying, not for judging. `--only` measures the rows whose metric
holds TEXT.
"""

from __future__ import annotations

import argparse
import shutil
import sys

from bench import c_programs, data_plane
from bench.processes import work_folder
from bench.subject import Subject
from bench.table import Table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    rounds, seconds = (2, 0.5) if given.quick else (5, 1.0)
    c_programs.build()
    table, folder = Table("bench"), work_folder()
    table.head("costs at most `bound` times the reference's")
    try:
        with Subject(folder / "ours") as subject:
            subject.create_topics(data_plane.FETCH_SIZES)
            for contest in data_plane.contests():
                if given.only in contest.metric:
                    table.add(data_plane.measure(contest, subject, folder / "reference", rounds, seconds))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return table.finish()


if __name__ == "__main__":
    sys.exit(main())
