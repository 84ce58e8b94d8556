from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from signalbox.client.connection.connection import ClientConnection, connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address, Identity
from signalbox.client.failures import (
    ConnectFailed,
    ConnectionLost,
    Misrouted,
    PeerBroke,
    VersionUnsupported,
)
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.codec_errors import ValueDoesNotFit
from signalbox.protocol.headers import decode_request_header, encode_response_header
from signalbox.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.produce import ProduceRequest
from tests.client.loopback_cluster import LoopbackBroker, LoopbackCluster
from tests.doctor.hostile import dripping

SETTINGS = ConnectionSettings(connect_timeout_ms=2_000, request_timeout_ms=2_000)
IMPATIENT = ConnectionSettings(connect_timeout_ms=200, request_timeout_ms=100)

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def with_broker(test: Callable[[LoopbackBroker], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        async with LoopbackCluster() as cluster:
            cluster.add_topic("t", 1)
            await test(await cluster.add_broker(1))

    asyncio.run(run())


def with_server(serve: Serve, test: Callable[[Address], Coroutine[Any, Any, None]]) -> None:
    """Run `test` with a peer that is not a broker: it runs `serve` on each connection."""

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except ConnectionError:
            return
        finally:
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(served, "127.0.0.1", 0)
        try:
            await test(Address(*server.sockets[0].getsockname()[:2]))
        finally:
            server.close()

    asyncio.run(run())


def test_a_request_is_answered_at_the_highest_common_version() -> None:
    async def test(broker: LoopbackBroker) -> None:
        broker.max_versions[ApiKey.METADATA] = 9
        connection = await connect(Address(*broker.address), SETTINGS)
        response = await connection.request(MetadataRequest(topics=None))
        assert response.cluster_id == "cluster-A"
        assert [topic.name for topic in response.topics] == ["t"]
        assert broker.requests[-1][:2] == (ApiKey.METADATA, 9)
        assert connection.version_for(MetadataRequest(), max_version=4) == 4
        connection.close()
        assert not connection.is_open

    with_broker(test)


def test_pipelined_requests_are_matched_with_their_answers() -> None:
    async def test(broker: LoopbackBroker) -> None:
        connection = await connect(Address(*broker.address), SETTINGS)
        asked = [MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=f"t{i}")]) for i in range(20)]
        answers = await asyncio.gather(*(connection.request(message) for message in asked))
        assert [response.topics[0].name for response in answers] == [f"t{i}" for i in range(20)]
        connection.close()

    with_broker(test)


def test_identity_is_sent_and_confirmed() -> None:
    async def test(broker: LoopbackBroker) -> None:
        connection = await connect(Address(*broker.address), SETTINGS, Identity("cluster-A", 1))
        (request,) = broker.seen(ApiKey.API_VERSIONS)
        assert (request.cluster_id, request.node_id) == ("cluster-A", 1)
        assert (request.client_software_name, connection.verified) == ("signalbox", True)
        connection.close()

    with_broker(test)


@pytest.mark.parametrize("identity", [Identity("cluster-A", 2), Identity("cluster-B", 1)])
def test_129_is_a_misroute_that_names_node_and_address(identity: Identity) -> None:
    async def test(broker: LoopbackBroker) -> None:
        with pytest.raises(Misrouted, match=f"node {identity.node_id} of cluster {identity.cluster_id}") as caught:
            await connect(Address(*broker.address), SETTINGS, identity)
        assert caught.value.wanted == identity
        assert broker.requests[-1][0] == ApiKey.API_VERSIONS

    with_broker(test)


def test_without_the_check_nothing_is_sent() -> None:
    async def test(broker: LoopbackBroker) -> None:
        settings = ConnectionSettings(identity_enabled=False)
        connection = await connect(Address(*broker.address), settings, Identity("cluster-B", 7))
        assert not connection.verified
        assert broker.seen(ApiKey.API_VERSIONS)[0].cluster_id is None
        connection.close()

    with_broker(test)


@pytest.mark.parametrize("highest", [0, 2, 3, 4])
def test_an_older_broker_gets_the_request_at_its_own_version(highest: int) -> None:
    async def test(broker: LoopbackBroker) -> None:
        broker.api_versions_max = highest
        connection = await connect(Address(*broker.address), SETTINGS, Identity("cluster-A", 1))
        assert [version for _, version, _ in broker.requests] == [5, highest]
        assert not connection.verified
        assert (await connection.request(MetadataRequest(topics=[]))).cluster_id == "cluster-A"
        connection.close()

    with_broker(test)


