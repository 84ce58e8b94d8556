"""Fetch on the fast path: waiting, limits, isolation, epochs. Equality with the generic path: test_fast_path.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

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
def test_aborted_transactions_take_the_generic_path(pair: FastPathPair) -> None:
    def hits_of(offset: int, isolation: int) -> int:
        before = pair.fast.hits
        for _ in range(4):
            pair.send(Fetch(12, 0, offset, isolation=isolation))
        return pair.fast.hits - before

    for side in (pair.fast, pair.generic):
        produce_in_transaction(side.cluster, 1, 70, b"x")
        end_transaction(side.cluster, 1, 70, is_commit=False)
        side.cluster.produce(1, b"y")
        side.cluster.run()
    assert (hits_of(0, 1), hits_of(3, 1)) == (0, 0)
    assert hits_of(5, 1) > 0
    assert hits_of(3, 0) > 0
