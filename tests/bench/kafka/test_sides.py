"""Ours and Apache Kafka delete old segments by the same keys, from the first second on."""

from __future__ import annotations

from pathlib import Path

from bench.kafka.apache import server_properties
from bench.kafka.sides import RETENTION, Ours

from signalbox.common.config.properties_file import parse_properties


def test_ours_has_the_retention_keys(tmp_path: Path) -> None:
    ours = Ours(tmp_path)
    ours.prepare()
    ours._cluster.write_files()
    for path in tmp_path.glob("broker-*/server.properties"):
        assert parse_properties(path.read_text()).values.items() >= RETENTION.items()


def test_apache_kafka_has_the_same_keys(tmp_path: Path) -> None:
    values = parse_properties(server_properties(tmp_path, 1, 9092, [9093, 9094, 9095], {})).values
    assert values.items() >= RETENTION.items()
