from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from signalbox.client.connection.connection import connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address, Node
from signalbox.client.inter_broker import broker_channel
from signalbox.client.inter_broker.broker_channel import CONTROL_VERSIONS, BrokerChannel
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.codec_errors import EncodeError
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from signalbox.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from tests.client.loopback_cluster import LoopbackBroker, LoopbackCluster
from tests.waiting import settle, until_true

SETTINGS = ConnectionSettings(client_id="1", connect_timeout_ms=1_000, request_timeout_ms=300)


def with_channel(test: Callable[[LoopbackBroker, BrokerChannel, list[int]], Awaitable[None]], node_id: int = 2) -> None:
    async def run() -> None:
        async with LoopbackCluster() as cluster:
            broker = await cluster.add_broker(2)
            broker.scripts[ApiKey.LEADER_AND_ISR] = lambda request, version: LeaderAndIsrResponse()
            broker.scripts[ApiKey.UPDATE_METADATA] = lambda request, version: UpdateMetadataResponse()
            broker.scripts[ApiKey.STOP_REPLICA] = lambda request, version: StopReplicaResponse()
            unreachable: list[int] = []

            def note(broker_id: int, was_connected: bool) -> None:
                unreachable.append(broker_id)

            channel = BrokerChannel(Node(node_id, Address(*broker.address)), "cluster-A", SETTINGS, note)
            try:
                await test(broker, channel, unreachable)
            finally:
                await channel.close()

    asyncio.run(run())


def control(broker: LoopbackBroker) -> list[tuple[ApiKey, int, Any]]:
    return [row for row in broker.requests if row[0] in CONTROL_VERSIONS]


def test_control_versions_are_the_newest_that_zookeeper_brokers_had() -> None:
    assert {API_TABLE[key].max_version - version for key, version in CONTROL_VERSIONS.items()} == {0}


def test_requests_go_out_in_order_at_fixed_versions() -> None:
    async def test(broker: LoopbackBroker, channel: BrokerChannel, unreachable: list[int]) -> None:
        under_way = []

        async def slow(request: Any, version: int) -> Any:
            under_way.append(request.controller_epoch)
            assert len(under_way) == 1
            await settle()
            under_way.clear()
            return LeaderAndIsrResponse()

        broker.scripts[ApiKey.LEADER_AND_ISR] = slow
        answers = [channel.send(LeaderAndIsrRequest(controller_epoch=i)) for i in range(5)]
        answers += [channel.send(UpdateMetadataRequest()), channel.send(StopReplicaRequest())]
        assert channel.queue_size == 7
        await asyncio.gather(*answers)
        sent = control(broker)
        assert [row[2].controller_epoch for row in sent[:5]] == [0, 1, 2, 3, 4]
        assert [(row[0], row[1]) for row in sent[4:]] == [
            (ApiKey.LEADER_AND_ISR, 7),
            (ApiKey.UPDATE_METADATA, 8),
            (ApiKey.STOP_REPLICA, 4),
        ]

    with_channel(test)


@pytest.mark.spec("R2")
def test_a_channel_carries_the_identity_of_its_broker() -> None:
    async def test(broker: LoopbackBroker, channel: BrokerChannel, unreachable: list[int]) -> None:
        await channel.send(UpdateMetadataRequest())
        (hello,) = broker.seen(ApiKey.API_VERSIONS)
        assert (hello.cluster_id, hello.node_id) == ("cluster-A", 2)

    with_channel(test)


def in_flight(channel: BrokerChannel) -> int:
    return channel._connection.in_flight if channel._connection is not None else 0


def held_leader_and_isr(broker: LoopbackBroker, *responses: LeaderAndIsrResponse | None) -> asyncio.Event:
    """The broker returns `responses` (None: it closes the connection), one for each LeaderAndIsr, after the event."""
    left, released = list(responses), asyncio.Event()

    async def held(request: Any, version: int) -> Any:
        await released.wait()
        return left.pop(0)

    broker.scripts[ApiKey.LEADER_AND_ISR] = held
    return released


