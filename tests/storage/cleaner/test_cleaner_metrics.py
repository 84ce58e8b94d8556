"""The metrics have Kafka's names and units."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.storage.cleaner.cleaner_metrics import measure_cleaner
from tests.metric_values import metric_values
from tests.storage.cleaner.cleaning import CompactedLog, keyed

pytestmark = pytest.mark.spec("D6")


def test_the_gauges_of_a_round(tmp_path: Path) -> None:
    log, registry = CompactedLog(tmp_path), MetricRegistry()
    measure_cleaner(registry, log.cleaner, log.clock)
    log.append(keyed({"a": "1", "b": "1"}), keyed({"a": "2", "b": "2"}))
    assert log.clean()
    log.clock.advance(250)
    values = {key[0]: value for key, value in metric_values(registry).items()}
    assert values == {
        "max-buffer-utilization-percent": 0,
        "cleaner-recopy-percent": 50,
        "max-clean-time-secs": 0,
        "max-compaction-delay-secs": 0,
        "max-dirty-percent": 100,
        "time-since-last-run-ms": 250,
        "uncleanable-partitions-count": 0,
        "uncleanable-bytes": 0,
    }
