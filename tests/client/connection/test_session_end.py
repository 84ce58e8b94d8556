"""A client closes its connection before the SASL session ends, without losing a request (KIP-368)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from signalbox.client.cluster.connection_pool import ConnectionPool
from signalbox.client.connection.client_security import sasl_login
from signalbox.client.connection.connection import connect
from signalbox.client.connection.connection_settings import ConnectionSecurity, ConnectionSettings, SaslLogin
from signalbox.client.connection.node import Address, Node
from signalbox.client.connection.session_end import LEAVING, login_ready, seconds_until_session_end
from signalbox.client.failures import AuthenticationRejected, ClientFailure, ConnectFailed
from signalbox.client.inter_broker.replica_channel import open_replica_channel
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.protocol.messages.metadata import MetadataRequest, MetadataResponse
from signalbox.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from signalbox.protocol.messages.sasl_handshake import SaslHandshakeResponse
from signalbox.security.oauth.login_token import TokenUnavailable
from signalbox.security.sasl.oauthbearer import OAuthBearerClientExchange
from signalbox.transport.data_loop import DataLoop
from tests.client.loopback_cluster import LoopbackBroker, LoopbackCluster
from tests.waiting import until_true

pytestmark = pytest.mark.spec("L7")
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
    await asyncio.wait_for(gone.wait(), 10)


def test_kafkas_shares() -> None:
    stays = [seconds_until_session_end(10_000) for _ in range(200)]
    assert 8.5 <= min(stays) < max(stays) <= 9.5


def test_an_idle_connection_is_left() -> None:
    async def test(broker: LoopbackBroker) -> None:
        connection = await connect(Address(*broker.address), SECURED)
        await connection.request(MetadataRequest(topics=[]))
        await closed(connection.on_closed)
        assert LEAVING in str(connection.failure)

    with_broker(300, test)


def test_a_session_without_an_end_stays() -> None:
    async def test(broker: LoopbackBroker) -> None:
        connection = await connect(Address(*broker.address), SECURED)
        assert not connection.leaving
        connection.close()

    with_broker(0, test)


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
        assert LEAVING in str(await asyncio.wait_for(ended, 10))
        assert answers > 1
        data_loop.close()

    with_broker(400, test)


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