def keys_and_epochs(broker: LoopbackBroker) -> list[tuple[str, int]]:
    return [(key.name, request.controller_epoch) for key, _, request in control(broker)]


def test_update_metadata_does_not_wait_for_the_response_to_leader_and_isr() -> None:
    async def test(broker: LoopbackBroker, channel: BrokerChannel, unreachable: list[int]) -> None:
        released = held_leader_and_isr(broker, LeaderAndIsrResponse())
        responses = [
            channel.send(LeaderAndIsrRequest(controller_epoch=1)),
            channel.send(UpdateMetadataRequest(controller_epoch=1)),
            channel.send(UpdateMetadataRequest(controller_epoch=2)),
        ]
        await until_true(lambda: in_flight(channel) == 2)
        await settle()
        assert in_flight(channel) == 2, "the third request waits"
        released.set()
        await asyncio.wait_for(asyncio.gather(*responses), 60)
        assert keys_and_epochs(broker) == [("LEADER_AND_ISR", 1), ("UPDATE_METADATA", 1), ("UPDATE_METADATA", 2)]

    with_channel(test)


@pytest.mark.parametrize("behind", [LeaderAndIsrRequest(), StopReplicaRequest()])
def test_no_other_request_is_sent_behind_one_without_a_response(behind: Any) -> None:
    async def test(broker: LoopbackBroker, channel: BrokerChannel, unreachable: list[int]) -> None:
        released = held_leader_and_isr(broker, LeaderAndIsrResponse(), LeaderAndIsrResponse())
        responses = [channel.send(LeaderAndIsrRequest()), channel.send(behind), channel.send(UpdateMetadataRequest())]
        await until_true(lambda: len(control(broker)) == 1)
        await settle()
        assert in_flight(channel) == 1
        released.set()
        await asyncio.wait_for(asyncio.gather(*responses), 60)
        assert [row[0] for row in control(broker)] == [
            ApiKey.LEADER_AND_ISR,
            behind.api_key,
            ApiKey.UPDATE_METADATA,
        ]

    with_channel(test)


def test_both_requests_in_flight_are_retried_in_order_when_the_connection_is_lost() -> None:
    async def test(broker: LoopbackBroker, channel: BrokerChannel, unreachable: list[int]) -> None:
        released = held_leader_and_isr(broker, None, LeaderAndIsrResponse())
        responses = [channel.send(LeaderAndIsrRequest()), channel.send(UpdateMetadataRequest())]
        await until_true(lambda: in_flight(channel) == 2)
        later = channel.send(StopReplicaRequest())
        released.set()
        await asyncio.wait_for(asyncio.gather(*responses, later), 60)
        sent = [row[0] for row in control(broker)]  # the broker may have read both from the first connection
        assert sent[-3:] == [ApiKey.LEADER_AND_ISR, ApiKey.UPDATE_METADATA, ApiKey.STOP_REPLICA]
        assert sent.count(ApiKey.LEADER_AND_ISR) == 2
        assert broker.connections == 2

    with_channel(test)


def test_only_the_second_request_is_retried_when_the_connection_is_lost_after_the_first_response() -> None:
    async def test(broker: LoopbackBroker, channel: BrokerChannel, unreachable: list[int]) -> None:
        released, left = held_leader_and_isr(broker, LeaderAndIsrResponse()), [UpdateMetadataResponse(), None]
        broker.scripts[ApiKey.UPDATE_METADATA] = lambda request, version: left.pop()
        responses = [channel.send(LeaderAndIsrRequest()), channel.send(UpdateMetadataRequest())]
        await until_true(lambda: in_flight(channel) == 2)
        released.set()
        await asyncio.wait_for(asyncio.gather(*responses), 60)
        assert [row[0] for row in control(broker)] == [ApiKey.LEADER_AND_ISR, *[ApiKey.UPDATE_METADATA] * 2]

    with_channel(test)


