"""Requests about many resources, each judged for itself: where an API keeps what it is asked, and what it answers.

Two readers: the broker that is asked, which answers for the resources that its client may not touch and forwards the
rest (F6), and the handler on the active controller, which puts its own refusals and the controller's results together.
Either way the results stand in the order of the request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

from signalbox.common.limits import MAX_RESOURCES_PER_CHANGE
from signalbox.common.long_work import unhurried
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error, KafkaError

Refused = dict[Hashable, Any]
"""Results of the resources that are not asked for any further, by the key of their entry."""


@dataclass(frozen=True, slots=True)
class ResourceRequests:
    """The shape of one API. `asked`: its request's lists of entries; `answered`: its response's list of results; what
    an entry is about, and which entries a result may be about; whether what is named twice is answered twice."""

    api_key: ApiKey
    asked: tuple[str, ...]
    answered: str
    entry_key: Callable[[Any], Hashable]
    result_keys: Callable[[Any], Iterable[Hashable]]
    repeats: bool = False

    def entries(self, body: Any) -> Iterator[tuple[Hashable, Any]]:
        """Every entry with its key, in the order of the request; breathes."""
        for field in self.asked:
            for entry in unhurried(getattr(body, field)):
                yield self.entry_key(entry), entry

    def times(self, body: Any) -> Counter[Hashable]:
        """How often each resource is named. KafkaError(POLICY_VIOLATION): too many are, as Kafka's bound on the records
        of one request has it; each of them would be a step of one decision."""
        asked = sum(len(getattr(body, field)) for field in self.asked)
        if asked > MAX_RESOURCES_PER_CHANGE:
            raise KafkaError(
                Error.POLICY_VIOLATION,
                f"{asked} resources in one request: at most {MAX_RESOURCES_PER_CHANGE} (MAX_RESOURCES_PER_CHANGE) are"
                " taken. Send several requests",
            )
        return Counter(key for key, _ in self.entries(body))

    def rest(self, body: Any, refused: Refused) -> Any | None:
        """The request without what is refused: itself when that is nothing, None when nothing is left of it.
        Breathes."""
        if not refused:
            return body
        rest = copy(body)
        for field in self.asked:
            setattr(
                rest, field, [each for each in unhurried(getattr(body, field)) if self.entry_key(each) not in refused]
            )
        return rest if any(getattr(rest, field) for field in self.asked) else None

    def merged(self, body: Any, refused: Refused, answer: Any | None) -> Any:
        """The whole answer; the controller's own is None when it was not asked. Breathes."""
        whole = API_TABLE[self.api_key].response() if answer is None else copy(answer)
        found: Refused = {
            key: result for result in unhurried(getattr(whole, self.answered)) for key in self.result_keys(result)
        } | refused
        results = [found[key] for key, _ in self.entries(body) if key in found]
        if not self.repeats:  # by identity: a topic that was asked for by its name and by its id has one result
            results = list({id(result): result for result in unhurried(results)}.values())
        setattr(whole, self.answered, results)
        return whole


def _name(entry: Any) -> Hashable:
    return entry.name  # type: ignore[no-any-return]


def _names(result: Any) -> Iterable[Hashable]:
    return (result.name,)


def _topic_or_id(entry: Any) -> Hashable:
    """DeleteTopics before version 6 has names, from then on names or ids."""
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
