from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address, Node
from signalbox.client.inter_broker.controller_channel import ControllerChannel, ControllerRequest
from signalbox.client.inter_broker.controller_connections import MAX_CONNECTIONS
from signalbox.common.limits import MAX_FORWARDS_QUEUED
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from tests.client.loopback_cluster import LoopbackCluster
from tests.waiting import until_true

SETTINGS = ConnectionSettings(client_id="9", connect_timeout_ms=1_000, request_timeout_ms=2_000)


class Lookup:
    """Returns the active controller that the test sets in `controller_id`."""

    def __init__(self, cluster: LoopbackCluster) -> None:
        self._cluster = cluster
        self.controller_id: int | None = 1
        self.asked = 0

    def active_controller(self) -> Node | None:
        self.asked += 1
        if self.controller_id is None:
            return None
        return Node(self.controller_id, Address(*self._cluster.brokers[self.controller_id].address))


def echo(request: Any, version: int) -> Any:
    return EnvelopeResponse(response_data=request.request_data)


def not_controller(request: Any, version: int) -> Any:
    return EnvelopeResponse(error_code=Error.NOT_CONTROLLER)


def with_channel(test: Callable[[LoopbackCluster, Lookup, ControllerChannel], Awaitable[None]]) -> None:
    async def run() -> None:
        async with LoopbackCluster() as cluster:
            for node_id in (1, 2):
                broker = await cluster.add_broker(node_id)
                broker.scripts[ApiKey.ENVELOPE] = echo
            lookup = Lookup(cluster)
            channel = ControllerChannel(lookup, "cluster-A", SETTINGS)
            channel.start()
            try:
                await test(cluster, lookup, channel)
            finally:
                await channel.close()

    asyncio.run(run())


def test_an_envelope_carries_the_request_byte_for_byte_with_principal_and_address() -> None:
    async def test(cluster: LoopbackCluster, lookup: Lookup, channel: ControllerChannel) -> None:
        response = await channel.envelope(b"request", b"principal", b"\x7f\0\0\1")
        assert (response.error_code, response.response_data) == (Error.NONE, b"request")
        (sent,) = cluster.brokers[1].seen(ApiKey.ENVELOPE)
        assert (sent.request_principal, sent.client_host_address) == (b"principal", b"\x7f\0\0\1")
        assert cluster.brokers[1].seen(ApiKey.API_VERSIONS)[0].node_id == 1
        assert (channel.requests_total, channel.in_flight, channel.failures_total) == (1, 0, 0)

    with_channel(test)


def test_the_controllers_versions_are_known_before_any_request() -> None:
    async def test(cluster: LoopbackCluster, lookup: Lookup, channel: ControllerChannel) -> None:
        await until_true(lambda: channel.api_ranges is not None)
        assert channel.api_ranges is not None
        assert channel.api_ranges.range_of(ApiKey.CREATE_TOPICS) == (2, 7)
        cluster.brokers[2].max_versions[ApiKey.CREATE_TOPICS] = 5
        lookup.controller_id = 2
        channel.controller_changed()
        assert channel.api_ranges is None
        await until_true(lambda: channel.api_ranges is not None)
        assert channel.api_ranges.range_of(ApiKey.CREATE_TOPICS) == (2, 5)
        assert not cluster.brokers[2].seen(ApiKey.ENVELOPE)

    with_channel(test)


def test_many_requests_are_under_way_at_once() -> None:
    """Requests that wait together open all connections, also while no response arrives."""

    async def test(cluster: LoopbackCluster, lookup: Lookup, channel: ControllerChannel) -> None:
        under_way = most = 0
        all_busy = asyncio.Event()

        async def held(request: Any, version: int) -> Any:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            if under_way == MAX_CONNECTIONS:
                all_busy.set()
            await all_busy.wait()
            under_way -= 1
            return echo(request, version)

        cluster.brokers[1].scripts[ApiKey.ENVELOPE] = held
        asked = [channel.envelope(b"%d" % i, b"", b"") for i in range(40)]
        answers = await asyncio.gather(*asked)
        assert [response.response_data for response in answers] == [b"%d" % i for i in range(40)]
        assert most == MAX_CONNECTIONS

    with_channel(test)


