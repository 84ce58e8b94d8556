"""Apache Kafka's console tools against a running cluster: topics, configs, groups, producing, consuming, offsets."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest

from tests.system.clusters import RoutedCluster, until
from tests.system.conftest import MakeTopic
from tests.system.console_tools import tool
from tests.system.provision import command, jars

NEEDS = (partial(command, "javac"), partial(jars, "tools"))
pytestmark = pytest.mark.timeout(240)


def at(bootstrap: str) -> list[str]:
    return ["--bootstrap-server", bootstrap]


@pytest.mark.slow
def test_topics_are_created_described_widened_and_deleted(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic() + "-by-tool"
    new = ["--create", "--topic", topic, "--partitions", "2", "--replication-factor", "3"]
    assert "Created topic" in tool("kafka-topics", *at(kafka_bootstrap), *new, "--config", "retention.ms=3600000")
    described = tool("kafka-topics", *at(kafka_bootstrap), "--describe", "--topic", topic)
    assert re.search(r"PartitionCount: 2\s+ReplicationFactor: 3\s+Configs: .*retention.ms=3600000", described)
    assert len(re.findall(r"Partition: \d\s+Leader: [123]\s+Replicas: [123,]{5}\s+Isr: [123,]{5}", described)) == 2
    tool("kafka-topics", *at(kafka_bootstrap), "--alter", "--topic", topic, "--partitions", "4")
    described = tool("kafka-topics", *at(kafka_bootstrap), "--describe", "--topic", topic)
    assert "PartitionCount: 4" in described
    assert topic in tool("kafka-topics", *at(kafka_bootstrap), "--list").split()
    tool("kafka-topics", *at(kafka_bootstrap), "--delete", "--topic", topic)
    until(lambda: topic not in tool("kafka-topics", *at(kafka_bootstrap), "--list").split(), "the topic's end")
    assert not tool("kafka-topics", *at(kafka_bootstrap), "--describe", "--under-replicated-partitions").strip()


@pytest.mark.slow
def test_configs_are_altered_and_described(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    entity = [*at(kafka_bootstrap), "--entity-type", "topics", "--entity-name", topic]
    assert "Completed updating" in tool("kafka-configs", *entity, "--alter", "--add-config", "retention.ms=7200000")
    described = tool("kafka-configs", *entity, "--describe")
    assert "retention.ms=7200000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=7200000" in described
    tool("kafka-configs", *entity, "--alter", "--delete-config", "retention.ms")
    everything = tool("kafka-configs", *entity, "--describe", "--all")
    assert "retention.ms=604800000" in everything
    assert "DYNAMIC_TOPIC_CONFIG" not in everything
    broker = [*at(kafka_bootstrap), "--entity-type", "brokers", "--entity-name", "1", "--describe", "--all"]
    assert "inter.broker.listener.name=REPLICATION" in tool("kafka-configs", *broker)


@pytest.mark.slow
def test_lines_go_in_and_come_out_in_a_group(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    group = f"tool-{topic}"
    lines = [f"k{number}\tline {number}" for number in range(200)]
    producer = ["--topic", topic, "--compression-codec", "zstd"]
    keyed = ["--reader-property", "parse.key=true"]
    tool("kafka-console-producer", *at(kafka_bootstrap), *producer, *keyed, text="\n".join(lines) + "\n")
    consumer = ["--topic", topic, "--group", group, "--from-beginning", "--max-messages", "200"]
    formatted = ["--formatter-property", "print.key=true", "--timeout-ms", "30000"]
    out = tool("kafka-console-consumer", *at(kafka_bootstrap), *consumer, *formatted)
    assert sorted(out.splitlines()) == sorted(lines)
    assert group in tool("kafka-consumer-groups", *at(kafka_bootstrap), "--list").split()
    described = tool("kafka-consumer-groups", *at(kafka_bootstrap), "--describe", "--group", group)
    rows = [line.split() for line in described.splitlines() if line.startswith(group)]
    assert sum(int(row[3]) for row in rows) == sum(int(row[4]) for row in rows) == 200
    reset = ["--reset-offsets", "--to-earliest", "--execute", "--group", group, "--topic", topic]
    tool("kafka-consumer-groups", *at(kafka_bootstrap), *reset)
    state = tool("kafka-consumer-groups", *at(kafka_bootstrap), "--describe", "--group", group, "--state")
    assert "Empty" in state
    lag = tool("kafka-consumer-groups", *at(kafka_bootstrap), "--describe", "--group", group)
    assert sum(int(line.split()[5]) for line in lag.splitlines() if line.startswith(group)) == 200
    deleted = tool("kafka-consumer-groups", *at(kafka_bootstrap), "--delete", "--group", group)
    assert "was successful" in deleted


@pytest.mark.slow
def test_offsets_are_listed_and_records_deleted(kafka_bootstrap: str, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic()
    tool("kafka-console-producer", *at(kafka_bootstrap), "--topic", topic, text="a\nb\nc\n")
    assert tool("kafka-get-offsets", *at(kafka_bootstrap), "--topic", topic).split() == [f"{topic}:0:3"]
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 2}]}))
    deleted = tool("kafka-delete-records", *at(kafka_bootstrap), "--offset-json-file", str(file))
    assert f"partition: {topic}-0\tlow_watermark: 2" in deleted
    earliest = tool("kafka-get-offsets", *at(kafka_bootstrap), "--topic", topic, "--time", "earliest")
    assert earliest.split() == [f"{topic}:0:2"]


@pytest.mark.slow
@pytest.mark.spec("L10", "R1")
def test_the_cluster_is_described(cluster: RoutedCluster, kafka_bootstrap: str) -> None:
    versions = tool("kafka-broker-api-versions", *at(kafka_bootstrap))
    for address in kafka_bootstrap.split(","):
        assert re.search(rf"^{re.escape(address)} \(id: [123] rack: null.*\) -> \(", versions, re.MULTILINE)
    assert re.search(r"Produce\(0\): 0 to 13", versions)
    assert "UNSUPPORTED" in versions, "what is not served is not listed"
    cluster_id = cluster.brokers[1].ready["cluster_id"]
    assert cluster_id in tool("kafka-cluster", "cluster-id", *at(kafka_bootstrap))
    endpoints = tool("kafka-cluster", "list-endpoints", *at(kafka_bootstrap))
    rows = [line.split() for line in endpoints.splitlines()[1:] if line.strip()]
    assert sorted(f"{row[1]}:{row[2]}" for row in rows) == sorted(kafka_bootstrap.split(","))
