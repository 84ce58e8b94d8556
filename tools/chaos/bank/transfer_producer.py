"""A transactional producer: one transfer after the other, whatever happens to the cluster meanwhile.

Some transfers are aborted on purpose, some are abandoned: a new producer with the same transactional id takes over, and
half of the abandoned ones try to commit after that, which must not succeed. A transaction is COMMITTED if the client
returned that, ABORTED if no commit was requested or the client aborted it, else UNKNOWN: only the readers can tell. The
accounts of a transfer are given back when its transaction is settled, that is when the client returned its result or a
new producer is initialized.
"""

from __future__ import annotations

import logging
import threading
import time
from functools import partial
from random import Random
from typing import Any

from signalbox.client.producer import ProducerSettings
from tools.chaos.bank.bank_reader import READER_SETTINGS, assign_all
from tools.chaos.bank.history import Result, Transaction
from tools.chaos.bank.own_producer import OwnProducer
from tools.chaos.bank.transfer import Accounts, TransactionId, decode_entry, transfer
from tools.chaos.clients import SETTINGS, has_lost_its_brokers, made_yielding

_TIMEOUTS_MS = (10_000, 15_000, 20_000, 30_000, 60_000)  # by producer: some end during a fault
_CALL_S = 5.0
_PAUSE_S = 0.03  # at most, before each record: transactions of several producers are open at once
_READ_AT_MOST = 500
_ENDLESS_CALL = "send_offsets_to_transaction"
_ABANDONED, _ABORTED, _WITH_OFFSET = 0.03, 0.12, 0.5  # shares of the transfers
# librdkafka prints fatal errors at every log level, and an abandoned producer that commits must get one.
_SILENT = logging.Logger("fatal errors of producers", logging.CRITICAL + 1)


class Fenced(Exception):
    """The producer can do nothing any more: another one must take over."""