def test_both_requests_in_flight_are_retried_when_the_first_could_not_be_compared_with_the_store() -> None:
    async def test(broker: LoopbackBroker, channel: BrokerChannel, unreachable: list[int]) -> None:
        timed_out = LeaderAndIsrResponse(error_code=Error.REQUEST_TIMED_OUT)
        released = held_leader_and_isr(broker, timed_out, LeaderAndIsrResponse())
        responses = [channel.send(LeaderAndIsrRequest()), channel.send(UpdateMetadataRequest())]
        await until_true(lambda: in_flight(channel) == 2)
        later = channel.send(StopReplicaRequest())
        released.set()
        answers = await asyncio.wait_for(asyncio.gather(*responses, later), 60)
        assert [response.error_code for response in answers] == [0, 0, 0]
        assert [row[0] for row in control(broker)] == [
            *[ApiKey.LEADER_AND_ISR, ApiKey.UPDATE_METADATA] * 2,
            ApiKey.STOP_REPLICA,
        ]
        assert broker.connections == 1

    with_channel(test)


def test_a_fenced_controller_gets_the_error_of_both_requests_in_flight_and_retries_neither() -> None:
    async def test(broker: LoopbackBroker, channel: BrokerChannel, unreachable: list[int]) -> None:
        stale = Error.STALE_CONTROLLER_EPOCH
        released = held_leader_and_isr(broker, LeaderAndIsrResponse(error_code=stale))
        broker.scripts[ApiKey.UPDATE_METADATA] = lambda request, version: UpdateMetadataResponse(error_code=stale)
        responses = [channel.send(LeaderAndIsrRequest()), channel.send(UpdateMetadataRequest())]
        await until_true(lambda: in_flight(channel) == 2)
        released.set()
        answers = await asyncio.wait_for(asyncio.gather(*responses), 60)
        assert [response.error_code for response in answers] == [stale, stale]
        assert len(control(broker)) == 2

    with_channel(test)


def test_a_request_whose_caller_is_gone_is_left_out_between_two_that_are_sent_together() -> None:
    async def test(broker: LoopbackBroker, channel: BrokerChannel, unreachable: list[int]) -> None:
        released = held_leader_and_isr(broker, LeaderAndIsrResponse())
        first = channel.send(LeaderAndIsrRequest())
        channel.send(UpdateMetadataRequest(controller_epoch=1)).cancel()
        second = channel.send(UpdateMetadataRequest(controller_epoch=2))
        await until_true(lambda: in_flight(channel) == 2)
        released.set()
        await asyncio.wait_for(asyncio.gather(first, second), 60)
        assert [request.controller_epoch for request in broker.seen(ApiKey.UPDATE_METADATA)] == [2]

    with_channel(test)


def test_a_request_is_retried_until_it_is_answered_and_later_requests_wait() -> None:
    async def test(broker: LoopbackBroker, channel: BrokerChannel, unreachable: list[int]) -> None:
        tries = []

        def deaf_at_first(request: Any, version: int) -> Any:
            tries.append(request.controller_epoch)
            return LeaderAndIsrResponse() if len(tries) > 2 else None

        broker.scripts[ApiKey.LEADER_AND_ISR] = deaf_at_first
        first = channel.send(LeaderAndIsrRequest(controller_epoch=1))
        second = channel.send(UpdateMetadataRequest(controller_epoch=1))
        await asyncio.wait_for(asyncio.gather(first, second), 60)
        assert tries == [1, 1, 1]
        assert [row[0] for row in control(broker)][-1] == ApiKey.UPDATE_METADATA

    with_channel(test)


def test_a_silent_broker_is_reconnected_to_after_the_request_timeout() -> None:
    async def test(broker: LoopbackBroker, channel: BrokerChannel, unreachable: list[int]) -> None:
        async def silent(request: Any, version: int) -> Any:
            broker.scripts[ApiKey.UPDATE_METADATA] = lambda request, version: UpdateMetadataResponse()
            await asyncio.Event().wait()

        broker.scripts[ApiKey.UPDATE_METADATA] = silent
        await asyncio.wait_for(channel.send(UpdateMetadataRequest()), 60)
        assert len(control(broker)) == 2
        assert broker.connections == 2

    with_channel(test)


