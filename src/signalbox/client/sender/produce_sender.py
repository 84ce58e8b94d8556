"""The producer's sender: which batches are sent to which leader now, and what their responses change.

A transaction decides which batches may leave; a batch that fails is a failure of the transaction (`transactions/`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import (
    ChannelClosed,
    ClientFailure,
    ConnectFailed,
    ConnectionLost,
    DeadlinePassed,
    NoUsableNode,
    VersionUnsupported,
)
from signalbox.client.rejections import is_final, rejection_of, topic_rejection
from signalbox.client.sender.batch_action import NOT_APPENDED, BatchAction, action_after
from signalbox.client.sender.produce_exchange import ProducerIds, Sending, answers_by_partition, produce_request
from signalbox.client.sender.producer_batch import PartitionQueue, ProducerBatch, ProducerIdentity
from signalbox.client.sender.producer_metrics import ProducerMetrics
from signalbox.client.transactions.transaction_batches import TransactionBatches
from signalbox.client.transactions.transaction_sender import TransactionSender
from signalbox.common.backoff import backoff_after
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error, KafkaError

_NEVER_SENT = (ConnectFailed, NoUsableNode, VersionUnsupported)


class ProduceSender:
    """Sends the batches of the producer's queues; one Produce request at a time per leader."""

    def __init__(
        self,
        client: ClusterClient,
        queues: dict[TopicPartition, PartitionQueue],
        linger_ms: float,
        compression: str,
        transactions: TransactionSender | None = None,
    ) -> None:
        self._client = client
        self._queues = queues
        self._linger = linger_ms / 1000
        self._compression = compression
        self._ids = ProducerIds(client)
        self._transaction = TransactionBatches(transactions, queues) if transactions is not None else None
        self._wake = asyncio.Event()
        self._view_changed = False
        self._flushes = 0
        self.metrics = ProducerMetrics()
        self._requests: dict[int, asyncio.Task[None]] = {}
        self._obtaining: asyncio.Task[None] | None = None  # a producer id
        self._task: asyncio.Task[None] | None = None
        self.failure: ClientFailure | None = None  # why nothing is sent any more
        if transactions is not None:
            transactions.on_change = self.wake

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="produce sender")

    def wake(self) -> None:
        self._wake.set()

    @contextmanager
    def flushing(self) -> Iterator[None]:
        """Inside this context batches are sent without lingering."""
        self._flushes += 1
        self._wake.set()
        try:
            yield
        finally:
            self._flushes -= 1

    async def stop(self) -> None:
        await _cancel(self._task, self._obtaining, *self._requests.values())

    async def _run(self) -> None:
        try:
            with self._client.metadata_updater.watching(self._note_view):
                await self._send_batches()
        except Exception as error:  # the client was closed, or a defect: records must not wait for ever
            self.failure = ChannelClosed(f"the producer cannot send any more: {error}")
            self.failure.__cause__ = error
            await _cancel(self._obtaining, *self._requests.values())
            for queue in self._queues.values():
                while queue.batches:
                    self._fail(queue, self.failure)

    async def _send_batches(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._wake.clear()
            now = loop.time()
            self._expire(now)
            self._retry_where_usable()
            for batch in self._transaction.drop_unsent() if self._transaction is not None else ():
                self.metrics.failed(batch)
            self._note_obtained()
            ready = self._ready(now)
            identity = self._identity_for(ready) if ready else None
            if identity is not None:
                for node_id, sending in ready.items():
                    self._dispatch(node_id, sending, identity)
            try:
                async with asyncio.timeout_at(self._next_event(now)):
                    await self._wake.wait()
            except TimeoutError:
                continue

    def _ready(self, now: float) -> dict[int, Sending]:
        """Batches that may be sent, by leader. A partition without a usable leader waits for the retry backoff."""
        ready: dict[int, Sending] = {}
        metadata_updater = self._client.metadata_updater
        for queue in self._queues.values():
            if not queue.is_ready(now, self._linger, self._is_flushing):
                continue
            if self._transaction is not None and not self._transaction.admits(queue):
                continue
            leader_id = metadata_updater.view.leader_of(queue.partition)
            if leader_id is None and self._topic_is_rejected(queue):
                continue
            if leader_id is None or not metadata_updater.is_usable(metadata_updater.view.nodes[leader_id]):
                queue.retry_at = now + self._client.settings.retry_backoff_ms / 1000
                queue.waits_for_leader = True
                queue.batches[0].last_failure = self._why_not(queue.partition, leader_id)
                metadata_updater.refresh_soon([queue.partition.topic])
            elif leader_id not in self._requests:
                ready.setdefault(leader_id, []).append((queue, queue.batches[0]))
        return ready

    def _note_view(self) -> None:
        self._view_changed = True
        self._wake.set()

    def _retry_where_usable(self) -> None:
        """After a change of the view: a leader that is usable again gets at once what could not be sent to it."""
        if not self._view_changed:
            return
        self._view_changed = False
        metadata_updater = self._client.metadata_updater
        for queue in self._queues.values():
            leader_id = metadata_updater.view.leader_of(queue.partition) if queue.waits_for_leader else None
            if leader_id is not None and metadata_updater.is_usable(metadata_updater.view.nodes[leader_id]):
                queue.retry_at = 0.0

    @property
    def _is_flushing(self) -> bool:
        return self._flushes > 0 or (self._transaction is not None and self._transaction.must_not_linger)

    def _topic_is_rejected(self, queue: PartitionQueue) -> bool:
        """Whether the topic's metadata has a final error. If so, the records that wait for the partition fail now."""
        topic_view = self._client.view.topics.get(queue.partition.topic)
        error = Error.of(topic_view.error_code) if topic_view is not None else Error.NONE
        if error in (Error.NONE, Error.UNKNOWN_SERVER_ERROR) or error.retriable:
            return False
        while queue.batches:
            self._fail(queue, topic_rejection(error, f"topic {queue.partition.topic}"))
        return True

    def _fail(self, queue: PartitionQueue, failure: Exception) -> None:
        """Give up the first batch of a queue."""
        batch = queue.batches[0]
        queue.given_up(batch)
        self.metrics.failed(batch)
        batch.fail(failure)
        if self._transaction is not None:
            self._transaction.failed(failure)

    def _why_not(self, partition: TopicPartition, leader_id: int | None) -> Exception:
        if leader_id is None:
            return NoUsableNode(f"partition {partition} has no known leader")
        return self._client.metadata_updater.last_failure or NoUsableNode(
            f"the leader, node {leader_id}, is not available"
        )

    def _next_event(self, now: float) -> float:
        """The first time after `now`, the time of the last check, at which a batch becomes ready or expires."""
        times = [now + 1.0]
        for queue in self._queues.values():
            if queue.batches and not queue.in_flight:
                head = queue.batches[0]
                linger_until = 0.0 if head.closed or self._is_flushing else head.created_at + self._linger
                times += [max(queue.retry_at, linger_until), head.deadline]
        return min(at for at in times if at > now)

    def _expire(self, now: float) -> None:
        """Fail the batches whose delivery timeout has passed."""
        for queue in self._queues.values():
            while queue.batches and not queue.in_flight and queue.batches[0].deadline <= now:
                batch = queue.batches[0]
                failure = DeadlinePassed(
                    f"{len(batch.records)} records for {queue.partition} were not acknowledged within the delivery "
                    f"timeout: {batch.last_failure or 'no broker has responded'}"
                )
                failure.__cause__ = batch.last_failure
                self._fail(queue, failure)

    def _identity_for(self, ready: dict[int, Sending]) -> ProducerIdentity | None:
        """The identity for new sequences; None as long as there is no producer id. A task of its own obtains one, so
        that delivery timeouts pass meanwhile, and partitions for which the present id is not spent are sent to."""
        if self._transaction is not None:
            return self._transaction.identity()
        waiting = self._waiting_for_id(ready)
        for _, batch in waiting:
            batch.last_failure = batch.last_failure or ClientFailure("no producer id was obtained yet")
        if waiting and self._obtaining is None:
            self._obtaining = asyncio.get_running_loop().create_task(self._ids.obtain(), name="producer id")
            self._obtaining.add_done_callback(lambda _: self._wake.set())
        return self._ids.usable

    def _waiting_for_id(self, ready: dict[int, Sending]) -> Sending:
        """Those of the batches that cannot be sent without another producer id."""
        identity = self._ids.usable
        rows = [row for sending in ready.values() for row in sending]
        return [row for row in rows if identity is None or row[0].needs_other(identity)]

    def _note_obtained(self) -> None:
        """When the request for a producer id has failed: back off. A final error, for example without the right to
        IdempotentWrite, fails the batches."""
        if self._obtaining is None or not self._obtaining.done():
            return
        task, self._obtaining = self._obtaining, None
        try:
            task.result()
        except (ClientFailure, KafkaError) as failure:
            now = asyncio.get_running_loop().time()
            for queue, batch in self._waiting_for_id(self._ready(now)):
                queue.retry_at = now + self._client.settings.retry_backoff_ms / 1000
                batch.last_failure = failure
                if is_final(failure):
                    self._fail(queue, failure)

    def _dispatch(self, node_id: int, sending: Sending, identity: ProducerIdentity) -> None:
        placed = [row for row in sending if row[0].place(row[1], identity) and self._is_encoded(*row)]
        for queue, batch in placed:
            batch.attempts += 1
            queue.in_flight, queue.waits_for_leader = True, False
        if placed:
            self._requests[node_id] = asyncio.get_running_loop().create_task(self._send(node_id, placed))

    def _is_encoded(self, queue: PartitionQueue, batch: ProducerBatch) -> bool:
        """Encodes a batch; one with a record that cannot be encoded, for example a `str` as value, fails."""
        try:
            batch.encoded(self._compression)
        except Exception as error:
            text = f"{queue.partition}: a record cannot be encoded: {error}"
            self._fail(queue, rejection_of(Error.INVALID_RECORD, text))
            return False
        return True

    async def _send(self, node_id: int, sending: Sending) -> None:
        settings, max_version = self._client.settings, None
        request: Any = produce_request(sending, self._client.view, self._compression, settings.request_timeout_ms)
        if self._transaction is not None:
            request, max_version = self._transaction.message(request)
        began = asyncio.get_running_loop().time()
        self.metrics.sent([batch for _, batch in sending], self._compression, began)
        try:
            response = await self._client.request(node_id, request, max_version=max_version)
            self.metrics.answered(asyncio.get_running_loop().time() - began)
        except ClientFailure as failure:
            self._failed(sending, failure)
        else:
            self._answered(sending, response)
        finally:
            del self._requests[node_id]
            for queue, _ in sending:
                queue.in_flight = False
            self._wake.set()
            if self._transaction is not None:
                self._transaction.settled()

    def _failed(self, sending: Sending, failure: ClientFailure) -> None:
        """No response arrived. Unless the request was certainly never sent, the batches may have been appended."""
        retriable = not is_final(failure)
        for queue, batch in sending:
            batch.last_failure = failure
            never_sent = isinstance(failure, _NEVER_SENT)
            queue.waits_for_leader = never_sent or (isinstance(failure, ConnectionLost) and failure.closed_here)
            if not never_sent:
                batch.maybe_appended = True
            if retriable:
                self._back_off(queue, batch)
            else:
                self._fail(queue, failure)

    def _back_off(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        settings = self._client.settings
        backoff_ms = backoff_after(batch.attempts, settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        queue.retry_at = asyncio.get_running_loop().time() + backoff_ms / 1000

    def _answered(self, sending: Sending, response: Any) -> None:
        view = self._client.view
        rows = answers_by_partition(response, view)
        for queue, batch in sending:
            row = rows.get(queue.partition)
            if row is None:
                batch.maybe_appended = True
                batch.last_failure = rejection_of(Error.UNKNOWN_SERVER_ERROR, f"no answer for {queue.partition}")
                self._back_off(queue, batch)
                continue
            leader = row.current_leader
            leader_changed = view.hint_leader(
                queue.partition, leader.leader_id, leader.leader_epoch, response.node_endpoints
            )
            self._settle(queue, batch, row, leader_changed)

    def _settle(self, queue: PartitionQueue, batch: ProducerBatch, row: Any, leader_changed: bool) -> None:
        error = Error.of(row.error_code)
        action = action_after(error, len(batch.records), batch.maybe_appended)
        if action is BatchAction.COMPLETE:
            queue.batches.popleft()
            offset = row.base_offset if error == Error.NONE else -1
            batch.succeed(queue.partition, offset, row.log_append_time_ms)
            return
        rejection = rejection_of(error, f"{queue.partition}: {row.error_message or error.message}")
        batch.last_failure = rejection
        batch.maybe_appended = batch.maybe_appended or error not in NOT_APPENDED
        if action is BatchAction.RETRY:
            if not leader_changed:
                self._back_off(queue, batch)
                self._client.metadata_updater.refresh_soon([queue.partition.topic])
        elif action is BatchAction.NEW_PRODUCER_ID and self._transaction is None:
            queue.begin_again()
        elif action is BatchAction.SPLIT:
            queue.given_up(batch)
            queue.batches.extendleft(reversed(batch.halves()))
        else:
            self._fail(queue, rejection)


async def _cancel(*tasks: asyncio.Task[None] | None) -> None:
    """Cancel these tasks, and wait for their end."""
    running = [task for task in tasks if task is not None]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
