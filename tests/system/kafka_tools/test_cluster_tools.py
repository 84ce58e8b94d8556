"""Apache Kafka's console tools about a whole cluster: log directories, endpoints, offsets, and operations that only
KRaft has."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.system.clusters import RoutedCluster
from tests.system.conftest import MakeTopic
from tests.system.console_tools import tool, tried
from tests.system.provision import command, java_class
from tests.waiting import until

NEEDS = (partial(command, "javac"), partial(java_class, "Tools.java", "tools"))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture
def at(kafka_bootstrap: str) -> list[str]:
    return ["--bootstrap-server", kafka_bootstrap]


def log_dirs(at: list[str], *arguments: str) -> dict[int, list[dict[str, Any]]]:
    """The output of kafka-log-dirs, by broker."""
    printed = tool("kafka-log-dirs", *at, "--describe", *arguments).splitlines()
    found = json.loads(next(line for line in printed if line.startswith("{")))
    return {each["broker"]: each["logDirs"] for each in found["brokers"]}


@pytest.mark.spec("D3")
def test_log_directories_with_their_partitions(cluster: RoutedCluster, at: list[str], make_topic: MakeTopic) -> None:
    topic = make_topic(2, replicas=3)
    tool("kafka-console-producer", *at, "--topic", topic, "--sync", text="a\nb\nc\n")
    everywhere = log_dirs(at, "--topic-list", topic)
    assert sorted(everywhere) == [1, 2, 3]
    for broker_id, directories in everywhere.items():
        [directory] = directories
        assert directory["error"] is None
        assert directory["logDir"].startswith(str(cluster.folder / f"broker-{broker_id}"))
        partitions = {each["partition"]: each for each in directory["partitions"]}
        assert sorted(partitions) == [f"{topic}-0", f"{topic}-1"]
        assert not any(each["isFuture"] or each["offsetLag"] for each in partitions.values())
        assert sum(each["size"] for each in partitions.values()) > 0
    assert list(log_dirs(at, "--broker-list", "2")) == [2]
    rejected = tried("kafka-log-dirs", *at, "--describe", "--broker-list", "9")
    assert "The given brokers do not exist from --broker-list: 9" in rejected.err


@pytest.mark.spec("D1")
def test_offsets_by_every_kind_of_time(at: list[str], make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    tool("kafka-console-producer", *at, "--topic", topic, "--sync", text="a\nb\nc\n")

    def offsets(*arguments: str) -> dict[str, int]:
        lines = tool("kafka-get-offsets", *at, *arguments).split()
        return {key: int(offset) for key, _, offset in (line.rpartition(":") for line in lines)}

    latest = offsets("--topic", topic)
    assert sum(latest.values()) == 3
    assert offsets("--topic", topic, "--time", "latest") == latest
    assert set(offsets("--topic", topic, "--time", "earliest").values()) == {0}
    [(largest, offset)] = offsets("--topic", topic, "--time", "max-timestamp").items()
    assert 0 < offset <= latest[largest], "the offset after the record with the largest timestamp"
    assert offsets("--topic", topic, "--time", "1")[largest] == 0
    assert offsets("--topic-partitions", f"{topic}:0-1") == {f"{topic}:0": latest[f"{topic}:0"]}
    assert not any(key.startswith("__") for key in offsets("--exclude-internal-topics"))


def test_endpoints_and_versions(cluster: RoutedCluster, at: list[str], kafka_bootstrap: str) -> None:
    endpoints = tool("kafka-cluster", "list-endpoints", *at, "--include-fenced-brokers")
    rows = [line.split() for line in endpoints.splitlines()[1:] if line.strip()]
    assert sorted((f"{row[1]}:{row[2]}", row[4], row[5]) for row in rows) == sorted(
        (address, "unfenced", "broker") for address in kafka_bootstrap.split(",")
    )
    versions = tool("kafka-broker-api-versions", *at)
    assert len(re.findall(r"UpdateFeatures\(57\): 0 to 2 \[usable: 2\]", versions)) == 3


@pytest.mark.spec("D3")
def test_a_plan_is_generated_and_its_throttle_comes_and_goes(
    at: list[str], make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(2, replicas=1)
    topics, plan = tmp_path / "topics.json", tmp_path / "plan.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": topic}]}))
    wanted = ["--generate", "--topics-to-move-json-file", str(topics), "--broker-list", "1,2,3"]
    generated = tool("kafka-reassign-partitions", *at, *wanted).splitlines()
    current, proposed = (json.loads(line) for line in generated if line.startswith("{"))
    assert {each["partition"] for each in current["partitions"]} == {0, 1}
    for each in proposed["partitions"]:
        each["replicas"], each["log_dirs"] = [1, 2], ["any", "any"]
    plan.write_text(json.dumps(proposed))
    file = ["--reassignment-json-file", str(plan)]
    executed = tool("kafka-reassign-partitions", *at, "--execute", *file, "--throttle", "10000000")
    assert "The inter-broker throttle limit was set to 10000000 B/s" in executed
    entity = ["--entity-type", "brokers", "--entity-name", "1", "--describe"]
    until(lambda: "replication.throttled.rate=10000000" in tool("kafka-configs", *at, *entity), "the throttle")
    verified = ""
    while "in progress" in verified or not verified:
        verified = tool("kafka-reassign-partitions", *at, "--verify", *file)
    assert "Clearing topic-level throttles" in verified
    until(lambda: "throttled" not in tool("kafka-configs", *at, *entity), "the end of the throttle")


def test_what_needs_kraft_is_rejected_in_so_many_words(at: list[str]) -> None:
    """Rows of docs/conformance.toml: there is no quorum to describe, and a dead broker is not registered anyway."""
    unregister = tool("kafka-cluster", "unregister", *at, "--id", "3")
    assert "does not support the broker unregistration API" in unregister
    quorum = tried("kafka-metadata-quorum", *at, "describe", "--status")
    assert quorum.code == 1
    assert "The node does not support DESCRIBE_QUORUM" in quorum.err
