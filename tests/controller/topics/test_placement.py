"""Placement spreads leaders, followers and racks (SPEC D3, as in Kafka)."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.controller.topics.placement import PlacementRequest, place_replicas
from signalbox.protocol.error_table import Error, KafkaError

pytestmark = pytest.mark.spec("D3")


def first(sides: int) -> int:
    return 0


def test_as_kafka_places_on_five_brokers() -> None:
    racks = dict.fromkeys(range(5))
    placement = place_replicas(racks, PlacementRequest(10, 3), first)
    assert placement == {
        0: (0, 1, 2), 1: (1, 2, 3), 2: (2, 3, 4), 3: (3, 4, 0), 4: (4, 0, 1),
        5: (0, 2, 3), 6: (1, 3, 4), 7: (2, 4, 0), 8: (3, 0, 1), 9: (4, 1, 2),
    }  # fmt: skip


def test_added_partitions_go_on_where_the_topic_began() -> None:
    racks = dict.fromkeys(range(5))
    complete = place_replicas(racks, PlacementRequest(10, 3, start=0), first)
    added = place_replicas(racks, PlacementRequest(5, 3, first_partition=5, start=0), first)
    assert set(added) == {5, 6, 7, 8, 9}
    assert [replicas[0] for replicas in added.values()] == [complete[partition][0] for partition in added]


def test_every_rack_gets_a_replica_before_any_gets_a_second() -> None:
    racks = {0: "a", 1: "a", 2: "a", 3: "b", 4: "c"}
    for replicas in place_replicas(racks, PlacementRequest(20, 3), first).values():
        assert {racks[broker] for broker in replicas} == {"a", "b", "c"}


def test_racks_are_left_out_of_account_unless_all_brokers_have_one() -> None:
    some = {0: "a", 1: None, 2: "b"}
    assert place_replicas(some, PlacementRequest(3, 2), first) == place_replicas(
        dict.fromkeys(range(3)), PlacementRequest(3, 2), first
    )


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (PlacementRequest(0, 1), Error.INVALID_PARTITIONS),
        (PlacementRequest(-2, 1), Error.INVALID_PARTITIONS),
        (PlacementRequest(1, 0), Error.INVALID_REPLICATION_FACTOR),
        (PlacementRequest(1, 4), Error.INVALID_REPLICATION_FACTOR),
    ],
)
def test_numbers_that_cannot_be_served(request_: PlacementRequest, error: Error) -> None:
    with pytest.raises(KafkaError) as rejected:
        place_replicas(dict.fromkeys(range(3)), request_, first)
    assert rejected.value.error is error


clusters = st.dictionaries(st.integers(0, 40), st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=12)


@given(racks=clusters, partitions=st.integers(1, 60), data=st.data())
def test_any_placement_is_sound_and_even(racks: dict[int, str | None], partitions: int, data: st.DataObject) -> None:
    factor = data.draw(st.integers(1, len(racks)))
    seed = data.draw(st.integers(0, 10_000))
    placement = place_replicas(racks, PlacementRequest(partitions, factor), lambda sides: seed % sides)
    assert list(placement) == list(range(partitions))
    for replicas in placement.values():
        assert len(replicas) == factor == len(set(replicas))
        assert set(replicas) <= set(racks)
        known = [rack for broker in replicas if (rack := racks[broker]) is not None]
        if None not in racks.values():
            assert len(set(known)) == min(factor, len(set(racks.values())))
    leaders = Counter(replicas[0] for replicas in placement.values())
    assert max(leaders.values()) - min(leaders.get(broker, 0) for broker in racks) <= 1


@given(brokers=st.integers(2, 9), rounds=st.integers(1, 6), data=st.data())
def test_without_racks_whole_rounds_load_every_broker_alike(brokers: int, rounds: int, data: st.DataObject) -> None:
    factor = data.draw(st.integers(1, brokers))
    placement = place_replicas(dict.fromkeys(range(brokers)), PlacementRequest(brokers * rounds, factor), first)
    load = Counter(broker for replicas in placement.values() for broker in replicas)
    assert set(load.values()) == {rounds * factor}
