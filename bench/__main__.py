"""`python -m bench [--quick] [--only TEXT] [--save]`: every row, build/bench.json, exit code 1 if one fails.

`--quick` takes two short rounds instead of five: for trying out, not for valid results. `--only` measures the groups or
data plane rows whose name contains TEXT. `--base COMMIT` measures this tree beside that commit instead
(build/bench-base.json): exit code 1 if a row costs over 10 % more.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench import base, c_programs, cluster_start, codec, control_plane, data_plane, start_time
from bench.measured.recording import command_line, parse
from bench.processes import resident_mib, work_folder
from bench.subject import Subject
from bench.table import Row, Table, absolute

_IDLE_MIB_BOUND = 60.0
_IDLE_AFTER_S = 2.0


def data_plane_rows(folder: Path, only: str, rounds: int, seconds: float) -> Iterator[Row]:
    """The rows measured at a broker process; a second broker measures its own polls, which costs a little."""
    with Subject(folder / "ours") as subject:
        time.sleep(_IDLE_AFTER_S)
        yield absolute("memory of an idle broker process, MiB", resident_mib(subject.pid), _IDLE_MIB_BOUND)
        subject.create_topics(data_plane.FETCH_SIZES)
        for contest in data_plane.contests():
            if only in contest.metric:
                yield data_plane.measure(contest, subject, folder / "reference", rounds, seconds)
    if only in "control plane":
        with Subject(folder / "measured", measure_polls=True) as subject:
            subject.create_topics([])
            yield from control_plane.rows(subject, rounds, seconds)


def compare_with(commit: str, only: str, rounds: int, seconds: float) -> int:
    """The table of this tree and a base; the exit code."""
    table, folder = Table("bench-base"), work_folder()
    with tempfile.TemporaryDirectory(prefix="signalbox-base-") as base_folder:
        site = base.build(commit, Path(base_folder))
        table.head(f"ours = this tree, reference = {commit}, ratio = median of the rounds' ratios, at most `bound`")
        try:
            for row in base.rows(folder, site, only, rounds, seconds):
                table.add(row)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return table.finish()


def main() -> int:
    parser = command_line("python -m bench")
    parser.add_argument("--only", default="")
    parser.add_argument("--base", default="", metavar="COMMIT")
    given = parse(parser)
    rounds, seconds, slices = (2, 0.5, 15) if given.quick else (5, 1.0, 60)
    c_programs.build()
    if given.base:
        return compare_with(given.base, given.only, rounds, seconds)
    table, folder = Table("bench"), work_folder()
    table.head("ratio = ours / reference, which may be at most `bound`; where no reference stands, ours may")
    try:
        for row in data_plane_rows(folder, given.only, rounds, seconds):
            table.add(row)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if given.only in "cluster start":
        for row in start_time.rows(rounds):
            table.add(row)
        try:
            for row in cluster_start.rows(folder, rounds):
                table.add(row)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    if given.only in "codec":
        table.head("ratio = reference / ours, which is to be at least `bound`")
        for row in codec.rows(slices):
            table.add(row)
    return table.finish(saved=given.save)


if __name__ == "__main__":
    sys.exit(main())
