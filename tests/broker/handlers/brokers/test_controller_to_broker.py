"""LeaderAndIsr, StopReplica, UpdateMetadata: the sender's rights, and checks of controller epoch and broker epoch."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest

from signalbox.broker.api_request import as_future
from signalbox.broker.epoch_checks import EpochChecks, LocalEpochs
from signalbox.broker.handlers.brokers.controller_to_broker import (
    ControlRequestHandler,
    ControlRequestQueue,
    NewTopicConfigs,
    applying_metadata,
)
from signalbox.common.clock import ManualClock
from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.ids import TopicPartition
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.metadata.backup.stored_epochs import StoredEpochs
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.store.port import StoreUnavailable
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from signalbox.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from tests.broker.handler_requests import ALLOW_ALL, acl, from_broker, request_of, response_to
from tests.common.scheduling.schedulers import ImmediateScheduler

Load = Callable[[Iterable[str]], Awaitable[None]]
STATE = LeaderAndIsrRequest.LeaderAndIsrPartitionState(partition_index=2)
KINDS = {
    LeaderAndIsrRequest: (
        LeaderAndIsrResponse,
        {"topic_states": [LeaderAndIsrRequest.LeaderAndIsrTopicState(topic_name="t", partition_states=[STATE])]},
        7,
    ),
    StopReplicaRequest: (StopReplicaResponse, {}, 4),
    UpdateMetadataRequest: (UpdateMetadataResponse, {}, 8),
}


def epochs() -> LocalEpochs:
    mine = LocalEpochs(1)
    mine.registered(50)
    assert mine.accept_controller_epoch(5)
    return mine


class Stored(StoredEpochs):
    """A store that contains `controller_epoch`."""

    def __init__(self, controller_epoch: int) -> None:
        self.latest = controller_epoch

    async def controller_epoch(self) -> int | None:
        return self.latest

    async def leader_epochs(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int | None]:
        return dict.fromkeys(partitions)


async def no_configs(entity_paths: Iterable[str]) -> None:
    assert not list(entity_paths)


def control_requests(
    authorizer: Any, mine: LocalEpochs, apply: Callable[[Any, int], Any], load: Load = no_configs
) -> ControlRequestHandler:
    checks = EpochChecks(mine, Stored(9), lambda topic, partition: -1, ManualClock())
    return ControlRequestHandler(
        authorizer, mine, checks, NewTopicConfigs(load), ControlRequestQueue(ImmediateScheduler()), apply
    )


def new_partition(topic: str) -> LeaderAndIsrRequest:
    state = LeaderAndIsrRequest.LeaderAndIsrPartitionState(partition_index=0, is_new=True)
    topic_state = LeaderAndIsrRequest.LeaderAndIsrTopicState(topic_name=topic, partition_states=[state])
    return LeaderAndIsrRequest(controller_epoch=5, topic_states=[topic_state])


def ask(kind: Any, authorizer: Any = ALLOW_ALL, version: int | None = None, **fields: Any) -> tuple[Any, list[int]]:
    response, more, newest = KINDS[kind]
    applied: list[int] = []

    def apply(body: Any, at_version: int) -> Any:
        applied.append(at_version)
        return response()

    body = kind(**{**more, "controller_epoch": 5, **fields})
    request = request_of(body, newest if version is None else version, from_broker())
    return response_to(control_requests(authorizer, epochs(), apply), request), applied


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"broker_epoch": 50}, Error.NONE),
        ({"broker_epoch": 51}, Error.NONE),  # this broker has not yet seen its new registration
        ({"broker_epoch": -1}, Error.NONE),
        ({"broker_epoch": 49}, Error.STALE_BROKER_EPOCH),
        ({"broker_epoch": 50, "controller_epoch": 6}, Error.NONE),
        ({"broker_epoch": 50, "controller_epoch": 10}, Error.INVALID_REQUEST),  # the store has 9
        ({"broker_epoch": 49, "controller_epoch": 10}, Error.STALE_BROKER_EPOCH),
        ({"broker_epoch": 50, "controller_epoch": 4}, Error.STALE_CONTROLLER_EPOCH),
        ({"broker_epoch": 49, "controller_epoch": 4}, Error.STALE_BROKER_EPOCH),
    ],
)
def test_epochs(kind: Any, fields: dict[str, int], error: Error) -> None:
    response, applied = ask(kind, **fields)
    assert (response.error_code, bool(applied)) == (error, error is Error.NONE)


def test_a_rejected_leader_and_isr_repeats_the_error_for_every_partition() -> None:
    response, _ = ask(LeaderAndIsrRequest, broker_epoch=49)
    assert [e.error_code for topic in response.topics for e in topic.partition_errors] == [Error.STALE_BROKER_EPOCH]
    response, _ = ask(StopReplicaRequest, broker_epoch=49)
    assert response.partition_errors == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_may_not(kind: Any) -> None:
    response, applied = ask(kind, acl(("alice", "ALTER", "cluster")))
    assert (response.error_code, applied) == (Error.CLUSTER_AUTHORIZATION_FAILED, [])


def test_a_newer_controller_is_remembered() -> None:
    mine = epochs()
    handler = control_requests(ALLOW_ALL, mine, lambda *_: UpdateMetadataResponse())
    response_to(handler, request_of(UpdateMetadataRequest(controller_epoch=9), 8, from_broker()))
    assert mine.controller_epoch == 9
    assert (
        response_to(handler, request_of(UpdateMetadataRequest(controller_epoch=8), 8, from_broker())).error_code == 11
    )


def test_a_request_whose_execution_fails_gets_an_error_response(caplog: pytest.LogCaptureFixture) -> None:
    def fail(body: Any, version: int) -> Any:
        raise ZeroDivisionError

    handler = control_requests(ALLOW_ALL, epochs(), fail)
    response = response_to(handler, request_of(StopReplicaRequest(controller_epoch=5), 4, from_broker()))
    assert response.error_code == Error.UNKNOWN_SERVER_ERROR
    assert "ZeroDivisionError" in caplog.text


def test_a_new_partition_begins_with_the_configs_of_its_topic() -> None:
    events: list[str] = []

    async def load(entity_paths: Iterable[str]) -> None:
        await asyncio.sleep(0)
        events.extend(entity_paths)

    def apply(body: Any, version: int) -> Any:
        events.append("applied")
        return LeaderAndIsrResponse()

    handler = control_requests(ALLOW_ALL, epochs(), apply, load)
    assert response_to(handler, request_of(new_partition("t"), 7, from_broker())).error_code == Error.NONE
    assert events == ["topics/t", "applied"]


def test_a_stale_request_reads_no_configs() -> None:
    handler = control_requests(ALLOW_ALL, epochs(), lambda *_: LeaderAndIsrResponse())
    stale = new_partition("t")
    stale.controller_epoch = 4
    assert response_to(handler, request_of(stale, 7, from_broker())).error_code == Error.STALE_CONTROLLER_EPOCH


@pytest.mark.parametrize("fails", [StoreUnavailable("gone"), TimeoutError()])
def test_without_its_configs_a_new_partition_is_not_begun(fails: Exception, caplog: pytest.LogCaptureFixture) -> None:
    async def load(entity_paths: Iterable[str]) -> None:
        raise fails

    def apply(body: Any, version: int) -> Any:
        raise AssertionError

    handler = control_requests(ALLOW_ALL, epochs(), apply, load)
    response = response_to(handler, request_of(new_partition("t"), 7, from_broker()))
    assert [e.error_code for topic in response.topics for e in topic.partition_errors] == [Error.REQUEST_TIMED_OUT]
    assert "configs of 1 new topics (t, ...) cannot be read from the metadata store" in caplog.text


def control_request(name: str, steps: int, recorded: list[str]) -> str:
    for _ in range(steps):
        recorded.append(name)
        yield_if_due()
    return name


@pytest.mark.spec("C5")
def test_a_long_request_yields_to_the_event_loop_but_not_to_the_next_request() -> None:
    async def main() -> None:
        recorded: list[str] = []
        requests = ControlRequestQueue(TaskScheduler(asyncio.get_running_loop(), slice_us=0))
        first = requests.take(lambda: control_request("first", 3, recorded))
        second = requests.take(lambda: control_request("second", 2, recorded))
        assert (recorded, first.is_done, second.is_done) == (["first"], False, False), "the first slice runs at once"
        asyncio.get_running_loop().call_soon(recorded.append, "another connection")
        assert (await as_future(first), await as_future(second)) == ("first", "second")
        assert recorded == ["first", "first", "another connection", "first", "second", "second"]

    asyncio.run(main())


def test_a_short_request_is_answered_at_once() -> None:
    async def main() -> None:
        requests = ControlRequestQueue(TaskScheduler(asyncio.get_running_loop()))
        assert requests.take(lambda: 1).result() == 1
        assert requests.take(lambda: 2).result() == 2

    asyncio.run(main())


def test_a_request_that_fails_does_not_stop_the_next() -> None:
    async def main() -> None:
        recorded: list[str] = []
        requests = ControlRequestQueue(TaskScheduler(asyncio.get_running_loop(), slice_us=0))
        first = requests.take(lambda: control_request("first", 2, recorded))
        requests.take(lambda: 1 // 0)
        last = requests.take(lambda: control_request("last", 1, recorded))
        assert (await as_future(first), await as_future(last)) == ("first", "last")
        assert requests.take(lambda: 3).result() == 3

    asyncio.run(main())


PartitionState = LeaderAndIsrRequest.LeaderAndIsrPartitionState
TopicState = LeaderAndIsrRequest.LeaderAndIsrTopicState


async def load_configs(entity_paths: Iterable[str]) -> None:
    if "topics/unread" in entity_paths:
        raise StoreUnavailable("gone")


CONFIGS = NewTopicConfigs(load_configs)


def test_topics_with_a_new_partition() -> None:
    old, new = PartitionState(partition_index=0), PartitionState(partition_index=1, is_new=True)
    grouped = [
        TopicState(topic_name="b", partition_states=[old, new]),
        TopicState(topic_name="a", partition_states=[new]),
    ]
    known = TopicState(topic_name="c", partition_states=[old])
    assert CONFIGS.topics(LeaderAndIsrRequest(topic_states=[*grouped, known])) == ["a", "b"]
    ungrouped = [PartitionState(topic_name="d", is_new=True), PartitionState(topic_name="e")]
    assert CONFIGS.topics(LeaderAndIsrRequest(ungrouped_partition_states=ungrouped)) == ["d"]
    assert CONFIGS.topics(StopReplicaRequest()) == []


@pytest.mark.parametrize(("topic", "error"), [("t", Error.NONE), ("unread", Error.REQUEST_TIMED_OUT)])
def test_a_store_that_does_not_answer_is_a_retriable_error(topic: str, error: Error) -> None:
    assert asyncio.run(CONFIGS.load([topic])) is error


def test_the_cache_applies_update_metadata() -> None:
    cache = MetadataCache()
    before = cache.image.stamp
    assert applying_metadata(cache)(UpdateMetadataRequest(), 8) == UpdateMetadataResponse()
    assert cache.image.stamp == before + 1
