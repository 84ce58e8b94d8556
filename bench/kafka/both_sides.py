"""Ours and Apache Kafka, both up with the same settings, for benches that load one of them at a time."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.kafka.apache import ApacheKafka
from bench.kafka.sides import Ours, Side
from bench.rounds import Interleaved

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


def _started(running: ExitStack, side: Side) -> Side:
    running.callback(side.stop)
    print(f"starting {side.name}", flush=True)
    side.start()
    return side
