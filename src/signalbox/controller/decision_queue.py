"""Events that wait for a decision, in order; and events that are held while the store is full.

An event batch takes everything that waits. If the store has no room for its commit, nothing of it has happened. Its
decisions are then made again in batches of one event, so that each one that fits is stored. A request that does not fit
is rejected at once: its client knows for certain that nothing was changed. An internal event (an event without a
request: a broker failed, a replica is deleted) must not be lost: it is held and retried. All later internal events wait
behind it, because they must be applied in the order in which they were read. Requests are decided meanwhile, as if the
held events had not arrived yet.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable

from signalbox.common.clock import Clock
from signalbox.common.log_limiter import TransitionLog
from signalbox.controller.event_batch import ControllerEvent, EventBatch
from signalbox.metadata.store.port import StoreFull
from signalbox.protocol.error_table import Error

log = logging.getLogger(__name__)

HELD_RETRY_S = 1.0  # between two retries of the oldest internal event that is held
MAX_HELD = 10_000  # with more held events the controller resigns; the next one begins with a full read of the store
_QUIET_S = 10.0  # after so long without a rejection, a change that is stored shows that the store has room again

Later = Callable[[float, Callable[[], None]], object]
"""Calls the function after this number of seconds."""


class DecisionQueue:
    """`wake` is called when an event can be decided. `rejections_total` counts the requests that a full store
    rejected."""

    def __init__(self, clock: Clock, wake: Callable[[], None], later: Later) -> None:
        self._clock = clock
        self._wake = wake
        self._later = later
        self._waiting: deque[ControllerEvent] = deque()
        self._alone = 0  # so many events from the front get an event batch each
        self._held: deque[ControllerEvent] = deque()
        self._in_progress: list[ControllerEvent] = []
        self._retry_scheduled = False
        self._full_store_log = TransitionLog(log, "Metadata store has space again", logging.ERROR)
        self._rejected_at_s = 0.0
        self._full_reason = ""
        self.rejections_total = 0

    def __len__(self) -> int:
        return len(self._in_progress) + len(self._waiting) + len(self._held)

    @property
    def is_ready(self) -> bool:
        """Whether an event waits for an event batch."""
        return bool(self._waiting)

    @property
    def held(self) -> int:
        """Number of internal events that are held until the store has room."""
        return len(self._held)

    @property
    def is_overfull(self) -> bool:
        """Whether more internal events are held than MAX_HELD."""
        return len(self._held) > MAX_HELD

    def add(self, event: ControllerEvent) -> None:
        """Append an event; an internal one waits behind those that are held."""
        if self._held and event.future is None:
            self._held.append(event)
        else:
            self._waiting.append(event)
            self._wake()

    def add_first(self, event: ControllerEvent) -> None:
        """Put an event before all others."""
        self._waiting.appendleft(event)
        self._wake()

    def begin(self, batch: EventBatch) -> deque[ControllerEvent]:
        """The events for an event batch. It ends with `stored`, `retry` or `store_full`, or with `drain`."""
        self._in_progress = batch.taken
        if not self._alone:
            return self._waiting
        self._alone -= 1
        return deque([self._waiting.popleft()])

    def retry(self, batch: EventBatch, update: ControllerEvent | None) -> None:
        """Another node has stored a change that an event batch did not know: its events are decided again, after
        `update`. While internal events are held, its requests are rejected: `update` might not fit into the full store
        either, again and again."""
        undone = batch.undone
        if self._held:
            self._reject([event for event in undone if event.future is not None])
            undone = [event for event in undone if event.future is None]
        self._put_back(undone)
        if update is not None and (undone or not self._held):
            self.add_first(update)

    def stored(self, batch: EventBatch) -> None:
        """An event batch was stored. If an internal event was in it, the rest of the held events are retried too."""
        self._in_progress = []
        if not self._full_store_log.is_failing:
            return
        if self._held and _has_internal(batch.taken) and not _has_internal(self._waiting):
            self._waiting.extendleft(reversed(self._held))
            self._held.clear()
            self._wake()
        changed = any(decision.records for _, decision in batch.decided)
        if changed and not self._held and self._clock.monotonic() - self._rejected_at_s > _QUIET_S:
            self._full_store_log.recovered()

    def store_full(self, batch: EventBatch, full: StoreFull) -> None:
        """The store had no room for an event batch."""
        self._full_reason = str(full)
        self._rejected_at_s = self._clock.monotonic()
        self._full_store_log.failed(
            f"Metadata store is full, metadata changes are rejected and elections are deferred: {full}"
        )
        undone = batch.undone
        if len(undone) > 1:
            self._put_back(undone)
            self._alone = max(self._alone, len(undone))
            return
        self._in_progress = []
        self._reject([event for event in undone if event.future is not None])
        self._hold([event for event in undone if event.future is None])

    def drain(self) -> list[ControllerEvent]:
        """Remove and return all events, held or not."""
        left = [*self._in_progress, *self._held, *self._waiting]
        self._in_progress = []
        self._held.clear()
        self._waiting.clear()
        self._alone = 0
        return left

    def _put_back(self, undone: list[ControllerEvent]) -> None:
        """Put events back at the front. If events get a batch of one each, these do again."""
        self._in_progress = []
        self._waiting.extendleft(reversed(undone))
        if self._alone:
            self._alone += len(undone)
        self._wake()

    def _reject(self, requests: list[ControllerEvent]) -> None:
        for request in requests:
            self.rejections_total += 1
            request.fail(Error.KAFKA_STORAGE_ERROR, self._full_reason)

    def _hold(self, events: list[ControllerEvent]) -> None:
        if not events:
            return
        # An internal event that waits is older than those held: since the first was held, no other was added here.
        events += (event for event in self._waiting if event.future is None)
        self._held.extendleft(reversed(events))
        self._waiting = deque(event for event in self._waiting if event.future is not None)
        self._alone = min(self._alone, len(self._waiting))
        if not self._retry_scheduled:
            self._retry_scheduled = True
            self._later(HELD_RETRY_S, self._retry_held)

    def _retry_held(self) -> None:
        self._retry_scheduled = False
        if self._held:
            self._waiting.appendleft(self._held.popleft())
            self._alone += 1
            self._wake()


def _has_internal(events: Iterable[ControllerEvent]) -> bool:
    return any(event.future is None for event in events)
