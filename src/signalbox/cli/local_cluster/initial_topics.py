"""`signalbox up --topic NAME[:partitions[:replication factor]]`: topics that exist when the cluster is ready."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from signalbox.client.admin_apis.topic_admin import NewTopic, TopicAdmin
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.protocol.error_table import Error


def parse_topic(text: str) -> NewTopic:
    """ValueError for an invalid text."""
    name, *numbers = text.split(":")
    if not name or len(numbers) > 2 or not all(number.isdecimal() and int(number) for number in numbers):
        raise ValueError(f"--topic takes NAME[:partitions[:replication factor]], not {text!r}")
    partitions, replicas = (*map(int, numbers), -1, -1)[:2]
    return NewTopic(name=name, num_partitions=partitions, replication_factor=replicas)


def create_topics(bootstrap: str, topics: Sequence[NewTopic]) -> list[str]:
    """Create the topics that do not exist; returns the errors of the others."""

    async def create() -> list[str]:
        async with ClusterClient(ClientSettings.of(bootstrap, client_id="signalbox-up")) as client:
            results = await TopicAdmin(client).create_topics(topics)
        return [
            f"topic {result.name} was not created: {result.message or result.error.message}"
            for result in results.values()
            if result.error not in (Error.NONE, Error.TOPIC_ALREADY_EXISTS)
        ]

    return asyncio.run(create()) if topics else []
