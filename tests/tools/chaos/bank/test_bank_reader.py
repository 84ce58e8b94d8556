"""The readers of a bank: what they get at either isolation level, and when they are at the end."""

from __future__ import annotations

from random import Random

from confluent_kafka import Producer
from tools.chaos.bank.bank_reader import BankReader
from tools.chaos.bank.transfer import TransactionId, transfer


def test_readers_at_both_isolation_levels(signalbox_bootstrap: str, topic: str) -> None:
    readers = [BankReader(signalbox_bootstrap, topic, level) for level in ("read_committed", "read_uncommitted")]
    producer = Producer({"bootstrap.servers": signalbox_bootstrap, "transactional.id": topic})
    producer.init_transactions(30)
    transfers = [transfer(TransactionId(0, number), (1, 2), Random(number)) for number in range(2)]
    for entries, end in zip(transfers, (producer.commit_transaction, producer.abort_transaction), strict=True):
        producer.begin_transaction()
        for entry in entries:
            producer.produce(topic, entry.encode(), partition=entry.partition)
        assert producer.flush(30) == 0
        end(30)
    for reader in readers:
        reader.start()
    committed, uncommitted = (reader.reading for reader in readers)
    assert readers[0].stop({1: 1, 2: 0}, 60)
    assert readers[1].stop({1: 4, 2: 2}, 60)
    assert (committed.is_committed, uncommitted.is_committed) == (True, False)
    assert [entry for _, entry in committed.rows[1]] == [transfers[0][0], transfers[0][2]]
    assert {entry for rows in uncommitted.rows.values() for _, entry in rows} == {*transfers[0], *transfers[1]}
    assert [reader.errors for reader in readers] == [[], []]


def test_a_reader_that_is_not_at_the_end(signalbox_bootstrap: str, topic: str) -> None:
    reader = BankReader(signalbox_bootstrap, topic, "read_committed")
    reader.start()
    assert not reader.stop({0: 0}, 0.1)
