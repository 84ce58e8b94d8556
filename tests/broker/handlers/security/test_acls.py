"""ACLs at a real controller: required rights, SECURITY_DISABLED without an authorizer, and the effect of a change."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from signalbox.broker.handlers.security.acls import AlterAclsHandler, DescribeAclsHandler
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.metadata.acl_repository import AclRepository
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_acls import CreateAclsRequest
from signalbox.protocol.messages.delete_acls import DeleteAclsRequest
from signalbox.protocol.messages.describe_acls import DescribeAclsRequest
from signalbox.security.acl import (
    AccessControlEntry,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from signalbox.security.acl_view import AclIndex
from signalbox.testing.cluster import Cluster
from tests.broker.handler_requests import ALLOW_ALL, acl, context, handled, request_of
from tests.broker.handlers.running_broker import RunningBroker
from tests.common.scheduling.schedulers import ImmediateScheduler

OPEN: dict[str, Any] = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


@pytest.fixture(scope="module")
def guarded() -> Iterator[RunningBroker]:
    """A broker with an ACL authorizer; ANONYMOUS is a super user."""
    overrides = {
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "super.users": "User:ANONYMOUS;User:broker-1",
    }
    with Cluster(brokers=1, overrides=overrides) as cluster:
        yield RunningBroker(cluster)


def creation(name: str, user: str = "alice", operation: int = 4, **more: Any) -> Any:
    fields = {"resource_type": 2, "principal": f"User:{user}", "host": "*", "permission_type": 3, **more}
    return CreateAclsRequest.AclCreation(resource_name=name, operation=operation, **fields)


def create(
    running_broker: RunningBroker, *creations: Any, authorizer: Any = ALLOW_ALL, keeps_acls: bool = True
) -> list[Any]:
    handler = AlterAclsHandler(
        ApiKey.CREATE_ACLS, running_broker.components.controller, authorizer, keeps_acls=keeps_acls
    )
    return list(running_broker.answer(handler, request_of(CreateAclsRequest(creations=list(creations)), 3)).results)


def delete(running_broker: RunningBroker, authorizer: Any = ALLOW_ALL, keeps_acls: bool = True, **fields: Any) -> Any:
    handler = AlterAclsHandler(
        ApiKey.DELETE_ACLS, running_broker.components.controller, authorizer, keeps_acls=keeps_acls
    )
    asked = DeleteAclsRequest.DeleteAclsFilter(**{**OPEN, **fields})
    [result] = running_broker.answer(handler, request_of(DeleteAclsRequest(filters=[asked]), 3)).filter_results
    return result


def describe(running_broker: RunningBroker, authorizer: Any = ALLOW_ALL, version: int = 3, **fields: Any) -> Any:
    handler = DescribeAclsHandler(running_broker.components.context.acls, authorizer, ImmediateScheduler())
    return running_broker.answer(handler, request_of(DescribeAclsRequest(**{**OPEN, **fields}), version))


def test_many_acls_are_described_in_slices() -> None:
    allow = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW)
    patterns = [ResourcePattern(ResourceType.TOPIC, f"t{number}", PatternType.LITERAL) for number in range(20)]

    class Acls(AclRepository):
        def __init__(self) -> None:
            """Without a store."""

        async def current(self) -> AclIndex:
            return AclIndex().with_changes(dict.fromkeys(patterns, (allow,)))

    async def main() -> tuple[int, int]:
        scheduler = TaskScheduler(asyncio.get_running_loop(), slice_us=0)
        response: Any = await handled(
            DescribeAclsHandler(Acls(), ALLOW_ALL, scheduler), request_of(DescribeAclsRequest(**OPEN), 3)
        )
        return len(response.resources), scheduler.slices

    described, slices = asyncio.run(main())
    assert described == 20
    assert slices > 20


@pytest.mark.parametrize("version", [1, 2, 3])
def test_create_describe_and_delete(guarded: RunningBroker, version: int) -> None:
    name = f"made-{version}"
    assert [row.error_code for row in create(guarded, creation(name), creation(name, "bob"))] == [0, 0]
    described = describe(guarded, resource_name_filter=name, version=version)
    [resource] = described.resources
    assert (described.error_code, resource.resource_type, resource.resource_name, resource.pattern_type) == (
        0,
        2,
        name,
        3,
    )
    assert [entry.principal for entry in resource.acls] == ["User:alice", "User:bob"]
    gone = delete(guarded, resource_name_filter=name, principal_filter="User:alice")
    assert [entry.principal for entry in gone.matching_acls] == ["User:alice"]
    [resource] = describe(guarded, resource_name_filter=name).resources
    assert [entry.principal for entry in resource.acls] == ["User:bob"]


@pytest.mark.spec("F1")
def test_they_take_hold(guarded: RunningBroker) -> None:
    authorizer = guarded.components.context.security.authorizer

    def allowed() -> bool:
        describe(guarded)  # returns when this broker has applied all stored ACLs
        return authorizer.authorize(context("carol"), AclOperation.WRITE, ResourceType.TOPIC, "held")

    assert not allowed()
    stamp = authorizer.stamp
    create(guarded, creation("held", "carol"))
    assert allowed()
    assert authorizer.stamp > stamp
    stamp = authorizer.stamp
    delete(guarded, resource_name_filter="held")
    assert not allowed()
    assert authorizer.stamp > stamp


def test_each_creation_has_its_own_error(guarded: RunningBroker) -> None:
    rows = create(guarded, creation(""), creation("own-error"), creation("x", resource_type=4))
    assert [row.error_code for row in rows] == [Error.INVALID_REQUEST, 0, Error.INVALID_REQUEST]


def test_a_filter_with_an_unknown_code(guarded: RunningBroker) -> None:
    assert describe(guarded, operation=99).error_code == Error.INVALID_REQUEST
    assert delete(guarded, operation=99).error_code == Error.INVALID_REQUEST


def test_the_rights_on_the_cluster(guarded: RunningBroker) -> None:
    """DESCRIBE to read, ALTER to change."""
    describes, alters = acl(("alice", "DESCRIBE", "cluster")), acl(("alice", "ALTER", "cluster"))
    assert describe(guarded, describes).error_code == describe(guarded, alters).error_code == 0
    assert describe(guarded, acl(("bob", "DESCRIBE", "cluster"))).error_code == Error.CLUSTER_AUTHORIZATION_FAILED
    rejected = create(guarded, creation("r1"), creation("r2"), authorizer=describes)
    assert [row.error_code for row in rejected] == [Error.CLUSTER_AUTHORIZATION_FAILED] * 2
    assert [row.error_code for row in create(guarded, creation("r3"), authorizer=alters)] == [0]
    assert delete(guarded, describes).error_code == Error.CLUSTER_AUTHORIZATION_FAILED
    assert delete(guarded, alters, resource_name_filter="r3").error_code == 0


def test_acls_are_rejected_without_an_authorizer(running_broker: RunningBroker) -> None:
    """The broker of this package's fixture has no authorizer."""
    assert running_broker.components.context.acls is None
    described = describe(running_broker)
    assert (described.error_code, described.resources) == (Error.SECURITY_DISABLED, [])
    assert "authorizer.class.name" in described.error_message
    [made] = create(running_broker, creation("t"), keeps_acls=False)
    assert made.error_code == Error.SECURITY_DISABLED
    assert delete(running_broker, keeps_acls=False).error_code == Error.SECURITY_DISABLED
