"""Deadlines by key, without a clock: the caller passes the time.

Heartbeats move one deadline per member every few seconds, so that must be cheap: the heap keeps the earlier entry. When
that entry is due, the actual deadline, stored by key, decides whether the action is due or goes back into the heap.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

A = TypeVar("A", bound=Callable[..., object])


class TimerQueue(Generic[A]):
    """Deadlines in ms of any monotonic clock. `take_due` removes the actions that it returns."""

    def __init__(self) -> None:
        self._due_at: dict[Hashable, tuple[float, A]] = {}
        self._heap: list[tuple[float, int, Hashable]] = []
        self._heaped_at: dict[Hashable, float] = {}
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._due_at)

    def schedule(self, key: Hashable, due_at_ms: float, action: A) -> None:
        self._due_at[key] = (due_at_ms, action)
        heaped_at = self._heaped_at.get(key)
        if heaped_at is None or due_at_ms < heaped_at:
            self._push(key, due_at_ms)

    def cancel(self, key: Hashable) -> None:
        self._due_at.pop(key, None)

    def next_check_ms(self) -> float | None:
        """The time of the next `take_due`, not later than the earliest deadline; None if the heap is empty."""
        return self._heap[0][0] if self._heap else None

    def take_due(self, now_ms: float) -> Iterator[A]:
        """The actions whose deadline is due, earliest first. Actions that these schedule for a time after `now_ms`
        are left to a later call."""
        while self._heap and self._heap[0][0] <= now_ms:
            heaped_at, _, key = heapq.heappop(self._heap)
            if self._heaped_at.get(key) != heaped_at:
                continue  # an older entry of a key that was moved forward
            del self._heaped_at[key]
            entry = self._due_at.get(key)
            if entry is None:
                continue
            due_at_ms, action = entry
            if due_at_ms > now_ms:
                self._push(key, due_at_ms)
                continue
            del self._due_at[key]
            yield action

    def _push(self, key: Hashable, due_at_ms: float) -> None:
        self._sequence += 1
        self._heaped_at[key] = due_at_ms
        heapq.heappush(self._heap, (due_at_ms, self._sequence, key))
