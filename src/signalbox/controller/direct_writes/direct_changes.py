"""The APIs whose changes a broker below the gate stores itself, and what each decision reads (SPEC F17): a new one is
one row. What is not needed is not read: while a writer reads, others commit, and then it has to read again (decision
0021).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from signalbox.controller.entities.acl_control import valid_patterns
from signalbox.controller.topics.topic_name import reject_topic_name
from signalbox.metadata import layout
from signalbox.metadata.entries.acl_entries import ROOT_OF, acl_path
from signalbox.metadata.entries.entity_config import client_metrics_entity, group_entity, user_entity
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.config_resource import ConfigResourceType


@dataclass(frozen=True, slots=True)
class DirectChange:
    """`looks_at`: subtrees of the store that hold everything a decision on a request needs. `for_clients`: whether any
    broker accepts the request from clients; otherwise only a broker itself makes the change."""

    looks_at: Callable[[Any], Iterator[str]]
    for_clients: bool = True


def _resources(request: Any) -> Iterator[str]:
    """For AlterConfigs and IncrementalAlterConfigs. Which topics exist is known in any case."""
    for each in request.resources:
        entity_of, name = _ENTITIES.get(each.resource_type), each.resource_name
        is_bad = each.resource_type == ConfigResourceType.TOPIC and reject_topic_name(name)
        if entity_of is not None and name and not is_bad:
            yield f"{layout.CONFIG}/{entity_of(name)}"
    if any(each.resource_type == ConfigResourceType.BROKER for each in request.resources):
        yield f"{layout.CONFIG}/brokers"
        yield layout.BROKER_IDS


_ENTITIES: dict[int, Callable[[str], str]] = {
    ConfigResourceType.TOPIC: "topics/{}".format,
    ConfigResourceType.CLIENT_METRICS: client_metrics_entity,
    ConfigResourceType.GROUP: group_entity,
}


def _new_acls(request: Any) -> Iterator[str]:
    yield from map(acl_path, valid_patterns(request))


def _acls(request: Any) -> Iterator[str]:
    """For DeleteAcls, whose filters may match any pattern."""
    yield from ROOT_OF.values()


def _quotas(request: Any) -> Iterator[str]:
    for kind in ("users", "clients", "ips"):
        yield f"{layout.CONFIG}/{kind}"


def _users(request: Any) -> Iterator[str]:
    """A user's client ids are below the user, because an entry with entries below it stays."""
    for each in (*request.deletions, *request.upsertions):
        if each.name:
            yield f"{layout.CONFIG}/{user_entity(each.name)}"


def _tokens(request: Any) -> Iterator[str]:
    yield layout.DELEGATION_TOKENS


def _new_topics(request: Any) -> Iterator[str]:
    """For CreateTopics: brokers and their configs for the placement, and entries left of a topic of that name."""
    yield layout.BROKER_IDS
    yield f"{layout.CONFIG}/brokers"
    for topic in request.topics:
        if not reject_topic_name(topic.name):
            yield f"{layout.CONFIG}/topics/{topic.name}"


DIRECT_CHANGES: dict[ApiKey, DirectChange] = {
    ApiKey.ALTER_CONFIGS: DirectChange(_resources),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: DirectChange(_resources),
    ApiKey.CREATE_ACLS: DirectChange(_new_acls),
    ApiKey.DELETE_ACLS: DirectChange(_acls),
    ApiKey.ALTER_CLIENT_QUOTAS: DirectChange(_quotas),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: DirectChange(_users),
    ApiKey.CREATE_DELEGATION_TOKEN: DirectChange(_tokens),
    ApiKey.RENEW_DELEGATION_TOKEN: DirectChange(_tokens),
    ApiKey.EXPIRE_DELEGATION_TOKEN: DirectChange(_tokens),
    ApiKey.CREATE_TOPICS: DirectChange(_new_topics, for_clients=False),
}
