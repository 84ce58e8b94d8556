"""A topic of six partitions on the brokers that the test session shares."""

from __future__ import annotations

import uuid

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

PARTITIONS = 6


@pytest.fixture
def topic(signalbox_bootstrap: str) -> str:
    name = f"chaos-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": signalbox_bootstrap})
    admin.create_topics([NewTopic(name, PARTITIONS, replication_factor=3)])[name].result(10)
    return name
