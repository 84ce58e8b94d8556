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
from signalbox.common.transition_log import TransitionLog
from signalbox.controller.event_batch import ControllerEvent, EventBatch
from signalbox.metadata.store.port import StoreFull
from signalbox.protocol.error_table import Error

log = logging.getLogger(__name__)

HELD_RETRY_S = 1.0  # between two retries of the oldest internal event that is held
MAX_HELD = 10_000  # with more held events the controller resigns; the next one begins with a full read of the store
_QUIET_S = 10.0  # after so long without a rejection, a change that is stored shows that there is room again

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
        self._in_hand: list[ControllerEvent] = []
        self._trying_later = False
        self._trouble = TransitionLog(log, "Metadata store has space again", logging.ERROR)
        self._rejected_at_s = 0.0
        self._why = ""
        self.rejections_total = 0

    def __len__(self) -> int:
        return len(self._in_hand) + len(self._waiting) + len(self._held)

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

    def add(self, pending: ControllerEvent) -> None:
        """Append an event; an internal one waits behind those that are held."""
        if self._held and pending.answer is None:
            self._held.append(pending)
        else:
            self._waiting.append(pending)
            self._wake()

    def add_first(self, pending: ControllerEvent) -> None:
        """Put an event before all others."""
        self._waiting.appendleft(pending)
        self._wake()

    def begin(self, turn: EventBatch) -> deque[ControllerEvent]:
        """The events for an event batch. It ends with `stored`, `again` or `no_room`, or with `drain`."""
        self._in_hand = turn.taken
        if not self._alone:
            return self._waiting
        self._alone -= 1
        return deque([self._waiting.popleft()])

    def again(self, turn: EventBatch, learn: ControllerEvent | None) -> None:
        """Another node has stored a change that an event batch did not know: its events are decided again, after
        `learn`. While internal events are held, its requests are rejected: `learn` might not fit into the full store
        either, again and again."""
        undone = turn.undone
        if self._held:
            self._reject([pending for pending in undone if pending.answer is not None])
            undone = [pending for pending in undone if pending.answer is None]
        self._put_back(undone)
        if learn is not None and (undone or not self._held):
            self.add_first(learn)

    def stored(self, turn: EventBatch) -> None:
        """An event batch was stored. If an internal event was in it, the rest of the held events are retried too."""
        self._in_hand = []
        if not self._trouble.is_failing:
            return
        if self._held and _has_news(turn.taken) and not _has_news(self._waiting):
            self._waiting.extendleft(reversed(self._held))
            self._held.clear()
            self._wake()
        changed = any(decision.records for _, decision in turn.decided)
        if changed and not self._held and self._clock.monotonic() - self._rejected_at_s > _QUIET_S:
            self._trouble.recovered()

    def no_room(self, turn: EventBatch, full: StoreFull) -> None:
        """The store had no room for an event batch."""
        self._why = str(full)
        self._rejected_at_s = self._clock.monotonic()
        self._trouble.failed(
            f"Metadata store is full, metadata changes are rejected and elections are deferred: {full}"
        )
        undone = turn.undone
        if len(undone) > 1:
            self._put_back(undone)
            self._alone = max(self._alone, len(undone))
            return
        self._in_hand = []
        self._reject([pending for pending in undone if pending.answer is not None])
        self._hold([pending for pending in undone if pending.answer is None])

    def drain(self) -> list[ControllerEvent]:
        """Remove and return all events, held or not."""
        left = [*self._in_hand, *self._held, *self._waiting]
        self._in_hand = []
        self._held.clear()
        self._waiting.clear()
        self._alone = 0
        return left

    def _put_back(self, undone: list[ControllerEvent]) -> None:
        """Put events back at the front. If events get a batch of one each, these do again."""
        self._in_hand = []
        self._waiting.extendleft(reversed(undone))
        if self._alone:
            self._alone += len(undone)
        self._wake()

    def _reject(self, requests: list[ControllerEvent]) -> None:
        for request in requests:
            self.rejections_total += 1
            request.fail(Error.KAFKA_STORAGE_ERROR, self._why)

    def _hold(self, news: list[ControllerEvent]) -> None:
        if not news:
            return
        # An internal event that waits is older than those held: since the first was held, no other was added here.
        news += (pending for pending in self._waiting if pending.answer is None)
        self._held.extendleft(reversed(news))
        self._waiting = deque(pending for pending in self._waiting if pending.answer is not None)
        self._alone = min(self._alone, len(self._waiting))
        if not self._trying_later:
            self._trying_later = True
            self._later(HELD_RETRY_S, self._try_again)

    def _try_again(self) -> None:
        self._trying_later = False
        if self._held:
            self._waiting.appendleft(self._held.popleft())
            self._alone += 1
            self._wake()


def _has_news(pendings: Iterable[ControllerEvent]) -> bool:
    return any(pending.answer is None for pending in pendings)
