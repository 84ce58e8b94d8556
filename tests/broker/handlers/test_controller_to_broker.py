"""LeaderAndIsr, StopReplica, UpdateMetadata: who speaks, and whether it is of today."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.control_turns import ControlTurns
from signalbox.broker.handlers.controller_to_broker import ControlRequestHandler
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from signalbox.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from signalbox.wiring.own_epochs import OwnEpochs
from tests.broker.asking import ALLOW_ALL, AtOnce, acl, answer_to, from_broker, request_of

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


def epochs() -> OwnEpochs:
    mine = OwnEpochs(1)
    mine.registered(50)
    assert mine.accept_controller_epoch(5)
    return mine


def ask(kind: Any, authorizer: Any = ALLOW_ALL, version: int | None = None, **fields: Any) -> tuple[Any, list[int]]:
    response, more, newest = KINDS[kind]
    applied: list[int] = []

    def apply(body: Any, at_version: int) -> Any:
        applied.append(at_version)
        return response()

    body = kind(**{**more, "controller_epoch": 5, **fields})
    request = request_of(body, newest if version is None else version, from_broker())
    return answer_to(ControlRequestHandler(authorizer, epochs(), ControlTurns(AtOnce()), apply), request), applied


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"broker_epoch": 50}, Error.NONE),
        ({"broker_epoch": 51}, Error.NONE),  # this broker has not yet heard of its new registration
        ({"broker_epoch": -1}, Error.NONE),
        ({"broker_epoch": 49}, Error.STALE_BROKER_EPOCH),
        ({"broker_epoch": 50, "controller_epoch": 6}, Error.NONE),
        ({"broker_epoch": 50, "controller_epoch": 4}, Error.STALE_CONTROLLER_EPOCH),
        ({"broker_epoch": 49, "controller_epoch": 4}, Error.STALE_BROKER_EPOCH),
    ],
)
def test_epochs(kind: Any, fields: dict[str, int], error: Error) -> None:
    answer, applied = ask(kind, **fields)
    assert (answer.error_code, bool(applied)) == (error, error is Error.NONE)


def test_a_refused_leader_and_isr_repeats_the_error_for_every_partition() -> None:
    answer, _ = ask(LeaderAndIsrRequest, broker_epoch=49)
    assert [e.error_code for topic in answer.topics for e in topic.partition_errors] == [Error.STALE_BROKER_EPOCH]
    answer, _ = ask(StopReplicaRequest, broker_epoch=49)
    assert answer.partition_errors == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_may_not(kind: Any) -> None:
    answer, applied = ask(kind, acl(("alice", "ALTER", "cluster")))
    assert (answer.error_code, applied) == (Error.CLUSTER_AUTHORIZATION_FAILED, [])


def test_a_newer_controller_is_remembered() -> None:
    mine = epochs()
    handler = ControlRequestHandler(ALLOW_ALL, mine, ControlTurns(AtOnce()), lambda *_: UpdateMetadataResponse())
    answer_to(handler, request_of(UpdateMetadataRequest(controller_epoch=9), 8, from_broker()))
    assert mine.controller_epoch == 9
    assert answer_to(handler, request_of(UpdateMetadataRequest(controller_epoch=8), 8, from_broker())).error_code == 11


def test_what_cannot_be_carried_out_is_answered_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    def fail(body: Any, version: int) -> Any:
        raise ZeroDivisionError

    handler = ControlRequestHandler(ALLOW_ALL, epochs(), ControlTurns(AtOnce()), fail)
    answer = answer_to(handler, request_of(StopReplicaRequest(controller_epoch=5), 4, from_broker()))
    assert answer.error_code == Error.UNKNOWN_SERVER_ERROR
    assert "ZeroDivisionError" in caplog.text
