"""What waits to be decided, in order; and what waits for room while the store is full.

A turn takes everything that waits. When the store has no room for its commit, nothing of it has happened, and its
decisions are taken again one a turn, so that what fits by itself is stored. A request that does not fit is refused at
once: whoever asked knows for certain that nothing was changed. News that does not (a broker died, a replica is deleted)
must not be lost: it is held and tried again, all later news behind it, since what was read first must be taken over
first. Requests are decided meanwhile; to them the news has just not come yet.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable

from signalbox.common.clock import Clock
from signalbox.common.lasting_trouble import LastingTrouble
from signalbox.controller.turn import Pending, Turn
from signalbox.metadata.store.port import StoreFull
from signalbox.protocol.error_table import Error

log = logging.getLogger(__name__)

HELD_RETRY_S = 1.0  # between two tries of the oldest news that is held
MAX_HELD = 10_000  # more news than that is not held: the term ends, and the next begins with a look at the store
_QUIET_S = 10.0  # without a refusal for so long, a change that is stored shows that there is room again

Later = Callable[[float, Callable[[], None]], object]
"""Calls back after so many seconds."""


class DecisionQueue:
    """`wake` is called when there is something to decide. `refusals_total` counts the requests that found no room."""

    def __init__(self, clock: Clock, wake: Callable[[], None], later: Later) -> None:
        self._clock = clock
        self._wake = wake
        self._later = later
        self._waiting: deque[Pending] = deque()
        self._alone = 0  # so many from the front get a turn each
        self._held: deque[Pending] = deque()
        self._in_hand: list[Pending] = []
        self._trying_later = False
        self._trouble = LastingTrouble(log, "the metadata store has room again", logging.ERROR)
        self._refused_at_s = 0.0
        self._why = ""
        self.refusals_total = 0

    def __len__(self) -> int:
        return len(self._in_hand) + len(self._waiting) + len(self._held)

    @property
    def is_ready(self) -> bool:
        """Whether there is something for a turn."""
        return bool(self._waiting)

    @property
    def held(self) -> int:
        """News that waits for room."""
        return len(self._held)

    @property
    def is_overfull(self) -> bool:
        """Whether more news waits for room than is held."""
        return len(self._held) > MAX_HELD

    def add(self, pending: Pending) -> None:
        """At the end."""
        if self._held and pending.answer is None:
            self._held.append(pending)
        else:
            self._waiting.append(pending)
            self._wake()

    def add_first(self, pending: Pending) -> None:
        """Before everything else."""
        self._waiting.appendleft(pending)
        self._wake()

    def begin(self, turn: Turn) -> deque[Pending]:
        """What a turn takes from. It ends with `stored`, `again` or `no_room`, or with the term."""
        self._in_hand = turn.taken
        if not self._alone:
            return self._waiting
        self._alone -= 1
        return deque([self._waiting.popleft()])

    def again(self, turn: Turn, learn: Pending | None) -> None:
        """Others have stored something that a turn did not know: it is taken again, after `learn`. While news waits for
        room its requests are refused: what there is to learn might find no room either, again and again."""
        undone = turn.undone
        if self._held:
            self._refuse([pending for pending in undone if pending.answer is not None])
            undone = [pending for pending in undone if pending.answer is None]
        self._put_back(undone)
        if learn is not None and (undone or not self._held):
            self.add_first(learn)

    def stored(self, turn: Turn) -> None:
        """A turn was stored. If news was in it, the rest of what is held has its turn too."""
        self._in_hand = []
        if not self._trouble.lasts:
            return
        if self._held and _has_news(turn.taken) and not _has_news(self._waiting):
            self._waiting.extendleft(reversed(self._held))
            self._held.clear()
            self._wake()
        changed = any(decision.records for _, decision in turn.decided)
        if changed and not self._held and self._clock.monotonic() - self._refused_at_s > _QUIET_S:
            self._trouble.over()

    def no_room(self, turn: Turn, full: StoreFull) -> None:
        """The store had no room for a turn."""
        self._why = str(full)
        self._refused_at_s = self._clock.monotonic()
        self._trouble.met(f"changes of metadata are refused, and elections wait: {full}")
        undone = turn.undone
        if len(undone) > 1:
            self._put_back(undone)
            self._alone = max(self._alone, len(undone))
            return
        self._in_hand = []
        self._refuse([pending for pending in undone if pending.answer is not None])
        self._hold([pending for pending in undone if pending.answer is None])

    def drain(self) -> list[Pending]:
        """Everything, held or not; nothing is left."""
        left = [*self._in_hand, *self._held, *self._waiting]
        self._in_hand = []
        self._held.clear()
        self._waiting.clear()
        self._alone = 0
        return left

    def _put_back(self, undone: list[Pending]) -> None:
        """They are the first again. Those that had a turn each get one again."""
        self._in_hand = []
        self._waiting.extendleft(reversed(undone))
        if self._alone:
            self._alone += len(undone)
        self._wake()

    def _refuse(self, requests: list[Pending]) -> None:
        for request in requests:
            self.refusals_total += 1
            request.fail(Error.KAFKA_STORAGE_ERROR, self._why)

    def _hold(self, news: list[Pending]) -> None:
        if not news:
            return
        # News that waits for a turn is older than what is held: since the first was held, none came to wait.
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


def _has_news(pendings: Iterable[Pending]) -> bool:
    return any(pending.answer is None for pending in pendings)