def test_a_broker_that_dies_is_noticed_at_once_and_met_again_when_it_returns() -> None:
    async def test(broker: LoopbackBroker, channel: BrokerChannel, unreachable: list[int]) -> None:
        await channel.send(UpdateMetadataRequest())
        await broker.stop()
        await until_true(lambda: bool(unreachable))
        assert set(unreachable) == {2}
        waiting = channel.send(UpdateMetadataRequest())
        await broker.start()
        await asyncio.wait_for(waiting, 60)

    with_channel(test)


@pytest.mark.spec("R2")
def test_a_misrouted_channel_counts_and_tries_on() -> None:
    async def test(broker: LoopbackBroker, channel: BrokerChannel, unreachable: list[int]) -> None:
        waiting = channel.send(UpdateMetadataRequest())
        await until_true(lambda: channel.misroutes >= 2)
        assert not control(broker)
        assert not waiting.done()
        assert unreachable == []

    with_channel(test, node_id=3)


def test_closing_cancels_what_is_queued() -> None:
    async def test(broker: LoopbackBroker, channel: BrokerChannel, unreachable: list[int]) -> None:
        await broker.stop()
        waiting = channel.send(UpdateMetadataRequest())
        await channel.close()
        assert waiting.cancelled()
        with pytest.raises(asyncio.CancelledError):
            await channel.send(UpdateMetadataRequest())

    with_channel(test)


def test_a_request_that_was_given_up_is_not_sent() -> None:
    async def test(broker: LoopbackBroker, channel: BrokerChannel, unreachable: list[int]) -> None:
        channel.send(UpdateMetadataRequest(controller_epoch=1)).cancel()
        await channel.send(UpdateMetadataRequest(controller_epoch=2))
        assert [row[2].controller_epoch for row in control(broker)] == [2]

    with_channel(test)


def test_an_encode_error_fails_only_its_request() -> None:
    async def test(broker: LoopbackBroker, channel: BrokerChannel, unreachable: list[int]) -> None:
        impossible = channel.send(LeaderAndIsrRequest(controller_epoch="two"))  # type: ignore[arg-type]
        behind = channel.send(UpdateMetadataRequest(controller_epoch=1))
        with pytest.raises(EncodeError):
            await asyncio.wait_for(impossible, 60)
        await asyncio.wait_for(behind, 60)
        assert [row[0] for row in control(broker)] == [ApiKey.UPDATE_METADATA]

    with_channel(test)


def test_a_fault_of_ours_does_not_end_the_channel(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    faults = [RuntimeError("a bug")]

    async def connect_with_a_fault(*given: Any) -> Any:
        if faults:
            raise faults.pop()
        return await connect(*given)

    monkeypatch.setattr(broker_channel, "connect", connect_with_a_fault)
    monkeypatch.setattr(broker_channel, "_RETRY_AFTER_FAULT_SECONDS", 0.01)

    async def test(broker: LoopbackBroker, channel: BrokerChannel, unreachable: list[int]) -> None:
        await asyncio.wait_for(channel.send(UpdateMetadataRequest()), 60)

    with_channel(test)
    assert not faults
    assert "a bug" in caplog.text


def test_a_request_that_a_broker_could_not_compare_with_the_store_is_retried_before_later_requests() -> None:
    async def test(broker: LoopbackBroker, channel: BrokerChannel, unreachable: list[int]) -> None:
        def without_store_at_first(request: Any, version: int) -> Any:
            if len(control(broker)) > 2:
                return UpdateMetadataResponse()
            return UpdateMetadataResponse(error_code=Error.REQUEST_TIMED_OUT)

        broker.scripts[ApiKey.UPDATE_METADATA] = without_store_at_first
        first = channel.send(UpdateMetadataRequest(controller_epoch=7))
        second = channel.send(LeaderAndIsrRequest(controller_epoch=7))
        answers = await asyncio.wait_for(asyncio.gather(first, second), 60)
        assert [response.error_code for response in answers] == [0, 0]
        assert [row[0] for row in control(broker)] == [*[ApiKey.UPDATE_METADATA] * 3, ApiKey.LEADER_AND_ISR]
        assert broker.connections == 1

    with_channel(test)
