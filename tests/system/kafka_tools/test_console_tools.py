"""Apache Kafka's console tools against a running cluster: topics, configs, groups, producing, consuming, offsets."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest

from tests.system.clusters import RoutedCluster
from tests.system.conftest import MakeTopic
from tests.system.console_tools import tool, tried
from tests.system.provision import command, java_class
from tests.waiting import until

NEEDS = (partial(command, "javac"), partial(java_class, "Tools.java", "tools"))
pytestmark = pytest.mark.timeout(240)


def at(bootstrap: str) -> list[str]:
    return ["--bootstrap-server", bootstrap]


@pytest.mark.slow
def test_topics_are_created_described_widened_and_deleted(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic() + "-by-tool"
    new = ["--create", "--topic", topic, "--partitions", "2", "--replication-factor", "3"]
    assert "Created topic" in tool("kafka-topics", *at(kafka_bootstrap), *new, "--config", "retention.ms=3600000")
    headline = r"PartitionCount: 2\s+ReplicationFactor: 3\s+Configs: .*retention.ms=3600000"
    line = r"Partition: \d\s+Leader: [123]\s+Replicas: [123,]{5}\s+Isr: [123,]{5}"

    def described() -> str:
        return tried("kafka-topics", *at(kafka_bootstrap), "--describe", "--topic", topic).out

    # The change may reach the broker that describes the topic a moment later than the broker that took the change.
    until(lambda: re.search(headline, described()) and len(re.findall(line, described())) == 2, "the topic")
    tool("kafka-topics", *at(kafka_bootstrap), "--alter", "--topic", topic, "--partitions", "4")
    until(lambda: "PartitionCount: 4" in described() and len(re.findall(line, described())) == 4, "four partitions")
    assert topic in tool("kafka-topics", *at(kafka_bootstrap), "--list").split()
    tool("kafka-topics", *at(kafka_bootstrap), "--delete", "--topic", topic)
    until(lambda: topic not in tool("kafka-topics", *at(kafka_bootstrap), "--list").split(), "the topic's end")
    assert not tool("kafka-topics", *at(kafka_bootstrap), "--describe", "--under-replicated-partitions").strip()


@pytest.mark.spec("D15")
@pytest.mark.slow
def test_configs_are_altered_and_described(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    entity = [*at(kafka_bootstrap), "--entity-type", "topics", "--entity-name", topic]
    assert "Completed updating" in tool("kafka-configs", *entity, "--alter", "--add-config", "retention.ms=7200000")
    shown = "retention.ms=7200000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=7200000"
    until(lambda: shown in tool("kafka-configs", *entity, "--describe"), "the config")
    tool("kafka-configs", *entity, "--alter", "--delete-config", "retention.ms")
    until(lambda: "DYNAMIC_TOPIC_CONFIG" not in tool("kafka-configs", *entity, "--describe", "--all"), "the default")
    assert "retention.ms=604800000" in tool("kafka-configs", *entity, "--describe", "--all")
    broker = [*at(kafka_bootstrap), "--entity-type", "brokers", "--entity-name", "1", "--describe", "--all"]
    assert "inter.broker.listener.name=REPLICATION" in tool("kafka-configs", *broker)


@pytest.mark.spec("D8")
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


@pytest.mark.spec("D8")
@pytest.mark.slow
def test_groups_are_listed_moved_and_cut(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    group, at_cluster = f"moved-{topic}", at(kafka_bootstrap)
    tool("kafka-console-producer", *at_cluster, "--topic", topic, "--sync", text="a\nb\nc\n")
    read = ["--topic", topic, "--group", group, "--from-beginning", "--max-messages", "3"]
    tool("kafka-console-consumer", *at_cluster, *read)

    def groups(*arguments: str) -> str:
        return tool("kafka-consumer-groups", *at_cluster, *arguments)

    def moved(*arguments: str) -> list[list[str]]:
        printed = groups("--reset-offsets", "--group", group, *arguments)
        return [line.split() for line in printed.splitlines() if line.startswith(group)]

    assert [group, "Empty"] in [line.split() for line in groups("--list", "--state").splitlines()]
    assert [group, "Classic"] in [line.split() for line in groups("--list", "--type").splitlines()]
    listed = tool("kafka-groups", *at_cluster, "--list")
    assert [group, "Classic", "consumer"] in [line.split() for line in listed.splitlines()]
    members = tried("kafka-consumer-groups", *at_cluster, "--describe", "--group", group, "--members", "--verbose")
    assert f"Consumer group '{group}' has no active members." in members.err
    assert moved("--topic", f"{topic}:0", "--shift-by", "-1", "--dry-run") == [[group, topic, "0", "2"]]
    assert moved("--all-topics", "--to-datetime", "2020-01-01T00:00:00.000", "--execute") == [[group, topic, "0", "0"]]
    assert moved("--topic", topic, "--to-offset", "1", "--execute") == [[group, topic, "0", "1"]]
    exported = groups("--reset-offsets", "--group", group, "--topic", topic, "--to-latest", "--export", "--dry-run")
    assert f'"{topic}",0,3' in exported
    assert "Successful" in groups("--delete-offsets", "--group", group, "--topic", topic)
    assert "was successful" in groups("--delete", "--group", group)
    unknown = tried("kafka-consumer-groups", *at_cluster, "--describe", "--group", group)
    assert f"Group {group} not found." in unknown.out


@pytest.mark.slow
def test_topics_are_picked_by_state_and_rejected_by_name(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(1, retention_ms="3600000")
    at_cluster = at(kafka_bootstrap)
    assert topic in tool("kafka-topics", *at_cluster, "--describe", "--topics-with-overrides")
    assert topic not in tool("kafka-topics", *at_cluster, "--describe", "--unavailable-partitions")
    assert topic in tool("kafka-topics", *at_cluster, "--list", "--topic", f"{topic[:-1]}.", "--exclude-internal")
    exists = tried("kafka-topics", *at_cluster, "--create", "--topic", topic)
    assert (exists.code, f"Topic '{topic}' already exists." in exists.out) == (1, True)
    assert tried("kafka-topics", *at_cluster, "--create", "--topic", topic, "--if-not-exists").code == 0
    unknown = tried("kafka-topics", *at_cluster, "--delete", "--topic", "no-such-topic")
    assert (unknown.code, "Topic 'no-such-topic' does not exist as expected" in unknown.out) == (1, True)


@pytest.mark.spec("D1")
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