class TransferProducer:
    """One client in one thread. `transactions` may be read when it has ended."""

    def __init__(self, number: int, bootstrap: str, topic: str, accounts: Accounts, seed: int) -> None:
        self.number = number
        self.is_own = number % 2 == 1  # the client of this project; others are confluent_kafka's
        self.transactions: list[Transaction] = []
        self._bootstrap, self._topic, self._accounts = bootstrap, topic, accounts
        self._random = Random(f"{seed} bank producer {number}")
        self._waits_for = "its first call"
        self._call_began = time.monotonic()
        self._failed_before = ""
        self._client: Any = None  # the last one
        self._stopping = threading.Event()
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._transfer_on, name=f"bank producer {number}", daemon=True)

    @property
    def group(self) -> str:
        """Its transactions commit offsets of this group."""
        return f"bank-{self.number}"

    @property
    def state(self) -> str:
        """For a message: the call of the client that is under way, or the last one, and why it was repeated."""
        seconds = time.monotonic() - self._call_began
        return f"transaction {len(self.transactions) - 1}, {self._waits_for} {seconds:.1f} s ago{self._failed_before}"

    @property
    def transactional_id(self) -> str:
        return f"transfers-{self.number}"

    @property
    def is_stuck_in_client(self) -> bool:
        """Whether it may be in the one call from which librdkafka does not always return in time: when the coordinator
        of a group is gone, it waits until the connection to some broker changes (librdkafka's issues 5456 and 5511)."""
        return not self.is_own and self._waits_for == _ENDLESS_CALL

    def has_lost_its_brokers(self) -> bool:
        """Whether it is its client of librdkafka that connects to no broker any more."""
        return not self.is_own and has_lost_its_brokers(self._client, self._bootstrap)

    def settle(self) -> None:
        """A new producer aborts what this one has left open. The commit of a stuck one was not requested, or its result
        is not known."""
        self._new_producer()

    def start(self) -> None:
        """Begins to transfer."""
        self._thread.start()

    def stop(self) -> None:
        """No transfer begins any more."""
        self._stopping.set()

    def wait(self, timeout_s: float) -> bool:
        """True if the thread has ended in that time: the transfer that was under way is settled, or `failure` is what
        ended it."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _transfer_on(self) -> None:
        try:
            self._run()
        except Exception as error:
            self.failure = error
            raise

    def _run(self) -> None:
        from confluent_kafka import Consumer

        settings = {**READER_SETTINGS, "bootstrap.servers": self._bootstrap, "group.id": self.group}
        reader = made_yielding(lambda: Consumer(settings))
        assign_all(reader, self._topic)
        producer = self._new_producer()
        while not self._stopping.is_set():
            accounts = self._accounts.take(self._random, 1.0)
            if accounts is None:
                continue
            before, producer = producer, self._transfer(producer, reader, accounts)
            self._accounts.give_back(accounts)
            if self.is_own and before is not producer:
                before.close()
        if self.is_own:
            producer.close()
        reader.close()

    def _transfer(self, producer: Any, reader: Any, accounts: tuple[int, int]) -> Any:
        """Settles one transfer; returns the producer for the next one."""
        transaction_id = TransactionId(self.number, len(self.transactions))
        reads = frozenset(
            decode_entry(message.value()).transaction
            for message in reader.consume(_READ_AT_MOST, 0.0)
            if message.error() is None
        )
        offset = transaction_id.number + 1 if self._random.random() < _WITH_OFFSET else None
        entries = transfer(transaction_id, accounts, self._random)
        transaction = Transaction(transaction_id, entries, reads, offset)
        self.transactions.append(transaction)
        fate = self._random.random()
        try:
            self._send(producer, reader, transaction)
            if fate < _ABANDONED:
                return self._take_over(producer, transaction)
            if fate < _ABORTED:
                self._abort(producer)
            else:
                self._commit(producer, transaction)
        except Fenced:
            return self._new_producer()
        return producer

    def _send(self, producer: Any, reader: Any, transaction: Transaction) -> None:
        """Fenced. The transaction is ABORTED if something fails here, as its commit was not requested."""
        from confluent_kafka import KafkaException, TopicPartition

        transaction.result = Result.ABORTED
        try:
            producer.begin_transaction()
            for entry in transaction.entries:
                self._stopping.wait(self._random.uniform(0, _PAUSE_S))
                producer.produce(self._topic, entry.encode(), b"%d" % entry.account, partition=entry.partition)
                producer.poll(0)
            if transaction.offset is not None:
                place = TopicPartition(self._topic, 0, transaction.offset)
                group = reader.consumer_group_metadata()
                self._until_done(partial(producer.send_offsets_to_transaction, [place], group, _CALL_S))
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise Fenced from error

    def _commit(self, producer: Any, transaction: Transaction) -> None:
        """Fenced after a fatal error: the result stays UNKNOWN."""
        from confluent_kafka import KafkaException

        transaction.result = Result.UNKNOWN
        try:
            self._until_done(partial(producer.commit_transaction, _CALL_S))
            transaction.result = Result.COMMITTED
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise Fenced from error
            self._abort(producer)
            transaction.result = Result.ABORTED

    def _abort(self, producer: Any) -> None:
        """Fenced."""
        from confluent_kafka import KafkaException

        try:
            self._until_done(partial(producer.abort_transaction, _CALL_S))
        except KafkaException as error:
            raise Fenced from error

    def _until_done(self, call: partial[None]) -> None:
        """Repeats a call whose time was over. KafkaException if it failed for good."""
        from confluent_kafka import KafkaException

        began, self._failed_before = time.monotonic(), ""
        while True:
            self._waits_for, self._call_began = call.func.__name__, time.monotonic()
            try:
                return call()
            except KafkaException as error:
                self._failed_before = f", repeated for {time.monotonic() - began:.0f} s: {error.args[0]}"
                if not error.args[0].retriable():
                    raise

    def _take_over(self, abandoned: Any, transaction: Transaction) -> Any:
        """The new producer; the transaction is ABORTED, unless the abandoned one can still commit it."""
        from confluent_kafka import KafkaException

        is_zombie = self._random.random() < 0.5
        if is_zombie:
            abandoned.flush(_CALL_S)
        producer = self._new_producer()
        if is_zombie:
            try:
                abandoned.commit_transaction(_CALL_S)
                transaction.result = Result.COMMITTED
            except KafkaException:
                pass
        return producer

    def _new_producer(self) -> Any:
        """A producer that is initialized: what the last one left is committed or aborted then."""
        from confluent_kafka import KafkaException

        while True:
            producer = self._client = self._own_producer() if self.is_own else self._confluent_producer()
            try:
                self._until_done(partial(producer.init_transactions, _CALL_S))
            except KafkaException:
                if self.is_own:
                    producer.close()
                continue
            return producer

    @property
    def _timeout_ms(self) -> int:
        return _TIMEOUTS_MS[self.number % len(_TIMEOUTS_MS)]

    def _own_producer(self) -> OwnProducer:
        settings = ProducerSettings(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=self._timeout_ms,
            delivery_timeout_ms=self._timeout_ms,
        )
        return OwnProducer(self._bootstrap, settings, f"bank-producer-{self.number}", self.group)

    def _confluent_producer(self) -> Any:
        from confluent_kafka import Producer

        settings = {
            **SETTINGS,
            "bootstrap.servers": self._bootstrap,
            "client.id": f"bank-producer-{self.number}",
            "transactional.id": self.transactional_id,
            "transaction.timeout.ms": self._timeout_ms,
            "delivery.timeout.ms": self._timeout_ms,
        }
        return made_yielding(lambda: Producer(settings, logger=_SILENT))
