"""Requests that only brokers send to the active controller: they need CLUSTER_ACTION."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.handlers.brokers.broker_to_controller import ControllerRequestHandler
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest
from signalbox.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from tests.broker.handler_requests import ALLOW_ALL, acl, from_broker, request_of
from tests.broker.handlers.running_broker import RunningBroker

ASKED = [
    (ApiKey.CONTROLLED_SHUTDOWN, ControlledShutdownRequest(broker_id=9, broker_epoch=-1), range(4)),
    (ApiKey.ALTER_PARTITION, AlterPartitionRequest(broker_id=9), range(4)),
    (ApiKey.ALLOCATE_PRODUCER_IDS, AllocateProducerIdsRequest(broker_id=9), range(1)),
]
CASES = [pytest.param(key, body, v, id=f"{key.name}-{v}") for key, body, versions in ASKED for v in versions]


def ask(running_broker: RunningBroker, key: ApiKey, body: Any, version: int, authorizer: Any) -> Any:
    handler = ControllerRequestHandler(key, running_broker.components.controller, authorizer)
    return running_broker.answer(handler, request_of(body, version, from_broker()))


@pytest.mark.parametrize(("key", "body", "version"), CASES)
def test_a_client_may_not(running_broker: RunningBroker, key: ApiKey, body: Any, version: int) -> None:
    response = ask(running_broker, key, body, version, acl(("alice", "ALTER", "cluster")))
    assert response.error_code == Error.CLUSTER_AUTHORIZATION_FAILED


@pytest.mark.parametrize(("key", "body", "version"), CASES)
def test_a_broker_that_is_not_registered(running_broker: RunningBroker, key: ApiKey, body: Any, version: int) -> None:
    response = ask(running_broker, key, body, version, acl(("alice", "CLUSTER_ACTION", "cluster")))
    assert response.error_code in (Error.BROKER_NOT_AVAILABLE, Error.STALE_BROKER_EPOCH, Error.BROKER_ID_NOT_REGISTERED)


def test_a_block_of_producer_ids(running_broker: RunningBroker) -> None:
    epoch = running_broker.components.epochs.broker_epoch
    body = AllocateProducerIdsRequest(broker_id=1, broker_epoch=epoch)
    response = ask(running_broker, ApiKey.ALLOCATE_PRODUCER_IDS, body, 0, ALLOW_ALL)
    assert (response.error_code, response.producer_id_len) == (0, 1000)
