"""One event batch of the controller: all waiting events are decided in order, and their records are stored by one
commit (by several if the store does not accept so much at once).

Each decision sees the records of those before it. If the commit is rejected, nothing of the batch has happened: before
the commit no context, no request to a broker and no response leaves this file. After it each event is completed: at
once, or when this node's metadata cache shows the change.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.log_limiter import CLIENT_CAUSED, LogSource, current_source
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.controller.context import ControllerContext
from signalbox.controller.control_requests.control_batch import ControlBatch
from signalbox.controller.decision import Decision, Visibility
from signalbox.controller.direct_writes.metadata_change_log import (
    ConcurrentMetadataUpdate,
    commit_by_controller,
    reject_older_decisions,
)
from signalbox.controller.replay import replay
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.store.port import (
    BadOperation,
    Fence,
    FencedOut,
    MetadataStore,
    Operation,
    StoreFull,
    StoreUnavailable,
    in_commits,
    reject_bad_operation,
)
from signalbox.protocol.error_table import Error
from signalbox.protocol.message import Message

log = logging.getLogger(__name__)

Spawn = Callable[[Coroutine[Any, Any, None]], object]

MAX_DECISIONS_PER_COMMIT = 256  # a limit, so that the first response of a batch need not wait for too many others


class ResponseFuture(Protocol):
    """Where a response is set; a future."""

    def done(self) -> bool: ...

    def set_result(self, result: Message, /) -> None: ...


@dataclass(slots=True)
class ControllerEvent:
    """An event to decide. `rejected` makes the response for an error and its message. `future` and `rejected` are None
    for internal events: they have no client. `source`: the client address, which limits the event's log lines."""

    decide: Callable[[ControllerContext], Decision]
    future: ResponseFuture | None = None
    rejected: Callable[[Error, str], Message] | None = None
    source: str = field(default_factory=current_source)

    def fail(self, error: Error, message: str | None = None) -> None:
        """Complete the future with an error, if there is one to complete; default message: Kafka's text for the
        error."""
        if self.future is not None and self.rejected is not None and not self.future.done():
            self.future.set_result(self.rejected(error, message or error.message))


@dataclass(slots=True)
class EventBatch:
    """`taken`: the events that the batch took off the queue; if it fails, its caller must complete their futures."""

    context: ControllerContext
    taken: list[ControllerEvent] = field(default_factory=list)
    decided: list[tuple[ControllerEvent, Decision]] = field(default_factory=list)
    control_batch: ControlBatch = field(default_factory=ControlBatch)

    @property
    def undone(self) -> list[ControllerEvent]:
        """The events of the batch that have no future or whose future is not complete."""
        return [event for event in self.taken if event.future is None or not event.future.done()]

    async def run(
        self, queue: deque[ControllerEvent], store: MetadataStore, fence: Fence, scheduler: TaskScheduler
    ) -> None:
        """Decide the waiting events and store the records. Raises the store's errors (StoreFull: there is no room for
        all of it), and ConcurrentMetadataUpdate if all of it has to be decided again. The decisions are one cooperative
        task."""
        operations = await scheduler.result_of(partial(self._decide_waiting, queue))
        # A response that changes nothing is checked against the fence, too: a controller that was stopped and resumed
        # must not return a state that another controller has changed meanwhile.
        if operations or any(event.future is not None for event in self.taken):
            # A batch that is too large for one commit is not atomic, but still safe: a controller that ends between
            # two commits leaves topics with missing partitions, or partitions whose leader is dead. The next
            # controller completes those when it loads the store. No response is returned before the last commit.
            shared_version = self.context.shared_version
            for number, part in enumerate([*in_commits(operations, store.max_commit_bytes)] or [[]]):
                try:
                    shared_version = await commit_by_controller(store, part, fence, shared_version)
                except ConcurrentMetadataUpdate as conflict:
                    if number:
                        raise FencedOut(
                            conflict.path, "another broker stored a change between two commits of one batch"
                        ) from conflict
                    raise
                except StoreFull as full:
                    if number:
                        raise StoreUnavailable(
                            f"only the first {number} commits of a batch are stored: {full}"
                        ) from full
                    raise
            if shared_version != self.context.shared_version:
                self.context = replace(self.context, shared_version=shared_version)

    def _decide_waiting(self, queue: deque[ControllerEvent]) -> list[Operation]:
        """The operations to store for the waiting events, and for those that arrive meanwhile. Yields."""
        operations: list[Operation] = []
        while queue and len(self.taken) < MAX_DECISIONS_PER_COMMIT:
            event = queue.popleft()
            self.taken.append(event)
            before, shared_version = len(operations), self.context.shared_version
            try:
                operations += self._decide(event)
            except BadOperation as bad:
                with LogSource(event.source):
                    log.warning("Metadata change rejected, its records cannot be stored: %s", bad)
                event.fail(Error.INVALID_REQUEST)
            except Exception:
                with LogSource(event.source):
                    log.exception("Metadata change failed unexpectedly; nothing of it is stored", extra=CLIENT_CAUSED)
                event.fail(Error.UNKNOWN_SERVER_ERROR)
            if self.context.shared_version != shared_version:  # the event applied direct metadata writes of brokers
                reject_older_decisions(operations[:before])
            yield_if_due()
        return operations

    def _decide(self, event: ControllerEvent) -> list[Operation]:
        """The operations to store for one decision; if it fails, nothing has changed. Yields."""
        with LogSource(event.source):
            decision = event.decide(self.context)
        after, stored = replay(self.context, decision.records)
        for operation in stored:  # here it fails one request; in the store it would end the controller epoch
            yield_if_due()
            reject_bad_operation(operation)
        self.context = after
        self.control_batch.add(after, decision.effects)
        self.decided.append((event, decision))
        return stored


def complete_event(event: ControllerEvent, decision: Decision, cache: MetadataCache, spawn: Spawn) -> None:
    """Complete the event's future, if it has one. Waiting for visibility runs in a spawned coroutine."""
    future, response, visibility = event.future, decision.response, decision.visibility
    if future is None or response is None or future.done():
        return
    if visibility is None:
        future.set_result(response)
    elif visibility.timeout_ms <= 0:
        future.set_result(visibility.when_late())
    else:
        spawn(_when_visible(future, response, visibility, cache))


async def _when_visible(
    future: ResponseFuture, response: Message, visibility: Visibility, cache: MetadataCache
) -> None:
    in_time = await cache.wait_until(visibility.holds, visibility.timeout_ms / 1000)
    if not future.done():
        future.set_result(response if in_time else visibility.when_late())