def test_a_broker_that_insists_on_a_version_it_rejects_is_left() -> None:
    async def test(broker: LoopbackBroker) -> None:
        from signalbox.protocol.messages.api_versions import ApiVersionsResponse

        row = ApiVersionsResponse.ApiVersion(api_key=18, min_version=0, max_version=9)
        broker.scripts[ApiKey.API_VERSIONS] = lambda request, version: ApiVersionsResponse(
            error_code=35, api_keys=[row]
        ).encode(0)
        with pytest.raises(PeerBroke, match="rejects version 5 and offers 5"):
            await connect(Address(*broker.address), SETTINGS)
        assert len(broker.requests) == 1

    with_broker(test)


def test_42_is_answered_by_one_try_at_version_4_without_identity() -> None:
    async def test(broker: LoopbackBroker) -> None:
        def picky(request: Any, version: int) -> Any:
            from signalbox.protocol.messages.api_versions import ApiVersionsResponse

            return ApiVersionsResponse(error_code=42) if version == 5 else broker.api_versions(request)

        broker.scripts[ApiKey.API_VERSIONS] = picky
        connection = await connect(Address(*broker.address), SETTINGS, Identity("cluster-A", 1))
        assert [version for _, version, _ in broker.requests] == [5, 4]
        assert not connection.verified
        connection.close()

    with_broker(test)


def test_an_api_that_the_broker_lacks_is_rejected_before_anything_is_sent() -> None:
    async def test(broker: LoopbackBroker) -> None:
        broker.max_versions[ApiKey.PRODUCE] = 3
        connection = await connect(Address(*broker.address), SETTINGS)
        before = len(broker.requests)
        with pytest.raises(VersionUnsupported, match=r"versions 3 to 3, this client supports 3 to 2"):
            await connection.request(ProduceRequest(), max_version=2)
        assert len(broker.requests) == before
        assert connection.is_open
        connection.close()

    with_broker(test)


def test_a_value_that_no_version_can_contain_is_no_fault_of_the_broker() -> None:
    async def test(broker: LoopbackBroker) -> None:
        connection = await connect(Address(*broker.address), SETTINGS)
        with pytest.raises(ValueDoesNotFit, match="TimeoutMs = 2147483648"):
            await connection.request(ProduceRequest(timeout_ms=1 << 31))
        assert connection.is_open
        connection.close()

    with_broker(test)


def test_a_deadline_that_passes_closes_the_connection_and_fails_everything_on_it() -> None:
    async def test(broker: LoopbackBroker) -> None:
        async def silent(request: Any, version: int) -> Any:
            await asyncio.Event().wait()

        broker.scripts[ApiKey.METADATA] = silent
        connection = await connect(Address(*broker.address), SETTINGS)
        slow = asyncio.ensure_future(connection.request(MetadataRequest(), timeout_ms=50))
        other = asyncio.ensure_future(connection.request(MetadataRequest()))
        with pytest.raises(ConnectionLost, match="within 50 ms"):
            await slow
        with pytest.raises(ConnectionLost):
            await other
        assert not connection.is_open
        with pytest.raises(ConnectionLost):
            await connection.request(MetadataRequest())

    with_broker(test)


def test_a_broker_that_hangs_up_fails_the_requests_on_the_connection() -> None:
    async def test(broker: LoopbackBroker) -> None:
        broker.scripts[ApiKey.METADATA] = lambda request, version: None
        connection = await connect(Address(*broker.address), SETTINGS)
        ended = asyncio.Event()
        connection.on_closed(ended.set)
        with pytest.raises(ConnectionLost):
            await connection.request(MetadataRequest())
        await asyncio.wait_for(ended.wait(), 60)
        assert isinstance(connection.failure, ConnectionLost)

    with_broker(test)


def test_an_answer_with_a_foreign_correlation_id_ends_the_connection() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(4)
        writer.write((8).to_bytes(4, "big") + (77).to_bytes(4, "big") + bytes(4))
        await writer.drain()
        await reader.read()

    async def test(address: Address) -> None:
        with pytest.raises(PeerBroke, match=r"Correlation id for response \(77\)"):
            await connect(address, SETTINGS)

    with_server(serve, test)


