"""A transaction shard on a manual clock: a test takes decisions, and commits them or lets their write fail."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from signalbox.common.clock import ManualClock
from signalbox.common.ids import TopicPartition
from signalbox.coordinator.config_rows import TransactionSettings
from signalbox.coordinator.decision import Decision
from signalbox.coordinator.transaction.end_transaction import ProducerIdNeeded
from signalbox.coordinator.transaction.transaction_shard import TransactionShard
from signalbox.coordinator.transaction.transaction_state import TransactionState
from signalbox.coordinator.transaction.transactional_id import Transaction, TransactionalId
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.end_txn import EndTxnRequest
from signalbox.protocol.messages.init_producer_id import InitProducerIdRequest

NAME = "orders"
TIMEOUT_MS = 60_000
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


class RecordingTimer:
    """Keeps the deadlines; `expire` runs one."""

    def __init__(self) -> None:
        self.deadlines: dict[Hashable, Callable[[], Decision[None]]] = {}

    def schedule(self, key: Hashable, delay_ms: int, decide: Callable[[], Decision[None]]) -> None:
        self.deadlines[key] = decide

    def cancel(self, key: Hashable) -> None:
        self.deadlines.pop(key, None)

    def expire(self) -> Decision[None]:
        _, decide = self.deadlines.popitem()
        return decide()


class ShardBench:
    def __init__(self, level: int = 2) -> None:
        self.clock = ManualClock()
        self.timer = RecordingTimer()
        self.level = level
        self.markers: list[Transaction] = []
        self.producer_ids = 100
        self.shard = self.new_shard()

    def new_shard(self) -> TransactionShard:
        return TransactionShard(self.timer, self.clock, TransactionSettings(), lambda: self.level, self._request)

    def _request(self, entry: TransactionalId) -> None:
        self.markers.append(entry.current)

    @property
    def entry(self) -> TransactionalId:
        entry = self.shard.ids.get(NAME)
        assert entry is not None
        return entry

    @property
    def current(self) -> Transaction:
        return self.entry.current

    def holds(self, **fields: Any) -> Transaction:
        """Replay a transaction with these fields; by default an empty one of producer 7, epoch 3."""
        base: dict[str, Any] = {"producer_id": 7, "producer_epoch": 3, "timeout_ms": TIMEOUT_MS}
        if fields.get("state") not in (None, TransactionState.EMPTY):
            base |= {"started_ms": self.clock.now_ms(), "partitions": frozenset((P0,))}
        transaction = Transaction(**base | {"updated_ms": self.clock.now_ms()} | fields)
        self.shard.ids.replay(NAME, transaction)
        return transaction

    def commit(self, decision: Decision[Any]) -> Any:
        for record in decision.records:
            self.shard.replay(record)
        for effect in decision.effects:
            effect()
        return decision.response

    def init(self, timeout_ms: int = TIMEOUT_MS, producer: tuple[int, int] = (-1, -1)) -> Decision[Any]:
        request = InitProducerIdRequest(
            transactional_id=NAME,
            transaction_timeout_ms=timeout_ms,
            producer_id=producer[0],
            producer_epoch=producer[1],
        )
        return self.with_producer_id(lambda new: self.shard.init_producer_id.init(request, new))

    def end(self, committed: bool, producer: tuple[int, int] = (7, 3), version: int = 2) -> Decision[Any]:
        request = EndTxnRequest(
            transactional_id=NAME, producer_id=producer[0], producer_epoch=producer[1], committed=committed
        )
        return self.with_producer_id(lambda new: self.shard.end_transaction.end(request, version, new))

    def timed_out(self) -> list[Decision[None]]:
        """The aborts of transactions that have timed out, with producer ids from 101 on."""
        aborts: list[Decision[None]] = []

        def abort(name: str) -> None:
            aborts.append(self.with_producer_id(lambda new: self.shard.expiry.abort(name, new)))

        return written(self.shard.expiry.abort_timed_out(abort)) + aborts

    def with_producer_id(self, decide: Callable[[int], Decision[Any]]) -> Decision[Any]:
        try:
            return decide(-1)
        except ProducerIdNeeded:
            self.producer_ids += 1
            return decide(self.producer_ids)

    def add(self, *partitions: TopicPartition, producer: tuple[int, int] = (7, 3), version: int = 2) -> Decision[None]:
        return self.shard.add_partitions.add(NAME, producer, partitions, version)


def fail(decision: Decision[Any], error: Error = Error.NOT_ENOUGH_REPLICAS) -> None:
    """The write of the decision fails; after a timeout its result is open."""
    if error is not Error.REQUEST_TIMED_OUT and decision.on_concluded is not None:
        decision.on_concluded()
    if decision.on_failure is not None:
        decision.on_failure(error)


def written(decisions: Iterable[Decision[None]]) -> list[Decision[None]]:
    """The decisions that write something."""
    return [decision for decision in decisions if decision.records]


def error_of(call: Callable[[], object]) -> Error:
    """The error that the decision raises; NONE if it raises none."""
    try:
        call()
    except KafkaError as error:
        return error.error
    return Error.NONE
