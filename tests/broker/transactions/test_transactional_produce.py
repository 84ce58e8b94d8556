"""Verifications and errors of a Produce request with transactional batches."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.broker.transactions.transaction_verifier import TransactionVerifier
from signalbox.broker.transactions.transactional_produce import (
    TransactionalProduce,
    VerificationSettings,
    Verified,
    transactional_batches,
)
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.replication.produce.append import Batch
from signalbox.storage.producers.transaction_verification import ALREADY_ONGOING, SWITCHED_OFF
from tests.broker.transactions.test_transaction_verifier import RecordedChannels
from tests.replication.memory_cluster import TOPIC, MemoryCluster, batch_of
from tests.replication.memory_transactions import end_transaction, transactional_batch

pytestmark = pytest.mark.spec("D5")

P0, P1 = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)
KEY0, KEY1 = (TOPIC, 0), (TOPIC, 1)
BATCHES = {KEY0: (5, 0, 0), KEY1: (5, 0, 3)}


class Leader:
    """A broker that leads two partitions, with a coordinator that the test plays."""

    def __init__(self, folder: Path) -> None:
        self.cluster = MemoryCluster(folder, [1])
        self.cluster.create([1], partitions=2)
        self.cluster.run()
        self.channels = RecordedChannels()
        verifier = TransactionVerifier(self.channels, {"t": 7}.get)
        self.produce = TransactionalProduce(self.cluster.brokers[1].manager, verifier, VerificationSettings())

    def verified(self, version: int, errors: dict[TopicPartition, Error]) -> Verified:
        """The result when the coordinator returns these errors."""
        verification = self.produce.verify("t", version, BATCHES)
        self.channels.answer(-1, errors)
        return verification.result()

    def append(self, verified: Verified, sequence: int = 0) -> Error:
        """Appends a batch to partition 0 with its guard."""
        batch = transactional_batch(b"v", producer_id=5, sequence=sequence)
        result = self.cluster.brokers[1].manager.append(
            [(KEY0, batch)], -1, 1_000, guard_by_partition=verified.guard_by_partition
        )
        self.cluster.run()
        return Error.of(result.result()[0].error)


@pytest.fixture
def leader(tmp_path: Path) -> Leader:
    return Leader(tmp_path)


def test_the_transactional_batches_of_a_request() -> None:
    entries: list[tuple[tuple[str, int], Batch]] = [
        (KEY0, transactional_batch(b"v", producer_id=5, producer_epoch=2, sequence=7)),
        (KEY1, batch_of(b"v", producer_id=6)),
        (("other", 0), b""),
    ]
    assert transactional_batches(entries) == {KEY0: (5, 2, 7)}
    entries[1] = (KEY1, transactional_batch(b"v", producer_id=6))
    with pytest.raises(KafkaError, match="INVALID_PRODUCER_ID_MAPPING"):
        transactional_batches(entries)


def test_verified_partitions_take_the_batch_and_need_no_further_verification(leader: Leader) -> None:
    verified = leader.verified(11, {P1: Error.TRANSACTION_ABORTABLE})
    assert leader.channels.transactions(0) == [("t", 5, 0, True, [P0, P1])]
    assert list(verified.guard_by_partition) == [KEY0]
    assert [(key, error.error) for key, error in verified.errors.items()] == [(KEY1, Error.TRANSACTION_ABORTABLE)]
    assert leader.append(verified) is Error.NONE
    later = leader.produce.verify("t", 11, {KEY0: (5, 0, 1)}).result()
    assert later.guard_by_partition == {KEY0: ALREADY_ONGOING}
    assert leader.append(later, sequence=1) is Error.NONE
    assert len(leader.channels.sent) == 1


def test_a_marker_between_verification_and_append_is_noticed(leader: Leader) -> None:
    verified = leader.verified(11, {})
    end_transaction(leader.cluster, 1, 5, is_commit=False)
    assert leader.append(verified) is Error.INVALID_TXN_STATE


def test_a_marker_ends_the_open_transaction_while_another_partition_is_verified(leader: Leader) -> None:
    assert leader.append(leader.verified(11, {})) is Error.NONE
    verification = leader.produce.verify("t", 11, {KEY0: (5, 0, 1), KEY1: (5, 0, 0)})
    assert leader.channels.transactions(1) == [("t", 5, 0, True, [P1])]
    end_transaction(leader.cluster, 1, 5, is_commit=False)
    leader.channels.answer(1, {})
    assert leader.append(verification.result(), sequence=1) is Error.INVALID_TXN_STATE


@pytest.mark.parametrize(
    ("answered", "version", "error"),
    [
        (Error.TRANSACTION_ABORTABLE, 10, Error.INVALID_TXN_STATE),
        (Error.TRANSACTION_ABORTABLE, 11, Error.TRANSACTION_ABORTABLE),
        (Error.CONCURRENT_TRANSACTIONS, 11, Error.NOT_ENOUGH_REPLICAS),
        (Error.NOT_COORDINATOR, 13, Error.NOT_ENOUGH_REPLICAS),
        (Error.COORDINATOR_LOAD_IN_PROGRESS, 9, Error.NOT_ENOUGH_REPLICAS),
        (Error.PRODUCER_FENCED, 9, Error.INVALID_PRODUCER_EPOCH),
        (Error.INVALID_PRODUCER_ID_MAPPING, 9, Error.INVALID_PRODUCER_ID_MAPPING),
    ],
)
def test_errors_in_the_producers_words(leader: Leader, answered: Error, version: int, error: Error) -> None:
    verified = leader.verified(version, {P0: answered, P1: answered})
    assert verified.guard_by_partition == {}
    assert [rejection.error for rejection in verified.errors.values()] == [error, error]


@pytest.mark.parametrize(
    ("error", "kept"), [(Error.INVALID_PRODUCER_ID_MAPPING, 0), (Error.COORDINATOR_LOAD_IN_PROGRESS, 3)]
)
def test_producer_ids_that_the_coordinator_does_not_have_leave_nothing(leader: Leader, error: Error, kept: int) -> None:
    for producer_id in range(3):
        leader.produce.verify("t", 11, {KEY0: (producer_id, 0, 0)})
        leader.channels.answer(-1, {P0: error})
    log = leader.cluster.brokers[1].partition().log
    assert log is not None
    assert len(log.body.verifications) == kept


def test_a_lost_connection(leader: Leader) -> None:
    verification = leader.produce.verify("t", 12, BATCHES)
    leader.channels.sent[0][2](ConnectionError("lost"))
    [first, _] = verification.result().errors.values()
    assert first.error is Error.NOT_ENOUGH_REPLICAS
    assert "NETWORK_EXCEPTION" in first.message


def test_from_produce_12_on_partitions_are_added_when_the_previous_transaction_is_complete(leader: Leader) -> None:
    verification = leader.produce.verify("t", 12, BATCHES)
    assert leader.channels.transactions(0) == [("t", 5, 0, False, [P0, P1])]
    leader.channels.answer(0, {P0: Error.CONCURRENT_TRANSACTIONS, P1: Error.CONCURRENT_TRANSACTIONS})
    end_transaction(leader.cluster, 1, 5, is_commit=True)  # of the previous transaction: it takes the guard back
    leader.cluster.advance(20, step_ms=20)
    leader.channels.answer(1, {})
    assert leader.append(verification.result()) is Error.NONE


def test_concurrent_transactions_are_not_awaited_for_ever(leader: Leader) -> None:
    verification = leader.produce.verify("t", 12, {KEY0: (5, 0, 0)})
    for number in range(6):
        assert not verification.is_done
        leader.channels.answer(number, {P0: Error.CONCURRENT_TRANSACTIONS})
        leader.cluster.advance(20, step_ms=20)
    assert verification.result().errors[KEY0].error is Error.CONCURRENT_TRANSACTIONS
    assert len(leader.channels.sent) == 6


def test_verifications_that_are_started_several_times_leave_nothing_when_they_fail(leader: Leader) -> None:
    leader.produce.verify("t", 12, BATCHES)
    for number in range(2):
        leader.channels.answer(number, {P0: Error.CONCURRENT_TRANSACTIONS})
        leader.cluster.advance(20, step_ms=20)
    leader.channels.answer(2, dict.fromkeys([P0, P1], Error.TRANSACTION_ABORTABLE))
    for number in range(2):
        log = leader.cluster.brokers[1].partition(number).log
        assert log is not None
        assert len(log.body.verifications) == 0


def test_partitions_that_are_led_elsewhere_are_not_verified(leader: Leader) -> None:
    verification = leader.produce.verify("t", 11, {KEY0: (5, 0, 0), ("nowhere", 0): (5, 0, 0)})
    leader.channels.answer(0, {})
    verified = verification.result()
    assert list(verified.guard_by_partition) == [KEY0]
    assert verified.errors["nowhere", 0].error is Error.UNKNOWN_TOPIC_OR_PARTITION


def test_verification_can_be_switched_off_but_adding_partitions_cannot(leader: Leader) -> None:
    leader.produce.settings.is_enabled = lambda: False
    verified = leader.produce.verify("t", 11, BATCHES).result()
    assert verified.guard_by_partition == dict.fromkeys(BATCHES, SWITCHED_OFF)
    assert leader.append(verified) is Error.NONE
    assert not leader.produce.verify("t", 12, {KEY1: (5, 0, 0)}).is_done
