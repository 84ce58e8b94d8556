"""Topics of `signalbox up --topic`."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.cli.local_cluster.initial_topics import create_topics, parse_topic
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.testing.cluster import Cluster


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
