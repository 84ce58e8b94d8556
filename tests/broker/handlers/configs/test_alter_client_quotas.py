"""AlterClientQuotas at a real controller: required rights, stored quotas, one result per entity."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.handlers.configs.alter_client_quotas import AlterClientQuotasHandler
from signalbox.broker.handlers.configs.describe_client_quotas import DescribeClientQuotasHandler
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from signalbox.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from tests.broker.handler_requests import ALLOW_ALL, acl, request_of
from tests.broker.handlers.running_broker import RunningBroker

RATE = "producer_byte_rate"


def entry(user: str | None, **changes: float | None) -> Any:
    """`changes` by quota; None removes."""
    made = AlterClientQuotasRequest
    ops = [made.OpData(key=key, value=value or 0.0, remove=value is None) for key, value in changes.items()]
    return made.EntryData(entity=[made.EntityData(entity_type="user", entity_name=user)], ops=ops)


def alter(
    running_broker: RunningBroker, *entries: Any, validate_only: bool = False, authorizer: Any = ALLOW_ALL
) -> list[int]:
    handler = AlterClientQuotasHandler(running_broker.components.controller, authorizer)
    asked = AlterClientQuotasRequest(entries=list(entries), validate_only=validate_only)
    return [row.error_code for row in running_broker.answer(handler, request_of(asked, 1)).entries]


def stored(running_broker: RunningBroker) -> dict[str | None, dict[str, float]]:
    handler = DescribeClientQuotasHandler(running_broker.components.context.repository, ALLOW_ALL)
    response = running_broker.answer(handler, request_of(DescribeClientQuotasRequest(components=[], strict=False), 1))
    return {row.entity[0].entity_name: {each.key: each.value for each in row.values} for row in response.entries or ()}


@pytest.mark.spec("F2")
def test_set_changed_and_removed(running_broker: RunningBroker) -> None:
    assert alter(running_broker, entry("alice", **{RATE: 1024.0}), entry(None, **{RATE: 10.0})) == [0, 0]
    assert stored(running_broker) == {"alice": {RATE: 1024.0}, None: {RATE: 10.0}}
    assert alter(running_broker, entry("alice", **{RATE: 2048.0})) == [0]
    assert stored(running_broker)["alice"] == {RATE: 2048.0}
    assert alter(running_broker, entry("alice", **{RATE: None}), entry(None, **{RATE: None})) == [0, 0]
    assert stored(running_broker) == {}


def test_validated_only_stores_nothing(running_broker: RunningBroker) -> None:
    assert alter(running_broker, entry("bob", **{RATE: 5.0}), validate_only=True) == [0]
    assert stored(running_broker) == {}


def test_an_entity_that_is_rejected_leaves_the_others_alone(running_broker: RunningBroker) -> None:
    assert alter(running_broker, entry("", **{RATE: 5.0}), entry("carl", **{RATE: 5.0})) == [Error.INVALID_REQUEST, 0]
    assert stored(running_broker) == {"carl": {RATE: 5.0}}
    alter(running_broker, entry("carl", **{RATE: None}))


def test_the_right_on_the_cluster(running_broker: RunningBroker) -> None:
    describes = acl(("alice", "DESCRIBE_CONFIGS", "cluster"))
    rejected = alter(running_broker, entry("eve", **{RATE: 5.0}), authorizer=describes)
    assert rejected == [Error.CLUSTER_AUTHORIZATION_FAILED]
    assert stored(running_broker) == {}
    assert alter(
        running_broker, entry("eve", **{RATE: None}), authorizer=acl(("alice", "ALTER_CONFIGS", "cluster"))
    ) == [0]
