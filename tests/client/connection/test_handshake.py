"""The handshake without sockets: requests, responses and result. Then connections whose SASL session ends: a client
closes them before, without losing a request (KIP-368)."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from signalbox.client.cluster.connection_pool import ConnectionPool
from signalbox.client.connection.client_security import sasl_login
from signalbox.client.connection.connection import connect
from signalbox.client.connection.connection_settings import ConnectionSecurity, ConnectionSettings, SaslLogin
from signalbox.client.connection.handshake import (
    LEAVING,
    HandshakeResult,
    handshake,
    login_ready,
    seconds_until_session_end,
)
from signalbox.client.connection.node import Address, Identity, Node
from signalbox.client.failures import AuthenticationRejected, ClientFailure, ConnectFailed, Misrouted, PeerBroke
from signalbox.client.inter_broker.replica_channel import open_replica_channel
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.headers import decode_request_header, encode_response_header
from signalbox.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.protocol.messages.metadata import MetadataRequest, MetadataResponse
from signalbox.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from signalbox.protocol.messages.sasl_handshake import SaslHandshakeResponse
from signalbox.security.oauth.login_token import TokenUnavailable
from signalbox.security.sasl.oauthbearer import OAuthBearerClientExchange
from signalbox.transport.data_loop import DataLoop
from tests.client.loopback_cluster import LoopbackBroker, LoopbackCluster
from tests.waiting import settle, until_true

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
def test_no_identity_is_sent_when_the_check_is_disabled() -> None:
    assert Talk(settings=ConnectionSettings(identity_enabled=False)).asked() == (5, None, -1)


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


SECURED = ConnectionSettings(
    identity_enabled=False, security=ConnectionSecurity(sasl=sasl_login("PLAIN", "alice", "secret"))
)


def with_broker(lifetime_ms: int, test: Callable[[LoopbackBroker], Awaitable[None]]) -> None:
    """Run `test` with a broker that accepts every login, with a session lifetime of `lifetime_ms`."""

    async def run() -> None:
        async with LoopbackCluster() as cluster:
            broker = await cluster.add_broker(1)
            broker.scripts[ApiKey.SASL_HANDSHAKE] = lambda *_: SaslHandshakeResponse(
                mechanisms=["PLAIN", "OAUTHBEARER"]
            )
            broker.scripts[ApiKey.SASL_AUTHENTICATE] = lambda *_: SaslAuthenticateResponse(
                session_lifetime_ms=lifetime_ms
            )
            await test(broker)

    asyncio.run(run())


async def closed(on_closed: Callable[[Callable[[], None]], None]) -> None:
    gone = asyncio.Event()
    on_closed(gone.set)
    await asyncio.wait_for(gone.wait(), 60)


def test_a_server_that_returns_the_password_has_it_hidden() -> None:
    talk = Talk(None, SECURED)
    talk.answer(5, api_keys=[row(18, 0, 5), row(36, 0, 2)])
    talk.reply(encode_response_header(17, 1, 1) + SaslHandshakeResponse(mechanisms=["PLAIN"]).encode(1))
    failed = SaslAuthenticateResponse(error_code=58, error_message="alice has secret\nand c2VjcmV0\x1b[2J")
    with pytest.raises(AuthenticationRejected) as rejected:
        talk.reply(encode_response_header(36, 2, 2) + failed.encode(2))
    assert rejected.value.problem == "alice has [hidden]?and [hidden]?[2J"


@pytest.mark.spec("L7")
def test_kafkas_shares() -> None:
    stays = [seconds_until_session_end(10_000) for _ in range(200)]
    assert 8.5 <= min(stays) < max(stays) <= 9.5


@pytest.mark.spec("L7")
def test_an_idle_connection_is_left() -> None:
    async def test(broker: LoopbackBroker) -> None:
        connection = await connect(Address(*broker.address), SECURED)
        await connection.request(MetadataRequest(topics=[]))
        await closed(connection.on_closed)
        assert LEAVING in str(connection.failure)

    with_broker(300, test)


@pytest.mark.spec("L7")
@pytest.mark.parametrize("lifetime_ms", [0, -1])
def test_a_session_without_an_end_stays(lifetime_ms: int) -> None:
    async def test(broker: LoopbackBroker) -> None:
        connection = await connect(Address(*broker.address), SECURED)
        await connection.request(MetadataRequest(topics=[]))
        assert not connection.leaving
        connection.close()

    with_broker(lifetime_ms, test)


def test_a_closed_connection_is_not_kept_until_the_end_of_its_session() -> None:
    async def test(broker: LoopbackBroker) -> None:
        connection = await connect(Address(*broker.address), SECURED)
        kept = weakref.ref(connection)
        connection.close()
        del connection
        await settle()
        gc.collect()
        assert kept() is None

    with_broker(3_600_000, test)


@pytest.mark.spec("L7")
def test_a_busy_connection_is_left_when_its_answers_are_there_and_the_pool_makes_another() -> None:
    async def test(broker: LoopbackBroker) -> None:
        release = asyncio.Event()

        async def slow(*_: Any) -> Any:
            await release.wait()
            return MetadataResponse()

        broker.scripts[ApiKey.METADATA] = slow
        pool = ConnectionPool(SECURED, lambda _: None)
        node = Node(1, Address(*broker.address))
        first = await pool.get(node)
        response = asyncio.ensure_future(first.request(MetadataRequest(topics=[])))
        await until_true(lambda: first.leaving)
        second = await pool.get(node)
        assert second is not first
        assert first.is_open
        release.set()
        await response
        await closed(first.on_closed)
        pool.drop_all("over")

    with_broker(300, test)


@pytest.mark.spec("L7")
def test_a_replica_channel_is_left_between_two_fetches() -> None:
    async def test(broker: LoopbackBroker) -> None:
        data_loop = DataLoop(asyncio.get_running_loop())
        channel = await open_replica_channel(data_loop, Address(*broker.address), SECURED)
        ended: asyncio.Future[ClientFailure] = asyncio.get_running_loop().create_future()
        channel.on_closed = ended.set_result
        answers = 0

        def again(_: Any = None) -> None:
            nonlocal answers
            answers += 1
            channel.send(FetchRequest(topics=[]), 12, again)

        again()
        assert LEAVING in str(await asyncio.wait_for(ended, 60))
        assert answers > 1
        data_loop.close()

    with_broker(400, test)


@pytest.mark.spec("L7")
def test_a_connection_waits_for_a_token_and_reports_a_missing_one() -> None:
    def reject() -> str:
        raise TokenUnavailable("the provider is down")

    async def down() -> None:
        reject()

    async def test(broker: LoopbackBroker) -> None:
        address = Address(*broker.address)
        for ready in (down, None):
            login = SaslLogin("OAUTHBEARER", lambda: OAuthBearerClientExchange(reject), ready)
            given = ConnectionSettings(identity_enabled=False, security=ConnectionSecurity(sasl=login))
            with pytest.raises(ConnectFailed, match="the provider is down") as caught:
                await connect(address, given)
            assert not isinstance(caught.value, AuthenticationRejected)  # the provider may be up again later
            assert broker.connections == (0 if ready else 1)
        await login_ready(address, ConnectionSettings())

    with_broker(0, test)
