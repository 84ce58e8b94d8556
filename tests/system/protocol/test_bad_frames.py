"""Frames that are not valid requests: only that connection is closed, or gets the response that Kafka gives; other
connections are not affected."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import encode_request_header
from signalbox.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from signalbox.protocol.messages.metadata import MetadataRequest
from tests.system.clusters import RoutedCluster, metric
from tests.system.wire import Closed, Wire, dial, framed

_REJECTED = "signalbox_network_socketserver_rejections_total"


def request(api_key: int, version: int, body: bytes) -> bytes:
    return framed(encode_request_header(api_key, version, 1, "bad-frames") + body)


def raw(api_key: int, version: int, rest: bytes) -> bytes:
    """A request with a header written by hand."""
    return framed(api_key.to_bytes(2, signed=True) + version.to_bytes(2, signed=True) + b"\0\0\0\1" + rest)


_METADATA = MetadataRequest(topics=None).encode(12)
_CLOSING = {
    "a negative size": (-5).to_bytes(4, signed=True),
    "the smallest size": b"\x80\0\0\0",
    "a huge size": b"\x7f\xff\xff\xff",
    "no bytes at all": framed(b""),
    "half a header": framed(b"\0\3\0"),
    "an API that does not exist": request(9_999, 0, b""),
    "a negative API": raw(-1, 0, b"\xff\xff"),
    "an API not served": request(ApiKey.END_TXN, 4, b""),
    "a version too new": request(ApiKey.METADATA, 99, _METADATA),
    "a version too old": request(ApiKey.FETCH, 3, b""),
    "produce of the old message formats": request(ApiKey.PRODUCE, 2, b""),
    "a negative version": raw(3, -1, b"\xff\xff"),
    "no body": request(ApiKey.METADATA, 12, b""),
    "half a body": request(ApiKey.METADATA, 12, _METADATA[:-2]),
    "a body of ones": request(ApiKey.CREATE_TOPICS, 7, b"\xff" * 40),
    "an array of two milliards": request(ApiKey.METADATA, 1, b"\x7f\xff\xff\xff"),
    "a compact array of two milliards": request(ApiKey.METADATA, 12, b"\xff\xff\xff\xff\x07"),
    "an array of minus seven": request(ApiKey.CREATE_TOPICS, 4, b"\xff\xff\xff\xf9"),
    "a varint without an end": request(ApiKey.METADATA, 12, b"\xff" * 12),
    "a string longer than the frame": request(ApiKey.METADATA, 1, b"\0\0\0\1\x7f\xff"),
    "a client id longer than the frame": raw(3, 1, b"\x7f\xff" + b"x" * 20),
    "tagged fields without an end": raw(3, 12, b"\xff\xff" + b"\xff\xff\xff\xff\x07"),
    "the beginning of TLS": bytes.fromhex("16030100f8010000f40303") + bytes(240),
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


@pytest.fixture
def bystander(cluster: RoutedCluster) -> Iterator[Wire]:
    """A connection that is open before the test and must still work after it."""
    with dial(cluster) as wire:
        assert works(wire)
        yield wire
        assert works(wire), "another connection was harmed"


def works(wire: Wire) -> bool:
    return len(wire.ask(ApiKey.METADATA, 12, MetadataRequest(topics=[])).brokers) == 3


@pytest.mark.parametrize("listener", ["CLIENT", "CONTROL"])
@pytest.mark.parametrize("what", list(_CLOSING))
def test_this_connection_alone_is_closed_and_counted(
    cluster: RoutedCluster, bystander: Wire, what: str, listener: str
) -> None:
    before = rejections(cluster)
    with dial(cluster, 1, listener) as wire:
        wire.send(_CLOSING[what])
        assert wire.closed(), what
    assert rejections(cluster) == before + 1


@pytest.mark.parametrize(
    "frame",
    [
        request(ApiKey.METADATA, 1, b"\0\0\0\1\0\2\xff\xfe"),
        raw(3, 1, b"\0\2\xff\xfe" + b"\xff\xff\xff\xff"),
    ],
    ids=["topic", "client id"],
)
def test_a_string_that_is_not_utf_8_is_answered(cluster: RoutedCluster, bystander: Wire, frame: bytes) -> None:
    before = rejections(cluster)
    with dial(cluster, 1) as wire:
        wire.send(frame)
        assert len(wire.frame()) > 4
        assert works(wire)
    assert rejections(cluster) == before


def rejections(cluster: RoutedCluster) -> float:
    return metric(cluster, 1, _REJECTED)


def test_a_connection_with_an_unfinished_frame_is_closed(cluster: RoutedCluster, bystander: Wire) -> None:
    with dial(cluster) as wire:
        wire.send((1_000).to_bytes(4) + b"\0\3")
        wire.end_sending()
        assert wire.closed()


def test_what_came_before_is_answered(cluster: RoutedCluster, bystander: Wire) -> None:
    with dial(cluster) as wire:
        wire.send(wire.request(ApiKey.METADATA, 12, _METADATA) + _CLOSING["a negative size"])
        assert len(wire.frame()) > 50
        assert wire.closed()


def test_trailing_bytes_are_ignored_as_kafka_does(cluster: RoutedCluster) -> None:
    with dial(cluster) as wire:
        for version in range(14):
            body = MetadataRequest(topics=None if version else []).encode(version)
            plain = wire.ask_raw(ApiKey.METADATA, version, body)
            assert abs(len(wire.ask_raw(ApiKey.METADATA, version, body + b"\0\0\0junk")) - len(plain)) < 10


def test_an_unknown_version_of_api_versions_is_answered(cluster: RoutedCluster) -> None:
    with dial(cluster) as wire:
        answer = wire.ask_raw(ApiKey.API_VERSIONS, 77, b"whatever comes")
        found = ApiVersionsResponse.decode(answer, 0, 4)
        assert found.error_code == Error.UNSUPPORTED_VERSION
        assert [(row.api_key, row.min_version, row.max_version) for row in found.api_keys] == [(18, 0, 5)]
        assert works(wire)


def test_a_name_of_software_that_is_none_is_rejected_politely(cluster: RoutedCluster) -> None:
    with dial(cluster) as wire:
        named = ApiVersionsRequest(client_software_name="-bad name!", client_software_version="1")
        assert wire.ask(ApiKey.API_VERSIONS, 3, named).error_code == Error.INVALID_REQUEST
        assert works(wire)


def test_every_api_stands_garbage_at_every_version(cluster: RoutedCluster, bystander: Wire) -> None:
    """Each connection is closed or gets a response, within the deadline of a read; the broker keeps running."""
    chance = random.Random("every API")
    answered = closed = 0
    for row in API_TABLE.values():
        for version in range(row.min_version, row.max_version + 1):
            with dial(cluster) as wire:
                wire.send(wire.request(row.key, version, chance.randbytes(chance.randrange(80))))
                try:
                    wire.frame()
                    answered += 1
                except Closed:
                    closed += 1
    assert answered + closed > 250
    assert closed > answered


def test_many_that_never_finish_do_not_hold_up_the_others(cluster: RoutedCluster, bystander: Wire) -> None:
    with ExitStack() as stack:
        for _ in range(150):
            slow = stack.enter_context(dial(cluster))
            slow.send((90_000_000).to_bytes(4) + b"\0\3")
        for _ in range(50):
            assert works(bystander)
