"""Reading and writing in slices has the same result as in one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from signalbox.common.cooperative_task import CooperativeTask
from signalbox.protocol.api_table import API_TABLE
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.protocol.messages.list_offsets import ListOffsetsRequest
from signalbox.protocol.messages.metadata import MetadataResponse

Result = TypeVar("Result")


def in_slices(work: Callable[[], Result]) -> tuple[Result, int]:
    """(result of `work`, number of slices). The deadline has always passed, so every yield ends a slice."""
    results: list[Result] = []
    task = CooperativeTask(lambda: results.append(work()))
    slices = 0
    while not task.dead:
        task.switch()
        slices += 1
    return results[0], slices


def wide_request(partitions: int) -> ListOffsetsRequest:
    messages = [
        ListOffsetsRequest.ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(partitions)
    ]
    return ListOffsetsRequest(topics=[ListOffsetsRequest.ListOffsetsTopic(name="t", partitions=messages)])


@pytest.mark.parametrize("version", [1, 5, 7, 11])
def test_a_wide_request_is_read_alike(version: int) -> None:
    data = wide_request(1_000).encode(version)
    (message, end), slices = in_slices(lambda: ListOffsetsRequest.decode_long(memoryview(data), version))
    assert message == ListOffsetsRequest.decode(data, version)
    assert end == len(data)
    assert slices > 10


@pytest.mark.parametrize("version", [4, 12, 16])
def test_a_wide_answer_with_records_is_written_alike(version: int) -> None:
    partitions = [
        FetchResponse.PartitionData(
            partition_index=index, high_watermark=1, aborted_transactions=[], records=b"r" * (index % 3)
        )
        for index in range(2_000)
    ]
    answer = FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="t", partitions=partitions)])
    chunks, slices = in_slices(lambda: answer.encode_long(version))
    assert b"".join(chunks) == b"".join(answer.encode_chunks(version))
    assert slices > 10


def test_strings_and_nested_lists() -> None:
    topics = [
        MetadataResponse.MetadataResponseTopic(
            name=f"topic-{number}",
            partitions=[
                MetadataResponse.MetadataResponsePartition(partition_index=index, replica_nodes=[1, 2], isr_nodes=[1])
                for index in range(70)
            ],
        )
        for number in range(70)
    ]
    answer = MetadataResponse(topics=topics)
    chunks, _ = in_slices(lambda: answer.encode_long(12))
    data = b"".join(chunks)
    assert data == answer.encode(12)
    (message, _), _ = in_slices(lambda: MetadataResponse.decode_long(data, 12))
    assert message == answer


def test_every_request_has_a_long_reader() -> None:
    for row in API_TABLE.values():
        for version in range(row.min_version, row.max_version + 1):
            data = row.request().encode(version)
            assert row.request.decode_long(data, version)[0] == row.request.decode(data, version), row.name


def test_a_truncated_frame_is_rejected() -> None:
    data = wide_request(500).encode(7)
    with pytest.raises(DecodeError):
        ListOffsetsRequest.decode_long(data[:-3], 7)


def test_a_released_message_is_empty() -> None:
    request = wide_request(500)
    request.release_incrementally()
    assert request.topics == []
    fetch = FetchRequest(topics=[FetchRequest.FetchTopic(topic="t", partitions=[])])
    fetch.release_incrementally()
    assert fetch.topics == []
