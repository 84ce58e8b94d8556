"""ElectLeaders at a real controller: every version, and the required rights."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.handlers.topics.elect_leaders import ElectLeadersHandler
from signalbox.controller.error_responses import reject
from signalbox.protocol.error_table import Error
from signalbox.protocol.message import Message
from signalbox.protocol.messages.elect_leaders import ElectLeadersRequest
from tests.broker.handler_requests import ALLOW_ALL, acl, request_of
from tests.broker.handlers.running_broker import RunningBroker

pytestmark = pytest.mark.spec("D3")


def wanted(*named: tuple[str, list[int]]) -> ElectLeadersRequest:
    made = ElectLeadersRequest.TopicPartitions
    topics = [made(topic=name, partitions=numbers) for name, numbers in named] if named else None
    return ElectLeadersRequest(topic_partitions=topics, timeout_ms=5000)


def ask(
    running_broker: RunningBroker, body: ElectLeadersRequest, version: int, authorizer: Any = ALLOW_ALL, **more: Any
) -> Any:
    return running_broker.answer(
        ElectLeadersHandler(running_broker.components.controller, authorizer), request_of(body, version, **more)
    )


def results(response: Any) -> dict[str, Error]:
    return {
        f"{topic.topic}-{each.partition_id}": Error.of(each.error_code)
        for topic in response.replica_election_results
        for each in topic.partition_result
    }


@pytest.mark.parametrize("version", range(3))
def test_an_answer_per_partition(running_broker: RunningBroker, version: int) -> None:
    running_broker.create_topic("elected", 2)
    response = ask(running_broker, wanted(("elected", [0, 7]), ("nope", [0])), version)
    assert response.error_code == Error.NONE
    assert results(response) == {
        "elected-0": Error.ELECTION_NOT_NEEDED,
        "elected-7": Error.UNKNOWN_TOPIC_OR_PARTITION,
        "nope-0": Error.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert results(ask(running_broker, wanted(), version)) == {}, "all are led by their heads"


@pytest.mark.parametrize("version", range(3))
def test_alter_on_the_cluster_is_needed(running_broker: RunningBroker, version: int) -> None:
    running_broker.create_topic("elected", 2)
    rejected = ask(running_broker, wanted(("elected", [0])), version, acl(("alice", "ALTER", "elected")))
    assert results(rejected) == {"elected-0": Error.CLUSTER_AUTHORIZATION_FAILED}
    assert rejected.error_code == (Error.CLUSTER_AUTHORIZATION_FAILED if version else Error.NONE)


class Resigned:
    """A controller that has just lost its claim."""

    is_active = False

    async def handle(self, api_key: int, request: Any, context: object = None) -> Message:
        return reject(api_key, request, Error.NOT_CONTROLLER)


@pytest.mark.parametrize("version", range(3))
def test_a_controller_that_resigned_meanwhile_returns_not_controller_at_every_version(
    running_broker: RunningBroker, version: int
) -> None:
    handler = ElectLeadersHandler(Resigned(), ALLOW_ALL)
    response = running_broker.answer(handler, request_of(wanted(("elected", [0])), version))
    assert results(response) == {"elected-0": Error.NOT_CONTROLLER}
    assert response.error_code == (Error.NOT_CONTROLLER if version else Error.NONE)
