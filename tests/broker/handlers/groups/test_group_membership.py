"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup at a real coordinator: READ on the group, errors of every version.
Responses that become complete together are sent one at a time, in order, and the event loop runs in between."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.broker.handlers.groups.group_membership import GroupMembershipHandler, ResponsePacer, client_context
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from signalbox.protocol.messages.join_group import JoinGroupRequest
from signalbox.protocol.messages.leave_group import LeaveGroupRequest
from signalbox.protocol.messages.sync_group import SyncGroupRequest
from tests.broker.handler_requests import ALLOW_ALL, acl, request_of
from tests.broker.handlers.running_broker import RunningBroker
from tests.common.scheduling.schedulers import ImmediateScheduler

pytestmark = pytest.mark.spec("D8")

CALLS = {
    JoinGroupRequest: ("join_group", range(10)),
    HeartbeatRequest: ("heartbeat", range(5)),
    LeaveGroupRequest: ("leave_group", range(6)),
    SyncGroupRequest: ("sync_group", range(6)),
}
CASES = [pytest.param(kind, v, id=f"{kind.__name__}-{v}") for kind, (_, versions) in CALLS.items() for v in versions]


def ask(running_broker: RunningBroker, body: Any, version: int, authorizer: Any = ALLOW_ALL) -> Any:
    call = getattr(running_broker.components.data.coordinator, CALLS[type(body)][0])
    return running_broker.answer(
        GroupMembershipHandler(call, authorizer, ResponsePacer(ImmediateScheduler())), request_of(body, version)
    )


@pytest.mark.parametrize(("kind", "version"), CASES)
def test_needs_read_on_the_group(running_broker: RunningBroker, kind: Any, version: int) -> None:
    response = ask(running_broker, kind(group_id="g"), version, acl(("alice", "DESCRIBE", "group:g")))
    assert response.error_code == Error.GROUP_AUTHORIZATION_FAILED


@pytest.mark.parametrize(("kind", "version"), CASES)
def test_a_group_of_another_coordinator_has_an_error_at_every_version(
    running_broker: RunningBroker, kind: Any, version: int
) -> None:
    body = kind(group_id="g", member_id="m")
    if kind is LeaveGroupRequest and version >= 3:
        body = kind(group_id="g", members=[LeaveGroupRequest.MemberIdentity(member_id="m")])
    if kind is SyncGroupRequest and version >= 5:
        body = kind(group_id="g", member_id="m", protocol_type="consumer", protocol_name="range")
    response = ask(running_broker, body, version, acl(("alice", "READ", "group:g")))
    assert response.error_code in (
        Error.NOT_COORDINATOR,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.UNKNOWN_MEMBER_ID,
        Error.INVALID_SESSION_TIMEOUT,
    )


def test_the_coordinator_gets_the_client_id_and_address() -> None:
    asked = client_context(request_of(HeartbeatRequest(), 4))
    assert (asked.client_id, asked.client_host) == ("test", "/10.0.0.7")


def awaited(pacer: ResponsePacer, recorded: list[Any], count: int) -> list[Promise[Any]]:
    """Promises; their responses or errors are appended to `recorded` when they are sent."""
    promises: list[Promise[Any]] = [Promise() for _ in range(count)]
    for promise in promises:
        paced = pacer.of(promise)
        paced.then(recorded.append)
        paced.recover(Exception, recorded.append)
    return promises


async def over(scheduler: TaskScheduler) -> None:
    await asyncio.sleep(0)
    while scheduler.waiting:  # noqa: ASYNC110 - waits for one run of the event loop
        await asyncio.sleep(0)


@pytest.mark.spec("C5")
def test_the_event_loop_runs_between_two_responses() -> None:
    async def main() -> None:
        recorded: list[Any] = []
        scheduler = TaskScheduler(asyncio.get_running_loop(), slice_us=0)
        for throttle_ms, promise in enumerate(awaited(ResponsePacer(scheduler), recorded, 3)):
            promise.complete(HeartbeatResponse(throttle_time_ms=throttle_ms))
        assert recorded == [], "not in the stack of the coordinator"
        given: list[int] = []
        for _ in range(4):
            await asyncio.sleep(0)
            given.append(len(recorded))
        await over(scheduler)
        assert given == [1, 2, 3, 3]
        assert [response.throttle_time_ms for response in recorded] == [0, 1, 2]

    asyncio.run(main())


def test_errors_keep_their_place() -> None:
    async def main() -> None:
        recorded: list[Any] = []
        scheduler = TaskScheduler(asyncio.get_running_loop())
        first, failed, fine = awaited(ResponsePacer(scheduler), recorded, 3)
        error = KafkaError(Error.NOT_COORDINATOR)
        first.complete(HeartbeatResponse(throttle_time_ms=1))
        failed.fail(error)
        fine.complete(HeartbeatResponse())
        await over(scheduler)
        assert recorded == [HeartbeatResponse(throttle_time_ms=1), error, HeartbeatResponse()]

    asyncio.run(main())


def test_it_restarts_after_a_pause() -> None:
    async def main() -> None:
        recorded: list[Any] = []
        scheduler = TaskScheduler(asyncio.get_running_loop())
        paced = ResponsePacer(scheduler)
        for _ in range(2):
            awaited(paced, recorded, 1)[0].complete(HeartbeatResponse())
            await over(scheduler)
        assert len(recorded) == 2

    asyncio.run(main())
