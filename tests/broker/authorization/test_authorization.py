"""Helper functions over the authorizer."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.authorization.authorization import (
    allowed_names,
    may,
    may_change_records,
    may_on_cluster,
    on_internal_listener,
    operations_bit_field,
    require_group,
)
from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.security.acl import AclOperation, ResourceType
from tests.broker.handler_requests import ALLOW_ALL, acl, context


def test_names_that_may_be_touched() -> None:
    authorizer = acl(("alice", "READ", "a"), ("bob", "READ", "b"))
    found = allowed_names(authorizer, context(), AclOperation.READ, ResourceType.TOPIC, ["a", "b", "a", "c"])
    assert found == {"a"}


def test_one_topic_and_the_cluster() -> None:
    authorizer = acl(("alice", "WRITE", "t"), ("alice", "CREATE", "cluster"))
    assert may(authorizer, context(), AclOperation.DESCRIBE, "t")  # WRITE implies it
    assert not may(authorizer, context("bob"), AclOperation.WRITE, "t")
    assert may_on_cluster(authorizer, context(), AclOperation.CREATE)
    assert not may_on_cluster(authorizer, context(), AclOperation.ALTER)


def test_a_group_that_may_not_be_read() -> None:
    authorizer = acl(("alice", "READ", "group:g"))
    require_group(authorizer, context(), AclOperation.READ, "g")
    with pytest.raises(KafkaError) as rejected:
        require_group(authorizer, context("bob"), AclOperation.READ, "g")
    assert rejected.value.error is Error.GROUP_AUTHORIZATION_FAILED


@pytest.mark.parametrize(
    ("resource_type", "codes"),
    [
        (ResourceType.TOPIC, [3, 4, 5, 6, 7, 8, 10, 11]),
        (ResourceType.GROUP, [3, 6, 8, 10, 11]),
        (ResourceType.CLUSTER, [5, 7, 8, 9, 10, 11, 12]),
    ],
)
def test_without_an_authorizer_all_operations_of_the_type_are_there(
    resource_type: ResourceType, codes: list[int]
) -> None:
    assert operations_bit_field(ALLOW_ALL, context(), resource_type, "x") == sum(1 << code for code in codes)


def test_only_what_is_allowed_is_set() -> None:
    bits = operations_bit_field(acl(("alice", "READ", "t")), context(), ResourceType.TOPIC, "t")
    assert bits == 1 << AclOperation.READ | 1 << AclOperation.DESCRIBE


def test_the_audit_trail_is_the_brokers_to_write_and_to_cut() -> None:
    broker = context("broker", "REPLICATION", inter_broker=True)
    for operation in (AclOperation.WRITE, AclOperation.DELETE):
        assert may_change_records(ALLOW_ALL, broker, operation, AUDIT_TOPIC)
        assert not may_change_records(ALLOW_ALL, context("alice"), operation, AUDIT_TOPIC)
        assert may_change_records(ALLOW_ALL, context("alice"), operation, "flights")
        assert not may_change_records(acl(), context("alice"), operation, "flights")


@pytest.mark.parametrize(
    ("flags", "theirs"),
    [
        ({}, False),
        ({"inter_broker": True}, True),
        ({"control_plane": True}, True),
        ({"privileged": True}, True),
    ],
)
def test_which_listeners_are_internal(flags: dict[str, Any], theirs: bool) -> None:
    assert on_internal_listener(context(**flags)) is theirs
