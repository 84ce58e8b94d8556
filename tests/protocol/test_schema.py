import pytest

from signalbox.protocol.schema import NO_VERSIONS, FieldSpec, VersionRange, snake_case


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [("3", [3], [2, 4]), ("0-7", [0, 7], [8]), ("4+", [4, 900], [3]), ("none", [], [0, 1, 900])],
)
def test_ranges_hold_their_versions_and_print_as_they_were_written(
    text: str, inside: list[int], outside: list[int]
) -> None:
    versions = VersionRange.parse(text)
    assert all(version in versions for version in inside)
    assert not any(version in versions for version in outside)
    assert str(versions) == text


@pytest.mark.parametrize("text", ["", "x", "1-", "3..5"])
def test_invalid_version_ranges_are_rejected(text: str) -> None:
    with pytest.raises(ValueError):
        VersionRange.parse(text)


@pytest.mark.parametrize(
    ("kafka", "python"),
    [
        ("TopicId", "topic_id"),
        ("isKRaftController", "is_kraft_controller"),
        ("V0Host", "v0_host"),
        ("ThrottleTimeMs", "throttle_time_ms"),
        ("currentStateTimestamp", "current_state_timestamp"),
        ("ZkMigrationReady", "zk_migration_ready"),
    ],
)
def test_names_in_pythons_spelling(kafka: str, python: str) -> None:
    assert snake_case(kafka) == python


def test_a_field_knows_its_attribute_and_whether_it_is_a_struct() -> None:
    versions = VersionRange.parse("0+")
    assert FieldSpec("TopicName", versions, "string").attribute == "topic_name"
    assert not FieldSpec("TopicName", versions, "string").is_struct
    assert FieldSpec("Topics", versions, "Topic", is_array=True).is_struct
    assert FieldSpec("TopicName", versions, "string").nullable is NO_VERSIONS
