"""Topics of `signalbox up --topic`, and the report of a start that failed."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.cli.local_cluster.cluster_start import cause_first, create_topics, parse_topic
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.testing.cluster import Cluster

INFO = "2026-11-26T19:00:00.000Z INFO    node=1 signalbox.wiring: starting"
ERROR = "2026-11-26T19:00:00.001Z ERROR   node=1 signalbox.wiring.serve: not started: log.dirs (/x): Not a directory"


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("a", NewTopic(name="a")),
        ("a:6", NewTopic(name="a", num_partitions=6)),
        ("a:6:3", NewTopic(name="a", num_partitions=6, replication_factor=3)),
    ],
)
def test_name_partitions_and_factor(text: str, topic: NewTopic) -> None:
    assert parse_topic(text) == topic


@pytest.mark.parametrize("text", ["", ":3", "a:", "a:x", "a:0", "a:1:2:3", "a:-1"])
def test_other_texts_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="--topic takes NAME"):
        parse_topic(text)


def test_topics_that_exist_stay_and_errors_are_returned(run: Any, cluster: Cluster) -> None:
    topics = [parse_topic("initial:2"), parse_topic("initial-too:1:9")]
    for _ in range(2):
        [error] = create_topics(cluster.bootstrap_servers, topics)
        assert error.startswith("topic initial-too was not created: ")
    assert "initial" in run("topic", "list").stdout.splitlines()
    assert create_topics("127.0.0.1:1", []) == []


def test_an_error_of_the_log_is_the_cause() -> None:
    lines = cause_first("\n".join(["broker 1 ended; the end of its log:", *[INFO] * 40, ERROR]))
    assert lines[0] == "broker 1 ended: not started: log.dirs (/x): Not a directory"
    assert lines[1] == "the end of its log:"
    assert lines[-1] == ERROR
    assert len(lines) < 20


def test_faults_of_the_configuration_are_the_cause() -> None:
    faults = ["a.properties:3: key (many): wrong", "a.properties:4: key (few): wrong"]
    log = ["warning: a.properties:2: nope is not a known key", *faults, "not started: 2 faults"]
    assert cause_first("\n".join(["broker 1 ended; the end of its log:", *log])) == [
        "broker 1 ended: a.properties:3: key (many): wrong",
        "broker 1 ended: a.properties:4: key (few): wrong",
        "broker 1 ended: warning: a.properties:2: nope is not a known key",
    ]


def test_a_port_in_use_has_the_option_for_others() -> None:
    error = ERROR.replace("Not a directory", "cannot be bound: Address already in use")
    lines = cause_first(f"broker 1 ended; the end of its log:\n{error}")
    assert "`signalbox up --port N`" in lines[1]
    assert lines[2] == "the end of its log:"


def test_other_failures_stay_as_they_are() -> None:
    assert cause_first("broker 1 already runs") == ["broker 1 already runs"]
    text = f"broker 1 was not ready after 60 s; the end of its log:\n{INFO}"
    assert cause_first(text) == text.splitlines()
