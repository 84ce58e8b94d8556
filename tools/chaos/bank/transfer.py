"""A transfer and its records: an account is debited in two steps, another one is credited, and the sum is 0.

Each record carries its transaction, its number in it and the number of records of the transaction, so that a reader can
tell whether it has all of them. The two debits are in the same partition: the first one is an intermediate version of
the account. An account is in one transfer at a time, until the result of its transaction is settled.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

ACCOUNTS = 20
PARTITIONS = 6
_MOST_MONEY = 100


@dataclass(frozen=True, slots=True, order=True)
class TransactionId:
    """A producer and the number of a transaction among its transactions, counted from 0."""

    producer: int
    number: int

    def __str__(self) -> str:
        return f"{self.producer}/{self.number}"


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One record: `amount` is added to `account`. `index` counts from 0 to `total` - 1."""

    transaction: TransactionId
    index: int
    total: int
    account: int
    amount: int

    @property
    def partition(self) -> int:
        return self.account % PARTITIONS

    def encode(self) -> bytes:
        """The record's value."""
        numbers = (self.transaction.producer, self.transaction.number, self.index, self.total)
        return b"%d %d %d %d " % numbers + b"%d %d" % (self.account, self.amount)

    def __str__(self) -> str:
        return f"{self.transaction} entry {self.index} of {self.total}"


def decode_entry(value: bytes) -> Entry:
    """The entry in a record's value."""
    producer, number, index, total, account, amount = map(int, value.split(b" "))
    return Entry(TransactionId(producer, number), index, total, account, amount)


def transfer(transaction: TransactionId, accounts: Sequence[int], random: Random) -> tuple[Entry, ...]:
    """The records of a transfer from the first of two accounts to the second one, in the order of sending."""
    source, target = accounts
    money, fee = random.randint(1, _MOST_MONEY), random.randint(1, _MOST_MONEY)
    rows = ((source, -money), (target, money + fee), (source, -fee))
    return tuple(Entry(transaction, index, len(rows), *row) for index, row in enumerate(rows))


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
