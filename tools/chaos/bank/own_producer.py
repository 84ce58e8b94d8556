"""The producer of signalbox.client with the methods and the exceptions of confluent_kafka's.

It uses transaction version 2 (KIP-890) where that is finalized, which librdkafka does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from signalbox.client.client_settings import ClientSettings
from signalbox.client.failures import ClientFailure, DeadlinePassed
from signalbox.client.producer import ProducerSettings
from signalbox.client.sync.sync_client import SyncClient
from signalbox.client.transactions.transaction_request import ConsumerGroupMetadata
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error, KafkaError


class OwnProducer:
    """A client with one producer. Failed calls raise KafkaException: retriable if the time was over, else the
    transaction must be aborted; a fatal failure is raised by the abort again. `group`: the group of its offsets."""

    def __init__(self, bootstrap: str, settings: ProducerSettings, client_id: str, group: str) -> None:
        self._client = SyncClient(ClientSettings.of(bootstrap, client_id=client_id))
        self._producer = self._client.producer(settings)
        self._group = ConsumerGroupMetadata(group)

    def init_transactions(self, timeout_s: float) -> None:
        self._call(self._producer.init_transactions, timeout_ms=timeout_s * 1000)

    def begin_transaction(self) -> None:
        self._call(self._producer.begin_transaction)

    def produce(self, topic: str, value: bytes, key: bytes, *, partition: int) -> None:
        """The commit fails if the record is not acknowledged."""
        self._call(self._producer.send, topic, value, key, partition=partition)

    def poll(self, timeout_s: float) -> None:
        """Does nothing: the client has a thread."""

    def send_offsets_to_transaction(self, places: Sequence[Any], _group: Any, timeout_s: float) -> None:
        """`places` are confluent_kafka's."""
        offsets = {TopicPartition(place.topic, place.partition): place.offset for place in places}
        self._call(self._producer.send_offsets_to_transaction, offsets, self._group, timeout_ms=timeout_s * 1000)

    def commit_transaction(self, timeout_s: float) -> None:
        self._call(self._producer.commit_transaction, timeout_ms=timeout_s * 1000)

    def abort_transaction(self, timeout_s: float) -> None:
        self._call(self._producer.abort_transaction, timeout_ms=timeout_s * 1000)

    def flush(self, timeout_s: float) -> None:
        """Returns when each record is acknowledged or has failed, at the latest after its delivery timeout."""
        self._call(self._producer.flush)

    def close(self) -> None:
        self._producer.close(timeout_ms=1_000)
        self._client.close()

    @staticmethod
    def _call(method: Any, *arguments: Any, **named: Any) -> None:
        from confluent_kafka import KafkaError as ConfluentError
        from confluent_kafka import KafkaException

        try:
            method(*arguments, **named)
        except DeadlinePassed as late:
            raise KafkaException(ConfluentError(Error.REQUEST_TIMED_OUT, str(late), retriable=True)) from late
        except (ClientFailure, KafkaError) as failure:
            code = getattr(failure, "error", Error.UNKNOWN_SERVER_ERROR)
            raise KafkaException(ConfluentError(code, str(failure), txn_requires_abort=True)) from failure
