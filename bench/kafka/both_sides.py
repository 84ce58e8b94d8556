"""Ours and Apache Kafka, both up with the same settings, for benches that load one of them at a time."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench import c_programs
from bench.kafka.apache import ApacheKafka
from bench.kafka.sides import Ours, Side
from bench.measured.recording import command_line, parse
from bench.noise import OtherProcesses, ended_children_seconds
from bench.processes import work_folder
from bench.rounds import Interleaved
from bench.table import Row, Table

Made = Callable[[Path, Mapping[str, str]], Side]


@contextmanager
def both_sides(
    folder: Path, settings: Mapping[str, str], ours: Made = Ours, reference: Made = ApacheKafka
) -> Iterator[Interleaved[Side]]:
    """Started nodes of both, in folders below `folder`, which is removed at the end. If Apache Kafka cannot be started
    the reason is printed, and rows that need it fail."""
    with ExitStack() as running:
        running.callback(shutil.rmtree, folder, ignore_errors=True)
        own = _started(running, ours(folder / "ours", settings))
        try:
            other = _started(running, reference(folder / "kafka", settings))
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            print(f"the reference was not measured: {error}", flush=True)
            other = None
        yield Interleaved(own, other)


def run_target(
    target: str, settings: Mapping[str, str], rows: Callable[[Interleaved[Side], bool], Iterator[Row]]
) -> int:
    """The main function of the target `bench-...`: its rows, with the noise of the machine; returns the exit code.
    `rows` gets both sides, and True for --quick."""
    given = parse(command_line(f"python -m {target.replace('-', '.')}"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # this process started the nodes and stops them
    c_programs.build()
    table, others = Table(target), OtherProcesses(ended_children_seconds)
    with both_sides(work_folder(), settings) as sides:
        table.head("ratio = ours / Kafka, the median of the rounds' ratios, which may be at most `bound`")
        for row in rows(sides, given.quick):
            table.add(row)
    table.note_noise(others.percent_of_a_core())
    return table.finish(saved=given.save)


def _started(running: ExitStack, side: Side) -> Side:
    running.callback(side.stop)
    print(f"starting {side.name}", flush=True)
    side.start()
    return side
