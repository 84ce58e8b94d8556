"""Which topics a request is about, and its entries of one topic.

Newer versions name topics by id. `TopicNames` has the names of the ids that Metadata responses have shown.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, MutableMapping
from typing import Any

from signalbox.common.ids import ZERO_UUID
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.message import Struct

TopicNames = MutableMapping[bytes, str]

_NAMES = ("topic", "topic_name", "name")
_OTHERS = (
    "forgotten_topics_data",
    "cursor",
    "configs",
)  # what a request no longer wants, where it goes on, its configs


def has_topics(api: ApiKey) -> bool:
    """Whether requests of the API name topics."""
    spec = API_TABLE[api].request.schema
    return any(_is_entry(struct.name, struct.fields) for struct in spec.structs.values())


def _is_entry(name: str, fields: Any) -> bool:
    attributes = {field.attribute for field in fields}
    return bool(attributes & {"topic", "topic_name", "topic_id"}) or ("name" in attributes and "Topic" in name)


def topics_of(body: Struct, names: TopicNames) -> frozenset[str]:
    """The names of the topics in a request."""
    return frozenset(filter(None, _topics(body, names)))


def _topics(struct: Struct, names: TopicNames) -> Iterator[str | None]:
    if _is_entry(type(struct).__qualname__, struct._spec.fields):
        yield topic_of(struct, names)
    for field in struct._spec.fields:
        value = getattr(struct, field.attribute)
        if field.attribute == "topic_names":  # of DeleteTopics
            yield from value
        if not field.is_struct or field.attribute in _OTHERS:
            continue
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, Struct):
                yield from _topics(inner, names)


def topic_of(entry: Any, names: TopicNames) -> str | None:
    """The topic of one entry of a request or response, None if it has an id that is not known."""
    name = next((getattr(entry, each) for each in _NAMES if getattr(entry, each, None)), None)
    return name or names.get(getattr(entry, "topic_id", ZERO_UUID))


def split(body: Any, topic: str, names: TopicNames) -> tuple[Any, Any] | None:
    """The request with the entries of other topics, and the one with those of this topic. None if it has no others, or
    if its entries are not in one list."""
    for field in body._spec.fields:
        entries = getattr(body, field.attribute)
        if not (field.is_struct and field.is_array and entries and _is_entry(field.type_name, entries[0]._spec.fields)):
            continue
        others = [entry for entry in entries if topic_of(entry, names) != topic]
        if not others:
            return None
        own = [entry for entry in entries if topic_of(entry, names) == topic]
        return _with(body, field.attribute, others), _with(body, field.attribute, own)
    return None


def _with(body: Any, attribute: str, entries: list[Any]) -> Any:
    changed = copy.copy(body)
    setattr(changed, attribute, entries)
    return changed


def join(response: Any, part: Any) -> None:
    """Adds the entries of `part`, a response to another part of the request, to `response`."""
    for field in response._spec.fields:
        if field.is_struct and field.is_array:
            added = getattr(part, field.attribute) or []
            setattr(response, field.attribute, [*(getattr(response, field.attribute) or []), *added])


def note_ids(response: Any, names: TopicNames) -> None:
    """Notes the ids that a Metadata response has."""
    for row in response.topics:
        if row.name and row.topic_id != ZERO_UUID:
            names[row.topic_id] = row.name
