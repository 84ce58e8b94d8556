"""Bytes that this process has read from and written to disks, under Kafka's names (`linux-disk-read-bytes` …).

Linux counts them in `/proc/self/io`: reads from the page cache are not reads from a disk.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from signalbox.common.metrics import MetricName, Metrics

_IO = Path("/proc/self/io")
_GAUGES = {"linux-disk-read-bytes": "read_bytes", "linux-disk-write-bytes": "write_bytes"}


def measure_disks(metrics: Metrics, io: Path = _IO) -> None:
    """Registers both metrics; neither if the kernel does not give the numbers (another user's process, no task
    accounting)."""
    try:
        io.read_text()
    except OSError:
        return
    for name, field in _GAUGES.items():
        metrics.gauge(MetricName("kafka.server", "KafkaServer", name), partial(_read, io, field))


def _read(io: Path, field: str) -> int:
    rows = dict(line.split(": ") for line in io.read_text().splitlines())
    return int(rows[field])
