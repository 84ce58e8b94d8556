"""The manager of transactions over a model of the brokers, with lost requests, lost responses and errors in any order.

A story is named by its seed. At its end all faults stop, and the brokers must show exactly the transactions whose
commit was reported, each value once and in order, and the offsets of the last one.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

import pytest

from signalbox.client.admin_apis.group_admin import CommittedOffset
from signalbox.client.connection.node import Address
from signalbox.client.failures import ConnectionLost, DeadlinePassed
from signalbox.client.rejections import ProducerFenced, rejection_of
from signalbox.client.transactions.transaction_manager import TransactionManager
from signalbox.client.transactions.transaction_reactions import Step
from signalbox.client.transactions.transaction_request import (
    ConsumerGroupMetadata,
    TransactionRequest,
    TransactionResponse,
)
from signalbox.client.transactions.transaction_state import FAILED, TransactionState
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error
from tests.client.transactions.model_broker import ModelBroker

_S = TransactionState
PARTITIONS = [TopicPartition("t", index) for index in range(3)]
INPUT = TopicPartition("in", 0)
GROUP = ConsumerGroupMetadata("g", 1, "m")
LOST = ConnectionLost(Address("h", 1), "cut")
PASSING = [
    Error.NOT_COORDINATOR,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.CONCURRENT_TRANSACTIONS,
]


@dataclass
class Batch:
    value: int
    sent: bool = False
    maybe_appended: bool = False


@dataclass
class Story:
    random: random.Random
    broker: ModelBroker
    faults: float = 0.4
    manager: TransactionManager = field(default_factory=TransactionManager)
    queues: dict[TopicPartition, deque[Batch]] = field(default_factory=lambda: {row: deque() for row in PARTITIONS})
    next_value: int = 0
    ended: int = 0
    contents: list[tuple[TopicPartition, int]] = field(default_factory=list)
    offset: int | None = None
    promised: list[tuple[TopicPartition, int]] = field(default_factory=list)
    promised_offset: int | None = None
    committing: bool = False
    commits: int = 0

    @property
    def batches(self) -> int:
        return sum(map(len, self.queues.values()))

    def step(self) -> None:
        self.random.choice([self.application, self.request, self.request, self.produce, self.produce])()
        self.drop()
        self.note_end()

    def application(self) -> None:
        state = self.manager.state
        if state is _S.READY:
            self.manager.begin()
            self.contents, self.offset, self.committing = [], None, False
        elif state is _S.ABORTABLE_ERROR:
            self.committing = False
            self.manager.abort()
        elif state is _S.IN_TRANSACTION:
            kind = self.random.random()
            if kind < 0.6:
                self.queue(self.random.choice(PARTITIONS))
            elif kind < 0.75:
                self.next_value += 1
                self.offset = self.next_value
                self.manager.add_offsets({INPUT: CommittedOffset(self.offset, -1, None)}, GROUP)
            elif kind < 0.9:
                self.committing = True
                self.manager.commit()
            else:
                self.manager.abort()
        elif state is _S.COMMITTING and self.manager.can_abort and self.random.random() < 0.1:
            self.committing = False
            self.manager.abort()

    def queue(self, partition: TopicPartition) -> None:
        self.next_value += 1
        self.manager.add_partition(partition)
        self.queues[partition].append(Batch(self.next_value))
        self.contents.append((partition, self.next_value))

    def request(self) -> None:
        request = self.manager.next_request(self.batches)
        if request is None:
            return
        assert self.manager.state is not _S.FATAL_ERROR
        assert request.step is not Step.COMMIT or not self.batches
        fate = self.random.random()
        if fate > self.faults:
            self.manager.answered(self.broker.execute(request))
        elif fate < self.faults / 4:
            self.manager.lost(LOST, maybe_executed=self.random.random() < 0.7)
        elif fate < self.faults / 2:
            self.broker.execute(request)
            self.manager.lost(LOST, maybe_executed=True)
        elif request.step is Step.ADD_PARTITIONS and fate < self.faults * 0.55:
            self.manager.answered(TransactionResponse(error=Error.TOPIC_AUTHORIZATION_FAILED))
        elif request.step is Step.COMMIT_OFFSETS and fate < self.faults * 0.55:
            self.manager.answered(TransactionResponse(error=Error.ILLEGAL_GENERATION))
        else:
            self.manager.answered(TransactionResponse(error=self.random.choice(PASSING)))

    def produce(self) -> None:
        ready = [
            (partition, queue)
            for partition, queue in self.queues.items()
            if queue and self.manager.may_send(partition, again=queue[0].sent)
        ]
        if not ready or self.manager.identity is None:
            return
        partition, queue = self.random.choice(ready)
        batch, fate = queue[0], self.random.random()
        batch.sent = True
        self.manager.batch_sent()
        if fate < self.faults / 4:
            batch.maybe_appended = True
        elif fate < self.faults / 2:
            self.broker.produce(partition, batch.value, self.manager.identity.producer_epoch)
            batch.maybe_appended = True
        elif fate < self.faults * 0.55:
            queue.popleft()
            self.manager.batch_failed(DeadlinePassed("the delivery timeout"))
        else:
            error = self.broker.produce(partition, batch.value, self.manager.identity.producer_epoch)
            queue.popleft()
            if error:
                self.manager.batch_failed(rejection_of(error))

    def drop(self) -> None:
        if self.manager.drops_batches:
            for partition, queue in self.queues.items():
                fatal = self.manager.state is _S.FATAL_ERROR
                self.queues[partition] = deque(batch for batch in queue if batch.sent and not fatal)

    def note_end(self) -> None:
        if self.manager.ended == self.ended:
            return
        self.ended += 1
        assert self.manager.ended == self.ended
        assert not self.batches
        if self.committing:
            self.commits += 1
            self.promised += self.contents
            self.promised_offset = self.offset if self.offset is not None else self.promised_offset
            self.committing = False
        assert sorted(self.broker.visible) == sorted(self.promised)

    def settle(self) -> None:
        """Without faults: end what is open."""
        self.faults = 0.0
        for _ in range(200):
            self.drop()
            if self.manager.state is _S.IN_TRANSACTION:
                self.committing = True
                self.manager.commit()
            elif self.manager.state is _S.ABORTABLE_ERROR:
                self.committing = False
                self.manager.abort()
            self.produce()
            self.request()
            self.note_end()
        assert self.manager.state is _S.READY


def story(seed: int, version: int) -> Story:
    made = Story(random.Random(seed), ModelBroker(version))
    made.manager.initialize(version)
    for _ in range(400):
        made.step()
    made.settle()
    return made


@pytest.mark.spec("R10")
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("seed", range(60))
def test_what_was_committed_is_there_once_and_nothing_else(seed: int, version: int) -> None:
    played = story(seed, version)
    for partition in PARTITIONS:
        values = [value for row, value in played.broker.visible if row == partition]
        assert values == [value for row, value in played.promised if row == partition]
    assert played.broker.committed_offsets.get(INPUT) == played.promised_offset
    assert played.commits


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("seed", range(20))
def test_a_fenced_producer_sends_nothing_more(seed: int, version: int) -> None:
    played = Story(random.Random(seed), ModelBroker(version))
    played.manager.initialize(version)
    for _ in range(100):
        played.step()
    played.broker.execute(_take_over())
    played.broker.execute(_take_over())
    fenced_at, visible = played.broker.epoch, list(played.broker.visible)
    played.faults = 0.2
    for _ in range(2_000):
        _step_or_stop(played)
    assert played.manager.state in FAILED
    assert isinstance(played.manager.failure, ProducerFenced)
    assert played.manager.next_request(0) is None
    assert not any(played.manager.may_send(row, again=again) for row in PARTITIONS for again in (False, True))
    assert (played.broker.epoch, played.broker.visible) == (fenced_at, visible)
    assert not played.broker.log


def _step_or_stop(played: Story) -> None:
    played.random.choice([played.application, played.request, played.produce])()
    played.drop()


def _take_over() -> TransactionRequest:
    return TransactionRequest(step=Step.INIT, node_id=1, identity=None)
