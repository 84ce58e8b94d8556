"""Fetch on the fast path: waiting, limits, isolation, epochs. Equality with the generic path: test_fast_path.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from signalbox.broker.fast_path import fast_fetch
from tests.broker.fast_path.test_fast_path import FastPathPair, Fetch, Produce, twins_in
from tests.replication.memory_transactions import end_transaction, produce_in_transaction


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[FastPathPair]:
    with twins_in(tmp_path) as pair:
        for _ in range(3):
            pair.send(Produce(9, 1, (0,), size=400))
        pair.fast.hits = 0
        yield pair


@pytest.mark.parametrize("min_bytes", [0, 1, 400])
def test_enough_is_answered_at_once(pair: FastPathPair, min_bytes: int) -> None:
    for _ in range(3):
        pair.send(Fetch(12, 0, 1, min_bytes=min_bytes))
    assert pair.fast.hits == 1


def test_too_little_waits_on_the_long_way(pair: FastPathPair) -> None:
    for _ in range(4):
        pair.send(Fetch(12, 0, 2, min_bytes=5_000))
    assert pair.fast.hits == 0


def test_less_than_min_bytes_is_enough_without_max_wait(pair: FastPathPair) -> None:
    for _ in range(3):
        pair.send(Fetch(12, 0, 2, min_bytes=5_000, wait_ms=0))
    assert pair.fast.hits == 1


def test_one_batch_is_given_whatever_the_limit(pair: FastPathPair) -> None:
    for _ in range(3):
        [response] = pair.send(Fetch(12, 0, 0, max_bytes=1))
        assert isinstance(response, bytes)
        assert len(response) > 400
    assert pair.fast.hits == 1


@pytest.mark.parametrize("leader_epoch", [0, 1])
def test_a_leader_epoch_is_fenced(pair: FastPathPair, leader_epoch: int) -> None:
    for _ in range(4):
        pair.send(Fetch(12, 0, 0, leader_epoch=leader_epoch))
    assert pair.fast.hits == (2 if leader_epoch == 0 else 0)


def test_the_same_partition_with_other_limits_is_another_template(pair: FastPathPair) -> None:
    for max_bytes in (100, 200, 100, 200, 200):
        pair.send(Fetch(12, 0, 0, max_bytes=max_bytes))
    assert pair.fast.hits >= 1


@pytest.mark.spec("D5")
@pytest.mark.parametrize("version", range(4, 19))
def test_aborted_transactions_are_in_the_response(pair: FastPathPair, version: int) -> None:
    abort_transactions(pair, 70, 71)
    for offset, isolation in ((0, 1), (3, 1), (7, 1), (3, 0)):
        before = pair.fast.hits
        for _ in range(4):
            pair.send(Fetch(version, 0, offset, isolation=isolation))
        assert pair.fast.hits - before > 0


@pytest.mark.spec("D5")
def test_very_many_aborted_transactions_take_the_generic_path(
    pair: FastPathPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast_fetch, "MAX_FAST_PATH_ABORTED_TRANSACTIONS", 1)
    abort_transactions(pair, 70, 71)
    for offset, is_fast in ((0, False), (6, True)):
        before = pair.fast.hits
        for _ in range(4):
            pair.send(Fetch(12, 0, offset, isolation=1))
        assert (pair.fast.hits > before) is is_fast


def abort_transactions(pair: FastPathPair, *producer_ids: int) -> None:
    """A record and a marker of each, from offset 3 on, and a record behind them."""
    for side in (pair.fast, pair.generic):
        for producer_id in producer_ids:
            produce_in_transaction(side.cluster, 1, producer_id, b"x")
            end_transaction(side.cluster, 1, producer_id, is_commit=False)
        side.cluster.produce(1, b"y")
        side.cluster.run()
