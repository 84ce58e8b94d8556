from pathlib import Path

from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.server.metrics.disk_metrics import measure_disks
from tests.metric_values import metric_values


def test_the_kernels_counts_are_shown(tmp_path: Path) -> None:
    registry, io = MetricRegistry(), tmp_path / "io"
    io.write_text("rchar: 9\nwchar: 8\nread_bytes: 4096\nwrite_bytes: 512\ncancelled_write_bytes: 0\n")
    measure_disks(registry, io)
    assert metric_values(registry) == {("linux-disk-read-bytes",): 4096, ("linux-disk-write-bytes",): 512}


def test_where_the_kernel_does_not_tell_there_are_none(tmp_path: Path) -> None:
    registry = MetricRegistry()
    measure_disks(registry, tmp_path / "missing")
    assert metric_values(registry) == {}
