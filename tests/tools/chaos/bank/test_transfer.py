"""A transfer moves money between two accounts, and its records say what they belong to."""

from __future__ import annotations

from random import Random

import pytest
from tools.chaos.bank.transfer import Accounts, Entry, TransactionId, decode_entry, transfer

TRANSFER = TransactionId(3, 7)


def test_the_records_of_a_transfer() -> None:
    entries = transfer(TRANSFER, (2, 13), Random(1))
    assert [(entry.index, entry.total, entry.account) for entry in entries] == [(0, 3, 2), (1, 3, 13), (2, 3, 2)]
    assert sum(entry.amount for entry in entries) == 0
    assert all(entry.amount for entry in entries)
    assert [entry.partition for entry in entries] == [2, 1, 2]


def test_a_record_can_be_read() -> None:
    entry = Entry(TRANSFER, 2, 3, 19, -40)
    assert entry.encode() == b"3 7 2 3 19 -40"
    assert decode_entry(entry.encode()) == entry
    with pytest.raises(ValueError, match="values to unpack"):
        decode_entry(b"3 7 2 3 19")


def test_no_account_is_in_two_transfers() -> None:
    accounts, random = Accounts(4), Random(1)
    first, second = accounts.take(random, 0), accounts.take(random, 0)
    assert first is not None
    assert second is not None
    assert sorted((*first, *second)) == [0, 1, 2, 3]
    assert accounts.take(random, 0) is None
    accounts.give_back(first)
    third = accounts.take(random, 0)
    assert third is not None
    assert set(third) == set(first)
