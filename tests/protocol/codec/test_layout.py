import pytest

from signalbox.protocol.codec.layout import StructLayout, layout_of
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.protocol.messages.metadata import MetadataResponse


def names(layout: StructLayout) -> list[str]:
    return [field.attribute for field in layout.fields]


def test_a_version_has_its_fields_in_wire_order_and_knows_what_it_lacks() -> None:
    oldest = layout_of(FetchRequest.schema, 4)
    assert names(oldest) == ["replica_id", "max_wait_ms", "min_bytes", "max_bytes", "isolation_level", "topics"]
    assert not oldest.flexible
    assert [spec.name for spec in oldest.absent] == [
        "ClusterId",
        "ReplicaState",
        "SessionId",
        "SessionEpoch",
        "ForgottenTopicsData",
        "RackId",
    ]


def test_tagged_fields_stand_apart_by_ascending_tag() -> None:
    partitions = layout_of(FetchResponse.schema, 12).fields[3].struct
    assert partitions is not None
    partition = partitions.fields[1].struct
    assert partition is not None
    assert [(field.spec.tag, field.attribute) for field in partition.tagged] == [
        (0, "diverging_epoch"),
        (1, "current_leader"),
        (2, "snapshot_id"),
    ]


def test_nullability_follows_the_version() -> None:
    def topic_name_is_nullable(version: int) -> bool:
        topics = next(f for f in layout_of(MetadataResponse.schema, version).fields if f.attribute == "topics")
        assert topics.struct is not None
        return next(field for field in topics.struct.fields if field.attribute == "name").nullable

    assert not topic_name_is_nullable(11)
    assert topic_name_is_nullable(12)


def test_versions_without_a_difference_have_equal_layouts() -> None:
    assert layout_of(FetchRequest.schema, 5) == layout_of(FetchRequest.schema, 6)
    assert layout_of(FetchRequest.schema, 6) != layout_of(FetchRequest.schema, 7)


def test_least_size_is_the_size_of_an_empty_instance() -> None:
    for version in range(FetchRequest.min_version, FetchRequest.max_version + 1):
        assert layout_of(FetchRequest.schema, version).least_size == len(FetchRequest().encode(version))


@pytest.mark.parametrize("version", [-1, 3, 19])
def test_a_version_that_does_not_exist_is_rejected(version: int) -> None:
    with pytest.raises(ValueError, match="4-18 exist"):
        layout_of(FetchRequest.schema, version)
