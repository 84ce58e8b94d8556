"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup at a real coordinator: READ on the group, errors of every version."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.handlers.groups.group_membership import GroupMembershipHandler, client_context
from signalbox.broker.response_pacer import ResponsePacer
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.heartbeat import HeartbeatRequest
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
