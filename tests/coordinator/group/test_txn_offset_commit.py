from __future__ import annotations

import pytest
from tests.coordinator.bench import Bench, BenchCall, settle, transcript

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import iter_batch_headers

pytestmark = pytest.mark.spec("D5")
UNSTABLE = (-1, Error.UNSTABLE_OFFSET_COMMIT)


def errors(pending: BenchCall) -> list[int]:
    return [partition.error_code for topic in pending.response.topics for partition in topic.partitions]


@pytest.mark.parametrize(("committed", "offset"), [(True, 9), (False, 5)])
@transcript
async def test_the_offsets_are_pending_until_the_marker(committed: bool, offset: int) -> None:
    bench = await Bench().start()
    bench.commit({("t", 0): 5, ("t", 1): 6})
    await settle()
    commit = bench.txn_commit({("t", 0): 9})
    assert not commit.answered
    await settle()
    assert errors(commit) == [Error.NONE]
    assert bench.offsets() == {("t", 0): 5, ("t", 1): 6}
    assert bench.stable_offsets() == {("t", 0): UNSTABLE, ("t", 1): (6, 0)}
    await bench.end_transaction(committed)
    assert bench.stable_offsets() == {("t", 0): (offset, 0), ("t", 1): (6, 0)}


@transcript
async def test_the_records_are_a_batch_of_the_producers_transaction() -> None:
    bench = await Bench().start()
    bench.commit({("t", 0): 5})
    bench.txn_commit({("t", 0): 9})
    bench.txn_commit({("t", 1): 9}, producer_id=8)
    bench.commit({("t", 1): 5})
    await settle()
    log = memoryview(b"".join(bench.log.batches[0]))
    headers = [(row.is_transactional, row.producer_id, row.producer_epoch) for row in iter_batch_headers(log)]
    assert headers == [(False, -1, -1), (True, 7, 3), (True, 8, 3), (False, -1, -1)]
    assert [row.base_sequence for row in iter_batch_headers(log)] == [-1, -1, -1, -1]


@transcript
async def test_the_records_are_appended_with_the_guard_of_their_transaction() -> None:
    bench = await Bench().start()
    first, second = object(), object()
    for guard, offset in ((first, 1), (first, 2), (second, 3)):
        bench.txn_commit({("t", 0): offset}, guard=guard)
    await settle()
    assert bench.log.guard_by_append == [first, second]
    assert bench.coordinator.start_verification("g", (7, 3), raises_epochs=True) == (7, 3)
    bench.coordinator.abandon_verification("g", 7, second)
    assert bench.log.abandoned == [second]
    bench.coordinator.on_resigned(0)
    bench.coordinator.abandon_verification("g", 7, first)
    assert bench.log.abandoned == [second]
    with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
        bench.coordinator.start_verification("g", (7, 3), raises_epochs=True)


@pytest.mark.parametrize("ended_before", [True, False])
@transcript
async def test_a_new_coordinator_finds_pending_offsets_and_markers(ended_before: bool) -> None:
    bench = await Bench().start()
    bench.txn_commit({("t", 0): 9})
    if ended_before:
        await bench.end_transaction(True)
    await settle()
    after = await bench.fail_over(2)
    if not ended_before:
        assert (after.offsets(), after.shard.groups.get("g") is not None) == ({}, True)
        await after.end_transaction(True)
    assert after.stable_offsets() == {("t", 0): (9, 0)}


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({}, Error.NONE),  # versions 0 to 2 have no member and generation
        ({"generation": 1, "member_id": "client-1"}, Error.NONE),
        ({"generation": 0, "member_id": "client-1"}, Error.ILLEGAL_GENERATION),
        ({"generation": 1, "member_id": "unknown"}, Error.UNKNOWN_MEMBER_ID),
        ({"generation": 1}, Error.UNKNOWN_MEMBER_ID),
        ({"group": "other", "generation": 1}, Error.ILLEGAL_GENERATION),
        ({"group": ""}, Error.INVALID_GROUP_ID),
    ],
)
@transcript
async def test_the_group_checks_member_and_generation(fields: dict[str, object], error: Error) -> None:
    bench = await Bench().start()
    await bench.stable_group(b"a")
    commit = bench.txn_commit({("t", 0): 9}, **fields)
    await settle()
    assert errors(commit) == [error]


@transcript
async def test_a_rebalance_does_not_reject_a_member_of_the_new_generation() -> None:
    bench = await Bench().start()
    join = bench.join(version=3)
    await bench.pass_time(3_000)
    commit = bench.txn_commit({("t", 0): 5}, member_id=join.response.member_id, generation=1)
    await settle()
    assert errors(commit) == [Error.NONE]


@transcript
async def test_partitions_that_do_not_exist_and_metadata_that_is_too_long() -> None:
    bench = await Bench().start()
    commit = bench.txn_commit({("nowhere", 0): 1, ("t", 0): 9, ("t", 999): 1})
    await settle()
    assert errors(commit) == [Error.UNKNOWN_TOPIC_OR_PARTITION, Error.NONE, Error.UNKNOWN_TOPIC_OR_PARTITION]
    assert errors(bench.txn_commit({("t", 0): 9}, metadata="x" * 4_097)) == [Error.OFFSET_METADATA_TOO_LARGE]


@transcript
async def test_errors_of_the_log_and_of_leadership() -> None:
    bench = await Bench().start()
    bench.log.rejection = Error.MESSAGE_TOO_LARGE
    commit = bench.txn_commit({("t", 0): 9, ("nowhere", 0): 1})
    await settle()
    assert errors(commit) == [Error.UNKNOWN_SERVER_ERROR, Error.UNKNOWN_TOPIC_OR_PARTITION]
    assert bench.shard.offsets.known_or_coming("g") == []
    bench.coordinator.on_resigned(0)
    assert errors(bench.txn_commit({("t", 0): 9})) == [Error.NOT_COORDINATOR]
    assert bench.coordinator.complete_transaction(0, 7, 3, True).result() is Error.NOT_COORDINATOR


@transcript
async def test_a_group_with_an_open_transaction_does_not_expire() -> None:
    bench = await Bench().start()
    bench.commit({("t", 0): 5})
    bench.txn_commit({("t", 0): 9})
    await settle()
    day_ms = 86_400_000
    await bench.pass_time(8 * day_ms, step_ms=day_ms)
    assert bench.offsets() == {("t", 0): 5}
    await bench.end_transaction(False)
    await bench.pass_time(day_ms, step_ms=day_ms)
    assert (bench.offsets(), len(bench.shard.groups)) == ({}, 0)


@transcript
async def test_a_deleted_groups_pending_offsets_do_not_come_back() -> None:
    bench = await Bench().start()
    bench.txn_commit({("t", 0): 9})
    await settle()
    bench.runtime.write(0, lambda shard: shard.expiry.delete("g"))
    await settle()
    await bench.end_transaction(True)
    assert bench.offsets() == {}
