"""A whole bank on brokers without faults: transfers, readers, and a history in which nothing is wrong."""

from __future__ import annotations

import threading
from functools import partial

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


def test_a_transfer_that_is_not_settled_is_a_violation_with_the_state_of_its_transaction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    until_done, waiting, released = TransferProducer._until_done, set[int](), threading.Event()

    def wait(producer: TransferProducer, call: partial[None]) -> None:
        if call.func.__name__ in ("commit_transaction", "abort_transaction"):
            producer._waits_for = call.func.__name__
            waiting.add(producer.number)
            assert released.wait(60)
        until_done(producer, call)

    monkeypatch.setattr(TransferProducer, "_until_done", wait)
    monkeypatch.setattr("tools.chaos.bank.transfer_producer._ABANDONED", 0.0)
    with Cluster(brokers=3) as cluster:
        bank = Bank(cluster.bootstrap_servers, 3, seed=1)
        bank.start()
        until(lambda: len(waiting) == PRODUCERS, "the first transfer of each producer")
        bank.stop(0)
        violations = list(bank.violations)
        released.set()
        bank.stop(60)
    assert len(violations) == PRODUCERS
    for number, violation in enumerate(violations):
        assert f"producer {number} has not settled its transfer: transaction 0, " in violation
        assert "TransactionDescription(coordinator_id=" in violation
