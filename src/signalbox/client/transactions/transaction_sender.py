"""Sends what the manager of transactions decides, one request at a time, and wakes what waits for its progress."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from signalbox.client.admin_apis.group_admin import GROUP, TRANSACTION, find_coordinator
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection.connection import ClientConnection
from signalbox.client.connection.node import Purpose
from signalbox.client.failures import (
    ChannelClosed,
    ClientFailure,
    ConnectFailed,
    NoUsableNode,
    VersionUnsupported,
    WrongCluster,
)
from signalbox.client.rejections import RequestRejected
from signalbox.client.sender.producer_batch import PartitionQueue
from signalbox.client.transactions.transaction_exchange import MAX_VERSIONS, MIN_VERSIONS, message_of, response_of
from signalbox.client.transactions.transaction_manager import IMPLICIT_FROM, TransactionManager
from signalbox.client.transactions.transaction_reactions import Step
from signalbox.client.transactions.transaction_request import TransactionRequest, TransactionResponse
from signalbox.common.backoff import backoff_after
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error

_NEVER_SENT = (ConnectFailed, NoUsableNode, VersionUnsupported)
_CONCURRENT_BACKOFF_MS = 20  # the markers of the previous transaction are being written: that is short, as in Kafka


class TransactionSender:
    """`manager` decides, `queues` are the producer's batches. `on_change` is called after every event."""

    def __init__(
        self,
        client: ClusterClient,
        queues: Mapping[TopicPartition, PartitionQueue],
        transactional_id: str,
        timeout_ms: int,
    ) -> None:
        self.manager = TransactionManager()
        self.on_change: Callable[[], None] = lambda: None
        self._client = client
        self._queues = queues
        self.transactional_id = transactional_id
        self._timeout_ms = timeout_ms
        self._wake = asyncio.Event()
        self._changed = asyncio.Event()
        self._retry_at = 0.0
        self.last_failure: Exception | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="transaction sender")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._end("the producer is closed", None)

    def _end(self, text: str, cause: Exception | None) -> None:
        """No request is sent any more: the calls that wait raise ChannelClosed."""
        failure = ChannelClosed(text)
        failure.__cause__ = cause
        self.manager.fail(failure)
        self.wake()
        self.on_change()

    def wake(self) -> None:
        """Look again for what is due: a call or a batch changed the manager, or batches were settled."""
        self._wake.set()
        self._changed.set()

    async def until(self, done: Callable[[], bool]) -> None:
        """Returns when `done` is true, which is asked after every event."""
        while not done():
            self._changed.clear()
            await self._changed.wait()

    def is_in_cluster(self) -> bool:
        """Whether the client is in the cluster of the producer id; if not, the producer fails."""
        identity, cluster_id = self.manager.identity, self._client.view.cluster_id
        if identity is None or cluster_id in (None, identity.cluster_id):
            return True
        text = f"the producer was initialized in cluster {identity.cluster_id}, the client is in {cluster_id} now"
        self.manager.fail(WrongCluster(text))
        self.wake()
        self.on_change()
        return False

    def at_version(self, message: Any, step: Step) -> tuple[Any, int | None]:
        """The message to send and its newest version: requests of transaction versions 1 and 2 differ in meaning."""
        implicit = self.manager.version >= IMPLICIT_FROM

        def build(connection: ClientConnection) -> Any:
            if connection.version_for(message) < MIN_VERSIONS[step]:
                raise VersionUnsupported(f"{connection.address} does not support transaction version 2: {step.value}")
            return message

        return build if implicit and step in MIN_VERSIONS else message, MAX_VERSIONS.get((step, implicit))

    async def _run(self) -> None:
        try:
            await self._send_requests()
        except Exception as error:  # the client was closed, or a defect: calls must not wait for their deadlines
            self._end(f"the producer cannot send any more: {error}", error)

    async def _send_requests(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._wake.clear()
            due = loop.time() >= self._retry_at
            state, ended = self.manager.state, self.manager.ended
            request = self.manager.next_request(self._batches()) if due else None
            if request is not None:
                await self._execute(request)
            if request is not None or (state, ended) != (self.manager.state, self.manager.ended):
                self._changed.set()
                self.on_change()
                continue
            try:
                async with asyncio.timeout_at(None if due else self._retry_at):
                    await self._wake.wait()
            except TimeoutError:
                continue

    def _batches(self) -> int:
        return sum(len(queue.batches) for queue in self._queues.values())

    async def _execute(self, request: TransactionRequest) -> None:
        """Send one request, and give the manager its response or its failure."""
        manager, settings = self.manager, self._client.settings
        first_ms: float = settings.retry_backoff_ms
        try:
            response = await self._response_to(request)
        except RequestRejected as rejection:
            self.last_failure = rejection
            manager.answered(TransactionResponse(error=rejection.error, message=rejection.message))
        except ClientFailure as failure:
            self.last_failure = failure
            manager.lost(failure, maybe_executed=not isinstance(failure, _NEVER_SENT))
        except ValueError as error:  # a value that the protocol cannot hold
            manager.lost(VersionUnsupported(f"{request.step.value} cannot be sent: {error}"), maybe_executed=False)
        else:
            if Error.CONCURRENT_TRANSACTIONS in (response.error, *response.errors.values()):
                first_ms = min(_CONCURRENT_BACKOFF_MS, first_ms)
            manager.answered(response)
        if manager.failures:
            backoff_ms = backoff_after(manager.failures, first_ms, settings.retry_backoff_max_ms)
            self._retry_at = asyncio.get_running_loop().time() + backoff_ms / 1000

    async def _response_to(self, request: TransactionRequest) -> TransactionResponse:
        client, step = self._client, request.step
        timeout_ms = client.settings.request_timeout_ms
        cluster_id = client.view.cluster_id
        if request.node_id is None:
            of_group = step is Step.FIND_GROUP_COORDINATOR and request.group is not None
            key = request.group.group_id if of_group and request.group is not None else self.transactional_id
            key_type = GROUP if of_group else TRANSACTION
            return TransactionResponse(node_id=await find_coordinator(client, key, key_type, timeout_ms=timeout_ms))
        message = message_of(request, self.transactional_id, self._timeout_ms)
        built, max_version = self.at_version(message, step)
        if not self.is_in_cluster():  # another coordinator may have the same ids, and accept a commit of nothing
            raise NoUsableNode("the client is in another cluster")
        response = await client.request(
            request.node_id, built, purpose=Purpose.COORDINATOR, timeout_ms=timeout_ms, max_version=max_version
        )
        return response_of(request, response, cluster_id)
