"""AlterPartitionReassignments and ListPartitionReassignments at a real controller: every version, required rights."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.handlers.topics.partition_reassignments import PartitionReassignmentsHandler
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from signalbox.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from tests.broker.handler_requests import ALLOW_ALL, acl, request_of
from tests.broker.handlers.running_broker import RunningBroker

pytestmark = pytest.mark.spec("D3")

ALTER, LIST = ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.LIST_PARTITION_REASSIGNMENTS


def ask(running_broker: RunningBroker, key: ApiKey, body: Any, version: int, authorizer: Any = ALLOW_ALL) -> Any:
    return running_broker.answer(
        PartitionReassignmentsHandler(key, running_broker.components.controller, authorizer), request_of(body, version)
    )


def wanted(*replicas: list[int] | None) -> AlterPartitionReassignmentsRequest:
    made = AlterPartitionReassignmentsRequest
    partitions = [made.ReassignablePartition(partition_index=n, replicas=each) for n, each in enumerate(replicas)]
    return made(topics=[made.ReassignableTopic(name="moved", partitions=partitions)])


def errors(response: Any) -> list[Error]:
    return [Error.of(each.error_code) for topic in response.responses for each in topic.partitions]


@pytest.mark.parametrize("version", range(2))
def test_an_answer_per_partition(running_broker: RunningBroker, version: int) -> None:
    running_broker.create_topic("moved", 3)
    response = ask(running_broker, ALTER, wanted([1], None, [1, 9], [1]), version)
    assert (response.error_code, response.error_message) == (Error.NONE, None)
    assert errors(response) == [
        Error.NONE,
        Error.NO_REASSIGNMENT_IN_PROGRESS,
        Error.INVALID_REPLICA_ASSIGNMENT,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    listed = ask(running_broker, LIST, ListPartitionReassignmentsRequest(topics=None), 0)
    assert (listed.error_code, listed.topics) == (Error.NONE, [])


@pytest.mark.parametrize("version", range(2))
def test_alter_and_describe_on_the_cluster_are_needed(running_broker: RunningBroker, version: int) -> None:
    reader, writer, creator = (acl(("alice", each, "cluster")) for each in ("DESCRIBE", "ALTER", "CREATE"))
    rejected = ask(running_broker, ALTER, wanted([1]), version, reader)
    assert [rejected.error_code, *errors(rejected)] == [Error.CLUSTER_AUTHORIZATION_FAILED] * 2
    assert ask(running_broker, ALTER, wanted([1]), version, writer).error_code == Error.NONE
    asked = ListPartitionReassignmentsRequest(topics=None)
    assert ask(running_broker, LIST, asked, 0, reader).error_code == Error.NONE
    # ALTER implies DESCRIBE.
    assert ask(running_broker, LIST, asked, 0, writer).error_code == Error.NONE
    assert ask(running_broker, LIST, asked, 0, creator).error_code == Error.CLUSTER_AUTHORIZATION_FAILED
