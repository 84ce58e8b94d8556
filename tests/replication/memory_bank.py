"""Bank transfers on a `MemoryCluster`: transactional producers, their coordinator, readers at both isolation levels.

The coordinator is a table: a result is decided once, when every record of the transaction is acknowledged or the
producer gives up, and the markers are repeated until every partition has its own. Every transaction has a producer
epoch of its own (transaction version 2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tools.chaos.bank.history import BankHistory, Reading, Result, Transaction
from tools.chaos.bank.transfer import PARTITIONS, Accounts, Entry, TransactionId, decode_entry, transfer

from signalbox.client.aborted_transactions import READ_COMMITTED, READ_UNCOMMITTED, AbortedTransactions
from signalbox.protocol.error_table import Error
from signalbox.protocol.records.batch_header import iter_batch_headers
from signalbox.protocol.records.record_batch import decode_records
from signalbox.protocol.records.transaction_marker import TransactionMarker, encode_marker
from signalbox.storage.producers.transaction_verification import SWITCHED_OFF
from tests.replication.fault_history import FaultHistory
from tests.replication.memory_cluster import FETCH_VERSION, TOPIC, MemoryBroker, bytes_of, fetch_request, partition_data
from tests.replication.memory_transactions import transactional_batch

PRODUCERS = 5
_TRANSACTION_VERSION = 2
_MOST_STEPS = 50  # to settle all transactions on a cluster without faults


def is_done(result: Any) -> bool:
    """True if an append is acknowledged."""
    return bool(result.is_done and result.result()[0].error == Error.NONE)


@dataclass
class MemoryProducer:
    """A producer, and what its coordinator knows of its transaction. `appends` by entry, `markers` by partition: the
    results of all attempts. `commits`: the decided result, None while the transaction is open."""

    number: int
    epoch: int = 0
    transaction: Transaction | None = None
    accounts: tuple[int, int] = (0, 0)
    appends: dict[Entry, list[Any]] = field(default_factory=dict)
    markers: dict[int, list[Any]] = field(default_factory=dict)
    commits: bool | None = None

    @property
    def producer_id(self) -> int:
        return 100 + self.number

    @property
    def is_acknowledged(self) -> bool:
        return all(any(map(is_done, results)) for results in self.appends.values())


class MemoryReader:
    """Reads each partition from its leader, up to what is stable or replicated."""

    def __init__(self, name: str, isolation: int) -> None:
        self.reading = Reading(name, isolation == READ_COMMITTED)
        self._isolation = isolation
        self._positions = [0] * PARTITIONS

    def poll(self, index: int, leader: MemoryBroker) -> frozenset[TransactionId]:
        """Reads what there is; returns the transactions of the records."""
        got: set[TransactionId] = set()
        while True:
            request = fetch_request(self._positions[index], index, isolation_level=self._isolation)
            data = partition_data(leader.manager.fetches.fetch(request, FETCH_VERSION).result())
            records, aborted = bytes_of(data.records), AbortedTransactions(data.aborted_transactions or ())
            if data.error_code != Error.NONE or not records:
                return frozenset(got)
            for header in iter_batch_headers(records):
                hidden = aborted.hides(memoryview(records), header)
                if header.last_offset >= self._positions[index] and not hidden:
                    batch = records[header.position : header.position + header.size_bytes]
                    for record in decode_records(batch):
                        entry = decode_entry(record.value or b"")
                        self.reading.rows[index].append((record.offset, entry))
                        got.add(entry.transaction)
                self._positions[index] = max(header.next_offset, self._positions[index])


class BankRun(FaultHistory):
    """The actions of producers, coordinator and readers, beside the faults."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, PARTITIONS)
        self.bank = BankHistory()
        self.producers = [MemoryProducer(number) for number in range(PRODUCERS)]
        self.readers = [MemoryReader("committed", READ_COMMITTED), MemoryReader("uncommitted", READ_UNCOMMITTED)]
        self.bank.readings = [reader.reading for reader in self.readers]
        self._accounts, self._random = Accounts(), Random(1)
        self._seen: set[TransactionId] = set()

    # -- producers

    def transfer(self, number: int, _: None = None) -> None:
        """Begins a transfer, or sends the records that are not acknowledged again."""
        producer = self.producers[number]
        if producer.transaction is None:
            self._begin(producer)
        if producer.commits is None:
            for sequence, (entry, results) in enumerate(producer.appends.items()):
                before = [each for each in list(producer.appends)[:sequence] if each.partition == entry.partition]
                if not any(map(is_done, results)):
                    batch = transactional_batch(
                        entry.encode(),
                        producer_id=producer.producer_id,
                        producer_epoch=producer.epoch,
                        sequence=len(before),
                    )
                    results += self._append(entry.partition, batch)

    def _begin(self, producer: MemoryProducer) -> None:
        accounts = self._accounts.take(self._random, 0)
        assert accounts is not None, "five producers hold ten accounts at most"
        number = sum(each.transaction_id.producer == producer.number for each in self.bank.transactions)
        transaction_id = TransactionId(producer.number, number)
        entries = transfer(transaction_id, accounts, self._random)
        transaction = Transaction(transaction_id, entries, frozenset(self._seen))
        self.bank.transactions.append(transaction)
        producer.transaction, producer.accounts = transaction, accounts
        producer.appends = {entry: [] for entry in entries}

    def _append(self, index: int, batch: bytearray) -> list[Any]:
        """The results of all brokers that consider themselves the leader: clients may have old metadata."""
        results, key = [], (TOPIC, index)
        for broker in list(self.cluster.brokers.values()):
            partition = broker.manager.partition(*key)
            if partition is not None and partition.is_leader:
                append = broker.manager.append
                results.append(append([(key, bytearray(batch))], -1, 5_000, guard_by_partition={key: SWITCHED_OFF}))
                broker.iterations.end()
        return results

    # -- coordinator

    def end(self, number: int, commits: bool) -> None:
        """Decides the result: it can only be a commit if all records are acknowledged."""
        producer = self.producers[number]
        if producer.transaction is not None and producer.commits is None:
            producer.commits = commits and producer.is_acknowledged
            producer.markers = {entry.partition: [] for entry in producer.appends}
        self.send_markers()

    def send_markers(self, *_: None) -> None:
        """Sends each marker that a partition is not known to have to its leader."""
        for producer in self.producers:
            if producer.commits is None:
                continue
            marker = TransactionMarker(producer.commits, coordinator_epoch=1)
            now_ms = self.cluster.clock.now_ms()
            for index, results in producer.markers.items():
                leader = self.cluster.brokers.get(self.row(index).leader)
                if leader is not None and not any(map(is_done, results)):
                    batch = encode_marker(producer.producer_id, producer.epoch + 1, marker, now_ms)
                    markers = [((TOPIC, index), batch, _TRANSACTION_VERSION)]
                    results.append(leader.manager.append_markers(markers, 5_000))
                    leader.iterations.end()
            self._complete(producer)

    def _complete(self, producer: MemoryProducer) -> None:
        """If every partition has its marker the producer can begin the next transaction."""
        if producer.transaction is not None and all(any(map(is_done, each)) for each in producer.markers.values()):
            producer.transaction.result = Result.COMMITTED if producer.commits else Result.ABORTED
            self._accounts.give_back(producer.accounts)
            producer.transaction, producer.commits = None, None
            producer.epoch += 1

    # -- readers

    def read(self, index: int, _: None = None) -> None:
        """Both readers read one partition, if it has a leader."""
        leader = self.cluster.brokers.get(self.row(index).leader)
        if leader is not None and leader.partition(index).is_leader:
            self._seen |= self.readers[0].poll(index, leader)
            self.readers[1].poll(index, leader)

    def settle(self) -> BankHistory:
        """Ends all transactions on the restored cluster, and reads everything."""
        self.restore()
        for _ in range(_MOST_STEPS):
            for producer in self.producers:
                self.end(producer.number, commits=True)
            self.cluster.run()
            if all(producer.transaction is None for producer in self.producers):
                break
        else:
            raise AssertionError(f"not settled after {_MOST_STEPS} attempts")
        readers = [MemoryReader("", READ_COMMITTED), MemoryReader("", READ_UNCOMMITTED)]
        for index in range(PARTITIONS):
            self.read(index)
            leader = self.cluster.brokers[self.row(index).leader]
            for reader in readers:
                reader.poll(index, leader)
            stable, end = leader.partition(index).last_stable_offset, leader.partition(index).local_log().log_end_offset
            if stable != end:
                self.bank.unstable = [*self.bank.unstable, f"partition {index} is stable up to {stable} of {end}"]
        self.bank.committed, self.bank.uncommitted = (reader.reading.rows for reader in readers)
        return self.bank
