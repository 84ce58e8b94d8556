"""What the logins of brokers cost the cluster that `signalbox up` starts: three processes with `secured`
(SCRAM-SHA-512 over SASL_PLAINTEXT between brokers, the default of `up`) beside three without, in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from bench.processes import resident_mib
from bench.table import Row, at_most
from signalbox.testing.process_cluster import ProcessCluster

_BROKERS = 3
_START_BOUND = 1.25
_MEMORY_BOUND = 1.05
_IDLE_AFTER_S = 2.0


def rows(folder: Path, rounds: int) -> Iterator[Row]:
    """The medians of the rounds: the start until all brokers are ready, and the memory of one idle broker."""
    starts: dict[bool, list[float]] = {True: [], False: []}
    memory: dict[bool, list[float]] = {True: [], False: []}
    for number in range(rounds):
        for secured in (True, False):
            start_ms, idle_mib = _measure(folder / f"up-{number}-{secured}", secured)
            starts[secured].append(start_ms)
            memory[secured].append(idle_mib)
    for metric, figures, bound in (
        (f"cluster of {_BROKERS} processes: start, brokers log in / do not, ms", starts, _START_BOUND),
        ("memory of an idle broker, brokers log in / do not, MiB", memory, _MEMORY_BOUND),
    ):
        yield at_most(metric, statistics.median(figures[True]), statistics.median(figures[False]), bound)


def _measure(folder: Path, secured: bool) -> tuple[float, float]:
    """Milliseconds until all are ready; MiB of a broker some time later, the mean of all."""
    cluster = ProcessCluster(folder, _BROKERS, secured=secured)
    started = time.perf_counter()
    with cluster:
        start_ms = (time.perf_counter() - started) * 1000
        time.sleep(_IDLE_AFTER_S)
        processes = [broker.process for broker in cluster.brokers.values()]
        return start_ms, statistics.mean(resident_mib(process.pid) for process in processes if process is not None)
