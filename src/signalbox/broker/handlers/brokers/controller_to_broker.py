"""LeaderAndIsr (4), StopReplica (5), UpdateMetadata (6): control requests about this broker's replicas and the
metadata. Versions 0-7, 0-4, 0-8.

Each needs CLUSTER_ACTION. The broker epoch is checked first (lower than this broker's is STALE_BROKER_EPOCH, -1 is not
checked), the controller epoch next; the response to a stale epoch differs per API. The requests are executed one after
the other (`ControlRequestQueue`), and the epochs are checked when a request is executed. Before that, a
request with an epoch that is not yet known waits for the metadata store (`broker/epoch_checks.py`), and a request with
new partitions for the configs of their topics (`NewTopicConfigs`); requests of other connections do not wait for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Container, Iterable
from typing import Any

from signalbox.broker.api_request import ApiRequest, FinalResponse, HandlerResult, ResponseMessage, as_future
from signalbox.broker.authorization.cluster_action import require_cluster_action
from signalbox.broker.epoch_checks import EpochChecks, LocalEpochs, UnverifiedEpochs
from signalbox.broker.error_responses import failure
from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.scheduling.task_scheduler import TaskQueue, TaskScheduler
from signalbox.common.waiting.promise import Promise
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.store.port import StoreError
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from signalbox.replication.leader_and_isr import reject_leader_and_isr
from signalbox.security.authorizer import Authorizer

log = logging.getLogger(__name__)

STORE_TIMEOUT_S = 5.0


class ControlRequestQueue:
    """The next control request begins when the last one is complete. One per broker.

    A LeaderAndIsr for a hundred new partitions creates hundreds of files: it runs as a cooperative task, and other
    requests are served between its slices. A control request that arrives meanwhile, for example from a new controller,
    waits until it is complete (Kafka holds `replicaStateChangeLock` for that time)."""

    def __init__(self, scheduler: TaskScheduler) -> None:
        self._requests = TaskQueue(scheduler)

    def take(self, work: Callable[[], Any]) -> Promise[Any]:
        """Promise of the result of `work`, which may call yield_if_due() and must not raise. If the queue is empty and
        `work` does not yield, the promise is complete on return."""
        promise: Promise[Any] = Promise()

        def execute() -> None:
            try:
                promise.complete(work())
            except Exception:
                log.exception("Handler of a control request failed: the request gets no response")

        self._requests.add(execute)
        return promise


class NewTopicConfigs:
    """The configs of a new topic are read before the topic's first LeaderAndIsr is applied. `load` is the method of
    ConfigRepository.

    The notification of a config change and the controller's request use different channels and arrive in any order. A
    leader that started with the defaults would for a moment acknowledge records without the topic's
    `min.insync.replicas`. Kafka's brokers read the configs when they create a log."""

    def __init__(self, load: Callable[[Iterable[str]], Awaitable[None]]) -> None:
        self._load = load

    def topics(self, body: Any) -> list[str]:
        """The topics of which the request contains a new partition, sorted. Yields."""
        if not isinstance(body, LeaderAndIsrRequest):
            return []
        topics = {state.topic_name for state in body.ungrouped_partition_states if state.is_new}
        for topic in body.topic_states:
            yield_if_due()
            if any(state.is_new for state in topic.partition_states):
                topics.add(topic.topic_name)
        return sorted(topics)

    async def load(self, topics: list[str]) -> Error:
        """NONE, or REQUEST_TIMED_OUT, upon which the controller retries its request."""
        try:
            async with asyncio.timeout(STORE_TIMEOUT_S):
                await self._load([f"topics/{topic}" for topic in topics])
        except (StoreError, TimeoutError) as error:
            log.warning(
                "LeaderAndIsr rejected: configs of %d new topics (%s, ...) cannot be read from the metadata "
                "store (%s): the controller retries it",
                len(topics),
                topics[0],
                error or "no answer",
            )
            return Error.REQUEST_TIMED_OUT
        return Error.NONE


class ControlRequestHandler:
    """The handler of one of the three APIs; `apply` executes the request, given its body and version, and returns the
    response."""

    def __init__(
        self,
        authorizer: Authorizer,
        epochs: LocalEpochs,
        checks: EpochChecks,
        configs: NewTopicConfigs,
        queue: ControlRequestQueue,
        apply: Callable[[Any, int], Any],
        peer_listeners: Container[str] = (),
    ) -> None:
        self._authorizer = authorizer
        self._peer_listeners = peer_listeners
        self._epochs = epochs
        self._checks = checks
        self._configs = configs
        self._queue = queue
        self._apply = apply

    def __call__(self, request: ApiRequest) -> HandlerResult:
        require_cluster_action(self._authorizer, request.context, self._peer_listeners)
        needed = self._queue.take(lambda: self._reads_needed(request.body))
        if needed.is_done and needed.result() is None:
            return self._queue.take(lambda: self._execute(request))
        return self._store_first(request, needed)

    def _reads_needed(self, body: Any) -> tuple[UnverifiedEpochs, list[str]] | None:
        """The epochs to compare and the new topics whose configs to read; None when there is neither. Yields."""
        epochs_to_verify = self._checks.epochs_to_verify(body)
        topics = [] if self._checks.is_stale(body) else self._configs.topics(body)
        return (epochs_to_verify, topics) if epochs_to_verify or topics else None

    async def _store_first(
        self, request: ApiRequest, needed: Promise[tuple[UnverifiedEpochs, list[str]] | None]
    ) -> FinalResponse:
        epochs_to_verify, topics = await as_future(needed) or (None, [])
        error = await self._checks.verify(request, epochs_to_verify) if epochs_to_verify else Error.NONE
        if topics and error is Error.NONE:
            error = await self._configs.load(topics)
        if error is not Error.NONE:
            return _rejected(request, error)
        response: FinalResponse = await as_future(self._queue.take(lambda: self._execute(request)))
        return response

    def _execute(self, request: ApiRequest) -> FinalResponse:
        body = request.body
        if body.broker_epoch != -1 and body.broker_epoch < self._epochs.broker_epoch:
            return _rejected(request, Error.STALE_BROKER_EPOCH)
        if not self._epochs.accept_controller_epoch(body.controller_epoch):
            return _rejected(request, Error.STALE_CONTROLLER_EPOCH)
        try:
            response: FinalResponse = self._apply(body, request.header.api_version)
        except Exception:
            log.exception("Unexpected error handling control request (api key=%d)", request.header.api_key)
            return failure(request, Error.UNKNOWN_SERVER_ERROR)
        return response


def applying_metadata(cache: MetadataCache) -> Callable[[UpdateMetadataRequest, int], UpdateMetadataResponse]:
    """The `apply` of UpdateMetadata: the next image of the cache."""

    def apply(request: UpdateMetadataRequest, version: int) -> UpdateMetadataResponse:
        cache.apply_update_metadata(request)
        return UpdateMetadataResponse()

    return apply


def _rejected(request: ApiRequest, error: Error) -> ResponseMessage:
    if request.header.api_key == ApiKey.LEADER_AND_ISR:
        # The only one of the three that repeats the error for every partition.
        return reject_leader_and_isr(request.body, request.header.api_version, error)
    rejected: ResponseMessage = API_TABLE[request.header.api_key].response(error_code=error)
    return rejected