def test_not_controller_is_looked_up_again_and_never_reaches_the_caller() -> None:
    async def test(cluster: LoopbackCluster, lookup: Lookup, channel: ControllerChannel) -> None:
        def moved(request: Any, version: int) -> Any:
            lookup.controller_id = 2
            return not_controller(request, version)

        cluster.brokers[1].scripts[ApiKey.ENVELOPE] = moved
        response = await channel.envelope(b"x", b"", b"")
        assert response.response_data == b"x"
        assert len(cluster.brokers[2].seen(ApiKey.ENVELOPE)) == 1
        assert channel.retries_total == 1

    with_channel(test)


def test_without_an_active_controller_the_lookup_is_retried_with_a_backoff_until_the_deadline() -> None:
    async def test(cluster: LoopbackCluster, lookup: Lookup, channel: ControllerChannel) -> None:
        cluster.brokers[1].scripts[ApiKey.ENVELOPE] = not_controller
        with pytest.raises(KafkaError) as raised:
            await channel.envelope(b"x", b"", b"", timeout_ms=300)
        assert raised.value.error == Error.REQUEST_TIMED_OUT
        assert 2 <= len(cluster.brokers[1].seen(ApiKey.ENVELOPE)) <= 8

    with_channel(test)


def test_requests_in_flight_when_the_controller_died_are_retried_in_order() -> None:
    async def test(cluster: LoopbackCluster, lookup: Lookup, channel: ControllerChannel) -> None:
        async def never(request: Any, version: int) -> Any:
            await asyncio.Event().wait()

        cluster.brokers[1].scripts[ApiKey.ENVELOPE] = never
        asked = [asyncio.ensure_future(channel.envelope(b"%d" % i, b"", b"")) for i in range(3)]
        await until_true(lambda: bool(cluster.brokers[1].seen(ApiKey.ENVELOPE)))
        lookup.controller_id = None
        await cluster.brokers[1].stop()
        await until_true(lambda: channel.queue_length == 3)
        asked.append(asyncio.ensure_future(channel.envelope(b"3", b"", b"")))
        lookup.controller_id = 2
        channel.controller_changed()
        await asyncio.gather(*asked)
        received = [bytes(row.request_data) for row in cluster.brokers[2].seen(ApiKey.ENVELOPE)]
        assert received[0] == b"0"
        assert sorted(received) == [b"0", b"1", b"2", b"3"]

    with_channel(test)


def test_a_silent_controller_costs_the_deadline_and_a_late_answer_is_ignored() -> None:
    async def test(cluster: LoopbackCluster, lookup: Lookup, channel: ControllerChannel) -> None:
        is_late = asyncio.Event()

        async def late(request: Any, version: int) -> Any:
            await is_late.wait()
            return echo(request, version)

        cluster.brokers[1].scripts[ApiKey.ENVELOPE] = late
        with pytest.raises(KafkaError, match="did not answer in time"):
            await channel.envelope(b"x", b"", b"", timeout_ms=50)
        is_late.set()
        cluster.brokers[1].scripts[ApiKey.ENVELOPE] = echo
        assert (await channel.envelope(b"y", b"", b"")).response_data == b"y"
        await until_true(lambda: channel.in_flight == 0)

    with_channel(test)


def test_one_not_controller_among_the_topics_is_enough() -> None:
    async def test(cluster: LoopbackCluster, lookup: Lookup, channel: ControllerChannel) -> None:
        def answer_with(*codes: int) -> Any:
            rows = [CreateTopicsResponse.CreatableTopicResult(name=f"t{i}", error_code=c) for i, c in enumerate(codes)]
            return CreateTopicsResponse(topics=rows)

        cluster.brokers[2].scripts[ApiKey.CREATE_TOPICS] = lambda request, version: answer_with(0, 0)

        def moved(request: Any, version: int) -> Any:
            lookup.controller_id = 2
            return answer_with(0, Error.NOT_CONTROLLER)

        cluster.brokers[1].scripts[ApiKey.CREATE_TOPICS] = moved
        response = await channel.request(CreateTopicsRequest())
        assert [row.error_code for row in response.topics] == [0, 0]

    with_channel(test)


