"""The handshake without sockets: requests, responses and result."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.handshake import HandshakeResult, handshake
from signalbox.client.connection.node import Address, Identity
from signalbox.client.failures import Misrouted, PeerBroke
from signalbox.protocol.headers import decode_request_header, encode_response_header
from signalbox.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

ADDRESS, WHO = Address("h", 9092), Identity("c", 1)


class Talk:
    """One handshake; the test supplies the responses."""

    def __init__(self, identity: Identity | None = WHO, settings: ConnectionSettings | None = None) -> None:
        self._exchange = handshake(ADDRESS, settings or ConnectionSettings(), identity)
        self._payload = next(self._exchange)
        self.result: HandshakeResult | None = None

    def asked(self) -> tuple[int, str | None, int]:
        """(version, cluster id, node id) of the ApiVersions request in flight."""
        header, offset = decode_request_header(self._payload)
        request = ApiVersionsRequest.decode(self._payload, header.api_version, offset)
        return header.api_version, request.cluster_id, request.node_id

    def answer(self, version: int, *, correlation_id: int | None = None, **fields: Any) -> None:
        header, _ = decode_request_header(self._payload)
        given = header.correlation_id if correlation_id is None else correlation_id
        body = ApiVersionsResponse(**fields).encode(version)
        self.reply(encode_response_header(18, version, given) + body)

    def reply(self, payload: bytes) -> None:
        try:
            self._payload = self._exchange.send(payload)
        except StopIteration as stop:
            self.result = stop.value


def row(key: int, low: int, high: int) -> Any:
    return ApiVersionsResponse.ApiVersion(api_key=key, min_version=low, max_version=high)


@pytest.mark.spec("R4")
def test_version_5_with_both_halves_first() -> None:
    talk = Talk()
    assert talk.asked() == (5, "c", 1)
    talk.answer(5, api_keys=[row(3, 0, 13)])
    assert talk.result is not None
    assert (talk.result.verified, talk.result.correlation_id) == (True, 1)
    assert talk.result.api_ranges.range_of(3) == (0, 13)


@pytest.mark.spec("R4")
def test_without_an_identity_the_fields_are_defaults() -> None:
    talk = Talk(None)
    assert talk.asked() == (5, None, -1)
    talk.answer(5, api_keys=[row(3, 0, 13)])
    assert talk.result is not None
    assert not talk.result.verified


@pytest.mark.spec("R4")
@pytest.mark.parametrize(("offered", "then"), [(4, 4), (3, 3), (0, 0)])
def test_error_35_is_followed_by_the_brokers_own_version(offered: int, then: int) -> None:
    talk = Talk()
    talk.answer(0, error_code=35, api_keys=[row(18, 0, offered)])
    assert talk.asked()[0] == then
    talk.answer(then, api_keys=[row(3, 0, 9)])
    assert talk.result is not None
    assert not talk.result.verified


def test_a_broker_older_than_kip_511_names_no_version_and_is_asked_at_0() -> None:
    talk = Talk()
    talk.answer(0, error_code=35)
    assert talk.asked()[0] == 0


def test_a_broker_that_keeps_rejecting_lower_and_lower_ends() -> None:
    talk = Talk()
    talk.answer(0, error_code=35, api_keys=[row(18, 0, 3)])
    talk.answer(0, error_code=35, api_keys=[row(18, 0, 2)])
    assert talk.asked()[0] == 2
    with pytest.raises(PeerBroke, match="rejects version 2 and offers 2"):
        talk.answer(0, error_code=35, api_keys=[row(18, 0, 2)])


@pytest.mark.spec("R4")
def test_129_with_its_empty_table_is_a_misroute() -> None:
    talk = Talk()
    with pytest.raises(Misrouted) as rejection:
        talk.answer(5, error_code=129)
    assert (rejection.value.wanted, rejection.value.address) == (WHO, ADDRESS)


def test_129_without_an_identity_is_a_broken_peer() -> None:
    with pytest.raises(PeerBroke, match="rejected with error 129"):
        Talk(None).answer(5, error_code=129)


@pytest.mark.spec("R4")
def test_42_drops_the_identity_once() -> None:
    talk = Talk()
    talk.answer(5, error_code=42)
    assert talk.asked() == (4, None, -1)
    with pytest.raises(PeerBroke, match="rejected with error 42"):
        talk.answer(4, error_code=42)


@pytest.mark.parametrize("payload", [b"", b"\0\0", b"\0\0\0\0", b"\0\0\0\0\0\0\xff\xff\xff\xff\xff"])
def test_an_answer_that_is_cut_short_or_garbage(payload: bytes) -> None:
    with pytest.raises(PeerBroke):
        Talk().reply(payload)


def test_a_foreign_correlation_id() -> None:
    with pytest.raises(PeerBroke, match=r"response \(9\) does not match request \(0\)"):
        Talk().answer(5, correlation_id=9)


def test_a_table_that_contradicts_itself() -> None:
    with pytest.raises(PeerBroke, match="listed twice"):
        Talk().answer(5, api_keys=[row(3, 0, 1), row(3, 0, 2)])
