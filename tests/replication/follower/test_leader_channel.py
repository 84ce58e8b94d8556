"""A channel to a leader that reconnects when needed, over fake connections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from signalbox.client.inter_broker.replica_channel import ReplicaChannel
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.replication.follower.leader_channel import ReconnectingChannels

pytestmark = pytest.mark.spec("D3")


class Connection:
    """A fake connection that keeps the sent messages."""

    def __init__(self) -> None:
        self.on_closed: Callable[[Any], None] | None = None
        self.sent: list[tuple[int, Callable[[Any], None]]] = []
        self.closed = ""

    def version_for(self, api_key: int, max_version: int | None = None) -> int:
        return {1: 17, 2: 9}[api_key]

    def send(self, message: Any, version: int, on_response: Callable[[Any], None], /) -> None:
        self.sent.append((version, on_response))

    def close(self, reason: str = "") -> None:
        self.closed = reason


class Dialler:
    """`Connect`: the first attempts may fail."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.connections: list[Connection] = []
        self.dialled: list[int] = []

    async def __call__(self, broker_id: int) -> ReplicaChannel:
        self.dialled.append(broker_id)
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.pop(0)
        self.connections.append(Connection())
        return cast(ReplicaChannel, self.connections[-1])


async def until_idle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_requests_wait_for_the_connection_and_are_answered_in_order() -> None:
    async def scenario() -> None:
        dialler, answers = Dialler(), list[Any]()
        channel = ReconnectingChannels(dialler).open(4)
        channel.send(FetchRequest(), answers.append)
        channel.send(FetchRequest(), answers.append)
        await until_idle()
        assert dialler.dialled == [4]
        [connection] = dialler.connections
        assert [version for version, _ in connection.sent] == [17, 17]
        first, second = FetchResponse(session_id=1), FetchResponse(session_id=2)
        connection.sent[0][1](first)
        connection.sent[1][1](second)
        assert answers == [first, second]
        channel.send(FetchRequest(), answers.append)
        assert len(connection.sent) == 3

    asyncio.run(scenario())


def test_a_failed_attempt_is_an_answer_and_the_next_request_tries_again() -> None:
    async def scenario() -> None:
        rejected, unknown = ConnectionRefusedError("no listener"), LookupError("broker 4 is not known")
        dialler, answers = Dialler(rejected, unknown), list[Any]()
        channel = ReconnectingChannels(dialler).open(4)
        for _ in range(3):
            channel.send(FetchRequest(), answers.append)
            await until_idle()
        assert answers == [rejected, unknown]
        assert (dialler.dialled, len(dialler.connections[0].sent)) == ([4, 4, 4], 1)

    asyncio.run(scenario())


def test_a_lost_connection_fails_requests_in_flight() -> None:
    async def scenario() -> None:
        dialler, answers, hung_up = Dialler(), list[Any](), list[int]()
        channel = ReconnectingChannels(dialler, hung_up.append).open(4)
        channel.send(FetchRequest(), answers.append)
        channel.send(FetchRequest(), answers.append)
        await until_idle()
        assert dialler.connections[0].on_closed is not None
        dialler.connections[0].on_closed("peer closed")
        assert [str(answer) for answer in answers] == ["peer closed", "peer closed"]
        assert hung_up == [4]
        channel.send(FetchRequest(), answers.append)
        await until_idle()
        assert len(dialler.connections) == 2

    asyncio.run(scenario())


def test_a_closed_channel_is_silent() -> None:
    async def scenario() -> None:
        dialler, answers = Dialler(), list[Any]()
        open_one, opening = (ReconnectingChannels(dialler).open(broker) for broker in (4, 5))
        open_one.send(FetchRequest(), answers.append)
        await until_idle()
        open_one.close()
        assert dialler.connections[0].closed == "the fetcher has stopped"
        opening.send(FetchRequest(), answers.append)
        opening.close()
        opening.send(FetchRequest(), answers.append)
        await until_idle()
        assert (answers, len(dialler.connections)) == ([], 1)

    asyncio.run(scenario())


def test_reconnecting_fails_requests_in_flight_and_the_next_request_connects() -> None:
    async def scenario() -> None:
        dialler, answers, hung_up = Dialler(), list[Any](), list[int]()
        channel = ReconnectingChannels(dialler, hung_up.append).open(4)
        channel.reconnect()  # no connection is open
        channel.send(FetchRequest(), answers.append)
        await until_idle()
        channel.reconnect()
        channel.reconnect()
        assert not dialler.connections[0].closed, "its answer may be under way"
        await until_idle()
        assert dialler.connections[0].closed
        assert [type(answer) for answer in answers] == [ConnectionError]
        channel.send(FetchRequest(), answers.append)
        await until_idle()
        assert (dialler.dialled, len(dialler.connections), hung_up) == ([4, 4], 2, [])

    asyncio.run(scenario())
