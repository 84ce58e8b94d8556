"""A whole bank on brokers without faults: transfers, readers, and a history in which nothing is wrong."""

from __future__ import annotations

import pytest
from tools.chaos.bank.bank import PRODUCERS, Bank
from tools.chaos.bank.bank_check import check_bank
from tools.chaos.bank.transfer_producer import TransferProducer

from signalbox.testing.cluster import Cluster
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


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_producer_that_ends_with_an_exception_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = []

    def fail(self: TransferProducer, *_: object) -> None:
        failed.append(self)
        raise RuntimeError("a client's call failed")

    monkeypatch.setattr(TransferProducer, "_transfer", fail)
    with Cluster(brokers=3) as cluster:
        bank = Bank(cluster.bootstrap_servers, 3, seed=1)
        bank.start()
        until(lambda: len(failed) == PRODUCERS, "the first transfer of each producer")
        bank.stop(60)
    assert len(bank.violations) == PRODUCERS
    assert all("ended with RuntimeError" in violation for violation in bank.violations)
