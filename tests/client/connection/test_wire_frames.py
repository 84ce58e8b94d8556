from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from signalbox.client.connection.wire_frames import (
    ApiRanges,
    api_key_of,
    decode_response,
    encode_request,
    peek_error_code,
)
from signalbox.client.failures import VersionUnsupported
from signalbox.common.file_slice import FileSlice
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.headers import RequestHeader, decode_request_header, encode_response_header
from signalbox.protocol.messages.api_versions import ApiVersionsResponse
from signalbox.protocol.messages.metadata import MetadataRequest, MetadataResponse
from signalbox.protocol.messages.produce import ProduceRequest


def test_a_request_is_header_and_body() -> None:
    message = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="t")])
    payload = b"".join(encode_request(message, 12, 7, "me"))
    header, offset = decode_request_header(payload)
    assert header == RequestHeader(3, 12, 7, "me")
    assert MetadataRequest.decode(payload, 12, offset) == message
    assert api_key_of(message) is ApiKey.METADATA


def test_records_are_passed_through_and_files_read(tmp_path: Path) -> None:
    records = memoryview(b"not looked at")
    made = ProduceRequest
    data: list[Any] = [made.PartitionProduceData(index=0, records=records)]
    chunks = encode_request(made(topic_data=[made.TopicProduceData(name="t", partition_data=data)]), 9, 1, "me")
    assert any(chunk is records for chunk in chunks)
    file = tmp_path / "log"
    file.write_bytes(b"0123456789")
    fd = os.open(file, os.O_RDONLY)
    data[0].records = FileSlice(fd, 2, 5)
    chunks = encode_request(made(topic_data=[made.TopicProduceData(name="t", partition_data=data)]), 9, 1, "me")
    os.close(fd)
    assert b"23456" in b"".join(chunks)


def test_a_response_is_read_behind_its_header() -> None:
    response = MetadataResponse(cluster_id="c")
    payload = encode_response_header(3, 12, 7) + response.encode(12)
    assert decode_response(MetadataResponse, payload, 12).cluster_id == "c"


def test_the_error_code_of_api_versions_is_where_it_always_is() -> None:
    for version in range(6):
        body = ApiVersionsResponse(error_code=129).encode(version)
        assert peek_error_code(encode_response_header(18, version, 1) + body) == 129


def listed(*rows: tuple[int, int, int]) -> ApiRanges:
    made = ApiVersionsResponse.ApiVersion
    return ApiRanges.of_answer([made(api_key=k, min_version=low, max_version=high) for k, low, high in rows])


def test_the_highest_common_version_is_chosen() -> None:
    ranges = listed((3, 0, 9), (0, 0, 99), (19, 2, 4))
    assert ranges.version_for(ApiKey.METADATA) == 9
    assert ranges.version_for(ApiKey.METADATA, 4) == 4
    assert ranges.version_for(ApiKey.PRODUCE) == 13
    assert ranges.version_for(ApiKey.CREATE_TOPICS, 7) == 4
    assert ranges.range_of(3) == (0, 9)
    assert (3 in ranges, 58 in ranges, sorted(ranges)) == (True, False, [0, 3, 19])


@pytest.mark.parametrize(("api", "limit"), [(ApiKey.ENVELOPE, None), (ApiKey.PRODUCE, 2), (ApiKey.FETCH, None)])
def test_nothing_in_common_is_an_error(api: ApiKey, limit: int | None) -> None:
    with pytest.raises(VersionUnsupported):
        listed((0, 0, 13), (1, 0, 3)).version_for(api, limit)


def test_a_table_that_contradicts_itself_is_rejected() -> None:
    with pytest.raises(ValueError, match="twice"):
        listed((3, 0, 9), (3, 0, 9))
    with pytest.raises(ValueError, match="from 5 to 4"):
        listed((3, 5, 4))
