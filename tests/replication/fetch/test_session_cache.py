"""Slots of the session cache: sessions are resumed by id and epoch, and evicted when the cache is full."""

from __future__ import annotations

import pytest

from signalbox.protocol.error_table import Error
from signalbox.replication.fetch.session_cache import EVICT_AFTER_MS
from tests.replication.fetch.test_fetch_session import Bench

pytestmark = pytest.mark.spec("D1")

# (cached sessions as (size, from replica), ms until the new session, new session, is there a slot?)
FULL = {
    "no session is old enough": ([(1, False), (1, False)], EVICT_AFTER_MS, (9, True), False),
    "a session is idle": ([(1, False), (1, False)], EVICT_AFTER_MS + 1, (1, False), True),
}


@pytest.mark.parametrize("name", FULL)
def test_a_full_cache(name: str) -> None:
    cached, pause_ms, new_session, has_slot = FULL[name]
    bench = Bench()
    for size, from_replica in cached:
        bench.create(size, from_replica)
    bench.clock.advance(pause_ms)
    assert (bench.create(*new_session) != 0) is has_slot
    assert len(bench.cache) == 2


@pytest.mark.parametrize(
    ("new_session", "has_slot"), [((1, True), True), ((3, False), True), ((2, False), False), ((1, False), False)]
)
def test_busy_sessions_give_way_to_greater_ones(new_session: tuple[int, bool], has_slot: bool) -> None:
    bench = Bench()
    ids = [bench.create(2, False), bench.create(5, True)]
    bench.clock.advance(EVICT_AFTER_MS)
    assert [bench.resume(session_id, 1) for session_id in ids] == [Error.NONE] * 2
    bench.clock.advance(1)
    assert (bench.create(*new_session) != 0) is has_slot
    assert bench.cache.evictions == int(has_slot)
    assert (bench.resume(ids[0], 2) is Error.NONE) is not has_slot
    assert bench.resume(ids[1], 2) is Error.NONE


def test_the_search_for_a_lesser_one_is_not_repeated_at_once() -> None:
    bench = Bench(slots=1)
    session_id = bench.create(2)
    assert [bench.create(3), bench.create(3)] == [0, 0]
    bench.clock.advance(EVICT_AFTER_MS)
    assert bench.resume(session_id, 1) is Error.NONE
    bench.clock.advance(1)
    assert bench.create(1) == 0
    assert bench.create(3) == 0
    bench.clock.advance(1_000)
    assert bench.create(3) != 0


def test_no_slots_no_sessions() -> None:
    assert Bench(slots=0).create() == 0
    assert Bench().cache.partition_count == 0
