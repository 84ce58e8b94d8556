"""DescribeGroups, ListGroups, DeleteGroups: one result per group, and rights per group."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.handlers.groups.describe_groups import (
    DeleteGroupsHandler,
    DescribeGroupsHandler,
    ListGroupsHandler,
)
from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.delete_groups import DeleteGroupsRequest
from signalbox.protocol.messages.describe_groups import DescribeGroupsRequest
from signalbox.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from tests.broker.handler_requests import ALLOW_ALL, acl, request_of, response_to
from tests.broker.handlers.running_broker import RunningBroker

pytestmark = pytest.mark.spec("D8")


class Listing:
    """A coordinator with two groups."""

    def list_groups(self, request: Any, context: Any) -> Any:
        group = ListGroupsResponse.ListedGroup
        return Promise.of(ListGroupsResponse(groups=[group(group_id="a"), group(group_id="b")]))


@pytest.mark.parametrize("version", range(7))
def test_describe(running_broker: RunningBroker, version: int) -> None:
    handler = DescribeGroupsHandler(running_broker.components.data.coordinator, acl(("alice", "DESCRIBE", "group:a")))
    response = running_broker.answer(handler, request_of(DescribeGroupsRequest(groups=["secret", "a"]), version))
    codes = {group.group_id: group.error_code for group in response.groups}
    assert codes["secret"] == Error.GROUP_AUTHORIZATION_FAILED
    assert codes["a"] != Error.GROUP_AUTHORIZATION_FAILED
    assert len(response.groups) == 2


def test_operations_on_a_group_if_asked_for(running_broker: RunningBroker) -> None:
    handler = DescribeGroupsHandler(running_broker.components.data.coordinator, ALLOW_ALL)
    for wanted, bits in ((False, -(2**31)), (True, sum(1 << code for code in (3, 6, 8, 10, 11)))):
        body = DescribeGroupsRequest(groups=["a"], include_authorized_operations=wanted)
        [group] = running_broker.answer(handler, request_of(body, 3)).groups
        assert group.authorized_operations == bits


@pytest.mark.parametrize(
    ("authorizer", "seen"),
    [
        (ALLOW_ALL, ["a", "b"]),
        (acl(("alice", "DESCRIBE", "cluster")), ["a", "b"]),
        (acl(("alice", "READ", "group:b")), ["b"]),
        (acl(("alice", "ALTER", "group:nope")), []),
    ],
)
@pytest.mark.parametrize("version", range(6))
def test_list(authorizer: Any, seen: list[str], version: int) -> None:
    handler = ListGroupsHandler(Listing(), authorizer)  # type: ignore[arg-type]
    response = response_to(handler, request_of(ListGroupsRequest(), version))
    assert [group.group_id for group in response.groups] == seen


@pytest.mark.parametrize("version", range(3))
def test_delete(running_broker: RunningBroker, version: int) -> None:
    handler = DeleteGroupsHandler(running_broker.components.data.coordinator, acl(("alice", "DELETE", "group:a")))
    response = running_broker.answer(handler, request_of(DeleteGroupsRequest(groups_names=["a", "secret"]), version))
    codes = {result.group_id: result.error_code for result in response.results}
    assert codes["secret"] == Error.GROUP_AUTHORIZATION_FAILED
    assert codes["a"] in (Error.GROUP_ID_NOT_FOUND, Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE)
