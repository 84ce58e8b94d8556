from pathlib import Path

from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.storage.log_metrics import LogMetrics
from tests.metric_values import metric_values
from tests.storage.workbench import append, batch, new_log


def test_a_logs_gauges_live_as_long_as_the_log(tmp_path: Path) -> None:
    log, registry = new_log(tmp_path), MetricRegistry()
    metrics = LogMetrics(registry, [log.body.directory])
    metrics.added(log)
    append(log, batch(3))
    assert {key: value for key, value in metric_values(registry).items() if "flights" in key} == {
        ("Size", "0", "flights"): len(batch(3)),
        ("NumLogSegments", "0", "flights"): 1,
        ("LogStartOffset", "0", "flights"): 0,
        ("LogEndOffset", "0", "flights"): 3,
    }
    metrics.removed(log)
    assert not [key for key in metric_values(registry) if "flights" in key]


def test_a_copy_that_goes_does_not_take_the_metrics_of_the_log_that_stays(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    stale, log, registry = new_log(tmp_path / "a"), new_log(tmp_path / "b"), MetricRegistry()
    metrics = LogMetrics(registry, [])
    metrics.added(stale)
    metrics.added(log)
    metrics.removed(stale)
    assert metric_values(registry)["NumLogSegments", "0", "flights"] == 1


def test_offline_directories_are_counted(tmp_path: Path) -> None:
    log, registry = new_log(tmp_path), MetricRegistry()
    directory = log.body.directory
    LogMetrics(registry, [directory])
    offline = {("OfflineLogDirectoryCount",): 0, ("LogDirectoryOffline", directory.path): 0}
    assert metric_values(registry) == offline
    directory.fail(OSError(5, "broken"), "testing")
    assert metric_values(registry) == dict.fromkeys(offline, 1)
