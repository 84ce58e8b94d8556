from collections.abc import Callable, Mapping
from pathlib import Path

from signalbox.common.metrics import MetricName, NullMetrics
from signalbox.storage.log_metrics import LogMetrics
from tests.storage.workbench import append, batch, new_log


class Gauges(NullMetrics):
    """Keeps the gauges so that a test can read them."""

    def __init__(self) -> None:
        self.readers: dict[tuple[str, ...], Callable[[], float]] = {}

    def gauge(self, name: MetricName, read: Callable[[], float], tags: Mapping[str, str] | None = None) -> None:
        self.readers[(name.name, *(tags or {}).values())] = read

    def remove(self, name: MetricName, tags: Mapping[str, str] | None = None) -> None:
        del self.readers[(name.name, *(tags or {}).values())]


def test_a_logs_gauges_live_as_long_as_the_log(tmp_path: Path) -> None:
    log, gauges = new_log(tmp_path), Gauges()
    metrics = LogMetrics(gauges, [log.body.directory])
    metrics.added(log)
    append(log, batch(3))
    assert {key: read() for key, read in gauges.readers.items() if "flights" in key} == {
        ("Size", "flights", "0"): len(batch(3)),
        ("NumLogSegments", "flights", "0"): 1,
        ("LogStartOffset", "flights", "0"): 0,
        ("LogEndOffset", "flights", "0"): 3,
    }
    metrics.removed(log)
    assert not [key for key in gauges.readers if "flights" in key]


def test_offline_directories_are_counted(tmp_path: Path) -> None:
    log, gauges = new_log(tmp_path), Gauges()
    directory = log.body.directory
    LogMetrics(gauges, [directory])
    readings = [gauges.readers[("OfflineLogDirectoryCount",)], gauges.readers[("LogDirectoryOffline", directory.path)]]
    assert [read() for read in readings] == [0, 0]
    directory.fail(OSError(5, "broken"), "testing")
    assert [read() for read in readings] == [1, 1]