def test_a_request_that_the_controller_does_not_take_is_rejected_without_being_sent() -> None:
    async def test(cluster: LoopbackCluster, lookup: Lookup, channel: ControllerChannel) -> None:
        cluster.brokers[1].max_versions[ApiKey.CREATE_TOPICS] = 1
        for broker in cluster.brokers.values():
            broker.requests.clear()
        with pytest.raises(KafkaError) as raised:
            await channel.request(CreateTopicsRequest())
        assert raised.value.error == Error.UNSUPPORTED_VERSION
        assert not cluster.brokers[1].seen(ApiKey.CREATE_TOPICS)

    with_channel(test)


def test_other_requests_of_brokers_go_the_same_way() -> None:
    async def test(cluster: LoopbackCluster, lookup: Lookup, channel: ControllerChannel) -> None:
        cluster.brokers[1].scripts[ApiKey.ALLOCATE_PRODUCER_IDS] = lambda request, version: AllocateProducerIdsResponse(
            producer_id_start=1_000, producer_id_len=500
        )
        response = await channel.request(AllocateProducerIdsRequest(broker_id=9, broker_epoch=3))
        assert (response.producer_id_start, response.producer_id_len) == (1_000, 500)

    with_channel(test)


def test_a_full_queue_times_out_at_once() -> None:
    async def test(cluster: LoopbackCluster, lookup: Lookup, channel: ControllerChannel) -> None:
        lookup.controller_id = None
        channel.controller_changed()
        message = AllocateProducerIdsRequest()
        queued = [channel.submit(message) for _ in range(MAX_FORWARDS_QUEUED)]
        with pytest.raises(KafkaError, match="too many requests"):
            await channel.request(message)
        await channel.close()
        results = await asyncio.gather(*queued, return_exceptions=True)
        assert {type(result) for result in results} == {KafkaError}

    with_channel(test)


def test_requests_that_have_timed_out_or_were_cancelled_leave_room_in_the_queue() -> None:
    async def test(cluster: LoopbackCluster, lookup: Lookup, channel: ControllerChannel) -> None:
        lookup.controller_id = None
        channel.controller_changed()
        waiting = channel.submit(EnvelopeRequest(request_data=b"w", request_principal=None, client_host_address=b""))
        timed_out = [channel.submit(AllocateProducerIdsRequest(), 1) for _ in range(MAX_FORWARDS_QUEUED - 2)]
        channel.submit(AllocateProducerIdsRequest()).cancel()
        results = await asyncio.gather(*timed_out, return_exceptions=True)
        assert {type(result) for result in results} == {KafkaError}
        await until_true(lambda: channel.queue_length == 1)
        lookup.controller_id = 1
        assert (await channel.envelope(b"x", b"", b"")).response_data == b"x"
        assert (await waiting).response_data == b"w"

    with_channel(test)


def test_a_bad_route_to_the_controller_is_counted_and_tried_again() -> None:
    async def test(cluster: LoopbackCluster, lookup: Lookup, channel: ControllerChannel) -> None:
        good = cluster.brokers[1].address
        await until_true(lambda: channel.api_ranges is not None)
        cluster.brokers[1].address = cluster.brokers[2].address
        channel.controller_changed()
        asked = asyncio.ensure_future(channel.envelope(b"x", b"", b""))
        await until_true(lambda: cluster.brokers[2].rejected >= 2)
        cluster.brokers[1].address = good
        assert (await asked).response_data == b"x"

    with_channel(test)


def test_a_closed_channel_answers_at_once() -> None:
    async def test(cluster: LoopbackCluster, lookup: Lookup, channel: ControllerChannel) -> None:
        await channel.close()
        with pytest.raises(KafkaError) as raised:
            await channel.envelope(b"x", b"", b"")
        assert raised.value.error == Error.NETWORK_EXCEPTION

    with_channel(test)


def test_requests_keep_the_place_they_came_at() -> None:
    async def run() -> None:
        future = asyncio.get_running_loop().create_future()
        first, second = (ControllerRequest(number, AllocateProducerIdsRequest(), future) for number in (1, 2))
        assert sorted([second, first]) == [first, second]

    asyncio.run(run())
