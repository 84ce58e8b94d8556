"""How long to leave alone what has failed: twice as long each time, up to a bound."""

from __future__ import annotations


class Backoff:
    """Waits of `first`, twice that and so on, up to `longest`, in whatever unit the owner counts."""

    __slots__ = ("_first", "_longest", "last")

    def __init__(self, first: float, longest: float) -> None:
        self._first = first
        self._longest = longest
        self.last = 0.0  # the wait that `grow` gave, 0 before the first failure and after a reset

    def grow(self) -> float:
        """Something failed: the wait before the next try."""
        self.last = min(self.last * 2 or self._first, self._longest)
        return self.last

    def reset(self) -> None:
        """It went well: the next failure is the first."""
        self.last = 0.0


def backoff_after(failures: int, first: float, longest: float) -> float:
    """The wait after so many failures in a row (1: `first`), for owners that count them anyway."""
    return min(first * float(2 ** min(failures - 1, 30)), longest)
