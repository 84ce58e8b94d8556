"""A producer of transfers: every transaction gets a result, abandoned ones are taken over by the next producer."""

from __future__ import annotations

import threading
from functools import partial

import pytest
from tools.chaos.bank.history import Result
from tools.chaos.bank.transfer import PARTITIONS, Accounts, decode_entry
from tools.chaos.bank.transfer_producer import TransferProducer
from tools.chaos.group import read_to_end

from tests.waiting import until
from tools.chaos.bank import transfer_producer

pytestmark = pytest.mark.system

COUNT = 2


@pytest.fixture(params=[0, 1], ids=["confluent_kafka", "signalbox.client"])
def number(request: pytest.FixtureRequest) -> int:
    """Of a producer with this client."""
    made: int = request.param
    return made


def results_of(bootstrap: str, topic: str, number: int) -> tuple[set[Result], bool]:
    """The results of some transfers, and whether exactly the committed ones can be read."""
    producer = TransferProducer(number, bootstrap, topic, Accounts(), seed=1)
    producer.start()
    until(lambda: len(producer.transactions) >= COUNT, "some transfers")
    producer.stop()
    assert producer.wait(60)
    found = read_to_end(bootstrap, topic, PARTITIONS, 30, decode_entry)
    committed = {each.transaction_id for each in producer.transactions if each.result is Result.COMMITTED}
    read = {entry.transaction for rows in found.values() for _, entry in rows}
    return {each.result for each in producer.transactions}, read == committed


def test_transfers_are_committed(
    signalbox_bootstrap: str, topic: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer_producer, "_ABANDONED", 0.0)
    monkeypatch.setattr(transfer_producer, "_ABORTED", 0.0)
    assert results_of(signalbox_bootstrap, topic, number) == ({Result.COMMITTED}, True)


def test_transfers_are_aborted(
    signalbox_bootstrap: str, topic: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer_producer, "_ABANDONED", 0.0)
    monkeypatch.setattr(transfer_producer, "_ABORTED", 1.0)
    assert results_of(signalbox_bootstrap, topic, number) == ({Result.ABORTED}, True)


def test_an_abandoned_producer_commits_nothing(
    signalbox_bootstrap: str, topic: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer_producer, "_ABANDONED", 1.0)
    assert results_of(signalbox_bootstrap, topic, number) == ({Result.ABORTED}, True)


def test_a_producer_that_is_stuck_in_its_client_is_taken_over(
    signalbox_bootstrap: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    until_done, released = TransferProducer._until_done, threading.Event()

    def stuck(producer: TransferProducer, call: partial[None]) -> None:
        if call.func.__name__ == "send_offsets_to_transaction":
            producer._waits_for = call.func.__name__
            assert released.wait(60)
        until_done(producer, call)

    monkeypatch.setattr(transfer_producer, "_WITH_OFFSET", 1.0)
    monkeypatch.setattr(TransferProducer, "_until_done", stuck)
    producer = TransferProducer(0, signalbox_bootstrap, topic, Accounts(), seed=1)
    producer.start()
    until(lambda: producer.is_stuck_in_client, "the call that does not return")
    producer.stop()
    assert not producer.wait(0)
    producer.settle()
    assert read_to_end(signalbox_bootstrap, topic, PARTITIONS, 30, decode_entry) == {}
    released.set()
    assert producer.wait(60)
    assert [each.result for each in producer.transactions] == [Result.ABORTED]
