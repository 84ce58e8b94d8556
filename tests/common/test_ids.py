from __future__ import annotations

import pytest

from signalbox.common.ids import (
    MAX_RANGES,
    ZERO_UUID,
    ForwardingId,
    StorePosition,
    TopicPartition,
    decode_forwarding_id,
    new_uuid,
    numbers_by_topic,
    partition_count,
    partition_list,
    uuid_bytes,
    uuid_text,
)


def test_text_and_bytes_are_inverse() -> None:
    for _ in range(200):
        value = new_uuid()
        text = uuid_text(value)
        assert len(text) == 22
        assert not text.startswith("-")
        assert uuid_bytes(text) == value


def test_zero_is_never_made_and_has_kafkas_text() -> None:
    assert uuid_text(ZERO_UUID) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert new_uuid() != ZERO_UUID


@pytest.mark.parametrize("text", ["", "short", "!" * 22, "A" * 23])
def test_text_that_is_no_uuid_is_rejected_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="is not a uuid"):
        uuid_bytes(text)


def test_a_partition_prints_as_its_folder() -> None:
    assert str(TopicPartition("flights", 3)) == "flights-3"


def of(topic: str, *numbers: int) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in numbers]


def test_consecutive_partitions_become_ranges() -> None:
    assert partition_list(of("b", 7, 0, 1, 2) + of("a", 3)) == "a-3 b-0..2,7"
    assert partition_list([]) == ""
    assert [partition_count(of("a", *numbers)) for numbers in ([1], [1, 2])] == ["1 partition", "2 partitions"]


def test_a_long_list_is_cut_and_the_rest_counted() -> None:
    line = partition_list(of("t", *range(0, 4 * MAX_RANGES, 2)))
    assert line.endswith(f",{2 * MAX_RANGES - 2} and {MAX_RANGES} more")


def test_there_and_back() -> None:
    forwarding_id = ForwardingId(2, 1 << 40, 9, 7)
    assert len(forwarding_id.encode()) == 28
    assert decode_forwarding_id(forwarding_id.encode()) == forwarding_id
    assert forwarding_id.key == (2, 1 << 40, 9)


@pytest.mark.parametrize("data", [None, b"", b"short", ForwardingId(1, 2, 3).encode() + b"\0"])
def test_unknown_tagged_fields_are_no_forwarding_id(data: bytes | None) -> None:
    assert decode_forwarding_id(data) is None


def test_a_store_position_names_its_three_parts() -> None:
    assert str(StorePosition("i", 3, 7)) == "incarnation=i, generation=3, controller epoch=7"


def test_numbers_by_topic_are_in_order() -> None:
    partitions = [TopicPartition("b", 2), TopicPartition("a", 10), TopicPartition("b", 1), TopicPartition("a", 9)]
    assert list(numbers_by_topic(partitions).items()) == [("a", [9, 10]), ("b", [1, 2])]
