"""`signalbox group`: groups with their offsets, described and deleted."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from signalbox.testing.cluster import Cluster


@pytest.fixture(scope="module")
def group(run: Any, cluster: Cluster) -> str:
    """A group without members that has committed offset 1 in a topic."""
    assert run("topic", "create", "grouped", "--partitions", "1").exit_code == 0
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    producer.produce("grouped", b"x")
    producer.flush(10)
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "readers"})
    consumer.commit(offsets=[TopicPartition("grouped", 0, 1)], asynchronous=False)
    consumer.close()
    return "readers"


def test_list_describe_and_offsets(run: Any, group: str) -> None:
    assert group in run("group", "list").stdout
    assert run("group", "describe", group).stdout.startswith(f"{group}: Empty, assignor")
    [row] = [line for line in run("group", "offsets", group).stdout.splitlines() if "grouped" in line]
    assert [cell.strip() for cell in row.split("│")[1:4]] == ["grouped", "0", "1"]


def test_delete(run: Any, group: str) -> None:
    result = run("group", "delete", group, "never-seen")
    assert result.exit_code == 1
    assert result.stdout == f"{group}: deleted\n"
    assert "never-seen" in result.stderr
    assert group not in run("group", "list").stdout
