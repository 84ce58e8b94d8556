"""Which accounts are in a transfer: an account is in one at a time, until the result of its transaction is settled."""

from __future__ import annotations

import threading
from random import Random

from tools.chaos.bank.transfer import ACCOUNTS


class Accounts:
    """Shared by the threads of all producers."""

    def __init__(self, accounts: int = ACCOUNTS) -> None:
        self._free = set(range(accounts))
        self._released = threading.Condition()

    def take(self, random: Random, timeout_s: float) -> tuple[int, int] | None:
        """Two accounts that are in no transfer; None if there were none in that time."""
        with self._released:
            if not self._released.wait_for(lambda: len(self._free) > 1, timeout_s):
                return None
            source, target = random.sample(sorted(self._free), 2)
            self._free -= {source, target}
            return source, target

    def give_back(self, accounts: tuple[int, int]) -> None:
        """The transfer between these accounts is settled."""
        with self._released:
            self._free |= set(accounts)
            self._released.notify_all()
