"""A whole bank on brokers without faults: transfers, readers, and a history in which nothing is wrong."""

from __future__ import annotations

import pytest
from tools.chaos.bank.bank import PRODUCERS, Bank
from tools.chaos.bank.bank_check import check_bank

from tests.waiting import until

pytestmark = pytest.mark.system


def test_a_bank_without_faults(signalbox_bootstrap: str) -> None:
    bank = Bank(signalbox_bootstrap, 3, seed=1)
    bank.start()
    until(lambda: bank.transfers >= 10 * PRODUCERS, "transfers of all producers")
    bank.stop(60)
    check = check_bank(bank.history(60))
    assert bank.violations == []
    assert check.examples == ()
    assert check.committed > check.aborted
