"""Exponential backoff: each wait is twice as long as the one before, up to a bound."""

from __future__ import annotations


class Backoff:
    """Waits of `first`, twice that and so on, up to `longest`, in the unit of the caller."""

    __slots__ = ("_first", "_longest", "last")

    def __init__(self, first: float, longest: float) -> None:
        self._first = first
        self._longest = longest
        self.last = 0.0  # the wait that `grow` returned last; 0 before the first failure and after a reset

    def grow(self) -> float:
        """Count one more failure; returns the wait before the next try."""
        self.last = min(self.last * 2 or self._first, self._longest)
        return self.last

    def reset(self) -> None:
        """After a success: the next failure counts as the first."""
        self.last = 0.0


def backoff_after(failures: int, first: float, longest: float) -> float:
    """The wait after this number of failures in a row (1: `first`), for callers that count the failures themselves."""
    return min(first * float(2 ** min(failures - 1, 30)), longest)
