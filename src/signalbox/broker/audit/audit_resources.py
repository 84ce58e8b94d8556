"""Text for the audit event of an admin request: the resources that it names, and its first error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.security.acl import ResourceType
from signalbox.security.acl_filter import known_code

_MAX_NAMED_RESOURCES = 20


def _topic_names(body: Any) -> Iterable[str]:
    return (topic.name for topic in body.topics)


def _deleted_topics(body: Any) -> Iterable[str]:
    return [*body.topic_names, *(topic.name or topic.topic_id.hex() for topic in body.topics)]


def _config_resources(body: Any) -> Iterable[str]:
    return (f"{resource.resource_type}:{resource.resource_name}" for resource in body.resources)


def _created_acls(body: Any) -> Iterable[str]:
    return (_acl(creation.resource_type, creation.resource_name, creation.principal) for creation in body.creations)


def _acl_filters(body: Any) -> Iterable[str]:
    return (
        _acl(acl_filter.resource_type_filter, acl_filter.resource_name_filter, acl_filter.principal_filter)
        for acl_filter in body.filters
    )


def _acl(resource_type: int, name: str | None, principal: str | None) -> str:
    """Resource type, resource name and principal; a null field of a filter is a question mark."""
    kind = known_code(ResourceType, resource_type).name
    return f"{kind}:{'?' if name is None else name} {'?' if principal is None else principal}"


def _elected_partitions(body: Any) -> Iterable[str]:
    if body.topic_partitions is None:
        return ["*"]
    return (f"{topic.topic}-{partition}" for topic in body.topic_partitions for partition in topic.partitions)


def _reassigned_partitions(body: Any) -> Iterable[str]:
    return (f"{topic.name}-{partition.partition_index}" for topic in body.topics for partition in topic.partitions)


def _scram_users(body: Any) -> Iterable[str]:
    """The user names; never the credentials."""
    return dict.fromkeys(change.name for change in (*body.deletions, *body.upsertions))


def _new_token(body: Any) -> Iterable[str]:
    """The owner of the token, if the request names one, and the renewers. Requests that renew or expire a token name it
    by its HMAC, which must not be in the audit trail."""
    if body.owner_principal_name:
        yield f"owner {body.owner_principal_type}:{body.owner_principal_name}"
    yield from (f"renewer {renewer.principal_type}:{renewer.principal_name}" for renewer in body.renewers)


def _quota_entities(body: Any) -> Iterable[str]:
    for entry in body.entries:
        named = ((part.entity_type, part.entity_name) for part in entry.entity)
        yield ",".join(f"{kind}:{'<default>' if name is None else name}" for kind, name in named)


def _features(body: Any) -> Iterable[str]:
    return (f"{update.feature}={update.max_version_level}" for update in body.feature_updates)


_NAMES: dict[int, Callable[[Any], Iterable[str]]] = {
    ApiKey.CREATE_TOPICS: _topic_names,
    ApiKey.CREATE_PARTITIONS: _topic_names,
    ApiKey.DELETE_TOPICS: _deleted_topics,
    ApiKey.ALTER_CONFIGS: _config_resources,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _config_resources,
    ApiKey.CREATE_ACLS: _created_acls,
    ApiKey.DELETE_ACLS: _acl_filters,
    ApiKey.ELECT_LEADERS: _elected_partitions,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _reassigned_partitions,
    ApiKey.ALTER_CLIENT_QUOTAS: _quota_entities,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _scram_users,
    ApiKey.UPDATE_FEATURES: _features,
    ApiKey.CREATE_DELEGATION_TOKEN: _new_token,
    ApiKey.CONTROLLED_SHUTDOWN: lambda body: [f"broker {body.broker_id}"],
}


def named_resources(api_key: int, body: Any) -> str:
    """Comma-separated names, at most the first twenty; "" for APIs without names."""
    names = _NAMES.get(api_key)
    if names is None:
        return ""
    resources = list(names(body))
    more = len(resources) - _MAX_NAMED_RESOURCES
    return ",".join(resources[:_MAX_NAMED_RESOURCES]) + (f",+{more}" if more > 0 else "")


def first_error(response: Any) -> str:
    """The name of the first error code in a response of this node; "" when there is none."""
    parts = [response]
    for name in ("topics", "responses", "results", "filter_results", "replica_election_results"):
        for entry in getattr(response, name, None) or ():
            parts += (entry, *(getattr(entry, "partitions", None) or getattr(entry, "partition_result", None) or ()))
    for part in parts:
        code = getattr(part, "error_code", 0)
        if code:
            return Error.of(code).name
    return ""
