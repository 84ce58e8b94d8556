import pytest

from signalbox.common.ids import ZERO_UUID, TopicPartition, new_uuid, uuid_bytes, uuid_text


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
