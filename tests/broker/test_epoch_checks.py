"""Controller epochs and leader epochs that are higher than expected are accepted only if the store confirms them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Any

import pytest

from signalbox.broker.epoch_checks import STORE_TIMEOUT_S, EpochChecks, LocalEpochs, UnverifiedEpochs
from signalbox.common.clock import ManualClock
from signalbox.common.endpoint import SecurityProtocol
from signalbox.common.ids import TopicPartition
from signalbox.metadata.backup.stored_epochs import StoredEpochs
from signalbox.metadata.store.port import StoreUnavailable
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from signalbox.protocol.messages.stop_replica import StopReplicaRequest
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest
from signalbox.security.request_context import RequestContext
from tests.broker.handler_requests import from_broker, request_of

pytestmark = pytest.mark.spec("M3")

STORED = {TopicPartition("t", 0): 7, TopicPartition("t", 1): 2, TopicPartition("corrupt", 0): None}
HERE = {("t", 0): 5, ("t", 1): 2}


def own() -> LocalEpochs:
    epochs = LocalEpochs(1)
    epochs.registered(50)
    assert epochs.accept_controller_epoch(5)
    return epochs


class Store(StoredEpochs):
    """Controller epoch 6, and leader epochs as in `STORED`; or the error `fails`; or, with `silent`, no response."""

    def __init__(self, controller_epoch: int | None = 6) -> None:
        self.latest = controller_epoch
        self.asked: list[TopicPartition] = []
        self.fails: Exception | None = None
        self.silent = False

    async def controller_epoch(self) -> int | None:
        if self.fails is not None:
            raise self.fails
        if self.silent:
            await asyncio.get_running_loop().create_future()
        return self.latest

    async def leader_epochs(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int | None]:
        self.asked = list(partitions)
        return {each: STORED.get(each) for each in self.asked}


def checks(store: Store | None = None, clock: ManualClock | None = None) -> EpochChecks:
    return EpochChecks(own(), store or Store(), lambda *each: HERE.get(each, -1), clock or ManualClock())


def leader_and_isr(*states: tuple[str, int, int], version: int = 7, controller_epoch: int = 5) -> LeaderAndIsrRequest:
    """(topic, partition, leader epoch) each."""
    made = [
        (topic, LeaderAndIsrRequest.LeaderAndIsrPartitionState(partition_index=index, leader_epoch=epoch))
        for topic, index, epoch in states
    ]
    body = LeaderAndIsrRequest(controller_epoch=controller_epoch, broker_epoch=50)
    for topic, state in made:
        if version < 2:
            state.topic_name = topic
            body.ungrouped_partition_states.append(state)
        else:
            group = LeaderAndIsrRequest.LeaderAndIsrTopicState(topic_name=topic, partition_states=[state])
            body.topic_states.append(group)
    return body


def verified(body: Any, version: int, store: Store | None = None) -> Error:
    made = checks(store)
    return asyncio.run(made.verify(request_of(body, version, from_broker()), made.epochs_to_verify(body)))


@pytest.mark.parametrize("kind", [LeaderAndIsrRequest, UpdateMetadataRequest, StopReplicaRequest])
@pytest.mark.parametrize(
    ("controller_epoch", "broker_epoch", "error"),
    [
        (5, 50, None),
        (4, 50, None),  # stale: rejected later, when it is executed
        (9, 49, None),  # stale broker epoch
        (5, 999, None),  # broker epochs are not remembered from requests
        (6, 50, Error.NONE),
        (6, -1, Error.NONE),
        (7, 50, Error.INVALID_REQUEST),
        (1_005, 999, Error.INVALID_REQUEST),
    ],
)
def test_controller_epochs(kind: Any, controller_epoch: int, broker_epoch: int, error: Error | None) -> None:
    body = kind(controller_epoch=controller_epoch, broker_epoch=broker_epoch)
    epochs_to_verify = checks().epochs_to_verify(body)
    assert bool(epochs_to_verify) is (error is not None)
    if error is not None:
        version = {LeaderAndIsrRequest: 7, UpdateMetadataRequest: 8, StopReplicaRequest: 4}[kind]
        assert verified(body, version) is error


@pytest.mark.parametrize("version", [1, 7])
def test_leader_epochs(version: int) -> None:
    usual = leader_and_isr(("t", 0, 6), ("t", 1, 3), ("new", 0, 0), ("t", 1, 1), version=version)
    assert not checks().epochs_to_verify(usual), "the next epoch of each, a new topic, and an old one"
    later = leader_and_isr(("t", 0, 7), ("new", 0, 9), ("corrupt", 0, 9), version=version)
    assert checks().epochs_to_verify(later).leader_epochs == {("t", 0): 7, ("new", 0): 9, ("corrupt", 0): 9}
    assert verified(later, version) is Error.NONE
    forged = leader_and_isr(("t", 1, 3), ("t", 0, 8), version=version)
    store = Store()
    assert verified(forged, version, store) is Error.UNKNOWN_LEADER_EPOCH
    assert store.asked == [("t", 0)]
    assert verified(leader_and_isr(("t", 1, 3), controller_epoch=6, version=version), version) is Error.NONE


def test_a_corrupt_entry_rejects_no_request() -> None:
    assert verified(UpdateMetadataRequest(controller_epoch=1_005), 8, Store(controller_epoch=None)) is Error.NONE


def test_requests_are_rejected_while_the_store_does_not_respond(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store()
    store.fails = StoreUnavailable("no connection")
    assert verified(UpdateMetadataRequest(controller_epoch=6), 8, store) is Error.REQUEST_TIMED_OUT
    assert "rejected (api=UPDATE_METADATA, " in caplog.text
    assert "no connection" in caplog.text
    store = Store()
    store.silent = True
    monkeypatch.setattr("signalbox.broker.epoch_checks.STORE_TIMEOUT_S", STORE_TIMEOUT_S / 1_000)
    assert verified(UpdateMetadataRequest(controller_epoch=6), 8, store) is Error.REQUEST_TIMED_OUT


def test_the_log_names_the_sender_and_is_not_flooded(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    made = checks(clock=clock)
    request = request_of(UpdateMetadataRequest(controller_epoch=1_005), 8, from_broker())
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            asyncio.run(made.verify(request, UnverifiedEpochs(1_005)))
        clock.advance(60_000)
        asyncio.run(made.verify(request, UnverifiedEpochs(1_005)))
    assert len(caplog.records) == 2
    text = caplog.records[0].message
    assert "listener=REPLICATION, client address=10.0.0.7, principal=User:alice" in text
    assert "controller epoch 1005 is above the stored 6" in text


def test_a_registration_sets_a_new_epoch_and_notifies() -> None:
    epochs, epochs_seen = LocalEpochs(1), list[int]()
    assert epochs.broker_epoch == -1
    epochs.on_broker_epoch = epochs_seen.append
    epochs.registered(7)
    assert (epochs.broker_epoch, epochs_seen) == (7, [7])


def test_an_older_controller_epoch_is_not_accepted() -> None:
    epochs = LocalEpochs(1)
    assert [epochs.accept_controller_epoch(epoch) for epoch in (3, 3, 5, 4)] == [True, True, True, False]
    assert epochs.controller_epoch == 5


def test_a_source_does_not_hide_the_log_lines_of_others(caplog: pytest.LogCaptureFixture) -> None:
    made = checks()
    for address in ("10.0.0.7", "10.0.0.8"):
        who = RequestContext("c-1", "REPLICATION", SecurityProtocol.PLAINTEXT, address, b"\x0a\0\0\x07")
        request = request_of(UpdateMetadataRequest(controller_epoch=1_005), 8, who)
        asyncio.run(made.verify(request, UnverifiedEpochs(1_005)))
    assert ["address=10.0.0.7" in caplog.text, "address=10.0.0.8" in caplog.text] == [True, True]
