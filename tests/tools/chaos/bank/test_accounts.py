"""An account is in one transfer at a time."""

from __future__ import annotations

from random import Random

from tools.chaos.bank.accounts import Accounts


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
