"""The bytes of records in `__transaction_state`, written by hand from Kafka's definitions."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.common.ids import TopicPartition
from signalbox.coordinator.decision import CoordinatorRecord
from signalbox.coordinator.transaction.transaction_records import TransactionRecordSerde
from signalbox.coordinator.transaction.transaction_state import TransactionState
from signalbox.coordinator.transaction.transactional_id import Transaction

pytestmark = pytest.mark.spec("D5")
V0, V1 = TransactionRecordSerde(lambda: 0), TransactionRecordSerde(lambda: 2)
KEY = struct.pack(">hh", 0, 2) + b"id"
ONGOING = Transaction(
    producer_id=7,
    previous_producer_id=6,
    producer_epoch=3,
    timeout_ms=60_000,
    state=TransactionState.ONGOING,
    partitions=frozenset((TopicPartition("t", 1), TopicPartition("t", 0))),
    started_ms=10,
    updated_ms=20,
    client_version=2,
)


def test_version_0() -> None:
    key, value = V0.encode(CoordinatorRecord("id", ONGOING))
    partitions = struct.pack(">ih", 1, 1) + b"t" + struct.pack(">iii", 2, 0, 1)
    assert (key, value) == (KEY, struct.pack(">hqhib", 0, 7, 3, 60_000, 1) + partitions + struct.pack(">qq", 20, 10))


def test_version_1_has_the_other_fields_as_tags() -> None:
    _, value = V1.encode(CoordinatorRecord("id", ONGOING))
    partitions = b"\x02\x02t\x03" + struct.pack(">ii", 0, 1) + b"\x00"
    tags = b"\x02\x00\x08" + struct.pack(">q", 6) + b"\x02\x02" + struct.pack(">h", 2)
    assert value == struct.pack(">hqhib", 1, 7, 3, 60_000, 1) + partitions + struct.pack(">qq", 20, 10) + tags


def test_an_empty_transaction_has_no_partitions_and_a_tombstone_no_value() -> None:
    _, value = V0.encode(CoordinatorRecord("id", Transaction(producer_id=7, producer_epoch=3, timeout_ms=1)))
    assert value == struct.pack(">hqhibiqq", 0, 7, 3, 1, 0, -1, -1, -1)
    assert V0.encode(CoordinatorRecord("id", None)) == (KEY, None)
    assert V0.decode(KEY, None) == CoordinatorRecord("id", None)


def test_unknown_versions_are_ignored() -> None:
    assert V1.decode(struct.pack(">hh", 1, 2) + b"id", None) is None
    assert V1.decode(KEY, struct.pack(">h", 2)) is None


@given(
    st.builds(
        Transaction,
        producer_id=st.integers(0, 2**62),
        previous_producer_id=st.integers(-1, 2**62),
        next_producer_id=st.integers(-1, 2**62),
        producer_epoch=st.integers(0, 2**15 - 1),
        timeout_ms=st.integers(1, 2**31 - 1),
        state=st.sampled_from([s for s in TransactionState if s is not TransactionState.EMPTY]),
        partitions=st.frozensets(st.builds(TopicPartition, st.sampled_from("abc"), st.integers(0, 99))),
        started_ms=st.integers(-1, 2**60),
        updated_ms=st.integers(-1, 2**60),
        client_version=st.integers(0, 2),
    )
)
def test_version_1_keeps_everything_but_the_epoch_of_retries(transaction: Transaction) -> None:
    key, value = V1.encode(CoordinatorRecord("id", transaction))
    assert V1.decode(key, value) == CoordinatorRecord("id", transaction)
