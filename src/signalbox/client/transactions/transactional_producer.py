"""A producer whose records, and offsets of groups, become visible together or not at all (KIP-98, KIP-360).

The producer adds partitions to its transaction itself, as clients before Kafka 4.0 do: every broker with transactions
accepts that. If a record of a transaction fails, the transaction can only be aborted: `commit` raises the first
failure. An abort after a failure, or with records that are not acknowledged, takes the next epoch, so that nothing of
the transaction can be appended later. A producer that is fenced by another one with the same transactional id cannot be
used any more.
Gap: offsets are committed without the member's generation (KIP-447).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ChannelClosed, ClientFailure
from signalbox.client.producer import Producer, ProducerSettings
from signalbox.client.sender.producer_batch import ProducerIdentity, RecordMetadata
from signalbox.client.transactions.transaction_requests import Offsets, TransactionRequests
from signalbox.common.ids import TopicPartition


class TransactionIds:
    """The identity of a transactional producer, for the sender: it adds the partitions of batches that are ready."""

    def __init__(self, requests: TransactionRequests) -> None:
        self._requests = requests
        self.identity: ProducerIdentity | None = None
        self.partitions: set[TopicPartition] = set()

    async def have(self, spent: Collection[int], partitions: Iterable[TopicPartition]) -> ProducerIdentity | None:
        """The identity, once all `partitions` are in the transaction. ChannelClosed when a batch of the transaction
        failed: its sequence numbers are not used again."""
        identity = self.identity
        if identity is None or identity.producer_id in spent:
            raise ChannelClosed("a record of this transaction failed: abort it")
        new = set(partitions) - self.partitions
        if new:
            await self._requests.add_partitions(identity, sorted(new))
            self.partitions |= new
        return identity


class TransactionalProducer:
    """`async with TransactionalProducer(client, "id") as producer:`; `client` must be started, and is not closed here.
    An open transaction is aborted at the end."""

    def __init__(
        self,
        client: ClusterClient,
        transactional_id: str,
        settings: ProducerSettings | None = None,
        *,
        transaction_timeout_ms: int = 60_000,
    ) -> None:
        self._requests = TransactionRequests(client, transactional_id, transaction_timeout_ms)
        self._ids = TransactionIds(self._requests)
        self._producer = Producer(client, settings, self._ids)
        self._is_open = False
        self._has_offsets = False
        self._failure: BaseException | None = None

    async def __aenter__(self) -> TransactionalProducer:
        self._ids.identity = await self._requests.init(None)
        await self._producer.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._is_open:
            with suppress(ClientFailure):  # the coordinator aborts it after the transaction timeout
                await self.abort()
        await self._producer.close()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """A transaction that is committed at the end, or aborted after an exception."""
        self.begin()
        try:
            yield
            await self.commit()
        except BaseException:
            if self._is_open:
                with suppress(ClientFailure):
                    await self.abort()
            raise

    def begin(self) -> None:
        """RuntimeError when a transaction is open."""
        if self._is_open:
            raise RuntimeError("a transaction is open")
        self._is_open, self._has_offsets, self._failure = True, False, None
        self._ids.partitions.clear()

    async def send(
        self, topic: str, value: bytes | None, key: bytes | None = None, **more: Any
    ) -> asyncio.Future[RecordMetadata]:
        """As `Producer.send`, in the open transaction; RuntimeError without one."""
        self._require_open()
        acknowledged = await self._producer.send(topic, value, key, **more)
        acknowledged.add_done_callback(self._settled)
        return acknowledged

    async def send_offsets(self, offsets: Offsets, group_id: str) -> None:
        """Commit offsets of a group in the transaction. RequestRejected, RuntimeError without a transaction."""
        self._require_open()
        identity = self._identity()
        try:
            await self._requests.add_offsets(identity, group_id)
            self._has_offsets = True
            await self._requests.commit_offsets(identity, group_id, offsets)
        except ClientFailure as failure:
            self._failure = self._failure or failure
            raise

    async def commit(self) -> None:
        """Returns when the commit is certain. Raises the failure of a record or of offsets: then `abort` it."""
        self._require_open()
        await self._producer.flush()
        if self._failure is not None:
            raise self._failure
        await self._end(committed=True)

    async def abort(self) -> None:
        """Nothing of the transaction becomes visible; records that were not sent are discarded."""
        self._require_open()
        is_complete = self._failure is None and not self._producer.has_outstanding
        if not is_complete:
            await self._producer.discard(ChannelClosed("the transaction was aborted"))
        await self._end(committed=False)
        if not is_complete:
            self._ids.identity = await self._requests.init(self._identity())

    async def _end(self, *, committed: bool) -> None:
        if self._ids.partitions or self._has_offsets:
            await self._requests.end(self._identity(), committed=committed)
        self._is_open = False

    def _settled(self, acknowledged: asyncio.Future[RecordMetadata]) -> None:
        failure = None if acknowledged.cancelled() else acknowledged.exception()
        self._failure = self._failure or failure

    def _identity(self) -> ProducerIdentity:
        if self._ids.identity is None:
            raise RuntimeError("the producer is not started")
        return self._ids.identity

    def _require_open(self) -> None:
        if not self._is_open:
            raise RuntimeError("no transaction is open: begin one")
