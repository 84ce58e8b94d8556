from __future__ import annotations

import itertools

import pytest

from signalbox.client.cluster.quarantine import FORGET_AFTER_MS, Quarantine
from signalbox.client.connection.node import Address

pytestmark = pytest.mark.spec("R6")

ROUTE, OTHER = (1, Address("h", 1)), (2, Address("h", 2))


def test_probes_come_quickly_at_first_then_after_an_eighth_of_the_outage_and_at_last_at_the_interval() -> None:
    quarantine = Quarantine(max_probe_interval_ms=500)
    quarantine.note_rejection(ROUTE, 1_000)
    assert not quarantine.holds(ROUTE)
    now, gaps = 1_000.0, list[float]()
    while now < 7_000:
        quarantine.add(ROUTE, now)
        at = quarantine.routes[ROUTE].probe_at_ms
        assert quarantine.due_probes(at - 1) == []
        assert quarantine.due_probes(at) == [ROUTE]
        gaps.append(at - now)
        now = at
    assert gaps[:9] == [25] * 9, "200 ms and the next probe"
    assert gaps[9] == 225 / 8
    assert all(later == pytest.approx(9 / 8 * sooner) for sooner, later in itertools.pairwise(gaps[9:-5]))
    assert gaps[-4:] == [500] * 4
    assert len(gaps) < 45, "few probes, although the first ones come quickly"


def test_a_bootstrap_server_is_tried_at_once_and_then_1_2_4_up_to_60_seconds_apart() -> None:
    quarantine = Quarantine()
    quarantine.note_rejection(ROUTE, 0)
    quarantine.add(ROUTE, 0)
    asked = [second for second in range(200) if quarantine.take_seed_refresh(second * 1_000)]
    assert asked == [0, 1, 3, 7, 15, 31, 63, 123, 183]


def test_the_next_event_is_the_earlier_of_probe_and_seed() -> None:
    quarantine = Quarantine()
    assert quarantine.next_event_ms() is None
    quarantine.note_rejection(ROUTE, 0)
    assert quarantine.next_event_ms() is None
    quarantine.add(ROUTE, 0)
    assert quarantine.next_event_ms() == 0
    quarantine.take_seed_refresh(0)
    assert quarantine.next_event_ms() == 25


def test_a_route_missing_in_metadata_is_removed_and_a_verified_one_released() -> None:
    quarantine = Quarantine()
    for route in (ROUTE, OTHER):
        quarantine.note_rejection(route, 0)
        quarantine.add(route, 0)
    quarantine.retain({OTHER})
    assert (quarantine.holds(ROUTE), quarantine.holds(OTHER)) == (False, True)
    quarantine.release(OTHER)
    assert quarantine.routes == {}


def test_an_old_rejection_expires() -> None:
    quarantine = Quarantine()
    assert quarantine.note_rejection(ROUTE, 0).rejections == 1
    assert quarantine.note_rejection(ROUTE, 1_000).rejections == 2
    assert quarantine.note_rejection(ROUTE, 1_001 + FORGET_AFTER_MS).rejections == 1


def test_a_probe_that_is_under_way_is_not_due() -> None:
    quarantine = Quarantine(max_probe_interval_ms=500)
    quarantine.note_rejection(ROUTE, 0)
    quarantine.add(ROUTE, 0)
    quarantine.take_seed_refresh(0)
    quarantine.probe_begun(ROUTE)
    assert (quarantine.due_probes(1e9), quarantine.next_event_ms()) == ([], 1_000), "the next request to a seed"
    quarantine.add(ROUTE, 2_000)
    assert quarantine.routes[ROUTE].probe_at_ms == 2_250
    quarantine.postpone_probe(ROUTE, 2_250)
    assert (quarantine.due_probes(2_749), quarantine.due_probes(2_750)) == ([], [ROUTE])


def test_bootstrap_servers_are_asked_once_a_second_however_many_routes_are_quarantined() -> None:
    quarantine = Quarantine()
    for node_id, now_ms in ((1, 0.0), (2, 100.0)):
        route = (node_id, Address("h", node_id))
        quarantine.note_rejection(route, now_ms)
        quarantine.add(route, now_ms)
        quarantine.probe_begun(route)
        assert quarantine.take_seed_refresh(now_ms) is (node_id == 1)
    assert quarantine.next_event_ms() == 1_000
    assert not quarantine.take_seed_refresh(999)
    assert quarantine.take_seed_refresh(1_000)


def test_only_so_many_released_routes_are_kept_in_mind() -> None:
    quarantine = Quarantine()
    for node_id in range(1_200):
        quarantine.note_rejection((node_id, Address("h", 1)), 0)
        quarantine.release((node_id, Address("h", 1)))
    assert quarantine.routes == {}
    recurring = [quarantine.note_rejection((node_id, Address("h", 1)), 1).recurs for node_id in range(1_200)]
    assert recurring == [False] * 200 + [True] * 1_000
