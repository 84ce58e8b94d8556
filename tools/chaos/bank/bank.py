"""The bank of a run: its topic and clients, and the history of what they did."""

from __future__ import annotations

import time
from collections.abc import Iterator

from signalbox.client.admin_apis.feature_admin import FeatureUpdate
from signalbox.client.failures import ClientFailure
from signalbox.client.sync.sync_client import SyncClient
from signalbox.protocol.error_table import KafkaError
from tools.chaos.bank.bank_reader import READER_SETTINGS, BankReader
from tools.chaos.bank.history import BankHistory
from tools.chaos.bank.transfer import PARTITIONS, Accounts, decode_entry
from tools.chaos.bank.transfer_producer import TransferProducer
from tools.chaos.clients import LOST
from tools.chaos.group import read_to_end

TOPIC = "bank"
PRODUCERS = 5
LEVELS = ("read_committed", "read_uncommitted")
COMPACTED = frozenset({"__transaction_state"})
OVERRIDES = {
    "transaction.state.log.num.partitions": "10",
    "transaction.state.log.segment.bytes": str(1 << 16),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "2000",
    "log.cleaner.backoff.ms": "2000",
}
"""The coordinators' log is compacted several times in a run."""
_CALL_S = 30.0


def finalize_transaction_version(bootstrap: str, level: int) -> None:
    """Finalizes `transaction.version`: clients that know KIP-890 use level 2. KafkaError."""
    with SyncClient.of(bootstrap) as client:
        results = client.call(client.admin.update_features, {"transaction.version": FeatureUpdate(level)})
    results["transaction.version"].raise_for_error()


class Bank:
    """`violations`: what is wrong besides what the history shows. `transaction_version`: 1 or 2, by the seed."""

    def __init__(self, bootstrap: str, replicas: int, seed: int) -> None:
        from confluent_kafka.admin import AdminClient
        from confluent_kafka.cimpl import NewTopic

        self.violations: list[str] = []
        self._bootstrap = bootstrap
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
        config = {"min.insync.replicas": str(replicas - 1), "segment.bytes": str(1 << 20)}
        new = NewTopic(TOPIC, PARTITIONS, replication_factor=replicas, config=config)
        self._admin.create_topics([new])[TOPIC].result(_CALL_S)
        self.transaction_version = 1 + seed % 2
        finalize_transaction_version(bootstrap, self.transaction_version)
        accounts = Accounts()
        self._producers = [TransferProducer(each, bootstrap, TOPIC, accounts, seed) for each in range(PRODUCERS)]
        self._readers = [BankReader(bootstrap, TOPIC, level) for level in LEVELS]

    def start(self) -> None:
        """Starts readers and producers."""
        for reader in self._readers:
            reader.start()
        for producer in self._producers:
            producer.start()

    @property
    def transfers(self) -> int:
        """How many were begun."""
        return sum(len(producer.transactions) for producer in self._producers)

    def stop(self, timeout_s: float) -> None:
        """Ends the transfers; each one is settled, or it is a violation. If a client is stuck a new
        producer takes over."""
        deadline = time.monotonic() + timeout_s
        for producer in self._producers:
            producer.stop()
        for producer in self._producers:
            if producer.wait(max(0.0, deadline - time.monotonic())):
                if producer.failure is not None:
                    self.violations.append(
                        f"bank: producer {producer.number} ended with {producer.failure!r}: {producer.state}"
                    )
                continue
            if producer.is_stuck_in_client and timeout_s > 0:
                producer.settle()
            else:
                lost = f"; {LOST}" if timeout_s > 0 and producer.has_lost_its_brokers() else ""
                self.violations.append(
                    f"bank: producer {producer.number} has not settled its transfer: {producer.state}{lost}"
                    f"; its coordinator has {self._described(producer.transactional_id)}"
                )

    def _described(self, transactional_id: str) -> str:
        """What DescribeTransactions says of it, or why it says nothing."""
        try:
            with SyncClient.of(self._bootstrap) as client:
                return str(client.call(client.admin.describe_transactions, [transactional_id])[transactional_id])
        except (KafkaError, ClientFailure) as error:
            return f"no description: {error}"

    def history(self, timeout_s: float) -> BankHistory:
        """Reads everything when the transfers are settled, and ends the readers. TimeoutError."""
        from confluent_kafka import KafkaException

        try:
            return self._read(timeout_s)
        except KafkaException as error:
            raise TimeoutError(f"the bank could not be read to its end: {error}") from error

    def _read(self, timeout_s: float) -> BankHistory:
        committed, uncommitted = (
            read_to_end(self._bootstrap, TOPIC, PARTITIONS, timeout_s, decode_entry, level) for level in LEVELS
        )
        for reader, places in zip(self._readers, (committed, uncommitted), strict=True):
            if not reader.stop({partition: rows[-1][0] for partition, rows in places.items()}, timeout_s):
                self.violations.append(f"bank: {reader.reading.name} did not get to the end")
            self.violations += reader.errors
        return BankHistory(
            transactions=[each for producer in self._producers for each in producer.transactions],
            readings=[reader.reading for reader in self._readers],
            committed=committed,
            uncommitted=uncommitted,
            group_offsets={producer.number: self._group_offset(producer.group) for producer in self._producers},
            unstable=list(self._unstable()),
        )

    def _group_offset(self, group: str) -> int | None:
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer({**READER_SETTINGS, "bootstrap.servers": self._bootstrap, "group.id": group})
        try:
            (place,) = consumer.committed([TopicPartition(TOPIC, 0)], _CALL_S)
        finally:
            consumer.close()
        return None if place.offset < 0 else int(place.offset)

    def _unstable(self) -> Iterator[str]:
        from confluent_kafka import IsolationLevel, TopicPartition
        from confluent_kafka.admin import OffsetSpec

        request = {TopicPartition(TOPIC, partition): OffsetSpec.latest() for partition in range(PARTITIONS)}
        stable, ends = (
            {place.partition: future.result(_CALL_S).offset for place, future in answers.items()}
            for answers in (
                self._admin.list_offsets(request, isolation_level=level, request_timeout=_CALL_S)
                for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
            )
        )
        for partition, end in sorted(ends.items()):
            if stable[partition] != end:
                yield f"partition {partition} is stable up to {stable[partition]} of {end}"