def test_a_response_without_a_request_closes_the_connection() -> None:
    async def test(broker: LoopbackBroker) -> None:
        connection = await connect(Address(*broker.address), SETTINGS)
        (writer,) = broker._writers
        writer.write((4).to_bytes(4, "big") + (5).to_bytes(4, "big"))
        ended = asyncio.Event()
        connection.on_closed(ended.set)
        await asyncio.wait_for(ended.wait(), 60)
        assert isinstance(connection.failure, PeerBroke)

    with_broker(test)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (b"\x15\x03\x01\x00\x02\x02\x28", "uses TLS"),
        (b"\x16\x03\x03\x00\x7a\x02\x00", "uses TLS"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP"),
        (b"\x7f\xff\xff\xff", "more than the"),
        (b"\xff\xff\xff\xff", "cannot hold"),
        (b"\x00\x00\x00\x02ab", "cannot hold"),
        (b"\x00\x00\x00\x07\x00\x00\x00\x00abc", "unreadable|error"),
    ],
)
def test_a_peer_that_speaks_something_else_is_recognized(reply: bytes, problem: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(4)
        writer.write(reply)
        await writer.drain()
        await reader.read()

    async def test(address: Address) -> None:
        with pytest.raises(PeerBroke, match=problem):
            await connect(address, SETTINGS)

    with_server(serve, test)


def test_a_silent_peer_costs_the_connect_timeout_and_no_more() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def test(address: Address) -> None:
        with pytest.raises(ConnectFailed, match=r"no answer within 200 ms|within 100 ms"):
            await connect(address, IMPATIENT)

    with_server(serve, test)


@pytest.mark.parametrize("handshakes", [0, 1])
def test_a_peer_that_sends_a_byte_now_and_then_costs_the_timeout_and_no_more(handshakes: int) -> None:
    """From the first response on, or from the second one on: bytes that arrive do not extend a deadline."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(handshakes):
            size = int.from_bytes(await reader.readexactly(4), "big")
            header, _ = decode_request_header(await reader.readexactly(size))
            row = ApiVersionsResponse.ApiVersion(api_key=ApiKey.METADATA, min_version=0, max_version=13)
            body = ApiVersionsResponse(api_keys=[row]).encode(header.api_version)
            payload = encode_response_header(header.api_key, header.api_version, header.correlation_id) + body
            writer.write(len(payload).to_bytes(4, "big") + payload)
        await dripping(reader, writer)

    async def ask(address: Address) -> None:
        connection = await connect(address, IMPATIENT)
        await connection.request(MetadataRequest(), timeout_ms=100)

    async def test(address: Address) -> None:
        expected = ConnectionLost if handshakes else ConnectFailed
        with pytest.raises(expected, match=r"within (100|200) ms"):
            await ask(address)

    with_server(serve, test)


def test_a_peer_that_closes_in_the_middle_of_a_frame_is_a_failed_connect() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(4)
        writer.write((100).to_bytes(4, "big") + b"half")
        await writer.drain()

    async def test(address: Address) -> None:
        with pytest.raises(ConnectFailed, match="api-versions"):
            await connect(address, SETTINGS)

    with_server(serve, test)


def test_stages_of_a_connect_that_never_got_anywhere() -> None:
    async def test(broker: LoopbackBroker) -> None:
        await broker.stop()
        with pytest.raises(ConnectFailed) as rejected:
            await connect(Address(*broker.address), SETTINGS)
        assert rejected.value.stage == "tcp"
        with pytest.raises(ConnectFailed) as unresolved:
            await connect(Address("no-such-host.invalid", 9092), SETTINGS)
        assert unresolved.value.stage == "resolve"

    with_broker(test)


def test_a_cancelled_request_leaves_the_connection_usable() -> None:
    async def test(broker: LoopbackBroker) -> None:
        connection: ClientConnection = await connect(Address(*broker.address), SETTINGS)
        given_up = asyncio.ensure_future(connection.request(MetadataRequest()))
        await asyncio.sleep(0)
        given_up.cancel()
        response = await connection.request(ApiVersionsRequest(), version=3)
        assert response.error_code == 0
        connection.close()

    with_broker(test)
