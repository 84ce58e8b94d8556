from __future__ import annotations

from typing import Any

import pytest
from tests.coordinator.transaction.shards import NAME, P0, P1, TIMEOUT_MS, ShardBench, error_of

from signalbox.common.cooperative_task import CooperativeTask
from signalbox.coordinator.transaction.transaction_state import TransactionState
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.list_transactions import ListTransactionsRequest

pytestmark = pytest.mark.spec("D5")


def test_a_transaction_with_its_partitions() -> None:
    bench = ShardBench()
    transaction = bench.holds(state=TransactionState.ONGOING, partitions=frozenset((P1, P0)))
    described = bench.shard.describe_transactions.describe(NAME)
    assert (described.transactional_id, described.transaction_state) == (NAME, "Ongoing")
    assert (described.producer_id, described.producer_epoch, described.transaction_timeout_ms) == (7, 3, TIMEOUT_MS)
    assert described.transaction_start_time_ms == transaction.started_ms
    assert [(topic.topic, topic.partitions) for topic in described.topics] == [("t", [0, 1])]


def test_ids_that_do_not_exist_or_expire() -> None:
    bench = ShardBench()
    describe = bench.shard.describe_transactions.describe
    assert error_of(lambda: describe(NAME)) is Error.TRANSACTIONAL_ID_NOT_FOUND
    bench.holds()
    bench.entry.write(None, None)
    assert error_of(lambda: describe(NAME)) is Error.TRANSACTIONAL_ID_NOT_FOUND
    assert bench.shard.describe_transactions.list(ListTransactionsRequest(), lambda name: True) == []


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({}, [NAME, "idle"]),
        ({"state_filters": ["Ongoing", "PrepareAbort"]}, [NAME]),
        ({"producer_id_filters": [8]}, ["idle"]),
        ({"duration_filter": 4_999}, [NAME, "idle"]),
        ({"duration_filter": 5_000}, ["idle"]),
        ({"state_filters": ["Empty"], "producer_id_filters": [7]}, []),
    ],
)
def test_the_filters_of_list_transactions(filters: dict[str, Any], names: list[str]) -> None:
    bench = ShardBench()
    bench.holds(state=TransactionState.ONGOING)
    bench.shard.ids.replay("idle", bench.holds(producer_id=8))
    bench.holds(state=TransactionState.ONGOING)
    bench.clock.advance(5_000)
    request = ListTransactionsRequest(**filters)
    listed = bench.shard.describe_transactions.list(request, lambda name: True)
    assert [row.transactional_id for row in listed] == names


def test_list_transactions_shows_only_ids_that_match() -> None:
    bench = ShardBench()
    bench.holds()
    listed = bench.shard.describe_transactions.list(ListTransactionsRequest(), lambda name: name != NAME)
    assert listed == []


def test_the_list_is_made_in_slices() -> None:
    bench = ShardBench()
    for number in range(100):
        bench.shard.ids.replay(f"id-{number}", bench.holds())
    listed: list[Any] = []
    task = CooperativeTask(
        lambda: listed.extend(bench.shard.describe_transactions.list(ListTransactionsRequest(), lambda name: True))
    )
    slices = 0
    while not task.dead:
        task.run_slice(0)
        slices += 1
    assert slices > 100
    assert len(listed) == 101
