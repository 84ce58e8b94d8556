from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.protocol.api_table import API_TABLE, ApiKey, ApiRow, request_header_version
from signalbox.protocol.codec_errors import DecodeError, EncodeError
from signalbox.protocol.headers import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
    skip_tagged_fields,
)


@pytest.mark.parametrize(
    ("header", "written"),
    [
        (RequestHeader(ApiKey.METADATA, 8, 7, "me"), "0003 0008 00000007 0002 6d65"),
        (RequestHeader(ApiKey.METADATA, 9, 7, "me"), "0003 0009 00000007 0002 6d65 00"),
        (RequestHeader(ApiKey.METADATA, 9, 7, None), "0003 0009 00000007 ffff 00"),
        (RequestHeader(ApiKey.CONTROLLED_SHUTDOWN, 0, 7, None), "0007 0000 00000007"),
    ],
)
def test_request_headers_by_hand(header: RequestHeader, written: str) -> None:
    frame = bytes.fromhex(written)
    assert encode_request_header(*header) == frame
    assert decode_request_header(frame + b"body") == (header, len(frame))
    assert decode_request_header(memoryview(frame + b"body")) == (header, len(frame))


def test_tagged_fields_of_a_header_are_skipped() -> None:
    frame = bytes.fromhex("0003 0009 00000007 0002 6d65 02 01 02 aabb 8101 00") + b"body"
    header, offset = decode_request_header(frame)
    assert (header.client_id, frame[offset:]) == ("me", b"body")


def test_the_client_id_of_an_unknown_api_is_read() -> None:
    header, _ = decode_request_header(bytes.fromhex("1267 0063 00000001 0002 6d65"))
    assert header == RequestHeader(0x1267, 0x63, 1, "me")


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "0003 0009 0000",
        "0003 0009 00000007",
        "0003 0009 00000007 00ff 6d65 00",
        "0003 0009 00000007 0002 6d65",
        "0003 0009 00000007 0002 6d65 ffffffff0f",
        "0003 0009 00000007 0002 6d65 01 00 7f aa",
    ],
)
def test_invalid_headers_are_rejected(broken: str) -> None:
    with pytest.raises(DecodeError):
        decode_request_header(bytes.fromhex(broken))


@given(st.binary(max_size=40))
def test_garbage_is_a_header_or_a_decode_error(garbage: bytes) -> None:
    try:
        header, offset = decode_request_header(garbage)
    except DecodeError:
        return
    assert offset <= len(garbage)
    assert request_header_version(header.api_key, header.api_version) in (0, 1, 2)


def test_a_client_id_that_is_too_long_cannot_be_sent() -> None:
    with pytest.raises(EncodeError):
        encode_request_header(3, 9, 1, "x" * 32768)


@pytest.mark.parametrize("row", API_TABLE.values(), ids=lambda row: row.name)
def test_response_headers_there_and_back(row: ApiRow) -> None:
    for version in range(row.min_version, row.max_version + 1):
        written = encode_response_header(row.key, version, -5)
        assert len(written) == (5 if row.is_flexible(version) and row.name != "ApiVersions" else 4)
        assert decode_response_header(written + b"body", row.key, version) == (-5, len(written))


def test_a_response_cut_short_is_rejected() -> None:
    for frame in (b"", b"\0\0\0", b"\0\0\0\1"):
        with pytest.raises(DecodeError):
            decode_response_header(frame, ApiKey.METADATA, 12)


def test_a_section_of_tagged_fields_without_any_is_one_byte() -> None:
    assert skip_tagged_fields(b"x\0y", 1) == 2


@pytest.mark.spec("D1")
def test_a_client_id_that_is_not_utf_8_is_read_with_replacement_characters() -> None:
    """As in Kafka: a client with a Latin-1 client id is served."""
    for kind in (bytes, bytearray, memoryview):
        frame = kind(bytes.fromhex("0003 0001 00000007 0007") + b"M\xfcller!" + b"\xff\xff\xff\xff")
        header, offset = decode_request_header(frame)
        assert header == RequestHeader(3, 1, 7, "M\ufffdller!")
        assert offset == 17
