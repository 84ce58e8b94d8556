"""The requests, and the check that they succeeded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bench.admin.exchange import Asked, asked
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.delete_topics import DeleteTopicsRequest
from signalbox.protocol.messages.elect_leaders import ElectLeadersRequest
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from signalbox.protocol.messages.metadata import MetadataRequest

_TOPIC, _SET, _PREFERRED = 2, 0, 0
_EXISTS = 36
_TIMEOUT_MS = 60_000
# Logs are in memory: a segment without records must not use any.
_CONFIGS = {"segment.bytes": str(2**24), "file.delete.delay.ms": "100"}


def alter(topic: str, number: int) -> Asked:
    """Sets a new retention for one topic: every request is a change."""
    made = IncrementalAlterConfigsRequest
    config = made.AlterableConfig(name="retention.ms", config_operation=_SET, value=str(86_400_000 + number))
    resource = made.AlterConfigsResource(resource_type=_TOPIC, resource_name=topic, configs=[config])
    return asked(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, made(resources=[resource]))


def create(
    names: Iterable[str],
    partitions: int,
    replicas: int,
    configs: Mapping[str, str] | None = None,
    timeout_ms: int = _TIMEOUT_MS,
) -> Asked:
    made = CreateTopicsRequest
    wanted = [
        made.CreatableTopicConfig(name=key, value=value) for key, value in {**_CONFIGS, **(configs or {})}.items()
    ]
    topics = [
        made.CreatableTopic(name=name, num_partitions=partitions, replication_factor=replicas, configs=wanted)
        for name in names
    ]
    return asked(ApiKey.CREATE_TOPICS, 7, made(topics=topics, timeout_ms=timeout_ms))


def create_at(name: str, replicas: Iterable[list[int]], configs: Mapping[str, str]) -> Asked:
    """A topic with an explicit replica assignment; the first replica of each partition is the preferred leader."""
    made = CreateTopicsRequest
    places = [
        made.CreatableReplicaAssignment(partition_index=index, broker_ids=ids) for index, ids in enumerate(replicas)
    ]
    wanted = [made.CreatableTopicConfig(name=key, value=value) for key, value in configs.items()]
    topic = made.CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=places, configs=wanted)
    return asked(ApiKey.CREATE_TOPICS, 7, made(topics=[topic], timeout_ms=_TIMEOUT_MS))


def delete(names: Iterable[str]) -> Asked:
    return asked(ApiKey.DELETE_TOPICS, 5, DeleteTopicsRequest(topic_names=list(names), timeout_ms=_TIMEOUT_MS))


def elect_preferred() -> Asked:
    """For all partitions of the cluster."""
    body = ElectLeadersRequest(election_type=_PREFERRED, topic_partitions=None, timeout_ms=_TIMEOUT_MS)
    return asked(ApiKey.ELECT_LEADERS, 2, body)


def all_metadata() -> Asked:
    return asked(ApiKey.METADATA, 12, MetadataRequest(topics=None))


def rejections(answer: Any) -> list[str]:
    """The errors in a response of CreateTopics, DeleteTopics or IncrementalAlterConfigs.

    Names are new, so "already exists" is a creation that was forwarded twice: Apache Kafka returns it on a busy
    machine, when a broker retries a request whose response is late. The topic exists then."""
    rows = getattr(answer, "topics", None) or answer.responses
    return [f"{row.error_code} {row.error_message}" for row in rows if row.error_code not in (0, _EXISTS)]
