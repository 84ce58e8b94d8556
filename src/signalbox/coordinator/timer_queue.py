"""Deadlines by key, without a clock of its own: the runtime says what time it is.

Heartbeats move one deadline per member every few seconds, so moving must be cheap: the heap keeps the earlier entry,
and when that comes up the true deadline, kept by key, decides whether it is due or goes back into the heap.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

A = TypeVar("A", bound=Callable[..., object])


class TimerQueue(Generic[A]):
    """Deadlines in ms of any steady clock. An action leaves the queue when it is taken as due."""

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

    def next_look_ms(self) -> float | None:
        """When to look again: no later than the earliest deadline; None while the heap is empty."""
        return self._heap[0][0] if self._heap else None

    def take_due(self, now_ms: float) -> Iterator[A]:
        """The actions whose deadline has come, earliest first. What they schedule is not looked at before the
        next call when it is due later than `now_ms`."""
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
