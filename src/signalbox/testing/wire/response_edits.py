"""Changes of a response that the broker has given: an error for one topic, a throttle time, versions of ApiVersions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import decode_response_header, encode_response_header
from signalbox.protocol.messages.fetch import FetchResponse
from signalbox.protocol.messages.metadata import MetadataResponse
from signalbox.testing.wire.topic_entries import TopicNames, topic_of

Edit = Callable[[Any], None]
Versions = tuple[int, int]


def edited(frame: bytes, api: ApiKey, version: int, edit: Edit) -> bytes:
    """The response, without its size, after the change. One that cannot be decoded stays as it is."""
    row = API_TABLE[api]
    try:
        correlation_id, offset = decode_response_header(frame, api, version)
        response = row.response.decode(frame, version, offset)
    except ValueError:
        return frame
    edit(response)
    return encode_response_header(api, version, correlation_id) + bytes(response.encode(version))


def has_throttle_time(api: ApiKey) -> bool:
    """Whether responses of the API have a throttle time."""
    return any(field.attribute == "throttle_time_ms" for field in API_TABLE[api].response.schema.root.fields)


def throttled(throttle_ms: int) -> Edit:
    """A throttle time of at least `throttle_ms`."""

    def edit(response: Any) -> None:
        response.throttle_time_ms = max(response.throttle_time_ms, throttle_ms)

    return edit


def capped(versions: Mapping[ApiKey, Versions]) -> Edit:
    """ApiVersions with these versions at most; an API of which no version is left is not there."""

    def edit(response: Any) -> None:
        for row in response.api_keys:
            if row.api_key in versions:
                lowest, highest = versions[ApiKey(row.api_key)]
                row.min_version, row.max_version = max(row.min_version, lowest), min(row.max_version, highest)
        response.api_keys = [row for row in response.api_keys if row.min_version <= row.max_version]

    return edit


def topic_in_metadata(topic: str, error: Error, names: TopicNames) -> Edit:
    """Metadata in which the topic has an error and no partitions."""

    def edit(response: MetadataResponse) -> None:
        for row in response.topics:
            if topic_of(row, names) == topic:
                row.error_code, row.partitions = int(error), []

    return edit


def topic_in_fetch(topic: str, error: Error, names: TopicNames, partitions: Mapping[Any, set[int]]) -> Edit:
    """Fetch in which the partitions of the topic have an error and no records. `partitions` has those of the client's
    fetch session: the response names those that have changed only."""
    row_type, partition_type = FetchResponse.FetchableTopicResponse, FetchResponse.PartitionData

    def edit(response: FetchResponse) -> None:
        response.responses = [row for row in response.responses if topic_of(row, names) != topic]
        for (name, topic_id), numbers in partitions.items():
            row = row_type(topic=name, topic_id=topic_id)
            if topic_of(row, names) == topic:
                row.partitions = [
                    partition_type(partition_index=number, error_code=int(error), high_watermark=-1, records=b"")
                    for number in sorted(numbers)
                ]
                response.responses.append(row)

    return edit


class FetchedPartitions:
    """The partitions of the fetch session of one connection, by name and id of their topic (KIP-227)."""

    def __init__(self) -> None:
        self._by_topic: dict[tuple[str, bytes], set[int]] = {}

    def after(self, request: Any) -> dict[tuple[str, bytes], set[int]]:
        """The partitions that a request asks for."""
        if request.session_epoch <= 0:  # a new session, or none
            self._by_topic = {}
        for row in request.topics:
            numbers = {partition.partition for partition in row.partitions}
            self._by_topic.setdefault((row.topic, row.topic_id), set()).update(numbers)
        for row in request.forgotten_topics_data:
            self._by_topic.get((row.topic, row.topic_id), set()).difference_update(row.partitions)
        return {topic: set(numbers) for topic, numbers in self._by_topic.items() if numbers}
