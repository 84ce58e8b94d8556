"""Requests with many resources, which are authorized one by one: the fields of requests and responses per API.

The table is read twice: by the broker that receives the request, which returns errors for unauthorized resources and
forwards the remaining request (F6), and by the handler on the active controller, which combines its own rejections with
the controller's results. In both cases the results are in the order of the request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

from signalbox.common.cooperative_task import yielding
from signalbox.common.limits import MAX_RESOURCES_PER_CHANGE
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error, KafkaError

Rejected = dict[Hashable, Any]
"""Results of the rejected resources, which are not forwarded or executed, by the key of their entry."""


@dataclass(frozen=True, slots=True)
class ResourceRequests:
    """Description of one API. `request_fields`: the request's lists of entries. `response_field`: the response's list
    of results. `entry_key`: the key of an entry. `result_keys`: the keys of the entries that a result may belong to.
    `repeats`: whether a resource that is named twice has two results."""

    api_key: ApiKey
    request_fields: tuple[str, ...]
    response_field: str
    entry_key: Callable[[Any], Hashable]
    result_keys: Callable[[Any], Iterable[Hashable]]
    repeats: bool = False

    def entries(self, body: Any) -> Iterator[tuple[Hashable, Any]]:
        """Every entry with its key, in the order of the request. Yields."""
        for field in self.request_fields:
            for entry in yielding(getattr(body, field)):
                yield self.entry_key(entry), entry

    def times(self, body: Any) -> Counter[Hashable]:
        """How often each resource is named. Yields. KafkaError(POLICY_VIOLATION) for too many resources, like Kafka's
        limit on the records of one request: each resource would be a step of one decision."""
        reject_too_many(sum(len(getattr(body, field)) for field in self.request_fields))
        return Counter(key for key, _ in self.entries(body))

    def remaining_request(self, body: Any, rejected: Rejected) -> Any | None:
        """The request without rejected resources: the same object when none is rejected, None when no resource remains.
        Yields."""
        if not rejected:
            return body
        remaining = copy(body)
        for field in self.request_fields:
            setattr(
                remaining,
                field,
                [entry for entry in yielding(getattr(body, field)) if self.entry_key(entry) not in rejected],
            )
        return remaining if any(getattr(remaining, field) for field in self.request_fields) else None

    def combined_response(self, body: Any, rejected: Rejected, response: Any | None) -> Any:
        """The combined response. `response`: the controller's response, None if it received no request. Yields."""
        combined = API_TABLE[self.api_key].response() if response is None else copy(response)
        result_by_key: Rejected = {
            key: result
            for result in yielding(getattr(combined, self.response_field))
            for key in self.result_keys(result)
        } | rejected
        results = [result_by_key[key] for key, _ in self.entries(body) if key in result_by_key]
        if not self.repeats:  # by identity: a topic that is named by name and by id has one result
            results = list({id(result): result for result in yielding(results)}.values())
        setattr(combined, self.response_field, results)
        return combined


def reject_too_many(count: int) -> None:
    """KafkaError(POLICY_VIOLATION) if a request may not have this many resources."""
    if count > MAX_RESOURCES_PER_CHANGE:
        raise KafkaError(
            Error.POLICY_VIOLATION,
            f"{count} resources in one request: at most {MAX_RESOURCES_PER_CHANGE} (MAX_RESOURCES_PER_CHANGE) are"
            " allowed. Send several requests",
        )


def _name(entry: Any) -> Hashable:
    return entry.name  # type: ignore[no-any-return]


def _names(result: Any) -> Iterable[Hashable]:
    return (result.name,)


def _topic_or_id(entry: Any) -> Hashable:
    """DeleteTopics has names before version 6, names or ids from version 6 on."""
    if isinstance(entry, str):
        return entry
    return entry.topic_id if entry.name is None else entry.name  # type: ignore[no-any-return]


def _topic_and_id(result: Any) -> Iterable[Hashable]:
    return (result.topic_id,) if result.name is None else (result.name, result.topic_id)


def _config_resource(either: Any) -> Hashable:
    return either.resource_type, either.resource_name


def _config_resources(result: Any) -> Iterable[Hashable]:
    return (_config_resource(result),)


_CONFIGS = ("resources",), "responses", _config_resource, _config_resources
_ROWS = (
    ResourceRequests(ApiKey.CREATE_TOPICS, ("topics",), "topics", _name, _names),
    ResourceRequests(ApiKey.DELETE_TOPICS, ("topic_names", "topics"), "responses", _topic_or_id, _topic_and_id),
    ResourceRequests(ApiKey.CREATE_PARTITIONS, ("topics",), "results", _name, _names),
    ResourceRequests(ApiKey.ALTER_CONFIGS, *_CONFIGS, repeats=True),
    ResourceRequests(ApiKey.INCREMENTAL_ALTER_CONFIGS, *_CONFIGS, repeats=True),
)

RESOURCE_REQUESTS: Mapping[int, ResourceRequests] = {row.api_key: row for row in _ROWS}
